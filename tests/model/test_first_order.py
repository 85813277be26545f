"""States of first order: what they may stand in, what they are in files and forms, and closed forms."""

import numpy as np
import pytest
from sympy import Abs, cos, sin

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
