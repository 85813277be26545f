"""Passage through a change point: an instant at which constraint rows lose rank and branches of the motion meet.

A flat parallelogram may continue as a parallelogram or as its crossed twin; the smooth motion continues as before. At the point
the accelerations of A a + a0 = 0 are 0/0. Their noise grows as ε/σ³ nearby: a step control that follows it shrinks the steps to
nothing, and a step that lands near the point may leave by any branch. Therefore the steps of order 8 are placed so that the
point lies between the stages at 1/3 and 0.6 of one of them; every stage is projected before its slope is evaluated, and the
vanishing directions are excluded from the error estimate where they contain only noise.

    Y = L⁻¹Aᵀ/s,  σ_r its smallest singular value of rank r          t* = zero of min Re eig(Y_n⁺ Y(t)) along q + s q̇ + s² a/2
    c = saddle value of each vanishing combination u of rows: uᵀf + ½ g·y, H y = −g, after the other rows have been satisfied

Rows on velocities that vanish with the velocities (the mass of Appell and Hamel at the top of its rise) have no f(q); they are
passed if their direction and the accelerations are continuous.

The branches meet if |c| is rounding. If it is larger, they miss each other, and the step is repeated, shorter, to follow its
own branch. If σ_r falls below `DIGITS_LOST` of its largest value, the configuration is singular and the run stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate._ivp import dop853_coefficients as dop

from appell.loop.header import THIRD_ORDER
from appell.loop.rank_criteria import RANK_PROBE, ROWS_PER_PART, rows_involved
from appell.normal_form import NormalForm
from appell.normal_form.manifold import normalise
from appell.rows import DIFFERENCED_LOST, RowSpace, least_squares, null_space, singular_values, turns
from appell.simulate.loop.rank_loss import BRANCHES_MEET, EPS, STAGES, AcceptedStep, NoPassage, RankLoss, RankState
from appell.simulate.loop.vanishing import LARGEST_STEADY_GROWTH, growth

Array = NDArray[np.float64]

ROWS_TURNED = 0.1  # fraction of σ by which rows may turn while a state is projected
NOT_VANISHING = 1e-2  # fraction of the smaller σ of both ends above which a combination of rows does not vanish between them
ONLY_TURNED = 0.2  # fraction of σ above which rows that are reversed ahead did not vanish on the way
PASSAGE_STEPS = 3000
SADDLE_ITERATIONS = 5  # of Newton's method for the point where the value of rows that vanish is stationary
SECOND_DISTANCE = 0.25  # fraction of the distance at which continuity is checked the second time
CONTINUOUS_WITHIN = 1e-3  # turn of a direction, or relative change of an acceleration, explained by the error of the steps


class Passage:
    """Steps near a loss of rank. s: scales of the rows (m,), frozen; rank: of the rows away from the point."""

    def __init__(self, form: NormalForm, p: Array, rank: int, s: Array, rtol: float, atol: Array, has_work: bool):
        self.form, self.p, self.rank, self.s, self.rtol, self.atol = form, p, rank, s, max(rtol, 1e-13), atol
        self.has_work, self.nq, self.nv = has_work, form.nq, form.nv
        self.holonomic = form.levels == 0
        self.below = form.levels < 2
        self.fn = form.select("M", "h", "Q", "A", "a0", "f0", "f0_scale", "f1", "N", "qd")
        self.power = form.select("power") if has_work else None
        self.names = [row.constraint.name for row in form.rows]
        self.evaluations = self.rejected = 0

    # -- one state -----------------------------------------------------------------------------------------------------

    def blocks(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """The blocks of the normal form at a state; `NoPassage` if one is not finite."""
        self.evaluations += 1
        blocks = self.fn(t, q, v, self.p)
        if not all(np.isfinite(x).all() for x in blocks.values()):
            raise NoPassage("the equations gave a value that is not finite")
        return blocks

    def rows_of(self, blocks: dict[str, Array], kept: Any = slice(None)) -> RowSpace:
        """The row space of blocks, or of some of their rows."""
        return RowSpace.scaled(blocks["M"], blocks["A"][kept], self.s[kept])

    def split(self, z: Array) -> tuple[Array, Array]:
        """(q, v) of a state."""
        return z[: self.nq], z[self.nq : self.nq + self.nv]

    def rank_state(self, t: float, z: Array, blocks: dict[str, Array] | None = None) -> RankState:
        """A state with its rows and accelerations, for the rank that the rows have away from the point."""
        q, v = self.split(z)
        blocks = self.blocks(t, q, v) if blocks is None else blocks
        rows = self.rows_of(blocks)
        U, sigma, Vt = rows.svd
        r = self.rank
        w = rows.K @ (blocks["Q"] - blocks["h"])
        c = (Vt[:r] @ (-blocks["a0"] / self.s - rows.Y.T @ w)) / sigma[:r]
        a = rows.K.T @ (w + U[:, :r] @ c)
        work = np.zeros(0)
        if self.power is not None:
            lam = np.zeros(len(self.form.rows))
            lam[[row.index for row in self.form.rows if row.linear]] = (Vt[:r].T @ (c / sigma[:r])) / self.s
            arrays = {"t": t, "q": q, "v": v, "p": self.p, "a": a, "lam": lam}
            work = np.array([float(self.power(*(arrays[port.name] for port in self.power.inputs))["power"])])
        return RankState(t, z, blocks, rows, a, np.concatenate([blocks["qd"], a, work]))

    def project(self, t: float, z: Array, iterations: int = 12) -> tuple[Array, float, dict[str, Array]]:
        """z on the constraints, the turn of the rows relative to σ, and the blocks there."""
        q, v = (x.copy() for x in self.split(z))
        blocks, turn, size_before = self.blocks(t, q, v), 0.0, np.inf
        if self.holonomic.any():
            rows_before = self.rows_of(blocks, self.holonomic)
            rank, rows = min(self.rank, int(self.holonomic.sum())), rows_before
            for k in range(iterations):
                if k and np.all(np.abs(blocks["f0"]) <= EPS * blocks["f0_scale"]):
                    break
                step = rows.step(blocks["f0"], rank)
                size = float(np.linalg.norm(np.linalg.solve(rows.K.T, step)))
                if not np.isfinite(size):
                    raise NoPassage("a projection onto the constraints diverged")
                if k and size >= 0.5 * size_before:
                    break
                q, size_before = normalise(self.form, q + blocks["N"] @ step), size
                blocks = self.blocks(t, q, v)
                rows = self.rows_of(blocks, self.holonomic)
            turn = float(np.linalg.norm(rows.Y - rows_before.Y) / max(rows_before.svd[1][rank - 1], 1e-300)) if rank else 0.0
        for _ in range(2):
            rows = self.rows_of(blocks, self.below)
            v = v + rows.step(blocks["f1"], min(self.rank, int(self.below.sum())))
            blocks = self.blocks(t, q, v)
        return np.concatenate([q, v, z[self.nq + self.nv :]]), turn, blocks

    # -- looking ahead -------------------------------------------------------------------------------------------------

    def least(self, at: RowSpace, there: RowSpace) -> float:
        """min Re eig(Y_n⁺ Y) on the combinations of rows that are independent at n: negative beyond a loss of rank."""
        return float(self.turns(at, there).min())

    def turns(self, at: RowSpace, there: RowSpace) -> Array:
        """Re eig(Y_n⁺ Y), (r,): one is negative for each combination of rows that was reversed since n."""
        return turns(at.svd, there.Y, self.rank)

    def within_sight(self, state: RankState, h: float, reference: float) -> float:
        """The size, up to |h|, of a step in which no row turns or shrinks by more than `ROWS_PER_PART` of its size.

        None is reversed twice in such a step. Rows that only grow are not limited: they do so where M is nearly singular beside
        them, and no rank is lost. reference: the largest σ so far, the size of rows that are about to vanish.
        """
        q, v = self.split(state.z)
        s, Y = RANK_PROBE * h, state.rows.Y
        change = self.rows_of(self.blocks(state.t + s, q + s * state.blocks["qd"], v + s * state.a)).Y - Y
        size = np.maximum(np.linalg.norm(Y, axis=1), 1e-300)
        lengthening = np.maximum(np.sum(change * Y, axis=1) / size, 0.0)
        turning = np.linalg.norm(change - (lengthening / size)[:, None] * Y, axis=1) / RANK_PROBE
        fraction = np.min(ROWS_PER_PART * np.maximum(size, reference) / np.maximum(turning, 1e-300), initial=1.0)
        return float(fraction) * abs(h)

    def ahead(self, state: RankState, h: float) -> float | None:
        """The time until rank is lost, within h (signed), along the parabola through the state; None if it is not."""
        q, v = self.split(state.z)
        qdd = state.blocks["N"] @ state.a

        def reversed_at(s: float) -> tuple[float, RowSpace]:
            rows = self.rows_of(self.blocks(state.t + s, q + s * state.blocks["qd"] + s * s / 2 * qdd, v + s * state.a))
            return self.least(state.rows, rows), rows

        if reversed_at(h)[0] > 0:
            return None
        low, high = 0.0, h
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if reversed_at(middle)[0] > 0 else (low, middle)
        s = (low + high) / 2
        vanishes = reversed_at(s)[1].svd[1][self.rank - 1] <= ONLY_TURNED * state.sigma[self.rank - 1]
        return s if vanishes else None

    # -- steps ---------------------------------------------------------------------------------------------------------

    def attempt(self, state: RankState, h: float, near: bool) -> tuple[AcceptedStep, Array, list[float], float]:
        """A trial step: (step, estimate rows E5 and E3, σ of the stages, largest turn of rows in the stages).

        near: whether stages are projected before their slopes are evaluated."""
        K = np.zeros((STAGES + 4, len(state.z)))
        K[0], sigma, worst = state.zd, [], 0.0

        def slope(t: float, z: Array) -> Array:
            nonlocal worst
            blocks = None
            if near:
                z, turn, blocks = self.project(t, z, 4)
                worst = max(worst, turn)
            stage = self.rank_state(t, z, blocks)
            sigma.append(float(stage.sigma[self.rank - 1]))
            return stage.zd

        for i in range(1, STAGES):
            K[i] = slope(state.t + dop.C[i] * h, state.z + h * (dop.A[i, :i] @ K[:i]))
        z1 = state.z + h * (dop.B @ K[:STAGES])
        K[STAGES] = slope(state.t + h, z1)
        if not np.isfinite(K).all():
            raise NoPassage("the equations gave a value that is not finite")
        z, turn, blocks = self.project(state.t + h, z1)
        end = self.rank_state(state.t + h, z, blocks)
        stages = sigma.copy()
        for i in range(STAGES + 1, STAGES + 4):
            K[i] = slope(state.t + dop.C[i] * h, state.z + h * (dop.A[i, :i] @ K[:i]))
        errors = np.array([dop.E5 @ K[: STAGES + 1], dop.E3 @ K[: STAGES + 1]])
        return AcceptedStep(state, end, K), errors, stages, max(turn / ROWS_TURNED, worst / 0.5)

    def error(self, step: AcceptedStep, errors: Array, blind: Array | None) -> float:
        """The error in units of the tolerance, Hairer II.10 (10.17); blind (n, k): directions, of L⁻¹, with only noise."""
        scale = self.atol + self.rtol * np.maximum(np.abs(step.start.z), np.abs(step.end.z))
        if blind is not None:
            K = step.end.rows.K
            keep = K.T @ (np.eye(self.nv) - blind @ blind.T) @ np.linalg.inv(K.T)
            errors = errors.copy()
            for block in (slice(0, self.nq), slice(self.nq, self.nq + self.nv)):
                errors[:, block] = errors[:, block] @ keep.T
        e5, e3 = (float(np.sum((e / scale) ** 2)) for e in errors)
        h = abs(step.end.t - step.start.t)
        return h * e5 / np.sqrt((e5 + THIRD_ORDER * e3) * len(scale)) if e5 else 0.0

    # -- the change point ----------------------------------------------------------------------------------------------

    def inside(self, step: AcceptedStep, t: float) -> tuple[Array, dict[str, Array], RowSpace]:
        """The state inside a step, its blocks and its rows."""
        z = step.at(t)
        blocks = self.blocks(t, *self.split(z))
        return z, blocks, self.rows_of(blocks)

    def reversal(self, step: AcceptedStep, count: int) -> float:
        """The first instant of a step from which on `count` combinations of rows are reversed."""
        low, high = step.start.t, step.end.t
        for _ in range(34):
            middle = (low + high) / 2
            reached = (self.turns(step.start.rows, self.inside(step, middle)[2]) <= 0).sum() >= count
            low, high = (low, middle) if reached else (middle, high)
        return float((low + high) / 2)

    def dip(self, step: AcceptedStep) -> float:
        """Where σ is smallest in a step that reverses no rows. It is within sight, so that a few states show the place."""
        sigma = lambda t: float(self.inside(step, t)[2].svd[1][self.rank - 1])
        grid = np.linspace(step.start.t, step.end.t, 17)
        k = int(np.argmin([sigma(t) for t in grid]))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, 16)]
        for _ in range(30):
            t1, t2 = low + 0.382 * (high - low), low + 0.618 * (high - low)
            low, high = (low, t2) if sigma(t1) < sigma(t2) else (t1, high)
        return float((low + high) / 2)

    def saddles(self, step: AcceptedStep, ends: float) -> list[RankLoss]:
        """Each loss of rank inside a step, in order: different combinations of rows may vanish at different instants of it."""
        reversed_ = int((self.turns(step.start.rows, step.end.rows) < 0).sum())
        losses: list[RankLoss] = [] if reversed_ else [self.saddle(step, self.dip(step), ends)]
        passed = 0
        while passed < reversed_:
            losses.append(self.saddle(step, self.reversal(step, passed + 1), ends))
            passed += max(losses[-1].vanishing, 1)
        return losses

    def strong(self, rows: RowSpace, ends: float) -> int:
        """The number of combinations of rows that do not vanish; ends: the smaller σ before and after."""
        return int((rows.svd[1][: self.rank] > NOT_VANISHING * ends).sum())

    def saddle(self, step: AcceptedStep, t: float, ends: float) -> RankLoss:
        """The loss of rank at an instant of a step; ends: the smaller σ of its ends."""
        t0, t1 = step.start.t, step.end.t
        z, _, rows = self.inside(step, t)
        sigma = float(rows.svd[1][self.rank - 1])
        r, strong = self.rank, self.strong(rows, ends)
        involved = rows_involved(rows.svd[2][strong:r])
        names = tuple(self.names[i] for i in involved)
        if strong == r:
            return RankLoss(t, 0, np.inf, EPS, names, sigma)
        if not self.holonomic.all():
            if self.holonomic[involved].any():
                raise NoPassage(
                    "constraints on velocities lose rank together with others, and no rule says how the motion goes on"
                )
            self.require_smooth(step, t, strong)
            return RankLoss(t, r - strong, 0.0, EPS, names, sigma)
        gap, _ = self.saddle_value(t, *self.split(z), strong, abs(t1 - t0))
        noise = EPS * float(np.linalg.norm(2 * np.maximum(step.start.blocks["f0_scale"], step.end.blocks["f0_scale"]) / self.s))
        return RankLoss(t, r - strong, gap, noise, names, sigma)

    def saddle_value(self, t: float, q: Array, v: Array, strong: int, duration: float) -> tuple[float, Array]:
        """|c| of the rows that vanish near q, after the strong ones have been satisfied, and where it is stationary."""
        blocks = self.blocks(t, q, v)
        rows = self.rows_of(blocks)
        for _ in range(3):
            q = normalise(self.form, q + blocks["N"] @ rows.step(blocks["f0"], strong))
            blocks = self.blocks(t, q, v)
            rows = self.rows_of(blocks)
        U, _, Vt = rows.svd
        weak = Vt[strong : self.rank]
        Z = rows.K.T @ null_space(U[:, :strong].T) if strong else rows.K.T
        A = lambda q: self.blocks(t, q, v)["A"] / self.s[:, None]
        length = 1e-3 * duration * float(np.linalg.norm(np.linalg.solve(rows.K.T, v)))
        G = A(q)
        slopes = [(A(q + length * blocks["N"] @ e) - A(q - length * blocks["N"] @ e)) / (2 * length) for e in Z.T]
        values, shift = [], np.zeros(len(q))
        for u in weak:
            g = Z.T @ (G.T @ u)
            H = np.array([Z.T @ (S.T @ u) for S in slopes])
            y = -least_squares((H + H.T) / 2, g, DIFFERENCED_LOST)
            values.append(u @ (blocks["f0"] / self.s) + g @ y / 2)
            shift += blocks["N"] @ (Z @ y)
        return float(np.linalg.norm(values)), normalise(self.form, q + shift)

    def meet_near(self, t: float, q: Array, v: Array, ends: float, duration: float) -> bool:
        """Whether branches meet near q, where rows vanish: |c| is rounding at the point where it is stationary.

        ends: σ before and after the loss of rank. States between long steps are only near that point; it is approached by
        Newton's method. True where no rows vanish.
        """
        strong = self.strong(self.rows_of(self.blocks(t, q, v)), ends)
        if strong == self.rank:
            return True
        gap = np.inf
        for _ in range(SADDLE_ITERATIONS):
            gap, q = self.saddle_value(t, q, v, strong, duration)
        noise = EPS * float(np.linalg.norm(2 * self.blocks(t, q, v)["f0_scale"] / self.s))
        return gap <= BRANCHES_MEET * noise

    def require_smooth(self, step: AcceptedStep, t: float, strong: int) -> None:
        """Raise `NoPassage` if velocity rows that vanish at t return in another direction, or with another acceleration.

        A row ∂f/∂q̇ that vanishes with the velocities, as in a²(ẋ² + ẏ²) = ż² at the top of a rise, has a direction on both
        sides. If both limits are the same line, and the accelerations agree, one smooth motion passes through the point. Both
        are checked twice, the second time closer: differences of continuous quantities shrink with the distance.
        """
        room = min(abs(t - step.start.t), abs(step.end.t - t))
        turns, kicks = [], []
        for distance in (room / 2, room / 2 * SECOND_DISTANCE):
            before, after = (self.rank_state(s, step.at(s)) for s in (t - distance, t + distance))
            lines = [state.rows.svd[0][:, strong : self.rank] for state in (before, after)]
            cosine = float(singular_values(lines[0].T @ lines[1]).min())
            turns.append(np.sqrt(max(0.0, 1.0 - cosine**2)))
            kicks.append(float(np.abs(after.a - before.a).max() / max(np.abs(after.a).max(), np.abs(before.a).max(), 1e-300)))
        noise = CONTINUOUS_WITHIN + 100 * self.rtol
        if turns[1] > max(0.5 * turns[0], noise) or kicks[1] > max(0.5 * kicks[0], noise):
            jump = "their direction jumps" if turns[1] > max(0.5 * turns[0], noise) else "the accelerations jump"
            raise NoPassage(f"constraints on velocities vanish and {jump} there: the motion is not determined")
        gamma = self.growth(step, t, room / 2)
        if gamma > LARGEST_STEADY_GROWTH:
            raise NoPassage(
                f"constraints on velocities vanish, and many motions leave this point (they part as |t − t*|^{gamma:.3g}): the"
                " motion is not determined"
            )

    def growth(self, step: AcceptedStep, t: float, distance: float) -> float:
        """γ of `vanishing.growth` at a state before t."""
        since = t - distance * float(np.sign(step.end.t - step.start.t))
        before = self.rank_state(since, step.at(since))

        def acceleration(v: Array) -> Array:
            z = before.z.copy()
            z[self.nq : self.nq + self.nv] = v
            return self.rank_state(since, z).a

        tangent = before.rows.K.T @ null_space(before.rows.svd[0][:, : self.rank].T)  # A η = 0
        return growth(acceleration, self.split(before.z)[1], tangent, t - since)
