"""Starts of a search: an interval for every symbol, and the number of starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.reading import MOST_ATTEMPTS, reals, shown, text_of, whole

Array = NDArray[np.float64]

ATTEMPTS = 60
"""Default number of starts of a search."""
REGULAR_STARTS = 32
"""Most starts at the middles and ends of intervals."""


def search_intervals(
    symbols: Sequence[Any], within: Mapping[Any, Any] | None, default: Sequence[tuple[float, float]], owner: str
) -> Array:
    """(lowest, highest) of every symbol, (n, 2), by symbol or name; with a default for those not given."""
    if within is not None and not isinstance(within, Mapping):
        raise ModelError(f"within= maps symbols to intervals, {{{symbols[0]}: (-1, 1)}}, not {type(within).__name__}")
    intervals: dict[str, Any] = {}
    for key, value in (within or {}).items():
        if text_of(key) not in map(str, symbols):
            raise ModelError(f"within= names {text_of(key)}, which is none of {', '.join(map(str, symbols))} of {owner}")
        if text_of(key) in intervals:
            raise ModelError(f"within= names {text_of(key)} twice, by symbol and by name")
        intervals[text_of(key)] = _interval(key, value)
    return np.array([intervals.get(str(s), d) for s, d in zip(symbols, default, strict=True)], dtype=float).reshape(-1, 2)


def middle_of(within: Any) -> dict[Any, float]:
    """The middle of each valid interval, near which a system is checked; `search_intervals` raises for others."""
    middles = {}
    for key, value in within.items() if isinstance(within, Mapping) else ():
        try:
            low, high = map(float, value)
        except Exception:  # a foreign object may raise anything
            continue
        if np.isfinite([low, high]).all():
            middles[key] = low + (high - low) / 2
    return middles


def _interval(key: Any, value: Any) -> tuple[float, float]:
    bounds = reals(value, f"within= of {key}")
    if bounds.shape != (2,):
        raise ModelError(f"within= gives {text_of(key)} an interval of two numbers, (lowest, highest), not {shown(value)}")
    low, high = map(float, bounds)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ModelError(f"within= gives {text_of(key)} the interval ({low:g}, {high:g}); lowest < highest, both finite")
    return low, high


def regular_starts(low: Array, high: Array, rng: np.random.Generator) -> list[Array]:
    """The middle or the upper end of every interval, in all combinations or in some: what hangs, and what stands upright."""
    n = len(low)
    shares = np.array(list(np.ndindex(*[2] * n))) if 2**n <= REGULAR_STARTS else rng.integers(0, 2, (REGULAR_STARTS, n))
    return [low + (high - low) * (1 + row) / 2 for row in shares]


def whole_attempts(attempts: Any) -> int:
    """The number of attempts, an integer of at least 1."""
    return whole(attempts, "attempts=", 1, MOST_ATTEMPTS)
