"""Accelerations along the steps of one run, each in its own mode: faces in contact, stick or slip of frictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.branching import TimeBranches, branches_of
from appell.compiled.run import Run
from appell.errors import AppellError
from appell.loop.held_inputs import HeldRun
from appell.loop.trace import Trace
from appell.nonsmooth.contact.contact import Instant
from appell.nonsmooth.friction.sampled_accelerations import accelerations_along

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a run, and which of them holds in each step, (steps,); if the model has breaks, also its branches.

    middle (steps,): times inside the steps, which select the branches; end: one inside the last interval between breaks.
    """

    run: Run
    modes: Sequence[tuple[float, Any]]  # (time from which it acts, faces in contact or a mode of friction)
    which: NDArray[np.intp]
    branches: TimeBranches | None
    middle: Array
    end: float

    @staticmethod
    def of(run: Run, trace: Trace, middle: Array) -> Modes:
        """The modes of the steps with these midpoints, (steps,)."""
        direction = 1.0 if not len(middle) or trace.t >= middle[0] else -1.0
        free: list[tuple[float, Any]] = [] if run.system.frictions else [(-direction * np.inf, ())]
        modes = [*free, *(trace.modes if run.system.frictions else trace.contacts)]
        times = np.array([time for time, _ in modes])
        numbers = np.clip(np.searchsorted(direction * times, direction * middle, side="right") - 1, 0, None)
        end = trace.t if trace.branch_time is None else trace.branch_time
        return Modes(run, modes, numbers, branches_of(run), middle, end)

    def accelerations(self, t: Array, q: Array, v: Array, step: NDArray[np.intp]) -> Array:
        """(m, nv) at states of some steps, (m,)."""
        return self._in_modes(t, q, v, self.which[step], self.middle[step])

    def last(self, t: Array, q: Array, v: Array) -> Array:
        """Accelerations in the mode in which the run has ended."""
        return self._in_modes(t, q, v, np.full(len(t), len(self.modes) - 1), np.full(len(t), self.end))

    def begun(self, begin: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The steps that begin with a change of mode, and the number of the mode before it, (n,) each; begin (steps,), s."""
        times = np.array([time for time, _ in self.modes])
        steps = np.flatnonzero(times[self.which] == begin) if len(times) else np.zeros(0, dtype=np.intp)
        before = np.searchsorted(times, begin[steps], side="left") - 1
        return steps[before >= 0], before[before >= 0]

    def accelerations_before(self, t: Array, q: Array, v: Array, step: NDArray[np.intp], number: NDArray[np.intp]) -> Array:
        """(m, nv) at states of some steps, (m,), in other modes than theirs."""
        return self._in_modes(t, q, v, number, self.middle[step])

    def _in_modes(self, t: Array, q: Array, v: Array, numbers: NDArray[np.intp], branch: Array) -> Array:
        """Accelerations at states, each in the mode of its number and the branch that holds at its time `branch`."""
        run = self.run
        if self.branches is not None:
            run = HeldRun.of(self.branches.run, self.branches.parameters(run.p, branch))
        if self.run.system.frictions:
            return accelerations_along(run, self.modes, t, q, v, run.p if run is not self.run else None, which=numbers)[0]
        a = np.full(v.shape, np.nan)
        for contacts in {self.modes[k][1] for k in np.unique(numbers)}:
            rows = np.flatnonzero([self.modes[k][1] == contacts for k in numbers])
            a[rows] = self._touching(contacts, t[rows], q[rows], v[rows], None if run is self.run else run.p[rows])
        return a

    def _touching(self, contacts: tuple[int, ...], t: Array, q: Array, v: Array, p: Array | None) -> Array:
        """Accelerations in contact with some faces; NaN where there are none. p: at each state, if there are branches."""
        if p is not None:
            assert self.branches is not None
            a_branched = HeldRun.of(self.branches.run.in_contact(contacts), p).acceleration(t, q, v)[0]
            for i in np.flatnonzero(~np.isfinite(a_branched).all(axis=1)) if contacts else ():
                instant = Instant.at(self.branches.run.form, float(t[i]), q[i].copy(), v[i].copy(), p[i])
                a_branched[i] = instant.reactions(contacts)[0]
            return a_branched
        run, a = self.run.in_contact(contacts), np.full(v.shape, np.nan)
        try:
            return run.acceleration(t, q, v)[0]
        except AppellError:  # some state is singular, not all
            for i in range(len(t)):
                try:
                    a[i] = run.acceleration(float(t[i]), q[i], v[i])[0]
                except AppellError:
                    if contacts:  # faces that depend on each other
                        instant = Instant.at(self.run.form, float(t[i]), q[i].copy(), v[i].copy(), self.run.p)
                        a[i] = instant.reactions(contacts)[0]
            return a


__all__ = ["Modes"]
