"""The constraint manifold: finding states on it, and projecting a state onto it.

    positions    q ← q + N Δπ,  A0 Δπ = −f        velocities    v ← v + Δv,  A1 Δv = −ḟ

where each step is the smallest in the M-metric (`saddle`), repeated until the residuals are at the level of rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.normal_form.move_sizes import largest_alike, metric_roots, moves_of
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.sampling import random_state, random_time
from appell.rows import DISPARATE, RowSpace, balanced, disparity, lengths, null_space

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

PROJECTION_ITERATIONS = 50

RESIDUAL_ROUNDING = 1e-15
"""A residual below this fraction of the size of its terms is rounding."""

RESIDUAL_STALLED = 1e-12
"""A residual below this fraction that a step no longer halves has converged."""


@dataclass(frozen=True)
class Residuals:
    """Residuals of the holonomic rows and of the velocity rows, with the size of the terms that cancel in them.

    Where all terms of a row are small by chance, its size is that of a term with the largest coordinate (velocity) of the
    state, by the inertia.
    """

    f0: Array
    f1: Array
    f0_scale: Array
    f1_scale: Array

    @property
    def relative(self) -> float:
        """max |f| / size over all rows; 0 without rows."""
        f, size = np.concatenate([self.f0, self.f1]), np.concatenate([self.f0_scale, self.f1_scale])
        return float(relative(f, size).max(initial=0.0))


def relative(f: Array, size: Array) -> Array:
    """|f| / size; 0 where f is."""
    return np.abs(f) / np.where(f == 0, 1.0, np.maximum(size, np.abs(f)))


def residuals(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Residuals:
    """How far a state is from the constraints."""
    return residuals_from(form, form.select(*RESIDUAL_PARTS)(t, q, v, p), q, v)


RESIDUAL_PARTS = ("f0", "f1", "f0_scale", "f1_scale", "A", "M", "N")
"""The outputs needed for residuals."""

GAP_PARTS = ("g", "g_scale", "g_v", "M", "N")
"""The outputs needed for gaps and their sizes."""

ANOTHER_LEVEL = 1e-6
"""Velocities that count as displacements, and displacements as velocities, s and 1/s: where all of one kind are rounding,
only the other kind has a size."""


def largest_moves(parts: Mapping[str, Array], q: Array, v: Array) -> tuple[Array, Array]:
    """The largest coordinate and the largest velocity of a state, as displacements and velocities of each kind, (…, nv)."""
    roots = metric_roots(parts["M"])
    moves, speeds = largest_alike(roots, moves_of(parts["N"], q)), largest_alike(roots, np.abs(v))
    return moves + ANOTHER_LEVEL * speeds, speeds + ANOTHER_LEVEL * moves


def residuals_from(form: NormalForm, parts: Mapping[str, Array], q: Array, v: Array) -> Residuals:
    """Residuals from their parts, at one state or at a batch of them."""
    values, row = {name: parts[name] for name in RESIDUAL_PARTS[:4]}, np.abs(parts["A"])
    terms = [np.einsum("...ij,...j->...i", row, most) for most in largest_moves(parts, q, v)]
    for name, term, of_level in (("f0_scale", terms[0], form.levels == 0), ("f1_scale", terms[1], form.levels < 2)):
        size, slope = values[name] + term[..., of_level], row[..., of_level, :].any(axis=-1)
        values[name] = np.where(slope, size, np.maximum(size, 1.0))  # a row with zero gradient
    return Residuals(**values)


def faces_crossed(parts: Mapping[str, Array], q: Array, v: Array, tolerance: float, atol: float) -> NDArray[np.bool_]:
    """Faces behind which a state lies, (…, faces), by more than a fraction of their terms and by more than `atol`.

    Where all terms of a gap are small by chance, its size is that of a term with the largest coordinate, by the inertia.
    A gap that is open may be without a slope, as at the anchor of a thread.
    """
    slopes = np.abs(parts["g_v"])
    size = parts["g_scale"] + np.einsum("...ij,...j->...i", slopes, largest_moves(parts, q, v)[0])
    return ~((parts["g"] >= -(tolerance * size + atol * slopes.sum(axis=-1))) | (parts["g"] > 0))


def normalise(form: NormalForm, q: Array) -> Array:
    """q with its quaternions normalized."""
    q = q.copy()
    for group in form.quaternions:
        q[list(group)] /= np.linalg.norm(q[list(group)])
    return q


def _free_directions(N: Array, fixed: Mask | None) -> Array:
    """Z, (nv, k): the steps Δ with (N Δ)_i = 0 for every fixed i."""
    if fixed is None or not fixed.any():
        return np.eye(N.shape[1])
    return null_space(N[fixed])


def _least_step(M: Array, A: Array, size: Array, f: Array, Z: Array) -> Array:
    """Δ = Z y with A Δ = −f, smallest in the M-metric; dependent combinations of rows are left out."""
    if Z.shape[1] == 0 or len(A) == 0:
        return np.zeros(len(M))
    mass = np.diag(M)
    if mass.max() > DISPARATE * mass.min() and disparity(M, lengths(A, size)) > DISPARATE:
        M = np.diag(balanced(lengths(A, size)))  # M would let light bodies dominate rows with heavy ones
    restricted = not np.array_equal(Z, np.eye(len(M)))
    space = RowSpace.of(Z.T @ M @ Z, A @ Z, np.sqrt(size**2 @ Z**2), 0.0) if restricted else RowSpace.of(M, A, size)
    step = space.full_step(f)
    if step is None:
        step = space.step(f, space.rank)
    return Z @ step if restricted else step


def project(
    form: NormalForm,
    t: float,
    q: Array,
    v: Array,
    p: Array,
    *,
    fixed_q: Mask | None = None,
    fixed_v: Mask | None = None,
) -> tuple[Array, Array]:
    """The state on the constraints near (q, v) by Newton steps in the M-metric; the caller checks the remaining residuals.

    `fixed_q` (nq,) and `fixed_v` (nv,) mark fixed entries: Δq = N Δπ is then limited to the Δπ that do not change the fixed
    coordinates.
    """
    blocks0 = form.select("M", "N", "A0", "f0", "f0_scale", "A_size")
    blocks1 = form.select("M", "A1", "f1", "f1_scale", "A_size")
    holonomic, velocity_rows = form.levels == 0, form.levels < 2
    q, last = normalise(form, q), np.inf
    for _ in range(PROJECTION_ITERATIONS if holonomic.any() else 0):
        blocks = blocks0(t, q, v, p)
        residual = relative(blocks["f0"], blocks["f0_scale"])[_moves(blocks["A0"])].max(initial=0.0)
        if not RESIDUAL_ROUNDING < residual < np.inf or (residual > 0.5 * last and residual < RESIDUAL_STALLED):
            break
        step = _least_step(
            blocks["M"], blocks["A0"], blocks["A_size"][holonomic], blocks["f0"], _free_directions(blocks["N"], fixed_q)
        )
        q, last = normalise(form, q + blocks["N"] @ step), residual
    last = np.inf
    for _ in range(PROJECTION_ITERATIONS if velocity_rows.any() else 0):
        blocks = blocks1(t, q, v, p)
        residual = relative(blocks["f1"], blocks["f1_scale"])[_moves(blocks["A1"])].max(initial=0.0)
        if not RESIDUAL_ROUNDING < residual < np.inf or (residual > 0.5 * last and residual < RESIDUAL_STALLED):
            break
        v = v + _least_step(
            blocks["M"], blocks["A1"], blocks["A_size"][velocity_rows], blocks["f1"], _free_directions(np.eye(form.nv), fixed_v)
        )
        last = residual
    return q, v


def _moves(A: Array) -> Mask:
    """Which rows a step can change: those with a gradient."""
    return np.asarray(A.any(axis=1))


def find(form: NormalForm, p: Array, seed: int, tries: int = 3) -> list[tuple[float, Array, Array]]:
    """Random states (t, q, v) of the constraint manifold; fewer than `tries` where Newton's method does not converge."""
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(2 * tries):
        t = random_time(rng, form.around)
        q, v = random_state(form.nq, form.nv, rng, form.around)
        with np.errstate(all="ignore"):
            try:
                q, v = project(form, t, q, v, p)
                arrived = residuals(form, t, q, v, p).relative < 1e-11
            except np.linalg.LinAlgError:
                arrived = False
        if arrived and np.isfinite(q).all() and np.isfinite(v).all():
            states.append((t, q, v))
        if len(states) == tries:
            break
    return states
