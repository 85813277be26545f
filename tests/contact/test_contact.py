"""Contact: landing, sliding, leaving, chattering, grazing, corners, several contacts; against closed forms.

Runs are at rtol 1e-11 or less; times of leaving and landing are roots located to rounding, so they hold to 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, nnls
from sympy import Rational, cos, pi, sin, sqrt

import appell as ap
from appell import zoo
from appell.backends import reason_against_c
from appell.errors import Status
from appell.nonsmooth.contact.contact import Instant, contact_set, newton_impact
from appell.nonsmooth.contact.contact import sequence as in_turn

x, y, z, r, theta = ap.coordinates("x y z r theta")
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
BACKENDS = ["vm"] if reason_against_c() else ["c", "vm"]
both = pytest.mark.parametrize("backend", BACKENDS)


def kinds(motion):
    return [i.kind for i in motion.impacts]


def particle(*constraints, potential=9.81 * y, force=None):
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, potential, force or {}, list(constraints), name="particle")


# -- sliding and leaving -----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("cartesian", [False, True])
def test_bead_leaves_a_sphere(cartesian, backend):
    """From rest at θ0 it leaves where cos θ = 2/3 cos θ0, with Λ = m (3 cos θ − 2 cos θ0) g until then."""
    angle = 0.3
    if cartesian:
        system = particle(ap.Unilateral(sqrt(x**2 + y**2) - 1, "sphere"))
        start = {x: float(sin(angle)), y: float(cos(angle))}
        height = lambda m: m[y] / np.hypot(m[x], m[y])
    else:
        T, V = (r.d**2 + r**2 * theta.d**2) / 2, 9.81 * r * cos(theta)
        system = ap.System([r, theta], T, V, constraints=[ap.Unilateral(r - 1, "sphere")])
        start = {r: 1.0, theta: angle}
        height = lambda m: np.cos(m[theta])
    motion = ap.simulate(system, start, 1.2, backend=backend, **TIGHT)
    assert motion.ok and kinds(motion) == ["landing", "leaving"]
    left = motion.impacts[1].time
    assert height(motion.at(left))[0] == pytest.approx(2 / 3 * np.cos(angle), abs=1e-9)
    sliding = motion.t < left
    expected = 9.81 * (3 * height(motion) - 2 * np.cos(angle))
    np.testing.assert_allclose(motion.reaction("sphere")[sliding], expected[sliding], atol=1e-8)
    assert (motion.reaction("sphere")[motion.t > left] == 0).all()
    radius = motion[r] if not cartesian else np.hypot(motion[x], motion[y])
    assert np.abs(radius[sliding] - 1).max() < 1e-12 and radius[-1] > 1.01
    assert np.abs(motion.energy_error).max() < 1e-11


@both
def test_thread_goes_slack(backend):
    """Started at the bottom with √(4gR), taut until cos θ = −2/3; then a parabola, and an impact."""
    example = zoo.thread_pendulum(slack=False)
    motion = ap.simulate(example.system, example.start, 1.5, example.parameters, backend=backend, **TIGHT)
    assert kinds(motion)[:3] == ["landing", "leaving", "impact"]
    _, angle = example.system.coordinates
    left = motion.at(motion.impacts[1].time)
    assert np.cos(left[angle])[0] == pytest.approx(-2 / 3, abs=1e-9)
    impact = motion.impacts[2].time - motion.impacts[1].time
    speed = np.sqrt(9.81 * 2 / 3)  # v² = gR |cos θ| where it leaves
    a = np.arccos(-2 / 3)
    position = lambda t: np.hypot(
        np.sin(a) + speed * np.cos(a) * t, -np.cos(a) + speed * np.sin(a) * t - 9.81 * t**2 / 2
    )
    assert impact == pytest.approx(brentq(lambda t: position(t) - 1, 0.1, 2.0, xtol=1e-14), abs=1e-8)


@both
def test_block_on_a_vibrating_table(backend):
    """It rides until g = c ω² sin ωt, flies, and comes back where the parabola meets the table."""
    c, omega, g = 0.02, 25.0, 9.81
    example = zoo.block_on_vibrating_table()
    (height,) = example.system.coordinates
    motion = ap.simulate(example.system, {height.d: c * omega}, 0.2, example.parameters, backend=backend, **TIGHT)
    t0 = np.arcsin(g / (c * omega**2)) / omega
    assert kinds(motion)[:3] == ["landing", "leaving", "impact"]
    assert motion.impacts[1].time == pytest.approx(t0, abs=1e-10)
    flight = lambda t: (
        c * np.sin(omega * t0) + c * omega * np.cos(omega * t0) * (t - t0) - g * (t - t0) ** 2 / 2 - c * np.sin(omega * t)
    )
    back = brentq(flight, t0 + 0.05, t0 + 0.2, xtol=1e-15)
    assert motion.impacts[2].time == pytest.approx(back, abs=1e-10)
    riding = motion.t < t0
    np.testing.assert_allclose(
        motion.reaction("table")[riding], g - c * omega**2 * np.sin(omega * motion.t[riding]), atol=1e-9
    )


def test_a_slow_table_is_never_left():
    example = zoo.block_on_vibrating_table()
    (height,) = example.system.coordinates
    slow = {p: (15.0 if str(p) == "omega" else value) for p, value in example.parameters.items()}
    motion = ap.simulate(example.system, {height.d: 0.02 * 15}, 3.0, slow, **TIGHT)
    assert kinds(motion) == ["landing"]
    np.testing.assert_allclose(motion[height], 0.02 * np.sin(15 * motion.t), atol=1e-11)


# -- chattering, no restitution, grazing -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("e", [0.8, 0.5, 0.1, 0])
def test_bouncing_accumulates_and_goes_over_into_contact(e, backend):
    """t∞ = √(2h/g) (1 + e)/(1 − e); afterwards it lies on the floor with Λ = m g."""
    example = zoo.bouncing_ball(e)
    (height,) = example.system.coordinates
    motion = ap.simulate(example.system, {height: 1.0}, 5.0, example.parameters, backend=backend, **TIGHT)
    assert motion.ok and kinds(motion)[-1] == "landing" and kinds(motion).count("landing") == 1
    first = np.sqrt(2 / 9.81)
    assert motion.impacts[-1].time == pytest.approx(first * (1 + e) / (1 - e), abs=1e-9)
    last = motion.at([4.5, 5.0])
    assert np.abs(last[height]).max() < 1e-13 and np.abs(last[height.d]).max() < 1e-13
    np.testing.assert_allclose(last.reaction("floor"), 9.81, rtol=1e-12)
    lost = sum((i.before**2 - i.after**2) / 2 for i in motion.impacts if i.kind == "impact")
    assert lost == pytest.approx(9.81, abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-11


@both
@pytest.mark.parametrize("gap, expected", [(2e-12, "graze"), (-1e-6, "impact"), (1e-6, None)])
def test_grazing(gap, expected, backend):
    """x = sin t beside a wall at 1 + gap: touched, hit lightly, or missed; the motion goes on as if nothing was there."""
    wall = ap.Unilateral(1 + gap - x, "wall")
    system = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[wall])
    motion = ap.simulate(system, {x.d: 1.0}, 6.0, backend=backend, **TIGHT)
    assert kinds(motion) == ([] if expected is None else [expected])
    if expected == "graze":
        assert motion.impacts[0].time == pytest.approx(np.pi / 2, abs=1e-5)  # a minimum is flat
        np.testing.assert_allclose(motion[x], np.sin(motion.t), atol=1e-11)
    if expected == "impact":
        assert motion.impacts[0].before == pytest.approx(-np.sqrt(2e-6), rel=1e-3)


@both
def test_a_dip_within_one_long_step_is_not_missed(backend):
    """The state alone would allow endless steps; the wall comes and goes within each of them."""
    wall = ap.Unilateral(x - sin(3 * ap.t), "wall")
    system = ap.System([x], x.d**2 / 2, constraints=[wall])
    motion = ap.simulate(system, {x: 0.95}, 50.0, backend=backend)
    rise = np.arcsin(0.95) / 3
    assert motion.impacts and motion.impacts[0].time == pytest.approx(rise, abs=1e-9)


@both
def test_no_restitution_without_a_force(backend):
    """After a plastic blow nothing presses: it stays beside the wall, in contact or not, and does not chatter."""
    system = particle(ap.Unilateral(x, "wall", 0), potential=0)
    motion = ap.simulate(system, {x: 1.0, x.d: -1.0, y.d: 0.5}, 10.0, backend=backend)
    assert motion.ok and kinds(motion)[0] == "impact" and len(motion.impacts) <= 2
    assert abs(motion[x][-1]) < 1e-12 and motion[y][-1] == pytest.approx(5.0)


# -- starts on a face --------------------------------------------------------------------------------------------------


@both
def test_starts_on_a_face(backend):
    example = zoo.bouncing_ball(Rational(1, 2))
    (height,) = example.system.coordinates
    run = ap.compile(example.system, example.parameters, backend=backend)
    resting = ap.simulate(run, {height: 0.0}, 1.0)
    assert kinds(resting) == ["landing"] and np.abs(resting[height]).max() < 1e-30  # least squares round
    np.testing.assert_allclose(resting.reaction("floor"), 9.81)
    inward = ap.simulate(run, {height.d: -2.0}, 0.1)
    assert kinds(inward) == ["impact"] and inward.impacts[0].time == 0
    assert (inward.impacts[0].before, inward.impacts[0].after) == pytest.approx((-2, 1))
    assert inward[height.d][:2] == pytest.approx([-2, 1])
    outward = ap.simulate(run, {height.d: 2.0}, 0.3)
    assert outward.impacts == () and outward[height][-1] == pytest.approx(0.6 - 9.81 * 0.045)


@both
def test_a_start_on_a_face_that_pulls_away_leaves_at_once(backend):
    system = ap.System([x], x.d**2 / 2, -x, constraints=[ap.Unilateral(x, "wall")])
    motion = ap.simulate(system, {}, 2.0, backend=backend)
    assert motion.impacts == () and motion[x][-1] == pytest.approx(2.0)


# -- corners -----------------------------------------------------------------------------------------------------------


def wedge(degrees, e=1, potential=0):
    """0 <= angle <= degrees: above the x axis, below the ray at that angle."""
    a = degrees * pi / 180
    walls = [ap.Unilateral(y, "floor", e), ap.Unilateral(x * sin(a) - y * cos(a), "roof", e)]
    return particle(*walls, potential=potential)


def sequence(degrees, v, first, e=1.0):
    """Blows one after another until none is approached."""
    a = np.radians(degrees)
    normals = [np.array([0.0, 1.0]), np.array([np.sin(a), -np.cos(a)])]
    order = (0, 1) if first else (1, 0)
    v = np.array(v, dtype=float)
    for _ in range(100):
        hit = [i for i in order if normals[i] @ v < -1e-9]
        if not hit:
            return v
        v -= (1 + e) * normals[hit[0]] * (normals[hit[0]] @ v)
    raise AssertionError


def into_corner(direction, distance=1.0):
    """A start from which that velocity leads into the corner at t = distance."""
    return {x: -distance * direction[0], y: -distance * direction[1], x.d: direction[0], y.d: direction[1]}


@both
def test_an_orthogonal_corner_is_exact(backend):
    motion = ap.simulate(wedge(90), into_corner((-0.6, -0.8)), 3.0, backend=backend)
    assert motion.ok and kinds(motion) == ["impact", "impact"]
    assert motion.impacts[0].time == motion.impacts[1].time == pytest.approx(1.0)
    assert (motion[x.d][-1], motion[y.d][-1]) == pytest.approx((0.6, 0.8))


@both
@pytest.mark.parametrize("degrees", [60, 45, 100])
def test_another_corner_stops_or_follows_the_rule(degrees, backend):
    middle = np.radians(degrees / 2 + 7)
    v = (-np.cos(middle), -np.sin(middle))
    system = wedge(degrees)
    closes_up = degrees in (45, 60)  # π/n
    if closes_up:
        motion = ap.simulate(system, into_corner(v), 2.0, backend=backend)
        assert (motion[x.d][-1], motion[y.d][-1]) == pytest.approx(sequence(degrees, v, True), abs=1e-9)
    else:
        with pytest.raises(ap.SingularConfiguration, match="corner is not well posed") as caught:
            ap.simulate(system, into_corner(v), 3.0, backend=backend)
        stopped = caught.value.motion
        assert caught.value.time == stopped.t[-1] and caught.value.state is not None
        assert stopped.status is Status.CORNER and stopped.t[-1] == pytest.approx(1.0, abs=1e-9)
        assert np.abs([stopped[x][-1], stopped[y][-1]]).max() < 1e-9
        assert (stopped[x.d][-1], stopped[y.d][-1]) == pytest.approx(v)  # the state before the blow
    ends = {}
    for rule in ("first", "last"):
        motion = ap.simulate(system, into_corner(v), 2.0, corner=rule, backend=backend)
        assert motion.ok
        ends[rule] = (motion[x.d][-1], motion[y.d][-1])
        assert ends[rule] == pytest.approx(sequence(degrees, v, rule == "first"), abs=1e-9)
    assert (ends["first"] == pytest.approx(ends["last"], abs=1e-9)) == closes_up


def test_plastic_blows_in_a_corner_end_in_it():
    motion = ap.simulate(wedge(60, Rational(1, 2), potential=x + y), into_corner((-0.8, -0.6)), 3.0, corner="first")
    assert motion.ok and np.abs([motion[x][-1], motion[y][-1]]).max() < 1e-9


# -- several contacts --------------------------------------------------------------------------------------------------


def test_two_contacts_and_one_that_leaves_because_of_the_other():
    """A particle in the corner of floor and wall; a growing pull lets the wall go, the floor holds on."""
    system = particle(ap.Unilateral(y, "floor"), ap.Unilateral(x, "wall"), force={x: ap.t - 1})
    motion = ap.simulate(system, {}, 2.0, **TIGHT)
    assert kinds(motion) == ["landing", "landing", "leaving"]
    assert motion.impacts[2].constraint == "wall" and motion.impacts[2].time == pytest.approx(1.0, abs=1e-12)
    assert motion[x][-1] == pytest.approx(1 / 6, abs=1e-11) and abs(motion[y][-1]) < 1e-13
    np.testing.assert_allclose(motion.reaction("floor"), 9.81, rtol=1e-12)
    before = motion.t < 1
    np.testing.assert_allclose(motion.reaction("wall")[before], 1 - motion.t[before], atol=1e-12)


def test_the_reaction_of_one_face_lifts_off_the_other():
    """Pressed against a wall that leans over backwards (n = (1, 1/2)), the particle leaves the floor: G_ij > 0."""
    leaning = ap.Unilateral(x + y / 2, "wall")
    system = particle(ap.Unilateral(y, "floor"), leaning, potential=y, force={x: -4 * ap.t})
    motion = ap.simulate(system, {}, 1.0, **TIGHT)
    # on both: Λ_w = 4t, Λ_f = 1 − 2t; at t = 1/2 the floor is left and it slides up the wall
    leaving = [i for i in motion.impacts if i.kind == "leaving"]
    assert [i.constraint for i in leaving] == ["floor"] and leaving[0].time == pytest.approx(0.5, abs=1e-12)
    assert motion[y][-1] > 0.01 and np.abs(motion[x] + motion[y] / 2).max() < 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_contact_sets_solve_the_complementarity_problem(seed):
    """0 <= Λ ⟂ G Λ + c >= 0, against non-negative least squares: min |Lᵀ Λ + L⁻¹ c|², G = L Lᵀ."""
    rng = np.random.default_rng(seed)
    n, k = 4, 3
    B = rng.normal(size=(n, n))
    M, N = B @ B.T + np.eye(n), rng.normal(size=(k, n))
    force, gamma = rng.normal(size=n), rng.normal(size=k)
    at = instant(M, N, force, gamma, np.zeros(k))
    G, c = N @ np.linalg.solve(M, N.T), N @ np.linalg.solve(M, force) + gamma
    L = np.linalg.cholesky(G)
    lam = nnls(L.T, -np.linalg.solve(L, c))[0]
    assert contact_set(at, range(k)) == tuple(np.flatnonzero(lam > 1e-12))


def instant(M, N, force, gamma, rates, e=1.0):
    n, k = len(M), len(N)
    return Instant(
        M=M, A=np.zeros((0, n)), W=np.zeros((n, 0)), force=force, a0=np.zeros(0), g=np.zeros(k), g_scale=np.ones(k),
        g_d=rates, g_v=N, g_dd0=gamma, restitution=np.full(k, e), v=np.linalg.lstsq(N, rates, rcond=None)[0],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_impacts_at_rates_that_count_as_zero_end_in_a_corner(seed):
    """However the faces are coupled, no rate is negative afterwards, and the faces that were struck have none left."""
    rng = np.random.default_rng(seed)
    n, k = 4, 3
    B = rng.normal(size=(n, n))
    N, force = rng.normal(size=(k, n)), 10 * rng.normal(size=n)
    slow = instant(B @ B.T + np.eye(n), N, force, np.zeros(k), np.zeros(k)).slow
    at = instant(B @ B.T + np.eye(n), N, force, np.zeros(k), -rng.uniform(0.1, 0.9, k) * slow, e=0.3)
    blows = in_turn(at, range(k), ())
    assert blows is not None
    after = at.g_d + N @ sum(one.dv for one in blows)
    assert (after >= -1e-9 * slow).all()
    assert all(abs(after[i]) <= 1e-9 * slow[i] for one in blows for i in one.impulses if one.impulses[i] > 0)


@pytest.mark.parametrize("lean, lifts", [(0.5, True), (-0.5, False)])
@both
def test_an_impact_while_sliding(lean, lifts, backend):
    """Along the floor into a wall with n = (1, lean): G_ij > 0 lifts off, G_ij < 0 presses on the floor as well."""
    system = particle(ap.Unilateral(y, "floor", 0.5), ap.Unilateral(x + lean * y, "wall", Rational(1, 2)))
    motion = ap.simulate(system, {x: 1.0, x.d: -2.0}, 0.51, backend=backend, **TIGHT)
    impact = next(i for i in motion.impacts if i.kind == "impact")
    assert impact.constraint == "wall" and impact.time == pytest.approx(0.5, abs=1e-12)
    assert (impact.before, impact.after) == pytest.approx((-2, 1))
    after = motion.at(impact.time)
    v = (after[x.d][0], after[y.d][0])
    free = np.array([-2.0, 0.0]) + 3 * np.array([1, lean]) / (1 + lean**2)  # 3 = (1 + e)·2
    assert v == pytest.approx(free if lifts else (1.0, 0.0), abs=1e-9)
    assert impact.impulse == pytest.approx(3 / (1 + lean**2) if lifts else 3.0)


def test_a_blow_presses_on_the_faces_that_hold():
    """Impulse complementarity on random data: P >= 0 on faces that hold, ġ⁺ >= 0 on those that lift off."""
    rng = np.random.default_rng(5)
    lifted = 0
    for _ in range(40):
        B, N = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
        at = instant(B @ B.T + np.eye(3), N, np.zeros(3), np.zeros(3), np.array([-1.0, 0.0, 0.0]))
        dv, P, _ = newton_impact(at, {0: 0.5}, (1, 2))
        after = at.g_d + N @ dv
        assert after[0] == pytest.approx(0.5)
        small = 1e-12 * (1 + max(P.values()))
        assert all(P.get(j, 0.0) >= 0 and after[j] >= -small and (j not in P or after[j] <= small) for j in (1, 2))
        lifted += len(P) < 3
    assert 5 < lifted < 40


def test_a_stack_of_contacts_is_left_in_order():
    """Two blocks on one another, pulled up: the lower face lets go later than the upper one is pulled free."""
    lower, upper = y, z
    system = ap.System(
        [lower, upper], (lower.d**2 + upper.d**2) / 2, lower + upper, {upper: 2 * ap.t},
        [ap.Unilateral(lower, "ground"), ap.Unilateral(upper - lower, "between")],
    )  # fmt: skip
    motion = ap.simulate(system, {}, 1.0, **TIGHT)
    np.testing.assert_allclose(motion.reaction("ground")[0], 2.0)
    leaving = [i for i in motion.impacts if i.kind == "leaving"]
    assert [i.constraint for i in leaving] == ["between"] and leaving[0].time == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_allclose(motion.reaction("ground")[motion.t > 0.5], 1.0, atol=1e-11)
