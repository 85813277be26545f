"""States of first order: what they may stand in, what they are in files and forms, and closed forms."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from sympy import Abs, Max, Min, asin, cos, exp, pi, sin

import appell as ap
from appell.errors import FormNotApplicable, ModelError

x, y, phi = ap.coordinates("x y phi")
i, s, r = ap.states("i s r")
U, R, L, k, J = ap.parameters("U R L k J", positive=True)
MOTOR = ap.System(
    [phi], J * phi.d**2 / 2, -sin(phi), {phi: k * i - phi.d / 10}, rates={i: (U - R * i - k * phi.d) / L}, name="motor"
)
VALUES = {U: 3.0, R: 2.0, L: 0.1, k: 0.5, J: 1.0}
BASE = {"coordinates": [x], "kinetic": x.d**2 / 2}


def test_a_state_stands_behind_the_coordinates_and_has_a_rate():
    assert MOTOR.positions == (phi, i) and MOTOR.coordinates == (phi,) and MOTOR.states == (i,)
    assert MOTOR.rates[i] == (U - R * i - k * phi.d) / L
    motion = ap.simulate(MOTOR, {i: 0.2}, 0.5, VALUES)
    assert motion.ok
    assert motion[i.d] == pytest.approx((3 - 2 * motion[i] - 0.5 * motion[phi.d]) / 0.1, rel=1e-12)


@pytest.mark.parametrize(("more", "said"), [
    ({"kinetic": s * x.d**2, "rates": {s: 1}}, "the kinetic energy contains the state s"),
    ({"forces": {x: s}}, "s is missing from rates="),
    ({"forces": {s: 1}, "rates": {s: 1}}, "on which no force acts"),
    ({"rates": {x: 1}}, "it names x: a coordinate moves by its velocity"),
    ({"rates": {s: r.d, r: 1}}, "the rate of s contains r.d"),
    ({"rates": {s: x.dd}}, "the rate of s contains x.dd"),
    ({"constraints": [x - s], "rates": {s: x.d}}, "whose rate contains x.d"),
    ({"constraints": [x.d - s.d], "rates": {s: x}}, "contains s.d, the rate of a state"),
    ({"constraints": [ap.Unilateral(x - s)], "rates": {s: x.d}}, "whose rate contains x.d"),
    ({"rates": {ap.states("x"): 1}}, "two different symbols are called 'x'"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused_by_name(more, said):
    with pytest.raises(ModelError, match=said):
        ap.System(**{**BASE, **more})


def test_rows_need_a_coordinate():
    for make in (lambda: ap.Constraint(s - 1), lambda: ap.Unilateral(s)):
        with pytest.raises(ap.errors.ConstraintError, match="contains no coordinate"):
            make()


def test_what_has_no_equations_for_states_says_so():
    with pytest.raises(FormNotApplicable, match=r"steady_motions does not take states of first order \(i\)"):
        ap.steady_motions(MOTOR, parameters=VALUES)


@pytest.mark.parametrize("system", [
    MOTOR,
    ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: -r}, constraints=[x.d * sin(s) - y.d * cos(s)],
              rates={s: x.d + 1, r: y.d - r}, name="blade that a state turns"),
    ap.System([x, y], (x.d**2 + y.d**2) / 2, (x - y) ** 2, constraints=[x - s], rates={s: r - s, r: -r}, name="servo"),
], ids=lambda system: system.name)  # fmt: skip
def test_forms_agree_and_show_the_rates_beside(system):
    assert ap.agree(system, states=2).ok
    shown = ap.forms.lagrange(system).kinematics
    assert {e.lhs for e in shown} == {one.d for one in system.states}


def test_variations_are_differences_of_runs():
    start, h = {phi: 0.1, i: 0.2}, 1e-5
    found = ap.variations(ap.simulate(MOTOR, start, 1.0, VALUES, rtol=1e-11), by=[R])
    end = lambda more, p: np.array(list(ap.simulate(MOTOR, {**start, **more}, 1.0, {**VALUES, **p}, rtol=1e-12).final.values()))
    by_i = (end({i: 0.2 + h}, {}) - end({i: 0.2 - h}, {})) / (2 * h)
    by_R = (end({}, {R: 2 + h}) - end({}, {R: 2 - h})) / (2 * h)
    assert found.monodromy[:, 1] == pytest.approx(by_i, abs=1e-8)
    assert found.parameters[-1][:, 0] == pytest.approx(by_R, abs=1e-8)


def test_a_rest_has_states_at_rest_and_their_eigenvalues():
    rest = ap.equilibrium(MOTOR, {phi: 1.0}, VALUES)
    assert rest.start[i] == pytest.approx(1.5) and np.cos(rest.start[phi]) == pytest.approx(-0.75)
    A = ap.linearize(MOTOR, at=rest, parameters=VALUES).A
    slope = -np.sin(rest.start[phi])
    assert pytest.approx(np.array([[0, 0, 1], [0, -20, -5], [slope, 0.5, -0.1]])) == A
    assert np.sort_complex(rest.eigenvalues) == pytest.approx(np.sort_complex(np.linalg.eigvals(A)))


def test_files_keep_states(tmp_path):
    motion = ap.simulate(MOTOR, {i: 0.2}, 0.1, VALUES)
    motion.save(tmp_path / "motor.nc")
    again = ap.load(tmp_path / "motor.nc")
    assert (again[i] == motion[i]).all() and again.final[i] == motion[i][-1]


def test_a_bristle_follows_its_hysteresis_loop():
    """ż = v − |v| z/z_s (LuGre's bristle at a constant level; Canudas de Wit et al. 1995): z is a function of the way,
    z = ±z_s + (z_0 ∓ z_s) e^{∓(x − x_0)/z_s} on each stroke, whatever the speed."""
    z_s = 0.3
    drawn = ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, constraints=[x - sin(ap.t)], forces={y: s}, rates={s: x.d - Abs(x.d) * s / z_s}
    )
    times = np.linspace(0, 6.2, 63)
    motion = ap.simulate(drawn, {x.d: 1.0}, 6.2, times=times, backend="vm")
    way, z, turns = np.sin(times), motion[s], np.pi / 2 * np.array([1, 3])
    expected, first = z_s * (1 - np.exp(-way / z_s)), z_s * (1 - np.exp(-1 / z_s))
    for turn, sign in zip(turns, (-1, 1), strict=True):
        x0 = np.sin(turn)
        z0 = first if sign < 0 else -z_s + (first + z_s) * np.exp(-2 / z_s)
        stroke = times > turn
        expected[stroke] = (sign * z_s + (z0 - sign * z_s) * np.exp(-sign * (way - x0) / z_s))[stroke]
    assert z == pytest.approx(expected, abs=1e-7)


def test_a_maxwell_chain_relaxes_in_closed_form():
    """A held strain: σ = Σ E_j e^{−t/τ_j}, of springs E_j in series with dampers, each with its own strain s_j."""
    E, tau = (2.0, 5.0, 1.0), (0.1, 1.0, 7.0)
    strains = ap.states("s1 s2 s3")
    stress = sum(e * (x - one) for e, one in zip(E, strains, strict=True))
    chain = ap.System(
        [x], x.d**2 / 2, forces={x: -stress}, constraints=[ap.Constraint(x - 1, name="grip")],
        rates={one: (x - one) / time for one, time in zip(strains, tau, strict=True)},
    )  # fmt: skip
    times = np.linspace(0, 3, 7)
    motion = ap.simulate(chain, {x: 1.0}, 3.0, times=times, backend="vm")
    exact = sum(e * np.exp(-times / time) for e, time in zip(E, tau, strict=True))
    assert motion.reaction("grip") == pytest.approx(exact, abs=1e-8)


def test_a_motor_with_backlash_meets_its_load_where_the_matrix_exponential_says():
    """L i̇ = U − R i − k φ̇, J φ̈ = k i until φ = δ; the blow keeps the momentum and takes 1 − e² of the relative energy."""
    J, JL, k, L, R, U, play, e = 0.01, 0.03, 0.3, 0.02, 1.5, 12.0, 0.05, 0.3
    motor = ap.System(
        [x, y], (J * x.d**2 + JL * y.d**2) / 2, forces={x: k * s}, rates={s: (U - R * s - k * x.d) / L},
        constraints=[ap.Between(-play, x - y, play, restitution=e, name="gear")],
    )  # fmt: skip
    A = np.array([[0, 1, 0, 0], [0, 0, k / J, 0], [0, -k / L, -R / L, U / L], [0, 0, 0, 0]])
    exact = lambda t: expm(A * t) @ [0, 0, 0, 1]
    first = brentq(lambda t: exact(t)[0] - play, 1e-3, 1)
    _, before, current, _ = exact(first)
    motion = ap.simulate(motor, {}, 0.032, rtol=1e-8, backend="vm")
    assert motion.impacts[0].time == pytest.approx(first, abs=1e-8)
    common = J * before / (J + JL)
    after = motion.at(np.nextafter(first + 1e-9, 1))
    assert after[x.d][0] == pytest.approx(common - e * before * JL / (J + JL), abs=1e-5)
    assert after[y.d][0] == pytest.approx(common + e * before * J / (J + JL), abs=1e-5)
    assert after[s][0] == pytest.approx(current, abs=1e-5)


def test_an_integrator_winds_up_at_the_limit_of_its_actuator():
    """ẍ = sat(k_p e − k_d ẋ + k_i s), ṡ = e = 1 − x: between the corners linear systems, each by its matrix exponential."""
    kp, kd, ki = 4.0, 2.0, 3.0
    wish = kp * (1 - x) - kd * x.d + ki * s
    system = ap.System([x], x.d**2 / 2, forces={x: Max(-1, Min(1, wish))}, rates={s: 1 - x})
    motion = ap.simulate(system, {x: -4.0}, 12.0, rtol=1e-11, backend="vm")
    inside = np.array([[0, 1, 0, 0], [-kp, -kd, ki, kp], [-1, 0, 0, 1], [0, 0, 0, 0]])
    outside = lambda sign: np.array([[0, 1, 0, 0], [0, 0, 0, sign], [-1, 0, 0, 1], [0, 0, 0, 0]])
    u = lambda z: kp * (1 - z[0]) - kd * z[1] + ki * z[2]
    z, t, mode, corners = np.array([-4.0, 0.0, 0.0, 1.0]), 0.0, 1, 0
    while True:
        A = inside if mode == 0 else outside(mode)
        over = lambda dt, z=z, A=A, m=mode: abs(u(expm(A * dt) @ z)) - 1 if m == 0 else 1 - m * u(expm(A * dt) @ z)
        grid = np.linspace(1e-9, 12.0 - t, 2001)
        values = np.array([over(dt) for dt in grid])
        hit = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
        if not len(hit):
            break
        dt = brentq(over, grid[hit[0]], grid[hit[0] + 1], xtol=1e-14)
        z, t, corners = expm(A * dt) @ z, t + dt, corners + 1
        mode = int(np.sign(u(z))) if mode == 0 else 0
    end = expm(A * (12.0 - t)) @ z
    assert corners >= 2 and [motion[x][-1], motion[s][-1]] == pytest.approx([end[0], end[2]], abs=1e-8)


def test_lugre_s_friction_has_its_published_hysteresis():
    """Parameters of Canudas de Wit et al. 1995: presliding under a force that goes slowly to ±95 % of F_S. So slowly σ₀ z = F,
    and on each branch dF/dx = σ₀ (1 ∓ F/F_S): x − x₀ = ∓F_S/σ₀ ln((1 ∓ F/F_S)/(1 ∓ F₀/F_S))."""
    s0, s1, s2, Fc, Fs, vs, lasts = 1e5, np.sqrt(1e5), 0.4, 1.0, 1.5, 1e-3, 100.0
    rate = x.d - s0 * Abs(x.d) * s / (Fc + (Fs - Fc) * exp(-((x.d / vs) ** 2)))
    top = 0.95 * Fs
    F = top * (2 / pi) * asin(sin(pi * ap.t / (2 * lasts)))  # a triangle
    mass = ap.System([x], x.d**2 / 2, forces={x: F - s0 * s - s1 * rate - s2 * x.d}, rates={s: rate})
    times = lasts * np.array([0.5, 1, 2, 3, 4, 5])
    motion = ap.simulate(mass, {}, 5 * lasts, method="radau", rtol=1e-5, atol=1e-11, times=times, backend="vm")
    branch = lambda f, f0, x0, way: x0 - way * Fs / s0 * np.log((1 - way * f / Fs) / (1 - way * f0 / Fs))
    up = branch(top, 0, 0, 1)
    back, down = branch(0, top, up, -1), branch(-top, top, up, -1)
    slow = [branch(top / 2, 0, 0, 1), up, back, down, branch(0, -top, down, 1), branch(top, -top, down, 1)]
    assert motion.ok and motion[x] == pytest.approx(slow, abs=4e-3 * up)
