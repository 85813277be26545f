"""Rest with its reactions against statics by hand. Tolerances: Newton ends at rounding, a few 1e-12 of the forces."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
import sympy
from sympy import Rational, cos, sin

from appell.analysis import equilibrium
from appell.compiled.compiling import compile
from appell.errors import AppellError, ConstraintError, ModelError
from appell.jets import coordinates, parameters, speeds, t
from appell.model import Between, Constraint, Particle, RigidBody, System, Unilateral, quaternion
from appell.simulate.simulate import simulate
from appell.tree import Chain, ChainLink

EXACT = pytest.approx
G = 9.81


def pendulum() -> System:
    phi = coordinates("phi")
    l, g = parameters("l g", positive=True)
    return System([phi], l**2 * phi.d**2 / 2, potential=-g * l * cos(phi))


def test_a_pendulum_hangs_with_its_small_frequency_and_stands_with_its_rate_of_falling():
    values = {"l": 2.0, "g": G}
    rate = math.sqrt(G / 2.0)
    hanging = equilibrium(pendulum(), {"phi": 0.4}, values)
    assert hanging["phi"] == pytest.approx(0, abs=1e-12)
    assert sorted(hanging.eigenvalues.imag) == EXACT([-rate, rate], rel=1e-9)
    assert hanging.stability == "undecided"  # a linearisation cannot tell a centre
    standing = equilibrium(pendulum(), {"phi": 3.0}, values)
    assert standing["phi"] == EXACT(math.pi, abs=1e-12)
    assert sorted(standing.eigenvalues.real) == EXACT([-rate, rate], rel=1e-9)
    assert standing.stability == "unstable"


def test_friction_makes_the_hanging_pendulum_asymptotically_stable():
    phi = coordinates("phi")
    damped = System([phi], phi.d**2 / 2, potential=-cos(phi), forces={phi: -phi.d / 5})
    found = equilibrium(damped, {phi: 0.3})
    assert found.stability == "asymptotically stable"
    assert np.allclose(np.sort_complex(found.eigenvalues), [-0.1 - 1j * math.sqrt(0.99), -0.1 + 1j * math.sqrt(0.99)])


def test_ladder_against_a_smooth_wall_held_by_a_rope():
    """Floor m g, wall and rope m g d/(2 h) for a ladder with its foot at distance d and its top at height h."""
    x, y, theta = coordinates("x y theta")
    m, L, d, g = parameters("m L d g", positive=True)
    foot = (x + L / 2 * cos(theta), y - L / 2 * sin(theta))
    top = (x - L / 2 * cos(theta), y + L / 2 * sin(theta))
    ladder = System(
        [x, y, theta],
        m * (x.d**2 + y.d**2) / 2 + m * L**2 / 24 * theta.d**2,
        potential=m * g * y,
        constraints=[Constraint(foot[1], "floor"), Constraint(top[0], "wall"), Constraint(foot[0] - d, "rope")],
    )
    found = equilibrium(ladder, {x: 1.4, y: 2, theta: 0.9}, {m: 20, L: 5, d: 3, g: G})
    assert found[y] == EXACT(2.0, abs=1e-12)  # a 3-4-5 triangle
    assert found.reaction("floor") == EXACT(20 * G, rel=1e-12)
    assert found.reaction("wall") == EXACT(20 * G * 3 / (2 * 4), rel=1e-12)
    assert found.reaction("rope") == EXACT(-20 * G * 3 / (2 * 4), rel=1e-12)
    assert len(found.eigenvalues) == 0 and found.stability == "rigid" and found.residual < 1e-12


def chain(count: int, span: float, length: float) -> tuple[System, list, dict]:
    """`count` unit masses on count + 1 rigid links of one length between supports at one height."""
    q = coordinates(f"x1:{count + 1}") + coordinates(f"y1:{count + 1}")
    xs, ys = list(q[:count]), list(q[count:])
    points = [(0, 0), *zip(xs, ys, strict=True), (span, 0)]
    links = [
        Constraint(((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2) / 2, f"link {i}")
        for i, (a, b) in enumerate(pairwise(points))
    ]
    system = System(q, sum(s.d**2 for s in q) / 2, potential=Rational(981, 100) * sum(ys), constraints=links)
    start = {x: span * (i + 1) / (count + 1) for i, x in enumerate(xs)}
    start |= {y: -length * min(i + 1, count - i) * 0.7 for i, y in enumerate(ys)}
    return system, points, start


def test_two_masses_on_three_links_hang_as_a_trapezium():
    """cos α = (D − l)/(2 l); tension m g/sin α outside, m g/tan α in the middle; Λ = −tension/l."""
    span, l = 2.2, 1.0
    alpha = math.acos((span - l) / (2 * l))
    system, points, start = chain(2, span, l)
    found = equilibrium(system, start)
    assert found[points[1][1]] == EXACT(-l * math.sin(alpha), rel=1e-10)
    assert found.multipliers == EXACT([-G / math.sin(alpha), -G / math.tan(alpha), -G / math.sin(alpha)], rel=1e-10)


def test_a_chain_of_twelve_masses_has_one_horizontal_tension_and_a_vertical_one_that_grows_by_the_weights():
    system, points, start = chain(12, 6.0, 0.7)
    found = equilibrium(system, start)
    place = np.array([[float(z) if isinstance(z, int | float) else found[z] for z in point] for point in points])
    tension = -found.multipliers[:, None] * np.diff(place, axis=0)  # of each link, along x and y
    assert np.ptp(tension[:, 0]) < 1e-9 and tension[0, 0] > 1
    assert np.diff(tension[:, 1]) == EXACT(np.full(12, G), rel=1e-9)
    assert found.stability == "undecided" and (found.eigenvalues.real < 1e-6).all()
    assert len(found.eigenvalues) == 2 * 11  # 24 coordinates, 13 links


def test_the_chain_stays_where_it_was_found():
    system, points, start = chain(2, 2.2, 1.0)
    found = equilibrium(system, start)
    motion = simulate(system, start=found.start, until=2.0)
    assert np.ptp(motion[points[1][1]]) < 1e-9


def test_four_bar_under_a_torque_by_virtual_work():
    """Crank torque τ against a weight on the rocker: τ δa − 5 l3 cos c δc = 0 along the linkage, and rest is where it holds."""
    a, b, c = coordinates("a b c")
    l1, l2, l3, d = 1.0, 3.0, 2.5, 3.5
    loop = [
        Constraint(l1 * cos(a) + l2 * cos(b) - l3 * cos(c) - d, "loop x"),
        Constraint(l1 * sin(a) + l2 * sin(b) - l3 * sin(c), "loop y"),
    ]
    tau = 2.0
    system = System([a, b, c], (a.d**2 + b.d**2 + c.d**2) / 2, potential=5 * l3 * sin(c), forces={a: tau}, constraints=loop)
    found = equilibrium(system, {a: 1.0, b: 0.4, c: 1.2})
    A = np.array([[-l1 * np.sin(found[a]), -l2 * np.sin(found[b]), l3 * np.sin(found[c])],
                  [l1 * np.cos(found[a]), l2 * np.cos(found[b]), -l3 * np.cos(found[c])]])  # fmt: skip
    virtual = np.linalg.svd(A)[2][-1]
    forces = np.array([tau, 0, -5 * l3 * math.cos(found[c])])
    assert forces @ virtual == pytest.approx(0, abs=1e-9)
    assert forces + A.T @ found.multipliers == pytest.approx(0, abs=1e-9)
    assert l1 * math.cos(found[a]) + l2 * math.cos(found[b]) - l3 * math.cos(found[c]) == EXACT(d)


def test_a_skate_on_a_slope_stands_across_it_held_by_its_blade():
    """V = 2 g y: the blade carries the weight where it points along x, Λ = −2 g by f = ẋ sin φ − ẏ cos φ; anywhere in x, y."""
    x, y, phi = coordinates("x y phi")
    g = parameters("g", positive=True)
    blade = Constraint(x.d * sin(phi) - y.d * cos(phi), "blade")
    skate = System([x, y, phi], x.d**2 + y.d**2 + phi.d**2 / 4, potential=2 * g * y, constraints=[blade])
    found = equilibrium(skate, {x: 3, y: -1, phi: 0.3}, {g: G})
    assert found[phi] == pytest.approx(0, abs=1e-10)
    assert (found[x], found[y]) == EXACT((3, -1))
    assert found.reaction(blade) == EXACT(-2 * G, rel=1e-12)
    assert found.free > 0


def test_redundant_supports_share_the_load_by_the_least_norm():
    x, y = coordinates("x y")
    supports = [Constraint(y, "one"), Constraint(2 * y, "two")]
    system = System([x, y], (x.d**2 + y.d**2) / 2, potential=10 * y, constraints=supports)
    found = equilibrium(system, {x: 1})
    assert found.multipliers == EXACT([2.0, 4.0])  # Λ1 + 2 Λ2 = 10, least norm


def test_a_body_on_a_ball_joint_hangs_with_its_mass_below():
    ball = quaternion("body")
    R = ball.rotation
    m, l, g = parameters("m l g", positive=True)
    body = RigidBody(m, sympy.diag(1, 2, 3), list(R * sympy.Matrix([0, 0, -l])), orientation=ball, name="body")
    system = System([ball], bodies=[body], potential=m * g * (R * sympy.Matrix([0, 0, -l]))[2])
    found = equilibrium(system, {"body_x": 0.3, "body_y": -0.2, "body_w": 0.9}, {m: 2, l: 0.5, g: G})
    qx, qy = found["body_x"], found["body_y"]
    assert (qx, qy) == pytest.approx((0, 0), abs=1e-10)
    frequencies = sorted(x for x in found.eigenvalues.imag if x > 1e-6)
    assert frequencies == EXACT(sorted(math.sqrt(2 * G * 0.5 / (J + 2 * 0.25)) for J in (1, 2)), rel=1e-8)
    assert found.free == 2  # turning about the vertical


def test_speeds_and_relative_rest_on_a_turning_ring():
    """A bead on a ring that turns with ω about its vertical diameter rests at cos θ = g/(ω² r), or below."""
    theta = coordinates("theta")
    u = speeds("u")
    r, g, omega = parameters("r g omega", positive=True)
    T = r**2 * u**2 / 2 + omega**2 * r**2 * sin(theta) ** 2 / 2
    ring = System([theta], T, potential=-g * r * cos(theta), speeds=[u], kinematics={theta: u})
    values = {r: 1.0, g: G, omega: 5.0}
    found = equilibrium(ring, {theta: 1.0}, values)
    assert math.cos(found[theta]) == EXACT(G / 25, rel=1e-12)
    assert max(found.eigenvalues.imag) == EXACT(5 * math.sin(found[theta]), rel=1e-9)
    assert equilibrium(ring, {theta: 0.01}, values).stability == "unstable"


def test_the_accelerations_vanish_where_it_says_rest():
    system, _, start = chain(5, 3.0, 0.8)
    found = equilibrium(system, start)
    a, lam = compile(system, backend="vm").acceleration(0.0, found.q, np.zeros(system.nv))
    assert np.abs(a).max() < 1e-8
    assert lam == EXACT(found.multipliers, rel=1e-8)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_falling_body_has_no_rest_and_the_force_left_is_named():
    x, y = coordinates("x y")
    falling = System([x, y], bodies=[Particle(2, [x, y])], potential=2 * Rational(981, 100) * y)
    with pytest.raises(AppellError, match=r"a force -19\.62 along y\.d is left"):
        equilibrium(falling, {x: 0})


def test_time_is_refused_by_name():
    x = coordinates("x")
    moved = System([x], x.d**2 / 2, forces={x: sin(t) - x})
    with pytest.raises(ModelError, match=r"the force for x\.d contains time"):
        equilibrium(moved, {x: 0})
    table = System([x], x.d**2 / 2, constraints=[Constraint(x - sin(t), "table")])
    with pytest.raises(ModelError, match="constraint 'table' contains time"):
        equilibrium(table, {x: 0})


def test_a_constraint_that_forbids_rest_is_not_at_rest():
    x, y = coordinates("x y")
    belt = System([x, y], (x.d**2 + y.d**2) / 2, constraints=[Constraint(x.d - 1, "belt")])
    with pytest.raises(AppellError, match="no equilibrium"):
        equilibrium(belt, {x: 0})


def test_rest_on_a_wall_is_that_of_a_constraint_in_its_place():
    x = coordinates("x")
    spring = {"coordinates": [x], "kinetic": x.d**2 / 2, "potential": (x + 2) ** 2 / 2}
    wall = Unilateral(x - 1, "wall")
    resting = equilibrium(System(**spring, constraints=[wall]), {x: 1})
    on_the_wall = equilibrium(System(**spring, constraints=[Constraint(x - 1, "wall")]), {x: 1})
    assert on_the_wall.reaction("wall") == EXACT(3.0) == resting.reaction(wall) == resting.faces[0]
    assert resting[x] == EXACT(1.0) and resting.contacts == ("wall",)
    with pytest.raises(ConstraintError, match="it would have to pull, Λ = -1 < 0"):
        equilibrium(System([x], x.d**2 / 2, potential=-x, constraints=[wall]), {x: 2})


@pytest.mark.parametrize("seed", range(8))
def test_rest_among_walls_is_the_least_potential(seed):
    """V convex, faces half spaces: Q + Σ Λ_j n_j = 0, g >= 0, Λ >= 0, g Λ = 0 are the conditions of its minimum (SLSQP)."""
    rng, n = np.random.default_rng(seed), 3
    q = coordinates("x y z")
    root, aim = rng.normal(size=(n, n)), rng.normal(size=n)
    K = root @ root.T + np.eye(n)
    normals, offsets = rng.normal(size=(4, n)), rng.uniform(-0.5, 0.5, 4)
    V = sum(K[i, j] * (q[i] - aim[i]) * (q[j] - aim[j]) for i in range(n) for j in range(n)) / 2
    faces = [Unilateral(sum(a * s for a, s in zip(row, q, strict=True)) - b, f"f{k}")
             for k, (row, b) in enumerate(zip(normals, offsets, strict=True))]  # fmt: skip
    system = System(q, sum(s.d**2 for s in q) / 2, V, constraints=faces)
    rows = {"type": "ineq", "fun": lambda z: normals @ z - offsets, "jac": lambda z: normals}
    best = scipy.optimize.minimize(lambda z: (z - aim) @ K @ (z - aim) / 2, np.zeros(n), constraints=rows, method="SLSQP",
                                   jac=lambda z: K @ (z - aim), options={"ftol": 1e-15, "maxiter": 200})  # fmt: skip
    if not best.success:
        pytest.skip("the half spaces have no common point")
    found = equilibrium(system, {})
    assert found.q == pytest.approx(best.x, abs=1e-6)
    g = normals @ found.q - offsets
    assert g.min() > -1e-9 and (found.faces >= 0).all() and np.abs(g * found.faces).max() < 1e-8
    assert found.faces @ normals == pytest.approx(K @ (found.q - aim), abs=1e-8)


def test_between_stops_and_in_a_corner():
    x, y = coordinates("x y")
    stop = Between(-1, x, 1, "stop")
    for aim in (-3, 3):
        found = equilibrium(System([x], x.d**2 / 2, (x - aim) ** 2 / 2, constraints=[stop]), {x: 0})
        assert found[x] == EXACT(np.sign(aim)) and found.reaction(stop) == EXACT(-np.sign(aim) * 2.0)
    sides = [Unilateral(y - x, "right"), Unilateral(y + x, "left")]
    corner = equilibrium(System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=sides), {x: 0.3, y: 1})
    assert corner.q == pytest.approx([0, 0], abs=1e-9) and corner.faces == pytest.approx([5, 5])


def test_trees_hang_where_their_systems_do():
    """A chain at rest: its own gravity, no symbols of energies; with a stop, on it."""
    chain = Chain([ChainLink(1.0, [0, 0, -0.5], np.diag([0.4, 0.4, 0.1]), [0, 0, -1.0], [0, 1, 0])] * 2, backend="vm")
    found = equilibrium(chain, {s: 0.4 for s in chain.system().coordinates})
    assert found.q == pytest.approx([0, 0], abs=1e-9) and found.stability == "undecided"
    hip, knee = chain.system().coordinates
    held = chain.system([Unilateral(knee - sympy.Rational(1, 4), "stop")])
    resting = equilibrium(held, {hip: 0.1, knee: 0.4})
    assert resting[knee] == EXACT(0.25) and resting.reaction("stop") > 0
    motion = simulate(held, resting.start, 1.0, backend="vm")
    assert np.abs(motion[hip] - resting[hip]).max() < 1e-9


def test_prints_the_place_the_reactions_and_the_hint():
    x = coordinates("x")
    found = equilibrium(System([x], x.d**2 / 2, potential=(x - 2) ** 2 / 2, constraints=[Constraint(x - 1, "stop")]), {x: 0.5})
    assert str(found).startswith("rest of system: x = 1") and "Λ of 'stop' = -1" in str(found)
    with pytest.raises(ModelError, match="not a coordinate"):
        found["y"]
