"""The derivative of a motion through infinitely many impacts that end in contact.

Impacts with 0 < e < 1 on one face follow one another at speeds y_k = |ġ⁻_k| that fall like eᵏ, until the body rests on it.
Those after the k-th act together as one plastic impact, up to terms of order y_k: the remaining time is of that order, and all
impulses together bring ġ to zero. With Sₖ the saltation matrix of the plastic impact at tₖ, and Φₖ⁻ before it,

    Φ(t∞) = lim Sₖ Φₖ⁻,        Sₖ Φₖ⁻ = Φ(t∞) + C₁ y_k + C₂ y_k² + …

since time and state of the limit are smooth in those of an impact near it: A. B. Nordmark, P. T. Piiroinen, Nonlinear
Dynamics 58 (2009) 85. The polynomials through several k are evaluated at y = 0 (Neville). The last impacts would not suffice:
their instants change by δt = −δg/ġ, whose rounding grows as the speed falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.motion.motion import Motion

Array = NDArray[np.float64]

NODE_RATIO = 0.6
"""Largest ratio of the speeds of two successive nodes: differences of closer ones are dominated by rounding."""
FEWEST_IMPACTS = 2
"""Smallest number of impacts for a limit."""
LIMIT_REACHED = 1e-6
"""Two extrapolations must agree to this fraction of the largest element of Φ before the impacts."""
HIGHEST_POWER = 10
"""Highest power of the speed, beyond which polynomials amplify rounding."""


class NoLimit(Exception):
    """The impacts have no differentiable limit; the text says why."""


@dataclass
class Chatter:
    """The impacts on a face that accumulate at its landing.

    end: the instant of the landing, s; times: of the impacts used for the limit, the last first; matrices_by_speed:
    (speed, Sₖ Φₖ⁻) of those already passed; size: the largest element of Φ before them.
    """

    face: int
    end: float
    times: tuple[float, ...]
    matrices_by_speed: list[tuple[float, Array]] = field(default_factory=list)
    size: float = 0.0

    def limit(self) -> Array:
        """Φ at the end of the impacts, (nz, columns)."""
        if len(self.matrices_by_speed) < FEWEST_IMPACTS:
            raise NoLimit(f"too few of them are resolved ({len(self.matrices_by_speed)}) to take their limit")
        value, difference = at_zero(self.matrices_by_speed)
        if not difference <= LIMIT_REACHED * self.size:
            raise NoLimit(f"their derivatives do not converge, and differ by {difference / self.size:.1e} of their size")
        return value.copy()

    def record(self, speed: float, Phi: Array, rest: Array) -> None:
        """Records an impact at a speed, with Φₖ⁻ and Sₖ Φₖ⁻."""
        self.size = max(self.size, float(np.abs(Phi).max(initial=0.0)))
        self.matrices_by_speed.append((speed, rest))


def at_zero(samples: Sequence[tuple[float, Array]]) -> tuple[Array, float]:
    """The value at y = 0 of a function given at several y, `samples`: (y, value), by polynomials through neighbours (Neville),
    and the difference of the two that agree best."""
    row: list[Array] = []
    best, best_difference = samples[-1][1], np.inf
    for k, (y, value) in enumerate(samples):
        last_row, row = row, [value]
        for j in range(1, min(k, HIGHEST_POWER) + 1):
            y_far = samples[k - j][0]
            row.append(row[j - 1] + (row[j - 1] - last_row[j - 1]) * y / (y_far - y))
            sooner, later = (float(np.abs(row[j] - entries[j - 1]).max(initial=0.0)) for entries in (last_row, row))
            difference = max(later, sooner * y / samples[k - 1][0])
            if difference < best_difference:
                best, best_difference = row[j], difference
    return best, best_difference


def chatters(
    instants: Sequence[Sequence[Any]], face_of: Callable[[str], int], bounces: Callable[[int, float], bool]
) -> list[Chatter]:
    """The chatters of a motion, one for each landing on a face with restitution.

    instants: events by instant; bounces: whether a face has a coefficient of restitution above zero at a time.
    """
    sequences = []
    for k, events in enumerate(instants):
        landing = next((event for event in events if event.kind == "landing"), None)
        if landing is None or not bounces(face := face_of(landing.constraint), landing.time):
            continue
        impacts = [event for event in events if event.kind == "impact"]
        sequences.append(
            Chatter(face, landing.time, _nodes(landing.constraint, [*instants[:k], *([impacts] if impacts else [])]))
        )
    return sequences


def _nodes(name: str, earlier: Sequence[Sequence[Any]]) -> tuple[float, ...]:
    """Instants of the last impacts on a face with decreasing speeds, without another event between them, with speed ratios of
    at most `NODE_RATIO`."""
    times: list[float] = []
    node = speed = 0.0
    for events in reversed(earlier):
        event, later_speed = events[0], speed
        speed = -float(event.before)
        if len(events) > 1 or event.kind != "impact" or event.constraint != name or not speed > later_speed:
            break
        if not times or node <= NODE_RATIO * speed:
            times.append(event.time)
            node = speed
    return tuple(times)


def separate_impacts(motion: Motion) -> list[Any]:
    """The impacts of a motion outside infinite sequences: their number is the same for neighbouring motions.

    Such a sequence is all impacts on a face up to its landing, without another event in between.
    """
    separate: list[Any] = []
    for event in motion.impacts:
        if event.kind == "landing" and separate and separate[-1].kind == "impact" and separate[-1].time < event.time:
            while separate and separate[-1].kind == "impact" and separate[-1].constraint == event.constraint:
                separate.pop()
        separate.append(event)
    return [event for event in separate if event.kind == "impact"]


__all__ = ["Chatter", "NoLimit", "at_zero", "chatters", "separate_impacts"]
