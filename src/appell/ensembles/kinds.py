"""Kinds of reductions: records in a table, to which others can be added.

A kind is made of parts that are followed through a run, such as the largest value or the integral of an expression, and of a
formula that finishes them,

    rms = ap.reduce.register("rms", parts=lambda e: [integral(e**2), final(e)], finish=…)

A part has one meaning on every path: C text for the lanes and the GPU, and a function over the `Course` of a single run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.ensembles import course
from appell.ensembles.course import Course
from appell.errors import ModelError

Array = NDArray[np.float64]

SIGN = "lanes_select(s->g[0][{e}] > 0, ALL((T) 1), lanes_select(s->g[0][{e}] < 0, ALL((T) -1), (V) {{}}))"
SIZE, ZERO, NONE = "lanes_fabs(s->g[0][{e}])", "(V) {{}}", "ALL((T) NAN)"


@dataclass(frozen=True)
class Accumulator:
    """How a part is followed through a run.

    follow: (course, part) → what it comes to, and whether that is held to the tolerance of the run.
    followed: whether the expression is looked at inside steps; else at their ends. width: numbers of the expression.
    begin: C expressions, one for each number that is carried along, of which the first is the result; the last one of what is
        followed says whether the tolerance was not held.
    held: C condition under which a piece of a step is small enough. update: C statement for a piece that is; each: for a step;
        jump: after a blow or a change of mode.
    In the texts {r} is the first number, {e} the expression, {way} the direction of the part.
    """

    follow: Callable[[Course, Part], tuple[float, bool]]
    begin: tuple[str, ...]
    followed: bool = True
    width: int = 1
    held: str = ""
    update: str = ""
    each: str = ""
    jump: str = ""

    @property
    def numbers(self) -> int:
        """Carried along, with that of the tolerance."""
        return len(self.begin) + self.followed


@dataclass(frozen=True)
class Part:
    """An accumulator with its expression; way: +1 or −1 for what is largest or least, or the direction of a crossing."""

    accumulator: str
    expression: Any = None
    way: int = 0


ACCUMULATORS: dict[str, Accumulator] = {
    "peak": Accumulator(
        course.peak, ("s->g[0][{e}]",), held="many_peak_held(job, s, {r}, {e}, (T) {way})",
        update="many_reduce_peak(s, done, {r}, {e}, (T) {way});", jump="many_jump_peak(s, lanes, {r}, {e}, (T) {way});",
    ),
    "integral": Accumulator(
        course.integral, (ZERO, ZERO), held="many_integral_held(job, s, {r}, {e})",
        update="many_reduce_integral(s, done, {r}, {e});",
    ),
    "crossings": Accumulator(
        course.count, (ZERO, SIGN, SIZE), held="many_zeros_held(s, {e})",
        update="many_reduce_crossings(s, done, {r}, {e}, {way});", jump="many_jump_sign(s, lanes, {r} + 1, {e});",
    ),
    "first crossing": Accumulator(
        course.first, (NONE, SIGN, SIZE), held="many_zeros_held(s, {e})",
        update="many_reduce_first(s, done, {r}, {e}, {way});", jump="many_jump_sign(s, lanes, {r} + 1, {e});",
    ),
    "points": Accumulator(
        course.count, (SIGN, SIZE), held="many_zeros_held(s, {e})", update="many_points(job, s, done, {r}, {e}, {way});",
        each="full |= many_full(job, s);", jump="many_jump_sign(s, lanes, {r}, {e});",
    ),
    "value": Accumulator(
        course.final, ("s->at[{e}]",), followed=False,
        each="s->value[{r}] = lanes_select(accept, s->at[{e}], s->value[{r}]);",
        jump="s->value[{r}] = lanes_select(lanes, s->at[{e}], s->value[{r}]);",
    ),
    "energy": Accumulator(
        course.energy_error, (ZERO, ZERO), followed=False, width=4, each="many_reduce_energy(s, accept, {r}, {e});",
        jump="many_reduce_energy(s, lanes, {r}, {e});",
    ),
    "impacts": Accumulator(
        course.impacts, (ZERO,), followed=False, width=0, each="many_reduce_impacts(s, accept, {r});",
        jump="many_reduce_impacts(s, lanes, {r});",
    ),
}  # fmt: skip
"""What a part may be, by name."""

Finish = Callable[..., Any]


@dataclass(frozen=True)
class ReductionKind:
    """A kind of reduction by name.

    parts: (expression, direction) → what is followed through a run.
    finish: (values of the parts, (runs,) each, then the durations of the runs, s, (runs,)) → the result, (runs,).
    units: of the result; "SI" for that of the expression.
    bare: whether it takes no expression.
    """

    name: str
    parts: Callable[[Any, int], Sequence[Part]]
    finish: Finish = lambda value, _: value
    units: str = "SI"
    bare: bool = False


def _mean(integral: Array, last: Array, duration: Array) -> Array:
    """∫ e dt/(t₁ − t₀); e where no time passes."""
    with np.errstate(all="ignore"):
        return np.where(duration == 0, last, integral / duration)


KINDS: dict[str, ReductionKind] = {
    kind.name: kind
    for kind in (
        ReductionKind("max", lambda e, way: [Part("peak", e, 1)]),
        ReductionKind("min", lambda e, way: [Part("peak", e, -1)]),
        ReductionKind("integral", lambda e, way: [Part("integral", e)], units="SI s"),
        ReductionKind("mean", lambda e, way: [Part("integral", e), Part("value", e)], _mean),
        ReductionKind("final", lambda e, way: [Part("value", e)]),
        ReductionKind("first_crossing", lambda e, way: [Part("first crossing", e, way)], units="s"),
        ReductionKind("crossings", lambda e, way: [Part("crossings", e, way)], units="1"),
        ReductionKind("section", lambda e, way: [Part("points", e, way)]),
        ReductionKind("energy_error", lambda e, way: [Part("energy")], units="1", bare=True),
        ReductionKind("impacts", lambda e, way: [Part("impacts")], units="1", bare=True),
    )
}
"""The kinds of reductions; `register` adds to them."""


def register(kind: ReductionKind) -> None:
    """A kind that `ap.reduce.of` then knows; a name that is taken is refused."""
    if not isinstance(kind, ReductionKind):
        raise ModelError(f"register takes an ap.reduce.ReductionKind, not {kind!r}")
    if kind.name in KINDS:
        raise ModelError(f"there is a kind of reduction called {kind.name!r} already; choose another name")
    KINDS[kind.name] = kind


__all__ = ["ACCUMULATORS", "KINDS", "Accumulator", "Part", "ReductionKind", "register"]
