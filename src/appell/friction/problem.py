"""Which mode holds at an instant: a complementarity problem, for accelerations and for impulses.

    M x = r + Σ W_j λ_j           x = a: r = Q − h, c = γ          x = Δv: r = 0, c = rates before, (1 + e) ġ⁻ on faces
    constraints                   J x + c = 0
    faces                         0 <= Λ ⟂ n x + c >= 0
    frictions                     y = D x + c:   y = 0 and |λ| <= bound,   or λ = −bound u, u·y >= 0        bound = μ|Λ_N| or F

A `Choice` says which of the two holds everywhere; then the problem is linear. All choices are tried where they are few; else
Lemke's method proposes one, and nothing is believed that does not satisfy every line above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog

from appell.friction.functions import Layout
from appell.friction.mode import OFF, SLIP, STICK, Mode, Rub

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Share of the sizes of a problem below which a guard is a tie."""
DEPENDENT = 1e-11
"""Share of the largest singular value below which rows depend on each other."""
DIFFERENT = 1e-6
"""Share of the accelerations by which two solutions differ."""
FEW = 730
"""Choices that are all tried."""
SIDES = 64
"""Of the polygon inside the circle of a pair, where reactions are not unique."""


@dataclass(frozen=True)
class Answer:
    """x, multipliers of all rows (R,), friction forces (parts,), and directions in which the multipliers are free, (R, d)."""

    mode: Mode
    x: Array
    lam: Array
    force: Array
    free: Array
    solvable: bool
    slack: float = np.inf  # the smallest of all inequalities, in units of their sizes
    ties: tuple[int, ...] = ()

    @property
    def consistent(self) -> bool:
        return self.solvable and self.slack >= -TOLERANCE

    @property
    def strict(self) -> bool:
        return self.solvable and self.slack > TOLERANCE


@dataclass(frozen=True, eq=False)
class Problem:
    """The numbers of the problem at an instant; `mu`, `mu_static`: coefficients or limits of the frictions."""

    own: Layout
    M: Array
    r: Array
    J: Array
    W: Array
    c: Array
    mu: Array
    mu_static: Array
    least: float = 0.0  # E is not less: what is small for a motion may be all that there is at an instant

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @cached_property
    def compliance(self) -> Array:
        """G = J K Jᵀ, (R, R): K the inverse of M on what the constraints allow."""
        m = self.own.m
        x = _saddle(self.M, self.J[:m], self.W[:, :m], self.J.T, np.zeros((m, len(self.J))))[0]
        return self.J @ x

    @cached_property
    def _scale(self) -> tuple[Array, Array, float]:
        """Sizes of multipliers and of rows, (R,), (R,), from E = max c²/G, the square of x in the kinetic metric."""
        m = self.own.m
        x = _saddle(self.M, self.J[:m], self.W[:, :m], self.r[:, None], -self.c[:m, None])[0][:, 0]
        loose = np.linalg.lstsq(self.M, self.r, rcond=1e-13)[0]  # what constraints bear is a force too
        terms = np.abs(self.J) @ (np.abs(x) + np.abs(loose)) + np.abs(self.c)
        inertia = np.where(np.diag(self.M) > 0, np.diag(self.M), np.inf)
        G = np.maximum(np.abs(np.diag(self.compliance)), 1e-9 * (self.J**2 @ (1 / inertia)))
        G[:m] = np.maximum(G[:m], self.J[:m] ** 2 @ (1 / inertia))
        G = np.where(G > 0, G, 1.0)
        limits = [self.mu_static[i] ** 2 * G[row] for i, n in enumerate(self.own.normals) if n is None
                  for row in self.own.own_rows(i)]  # fmt: skip
        E = max(float(np.max(terms**2 / G, initial=0.0)), max(limits, default=0.0), self.least, 1e-300)
        return np.sqrt(E / G), np.sqrt(E * G), E

    def same(self, x: Array, y: Array) -> bool:
        """Whether two answers are one motion."""
        return float((x - y) @ self.M @ (x - y)) <= DIFFERENT**2 * max(self._scale[2], float(x @ self.M @ x))

    # -- one choice ----------------------------------------------------------------------------------------------------

    def solve(self, mode: Mode) -> Answer:
        """The linear problem of a mode, rows that depend on others among its own."""
        own, held = self.own, mode.held(self.own)
        W, r = self.columns(mode)
        x, lam, free, solvable = _saddle_free(self.M, self.J[held], W[:, held], r, -self.c[held])
        full, null = np.zeros(own.rows), np.zeros((own.rows, free.shape[1]))
        full[held], null[held] = lam, free
        return Answer(mode, x, full, self.forces(mode, full), null, solvable)

    def answers(self, mode: Mode, resting: Sequence[int], faces: Sequence[int]) -> list[Answer]:
        """The answers of a mode, checked: one, or several directions in which pairs begin to slide."""
        begin = [i for i, rub in enumerate(mode.rubs) if rub.fixed and not any(rub.u)]
        modes = self._directions(mode, begin) if begin else [mode]
        return [self.checked(self.solve(one), resting, faces) for one in modes]

    def _directions(self, mode: Mode, begin: list[int]) -> list[Mode]:
        """Modes with the directions in which pairs begin to slide, u ∥ D x + c: all of them for one pair, one for several."""
        start = self.solve(_with(mode, {i: Rub(STICK) for i in begin}))
        angle = {}
        for i in begin:
            force = start.force[self.own.columns(i)]
            angle[i] = float(np.arctan2(-force[1], -force[0]))
        if len(begin) == 1:
            return [_towards(mode, {begin[0]: theta}) for theta in self._parallel(mode, begin[0])]
        for _ in range(60):
            moved = 0.0
            for i in begin:
                others = _towards(mode, angle)
                found = self._parallel(_with(others, {i: mode.rubs[i]}), i)
                if not found:
                    return []
                near = min(found, key=lambda theta, i=i: abs(_turn(theta - angle[i])))
                moved, angle[i] = max(moved, abs(_turn(near - angle[i]))), near
            if moved < 1e-12:
                return [_towards(mode, angle)]
        return []

    def _parallel(self, mode: Mode, i: int) -> list[float]:
        """Angles at which the rate of the slip of pair i has the direction of slip."""
        rows = self.own.own_rows(i)

        def rate(theta: float) -> Array:
            return self.J[rows] @ self.solve(_towards(mode, {i: theta})).x + self.c[rows]

        def across(theta: float) -> float:
            y = rate(theta)
            return float(np.cos(theta) * y[1] - np.sin(theta) * y[0])

        grid = np.linspace(-np.pi, np.pi, 33)
        values = [across(theta) for theta in grid]
        found = [float(brentq(across, a, b, xtol=1e-15, rtol=1e-14))  # type: ignore[arg-type]
                 for a, b, x, y in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True)
                 if np.isfinite([x, y]).all() and (x > 0) != (y > 0)]  # fmt: skip
        size = self._scale[1][rows[0]]
        return [theta for theta in found if np.array([np.cos(theta), np.sin(theta)]) @ rate(theta) >= -TOLERANCE * size]

    def columns(self, mode: Mode) -> tuple[Array, Array]:
        """W with the columns of sliding, and r with the forces of limits."""
        own, W, r = self.own, self.W.copy(), self.r.copy()
        for i, rub in enumerate(mode.rubs):
            if rub.state != SLIP:
                continue
            push = self.W[:, own.own_rows(i)] @ np.array(rub.u)
            if own.normals[i] is None:
                r -= self.mu[i] * push
            else:
                W[:, own.normals[i]] -= rub.sign * self.mu[i] * push
        return W, r

    def forces(self, mode: Mode, lam: Array) -> Array:
        """λ of all frictions, (parts,)."""
        own = self.own
        force = lam[own.m + own.faces :].copy()
        for i, rub in enumerate(mode.rubs):
            if rub.state == SLIP:
                force[own.columns(i)] = -self.bound(i, lam, rub.sign, static=False) * np.array(rub.u)
        return force

    def bound(self, i: int, lam: Array, sign: float, *, static: bool) -> float:
        """μ σ Λ_N or F of friction i."""
        size = float((self.mu_static if static else self.mu)[i])
        row = self.own.normals[i]
        return size if row is None else size * sign * float(lam[row])

    def checked(self, answer: Answer, resting: Sequence[int], faces: Sequence[int], guess: Array | None = None) -> Answer:
        """The answer with its slack: `resting` are the frictions without slip, `faces` those that may press.

        guess: multipliers of a state nearby; where those nearest to them lie inside the cones, they are as good as any."""
        if not answer.solvable:
            return answer
        if answer.free.shape[1] and self._matters(answer):
            if guess is not None:
                size = self._scale[0][:, None]
                k = np.linalg.lstsq(answer.free / size, (guess - answer.lam) / size[:, 0], rcond=1e-12)[0]
                lam = answer.lam + answer.free @ k
                near = replace(answer, lam=lam, force=self.forces(answer.mode, lam))
                slack, ties = self._slacks(near, resting, faces)
                if slack > TOLERANCE:
                    return replace(near, slack=slack, ties=ties)
            return self._by_programme(answer, resting, faces)
        slack, ties = self._slacks(answer, resting, faces)
        return Answer(answer.mode, answer.x, answer.lam, answer.force, answer.free, True, slack, ties)

    def _slacks(self, answer: Answer, resting: Sequence[int], faces: Sequence[int]) -> tuple[float, tuple[int, ...]]:
        own, lam, mode = self.own, answer.lam, answer.mode
        force_size, row_size, _ = self._scale
        rates = self.J @ answer.x + self.c
        values = [(row, lam[row] / force_size[row] if f in mode.closed else rates[row] / row_size[row])
                  for f in faces for row in [own.m + f]]  # fmt: skip
        for i, rub in enumerate(mode.rubs):
            rows = own.own_rows(i)
            normal = own.normals[i]
            if rub.state == SLIP and normal is not None and normal < own.m:
                values.append((normal, rub.sign * lam[normal] / force_size[normal]))
            if rub.state == STICK:
                sign = np.sign(lam[normal]) if normal is not None and normal < own.m else 1
                bound = self.bound(i, lam, float(sign), static=True)
                values.append((rows[0], (bound - np.linalg.norm(lam[rows])) / force_size[rows[0]]))
            if rub.state == SLIP and i in resting and not own.smooth[i]:
                values.append((rows[0], np.array(rub.u) @ rates[rows] / row_size[rows[0]]))
        slack = min((value for _, value in values), default=np.inf)
        return float(slack), tuple(sorted({row for row, value in values if abs(value) <= TOLERANCE}))

    # -- reactions that are not unique -----------------------------------------------------------------------------------

    def _matters(self, answer: Answer) -> bool:
        """Whether what is free in the multipliers touches faces or frictions."""
        force_size = self._scale[0]
        watched = {n for n in self.own.normals if n is not None} | set(range(self.own.m, self.own.rows))
        part = answer.free[sorted(watched)] / force_size[sorted(watched), None]
        whole = np.abs(answer.free / force_size[:, None]).max(initial=0.0)
        return bool(np.abs(part).max(initial=0.0) > 1e-9 * whole)

    def _by_programme(self, answer: Answer, resting: Sequence[int], faces: Sequence[int]) -> Answer:
        """Whether some reactions bear it inside all cones: max τ with Λ >= τ, |λ| + τ <= μ_s Λ_N over λ + free·k, a linear
        programme."""
        own, mode, (force_size, row_size, _) = self.own, answer.mode, self._scale
        free, d = answer.free, answer.free.shape[1]
        best: tuple[float, Array] | None = None
        bilateral = sorted(
            {n for i, n in enumerate(own.normals) if n is not None and n < own.m and mode.rubs[i].state == STICK}
        )
        for signs in product((1, -1), repeat=len(bilateral)):
            left, right = [], []  # left·(k, τ) <= right

            def least(row: Array, value: float, size: float, left: list[Array] = left, right: list[float] = right) -> None:
                left.append(np.append(-row / size, 1.0))
                right.append(value / size)

            for row, sign in zip(bilateral, signs, strict=True):
                least(sign * free[row], sign * answer.lam[row], force_size[row])
            for f in mode.closed:
                least(free[own.m + f], answer.lam[own.m + f], force_size[own.m + f])
            for i, rub in enumerate(mode.rubs):
                if rub.state != STICK:
                    continue
                rows, n = own.own_rows(i), own.normals[i]
                sign = signs[bilateral.index(n)] if n in bilateral else 1
                size = float(self.mu_static[i])
                base = size if n is None else size * sign * answer.lam[n]
                slope = np.zeros(d) if n is None else size * sign * free[n]
                for u in _sides(len(rows)):
                    least(slope - u @ free[rows], base - u @ answer.lam[rows], force_size[rows[0]])
            found = linprog(np.append(np.zeros(d), -1.0), A_ub=np.array(left), b_ub=np.array(right),
                            bounds=[(None, None)] * d + [(None, 1e3)], method="highs")  # fmt: skip
            if found.status == 0 and (best is None or found.x[-1] > best[0]):
                best = float(found.x[-1]), found.x[:-1]
        if best is None:
            return Answer(mode, answer.x, answer.lam, answer.force, free, False)
        lam = answer.lam + free @ best[1]
        rates = self.J @ answer.x + self.c
        open_ = [rates[own.m + f] / row_size[own.m + f] for f in faces if f not in mode.closed]
        begun = [np.array(rub.u) @ rates[own.own_rows(i)] / row_size[own.own_rows(i)[0]]
                 for i, rub in enumerate(mode.rubs) if rub.state == SLIP and i in resting and not own.smooth[i]]  # fmt: skip
        slack = min([best[0], *open_, *begun])
        ties = (
            tuple(own.own_rows(i)[0] for i, rub in enumerate(mode.rubs) if rub.state == STICK)
            if abs(best[0]) <= TOLERANCE
            else ()
        )
        return Answer(mode, answer.x, lam, self.forces(mode, lam), free, True, float(slack), ties)

    # -- all choices ---------------------------------------------------------------------------------------------------

    def choices(self, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]]) -> Iterator[Mode]:
        """Every mode: `faces` closed or open, `resting` frictions stuck or sliding either way, the others `slipping`; those
        with the most contacts and the most that sticks first."""
        own = self.own
        pressed = sorted({row for row in own.normals if row is not None and row < own.m})
        for closed in sorted(_subsets(faces), key=lambda c: -len(c)):
            options: list[list[Rub]] = []
            for i in range(own.count):
                face, row = own.face_of(i), own.normals[i]
                signs = (1, -1) if row in pressed else (1,)
                if face is not None and face not in closed:
                    options.append([Rub(OFF)])
                elif own.smooth[i]:
                    options.append([Rub(SLIP, (0.0,) * own.parts[i], s) for s in signs])
                elif i in resting and own.parts[i] == 1:
                    options.append([Rub(STICK), *(Rub(SLIP, (u,), s) for s in signs for u in (1.0, -1.0))])
                elif i in resting:
                    options.append([Rub(STICK), *(Rub(SLIP, (0.0, 0.0), s, True) for s in signs)])
                else:
                    options.append([Rub(SLIP, slipping[i], s) for s in signs])
            for rubs in _most_sticking_first(options):
                if self._one_sign(rubs):
                    yield Mode(tuple(sorted(closed)), rubs)

    def _one_sign(self, rubs: Sequence[Rub]) -> bool:
        """Whether frictions of one normal that slide agree about its sign."""
        signs: dict[int | None, int] = {}
        sliding = [(self.own.normals[i], rub.sign) for i, rub in enumerate(rubs) if rub.state == SLIP]
        return all(signs.setdefault(row, sign) == sign for row, sign in sliding)


def _most_sticking_first(options: Sequence[Sequence[Rub]]) -> Iterator[tuple[Rub, ...]]:
    """Every choice, those with the most that sticks first; very many in their own order, in which all that sticks is first."""
    every = product(*options)
    if np.prod([float(len(one)) for one in options]) > 1e5:
        return every
    return iter(sorted(every, key=lambda rubs: -sum(rub.state == STICK for rub in rubs)))


def _with(mode: Mode, rubs: dict[int, Rub]) -> Mode:
    return replace(mode, rubs=tuple(rubs.get(i, rub) for i, rub in enumerate(mode.rubs)))


def _towards(mode: Mode, angles: dict[int, float]) -> Mode:
    """The mode with pairs that slide at given angles."""
    return _with(mode, {i: mode.rubs[i]._replace(u=(float(np.cos(x)), float(np.sin(x)))) for i, x in angles.items()})


def _turn(angle: float) -> float:
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(x for x, keep in zip(items, kept, strict=True) if keep) for kept in product((True, False), repeat=len(items))]


def _sides(parts: int) -> Array:
    """Unit vectors whose half planes bound the force: both signs, or a polygon inside the circle."""
    if parts == 1:
        return np.array([[1.0], [-1.0]])
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.column_stack([np.cos(angles), np.sin(angles)]) / np.cos(np.pi / SIDES)


def _scaled(M: Array, A: Array, W: Array) -> tuple[Array, Array, Array]:
    """The matrix of the saddle point with velocities measured by their inertia and rows by the longest; D, L."""
    n, m = len(M), len(A)
    inertia = np.diag(M)
    D = 1 / np.sqrt(np.where(inertia > 0, inertia, np.mean(inertia[inertia > 0]) if (inertia > 0).any() else 1.0))
    length = np.linalg.norm(A * D, axis=1)
    L = 1 / np.where(length > 1e-9 * length.max(initial=0.0), length, 1.0)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M * np.outer(D, D), -(W * np.outer(D, L)), A * np.outer(L, D)
    return K, D, L


def _saddle(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """(x, λ) of M x = r + W λ, A x = s, each (…, k), of least norm."""
    n = len(M)
    K, D, L = _scaled(M, A, W)
    x = np.linalg.lstsq(K, np.vstack([r * D[:, None], s * L[:, None]]), rcond=1e-13)[0]
    return x[:n] * D[:, None], x[n:] * L[:, None]


def response(M: Array, A: Array, W: Array, r: Array, s: Array | None = None) -> Array:
    """x of M x = r + W λ, A x = s (or 0), (…, k)."""
    return _saddle(M, A, W, r, np.zeros((len(A), r.shape[1])) if s is None else s[:, None])[0]


def _saddle_free(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array, Array, bool]:
    """(x, λ, directions in which λ is free, whether x is determined)."""
    n = len(M)
    K, D, L = _scaled(M, A, W)
    right = np.concatenate([r * D, s * L])
    U, S, Vt = np.linalg.svd(K)
    rank = int((DEPENDENT * S[0] < S).sum())
    y = Vt[:rank].T @ ((U[:, :rank].T @ right) / S[:rank])
    y += Vt[:rank].T @ ((U[:, :rank].T @ (right - K @ y)) / S[:rank])
    null = Vt[rank:].T
    missed = np.abs(right - K @ y).max(initial=0.0)
    solvable = missed <= 1e-9 * (np.abs(right).max(initial=0.0) + np.abs(K) @ np.abs(y)).max(initial=0.0) + 1e-300
    solvable = bool(solvable) and np.abs(null[:n]).max(initial=0.0) <= 1e-7
    return y[:n] * D, y[n:] * L, null[n:] * L[:, None], solvable


__all__ = ["Answer", "Problem", "response"]
