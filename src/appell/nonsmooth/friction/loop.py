"""The time loop of a system with friction: stretches of the compiled loop in one mode, cut where a guard falls through zero.

    stretch      some steps of the plain loop (the mode is data among its parameters); guards are sampled inside them
    event        the first crossing is located on the dense output; the step is repeated up to it, which preserves the order
    transition   vanished slip is set to zero in the kinetic metric, impacts are applied, and `decide` finds the next mode

A step beyond an event is still smooth, since nothing in a mode depends on the sign of a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError
from appell.loop.in_c import CLoop
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.nonsmooth.friction.friction_course import friction_course
from appell.nonsmooth.friction.friction_functions import FrictionFunctions
from appell.nonsmooth.friction.friction_laws import FRICTION_LAWS
from appell.nonsmooth.friction.steps import Steps
from appell.nonsmooth.journey import journey
from appell.nonsmooth.mode_course import Laws

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrictionLoop:
    """`Loop` of a system with friction.

    Parameters
    ----------
    plain: the loop of `functions.flow`. compiled: the same with `steps.c.in`, or None.
    guard_data: (t (k,), z (k, nz), p (k, …)) → outputs of `functions.guard_data` by name.
    """

    system: Any
    form: Any
    functions: FrictionFunctions
    plain: Loop
    compiled: CLoop | None
    guard_data: Callable[[Array, Array, Array], dict[str, Array]]
    corner: str = "raise"

    @property
    def laws(self) -> Laws:
        return FRICTION_LAWS

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        if task.t_end < task.t0:
            raise ConstraintError("with friction, time must run forward: the past of a sticking contact is not unique")
        course = friction_course(self, task, trace or task.trace())
        course.friction.steps = None if self.compiled is None else Steps(course)
        yield from journey(course)


__all__ = ["FrictionLoop"]
