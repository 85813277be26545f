"""States that satisfy the constraints: finding them, and bringing a state back onto them.

    positions    q ← q + N Δπ,  A0 Δπ = −f        velocities    v ← v + Δv,  A1 Δv = −ḟ

each step the least one in the M-metric (`saddle`), repeated until the residuals are at rounding level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.normal_form.normal_form import NormalForm

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ITERATIONS = 50


@dataclass(frozen=True)
class Residuals:
    """Residuals of the holonomic rows and of the velocity rows, with the size of the terms that cancel in them."""

    f0: Array
    f1: Array
    f0_scale: Array
    f1_scale: Array

    @property
    def relative(self) -> float:
        """max |f| / (1 + Σ|∂f/∂z·z|) over all rows; 0 without rows."""
        f, scale = np.concatenate([self.f0, self.f1]), np.concatenate([self.f0_scale, self.f1_scale])
        return float((np.abs(f) / (1 + scale)).max(initial=0.0))


def residuals(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Residuals:
    """How far a state is from the constraints."""
    out = form.select("f0", "f1", "f0_scale", "f1_scale")(t, q, v, p)
    return Residuals(**out)


def normalise(form: NormalForm, q: Array) -> Array:
    """Unit quaternions made unit."""
    q = q.copy()
    for group in form.quaternions:
        q[list(group)] /= np.linalg.norm(q[list(group)])
    return q


def _free_directions(N: Array, fixed: Mask | None) -> Array:
    """Z, (nv, k): the steps Δ with (N Δ)_i = 0 for every fixed i."""
    if fixed is None or not fixed.any():
        return np.eye(N.shape[1])
    return scipy.linalg.null_space(N[fixed])


def _least_step(M: Array, A: Array, f: Array, Z: Array) -> Array:
    """Δ = Z y with A Δ = −f, least in the M-metric (massless directions and redundant rows included)."""
    if Z.shape[1] == 0:
        return np.zeros(len(M))
    M, A = Z.T @ M @ Z, A @ Z
    size = 1e-9 * (np.trace(M) / len(M) or 1.0)
    values, vectors = np.linalg.eigh(M)
    root = vectors / np.sqrt(np.maximum(values, 0) + size)  # M⁻¹ = root rootᵀ
    return -Z @ root @ np.linalg.lstsq(A @ root, f, rcond=1e-10)[0]


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
    """The state on the constraints near (q, v) by Newton's steps in the M-metric; the caller looks at the residuals left.

    `fixed_q` (nq,) and `fixed_v` (nv,) mark what must not move: Δq = N Δπ is then sought among the Δπ that leave the
    fixed coordinates alone.
    """
    blocks0, blocks1 = form.select("M", "N", "A0", "f0", "f0_scale"), form.select("M", "A1", "f1", "f1_scale")
    q = normalise(form, q)
    for _ in range(ITERATIONS):
        out = blocks0(t, q, v, p)
        if not _wants_step(out["f0"], out["f0_scale"]):
            break
        free = _free_directions(out["N"], fixed_q)
        q = normalise(form, q + out["N"] @ _least_step(out["M"], out["A0"], out["f0"], free))
    for _ in range(ITERATIONS):
        out = blocks1(t, q, v, p)
        if not _wants_step(out["f1"], out["f1_scale"]):
            break
        v = v + _least_step(out["M"], out["A1"], out["f1"], _free_directions(np.eye(form.nv), fixed_v))
    return q, v


def _wants_step(f: Array, scale: Array) -> bool:
    """Whether a residual is above rounding; not for one that is not finite, which no step mends."""
    return bool(np.isfinite(f).all() and (np.abs(f) > 1e-15 * (1 + scale)).any())


def find(form: NormalForm, p: Array, seed: int, tries: int = 3) -> list[tuple[float, Array, Array]]:
    """Random states (t, q, v) of the constraint manifold; fewer than `tries` where Newton does not arrive."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(2 * tries):
        t = float(rng.uniform(0.1, 1.0))
        q, v = rng.uniform(-1, 1, form.nq), rng.uniform(-1, 1, form.nv)
        with np.errstate(all="ignore"):
            try:
                q, v = project(form, t, q, v, p)
                arrived = residuals(form, t, q, v, p).relative < 1e-11
            except np.linalg.LinAlgError:
                arrived = False
        if arrived and np.isfinite(q).all() and np.isfinite(v).all():
            found.append((t, q, v))
        if len(found) == tries:
            break
    return found
