"""Instruments of the laboratory against published problems whose answers can be written down, or found by another method.

Shaw and Holmes, J. Sound Vib. 90 (1983) 129: orbits with one impact in n periods. Mathieu's tongues: characteristic values, as
SciPy has them. The forced oscillator of van der Pol: harmonic balance with a bordered Newton iteration. A Jeffcott rotor with
rub: the synchronous whirl of H. F. Black, J. Mech. Eng. Sci. 10 (1968) 1. Grazing–sliding of a block on a belt: its motion
without stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import mathieu_a, mathieu_b
from sympy import Piecewise, cos, sin, sqrt

import appell as ap

x, y = ap.coordinates("x y")
F, w, v, q, a, mu, delta = ap.parameters("F omega v q a mu delta", positive=True)


def root(f: Any, low: float, high: float, xtol: float = 1e-14) -> float:
    """Between two values at which f has different signs."""
    found: Any = brentq(f, low, high, xtol=xtol)
    return float(found)


class ShawHolmes:
    """ẍ + 2αẋ + x = β cos ωt, x ≤ d, ẋ⁺ = −r ẋ⁻; one impact at the speed y in n periods of the forcing.

    s = x − p, p the forced motion, goes from (X, −r y − D) to (X, y − D) with X = d − p₀, D = ṗ₀: linear in X, D for each y,
    and p₀² + (ṗ₀/ω)² = |p|² is a quadratic equation in y.
    """

    def __init__(self, alpha: float, beta: float, omega: float, wall: float, r: float, n: int):
        self.alpha, self.beta, self.omega, self.wall, self.r, self.n = alpha, beta, omega, wall, r, n
        self.T = 2 * np.pi * n / omega
        self.size = beta / np.hypot(1 - omega**2, 2 * alpha * omega)
        L = self.L = expm(np.array([[0, 1], [-1, -2 * alpha]]) * self.T)
        rows = np.array([[1 - L[0, 0], L[0, 1]], [-L[1, 0], L[1, 1] - 1]])
        self.X, self.D = np.linalg.solve(rows, [-L[0, 1] * r, -1 - L[1, 1] * r])  # for y = 1
        c2 = self.X**2 + (self.D / omega) ** 2
        self.speeds = sorted(float(z) for z in np.roots([c2, -2 * wall * self.X, wall**2 - self.size**2]) if z > 0)

    def multipliers(self, y: float) -> np.ndarray:
        """Of the orbit with the speed y before the impact."""
        # forced acceleration at the impact: β cos ωt₀ = p̈ + 2αṗ + p
        p0, D = self.wall - self.X * y, self.D * y
        push = (1 - self.omega**2) * p0 + 2 * self.alpha * D
        before, after = (push - self.wall - 2 * self.alpha * speed for speed in (y, -self.r * y))
        S = np.array([[-self.r, 0], [(self.r * before + after) / y, -self.r]])
        return np.linalg.eigvals(self.L @ S)

    def instant(self, y: float) -> float:
        """The time of the impact: p = |p| cos(ωt − lag)."""
        lag = np.arctan2(2 * self.alpha * self.omega, 1 - self.omega**2)
        return (np.arctan2(-self.D * y / self.omega, self.wall - self.X * y) + lag) / self.omega


PUSH = {x: F * cos(w * ap.t) - 0.1 * x.d}
STOP = ap.System([x], x.d**2 / 2, x**2 / 2, PUSH, [ap.Unilateral(-x, "stop", restitution=0.8)], name="Shaw–Holmes")


@pytest.mark.parametrize(("n", "omega"), [(1, 2.4), (2, 4.4), (3, 6.4)])
def test_orbits_of_shaw_and_holmes_with_one_impact_in_n_periods(n, omega):
    """α = 0.05, r = 0.8, the stop at the equilibrium: speed, multipliers, and where the orbit doubles its period over ω."""
    closed = lambda value: ShawHolmes(0.05, 1.0, value, 0.0, 0.8, n)
    one = closed(omega)
    y = one.speeds[-1]
    since = one.instant(y)
    later = expm(np.array([[0, 1], [-1, -0.1]]) * 0.3) @ [one.X * y, -0.8 * y - one.D * y]  # 0.3 s after the impact
    lag = np.arctan2(0.1 * omega, 1 - omega**2)
    forced = lambda t: one.size * np.array([np.cos(omega * t - lag), -omega * np.sin(omega * t - lag)])
    here = later + forced(since + 0.3)
    guess = {x: here[0] - 1e-3, x.d: here[1]}
    orbit = ap.periodic_orbit(STOP, guess=guess, period=one.T, since=since + 0.3, parameters={F: 1.0, w: omega})
    assert orbit.ok and [-i.before for i in orbit.motion.impacts] == pytest.approx([y], abs=1e-9)
    assert [orbit.start[x], orbit.start[x.d]] == pytest.approx(here, abs=1e-9)
    assert np.sort_complex(orbit.multipliers) == pytest.approx(np.sort_complex(one.multipliers(y)), abs=1e-8)
    doubles = lambda value: np.prod(1 + closed(value).multipliers(closed(value).speeds[-1])).real
    values = np.linspace(omega, omega + 0.6, 61)
    edge = next((i for i in range(60) if doubles(values[i]) * doubles(values[i + 1]) < 0), None)
    assert edge is not None
    exact = root(doubles, values[edge], values[edge + 1], xtol=1e-14)
    branch = ap.continue_orbit(STOP, w, orbit, exact + 0.05, period=2 * np.pi * n / w)
    assert next(s.value for s in branch.special if s.kind == "period doubling") == pytest.approx(exact, abs=1e-9)


def test_the_first_five_tongues_of_mathieu():
    """ẍ + (a + q cos 2t) x = 0 with q = 1.2: ten edges, a₁ … a₅ and b₁ … b₅ at half of it."""
    system = ap.System([x], x.d**2 / 2, (a + q * cos(2 * ap.t)) * x**2 / 2, name="Mathieu")
    orbit = ap.periodic_orbit(system, guess={}, period=np.pi, parameters={a: 0.2, q: 1.2})
    branch = ap.continue_orbit(system, a, orbit, 26.0)
    edges = sorted(float(f(m, 0.6)) for m in range(1, 6) for f in (mathieu_a, mathieu_b))
    assert [s.value for s in branch.special] == pytest.approx(edges, rel=1e-9) and all(s.refined for s in branch.special)


def balanced_fold(omega: float, strength: float, force: float, near: Any, harmonics: int = 23) -> float:
    """The F at which an orbit of ẍ − μ(1 − x²)ẋ + x = F cos ωt folds: harmonic balance with odd multiples, bordered.

    near: x over ωt of an orbit to begin with.
    """
    ks, N = np.arange(1, 2 * harmonics, 2), 8 * harmonics
    theta = 2 * np.pi * np.arange(N) / N
    C, S = np.cos(np.outer(theta, ks)), np.sin(np.outer(theta, ks))
    E, dE = np.hstack([C, S]), omega * np.hstack([-S * ks, C * ks])
    ddE, back = -(omega**2) * np.hstack([C, S]) * np.tile(ks**2, 2), 2 / N * np.hstack([C, S]).T
    drive = np.eye(2 * harmonics)[0]

    def rows(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, dX = E @ z, dE @ z
        r = back @ (ddE @ z - strength * (1 - X**2) * dX + X)
        J = back @ (ddE - strength * (1 - X**2)[:, None] * dE + (2 * strength * X * dX + 1)[:, None] * E)
        return r, J

    z = back @ near(theta)
    null = np.linalg.svd(rows(z)[1])[2][-1]

    def whole(s: np.ndarray) -> np.ndarray:
        z, f, n = s[: 2 * harmonics], s[2 * harmonics], s[2 * harmonics + 1 :]
        r, J = rows(z)
        return np.concatenate([r - f * drive, J @ n, [n @ n - 1]])

    s = np.concatenate([z, [force], null])
    for _ in range(60):
        value = whole(s)
        J = np.array([(whole(s + 1e-7 * e) - whole(s - 1e-7 * e)) / 2e-7 for e in np.eye(len(s))]).T
        step = np.linalg.solve(J, -value)
        s = s + step
        if np.abs(step).max() < 1e-10:
            break
    assert np.abs(whole(s)).max() < 1e-11
    return float(s[2 * harmonics])


def test_where_van_der_pols_oscillator_is_entrained():
    """μ = 0.5, ω = 1.1: the entrained orbit ends in a fold as the force becomes smaller."""
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: a * (1 - x**2) * x.d + F * cos(w * ap.t)}, name="forced van der Pol")
    values, T = {a: 0.5, w: 1.1, F: 0.8}, 2 * np.pi / 1.1
    settled = ap.simulate(system, {x: 1.0}, 60 * T, values).final
    orbit = ap.periodic_orbit(system, guess=settled, period=T, parameters=values)
    assert orbit.ok and orbit.stable
    branch = ap.continue_orbit(system, F, orbit, 0.1, back=0.9)
    fold = next(s for s in branch.special if s.kind == "fold")
    assert fold.refined and fold.residual < 1e-8
    near = lambda theta: np.round(fold.orbit.motion.at(theta / 1.1)[x], 3)
    assert fold.value == pytest.approx(balanced_fold(1.1, 0.5, round(fold.value, 3), near), abs=1e-9)


ROTOR = {"c": 0.1, "eps": 1.0, "k": 10.0}  # damping, eccentricity, stiffness of the stator; m = k = 1


def whirl(omega: float, friction: float, gap: float, near: float) -> tuple[float, np.ndarray]:
    """Radius of the synchronous whirl in full rub, and its eigenvalues in the frame that turns with it.

    With z = r e^{i(ωt − φ)}: ((1 − ω²) r + K (r − δ)) + i (c ω r + μ K (r − δ)) = ε ω² e^{iφ}.
    """
    c, eps, K = ROTOR.values()
    both = lambda r: np.hypot((1 - omega**2) * r + K * (r - gap), c * omega * r + friction * K * (r - gap)) - eps * omega**2
    r = root(both, near - 0.1, near + 0.1, xtol=1e-15)
    normal, side = K * (1 - gap / r), K * gap / r  # slopes of K (r − δ) e_r: normal + side along e_r, normal across
    along = np.array([[normal + side, 0], [0, normal]])
    turn = np.array([[0, -1], [1, 0]])
    stiff = np.eye(2) * (1 - omega**2) + c * omega * turn + along + friction * turn @ along
    damp = c * np.eye(2) + 2 * omega * turn
    return r, np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-stiff, -damp]]))


def test_a_jeffcott_rotor_that_rubs_in_full_whirl():
    """A soft stator with friction: radius and multipliers of the synchronous whirl, and the friction at which it loses its
    stability to a Neimark–Sacker bifurcation, a Hopf bifurcation in the turning frame. Contact begins where
    ε ω²/|1 − ω² + i c ω| = δ."""
    c, eps, K = ROTOR.values()
    r = sqrt(x**2 + y**2)
    push = lambda e: Piecewise((K * (1 - delta / r) * e, r > delta), (0, True))
    forces = {
        x: eps * w**2 * cos(w * ap.t) - c * x.d - push(x) + mu * push(y),
        y: eps * w**2 * sin(w * ap.t) - c * y.d - push(y) - mu * push(x),
    }
    rotor = ap.System([x, y], (x.d**2 + y.d**2) / 2, (x**2 + y**2) / 2, forces, name="rotor with rub")
    gap, speed = 2.0, 1.1
    touch = root(lambda s: eps * s**2 / abs(1 - s**2 + 1j * c * s) - gap, 0.3, 0.95, xtol=1e-15)
    far = ap.frequency_response(rotor, x, {w: [0.999 * touch]}, None, {delta: gap, mu: 0.01}, skip=120)
    assert far.amplitude[0] == pytest.approx(
        eps * (0.999 * touch) ** 2 / abs(1 - (0.999 * touch) ** 2 + 0.999j * c * touch), rel=1e-6
    )
    radius, values = whirl(speed, 0.02, gap, 2.13)
    phase = np.angle((1 - speed**2) * radius + K * (radius - gap) + 1j * (c * speed * radius + 0.02 * K * (radius - gap)))
    z = radius * np.exp(-1j * phase)
    guess = {x: z.real, y: z.imag, x.d: -speed * z.imag, y.d: speed * z.real}
    orbit = ap.periodic_orbit(rotor, guess=guess, period=2 * np.pi / speed, parameters={delta: gap, w: speed, mu: 0.02})
    assert orbit.ok and np.hypot(orbit.start[x], orbit.start[y]) == pytest.approx(radius, abs=1e-9)
    expected = np.exp(values * orbit.period)
    assert np.sort_complex(orbit.multipliers) == pytest.approx(np.sort_complex(expected), abs=1e-8)
    loses = lambda friction: whirl(speed, friction, gap, radius)[1].real.max()
    exact = root(loses, 0.02, 0.4, xtol=1e-15)
    (point,) = ap.continue_orbit(rotor, mu, orbit, 1.2 * exact).special
    assert point.kind == "Neimark–Sacker" and point.value == pytest.approx(exact, abs=1e-9)


def test_a_block_on_a_belt_begins_to_stick_by_grazing_sliding():
    """ẍ + 0.1 ẋ + x = F cos ωt + μ sgn(v − ẋ): without stops x is the forced motion about μ, whose speed comes to that of the
    belt at F = v √((1 − ω²)² + (0.1 ω)²)/ω."""
    rub = ap.Friction(x.d - v, limit=mu, name="belt")
    block = ap.System([x], x.d**2 / 2, x**2 / 2, {x: F * cos(w * ap.t) - 0.1 * x.d}, [rub], name="block on a belt")
    omega, speed = 1.4, 0.5
    critical = speed * np.hypot(1 - omega**2, 0.1 * omega) / omega
    values = {w: omega, v: speed, mu: 0.3, F: 0.8 * critical}
    response = values[F] / (1 - omega**2 + 0.1j * omega)
    guess = {x: 0.3 + response.real, x.d: (1j * omega * response).real}
    orbit = ap.periodic_orbit(block, guess=guess, period=2 * np.pi / omega, parameters=values)
    assert orbit.ok and orbit.start[x] == pytest.approx(guess[x], abs=1e-9)
    point = ap.continue_orbit(block, F, orbit, 1.3 * critical).special[0]
    assert point.kind == "grazing–sliding" and point.refined and point.value == pytest.approx(critical, rel=1e-8)
