"""First integrals of textbooks among those that `ap.diagnose` finds, with the symmetry that each belongs to."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Matrix

import appell as ap

m, R, g, a, A, B, C = ap.parameters("m R g a A B C", positive=True)
x, y = ap.coordinates("x y")
q = ap.quaternion("q")
OMEGA = q.rotation * Matrix(q.rates)
AXIS = q.rotation * Matrix([0, 0, 1])
CONTACT = Matrix([x.d, y.d, 0]) + OMEGA.cross(Matrix([0, 0, -R]))
ROLLING = [ap.Constraint(CONTACT[0], "rolls along x"), ap.Constraint(CONTACT[1], "rolls along y")]


def moment(*inertia):
    """R Jω about the centre on inertial axes."""
    return q.rotation * sympy.diag(*inertia) * Matrix(q.rates)


def euler_top():
    return ap.System([q], bodies=[ap.RigidBody(m, sympy.diag(A, B, C), [0, 0, 0], q)]), list(moment(A, B, C))


def lagrange_top():
    top = ap.System([q], potential=m * g * a * AXIS[2], bodies=[ap.RigidBody(m, sympy.diag(A, A, C), a * AXIS, q)])
    return top, [moment(A + m * a**2, A + m * a**2, C)[2], q.rates[2]]


def chaplygin_ball():
    """The moment of momentum about the point of contact, K + R e_z × m v, is constant (Chaplygin 1903)."""
    ball = ap.System([x, y, q], bodies=[ap.RigidBody(m, sympy.diag(A, B, C), [x, y, R], q)], constraints=ROLLING)
    return ball, list(moment(A, B, C) + Matrix([0, 0, R]).cross(m * Matrix([x.d, y.d, 0])))


def jellett():
    """A ball whose centre of mass lies at a on its axis: K·(R e_z + a e_3) is constant whatever acts at the contact, and
    Routh's ω₃ √(A C + m A R²(1 − c²) + m C (a + R c)²), c = e_3·e_z, where it rolls."""
    centre = [x + a * AXIS[0], y + a * AXIS[1], R + a * AXIS[2]]
    body = ap.RigidBody(m, sympy.diag(A, A, C), centre, q, name="egg")
    system = ap.System([x, y, q], potential=m * g * centre[2], bodies=[body], constraints=ROLLING)
    c = AXIS[2]
    routh = q.rates[2] * sympy.sqrt(A * C + m * A * R**2 * (1 - c**2) + m * C * (a + R * c) ** 2)
    return system, [moment(A, A, C).dot(Matrix([0, 0, R]) + a * AXIS), routh]


@pytest.mark.parametrize("made", [chaplygin_ball, jellett, euler_top, lagrange_top])
def test_integrals_of_books_are_found(made):
    system, books = made()
    found = [one for one in ap.diagnose(system).of("conserved") if one.expression is not None]
    assert len(found) == len(books) and all("about" in one.sentence or "alone" in one.sentence for one in found)
    for book in books:
        assert _in_span(system, book, [one.expression for one in found])


def _in_span(system, book, found):
    """Whether a quantity is a combination of others at random states with one set of parameters."""
    rng = np.random.default_rng(8)
    p = {s: rng.uniform(0.5, 2.0) for s in (m, R, g, a, A, B, C)}
    rows = []
    for _ in range(10):
        start = {s: rng.normal() for s in (*system.coordinates, *system.velocities)}
        norm = np.sqrt(sum(start[s] ** 2 for s in q.coordinates))
        point = {**p, **start, **{s: start[s] / norm for s in q.coordinates}}
        if system.constraints:
            v = OMEGA.cross(Matrix([0, 0, R])).xreplace(point)
            point |= {x.d: float(v[0]), y.d: float(v[1])}
        rows.append([float(e.xreplace(point)) for e in (book, *found)])
    table = np.array(rows)
    left = table[:, 0] - table[:, 1:] @ np.linalg.lstsq(table[:, 1:], table[:, 0], rcond=None)[0]
    return bool(np.abs(left).max() < 1e-9 * np.abs(table[:, 0]).max())


def momenta(system):
    return [f.expression for f in ap.diagnose(system).of("conserved") if f.expression is not None]


def test_turns_in_other_units_and_up_to_a_total_derivative():
    """x and 2 y turn into each other; of a charge in a magnetic field the centre of its circle stays."""
    k, b = ap.parameters("k b", positive=True)
    turned = ap.System([x, y], m * (x.d**2 + 4 * y.d**2) / 2, k * (x**2 + 4 * y**2) ** 2)
    (found,) = momenta(turned)
    assert sympy.simplify(found / (x * y.d - y * x.d)).free_symbols <= {m}
    charge = ap.System([x, y], m * (x.d**2 + y.d**2) / 2 + b * (x * y.d - y * x.d) / 2)
    found = momenta(charge)
    centre = [m * x.d - b * y, m * y.d + b * x]
    assert all(any(sympy.simplify(one - e) == 0 for one in found) for e in centre) and len(found) == 3
    broken = ap.System([x, y], m * (x.d**2 + 4 * y.d**2) / 2, k * (x**2 + 4 * y**2) ** 2 + x / 10**12)
    assert not momenta(broken)
