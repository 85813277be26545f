"""Rank of the rows along a motion that the rank guard did not watch: in contact with walls, with fixed steps, …

With Y = L⁻¹Aᵀ/w as at the start (`rows.row_space`) and σ its smallest singular value of rank r at the steps of the motion,

    σ < `DIGITS_LOST` of the largest              the rows are dependent to rounding; accelerations have no correct digits
    σ beyond the rank > `RANK_RISEN`            rows that were redundant are no longer so
    min Re eig(Y_k⁺ Y_{k+1}) < 0           rank was lost between two states: a change point, where branches of the motion meet

At the speed that they have at both ends of a step, rows may turn all the way round in it: states between the steps, on the
cubic through coordinates and rates, are examined then, as many as by the rank guard (`loop.rank`).

A change point with smooth velocities becomes a note; one at which they jump, onto another branch, becomes a doubt, and so does
one at which the branches miss each other (`loop.passage`) by less than the steps can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.graph.algebra import depends
from appell.loop.rank_criteria import (
    MOST_PARTS_OF_STEP,
    PARTS_OF_TURNING_STEP,
    RANK_PROBE,
    RIGHT_ANGLE,
    rank_digits_lost,
    rank_may_turn,
    rank_moved_far,
    rank_noted,
    rank_parts,
    rank_risen,
    rank_vanishes,
    rows_involved,
)
from appell.normal_form import NormalForm
from appell.notes import Note
from appell.remember import remembered
from appell.rows import ROUNDINGS, RowSpace, null_space, singular, singular_values, turns
from appell.simulate.loop.passage import Passage
from appell.simulate.loop.rank_loss import Lost
from appell.simulate.loop.vanishing import NEUTRAL, growth

Array = NDArray[np.float64]

FIRST_STATES_SURVEYED, STATES_SURVEYED = 200, 50_000
"""Number of states examined first, or a quarter of all up to `STATES_SURVEYED`; between two whose rows turned much, or where
σ is small, all others are examined as well."""

SMALL_SIGMA = 0.1
"""Fraction of the largest σ below which all steps are examined."""

SPEEDS_MEASURED = 12
"""Number of the longest steps, and of other steps, in which the speed of rows that seem to stand still is measured."""

PLACES_BETWEEN_STEPS = 8
"""Points between two steps at which rows that turned are examined."""

VANISHED_BETWEEN = 0.5
"""Fraction of the larger σ of two places below which rows that were reversed vanished between them, and did not only turn."""

CHANGED_WHOLLY = 0.9
"""Fraction of σ by which small rows on velocities must change from one place to the next to have vanished there."""

ONE_CROSSING = 3
"""Steps within which rows that turn several times lose rank once: near that point their values are noise."""

STEPS_BEFORE_PARTING = 3
"""Steps before rows on velocities vanish at which it is asked whether motions part there: t* is known to a part of a step."""

VELOCITY_NOISE = 1e-8
"""Fraction of the velocity that all kinetic energy would give a coordinate, below which its own velocity is rounding."""

VELOCITY_JUMP = 0.05
"""Fraction of the speed by which velocities may change across a change point, beyond their change at the nearby rate."""


def ranks_along(
    run: Run, t: Array, q: Array, v: Array, blows: Array, noted_times: Sequence[float] = ()
) -> tuple[list[Note], list[str]]:
    """(notes, doubts) of a motion through the states (t (k,), q, v), with impacts at the times `blows`.

    Change points at the times `noted_times` are known.
    """
    if not run.form.m or run.form.gauss or len(t) < 2 or not _may_turn(run.form):
        return [], []
    along = _RankSurvey(run, t, q, v, blows, noted_times)
    with np.errstate(all="ignore"):
        few = min(1.0, (30 / run.form.nv) ** 2)  # singular values of many rows are expensive
        count = int(min(max(FIRST_STATES_SURVEYED, len(t) // 4), STATES_SURVEYED) * few) + 8
        along.look(np.unique(np.linspace(0, len(t) - 1, count).astype(np.intp)).astype(np.float64))
        along.refine()
        return along.findings()


@remembered
def _may_turn(form: NormalForm) -> bool:
    """Whether M or the rows depend on the time or the state."""
    return any(depends(form[name], form.inputs[port]) for name in ("M", "A") for port in ("t", "q", "v"))


@dataclass
class _Looks:
    """Rows at some places of a motion: at (k,), ascending, Y (k, n, m), σ (k, m).

    A place i + s is the fraction s of the step from the state i to the next one.
    """

    at: Array
    Y: Array
    sigma: Array


@dataclass(frozen=True)
class _Crossing:
    """A loss of rank between two places: its time, the rows there, γ of `vanishing`, how the motion goes on."""

    time: float
    Y: Array
    smooth: bool
    gamma: float
    meets: bool


class _RankSurvey:
    def __init__(self, run: Run, t: Array, q: Array, v: Array, blows: Array, noted_times: Sequence[float]):
        self.run, self.t, self.q, self.v, self.blows, self.noted_times = run, t, q, v, blows, np.array(noted_times)
        policy = run.policies.acceleration
        self.rank, self.gamma = policy.rank, policy.gamma
        self.metric = np.diag(policy.metric) if policy.metric else None
        out = run.form.select("M", "A", "A_size")(t[0], q[0], v[0], run.p)
        space = RowSpace.of(self._weight(out["M"], out["A"]), out["A"], out["A_size"])
        self.w, self.noise = space.s, max(10 * space.noise, 100 * ROUNDINGS)
        self.names = [row.constraint.name for row in run.form.rows if row.linear]
        self.seen = _Looks(np.zeros(0), np.zeros((0, *out["A"].T.shape)), np.zeros((0, len(out["A"]))))
        self.hidden: float | None = None  # the time of a step in which rows turn too often to be examined

    def _weight(self, M: Array, A: Array) -> Array:
        if self.metric is not None:
            return np.broadcast_to(self.metric, M.shape).copy()
        return M + self.gamma * np.swapaxes(A, -1, -2) @ A if self.gamma else M

    def states(self, at: Array) -> tuple[Array, Array, Array]:
        """(t, q, v) at places: the states of the motion, and between them those on the cubic through coordinates and rates."""
        i = np.minimum(at.astype(np.intp), len(self.t) - 2)
        s = at - i
        t, q, v = (x[i + (s == 1)] for x in (self.t, self.q, self.v))
        inner = np.flatnonzero((s > 0) & (s < 1))
        if len(inner):
            i, s = i[inner], s[inner, None]
            k, which = np.unique(np.concatenate([i, i + 1]), return_inverse=True)
            rates = self.run.evaluate(self.t[k], self.q[k], self.v[k], ("qd",))["qd"][which]
            h, way = (self.t[i + 1] - self.t[i])[:, None], self.q[i + 1] - self.q[i]
            one, two = h * rates[: len(i)], h * rates[len(i) :]
            t[inner] = self.t[i] + s[:, 0] * h[:, 0]
            q[inner] = self.q[i] + s * one + s**2 * (3 * way - 2 * one - two) + s**3 * (one + two - 2 * way)
            v[inner] = (1 - s) * self.v[i] + s * self.v[i + 1]
        return t, q, v

    def turning_rows(self, at: Array) -> Array:
        """Y at places, (k, n, m)."""
        out = self.run.evaluate(*self.states(at), ("M", "A"))
        M, A = np.array(self._weight(out["M"], out["A"])), out["A"] / self.w[:, None]
        good = np.isfinite(M).all(axis=(1, 2)) & np.isfinite(A).all(axis=(1, 2))
        if not good.all():
            M[~good], A[~good] = np.eye(M.shape[-1]), 1.0
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            L = np.array([np.diag(np.sqrt(np.abs(np.diag(one)) + 1e-300)) for one in M])
        return np.asarray(np.linalg.solve(L, np.swapaxes(A, 1, 2)), dtype=np.float64)

    def rows(self, at: Array) -> tuple[Array, Array]:
        """(Y, σ) at places."""
        Y = self.turning_rows(at)
        sigma = np.zeros((len(Y), Y.shape[2]))
        found = singular_values(Y)
        sigma[:, : found.shape[1]] = found
        return Y, sigma

    def look(self, at: Array) -> None:
        """Examines the rows at places, in ascending order."""
        at = np.setdiff1d(at, self.seen.at)
        if len(at):
            Y, sigma = self.rows(at)
            order = np.argsort(np.concatenate([self.seen.at, at]), kind="stable")
            join = lambda a, b: np.concatenate([a, b])[order]
            for known in ("_turned", "way"):
                self.__dict__.pop(known, None)
            self.seen = _Looks(join(self.seen.at, at), join(self.seen.Y, Y), join(self.seen.sigma, sigma))

    @property
    def least(self) -> Array:
        """σ_r at the examined states."""
        return self.seen.sigma[:, self.rank - 1]

    @cached_property
    def _turned(self) -> NDArray[np.bool_]:
        """Neighbouring examined states between which rank may be lost: rows turned by about a right angle or more."""
        U, sigma, Vt = singular(self.seen.Y[:-1], economical=True)
        r = self.rank
        V = np.swapaxes(Vt[:, :r], 1, 2)
        there = self.seen.Y[1:] @ V
        C = np.swapaxes(U[:, :, :r], 1, 2) @ there / np.maximum(sigma[:, :r, None], 1e-300)
        low = np.linalg.eigvalsh((C + np.swapaxes(C, 1, 2)) / 2)[:, 0]
        return ~(low > RIGHT_ANGLE)

    @cached_property
    def way(self) -> Array:
        """The path length of the rows between neighbouring examined points: at least their change, (k − 1,).

        At the speed that they have at both places, rows may have gone further and come back. Speeds are measured where the rows
        moved much, in the longest steps and in some others, and everywhere if one of these shows that they went further.
        """
        change = np.sqrt(np.add.reduce((self.seen.Y[1:] - self.seen.Y[:-1]) ** 2, axis=(1, 2)))
        sigma = np.minimum(self.least[1:], self.least[:-1])
        chosen = rank_may_turn(change, sigma)
        rest = np.flatnonzero(~chosen)
        long = np.argsort(-self._duration(self.seen.at[:-1], self.seen.at[1:])[rest])[:SPEEDS_MEASURED]
        some = np.union1d(rest[long], rest[:: max(1, len(rest) // SPEEDS_MEASURED)])
        way = change.copy()
        for which in (np.union1d(np.flatnonzero(chosen), some), rest):
            way[which] = np.maximum(change[which], self._way_at_speed(which))
            if not rank_moved_far(way[some], sigma[some]).any():
                break
        return way

    def _duration(self, one: Array, two: Array) -> Array:
        times = lambda places: np.interp(places, np.arange(len(self.t)), self.t)
        return np.abs(times(two) - times(one))

    def _way_at_speed(self, k: NDArray[np.intp]) -> Array:
        """The path length of the rows between points k and k + 1, at the larger of their speeds there; 0 in an impact."""
        low, high = self.seen.at[k], self.seen.at[k + 1]
        near, ends = RANK_PROBE * np.minimum(high - low, 1.0), np.concatenate([k, k + 1])
        moved = np.concatenate([low + near, high - near])
        change = np.sqrt(np.add.reduce((self.turning_rows(moved) - self.seen.Y[ends]) ** 2, axis=(1, 2)))
        duration = self._duration(self.seen.at[ends], moved)
        speed = np.divide(change, duration, out=np.zeros_like(change), where=duration > 0)
        return np.nan_to_num(speed.reshape(2, -1).max(axis=0) * self._duration(low, high))

    def refine(self) -> None:
        """Examines all steps where rows turned much or σ is small, and states inside of steps in which they turn further."""
        at, least = self.seen.at, self.least
        small = least < SMALL_SIGMA * least.max()
        far = rank_moved_far(self.way, np.minimum(least[1:], least[:-1]))
        wanted = np.flatnonzero((self._turned | far | small[:-1] | small[1:]) & (at[1:] - at[:-1] > 1))
        if len(wanted):
            self.look(np.concatenate([np.arange(at[k], at[k + 1]) for k in wanted])[:STATES_SURVEYED])
        self._look_inside()

    def _look_inside(self) -> None:
        """Examines so many states inside each step that rows cannot return unseen between two of them."""
        at, least = self.seen.at, self.least
        size = np.sqrt(np.add.reduce(self.seen.Y[:-1] ** 2, axis=(1, 2)))
        long = rank_moved_far(self.way, np.minimum(least[1:], least[:-1])) & (at[1:] - at[:-1] == 1)
        long &= ~self._unresolved()  # between such states velocities are not on a line
        parts = np.maximum(rank_parts(self.way, size, least.max()), PARTS_OF_TURNING_STEP)
        hidden = long & ((parts > MOST_PARTS_OF_STEP) | (np.cumsum(np.where(long, parts, 0)) > STATES_SURVEYED))
        if hidden.any():
            self.hidden = float(self.t[int(at[np.argmax(hidden)])])
        inside = [at[k] + np.arange(1, parts[k]) / parts[k] for k in np.flatnonzero(long & ~hidden)]
        if inside:
            self.look(np.concatenate(inside))

    def findings(self) -> tuple[list[Note], list[str]]:
        notes, doubts = [], []
        seen, least, r = self.seen, self.least, self.rank
        steps = seen.at == np.floor(seen.at)  # between them no accelerations were evaluated, and rows hold approximately
        gone = np.flatnonzero((rank_digits_lost(least, least.max()) | ~(least > 0)) & steps)
        if len(gone):
            doubts.append(self._said("are dependent within rounding", float(self.t[int(seen.at[gone[0]])]), seen.Y[gone[0]]))
        rest = seen.sigma[:, r] if r < seen.sigma.shape[1] else np.zeros(len(least))
        risen = rank_risen(rest, self.noise) & steps
        if risen.any():
            since = self.t[int(seen.at[np.argmax(risen)])]
            doubts.append(
                f"constraints that were redundant at the start are not any more at t = {since:.6g}: the rank of the rows rises,"
                " and the motion keeps only some of them"
            )
        if self.hidden is not None:
            doubts.append(
                f"constraint rows turn so far in the step from t = {self.hidden:.6g} on that a loss of rank cannot be excluded:"
                " shorten the steps"
            )
        for one in self._crossings():
            names = self._names(one.Y)
            if one.smooth and one.gamma > NEUTRAL:
                many = f", and many motions leave this point (they part as |t − t*|^{one.gamma:.3g}): one of them was followed"
                doubts.append(self._said("vanish with the velocities", one.time, one.Y) + many)
            elif not one.smooth:
                jump = ", and the velocities jump: the motion may have changed branch"
                doubts.append(self._said("lose rank", one.time, one.Y) + jump)
            elif not one.meets:
                miss = (
                    ", where branches of the motion miss each other closely; with steps of this size it may have changed branch"
                )
                doubts.append(self._said("come close to losing rank", one.time, one.Y) + miss)
            else:
                text = (
                    f"change point at t = {one.time:.6g}: constraints ({', '.join(names)}) lose rank, and branches of the"
                    " motion meet; it went on smoothly"
                )
                notes.append(Note(text, time=one.time, kind="change point", constraints=tuple(names)))
        return notes, doubts

    def _said(self, what: str, time: float, Y: Array) -> str:
        return f"the constraints ({', '.join(self._names(Y))}) {what} at t = {time:.6g}, a singular configuration"

    def _names(self, Y: Array) -> list[str]:
        """The rows of the combination that vanishes."""
        u = singular(Y, economical=True).Vt[self.rank - 1]
        return [self.names[i] for i in rows_involved(u[None])]

    def _crossings(self) -> list[_Crossing]:
        """Each loss of rank between two examined places of one step."""
        found: list[_Crossing] = []
        seen, least = self.seen, self.least
        unresolved, apart = self._unresolved(), seen.at[1:] - seen.at[:-1]
        time_at = lambda place: float(np.interp(place, np.arange(len(self.t)), self.t))
        for k in np.flatnonzero((self._turned | unresolved) & (apart <= 1)):
            low, high = float(seen.at[k]), float(seen.at[k + 1])
            width = abs(time_at(high) - time_at(low))
            if not width:  # a blow: rows that turn with the velocities go another way than the straight one
                continue
            nearby = np.sort([time_at(low - apart[k]), time_at(high + apart[k])])
            if ((self.noted_times >= nearby[0]) & (self.noted_times <= nearby[1])).any():
                continue
            places = np.linspace(low, high, PLACES_BETWEEN_STEPS + 2)[1:-1]
            Y, sigma = self.rows(places)
            j, ends = int(np.argmin(sigma[:, self.rank - 1])), min(least[k], least[k + 1])
            lowest, time = sigma[j, self.rank - 1], time_at(places[j])
            sign = self._least_turn(seen.Y[k], seen.Y[k + 1])
            # rows that were turned round vanished between the steps, be it next to one of them; those that only turned did not
            reversed_ = sign < 0 and min(lowest, ends) < VANISHED_BETWEEN * max(least[k], least[k + 1])
            if reversed_ or unresolved[k] or (rank_vanishes(lowest, ends) and rank_noted(lowest, least.max())):
                if found and abs(time - found[-1].time) < (ONE_CROSSING if apart[k] == 1 else 0.5) * width:
                    continue
                share = least[k] / max(least[k] + least[k + 1], 1e-300)  # a row that is turned round vanishes linearly
                vanished = time_at(low + share * (high - low)) if reversed_ else time
                meets = not reversed_ or self._meets(int(k))
                found.append(_Crossing(time, Y[j], self._smooth(int(low)), self._growth(int(low), seen.Y[k], vanished), meets))
        return found

    def _least_turn(self, before: Array, after: Array) -> float:
        """min Re eig(Y⁺ Y′): negative where a combination of rows was reversed."""
        return float(turns(singular(before, economical=True), after, self.rank).min())

    def _meets(self, k: int) -> bool:
        """Whether branches meet at the loss of rank between the k-th place and the next one; True if that cannot be told."""
        form, (low, high) = self.run.form, self.seen.at[k : k + 2]
        if self.gamma or self.metric is not None or not np.all(form.levels == 0):
            return True
        for _ in range(34):
            middle = (low + high) / 2
            reached = self._least_turn(self.seen.Y[k], self.turning_rows(np.array([middle]))[0]) <= 0
            low, high = (low, middle) if reached else (middle, high)
        t, q, v = (x[0] for x in self.states(np.array([low])))
        passage = Passage(form, self.run.p_at(t), self.rank, self.w, 1e-13, np.zeros(0), has_work=False)
        duration = float(abs(self.t[int(low) + 1] - self.t[int(low)]))
        try:
            return passage.meet_near(float(t), q, v, float(min(self.least[k : k + 2])), duration)
        except (Lost, np.linalg.LinAlgError):
            return True

    def _unresolved(self) -> NDArray[np.bool_]:
        """Between which neighbours small rows on velocities changed by more than they are: they may have vanished there."""
        least, Y = self.least, self.seen.Y
        larger = np.maximum(least[:-1], least[1:])
        change = np.sqrt(np.add.reduce((Y[1:] - Y[:-1]) ** 2, axis=(1, 2)))
        small = np.flatnonzero((change > CHANGED_WHOLLY * larger) & (larger < SMALL_SIGMA * least.max()))
        mask = np.zeros(len(larger), dtype=bool)
        if len(small):
            mask[[k for k in small if not self._holonomic(Y[k])]] = True
        return mask

    def _holonomic(self, Y: Array) -> bool:
        """Whether a constraint on positions is in the combination that is weakest."""
        positions = {row.constraint.name for row in self.run.form.rows if row.level == 0}
        return bool(positions & set(self._names(Y)))

    def _growth(self, i: int, Y: Array, time: float) -> float:
        """γ at the step i before rows on velocities vanish; 0 for holonomic rows, which the positions decide."""
        if self._holonomic(Y):
            return 0.0
        i = max(i - STEPS_BEFORE_PARTING, 0)
        A = self.run.evaluate(self.t[[i]], self.q[[i]], self.v[[i]], ("A",))["A"][0] / self.w[:, None]
        acceleration = lambda v: self.run.acceleration(self.t[i], self.q[i], v)[0]
        return growth(acceleration, self.v[i], null_space(A), time - float(self.t[i]))

    @cached_property
    def _size(self) -> Array:
        """Sizes of the velocities, (n,): their largest values, unless these are rounding beside what the energy allows."""
        M = self.run.evaluate(self.t[:1], self.q[:1], self.v[:1], ("M",))["M"][0]
        energy = np.max(np.add.reduce((self.v @ M) * self.v, axis=1))
        allowed = np.sqrt(np.maximum(energy, 0.0) / np.maximum(np.diag(M), 1e-300))
        return np.maximum(np.abs(self.v).max(axis=0), np.maximum(VELOCITY_NOISE * allowed, 1e-300))

    def _smooth(self, i: int) -> bool:
        """Whether the velocities change across the steps next to i as fast as nearby; impacts end what is compared."""
        last, u = len(self.t) - 1, self.v / self._size
        low = i - 1 if i and not self._blow_within(i - 1, i) else i
        high = i + 2 if i + 2 <= last and not self._blow_within(i + 1, i + 2) else i + 1
        nearby = (max(low - 2, 0), low), (high, min(high + 2, last))
        spans = [(k, j) for k, j in nearby if k < j and not self._blow_within(k, j)]
        if spans:
            around = max(float(np.abs(u[j] - u[k]).max() / max(abs(self.t[j] - self.t[k]), 1e-300)) for k, j in spans)
        else:  # nothing to compare with
            ends = [low, high]
            around = float(np.abs(self.run.acceleration(self.t[ends], self.q[ends], self.v[ends])[0] / self._size).max())
        return bool(np.abs(u[high] - u[low]).max() <= VELOCITY_JUMP + 3 * around * abs(self.t[high] - self.t[low]))

    def _blow_within(self, i: int, j: int) -> bool:
        low, high = sorted((self.t[i], self.t[j]))
        return bool(((self.blows >= low) & (self.blows <= high)).any())
