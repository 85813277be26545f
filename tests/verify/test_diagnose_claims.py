"""What `diagnose` claims is held against motions, and against systems that look like others."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Abs, Rational, cos, log, sin, sqrt

import appell as ap
from appell import t

x, y, z, a, b, c = ap.coordinates("x y z a b c")
k, m, r = ap.parameters("k m r", positive=True)
PLANE, SPACE = (x.d**2 + y.d**2) / 2, (x.d**2 + y.d**2 + z.d**2) / 2


def momenta(system: ap.System, **options) -> list:
    return [one.expression for one in ap.diagnose(system, **options).of("conserved") if one.expression is not None]


def energy(system: ap.System, **options) -> str:
    return ap.diagnose(system, **options).of("conserved")[0].sentence


def stays(motion, expr) -> bool:
    values = motion[expr]
    return float(np.ptp(values)) < 1e-6 * (1 + float(np.abs(values).max()))


# -- walls -------------------------------------------------------------------------------------------------------------

NORMALS = [(1, 0), (1, 1), (2, -1), (3, 5)]


@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize("restitution", [1, Rational(1, 2), 0])
def test_a_wall_leaves_the_momentum_along_it_and_no_other(normal, restitution):
    n1, n2 = normal
    wall = ap.Unilateral(n1 * x + n2 * y, "wall", restitution=restitution)
    system = ap.System([x, y], PLANE, constraints=[wall])
    (along,) = momenta(system)
    assert sympy.simplify(along.diff(x.d) * n1 + along.diff(y.d) * n2) == 0
    start = {x: n1, y: n2, x.d: Rational(1, 3) - n1, y.d: Rational(1, 5) - n2}
    motion = ap.simulate(system, start, 3.0, backend="vm")
    assert motion.impacts and stays(motion, along) and not stays(motion, n1 * x.d + n2 * y.d)
    assert stays(motion, PLANE) == (restitution == 1) == ("not conserved" not in energy(system))


def test_a_wall_that_moves_does_work():
    system = ap.System([x, y], PLANE, constraints=[ap.Unilateral(x - sin(t) / 2, "wall")])
    motion = ap.simulate(system, {x: 1, x.d: -1, y.d: 1}, 3.0, backend="vm")
    assert not stays(motion, PLANE) and "'wall' moves" in energy(system) and momenta(system) == [y.d]


def test_a_restitution_that_is_a_parameter():
    system = ap.System([x, y], PLANE, constraints=[ap.Unilateral(x, "wall", restitution=k)])
    assert "unless k = 1" in energy(system)
    assert "not conserved" in energy(system, parameters={k: 0.5}) and "elastic" in energy(system, parameters={k: 1})


def test_a_round_wall_leaves_the_moment_about_its_centre():
    system = ap.System([x, y], m * PLANE, constraints=[ap.Unilateral(4 - x**2 - y**2, "drum")])
    (moment,) = momenta(system)
    motion = ap.simulate(system, {x: 1, x.d: 1, y.d: 0.7}, 8.0, {m: 1.3}, backend="vm")
    assert len(motion.impacts) > 2 and stays(motion, moment) and not stays(motion, x.d)


def test_cyclic_coordinates_name_the_wall_that_acts_on_them():
    found = ap.diagnose(ap.System([x, y], PLANE, constraints=[ap.Unilateral(x, "wall")]))
    assert "'wall'" in found.about(x)[0].sentence and "is conserved" in found.about(y)[0].sentence


# -- momenta with parameters -------------------------------------------------------------------------------------------

PULLEYS = {
    "masses": (m * x.d**2 / 2 + k * y.d**2 / 2, (x - y) ** 2 / 2, m * x.d + k * y.d),
    "lever": (PLANE, (k * x - m * y) ** 2 / 2, m * x.d + k * y.d),
    "masses and lever": (m * x.d**2 / 2 + k * y.d**2 / 2, cos(x - r * y), r * m * x.d + k * y.d),
    "sum": (PLANE, sin((k + m) * x - y), x.d + (k + m) * y.d),
}


@pytest.mark.parametrize("name", PULLEYS)
def test_coefficients_of_momenta_may_be_parameters(name):
    T, V, expected = PULLEYS[name]
    (found,) = momenta(ap.System([x, y], T, V))
    assert sympy.simplify(found.diff(x.d) * expected.diff(y.d) - found.diff(y.d) * expected.diff(x.d)) == 0


def test_given_parameters_are_used():
    free = ap.parameters("s")
    spring = ap.System([x, y], PLANE, free * x**2 / 2)
    assert momenta(spring) == [y.d] and set(momenta(spring, parameters={free: 0})) >= {x.d, y.d}
    lever = ap.System([x, y], PLANE, (free * x - y) ** 2 / 2)
    (found,) = momenta(lever, parameters={free: 0.37})
    assert float(found.diff(y.d) / found.diff(x.d)) == pytest.approx(0.37)
    row = ap.System([x, y, z], SPACE, constraints=[ap.Constraint(z.d - free * y * x.d - y.d, "row")])
    assert "nonholonomic" in str(ap.diagnose(row).about("row"))
    (integral,) = [one.expression for one in ap.diagnose(row, parameters={free: 0}).of("integrability")]
    assert sympy.simplify(integral.diff(z) + integral.diff(y)) == 0 and integral.diff(x) == 0


# -- small is not zero -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_weak_coupling_is_a_coupling(small):
    found = ap.diagnose(ap.System([x, y, z], SPACE, constraints=[ap.Constraint(z.d - small * y * x.d, "weak")]))
    assert "nonholonomic" in found.of("integrability")[0].sentence and "3 dimensions" in found.of("freedom")[0].sentence
    assert [one.expression for one in found.of("conserved") if one.expression is not None] == [y.d]
    closed = ap.diagnose(ap.System([x, y, z], SPACE, constraints=[ap.Constraint(z.d - small * x * x.d, "closed")]))
    assert "holonomic in disguise" in closed.of("integrability")[0].sentence


# -- integrals and where they hold -------------------------------------------------------------------------------------

ROWS = {
    "log": (x.d - y.d / y, {x: 0.3, y: -0.7}),
    "log of a sum": ((x + y) * z.d - x.d - y.d, {x: -0.3, y: -0.7}),
    "ratio": (y * x.d - x * y.d, {x: -0.5, y: 0.4}),
    "product": (y * x.d + x * y.d, {x: -0.5, y: 0.4}),
    "time": (x.d - t * x, {x: -0.5}),
}


@pytest.mark.parametrize("name", ROWS)
def test_integrals_hold_on_both_sides(name):
    row, start = ROWS[name]
    system = ap.System([x, y, z], SPACE, x + 2 * y - z, constraints=[ap.Constraint(row, "row")])
    (found,) = ap.diagnose(system).of("integrability")
    speeds = {x.d: 0.3, y.d: -0.2, z.d: 0.1}
    motion = ap.simulate(system, ap.consistent(system, {**start, **speeds}), 0.2, backend="vm")
    assert np.isfinite(motion[found.expression]).all() and stays(motion, found.expression)
    if "log" in name:
        assert found.expression.has(log(Abs(y)), log(Abs(x + y))) and "on each side of" in found.sentence


def test_time_in_a_row_without_work():
    system = ap.System([x, y], PLANE, constraints=[ap.Constraint(x.d - t * y.d, "slope")])
    assert "conserved" in energy(system) and "time enters only 'slope'" in energy(system)
    assert stays(ap.simulate(system, {y.d: 1}, 2.0, backend="vm"), PLANE)
    assert "not conserved" in energy(ap.System([x, y], PLANE, constraints=[ap.Constraint(x.d - t, "driven")]))


# -- freedom on the constraints, not beside them -----------------------------------------------------------------------


def cranks(n: int) -> ap.System:
    """n parallel cranks on one coupler: 1 degree of freedom, for n > 2 with rows that depend on each other on f = 0 only."""
    angles = ap.coordinates(f"q1:{n + 1}")
    rows = [(x + i * cos(z) - i - cos(q), y + i * sin(z) - sin(q)) for i, q in enumerate(angles)]
    T = SPACE + sum(q.d**2 for q in angles) / 2
    return ap.System([x, y, z, *angles], T, y, constraints=[f for pair in rows for f in pair], name="cranks")


@pytest.mark.parametrize("n", [2, 3, 4])
def test_parallel_cranks_have_one_degree_of_freedom(n):
    found = ap.diagnose(cranks(n))
    assert found.of("freedom")[0].sentence.startswith("1 degree of freedom in the velocities; from a start 1 dimension ")
    assert len(found.of("redundancy")) == n - 2


STRETCHED = {
    "angles": ([a, b], [cos(a) + cos(b) - 2, sin(a) + sin(b)]),
    "points": ([x, y], [x**2 + y**2 - 1, (x - 2) ** 2 + y**2 - 1]),
    "three": ([a, b, c], [cos(a) + cos(b) + cos(c) - 3, sin(a) + sin(b) + sin(c)]),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_a_stretched_chain_cannot_move(name):
    q, rows = STRETCHED[name]
    found = ap.diagnose(ap.System(q, sum(s.d**2 for s in q) / 2, constraints=rows))
    assert found.of("freedom")[0].sentence.startswith("0 degrees of freedom in the velocities; from a start 0 dimensions ")


def test_rows_with_a_domain_outside_the_unit_box_are_not_called_contradictory():
    """A bowl whose lowest point is at x = 3."""
    x, y = ap.coordinates("x y")
    bowl = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[y + sqrt(1 - (x - 3) ** 2)])
    said = str(ap.diagnose(bowl))
    assert "contradict" not in said and "1 degree of freedom" in said
