"""Impacts on several faces and contact sets at one state, in NumPy: what a time loop asks when a mode changes.

    impact        M Δv = W λ + Σ n_i P_i,  A Δv = 0,  n_i Δv = −(1 + e_i) ġ_i            on the faces that are hit; P_j >= 0
    contact set   M a + h = Q + W λ + Σ n_j Λ_j,  A a + a0 = 0,  g̈_j = 0, Λ_j >= 0       on the faces in contact,
                  g̈_i >= 0                                                               on those that are let go

The second is a linear complementarity problem; its matrix A M⁻¹Aᵀ is positive definite, so one set of contacts solves it. It is
found by trying the sets, the smallest first: a face on the verge of leaving leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import SingularConfiguration
from appell.normal_form import NormalForm

Array = NDArray[np.float64]

ON_FACE = 1e-9
"""|g|/(1 + Σ|∂g/∂q·q|) below which a state is on a face."""
AT_REST = 1e-9
"""|ġ|/(1 + max |v|) below which it rests there."""
ORTHOGONAL = 1e-9
"""|n_i M⁻¹ n_j| relative to the diagonal below which two faces do not feel each other's impacts."""

KINDS = ("impact", "graze", "landing", "leaving", "hit", "corner")
IMPACT, GRAZE, LANDING, LEAVING, HIT, CORNER = range(6)


class Impact(NamedTuple):
    """One event of a motion: time (s), the face, ġ before and after, the impulse P (N s per unit of ∂g/∂q), and its kind:
    impact, graze (touched without a blow), landing (goes over into contact), leaving."""

    time: float
    constraint: str
    before: float
    after: float
    impulse: float
    kind: str


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

    @staticmethod
    def at(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Instant:
        names = ("M", "A", "W", "a0", "g", "g_scale", "g_d", "g_v", "g_dd0", "restitution")
        out = form.select(*names, "Q", "h")(t, q, v, p)
        return Instant(**{name: out[name] for name in names}, force=out["Q"] - out["h"], v=v)

    def on(self, share: float = ON_FACE) -> list[int]:
        """The faces on which the state stands."""
        return [int(i) for i in np.flatnonzero(np.abs(self.g) <= share * (1 + self.g_scale))]

    @property
    def slow(self) -> float:
        """The rate of a distance that counts as none."""
        return AT_REST * (1 + float(np.abs(self.v).max(initial=0.0)))

    @property
    def resting(self) -> list[int]:
        """Those on which it rests."""
        return [i for i in self.on() if abs(self.g_d[i]) <= self.slow]

    @property
    def approaching(self) -> list[int]:
        """Those into which it moves."""
        return [i for i in self.on() if self.g_d[i] < -self.slow]

    def pressing(self, face: int) -> float:
        """−g̈ in free flight."""
        a = self.solve((), self.force, -self.a0, np.zeros(0))[0]
        return -float(self.g_v[face] @ a + self.g_dd0[face])

    def solve(self, faces: Sequence[int], force: Array, rows: Array, targets: Array) -> tuple[Array, Array]:
        """(x, P) of M x = force + W λ + n P with A x = rows and n x = targets on the faces."""
        n, m, k = len(self.M), len(self.A), len(faces)
        N = self.g_v[list(faces)].reshape(k, n)
        K = np.zeros((n + m + k, n + m + k))
        K[:n, :n], K[:n, n : n + m], K[:n, n + m :] = self.M, -self.W, -N.T
        K[n : n + m, :n], K[n + m :, :n] = self.A, N
        x: Any = np.linalg.lstsq(K, np.concatenate([force, rows, targets]), rcond=1e-13)[0]
        return x[:n], x[n + m :]

    def metric(self, i: int, j: int) -> float:
        """cos of the angle of two faces in the kinetic metric of the constrained system."""
        responses = [self.solve((), self.g_v[k], np.zeros(len(self.A)), np.zeros(0))[0] for k in (i, j)]
        G = np.array([[self.g_v[a] @ responses[b] for b in (0, 1)] for a in (i, j)])
        return float(G[0, 1] / np.sqrt(G[0, 0] * G[1, 1]))

    def closes_up(self, i: int, j: int) -> bool:
        """Whether the corner of two faces has the kinetic angle π/n and e = 1: then every order of blows has one result."""
        angle = np.arccos(np.clip(-self.metric(i, j), -1.0, 1.0))
        elastic = self.restitution[i] == self.restitution[j] == 1
        return bool(elastic and angle > 0 and abs(np.pi / angle - round(np.pi / angle)) < ORTHOGONAL)


def blow(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> tuple[Array, dict[int, float]]:
    """(Δv, face → impulse) of a blow on the faces `hits` (face → e) while resting on others, which may lift off.

    Of the sets of resting faces that hold, the smallest with P_j >= 0 on them and ġ_i⁺ >= 0 on those that lift off.
    """
    small = AT_REST * (1 + np.abs(at.g_d).max(initial=0.0))
    for size in range(len(resting) + 1):
        for held in combinations(resting, size):
            faces = [*hits, *held]
            targets = np.array([-(1 + hits[i]) * at.g_d[i] for i in hits] + [-at.g_d[j] for j in held])
            dv, P = at.solve(faces, np.zeros(len(at.M)), np.zeros(len(at.A)), targets)
            after = at.g_d + at.g_v @ dv
            if (P[len(hits) :] >= 0).all() and all(after[j] >= -small for j in resting if j not in held):
                return dv, dict(zip(faces, map(float, P), strict=True))
    raise SingularConfiguration("no impulses of the faces that it rests on are consistent with this impact")


def contact_set(at: Instant, candidates: Sequence[int], holding: int | None = None) -> tuple[int, ...]:
    """The faces among the candidates that stay in contact; `holding` is in contact if it can be, even without a reaction."""
    sets = [faces for size in range(len(candidates) + 1) for faces in combinations(candidates, size)]
    for faces in sorted(sets, key=lambda faces: holding is not None and holding not in faces):
        a, reactions = at.solve(faces, at.force, -at.a0, -at.g_dd0[list(faces)])
        g_dd = at.g_v @ a + at.g_dd0
        scale = 1 + np.abs(at.g_v) @ np.abs(a) + np.abs(at.g_dd0)
        least = [-1e-10 * (1 + np.abs(at.force).max()) if i == holding else 0.0 for i in faces]
        if (reactions >= least).all() and all(g_dd[i] >= -1e-10 * scale[i] for i in candidates if i not in faces):
            return tuple(sorted(faces))
    raise SingularConfiguration(
        "no set of contacts is consistent at this state: the faces that it rests on are redundant or contradict each other"
    )
