"""The time loop of a system with friction: stretches of the compiled loop in one mode, cut where a guard falls through zero.

    stretch      some steps of the plain loop, the mode being data among its parameters; guards are read at samples inside them
    event        the first crossing is located on the dense output, and the step is taken again up to it: the order is kept
    transition   slip that has vanished is set to zero in the kinetic metric, blows are given, and `decide` finds the next mode

A step that overruns an event is still smooth, since nothing in a mode depends on the sign of a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError, Status
from appell.nonsmooth.contact.contact_thresholds import STALLED
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.friction_course import FIRST_STRETCH, LONGEST_STRETCH, FrictionCourse
from appell.nonsmooth.friction.friction_functions import FrictionFunctions
from appell.nonsmooth.friction.guards import OF_REACTIONS, ModeGuard
from appell.nonsmooth.friction.steps import Steps
from appell.nonsmooth.friction.stretches import run_stretch
from appell.nonsmooth.friction.transitions import arrive, change
from appell.simulate.loop.in_c import CLoop
from appell.simulate.loop.task import Loop, Task
from appell.simulate.loop.trace import Trace

Array = NDArray[np.float64]

CLOSER = 3
"""Steps that are looked at closer where compiled ones stop before an event that is not clear."""


@dataclass(frozen=True, eq=False)
class FrictionLoop:
    """`Loop` of a system with friction.

    Parameters
    ----------
    plain: the loop of `functions.flow`. compiled: the same with `steps.c.in`, or None.
    look: (t (k,), z (k, nz), p (k, …)) → outputs of `functions.look` by name.
    """

    system: Any
    form: Any
    functions: FrictionFunctions
    plain: Loop
    compiled: CLoop | None
    look: Callable[[Array, Array, Array], dict[str, Array]]
    corner: str = "raise"

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with friction time runs forward: what sticks forgets how it slid")
        yield from _traces(FrictionCourse(self, task, trace or task.trace()))


def _traces(course: FrictionCourse) -> Iterator[Trace]:
    """One run from its start to its end: compiled steps as far as they go, stretches, and changes of mode between them."""
    trace, task = course.trace, course.task
    steps = None if course.loop.compiled is None else Steps(course)
    known = steps is not None and not trace.modes and not course.own.faces and steps.arrive()
    status = Status.OK if known else _guarded(course, arrive, course)
    stalled = 0
    while status is Status.OK and trace.t < task.t_end:
        if trace.statistics.accepted >= task.max_steps:
            status = Status.MAX_STEPS
            break
        began, event = trace.t, None
        try:
            status, event = _onward(course, steps)
        except (UndeterminedFriction, np.linalg.LinAlgError) as error:
            status = _failed(course, error)
        if event is None:
            course.stretch = min(2 * course.stretch, LONGEST_STRETCH)
        else:
            stalled = stalled + 1 if trace.t == began else 0
            course.stretch, trace.next_step, course.before = FIRST_STRETCH, None, len(trace.steps)
            status = _guarded(course, _change, course, event, stalled)
        trace.status = Status.BUFFER_FULL
        yield trace
    yield trace.ended(status)


def _onward(course: FrictionCourse, steps: Steps | None) -> tuple[Status, ModeGuard | None]:
    """Compiled steps as far as they go, else a stretch."""
    if steps is not None and steps.takes():
        if (gone := steps.go()) is not None:
            return gone
        course.stretch = CLOSER
    return run_stretch(course)


def _change(course: FrictionCourse, event: ModeGuard, stalled: int) -> None:
    if stalled > STALLED:
        raise UndeterminedFriction(f"modes of friction change without end at one instant ({', '.join(course.names)})")
    if stalled and event.kind in OF_REACTIONS:
        _pass_on(course, 2.0**stalled * np.spacing(course.trace.t))
    change(course, event)


def _pass_on(course: FrictionCourse, dt: float) -> None:
    """On by some spacings of the time: a reaction that falls steeply is above its bound still at the nearest time before it
    falls through, and the mode that it ends would be found again and again."""
    trace, wanted = course.trace, course.task.times[course.trace.passed :]
    if trace.t + dt < course.task.t_end and not (len(wanted) and wanted[0] <= trace.t + dt):
        trace.move(trace.t + dt, trace.z + dt * course.slopes(trace.t, trace.z, course.mode))


def _guarded(course: FrictionCourse, action: Callable[..., None], *arguments: Any) -> Status:
    try:
        action(*arguments)
    except (UndeterminedFriction, np.linalg.LinAlgError) as error:
        return _failed(course, error)
    return Status.OK


def _failed(course: FrictionCourse, error: Exception) -> Status:
    if not isinstance(error, UndeterminedFriction):
        return Status.SINGULAR
    course.trace.failure = ModelError(str(error))
    return Status.FRICTION


__all__ = ["FrictionLoop"]
