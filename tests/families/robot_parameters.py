"""Parameters of the bodies of robots: which combinations joint forces tell, for any joints; and bodies from forces that are
known almost exactly, where noise no longer hides what rounding and scales do."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from tests.families.family import family

import appell as ap
from appell.tree import Inertia, Joint, JointKind, place, register
from appell.tree.joints import Slide, Turn, cos, sin, turn_z

OWN_JOINTS = (
    JointKind("family_screw", lambda q: (turn_z(q[0]), Slide(2, 0.07 * q[0]))),
    JointKind("family_steep_screw", lambda q: (Slide(2, -1.3 * q[0]), turn_z(q[0]))),
    JointKind("family_sleeve", neutral=(0.0, 0.0), steps=lambda q: (turn_z(q[0]), Slide(2, q[1]))),
    JointKind("family_slant", lambda q: (Slide(0, 0.6 * q[0]), Slide(2, 0.8 * q[0]))),
    JointKind("family_cross", neutral=(0.0, 0.0),
              steps=lambda q: (Turn(0, cos(q[0]), sin(q[0])), Turn(1, cos(q[1]), sin(q[1])))),
)  # fmt: skip
for _kind in OWN_JOINTS:
    register(_kind)
KINDS = ("revolute", "prismatic", "spherical", "planar", *(kind.name for kind in OWN_JOINTS))
PAIRS = [*product(KINDS[4:6], KINDS[4:6]), *product(KINDS, KINDS)]


def turned(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def some_body(rng: np.random.Generator, thin: int = 0, size: float = 1.0) -> Inertia:
    """Of three second moments along its axes, of which `thin` vanish: a solid, a plate, a rod."""
    m, c, Q = rng.uniform(0.3, 3), rng.normal(size=3) * 0.2 * size, turned(rng)
    second = rng.uniform(0.3, 1, 3) * 0.01 * m * size**2 * (np.arange(3) >= thin)
    return Inertia.at_centre(m, c, Q @ np.diag(second.sum() - second) @ Q.T)


def chain(kinds: Any, rng: np.random.Generator, *, parallel: bool) -> ap.Tree:
    """Joints at random placements; parallel: their axes are parallel, which rounding makes untrue in the last digits."""
    axis, joints = np.array([0, 0, 1.0]), []
    axis = turned(rng)[:, 0] if parallel else axis
    for k, kind in enumerate(kinds):
        there = place(rng.normal(size=3), rng.normal(size=3))
        axis = np.asarray(there.R, float).T @ axis if parallel else axis
        joints.append(Joint(f"j{k}", kind, f"j{k - 1}" if k else None, there, axis.tolist(), some_body(rng)))
    return ap.Tree(joints, gravity=(1.0, 2.0, -9.81), backend="vm")


@family(count=len(PAIRS) + 12, sample=(0, 5))
def base_parameters_of_any_joints(seed: int) -> None:
    """Two joints of any kinds, then three with parallel axes. With random bodies, more than they have parameters, joint forces
    at random states have the rank of the base parameters, and are linear in them."""
    rng, beyond = np.random.default_rng([12, seed]), seed - len(PAIRS)
    kinds = PAIRS[seed] if beyond < 0 else (KINDS[:2] + KINDS[4:8])[beyond % 6 :][:1] * 2 + ("revolute",)
    tree = chain(kinds, rng, parallel=beyond >= 0)
    base, n = tree.base_parameters(), len(kinds)
    q, v, a = tree.random(rng, 40), rng.normal(size=(40, tree.nv)), rng.normal(size=(40, tree.nv))
    others = [tree.with_joints([replace(joint, body=some_body(rng)) for joint in tree.joints]) for _ in range(12 * n)]
    tau = np.stack([other.inverse_dynamics(q, v, a).ravel() for other in others])
    sizes = np.linalg.svd(tau, compute_uv=False)
    assert base.rank == int((sizes > 1e-10 * sizes[0]).sum()), (kinds, base.rank, sizes)
    beta = np.stack([base.matrix @ other.dynamic_parameters for other in others])
    left = beta @ np.linalg.lstsq(beta, tau, rcond=1e-13)[0] - tau
    assert np.abs(left).max() < 1e-8 * np.abs(tau).max(), (kinds, np.abs(left).max())


NOISES = (0.0, 1e-9, 1e-8, 1e-6, 1e-12)


@family(count=30, sample=(0, 3))
def bodies_from_nearly_exact_forces(seed: int) -> None:
    """Solids, plates and rods of millimetres to kilometres, from forces with hardly any noise: the forces of the bodies found
    are the true ones, up to the noise."""
    rng, noise, thin = np.random.default_rng([13, seed]), NOISES[seed % 5], seed // 5 % 3
    size, n = 10.0 ** (3 * (seed // 15 * rng.integers(-1, 2))), int(rng.integers(2, 5))
    true, guessed = [], []
    for k in range(n):
        kind = ("revolute", "prismatic", "revolute", "spherical")[rng.integers(4)]
        there = (
            f"j{k}",
            kind,
            f"j{k - 1}" if k else None,
            place(rng.normal(size=3) * 0.4 * size, rng.normal(size=3)),
            (0, 0, 1.0),
        )
        true.append(Joint(*there, some_body(rng, thin, size)))
        guessed.append(Joint(*there, Inertia.at_centre(1.0, [0.1 * size] * 3, np.eye(3) * 0.1 * size**2)))
    tree, start = ap.Tree(true, backend="vm"), ap.Tree(guessed, backend="vm")
    q, v, a = tree.random(rng, 150), rng.normal(size=(150, tree.nv)), rng.normal(size=(150, tree.nv))
    tau = tree.inverse_dynamics(q, v, a)
    largest = np.abs(tau).max(axis=0)
    found = start.identify(q, v, a, tau + noise * largest * rng.normal(size=tau.shape))
    off = float((np.abs(found.tree.inverse_dynamics(q, v, a) - tau).max(axis=0) / largest).max())
    assert found.ok, found.message
    assert off < 5 * sqrt(noise**2 + 1e-20), off


@family(count=12, sample=(0, 1))
def bodies_that_cannot_be(seed: int) -> None:
    """A base parameter that is negative in the forces, the inertia of the last hinge about its axis, belongs to no body."""
    rng = np.random.default_rng([14, seed])
    tree = chain(("revolute",) * int(rng.integers(1, 4)), rng, parallel=False)
    base, count = tree.base_parameters(), 80
    q, v, a = tree.random(rng, count), rng.normal(size=(count, tree.nv)), rng.normal(size=(count, tree.nv))
    Y, pi = tree.regressor(q, v, a), tree.dynamic_parameters.copy()
    last = base.independent.index(10 * len(tree.nodes) - 1)  # J_zz
    assert base.names[last].endswith("J_zz")
    pi[-1] -= rng.uniform(1.1, 3) * (base.matrix @ pi)[last]
    noise = (0.0, 1e-9, 1e-6)[seed % 3]
    tau = Y @ pi
    found = tree.identify(q, v, a, tau + noise * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape))
    assert not found.ok and "no bodies have what plain least squares finds" in found.message, found.message
    assert min(node.inertia.m for node in found.tree.nodes) > 0


@family(count=12, sample=(0, 1))
def slides_and_hinges_in_small_units(seed: int) -> None:
    """Hinges and slides of nanometres and of planets have the base parameters that they have in metres. True bodies are found
    from exact forces, where not all but 1e-9 of these is weight; even then there is an answer."""
    size = 10.0 ** (-9, -8, -10, -7, 9, 7)[seed % 6]

    def robot(size: float) -> tuple[ap.Tree, np.ndarray, np.ndarray]:
        rng = np.random.default_rng([15, seed])
        kinds = ("revolute", "revolute", "prismatic", "revolute") if seed < 6 else ("prismatic", "revolute", "spherical")
        joints = [
            Joint(f"j{k}", kind, f"j{k - 1}" if k else None, place(rng.normal(size=3) * size, rng.normal(size=3)),
                  rng.normal(size=3), some_body(rng, size=size))
            for k, kind in enumerate(kinds)
        ]  # fmt: skip
        gravity = (0, 0, -9.81 * size) if seed % 2 else (0, 0, -9.81)
        nodes = ap.Tree(joints).nodes
        lengths = [size if node.kind.name == "prismatic" else 1.0 for node in nodes for _ in range(node.kind.nv)]
        return ap.Tree(joints, gravity=gravity, backend="vm"), rng.normal(size=(60, len(lengths))), np.array(lengths)

    (tree, rates, units), (plain, _, _) = robot(size), robot(1.0)
    base = tree.base_parameters()
    assert base.independent == plain.base_parameters().independent, len(base)
    q, v = tree.random(seed, 60), rates * units
    tau = tree.inverse_dynamics(q, v, v[::-1])
    found = tree.identify(q, v, v[::-1], tau)
    off = np.abs(found.tree.inverse_dynamics(q, v, v[::-1]) - tau).max(axis=0) / np.abs(tau).max(axis=0)
    assert (seed % 2 == 0 and not found.ok) or off.max() < 1e-9, (found.message, off)
    assert found.ok or seed % 2 == 0, found.message
