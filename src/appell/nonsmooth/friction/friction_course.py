"""The memory of a run about its frictions (`FrictionMemory`), and their data at one instant (`FrictionInstant`, frozen).

The functions that advance the run are in `friction_laws` (arrive, settle), `strikes`, `pairs` and `stretches`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appell.loop.task import Task
from appell.loop.trace import Trace
from appell.modes.contact_thresholds import GAP_FLOOR
from appell.modes.mode import Mode
from appell.nonsmooth.criteria import slip_rests
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.thresholds import ACCELERATIONS_VANISHING, BELOW_ZERO, NO_ENERGY, STATIC_BELOW
from appell.nonsmooth.mode_course import ModeCourse
from appell.rows import least_change

if TYPE_CHECKING:
    from appell.nonsmooth.friction.loop import FrictionLoop
    from appell.nonsmooth.friction.steps import Steps

Array = NDArray[np.float64]

FIRST_STRETCH, LONGEST_STRETCH = 8, 64
"""Steps between two examinations of the guards."""
STEPS_MADE_AGAIN = 10_000
"""Bound on the steps in which steps of a stretch are made again; it is far from reached."""
PROBLEMS_REMEMBERED = 4
"""Instants whose problems are cached: a transition asks for the same few of them several times."""


def tolerances(loop: FrictionLoop, task: Task) -> Array:
    """atol of the whole state, (nz,): that of q and v as given, and for the other entries what follows from it:

        watched     |J| atol_v                                     rates of rows, see `FrictionFlow`
        energies    Σ √(E M_ii) atol_q + M_ii |v_i| atol_v,  J     E: the square of the accelerations in the kinetic metric
    """
    nq, nv, atol = loop.form.nq, loop.form.nv, np.array(task.atol, dtype=float)
    layout, v, of_q, of_v = loop.functions.layout, task.z0[nq : nq + nv], atol[:nq], atol[nq : nq + nv]
    if (scales := _compiled_start(loop, task, of_v)) is None and (scales := _start(loop, task, of_v)) is None:
        return atol  # the run itself reports that its state is not finite
    E, inertia, rows = scales
    of_q = of_q if nq == nv else np.full(nv, of_q.min())
    energy = np.sqrt(E * inertia) @ of_q + (inertia * np.abs(v)) @ of_v
    rows = np.where(rows > 0, rows, of_v.min())
    atol[nq + nv :] = [*rows, *(rows[layout.own_rows(i)[0]] for i in range(layout.count)), *[max(float(energy), NO_ENERGY)] * 2]
    return atol


def _start(loop: FrictionLoop, task: Task, of_v: Array) -> tuple[float, Array, Array] | None:
    """E, inertia of each velocity (nv,) and |J| atol_v of the rows, (R,), at the start; None if they are not finite."""
    nq, nv = loop.form.nq, loop.form.nv
    problem, blocks = loop.functions.problem(task.t0, task.z0[:nq].copy(), task.z0[nq : nq + nv].copy(), task.p)
    if not _finite(blocks):
        return None
    return problem.scale[2], np.maximum(problem.M.diagonal(), 0.0), np.abs(problem.J) @ of_v


def _compiled_start(loop: FrictionLoop, task: Task, of_v: Array) -> tuple[float, Array, Array] | None:
    """`_start` by compiled code; None if there is none, or if it leaves the case to Python."""
    if loop.compiled is None:
        return None
    nv, out, pointer = loop.form.nv, np.empty(1 + loop.form.nv + loop.functions.layout.rows), loop.compiled.ffi.from_buffer
    arrays = (pointer("double[]", array) for array in (task.z0, task.p, of_v, out))
    return (out[0], out[1 : 1 + nv], out[1 + nv :]) if loop.compiled.lib.appell_friction_start(task.t0, *arrays) else None


def _finite(blocks: Mapping[str, Array]) -> bool:
    return bool(np.isfinite(np.concatenate([x.ravel() for x in blocks.values()])).all())


@dataclass(frozen=True, eq=False)
class FrictionInstant:
    """The complementarity problem of the accelerations at a state, the slips (parts,), and the size of their terms (parts,)."""

    problem: Problem
    slip: Array
    sizes: Array

    def direction(self, layout: FrictionLayout, i: int) -> tuple[float, ...]:
        """s/|s| of friction i."""
        s = self.slip[layout.columns(i)]
        return tuple((s / (np.linalg.norm(s) or 1.0)).tolist())


@dataclass
class FrictionMemory:
    """The memory of one run about its frictions.

    atol: the smallest of the task. speed: (parts,) the largest terms of each slip so far. level: (frictions,) slip of each pair
    below which it may have stopped; it never falls within a mode. bounced: face → time at which the bounces that are not
    simulated would have ended, s. stretch: steps between two examinations of the guards. largest: square of the largest
    acceleration so far, in the kinetic metric. answer: solution of the problem in the current mode, if known. numbers: the last
    mode and its encoding. instants: recent ones, cached. steps: the compiled steps, if there are any.
    """

    atol: float
    speed: Array
    level: Array
    bounced: dict[int, float] = field(default_factory=dict)
    stretch: int = FIRST_STRETCH
    largest: float = 0.0
    answer: Answer | None = None
    numbers: tuple[Mode, Array] | None = None
    instants: dict[tuple[float, bytes], FrictionInstant] = field(default_factory=dict)
    steps: Steps | None = None


def friction_course(loop: FrictionLoop, task: Task, trace: Trace) -> ModeCourse:
    """The course of a run with friction."""
    layout, atol = loop.functions.layout, float(np.min(task.atol))
    memory = FrictionMemory(atol, np.zeros(sum(layout.parts)), np.zeros(layout.count))
    course = ModeCourse(loop, task.adjusted(atol=tolerances(loop, task)), trace, GAP_FLOOR * atol, layout, memory)
    course.steps_before_ending = 0
    return course


def enter(course: ModeCourse, time: float, mode: Mode) -> None:
    """Enters a mode at a time, and forgets what was known in the previous one."""
    memory, trace = course.friction, course.trace
    memory.answer, trace.decided_with, memory.level = None, course.p, np.zeros(course.layout.count)
    trace.enter(mode, time)


def answer_here(course: ModeCourse) -> Answer:
    """The solution of the problem in the current mode and state."""
    memory = course.friction
    if memory.answer is None:
        instant = friction_instant(course)
        mode = course.mode.directed(course.layout, instant.slip)
        memory.answer = instant.problem.checked(instant.problem.solve(mode), (), mode.closed)
    return memory.answer


def guard_data_in_mode(course: ModeCourse, t: Array, z: Array, mode: Mode) -> dict[str, Array]:
    """Outputs of `FrictionFunctions.guard_data` by name, at states (k, nz) in a mode."""
    return course.loop.guard_data(t, z, np.tile(numbers_of(course, mode), (len(t), 1)))


def numbers_of(course: ModeCourse, mode: Mode) -> Array:
    """The parameters, followed by the numbers that encode a mode."""
    memory = course.friction
    if memory.numbers is None or memory.numbers[0] is not mode:
        memory.numbers = mode, np.append(course.p, mode.data(course.layout))
    return memory.numbers[1]


def friction_instant(course: ModeCourse, t: float | None = None, z: Array | None = None) -> FrictionInstant:
    """The instant at the current state, or at another time and state."""
    trace, memory = course.trace, course.friction
    t, z = (trace.t if t is None else t), (trace.z if z is None else z)
    nq, nv = course.form.nq, course.form.nv
    key = (t, z[: nq + nv].tobytes())
    if key not in memory.instants:
        least = ACCELERATIONS_VANISHING**2 * memory.largest
        problem, blocks = course.loop.functions.problem(t, z[:nq].copy(), z[nq : nq + nv].copy(), course.p, least)
        if not _finite(blocks):
            raise UndeterminedFriction("a force or a coefficient of friction is not finite")
        _check(course, blocks, problem)
        while len(memory.instants) >= PROBLEMS_REMEMBERED:
            del memory.instants[next(iter(memory.instants))]
        memory.instants[key] = FrictionInstant(problem, blocks["s"], blocks["s_size"])
    instant = memory.instants[key]
    if t == trace.t:
        memory.largest = max(memory.largest, instant.problem.scale[2])
    return instant


def _check(course: ModeCourse, blocks: dict[str, Array], problem: Problem) -> None:
    """Refuses coefficients and limits that are negative by more than at a bend: 0.3 |x − 1| where the side of x − 1 changes."""
    layout = course.layout
    for i, name in enumerate(course.names):
        mu, static = float(blocks["mu"][i]), float(blocks["mu_static"][i])
        size = float(problem.scale[0][layout.own_rows(i)].max()) if layout.limited(i) else 1.0
        if min(mu, static) < -BELOW_ZERO * size:
            raise UndeterminedFriction(f"the coefficient or limit of friction '{name}' is negative: {min(mu, static):.6g}")
        if mu - static > STATIC_BELOW * abs(mu) and np.linalg.norm(blocks["s"][layout.columns(i)]) == 0:
            raise UndeterminedFriction(
                f"the static coefficient of friction '{name}', {static:.6g}, is below that of sliding, {mu:.6g}"
            )


def slopes(course: ModeCourse, t: float, z: Array, mode: Mode) -> Array:
    """ż, with zeros except for q and v."""
    nq, nv = course.form.nq, course.form.nv
    outputs = guard_data_in_mode(course, np.array([t]), z[None], mode)
    qd = course.form.select("qd")(t, z[:nq].copy(), z[nq : nq + nv].copy(), course.p)["qd"]
    return np.concatenate([qd, outputs["a"][0], np.zeros(len(z) - nq - nv)])


def states_inside(course: ModeCourse, times: Array, steps: tuple[Array, Array], plain: Task) -> Array:
    """The states at times inside the steps, (k, nz)."""
    (t, z), states = steps, np.zeros((len(times), len(plain.z0)))
    step_numbers = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    for k in np.unique(step_numbers):
        indices = np.flatnonzero(step_numbers == k)
        task = replace(plain, t0=float(t[k]), z0=z[k], t_end=float(t[k + 1]), first_step=float(t[k + 1] - t[k]),
                       times=times[indices], max_steps=STEPS_MADE_AGAIN, keep_steps=False)  # fmt: skip
        *_, repeated = course.loop.plain.run(task)
        states[indices] = repeated.z_times
    return states


def step_of(course: ModeCourse, mode: Mode) -> float:
    """The largest of the first three steps in a mode, in a trial run as long as the whole task."""
    trace = course.trace
    end = trace.t + course.task.t_end - course.task.t0
    task = replace(course.task, t0=trace.t, z0=trace.z, t_end=end, p=numbers_of(course, mode), first_step=None,
                   times=np.zeros(0), max_steps=3, keep_steps=True)  # fmt: skip
    *_, trial = course.loop.plain.run(task)
    return float(np.diff(trial.t_steps).max(initial=0.0))


def at_rest(course: ModeCourse, here: FrictionInstant, i: int) -> bool:
    """Whether a slip is zero to rounding."""
    columns = course.layout.columns(i)
    size = max(float(here.sizes[columns].max()), float(course.friction.speed[columns].max()) if course.trace.modes else 0.0)
    return bool(slip_rests(np.linalg.norm(here.slip[columns]), size))


def stop_slips(course: ModeCourse, resting: list[int], faces: list[int]) -> bool:
    """v += Δv, the smallest in the kinetic metric that removes the slip of resting frictions; returns whether there was any."""
    layout, instant = course.layout, friction_instant(course)
    rows = [row for i in resting for row in layout.own_rows(i)]
    slip = instant.slip[[row - layout.m - layout.faces for row in rows]]
    if not np.any(slip):
        return False
    fixed_rows = [*range(layout.m), *(layout.m + f for f in faces), *rows]
    changes = np.concatenate([np.zeros(len(fixed_rows) - len(rows)), -slip])
    course.move(instant.problem.M, least_change(instant.problem.M, instant.problem.J[fixed_rows], changes))
    return True


__all__ = ["FIRST_STRETCH", "LONGEST_STRETCH", "STEPS_MADE_AGAIN", "FrictionInstant", "FrictionMemory", "friction_course"]
