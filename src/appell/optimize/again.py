"""`plan.again`: a plan computed again from another start, with other parameters or another horizon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.optimize.between_nodes import excesses, said_between_nodes, stepped_over
from appell.optimize.plan import Attempt, ControlTable, MeshStep, MotionPlan
from appell.optimize.replay import node_times, replay


def plan_again(plan: MotionPlan, start: Any, parameters: Any, since: Any, until: Any, judge: bool) -> MotionPlan:
    """See `MotionPlan.again`."""
    session = plan.session.again(start, parameters, since, until)
    found, model = session.solution, session.model
    judged, over, doubts = None, [], ()
    if judge:
        table = dict(zip(model.shared.names, found.numbers, strict=False))
        request = replace(model.request, since=session.since, parameters={s: float(table[s]) for s in model.request.parameters})
        other, tolerance = replace(model, request=request), session.setting.tolerance
        judged = replay(other, found.planned, tolerance, session.options, found.states)
        over = [one for one in excesses(found) if one.largest > tolerance]
        if not any(one.of_states for one in over):
            over = [*stepped_over(found, judged.motion, tolerance), *over]
        doubts = said_between_nodes(found, over, tolerance)
    free = next((one for one in over if one.of_states), None)
    ok = found.ok and (judged is None or judged.error <= session.setting.tolerance) and free is None
    message = found.word if judge else f"{found.word}; it was not simulated"
    if judged is not None and found.ok and not ok:
        close = judged.error <= session.setting.tolerance
        why = doubts[over.index(free)] if free is not None and close else judged.against(session.setting.tolerance)
        message = f"{message}, but {why}; ap.optimize refines its mesh"
    count = sum(len(breaks) - 1 for breaks in found.transcription.breaks)
    step = MeshStep(count, found.objective, np.nan, found.found.iterations, found.found.status)
    t = node_times(found.planned, session.since)
    values = dict(zip(model.request.unknown, map(float, found.planned.unknown), strict=True))
    return replace(
        plan, ok=ok, message=message, objective=found.objective, duration=found.planned.duration,
        motion=None if judged is None else judged.motion, simulated=None if judged is None else judged.simulated,
        controls=ControlTable(session.controls_at(t)), values=values, error=np.nan if judged is None else judged.error,
        meshes=(step,), attempts=(Attempt(ok, found.objective, message),), t=t, session=session,
        doubts=doubts,
    )  # fmt: skip


__all__ = ["plan_again"]
