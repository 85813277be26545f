"""Plans through phases: what is in contact, sticks and slides, and the impacts that join them; each judged by `simulate`."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sympy import sqrt

import appell as ap
from appell.optimize.first_guess import ends_of_phases


def ball():
    """A mass that is driven along a line, with a wall at x = 0."""
    x = ap.coordinates("x")
    F, e = ap.parameters("F e")
    wall = ap.Unilateral(x, name="wall", restitution=e)
    return ap.System([x], x.d**2 / 2, 0, {x: F}, [wall], name="ball"), x, F, e


def least_effort(d, v0, v1, T):
    """min ∫ a² dt from (0, v0) to (d, v1)."""
    return 12 * (d - (v0 + v1) * T / 2) ** 2 / T**3 + (v1 - v0) ** 2 / T


def least_with_bounce(e, T):
    effort = lambda z: least_effort(-1, 0, -z[0], z[1]) + least_effort(1, e * z[0], 0, T - z[1])
    return minimize(effort, (1.5, T / 2), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun


def test_a_wall_is_struck_where_that_is_cheapest():
    system, x, F, e = ball()
    plan = ap.optimize(
        system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5}, end={x: 1, x.d: 0}, phases=[(), "wall", ()], backend="vm"
    )  # fmt: skip
    assert plan.ok and plan.objective == pytest.approx(least_with_bounce(0.5, 2.0), rel=1e-9)
    (hit,) = plan.simulated.impacts
    assert hit.constraint == "wall" and hit.after == pytest.approx(-0.5 * hit.before)


def test_phases_are_taken_from_a_motion():
    system, x, F, e = ball()
    guess = ap.simulate(system, {x: 1, x.d: -1.2}, 2.0, {e: 0.7, F: 0}, backend="vm")
    plan = ap.optimize(
        system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.7}, end={x: 1, x.d: 0}, phases="auto", guess=guess, backend="vm"
    )  # fmt: skip
    assert plan.ok and plan.objective == pytest.approx(least_with_bounce(0.7, 2.0), rel=1e-9)


def test_a_guess_says_when_its_phases_end():
    system, x, F, e = ball()
    t, problem = np.linspace(0, 2, 41), (system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5})
    options = {"end": {x: 1, x.d: 0}, "phases": [(), "wall", ()], "backend": "vm"}
    way = np.interp(t, [0, 1.5, 2], [1, 0, 1])
    plan = ap.optimize(*problem, **options, guess={"t": t, "phases": [1.5], x: way, x.d: np.gradient(way, t)})
    assert plan.ok and plan.objective == pytest.approx(least_with_bounce(0.5, 2.0), rel=1e-9)
    for ends in ([], [0.5, 1.5], [2.5], [np.nan], "wall"):
        with pytest.raises(ap.AppellError, match="phases"):
            ap.optimize(*problem, **options, guess={"t": t, "phases": ends, x: way})
    with pytest.raises(ap.AppellError, match="needs 't'"):
        ap.optimize(*problem, **options, guess={"phases": [1.5], x: 1.0})


def test_durations_of_phases_are_bounded():
    system, x, F, e = ball()
    problem = (system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5})
    options = {"end": {x: 1, x.d: 0}, "phases": [(), "wall", ()], "backend": "vm"}
    free = ap.optimize(*problem, **options)
    first = free.simulated.impacts[0].time
    for bounds, at in (((first + 0.3, None), first + 0.3), ((None, first - 0.3), first - 0.3), ((0, first - 0.3), first - 0.3)):
        effort = lambda v, at=at: least_effort(-1, 0, -v[0], at) + least_effort(1, 0.5 * v[0], 0, 2 - at)
        least = minimize(effort, (1.5,), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun
        plan = ap.optimize(*problem, **options, durations=[bounds, None])
        assert plan.ok and plan.objective == pytest.approx(least, rel=1e-7) and least > free.objective
        assert plan.simulated.impacts[0].time == pytest.approx(at, abs=1e-6)


@pytest.mark.parametrize(
    ("durations", "message"),
    [
        ([None], "1 entries, and there are 2 phases"), ([(1, 0.5), None], "shortest, longest"),
        ([0.5, None], "shortest, longest"),
        ([(1.5, 2), (1, 2)], "add up to 2.5 s, and until= allows at most 2 s"), ([(0, 0.5), (0, 1)], "at least 2 s"),
        ("wall", "durations= must be a list"), ([(float("nan"), 1), None], "duration"),
    ],
)  # fmt: skip
def test_durations_that_cannot_be(durations, message):
    system, x, F, e = ball()
    with pytest.raises(ap.AppellError, match=message):
        ap.optimize(
            system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5}, end={x: 1}, phases=[(), "wall", ()], durations=durations
        )  # fmt: skip


def test_a_single_phase_is_bounded_by_until():
    x, F = ap.coordinates("x"), ap.parameters("F")
    system = ap.System([x], x.d**2 / 2, forces={x: F})
    with pytest.raises(ap.AppellError, match="until="):
        ap.optimize(system, ap.integral(F**2), [F], end={x: 1}, durations=[(0.1, 0.2)])


def test_a_first_mesh_follows_the_phases_of_a_guess():
    assert ends_of_phases({"t": [1.0, 2.0, 5.0], "phases": (2.0, 3.0)}, 3) == (0.25, 0.5, 1.0)
    assert ends_of_phases({"t": [1.0, 2.0]}, 3) == ends_of_phases(None, 1) == ()


def leg():
    """A body on a light foot: a force along the leg, a torque at the hip, dry friction below the sole."""
    x, y, a, b = ap.coordinates("x y a b")
    u, h, g, mu = ap.parameters("u h g mu")
    floor = ap.Unilateral(b, name="floor", restitution=0)
    sole = ap.Friction(a.d, normal=floor, coefficient=mu, name="sole")
    L = sqrt((x - a) ** 2 + (y - b) ** 2)
    fx, fy = u * (x - a) / L + h * (y - b) / L**2, u * (y - b) / L - h * (x - a) / L**2
    energy = (x.d**2 + y.d**2) / 2 + 0.1 * (a.d**2 + b.d**2)
    forces = {x: fx, y: fy, a: -fx, b: -fy}
    return ap.System([x, y, a, b], energy, g * y + 0.2 * g * b, forces, [floor, sole], name="leg"), (x, y, a, b), (u, h), L


def test_a_leg_hops():
    system, (x, y, a, b), (u, h), L = leg()
    end = {x: 0.4, y: 1, a: 0.4, b: 0, x.d: 0, y.d: 0, a.d: 0, b.d: 0}
    plan = ap.optimize(
        system, ap.integral(u**2 + h**2), [u, h], {y: 1}, (0.4, 2.0), {"g": 9.81, "mu": 0.8}, end=end, bounds={L: (0.5, 1.3)},
        phases=[("floor", "sole"), (), ("floor", "sole")],
    )  # fmt: skip
    assert plan.ok and plan.error < 1e-6
    kinds = [hit.kind for hit in plan.simulated.impacts]
    assert kinds == ["landing", "leaving", "impact", "landing"]  # it stands, hops and lands
    normal, side = plan.simulated.reaction("floor"), plan.simulated.reaction("sole")
    assert (normal >= -1e-6).all() and (np.abs(side) <= 0.8 * normal + 1e-5).all()


@pytest.mark.parametrize("share, most", [(0.15, 0.0), (0.0, 2.0)])
def test_the_grip_of_a_hop_is_bounded(share, most):
    """Relations and bounds of a friction force, which is 0 in flight: |λ_T| <= share Λ_N, or |λ_T| <= most."""
    system, (x, y, a, b), (u, h), L = leg()
    end = {x: 0.4, y: 1, a: 0.4, b: 0, x.d: 0, y.d: 0, a.d: 0, b.d: 0}
    (grip,), press = system.frictions[0].multipliers, system.unilateral[0].multiplier

    def excess(bounds, law):
        plan = ap.optimize(
            system, ap.integral(u**2 + h**2), [u, h], {y: 1}, (0.4, 2.0), {"g": 9.81, "mu": 0.8}, end=end, tolerance=1e-5,
            bounds={L: (0.5, 1.3)} | bounds, subject_to=law, phases=[("floor", "sole"), (), ("floor", "sole")],
        )  # fmt: skip
        run = plan.simulated
        away = np.all([np.abs(run.t - hit.time) > 1e-3 for hit in run.impacts], axis=0)  # at an impact the foot still slides
        assert plan.ok
        return (np.abs(run.reaction("sole")) - share * run.reaction("floor"))[away].max() - most

    bounds, law = {grip: (-most, most)} if most else {}, [grip <= share * press, grip >= -share * press] if share else []
    assert excess(bounds, law) < 0.05 < 0.5 < excess({}, [])  # bounds hold at nodes; a jump between them exceeds them by 2 %


def test_a_block_sticks_until_the_push_has_grown():
    """With Ḟ <= R and Ḟ >= −R the push grows to μ m g while the block sticks."""
    x, y = ap.coordinates("x y")
    F, mu, g = ap.parameters("F mu g")
    floor = ap.Unilateral(y, name="floor", restitution=0)
    sole = ap.Friction(x.d, normal=floor, coefficient=mu, name="sole")
    block = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {x: F}, [floor, sole], name="block")
    plan = ap.optimize(
        block, "time", [F], {F: 0}, (0.5, 6), {mu: 0.4, g: 10}, end={x: 1, y: 0, x.d: 0}, rates={F: (-8, 8)},
        phases=[("floor", "sole"), ("floor", "sole+")], tolerance=1e-5,
    )  # fmt: skip
    assert plan.ok and [p.state for p in plan.simulated.phases][:2] == ["stick", "slip"]
    assert plan.simulated.phases[1].start == pytest.approx(0.5, abs=1e-4)  # 8 N/s up to 4 N


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([("flor",), ()], "did you mean|does not have"),
        (["wall", ()], "a phase is"),
        ("always", "is 'auto', 'any' or a list"),
        ("auto", "takes the phases from guess="),
        ([None], "phases= has None: a phase is a tuple of names"),
        ([3], "phases= has 3"),
        ([("wall",), 3], "phases= has 3"),
        ([(), "wall", "wall", ()], "a phase is"),
    ],
)
def test_wrong_phases_are_named(phases, words):
    system, x, F, e = ball()
    with pytest.raises(ap.ModelError, match=words):
        ap.optimize(system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5}, end={x: 1, x.d: 0}, phases=phases)


def test_a_friction_in_a_phase_is_told_what_it_does():
    system, (x, *_), (u, h), _ = leg()
    with pytest.raises(ap.ModelError, match=r"name 'sole' \(it sticks\)"):
        ap.optimize(system, ap.integral(u**2), [u, h], {}, 1.0, {"g": 9.81, "mu": 0.8}, end={x: 1}, phases=[("floor",)])


def test_faces_and_frictions_are_not_named_twice():
    system, x, F, e = ball()
    wall = system.unilateral[0]
    with pytest.raises(ap.ModelError, match="by itself"):
        ap.optimize(system, ap.integral(F**2), [F], {x: 1}, 2.0, {e: 0.5}, end={x: 1}, phases=[(), wall, wall, ()])
    walker, _, controls, _ = leg()
    with pytest.raises(ap.ModelError, match="says twice in one phase what the friction 'sole' does"):
        phases = [("floor", "sole", "sole+")]
        ap.optimize(walker, ap.integral(controls[0] ** 2), controls, {}, 1.0, {"g": 9.81, "mu": 0.8}, phases=phases)
