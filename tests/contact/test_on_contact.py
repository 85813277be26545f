"""Contact on contact: landing on a second face, bodies that come to rest on several corners, scales, motions without end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sympy import sin
from tests.contact.bodies import (
    phi,
    planar_start,
    polygon,
    polygons,
    polyhedra,
    polyhedron,
    spatial_start,
    x,
    y,
)
from tests.reference.bodies_on_planes import fall

import appell as ap

FLOOR = (((0.0, 1.0), 0.0),)
WEDGE = (((0.0, 1.0), 0.0), ((-np.sin(1.2), np.cos(1.2)), -1.5))


def holds(motion, system):
    """It is finished, no face is crossed, and the energy is accounted for."""
    assert motion.ok, motion.message
    assert min(float(motion[face.function].min()) for face in system.unilateral) > -1e-9
    assert np.abs(motion.balance).max() < 1e-8


@pytest.mark.parametrize(("degrees", "e"), [(80, 0.5), (100, 0.5), (60, 0.8), (45, 0.0), (120, 0.3)])
def test_a_bead_slides_into_a_wall(degrees, e):
    """On a floor (e = 0) against a wall: blows on both accumulate, and it comes to rest in the corner."""
    a = np.radians(degrees)
    wall = ap.Unilateral(-(x - 1) * float(np.sin(a)) + y * float(np.cos(a)), "wall", e)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y - 3 * x, constraints=[ap.Unilateral(y, "floor", 0), wall])
    motion = ap.simulate(system, {x.d: 0.3}, 5.0)
    holds(motion, system)
    assert motion.final[x] == pytest.approx(1, abs=1e-9) and abs(motion.final[x.d]) < 1e-9
    lam = [motion.reaction(name)[-1] for name in ("floor", "wall")]
    assert lam == pytest.approx([10 - 3 / np.tan(a), 3 / np.sin(a)], rel=1e-9)


@pytest.mark.parametrize("tilt", [1e-12, 1e-6, 0.2])
def test_a_rod_falls_nearly_flat(tilt):
    ends = [ap.Unilateral(y + s * sin(phi), name, 0.85) for s, name in ((-1, "left"), (1, "right"))]
    system = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2 / 3) / 2, 10 * y, constraints=ends)
    motion = ap.simulate(system, {y: 1.0, phi: tilt}, 15.0, corner="together")
    holds(motion, system)
    assert motion.contacts[-1][1] == (0, 1) and abs(motion.final[phi]) < 1e-12


@pytest.mark.parametrize(("corners", "planes", "count"), [(3, FLOOR, 12), (3, WEDGE, 8)])
def test_random_polygons_come_to_rest(corners, planes, count):
    system = polygons(corners, len(planes))
    for seed in range(count):
        rng = np.random.default_rng(seed)
        _, values = polygon(rng, corners, planes)
        holds(ap.simulate(system, planar_start(rng)[0], 4.0, values), system)


def test_random_boxes_come_to_rest():
    """Edges and faces fall flat: corners are met together because of those that rest."""
    system = polyhedra(8)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        _, values = polyhedron(rng, 8)
        motion = ap.simulate(system, spatial_start(rng)[0], 4.0, values)
        holds(motion, system)


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_polygons_against_events(seed):
    """The motion of an independent event-driven simulation: own complementarity by enumeration, own event location."""
    rng = np.random.default_rng(seed)
    body, values = polygon(rng, 3, FLOOR, e=[0.0])
    start, state = planar_start(rng)
    reference = fall(body, state, 1.2)
    motion = ap.simulate(polygons(3), start, 1.2, values, rtol=1e-11)
    ours = [float(motion.final[s]) for s in (x, y, phi, x.d, y.d, phi.d)]
    np.testing.assert_allclose(ours, reference.z, atol=1e-6)  # the reference rests at 1e-7 m/s


# -- scales ------------------------------------------------------------------------------------------------------------


def ball(e=1, g=10):
    return ap.System([y], y.d**2 / 2, g * y, constraints=[ap.Unilateral(y, "floor", e)])


@pytest.mark.parametrize("height", [1e-9, 1e-3, 1e6])
def test_an_elastic_ball_bounces_from_any_height(height):
    """Period 2√(2h/g); atol belongs to the height."""
    period = 2 * np.sqrt(2 * height / 10)
    motion = ap.simulate(ball(), {y: height}, 7.25 * period, atol=1e-12 * height)
    times = [i.time for i in motion.impacts]
    np.testing.assert_allclose(times, (np.arange(7) + 0.5) * period, rtol=1e-9)
    assert motion[y].max() == pytest.approx(height, rel=1e-9)


def test_the_default_tolerance_does_not_hold_a_low_ball_down():
    motion = ap.simulate(ball(), {y: 1e-9}, 1e-3)
    assert sum(i.kind == "impact" for i in motion.impacts) == pytest.approx(1e-3 / (2 * np.sqrt(2e-10)), abs=1)


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1e-3), (1e9, 1.0), (1.0, 1e4)])
def test_scaled_copies_have_scaled_motions(length, time):
    """A rod on two ends with lengths and times in other units: the same impacts."""

    def rod(L, T):
        ends = [ap.Unilateral(y + s * L * sin(phi), f"end{k}", 0.5) for k, s in enumerate((-1.0, 1.0))]
        kinetic = y.d**2 / 2 + L**2 * phi.d**2 / 6
        system = ap.System([y, phi], kinetic, 10 * L / T**2 * y, constraints=ends)
        atol = np.array([L, 1.0, L / T, 1 / T, (L / T) ** 2]).min() * 1e-12
        return ap.simulate(system, {y: 1.5 * L, phi: 0.3}, 1.0 * T, rtol=1e-11, atol=float(atol))

    one, two = rod(1.0, 1.0), rod(length, time)
    fast = lambda motion, T: [i.time / T for i in motion.impacts if i.kind == "impact"][:8]
    np.testing.assert_allclose(fast(one, 1.0), fast(two, time), rtol=1e-7)
    assert one.final[phi] == pytest.approx(two.final[phi], abs=1e-6)


def test_a_motion_does_not_depend_on_its_end():
    system = ball(0.7)
    short, long = ap.simulate(system, {y: 1.0}, 1.5), ap.simulate(system, {y: 1.0}, 1.5e4)
    early = [i for i in long.impacts if i.time < 1.5]
    assert [i.time for i in short.impacts] == pytest.approx([i.time for i in early], abs=1e-12)


# -- without end, and rows that bend -----------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [1, 0.5])
def test_a_piston_that_closes_ends_with_a_sentence(e):
    system = ap.System([x], x.d**2 / 2, constraints=[ap.Unilateral(x, "a", e), ap.Unilateral(1 - ap.t - x, "b", e)])
    with pytest.warns(Warning):
        motion = ap.simulate(system, {x: 0.5, x.d: 1.0}, 2.0)
    assert not motion.ok and 0.99 < motion.t[-1] < 1 + 1e-9 and "stopped at t" in motion.message


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
def test_rows_nonlinear_in_the_velocities_hold_through_an_impact(e):
    """ẋ² + ẏ² = 1 and a wall: ẋ⁺ = −e ẋ⁻ on the circle, at the same energy."""
    wall = ap.Unilateral(1 - x, "wall", e)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d**2 + y.d**2 - 1), wall])
    motion = ap.simulate(system, {x.d: 0.8, y.d: 0.6}, 3.0)
    assert motion.ok and motion.final[x.d] == pytest.approx(-0.8 * e, abs=1e-9)
    assert motion.final[y.d] == pytest.approx(np.sqrt(1 - 0.64 * e**2), abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-9


def test_unit_speed_in_a_box():
    """Its direction turns through each blow by its own angle; a blow straight into a wall has no answer, and it says so."""

    def box(e):
        walls = {"right": 1 - x, "left": x + 1, "top": 1 - y - 0.3 * x, "bottom": y + 1}
        faces = [ap.Unilateral(f, name, e) for name, f in walls.items()]
        return ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d**2 + y.d**2 - 1), *faces])

    motion = ap.simulate(box(1), {x.d: 0.8, y.d: 0.6}, 10.0)
    assert motion.ok and len(motion.impacts) == 7 and np.abs(motion[x.d] ** 2 + motion[y.d] ** 2 - 1).max() < 1e-9
    with pytest.warns(ap.AppellWarning, match="no impulse can stop it"):
        motion = ap.simulate(box(0), {x.d: 0.8, y.d: 0.6}, 10.0)
    assert not motion.ok and motion.t[-1] == pytest.approx(2.940191935756693)


def test_a_blow_that_the_rows_do_not_admit_is_said():
    """ẋ² = 1 + ż²: from ẋ > 1 no impulse leads to ẋ < 0, since the hyperbola has two branches."""
    z = ap.coordinates("z")
    rows = [ap.Constraint(x.d**2 - z.d**2 - 1), ap.Unilateral(2 - x, "wall", 0.5)]
    system = ap.System([x, z], (x.d**2 + z.d**2) / 2, 9.81 * z, constraints=rows)
    with pytest.warns(ap.AppellWarning, match="admit no impact with this restitution"):
        motion = ap.simulate(system, {x.d: 1.0}, 4.0, backend="vm")
    assert not motion.ok and motion[x][-1] == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_a_cradle_is_the_same_in_any_order_of_its_blows(scale):
    """Equal masses exchange velocities: all meet at once at the lowest point, and are where free ones would be, sorted.
    A face that was only just left must not make one blow of two that have a meaning one after the other."""
    q = ap.coordinates("w1 w2 w3 w4")
    faces = [ap.Unilateral(b - a, f"{k}") for k, (a, b) in enumerate(pairwise(q))]
    system = ap.System(q, sum(s.d**2 for s in q) / 2, 9.81 * sum(s**2 for s in q) / 2, constraints=faces)
    start = np.array([-0.5, 0.001, 0.01, 0.02]) * scale
    motion = ap.simulate(system, dict(zip(q, start.tolist(), strict=True)), 6.0, rtol=1e-11, atol=1e-13 * scale)
    wanted = np.sort(start * np.cos(np.sqrt(9.81) * 6.0))
    np.testing.assert_allclose([float(motion.final[s]) for s in q], wanted, atol=1e-9 * scale)


@pytest.mark.parametrize(("length", "time", "mass"), [(1e-9, 1.0, 1.0), (1e9, 1.0, 1e-9), (1.0, 1e9, 1e9)])
def test_a_bead_in_a_wedge_in_any_units(length, time, mass):
    """Blows on two planes accumulate; what counts as none is a share of the tolerance of the coordinates, whatever the work."""

    def wedge(L, T, M):
        planes = {"a": 0.6 * x + 0.8 * y, "b": -0.5 * x + float(np.sqrt(0.75)) * y}
        faces = [ap.Unilateral(f, name, 0.5) for name, f in planes.items()]
        system = ap.System([x, y], M * (x.d**2 + y.d**2) / 2, M * 9.81 * L / T**2 * y, constraints=faces)
        atol = 1e-13 * np.array([L, L, L / T, L / T, M * L**2 / T**2])
        return ap.simulate(system, {x: 0.3 * L, y: 1.0 * L, x.d: 0.2 * L / T}, 2.0 * T, rtol=1e-11, atol=atol)

    one, two = wedge(1.0, 1.0, 1.0), wedge(length, time, mass)
    assert one.ok and two.ok and [c for _, c in one.contacts] == [c for _, c in two.contacts] and one.contacts[-1][1] == (0, 1)
    times = lambda motion, T: [i.time / T for i in motion.impacts]
    np.testing.assert_allclose(times(one, 1.0), times(two, time), atol=1e-9)


def test_a_finer_tolerance_does_not_stop_blows_in_a_wedge():
    """At the apex all terms of the distances vanish, so that nothing but atol says what is none."""
    faces = [ap.Unilateral(0.6 * x + 0.8 * y, "a", 0.5), ap.Unilateral(-0.5 * x + float(np.sqrt(0.75)) * y, "b", 0.5)]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=faces)
    motion = ap.simulate(system, {x: 0.3, y: 1.0, x.d: 0.2}, 3.0, rtol=1e-11, atol=1e-18)
    assert motion.t[-1] == 3.0 and motion.contacts[-1][1] == (0, 1)
