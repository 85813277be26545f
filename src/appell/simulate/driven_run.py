"""A loop driven from the beginning of its task to the end, with progress."""

from __future__ import annotations

from appell.errors import ModelError, Status
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.simulate.progress import Reporter

STEPS_BETWEEN_LOOKS = 2000
"""Steps between two examinations of the progress of a run whose forces jump."""
STEPS_TO_THE_END = 1e8
"""Number of steps in which such a run would have to reach its end at its pace; a slower one has come to a halt."""


def driven(loop: Loop, task: Task, report: Reporter | None = None, jump: str = "", origin: float = 0.0) -> Trace:
    """Makes the run; jump: a description of what in the forces may stop it, if anything does.

    origin: the time from which the loop counts, s, if the model does not depend on time.
    """
    counted = task.counted_from(origin)
    trace = counted.trace()
    trace.origin = origin
    advancing = _Advance(counted, trace, jump)
    try:
        for _ in loop.run(counted, trace):
            if report is not None:
                report(trace.clock)
            if not advancing():
                break
        if counted.t0 == counted.t_end and trace.status is Status.OK:  # loops with events take no step here
            trace.pass_times([trace.z] * (len(counted.times) - trace.passed))
        trace.on_the_clock(task.t_end, counted.t_end)
        if report is not None:
            report.finish(trace.t)
    finally:
        if report is not None:
            report.close()
    return trace


class _Advance:
    """Whether a run with jumping forces makes progress."""

    def __init__(self, task: Task, trace: Trace, jump: str):
        self.trace, self.jump = trace, jump
        self.least = abs(task.t_end - task.t0) / STEPS_TO_THE_END  # s per step
        self.t, self.steps = task.t0, 0

    def __call__(self) -> bool:
        steps = self.trace.statistics.accepted + self.trace.statistics.rejected
        if not self.jump or self.trace.status is not Status.BUFFER_FULL or steps - self.steps < STEPS_BETWEEN_LOOKS:
            return True
        if abs(self.trace.t - self.t) < self.least * (steps - self.steps):
            self.trace.status = Status.STEP_TOO_SMALL
            self.trace.failure = ModelError(f"the steps shrink to nothing: {self.jump}")
            return False
        self.t, self.steps = self.trace.t, steps
        return True


__all__ = ["driven"]
