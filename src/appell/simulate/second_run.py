"""Verification of a stiff run: a second run at a tenth of the tolerance, compared with the first.

    |z − z′|  against  `ALLOWED` (rtol max|z| + atol)        each coordinate and velocity, at the output times of both

SUNDIALS controls the error of a step, and begins anew at every output time: what its runs are off by in the end is some tens
of rtol on smooth motions, and thousands where a fast transient decides them (an overdamped mount that is struck). The balance
of energy cannot see it, since friction takes what is lost. The two runs do.

A conserving method meets its energy whatever its steps are: there some steps are taken once more, in halves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, Status
from appell.loop.task import Task
from appell.loop.trace import Trace

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
        return [f"a second run of {method} at rtol = {other.rtol:.1g} stopped at t = {second.t:.6g}: this run is not confirmed"]
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
        f" t = {t[k]:.6g}, {worst[i]:.0f} times what the tolerances allow: tighten rtol=, or use method='dop853'"
    ]


LOOKED_AT = 8
"""Steps of a conserving method that are taken once more."""
COARSE_STEP = 0.01
"""Share of what a coordinate or velocity goes through in the run by which two halves of one step may differ from it."""
CONSTANT_SHARE = 1e-10
"""Share of its size that a number goes through at least: one that is constant differs by its rounding."""


def halved(again: Callable[[Task], Trace], task: Task, trace: Trace, size: int) -> list[str]:
    """A sentence where a step of fixed size goes elsewhere than its two halves.

    size: how many of z are coordinates and velocities.
    """
    t, z = _outputs(task, trace)
    h = task.direction * (task.fixed_step or 0.0)
    there = np.flatnonzero(task.direction * (task.t_end - t) >= abs(h))
    if not h or not len(there):
        return []
    range_of = np.ptp(z[:, :size], axis=0) + CONSTANT_SHARE * np.abs(z[:, :size]).max(axis=0)
    worst, when = 0.0, 0.0
    for k in there[np.linspace(0, len(there) - 1, min(LOOKED_AT, len(there))).astype(int)]:
        one = replace(task, t0=float(t[k]), z0=z[k], t_end=float(t[k] + h), times=np.zeros(0), keep_steps=False)
        try:
            whole, halves = again(one), again(replace(one, fixed_step=abs(h) / 2))
        except AppellError:
            continue
        if whole.status is Status.OK and halves.status is Status.OK:
            share = np.abs(whole.z - halves.z)[:size] / np.where(range_of > 0, range_of, np.inf)
            worst, when = max((worst, when), (float(share.max(initial=0.0)), float(t[k])))
    if worst <= COARSE_STEP:
        return []
    return [
        f"a step of {abs(h):g} s from t = {when:.6g} and its two halves differ by {worst:.1e} of the range of a coordinate or"
        " velocity: the energy is conserved, but the step is too long. Shorten step="
    ]


def _outputs(task: Task, trace: Trace) -> tuple[Array, Array]:
    """(t, z) at the times that were asked for, or at the steps, which are the output times of these methods."""
    return (task.times, trace.z_times) if len(task.times) else (trace.t_steps, trace.z_steps)
