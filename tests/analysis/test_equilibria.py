"""All rests of small systems: in any units, of families, without stiffness, held by gyroscopic forces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sympy import cos

import appell as ap

x, y, q1, q2, phi = ap.coordinates("x y q1 q2 phi")
m, g, l, k = ap.parameters("m g l k", positive=True)
ROD = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x**2 + y**2 - l**2])


def plane(V, **more):
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, V, **more)


def test_rests_by_the_second_variation():
    two = ap.System([q1, q2], (q1.d**2 + q2.d**2) / 2, -cos(q1) - cos(q2) - k * cos(q1 - q2))
    found = ap.equilibria(two, {k: 0.3})
    assert [r.stability for r in found] == ["stable", "unstable", "unstable", "unstable"]
    rod = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x**2 + y**2 - l**2])
    down, up = ap.equilibria(rod, {m: 1, g: 9.81, l: 1}, within={x: (-2, 2), y: (-2, 2)})
    down, up = (down, up) if down[y] < 0 else (up, down)
    assert (down.stability, up.stability) == ("stable", "unstable")
    np.testing.assert_allclose([down.second[0, 0], up.second[0, 0]], [9.81, -9.81], rtol=1e-10)


@pytest.mark.parametrize(("mass", "length"), [(1e-27, 1.0), (6e24, 1.0), (1.0, 1e-9), (1e-20, 1e8)])
def test_rests_are_the_same_in_any_units(mass, length):
    """A rod pendulum hangs or stands, and nowhere else, be it of 1e-27 kg or 1e8 m long."""
    values, wide = {m: mass, g: 9.81, l: length}, (-2 * length, 2 * length)
    down, up = ap.equilibria(ROD, values, within={x: wide, y: wide}, attempts=12)
    np.testing.assert_allclose([*down.at.q, *up.at.q], np.array([0, -1, 0, 1]) * length, atol=1e-9 * length)
    assert (down.stability, up.stability) == ("stable", "unstable")
    near = ap.equilibrium(ROD, {x: 0.8 * length, y: -0.6 * length}, values)
    np.testing.assert_allclose(near.q, [0, -length], atol=1e-9 * length)
    pendulum = ap.System([phi], m * l**2 * phi.d**2 / 2, -m * g * l * cos(phi))
    assert ap.equilibrium(pendulum, {phi: 1.0}, values)[phi] == pytest.approx(0, abs=1e-9)
    steady = ap.steady_motions(pendulum, values, attempts=12)
    assert {round(s[phi], 9) % round(math.pi, 9) for s in steady} == {0.0}


def test_a_gyroscopic_force_may_hold_a_maximum():
    """T1 = 5 (x ẏ − y ẋ)/2 on a hilltop: small motions are bounded, so the decrease of V alone decides nothing."""
    hill = lambda spin: ap.System([x, y], (x.d**2 + y.d**2 + spin * (x * y.d - y * x.d)) / 2, -(x**2 + y**2) / 2)
    found = [ap.equilibria(hill(spin), within={x: (-1, 1), y: (-1, 1)}, attempts=3)[0].stability for spin in (5, 1, 0)]
    assert found == ["undecided", "unstable", "unstable"]  # 5² > 4: held


DEGENERATE = {  # V → (rests, directions of a family, directions without stiffness)
    "x**2 + y**4": (1, 0, 1),
    "x**2 - (y - 1)**4": (1, 0, 1),
    "x**2 + 1000*(y - 1)**3": (1, 0, 1),
    "x**3 - 3*x*y**2": (1, 0, 2),
    "x**2": (1, 1, 0),
    "(x - y)**2": (1, 1, 0),
    "(x**2 + y**2 - 1)**2": (2, 1, 0),
    "x**2 + y**2/10**6": (1, 0, 0),
}


@pytest.mark.parametrize("potential", DEGENERATE)
def test_where_the_second_variation_vanishes_nothing_is_guessed(potential):
    """Higher powers are no stiffness, whatever Newton's method left of it, and a family of rests is one."""
    import sympy

    V = sympy.sympify(potential, locals={"x": x, "y": y})
    found = ap.equilibria(plane(V), within={x: (-2, 2.1), y: (-2, 2.2)}, attempts=60 if "- 1)**2" in potential else 12)
    count, family, flat = DEGENERATE[potential]
    assert len(found) == count
    rest = max(found, key=lambda rest: (rest.at.family, rest.at.flat))
    assert (rest.at.family, rest.at.flat, rest.isolated) == (family, flat, not family)
    assert rest.stability == ("undecided" if family or flat else "stable")
    assert ("family" in repr(rest), "vanishes" in repr(rest)) == (bool(family), bool(flat))


def test_a_rest_that_damping_seems_to_hold():
    """V = 1000 y³ with damping: at either side of 0 it looks stable or unstable; it is said that nothing holds it."""
    damped = ap.System([y], y.d**2 / 2, 1000 * (y - 2) ** 3, {y: -y.d})
    for start in (2.3, 1.6):
        rest = ap.equilibrium(damped, {y: start})
        assert rest.stability == "undecided" and rest.flat == 1 and "vanishes" in str(rest)


WRONG = [
    ({"within": {"z": (0, 1)}}, "none of x, y"),
    ({"within": {x: (1, -1)}}, "lowest < highest"),
    ({"within": {x: 3}}, "two numbers"),
    ({"within": [1]}, "maps symbols"),
    ({"attempts": 2.5}, "whole number"),
    ({"parameters": {"c": 1}}, "no parameter 'c'"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_requests(case):
    options, message = WRONG[case]
    with pytest.raises(ap.ModelError, match=message):
        ap.equilibria(plane(x**2 + y**2), **options)
    with pytest.raises(ap.ModelError, match="takes a System"):
        ap.equilibria(case)  # type: ignore[arg-type]


def test_what_a_search_finds_is_a_tuple_with_a_dataset_and_a_picture():
    import pickle

    found = ap.equilibria(plane((x**2 - 1) ** 2 + y**2), within={x: (-2, 2), y: (-1, 1)}, attempts=20)
    assert found.ok and len(found) == 3 and found.message == "3 rests of 'system' found in 20 attempts"
    np.testing.assert_allclose(found.dataset["x"], [rest[x] for rest in found])
    assert list(found.dataset["stability"].values) == list(found.stability) == ["stable", "unstable", "stable"]
    assert len(found.plot().axes[0].get_legend().get_texts()) == 2 and found.plot("x").axes
    again = pickle.loads(pickle.dumps(found))
    assert again.message == found.message and len(again) == 3
    none = ap.equilibria(plane(x + y), within={x: (-2, 2), y: (-1, 1)}, attempts=2)
    assert none == () and not none.ok and none.dataset.sizes["state"] == 0 and "no rests" in none.message


def test_the_24_attitudes_of_a_satellite_on_a_circular_orbit():
    """Principal axes along the orbit's: 24 attitudes at rest in the orbital frame, of which 4 are minima of V − T0 =
    n²(3 e₃·J e₃ − e₂·J e₂)/2, the largest moment along the normal e₂ and the least along the vertical e₃
    (V. V. Beletsky, Motion of an Artificial Satellite about Its Center of Mass, 1965)."""
    from sympy import diag

    body, (A, B, C, n) = ap.quaternion("satellite"), ap.parameters("A B C n", positive=True)
    (p, q, r), R, J = body.rates, body.rotation, diag(A, B, C)
    up, normal = R.row(2).T, R.row(1).T
    V = n**2 * (3 * (up.T * J * up)[0] - (normal.T * J * normal)[0]) / 2
    satellite = ap.System([body], (A * p**2 + B * q**2 + C * r**2) / 2, V, name="satellite")
    found = ap.equilibria(satellite, {A: 1.0, B: 1.4, C: 0.8, n: 1.0})
    turned = [np.array(R.subs({c: rest[c] for c in body.coordinates}), dtype=float) for rest in found]
    assert len(found) == 24 == len({tuple(np.round(one).ravel().astype(int)) for one in turned})
    assert all(np.abs(one - np.round(one)).max() < 1e-8 for one in turned)
    stable = [one for one, said in zip(turned, found.stability, strict=True) if said != "unstable"]
    assert len(stable) == 4 and all(abs(one[1, 1]) > 0.99 and abs(one[2, 2]) > 0.99 for one in stable)


def test_rests_on_walls_beside_one_to_which_every_start_leads():
    """On a hill in a box Newton's method leads to its top from everywhere; 4 more rests are on walls, 4 in corners."""
    x, y = ap.coordinates("x y")
    walls = [ap.Between(-1, x, 0.6, name="X"), ap.Between(-0.5, y, 1, name="Y")]
    hill = ap.System([x, y], (x.d**2 + y.d**2) / 2, -(x**2) / 2 - y**2 + x * y / 10, constraints=walls)
    found = {(round(rest[x], 9), round(rest[y], 9)) for rest in ap.equilibria(hill, within={x: (-3, 3), y: (-3, 3)})}
    corners = {(a, b) for a in (-1.0, 0.6) for b in (-0.5, 1.0)}
    assert found == {(0.0, 0.0), (-1.0, -0.05), (0.6, 0.03), (-0.05, -0.5), (0.1, 1.0)} | corners
