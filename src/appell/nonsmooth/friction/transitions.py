"""From an event to the mode after it: slip that has vanished is set to zero, blows are given, and `decide` finds the mode."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.nonsmooth.contact.events import Kind
from appell.nonsmooth.contact.numbers import LEFT
from appell.nonsmooth.friction.blows import Blows
from appell.nonsmooth.friction.decide import Undetermined, decide, dependent
from appell.nonsmooth.friction.directions import refined
from appell.nonsmooth.friction.guards import HIT, SIGN, STOP, Guard
from appell.nonsmooth.friction.mode import SLIP, STICK, Mode
from appell.nonsmooth.friction.place import AT_REST, SMALL
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.programme import matters
from appell.notes import Note
from appell.rows import saddle_point

Array = NDArray[np.float64]


class Transitions(Blows):
    """Changes of mode."""

    def _arrive(self) -> None:
        """The mode of the start, unless it is known."""
        if self.trace.modes and self.trace.broken is not None:
            self._reread(self.trace.broken)
            return
        if self.trace.modes and self.trace.decided_with is not None and not np.array_equal(self.p, self.trace.decided_with):
            self._settle(set(self.mode.closed), stopped=None)  # under other parameters: what a control gives has changed
            return
        if self.trace.modes:
            return
        at = self._instant()
        if at.approaching:
            self._strike(at, at.approaching)
        self._settle(set(), stopped=None)

    def _reread(self, before: Array) -> None:
        """The mode after a break, before which parameters were others: faces whose rate has jumped are struck or let go, and
        what stuck slides from here on where the jump is one of its slip."""
        at, nq, nv = self._instant(), self.form.nq, self.form.nv
        self._problem()
        slip, sizes, q, v = self.slip, self.sizes, self.trace.z[:nq].copy(), self.trace.z[nq : nq + nv].copy()
        _, out = self.loop.functions.problem(self.trace.t, q, v, before, SMALL**2 * self.largest)
        moved = np.abs(slip - out["s"]) > AT_REST * (sizes + out["s_size"])
        jumped = {i for i in range(self.own.count) if moved[self.own.columns(i)].any()}
        landed = self._strike(at, at.approaching) if at.approaching else set()
        now, struck = self._instant(), bool(at.approaching)
        kept = {i for i in self.mode.closed if i in now.on() and now.g_d[i] <= 2 * now.slow[i]}
        self.trace.broken = None
        self._settle({*kept, *landed}, stopped=None, struck=struck, jumped=jumped)

    def arrive_without_blows(self) -> None:
        """The mode of a state as it is."""
        self._settle(set(), stopped=None)

    def _change(self, event: Guard) -> None:
        """The mode after an event."""
        if event.kind == SIGN:
            raise Undetermined(f"the coefficient or limit of friction '{self.names[event.number]}' becomes negative")
        if event.kind == HIT:
            self._hit(event.number)
            return
        if event.kind == STOP and self.own.parts[event.number] > 1 and not self._stops(event.number):
            self.level[event.number] = 0.0
            return
        self._settle(set(self.mode.closed), stopped=event.number if event.kind == STOP else None)

    def _hit(self, face: int) -> None:
        at = self._instant()
        near = [i for i in at.on() if i not in self.mode.closed and at.g_d[i] < -at.slow[i]]
        hits = sorted({face, *near}) if at.g_d[face] < 0 else near
        landed = self._strike(at, hits) if hits else {face}
        now = self._instant()
        kept = {i for i in self.mode.closed if now.g_d[i] <= 2 * now.slow[i]}  # the blow may have lifted others
        self._settle({*kept, *landed}, stopped=None, struck=bool(hits))

    def _settle(
        self, closed: set[int], stopped: int | None, *, struck: bool = False, jumped: Collection[int] = ()
    ) -> None:  # fmt: skip
        """Slip that has vanished is set to zero, and the next mode is found. After a blow what stuck may slide, and so may
        the frictions whose slip has `jumped`."""
        trace, own = self.trace, self.own
        at = self._instant()
        faces = sorted({i for i in (*closed, *at.on()) if abs(at.g_d[i]) <= at.slow[i] or i in closed})
        problem = self._problem()
        was = trace.modes[-1][1].rubs if trace.modes and not struck else None
        resting = [
            i for i in range(own.count) if not own.smooth[i]
            and (i == stopped or (was is not None and was[i].state == STICK and i not in jumped) or self._still(i))
        ]  # fmt: skip
        self._stop(problem, resting, faces if not closed else sorted(closed))
        problem = self._problem()
        slipping = {i: self._direction(i) for i in range(own.count) if i not in resting}
        ahead = lambda mode, part: self._ahead(mode, part, resting, faces)
        answer = decide(problem, faces, resting, slipping, ahead, self.names)
        mode, before = answer.mode, trace.modes[-1][1].closed if trace.modes else ()
        self.enter(trace.t, mode)
        self.answer = answer
        for face in sorted(set(before) - set(mode.closed)):
            trace.record(face, Kind.LEAVING, 0.0, float(at.g_d[face]), 0.0)
        for face in sorted(set(mode.closed) - set(before)):
            trace.record(face, Kind.LANDING, float(at.g_d[face]), 0.0, 0.0, self.bounced.get(face))
        self.bounced.clear()
        self._note(problem, answer)
        self._press()
        if any(rub.fixed for rub in mode.rubs):
            self._begin()

    def _press(self) -> None:
        """Rates that count as none, of faces that are closed now, become none by impulses as the mode has them, Coulomb's law
        among them: what bouncing that is not followed any more would have given, beside the reactions of the contact."""
        at, own, problem = self._instant(), self.own, self._problem()
        mode = self.mode.directed(own, self.slip)
        if not any(abs(at.g_d[f]) > LEFT * at.slow[f] for f in mode.closed):
            return
        rates = np.concatenate([np.zeros(own.m), at.g_d, self.slip])
        held, sliding = mode.acting(own), [i for i, rub in enumerate(mode.rubs) if rub.state == SLIP and not own.smooth[i]]
        for W in (problem.columns(mode)[0], problem.J.T):  # by ideal impulses where friction would be pulled through its stop
            dv = saddle_point(problem.M, problem.J[held], W[:, held], np.zeros(len(at.v)), -rates[held]).x
            after = rates + problem.J @ dv
            if all(after[own.own_rows(i)] @ rates[own.own_rows(i)] > 0 for i in sliding):
                break
        self._move(problem.M, dv)
        self.answer = None

    def _note(self, problem: Problem, answer: Answer) -> None:
        """Says once where forces of friction are not unique."""
        free = answer.free
        if not free.shape[1] or not matters(problem, answer):
            return
        own, system = self.own, self.loop.system
        normals = [c.name for c in (*system.constraints, *system.unilateral)]
        rows = [(row, normals[row]) for row in range(own.m + own.faces)]
        rows += [(row, name) for i, name in enumerate(self.names) for row in own.own_rows(i)]
        names = tuple(dict.fromkeys(name for row, name in rows if np.abs(free[row]).max() > 1e-9 * np.abs(free).max()))
        if any(note.kind == "indeterminate" and note.constraints == names for note in self.trace.notes):
            return
        text = "reactions are not unique; whether they hold is decided by a linear programme over the cones"
        listed = ", ".join(f"'{name}'" for name in names)
        self.trace.notes.append(Note(f"{listed}: {text}", time=self.trace.clock, kind="indeterminate", constraints=names))

    def _ahead(self, mode: Mode, part: float, resting: list[int], faces: list[int]) -> float:
        """The slack of a mode after a part of its first step."""
        trace = self.trace
        mode = replace(mode, idle=dependent(self._problem(), mode))
        task = replace(self.task, t0=trace.t, z0=trace.z, p=self._numbers(mode), first_step=None,
                       times=np.zeros(0), max_steps=1, keep_steps=True)  # fmt: skip
        *_, there = self.loop.plain.run(task)
        if len(there.t_steps) < 2:
            return -np.inf
        time = trace.t + part * float(there.t_steps[1] - trace.t)
        z = self._states(np.array([time]), (there.t_steps, there.z_steps), task)[0]
        return self._slack(mode, time, z, resting, faces)

    def _slack(self, mode: Mode, t: float, z: Array, resting: list[int] | None = None, faces: list[int] | None = None) -> float:
        try:
            problem = self._problem(t, z)
            mode = mode.directed(self.own, self.slip)
            mode = refined(problem, mode) or mode  # pairs that begin have the directions of then, too
            answer = problem.checked(problem.solve(mode), resting or [], list(mode.closed) if faces is None else faces)
        except (AppellError, np.linalg.LinAlgError):
            return -np.inf
        finally:
            self._problem()
        return answer.slack if answer.solvable else -np.inf


__all__ = ["Transitions"]
