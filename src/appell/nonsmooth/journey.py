"""One run from its start to its end: stretches of motion in one mode, and the transitions between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from appell.errors import ModelError, SingularConfiguration, Status
from appell.loop.trace import Trace
from appell.modes.endings import Ending
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.mode_course import ModeCourse, RunEnded
from appell.nonsmooth.transitions import change

ENDING_ERRORS = (RunEnded, SingularConfiguration, UndeterminedFriction, np.linalg.LinAlgError)
"""Errors that end a run at an instant, with a status instead of a traceback."""


def journey(course: ModeCourse) -> Iterator[Trace]:
    """Yields the trace of a run as it grows; see `task.Loop.run`."""
    trace, ending = course.trace, None
    status = attempted(course, course.laws.arrive)
    while status is Status.OK and trace.t != course.task.t_end:
        try:
            status, ending = yield from course.laws.stretch(course)
        except ENDING_ERRORS as reason:
            status, ending = failed(course, reason), None
        if status is Status.STEP_TOO_SMALL:
            ending = (Ending.STANDSTILL, 0)
        if ending is not None:
            status = attempted(course, change, ending)
        trace.status = Status.BUFFER_FULL
        yield trace
    course.laws.explain(course, status)
    yield trace.ended(status)


def attempted(course: ModeCourse, action: Callable[..., None], *arguments: Any) -> Status:
    """Does `action`; returns OK, or the status that says why it failed."""
    try:
        action(course, *arguments)
    except ENDING_ERRORS as reason:
        return failed(course, reason)
    return Status.OK


def failed(course: ModeCourse, reason: Exception) -> Status:
    """The status of a run that ends for this reason; the trace keeps the reason."""
    if isinstance(reason, RunEnded):
        return reason.status
    if isinstance(reason, np.linalg.LinAlgError):
        return Status.SINGULAR
    course.trace.failure = ModelError(str(reason))
    return Status.FRICTION if isinstance(reason, UndeterminedFriction) else Status.SINGULAR


__all__ = ["journey"]
