"""What a stiff method left of its tolerance: a second run at a tenth of it, compared with the first.

    |z − z′|  against  `ALLOWED` (rtol max|z| + atol)        each coordinate and velocity, at the output times of both

SUNDIALS controls the error of a step, and begins anew at every output time: what its runs are off by in the end is some tens
of rtol on smooth motions, and thousands where a fast transient decides them (an overdamped mount that is struck). The balance
of energy cannot see it, since friction takes what is lost. The two runs do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.simulate.loop.task import Task
from appell.simulate.loop.trace import Trace

Array = NDArray[np.float64]

FINER = 0.1
"""Share of the tolerances in the second run."""

FINEST_SECOND_RTOL = 5e-10
"""rtol of the second run at least: beside finer ones it is the coarser run, since IDAS finds no start at much finer ones."""

ALLOWED = 1000.0
"""How many times rtol max|z| + atol two runs may differ by, as in `doubts.FACTOR`. Pendulums and rods over 5 s: up to 400;
mounts that are struck, at rtol 1e-6: up to 26,000."""


def differences(again: Callable[[Task], Trace], task: Task, trace: Trace, method: str, size: int) -> list[str]:
    """A sentence where a second run of a stiff method, `again(task)`, goes elsewhere.

    size: how many of z are coordinates and velocities.
    """
    share = FINER if FINER * task.rtol >= FINEST_SECOND_RTOL else 1 / FINER
    other = replace(task, rtol=share * task.rtol, atol=share * np.asarray(task.atol))
    second = again(other)
    if second.status is not Status.OK:
        return [f"a second run of {method} at rtol = {other.rtol:.1g} stopped at t = {second.t:.6g}: nothing confirms this one"]
    (t, z), (_, z_other) = _outputs(task, trace), _outputs(task, second)
    z, z_other = z[:, :size], z_other[: len(z), :size]
    if len(z_other) < len(z) or not len(z):
        return []
    allowed = task.rtol * np.abs(z).max(axis=0) + np.asarray(task.atol)[:size]
    off = np.abs(z - z_other) / (allowed * max(1.0, share))
    worst = off.max(axis=0)
    if not worst.max() > ALLOWED:
        return []
    i = int(np.argmax(worst))
    k = int(np.argmax(off[:, i]))
    return [
        f"two runs of {method}, at rtol = {task.rtol:.1g} and {other.rtol:.1g}, differ by {abs(z[k, i] - z_other[k, i]):.1e} at"
        f" t = {t[k]:.6g}, {worst[i]:.0f} times what the tolerances say: tighten rtol=, or use method='dop853'"
    ]


def _outputs(task: Task, trace: Trace) -> tuple[Array, Array]:
    """(t, z) at the times that were asked for, or at the steps, which are the output times of these methods."""
    return (task.times, trace.z_times) if len(task.times) else (trace.t_steps, trace.z_steps)
