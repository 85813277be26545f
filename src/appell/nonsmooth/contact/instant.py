"""A state with the blocks of its normal form and its faces: the response to impulses, and the scales of comparisons.

    M x = r + W λ + n P,  A x = s,  n x = targets            x = K r of r alone,  G = n K nᵀ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.nonsmooth.criteria import blows_apart, gap_noise, impulse_answered, no_acceleration, on_face, slow_rate
from appell.normal_form import NormalForm
from appell.rows import plainly_independent, response, saddle_point

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Instant:
    """A state with the blocks of its normal form and its faces."""

    M: Array
    A: Array
    W: Array
    force: Array  # Q − h
    a0: Array
    g: Array
    g_scale: Array
    g_d: Array
    g_v: Array
    g_dd0: Array
    restitution: Array
    v: Array
    t: float = 0.0
    floor: float = 0.0

    @staticmethod
    def at(form: NormalForm, t: float, q: Array, v: Array, p: Array, floor: float = 0.0) -> Instant:
        """The instant at a state (q, v) of a form; floor: the finest distance that matters, per unit of its normal."""
        names = ("M", "A", "W", "a0", "g", "g_scale", "g_d", "g_v", "g_dd0", "restitution")
        blocks = form.select(*names, "Q", "h")(t, q, v, p)
        return Instant(**{name: blocks[name] for name in names}, force=blocks["Q"] - blocks["h"], v=v, t=t, floor=floor)

    # -- scales of comparisons, (faces,) --------------------------------------------------------------------------------

    @cached_property
    def noise(self) -> Array:
        """Uncertainty of each distance, see `gap_noise`."""
        return gap_noise(self.g, self.g_scale, self.g_d, self.t, self.floor * np.abs(self.g_v).sum(axis=1))

    @cached_property
    def flight(self) -> Array:
        """Accelerations with all faces open, (nv,)."""
        return self.solve((), self.force, -self.a0, np.zeros(0))[0]

    @cached_property
    def bends(self) -> Array:
        """Sum of the terms of g̈ in flight: Σ|n_j a_j| + |g̈ at a = 0|."""
        return np.abs(self.g_v) @ np.abs(self.flight) + np.abs(self.g_dd0)

    @cached_property
    def speeds(self) -> Array:
        """Rates that motions of this energy can have along the normals, about √(v·Mv n·M⁻¹n), plus those of moving faces."""
        inertia = self.M.diagonal()
        inertia = np.where(inertia > 0, inertia, np.inf)
        attainable = np.sqrt(max(self.energy(self.v), 0.0) * (self.g_v**2 @ (1 / inertia)))
        return attainable + np.abs(self.g_d - self.g_v @ self.v)

    @cached_property
    def slow(self) -> Array:
        """Rates below which faces count as at rest: see `slow_rate`."""
        return slow_rate(self.speeds, self.bends, self.noise, float(np.spacing(abs(self.t))))

    def on(self) -> list[int]:
        """The faces on which the state lies."""
        return [int(i) for i in np.flatnonzero(on_face(self.g, self.noise))]

    @property
    def resting(self) -> list[int]:
        """Faces on which the system rests."""
        return [i for i in self.on() if abs(self.g_d[i]) <= self.slow[i]]

    @property
    def approaching(self) -> list[int]:
        """Faces that the system is approaching."""
        return [i for i in self.on() if self.g_d[i] < -self.slow[i]]

    def pressing(self, face: int, held: Sequence[int] = ()) -> float:
        """−g̈ of a face while the faces `held` are in contact."""
        a = self.solve(held, self.force, -self.a0, -self.g_dd0[list(held)])[0] if held else self.flight
        return -float(self.g_v[face] @ a + self.g_dd0[face])

    def balance(self, faces: Sequence[int], G: Array) -> Array:
        """g̈ that counts as zero, (len(faces),); G: the compliance of the faces."""
        root, size = np.sqrt(np.maximum(np.diag(G), 0)), self.bends[list(faces)]
        scaled = np.divide(size, root, out=np.zeros_like(size), where=root > 0)
        return no_acceleration(size, root, scaled.max(initial=0.0))

    @cached_property
    def K(self) -> Array:
        """K of the solution x = K r of M x = r + W λ, A x = 0, (nv, nv)."""
        n, m = self.M.shape[0], self.A.shape[0]
        if not m and (np.diag(self.M) > 0).all():
            D = 1 / np.sqrt(np.diag(self.M))
            DD = D[:, None] * D
            try:
                np.linalg.cholesky(self.M * DD)
                return np.linalg.inv(self.M * DD) * DD
            except np.linalg.LinAlgError:
                pass
        return response(self.M, self.A, self.W, np.eye(n))

    @cached_property
    def ideal(self) -> bool:
        """Whether the constraints are ideal: W = Aᵀ."""
        return not self.A.size or bool((self.W == self.A.T).all())

    def solve(self, faces: Sequence[int], force: Array, rows: Array, targets: Array) -> tuple[Array, Array]:
        """(x, P) of M x = force + W λ + n P with A x = rows and n x = targets on the faces; P of least norm."""
        N = self.g_v[list(faces)].reshape(len(faces), len(self.M))
        if not self.A.size:
            free, X = self.K @ force, self.K @ N.T
            P = _solve_independent(N @ X, targets - N @ free)
            if P is not None:
                return free + X @ P, P
        right = np.concatenate([rows, targets])
        solution = saddle_point(self.M, np.vstack([self.A, N]), np.hstack([self.W, N.T]), force, right)
        return solution.x, solution.least[len(self.A) :]

    def reactions(self, faces: Sequence[int]) -> tuple[Array, Array]:
        """a, and the multipliers of the rows followed by those of the faces in contact; of least norm where these depend."""
        N = self.g_v[list(faces)].reshape(len(faces), len(self.M))
        right = -np.concatenate([self.a0, self.g_dd0[list(faces)]])
        solution = saddle_point(self.M, np.vstack([self.A, N]), np.hstack([self.W, N.T]), self.force, right)
        return solution.x, solution.least

    def compliance(self, faces: Sequence[int]) -> Array:
        """G = n K nᵀ, (k, k): the rate that a unit impulse on one face gives to another under the bilateral constraints."""
        N = self.g_v[list(faces)]
        return N @ self.K @ N.T

    def responses(self, faces: Sequence[int]) -> Array:
        """K nᵀ of the faces, (k, nv): the velocities that unit impulses cause."""
        return self.g_v[list(faces)] @ self.K.T

    def answered(self, faces: Sequence[int]) -> bool:
        """Whether the bilateral constraints let an impulse on each of the faces have an effect."""
        inertia = np.where(np.diag(self.M) > 0, np.diag(self.M), np.inf)
        return bool(np.all(impulse_answered(np.diag(self.compliance(faces)), self.g_v[list(faces)] ** 2 @ (1 / inertia))))

    def moved(self, dv: Array) -> Instant:
        """The same instant with the velocities v + Δv."""
        after = replace(self, v=self.v + dv, g_d=self.g_d + self.g_v @ dv)
        after.__dict__["K"] = self.K
        return after

    def energy(self, dv: Array) -> float:
        """Δv·MΔv."""
        return float(dv @ self.M @ dv)

    def orthogonal(self, faces: Sequence[int]) -> bool:
        """Whether an impulse on one of the faces leaves the rates of the others unchanged."""
        G = self.compliance(faces)
        size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
        return bool(blows_apart(G - np.diag(np.diag(G)), size).all())


def _solve_independent(G: Array, right: Array) -> Array | None:
    """P of G P = right where the faces are independent; None where they are not."""
    if len(G) == 0:
        return np.zeros(0)
    if not plainly_independent(G):
        return None
    P: Any = np.linalg.solve(G, right)
    return P
