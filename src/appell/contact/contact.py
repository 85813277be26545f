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
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from appell.contact.numbers import (
    BALANCED,
    CERTAIN,
    ENDED,
    NO_RATE,
    ON_FACE,
    ORTHOGONAL,
    RESTS,
    RIDGE,
    ROUNDING,
    ROUNDS,
    SEQUENCE,
    SHORT,
    SMALL_SHARE,
    STEADY,
    STRONGEST,
    TINY,
    UNANSWERED,
    WELL_POSED,
)
from appell.contact.numbers import FLOOR as FLOOR
from appell.errors import SingularConfiguration
from appell.normal_form import NormalForm

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
        """`floor`: no distance is finer, per unit of its normal."""
        names = ("M", "A", "W", "a0", "g", "g_scale", "g_d", "g_v", "g_dd0", "restitution")
        out = form.select(*names, "Q", "h")(t, q, v, p)
        return Instant(**{name: out[name] for name in names}, force=out["Q"] - out["h"], v=v, t=t, floor=floor)

    # -- the sizes of what is compared, (faces,) ------------------------------------------------------------------------

    @cached_property
    def noise(self) -> Array:
        """What rounding leaves of a distance: of its terms and of the time; nothing finer than `floor` is meant, either."""
        return ROUNDING * (self.g_scale + np.abs(self.t * self.g_d)) + self.floor * np.abs(self.g_v).sum(axis=1)

    @cached_property
    def flight(self) -> Array:
        """The accelerations without contacts, (nv,)."""
        return self.solve((), self.force, -self.a0, np.zeros(0))[0]

    @cached_property
    def bends(self) -> Array:
        """Σ|n_j a_j| + |g̈ at a = 0|: the terms of g̈ in flight."""
        return np.abs(self.g_v) @ np.abs(self.flight) + np.abs(self.g_dd0)

    @cached_property
    def speeds(self) -> Array:
        """Rates that velocities of this energy could have along the normals, about √(v·Mv n·M⁻¹n), and those of the faces."""
        inertia = self.M.diagonal()
        inertia = np.where(inertia > 0, inertia, np.inf)
        along = np.sqrt(max(self.energy(self.v), 0.0) * (self.g_v**2 @ (1 / inertia)))
        return along + np.abs(self.g_d - self.g_v @ self.v)

    @cached_property
    def slow(self) -> Array:
        """Rates that count as none: they are rounding, or lead to a height or to a flight, 2 ġ/|g̈|, that is."""
        shortest = SHORT * float(np.spacing(abs(self.t)))
        return STEADY * self.speeds + np.sqrt(2 * RESTS * self.bends * self.noise) + 0.5 * shortest * self.bends

    def on(self) -> list[int]:
        """The faces on which the state stands."""
        return [int(i) for i in np.flatnonzero(self.g <= ON_FACE * self.noise)]

    @property
    def resting(self) -> list[int]:
        """Those on which it rests."""
        return [i for i in self.on() if abs(self.g_d[i]) <= self.slow[i]]

    @property
    def approaching(self) -> list[int]:
        """Those into which it moves."""
        return [i for i in self.on() if self.g_d[i] < -self.slow[i]]

    def pressing(self, face: int, held: Sequence[int] = ()) -> float:
        """−g̈ in contact with the faces held."""
        a = self.solve(held, self.force, -self.a0, -self.g_dd0[list(held)])[0] if held else self.flight
        return -float(self.g_v[face] @ a + self.g_dd0[face])

    def balance(self, faces: Sequence[int], G: Array) -> Array:
        """g̈ that counts as none, (len(faces),), G their compliance."""
        root, size = np.sqrt(np.maximum(np.diag(G), 0)), self.bends[list(faces)]
        share = np.divide(size, root, out=np.zeros_like(size), where=root > 0)
        return BALANCED * (size + STRONGEST * root * share.max(initial=0.0)) + TINY

    @cached_property
    def K(self) -> Array:
        """x = K r of M x = r + W λ, A x = 0, (nv, nv)."""
        n, m = self.M.shape[0], self.A.shape[0]
        if not m and (np.diag(self.M) > 0).all():
            D = 1 / np.sqrt(np.diag(self.M))
            DD = D[:, None] * D
            try:
                np.linalg.cholesky(self.M * DD)
                return np.linalg.inv(self.M * DD) * DD
            except np.linalg.LinAlgError:
                pass
        return _saddle(self.M, self.A, self.W, np.eye(n), np.zeros((m, n)))[0]

    @cached_property
    def ideal(self) -> bool:
        """Whether the reactions of the rows are W = Aᵀ."""
        return not self.A.size or bool((self.W == self.A.T).all())

    def solve(self, faces: Sequence[int], force: Array, rows: Array, targets: Array) -> tuple[Array, Array]:
        """(x, P) of M x = force + W λ + n P with A x = rows and n x = targets on the faces; P of least norm."""
        N = self.g_v[list(faces)].reshape(len(faces), len(self.M))
        if not self.A.size:
            free, X = self.K @ force, self.K @ N.T
            P = _independent_solve(N @ X, targets - N @ free)
            if P is not None:
                return free + X @ P, P
        right = np.concatenate([rows, targets])[:, None]
        x, lam = _saddle(self.M, np.vstack([self.A, N]), np.hstack([self.W, N.T]), force[:, None], right)
        return x[:, 0], lam[len(self.A) :, 0]

    def reactions(self, faces: Sequence[int]) -> tuple[Array, Array]:
        """(a, Λ of the rows, then of the faces in contact), of least norm where they depend on each other."""
        N = self.g_v[list(faces)].reshape(len(faces), len(self.M))
        right = -np.concatenate([self.a0, self.g_dd0[list(faces)]])[:, None]
        x, lam = _saddle(self.M, np.vstack([self.A, N]), np.hstack([self.W, N.T]), self.force[:, None], right)
        return x[:, 0], lam[:, 0]

    def compliance(self, faces: Sequence[int]) -> Array:
        """G = n K nᵀ, (k, k): the rate that a unit impulse on one face gives to another, bilateral rows answering."""
        N = self.g_v[list(faces)]
        return N @ self.K @ N.T

    def answers(self, faces: Sequence[int]) -> Array:
        """K nᵀ of the faces, (k, nv): the velocities that unit impulses give."""
        return self.g_v[list(faces)] @ self.K.T

    def answered(self, faces: Sequence[int]) -> bool:
        """Whether bilateral constraints leave an answer to an impulse on each of the faces."""
        inertia = np.where(np.diag(self.M) > 0, np.diag(self.M), np.inf)
        return bool(np.all(np.diag(self.compliance(faces)) > UNANSWERED * (self.g_v[list(faces)] ** 2 @ (1 / inertia))))

    def moved(self, dv: Array) -> Instant:
        """The same instant with the velocities v + Δv."""
        there = replace(self, v=self.v + dv, g_d=self.g_d + self.g_v @ dv)
        there.__dict__["K"] = self.K
        return there

    def energy(self, dv: Array) -> float:
        """Δv·MΔv."""
        return float(dv @ self.M @ dv)

    def orthogonal(self, faces: Sequence[int]) -> bool:
        """Whether no blow on one of the faces is felt by another."""
        G = self.compliance(faces)
        size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
        return bool((np.abs(G - np.diag(np.diag(G))) <= ORTHOGONAL * size).all())


def _independent_solve(G: Array, right: Array) -> Array | None:
    """P of G P = right where the faces are independent; None where they are not."""
    if len(G) == 0:
        return np.zeros(0)
    if not _full(G):
        return None
    found: Any = np.linalg.solve(G, right)
    return found


def _full(G: Array) -> bool:
    """Whether the normals of faces with the compliance G plainly do not depend on each other."""
    size = np.diag(G)
    if not (size > 0).all():
        return False
    root = np.sqrt(size)
    try:
        L = np.linalg.cholesky(G / (root[:, None] * root))
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(L).min(initial=1.0) ** 2 > ORTHOGONAL)


def _saddle(M: Array, A: Array, W: Array, r: Array, s: Array) -> tuple[Array, Array]:
    """(x, λ) of M x = r + W λ, A x = s, each (…, k): of least norm where rows depend on each other.

    Velocities are measured by their inertia and rows by the longest, so that units do not matter.
    """
    n, m = M.shape[0], A.shape[0]
    inertia = np.diag(M)
    D = 1 / np.sqrt(np.where(inertia > 0, inertia, np.mean(inertia[inertia > 0]) if (inertia > 0).any() else 1.0))
    length = np.linalg.norm(A * D, axis=1).max(initial=0.0)
    L = np.full(m, 1 / (length or 1.0))  # one unit for all: the least norm is that of λ itself
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M * np.outer(D, D), -(W * np.outer(D, L)), A * np.outer(L, D)
    right = np.vstack([r * D[:, None], s * L[:, None]])
    x: Any = np.linalg.lstsq(K, right, rcond=1e-13)[0]
    return x[:n] * D[:, None], x[n:] * L[:, None]


class Blow(NamedTuple):
    """Δv, (nv,), and face → impulse of one blow; `hits` are the faces that were hit."""

    dv: Array
    impulses: dict[int, float]
    hits: tuple[int, ...]


def blow(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> Blow:
    """A blow on the faces `hits` (face → e) while resting on others, which may lift off (Newton's law):

        ġ_i⁺ = −e_i ġ_i⁻ on those that are hit,        0 <= P_j ⟂ ġ_j⁺ >= 0 on the others.
    """
    faces, n = [*hits, *resting], len(hits)
    if not at.answered(list(hits)):
        raise SingularConfiguration("bilateral constraints drive it into the face: no impulse answers")
    G, wanted = at.compliance(faces), np.array([-(1 + e) * at.g_d[i] for i, e in hits.items()])
    hit, rest = slice(n), slice(n, None)
    share = np.linalg.lstsq(G[hit, hit], np.column_stack([G[hit, rest], wanted]), rcond=1e-13)[0]
    G_rest = G[rest, rest] - G[rest, hit] @ share[:, :-1]
    rates = at.g_d[list(resting)] + G[rest, hit] @ share[:, -1]
    pushes = np.sqrt(np.maximum(np.diag(G), 0))
    strength = float(np.max(np.abs(wanted) / np.maximum(pushes[:n], TINY), initial=0.0))
    P = complementary(G_rest, rates, NO_RATE * strength * pushes[rest] + TINY)
    impulses = np.concatenate([share[:, -1] - share[:, :-1] @ P, P])
    dv = at.answers(faces).T @ impulses
    missed, allowed = np.abs((at.g_v @ dv)[list(hits)] - wanted), 1e-6 * np.abs(wanted) + 1e3 * STEADY * at.speeds[list(hits)]
    if np.any(missed > allowed):
        raise SingularConfiguration("bilateral constraints, or faces that contradict each other, leave no impulse")
    pressed = [*hits, *(j for j, push in zip(resting, P, strict=True) if push > 0)]
    return Blow(dv, {i: float(impulses[faces.index(i)]) for i in pressed}, tuple(hits))


def together(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> Blow:
    """A blow on several faces at once: 0 <= P ⟂ ġ⁺ + e ġ⁻ >= 0 on those that are hit (face → e), e = 0 on those at rest."""
    faces = [*hits, *resting]
    e = np.array([*hits.values(), *np.zeros(len(resting))])
    G, rates = at.compliance(faces), at.g_d[faces]
    pushes = np.sqrt(np.maximum(np.diag(G), 0))
    strength = float(np.max(np.abs(rates) / np.maximum(pushes, TINY), initial=0.0))
    P = complementary(G, (1 + e) * rates, NO_RATE * strength * pushes + TINY)
    dv = at.answers(faces).T @ P
    return Blow(dv, dict(zip(faces, map(float, P), strict=True)), tuple(hits))


def sequence(at: Instant, order: Sequence[int], resting: Sequence[int]) -> list[Blow] | None:
    """Blows one at a time, each on the first face of the order that is approached, until none is; None where there is no end.

    With e < 1 they may accumulate: then all impulses together bring the rates to zero, as one blow with e = 0 does.
    """
    blows: list[Blow] = []
    bound = {i: max(at.slow[i], ENDED * abs(at.g_d[i])) for i in order}
    for _ in range(SEQUENCE):
        approached = next((i for i in order if at.g_d[i] < -bound[i]), None)
        if approached is None:
            break
        blows.append(blow(at, {approached: float(at.restitution[approached])}, resting))
        at = at.moved(blows[-1].dv)
    else:
        if (at.restitution[list(order)] == 1).any():
            return None
    if any(at.g_d[i] < -at.slow[i] for i in order):
        blows.append(together(at, dict.fromkeys(order, 0.0), resting))
    return blows


def well_posed(at: Instant, faces: Sequence[int], resting: Sequence[int]) -> bool:
    """Whether blows in every order have one result: then the motion through the corner is continuous in its start."""
    orders = list(permutations(faces)) if len(faces) <= 3 else [(*faces[k:], *faces[:k]) for k in range(len(faces))]
    found = [sequence(at, order, resting) for order in orders]
    ends = [sum((one.dv for one in blows), np.zeros(len(at.v))) for blows in found if blows is not None]
    allowed = WELL_POSED**2 * max(at.energy(at.v), max((at.energy(end) for end in ends), default=0.0))
    return len(ends) == len(orders) and all(at.energy(end - ends[0]) <= allowed for end in ends)


def complementary(G: Array, c: Array, tolerance: Array) -> Array:
    """Λ of 0 <= Λ ⟂ G Λ + c >= 0, (k,), for a positive semidefinite G: least ΛᵀGΛ/2 + c·Λ.

    The face that lacks most is held as well, then those that would pull are let go one by one (Lawson and Hanson, ch. 23).
    """
    k = len(c)
    lam, held = np.zeros(k), np.zeros(k, dtype=bool)
    ridge = np.diag(RIDGE * (np.diag(G) + TINY))  # redundant faces that contradict each other: one of them is let go
    for _ in range(ROUNDS * k + 1):
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
    G, c = at.compliance(faces), (at.g_v @ at.flight + at.g_dd0)[faces]
    tolerance = at.balance(faces, G)
    if holding in faces and G[k := faces.index(holding), k] > 0:
        others = np.array([i for i in range(len(faces)) if i != k], dtype=int)
        share = G[k, others] / G[k, k]
        rest = G[np.ix_(others, others)] - np.outer(share, G[k, others])
        lam = complementary(rest, c[others] - share * c[k], tolerance[others])
        if -(c[k] + G[k, others] @ lam) >= -tolerance[k]:
            return tuple(sorted([holding, *(faces[i] for i in others[lam > 0])]))
    return tuple(sorted(faces[i] for i in np.flatnonzero(complementary(G, c, tolerance) > 0)))


def certain(at: Instant, contacts: Sequence[int]) -> Array:
    """Reactions from which on the contacts are found again, (contacts,): here and, if not much changes, further on.

    `contact_set` stops at fewer of them where −g̈ of the others is below their tolerance. As Λ = −G⁺ g̈, then
    Λ_j <= Σ_k |G⁺|_jk tolerance_k. Of those that depend on each other, `bearing` leaves out the ones with a small share.
    """
    G = at.compliance(contacts)
    if not (np.diag(G) > 0).all():
        return np.full(len(contacts), np.inf)
    size = np.sqrt(np.outer(np.diag(G), np.diag(G)))
    inverse = np.linalg.pinv(G / size, rcond=ORTHOGONAL, hermitian=True) / size
    least = CERTAIN * np.abs(inverse) @ at.balance(contacts, G)
    if len(independent(at, contacts)) == len(contacts):
        return least
    lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])[1]
    return np.maximum(least, 1e3 * SMALL_SHARE * lam.max())


def bearing(at: Instant, contacts: Sequence[int], candidates: Sequence[int]) -> tuple[int, ...]:
    """The faces that bear the load where more than the contacts can, as their g̈ is zero too: Λ >= 0 of least norm."""
    pool = [*contacts, *(i for i in candidates if i not in contacts)]
    if not contacts or len(independent(at, pool)) == len(pool):
        return tuple(contacts)
    a, lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])
    still = dict(zip(pool, 10 * at.balance(pool, at.compliance(pool)) + 1e-9 * (np.abs(at.g_v[pool]) @ np.abs(a)), strict=True))
    bend = at.g_v @ a + at.g_dd0
    faces = [*contacts, *(i for i in pool[len(contacts) :] if abs(bend[i]) <= still[i])]
    if not contacts or len(independent(at, faces)) == len(faces):
        return tuple(contacts)
    values, vectors = np.linalg.eigh(at.compliance(faces))
    B = 1e4 * (vectors * np.sqrt(np.maximum(values / values.max(), 0))).T  # BᵀB ~ G: the same BΛ is the same motion
    load = np.concatenate([B[:, : len(contacts)] @ lam, np.zeros(len(faces))])
    shares = nnls(np.vstack([B, np.eye(len(faces))]), load)[0]
    chosen = tuple(sorted(faces[i] for i in np.flatnonzero(shares > SMALL_SHARE * shares.max())))
    a, least = at.solve(chosen, at.force, -at.a0, -at.g_dd0[list(chosen)])
    bend = at.g_v @ a + at.g_dd0
    holds = all(abs(bend[i]) <= still[i] for i in faces)
    return chosen if (least >= 0).all() and holds else tuple(contacts)


def independent(at: Instant, faces: Sequence[int]) -> tuple[int, ...]:
    """The first faces whose normals do not depend on those before them."""
    G = at.compliance(faces)
    if at.ideal and _full(G):
        return tuple(faces)
    found: list[int] = []
    for i in range(len(faces)):
        left = G[i, i] - G[i, found] @ np.linalg.solve(G[np.ix_(found, found)], G[found, i])
        if left > ORTHOGONAL * G[i, i]:
            found.append(i)
    return tuple(faces[i] for i in found)
