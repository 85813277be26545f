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
    def _around(self) -> Callable[..., Any]:
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
        found = direction * NO_BREAK_TIME
        if self.breaks.phases or self.breaks.knots:
            following, last = self._around(t, p)
            found = float(following if direction > 0 else last)
        if self.schedule is None:
            return found
        knot = self.schedule.following(t, direction, NO_BREAK_TIME)
        return knot if direction * (knot - found) < 0 else found

    def located(self, first: float, last: float, p: Array) -> Array:
        """Breaks between two times that are zeros of functions of time, in order; p: of the branched system."""
        low, high = sorted((first, last))
        found = [_zeros(*_guard(self.run.form, one), low, high, p) for one in self.breaks.located]
        times = np.unique(np.concatenate([*found, np.zeros(0)]))
        return times if last >= first else times[::-1]

    def depends(self, *names: str) -> bool:
        """Whether outputs of the normal form depend on the branch."""
        form, places = self.run.form, [] if self.index is None else [self.index]
        places += [] if self.schedule is None else self.schedule.columns
        return any(depends(form[name], form.inputs["p"][place]) for name in names for place in places)


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
    low, high, done = edges[:-1], edges[1:], np.zeros(0)
    size = np.finfo(float).eps * max(abs(first), abs(last), TIME_ROUNDING * (last - first))
    while len(low):
        if len(low) + len(done) > BREAK_INTERVALS:
            raise ModelError(
                f"a function of time that decides a branch is near zero at more than {BREAK_INTERVALS} times"
            f" between t = {first:g} and"
                f" {last:g}: give it as one that is read off (sign(sin(w*t)), Mod, floor), or run in parts"
            )
        all_p = np.broadcast_to(p, (len(low), len(p)))
        out = dict(zip(names, call(low, high, all_p), strict=True))
        lo, hi = (np.ravel(out[name]) for name in ("lo", "hi"))
        changes = np.sign(np.ravel(value(low, all_p)[0])) * np.sign(np.ravel(value(high, all_p)[0])) <= 0
        kept = ~((lo > 0) | (hi < 0)) | changes  # bounds are rounded; signs at both ends are exact
        kept &= ~((lo == 0) & (hi == 0))  # a function that is zero over an interval changes no branch there
        low, high = low[kept], high[kept]
        short = high - low <= 4 * np.maximum(size, np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high)))
        done = np.append(done, (low[short] + high[short]) / 2)
        low, high = low[~short], high[~short]
        middle = (low + high) / 2
        low, high = np.append(low, middle), np.append(middle, high)
    done.sort()
    apart = np.diff(done, prepend=-np.inf) > 64 * np.maximum(size, np.finfo(float).eps * np.abs(done))
    return done[apart & (done > first + 64 * size) & (done < last - 64 * size)]


def branches_of(run: Run) -> TimeBranches | None:
    """The branches of a run; None if its system has no breaks."""
    breaks, schedule = breaks_of(run.system), run.schedule
    if not (breaks or schedule is not None) or BRANCH_TIME in run.system.parameters:
        return None
    system = branched(run.system)
    if BRANCH_TIME not in system.parameters:  # only knots of tables and samples of records
        plain = run if schedule is None else replace(run, p=run._some_p, schedule=None)
        return TimeBranches(plain, None, breaks, schedule)
    place = system.parameters.index(BRANCH_TIME)
    p = np.insert(run._some_p, place, 0.0)
    values = dict(zip(system.parameters, map(float, p), strict=True))
    fold = tuple(i + (i >= place) for i in run.fold)
    inner = Run(system, normal_form(system), values, p, run.backend, run.policies, fold=fold)
    return TimeBranches(inner, place, breaks, None if schedule is None else schedule.shifted(place))


def branch_times(breaks: Array, span: tuple[float, float], t: Array) -> Array:
    """For each sample a time inside its interval between two breaks, (k,).

    breaks: (n,) breaks passed between the ends of `span`, in order. Of several samples at a break, only the last follows it.
    """
    way = 1.0 if span[1] >= span[0] else -1.0
    edges = np.concatenate([[span[0]], breaks, [span[1]]])
    which = np.searchsorted(way * breaks, way * t, side="right")
    before = np.flatnonzero(np.diff(t) == 0)
    which[before] = np.searchsorted(way * breaks, way * t[before], side="left")
    return inside(edges[which], edges[which + 1])


def inside(begin: Any, end: Any) -> Any:
    """A time inside an interval between breaks, which selects its branches."""
    return begin + GOLDEN_SECTION * (end - begin)


__all__ = ["TimeBranches", "branch_times", "branches_of", "inside"]
