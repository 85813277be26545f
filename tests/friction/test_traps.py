"""Where friction goes wrong easily: each trap that another engine fell into, as a test."""

import warnings
from functools import partial

import numpy as np
import pytest
from sympy import Rational, cos, sin

import appell as ap

G = 9.81
simulate = partial(ap.simulate, backend="vm")  # quicker than a compiler for motions this short
x, y, theta, z = ap.coordinates("x y theta z")


def ladder():
    """A rod of length 2 between a rough floor and a rough wall."""
    mu = Rational(1, 2)
    floor = ap.Unilateral(y - cos(theta), name="floor", restitution=0)
    wall = ap.Unilateral(x - sin(theta), name="wall", restitution=0)
    foot = ap.Friction(x.d + cos(theta) * theta.d, normal=floor, coefficient=mu, name="foot")
    head = ap.Friction(y.d - sin(theta) * theta.d, normal=wall, coefficient=mu, name="head")
    kinetic = (x.d**2 + y.d**2 + theta.d**2 / 3) / 2
    return ap.System([x, y, theta], kinetic, G * y, constraints=[floor, wall, foot, head], name="ladder")


def at(angle):
    return {x: np.sin(angle), y: np.cos(angle), theta: angle}


@pytest.mark.parametrize("part, state", [(0.98, "stick"), (1.02, "slip")])
def test_a_ladder_holds_up_to_its_angle_whatever_reactions_of_least_norm_say(part, state):
    """It holds up to tan θ = 2μ/(1 − μ²) = 4/3; inside, the reactions are not unique, and those reported lie in the cones."""
    motion = simulate(ladder(), at(part * np.arctan(4 / 3)), until=0.2)
    assert {p.state for p in motion.phases} == {state} and motion.ok
    if state == "stick":
        assert any(note.kind == "indeterminate" for note in motion.notes)
    for rub, normal in (("foot", "floor"), ("head", "wall")):
        assert (np.abs(motion.reaction(rub)) <= 0.5 * motion.reaction(normal) + 1e-9).all()


def test_clamps_break_together_not_the_weaker_one_first():
    """Two brakes of 1 and 9 N on one slip hold 10 N."""
    brakes = [ap.Friction(z.d, limit=1, name="one"), ap.Friction(z.d, limit=9, name="nine")]
    motion = simulate(ap.System([z], z.d**2 / 2, forces={z: ap.t}, constraints=brakes), {}, until=12)
    assert [p.state for p in motion.phases] == ["stick", "stick", "slip", "slip"]
    assert abs(motion.phases[2].start - 10) < 1e-9 and abs(motion[z][-1] - 8 / 6) < 1e-9


def test_two_slips_vanish_at_one_instant():
    """With dependent rows both stick at the same time; between plates that move apart one of them goes on."""
    brakes = [ap.Friction(z.d, limit=1, name="one"), ap.Friction(2 * z.d, limit=1, name="two")]
    motion = simulate(ap.System([z], z.d**2 / 2, constraints=brakes), {z.d: 3}, until=2)
    assert [p.end for p in motion.phases[:2]] == pytest.approx([1, 1], abs=1e-12)
    assert {p.state for p in motion.phases[2:]} == {"stick"}
    plates = [ap.Friction(z.d - 1, limit=2, name="right"), ap.Friction(z.d + 1, limit=1, name="left")]
    motion = simulate(ap.System([z], z.d**2 / 2, constraints=plates), {z.d: 3}, until=3)
    assert [(p.friction, p.state) for p in motion.phases] == [("right", "slip"), ("left", "slip"), ("right", "stick")]
    assert motion.phases[2].start == pytest.approx(2 / 3, abs=1e-12) and motion[z.d][-1] == pytest.approx(1, abs=1e-12)


def test_a_normal_reaction_changes_its_sign():
    """On a guide pressed by N = cos t the friction is μ|cos t|: no energy comes back, and v = v0 − μ ∫|cos|."""
    guide = ap.Constraint(y, name="guide")
    rub = ap.Friction(x.d, normal=guide, coefficient=Rational(1, 10), name="rub")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={y: -cos(ap.t)}, constraints=[guide, rub])
    motion = simulate(system, {x.d: 2}, until=3 * np.pi / 2 + 1, rtol=1e-12, atol=1e-13)
    lost = 0.1 * (3 + 1 - np.cos(1))
    assert motion[x.d][-1] == pytest.approx(2 - lost, abs=1e-10)
    assert np.allclose(motion.reaction(rub), -0.1 * np.abs(np.cos(motion.t)), atol=1e-9)


def test_a_bead_on_a_rotating_guide_that_stops_with_its_normal_reaction():
    """Slip, Λ and the bound vanish together where a bead on a rod turning at ω is at rest at r = 0: it stays."""
    X, Y = ap.coordinates("X Y")
    c, s = cos(2 * ap.t), sin(2 * ap.t)
    guide = ap.Constraint(-X * s + Y * c, name="guide")
    rub = ap.Friction(X.d * c + Y.d * s, normal=guide, coefficient=Rational(3, 10), name="rub")
    motion = simulate(ap.System([X, Y], (X.d**2 + Y.d**2) / 2, constraints=[guide, rub]), {}, until=1)
    assert motion.status is ap.Status.OK and np.abs(motion[X]).max() < 1e-12


def test_dead_centre_of_a_slider_crank():
    """At a dead centre the slip row is a combination of the constraints: it cannot stick there, and the crank turns on."""
    c, p, s = ap.coordinates("c p s")
    rods = [ap.Constraint(cos(c) + 2 * cos(p) - s, name="x"), ap.Constraint(sin(c) - 2 * sin(p), name="y")]
    guide = ap.Friction(s.d, limit=Rational(1, 10), name="guide")
    system = ap.System([c, p, s], (c.d**2 + p.d**2 + s.d**2) / 2, constraints=[*rods, guide])
    motion = simulate(system, {s: 3, c.d: 5, p.d: Rational(5, 2)}, until=2)
    assert {p.state for p in motion.phases} == {"slip"} and motion.ok
    turns = np.array([p.start for p in motion.phases[1:]])
    assert np.abs(np.sin(motion.at(turns)[c])).max() < 1e-9 and len(turns) >= 2


def test_a_start_at_a_turning_point_takes_its_direction_from_the_load():
    pad = ap.Friction(x.d, limit=Rational(3, 10), name="pad")
    for start, direction in ((2, -1), (-2, 1)):
        motion = simulate(ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[pad]), {x: start}, until=1)
        assert [p.direction for p in motion.phases] == [direction]
    motion = simulate(ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[pad]), {x: 0.2}, until=1)
    assert [p.state for p in motion.phases] == ["stick"]


def test_breaking_away_where_the_acceleration_of_slip_begins_at_zero():
    """Pulled by sin t: at break-away s̈ > 0 but ṡ = 0; the guard of the new slip starts at zero and does not fire."""
    pad = ap.Friction(x.d, limit=Rational(1, 2), name="pad")
    motion = simulate(ap.System([x], x.d**2 / 2, forces={x: sin(ap.t)}, constraints=[pad]), {}, until=2, rtol=1e-12)
    assert [p.state for p in motion.phases] == ["stick", "slip"]
    t0 = np.pi / 6
    assert abs(motion.phases[1].start - t0) < 1e-10
    assert abs(motion[x.d][-1] - (np.cos(t0) - np.cos(2) - (2 - t0) / 2)) < 1e-10


def test_coupled_normal_and_slip_where_gauss_seidel_diverges():
    """A rod pulled along with μ|G_NT| > G_NN: the solution is unique and found, no silent free fall."""
    floor = ap.Unilateral(y - sin(theta), name="floor", restitution=0)
    rub = ap.Friction(x.d + sin(theta) * theta.d, normal=floor, coefficient=2, name="tip")
    system = ap.System([x, y, theta], (x.d**2 + y.d**2 + theta.d**2 / 3) / 2, G * y, constraints=[floor, rub])
    motion = simulate(system, {y: np.sin(1.2), theta: 1.2, x.d: 3}, until=0.3)
    assert motion.ok and (motion.reaction(floor)[1:] > 0).all()
    assert np.allclose(motion.reaction(rub), -2 * motion.reaction(floor), atol=1e-9)


def test_grazing_keeps_the_states():
    """A block that just touches a floor in passing: whether that is an event or not, the states agree."""
    floor = ap.Unilateral(y, name="floor", restitution=0)
    rub = ap.Friction(x.d, normal=floor, coefficient=Rational(1, 2), name="rub")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, y**2 / 2 - y, constraints=[floor, rub])
    ends = [simulate(system, {y: 2 - gap, x.d: 1}, until=6)[x.d][-1] for gap in (1e-9, 0, -1e-9)]
    assert np.ptp(ends) < 1e-3 and min(ends) > 1 - 1e-3  # a blow of √(2·1e-9) at most


def test_nothing_is_rescaled():
    """f → 2 f halves Λ and with it the friction; a slip in rad/s makes a torque: as the docstring says."""
    ends = []
    for scale in (1, 2):
        floor = ap.Constraint(scale * y, name="floor")
        rub = ap.Friction(x.d, normal=floor, coefficient=Rational(1, 5), name="rub")
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=[floor, rub])
        ends.append(1 - simulate(system, {x.d: 1}, until=0.1)[x.d][-1])
    assert ends[0] == pytest.approx(2 * ends[1]) == pytest.approx(0.2 * G * 0.1)


def painleve(mu, angle, speed, rate=0.0, until=1.0):
    floor = ap.Unilateral(y - sin(theta), name="floor", restitution=0)
    rub = ap.Friction(x.d + sin(theta) * theta.d, normal=floor, coefficient=mu, name="tip")
    system = ap.System([x, y, theta], (x.d**2 + y.d**2 + theta.d**2 / 3) / 2, G * y, constraints=[floor, rub])
    start = {y: np.sin(angle), theta: angle, theta.d: rate, y.d: np.cos(angle) * rate, x.d: speed - np.sin(angle) * rate}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(system, start, until=until)


def test_painleve_without_a_solution_is_named():
    motion = painleve(2, 1.2, -3)
    assert motion.status is ap.Status.FRICTION and "Painlevé" in motion.message and motion.t[-1] == 0


def test_painleve_with_two_solutions_is_named():
    """Turning so fast that the tip would lift off by itself, while a pressing solution exists too."""
    motion = painleve(2, 1.0, -3, rate=8.0)
    assert motion.status is ap.Status.FRICTION and "different accelerations" in motion.message


def test_an_approach_to_painleve_keeps_the_reaction_finite_or_says_so():
    motion = painleve(Rational(3, 2), 1.45, -6, rate=-1.0)
    assert np.isfinite(motion.reaction("floor")).all()
    assert motion.ok or (motion.status is ap.Status.FRICTION and len(motion.t) > 1)


def test_no_chatter_at_rest():
    """A load that touches the limit again and again without passing it: one phase of sticking."""
    pad = ap.Friction(x.d, limit=1, name="pad")
    system = ap.System([x], x.d**2 / 2, forces={x: sin(3 * ap.t)}, constraints=[pad])
    motion = simulate(system, {}, until=10)
    assert len(motion.phases) <= 3 and np.abs(motion[x]).max() < 1e-9
