"""Impacts on several faces, and contact sets at one state, in NumPy; time loops use them when the mode changes.

    impact        M Δv = W λ + Σ n_i P_i,  A Δv = 0,  n_i Δv = −(1 + e_i) ġ_i            on the faces that are hit; P_j >= 0
    contact set   M a + h = Q + W λ + Σ n_j Λ_j,  A a + a0 = 0,  g̈_j = 0, Λ_j >= 0       on the faces in contact,
                  g̈_i >= 0                                                               on those that open

The second is a linear complementarity problem, 0 <= Λ ⟂ G Λ + c >= 0 with G = n K nᵀ, where K is the inverse of M on the kernel
of A. G is positive definite unless faces are redundant (two walls in one place, the third leg of a beam). The motion is unique
in any case; among the Λ that produce it, the one of least norm is taken. A face on the verge of leaving leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from appell.errors import SingularConfiguration
from appell.modes.contact_thresholds import (
    COMPLEMENTARITY_EXCHANGES,
    COMPLIANCE_RIDGE,
    CORNER_IMPACTS,
    CORNER_IMPACTS_ENDED,
    GAP_RATE_ROUNDING,
    IMPACT_ORDERS_AGREE,
    LOAD_SHARE_UNLOADED,
    REACTION_CERTAIN,
)
from appell.modes.mode import Mode
from appell.nonsmooth.contact.instant import Instant
from appell.nonsmooth.criteria import unaffected_rate
from appell.roots.limits import SMALLEST_NORMAL
from appell.rows import GRAM_LOST, GRAM_PLAIN, inverse_on_range, least_squares, plainly_independent

Array = NDArray[np.float64]

IMPULSE_MISSED, RATES_MISSED = 1e-6, 1e3
"""Impulses may miss a wanted change of a rate by this fraction of it, and by this multiple of GAP_RATE_ROUNDING."""
CLEARLY_LOADED = 1e3
"""Multiple of LOAD_SHARE_UNLOADED above which a dependent face certainly carries load."""
REST_BENDS, REST_TERMS = 10, 1e-9
"""A distance does not bend away below this multiple of the g̈ that counts as zero, plus this fraction of the terms of g̈."""


class ImpactOutcome(NamedTuple):
    """One impact: Δv, (nv,), the impulses by face, and `hits`, the faces that were hit."""

    dv: Array
    impulses: dict[int, float]
    hits: tuple[int, ...]


def newton_impact(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> ImpactOutcome:
    """An impact on the faces `hits` (face → e) while resting on others, which may lift off (Newton's law):

        ġ_i⁺ = −e_i ġ_i⁻ on the faces that are hit,        0 <= P_j ⟂ ġ_j⁺ >= 0 on the others.
    """
    faces, n = [*hits, *resting], len(hits)
    if not at.answered(list(hits)):
        raise SingularConfiguration("the bilateral constraints drive the system into the face: no impulse can stop it")
    G, changes = at.compliance(faces), np.array([-(1 + e) * at.g_d[i] for i, e in hits.items()])
    # eliminate the impulses of the faces that are hit: P_hit = eliminated[:, -1] − eliminated[:, :-1] P
    hit, others = slice(n), slice(n, None)
    eliminated = least_squares(G[hit, hit], np.column_stack([G[hit, others], changes]), GRAM_LOST)
    G_others = G[others, others] - G[others, hit] @ eliminated[:, :-1]
    rates = at.g_d[list(resting)] + G[others, hit] @ eliminated[:, -1]
    sqrt_G = np.sqrt(np.maximum(np.diag(G), 0))
    strength = float(np.max(np.abs(changes) / np.maximum(sqrt_G[:n], SMALLEST_NORMAL), initial=0.0))
    P = complementary(G_others, rates, unaffected_rate(strength, sqrt_G[others]))
    impulses = np.concatenate([eliminated[:, -1] - eliminated[:, :-1] @ P, P])
    dv = at.responses(faces).T @ impulses
    missed = np.abs((at.g_v @ dv)[list(hits)] - changes)
    allowed = IMPULSE_MISSED * np.abs(changes) + RATES_MISSED * GAP_RATE_ROUNDING * at.speeds[list(hits)]
    if np.any(missed > allowed):
        raise SingularConfiguration("the bilateral constraints, or conflicting faces, admit no impulse")
    pressed = [*hits, *(j for j, push in zip(resting, P, strict=True) if push > 0)]
    return ImpactOutcome(dv, {i: float(impulses[faces.index(i)]) for i in pressed}, tuple(hits))


def together(at: Instant, hits: Mapping[int, float], resting: Sequence[int]) -> ImpactOutcome:
    """A simultaneous impact on several faces: 0 <= P ⟂ ġ⁺ + e ġ⁻ >= 0 on `hits` (face → e), e = 0 on those at rest."""
    faces = [*hits, *resting]
    e = np.array([*hits.values(), *np.zeros(len(resting))])
    G, rates = at.compliance(faces), at.g_d[faces]
    sqrt_G = np.sqrt(np.maximum(np.diag(G), 0))
    strength = float(np.max(np.abs(rates) / np.maximum(sqrt_G, SMALLEST_NORMAL), initial=0.0))
    P = complementary(G, (1 + e) * rates, unaffected_rate(strength, sqrt_G))
    dv = at.responses(faces).T @ P
    return ImpactOutcome(dv, dict(zip(faces, map(float, P), strict=True)), tuple(hits))


def sequence(at: Instant, order: Sequence[int], resting: Sequence[int]) -> list[ImpactOutcome] | None:
    """Impacts one at a time, each on the first face in `order` that is approached, until none is; None if they do not end.

    They may go on for ever and converge. Together they then bring the rates to zero, as one impact with e = 0 does. So do
    impacts at rates that all count as zero: their bounces would not be resolved.
    """
    impacts: list[ImpactOutcome] = []
    bound = {i: max(at.slow[i], CORNER_IMPACTS_ENDED * abs(at.g_d[i])) for i in order}
    for _ in range(CORNER_IMPACTS):
        approached = next((i for i in order if at.g_d[i] < -bound[i]), None)
        if approached is None:
            break
        impacts.append(newton_impact(at, {approached: float(at.restitution[approached])}, resting))
        at = at.moved(impacts[-1].dv)
    else:
        if not converge(at, order, resting):
            return None
    if not impacts or any(at.g_d[i] < -at.slow[i] for i in order):
        impacts.append(together(at, dict.fromkeys(order, 0.0), resting))
    return impacts


def converge(at: Instant, faces: Sequence[int], resting: Sequence[int]) -> bool:
    """Whether impacts in turn on faces, one of which has just been hit, never end, so that the rates of the faces tend to zero.

    With e = 0 they never end: each impact is a projection. Between two faces with unit normals and −n₁K n₂ᵀ = c, the ratio
    x = ġ₁/|ġ₂| after an impact on face 1 becomes e₁/(c(1 + e₁) − e₂/(c(1 + e₂) − x)). It stays positive if it starts at or
    below the larger fixed point of this map. Otherwise, or without a fixed point, one face is left in the end. For more faces
    with e > 0 the answer is not known, and is False.
    """
    e = at.restitution[list(faces)]
    if len(faces) != 2 or not e.any():
        return not e.any()
    G = at.compliance([*faces, *resting])
    G = G[:2, :2] - G[:2, 2:] @ least_squares(G[2:, 2:], G[2:, :2], GRAM_LOST)
    size = np.sqrt(np.maximum(np.diag(G), 0))
    rates = at.g_d[list(faces)] / np.maximum(size, SMALLEST_NORMAL)
    receding, approached = (0, 1) if rates[0] >= rates[1] else (1, 0)
    c = -float(G[0, 1] / max(size[0] * size[1], SMALLEST_NORMAL))
    square, constant = c * (1 + e[receding]), c * (1 + e[approached]) * e[receding]
    linear = square * c * (1 + e[approached]) + e[receding] - e[approached]
    discriminant = linear**2 - 4 * square * constant
    # the fixed points of the map are the roots of square x² − linear x + constant, with x = rates[receding]/|rates[approached]|
    if c <= 0 or e.min() >= 1 or discriminant < 0 or not rates[receding] >= 0 > rates[approached]:
        return False
    return bool(2 * square * rates[receding] <= (linear + np.sqrt(discriminant)) * -rates[approached])


def well_posed(at: Instant, faces: Sequence[int], resting: Sequence[int]) -> bool:
    """Whether impacts in any order have the same result; the motion then depends continuously on the initial state.

    Rates that count as zero, with which a sequence ends, make no difference. They grow with the coordinates."""
    orders = list(permutations(faces)) if len(faces) <= 3 else [(*faces[k:], *faces[:k]) for k in range(len(faces))]
    sequences = [sequence(at, order, resting) for order in orders]
    changes = [sum((impact.dv for impact in impacts), np.zeros(len(at.v))) for impacts in sequences if impacts is not None]
    allowed = IMPACT_ORDERS_AGREE**2 * max(at.energy(at.v), max((at.energy(change) for change in changes), default=0.0))
    touched = [*faces, *resting]
    agrees = lambda dv: at.energy(dv) <= allowed or bool((np.abs(at.g_v @ dv) <= 2 * at.slow)[touched].all())
    return len(changes) == len(orders) and all(agrees(change - changes[0]) for change in changes)


def complementary(G: Array, c: Array, tolerance: Array) -> Array:
    """Λ of 0 <= Λ ⟂ G Λ + c >= 0, (k,), for a positive semidefinite G: the minimum of ΛᵀGΛ/2 + c·Λ over Λ >= 0.

    An active-set method (Lawson and Hanson, ch. 23): close the face with the largest violation, then open one by one those that
    would pull.
    """
    k = len(c)
    lam, active = np.zeros(k), np.zeros(k, dtype=bool)
    ridge = np.diag(COMPLIANCE_RIDGE * (np.diag(G) + SMALLEST_NORMAL))  # opens one of several redundant faces that conflict
    for _ in range(COMPLEMENTARITY_EXCHANGES * k + 1):
        slack = np.where(active, np.inf, (G @ lam + c) / tolerance)
        if k == 0 or slack.min() >= -1:
            return lam
        active[worst := int(np.argmin(slack))] = True
        if not G[worst, worst] > 0:  # the bilateral constraints drive the system into the face
            break
        while active.any():
            block, ridged = G[np.ix_(active, active)], (G + ridge)[np.ix_(active, active)]
            trial = np.linalg.solve(ridged, -c[active])
            # one step of iterative refinement: the ridge must not remain in the reactions
            trial += np.linalg.solve(ridged, -c[active] - block @ trial)
            if (trial > 0).all():
                lam[active] = trial
                break
            last = lam[active]
            pulls = trial <= 0  # go towards the trial until the first reaction vanishes, and open its face
            fraction = np.min(last[pulls] / (last[pulls] - trial[pulls]), initial=1.0)
            lam[active] = np.where(pulls & (last <= fraction * (last - trial)), 0.0, last + fraction * (trial - last))
            active &= lam > 0
    raise SingularConfiguration(
        "no set of contacts is consistent at this state: the faces on which it rests are redundant or conflict"
    )


def contact_set(at: Instant, candidates: Sequence[int], holding: Collection[int] = ()) -> tuple[int, ...]:
    """The candidates that stay in contact. Those of `holding` stay if they can, even without a reaction: on them g̈ = 0, on the
    others 0 <= Λ ⟂ g̈ >= 0. Those that would pull are let go one by one."""
    faces = list(candidates)
    G, c = at.compliance(faces), (at.g_v @ at.flight + at.g_dd0)[faces]
    tolerance = at.balance(faces, G)
    fixed = [k for k, i in enumerate(faces) if i in holding and G[k, k] > 0]
    while fixed:
        others = [k for k in range(len(faces)) if k not in fixed]
        eliminated = least_squares(G[np.ix_(fixed, fixed)], np.column_stack([G[np.ix_(fixed, others)], c[fixed]]), GRAM_LOST)
        schur = G[np.ix_(others, others)] - G[np.ix_(others, fixed)] @ eliminated[:, :-1]
        lam = complementary(schur, c[others] - G[np.ix_(others, fixed)] @ eliminated[:, -1], tolerance[others])
        pulls = np.diag(G)[fixed] * (eliminated[:, -1] + eliminated[:, :-1] @ lam) / tolerance[fixed]
        if pulls.max() <= 1:
            pressed = [k for k, push in zip(others, lam, strict=True) if push > 0]
            return tuple(sorted(faces[k] for k in [*fixed, *pressed]))
        del fixed[int(np.argmax(pulls))]
    return tuple(sorted(faces[i] for i in np.flatnonzero(complementary(G, c, tolerance) > 0)))


def certain(at: Instant, contacts: Sequence[int]) -> Array:
    """Reactions above which `contact_set` finds the same contacts again, (contacts,), at this state and at nearby ones.

    `contact_set` returns fewer of them where −g̈ of the others is below their tolerance. As Λ = −G⁺ g̈, this happens only for
    Λ_j <= Σ_k |G⁺|_jk tolerance_k. Among dependent faces, `bearing` omits those with a small share of the load.
    """
    G = at.compliance(contacts)
    if not (np.diag(G) > 0).all():
        return np.full(len(contacts), np.inf)
    threshold = REACTION_CERTAIN * np.abs(inverse_on_range(G, GRAM_PLAIN)) @ at.balance(contacts, G)
    if len(independent(at, contacts)) == len(contacts):
        return threshold
    lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])[1]
    return np.maximum(threshold, CLEARLY_LOADED * LOAD_SHARE_UNLOADED * lam.max())


def bearing(at: Instant, contacts: Sequence[int], candidates: Sequence[int]) -> tuple[int, ...]:
    """The faces that bear the load where others besides the contacts have g̈ = 0 as well: Λ >= 0 of least norm."""
    pool = [*contacts, *(i for i in candidates if i not in contacts)]
    if not contacts or len(independent(at, pool)) == len(pool):
        return tuple(contacts)
    a, lam = at.solve(contacts, at.force, -at.a0, -at.g_dd0[list(contacts)])
    balance = REST_BENDS * at.balance(pool, at.compliance(pool)) + REST_TERMS * (np.abs(at.g_v[pool]) @ np.abs(a))
    negligible = dict(zip(pool, balance, strict=True))
    g_dd = at.g_v @ a + at.g_dd0
    faces = [*contacts, *(i for i in pool[len(contacts) :] if abs(g_dd[i]) <= negligible[i])]
    if not contacts or len(independent(at, faces)) == len(faces):
        return tuple(contacts)
    values, vectors = np.linalg.eigh(at.compliance(faces))
    B = 1e4 * (vectors * np.sqrt(np.maximum(values / values.max(), 0))).T  # BᵀB ∝ G, so that equal BΛ give equal motions
    # the rows of I select the least norm among the Λ of one motion, which 1e4 B ranks before them
    load = np.concatenate([B[:, : len(contacts)] @ lam, np.zeros(len(faces))])
    shares = nnls(np.vstack([B, np.eye(len(faces))]), load)[0]
    chosen = tuple(sorted(faces[i] for i in np.flatnonzero(shares > LOAD_SHARE_UNLOADED * shares.max())))
    a, chosen_lam = at.solve(chosen, at.force, -at.a0, -at.g_dd0[list(chosen)])
    g_dd = at.g_v @ a + at.g_dd0
    holds = all(abs(g_dd[i]) <= negligible[i] for i in faces)
    return chosen if (chosen_lam >= 0).all() and holds else tuple(contacts)


def mode_of(at: Instant, contacts: Sequence[int], asleep: Sequence[int] = ()) -> Mode:
    """The frictionless mode with these faces in contact; asleep: redundant faces that touch without bearing a load."""
    basis = independent(at, contacts)
    return Mode(tuple(contacts), idle=tuple(len(at.A) + i for i in contacts if i not in basis), asleep=tuple(asleep))


def independent(at: Instant, faces: Sequence[int]) -> tuple[int, ...]:
    """Faces whose normals do not depend on those of the faces before them."""
    G = at.compliance(faces)
    if at.ideal and plainly_independent(G):
        return tuple(faces)
    basis: list[int] = []
    for i in range(len(faces)):
        remainder = G[i, i] - G[i, basis] @ np.linalg.solve(G[np.ix_(basis, basis)], G[basis, i])
        if remainder > GRAM_PLAIN * G[i, i]:
            basis.append(i)
    return tuple(faces[i] for i in basis)
