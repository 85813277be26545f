"""Rolling bodies in a plain system: the point of contact does not move, and known motions come out."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Matrix, cos, sin, sqrt

import appell as ap

x, y, z, psi, theta, phi, u, w = ap.coordinates("x y z psi theta phi u w")
m, r, g, A, C, J, R = ap.parameters("m r g A C J R", positive=True)
ball_q = ap.quaternion("b")
DISC = ap.RigidBody(m, [A, A, C], [x, y, z], [psi, theta, phi], name="disc")
BALL = ap.RigidBody(m, [J, J, J], [x, y, z], ball_q, name="ball")
VALUES = {m: 1.0, r: 0.1, g: 9.81, A: 0.0025, C: 0.005, J: 0.004, R: 1.0}


def test_rows_of_a_disc_are_those_of_the_book():
    height, along, across = ap.rolling(DISC, r)
    assert sympy.expand(height.residual - (z - r * sin(theta))) == 0
    assert sympy.simplify(along.residual + x.d * cos(psi) + y.d * sin(psi) + r * (phi.d + psi.d * cos(theta))) == 0
    assert sympy.simplify(across.residual - x.d * sin(psi) + y.d * cos(psi) + r * theta.d * sin(theta)) == 0
    assert [c.name for c in ap.rolling(DISC, r, sideways=False, height=None)] == ["disc: along"]


AXES = ["z", "x", [1, 2, 2], None]


@pytest.mark.parametrize("axis", AXES)
def test_the_point_of_contact_is_at_rest(axis):
    """At a state on the rows the velocity of the material point at c, the lowest of the rim, vanishes."""
    body = ap.RigidBody(m, [A, A, C], [x, y, z], ap.euler([psi, theta, phi], "zyx"), name="body")
    rows = ap.rolling(body, r, axis=axis)
    system = ap.System([x, y, z, psi, theta, phi], potential=m * g * z, bodies=[body], constraints=rows)
    start = {psi: 0.4, theta: 0.7, phi: 0.5, psi.d: 1.0, theta.d: -2.0, phi.d: 3.0, z: 0.1}
    state = ap.consistent(system, start, VALUES_OF(system), hold=[s for s in start if s != z])
    values = {**state, **{s: v for s, v in VALUES.items()}}
    turn = np.array(body.orientation.rotation.xreplace(values).tolist(), dtype=float)
    e = np.array([[0, 0, 1], [1, 0, 0], axis, [0, 0, 0]][AXES.index(axis)], dtype=float)
    e = turn @ e / max(np.linalg.norm(e), 1e-300)
    down = -np.array([0, 0, 1]) + e[2] * e if axis else np.array([0, 0, -1.0])
    arm = 0.1 * down / np.linalg.norm(down)
    velocity = body.point_velocity(Matrix(arm.tolist()), frame="space").xreplace(values)
    np.testing.assert_allclose(np.array(velocity.tolist(), dtype=float).ravel(), 0, atol=1e-12)
    assert state[z] + arm[2] == pytest.approx(0, abs=1e-12)


def test_a_wheel_in_a_plane_and_one_on_a_belt():
    wheel = ap.RigidBody(m, J, [x, r], phi, name="wheel")
    (row,) = ap.rolling(wheel, r)
    assert sympy.expand(row.residual + x.d + r * phi.d) == 0
    body = ap.RigidBody(m, J, [x, y], phi, name="wheel")
    V = m * g * (y * cos(0.3) - x * sin(0.3))
    slope = ap.System([x, y, phi], potential=V, bodies=[body], constraints=ap.rolling(body, r))
    run = ap.compile(slope, {m: 2.0, r: 0.1, g: 9.81, J: 0.01}, backend="vm")
    a, _ = run.acceleration(0.0, [0.0, 0.1, 0.0], [0.0, 0.0, 0.0])
    assert a[0] == pytest.approx(9.81 * np.sin(0.3) / (1 + 0.01 / (2 * 0.1**2)))
    (height, x_row, y_row) = ap.rolling(BALL, r, axis=None, belt=[-sympy.Symbol("Omega") * y, 3])
    assert height.residual == z - r and y_row.residual.as_independent(y.d)[0] is not None
    assert sympy.diff(x_row.residual, y) == sympy.Symbol("Omega")


def test_one_sphere_said_by_its_distance_and_by_its_points():
    distance = ap.rolling(BALL, r, axis=None, on=lambda x, y, z: R - sqrt(x**2 + y**2 + z**2))
    points = ap.rolling(BALL, r, axis=None, on=((u, w), [R * sin(u) * cos(w), R * sin(u) * sin(w), -R * cos(u)]))
    one = ap.System([x, y, z, ball_q], potential=m * g * z, bodies=[BALL], constraints=distance)
    other = ap.System([x, y, z, ball_q, u, w], potential=m * g * z, bodies=[BALL], constraints=points)
    start = ap.consistent(other, {x: 0.5, z: -0.75, y.d: 1.0, u: 0.6}, VALUES_OF(other))
    same = ap.consistent(one, {s: v for s, v in start.items() if s in (*one.coordinates, *one.velocities)}, VALUES_OF(one))
    first = ap.simulate(one, same, 0.5, VALUES_OF(one), times=[0.0, 0.5], backend="vm")
    second = ap.simulate(other, start, 0.5, VALUES_OF(other), times=[0.0, 0.5], backend="vm")
    assert first.ok and second.ok
    np.testing.assert_allclose(first.q[-1], second.q[-1, :7], atol=1e-8)


def test_a_disc_on_points_of_a_plane_is_one_on_the_plane():
    plain = ap.System([x, y, z, psi, theta, phi], potential=m * g * z, bodies=[DISC], constraints=ap.rolling(DISC, r))
    rows = ap.rolling(DISC, r, on=((u, w), [u, w, 0]))
    curved = ap.System([x, y, z, psi, theta, phi, u, w], potential=m * g * z, bodies=[DISC], constraints=rows)
    start = ap.consistent(plain, {theta: 1.2, psi.d: 1.0, phi.d: 8.0, z: 0.09}, VALUES_OF(plain), hold=[theta, psi.d, phi.d])
    state = ap.consistent(curved, {**start, u: start[x], w: start[y]}, VALUES_OF(curved))
    runs = [ap.compile(s, VALUES_OF(s), backend="vm") for s in (plain, curved)]
    a = runs[0].acceleration(0.0, [start[s] for s in plain.coordinates], [start[s] for s in plain.velocities])[0]
    b = runs[1].acceleration(0.0, [state[s] for s in curved.coordinates], [state[s] for s in curved.velocities])[0]
    np.testing.assert_allclose(a, b[:6], atol=1e-8)


def test_a_surface_that_moves_takes_the_ball_along():
    """s(u, w, t) = (u + a sin t, w, 0) is a belt of velocity a cos t; s = (u + X, w, 0) a slab that is itself free to slide."""
    X = ap.coordinates("X")
    at = {"potential": m * g * z, "bodies": [BALL]}
    belt = ap.System([x, y, z, ball_q], **at, constraints=ap.rolling(BALL, r, axis=None, belt=(3 * cos(ap.t), 0)))
    rows = ap.rolling(BALL, r, axis=None, on=((u, w), [u + 3 * sin(ap.t), w, 0]))
    driven = ap.System([x, y, z, ball_q, u, w], **at, constraints=rows)
    rows = ap.rolling(BALL, r, axis=None, on=((u, w), [u + X, w, 0]))
    slab = ap.System([x, y, z, ball_q, u, w, X], m * X.d**2 / 2, **at, forces={X: 1}, constraints=rows)
    found = {}
    for name, system in (("belt", belt), ("driven", driven), ("slab", slab)):
        start = ap.consistent(system, {z: 0.1}, VALUES_OF(system), since=0.4)
        q, v = ([start[s] for s in symbols] for symbols in (system.coordinates, system.velocities))
        found[name] = ap.compile(system, VALUES_OF(system), backend="vm").acceleration(0.4, q, v)[0]
    np.testing.assert_allclose(found["driven"][0], found["belt"][0], rtol=1e-10)
    np.testing.assert_allclose(found["belt"][0], -3 * np.sin(0.4) * 0.4 / 1.4, rtol=1e-10)  # J = 0.4 m r²
    np.testing.assert_allclose(found["slab"][0], (1 - found["slab"][-1]), rtol=1e-10)  # momentum of both
    np.testing.assert_allclose(found["slab"][0], found["slab"][-1] * 0.4 / 1.4, rtol=1e-10)


def test_a_sloping_plane_has_no_root_in_its_rows():
    slope = ap.parameters("alpha")
    rows = ap.rolling(BALL, r, axis=None, up=[-sin(slope), 0, cos(slope)])
    assert not any(c.residual.has(sympy.sqrt(2), sympy.Pow(sin(slope), 2)) for c in rows)
    assert sympy.expand(rows[0].residual - (z * cos(slope) - x * sin(slope) - r)) == 0


def test_wheels_of_trees_and_bodies_have_one_name():
    assert ap.rolling is ap.tree.rolling
    with pytest.raises(ap.ModelError, match="tree"):
        ap.rolling(DISC, r, floor=DISC)


WRONG = [
    ({"radius": 0}, "must be positive"),
    ({"axis": [0, 0, 0]}, "length 0"),
    ({"axis": "q"}, "'x', 'y', 'z'"),
    ({"axis": None, "on": lambda x, y, z: x**2 + y**2 + z**2 - 1}, "by its distance"),
    ({"on": lambda x, y, z: z}, "F\\(x, y, z\\) is for balls"),
    ({"on": ((u, 3), [u, u, 0])}, "two ap.coordinates"),
    ({"on": 7}, "a function of"),
    ({"on": ((u, w), [u, w, 0]), "height": 1}, "are for planes"),
    ({"on": ((u, w), [u, w, 0]), "up": "z"}, "give one of them"),
    ({"axis": None, "on": lambda x, y: x}, "function of \\(x, y, z\\)"),
    ({"axis": None, "on": lambda x, y, z: z - sin(ap.t)}, "contains t, so it moves"),
    ({"axis": None, "up": [sin(psi), 0, cos(psi)]}, "contains psi, so it moves"),
    ({"axis": None, "sideways": False}, "is a ball"),
    ({"axis": [1, 2]}, "three components"),
    ({"radius": float("nan")}, "must be finite"),
    ({"belt": 3}, "two components"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_cannot_roll_is_refused(case):
    options, message = WRONG[case]
    with pytest.raises(ap.ModelError, match=message):
        ap.rolling(DISC, options.pop("radius", r), **options)


def VALUES_OF(system: ap.System) -> dict:
    return {p: VALUES[p] for p in system.parameters}
