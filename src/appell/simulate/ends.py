"""Where many motions end: one start after another in compiled code, nothing kept on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.normal_form.flow import flow
from appell.simulate.loop.in_c import CLoop, Repeated
from appell.simulate.loop.prepare import flight_loop, plain_loop, prepare
from appell.simulate.loop.task import Loop, Task
from appell.simulate.run import Run

Array = NDArray[np.float64]


class Ends(NamedTuple):
    """Of each start: the status of its run, the time and the state (q, v) where it ended, its impacts and other events."""

    status: NDArray[np.int_]
    t: Array
    z: Array  # (n, nq + nv)
    events: NDArray[np.int_]


def ends(run: Run, task: Task, starts: Array, *, method: str = "dop853", corner: str = "raise") -> Ends:
    """The ends of `task` from each of the `starts` (n, nq + nv).

    Flights stay in compiled code as long as they meet nothing but impacts; a run that lands or meets a corner is made again
    with its modes. The work of forces is not integrated, so that it does not shorten the steps.
    """
    nz = run.form.nq + run.form.nv
    bare = _bare_loop(run, method)
    once = Repeated(bare, replace(task, z0=np.zeros(nz))) if isinstance(bare, CLoop) else None
    n = len(starts)
    found = Ends(np.empty(n, dtype=int), np.empty(n), np.empty((n, nz)), np.empty(n, dtype=int))
    for k, start in enumerate(starts):
        status, count = once(start) if once else (Status.SWITCH, 0)
        if status is not Status.SWITCH and once is not None:
            found.status[k], found.t[k], found.z[k], found.events[k] = status, once.t, once.z, count
            continue
        found.status[k], found.t[k], found.z[k], found.events[k] = _with_modes(run, task, start, method, corner)
    return found


def _bare_loop(run: Run, method: str) -> Loop:
    """The loop of free flight without the work of forces."""
    if run.system.unilateral:
        return flight_loop(run, method, work=False)[1]
    return plain_loop(run, flow(run.form, run.policies, work=False), method)


def _with_modes(run: Run, task: Task, start: Array, method: str, corner: str) -> tuple[Status, float, Array, int]:
    motion, loop = prepare(run, None, method, corner)
    z = np.concatenate([start, np.zeros(motion.nz - len(start))])
    *_, trace = loop.run(replace(task, z0=z, keep_steps=False))
    return trace.status, trace.t, trace.z[: len(start)], len(trace.events)
