"""Random chains, states in Golubev's variables, and trees with every joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from tests.tree.pinocchio_peer import random_state

from appell.tree import Chain, ChainLink, Inertia, Joint, Placement, Tree
from appell.tree.golubev.golubev_equations import Base, Body, ChainState, Hinge, Kin, kinematics
from appell.tree.golubev.numbered_equations import bodies_of

GRAVITY = (1.3, -2.1, -9.81)
TOLERANCE = 1e-12
WRONG = 1e-3  # a false formula misses by far more than rounding


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Of a body: second moments without negative ones, J = tr P − P."""
    A = rng.normal(size=(3, 3))
    P = 0.05 * A @ A.T + 0.02 * np.eye(3)
    return Inertia.at_centre(rng.uniform(0.5, 2.0), 0.3 * rng.normal(size=3), np.trace(P) * np.eye(3) - P)


def random_chain(K: int, *, parallel: bool, base: str, seed: int) -> Chain:
    """K bodies; parallel axes have one random direction e."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=3)
    links = []
    for _ in range(K):
        body = random_inertia(rng)
        axis = e if parallel else rng.normal(size=3)
        links.append(ChainLink(body.m, body.h / body.m, body.J, 0.5 * rng.normal(size=3), axis))
    return Chain(links, base=base, gravity=GRAVITY, backend="vm")


@dataclass
class Posed:
    """A tree at a state, once as the recursive algorithm sees it and once in Golubev's variables."""

    tree: Tree
    bodies: list[Body]
    state: ChainState
    kins: list[Kin]
    base_force: (
        np.ndarray
    )  # (6,): what `inverse_dynamics` says must act on a floating base [force | moment], world axes
    values: dict[str, float]


def posed(tree: Tree, seed: int, forces_on_base: bool = False) -> Posed:
    """Random q, v and torques; accelerations by `forward_dynamics` (none on the base unless asked)."""
    q, v, tau = random_state(tree, np.random.default_rng(seed))
    floating = tree.nodes[0].kind.name == "floating"
    if floating and not forces_on_base:
        tau[:6] = 0.0
    a = tree.forward_dynamics(q, v, tau)
    base, names = None, {}
    R = np.eye(3)
    if floating:
        R = Rotation.from_quat(q[3:7]).as_matrix()
        w, wd = R @ v[3:6], R @ a[3:6]
        wA = R @ (a[:3] + np.cross(v[3:6], v[:3]))
        quaternion = [q[6], *q[3:6]]
        base = Base(quaternion, list(w), list(wd), list(wA))
        names |= dict(zip("q0 q1 q2 q3".split(), quaternion, strict=True))
        for name, vector in (("omega_", w), ("omegadot_", wd), ("wA_", wA)):
            names |= {name + axis: vector[k] for k, axis in enumerate("xyz")}
    hinges: list[Hinge | None] = []
    for n, node in enumerate(tree.nodes, start=1):
        if node.kind.name == "floating":
            hinges.append(None)
            continue
        phi, rate, acceleration, torque = q[node.iq], v[node.iv], a[node.iv], tau[node.iv]
        hinges.append(Hinge(np.cos(phi), np.sin(phi), rate, acceleration, torque))
        names |= {f"phi_{n}": phi, f"omega_{n}": rate, f"omegadot_{n}": acceleration, f"M_{n}": torque}
    bodies, state = bodies_of(tree.nodes), ChainState(base, hinges, list(tree.gravity))
    force = np.concatenate([R @ tau[:3], R @ tau[3:6]]) if floating else np.zeros(6)
    return Posed(tree, bodies, state, kinematics(bodies, state), force, names)


KINDS = ("revolute", "continuous", "prismatic", "planar", "spherical", "floating", "fixed")


def random_tree(n: int, seed: int, *, root: str | None = None, kinds: tuple[str, ...] = KINDS, **options) -> Tree:
    """n joints of random kinds on random predecessors, axes aligned now and then, some rotors."""
    rng = np.random.default_rng(seed)
    joints: list[Joint] = []
    for k in range(n):
        kind = root if root and k == 0 else str(rng.choice(kinds))
        parent = None if k == 0 else joints[int(rng.integers(max(0, k - 3), k))].name
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.4 else rng.normal(size=3)
        R = np.eye(3) if rng.random() < 0.3 else Rotation.random(random_state=seed * 100 + k).as_matrix()
        rotor = 0.1 if rng.random() < 0.3 and kind != "floating" else 0.0
        place = Placement(R, 0.4 * rng.normal(size=3))
        joints.append(Joint(f"j{k}", kind, parent, place, axis, random_inertia(rng), armature=rotor))
    return Tree(joints, gravity=options.pop("gravity", GRAVITY), backend="vm", **options)


def gap(left, right, scale: float = 1.0) -> float:
    """|left − right| relative to the largest term."""
    left, right = np.atleast_1d(np.array(left, float)), np.atleast_1d(np.array(right, float))
    return float(np.max(abs(left - right)) / (scale + np.max(abs(left)) + np.max(abs(right))))


def scale_of(p: Posed) -> float:
    """The size of the terms that cancel in an equation of moments."""
    return float(
        sum(
            body.m * np.linalg.norm(kin.sigma) * (1 + np.linalg.norm(kin.P))
            for body, kin in zip(p.bodies, p.kins, strict=True)
        )
    )


def free(K: int, *, parallel: bool, seed: int = 0) -> Posed:
    return posed(random_chain(K, parallel=parallel, base="floating", seed=seed), seed + 1)


def hinged(p: Posed) -> list[int]:
    return [n for n, body in enumerate(p.bodies) if body.e is not None]
