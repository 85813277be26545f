"""Impacts on several faces and contact sets at one state, in NumPy: what a time loop asks when a mode changes.

    impact        M Δv = W λ + Σ n_i P_i,  A Δv = 0,  n_i Δv = −(1 + e_i) ġ_i            on the faces that are hit; P_j >= 0
    contact set   M a + h = Q + W λ + Σ n_j Λ_j,  A a + a0 = 0,  g̈_j = 0, Λ_j >= 0       on the faces in contact,
                  g̈_i >= 0                                                               on those that are let go

The second is a linear complementarity problem, 0 <= Λ ⟂ G Λ + c >= 0 with G = n K nᵀ, K the inverse of M on what A allows. G is
positive definite unless faces are redundant (two walls in one place, the third leg of a beam): the motion is unique in any
case, and of the Λ that bear it the one of least norm is taken. A face on the verge of leaving leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from appell.errors import SingularConfiguration
from appell.normal_form import NormalForm

Array = NDArray[np.float64]

ON_FACE = 1e-9
"""|g|/(1 + Σ|∂g/∂q·q|) below which a state is on a face."""
AT_REST = 1e-9
"""|ġ| relative to (1 + max |v|) and, above 1, to the largest entry of ∂ġ/∂v, below which it rests there."""
ORTHOGONAL = 1e-9
"""|n_i M⁻¹ n_j| relative to the diagonal below which two faces do not feel each other's impacts."""
WELL_POSED = 1e-7
"""Share of the velocities by which the results of two orders of blows may differ."""
INSTANT = 1e-12
"""Share of a run that counts as no time."""
CERTAIN = 1e4
"""So many times what may be hidden by rounding is certain, also at states further on."""
SMALL_SHARE = 1e-6
"""Of the largest reaction, which a redundant face does not bear."""
SEQUENCE = 1000
"""So many blows at one corner do not end: with e < 1 they accumulate."""


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
    def slow(self) -> Array:
        """The rates of the distances that count as none, (faces,)."""
        return AT_REST * (1 + np.abs(self.v).max(initial=0.0)) * np.abs(self.g_v).max(axis=1, initial=1.0)

    @property
    def resting(self) -> list[int]:
        """Those on which it rests."""
        return [i for i in self.on() if abs(self.g_d[i]) <= self.slow[i]]

    @property
    def approaching(self) -> list[int]:
        """Those into which it moves."""
        return [i for i in self.on() if self.g_d[i] < -self.slow[i]]

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

    def compliance(self, faces: Sequence[int]) -> Array:
        """G = n K nᵀ, (k, k): the rate that a unit impulse on one face gives to another, bilateral rows answering."""
        N = self.g_v[list(faces)]
        responses = [self.solve((), n, np.zeros(len(self.A)), np.zeros(0))[0] for n in N]
        return N @ np.array(responses).reshape(len(N), len(self.M)).T

    def moved(self, dv: Array) -> Instant:
        """The same instant with the velocities v + Δv."""
        return replace(self, v=self.v + dv, g_d=self.g_d + self.g_v @ dv)

    def orthogonal(self, faces: Sequence[int]) -> bool:
        """Whether no blow on one of the faces is felt by another."""
        G = self.compliance(faces)
        size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
        return bool((np.abs(G - np.diag(np.diag(G))) <= ORTHOGONAL * size).all())


class Blow(NamedTuple):
    """Δv, (nv,), and face → impulse of one blow; `hits` are the faces that were hit."""

    dv: Array
    impulses: dict[int, float]
    hits: tuple[int, ...]


def blow(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> Blow:
    """A blow on the faces `hits` (face → e) while resting on others, which may lift off.

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
                return Blow(dv, dict(zip(faces, map(float, P), strict=True)), tuple(hits))
    raise SingularConfiguration("no impulses of the faces that it rests on are consistent with this impact")


def together(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> Blow:
    """A blow on several faces at once: 0 <= P ⟂ ġ⁺ + e ġ⁻ >= 0 on those that are hit (face → e), e = 0 on those at rest."""
    faces = [*hits, *resting]
    e = np.array([*hits.values(), *np.zeros(len(resting))])
    G, rates = at.compliance(faces), at.g_d[faces]
    P = complementary(G, (1 + e) * rates, 1e-12 * (1 + np.abs(rates)))
    dv = at.solve((), at.g_v[faces].T @ P, np.zeros(len(at.A)), np.zeros(0))[0]
    return Blow(dv, dict(zip(faces, map(float, P), strict=True)), tuple(hits))


def sequence(at: Instant, order: Sequence[int], resting: Sequence[int]) -> list[Blow] | None:
    """Blows one at a time, each on the first face of the order that is approached, until none is; None where there is no end.

    With e < 1 they may accumulate: then all impulses together bring the rates to zero, as one blow with e = 0 does.
    """
    blows: list[Blow] = []
    for _ in range(SEQUENCE):
        approached = next((i for i in order if at.g_d[i] < -at.slow[i]), None)
        if approached is None:
            return blows
        blows.append(blow(at, {approached: float(at.restitution[approached])}, resting))
        at = at.moved(blows[-1].dv)
    if (at.restitution[list(order)] == 1).any():
        return None
    return [*blows, together(at, dict.fromkeys(order, 0.0), resting)]


def well_posed(at: Instant, faces: Sequence[int], resting: Sequence[int]) -> bool:
    """Whether blows in every order have one result: then the motion through the corner is continuous in its start."""
    orders = list(permutations(faces)) if len(faces) <= 3 else [(*faces[k:], *faces[:k]) for k in range(len(faces))]
    found = [sequence(at, order, resting) for order in orders]
    ends = [sum((one.dv for one in blows), np.zeros(len(at.v))) for blows in found if blows is not None]
    allowed = WELL_POSED * (1 + float(np.abs(at.v).max(initial=0.0)))
    return len(ends) == len(orders) and all(np.abs(end - ends[0]).max(initial=0.0) <= allowed for end in ends)


def complementary(G: Array, c: Array, tolerance: Array) -> Array:
    """Λ of 0 <= Λ ⟂ G Λ + c >= 0, (k,), for a positive semidefinite G: least ΛᵀGΛ/2 + c·Λ.

    The face that lacks most is held as well, then those that would pull are let go one by one (Lawson and Hanson, ch. 23).
    """
    k = len(c)
    lam, held = np.zeros(k), np.zeros(k, dtype=bool)
    ridge = np.diag(1e-14 * (np.diag(G) + 1e-300))  # redundant faces that contradict each other: one of them is let go
    for _ in range(20 * k + 1):
        lacks = np.where(held, np.inf, (G @ lam + c) / tolerance)
        if k == 0 or lacks.min() >= -1:
            return lam
        held[worst := int(np.argmin(lacks))] = True
        if not G[worst, worst] > 0:  # bilateral constraints drive it into the face
            break
        while held.any():
            block, near = G[np.ix_(held, held)], (G + ridge)[np.ix_(held, held)]
            wanted = np.linalg.solve(near, -c[held])
            wanted += np.linalg.solve(near, -c[held] - block @ wanted)
            if (wanted > 0).all():
                lam[held] = wanted
                break
            now = lam[held]
            pulls = wanted <= 0
            share = np.min(now[pulls] / (now[pulls] - wanted[pulls]), initial=1.0)
            lam[held] = np.where(pulls & (now <= share * (now - wanted)), 0.0, now + share * (wanted - now))
            held &= lam > 0
    raise SingularConfiguration(
        "no set of contacts is consistent at this state: the faces that it rests on are redundant or contradict each other"
    )


def contact_set(at: Instant, candidates: Sequence[int], holding: int | None = None) -> tuple[int, ...]:
    """The faces among the candidates that stay in contact; `holding` is in contact if it can be, even without a reaction."""
    faces = list(candidates)
    a = at.solve((), at.force, -at.a0, np.zeros(0))[0]
    G, c = at.compliance(faces), (at.g_v @ a + at.g_dd0)[faces]
    tolerance = _tolerance(at, a)[faces]
    if holding in faces and G[k := faces.index(holding), k] > 0:
        others = np.array([i for i in range(len(faces)) if i != k], dtype=int)
        share = G[k, others] / G[k, k]
        rest = G[np.ix_(others, others)] - np.outer(share, G[k, others])
        lam = complementary(rest, c[others] - share * c[k], tolerance[others])
        if -(c[k] + G[k, others] @ lam) / G[k, k] >= -1e-10 * (1 + np.abs(at.force).max()):
            return tuple(sorted([holding, *(faces[i] for i in others[lam > 0])]))
    return tuple(sorted(faces[i] for i in np.flatnonzero(complementary(G, c, tolerance) > 0)))


def _tolerance(at: Instant, a: Array) -> Array:
    """g̈ of the faces that counts as none, (faces,)."""
    return 1e-10 * (1 + np.abs(at.g_v) @ np.abs(a) + np.abs(at.g_dd0))


def certain(at: Instant, contacts: Sequence[int]) -> Array:
    """Reactions from which on the contacts are found again, (contacts,): here and, if not much changes, further on.

    `contact_set` stops at fewer of them where −g̈ of the others is below their tolerance. As Λ = −G⁺ g̈, then
    Λ_j <= Σ_k |G⁺|_jk tolerance_k. Of those that depend on each other, `bearing` leaves out the ones with a small share.
    """
    a = at.solve((), at.force, -at.a0, np.zeros(0))[0]
    G = at.compliance(contacts)
    if not (np.diag(G) > 0).all():
        return np.full(len(contacts), np.inf)
    size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
    inverse = np.linalg.pinv(G / size, rcond=ORTHOGONAL, hermitian=True) / size
    least = CERTAIN * np.abs(inverse) @ _tolerance(at, a)[list(contacts)]
    if len(independent(at, contacts)) == len(contacts):
        return least
    lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])[1]
    return np.maximum(least, 1e3 * SMALL_SHARE * lam.max())


def bearing(at: Instant, contacts: Sequence[int], candidates: Sequence[int]) -> tuple[int, ...]:
    """The faces that bear the load where more than the contacts can, as their g̈ is zero too: Λ >= 0 of least norm."""
    a, lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])
    scale = 1 + np.abs(at.g_v) @ np.abs(a) + np.abs(at.g_dd0)
    stay = np.abs(at.g_v @ a + at.g_dd0) <= 1e-9 * scale
    faces = [*contacts, *(i for i in candidates if stay[i] and i not in contacts)]
    if not contacts or len(independent(at, faces)) == len(faces):
        return tuple(contacts)
    values, vectors = np.linalg.eigh(at.compliance(faces))
    B = 1e4 * (vectors * np.sqrt(np.maximum(values / values.max(), 0))).T  # BᵀB ~ G: the same BΛ is the same motion
    load = np.concatenate([B[:, : len(contacts)] @ lam, np.zeros(len(faces))])
    shares = nnls(np.vstack([B, np.eye(len(faces))]), load)[0]
    chosen = tuple(sorted(faces[i] for i in np.flatnonzero(shares > SMALL_SHARE * shares.max())))
    a, least = at.solve(chosen, at.force, -at.a0, -at.g_dd0[list(chosen)])
    holds = np.abs((at.g_v @ a + at.g_dd0)[faces]) <= 1e-9 * scale[faces]
    return chosen if (least >= 0).all() and holds.all() else tuple(contacts)


def independent(at: Instant, faces: Sequence[int]) -> tuple[int, ...]:
    """The first faces whose normals do not depend on those before them."""
    found: tuple[int, ...] = ()
    for i in faces:
        G = at.compliance((*found, i))
        size = np.sqrt(np.diag(G))
        if np.linalg.eigvalsh(G / np.outer(size, size))[0] > ORTHOGONAL:
            found = (*found, i)
    return found
