"""Accelerations of a system with friction at any state: in the mode that holds there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.compiled.run import Run
from appell.errors import SingularConfiguration
from appell.loop.task import Task
from appell.modes.mode import Mode
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.friction_course import answer_here, friction_course
from appell.nonsmooth.friction.friction_functions import friction_functions
from appell.nonsmooth.friction.friction_laws import settle
from appell.nonsmooth.friction.loop import FrictionLoop
from appell.nonsmooth.mode_course import InstantEvents, ModeCourse
from appell.simulate.loop.break_loop import BreakLoop
from appell.simulate.loop.prepare import prepare, with_friction
from appell.simulate.loop.resetting import without_resets

Array = NDArray[np.float64]


def mode_at(run: Run, t: float, q: Array, v: Array) -> Mode:
    """The mode that holds at a state; `SingularConfiguration` if none does, or several do."""
    try:
        return _settled(run)(t, q, v).mode
    except UndeterminedFriction as error:
        raise SingularConfiguration(str(error)) from None


def _settled(run: Run) -> Callable[[float, Array, Array], ModeCourse]:
    """(t, q, v) → the course that starts there, in its mode, without impacts."""
    prepared = without_resets(prepare(run, None, "dop853", "raise").loop)
    loop = prepared.loop if isinstance(prepared, BreakLoop) else prepared
    if not isinstance(loop, FrictionLoop):  # it goes from surface to surface, and this is one state
        prepared = loop = with_friction(run, None, "dop853", "raise").loop
    assert isinstance(loop, FrictionLoop)

    def course_at(t: float, q: Array, v: Array) -> ModeCourse:
        z = np.concatenate([q, v, np.zeros(loop.functions.flow.nz - len(q) - len(v))])
        p = prepared.branches.parameters(run.p, t) if isinstance(prepared, BreakLoop) else run.p
        course = friction_course(loop, (task := Task(t0=t, z0=z, t_end=t + 1.0, p=p)), task.trace())
        settle(course, InstantEvents())  # as it is, without impacts
        return course

    return course_at


def accelerations_of(run: Run) -> Callable[[ArrayLike, ArrayLike, ArrayLike], tuple[Array, Array]]:
    """(t, q, v) → (a, Λ) of a run, for one state or a batch: in the mode that holds there."""
    settled, rows = _settled(run), friction_functions(run.system, run.form).layout.m

    def solved(t: float, q: Array, v: Array) -> tuple[Array, Array]:
        answer = answer_here(settled(t, q, v))
        return answer.x, answer.lam[:rows]

    def acceleration(t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """(a, Λ) with friction in the mode that holds at the state; `SingularConfiguration` where none does, or several."""
        try:
            q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
            if q.ndim == 1 and v.ndim == 1:
                return solved(float(np.asarray(t)), q, v)
            count = len(q) if q.ndim == 2 else len(v)
            times = np.broadcast_to(np.asarray(t, dtype=float), (count,))
            q, v = (np.broadcast_to(x, (count, x.shape[-1])) for x in (q, v))
            states = zip(times, q, v, strict=True)
            solutions = [solved(float(time), a, b) for time, a, b in states]
        except UndeterminedFriction as error:
            raise SingularConfiguration(str(error)) from None
        return np.array([a for a, _ in solutions]), np.array([lam for _, lam in solutions])

    return acceleration


__all__ = ["accelerations_of", "mode_at"]
