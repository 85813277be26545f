"""The course of a run with friction: its trace and its modes, and what is known at an instant, which is a frozen record.

The functions that lead it on stand beside it: `transitions` (arrive, change, settle), `strikes`, `pairs`, `stretches`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appell.nonsmooth.contact.contact import Instant
from appell.nonsmooth.contact.contact_thresholds import FLOOR
from appell.nonsmooth.friction.decide import UndeterminedFriction
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.thresholds import AT_REST, NO_ENERGY, STATIC_BELOW, VANISHING
from appell.nonsmooth.mode import Mode
from appell.rows import least_change
from appell.simulate.loop.task import Task
from appell.simulate.loop.trace import Trace

if TYPE_CHECKING:
    from appell.nonsmooth.friction.loop import FrictionLoop

Array = NDArray[np.float64]

FIRST_STRETCH, LONGEST_STRETCH = 8, 64
"""Steps between two looks at the guards."""
PROBLEMS_REMEMBERED = 4
"""Problems that are remembered."""


def tolerances(loop: FrictionLoop, task: Task) -> Array:
    """atol (nz,), that of q and v as it is, and what follows from it for what else the state carries:

        watched     |J| atol_v                                     rates of rows, see `FrictionFlow`
        energies    Σ √(E M_ii) atol_q + M_ii |v_i| atol_v,  J     E: the square of the accelerations in the kinetic metric
    """
    nq, nv, atol = loop.form.nq, loop.form.nv, np.array(task.atol, dtype=float)
    q, v = task.z0[:nq].copy(), task.z0[nq : nq + nv].copy()
    problem, out = loop.functions.problem(task.t0, q, v, task.p)
    if not all(np.isfinite(x).all() for x in out.values()):
        return atol  # the run says so itself
    inertia, of_q, of_v = np.maximum(np.diag(problem.M), 0.0), atol[:nq], atol[nq : nq + nv]
    of_q = of_q if nq == nv else np.full(nv, of_q.min())
    energy = np.sqrt(problem.scale[2] * inertia) @ of_q + (inertia * np.abs(v)) @ of_v
    own, rows = loop.functions.layout, np.abs(problem.J) @ of_v
    rows = np.where(rows > 0, rows, of_v.min())
    atol[nq + nv :] = [*rows, *(rows[own.own_rows(i)[0]] for i in range(own.count)), *[max(float(energy), NO_ENERGY)] * 2]
    return atol


@dataclass(frozen=True, eq=False)
class FrictionInstant:
    """The problem of accelerations at a state, its slips (parts,) and the sizes of their terms (parts,)."""

    problem: Problem
    slip: Array
    sizes: Array

    def direction(self, own: FrictionLayout, i: int) -> tuple[float, ...]:
        """s/|s| of a friction."""
        s = self.slip[own.columns(i)]
        return tuple((s / (np.linalg.norm(s) or 1.0)).tolist())


class FrictionCourse:
    """One run: the mode that it is in, and the trace of all modes."""

    def __init__(self, loop: FrictionLoop, task: Task, trace: Trace):
        self.loop, self.trace = loop, trace
        self.task = replace(task, atol=tolerances(loop, task))
        self.own, self.form = loop.functions.layout, loop.form
        self.names = [fr.name for fr in loop.system.frictions]
        self.p = task.p
        self.atol = float(np.min(task.atol))
        self.speed = np.zeros(sum(self.own.parts))  # the largest terms of each slip so far
        self.level = np.zeros(self.own.count)  # slip of each pair below which it may have stopped; it only rises in a mode
        self.bounced: dict[int, float] = {}  # face → when its last bounces, which are not followed, would have ended
        self.stretch = FIRST_STRETCH  # steps between two looks at the guards
        self.before = 0  # steps kept before the last event: of what follows at its instant the last state is kept
        self.largest = 0.0  # square of the largest acceleration so far, in the kinetic metric
        self.known_answer: Answer | None = None  # of the problem in the mode, where it is known
        self.last_numbers: tuple[Mode, Array] | None = None  # the last mode and its numbers
        self.instants: dict[tuple[float, bytes], FrictionInstant] = {}  # the last ones

    @property
    def mode(self) -> Mode:
        return self.trace.modes[-1][1]

    def enter(self, time: float, mode: Mode) -> None:
        """From a time on in a mode, in which other faces may press."""
        trace = self.trace
        self.known_answer, trace.decided_with, self.level = None, self.p, np.zeros(self.own.count)
        trace.enter(mode, time)

    def answer(self) -> Answer:
        """Of the problem in the mode, here."""
        if self.known_answer is None:
            here = self.instant()
            mode = self.mode.directed(self.own, here.slip)
            self.known_answer = here.problem.checked(here.problem.solve(mode), (), mode.closed)
        return self.known_answer

    def look(self, t: Array, z: Array, mode: Mode) -> dict[str, Array]:
        return self.loop.look(t, z, np.tile(self.numbers(mode), (len(t), 1)))

    def numbers(self, mode: Mode) -> Array:
        """Parameters and the numbers of a mode."""
        if self.last_numbers is None or self.last_numbers[0] is not mode:
            self.last_numbers = mode, np.append(self.p, mode.data(self.own))
        return self.last_numbers[1]

    def instant(self, t: float | None = None, z: Array | None = None) -> FrictionInstant:
        """Here, or at another time and state."""
        t, z = (self.trace.t if t is None else t), (self.trace.z if z is None else z)
        nq, nv = self.form.nq, self.form.nv
        key = (t, z[: nq + nv].tobytes())
        if key not in self.instants:
            problem, out = self.loop.functions.problem(
                t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p, VANISHING**2 * self.largest
            )
            if not all(np.isfinite(x).all() for x in out.values()):
                raise UndeterminedFriction("a force or a coefficient of friction is not finite")
            self._check(out)
            while len(self.instants) >= PROBLEMS_REMEMBERED:
                del self.instants[next(iter(self.instants))]
            self.instants[key] = FrictionInstant(problem, out["s"], out["s_size"])
        found = self.instants[key]
        if t == self.trace.t:
            self.largest = max(self.largest, found.problem.scale[2])
        return found

    def _check(self, out: dict[str, Array]) -> None:
        for i, name in enumerate(self.names):
            if out["mu"][i] < 0 or out["mu_static"][i] < 0:
                raise UndeterminedFriction(
                    f"the coefficient or limit of friction '{name}' is negative: {min(out['mu'][i], out['mu_static'][i]):.6g}"
                )
            if out["mu_static"][i] < out["mu"][i] * (1 - STATIC_BELOW) and np.linalg.norm(out["s"][self.own.columns(i)]) == 0:
                raise UndeterminedFriction(
                    f"the static coefficient of friction '{name}', {out['mu_static'][i]:.6g}, is below that of sliding,"
                    f" {out['mu'][i]:.6g}"
                )

    def contact_instant(self) -> Instant:
        nq, nv, z = self.form.nq, self.form.nv, self.trace.z
        return Instant.at(self.form, self.trace.t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p, FLOOR * self.atol)

    def slopes(self, t: float, z: Array, mode: Mode) -> Array:
        """ż of q and v; the rest stays."""
        nq, nv = self.form.nq, self.form.nv
        out = self.look(np.array([t]), z[None], mode)
        qd = self.form.select("qd")(t, z[:nq].copy(), z[nq : nq + nv].copy(), self.p)["qd"]
        return np.concatenate([qd, out["a"][0], np.zeros(len(z) - nq - nv)])

    def states(self, times: Array, steps: tuple[Array, Array], plain: Task) -> Array:
        """The states at times inside the steps, (k, nz)."""
        (t, z), found = steps, np.zeros((len(times), len(plain.z0)))
        places = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        for k in np.unique(places):
            inside = np.flatnonzero(places == k)
            task = replace(plain, t0=float(t[k]), z0=z[k], t_end=float(t[k + 1]), first_step=float(t[k + 1] - t[k]),
                           times=times[inside], max_steps=10_000, keep_steps=False)  # fmt: skip
            *_, there = self.loop.plain.run(task)
            found[inside] = there.z_times
        return found

    def step_of(self, mode: Mode) -> float:
        """The largest of the first steps in a mode, as if the run were to go on for as long again."""
        trace = self.trace
        end = trace.t + self.task.t_end - self.task.t0
        task = replace(self.task, t0=trace.t, z0=trace.z, t_end=end, p=self.numbers(mode), first_step=None,
                       times=np.zeros(0), max_steps=3, keep_steps=True)  # fmt: skip
        *_, there = self.loop.plain.run(task)
        return float(np.diff(there.t_steps).max(initial=0.0))

    def still(self, here: FrictionInstant, i: int) -> bool:
        """Whether a slip is none."""
        part = self.own.columns(i)
        size = max(float(here.sizes[part].max()), float(self.speed[part].max()) if self.trace.modes else 0.0)
        return bool(np.linalg.norm(here.slip[part]) <= AT_REST * size)

    def stop(self, resting: list[int], faces: list[int]) -> bool:
        """v += Δv, the least in the kinetic metric with which the resting frictions have no slip at all; whether there was."""
        own, here = self.own, self.instant()
        rows = [row for i in resting for row in own.own_rows(i)]
        slip = here.slip[[row - own.m - own.faces for row in rows]]
        if not np.any(slip):
            return False
        held = [*range(own.m), *(own.m + f for f in faces), *rows]
        wanted = np.concatenate([np.zeros(len(held) - len(rows)), -slip])
        self.move(here.problem.M, least_change(here.problem.M, here.problem.J[held], wanted))
        return True

    def move(self, M: Array, dv: Array, lost: float = 0.0) -> None:
        """v += Δv and the work of the impulses."""
        nq, nv, trace = self.form.nq, self.form.nv, self.trace
        v = trace.z[nq : nq + nv].copy()
        trace.z[nq : nq + nv] += dv
        trace.z[-1] += float((v + dv / 2) @ M @ dv)
        trace.z[-2] += lost
        self.keep()
        trace.change_times(self.task.times)

    def keep(self) -> None:
        """The state after an event, once."""
        trace = self.trace
        if trace.keep_steps and len(trace.steps) > max(self.before, 1):
            trace.steps.page[trace.steps.used - 1] = np.append(trace.t, trace.z)
        else:
            trace.keep()


__all__ = ["FIRST_STRETCH", "LONGEST_STRETCH", "FrictionCourse", "FrictionInstant"]
