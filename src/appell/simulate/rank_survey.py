"""Rank of the rows along a motion that the rank guard did not watch: in contact with walls, with fixed steps, …

With Y = L⁻¹Aᵀ/w as at the start (`rows.row_space`) and σ its smallest singular value of rank r at the steps of the motion,

    σ < `DIGITS_LOST` of the largest              the rows are dependent to rounding; accelerations have no correct digits
    σ beyond the rank > `RANK_RISEN`            rows that were redundant are no longer so
    min Re eig(Y_k⁺ Y_{k+1}) < 0           rank was lost between two steps: a change point, where branches of the motion meet

A change point with smooth velocities becomes a note; one at which they jump, onto another branch, becomes a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.rank import DIGITS_LOST, RANK_RISEN
from appell.notes import Note
from appell.rows import ROUNDINGS, RowSpace, in_columns, null_space, singular, singular_values
from appell.simulate.loop.vanishing import NEUTRAL, growth

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST_STATES_SURVEYED, STATES_SURVEYED = 200, 50_000
"""Number of states examined first, or a quarter of all up to `STATES_SURVEYED`; between two whose rows turned much, or where
σ is small, all others are examined as well."""

SMALL_SIGMA = 0.1
"""Fraction of the largest σ below which all steps are examined."""

PLACES_BETWEEN_STEPS = 8
"""Points between two steps at which rows that turned are examined."""

STEPS_BEFORE_PARTING = 3
"""Steps before rows on velocities vanish at which it is asked whether motions part there: t* is known to a part of a step."""

VELOCITY_JUMP = 0.05
"""Fraction of the speed by which velocities may change across a change point, beyond their change at the nearby rate."""


def ranks_along(
    run: Run, t: Array, q: Array, v: Array, blows: Array, noted_times: Sequence[float] = ()
) -> tuple[list[Note], list[str]]:
    """(notes, doubts) of a motion through the states (t (k,), q, v), with impacts at the times `blows`.

    Change points at the times `noted_times` are known.
    """
    if not run.form.m or run.form.gauss or len(t) < 2:
        return [], []
    along = _RankSurvey(run, t, q, v, blows, noted_times)
    with np.errstate(all="ignore"):
        few = min(1.0, (30 / run.form.nv) ** 2)  # singular values of many rows are expensive
        count = int(min(max(FIRST_STATES_SURVEYED, len(t) // 4), STATES_SURVEYED) * few) + 8
        spread = np.linspace(0, len(t) - 1, count).astype(np.intp)
        along.look(spread[np.append(True, spread[1:] > spread[:-1])])
        along.refine()
        return along.findings()


@dataclass
class _Look:
    """Rows at some states: numbers of the states (k,), Y (k, n, m), σ (k, m)."""

    at: Indices
    Y: Array
    sigma: Array


class _RankSurvey:
    def __init__(self, run: Run, t: Array, q: Array, v: Array, blows: Array, noted_times: Sequence[float]):
        self.run, self.t, self.q, self.v, self.blows, self.noted_times = run, t, q, v, blows, np.array(noted_times)
        policy = run.policies.acceleration
        self.rank, self.gamma = policy.rank, policy.gamma
        self.metric = np.diag(policy.metric) if policy.metric else None
        out = run.form.select("M", "A", "A_size")(t[0], q[0], v[0], run.p)
        space = RowSpace.of(self._weight(out["M"], out["A"]), out["A"], out["A_size"])
        self.w, self.risen = space.s, max(RANK_RISEN, 10 * space.noise, 100 * ROUNDINGS)
        self.names = [row.constraint.name for row in run.form.rows if row.linear]
        self.seen = _Look(np.zeros(0, np.intp), np.zeros((0, *out["A"].T.shape)), np.zeros((0, len(out["A"]))))

    def _weight(self, M: Array, A: Array) -> Array:
        if self.metric is not None:
            return np.broadcast_to(self.metric, M.shape).copy()
        return M + self.gamma * np.swapaxes(A, -1, -2) @ A if self.gamma else M

    def rows(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """(Y, σ) at a batch of states."""
        out = self.run.evaluate(t, q, v, ("M", "A"))
        M, A = np.array(self._weight(out["M"], out["A"])), out["A"] / self.w[:, None]
        good = np.isfinite(M).all(axis=(1, 2)) & np.isfinite(A).all(axis=(1, 2))
        if not good.all():
            M[~good], A[~good] = np.eye(M.shape[-1]), 1.0
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            L = np.array([np.diag(np.sqrt(np.abs(np.diag(one)) + 1e-300)) for one in M])
        Y = np.asarray(np.linalg.solve(L, np.swapaxes(A, 1, 2)), dtype=np.float64)
        sigma = np.zeros((len(Y), Y.shape[2]))
        found = singular_values(Y)
        sigma[:, : found.shape[1]] = found
        return Y, sigma

    def look(self, at: Indices) -> None:
        """Evaluates the rows at the states with these indices, in ascending order."""
        first = not len(self.seen.at)
        at = at if first else np.setdiff1d(at, self.seen.at)
        if len(at):
            Y, sigma = self.rows(self.t[at], self.q[at], self.v[at])
            if first:
                self.seen = _Look(at, Y, sigma)
                return
            order = np.argsort(np.concatenate([self.seen.at, at]), kind="stable")
            join = lambda a, b: np.concatenate([a, b])[order]
            self.__dict__.pop("_turned", None)
            self.seen = _Look(join(self.seen.at, at), join(self.seen.Y, Y), join(self.seen.sigma, sigma))

    @property
    def least(self) -> Array:
        """σ_r at the examined states."""
        return self.seen.sigma[:, self.rank - 1]

    @cached_property
    def _turned(self) -> NDArray[np.bool_]:
        """Neighbouring examined states between which rank may be lost: min Re eig of the symmetric part < 0.2."""
        U, sigma, Vt = singular(self.seen.Y[:-1], economical=True)
        r = self.rank
        V = np.swapaxes(Vt[:, :r], 1, 2)
        there = self.seen.Y[1:] @ V
        C = np.swapaxes(U[:, :, :r], 1, 2) @ there / np.maximum(sigma[:, :r, None], 1e-300)
        low = np.linalg.eigvalsh((C + np.swapaxes(C, 1, 2)) / 2)[:, 0]
        return ~(low > 0.2)

    def refine(self) -> None:
        """Examines all steps where rows turned much or σ is small."""
        at, least = self.seen.at, self.least
        small = least < SMALL_SIGMA * least.max()
        wanted = np.flatnonzero((self._turned | small[:-1] | small[1:]) & (at[1:] - at[:-1] > 1))
        if len(wanted):
            self.look(np.unique(np.concatenate([np.arange(at[k], at[k + 1]) for k in wanted]))[:STATES_SURVEYED])

    def findings(self) -> tuple[list[Note], list[str]]:
        notes, doubts = [], []
        seen, least, r = self.seen, self.least, self.rank
        top = least.max()
        gone = np.flatnonzero(~(least > DIGITS_LOST * top))
        if len(gone):
            doubts.append(self._said("are dependent within rounding", float(self.t[seen.at[gone[0]]]), seen.Y[gone[0]]))
        rest = seen.sigma[:, r] if r < seen.sigma.shape[1] else np.zeros(len(least))
        if (rest > self.risen).any():
            k = int(np.argmax(rest > self.risen))
            doubts.append(
                f"constraints that were redundant at the start are not any more at t = {self.t[seen.at[k]]:.6g}: the rank of"
                " the rows rises, and the motion keeps only some of them"
            )
        for time, Y, smooth, gamma in self._crossings():
            names = self._names(Y)
            if smooth and gamma > NEUTRAL:
                many = f", and many motions leave this point (they part as |t − t*|^{gamma:.3g}): one of them was followed"
                doubts.append(self._said("vanish with the velocities", time, Y) + many)
            elif smooth:
                text = (
                    f"change point at t = {time:.6g}: constraints ({', '.join(names)}) lose rank, and branches of the motion"
                    " meet; it went on smoothly"
                )
                notes.append(Note(text, time=time, kind="change point", constraints=tuple(names)))
            else:
                jump = ", and the velocities jump: the motion may have changed branch"
                doubts.append(self._said("lose rank", time, Y) + jump)
        return notes, doubts

    def _said(self, what: str, time: float, Y: Array) -> str:
        return f"the constraints ({', '.join(self._names(Y))}) {what} at t = {time:.6g}, a singular configuration"

    def _names(self, Y: Array) -> list[str]:
        """The rows of the combination that vanishes."""
        u = singular(Y, economical=True).Vt[self.rank - 1]
        return [name for name, share in zip(self.names, np.abs(u), strict=True) if share > 0.1]

    def _crossings(self) -> list[tuple[float, Array, bool, float]]:
        """(time, Y, whether the velocities go on smoothly, γ of `vanishing`) of each loss of rank between two steps."""
        found: list[tuple[float, Array, bool, float]] = []
        seen, least = self.seen, self.least
        unresolved = self._unresolved()
        for k in np.flatnonzero((self._turned | unresolved) & (seen.at[1:] - seen.at[:-1] == 1)):
            i = int(seen.at[k])
            if self.t[i] == self.t[i + 1]:  # a blow: rows that turn with the velocities go another way than the straight one
                continue
            if ((self.noted_times >= self.t[max(i - 1, 0)]) & (self.noted_times <= self.t[min(i + 2, len(self.t) - 1)])).any():
                continue
            t, Y, sigma = self._inside(i)
            j, ends = int(np.argmin(sigma)), min(least[k], least[k + 1])
            sign = _least_eigenvalue(seen.Y[k], seen.Y[k + 1], self.rank)
            # rows that were turned round vanished between the steps, be it next to one of them; those that only turned did not
            reversed_ = sign < 0 and min(sigma[j], ends) < 0.5 * max(least[k], least[k + 1])
            if reversed_ or unresolved[k] or (sigma[j] < 0.1 * ends and sigma[j] < 1e-3 * least.max()):
                near = found and abs(t[j] - found[-1][0]) < 3 * abs(self.t[i + 1] - self.t[i])
                if not near:
                    share = least[k] / max(least[k] + least[k + 1], 1e-300)  # a row that is turned round vanishes linearly
                    vanished = float(self.t[i] + share * (self.t[i + 1] - self.t[i])) if reversed_ else float(t[j])
                    found.append((float(t[j]), Y[j], self._smooth(i), self._growth(i, seen.Y[k], vanished)))
        return found

    def _unresolved(self) -> NDArray[np.bool_]:
        """Between which neighbours small rows on velocities changed by more than they are: they may have vanished there."""
        least, Y = self.least, self.seen.Y
        larger = np.maximum(least[:-1], least[1:])
        change = np.sqrt(np.add.reduce((Y[1:] - Y[:-1]) ** 2, axis=(1, 2)))
        small = np.flatnonzero((change > 0.9 * larger) & (larger < SMALL_SIGMA * least.max()))
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

    def _inside(self, i: int) -> tuple[Array, Array, Array]:
        """(t, Y, σ_r) between the steps i and i + 1, on the cubic through their coordinates and rates."""
        h, s = self.t[i + 1] - self.t[i], np.linspace(0, 1, PLACES_BETWEEN_STEPS + 2)[1:-1, None]
        qd = self.run.evaluate(self.t[i : i + 2], self.q[i : i + 2], self.v[i : i + 2], ("qd",))["qd"]
        q0, q1 = self.q[i], self.q[i + 1]
        q = q0 + s * h * qd[0] + s**2 * (3 * (q1 - q0) - h * (2 * qd[0] + qd[1])) + s**3 * (2 * (q0 - q1) + h * (qd[0] + qd[1]))
        v, t = (1 - s) * self.v[i] + s * self.v[i + 1], self.t[i] + s[:, 0] * h
        Y, sigma = self.rows(t, q, v)
        return t, Y, sigma[:, self.rank - 1]

    @cached_property
    def _size(self) -> Array:
        return np.maximum(np.abs(self.v).max(axis=0), 1e-300)

    def _smooth(self, i: int) -> bool:
        """Whether the velocities change across the steps i, i + 1 as fast as nearby; undecided near an impact."""
        low, high = max(i - 1, 0), min(i + 2, len(self.t) - 1)
        if ((self.blows >= min(self.t[low], self.t[high])) & (self.blows <= max(self.t[low], self.t[high]))).any():
            return False
        u = self.v / self._size
        rate = lambda a, b: np.abs(u[b] - u[a]).max() / max(abs(self.t[b] - self.t[a]), 1e-300) if b > a else 0.0
        around = max(rate(max(low - 2, 0), low), rate(high, min(high + 2, len(self.t) - 1)))
        return bool(np.abs(u[high] - u[low]).max() <= VELOCITY_JUMP + 3 * around * abs(self.t[high] - self.t[low]))


def _least_eigenvalue(at: Array, there: Array, rank: int) -> float:
    """min Re eig(Y⁺ Y′) on the combinations of rows that are independent at Y."""
    V = singular(at, economical=True).Vt[:rank].T
    return float(np.linalg.eigvals(in_columns(at @ V, there @ V)).real.min())
