"""Starts: what is unnamed, what is nearly right, what is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sympy import Symbol

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import ConstraintError, ModelError
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System
from appell.normal_form import normal_form
from appell.normal_form.manifold import residuals
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent, read

x, y, z = coordinates("x y z")
l, g = parameters("l g", positive=True)


def rod() -> System:
    """A pendulum in Cartesian coordinates."""
    return System(
        [x, y],
        (x.d**2 + y.d**2) / 2,
        g * y,
        constraints=[Constraint(x**2 + y**2 - l**2, name="rod")],
        name="rod",
    )


VALUES = {l: 1.0, g: 9.81}


def test_unnamed_values_are_zero():
    example = zoo.skate()
    phi = example.system.coordinates[2]
    motion = simulate(example.system, {phi.d: 1.0}, 0.1, example.parameters)
    assert motion.q[0] == pytest.approx(np.zeros(3)) and motion.v[0] == pytest.approx([0, 0, 1])


def test_unnamed_quaternion_is_the_identity():
    example = zoo.heavy_top_quaternion()
    q, v = read(example.system, {})
    assert q.tolist() == [0, 0, 0, 1] and v.tolist() == [0, 0, 0]


def test_names_serve_as_keys():
    q, v = read(rod(), {"x": 1.0, "y.d": 2.0})
    assert q.tolist() == [1.0, 0.0] and v.tolist() == [0.0, 2.0]


def test_sympy_and_numpy_numbers_are_numbers():
    from sympy import Rational, pi

    q, v = read(rod(), {x: Rational(1, 2), y: pi, x.d: np.float32(0.5)})
    assert q.tolist() == [0.5, math.pi] and v.tolist() == [0.5, 0.0]


def test_value_given_by_symbol_and_by_name_is_refused():
    with pytest.raises(ModelError, match=r"x is given twice"):
        read(rod(), {x: 1.0, "x": 2.0})


@pytest.mark.parametrize("off", [1e-15, 1e-12, 5e-10])
def test_near_start_is_projected_and_reported(off):
    motion = simulate(rod(), {x: 1.0 + off}, 0.1, VALUES)
    assert motion.q[0, 0] == pytest.approx(1.0, abs=2e-15)  # residuals below 1e-15 are left alone
    assert motion.statistics["start_moved"] == pytest.approx(off, rel=1e-3, abs=1e-15)
    if off > 1e-14:
        assert "moved" in str(motion.verify())


def test_exact_start_is_not_moved():
    assert simulate(rod(), {x: 1.0}, 0.1, VALUES).statistics["start_moved"] == 0.0


@pytest.mark.parametrize(
    ("start", "far"),
    [({x: 1.1}, "0.21"), ({x: 1.0, x.d: 0.5}, "1,"), ({}, "-1,")],
    ids=["position", "velocity", "nothing named"],
)
def test_far_start_is_refused_with_the_remedy(start, far):
    with pytest.raises(ConstraintError) as caught:
        simulate(rod(), start, 1.0, VALUES)
    message = str(caught.value)
    assert "'rod'" in message and far in message and "ap.consistent(system, start" in message


def test_velocity_residual_of_a_holonomic_constraint_is_named_as_such():
    with pytest.raises(ConstraintError, match="time derivative"):
        simulate(rod(), {x: 1.0, x.d: 0.5}, 1.0, VALUES)


def test_large_values_do_not_make_a_good_start_bad():
    """The tolerance is relative to the terms that cancel: 1e9² − (1e9)² is off by rounding of 1e18."""
    start = {x: 6e8, y: math.sqrt(1e18 - 3.6e17)}
    motion = simulate(rod(), start, 0.1, {l: 1e9, g: 9.81})
    assert motion.ok


def test_large_values_do_not_hide_a_bad_start():
    with pytest.raises(ConstraintError):
        simulate(rod(), {x: 1e9 + 10.0}, 0.1, {l: 1e9, g: 9.81})


def test_non_unit_quaternion_is_not_taken_silently():
    example = zoo.heavy_top_quaternion()
    w = example.system.coordinates[3]
    with pytest.raises(ConstraintError, match=r"unit.*ap\.consistent"):
        simulate(example.system, {w: 2.0}, 0.1, example.parameters)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({z: 1.0}, r"names z.*not a state of rod.*x, y, x\.d, y\.d"),
        ({Symbol("w"): 1.0}, "names w"),
        ({x.dd: 1.0}, r"names x\.dd"),
        ({x: "one"}, "x must be a number"),
        ({x: float("nan")}, "x must be finite"),
        ({y.d: float("inf")}, r"y\.d must be finite"),
        ({x: 1j}, "x must be a number"),
        ({x: [1.0, 2.0]}, "x must be a number"),
    ],
)
def test_wrong_start_is_refused(start, message):
    with pytest.raises(ModelError, match=message):
        simulate(rod(), start, 1.0, VALUES)


def test_rate_of_a_coordinate_with_speeds_names_the_speeds():
    example = zoo.heavy_top_quaternion()
    with pytest.raises(ModelError, match=r"follows from the speeds; name those:.*omega_top_x"):
        simulate(example.system, {example.system.coordinates[0].d: 1.0}, 1.0, example.parameters)


def test_consistent_is_a_start():
    start = consistent(rod(), {x: 0.9, y: -0.6, x.d: 1.0}, VALUES)
    assert set(start) == {x, y, x.d, y.d}
    assert start[x] ** 2 + start[y] ** 2 == pytest.approx(1, abs=1e-15)
    assert start[x] * start[x.d] + start[y] * start[y.d] == pytest.approx(0, abs=1e-15)
    assert simulate(rod(), start, 0.1, VALUES).statistics["start_moved"] < 1e-15


def test_consistent_velocity_is_the_nearest_in_the_kinetic_metric():
    """Δv = −M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹ḟ: with masses 1 and 4 the lighter one gives way four times as much."""
    system = System([x, y], x.d**2 / 2 + 2 * y.d**2, constraints=[x.d + y.d])
    start = consistent(system, {x.d: 1.0, y.d: 1.0})
    assert start[x.d] == pytest.approx(1 - 2 * 4 / 5) and start[y.d] == pytest.approx(1 - 2 / 5)


def test_consistent_position_moves_along_the_normal():
    start = consistent(rod(), {x: 1.2, y: 1.6}, VALUES)
    assert (start[x], start[y]) == pytest.approx((0.6, 0.8), abs=1e-14)


def test_consistent_holds_what_is_held():
    start = consistent(rod(), {x: 0.3, y: -1.2, x.d: 1.0, y.d: 3.0}, VALUES, hold=[x, x.d])
    assert start[x] == 0.3 and start[x.d] == 1.0
    assert start[y] == pytest.approx(-math.sqrt(1 - 0.09)) and start[y.d] == pytest.approx(0.3 / math.sqrt(1 - 0.09))


def test_consistent_with_impossible_hold_is_refused():
    with pytest.raises(ConstraintError, match=r"while holding x.*'rod'.*Start closer to one, or hold fewer values"):
        consistent(rod(), {x: 2.0, y: 0.1}, VALUES, hold=[x])
    with pytest.raises(ModelError, match=r"hold= names z"):
        consistent(rod(), {x: 1.0}, VALUES, hold=[z])


def test_consistent_at_a_time():
    system = System([x, y], (x.d**2 + y.d**2) / 2, constraints=[Constraint(x - t**2, name="driven")])
    start = consistent(system, {}, since=3.0)
    assert start[x] == pytest.approx(9.0) and start[x.d] == pytest.approx(6.0)
    assert simulate(system, start, 4.0, since=3.0)[x][-1] == pytest.approx(16.0, rel=1e-9)


@pytest.mark.parametrize("name", [n for n in sorted(zoo.ALL) if zoo.ALL[n]().system.constraints])
def test_consistent_leaves_good_starts_alone_and_mends_bad_ones(name):
    example = zoo.ALL[name]()
    system = example.system
    same = consistent(system, example.start, example.parameters)
    for symbol, value in same.items():
        assert value == pytest.approx(float(example.start.get(symbol, symbol.start)), abs=1e-13)
    rng = np.random.default_rng(0)
    near = {s: value + 0.01 * rng.normal() for s, value in same.items()}
    mended = list(consistent(system, near, example.parameters).values())
    p = np.array([example.parameters[s] for s in system.parameters])
    left = residuals(normal_form(system), 0.0, np.array(mended[: system.nq]), np.array(mended[system.nq :]), p)
    assert left.relative < 1e-13


def test_near_start_of_a_singular_constraint_is_refused_not_looped():
    """x² + y² = 0 has one point, at which its gradient vanishes."""
    system = System([x, y], (x.d**2 + y.d**2) / 2, constraints=[Constraint(x**2 + y**2, name="point")])
    with pytest.raises(ConstraintError, match="point"):
        simulate(system, {x: 1.0}, 1.0)


@pytest.mark.parametrize("given", [np.zeros(2), [0.0, 0.0], (0.0, 0.0), 1.0, []])
def test_a_start_that_is_no_mapping_is_told_how_it_is_written(given):
    for ask in (lambda: simulate(rod(), given, until=0.1, parameters=VALUES), lambda: consistent(rod(), given, VALUES)):
        with pytest.raises(ModelError, match=rf"not {type(given).__name__}: start={{'x': 0, 'y': 0, 'x\.d': 0}}"):
            ask()


@pytest.mark.parametrize("given", [np.ones(2), [1.0, 9.81], 1.0, []])
def test_parameters_that_are_no_mapping_are_told_how_they_are_written(given):
    start = {y: -1.0}
    asked = (
        lambda: simulate(rod(), start, until=0.1, parameters=given),
        lambda: compile(rod(), given),
        lambda: consistent(rod(), start, given),
    )
    for ask in asked:
        with pytest.raises(ModelError, match=rf"{{'g': …, 'l': …}}, not as {type(given).__name__}"):
            ask()


def test_a_consistent_start_needs_the_parameters_of_constraints_and_inertia_only():
    """g pulls and F drives; neither decides where the rod may be."""
    F, m = parameters("F m")
    system = rod().replace(kinetic=m * (x.d**2 + y.d**2) / 2, forces={x: F})
    found = consistent(system, {x: 3.0, y: -4.0, x.d: 1.0}, {l: 1.0, m: 2.0})
    every = consistent(system, {x: 3.0, y: -4.0, x.d: 1.0}, {l: 1.0, m: 2.0, g: 9.81, F: 5.0})
    assert found == every and found[x] == pytest.approx(0.6, abs=1e-9)
    with pytest.raises(ModelError, match="no value for the parameters l, m;"):
        consistent(system, {x: 3.0, y: -4.0})
    with pytest.raises(ModelError, match="rod has no parameter 'k'; it has F, g, l, m"):
        consistent(system, {x: 3.0}, {l: 1.0, m: 2.0, "k": 1.0})
    with pytest.raises(ModelError, match="no value for the parameters F, g"):
        simulate(system, found, until=0.1, parameters={l: 1.0, m: 2.0})
