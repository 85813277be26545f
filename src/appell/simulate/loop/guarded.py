"""A loop with a rank guard: where rows are about to lose rank, the steps of `passage` take over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.loop.rank_criteria import (
    PASSAGE_RANK_RISEN,
    rank_digits_lost,
    rank_fallen,
    rank_noted,
    rank_vanishes,
    rank_vanishes_soon,
    rows_involved,
)
from appell.loop.task import Loop, Task
from appell.loop.trace import Statistics, Trace
from appell.modes.gap_floor import floor_of
from appell.nonsmooth.contact.contact_functions import gap_functions
from appell.nonsmooth.contact.instant import Instant
from appell.nonsmooth.contact.step_guards import Guards, face_root
from appell.nonsmooth.criteria import on_face
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow
from appell.notes import Note
from appell.roots.guard import GuardAlong, StepPolynomial
from appell.simulate.loop.passage import PASSAGE_STEPS, Passage
from appell.simulate.loop.rank_loss import EPS, AcceptedStep, ChangePoint, NoPassage, RankState

Array = NDArray[np.float64]

STEP_NODES = (1 - np.cos(np.pi * np.arange(8) / 7)) / 2
"""Points of a step that determine its dense output, of degree 7."""

STEPS_TO_FACE = 0.05
"""Fraction of the first step below which steps that reach a face are left to the loop, which handles impacts."""


STEPS_NEAR_RANK_LOSS = 300
"""Most steps taken here because σ is small and falling; the ordinary step control would follow its noise."""


TOLERANCES_NEAR_RANK_LOSS = 0.1
"""Tolerances near a loss of rank, as a fraction of those of the run: the error estimate is blind to the vanishing directions,
and states are projected with nearly dependent rows. With the full tolerances, motions of parallelograms have five to seventeen
times the error of the same motions in one angle; with a tenth they are as accurate."""

FINEST_RTOL_NEAR_RANK_LOSS = 1e-12
"""Smallest rtol near a loss of rank: below it, the rounding of accelerations, ε/σ³, would count as an error."""


POINT_IN_STEP, STEP_BEFORE_POINT = 0.466, 0.43
"""Where in a step a loss of rank is placed: halfway between the stages at 1/3 and 0.6, as a fraction of the step. A step that
would end closer to it than that ends before it, so that this fraction of its length is left to the point."""
LOOK_AHEAD = 1.5
"""Steps in which a loss of rank is looked for: it may lie behind the end of this step, and must not be near it."""
PASSAGE_SAFETY, PASSAGE_SHRINK, PASSAGE_GROW = 0.9, 0.2, 10.0
"""Hairer's numbers for the step sizes of a method of order 8 (II.10)."""
RETRIED = 0.3
"""Factor of a step that is repeated where its error says nothing: accelerations failed, or branches miss each other."""
HELD_STEPS = 3
"""Steps near a loss of rank after a failure, whatever σ says."""
ONLY_NOISE = 0.01
"""Fraction of the tolerance above which the rounding of accelerations, ε (σ_1/σ)³, makes the error estimate blind."""
LEAST_OF_LARGEST = 0.05
"""Lower bound of the σ that a direction has away from the point, as a fraction of σ_1 here: it may not have been seen yet."""

VANISHED_UNREVERSED = 1e-3
"""Fraction of the smaller σ of both ends below which rank is lost inside a step although no rows are reversed in it."""


@dataclass(frozen=True, eq=False)
class RankedLoop:
    """`loop` with a rank guard; size: scales of the rows at the start of the run, (m,)."""

    loop: Loop
    form: NormalForm
    flow: Flow
    size: Array

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        quiet, handed_back = np.inf, None
        while True:
            for _ in self.loop.run(task.watching(self.size, quiet), trace):
                if trace.status is Status.BUFFER_FULL:
                    yield trace
            if trace.status is not Status.RANK:
                yield trace
                return
            passage = _RankPassage(self, task, trace, stuck=handed_back == trace.t)
            yield passage.go()
            if trace.status is not Status.BUFFER_FULL:
                return
            quiet, handed_back = passage.quiet, trace.t


class _Faces:
    """Unilateral constraints on the way; the loop itself handles them."""

    def __init__(self, form: NormalForm, task: Task):
        self.form, self.p, self.rtol = form, task.p, task.rtol
        self.gaps, self.floor = gap_functions(form), floor_of(np.asarray(task.atol), form.nq)

    def reaches_face(self, step: AcceptedStep) -> bool:
        """Whether a face is reached inside a step, by interval bounds, or that cannot be excluded."""
        t, h = step.start.t, step.end.t - step.start.t
        powers = StepPolynomial.through(STEP_NODES, np.array([step.at(t + x * h)[: self.form.nq] for x in STEP_NODES]), t, h)
        (begin, touching), (end, _) = self._guards(step.start), self._guards(step.end)
        roots = (
            face_root(
                GuardAlong(*gap, powers, self.p), i, 0.0, begin, end, touching=bool(touching[i]), changes=0, rtol=self.rtol
            )
            for i, gap in enumerate(self.gaps)
        )
        return any(root.theta is not None or root.lost for root in roots)

    def _guards(self, state: RankState) -> tuple[Guards, NDArray[np.bool_]]:
        """The distances at a state, and which faces it touches."""
        nq, nv = self.form.nq, self.form.nv
        faces = Instant.at(self.form, state.t, state.z[:nq], state.z[nq : nq + nv], self.p, self.floor)
        return Guards(faces.g, faces.g_d, faces.g_v @ state.a + faces.g_dd0, faces.noise), on_face(faces.g, faces.noise)


class _RankPassage:
    """Steps through the neighbourhood of one loss of rank, from the current state of the trace."""

    def __init__(self, loop: RankedLoop, task: Task, trace: Trace, *, stuck: bool):
        assert loop.flow.guarded is not None
        self.task, self.trace, self.direction = task, trace, task.direction
        has_work = loop.flow.has_work
        finer = min(1.0, max(TOLERANCES_NEAR_RANK_LOSS, FINEST_RTOL_NEAR_RANK_LOSS / task.rtol)) if task.rtol else 1.0
        tolerances = finer * task.rtol, finer * np.asarray(task.atol)
        self.passage = Passage(loop.form, task.p, loop.flow.guarded.rank, loop.size, *tolerances, has_work)
        self.state = self.passage.rank_state(trace.t, trace.z.copy())
        self.index = self.passage.rank - 1
        self.reference = max(trace.sigma, float(self.state.sigma[self.index]))
        self.faces = _Faces(loop.form, task) if loop.form["g"].numel() else None
        self.stuck, self.first = stuck, 0.0  # whether the ordinary loop is stuck here; the size of the first step
        self.largest = np.maximum(self.state.sigma[: self.passage.rank], 0.0)
        self.quiet = float(self.state.sigma[self.index])
        self.careful_steps, self.rejected_last, self.no_jump_until = 0, False, -np.inf
        self.patience, self.noted_close = STEPS_NEAR_RANK_LOSS, False
        self.before: tuple[float, float] | None = None  # σ and size of the last step
        self.missed_at = -np.inf

    def go(self) -> Trace:
        """Steps until the rank is safe again; the status is BUFFER_FULL, or that of the end of the run."""
        try:
            status = self._steps()
        except (NoPassage, np.linalg.LinAlgError) as reason:
            status = Status.SINGULAR
            text = f"stopped near a loss of rank at t = {self.trace.clock:.9g}: {reason}"
            self.trace.notes.append(Note(text, time=self.trace.clock, kind="singular", constraints=tuple(self.passage.names)))
        self.trace.sigma = max(self.trace.sigma, self.reference)
        work = Statistics(self.passage.evaluations, 0, self.passage.rejected)
        self.trace.statistics = self.trace.statistics + work
        return self.trace.ended(status)

    def _steps(self) -> Status:
        """Steps until the rank is safe again: BUFFER_FULL, or OK at the end of the run."""
        self.first = h = min(abs(self.trace.next_step or 1e-4), self.task.max_step)
        for _ in range(PASSAGE_STEPS):
            if h < 1e-13 * max(1.0, abs(self.state.t)):
                raise NoPassage("the steps became too small: the branches are too close together to be told apart")
            n_notes = len(self.trace.notes)
            step, h = self._trial(h)
            if step is None:
                continue
            if self.faces is not None and self.faces.reaches_face(step):
                del self.trace.notes[n_notes:]
                h = abs(step.end.t - step.start.t) / 2
                if h > STEPS_TO_FACE * self.first or self.stuck:
                    continue
                self.trace.next_step, self.quiet = h, float(self.state.sigma[self.index])
                return Status.BUFFER_FULL
            if self._move(step):
                return Status.OK
            self.trace.next_step, self.stuck = h, False
            if not self._needs_care(h, None) and not self.careful_steps and not self._sigma_falls():
                self.quiet = float(self.state.sigma[self.index])
                return Status.BUFFER_FULL
        raise NoPassage("too many steps")

    def _sigma_falls(self) -> bool:
        """Whether σ is near zero and decreasing."""
        sigma = float(self.state.sigma[self.index])
        self.patience -= 1
        return self.patience > 0 and rank_noted(sigma, self.reference) and self.before is not None and sigma < self.before[0]

    def _needs_care(self, h: float, distance: float | None) -> bool:
        """Whether a step of h needs the care of `passage`; distance: to a loss of rank ahead, None for none in sight."""
        sigma = float(self.state.sigma[self.index])
        if distance is not None or self.careful_steps > 0:
            return True
        if self.before is None or not rank_fallen(sigma, self.reference):
            return False
        sigma_before, duration = self.before
        return bool(rank_vanishes_soon(abs(sigma - sigma_before), sigma, duration, h))

    def _trial(self, h: float) -> tuple[AcceptedStep | None, float]:
        """One trial step: the step if it is accepted, and the next size."""
        passage, state, jump = self.passage, self.state, False
        proposed = h = passage.within_sight(state, self.direction * h, self.reference)
        to_loss = None
        if self.direction * state.t > self.no_jump_until:
            distance = passage.ahead(state, self.direction * LOOK_AHEAD * h)
            to_loss = None if distance is None else abs(distance)
        if to_loss is not None:
            if to_loss <= POINT_IN_STEP * h:
                h, jump = to_loss / POINT_IN_STEP, True
            elif to_loss < (1 + POINT_IN_STEP) * h:
                h = to_loss - STEP_BEFORE_POINT * h
        is_near = self._needs_care(h, to_loss) or rank_noted(float(state.sigma[self.index]), self.reference)
        sigma = float(state.sigma[self.index])
        try:
            step, errors, stages, turn = passage.attempt(state, self.direction * h, is_near)
            error = passage.error(step, errors, self._blind(step, stages, h, is_near))
            bad = turn > 1
        except (NoPassage, np.linalg.LinAlgError):
            step, stages, error, bad = None, [], np.inf, True
        if step is None or bad or not error <= 1:
            passage.rejected += 1
            self.rejected_last = True
            shrunk = max(PASSAGE_SHRINK, PASSAGE_SAFETY * error ** (-1 / 8)) if np.isfinite(error) and error > 1 else RETRIED
            if bad or to_loss is not None:
                self.careful_steps = HELD_STEPS
            return None, (h if jump or to_loss is None or h >= proposed else min(proposed, h)) * shrunk
        shorter = self._crossing(step, stages, jump, is_near, h)
        if shorter is not None:
            return None, shorter
        wished = PASSAGE_SAFETY * max(error, 1e-16) ** (-1 / 8)
        grow = min(1.0 if self.rejected_last else PASSAGE_GROW, max(PASSAGE_SHRINK, wished))
        self.rejected_last = False
        following = max(proposed, h * min(grow, 1.0)) if to_loss is not None and not jump and h < proposed else h * grow
        self.before = sigma, h
        least_sigma = min([float(step.end.sigma[self.index]), *stages])
        if rank_digits_lost(least_sigma, self.reference):
            raise NoPassage(f"the rows are dependent within rounding (σ = {least_sigma:.1e}): a singular configuration")
        close, already_noted = rank_noted(least_sigma, self.reference), self.noted_close
        already_noted |= any(abs(note.time - step.end.t) < 10 * h for note in self.trace.notes if note.time is not None)
        self.noted_close = close
        if close and not already_noted:
            names = tuple(passage.names[i] for i in rows_involved(step.end.rows.svd[2][[self.index]]))
            self._note_passage(ChangePoint(step.end.t, names, False, least_sigma))
        return step, min(following, self.task.max_step)

    def _blind(self, step: AcceptedStep, stages: list[float], h: float, is_near: bool) -> Array | None:
        """The vanishing directions, if the error estimate contains only noise in them."""
        passage, state, end = self.passage, step.start, step.end
        if not is_near or passage.nq != passage.nv:
            return None
        r, v = passage.rank, passage.split(state.z)[1]
        least_sigma = min([float(end.sigma[self.index]), float(state.sigma[self.index]), *stages])
        top = max(self.reference, LEAST_OF_LARGEST * float(state.sigma[0]))
        tolerance = np.min(passage.atol[passage.nq : passage.nq + passage.nv] + passage.rtol * np.abs(v))
        if not h * EPS * (top / least_sigma) ** 3 * np.abs(state.a).max() / tolerance > ONLY_NOISE:
            return None
        vanishing = (
            np.minimum(state.sigma[:r], end.sigma[:r]) < 0.5 * np.maximum(self.largest, LEAST_OF_LARGEST * state.sigma[0])
        )  # fmt: skip
        return end.rows.svd[0][:, :r][:, vanishing]

    def _crossing(self, step: AcceptedStep, stages: list[float], jump: bool, is_near: bool, h: float) -> float | None:
        """The loss of rank inside a step; a shorter size if the step must be repeated."""
        passage = self.passage
        ends = min(float(step.start.sigma[self.index]), float(step.end.sigma[self.index]))
        least = passage.least(step.start.rows, step.end.rows)
        if not (jump or least < 0 or rank_vanishes(min(stages), ends)):
            return None
        losses = [
            loss
            for loss in passage.saddles(step, ends)
            if rank_vanishes(loss.sigma, ends) and (least < 0 or (loss.vanishing and loss.sigma < VANISHED_UNREVERSED * ends))
        ]
        for k, loss in enumerate(losses):
            if loss.meets:
                continue
            passage.rejected += 1
            self.careful_steps, self.rejected_last = HELD_STEPS, True
            if k == 0:  # if it is a later one, its turn will come
                if abs(loss.time - self.missed_at) > h:
                    self._note_passage(ChangePoint(loss.time, loss.rows, False, loss.gap))
                self.missed_at, self.no_jump_until = loss.time, self.direction * loss.time
            return RETRIED * h
        if losses and not is_near:  # once more with projected stages
            passage.rejected += 1
            self.careful_steps = HELD_STEPS
            return h
        for loss in losses:
            self._note_passage(ChangePoint(loss.time, loss.rows, True, loss.gap, on_velocities=not passage.holonomic.all()))
        return None

    def _note_passage(self, met: ChangePoint) -> None:
        """Adds a note about a loss of rank that was passed, or nearly met."""
        if self.direction * (met.time - self.task.t_end) > 0:  # the step goes beyond the end: not yet passed
            return
        names, time = ", ".join(f"'{name}'" for name in met.rows), self.trace.origin + met.time
        if met.meets and met.on_velocities:
            text = (
                f"change point at t = {time:.9g}: the rows of constraints ({names}) vanish with the velocities and come back"
                " in the same direction; the motion went on smoothly. Reactions are not defined there"
            )
        elif met.meets:
            text = (
                f"change point at t = {time:.9g}: constraints ({names}) lose rank, and branches of the motion meet; it went"
                " on smoothly. A small error in lengths would lead to another branch, and reactions are not defined there"
            )
        else:
            text = f"near miss at t = {time:.9g}: constraints ({names}) come close to losing rank; accuracy is reduced there"
        kind = "change point" if met.meets else "near miss"
        self.trace.notes.append(Note(text, time=time, kind=kind, constraints=met.rows))

    def _move(self, step: AcceptedStep) -> bool:
        """Advances the trace to the end of a step, or to the end of the task inside it; True in the latter case."""
        task, trace, end = self.task, self.trace, step.end
        reaches_end = self.direction * (task.t_end - end.t) <= 0
        t_new = task.t_end if reaches_end else end.t
        times = task.times[trace.passed :]
        passed_times = times[self.direction * (times - t_new) <= 0]
        trace.pass_times([step.at(t) if t != end.t else end.z for t in passed_times])
        trace.statistics = trace.statistics + Statistics(accepted=1)
        trace.move(t_new, end.z if t_new == end.t else step.at(t_new))
        self._check_rank(end)
        return reaches_end

    def _check_rank(self, end: RankState) -> None:
        """Checks the rank at the end of a step, and prepares the next one."""
        passage = self.passage
        if passage.rank < len(end.sigma) and end.sigma[passage.rank] > PASSAGE_RANK_RISEN:
            raise NoPassage("constraints that were redundant are not any more: the rank of the rows rises")
        f = np.abs(end.blocks["f0"])
        if passage.rank < len(passage.s) and np.any(f > 1e-12 * end.blocks["f0_scale"] + 1e-300):
            raise NoPassage("constraints that were redundant are violated: they contradict the others")
        self.state, self.careful_steps = end, max(0, self.careful_steps - 1)
        self.reference = max(self.reference, float(end.sigma[self.index]))
        self.largest = np.maximum(self.largest, end.sigma[: passage.rank])
