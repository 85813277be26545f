"""Many faces: those that are written alike share one function, one check and one text of C."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin, sqrt
from tests.reference.discs import collide

import appell as ap
from appell.errors import ConstraintError
from appell.normal_form.face_table import face_table
from appell.normal_form.normal_form import normal_form


def discs(n, *, side, radius, mass, e):
    """n discs in a box: 4 n faces with walls, n (n − 1)/2 between discs."""
    x, y = (ap.coordinates(" ".join(f"{letter}{i}" for i in range(n))) for letter in "xy")
    faces = [
        ap.Unilateral(f, f"{name}{i}", e)
        for i in range(n)
        for name, f in (
            ("left", x[i] - radius), ("right", side - radius - x[i]), ("floor", y[i] - radius), ("roof", side - radius - y[i])
        )
    ]  # fmt: skip
    faces += [
        ap.Unilateral(sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2) - 2 * radius, f"{i}.{j}", e)
        for i in range(n)
        for j in range(i)
    ]
    T = sum(m * (a.d**2 + b.d**2) / 2 for m, a, b in zip(mass, x, y, strict=True))
    return ap.System([*x, *y], T, constraints=faces, name="discs"), x, y


@pytest.mark.parametrize("e", [1.0, 0.8])
def test_discs_in_a_box_collide_as_in_closed_form(e):
    n, side, radius, rng = 7, 3.0, 0.3, np.random.default_rng(2)
    mass = rng.uniform(0.5, 2, n)
    r = np.array([[0.5 + i % 3, 0.5 + i // 3] for i in range(n)]) + rng.uniform(-0.1, 0.1, (n, 2))
    v = rng.normal(size=(n, 2))
    system, x, y = discs(n, side=side, radius=radius, mass=mass.tolist(), e=e)
    start = dict(zip((*x, *y, *(s.d for s in (*x, *y))), [*r.T.ravel().tolist(), *v.T.ravel().tolist()], strict=True))
    motion = ap.simulate(system, start, 2.0, rtol=1e-12, atol=1e-14)
    R, V, times = collide(r, v, side=side, radius=radius, mass=mass, e=e, until=2.0)
    assert motion.ok and len(times) > 12
    np.testing.assert_allclose([impact.time for impact in motion.impacts], times, atol=1e-9)  # chaos multiplies rounding
    np.testing.assert_allclose(motion.q[-1], R.T.ravel(), atol=1e-8)
    np.testing.assert_allclose(motion.v[-1], V.T.ravel(), atol=1e-8)


def test_faces_of_one_kind_share_their_text():
    """45 pairs and 40 walls: sums in the order of names or against it, numbers and coordinates apart."""
    system, _, _ = discs(10, side=4.0, radius=0.2, mass=[1.0] * 10, e=1)
    table = face_table(system, normal_form(system), 2 * 20 + 1)
    assert len(system.unilateral) == 85 and len(table.shapes) <= 6


def test_one_impossible_face_among_many_alike_is_named():
    x, y = ap.coordinates("x y")
    circle = lambda k, c: ap.Unilateral((x - k) ** 2 + y**2 + c, f"c{k}")
    with pytest.raises(ConstraintError, match="'c3' is never reached"):
        ap.System([x, y], x.d**2 + y.d**2, constraints=[circle(k, 0.5 if k == 3 else -0.5) for k in range(6)])
    with pytest.raises(ConstraintError, match="'c4' has a vanishing gradient"):
        ap.System([x, y], x.d**2 + y.d**2, constraints=[circle(k, 0 if k == 4 else -0.5) for k in range(6)])


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_faces_in_any_unit_of_length_are_reached(size):
    """A corner of a box of 10⁹ m and its wall: the slope along the angle is 10⁹ times that along x."""
    x, phi = ap.coordinates("x phi")
    wall = ap.Unilateral(1.2 * size - x - 0.5 * size * cos(phi) + 0.3 * size * sin(phi), "wall")
    assert ap.System([x, phi], x.d**2 + size**2 * phi.d**2, constraints=[wall]).unilateral
