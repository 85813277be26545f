"""The limit of a sequence that decays at several rates, from its terms: reduced rank extrapolation (Eddy 1979, Mešina 1977).

    z_k = z* + Σ_i a_i μ_i^k,        d_k = z_{k+1} − z_k = Σ_i (μ_i − 1) a_i μ_i^k
    Σ_k γ_k = 1,  |Σ_k γ_k d_k|² + η² |γ|² → min        z* ≈ Σ_k γ_k z_{k+1}

If the weights γ cancel the differences, they cancel the decays: with no fewer weights than rates and one, z* is exact. The term
with the error η of the differences keeps the weights from cancelling what is error. Terms K apart decay at the rates μ_i^K:
a rate close to 1 shows only over many terms, so that K doubles until the sequence is used up, and the largest distance counts.

If the map z_{k+1} = P(z_k) has the derivative Φ, the distance follows from the last term, (I − Φ)(z* − z_k) = d_k. It finds
still slower decays, since the spectrum of Φ is known to more digits than ratios of small differences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.rows import singular

Array = NDArray[np.float64]

NEUTRAL = 1e-7
"""Singular value of I − Φ that is 0 within the errors of Φ: without damping a motion keeps its distance."""


def distance_to_limit(z: Array, noise: float) -> Array:
    """The largest distance of a coordinate from its limit at the end of each sequence z (n, k, nz), (n,): inf if two terms that
    differ by more than `noise` are all there is."""
    n, k, nz = z.shape
    far = np.where(np.abs(z[:, -1] - z[:, -2]).max(axis=1) > noise, np.inf, 0.0) if k == 2 else np.zeros(n)
    apart = 1
    while 2 * apart < k:
        terms = z[:, ::-1][:, ::apart][:, : nz + 3][:, ::-1]  # nz decays take nz + 1 differences; another one shows an error
        far = np.maximum(far, np.abs(_limit(terms, noise) - z[:, -1]).max(axis=1))
        apart *= 2
    return far


def _limit(z: Array, noise: float) -> Array:
    """The limit of each sequence z (n, k, nz), (n, nz)."""
    _, sigma, Vt = singular(np.diff(z, axis=1).transpose(0, 2, 1))
    sizes = np.pad(sigma, ((0, 0), (0, Vt.shape[1] - sigma.shape[1]))) ** 2 + noise**2
    gamma = np.einsum("nij,ni->nj", Vt, Vt.sum(axis=2) / sizes)  # (DᵀD + η²)⁻¹ 1
    return np.einsum("nk,nkz->nz", gamma / gamma.sum(axis=1, keepdims=True), z[:, 1:])


def newton_step(Phi: Array, d: Array, noise: float) -> float:
    """The largest component of (I − Φ)⁻¹ d, without what is not known: components of d below `noise`, and directions in which Φ
    is 1 within `NEUTRAL`, which have no limit."""
    U, sigma, Vt = singular(np.eye(len(d)) - Phi)
    along = U.T @ d
    known = (np.abs(along) > noise) & (sigma > NEUTRAL)
    return float(np.abs((along[known] / sigma[known]) @ Vt[known]).max(initial=0.0))


__all__ = ["distance_to_limit", "newton_step"]
