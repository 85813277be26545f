"""Branches along which several small motions pass at once or beside slow ones, orbits that turn, and bodies that spin.

Every mode is an oscillator of its own, so that the special points are where the modes say: x″ = (p − c) x′ − k x + … has a Hopf
point at p = c, (k − p) x a branch point at p = k; under a force of period T its multipliers are e^{λT}.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_b
from sympy import cos
from tests.families.family import family

import appell as ap

MODES = ap.coordinates("x_0 x_1 x_2 x_3")
p = ap.parameters("p")
q = ap.quaternion("q")


def grows(c: float, stiffness: float) -> tuple:
    """A mode with a Hopf point at p = c."""
    return stiffness / 2, lambda x: (p - c) * x.d, [("Hopf", c)]


def settles(c: float, stiffness: float) -> tuple:
    """A mode that stops growing at p = c."""
    return stiffness / 2, lambda x: (c - p) * x.d, [("Hopf", c)]


def buckles(k: float, damping: float) -> tuple:
    """A mode with a branch point at p = k."""
    return (k - p) / 2, lambda x: -damping * x.d, [("branch point", k)]


def beside(stiffness: float, damping: float) -> tuple:
    """A mode that does nothing."""
    return stiffness / 2, lambda x: -damping * x.d, []


def bends(k: float) -> tuple:
    """A mode that grows all along, at first as a focus and then as a node: nothing passes."""
    return (k - p) / 2, lambda x: 0.6 * x.d, []


RESTS = (
    [grows(0.0, 1.0), beside(4.0, 0.02)],
    [grows(0.0, 1.0), beside(4.0, 0.0)],
    [grows(0.0, 1.0), grows(0.02, 4.0)],
    [buckles(0.3, 0.1), buckles(0.3, 0.1)],
    [buckles(0.3, 0.0), buckles(0.31, 0.0)],
    [bends(1.05)],
    [grows(0.1, 1.0), grows(0.1, 3.0), beside(7.0, 0.01)],
    [grows(0.05, 2.0), settles(0.07, 5.0)],
    [buckles(0.2, 0.0), buckles(0.2, 0.0), buckles(0.2, 0.0)],
    [buckles(0.4, 0.2), grows(0.4003, 2.0), beside(1.0, 1e-3)],
    [grows(-0.2, 1.0), settles(0.1, 2.0), grows(0.1001, 3.0), beside(5.0, 0.0)],
    [buckles(0.5, 0.3), buckles(0.5, 0.05), grows(0.5, 3.0)],
    [beside(1.0, 0.0), beside(2.0, 1e-3), bends(1.02)],
    [grows(0.6, 1.0), grows(0.6, 1.0), grows(0.6, 1.0), beside(1.0, 0.0)],
)


@family(count=len(RESTS), sample=(0, 1, 3, 5, 7))
def rests_of_several_modes(seed: int) -> None:
    """All points where a mode says, once each or with their number, and none else."""
    modes, special = RESTS[seed], Counter()
    V = sum(stiffness * x**2 for (stiffness, _, _), x in zip(modes, MODES, strict=False))
    forces = {x: force(x) for (_, force, _), x in zip(modes, MODES, strict=False)}
    system = ap.System(list(MODES[: len(modes)]), sum(x.d**2 for x in MODES[: len(modes)]) / 2, V, forces, name="modes")
    for _, _, points in modes:
        special.update(points)
    branch = ap.continue_equilibrium(system, p, {}, 1.0, parameters={p: -0.73})
    wanted = sorted((value, kind, count) for (kind, value), count in special.items())
    found = sorted((round(s.value, 9), s.kind, s.multiplicity) for s in branch.special)
    assert [(kind, n) for _, kind, n in found] == [(kind, n) for _, kind, n in wanted], branch
    assert [value for value, *_ in found] == pytest.approx([value for value, *_ in wanted], abs=1e-8), branch
    assert all(s.refined for s in branch.special), branch.special


ORBITS = (
    [(0.0, 1.0), (0.0, 1.0)], [(0.0, 1.0), (None, 2.89)], [(0.1, 1.0), (0.104, 2.0)], [(0.1, 1.0), (0.1, 2.0)],
    [(0.2, 1.3), (0.2, 1.3), (0.2, 1.3)], [(-0.1, 1.0), (-0.1, 3.0), (None, 0.5)], [(0.05, 0.7), (0.0503, 0.7)],
)  # fmt: skip


def forced_modes(modes: list) -> None:
    """x″ = (p − c) x′ − k x + F cos 2.3 t: Neimark–Sacker points at p = c; without c, a lightly damped one."""
    positions = list(MODES[: len(modes)])
    damping = [0.02 if c is None else c - p for c, _ in modes]
    V = sum(k * x**2 for (_, k), x in zip(modes, positions, strict=True)) / 2
    forces = {x: -d * x.d + 0.01 * cos(2.3 * ap.t) for d, x in zip(damping, positions, strict=True)}
    system = ap.System(positions, sum(x.d**2 for x in positions) / 2, V, forces, name="forced modes")
    orbit = ap.periodic_orbit(system, guess={}, period=2 * np.pi / 2.3, parameters={p: -0.4})
    branch = ap.continue_orbit(system, p, orbit, 0.4)
    wanted = sorted(Counter(c for c, _ in modes if c is not None).items())
    assert [(s.kind, s.multiplicity) for s in branch.special] == [("Neimark–Sacker", n) for _, n in wanted], branch
    assert [s.value for s in branch.special] == pytest.approx([c for c, _ in wanted], abs=1e-8)


def several_tongues(low: float, high: float, depth: float, number: int) -> None:
    """Equal oscillators x″ + (p + q cos 2t) x = 0: all edges of tongues, each of them for all oscillators at once."""
    positions = list(MODES[:number])
    V = (p + depth * cos(2 * ap.t)) * sum(x**2 for x in positions) / 2
    system = ap.System(positions, sum(x.d**2 for x in positions) / 2, V, name="equal tongues")
    orbit = ap.periodic_orbit(system, guess={}, period=np.pi, parameters={p: low})
    branch = ap.continue_orbit(system, p, orbit, high)
    edges = sorted(float(f(m, depth / 2)) for m in range(1, 4) for f in (mathieu_a, mathieu_b))
    wanted = [edge for edge in edges if low < edge < high]
    assert [s.value for s in branch.special] == pytest.approx(wanted, abs=1e-6), branch
    assert all(s.multiplicity == number for s in branch.special), branch


PASSING = (
    *(lambda modes=modes: forced_modes(modes) for modes in ORBITS),
    lambda: several_tongues(0.5, 2.0, 0.6, 2), lambda: several_tongues(0.5, 5.0, 0.6, 2),
    lambda: several_tongues(0.5, 2.0, 0.3, 3), lambda: several_tongues(3.0, 4.5, 0.8, 2),
)  # fmt: skip


@family(count=len(PASSING), sample=(0, 2))
def orbits_of_several_modes(seed: int) -> None:
    """Multipliers that pass the unit circle together, or nearly so."""
    PASSING[seed]()


@family(sample=(0, 1))
def lengths_of_turns(seed: int) -> None:
    """A torqued pendulum −cos nφ turns by 2π/n, or whole multiples of it; any other length is refused."""
    x, n = MODES[0], 1 + seed % 3
    system = ap.System([x], x.d**2 / 2, -cos(n * x) / n, {x: 1.2 - 0.2 * x.d}, name="turning")
    turn = 2 * np.pi / n
    wrong = (1.0, 0.5 * turn, 1.5 * turn, turn + 1e-4)[seed % 4]
    with pytest.raises(ap.ModelError, match="modulo="):
        ap.periodic_orbit(system, guess={x.d: 5.9}, period_guess=turn / 5.9, modulo={x: wrong})
    orbit = ap.periodic_orbit(system, guess={x.d: 5.9}, period_guess=turn / 5.9, modulo={x: turn})
    assert orbit.ok and orbit.motion.q[-1, 0] - orbit.motion.q[0, 0] == pytest.approx(turn, abs=1e-8)
    assert np.abs(orbit.multipliers).min() == pytest.approx(np.exp(-0.2 * orbit.period), rel=1e-6)  # Liouville


@family(sample=(0, 2))
def spinning_bodies(seed: int) -> None:
    """A free body about its third axis, ω: δω₁, δω₂ turn by Ω = ω √((C − A)(C − B)/AB), and the attitude is back after 2π/ω."""
    rng, w = np.random.default_rng(seed), q.rates
    A, B, C = (1.0, 1.0, 2.0) if not seed else np.sort(rng.uniform(1.0, 2.0, 3))
    speed = 1.0 if not seed else float(rng.uniform(0.3, 30.0))
    system = ap.System([q], (A * w[0] ** 2 + B * w[1] ** 2 + C * w[2] ** 2) / 2, name="spinning body")
    turns = 1 + seed % 2
    orbit = ap.periodic_orbit(system, guess={w[2]: speed}, period_guess=(1 + 1e-3 * (seed + 1)) * 2 * np.pi * turns / speed)
    assert orbit.ok, orbit
    assert orbit.period * orbit.start[w[2]] == pytest.approx(2 * np.pi * turns, rel=1e-8)
    angle = 2 * np.pi * turns * np.sqrt((C - A) * (C - B) / (A * B))
    for sign in (1, -1):
        assert np.abs(orbit.multipliers - np.exp(sign * 1j * angle)).min() < 1e-5, (orbit.multipliers, angle)
