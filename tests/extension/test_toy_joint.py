"""Joints registered from outside the package, working everywhere the built-in ones do.

Each toy is also a sequence of built-in joints with q_e = G(q), v_e = E(q) v: by d'Alembert τ = Eᵀ τ_e(G, E v, E a + Ė v).
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import sympy
from tests.tree.test_urdf import link, robot

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint, JointKind, Names, Placement, Tree, joints, loop, place, register
from appell.tree.frames import basis
from appell.tree.inertia import HERE
from appell.tree.joints import TABLE, Slide, Turn, cos, sin, turn_z

PITCH, LIFT = 0.15, 0.3


@dataclass(frozen=True)
class Toy:
    """A kind, the built-in joints that it is made of, (kind, axis) each, and G, E, and Ė v along q̇."""

    kind: JointKind
    parts: tuple[tuple[str, tuple[int, int, int]], ...]
    G: Callable[[np.ndarray], list]
    E: Callable[[np.ndarray], list]
    E_d: Callable[[np.ndarray, np.ndarray], list]


ROLL, LONG = ("revolute", (0, 0, 1)), ("prismatic", (0, 0, 1))
TOYS = {
    "screw": Toy(
        JointKind("screw", lambda q: (turn_z(q[0]), Slide(2, PITCH * q[0])), urdf="screw"), (ROLL, LONG),
        lambda q: [q[0], PITCH * q[0]], lambda q: [[1], [PITCH]], lambda q, v: [0, 0],
    ),
    "universal": Toy(  # S turns with the second angle
        JointKind("universal", lambda q: (Turn(0, cos(q[0]), sin(q[0])), Turn(1, cos(q[1]), sin(q[1]))), (0.0, 0.0)),
        (("revolute", (1, 0, 0)), ("revolute", (0, 1, 0))), list, lambda q: np.eye(2), lambda q, v: [0, 0],
    ),
    "cam": Toy(  # rises and falls as it turns
        JointKind("cam", lambda q: (turn_z(q[0]), Slide(2, LIFT * sin(q[0])))), (ROLL, LONG),
        lambda q: [q[0], LIFT * np.sin(q[0])], lambda q: [[1], [LIFT * np.cos(q[0])]],
        lambda q, v: [0, -LIFT * np.sin(q[0]) * v[0] ** 2],
    ),
    "geared": Toy(  # its velocity is not that of its coordinate
        JointKind("geared", lambda q: (turn_z(q[0]),), rate=lambda q, v: [2.0 * v[0]], names=Names(("{}",), ("u_{}",))),
        (ROLL,), list, lambda q: [[2]], lambda q, v: [0],
    ),
}  # fmt: skip
KINDS = pytest.mark.parametrize("name", TOYS)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    for toy in TOYS.values():
        register(toy.kind)
    yield
    for toy in TOYS.values():
        del joints.JOINTS[toy.kind.name]


AXIS, MOUNT = (0.3, -0.5, 0.8), place((0.1, 0.2, 0.3), (0.4, -0.3, 0.9))
BODIES = [Inertia.at_centre(1.0 + k, (0.1, -0.2, 0.15 * k), np.diag([0.05, 0.04, 0.06])) for k in range(3)]
FIRST = Joint("first", axis=(0, 1, 0), body=BODIES[0])
TIP = Joint("tip", "revolute", "toy", place((0.2, 0, 0.4)), (1, 0, 0), BODIES[2], link="hand")


def tree_of(name: str, backend: str = "vm", body: Inertia = BODIES[1], **more) -> Tree:
    return Tree([FIRST, Joint("toy", name, "first", MOUNT, AXIS, body, link="tool", **more), TIP], backend=backend)


def expanded(name: str, backend: str = "vm") -> Tree:
    """The same mechanism of built-in joints; what is between them has no mass."""
    B = Placement(basis(np.array(AXIS) / np.linalg.norm(AXIS)), np.zeros(3))
    made, before, at = [FIRST], "first", MOUNT @ B
    for k, (kind, axis) in enumerate(TOYS[name].parts, start=1):
        made.append(Joint(f"toy_{k}", kind, before, at, axis))
        before, at = made[-1].name, HERE
    return Tree([*made, Joint("toy", "fixed", before, B.inverse, body=BODIES[1], link="tool"), TIP], backend=backend)


@dataclass(frozen=True)
class Case:
    """A state of the tree of a toy, and of its twin: q_e, v_e, a_e, with the whole E."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    E: np.ndarray
    twin: tuple[np.ndarray, np.ndarray, np.ndarray]


def case(name: str, seed: int = 0) -> Case:
    toy, rng, n = TOYS[name], np.random.default_rng(seed), TOYS[name].kind.nv
    q, v, a = rng.uniform(-1, 1, (3, n + 2))
    wide = lambda x, own: np.array([x[0], *np.ravel(own), x[-1]], float)
    E = np.zeros((len(toy.parts) + 2, n + 2))
    E[0, 0] = E[-1, -1] = 1
    E[1:-1, 1:-1] = toy.E(q[1:-1])
    drift = wide(np.zeros(n + 2), toy.E_d(q[1:-1], v[1:-1]))
    return Case(q, v, a, E, (wide(q, toy.G(q[1:-1])), E @ v, E @ a + drift))


@pytest.mark.parametrize("backend", ["vm", pytest.param("c", marks=pytest.mark.compiler)])
@KINDS
def test_it_is_the_mechanism_of_built_in_joints(name: str, backend: str):
    tree, twin = tree_of(name, backend), expanded(name)
    cases = [case(name, seed) for seed in range(9)]
    batch = [np.array([getattr(c, x) for c in cases]) for x in "qva"]
    answers = {
        "tau": tree.inverse_dynamics(*batch), "M": tree.mass_matrix(batch[0]), "h": tree.bias(*batch[:2]),
        "T": tree.kinetic_energy(*batch[:2]), "H": tree.energy(*batch[:2]), "p": tree.momentum(*batch[:2]),
        "c": tree.centre_of_mass(batch[0]), "R": tree.placement("hand", batch[0])[0], "J": tree.jacobian("hand", batch[0]),
        "a": tree.forward_dynamics(*batch[:2], tree.inverse_dynamics(*batch)),
    }  # fmt: skip
    for k, c in enumerate(cases):
        q, v, a = c.twin
        expected = {
            "tau": c.E.T @ twin.inverse_dynamics(q, v, a), "M": c.E.T @ twin.mass_matrix(q) @ c.E,
            "h": c.E.T @ twin.inverse_dynamics(q, v, a - c.E @ c.a), "T": twin.kinetic_energy(q, v), "H": twin.energy(q, v),
            "p": twin.momentum(q, v), "c": twin.centre_of_mass(q), "R": twin.placement("hand", q)[0],
            "J": twin.jacobian("hand", q) @ c.E, "a": c.a,
        }  # fmt: skip
        for what, value in expected.items():
            assert answers[what][k] == pytest.approx(value, rel=1e-10, abs=1e-10), (what, k)
        assert tree.inverse_dynamics(c.q, c.v, c.a) == pytest.approx(expected["tau"], rel=1e-10, abs=1e-10)


@KINDS
def test_theorems(name: str):
    """½ vᵀMv = T, power = dE/dt, with a rotor and damping on the joint; derivatives are those of the functions."""
    tree, c = tree_of(name, armature=0.2, damping=0.3), case(name, 3)
    assert c.v @ tree.mass_matrix(c.q) @ c.v / 2 == pytest.approx(tree.kinetic_energy(c.q, c.v), rel=1e-13)
    tau, h = np.array([0.3, *np.full(len(c.q) - 2, -0.4), 0.5]), 1e-5
    a, qd = tree.forward_dynamics(c.q, c.v, tau), tree.rate(c.q, c.v)
    slope = [tree.energy(c.q + s * h * qd, c.v + s * h * a) for s in (1, -1)]
    lost = 0.3 * c.v[1:-1] @ c.v[1:-1]
    assert (slope[0] - slope[1]) / (2 * h) == pytest.approx(tau @ c.v - lost, rel=1e-6, abs=1e-8)
    N = np.array([tree.rate(c.q, e) for e in np.eye(tree.nv)]).T
    for method, x in ((tree.inverse_dynamics, c.a), (tree.forward_dynamics, tau)):
        derived = getattr(tree, f"{method.__name__}_derivatives")(c.q, c.v, x)
        steps = [(N, 0, 0), (0, np.eye(tree.nv), 0), (0, 0, np.eye(tree.nv))]
        for found, (by_q, by_v, by_x) in zip(derived, steps, strict=True):
            moved = lambda s, e: method(c.q + s * h * by_q @ e if np.ndim(by_q) else c.q,  # noqa: B023
                                        c.v + s * h * e * np.ndim(by_v) / 2, x + s * h * e * np.ndim(by_x) / 2)  # noqa: B023
            columns = [(moved(1, e) - moved(-1, e)) / (2 * h) for e in np.eye(tree.nv)]
            assert found == pytest.approx(np.array(columns).T, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", ["screw", "cam"])
def test_motion_is_that_of_the_constrained_mechanism(name: str):
    """Revolute and prismatic with a row between them; the reaction of the row does no work."""
    tree, twin = tree_of(name), expanded(name)
    phi, rise = twin.joint("toy_1"), twin.joint("toy_2")
    row = rise - (PITCH * phi if name == "screw" else LIFT * sympy.sin(phi))
    ours = ap.simulate(tree.system(), {"toy": 0.0, "tip": 0.5, "toy.d": 0.7}, until=1.0, rtol=1e-10)
    rate = 0.7 * (PITCH if name == "screw" else LIFT)
    theirs = ap.simulate(twin.system([row]), {"tip": 0.5, "toy_1.d": 0.7, "toy_2.d": rate}, until=1.0, rtol=1e-10)
    assert ours.status == theirs.status and max(abs(ours.energy - ours.energy[0])) < 1e-8
    for one, other in ((tree.joint("toy"), phi), (tree.joint("tip"), twin.joint("tip"))):
        assert ours[one][-1] == pytest.approx(theirs[other][-1], abs=1e-7)


@KINDS
def test_in_symbols(name: str):
    """`symbolic()` and a tree with a parameter, by Lagrange's equations in symbols and by the graph of its T, V."""
    tree, c = tree_of(name), case(name, 5)
    system, force = tree.system(), np.zeros(tree.nv)
    expected = tree.forward_dynamics(c.q, c.v, force)
    assert ap.compile(system, backend="vm").acceleration(0.0, c.q, c.v)[0] == pytest.approx(expected, rel=1e-10)
    written = system.symbolic()
    assert ap.compile(written, backend="vm").acceleration(0.0, c.q, c.v)[0] == pytest.approx(expected, rel=1e-9)
    assert ap.forms.lagrange(written).acceleration(0.0, c.q, c.v)[0] == pytest.approx(expected, rel=1e-9)
    m = ap.parameters("m")
    open_ = tree_of(name, body=Inertia.at_centre(m, (0.1, -0.2, 0.15), np.diag([0.05, 0.04, 0.06])))
    run = ap.compile(open_.system(), {m: 2.0}, backend="vm")
    assert run.acceleration(0.0, c.q, c.v)[0] == pytest.approx(expected, rel=1e-9)
    heavier = open_.with_parameters({m: 2.0})
    assert heavier.forward_dynamics(c.q, c.v, force) == pytest.approx(expected, rel=1e-12)


@KINDS
def test_in_a_loop(name: str):
    """A rod from the hand to the world, by rows between frames; a = E⁺ a_e of the twin with the same rod."""
    toy, c = TOYS[name], case(name, 7)
    results = []
    for tree in (tree_of(name), expanded(name)):
        rod = loop(tree.frame("world"), tree.frame("hand").at((0.1, 0, 0)), "distance", distance=0.5)
        rows = [*rod]
        if len(tree.nodes) > 3 and toy.kind.nv == 1:
            phi, rise = tree.joint("toy_1"), tree.joint("toy_2")
            rows.append(rise - (PITCH * phi if name == "screw" else LIFT * sympy.sin(phi)))
        results.append(ap.compile(tree.system(rows), backend="vm"))
    (a, lam), (a_e, lam_e) = (
        run.acceleration(0.0, q, v) for run, (q, v) in zip(results, ((c.q, c.v), c.twin[:2]), strict=True)
    )
    drift = c.twin[2] - c.E @ c.a
    assert c.E @ a + drift == pytest.approx(a_e, rel=1e-8, abs=1e-8)
    assert lam[0] == pytest.approx(lam_e[0], rel=1e-8)


def test_in_a_file_and_in_a_pickle(tmp_path: Path):
    text = "<joint name='lift' type='screw'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint>"
    tree = Tree.from_urdf(robot(tmp_path, link("a"), link("b"), text), backend="vm")
    assert tree.nodes[0].kind is TOYS["screw"].kind
    again = pickle.loads(pickle.dumps(tree))
    assert again.mass_matrix([0.1]) == pytest.approx(tree.mass_matrix([0.1]), rel=1e-15)
    assert tree.neutral.tolist() == [0.0] and tree.system().coordinates == (tree.joint("lift"),)


def test_register_refuses_what_is_not_a_joint():
    screw = TOYS["screw"].kind
    bad = {
        "takes an ap.tree.JointKind": 1,
        "a joint of the kind 'revolute' already": replace(TOYS["cam"].kind, name="revolute"),
        "URDF type 'screw' of joint 'screw' already": replace(screw, name="other"),
        "must agree at neutral": JointKind("shifted", lambda q: (Slide(2, 1.0 + q[0]),)),
        "not move it in 2 different ways": JointKind("twice", lambda q: (turn_z(q[0] + q[1]),), (0.0, 0.0)),
        "mend axes or rate": JointKind("askew", lambda q: (turn_z(q[0]),), axes=(1,)),
        "linear in its velocities": JointKind("fast", lambda q: (turn_z(q[0]),), rate=lambda q, v: [v[0] * v[0]]),
        "names": JointKind("named", lambda q: (turn_z(q[0]),), names=Names(("a", "b"), ("",))),
    }
    for message, kind in bad.items():
        with pytest.raises(ModelError, match=message):
            register(kind)  # type: ignore[arg-type]
    assert register(screw) is screw


@pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.name)
def test_the_rows_of_the_table_pass_the_same_checks(kind: JointKind):
    """As they are; not with rates of twice the size, nor with another neutral place."""
    joints._check(kind)
    if kind.nv:
        with pytest.raises(ModelError, match="mend axes or rate"):
            joints._check(replace(kind, rate=lambda q, v: [2 * x for x in kind.rate(q, v)]))
        with pytest.raises(ModelError, match="must agree at neutral"):
            joints._check(replace(kind, neutral=tuple(kind.generic_coordinates(0))))
