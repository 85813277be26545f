"""Order and linearity of a constraint are read without expanding it."""

from __future__ import annotations

import random

import pytest
import sympy
from sympy import Matrix, cos, exp, sin, sqrt

import appell as ap
from appell.model.constraint import is_linear

x, y, z, a, b, c = q = ap.coordinates("x y z a b c")
k = ap.parameters("k")


def turned() -> Matrix:
    """A normalised normal of two vectors turned by three angles: thousands of terms when expanded."""
    one = sympy.rot_axis1(a) * sympy.rot_axis2(b) * sympy.rot_axis3(c) * Matrix([1, 2, 3])
    two = sympy.rot_axis1(c) * sympy.rot_axis3(a) * sympy.rot_axis1(b) * Matrix([x, y, z])
    n = one.cross(two)
    return n / sqrt(n.dot(n))


def test_a_row_with_normalised_vectors_is_read_as_it_stands():
    """Expanding these rows takes minutes, or never ends."""
    n, r = turned(), Matrix([x, y, z])
    height = n.dot(r) - 1
    assert ap.Constraint(height, "height").order == 0
    slip = n.dot(Matrix([x.d, y.d, z.d])) + (1 + n[0]) * (a.d + b.d) - c.d * n.dot(r)
    assert ap.Constraint(slip, "slip").linear
    assert not ap.Constraint(slip + n[0] * x.d * y.d, "bent").linear
    assert ap.Unilateral(height, "wall").function == height
    system = ap.System(q, sum(s.d**2 for s in q) / 2, constraints=[ap.Constraint(slip, "slip")])
    assert system.constraints[0].order == 1


@pytest.mark.parametrize("seed", range(12))
def test_linearity_is_that_of_the_expanded_row(seed):
    """Products of sums that cancel, with functions of the coordinates: judged as by expansion."""
    draw = random.Random(seed)
    speeds = [x.d, y.d, z.d]
    terms = lambda: [draw.randint(-3, 3) * f * s for f, s in zip((sin(x), exp(y), k), speeds, strict=True)]
    u, v = (sympy.Add(*terms()) + 1 for _ in range(2))
    hidden = (u + v) ** 2 - u**2 - 2 * u * v - v**2 + draw.choice(speeds) * cos(x)
    assert is_linear(hidden, speeds) and is_linear(u + sin(x) * v, speeds)
    bent = hidden + u * v
    assert is_linear(bent, speeds) == (sympy.Poly(sympy.expand(bent), *speeds).total_degree() <= 1)


@pytest.mark.parametrize("small", [1e-3, 1e-9, 1e-15])
def test_a_small_square_is_a_square(small):
    assert not ap.Constraint(x.d - small * (y.d + z.d) ** 2, "c").linear
    assert not ap.Constraint(x.d - small * sin(y.d), "c").linear


def test_functions_of_velocities():
    for bent in (sqrt(x.d**2 + y.d**2) - z.d, sympy.Abs(x.d) - y.d, x.d / y.d - 1, sympy.sign(x.d) + y.d, exp(x.d) - y.d):
        assert not ap.Constraint(bent, "c").linear
    straight = (x.d**2 - y.d**2) / (x.d + y.d)  # x.d − y.d, wherever it has a value
    assert ap.Constraint(straight - z.d * sin(x) / (1 + sin(x)), "c").linear
