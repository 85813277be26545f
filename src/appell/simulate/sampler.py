"""States of a motion between its samples."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import ModelError
from appell.loop.held_inputs import Readings, last_change
from appell.loop.task import Task
from appell.modes.mode import FLIGHT
from appell.motion.state_velocities import velocities
from appell.nonsmooth.contact.face_loop import FaceLoop
from appell.normal_form.flow import Flow
from appell.simulate.loop.prepare import Prepared, prepare
from appell.simulate.loop.resetting import without_resets

Array = NDArray[np.float64]


def unpack(
    run: Run, flow: Flow, t: Array, z: Array, readings: Readings | None = None, start: Array | None = None,
    precedes: NDArray[np.bool_] | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(q, v, work) of states z, (k, nz); start: the first of a run, (nz,), whose w need not be 0 (`normal_form.conserving`);
    precedes: see `Motion.precedes`."""
    work = z[:, -1] - (0.0 if start is None else start[-1]) if flow.has_work else np.zeros(len(z))
    if readings is not None:
        work += readings.work[last_change(readings.t, t, precedes)]
    return z[:, : flow.nq].copy(), velocities(run, flow, t, z), work


@dataclass(frozen=True, eq=False)
class Sampler:
    """States between known ones, by one step of the same method from the known state before, which preserves the order.

    Parameters
    ----------
    how: pseudo-velocities, method and rule for corners, from which `prepare` makes the loop, again after pickling.
    task: that of the run.
    t, z: known states in the order of the run, (k,), (k, nz), including those at readings.
    readings: the inputs under which the states were reached, if a control gave them.
    modes: (time, mode from then on), in order.
    """

    run: Run
    how: tuple[Mapping[str, Any] | None, str, str]
    task: Task
    t: Array
    z: Array
    readings: Readings | None = None
    modes: tuple[Any, ...] = ()

    @staticmethod
    def of(
        run: Run, how: Any, prepared: Prepared, task: Task, t: Array, z: Array, readings: Readings | None, modes: Any = (),
        resets: Any = (),
    ) -> Sampler:  # fmt: skip
        """The sampler for the stored states of a run, its start, its readings and the states after its resets; prepared: its
        flow and loop."""
        t, z = np.concatenate(([task.t0], t)), np.concatenate((task.z0[None], z))
        if len(resets):
            t, z = np.append(t, [reset.time for reset in resets]), np.vstack([z, *(reset.loop_state for reset in resets)])
            order = np.argsort(t, kind="stable")
            t, z = t[order], z[order]
        if readings is not None:
            t, z = np.append(t, readings.t), np.vstack([z, readings.z])
            order = np.argsort(t, kind="stable")  # a reading comes after the samples at its time
            t, z = t[order], z[order]
        sampler = Sampler(run, how, task, t, z, readings, tuple(modes))
        sampler.__dict__["prepared"] = prepared
        return sampler

    @cached_property
    def prepared(self) -> Prepared:
        """The flow and the loop of the run."""
        return prepare(self.run, *self.how)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __call__(self, times: Array) -> tuple[Array, Array, Array]:
        """(q, v, work) at times inside the run, in any order."""
        times = np.asarray(times, dtype=float)
        settled = np.zeros(len(times), dtype=bool)  # states are those after an event
        return unpack(self.run, self.prepared.flow, times, self.states(times), self.readings, self.task.z0, settled)

    def states(self, times: Array) -> Array:
        """z at times inside the run, in any order, (k, nz)."""
        direction = self.task.direction
        known_before = np.clip(np.searchsorted(self.t * direction, times * direction, side="right") - 1, 0, len(self.t) - 1)
        order = np.lexsort((times * direction, known_before))
        z = np.empty((len(times), self.prepared.flow.nz))
        for group in np.split(order, 1 + np.flatnonzero(np.diff(known_before[order]))) if len(order) else ():
            z[group] = self._between(int(known_before[group[0]]), times[group])
        return z

    def _between(self, k: int, times: Array) -> Array:
        """z at times between the k-th known state and the next one, (len(times), nz)."""
        end = float(self.t[k + 1]) if k + 1 < len(self.t) else float(times[-1])
        if end == self.t[k]:
            return np.repeat(self.z[k][None], len(times), axis=0)
        found = self._repeated(k, times, end)
        for time in times[len(found) :]:  # rounding lets an event end the step before this time: repeated up to the time itself
            there = self._repeated(k, np.array([time]), float(time))
            if not len(there):
                raise ModelError(f"the motion cannot be evaluated between t = {self.t[k]:g} and {end:g}")
            found = np.vstack([found, there])
        return found

    def _repeated(self, k: int, times: Array, end: float) -> Array:
        """z at the times that are passed by repeating the run from the k-th known state to an end, (passed, nz)."""
        longest = self.task.fixed_step or self.task.max_step  # stored states may be many steps apart
        task = Task(
            t0=float(self.t[k]), z0=self.z[k], t_end=end, p=self._parameters(k), rtol=self.task.rtol, atol=self.task.atol,
            times=times, first_step=abs(end - float(self.t[k])), max_step=longest, keep_steps=False,
        )  # fmt: skip
        loop, mode = without_resets(self.prepared.loop), self._mode(task.t0)
        if isinstance(loop, FaceLoop) and loop.inside and not mode and end > task.t0:  # no decision is needed at its start
            trace = loop.fly(task)
            if trace.passed == len(times):
                return trace.z_times
        trace = task.trace()
        trace.modes = mode if self.prepared.flow.extra else []
        *_, trace = loop.run(task, trace)
        return trace.z_times[: trace.passed]

    def _mode(self, t: float) -> list[Any]:
        """(time, mode) that holds from the time of a known state on; empty in flight."""
        index = bisect_right(self.modes, t, key=lambda entry: entry[0])
        return [] if index == 0 or self.modes[index - 1][1] == FLIGHT else [self.modes[index - 1]]

    def _parameters(self, k: int) -> Array:
        """The parameters after the k-th known state."""
        return self.run.p if self.readings is None else self.readings.parameters_at(self.t[k : k + 1])[0]


__all__ = ["Sampler", "unpack"]
