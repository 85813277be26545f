"""Rows at places of a motion: at its states, and between two of them on the cubic through coordinates and rates.

A survey looks at some places first, then at all states around those where σ is small or rows turned much. At the speed that
they have at both ends of a step, rows may turn all the way round in it: then it also looks at states inside the step,
as many as the rank guard (`loop.rank`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.rank_criteria import (
    MOST_PARTS_OF_STEP,
    PARTS_OF_TURNING_STEP,
    RANK_PROBE,
    RIGHT_ANGLE,
    SMALL_SIGMA_SURVEYED,
    rank_may_turn,
    rank_moved_far,
    rank_parts,
    rows_involved,
)
from appell.rows import ROUNDINGS, RowSpace, singular, singular_values

Array = NDArray[np.float64]

FIRST_STATES_SURVEYED, STATES_SURVEYED = 200, 50_000
"""Number of states examined first, or a quarter of all up to `STATES_SURVEYED`; between two whose rows turned much, or where
σ is small, all others are examined as well."""

SPEEDS_MEASURED = 12
"""Number of the longest steps, and of other steps, in which the speed of rows that seem to stand still is measured."""

CHANGED_WHOLLY = 0.9
"""Fraction of σ by which small rows on velocities must change from one place to the next to have vanished there."""


@dataclass
class _SurveyedPlaces:
    """Rows at some places of a motion: at (k,), the places, ascending; Y (k, n, m); σ (k, m).

    A place i + s is the fraction s of the step from the state i to the next one.
    """

    at: Array
    Y: Array
    sigma: Array


class SurveyedRows:
    """Rows of a motion through the states (t (k,), q, v), at more and more places of it: `examined`."""

    def __init__(self, run: Run, t: Array, q: Array, v: Array):
        self.run, self.t, self.q, self.v = run, t, q, v
        policy = run.policies.acceleration
        self.rank, self.gamma = policy.rank, policy.gamma
        self.metric = np.diag(policy.metric) if policy.metric else None
        blocks = run.form.select("M", "A", "A_size")(t[0], q[0], v[0], run.p)
        space = RowSpace.of(self._metric(blocks["M"], blocks["A"]), blocks["A"], blocks["A_size"])
        self.w, self.noise = space.s, max(10 * space.noise, 100 * ROUNDINGS)
        self.names = [row.constraint.name for row in run.form.rows if row.linear]
        self.examined = _SurveyedPlaces(np.zeros(0), np.zeros((0, *blocks["A"].T.shape)), np.zeros((0, len(blocks["A"]))))
        self.hidden: float | None = None  # the time of a step in which rows turn too often to be examined

    def _metric(self, M: Array, A: Array) -> Array:
        """The metric of the rows: M, M + γAᵀA for massless coordinates, or that of the policy."""
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
            k, inverse = np.unique(np.concatenate([i, i + 1]), return_inverse=True)
            rates = self.run.evaluate(self.t[k], self.q[k], self.v[k], ("qd",))["qd"][inverse]
            h, rise = (self.t[i + 1] - self.t[i])[:, None], self.q[i + 1] - self.q[i]
            slope0, slope1 = h * rates[: len(i)], h * rates[len(i) :]
            t[inner] = self.t[i] + s[:, 0] * h[:, 0]
            q[inner] = self.q[i] + s * slope0 + s**2 * (3 * rise - 2 * slope0 - slope1) + s**3 * (slope0 + slope1 - 2 * rise)
            v[inner] = (1 - s) * self.v[i] + s * self.v[i + 1]
        return t, q, v

    def turning_rows(self, at: Array) -> Array:
        """Y at places, (k, n, m)."""
        blocks = self.run.evaluate(*self.states(at), ("M", "A"))
        M, A = np.array(self._metric(blocks["M"], blocks["A"])), blocks["A"] / self.w[:, None]
        finite = np.isfinite(M).all(axis=(1, 2)) & np.isfinite(A).all(axis=(1, 2))
        if not finite.all():
            M[~finite], A[~finite] = np.eye(M.shape[-1]), 1.0
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            L = np.array([np.diag(np.sqrt(np.abs(np.diag(metric)) + 1e-300)) for metric in M])
        return np.asarray(np.linalg.solve(L, np.swapaxes(A, 1, 2)), dtype=np.float64)

    def rows(self, at: Array) -> tuple[Array, Array]:
        """(Y, σ) at places."""
        Y = self.turning_rows(at)
        sigma = np.zeros((len(Y), Y.shape[2]))
        values = singular_values(Y)
        sigma[:, : values.shape[1]] = values
        return Y, sigma

    def examine(self, at: Array) -> None:
        """Examines the rows at places, in ascending order."""
        at = np.setdiff1d(at, self.examined.at)
        if len(at):
            Y, sigma = self.rows(at)
            order = np.argsort(np.concatenate([self.examined.at, at]), kind="stable")
            join = lambda a, b: np.concatenate([a, b])[order]
            for cached in ("turned", "path_length"):
                self.__dict__.pop(cached, None)
            self.examined = _SurveyedPlaces(
                join(self.examined.at, at), join(self.examined.Y, Y), join(self.examined.sigma, sigma)
            )

    @property
    def least(self) -> Array:
        """σ_r at the examined states."""
        return self.examined.sigma[:, self.rank - 1]

    @cached_property
    def turned(self) -> NDArray[np.bool_]:
        """Neighbouring examined states between which rank may be lost: rows turned by about a right angle or more."""
        U, sigma, Vt = singular(self.examined.Y[:-1], economical=True)
        r = self.rank
        V = np.swapaxes(Vt[:, :r], 1, 2)
        next_Y = self.examined.Y[1:] @ V
        C = np.swapaxes(U[:, :, :r], 1, 2) @ next_Y / np.maximum(sigma[:, :r, None], 1e-300)
        lowest = np.linalg.eigvalsh((C + np.swapaxes(C, 1, 2)) / 2)[:, 0]
        return ~(lowest > RIGHT_ANGLE)

    @cached_property
    def path_length(self) -> Array:
        """The path length of the rows between neighbouring examined points: at least their change, (k − 1,).

        At the speed that they have at both places, rows may have gone further and come back. Speeds are measured where the rows
        moved much, in the longest steps and in some others, and everywhere if one of these shows that they went further.
        """
        change = np.sqrt(np.add.reduce((self.examined.Y[1:] - self.examined.Y[:-1]) ** 2, axis=(1, 2)))
        sigma = np.minimum(self.least[1:], self.least[:-1])
        chosen = rank_may_turn(change, sigma)
        others = np.flatnonzero(~chosen)
        longest = np.argsort(-self._duration(self.examined.at[:-1], self.examined.at[1:])[others])[:SPEEDS_MEASURED]
        sampled = np.union1d(others[longest], others[:: max(1, len(others) // SPEEDS_MEASURED)])
        path = change.copy()
        for group in (np.union1d(np.flatnonzero(chosen), sampled), others):
            path[group] = np.maximum(change[group], self._path_at_speed(group))
            if not rank_moved_far(path[sampled], sigma[sampled]).any():
                break
        return path

    def _duration(self, begin: Array, end: Array) -> Array:
        """Time between places, s."""
        times = lambda places: np.interp(places, np.arange(len(self.t)), self.t)
        return np.abs(times(end) - times(begin))

    def _path_at_speed(self, k: NDArray[np.intp]) -> Array:
        """The path length of the rows between points k and k + 1, at the larger of their speeds there; 0 in an impact."""
        low, high = self.examined.at[k], self.examined.at[k + 1]
        probe, ends = RANK_PROBE * np.minimum(high - low, 1.0), np.concatenate([k, k + 1])
        probed = np.concatenate([low + probe, high - probe])
        change = np.sqrt(np.add.reduce((self.turning_rows(probed) - self.examined.Y[ends]) ** 2, axis=(1, 2)))
        duration = self._duration(self.examined.at[ends], probed)
        speed = np.divide(change, duration, out=np.zeros_like(change), where=duration > 0)
        return np.nan_to_num(speed.reshape(2, -1).max(axis=0) * self._duration(low, high))

    def refine(self) -> None:
        """Examines all steps where rows turned much or σ is small, and states inside of steps in which they turn further."""
        at, least = self.examined.at, self.least
        small = least < SMALL_SIGMA_SURVEYED * least.max()
        moved_far = rank_moved_far(self.path_length, np.minimum(least[1:], least[:-1]))
        steps = np.flatnonzero((self.turned | moved_far | small[:-1] | small[1:]) & (at[1:] - at[:-1] > 1))
        if len(steps):
            self.examine(np.concatenate([np.arange(at[k], at[k + 1]) for k in steps])[:STATES_SURVEYED])
        self._examine_inside()

    def _examine_inside(self) -> None:
        """Examines so many states inside each step that rows cannot return unseen between two of them."""
        at, least = self.examined.at, self.least
        size = np.sqrt(np.add.reduce(self.examined.Y[:-1] ** 2, axis=(1, 2)))
        moved_far = rank_moved_far(self.path_length, np.minimum(least[1:], least[:-1])) & (at[1:] - at[:-1] == 1)
        moved_far &= ~self.unresolved()  # between such states velocities are not on a line
        parts = np.maximum(rank_parts(self.path_length, size, least.max()), PARTS_OF_TURNING_STEP)
        hidden = moved_far & ((parts > MOST_PARTS_OF_STEP) | (np.cumsum(np.where(moved_far, parts, 0)) > STATES_SURVEYED))
        if hidden.any():
            self.hidden = float(self.t[int(at[np.argmax(hidden)])])
        places = [at[k] + np.arange(1, parts[k]) / parts[k] for k in np.flatnonzero(moved_far & ~hidden)]
        if places:
            self.examine(np.concatenate(places))

    def unresolved(self) -> NDArray[np.bool_]:
        """Between which neighbours small rows on velocities changed by more than they are: they may have vanished there."""
        least, Y = self.least, self.examined.Y
        larger = np.maximum(least[:-1], least[1:])
        change = np.sqrt(np.add.reduce((Y[1:] - Y[:-1]) ** 2, axis=(1, 2)))
        small = np.flatnonzero((change > CHANGED_WHOLLY * larger) & (larger < SMALL_SIGMA_SURVEYED * least.max()))
        mask = np.zeros(len(larger), dtype=bool)
        if len(small):
            mask[[k for k in small if not self.holonomic(Y[k])]] = True
        return mask

    def names_of(self, Y: Array) -> list[str]:
        """The rows of the combination that vanishes."""
        u = singular(Y, economical=True).Vt[self.rank - 1]
        return [self.names[i] for i in rows_involved(u[None])]

    def holonomic(self, Y: Array) -> bool:
        """Whether a constraint on positions is in the combination that is weakest."""
        positions = {row.constraint.name for row in self.run.form.rows if row.level == 0}
        return bool(positions & set(self.names_of(Y)))
