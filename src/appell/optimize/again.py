"""`plan.again`: a plan computed again from another start, with other parameters or another horizon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.optimize.plan import Attempt, ControlTable, MeshStep, MotionPlan
from appell.optimize.replay import node_times, replay


def plan_again(plan: MotionPlan, start: Any, parameters: Any, since: Any, until: Any, judge: bool) -> MotionPlan:
    """See `MotionPlan.again`."""
    session = plan.session.again(start, parameters, since, until)
    found, model = session.solution, session.model
    judged = None
    if judge:
        table = dict(zip(model.shared.names, found.numbers, strict=False))
        request = replace(model.request, since=session.since, parameters={s: float(table[s]) for s in model.request.parameters})
        other, tolerance = replace(model, request=request), session.setting.tolerance
        judged = replay(other, found.planned, tolerance, session.options, found.states)
    ok = found.ok and (judged is None or judged.error <= session.setting.tolerance)
    message = found.word if judge else f"{found.word}; it was not simulated"
    if judged is not None and found.ok and not ok:
        message = f"{message}, but {judged.against(session.setting.tolerance)}; ap.optimize refines its mesh"
    count = sum(len(breaks) - 1 for breaks in found.transcription.breaks)
    step = MeshStep(count, found.objective, np.nan, found.found.iterations, found.found.status)
    t = node_times(found.planned, session.since)
    values = dict(zip(model.request.unknown, map(float, found.planned.unknown), strict=True))
    return replace(
        plan, ok=ok, message=message, objective=found.objective, duration=found.planned.duration,
        motion=None if judged is None else judged.motion, simulated=None if judged is None else judged.simulated,
        controls=ControlTable(session.controls_at(t)), values=values, error=np.nan if judged is None else judged.error,
        meshes=(step,), attempts=(Attempt(ok, found.objective, message),), t=t, session=session,
    )  # fmt: skip


__all__ = ["plan_again"]
