"""Times at equal measured error: the loosest tolerance of each code whose final error is below a target, then the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Disagreement, interleaved

Array = NDArray[np.float64]
TOLERANCES = tuple(10 ** (-k / 4) for k in range(12, 57))  # 1e-3 … 1e-14, four a decade


@dataclass(frozen=True)
class Code:
    """`prepare(tolerance)` gives a call that runs once and returns the final state; `clocks` name what is timed.

    A clock maps the prepared call to a function for `interleaved`: itself, or one that returns its own seconds.
    """

    name: str
    prepare: Callable[[float], Callable[[], Array]]
    clocks: dict[str, Callable[[Callable[[], Array]], Callable[[], Any]]] | None = None


@dataclass(frozen=True)
class Timed:
    """One clock of one code at its tolerance."""

    name: str
    tolerance: float
    error: float
    seconds: float


def error_of(state: Array, reference: Array) -> float:
    """max |z − z_reference| at the final time."""
    return float(np.abs(np.asarray(state, dtype=np.longdouble) - reference).max())


def settle(code: Code, reference: Array, target: float, tolerances: Sequence[float]) -> tuple[float, float, Callable]:
    """(tolerance, error, call) at the loosest tolerance with an error below the target."""
    for tolerance in tolerances:
        call = code.prepare(tolerance)
        error = error_of(call(), reference)
        if error < target:
            return tolerance, error, call
    raise Disagreement(f"{code.name} does not come within {target:.0e} of the reference at any tolerance")


def at_equal_error(codes: Sequence[Code], reference: Array, target: float, seconds: float) -> list[Timed]:
    """All codes settled at the target, then timed in turns."""
    likely = [x for x in TOLERANCES if x <= 1e4 * target]
    calls, found = {}, {}
    for code in codes:
        tolerance, error, call = settle(code, reference, target, likely)
        for name, clock in (code.clocks or {"": lambda call: call}).items():
            label = f"{code.name}{name}"
            calls[label], found[label] = clock(call), (tolerance, error)
    best = interleaved(calls, seconds=seconds, least=3)
    return [Timed(name, *found[name], best[name]) for name in calls]
