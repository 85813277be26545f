"""Kinds of reductions: records in a table, to which others can be added.

A kind consists of parts that are accumulated during a run, such as the largest value or the integral of an expression, and of a
formula that combines them. A part has the same meaning on every path: C source for lanes and the GPU, and a function of the
`Course` of a single run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.reading import reals
from appell.reductions import followed
from appell.reductions.course import Course
from appell.reductions.function_digest import definition

Array = NDArray[np.float64]

ZERO, NAN, LEAST = "(V) {{}}", "ALL((T) NAN)", "ALL((T) -INFINITY)"


@dataclass(frozen=True)
class Accumulator:
    """How a part is accumulated during a run.

    follow: (course, part, numbers of the earlier legs of the run, or None) → the accumulated numbers, which `result` and `lost`
        evaluate.
    followed: whether the expression is sampled inside steps; otherwise at their ends. width: components of the expression.
    begin: C expressions, one for each accumulated number.
    held: C condition under which a piece of a step is narrow enough. update: C statement for a finished piece; doubt: for one
        that is as narrow as possible and misses the tolerance; each: for a step; jump: after an impact or a change of mode.
    result: (runs, numbers) → results of the lanes, (runs,). is_time: whether the result is a time, not a duration.
    lost: (numbers, way, rtol, atol) → whether the tolerance is missed, (runs,).
    In the C source {r} is the first number, {e} the expression, {way} the direction of the part.
    """

    follow: Callable[[Course, ReductionPart, Array | None], Array]
    begin: tuple[str, ...]
    followed: bool = True
    width: int = 1
    held: str = ""
    update: str = ""
    doubt: str = ""
    each: str = ""
    jump: str = ""
    result: Callable[[Array], Array] = lambda numbers: numbers[:, 0]
    lost: Callable[[Array, int, float, float], Any] = lambda numbers, way, rtol, atol: numbers[:, -1] > 0
    is_time: bool = False


@dataclass(frozen=True)
class ReductionPart:
    """An accumulator with its expression; way: +1 or −1 for the largest or smallest value, or the direction of a crossing."""

    accumulator: str
    expression: Any = None
    way: int = 0


def _peak_lost(numbers: Array, way: int, rtol: float, atol: float) -> Any:
    """Whether a piece that missed the tolerance may exceed the result."""
    best = way * numbers[:, 0]
    return ~(numbers[:, 1] <= best + rtol * np.abs(best) + atol)


ACCUMULATORS: dict[str, Accumulator] = {
    "peak": Accumulator(
        followed.peak, ("s->g[0][{e}]", LEAST), held="many_peak_held(job, s, {r}, {e}, (T) {way})",
        update="many_reduce_peak(s, done, {r}, {e}, (T) {way});", jump="many_jump_peak(s, lanes, {r}, {e}, (T) {way});",
        doubt="many_peak_doubt(s, {lanes}, {r} + 1, {e}, (T) {way});", lost=_peak_lost,
    ),
    "integral": Accumulator(
        followed.integral, (ZERO, ZERO, ZERO), held="many_integral_held(job, s, {r}, {e})",
        update="many_reduce_integral(s, done, {r}, {e});", doubt="many_integral_doubt(s, {lanes}, {r} + 2, {e});",
        lost=lambda numbers, way, rtol, atol: ~(numbers[:, 2] <= rtol * numbers[:, 1] + atol),
    ),
    "crossings": Accumulator(
        followed.count, (ZERO, ZERO, ZERO, ZERO), held="many_zeros_held(job, s, {r} + 1, {e})",
        update="many_reduce_crossings(job, s, done, {r}, {e}, {way});", doubt="many_zeros_doubt(s, {lanes}, {r} + 3, {e});",
    ),
    "first crossing": Accumulator(
        followed.first, (NAN, ZERO, ZERO, ZERO), held="many_zeros_held(job, s, {r} + 1, {e})",
        update="many_reduce_first(job, s, done, {r}, {e}, {way});", doubt="many_zeros_doubt(s, {lanes}, {r} + 3, {e});",
        is_time=True,
    ),
    "points": Accumulator(
        followed.count, (ZERO, ZERO, ZERO), held="many_zeros_held(job, s, {r}, {e})",
        update="many_points(job, s, done, {r}, {e}, {way});", doubt="many_zeros_doubt(s, {lanes}, {r} + 2, {e});",
        each="full |= many_full(job, s);",
    ),
    "value": Accumulator(
        followed.final, ("s->at[{e}]",), followed=False,
        each="s->value[{r}] = lanes_select(accept, s->at[{e}], s->value[{r}]);",
        jump="s->value[{r}] = lanes_select(lanes, s->at[{e}], s->value[{r}]);",
    ),
    "energy": Accumulator(
        followed.energy_error, (ZERO, ZERO), followed=False, width=4, each="many_reduce_energy(s, accept, {r}, {e});",
        jump="many_reduce_energy(s, lanes, {r}, {e});",
        result=lambda numbers: numbers[:, 0] / np.where(numbers[:, 1] > 0, numbers[:, 1], 1.0),
    ),
    "impacts": Accumulator(
        followed.impacts, (ZERO,), followed=False, width=0, each="many_reduce_impacts(s, accept, {r});",
        jump="many_reduce_impacts(s, lanes, {r});",
    ),
}  # fmt: skip
"""The accumulators of parts, by name."""


@dataclass(frozen=True)
class ReductionKind:
    """A kind of reduction by name.

    parts: (expression, direction) → what is accumulated during a run: parts, or reductions of other kinds.
    finish: (values of the parts, (runs,) each; durations of the runs, s, (runs,)) → the result, (runs,).
    units: of the result; "SI" for those of the expression.
    """

    name: str
    parts: Callable[[Any, int], Sequence[Any]]
    finish: Callable[[Sequence[Array], Array], Array] = lambda values, duration: values[0]
    units: str = "SI"


def _mean(values: Sequence[Array], duration: Array) -> Array:
    """∫ e dt/(t₁ − t₀); e where no time passes."""
    with np.errstate(all="ignore"):
        return np.where(duration == 0, values[1], values[0] / duration)


KINDS: dict[str, ReductionKind] = {
    kind.name: kind
    for kind in (
        ReductionKind("max", lambda e, way: [ReductionPart("peak", e, 1)]),
        ReductionKind("min", lambda e, way: [ReductionPart("peak", e, -1)]),
        ReductionKind("integral", lambda e, way: [ReductionPart("integral", e)], units="SI s"),
        ReductionKind("mean", lambda e, way: [ReductionPart("integral", e), ReductionPart("value", e)], _mean),
        ReductionKind("final", lambda e, way: [ReductionPart("value", e)]),
        ReductionKind("first_crossing", lambda e, way: [ReductionPart("first crossing", e, way)], units="s"),
        ReductionKind("crossings", lambda e, way: [ReductionPart("crossings", e, way)], units="1"),
        ReductionKind("section", lambda e, way: [ReductionPart("points", e, way)]),
        ReductionKind("energy_error", lambda e, way: [ReductionPart("energy")], units="1"),
        ReductionKind("impacts", lambda e, way: [ReductionPart("impacts")], units="1"),
    )
}
"""The kinds of reductions; `ap.reduce.register` adds to them."""


def parts_of(reduction: Any) -> list[ReductionPart]:
    """All parts of a reduction, including those of the reductions it consists of, in order."""
    parts = list[ReductionPart]()
    for part in KINDS[reduction.kind].parts(reduction.expression, reduction.direction):
        parts += [part] if isinstance(part, ReductionPart) else parts_of(part)
    return parts


BUILT_IN = frozenset(KINDS)
"""Kinds that come with the library, so that its version determines them."""


def meaning(reduction: Any) -> Any:
    """The meaning of a reduction, for digests; the kind alone is enough only for those that come with the library."""
    if reduction.kind in BUILT_IN:
        return reduction
    kind = KINDS[reduction.kind]
    parts = kind.parts(reduction.expression, reduction.direction)
    meanings = [part if isinstance(part, ReductionPart) else meaning(part) for part in parts]
    return (reduction, meanings, definition(kind.finish))


def finished(reduction: Any, values: Sequence[Array], duration: Array) -> Array:
    """The result of a reduction from those of all its parts, (runs,) each."""
    kind, remaining = KINDS[reduction.kind], list(values)
    results = list[Array]()
    for part in kind.parts(reduction.expression, reduction.direction):
        width = 1 if isinstance(part, ReductionPart) else len(parts_of(part))
        results.append(remaining[0] if isinstance(part, ReductionPart) else finished(part, remaining[:width], duration))
        remaining = remaining[width:]
    result = reals(kind.finish(results, duration), f"the result of the reduction '{reduction.kind}'")
    if result.shape != duration.shape:
        raise ModelError(f"the reduction '{reduction.kind}' has one number for each run, {duration.shape}, not {result.shape}")
    return result


__all__ = ["ACCUMULATORS", "KINDS", "Accumulator", "ReductionKind", "ReductionPart", "finished", "meaning", "parts_of"]
