"""Identifiability and uncertainty of unknowns: ranks of sensitivities, standard errors, correlations.

    r = (y_model − y_measured)/σ,        J = ∂r/∂θ,        cov θ = (JᵀJ)⁻¹

The data do not determine a direction of θ in the null space of J. Columns are scaled by the unknowns themselves, so that a
stiffness of 1e5 N/m and a coefficient of 0.3 count alike. With J_c the rows of channel c, n_c of them:

    p_c = tr J_c (JᵀJ)⁻¹ J_cᵀ         the degrees of freedom of the channel that the unknowns use
    s_c = ((JᵀJ)⁻¹ J_cᵀJ_c (JᵀJ)⁻¹)_jj the part of the variance of unknown j that comes from its noise

A noise that is estimated from its residuals is known with n_c − p_c degrees of freedom, and an error with (Satterthwaite 1946)

    ν_j = (Σ_c s_c)² / Σ_c s_c²/(n_c − p_c)

With a loss ρ other than the square, the covariance is A⁻¹BA⁻¹ with A = Σ_c a_c J_cᵀJ_c, B = Σ_c b_c J_cᵀJ_c (Huber, Robust
Statistics, 1981, 7.6), in which K corrects for few values:

    a = mean ψ′,    b = K² Σψ²/(n − p),    K = 1 + (p/n) var ψ′/a²
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from appell.optimize.losses import LOSSES, Loss
from appell.rows import singular

Array = NDArray[np.float64]

UNSEEN_DIRECTION = 1e-7
"""Fraction of the largest singular value below which a direction reflects rounding and integration errors, not the data."""
UNSEEN_BY_DIFFERENCES = 1e-4
"""The same for derivatives by differences of motions."""
TAKES_PART = 1e-2
"""An unknown with a larger component in a unit direction takes part in it, whatever the errors of J."""


OUTLYING = 4.0
"""Ratio of the standard deviation of residuals to that estimated from their middle half, 1 for normal noise; above it a few
residuals dominate."""


def robust_size(r: Array, used: float = 0.0) -> float:
    """The standard deviation of noise with outliers, estimated from its middle half.

    used: degrees of freedom that unknowns use. A robust fit makes as many residuals nearly zero; the smallest are left out.
    """
    sizes = np.sort(np.abs(r))
    return 1.4826 * float(np.median(sizes[min(round(used), len(r) - 1) :]))


def few_decide(r: Array) -> bool:
    """Whether a few outlying residuals make up most of the sum of squares."""
    return bool(np.std(r) > OUTLYING * robust_size(r) > 0)


@dataclass(frozen=True, eq=False)
class ChannelResiduals:
    """Residuals of a channel in units of its noise: rows in J, r (n_c,), the loss, and whether the noise was estimated."""

    name: str
    rows: NDArray[np.bool_]
    r: Array
    loss: Loss
    estimated: bool

    @property
    def is_square(self) -> bool:
        return self.loss is LOSSES["linear"]

    @property
    def slope(self) -> float:
        """a, the mean of ψ′."""
        return max(abs(float(np.mean(self.loss.weight(self.r)))), 1e-12)

    def variance(self, used: float) -> float:
        """b, the mean of ψ² without the bias of few values; at least a²: on normal noise no loss is better than squares."""
        if self.is_square:
            return 1.0
        n, a = len(self.r), self.slope
        K = 1 + used / n * float(np.var(self.loss.weight(self.r))) / a**2
        return max(K**2 * float(np.sum(self.loss.influence(self.r) ** 2)) / max(n - used, 1.0), a**2)

    def freedom(self, used: float) -> float:
        """Degrees of freedom of the noise; values count by their weights ψ′, also for a stated noise, since a and b are means
        of residuals."""
        if self.is_square and not self.estimated:
            return np.inf
        return max(len(self.r) * min(self.slope, 1.0) - used, 1.0)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """errors: standard errors (n,), infinite where the data do not determine it; correlation (n, n), NaN there.

    identifiable: which unknowns the data determine, (n,). unseen: one sentence for each direction that they do not determine.
    freedom: degrees of freedom of each error, (n,), infinite where the noise is known. used: channel → its degrees of freedom
    that the unknowns use.
    """

    errors: Array
    correlation: Array
    identifiable: NDArray[np.bool_]
    unseen: tuple[str, ...]
    freedom: Array
    used: Mapping[str, float] = field(default_factory=dict)


def leverages(J: Array) -> Array:
    """The diagonal of J (JᵀJ)⁺ Jᵀ, (N,): which part of a freedom each row of J (N, n) takes."""
    length = np.linalg.norm(J, axis=0)
    U, values, _ = singular(J / np.where(length > 0, length, 1.0), economical=True)
    return np.sum(U[:, values > UNSEEN_DIRECTION * values[0]] ** 2, axis=1)


def uncertainty(J: Array, channels: Sequence[ChannelResiduals], sizes: Array, names: Sequence[str], exact: bool) -> Uncertainty:
    """The uncertainty from J (N, n) in units of the noise, the residuals of each channel, and sizes of the unknowns."""
    n = J.shape[1]
    U, values, Vt = singular(J * sizes, economical=True)
    threshold = (UNSEEN_DIRECTION if exact else UNSEEN_BY_DIFFERENCES) * values[0]
    seen = values > threshold
    blind = Vt[~seen] if len(Vt) else np.eye(n)
    if not values[0] > 0:
        blind, seen = np.eye(n), np.zeros_like(seen)
    W = Vt[seen].T / values[seen]  # J W = U: the seen directions in which JᵀJ is the identity
    grams = [U[channel.rows][:, seen].T @ U[channel.rows][:, seen] for channel in channels]
    A = sum((channel.slope * gram for channel, gram in zip(channels, grams, strict=True)), np.zeros((seen.sum(), seen.sum())))
    by_slope = np.linalg.inv(A)
    used = [float(channel.slope * np.trace(by_slope @ gram)) for channel, gram in zip(channels, grams, strict=True)]
    map_back = W @ by_slope
    contributions = [
        channel.variance(p) * map_back @ gram @ map_back.T for channel, gram, p in zip(channels, grams, used, strict=True)
    ]
    covariance = sum(contributions, np.zeros((n, n)))  # in scaled unknowns
    limits = _rounding(W, threshold, n)
    identifiable = np.linalg.norm(blind, axis=0) <= limits
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        correlation = np.where(np.outer(identifiable, identifiable), covariance / np.outer(spread, spread), np.nan)
        shares = np.array([np.diag(contribution) for contribution in contributions]).reshape(len(contributions), n)
        freedoms = np.array([channel.freedom(p) for channel, p in zip(channels, used, strict=True)])[:, None]
        freedom = np.where(spread > 0, spread**4 / np.sum(shares**2 / freedoms, axis=0), np.inf)
    return Uncertainty(
        errors=np.where(identifiable, spread * sizes, np.inf), correlation=correlation, identifiable=identifiable,
        unseen=tuple(_sentence(row, names, limits / np.sqrt(len(blind))) for row in _sparse(blind)),
        freedom=np.maximum(freedom, 1.0), used={channel.name: p for channel, p in zip(channels, used, strict=True)},
    )  # fmt: skip


def _rounding(W: Array, error: float, n: int) -> Array:
    """Components of unit directions in the null space that an error of J can explain, (n,).

    An error E turns a null direction v by −J⁺E v, whose component j is at most ‖E‖ times row j of J⁺ = W Uᵀ. The factor n is
    that of an elimination.
    """
    return np.minimum(n * error * np.linalg.norm(W, axis=1), TAKES_PART)


def _sparse(directions: Array) -> Array:
    """Directions that span the same space, made sparse by elimination."""
    rows = directions.copy()
    for pivot in range(len(rows)):
        i, j = np.unravel_index(np.argmax(np.abs(rows[pivot:])), rows[pivot:].shape)
        rows[[pivot, pivot + i]] = rows[[pivot + i, pivot]]
        rows[pivot] /= rows[pivot, j]
        others = np.arange(len(rows)) != pivot
        rows[others] -= np.outer(rows[others, j], rows[pivot])
    return rows


def _sentence(direction: Array, names: Sequence[str], limits: Array) -> str:
    """A sentence on the unknowns in a direction that the data do not determine, those with components above limits (n,)."""
    involved = [int(j) for j in np.argsort(-np.abs(direction), kind="stable") if abs(direction[j]) > limits[j]]
    if len(involved) == 1:
        return f"the data do not depend on {names[involved[0]]}"
    ratio = direction[involved] / direction[involved[0]]
    changes = ", ".join(f"{names[j]} by {100 * r:+.3g} %" for j, r in zip(involved, ratio, strict=True))
    joined = " and ".join([", ".join(names[j] for j in involved[:-1]), names[involved[-1]]])
    return f"the data do not tell {joined} apart: {changes} together change nothing"
