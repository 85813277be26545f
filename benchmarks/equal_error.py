"""Times at equal measured error: the loosest tolerance of each code whose final error is below a target, then the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Disagreement, interleaved

Array = NDArray[np.float64]
LOOSER, TIGHTER = 3, 4  # decades around the target in which a tolerance is sought


@dataclass(frozen=True)
class Code:
    """`prepare(tolerance)` gives a call that runs once and returns the final state; `clocks` name what is timed.

    A clock maps the prepared call to a function for `interleaved`: itself, or one that returns its own seconds. `timed`
    prepares the call that is timed, where that is another one than the call by which the tolerance is found.
    """

    name: str
    prepare: Callable[[float], Callable[[], Array]]
    clocks: dict[str, Callable[[Callable[[], Array]], Callable[[], Any]]] | None = None
    timed: Callable[[float], Callable[[], Array]] | None = None


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


def settle(code: Code, reference: Array, target: float) -> tuple[float, float, Callable]:
    """(tolerance, error, call) at the loosest tolerance with an error below the target: by decades, then by quarters."""
    first = -math.log10(target) - LOOSER
    for decade in range(LOOSER + TIGHTER):
        for quarter in (4,) if decade == 0 else (1, 2, 3, 4) if _reaches(code, reference, target, first + decade) else ():
            tolerance = 10 ** -(first + decade - 1 + quarter / 4)
            call = code.prepare(tolerance)
            error = error_of(call(), reference)
            if error < target:
                return tolerance, error, call
    raise Disagreement(f"{code.name} does not come within {target:.0e} of the reference at any tolerance")


def _reaches(code: Code, reference: Array, target: float, digits: float) -> bool:
    return error_of(code.prepare(10**-digits)(), reference) < target


def at_equal_error(codes: Sequence[Code], reference: Array, target: float, seconds: float) -> list[Timed]:
    """All codes settled at the target, then timed in turns."""
    calls, found = {}, {}
    for code in codes:
        tolerance, error, call = settle(code, reference, target)
        call = code.timed(tolerance) if code.timed else call
        for name, clock in (code.clocks or {"": lambda call: call}).items():
            label = f"{code.name}{name}"
            calls[label], found[label] = clock(call), (tolerance, error)
    best = interleaved(calls, seconds=seconds, least=3)
    return [Timed(name, *found[name], best[name]) for name in calls]
