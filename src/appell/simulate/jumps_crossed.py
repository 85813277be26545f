"""Doubts about a motion that crosses a surface at which an energy or a constraint jumps.

    V(q⁺) ≠ V(q⁻) where c(q) = 0

Such a jump is a blow. Derivatives do not contain it, so that the motion goes on as if nothing had happened, or onto another
branch of a constraint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.jets import Jet, t
from appell.model.hidden_jumps import HiddenJump, crossing_finder, jumps_in
from appell.motion.motion import Motion
from appell.motion.zeros import edges_of, motion_zeros

CROSSINGS_EXAMINED = 1000
"""Most crossings of a surface that are examined, at a millisecond each."""
AROUND_CROSSING = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Half lengths of the segments along the velocity on which a jump is looked for, as fractions of the duration."""


def jumps_crossed(motion: Motion) -> list[str]:
    """A sentence for each surface with a jump that a motion crosses."""
    if not (hidden := jumps_in(motion.system)) or len(motion.t) < 2:
        return []
    sentences = []
    for jump in hidden:
        time = _crossing(motion, jump)
        if time is not None:
            sentences.append(
                f"{jump.subject} jumps where {jump.surface} = 0, and the motion crosses it at t = {time:.6g}: that is a blow,"
                " which no equation of motion holds. Describe a wall with ap.Unilateral, or give a function that is continuous"
                " there"
            )
    return sentences


def _crossing(motion: Motion, jump: HiddenJump) -> float | None:
    """The time of the first crossing at which the expression jumps."""
    symbols: list[Any] = sorted(jump.expression.free_symbols, key=str)
    try:
        times = motion_zeros(motion, jump.surface, edges_of(motion)).time[:CROSSINGS_EXAMINED]
        crossings = motion.at(times) if len(times) else None
    except AppellError:  # a step across the jump cannot be repeated: samples on both sides of it remain
        return _between_samples(motion, jump, symbols)
    if crossings is None:
        return None
    states = crossings[symbols]  # parameters, too: inputs change in time
    rates = np.stack([_rates(crossings, s) for s in symbols], axis=-1)
    crossing = crossing_finder(jump, symbols)
    for time, state, rate in zip(times, states, rates, strict=True):
        nearest = np.inf
        for fraction in AROUND_CROSSING:
            segment = fraction * (motion.t[-1] - motion.t[0]) * rate
            crossed = crossing(list(state - segment), list(state + segment))
            if crossed is None:
                continue
            nearest = min(nearest, fraction)  # atan2(sin(x), cos(x)) jumps at x = π, and a motion may cross sin(x) = 0 at x = 0
            if crossed.jumps and fraction * abs(2 * crossed.fraction - 1) <= nearest:
                return float(time)
    return None


def _between_samples(motion: Motion, jump: HiddenJump, symbols: list[Any]) -> float | None:
    """The time of the first sample before which the expression jumps on the segment to the next one."""
    states, crossing = motion[symbols], crossing_finder(jump, symbols)
    for k in range(len(states) - 1):
        crossed = crossing(list(states[k]), list(states[k + 1]))
        if crossed is not None and crossed.jumps:
            return float(motion.t[k])
    return None


def _rates(motion: Motion, s: Any) -> Any:
    """The rate of a symbol along the motion; zero for a parameter."""
    return np.ones(len(motion.t)) if s == t else motion[s.d] if isinstance(s, Jet) else np.zeros(len(motion.t))


__all__ = ["jumps_crossed"]
