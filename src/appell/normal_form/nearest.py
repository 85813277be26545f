"""The state on the constraints nearest to a given one.

    positions     min ½ |q − q₀|²  with  f(t, q) = 0              velocities    min ½ |v − v₀|²  with  ḟ(t, q, v) = 0

in the metric of the kinetic energy, for positions |δ|² = δᵀM(t, q₀)δ with δq = N δ, for velocities with M(t, q), as an impulse
would do it.

There are two movements, in coordinates x with the unit metric. *Reach*: Levenberg–Marquardt steps from the start to the
constraints, damped until |f| decreases; undamped Newton steps jump far away where the rows are nearly dependent. *Slide*: along
the constraints towards the start, x ← x − s (I − A⁺A)(x − x₀), followed by a reach, with a Barzilai–Borwein step s that is
halved until the distance decreases. It ends where x − x₀ is normal to the constraints: a nearest point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.normal_form.manifold import normalise, residuals
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.sampling import WIDE_BOX, random_state, random_time
from appell.rows import NEWTON_LOST, SLIDING_LOST, in_columns, left_inverse, null_space, row_basis, singular
from appell.rows.decompositions import decomposing

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
State = tuple[float, Array, Array]

REACH = 200
SLIDE = 300

ARRIVED = 1e-15
"""Residual, relative to the size of its terms, below which no further step is taken."""

SMALL_STEPS = 100
"""Steps down |f|² where rows have lost rank, each at most half a step of Newton's method, so that they follow the gradient."""

TRIES_BESIDE = 3
"""Starts from which small steps are tried; if they never lead to a higher rank, rows are redundant everywhere."""

NEAR_LOST_RANK = 1e-6
"""Singular value, relative to the largest, of rows that lose rank: f is quadratic there, and |f| ~ 1e-15 some 1e-8 away."""

NORMAL = 1e-10
"""Tangential part of x − x₀, relative to its length and to the size of a state, that counts as zero."""

MASSLESS_WEIGHT = 1e-9
"""Weight of a massless motion, as a fraction of the mean: it moves first, but not infinitely far."""


@dataclass(frozen=True)
class Level:
    """f = 0 over points z. `rows(z)` gives f, the sizes of its terms and ∂f/∂x (m, k); `move(z, dx)`; `apart(z)` = x − x₀;
    size: |x₀|, in the unit of x."""

    rows: Callable[[Array], tuple[Array, Array, Array]]
    move: Callable[[Array, Array], Array]
    apart: Callable[[Array], Array]
    size: float


def nearest(
    form: NormalForm, t: float, q: Array, v: Array, p: Array, *, fixed_q: Mask | None = None, fixed_v: Mask | None = None
) -> tuple[Array, Array]:
    """The state on the constraints nearest to (q, v); the caller checks the remaining residuals.

    `fixed_q` (nq,) and `fixed_v` (nv,) mark fixed entries.
    """
    q = normalise(form, q)
    q = _nearest(_positions(form, t, q, v, p, fixed_q), q)
    return q, _nearest(_velocities(form, t, q, v, p, fixed_v), v)


def states_on(form: NormalForm, p: Array, count: int, seed: int = 0) -> list[State]:
    """Random states (t, q, v) on the constraints, each reached from a random one; fewer where that fails, or where rows lose
    rank and elsewhere do not.

    If all fail, rows may have no value in the unit box, and the starts are taken farther out.
    """
    rng, states = np.random.default_rng(seed), []
    ranks: list[int] = []
    tried = gained = 0
    for k in range(2 * count):
        t = random_time(rng, form.around)
        q, v = random_state(form.nq, form.nv, rng, form.around)
        if k >= count and not states and (form.around is None or "q" not in form.around):
            q = _far_coordinates(form, t, v, p, rng)
        with np.errstate(all="ignore"):
            try:
                q = normalise(form, q)
                positions, start = _positions(form, t, q, v, p, None), q
                q = _reach(positions, start)
                rank, full = _rank_of_rows(positions, start, q)
                if rank < full and (gained or tried < TRIES_BESIDE):
                    beside = _reach_gently(positions, start)
                    higher = _rank_of_rows(positions, start, beside)[0] if _on_constraints(positions, beside, 0.0) else 0
                    tried, gained = tried + 1, gained + (higher > rank)
                    q, rank = (beside, higher) if higher > rank else (q, rank)
                v = _reach(_velocities(form, t, q, v, p, None), v)
                arrived = residuals(form, t, q, v, p).relative < 1e-11
            except np.linalg.LinAlgError:
                arrived, rank = False, 0
        if arrived and np.isfinite(q).all() and np.isfinite(v).all():
            states.append((t, q, v))
            ranks.append(rank)
        if len(states) == count:
            break
    return [state for state, rank in zip(states, ranks, strict=True) if rank == max(ranks)]


def _reach_gently(level: Level, z: Array) -> Array:
    """f = 0, away from points where its rows lose rank: f of three parallel cranks is quadratic about the change point, and
    Newton steps halve the distance from it wherever they start; small steps down |f|² end beside it."""
    lengths = _row_lengths(level, z)
    for _ in range(SMALL_STEPS):
        f, _, A = level.rows(z)
        U, sizes, Vh = singular(A / lengths[:, None], economical=True)
        z = level.move(z, -Vh.T @ (sizes / (sizes**2 + sizes[0] ** 2) * (U.T @ (f / lengths))))
    return _reach(level, z)


def _row_lengths(level: Level, z: Array) -> Array:
    return _nonzero(np.linalg.norm(level.rows(z)[2], axis=1))


def _rank_of_rows(level: Level, start: Array, z: Array) -> tuple[int, int]:
    """The rank of the rows at a point, over their lengths at the start, and the largest they can have."""
    A = level.rows(z)[2]
    if not A.size or not np.isfinite(A).all():
        return 0, 0
    sizes = singular(A / _row_lengths(level, start)[:, None]).sigma
    return int((sizes > NEAR_LOST_RANK * sizes[0]).sum()), min(A.shape)


def _far_coordinates(form: NormalForm, t: float, v: Array, p: Array, rng: np.random.Generator) -> Array:
    """Coordinates drawn from a wide box; with finite rows, if any draw has them."""
    fn = form.select("M", "N", "A0", "f0", "f0_scale")
    q = normalise(form, rng.uniform(-WIDE_BOX, WIDE_BOX, form.nq))
    for _ in range(50):
        if np.isfinite(fn(t, q, v, p)["f0"]).all():
            break
        q = normalise(form, rng.uniform(-WIDE_BOX, WIDE_BOX, form.nq))
    return q


# -- the two levels ----------------------------------------------------------------------------------------------------


def _positions(form: NormalForm, t: float, q0: Array, v: Array, p: Array, fixed: Mask | None) -> Level:
    fn = form.select("M", "N", "A0", "f0", "f0_scale")
    start = fn(t, q0, v, p)
    free = _unfixed(start["N"], fixed)
    root = _root(free.T @ start["M"] @ free)

    def rows(q: Array) -> tuple[Array, Array, Array]:
        out = fn(t, q, v, p)
        return out["f0"], out["f0_scale"], out["A0"] @ free @ root

    def move(q: Array, dx: Array) -> Array:
        return normalise(form, q + fn(t, q, v, p)["N"] @ (free @ (root @ dx)))

    def apart(q: Array) -> Array:
        basis = fn(t, q, v, p)["N"] @ free @ root
        return in_columns(basis, q - q0)

    return Level(rows, move, apart, float(np.linalg.norm(in_columns(start["N"] @ free @ root, q0))))


def _velocities(form: NormalForm, t: float, q: Array, v0: Array, p: Array, fixed: Mask | None) -> Level:
    fn = form.select("M", "A1", "f1", "f1_scale")
    free = _unfixed(np.eye(form.nv), fixed)
    basis = free @ _root(free.T @ fn(t, q, v0, p)["M"] @ free)

    def rows(v: Array) -> tuple[Array, Array, Array]:
        out = fn(t, q, v, p)
        return out["f1"], out["f1_scale"], out["A1"] @ basis

    inverse = left_inverse(basis)
    return Level(rows, lambda v, dx: v + basis @ dx, lambda v: inverse @ (v - v0), float(np.linalg.norm(inverse @ v0)))


def _unfixed(N: Array, fixed: Mask | None) -> Array:
    """Z, (nv, k): the steps δ with (N δ)_i = 0 for every fixed i."""
    return np.eye(N.shape[1]) if fixed is None or not fixed.any() else null_space(N[fixed])


def _root(M: Array) -> Array:
    """R with R Rᵀ = M⁻¹, so that δ = R x has δᵀMδ = |x|²."""
    if not M.size:
        return M
    with decomposing(M):
        values, vectors = np.linalg.eigh(M)
    return vectors / np.sqrt(np.maximum(values, 0) + MASSLESS_WEIGHT * (np.trace(M) / len(M) or 1.0))


# -- the two movements -------------------------------------------------------------------------------------------------


def _nearest(level: Level, start: Array) -> Array:
    return _slide(level, _reach(level, start))


def _reach(level: Level, z: Array) -> Array:
    """f = 0 by damped steps; rows are weighted by the largest length they have had so far."""
    f, scale, A = level.rows(z)
    if not len(f) or not A.shape[1]:
        return z
    weights = np.zeros(len(f))
    damping, shaken = 1e-3, False
    for _ in range(REACH):
        if not np.isfinite(f).all() or (np.abs(f) <= ARRIVED * scale).all():
            break
        weights = np.maximum(weights, np.linalg.norm(A, axis=1))
        if not np.linalg.norm(A.T @ (f / _nonzero(weights) ** 2)) > 0:
            if shaken:
                break
            z, shaken = (
                level.move(z, _shift_aside(level, z)),
                True,
            )  # a start where all gradients vanish, such as coinciding points
            f, scale, A = level.rows(z)
            continue
        z, f, scale, A, damping, better = _damped(level, z, f, A, _nonzero(weights), damping)
        if not better:
            break
    return z


def _nonzero(weights: Array) -> Array:
    return np.where(weights > 0, weights, weights.max(initial=0.0) or 1.0)


def _shift_aside(level: Level, z: Array) -> Array:
    return 1e-3 * (level.size or 1.0) * np.random.default_rng(5).uniform(-1, 1, level.rows(z)[2].shape[1])


def _damped(
    level: Level, z: Array, f: Array, A: Array, weights: Array, damping: float
) -> tuple[Array, Array, Array, Array, float, bool]:
    """One Levenberg–Marquardt step: min |f + A dx|² + (damping |A|)² |dx|², with more damping until |f| decreases."""
    g, J = f / weights, A / weights[:, None]
    U, sizes, Vh = singular(J, economical=True)
    norm = float(np.linalg.norm(g))
    for _ in range(40):
        cut = damping * sizes[0]
        gains = np.where(sizes > NEWTON_LOST * sizes[0], sizes, 0) / (sizes**2 + cut**2)
        trial = level.move(z, -Vh.T @ (gains * (U.T @ g)))
        f_new, scale, A_new = level.rows(trial)
        if np.isfinite(f_new).all() and np.isfinite(A_new).all() and float(np.linalg.norm(f_new / weights)) < norm:
            return trial, f_new, scale, A_new, damping / 10 if damping > 1e-14 else 0.0, True
        damping = max(10 * damping, 1e-8)
        if damping > 1e6:
            break
    return z, f, np.zeros_like(f), A, damping, False


def _slide(level: Level, z: Array) -> Array:
    """x ← x − s (I − A⁺A)(x − x₀) along f = 0 while the distance decreases."""
    offset = level.apart(z)
    if not len(offset) or not np.isfinite(offset).all():
        return z
    square, last, stride = float(offset @ offset), None, 1.0
    for _ in range(SLIDE):
        tangent = _tangent(level.rows(z)[2], offset)
        if np.linalg.norm(tangent) <= NORMAL * (np.linalg.norm(offset) + 1e-6 * level.size):
            break
        if last is not None:  # Barzilai–Borwein: the curvature along the last step
            dx, dg = offset - last[0], tangent - last[1]
            stride = float(np.clip(dx @ dx / max(abs(dx @ dg), 1e-300), 0.05, 20.0))
        for _ in range(30):
            trial = _reach(level, level.move(z, -stride * tangent))
            new_offset = level.apart(trial)
            if _on_constraints(level, trial, square) and float(new_offset @ new_offset) < square:
                break
            stride /= 2
        else:
            break
        last, z, offset, square = (offset, tangent), trial, new_offset, float(new_offset @ new_offset)
    return z


def _on_constraints(level: Level, z: Array, square: float) -> bool:
    """Whether z is on the constraints, relative to their terms and to what they change over the distance √square from x₀."""
    f, scale, A = level.rows(z)
    sizes = scale + np.linalg.norm(A, axis=1) * np.sqrt(square)
    return bool(np.isfinite(f).all() and (np.abs(f) <= 1e-12 * sizes).all())


def _tangent(A: Array, x: Array) -> Array:
    """(I − A⁺A) x."""
    rows = row_basis(A, SLIDING_LOST)
    return x - rows.T @ (rows @ x)
