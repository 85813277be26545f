"""Friction in a plane: directions that follow the slip, stops, and breaking away."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sympy import Matrix, Rational, cos, sin
from tests.friction.random_systems import broken

import appell as ap
from appell.modes.mode import FrictionState, Mode
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.sampled_accelerations import _stopped
from appell.tree import Inertia, Joint, Tree, contact_point, place, rolling

G = 9.81
x, y, z = ap.coordinates("x y z")


def test_billiard_ball():
    """A parabola while it slides, a line when it rolls: the slip keeps its direction and ends at 2|s0|/(7 μ g)."""
    ball, r = ap.quaternion("ball"), Rational(1, 10)
    rates = list(ball.rates)
    turn = Matrix(ball.rotation) * Matrix(rates)
    table = ap.Constraint(z, name="table")
    cloth = ap.Friction((x.d - r * turn[1], y.d + r * turn[0]), normal=table, coefficient=Rational(1, 5), name="cloth")
    kinetic = (x.d**2 + y.d**2 + z.d**2 + Rational(2, 5) * r**2 * sum(w**2 for w in rates)) / 2
    system = ap.System([x, y, z, ball], kinetic, G * z, constraints=[table, cloth])
    start = {x.d: 2, rates[0]: 30, rates[1]: 10, rates[2]: 5}
    motion = ap.simulate(system, start, until=3, rtol=1e-12, atol=1e-13)
    slip = np.array([2 - 1, 3.0])
    u, end = slip / np.linalg.norm(slip), 2 * np.linalg.norm(slip) / (7 * 0.2 * G)
    after = np.array([2.0, 0]) - 0.2 * G * end * u
    assert [p.state for p in motion.phases] == ["slip", "stick"] and motion.phases[0].direction == pytest.approx(tuple(u))
    assert abs(motion.phases[0].end - end) < 1e-11
    place = np.array([2.0, 0]) * end - 0.1 * G * end**2 * u + after * (3 - end)
    assert np.abs(motion[x, y][-1] - place).max() < 1e-10
    assert motion.reaction(cloth).shape == (len(motion.t), 2)
    assert motion.reaction(cloth)[0] == pytest.approx(-0.2 * G * u, abs=1e-10)


def driven():
    """A body with another mass in each direction under a load that turns."""
    pad = ap.Friction((x.d, y.d), limit=Rational(1, 4), name="pad")
    forces = {x: Rational(3, 10) * cos(ap.t), y: Rational(1, 5) * sin(2 * ap.t)}
    return ap.System([x, y], (x.d**2 + 3 * y.d**2) / 2, forces=forces, constraints=[pad])


def test_breaking_away_in_a_direction_of_its_own():
    """It leaves where |F| reaches the limit, towards F; then it follows the regularised law as ε goes to 0."""
    motion = ap.simulate(driven(), {}, until=4, rtol=1e-11)
    states = [(p.state, p.start) for p in motion.phases]
    assert [state for state, _ in states] == ["slip", "stick", "slip"]
    t = states[2][1]
    load = np.array([0.3 * np.cos(t), 0.2 * np.sin(2 * t)])
    assert np.linalg.norm(load) == pytest.approx(0.25, abs=1e-9)
    assert motion.phases[2].direction == pytest.approx(tuple(load / 0.25), abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-10


def test_regularised_friction_comes_near():
    exact, gaps = ap.simulate(driven(), {x.d: 1, y.d: 0.5}, until=1.5), []
    for width in (Rational(1, 10), Rational(1, 40)):
        pad = ap.Friction((x.d, y.d), limit=Rational(1, 4), regularise=width, name="pad")
        near = ap.simulate(driven().replace(constraints=[pad]), {x.d: 1, y.d: 0.5}, until=1.5)
        gaps.append(np.abs(near[x, y][-1] - exact[x, y][-1]).max())
        assert near.ok
    assert gaps[1] < 0.4 * gaps[0] < 0.05


def test_a_pair_passes_zero_by():
    """Thrown past rest by a strong side load: the slip is small for an instant but does not stop."""
    pad = ap.Friction((x.d, y.d), limit=Rational(1, 10), name="pad")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: -1}, constraints=[pad])
    motion = ap.simulate(system, {x.d: 1, y.d: 1e-6}, until=2)
    assert [p.state for p in motion.phases] == ["slip"] and motion.ok
    assert motion[x.d][-1] == pytest.approx(-0.9 * (2 - 1 / 1.1), abs=1e-4)


def test_wheels_may_slide():
    """A ball on a tree that is thrown without spin slides, then rolls: 5/7 of its speed."""
    r = 0.2
    body = Inertia.at_centre(1.5, (0, 0, 0), 0.4 * 1.5 * r**2 * np.eye(3))
    tree = Tree([Joint("ball", "floating", body=body, link="marble")])
    system = tree.system(rolling(tree.frame("marble"), r, axis=None, friction=0.3))
    motion = ap.simulate(system, {"z": r, "v_base_x": 5.0}, until=3, rtol=1e-11)
    assert [p.state for p in motion.phases] == ["slip", "stick"]
    assert motion.phases[1].start == pytest.approx(2 * 5 / (7 * 0.3 * G), abs=1e-9)
    assert motion[tree.frame("marble").velocity[0]][-1] == pytest.approx(25 / 7, abs=1e-8)
    with pytest.raises(ap.ModelError, match="needs its height"):
        rolling(tree.frame("marble"), r, axis=None, height=None, friction=0.3)


def test_a_box_on_four_feet():
    """Four points that press and rub in one plane: reactions are not unique, the motion is that of a block."""
    body = Inertia.at_centre(2.0, (0, 0, 0), np.diag([0.05, 0.05, 0.08]))
    tree = Tree([Joint("box", "floating", body=body, link="box")])
    feet = [(a, b) for a in (-1, 1) for b in (-1, 1)]
    foot = lambda a, b: contact_point(
        tree.frame("box"), (0.2 * a, 0.2 * b, -0.1), one_sided=True, friction=0.4, name=f"{a} {b}"
    )
    rows = [foot(a, b) for a, b in feet]
    motion = ap.simulate(tree.system(rows), {"z": 0.1, "v_base_x": 1.0}, until=0.5)
    assert motion["x"][-1] == pytest.approx(1 / (2 * 0.4 * G), abs=1e-9) and motion.ok
    assert {p.end for p in motion.phases if p.state == "slip"} == {motion.phases[-1].start}
    assert sum(motion.reaction(f"{a} {b}")[-1] for a, b in feet) == pytest.approx(2 * 9.81)
    assert any(note.kind == "indeterminate" for note in motion.notes)


def test_a_wheel_in_a_plane_mechanism():
    """Across such a wheel nothing can move, so that its pair has no force there; the sign of a normal reaction that is not
    touched by reactions that are free is still asked for. μ N r = 0.7·45·0.2 N m holds the locked wheel: a = −30.24/12."""
    car = Inertia.at_centre(10.0, (0, 0, 0.3), np.eye(3))
    wheel = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.01, 0.02, 0.01]))
    hinge = lambda name, x: Joint(
        name, "revolute", parent="turn", axis=(0, 1, 0), placement=place((x, 0, 0)), body=wheel, link=f"{name} wheel"
    )
    tree = Tree([
        Joint("x", "prismatic", axis=(1, 0, 0)), Joint("z", "prismatic", parent="x", axis=(0, 0, 1)),
        Joint("turn", "revolute", parent="z", axis=(0, 1, 0), body=car), hinge("front", 0.5), hinge("rear", -0.5),
    ])  # fmt: skip
    rows = [rolling(tree.frame(f"{name} wheel"), 0.2, friction=0.7, name=name) for name in ("front", "rear")]
    x, _, _, front, rear = tree.system(rows).velocities
    system = tree.system([*rows, ap.Friction(rear, limit=18, name="brake")])
    motion = ap.simulate(system, {"z": 0.2, x: 3.0, front: 15.0, rear: 0.0}, until=0.3)
    assert motion.ok and not motion.notes
    assert {p.friction: p.state for p in motion.phases} == {
        "front: friction": "stick", "rear: friction": "slip", "brake": "stick"
    }  # fmt: skip
    assert motion.final[x] == pytest.approx(3 - 2.52 * 0.3, abs=1e-8)
    assert motion.reaction("rear: friction")[-1] == pytest.approx([-31.5, 0], abs=1e-7)
    assert "'rear: friction'" in str(ap.diagnose(system))


@pytest.mark.parametrize("feet", [3, 4])
def test_feet_that_fall_flat_and_turn(feet):
    """A plate with spin and a push falls flat: blows of all feet at once, each with a direction of its own. On three feet it
    slides and stops; on four the normal reactions are not unique, and neither is how they brake the spin: that is said."""
    body = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.02, 0.03, 0.04]))
    tree = Tree([Joint("box", "floating", body=body, link="box")])
    places = [(-0.2, 0), (0.1, 0.15), (0.1, -0.15)] if feet == 3 else [(a, b) for a in (-0.2, 0.2) for b in (-0.15, 0.15)]
    rows = [contact_point(tree.frame("box"), (*at, -0.1), one_sided=True, friction=0.4, name=str(at)) for at in places]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(tree.system(rows), {"z": 0.101, "v_base_x": 0.3, "omega_base_z": 2.0}, until=0.3)
    if feet == 4:
        assert "normal reactions" in motion.message and "not unique" in motion.message
        return
    assert motion.ok and {p.state for p in motion.phases if p.end == motion.t[-1]} == {"stick"}
    assert broken(motion) == []


def plate(feet, limits):
    """A plate of 1 kg and 0.02 kg m² on feet that rub with given limits, under a load that grows with time."""
    frictions = []
    for k, ((a, b), limit) in enumerate(zip(feet, limits, strict=True)):
        foot = x + a * cos(z) - b * sin(z), y + a * sin(z) + b * cos(z)
        frictions.append(ap.Friction(tuple(map(ap.total_derivative, foot)), limit=limit, name=f"foot {k}"))
    forces = {x: ap.t, y: ap.t / 2, z: ap.t / 8}
    return ap.System([x, y, z], (x.d**2 + y.d**2 + Rational(1, 50) * z.d**2) / 2, forces=forces, constraints=frictions)


@pytest.mark.parametrize("limits", [[1, 2, 1.5], [1, 2, 50]])
def test_feet_that_hold_together_give_way_together(limits):
    """Forces of the feet are not unique. They hold while any of them bear the load, by duality up to t = min Σ F_k |s_k(V)|
    over the motions V of the plate with V·Q̇ = 1 (about the foot that is strong); v = V (V·Q̇)/(V·M V) τ²/2 is how it begins."""
    feet = [(-0.2, -0.1), (0.3, 0.15), (-0.05, 0.2)]
    parts = lambda p: np.array([1 - p[0] / 2 - p[1] / 8, p[0], p[1]])
    slips = lambda V: np.array([np.hypot(V[0] - V[2] * b, V[1] + V[2] * a) for a, b in feet])
    if limits[2] == 50:
        V = np.array([0.2, 0.05, 1]) / (0.2 + 0.05 / 2 + 1 / 8)
    else:
        V = parts(minimize(lambda p: limits @ slips(parts(p)), [0.1, 0.1], method="Nelder-Mead",
                           options={"xatol": 1e-11, "fatol": 1e-15, "maxiter": 5000}).x)  # fmt: skip
    until, tau = limits @ slips(V), 1e-4
    motion = ap.simulate(plate(feet, limits), {}, until=until + tau, backend="vm")
    moving = slips(V) > 1e-9
    assert [p.state for p in motion.phases if p.start > 0] == ["slip"] * sum(moving) and motion.ok
    assert motion.phases[0].end == pytest.approx(until, abs=1e-11)
    begun = V / (V @ np.diag([1, 1, 0.02]) @ V) * tau**2 / 2
    assert np.abs(motion.v[-1] - begun).max() < 2e-3 * np.abs(begun).max()
    for k, limit in enumerate(limits):
        assert np.linalg.norm(motion.reaction(f"foot {k}"), axis=1).max() < limit * (1 + 1e-12)


def test_feet_that_slide_round_a_bend():
    """A box on four feet, thrown across a slope: its direction turns, and so do the forces of all feet, -μ N v/|v| together."""
    body = Inertia.at_centre(1.0, (0, 0, 0), np.diag([0.02, 0.03, 0.04]))
    tree = Tree([Joint("box", "floating", body=body, link="box")], gravity=(0, 3, -9))
    feet = [(a, b) for a in (-0.2, 0.2) for b in (-0.2, 0.2)]
    rows = [contact_point(tree.frame("box"), (*at, -0.1), one_sided=True, friction=0.2, name=str(at)) for at in feet]
    motion = ap.simulate(tree.system(rows), {"z": 0.1, "v_base_x": 1.0}, until=0.4, backend="vm")
    force = sum(motion.reaction(f"{at}: friction") for at in feet)
    way = motion.v[:, :2] / np.linalg.norm(motion.v[:, :2], axis=1, keepdims=True)
    assert motion.ok and way[-1, 1] > 0.3 and np.abs(force + 1.8 * way).max() < 1e-9


def test_a_regularised_friction_beside_another():
    """A belt pulls with 0.5 N through a regularised friction, so that 0.6 N at rest hold 1 N."""
    belt = ap.Friction(x.d + 1, limit=0.5, regularise=1e-3, name="belt")
    system = ap.System([x], x.d**2 / 2, forces={x: 1}, constraints=[belt, ap.Friction(x.d, limit=0.6, name="pad")])
    motion = ap.simulate(system, {}, until=0.5, backend="vm")
    assert motion.ok and motion.final[x] == 0 and motion.reaction("pad") == pytest.approx(-0.5, abs=1e-6)
    assert ap.compile(system, backend="vm").acceleration(0, [0.0], [0.0])[0] == pytest.approx(0, abs=1e-12)


def test_samples_beyond_a_stop_keep_the_last_direction():
    """Of samples at which a slip has passed zero by rounding, all keep the direction from before, not only the first."""
    own = FrictionLayout(0, 0, (2,), (None,), (False,), ((),), (False,))
    slip = np.array([[1.0, 0], [1e-12, 0], [-1e-12, 0], [-5e-13, 0]])
    found = _stopped(own, [Mode((), (FrictionState("slip", (1.0, 0.0)),))], np.zeros(4, dtype=int), slip)
    assert {k: mode.frictions[0].u for k, mode in found.items()} == {2: (1.0, 0.0), 3: (1.0, 0.0)}
