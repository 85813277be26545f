"""From the trace of a run to its `Motion`, with its message, notes and doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from appell.backends import warn
from appell.errors import AS_ASKED, STATUS_TEXT, ModelError, SimulationError, SingularConfiguration, Status
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.stiff import STIFF
from appell.loop.trace import Trace
from appell.motion.motion import Motion
from appell.notes import Note
from appell.simulate.doubts import doubts_of
from appell.simulate.jumps_crossed import jumps_crossed
from appell.simulate.loop.prepare import Prepared
from appell.simulate.loop.stiffness import stiff_note
from appell.simulate.rank_survey import ranks_along
from appell.simulate.sampler import Sampler, unpack
from appell.simulate.started_run import StartedRun

RAISED = (*AS_ASKED, Status.CORNER, Status.CONTROL)
"""Statuses that need no warning: the run was finished, or an exception is raised."""


def motion_of(
    begun: StartedRun, trace: Trace, *, seconds: float = 0.0, doubts: Sequence[str] = (), stiffness_unwatched: bool = False
) -> Motion:
    """The motion of a trace, verified; raises if the run ended at a corner or by a failure of its control.

    doubts: those that are known already. stiffness_unwatched: whether it has to be looked for in the finished run.
    """
    run, flow, task, request = begun.run, begun.flow, begun.task, begun.request
    t, z = trace.t_steps, trace.z_steps
    if request.times is not None:
        t, z = task.times[: trace.passed], trace.z_times
        if trace.status is not Status.OK:  # the last good state is worth keeping
            t, z = np.append(t, trace.t), np.vstack([z, trace.z])
    message = STATUS_TEXT[trace.status]
    readings, failure = trace.readings, trace.failure
    if trace.status is Status.STOPPED:
        message = f"stopped at t = {trace.t:.9g}, before {task.t_end:g}: {trace.stopped}"
    elif trace.status is not Status.OK:
        reason = message + _remedy(trace.status, request.method) if failure is None else _reason(failure)
        message = f"stopped at t = {trace.t:.9g}, before {task.t_end:g}: {reason}"
    if trace.status not in RAISED:
        warn(message)
    q, v, work = unpack(run, flow, t, z, readings, task.z0)
    if stiffness_unwatched and (note := stiff_note(run, task, trace, t, q, v)) is not None:
        trace.notes.append(note)
    statistics = {
        "steps": trace.statistics.accepted,
        "rejected": trace.statistics.rejected,
        "evaluations": trace.statistics.evaluations,
        "largest_defect": trace.statistics.largest_defect,
        "start_moved": begun.moved,
        "seconds": seconds,
        **({} if readings is None else {"readings": len(readings)}),
    }
    prepared_by = (request.pseudo, request.method, request.corner)
    motion = Motion(
        run=run, t=t, q=q, v=v, work=work, status=trace.status, message=message, statistics=statistics,
        tolerances={"rtol": task.rtol, "atol": float(np.max(np.asarray(task.atol)[: flow.nq + flow.nu]))},
        method=request.method,
        sampler=Sampler.of(run, prepared_by, Prepared(flow, begun.loop), task, t, z, readings, trace.modes, trace.resets),
        pseudo=request.pseudo, origin=begun.start,
        span=(task.t0, trace.t), events=trace.sorted_events(),
        contacts=tuple(trace.contacts), modes=tuple(trace.modes), lost=z[:, -2].copy() if flow.extra and trace.modes else None,
        readings=readings, breaks=np.array(trace.breaks), reset_states=tuple(trace.resets),
        notes=(*run.notes, *trace.notes),
    )  # fmt: skip
    if trace.status in AS_ASKED:
        notes, about_ranks = _rank_findings(begun, trace)
        reasons = [*about_ranks, *jumps_crossed(motion), *doubts]
        motion = _with_doubts(motion, notes, reasons, fixed_step=task.fixed_step is not None)
    if trace.status is Status.CORNER:
        raise SingularConfiguration(message, time=trace.t, state=run.named(q[-1], v[-1]), motion=motion)
    if trace.status is Status.CONTROL:
        raise SimulationError(message, motion=motion) from failure
    return motion


def _remedy(status: Status, method: str) -> str:
    """A remedy for a failed run: a stiff method, unless it was one that failed."""
    if method in CONSERVING and status is Status.PROJECTION_FAILED:
        return "; or the step is too long for the energy to be restored at its end: shorten step="
    if method in STIFF or status not in (Status.STEP_TOO_SMALL, Status.MAX_STEPS):
        return ""
    if method in CONSERVING:
        return "; the stages of a step of this size do not converge: shorten step=, or use 'radau' if the system is stiff"
    return "" if method == "radau" else "; if the system is stiff, use method='radau'"


def _rank_findings(started: StartedRun, trace: Trace) -> tuple[list[Note], list[str]]:
    """Notes about the rank of the rows at the steps of a run that the rank guard did not watch, or not in contact."""
    if not started.run.form.m or (started.guarded and not trace.modes):
        return [], []
    t, z = trace.t_steps, trace.z_steps
    q, v, _ = unpack(started.run, started.flow, t, z)
    noted = [note.time for note in trace.notes if note.kind == "change point" and note.time is not None]
    return ranks_along(started.run, t, q, v, trace.sorted_events()["time"], trace.modes, noted)


def _with_doubts(motion: Motion, notes: list[Note], reasons: list[str], *, fixed_step: bool) -> Motion:
    """The motion with its notes and doubts, which are also warned of."""
    doubts = (*doubts_of(motion, fixed_step=fixed_step), *reasons)
    motion = replace(motion, notes=(*motion.notes, *notes)) if notes else motion
    for doubt in doubts:
        warn(f"this motion is doubtful: {doubt}")
    return replace(motion, doubts=doubts) if doubts else motion


def _reason(failure: Exception) -> str:
    """The failure of a control, in a sentence."""
    return str(failure) if isinstance(failure, ModelError) else f"the control raised {type(failure).__name__}: {failure}"


__all__ = ["motion_of"]
