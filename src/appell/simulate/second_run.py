"""Verification of a stiff run: a second run at a tenth of the tolerance, compared with the first.

    |z − z′|  against  `RUNS_APART` (rtol max|z| + atol)        each coordinate and velocity, at the output times of both

SUNDIALS controls the error of a step, and restarts at every output time. The global error is some tens of rtol on smooth
motions, and thousands where a fast transient dominates (an overdamped mount that is struck). The energy balance cannot reveal
it, since friction dissipates the difference; the two runs do.

A conserving method conserves energy whatever its steps; there, some steps are repeated in halves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import AS_ASKED, AppellError, Status
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.stiff import STIFF
from appell.loop.task import Task
from appell.loop.trace import Trace
from appell.simulate.driven_run import driven
from appell.simulate.progress import Reporter
from appell.simulate.started_run import StartedRun

Array = NDArray[np.float64]

SECOND_TOLERANCE = 0.1
"""Tolerances of the second run, as a fraction of those of the first."""

FINEST_SECOND_RTOL = 5e-10
"""Smallest rtol of the second run, since IDAS fails to start at much finer ones; it may then be the coarser run."""

RUNS_APART = 1000.0
"""Allowed difference of two runs, as a multiple of rtol max|z| + atol. Pendulums and rods over 5 s reach 400; mounts that are
struck, at rtol 1e-6, reach 26,000."""


def unconfirmed(begun: StartedRun, trace: Trace, origin: float = 0.0, report: Reporter | None = None) -> list[str]:
    """Sentences about what a second run does not confirm; empty for methods that control their error themselves.

    origin: the time from which the loop counts, s, as in `driven`.
    """
    method, size = begun.request.method, begun.flow.nq + begun.flow.nu
    if trace.status not in AS_ASKED:
        return []
    if method in STIFF:
        rerun = lambda task: driven(begun.loop, task, report, origin=origin)
        return differences(rerun, *_until_stop(begun.task, trace), method, size)
    return halved(lambda task: driven(begun.loop, task, report), begun.task, trace, size) if method in CONSERVING else []


def _until_stop(task: Task, trace: Trace) -> tuple[Task, Trace]:
    """The task of a run that ends where this one was stopped, with the times of its steps as requested times."""
    if trace.status is Status.OK:
        return task, trace
    stopped = trace.without_past(len(trace.steps))
    stopped.pass_times(trace.z_steps)
    return replace(task, t_end=trace.t, times=trace.t_steps), stopped


def differences(again: Callable[[Task], Trace], task: Task, trace: Trace, method: str, size: int) -> list[str]:
    """A sentence if a second run of a stiff method, `again(task)`, differs; otherwise empty.

    size: number of coordinates and velocities in z.
    """
    factor = SECOND_TOLERANCE if SECOND_TOLERANCE * task.rtol >= FINEST_SECOND_RTOL else 1 / SECOND_TOLERANCE
    second_task = replace(task, rtol=factor * task.rtol, atol=factor * np.asarray(task.atol))
    second_trace = again(second_task)
    if second_trace.status is not Status.OK:
        return [
            f"a second run of {method} at rtol = {second_task.rtol:.1g} stopped at t = {second_trace.t:.6g}: this run is not"
            " confirmed"
        ]
    (t, z), (_, second_z) = _outputs(task, trace), _outputs(task, second_trace)
    z, second_z = z[:, :size], second_z[: len(z), :size]
    if len(second_z) < len(z) or not len(z):
        return []
    allowed = task.rtol * np.abs(z).max(axis=0) + np.asarray(task.atol)[:size]
    deviation = np.abs(z - second_z) / (allowed * max(1.0, factor))
    worst = deviation.max(axis=0)
    if not worst.max() > RUNS_APART:
        return []
    i = int(np.argmax(worst))
    k = int(np.argmax(deviation[:, i]))
    return [
        f"two runs of {method}, at rtol = {task.rtol:.1g} and {second_task.rtol:.1g}, differ by"
        f" {abs(z[k, i] - second_z[k, i]):.1e} at t = {t[k]:.6g}, {worst[i]:.0f} times what the tolerances allow:"
        " tighten rtol=, or use method='dop853'"
    ]


STEPS_HALVED = 8
"""Number of steps of a conserving method that are repeated."""
COARSE_STEP = 0.01
"""Allowed difference between a step and its two halves, as a fraction of the range of a coordinate or velocity."""
CONSTANT_SHARE = 1e-10
"""Lower bound of that range, as a fraction of the size of a number: constant ones differ by rounding."""


def halved(again: Callable[[Task], Trace], task: Task, trace: Trace, size: int) -> list[str]:
    """A sentence if a fixed step differs from its two halves; otherwise empty.

    size: number of coordinates and velocities in z.
    """
    t, z = _outputs(task, trace)
    h = task.direction * (task.fixed_step or 0.0)
    whole_steps = np.flatnonzero(task.direction * (task.t_end - t) >= abs(h))
    if not h or not len(whole_steps):
        return []
    range_of = np.ptp(z[:, :size], axis=0) + CONSTANT_SHARE * np.abs(z[:, :size]).max(axis=0)
    worst, worst_t = 0.0, 0.0
    for k in whole_steps[np.linspace(0, len(whole_steps) - 1, min(STEPS_HALVED, len(whole_steps))).astype(int)]:
        one_step = replace(task, t0=float(t[k]), z0=z[k], t_end=float(t[k] + h), times=np.zeros(0), keep_steps=False)
        try:
            step, halves = again(one_step), again(replace(one_step, fixed_step=abs(h) / 2))
        except AppellError:
            continue
        if step.status is Status.OK and halves.status is Status.OK:
            deviation = np.abs(step.z - halves.z)[:size] / np.where(range_of > 0, range_of, np.inf)
            worst, worst_t = max((worst, worst_t), (float(deviation.max(initial=0.0)), float(t[k])))
    if worst <= COARSE_STEP:
        return []
    return [
        f"a step of {abs(h):g} s from t = {worst_t:.6g} and its two halves differ by {worst:.1e} of the range of a coordinate"
        " or velocity: the energy is conserved, but the step is too long. Shorten step="
    ]


def _outputs(task: Task, trace: Trace) -> tuple[Array, Array]:
    """(t, z) at the requested times, or at the steps, which are the output times of these methods."""
    return (task.times, trace.z_times) if len(task.times) else (trace.t_steps, trace.z_steps)
