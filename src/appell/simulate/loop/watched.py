"""Expressions along the steps of a loop, with zeros found by interval bounds: for stops and for the guards of resets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.loop.task import Task
from appell.modes.contact_thresholds import GAP_FLOOR
from appell.motion.dense import DenseSteps, dense_steps
from appell.motion.state_velocities import velocities
from appell.motion.zeros import POLYNOMIAL_ROUNDING, ExpressionAlong, Zeros, expression_along, zeros_along
from appell.normal_form.flow import Flow

Array = NDArray[np.float64]

NUMERIC_RATE = 1e-10
"""Fraction of the largest rate of an expression in a step below which its rate at the beginning of the step's polynomial is
rounding."""


@dataclass(frozen=True, eq=False)
class WatchedExpressions:
    """Expressions by name, of a run and its flow; noise: see `dense_steps`."""

    compiled: Run
    flow: Flow
    expressions: Mapping[str, Any]
    noise: float = 0.0

    @cached_property
    def functions(self) -> dict[str, ExpressionAlong]:
        """Each expression as a function of the entries of the state that it needs."""
        run = self.compiled
        return {name: expression_along(run.form, run.system.in_velocities(e)) for name, e in self.expressions.items()}

    @cached_property
    def columns(self) -> list[tuple[str, int]]:
        """The entries of the state that any of them needs."""
        return list(dict.fromkeys(c for along in self.functions.values() for c in along.columns))

    def along_steps(
        self, task: Task, times: Array, states: Callable[[Array], Array], rounding: float | Array = 0.0
    ) -> WatchedSteps:
        """The expressions along steps between times, (k,), in the order of the run; states: times in that order → z, (k, nz).

        rounding: of the entries before these steps, (m,), which they have at their beginning."""
        direction = task.direction
        steps = dense_steps(direction * np.unique(direction * times), lambda t: self._numbers(t, states(t)), self.noise)
        return WatchedSteps(self, steps, self.parameters(task, steps.middle), self._error_bounds(task, rounding))

    def _error_bounds(self, task: Task, rounding: float | Array) -> Array:
        """Error bound of each number, (m,)."""
        return np.full(len(self.columns), GAP_FLOOR * float(np.min(task.atol))) + np.asarray(rounding, dtype=float)

    def parameters(self, task: Task, times: Array) -> Array:
        """Parameters of the run, (np,), or (k, np) if some change with time."""
        schedule = self.compiled.schedule
        return task.p if schedule is None else schedule.put(task.p, times)

    def _numbers(self, times: Array, z: Array) -> Array:
        """Entries of the state at times in the order of the run, (k, m)."""
        values = {"q": lambda: z[:, : self.flow.nq], "v": lambda: velocities(self.compiled, self.flow, times, z)}
        arrays = {name: values[name]() for name in {name for name, _ in self.columns}}
        return np.stack([arrays[name][:, i] for name, i in self.columns], axis=1) if self.columns else np.zeros((len(times), 0))

    def signs_at(self, task: Task, t: float, z: Array, rounding: float | Array = 0.0) -> dict[str, float]:
        """The sign of each at a state z, (nz,): ±1, or 0 if it cannot be told from zero; rounding: see `along_steps`."""
        times = np.array([t])
        numbers = self._numbers(times, z[None])
        noise = self._error_bounds(task, rounding) + POLYNOMIAL_ROUNDING * np.abs(numbers)
        signs = {}
        for name, along in self.functions.items():
            columns = [self.columns.index(c) for c in along.columns]
            signs[name] = float(along.sign(times, numbers[:, columns], self.parameters(task, times), noise[:, columns])[0])
        return signs

    def value_at(self, name: str, task: Task, t: float, z: Array) -> float:
        """One of the expressions at a state z, (nz,)."""
        times, along = np.array([t]), self.functions[name]
        numbers = self._numbers(times, z[None])[:, [self.columns.index(c) for c in along.columns]]
        return float(along.at(times, numbers, self.parameters(task, times))[0])


class Rates(NamedTuple):
    """The rate of an expression at a point in a step, 1/s, and the level below which it is rounding."""

    value: float
    noise: float


@dataclass(frozen=True, eq=False)
class WatchedSteps:
    """Watched expressions along some steps."""

    watched: WatchedExpressions
    steps: DenseSteps
    p: Array
    floor: Array

    def _columns_of(self, name: str) -> list[int]:
        watched = self.watched
        return [watched.columns.index(c) for c in watched.functions[name].columns]

    def _steps_of(self, name: str) -> DenseSteps:
        return replace(self.steps, values=self.steps.values[:, :, self._columns_of(name)])

    @property
    def rounding(self) -> Array:
        """The largest rounding of the entries and of their times, (m,): an event is as late as its time has digits."""
        size = np.abs(self.steps.values).max(axis=(0, 1), initial=0.0)
        return POLYNOMIAL_ROUNDING * size + self.steps.moved.max(axis=0, initial=0.0)

    def zeros(self, name: str, before: float, reached: float = 0.0) -> Zeros:
        """All changes of sign of one of them; before: its sign before the first step, 0 if unknown; see `zeros_along`."""
        floor = self.floor[self._columns_of(name)]
        return zeros_along(self.watched.functions[name], self._steps_of(name), self.p, floor, before, reached)

    def rate(self, name: str, step: int, s: float) -> Rates:
        """d/dt of one of them at the position −1 <= s <= 1 in a step."""
        steps, along = self._steps_of(name), self.watched.functions[name]
        half, powers = steps.half[step], steps.powers[:, :, step]
        orders = np.arange(1, len(powers))
        zd = (orders[:, None] * powers[1:] * s ** (orders[:, None] - 1.0)).sum(axis=0) / half
        step_index, p = np.array([step]), self.p if self.p.ndim == 1 else self.p[step]
        p = np.broadcast_to(p, (1, p.shape[-1]))
        t, z = steps.time(step_index, np.array([s])), steps.at(step_index, np.array([s]))
        with np.errstate(all="ignore"):
            y = vm_function(along.guard).batch(t[:, None], z, p, np.ones((1, 1)), zd[None])[0]
            points = np.linspace(-1, 1, 9)
            g = along.at(steps.time(np.repeat(step_index, 9), points), steps.at(np.repeat(step_index, 9), points), p[0])
        return Rates(float(np.ravel(y)[1]), NUMERIC_RATE * float(np.abs(np.diff(g)).max(initial=0.0) * 4 / abs(half)))


__all__ = ["WatchedExpressions", "WatchedSteps"]
