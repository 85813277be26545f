"""Rank of the constraint rows A of A a + a0 = 0: which rows follow from the others, and at which states rank is lost.

    row i is redundant            rank A_{1…i} = rank A_{1…i−1} at every state tried
    rank falls                    λᵀA(t, q, v) = 0,  |λ| = 1,  f0 = 0,  f1 = 0        for the independent rows

The second is solved by least squares in (q, v, λ) from states on the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from appell.graph.algebra import depends
from appell.normal_form import NormalForm

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

DEPENDENT = 1e-9
"""Share of a row's size below which its part outside the others counts as rounding."""

STARTS = 8
"""States from which a loss of rank is sought."""

FAR = 50.0
"""Size of a coordinate or velocity beyond which a loss of rank is no more than a limit."""


def rank(rows: Array) -> int:
    """Rank of rows scaled to length 1."""
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return int(np.linalg.matrix_rank(rows, tol=DEPENDENT)) if rows.size else 0


def values(form: NormalForm, p: Array, states: Sequence[State], name: str) -> list[Array]:
    """An output of the normal form at the states, where it is finite."""
    out = [form.select(name)(*state, p)[name] for state in states]
    return [value for value in out if np.isfinite(value).all()]


def independent(matrices: Sequence[Array]) -> tuple[list[int], dict[int, list[int]]]:
    """The generically independent rows of samples (m, n), and each dependent one with those that it follows from."""
    kept: list[int] = []
    dependent: dict[int, list[int]] = {}
    for i in range(len(matrices[0])):
        if any(rank(A[[*kept, i]]) > rank(A[kept]) for A in matrices):
            kept.append(i)
        else:
            K = np.linalg.lstsq(matrices[0][kept].T, matrices[0][i], rcond=None)[0]
            dependent[i] = [j for j, k in zip(kept, K, strict=True) if abs(k) > 1e-7]
    return kept, dependent


def losses(form: NormalForm, p: Array, states: Sequence[State], rows: Sequence[int]) -> list[tuple[State, Array]]:
    """States where the rows lose rank, each with λ; those with the most zeros first. Small numbers are rounded to zero."""
    if not rows or not any(depends(form["A"], form.inputs[x]) for x in ("q", "v")):
        return []
    size = float(np.median([np.linalg.norm(A[rows]) for A in values(form, p, states, "A")])) or 1.0
    defect = _Defect(form, p, list(rows), size)
    found = []
    for number, (time, q, v) in enumerate(states[:STARTS]):
        z = np.concatenate([q, v, defect.weights(time, q, v)])
        with np.errstate(all="ignore"):
            best = scipy.optimize.least_squares(defect, z, args=(time,), max_nfev=200, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        z = np.where(np.abs(best.x) < 1e-6, 0.0, best.x)
        if np.abs(defect(z, time)).max() < 1e-5 and np.abs(z).max() < FAR:
            q, v, w = defect.split(z)
            found.append((np.count_nonzero(z), number, (time, q, v), w))
    return [(state, w) for _, _, state, w in sorted(found, key=lambda one: one[:2])]


class _Defect:
    """(λᵀA/size, f0, f1, |quaternion|² − 1, |λ|² − 1) as a function of z = (q, v, λ)."""

    def __init__(self, form: NormalForm, p: Array, rows: list[int], size: float):
        self.form, self.p, self.rows, self.size = form, p, rows, size
        self.fn = form.select("A", "f0", "f1")

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        nq, nv = self.form.nq, self.form.nv
        return z[:nq], z[nq : nq + nv], z[nq + nv :]

    def weights(self, time: float, q: Array, v: Array) -> Array:
        """λ of the smallest |λᵀA| at a state."""
        return np.linalg.svd(self.fn(time, q, v, self.p)["A"][self.rows])[0][:, -1]

    def __call__(self, z: Array, time: float) -> Array:
        q, v, w = self.split(z)
        out = self.fn(time, q, v, self.p)
        unit = [q[list(group)] @ q[list(group)] - 1 for group in self.form.quaternions]
        parts = [w @ out["A"][self.rows] / self.size, out["f0"], out["f1"], unit, [w @ w - 1]]
        return np.nan_to_num(np.concatenate(parts), nan=1e3, posinf=1e3, neginf=-1e3)
