"""A back end from outside the package: one file that walks the instructions, one call that registers it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import appell as ap
from appell.backends import BACKENDS, Backend, Call, register
from appell.errors import BackendUnavailable
from appell.graph.instructions import ARITY
from appell.tree import Inertia, Joint, Tree, place

# --- the toy: instructions as Python closures -------------------------------------------------------------------------

BODY = Inertia.at_centre(1.5, (0.1, 0.02, -0.2), np.diag([0.02, 0.03, 0.01]))
JOINTS = (
    Joint("shoulder", "revolute", axis=(0, 1, 0), body=BODY),
    Joint("elbow", "revolute", "shoulder", place((0.3, 0, 0), (0.1, 0, 0)), (1, 0, 0), BODY),
    Joint("slide", "prismatic", "elbow", place((0, 0, 0.4)), (1, 0, 0), BODY),
)
Q, V, TAU = np.array([0.4, -0.3, 0.1]), np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -0.5])


def divided(x: float, y: float) -> float:
    return x / y if y else math.copysign(math.inf, x) * math.copysign(1.0, y) if x == x and x else math.nan


OPERATIONS = {
    **{op: getattr(math, op) for op in "sin cos tan asin acos atan sinh cosh tanh exp log fabs atan2 copysign".split()},
    **{"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": divided},
    **{"neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: 2 * x, "inv": lambda x: divided(1.0, x)},
    **{"sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan, "sign": lambda x: float((x > 0) - (x < 0)), "not": lambda x:
    float(not x)}, **{"lt": lambda x, y: float(x < y), "le": lambda x, y: float(x <= y), "eq": lambda x, y: float(x == y)},
    **{"ne": lambda x, y: float(x != y), "and": lambda x, y: float(bool(x and y)), "or": lambda x, y: float(bool(x or y))},
    **{"if_else_zero": lambda x, y: y if x else 0.0, "fmin": min, "fmax": max, "pow": pow, "constpow": pow},
}  # fmt: skip

asked: Counter[str] = Counter()
"""How often each function was evaluated by the toy."""


def function(fn) -> Call:
    """`fn` by its instructions, one after the other."""
    stream = fn.instructions

    def evaluate(*arrays):
        asked[fn.name] += 1
        flat, value = [np.ravel(x).tolist() for x in arrays], {}
        results = [np.zeros(port.size) for port in fn.outputs]
        for item in stream:
            if item.op == "output":
                results[item.port][item.index] = value[item.args[0]]
            elif item.op == "input":
                value[item.out] = flat[item.port][item.index]
            else:
                arguments = (value[k] for k in item.args)
                value[item.out] = item.value if item.op == "const" else OPERATIONS[item.op](*arguments)
        return [x.reshape(port.shape) for x, port in zip(results, fn.outputs, strict=True)]

    return Call.of(fn, evaluate)


@pytest.fixture(autouse=True)
def toy():
    """The one call; taken back after each test."""
    asked.clear()
    yield register(Backend("toy", reason_against=lambda: None, function=function))
    del BACKENDS["toy"]


# --- everywhere the built-in ones work --------------------------------------------------------------------------------


def same(found, expected, tolerance=1e-9):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_the_toy_knows_the_operations_of_mechanics():
    assert set(OPERATIONS) <= set(ARITY)


@pytest.mark.parametrize("name", ["snakeboard", "sliding_rod", "skate"])
def test_accelerations_one_and_many(name):
    example = getattr(ap.zoo, name)()
    system, values = example.system, example.parameters
    toy, vm = (ap.compile(system, values, backend=backend) for backend in ("toy", "vm"))
    assert toy.backend == "toy"
    rng = np.random.default_rng(1)
    q, v = rng.uniform(0.2, 0.9, (4, system.nq)), rng.uniform(-1, 1, (4, system.nv))
    same(toy.acceleration(0.0, q[0], v[0]), vm.acceleration(0.0, q[0], v[0]))
    same(toy.acceleration(0.0, q[0].tolist(), v[0].tolist()), vm.acceleration(0.0, q[0], v[0]))
    same(toy.acceleration(0.0, q, v), vm.acceleration(0.0, q, v))
    assert sum(asked.values()) >= 6


def test_a_motion_through_the_loop_in_python():
    example = ap.zoo.skate()
    motions = [
        ap.simulate(example.system, example.start, 0.3, parameters=example.parameters, rtol=1e-6, atol=1e-8, backend=backend)
        for backend in ("toy", "vm")
    ]
    same(*([m.q[-1], m.v[-1]] for m in motions), 1e-12)
    assert motions[0].ok and asked["flow"] > 10


def test_a_motion_with_impacts():
    x = ap.coordinates("x")
    wall = ap.Unilateral(x, name="wall", restitution=0.5)
    ball = ap.System([x], x.d**2 / 2, 10 * x, constraints=[wall], name="ball")
    motions = [ap.simulate(ball, {x: 1.0}, 0.6, backend=backend, rtol=1e-8) for backend in ("toy", "vm")]
    same(*([m.q[-1], m.v[-1]] for m in motions), 1e-9)
    assert len(motions[0].impacts) == 1 and asked["flow"] > 5


def solved_by_a_routine():
    """Redundant rows: head – saddle point – tail."""
    x, y, z = ap.coordinates("x y z")
    rows = [ap.Constraint(x.d - y.d, name="one"), ap.Constraint(2 * x.d - 2 * y.d, name="two")]
    return ap.System([x, y, z], x.d**2 + y.d**2 + z.d**2, x * y + z, constraints=rows), {x: 1.0, x.d: 0.5, y.d: 0.5}


def test_a_saddle_point_between_two_functions():
    system, start = solved_by_a_routine()
    toy, vm = (ap.compile(system, backend=backend) for backend in ("toy", "vm"))
    q, v = np.array([1.0, 0.2, 0.3]), np.array([0.5, 0.5, 0.1])
    same(toy.acceleration(0.0, q, v), vm.acceleration(0.0, q, v), 1e-14)
    same(toy.acceleration(0.0, np.tile(q, (3, 1)), v), vm.acceleration(0.0, np.tile(q, (3, 1)), v), 1e-14)
    assert asked["acceleration_head"] == asked["acceleration_tail"] == 4
    motions = [ap.simulate(system, start, 0.5, backend=backend) for backend in ("toy", "vm")]
    same(*([m.q[-1]] for m in motions), 1e-12)
    assert asked["flow_head"]


def test_rows_nonlinear_in_the_accelerations():
    x, y = ap.coordinates("x y")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, y, constraints=[ap.Constraint(x.dd**2 + y.dd**2 - 4, name="size")])
    toy, vm = (ap.compile(system, backend=backend) for backend in ("toy", "vm"))
    q, v = np.array([0.3, 0.2]), np.array([0.1, 0.4])
    same(toy.acceleration(0.0, q, v), vm.acceleration(0.0, q, v), 1e-9)
    assert sum(asked.values()) > 1


QUESTIONS = {
    **{question: (Q, V, TAU) for question in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives")},
    **{question: (Q, V) for question in ("bias", "energy", "kinetic_energy", "momentum", "rate")},
    **{question: (Q,) for question in ("mass_matrix", "mass_triangle", "centre_of_mass")},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_trees(question):
    toy, vm = (getattr(Tree(JOINTS, backend=backend), question) for backend in ("toy", "vm"))
    tupled = lambda x: x if isinstance(x, tuple) else (x,)
    many = [np.stack([x, 1.1 * x]) for x in QUESTIONS[question]]
    same(tupled(toy(*QUESTIONS[question])), tupled(vm(*QUESTIONS[question])))
    same(tupled(toy(*many)), tupled(vm(*many)))
    assert sum(asked.values()) == 3


def test_frames_and_systems_of_trees():
    toy, vm = (Tree(JOINTS, backend=backend) for backend in ("toy", "vm"))
    same(toy.placement("slide", Q), vm.placement("slide", Q))
    same([toy.jacobian("slide", np.stack([Q, -Q]))], [vm.jacobian("slide", np.stack([Q, -Q]))])
    same(*(ap.compile(toy, backend=backend).acceleration(0.0, Q, V) for backend in ("toy", "vm")))
    assert asked["placement"] == 1 and asked["jacobian"] == 2


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_name_that_is_not_in_the_table_is_refused_everywhere():
    example = ap.zoo.skate()
    for ask in (
        lambda: ap.compile(example.system, example.parameters, backend="tyo"),
        lambda: ap.simulate(example.system, example.start, 1.0, parameters=example.parameters, backend="tyo"),
        lambda: Tree(JOINTS, backend="tyo"),
    ):
        with pytest.raises(BackendUnavailable, match="no back end 'tyo'; choose one of auto, c, vm, cuda, toy"):
            ask()


def test_one_that_does_not_work_here_gives_its_reason(monkeypatch):
    monkeypatch.setitem(BACKENDS, "toy", Backend("toy", lambda: "no toys on this machine", function))
    with pytest.raises(BackendUnavailable, match=r"backend='toy' cannot be had: no toys on this machine$"):
        ap.compile(ap.zoo.skate().system, ap.zoo.skate().parameters, backend="toy")
    with pytest.raises(BackendUnavailable, match="no toys"):
        Tree(JOINTS, backend="toy").bias(Q, V)


def test_what_cannot_be_a_row_is_refused(toy):
    for what in (lambda: register(toy), lambda: register("toy"), lambda: Backend("auto", lambda: None, function),
                 lambda: Backend("", lambda: None, function), lambda: Backend("toy", None, function)):  # type: ignore  # fmt: skip
        with pytest.raises(BackendUnavailable):
            what()


def test_a_function_of_wrong_shape_is_refused(monkeypatch):
    wrong = lambda fn: Call.of(fn, lambda *arrays: [1.0 for _ in fn.outputs])
    monkeypatch.setitem(BACKENDS, "toy", Backend("toy", lambda: None, wrong))
    with pytest.raises(ap.ModelError, match="'a' has shape"):
        Tree(JOINTS, backend="toy").forward_dynamics(Q, V, TAU)
