"""Zhuravlev 1978, (17) to (22): the driven oscillator with a wall, averaged at the resonances ω ≈ 2kΩ.

Where the text we hold prints something false, the test shows that it is and that the corrected formula is not.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from sympy import cos, sign, simplify, sin

import appell as ap

r, phi, psi = sympy.symbols("r phi psi", real=True)
h, Omega, epsilon = sympy.symbols("h Omega epsilon", positive=True)
Delta = sympy.Symbol("Delta", real=True)
M = sympy.Symbol("M", real=True)  # sgn cos φ

R_RATE = -h * r * sin(phi) ** 2 - Omega * Delta * M * sin(phi) + epsilon / Omega * M * sin(phi) * sin(psi)
PHI_RATE = Omega - h * sin(phi) * cos(phi) - Omega / r * Delta * M * cos(phi) + epsilon / (r * Omega) * M * cos(phi) * sin(psi)
PHI_RATE_PRINTED = PHI_RATE + epsilon / (r * Omega) * M * cos(phi) * (sin(phi) - sin(psi))


def test_17_18_polar_variables():
    """x = r cos φ, ẋ = −rΩ sin φ in (16). Printed last term of φ̇: ε/(rΩ) M sin φ cos φ; right: ε/(rΩ) M cos φ sin ψ."""
    z = -r * Omega * sin(phi)
    force = -h * z - Omega**2 * r * cos(phi) + Omega**2 * Delta * M - epsilon * M * sin(psi)
    r_d, phi_d = sympy.symbols("r_d phi_d")
    equations = [r_d * cos(phi) - r * sin(phi) * phi_d - z, -Omega * (r_d * sin(phi) + r * cos(phi) * phi_d) - force]
    found = sympy.solve(equations, [r_d, phi_d])
    assert simplify(found[r_d] - R_RATE) == 0
    assert simplify(found[phi_d] - PHI_RATE) == 0
    assert simplify(found[phi_d] - PHI_RATE_PRINTED) != 0


VALUES = {h: 0.11, Omega: 1.3, epsilon: 0.23, Delta: 0.17, r: 0.9}


def averaged(expr, k: int, theta: float) -> float:
    """The mean over φ with ψ = 2kφ + θ, (19)."""
    value = sympy.lambdify(phi, expr.subs(M, sign(cos(phi))).subs(psi, 2 * k * phi + theta).subs(VALUES), "numpy")
    pieces = [(-np.pi / 2, np.pi / 2), (np.pi / 2, 3 * np.pi / 2)]
    return sum(quad(value, *piece, epsabs=1e-13)[0] for piece in pieces) / (2 * np.pi)


def coefficients(k: int) -> tuple[float, float, float]:
    """a, b, c of (20)."""
    O, e, D, damping = (float(VALUES[s]) for s in (Omega, epsilon, Delta, h))
    return -4 * k * e * (-1) ** k / (np.pi * O * (4 * k**2 - 1)), damping / 2, 4 * k * O * D / np.pi


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("theta", [0.3, 1.9])
def test_19_20_averaged_equations(k, theta):
    """ṙ = −b r + a cos θ, θ̇ = χ + c/r − (a/r) sin θ with χ = ω − 2kΩ; the printed (18) loses the last term."""
    a, b, c = coefficients(k)
    radius = VALUES[r]
    assert averaged(R_RATE, k, theta) == pytest.approx(-b * radius + a * np.cos(theta), abs=1e-12)
    slow = lambda rate: -2 * k * (averaged(rate, k, theta) - VALUES[Omega])  # θ̇ − χ
    assert slow(PHI_RATE) == pytest.approx(c / radius - a / radius * np.sin(theta), abs=1e-12)
    assert abs(slow(PHI_RATE_PRINTED) - (c / radius - a / radius * np.sin(theta))) > 1e-3


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (2, 1), (3, 2)])
def test_20_other_resonances_are_absent(n, m):
    """ψ = (mφ + θ)/n: the forcing has no mean over the 2πn of φ unless n = 1 and m is even."""
    term = sympy.lambdify([phi, psi], sign(cos(phi)) * sin(phi) * sin(psi), "numpy")
    grid = (np.arange(240_000) + 0.5) / 240_000 * 2 * np.pi * n  # the jumps lie between cells: midpoint rule, error 1e-9
    mean = [np.mean(term(grid, (m * grid + theta) / n)) for theta in (0.3, 1.9)]
    assert np.abs(mean).max() < 1e-8
    even = [np.mean(term(grid, 2 * grid + theta)) for theta in (0.3, 1.9)]
    assert np.abs(even).max() > 1e-2


def stationary(a, b, c, chi, upper=True):
    """r0 of (21)."""
    root = np.sqrt(a**2 * (b**2 + chi**2) - b**2 * c**2)
    return (-c * chi + (root if upper else -root)) / (b**2 + chi**2)


@pytest.mark.parametrize(("D", "chi"), [(0.05, -0.2), (-0.05, 0.2), (0.02, 0.15), (-0.02, -0.15)])
def test_21_stationary_regimes_and_their_stability(D, chi):
    """(21) solves (20), the upper sign is stable. «cχ < 0 is necessary» is false: a² > c² gives r0 > 0 on both sides."""
    a, b, _ = coefficients(1)
    c = 4 * VALUES[Omega] * D / np.pi
    for upper in (True, False):
        r0 = stationary(a, b, c, chi, upper)
        cosine, sine = b / a * r0, (chi * r0 + c) / a
        assert cosine**2 + sine**2 == pytest.approx(1)
        assert -b * r0 + a * cosine == pytest.approx(0, abs=1e-14)
        assert chi + c / r0 - a / r0 * sine == pytest.approx(0, abs=1e-14)
        jacobian = np.array([[-b, -a * sine], [(a * sine - c) / r0**2, -a * cosine / r0]])
        stable = np.linalg.eigvals(jacobian).real.max() < 0
        assert np.trace(jacobian) == pytest.approx(-2 * b)
        assert np.linalg.det(jacobian) == pytest.approx(b**2 + chi * (chi * r0 + c) / r0)
        if r0 > 0:
            assert stable == upper
    assert stationary(a, b, c, chi) > 0
    assert c * chi < 0 or a**2 > c**2


def test_existence_condition_has_no_pi_squared():
    """a²(b² + χ²) >= b²c² in the parameters: ε²/(4k²−1)² >= Ω⁴Δ²h²/(h² + 4χ²)."""
    chi, k = sympy.symbols("chi k", positive=True)
    a2 = (4 * k * epsilon / (sympy.pi * Omega * (4 * k**2 - 1))) ** 2
    b, c = h / 2, 4 * k * Omega * Delta / sympy.pi
    discriminant = a2 * (b**2 + chi**2) - b**2 * c**2
    corrected = epsilon**2 / (4 * k**2 - 1) ** 2 - Omega**4 * Delta**2 * h**2 / (h**2 + 4 * chi**2)
    printed = epsilon**2 / (4 * k**2 - 1) ** 2 - sympy.pi**2 * Omega**4 * Delta**2 * h**2 / (h**2 + 4 * chi**2)
    ratio = simplify(discriminant / corrected)
    assert ratio.is_positive and not ratio.has(Delta)
    assert simplify(discriminant / printed).has(Delta)


@pytest.mark.parametrize("zeta", [0.3, 0.45, 0.55, 0.7])
@pytest.mark.parametrize("phase", [1, -1])
def test_22_exact_motion_with_one_impact_a_period(zeta, phase):
    """s̈ + Ω²s = ±ε cos ωτ, τ from the middle of the period, s(±π/ω) = Δ: half the stroke is −a1 Δ ± a2 F/k."""
    omega, D, force = 1.0, 0.2, 0.7
    O = zeta * omega
    forced = phase * force / (O**2 - omega**2)
    free = (D + forced) / np.cos(np.pi * zeta)
    s = lambda tau: free * np.cos(O * tau) + forced * np.cos(omega * tau)
    end = np.pi / omega
    assert s(end) == pytest.approx(D) and s(-end) == pytest.approx(D)
    tau, d = 0.37, 1e-4
    second = (s(tau + d) - 2 * s(tau) + s(tau - d)) / d**2
    assert second + O**2 * s(tau) == pytest.approx(phase * force * np.cos(omega * tau), abs=1e-6)
    a1 = np.sin(np.pi * zeta / 2) ** 2 / np.cos(np.pi * zeta)
    a2 = zeta**2 * np.cos(np.pi * zeta / 2) ** 2 / ((1 - zeta**2) * np.cos(np.pi * zeta))
    assert (D - s(0)) / 2 == pytest.approx(-a1 * D + phase * a2 * force / O**2)


TABLE = {
    0.2: (79.8, 51.8), 0.3: (36.2, 19.1), 0.4: (13.9, 5.2), 0.45: (6.3, 1.7), 0.55: (5.3, 0.2),
    0.6: (9.8, 1.2), 0.7: (17.5, 10.2), 0.8: (24.1, 34.8),
}  # fmt: skip


@pytest.mark.parametrize("zeta", TABLE)
def test_22_errors_of_the_averaged_coefficients(zeta):
    """The table of relative errors, %. At ζ = 0.3 the text prints 19.2 for a2; it is 19.145."""
    exact1 = np.sin(np.pi * zeta / 2) ** 2 / np.cos(np.pi * zeta)
    exact2 = zeta**2 * np.cos(np.pi * zeta / 2) ** 2 / ((1 - zeta**2) * np.cos(np.pi * zeta))
    near1, near2 = 2 * zeta / (np.pi * (1 - 2 * zeta)), 2 * zeta / (3 * np.pi * (1 - 2 * zeta))
    errors = (100 * abs(near1 / exact1 - 1), 100 * abs(near2 / exact2 - 1))
    assert errors == pytest.approx(TABLE[zeta], abs=0.06)
    assert zeta != 0.3 or abs(errors[1] - 19.2) > 0.05


def one_impact_a_period(zeta, D, stroke, phase):
    """(s, ṡ) of (22) with ω = 1, F/k = stroke, wall s <= Δ hit at τ = ±π."""
    forced = phase * stroke * zeta**2 / (zeta**2 - 1)
    free = (D + forced) / np.cos(np.pi * zeta)
    s = lambda tau: free * np.cos(zeta * tau) + forced * np.cos(tau)
    return s, lambda tau: -free * zeta * np.sin(zeta * tau) - forced * np.sin(tau)


TAU = np.linspace(-np.pi, np.pi, 4001)


def test_22_a_positive_half_stroke_is_not_enough():
    """ζ = 0.4, Δ = 0.1, F/k = 0.5: one phase has a positive half stroke, but it would come to the wall from behind (v < 0)."""
    strokes = {}
    for phase in (1, -1):
        s, s_d = one_impact_a_period(0.4, 0.1, 0.5, phase)
        strokes[phase] = (0.1 - s(0)) / 2
        assert not (s_d(np.pi) > 0 and (s(TAU) <= 0.1 + 1e-12).all())
    assert strokes[1] > 0.05 > 0 > strokes[-1]


@pytest.mark.parametrize(("zeta", "D", "stroke", "phase"), [(0.45, 0.1, 0.5, 1), (0.55, 0.1, 0.5, -1), (0.6, -0.1, 0.5, -1)])
def test_22_admissible_motions_are_motions(zeta, D, stroke, phase):
    """With v > 0 and s <= Δ on the whole period: a run hits the wall once a period with that speed, five times over."""
    s, s_d = one_impact_a_period(zeta, D, stroke, phase)
    assert s_d(np.pi) > 0 and (s(TAU) <= D + 1e-12).all()
    q = ap.coordinates("q")
    force = {q: phase * stroke * zeta**2 * cos(ap.t)}
    system = ap.System([q], q.d**2 / 2, zeta**2 * q**2 / 2, force, [ap.Unilateral(D - q, "wall")])
    motion = ap.simulate(system, {q: s(0.0)}, 10.5 * np.pi, rtol=1e-12, atol=1e-14)
    assert [i.time for i in motion.impacts] == pytest.approx(np.pi * np.arange(1, 11, 2), abs=1e-8)
    assert [i.before for i in motion.impacts] == pytest.approx([-s_d(np.pi)] * 5, abs=1e-8)
