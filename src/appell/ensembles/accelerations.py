"""Accelerations along the steps of one run, each in the mode that acts there: faces in contact, stick or slip of frictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.contact.contact import Instant
from appell.errors import AppellError
from appell.friction.along import along
from appell.simulate.loop.trace import Trace
from appell.simulate.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a run, and which of them acts in each step, (steps,)."""

    run: Run
    modes: Sequence[tuple[float, Any]]  # (time from which it acts, faces in contact or a mode of friction)
    which: NDArray[np.intp]

    @staticmethod
    def of(run: Run, trace: Trace, middle: Array) -> Modes:
        """Of the steps with these times in their middle, (steps,)."""
        way = 1.0 if not len(middle) or trace.t >= middle[0] else -1.0
        free: list[tuple[float, Any]] = [] if run.system.frictions else [(-way * np.inf, ())]
        modes = [*free, *(trace.modes if run.system.frictions else trace.contacts)]
        times = np.array([time for time, _ in modes])
        return Modes(run, modes, np.clip(np.searchsorted(way * times, way * middle, side="right") - 1, 0, None))

    def accelerations(self, t: Array, q: Array, v: Array, step: NDArray[np.intp]) -> Array:
        """(m, nv) at states of some steps, (m,)."""
        return self._in_modes(t, q, v, self.which[step])

    def last(self, t: Array, q: Array, v: Array) -> Array:
        """In the mode in which the run has ended."""
        return self._in_modes(t, q, v, np.full(len(t), len(self.modes) - 1))

    def _in_modes(self, t: Array, q: Array, v: Array, which: NDArray[np.intp]) -> Array:
        if self.run.system.frictions:
            return along(self.run, self.modes, t, q, v, which=which)[0]
        a = np.full(v.shape, np.nan)
        for contacts in {self.modes[k][1] for k in np.unique(which)}:
            here = np.flatnonzero([self.modes[k][1] == contacts for k in which])
            a[here] = self._touching(contacts, t[here], q[here], v[here])
        return a

    def _touching(self, contacts: tuple[int, ...], t: Array, q: Array, v: Array) -> Array:
        """In contact with some faces; NaN where there is no acceleration."""
        run, a = self.run.in_contact(contacts), np.full(v.shape, np.nan)
        try:
            return run.acceleration(t, q, v)[0]
        except AppellError:  # some state is singular; the others are not
            for i in range(len(t)):
                try:
                    a[i] = run.acceleration(float(t[i]), q[i], v[i])[0]
                except AppellError:
                    if contacts:  # faces that depend on each other
                        at = Instant.at(self.run.form, float(t[i]), q[i].copy(), v[i].copy(), self.run.p)
                        a[i] = at.reactions(contacts)[0]
            return a


__all__ = ["Modes"]
