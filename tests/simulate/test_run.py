"""compile: parameter values, evaluation, singular states, redundant rows."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Symbol, cos, sin, tan

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import BackendUnavailable, ConstraintError, ModelError, SingularConfiguration
from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.simulate.simulate import simulate

x, y, phi = coordinates("x y phi")
m, k = parameters("m k", positive=True)


def oscillator(*, constraints=()) -> System:
    return System([x, y], m * (x.d**2 + y.d**2) / 2, k * x**2 / 2, constraints=constraints, name="oscillator")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({m: 1.0}, r"no value for the parameter k"),
        ({}, r"no value for the parameters k, m"),
        (None, r"no value for the parameters k, m"),
        ({m: 1.0, k: 1.0, "c": 2.0}, r"oscillator has no parameter 'c'; it has k, m"),
        ({m: -1.0, k: 1.0}, r"'m' was declared positive, but its value is -1"),
        ({m: 0.0, k: 1.0}, r"'m' was declared positive"),
        ({m: float("nan"), k: 1.0}, r"'m' must be finite"),
        ({m: float("inf"), k: 1.0}, r"'m' must be finite"),
        ({m: "heavy", k: 1.0}, r"'m' must be a number"),
        ({m: [1.0, 2.0], k: 1.0}, r"'m' must be a number"),
        ({m: 1j, k: 1.0}, r"'m' must be a number"),
        ({m: Symbol("a"), k: 1.0}, r"'m' must be a number"),
    ],
)
def test_parameter_errors(values, message):
    with pytest.raises(ModelError, match=message):
        compile(oscillator(), values)


@pytest.mark.parametrize(
    ("assumption", "bad", "good"),
    [("negative", 0.0, -1.0), ("nonnegative", -1e-9, 0.0), ("nonzero", 0.0, -2.0), ("integer", 0.5, 3.0)],
)
def test_every_assumption_is_checked(assumption, bad, good):
    c = parameters("c", **{assumption: True})
    system = System([x], x.d**2 / 2, c * x)
    with pytest.raises(ModelError, match=f"declared {assumption}"):
        compile(system, {c: bad}, backend="vm")
    assert compile(system, {c: good}, backend="vm").acceleration(0.0, [0.0], [0.0])[0] == pytest.approx([-good])


def test_names_serve_as_keys():
    run = compile(oscillator(), {"m": 2.0, "k": 4.0}, backend="vm")
    assert run.parameters == {m: 2.0, k: 4.0}
    assert run.acceleration(0.0, [1.0, 0.0], [0.0, 0.0])[0] == pytest.approx([-2.0, 0.0])


def test_parameter_given_twice_is_refused():
    with pytest.raises(ModelError, match=r"'m'.*twice"):
        compile(oscillator(), {m: 1.0, "m": 2.0, k: 1.0})


def test_unknown_backend():
    with pytest.raises((ModelError, BackendUnavailable), match="fortran"):
        compile(oscillator(), {m: 1.0, k: 1.0}, backend="fortran")
    with pytest.raises(ModelError, match="compile takes a System"):
        compile("skate")


@pytest.mark.parametrize("backend", ["vm", "auto"])
def test_singular_state_raises_with_time_and_state(backend):
    circle = Constraint(x**2 + y**2 - 1, name="circle")
    run = compile(oscillator(constraints=[circle]), {m: 1.0, k: 1.0}, backend=backend)
    with pytest.raises(SingularConfiguration, match=r"t = 2\.5, x = 0, y = 0, x\.d = 1") as caught:
        run.acceleration(2.5, [0.0, 0.0], [1.0, 0.0])
    assert caught.value.time == 2.5 and caught.value.state["x.d"] == 1.0


@pytest.mark.parametrize("backend", ["vm", "auto"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_that_is_not_a_number_does_not_pass_silently(backend, bad):
    run = compile(zoo.skate().system, zoo.skate().parameters, backend=backend)
    with pytest.raises(SingularConfiguration, match="not finite"):
        run.acceleration(0.0, [0.0, 0.0, bad], [1.0, 0.0, 1.0])


@pytest.mark.parametrize("q", [[0.0], [0.0] * 4])
def test_wrong_shape_is_refused(q):
    run = compile(zoo.skate().system, zoo.skate().parameters)
    with pytest.raises((ModelError, ValueError), match="shape"):
        run.acceleration(0.0, q, [1.0, 0.0, 1.0])


def blade(*, again):
    example = zoo.skate()
    return example, example.system.replace(constraints=[*example.system.constraints, *again])


x_, y_, phi_ = zoo.skate().system.coordinates
SLIP = x_.d * sin(phi_) - y_.d * cos(phi_)


@pytest.mark.parametrize(
    "again",
    [SLIP, 3 * SLIP, x_.d * tan(phi_) - y_.d, SLIP * (2 + sin(x_))],
    ids=["the same", "a multiple", "written otherwise", "times a function"],
)
def test_redundant_rows_are_accepted_reported_and_harmless(again):
    example, system = blade(again=[Constraint(again, name="again")])
    run = compile(system, example.parameters)
    assert len(run.policies.redundant) == 1 and run.policies.redundant[0] in ("blade", "again")
    times = np.linspace(0, 1.2, 7)  # tan φ is finite up to π/2
    motion = simulate(run, example.start, 1.2, times=times, rtol=1e-11)
    alone = simulate(example.system, example.start, 1.2, example.parameters, times=times, rtol=1e-11)
    assert motion.ok and "redundant" in str(motion.verify())
    assert motion.q == pytest.approx(alone.q, abs=1e-9)
    forces = [np.einsum("kvm,km->kv", r.run.evaluate(r.t, r.q, r.v, ["W"])["W"], r.multipliers) for r in (motion, alone)]
    assert forces[0] == pytest.approx(forces[1], abs=1e-8)  # W Λ is unique, Λ is not
    if again == SLIP:
        assert motion.reaction("blade") == pytest.approx(alone.reaction("blade") / 2, abs=1e-8)


def test_holonomic_row_and_its_derivative():
    circle = Constraint(x**2 + y**2 - 1, name="circle")
    tangent = Constraint(x * x.d + y * y.d, name="tangent")
    system = oscillator(constraints=[circle, tangent])
    run = compile(system, {m: 1.0, k: 2.0})
    assert len(run.policies.redundant) == 1
    motion = simulate(run, {x: 0.6, y: 0.8, x.d: 0.8, y.d: -0.6}, 2.0, rtol=1e-10)
    assert motion.ok and motion.drift.position < 1e-12 and np.abs(motion.energy_error).max() < 1e-9


def test_redundant_rows_with_a_given_reaction_are_refused():
    rows = [Constraint(x.d + y.d, name="one", reaction={x: 1}), Constraint(2 * x.d + 2 * y.d, name="two")]
    with pytest.raises(ConstraintError, match=r"redundant constraints.*drop the redundant rows"):
        compile(oscillator(constraints=rows), {m: 1.0, k: 1.0})


def test_evaluate_and_values():
    run = compile(oscillator(), {m: 2.0, k: 4.0}, backend="vm")
    q, v = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    out = run.evaluate(np.zeros(2), q, v, ("T", "V", "M", "h"))
    assert out["T"] == pytest.approx([1.0, 2.0]) and out["V"] == pytest.approx([2.0, 8.0])
    assert out["M"].shape == (2, 2, 2) and out["h"].shape == (2, 2)
    assert run.values(m * x + x.dd + k, np.zeros(2), q, v) == pytest.approx([2 - 2 + 4, 4 - 4 + 4])


def test_a_system_can_be_compiled_with_other_parameters():
    system = oscillator()
    runs = [compile(system, {m: 1.0, k: value}) for value in (1.0, 9.0)]
    assert [run.acceleration(0.0, [1.0, 0.0], [0.0, 0.0])[0][0] for run in runs] == pytest.approx([-1.0, -9.0])


def test_values_at_one_state_are_numbers():
    """m ẍ + k x = 0 at one state and at a batch of one."""
    x, k = coordinates("x"), parameters("k")
    run = compile(System([x], x.d**2 / 2, k * x**2 / 2), {k: 2.0}, backend="vm")
    assert run.values(x.dd + x.d, 0.0, [0.3], [0.1]) == pytest.approx(-0.5)
    assert np.ndim(run.values(x, 0.0, [0.3], [0.1])) == 0 and run.values(x, [0.0], [[0.3]], [[0.1]]).shape == (1,)
