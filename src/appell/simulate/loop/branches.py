"""A run from one break of its system to the next: which branches hold there, and what evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.graph.algebra import depends
from appell.model.breaks import BRANCH_TIME, Breaks, branched, breaks_of
from appell.normal_form import normal_form
from appell.normal_form.next_break import next_break
from appell.simulate.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Branches:
    """`run`: that of the branched system, whose parameters are those of the system and, at `place`, the time of its branches.

    Where all breaks are knots of tables nothing jumps: there are no branches, `place` is None and `run` the run itself.
    """

    run: Run
    place: int | None
    breaks: Breaks

    @cached_property
    def _around(self) -> Callable[..., Any]:
        return vm_function(next_break(self.run.form, self.breaks)).single

    def parameters(self, p: Array, time: Any) -> Array:
        """Those of the branched system, (np + 1,) or (k, np + 1), with branches decided at a time, or at k of them."""
        if np.ndim(time):
            p = np.broadcast_to(p, (len(time), np.shape(p)[-1]))
        return p if self.place is None else np.insert(p, self.place, time, axis=-1)

    def following(self, t: float, p: Array, direction: float) -> float:
        """The first break after t in a direction, ±`FAR` where there is none; p: of the branched system."""
        following, last = self._around(t, p)
        return float(following if direction > 0 else last)

    def depends(self, *names: str) -> bool:
        """Whether outputs of the normal form are others on other branches."""
        form = self.run.form
        return self.place is not None and any(depends(form[name], form.inputs["p"][self.place]) for name in names)


def branches_of(run: Run) -> Branches | None:
    """The branches of a run; None where its system has no breaks."""
    breaks = breaks_of(run.system)
    if not breaks or BRANCH_TIME in run.system.parameters:
        return None
    system = branched(run.system)
    if BRANCH_TIME not in system.parameters:  # nothing but knots of tables
        return Branches(run, None, breaks)
    place = system.parameters.index(BRANCH_TIME)
    p = np.insert(run.p, place, 0.0)
    values = dict(zip(system.parameters, map(float, p), strict=True))
    fold = tuple(i + (i >= place) for i in run.fold)
    return Branches(Run(system, normal_form(system), values, p, run.backend, run.policies, fold=fold), place, breaks)


def branch_times(breaks: Array, span: tuple[float, float], t: Array) -> Array:
    """A time inside the stretch between two breaks to which each sample belongs, (k,).

    breaks: (n,) those that were passed between the ends of `span`, in their order. Of several samples at one of them, all but
    the last are before it.
    """
    way = 1.0 if span[1] >= span[0] else -1.0
    edges = np.concatenate([[span[0]], breaks, [span[1]]])
    which = np.searchsorted(way * breaks, way * t, side="right")
    before = np.flatnonzero(np.diff(t) == 0)
    which[before] = np.searchsorted(way * breaks, way * t[before], side="left")
    return (edges[which] + edges[which + 1]) / 2


__all__ = ["Branches", "branch_times", "branches_of"]
