"""The distance of an orbit from a new phase of stick or slip: smooth along a branch, and zero where the phase begins.

    stick, inside a slip          the minimum of |s|, as a fraction of the largest           grazing–sliding
    stick, between two slips      |λ| − limit where s passes zero, assuming stick          crossing–sliding
    slip, inside sticking         the minimum of limit − |λ|                              multi-sliding

If no sticking is left, the smaller of the first two. s is the slip, λ the force needed for sticking. Other phases have no such
measure (their ends are limits of `sliding.lasting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.refining import CurvePoint
from appell.analysis.orbits.sliding import Vanishing, phase_words
from appell.modes.mode import SLIP, STICK, FrictionState, Mode
from appell.motion.dense import dense_steps
from appell.motion.extremes import extremes
from appell.motion.motion import Motion
from appell.nonsmooth.friction.guards import BREAK, ModeGuard
from appell.nonsmooth.friction.mode_variation import mode_variation

Array = NDArray[np.float64]

HOLD_LOOKS = 400
"""Samples of sticking for the smallest margin, before refinement."""


def phase_margin(without: CurvePoint, gone: Vanishing) -> Callable[[CurvePoint], float]:
    """The measure for orbits like one without the phase; −1 where an orbit has other phases, infinite without a measure."""
    like = phase_words(without)

    def measure(point: CurvePoint) -> float:
        return margin(point.record.motion, gone) if phase_words(point) == like else -1.0

    return measure


def margin(motion: Motion, gone: Vanishing) -> float:
    """The smallest of the available measures."""
    system = motion.system
    number = [friction.name for friction in system.frictions].index(gone.friction)
    if len(system.frictions[number].slip) > 1:
        return np.inf
    if gone.letter == "s":
        return min([*_near_zero(motion, number), *_at_crossings(motion, number)], default=np.inf)
    if gone.kind == "multi-sliding":
        return min(_while_sticking(motion, number), default=np.inf)
    return np.inf


def _modes(motion: Motion) -> Iterator[tuple[float, float, Mode]]:
    """(start, end, mode) of each interval."""
    times = [time for time, _ in motion.modes] + [float(motion.t[-1])]
    for (begin, mode), end in zip(motion.modes, times[1:], strict=True):
        yield begin, end, mode


def _near_zero(motion: Motion, number: int) -> Iterator[float]:
    """Minima of |s| inside slips, as fractions of the largest."""
    slip = motion.system.frictions[number].slip[0]
    slip_extremes = extremes(motion, slip)
    largest = max(abs(slip_extremes.least), abs(slip_extremes.largest), 1e-300)
    for begin, end, mode in _modes(motion):
        friction = mode.frictions[number]
        inside = (slip_extremes.time > begin) & (slip_extremes.time < end)
        if friction.state == SLIP:
            s = friction.u[0] * slip_extremes.value[inside & (friction.u[0] * slip_extremes.bend > 0)]
            yield from (float(minimum) / largest for minimum in s if minimum > 0)


class _Holding:
    """limit − |λ| of a friction, assuming stick, as a fraction of its largest size along the orbit."""

    def __init__(self, motion: Motion, number: int):
        self.motion, self.number = motion, number
        form = motion.run.form
        self.varied = mode_variation(motion.system, form, form.nq + form.nv, ())
        self.index = ModeGuard(BREAK, number).bound_index(self.varied.layout)
        times = np.linspace(float(motion.t[0]), float(motion.t[-1]), 41)
        self.scale = max(float(np.abs([self(time, self._mode(time), 1.0) for time in times]).max()), 1e-300)

    def _mode(self, time: float) -> Mode:
        return next(mode for since, mode in reversed(self.motion.modes) if since <= time)

    def __call__(self, time: float, mode: Mode, scale: float | None = None) -> float:
        frictions = list(mode.frictions)
        frictions[self.number] = FrictionState(STICK, (), frictions[self.number].sign)
        state = self.motion.at(time)
        numbers = np.append(self.motion.run.p, replace(mode, frictions=tuple(frictions)).data(self.varied.layout))
        out = self.varied.slopes(time, state.q[0].copy(), state.v[0].copy(), numbers)
        return float(out["g"][self.index]) / (self.scale if scale is None else scale)


def _at_crossings(motion: Motion, number: int) -> Iterator[float]:
    """|λ| − limit where slip reverses without sticking."""
    holding, previous = None, None
    for begin, _, mode in _modes(motion):
        friction = mode.frictions[number]
        if previous is not None and friction.state == previous.state == SLIP and friction.u[0] * previous.u[0] < 0:
            holding = holding or _Holding(motion, number)
            yield -holding(begin, mode)
        previous = friction


def _while_sticking(motion: Motion, number: int) -> Iterator[float]:
    """Minima of limit − |λ| inside sticking."""
    holding = None
    for begin, end, mode in _modes(motion):
        if mode.frictions[number].state != STICK or not end > begin:
            continue
        holding = holding or _Holding(motion, number)
        margins = lambda times, mode=mode, holding=holding: np.array([[holding(float(time), mode)] for time in times])
        edges = np.linspace(begin, end, 17)
        steps = dense_steps(edges, margins)
        k = np.repeat(np.arange(len(steps.begin)), HOLD_LOOKS // 16)
        s = np.tile(np.linspace(-1, 1, HOLD_LOOKS // 16), len(steps.begin))
        values = steps.at(k, s)[:, 0]
        low = int(np.argmin(values))
        if 0 < low < len(values) - 1:
            yield _lowest(lambda at, k=k[low], steps=steps: float(steps.at(np.array([k]), np.array([at]))[0, 0]), float(s[low]))


def _lowest(value: Callable[[float], float], grid_point: float) -> float:
    """The minimum of a smooth function near a grid point, by golden section."""
    width, ratio = 2.0 / (HOLD_LOOKS // 16 - 1), (np.sqrt(5) - 1) / 2
    a, b = max(grid_point - width, -1.0), min(grid_point + width, 1.0)
    for _ in range(45):  # 0.618⁴⁵ = 4e-10 of the bracket: a minimum is known to √ε only
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        a, b = (a, d) if value(c) < value(d) else (c, b)
    return value((a + b) / 2)


__all__ = ["margin", "phase_margin"]
