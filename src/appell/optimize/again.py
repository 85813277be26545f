"""`plan.again`: a plan computed again from another start, with other parameters or another horizon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.optimize.between_nodes import excesses, messages_between_nodes, stepped_over
from appell.optimize.plan import Attempt, ControlTable, MeshStep, MotionPlan
from appell.optimize.replay import node_times, replay


def plan_again(plan: MotionPlan, start: Any, parameters: Any, since: Any, until: Any, judge: bool) -> MotionPlan:
    """See `MotionPlan.again`."""
    session = plan.session.again(start, parameters, since, until)
    solution, model = session.solution, session.model
    judged, violations, doubts = None, [], ()
    if judge:
        table = dict(zip(model.shared.names, solution.numbers, strict=False))
        request = replace(model.request, since=session.since, parameters={s: float(table[s]) for s in model.request.parameters})
        updated, tolerance = replace(model, request=request), session.setting.tolerance
        judged = replay(updated, solution.planned, tolerance, session.options, solution.states)
        violations = [violation for violation in excesses(solution) if violation.largest > tolerance]
        if not any(violation.of_states for violation in violations):
            violations = [*stepped_over(solution, judged.motion, tolerance), *violations]
        doubts = messages_between_nodes(solution, violations, tolerance)
    state_violation = next((violation for violation in violations if violation.of_states), None)
    ok = solution.ok and (judged is None or judged.error <= session.setting.tolerance) and state_violation is None
    message = solution.outcome if judge else f"{solution.outcome}; it was not simulated"
    if judged is not None and solution.ok and not ok:
        close = judged.error <= session.setting.tolerance
        reason = (
            doubts[violations.index(state_violation)]
            if state_violation is not None and close
            else judged.against(session.setting.tolerance)
        )
        message = f"{message}, but {reason}; ap.optimize refines its mesh"
    count = sum(len(breaks) - 1 for breaks in solution.transcription.breaks)
    step = MeshStep(count, solution.objective, np.nan, solution.output.iterations, solution.output.status)
    t = node_times(solution.planned, session.since)
    values = dict(zip(model.request.unknown, map(float, solution.planned.unknown), strict=True))
    return replace(
        plan, ok=ok, message=message, objective=solution.objective, duration=solution.planned.duration,
        motion=None if judged is None else judged.motion, simulated=None if judged is None else judged.simulated,
        controls=ControlTable(session.controls_at(t)), values=values, error=np.nan if judged is None else judged.error,
        meshes=(step,), attempts=(Attempt(ok, solution.objective, message),), t=t, session=session,
        doubts=doubts,
    )  # fmt: skip


__all__ = ["plan_again"]
