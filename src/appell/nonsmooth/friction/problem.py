"""The complementarity problem that decides which mode holds at an instant, for accelerations and for impulses.

    M x = r + Σ W_j λ_j           x = a: r = Q − h, c = γ          x = Δv: r = 0, c = rates before, (1 + e) ġ⁻ on faces
    constraints                   J x + c = 0
    faces                         0 <= Λ ⟂ n x + c >= 0
    frictions                     y = D x + c:   y = 0 and |λ| <= bound,   or λ = −bound u, u·y >= 0        bound = μ|Λ_N| or F

A mode selects one alternative in every line, which makes the problem linear. If there are few modes, all are tried; otherwise
Lemke's method or projections onto the cones propose one. No solution is accepted unless it satisfies every line above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.modes.mode import SLIP, STICK, FrictionState, Mode
from appell.nonsmooth.friction.directions import directed
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.nonunique_reactions import affects_contacts, best_borne, changes_loads
from appell.nonsmooth.friction.thresholds import NO_COMPLIANCE, NO_ENERGY, TIE
from appell.rows import NEWTON_LOST, least_squares, response, saddle_point

Array = NDArray[np.float64]

BLIND_SLIP = 1e-13
"""Fraction of the largest component of a slip, and of its scale, below which another component is rounding and cannot move."""
MOTIONS_DIFFER = 1e-6
"""Fraction of the accelerations above which two solutions count as different."""
LAW_NEWTON_STEPS, FORCES_SETTLED = 30, 1e-12
"""Most Newton iterations for a law that is not affine, and the last correction as a fraction of the multipliers."""
CHOICES_TRIED = 730
"""Largest number of choices that are tried one by one."""


@dataclass(frozen=True)
class Answer:
    """A solution: x, multipliers of all rows (R,), friction forces (parts,), and free directions of the multipliers, (R, d)."""

    mode: Mode
    x: Array
    lam: Array
    force: Array
    free: Array
    solvable: bool
    slack: float = np.inf  # the smallest slack of all inequalities, scaled
    ties: tuple[int, ...] = ()
    yielding: Mode | None = None  # the mode in which non-unique reactions yield at their bounds

    @property
    def consistent(self) -> bool:
        return self.solvable and self.slack >= -TIE

    @property
    def strict(self) -> bool:
        return self.solvable and self.slack > TIE


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of the problem at an instant; `mu`, `mu_static`: coefficients or limits of the frictions."""

    layout: FrictionLayout
    M: Array
    r: Array
    J: Array
    W: Array
    c: Array
    mu: Array
    mu_static: Array
    least: float = 0.0  # lower bound of E: at an instant all terms may be small for the motion
    law: Callable[[Array], tuple[Array, Array]] | None = None  # λ of all rows → F (nv,), ∂F/∂λ: forces in addition to r and W
    smooth: Array | None = None  # s/√(|s|² + ε²) of regularised frictions, (parts,)
    load: Callable[[Array, bool], tuple[Array, Array]] | None = None  # (λ, at rest) → L (frictions,), ∂L/∂λ
    tangent: tuple[Array, Array] | None = None  # L ≈ value + slope·λ, (frictions,), (frictions, R)

    # -- scales --------------------------------------------------------------------------------------------------------

    @cached_property
    def _under_constraints_alone(self) -> tuple[Array, Array]:
        """x under the constraints alone, (nv,), and G = J K Jᵀ, (R, R), where K is the inverse of M on their kernel."""
        m, right = self.layout.m, np.concatenate([self.r[:, None], self.J.T], axis=1)
        targets = np.zeros((m, right.shape[1]))
        targets[:, 0] = -self.c[:m]
        x = saddle_point(self.M, self.J[:m], self.W[:, :m], right, targets).x
        return x[:, 0], self.J @ x[:, 1:]

    @cached_property
    def scale(self) -> tuple[Array, Array, float]:
        """Scales of multipliers and of rows, (R,), (R,), and E = max c²/G, the square of x in the kinetic metric."""
        m = self.layout.m
        x, compliance = self._under_constraints_alone
        # reactions of constraints count as forces, too
        loose = response(self.M, self.J[:0], self.W[:, :0], self.r[:, None])[:, 0] if m else x
        terms = np.abs(self.J) @ (np.abs(x) + np.abs(loose)) + np.abs(self.c)
        inertia = self.M.diagonal()
        inertia = inertia if inertia.min(initial=np.inf) > 0 else np.where(inertia > 0, inertia, np.inf)
        unconstrained = self.J**2 @ (1 / inertia)
        G = np.maximum(np.abs(compliance.diagonal()), NO_COMPLIANCE * unconstrained)
        G[:m] = np.maximum(G[:m], unconstrained[:m])
        if not G.all():
            G = np.where(G > 0, G, G.max(initial=0.0) or 1.0)  # a row that nothing moves takes the scale of the others
        limits = [self.mu_static[i] ** 2 * G[row] for i in range(self.layout.count) if self.layout.limited(i)
                  for row in self.layout.own_rows(i)]  # fmt: skip
        E = max(float((terms**2 / G).max(initial=0.0)), max(limits, default=0.0), self.least, NO_ENERGY)
        return np.sqrt(E / G), np.sqrt(E * G), E

    @cached_property
    def immobile_rows(self) -> frozenset[int]:
        """Components of slips along which nothing can move (across a wheel in a plane); there is no friction along them."""
        components = set()
        for i in range(self.layout.count):
            rows = self.layout.own_rows(i)
            size = np.linalg.norm(self.J[rows], axis=1)
            largest = int(size.argmax())
            immobile = [k for k in range(len(rows)) if size[k] <= BLIND_SLIP * size[largest] and k != largest]
            components |= {rows[k] for k in immobile if abs(self.c[rows[k]]) <= BLIND_SLIP * self.scale[1][rows[largest]]}
        return frozenset(components)

    def same(self, x: Array, y: Array) -> bool:
        """Whether two solutions are the same motion."""
        return float((x - y) @ self.M @ (x - y)) <= MOTIONS_DIFFER**2 * max(self.scale[2], float(x @ self.M @ x))

    # -- one mode ------------------------------------------------------------------------------------------------------

    def solve(self, mode: Mode) -> Answer:
        """The solution in a mode, whose rows may be dependent: linear, or by Newton's method under a nonlinear law."""
        answer = self._solve_linear(mode)
        if self.law is None and not any(self.layout.loads[i] for i in mode.sliding):
            return answer
        for _ in range(LAW_NEWTON_STEPS):
            if (linearised := self._affine(answer)) is None:
                break
            previous, answer = answer, linearised._solve_linear(mode)
            settled = np.abs(answer.lam - previous.lam) <= FORCES_SETTLED * self.scale[0]
            if not answer.solvable:
                break
            if settled.all():
                return answer
        return replace(answer, solvable=False)

    def _affine(self, answer: Answer) -> Problem | None:
        """The problem with law and loads linearised at a solution; None where they are not defined there."""
        linearised, split = self, self.layout.m + self.layout.faces
        if self.law is not None:
            lam = np.append(answer.lam[:split], answer.force)
            F, slope = self.law(lam)
            if not (np.isfinite(F).all() and np.isfinite(slope).all()):
                return None
            linearised = replace(linearised, law=None, r=self.r + F - slope @ lam, W=self.W + slope)
        if self.load is not None:
            L, slope = self.load(answer.lam, False)
            if not (np.isfinite(L).all() and np.isfinite(slope).all()):
                return None
            linearised = replace(linearised, tangent=(L - slope @ answer.lam, slope))
        return linearised

    def _solve_linear(self, mode: Mode) -> Answer:
        """The solution in a mode where all forces are affine in the multipliers."""
        layout, rows = self.layout, [row for row in mode.rows(self.layout) if row not in self.immobile_rows]
        W, r = self.columns(mode)
        x, lam, free, solvable = saddle_point(self.M, self.J[rows], W[:, rows], r, -self.c[rows])
        multipliers, directions = np.zeros(layout.rows), np.zeros((layout.rows, free.shape[1]))
        multipliers[rows], directions[rows] = lam, free
        return Answer(mode, x, multipliers, self.forces(mode, multipliers), directions, solvable)

    def solutions(self, mode: Mode, resting: Sequence[int], faces: Sequence[int]) -> list[Answer]:
        """The solutions of a mode, checked: one, or one for each direction in which pairs may begin to slide."""
        begin = [i for i, friction in enumerate(mode.frictions) if friction.fixed and not any(friction.u)]
        modes = directed(self, mode, begin) if begin else [mode]
        return [self.checked(self.solve(directed_mode), resting, faces) for directed_mode in modes]

    def columns(self, mode: Mode) -> tuple[Array, Array]:
        """W with the columns of sliding frictions, and r with the forces of limits."""
        layout, W, r = self.layout, self.W.copy(), self.r.copy()
        for i, friction in enumerate(mode.frictions):
            if friction.state != SLIP:
                continue
            push = self.W[:, layout.own_rows(i)] @ self._slip_direction(i, friction)
            if layout.loads[i]:
                if self.tangent is not None:
                    r -= self.mu[i] * self.tangent[0][i] * push
                    W -= self.mu[i] * np.outer(push, self.tangent[1][i])
            elif layout.normals[i] is None:
                r -= self.mu[i] * push
            else:
                W[:, layout.normals[i]] -= friction.sign * self.mu[i] * push
        return W, r

    def forces(self, mode: Mode, lam: Array) -> Array:
        """λ of all frictions, (parts,)."""
        layout = self.layout
        force = lam[layout.m + layout.faces :].copy()
        for i, friction in enumerate(mode.frictions):
            if friction.state == SLIP:
                force[layout.columns(i)] = -self.bound(i, lam, friction.sign, static=False) * self._slip_direction(i, friction)
        return force

    def _slip_direction(self, i: int, friction: FrictionState) -> Array:
        """u of a sliding friction; |u| < 1 if it is regularised."""
        return np.array(friction.u) if self.smooth is None or not self.layout.smooth[i] else self.smooth[self.layout.columns(i)]

    def bound(self, i: int, lam: Array, sign: float, *, static: bool) -> float:
        """μ σ Λ_N, μ L(λ) or F of friction i."""
        size = float((self.mu_static if static else self.mu)[i])
        row = self.layout.normals[i]
        if self.layout.loads[i]:
            assert self.load is not None
            return size * float(self.load(lam, static)[0][i])
        return size if row is None else size * sign * float(lam[row])

    def checked(self, answer: Answer, resting: Sequence[int], faces: Sequence[int], guess: Array | None = None) -> Answer:
        """The answer with its slack: `resting` are the frictions without slip, `faces` those that may press.

        guess: multipliers of a state nearby; where those nearest to them lie inside the cones, they are as good as any."""
        if not answer.solvable:
            return answer
        if answer.free.shape[1] and affects_contacts(self, answer):
            if changes_loads(self, answer):
                return replace(answer, solvable=False)
            if guess is not None:
                size = self.scale[0][:, None]
                k = least_squares(answer.free / size, (guess - answer.lam) / size[:, 0], NEWTON_LOST)
                lam = answer.lam + answer.free @ k
                nearest = replace(answer, lam=lam, force=self.forces(answer.mode, lam))
                slack, ties = self._slacks(nearest, resting, faces)
                if slack > TIE:
                    return replace(nearest, slack=slack, ties=ties)
            return best_borne(self, answer, resting, faces, TIE)
        slack, ties = self._slacks(answer, resting, faces)
        return Answer(answer.mode, answer.x, answer.lam, answer.force, answer.free, True, slack, ties)

    def _slacks(self, answer: Answer, resting: Sequence[int], faces: Sequence[int]) -> tuple[float, tuple[int, ...]]:
        """The smallest slack of all inequalities, in the scales of their rows, and the rows that are tied."""
        layout, lam, mode = self.layout, answer.lam, answer.mode
        force_size, row_size, _ = self.scale
        rates = self.J @ answer.x + self.c
        values = [(row, lam[row] / force_size[row] if f in mode.closed else rates[row] / row_size[row])
                  for f in faces for row in [layout.m + f]]  # fmt: skip
        for i, friction in enumerate(mode.frictions):
            rows = layout.own_rows(i)
            normal = layout.normals[i]
            if friction.state == SLIP and normal is not None and normal < layout.m:
                values.append((normal, friction.sign * lam[normal] / force_size[normal]))
            if friction.state == STICK:
                sign = np.sign(lam[normal]) if normal is not None and normal < layout.m else 1
                bound = self.bound(i, lam, float(sign), static=True)
                values.append((rows[0], (bound - np.linalg.norm(lam[rows])) / force_size[rows[0]]))
            if friction.state == SLIP and layout.loads[i]:
                values.append((rows[0], self.bound(i, lam, 1.0, static=False) / force_size[rows[0]]))
            if friction.state == SLIP and i in resting and not layout.smooth[i]:
                values.append((rows[0], np.array(friction.u) @ rates[rows] / row_size[rows[0]]))
        slack = min((value for _, value in values), default=np.inf)
        return float(slack), tuple(sorted({row for row, value in values if abs(value) <= TIE}))


__all__ = ["Answer", "Problem"]
