"""End states of many motions: one after another in compiled code, without storing their history."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.task import Task
from appell.simulate.many import RunBatch

Array = NDArray[np.float64]


class Ends(NamedTuple):
    """For each initial state: the status of its run, the time and state (q, v) at its end, its impacts and other events."""

    status: NDArray[np.int_]
    t: Array
    z: Array  # (n, nq + nv)
    events: NDArray[np.int_]


def ends(run: Run, task: Task, starts: Array, *, method: str = "dop853", corner: str = "raise") -> Ends:
    """The ends of `task` from each of the initial states `starts` (n, nq + nv)."""
    n = len(starts)
    t, z, p = np.full(n, task.t0), np.array(starts, dtype=float), np.tile(task.p, (n, 1))
    atol = float(np.max(task.atol))
    many = RunBatch(run, rtol=task.rtol, atol=atol, method=method, corner=corner, max_steps=task.max_steps)
    found = many.advance(t, z, p, np.full(n, task.t_end - task.t0), 1)
    return Ends(found.status.astype(int), t, z, found.events.astype(int))
