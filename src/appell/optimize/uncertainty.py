"""Identifiability and uncertainty of unknowns: ranks of sensitivities, standard errors, correlations.

    r = (y_model − y_measured)/σ,        J = ∂r/∂θ,        cov θ = (JᵀJ)⁻¹

The data do not determine a direction of θ in the null space of J. Columns are scaled by the unknowns themselves, so that a
stiffness of 1e5 N/m and a coefficient of 0.3 count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.rows import singular

Array = NDArray[np.float64]

UNSEEN_DIRECTION = 1e-7
"""Fraction of the largest singular value below which a direction reflects rounding and integration errors, not the data."""
UNSEEN_BY_DIFFERENCES = 1e-4
"""The same for derivatives by differences of motions."""
TAKES_PART = 1e-2
"""An unknown with a smaller component in a unit direction is not mentioned in its description."""


OUTLYING = 4.0
"""Ratio of the standard deviation of residuals to that estimated from their middle half, 1 for normal noise; above it a few
residuals dominate."""


def robust_size(r: Array) -> float:
    """The standard deviation of noise with outliers, estimated from its middle half."""
    return 1.4826 * float(np.median(np.abs(r)))


def few_decide(r: Array) -> bool:
    """Whether a few outlying residuals make up most of the sum of squares."""
    return bool(np.std(r) > OUTLYING * robust_size(r) > 0)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """errors: standard errors (n,), infinite where the data do not determine it; correlation (n, n), NaN there.

    identifiable: which unknowns the data determine, (n,). unseen: one sentence for each direction that they do not determine.
    """

    errors: Array
    correlation: Array
    identifiable: NDArray[np.bool_]
    unseen: tuple[str, ...]


def uncertainty(J: Array, inflation: float, sizes: Array, names: Sequence[str], exact: bool) -> Uncertainty:
    """From J (N, n) in units of the noise, the factor of a loss in the covariance (1 for least squares), and sizes of the
    unknowns."""
    n = J.shape[1]
    scaled = J * sizes
    _, values, Vt = singular(scaled, economical=True)
    least = (UNSEEN_DIRECTION if exact else UNSEEN_BY_DIFFERENCES) * values[0]
    seen = values > least
    blind = Vt[~seen] if len(Vt) else np.eye(n)
    if not values[0] > 0:
        blind, seen = np.eye(n), np.zeros_like(seen)
    identifiable = np.asarray(~(np.abs(blind) > TAKES_PART).any(axis=0) if len(blind) else np.ones(n, bool))
    covariance = inflation * (Vt[seen].T / values[seen] ** 2) @ Vt[seen]  # (JᵀJ)⁺ in scaled unknowns
    errors = np.where(identifiable, np.sqrt(np.diag(covariance)) * sizes, np.inf)
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        correlation = np.where(np.outer(identifiable, identifiable), covariance / np.outer(spread, spread), np.nan)
    return Uncertainty(errors, correlation, identifiable, tuple(_in_words(row, names) for row in _sparse(blind)))


def _sparse(directions: Array) -> Array:
    """Directions that span the same space, made sparse by elimination."""
    rows = directions.copy()
    for done in range(len(rows)):
        i, j = np.unravel_index(np.argmax(np.abs(rows[done:])), rows[done:].shape)
        rows[[done, done + i]] = rows[[done + i, done]]
        rows[done] /= rows[done, j]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, j], rows[done])
    return rows


def _in_words(direction: Array, names: Sequence[str]) -> str:
    """A sentence on the unknowns in a direction that the data do not determine."""
    parts = [int(j) for j in np.argsort(-np.abs(direction), kind="stable") if abs(direction[j]) > TAKES_PART]
    if len(parts) == 1:
        return f"the data do not depend on {names[parts[0]]}"
    ratio = direction[parts] / direction[parts[0]]
    listed = ", ".join(f"{names[j]} by {100 * r:+.3g} %" for j, r in zip(parts, ratio, strict=True))
    together = " and ".join([", ".join(names[j] for j in parts[:-1]), names[parts[-1]]])
    return f"the data do not tell {together} apart: {listed} together change nothing"
