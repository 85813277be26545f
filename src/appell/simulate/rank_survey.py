"""Rank of the rows along a motion that the rank guard did not watch: in contact with walls, with fixed steps, …

With Y = L⁻¹Aᵀ/w as at the start (`rows.row_space`) and σ its smallest singular value of rank r at the steps of the motion,

    σ < `DIGITS_LOST` of the largest              the rows are dependent to rounding; accelerations have no correct digits
    σ beyond the rank > `RANK_RISEN`            rows that were redundant are no longer so
    min Re eig(Y_k⁺ Y_{k+1}) < 0           rank was lost between two states: a change point, where branches of the motion meet

`simulate.surveyed_rows` chooses the states that are examined, also between steps in which rows may turn all the way round.

A change point with smooth velocities becomes a note; one at which they jump, onto another branch, becomes a doubt, and so does
one at which the branches miss each other (`simulate.loop.passage`) by less than the steps can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.graph.algebra import depends
from appell.loop.held_inputs import last_change
from appell.loop.rank_criteria import rank_digits_lost, rank_noted, rank_risen, rank_vanishes
from appell.modes.mode import Mode
from appell.nonsmooth.friction.sampled_accelerations import accelerations_along
from appell.normal_form import NormalForm
from appell.notes import Note
from appell.remember import remembered
from appell.rows import null_space, singular, turns
from appell.simulate.loop.passage import Passage
from appell.simulate.loop.rank_loss import NoPassage
from appell.simulate.loop.vanishing import LARGEST_STEADY_GROWTH, growth
from appell.simulate.surveyed_rows import FIRST_STATES_SURVEYED, STATES_SURVEYED, SurveyedRows

Array = NDArray[np.float64]

PLACES_BETWEEN_STEPS = 8
"""Points between two steps at which rows that turned are examined."""

VANISHED_BETWEEN = 0.5
"""Fraction of the larger σ of two places below which rows that were reversed vanished between them, and did not only turn."""

ONE_CROSSING = 3
"""Steps within which rows that turn several times lose rank once: near that point their values are noise."""

STEPS_BEFORE_PARTING = 3
"""Steps before rows on velocities vanish at which γ is computed: t* is known to a part of a step."""

VELOCITY_NOISE = 1e-8
"""Fraction of the velocity that all kinetic energy would give a coordinate, below which its own velocity is rounding."""

VELOCITY_JUMP = 0.05
"""Fraction of the speed by which velocities may change across a change point, beyond their change at the nearby rate."""


def ranks_along(
    run: Run, t: Array, q: Array, v: Array, blows: Array, modes: Sequence[tuple[float, Mode]] = (),
    noted_times: Sequence[float] = (),
) -> tuple[list[Note], list[str]]:  # fmt: skip
    """(notes, doubts) of a motion through the states (t (k,), q, v), with impacts at the times `blows`.

    modes: (time, mode of faces and frictions from then on). Change points at the times `noted_times` are known.
    """
    if not run.form.m or run.form.gauss or len(t) < 2 or not _may_turn(run.form):
        return [], []
    rows = SurveyedRows(run, t, q, v)
    with np.errstate(all="ignore"):
        fraction = min(1.0, (30 / run.form.nv) ** 2)  # singular values of many rows are expensive
        count = int(min(max(FIRST_STATES_SURVEYED, len(t) // 4), STATES_SURVEYED) * fraction) + 8
        rows.examine(np.unique(np.linspace(0, len(t) - 1, count).astype(np.intp)).astype(np.float64))
        rows.refine()
        return _RankSurvey(rows, blows, modes, noted_times).findings()


@remembered
def _may_turn(form: NormalForm) -> bool:
    """Whether M or the rows depend on the time or the state."""
    return any(depends(form[name], form.inputs[port]) for name in ("M", "A") for port in ("t", "q", "v"))


@dataclass(frozen=True)
class _Crossing:
    """A loss of rank between two places: its time, the rows there, γ of `vanishing`, how the motion goes on."""

    time: float
    Y: Array
    smooth: bool
    gamma: float
    meets: bool


class _RankSurvey:
    """The losses of rank along a motion, from its surveyed rows.

    blows: the times of its impacts; modes: (time, mode from then on); noted_times: those of known change points.
    """

    def __init__(
        self, surveyed: SurveyedRows, blows: Array, modes: Sequence[tuple[float, Mode]], noted_times: Sequence[float]
    ):
        self.surveyed, self.blows, self.modes, self.noted_times = surveyed, blows, modes, np.array(noted_times)
        self.run, self.t, self.q, self.v, self.rank = surveyed.run, surveyed.t, surveyed.q, surveyed.v, surveyed.rank

    def findings(self) -> tuple[list[Note], list[str]]:
        notes, doubts = [], []
        examined, least, r = self.surveyed.examined, self.surveyed.least, self.rank
        # between steps no accelerations were evaluated, and rows hold approximately
        steps = examined.at == np.floor(examined.at)
        dependent = np.flatnonzero((rank_digits_lost(least, least.max()) | ~(least > 0)) & steps)
        if len(dependent):
            doubts.append(
                self._sentence(
                    "are dependent within rounding", float(self.t[int(examined.at[dependent[0]])]), examined.Y[dependent[0]]
                )
            )
        beyond_rank = examined.sigma[:, r] if r < examined.sigma.shape[1] else np.zeros(len(least))
        risen = rank_risen(beyond_rank, self.surveyed.noise) & steps
        if risen.any():
            since = self.t[int(examined.at[np.argmax(risen)])]
            doubts.append(
                f"constraints that were redundant at the start are not any more at t = {since:.6g}: the rank of the rows rises,"
                " and the motion keeps only some of them"
            )
        if self.surveyed.hidden is not None:
            doubts.append(
                f"constraint rows turn so far in the step from t = {self.surveyed.hidden:.6g} on that a loss of rank cannot be"
                " excluded: shorten the steps"
            )
        for crossing in self._crossings():
            names = self.surveyed.names_of(crossing.Y)
            if crossing.smooth and crossing.gamma > LARGEST_STEADY_GROWTH:
                remark = (
                    f", and many motions leave this point (they part as |t − t*|^{crossing.gamma:.3g}): one of them was"
                    " followed"
                )
                doubts.append(self._sentence("vanish with the velocities", crossing.time, crossing.Y) + remark)
            elif not crossing.smooth:
                jump = ", and the velocities jump: the motion may have changed branch"
                doubts.append(self._sentence("lose rank", crossing.time, crossing.Y) + jump)
            elif not crossing.meets:
                miss = (
                    ", where branches of the motion miss each other closely; with steps of this size it may have changed branch"
                )
                doubts.append(self._sentence("come close to losing rank", crossing.time, crossing.Y) + miss)
            else:
                text = (
                    f"change point at t = {crossing.time:.6g}: constraints ({', '.join(names)}) lose rank, and branches of the"
                    " motion meet; it went on smoothly"
                )
                notes.append(Note(text, time=crossing.time, kind="change point", constraints=tuple(names)))
        return notes, doubts

    def _sentence(self, verb: str, time: float, Y: Array) -> str:
        """A sentence about the rows of the combination that vanishes."""
        return f"the constraints ({', '.join(self.surveyed.names_of(Y))}) {verb} at t = {time:.6g}, a singular configuration"

    def _crossings(self) -> list[_Crossing]:
        """Each loss of rank between two examined places of one step."""
        losses: list[_Crossing] = []
        examined, least = self.surveyed.examined, self.surveyed.least
        unresolved, spacing = self.surveyed.unresolved(), examined.at[1:] - examined.at[:-1]
        time_at = lambda place: float(np.interp(place, np.arange(len(self.t)), self.t))
        for k in np.flatnonzero((self.surveyed.turned | unresolved) & (spacing <= 1)):
            low, high = float(examined.at[k]), float(examined.at[k + 1])
            width = abs(time_at(high) - time_at(low))
            if not width:  # a blow: rows that turn with the velocities go another way than the straight one
                continue
            neighbourhood = np.sort([time_at(low - spacing[k]), time_at(high + spacing[k])])
            if ((self.noted_times >= neighbourhood[0]) & (self.noted_times <= neighbourhood[1])).any():
                continue
            places = np.linspace(low, high, PLACES_BETWEEN_STEPS + 2)[1:-1]
            Y, sigma = self.surveyed.rows(places)
            j, ends = int(np.argmin(sigma[:, self.rank - 1])), min(least[k], least[k + 1])
            lowest, time = sigma[j, self.rank - 1], time_at(places[j])
            sign = self._least_turn(examined.Y[k], examined.Y[k + 1])
            # rows that were turned round vanished between the steps, be it next to one of them; those that only turned did not
            reversed_ = sign < 0 and min(lowest, ends) < VANISHED_BETWEEN * max(least[k], least[k + 1])
            if reversed_ or unresolved[k] or (rank_vanishes(lowest, ends) and rank_noted(lowest, least.max())):
                if losses and abs(time - losses[-1].time) < (ONE_CROSSING if spacing[k] == 1 else 0.5) * width:
                    continue
                fraction = least[k] / max(least[k] + least[k + 1], 1e-300)  # a row that is turned round vanishes linearly
                vanished = time_at(low + fraction * (high - low)) if reversed_ else time
                meets = not reversed_ or self._branches_meet(int(k))
                losses.append(
                    _Crossing(
                        time,
                        Y[j],
                        self._velocities_continuous(int(low)),
                        self._growth(int(low), examined.Y[k], vanished),
                        meets,
                    )
                )
        return losses

    def _least_turn(self, Y_a: Array, Y_b: Array) -> float:
        """min Re eig(Y⁺ Y′): negative where a combination of rows was reversed."""
        return float(turns(singular(Y_a, economical=True), Y_b, self.rank).min())

    def _branches_meet(self, k: int) -> bool:
        """Whether branches meet at the loss of rank between the k-th place and the next one; True if that cannot be told."""
        form, (low, high) = self.run.form, self.surveyed.examined.at[k : k + 2]
        if self.surveyed.gamma or self.surveyed.metric is not None or not np.all(form.levels == 0):
            return True
        for _ in range(34):
            middle = (low + high) / 2
            reached = self._least_turn(self.surveyed.examined.Y[k], self.surveyed.turning_rows(np.array([middle]))[0]) <= 0
            low, high = (low, middle) if reached else (middle, high)
        t, q, v = (x[0] for x in self.surveyed.states(np.array([low])))
        passage = Passage(form, self.run.p_at(t), self.rank, self.surveyed.w, 1e-13, np.zeros(0), has_work=False)
        duration = float(abs(self.t[int(low) + 1] - self.t[int(low)]))
        try:
            return passage.meet_near(float(t), q, v, float(min(self.surveyed.least[k : k + 2])), duration)
        except (NoPassage, np.linalg.LinAlgError):
            return True

    def _growth(self, i: int, Y: Array, time: float) -> float:
        """γ at the step i before rows on velocities vanish; 0 for holonomic rows, which the positions decide."""
        if self.surveyed.holonomic(Y):
            return 0.0
        i = max(i - STEPS_BEFORE_PARTING, 0)
        A = self.run.evaluate(self.t[[i]], self.q[[i]], self.v[[i]], ("A",))["A"][0] / self.surveyed.w[:, None]
        return growth(lambda v: self._acceleration(i, v), self.v[i], null_space(A), time - float(self.t[i]))

    def _acceleration(self, i: int, v: Array) -> Array:
        """a at the step i, with velocities v (nv,), in the mode of the motion there: a sticking friction goes on to stick."""
        t, q = self.t[i], self.q[i]
        if not self.modes:
            return self.run.acceleration(t, q, v)[0]
        number = int(self._mode_numbers[i])
        if not self.run.system.frictions:
            return self.run.in_contact(self.modes[number][1].closed).acceleration(t, q, v)[0]
        p = self.run.p_at(t)[None]
        return accelerations_along(self.run, self.modes, t[None], q[None], v[None], p, np.array([number]))[0][0]

    @cached_property
    def _mode_numbers(self) -> NDArray[np.intp]:
        return last_change(np.array([time for time, _ in self.modes]), self.t)

    @cached_property
    def _size(self) -> Array:
        """Sizes of the velocities, (n,): their largest values, unless these are rounding beside what the energy allows."""
        M = self.run.evaluate(self.t[:1], self.q[:1], self.v[:1], ("M",))["M"][0]
        energy = np.max(np.add.reduce((self.v @ M) * self.v, axis=1))
        by_energy = np.sqrt(np.maximum(energy, 0.0) / np.maximum(np.diag(M), 1e-300))
        return np.maximum(np.abs(self.v).max(axis=0), np.maximum(VELOCITY_NOISE * by_energy, 1e-300))

    def _velocities_continuous(self, i: int) -> bool:
        """Whether the velocities change across the steps next to i as fast as nearby; impacts end what is compared."""
        last, u = len(self.t) - 1, self.v / self._size
        low = i - 1 if i and not self._blow_within(i - 1, i) else i
        high = i + 2 if i + 2 <= last and not self._blow_within(i + 1, i + 2) else i + 1
        beside = (max(low - 2, 0), low), (high, min(high + 2, last))
        spans = [(k, j) for k, j in beside if k < j and not self._blow_within(k, j)]
        if spans:
            nearby_rate = max(float(np.abs(u[j] - u[k]).max() / max(abs(self.t[j] - self.t[k]), 1e-300)) for k, j in spans)
        else:  # nothing to compare with
            nearby_rate = float(max(np.abs(self._acceleration(k, self.v[k]) / self._size).max() for k in (low, high)))
        return bool(np.abs(u[high] - u[low]).max() <= VELOCITY_JUMP + 3 * nearby_rate * abs(self.t[high] - self.t[low]))

    def _blow_within(self, i: int, j: int) -> bool:
        """Whether there is an impact between two states, ends included."""
        low, high = sorted((self.t[i], self.t[j]))
        return bool(((self.blows >= low) & (self.blows <= high)).any())
