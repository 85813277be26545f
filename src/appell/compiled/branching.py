"""A run between two discontinuities in time (breaks): the branches that hold there, and their evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.errors import ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import depends
from appell.graph.ranges import ranges
from appell.model.breaks import BRANCH_TIME, GOLDEN_SECTION, NO_BREAK_TIME, Breaks, branched, breaks_of
from appell.model.schedule import Schedule
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.next_break import next_break
from appell.remember import remembered

Array = NDArray[np.float64]

FIRST_BREAK_INTERVALS = 64
"""Number of initial intervals in the search for a break."""
TIME_ROUNDING = 1e-9
"""Fraction of the length of a run whose rounding applies to times near zero."""
BREAK_INTERVALS = 200_000
"""Most intervals in a search for the zeros of a function of time."""


@dataclass(frozen=True, eq=False)
class TimeBranches:
    """A run whose branches are data: its parameters are those of the system and, at `index`, the time that selects the branch.

    If all breaks are knots of tables, nothing jumps: there are no branches, `index` is None, and `run` is the run itself.
    schedule: values of measured records and sampled inputs among the parameters, from each knot to the next.
    """

    run: Run
    index: int | None
    breaks: Breaks
    schedule: Schedule | None = None

    @property
    def jumping(self) -> bool:
        """Whether anything other than the polynomial of a table changes at a break."""
        return self.index is not None or self.schedule is not None

    @cached_property
    def _neighbouring_breaks(self) -> Callable[..., Any]:
        """(t, p) → the next break and the one before."""
        return vm_function(next_break(self.run.form, self.breaks)).single

    def parameters(self, p: Array, time: Any) -> Array:
        """Parameters of the branched system, (np + 1,) or (k, np + 1), with the branches of one time, or of k times."""
        if np.ndim(time):
            p = np.broadcast_to(p, (len(time), np.shape(p)[-1]))
        p = p if self.index is None else np.insert(p, self.index, time, axis=-1)
        return p if self.schedule is None else self.schedule.put(p, time)

    def decide(self, p: Array, time: float) -> None:
        """Writes the branches that hold at a time, and the values of records, into the parameters of the branched system."""
        if self.index is not None:
            p[self.index] = time
        if self.schedule is not None:
            self.schedule.put_into(p, time)

    def following(self, t: float, p: Array, direction: float) -> float:
        """The first break after t in a direction, ±`NO_BREAK_TIME` if there is none; p: of the branched system."""
        nearest = direction * NO_BREAK_TIME
        if self.breaks.phases or self.breaks.knots:
            following, preceding = self._neighbouring_breaks(t, p)
            nearest = float(following if direction > 0 else preceding)
        if self.schedule is None:
            return nearest
        knot = self.schedule.following(t, direction, NO_BREAK_TIME)
        return knot if direction * (knot - nearest) < 0 else nearest

    def located(self, first: float, last: float, p: Array) -> Array:
        """Breaks between two times that are zeros of functions of time, in order; p: of the branched system."""
        low, high = sorted((first, last))
        zeros = [_zeros(*_guard(self.run.form, expression), low, high, p) for expression in self.breaks.located]
        times = np.unique(np.concatenate([*zeros, np.zeros(0)]))
        return times if last >= first else times[::-1]

    def depends(self, *names: str) -> bool:
        """Whether outputs of the normal form depend on the branch."""
        form, columns = self.run.form, [] if self.index is None else [self.index]
        columns += [] if self.schedule is None else self.schedule.columns
        return any(depends(form[name], form.inputs["p"][column]) for name in names for column in columns)


@remembered
def _guard(form: NormalForm, expression: Any) -> tuple[Fn, Fn]:
    """A function of time, (t, p) → value, and its bounds between two times, (t⁻, t⁺, p) → lo, hi."""
    p = form.inputs["p"]
    inputs = {"t": (form.inputs["t"], ()), "p": (p, (p.numel(),))}
    fn = make_fn("guard", inputs, {"value": (form.lower(expression), ())})
    return fn, ranges(fn, ("p",))


def _zeros(function: Fn, bounds: Fn, first: float, last: float, p: Array) -> Array:
    """Zeros of a function of time: intervals are halved until bounds exclude a zero, or down to the spacing of numbers."""
    value, call = vm_function(function).batch, vm_function(bounds).batch
    names = [port.name for port in bounds.outputs]
    edges = np.linspace(first, last, FIRST_BREAK_INTERVALS + 1)
    low, high, located = edges[:-1], edges[1:], np.zeros(0)
    size = np.finfo(float).eps * max(abs(first), abs(last), TIME_ROUNDING * (last - first))
    while len(low):
        if len(low) + len(located) > BREAK_INTERVALS:
            raise ModelError(
                f"a function of time that decides a branch is near zero at more than {BREAK_INTERVALS} times"
            f" between t = {first:g} and"
                f" {last:g}: give it as one that is read off (sign(sin(w*t)), Mod, floor), or run in parts"
            )
        all_p = np.broadcast_to(p, (len(low), len(p)))
        box = dict(zip(names, call(low, high, all_p), strict=True))
        lo, hi = (np.ravel(box[name]) for name in ("lo", "hi"))
        changes = np.sign(np.ravel(value(low, all_p)[0])) * np.sign(np.ravel(value(high, all_p)[0])) <= 0
        possible = ~((lo > 0) | (hi < 0)) | changes  # bounds are rounded; signs at both ends are exact
        possible &= ~((lo == 0) & (hi == 0))  # a function that is zero over an interval changes no branch there
        low, high = low[possible], high[possible]
        narrow = high - low <= 4 * np.maximum(size, np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high)))
        located = np.append(located, (low[narrow] + high[narrow]) / 2)
        low, high = low[~narrow], high[~narrow]
        middle = (low + high) / 2
        low, high = np.append(low, middle), np.append(middle, high)
    located.sort()
    distinct = np.diff(located, prepend=-np.inf) > 64 * np.maximum(size, np.finfo(float).eps * np.abs(located))
    return located[distinct & (located > first + 64 * size) & (located < last - 64 * size)]


def branches_of(run: Run) -> TimeBranches | None:
    """The branches of a run; None if its system has no breaks."""
    breaks, schedule = breaks_of(run.system), run.schedule
    if not (breaks or schedule is not None) or BRANCH_TIME in run.system.parameters:
        return None
    system = branched(run.system)
    if BRANCH_TIME not in system.parameters:  # only knots of tables and samples of records
        plain = run if schedule is None else replace(run, p=run._some_p, schedule=None)
        return TimeBranches(plain, None, breaks, schedule)
    index = system.parameters.index(BRANCH_TIME)
    p = np.insert(run._some_p, index, 0.0)
    values = dict(zip(system.parameters, map(float, p), strict=True))
    fold = tuple(i + (i >= index) for i in run.fold)
    inner = Run(system, normal_form(system), values, p, run.backend, run.policies, fold=fold)
    return TimeBranches(inner, index, breaks, None if schedule is None else schedule.shifted(index))


def branch_times(breaks: Array, span: tuple[float, float], t: Array, precedes: NDArray[np.bool_]) -> Array:
    """For each sample a time inside its interval between two breaks, (k,).

    breaks: (n,) breaks passed between the ends of `span`, in order. precedes: (k,) samples that come before a break at
    their time; the others follow it.
    """
    direction = 1.0 if span[1] >= span[0] else -1.0
    edges = np.concatenate([[span[0]], breaks, [span[1]]])
    before = np.searchsorted(direction * breaks, direction * t, side="left")
    after = np.searchsorted(direction * breaks, direction * t, side="right")
    intervals = np.where(precedes, before, after)
    return inside(edges[intervals], edges[intervals + 1])


def inside(begin: Any, end: Any) -> Any:
    """A time inside an interval between breaks, which selects its branches."""
    return begin + GOLDEN_SECTION * (end - begin)


__all__ = ["TimeBranches", "branch_times", "branches_of", "inside"]
