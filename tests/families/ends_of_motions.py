"""What motions come to, and what is read from them: rests at zero, slow decay, chaos, harmonics through impacts, exponents of
invariant directions, means of second order, residuals of rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.linalg import expm
from sympy import cos, sin
from tests.families.family import family

import appell as ap

UNITS = ((1.0, 1.0), (1e-6, 1e-3), (1e3, 60.0))
"""Metre, second."""


@family(sample=(0, 2))
def rests_at_zero(seed: int) -> None:
    """Damped oscillators whose only attractor is the rest at 0: all motions end there, however small they have become."""
    rng, (L, T) = np.random.default_rng(seed), UNITS[seed % 3]
    x, y = ap.coordinates("x y")
    damping, hard = (0.2, 0.0) if seed == 0 else (rng.uniform(0.15, 1.5), rng.uniform(0, 0.5))
    potential = (x**2 / 2 + hard * x**4 / L**2 / 4) / T**2
    forces: dict[Any, Any] = {x: -damping * x.d / T}
    if seed % 4 == 3:
        forces[x] += -rng.uniform(0.02, 0.1) * cos(ap.t / T) * x / T**2
    grid = {x: L * np.array([-0.5, 0.2, 1.2, 3]), x.d: L / T * np.array([0, 0.1])}
    if seed % 2:
        potential, forces = potential + (y**2 + (x - y) ** 2 / 3) / T**2, forces | {y: -damping * y.d / T}
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, potential, forces)
    else:
        system = ap.System([x], x.d**2 / 2, potential, forces)
    for most in (300, 1000):
        found = ap.basin(system, grid, most=most)
        assert found.ok and len(found.attractors) == 1 and (found.labels == 0).all(), str(found)
        assert found.attractors[0].kind in ("rest", "period 1"), found.attractors[0]
        assert np.abs(found.attractors[0].points[:, : system.nq]).max() < 1e-7 * L


@family(sample=(0, 3))
def slow_decay(seed: int) -> None:
    """Motions that lose little in the time they are given are undecided: no attractor without a period is there."""
    rng = np.random.default_rng(seed)
    x, y = ap.coordinates("x y")
    little = 1e-3 if seed == 0 else 10 ** rng.uniform(-3.5, -2.3)
    T, forces = x.d**2 / 2, {x: -little * x.d}
    grid = {x: np.linspace(-1.5, 1.5, 6), x.d: np.linspace(-0.3, 0.3, 4)}
    kinds = {
        0: ap.System([x], T, -(x**2) / 2 + x**4 / 4, forces),
        1: ap.System([x], T, x**2 / 2, forces),
        2: ap.System([x], T, -cos(x), forces),
        3: ap.System([x, y], T + y.d**2 / 2, (x**2 + y**2) / 2 + x**2 * y - y**3 / 3 + (x**2 + y**2) ** 2 / 4,
                     forces | {y: -little * y.d}),  # the hills of Hénon and Heiles in a bowl
        4: ap.System([x], T, x**2 / 2 + x**4 / 4, {x: -little * x.d + 0.1 * cos(2.3 * ap.t)}),
        5: ap.System([x], T, x**2 / 2, {x: -little * x.d * (1 + x**2)}),
    }  # fmt: skip
    found = ap.basin(kinds[seed % 6], grid, most=100 if seed % 2 else 300)
    assert not any(one.kind == "not periodic" for one in found.attractors), str(found)
    assert found.ok is bool((found.labels != -1).all())
    if seed == 0:
        assert not found.ok and "on the way to an attractor" in found.message


@family(sample=(0, 1))
def chaos_does_not_decay(seed: int) -> None:
    """Ueda's attractor, chaotic, and van der Pol's oscillator with a weak force of another frequency, quasiperiodic."""
    rng = np.random.default_rng(seed)
    x = ap.coordinates("x")
    if seed % 2:
        law = 0.5 * (1 - x**2) * x.d + rng.uniform(0.05, 0.25) * cos(rng.uniform(1.4, 1.7) * ap.t)
        system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: law})
    else:
        system = ap.System([x], x.d**2 / 2, x**4 / 4, {x: -0.05 * x.d + (7.5 + 0.01 * seed) * cos(ap.t)})
    found = ap.basin(system, {x: [-1.0, 0.3, 1.5], x.d: [-0.5, 0.7]}, most=120)
    assert found.ok and {one.kind for one in found.attractors} == {"not periodic"}, str(found)


@family(sample=(0, 1))
def harmonics_through_impacts(seed: int) -> None:
    """Harmonics of a velocity are ikω times those of the coordinate, its mean is zero; those of its sign are 4/πk."""
    rng = np.random.default_rng(seed)
    x = ap.coordinates("x")
    w = ap.parameters("omega", positive=True)
    gap, e, c, omega = (0.3, 0.7, 0.2, 1.4) if seed == 0 else rng.uniform((0.0, 0.3, 0.15, 1.2), (0.35, 0.8, 0.4, 1.6))
    L, T = UNITS[seed % 3]
    stop = ap.Unilateral(gap * L - x, name="stop", restitution=e)
    force = {x: L / T**2 * cos(w * ap.t) - c * x.d / T}
    system = ap.System([x], x.d**2 / 2, x**2 / T**2 / 2, force, constraints=[stop])
    q, v = (ap.frequency_response(system, one, {w: [omega / T]}, harmonics=6) for one in (x, x.d))
    if v.ok:
        k = np.arange(7)
        off = np.abs(v.harmonics[0] - 1j * k * omega / T * q.harmonics[0]).max()
        assert off < 1e-7 * v.amplitude[0], (seed, off / v.amplitude[0])
    else:
        assert seed and "change after a period" in v.message, v.message
    free = ap.System([x], x.d**2 / 2, x**2 / T**2 / 2, force)
    odd = ap.frequency_response(free, sympy.sign(x.d), {w: [omega / T]}, harmonics=6)
    assert odd.ok and np.abs(np.abs(odd.harmonics[0]) - [0, *(4 / np.pi / k if k % 2 else 0 for k in range(1, 7))]).max() < 1e-5


@family(sample=(0, 1))
def slow_decays_beside_fast_ones(seed: int) -> None:
    """ẍ = cos ωt − cẋ − 4x, ṡ = −rs + x/9, u̇ = x − u/2: a response counts as settled where the linear equations leave less than
    the tolerance, and only there, also if a fast decay hides the change of s."""
    rng, L = np.random.default_rng([31, seed]), UNITS[seed % 3][0]
    x, (s, u), w = ap.coordinates("x"), ap.states("s u"), ap.parameters("omega", positive=True)
    skip, T = int(rng.choice([10, 30, 100])), 2 * np.pi
    r, missing = 10 ** rng.uniform(-5.5, -4.0) / T, 10 ** rng.choice([rng.uniform(-2.5, -1.0), -7.0], p=[0.7, 0.3])
    c = -2 * np.log(10 ** rng.uniform(-7, -4.3)) / (skip * T)
    model = ap.System([x], x.d**2 / 2, 2 * x**2, {x: L * cos(w * ap.t) - c * x.d}, rates={s: -r * s + x / 9, u: x - u / 2})
    A = np.array([[0, 1, 0, 0], [-4, -c, 0, 0], [1 / 9, 0, -r, 0], [1, 0, 0, -0.5]])
    steady = L * np.linalg.solve(1j * np.eye(4) - A, [0, 1, 0, 0])
    start = steady.real + L * np.array([1.0, 0, 0, 0])
    start[2:] = steady[2].real + 2 * missing * abs(steady[2]) * np.exp(r * skip * T), 0
    names = (x, x.d, s, u)
    found = ap.frequency_response(model, x, {w: [1.0]}, dict(zip(names, start, strict=True)), skip=skip, backend="vm")
    off = np.abs(expm(A * T * (skip + 1)) @ (start - steady.real)) / (2 * np.abs(steady))
    if not 5e-5 < off.max() < 1.5e-4:  # of extents that still change, and of a tolerance of 1e-4
        assert found.settled[0] == (off.max() < 1e-4), (off, found.to_come)
        assert found.ok == found.settled[0], found.message


@family(sample=(0,))
def sweeps_of_rests(seed: int) -> None:
    """Below the threshold of parametric resonance all motions end at 0: one point in a diagram, a steady response of zero."""
    rng, (L, T) = np.random.default_rng(seed), UNITS[seed % 3]
    x = ap.coordinates("x")
    h = ap.parameters("h", positive=True)
    damping = 0.2 if seed == 0 else rng.uniform(0.2, 0.5)
    stiffness = (1 + h * cos(2 * ap.t / T)) / T**2  # grows above h = 2 damping
    system = ap.System([x], x.d**2 / 2, stiffness * x**2 / 2, {x: -damping * x.d / T - x**3 / L**2 / T**2})
    values, start = damping * np.array([0.2, 0.5, 0.9]), {x: L, x.d: 0.0}
    diagram = ap.bifurcation_diagram(system, {h: values}, start, skip=400)
    assert diagram.ok and (diagram.periods == 1).all(), diagram.periods
    response = ap.frequency_response(system, x, {h: values}, start, skip=400)
    assert response.ok and (response.amplitude < 1e-8 * L).all(), str(response)


@family(sample=(0,))
def exponents_of_sleighs(seed: int) -> None:
    """A Chaplygin sleigh straight ahead: −m a v/(I + m a²), once; the others vanish as log t/t."""
    rng = np.random.default_rng(seed)
    x, y, phi = ap.coordinates("x y phi")
    m, I, a, v, heading = (1.3, 0.7, 0.4, 1.0, 0.0) if seed == 0 else (*rng.uniform(0.4, 1.5, 4), rng.uniform(0, 6))
    kinetic = m / 2 * ((x.d - a * phi.d * sin(phi)) ** 2 + (y.d + a * phi.d * cos(phi)) ** 2) + I * phi.d**2 / 2
    sleigh = ap.System([x, y, phi], kinetic, 0, constraints=[ap.Constraint(-x.d * sin(phi) + y.d * cos(phi))])
    start = {phi: heading, x.d: v * np.cos(heading), y.d: v * np.sin(heading)}
    rate = m * a * v / (I + m * a**2)
    found = ap.lyapunov(sleigh, start, 150 / rate, every=0.5 / rate).exponents / rate
    assert abs(found[-1] + 1) < 0.1 and np.abs(found[:-1]).max() < 0.1, found


@family(sample=(0, 1))
def means_of_second_order(seed: int) -> None:
    """ẍ + w²x = −ε a x² + ε² b x cos Ωt + ε² c x: φ̇ = w − 5ε²a²r²/12w³ − ε²c/2w, and its first tongue."""
    rng = np.random.default_rng(seed)
    x = ap.coordinates("x")
    eps, w, W = ap.parameters("epsilon w Omega", positive=True)
    a, b, c = (1, 1, 0) if seed == 0 else [sympy.Rational(int(k), 4) for k in rng.integers(1, 12, 3)]
    quick = (cos(W * ap.t), sin(W * ap.t), cos(W * ap.t) ** 3 * sympy.Rational(4, 3))[seed % 3]
    force = -eps * a * x**2 + eps**2 * (b * x * quick + c * x)
    system = ap.System([x], x.d**2 / 2, w**2 * x**2 / 2, {x: force})
    far = ap.averaged(system, [eps])
    turning = w - 5 * eps**2 * a**2 * far.r**2 / (12 * w**3) - eps**2 * c / (2 * w)
    assert far.order == 2 and far.r_rate == 0 and sympy.simplify(far.theta_rate - turning) == 0, far.theta_rate
    assert float(far.rates(0.5, 0.1, {eps: 0.1, w: 1.0, W: 2.7})[0]) == 0.0
    near = ap.averaged(system, [eps], (2, 1))
    turn = 0 if seed % 3 != 1 else sympy.pi / 2
    r, theta = near.r, near.theta
    growth = eps**2 * b * r * sin(theta - turn) / (4 * w)
    assert sympy.simplify(near.r_rate - growth) == 0, near.r_rate
    rate = W - 2 * turning.subs(far.r, r) + eps**2 * b * cos(theta - turn) / (2 * w)
    assert sympy.simplify((near.theta_rate - rate).subs(W, 2 * w)) == 0, near.theta_rate


@family(sample=(0,))
def residuals_of_rounding(seed: int) -> None:
    """A pendulum on a block that sticks: its angle and the friction are rounding, and so is the residual."""
    rng, (L, T) = np.random.default_rng(seed), UNITS[seed % 3]
    x, y, a = ap.coordinates("x y a")
    block, weight = (2.0, 1.0) if seed == 0 else rng.uniform(0.5, 3.0, 2)
    g = 9.81 * L / T**2
    floor = ap.Unilateral(y, name="floor", restitution=0.3)
    rub = ap.Friction(x.d, normal=floor, coefficient=0.5, name="rub")
    X, Y = x + L * sin(a), y - L * cos(a)
    speeds = [ap.total_derivative(one) for one in (X, Y)]
    kinetic = block * (x.d**2 + y.d**2) / 2 + weight * sum(one**2 for one in speeds) / 2
    system = ap.System([x, y, a], kinetic, g * (block * y + weight * Y), constraints=[floor, rub])
    rest = ap.equilibrium(system, {a: 0.05 if seed == 0 else rng.uniform(-0.4, 0.4)})
    assert abs(rest[a]) < 1e-9 and rest.residual < 1e-10, str(rest)
