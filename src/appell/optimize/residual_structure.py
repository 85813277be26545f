"""A test whether residuals are noise: their correlation along the record, after Ljung and Box (1978).

    ρ_k = Σ_i r_i r_{i+k} / Σ_i r_i²,        Q = n (n + 2) Σ_k ρ_k²/(n − k),        k = 1 … h

For noise, Q has the χ² distribution with h degrees of freedom. A fit in a wrong minimum leaves whole oscillations, which
correlate over many samples; measurement noise does not, however large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

Array = NDArray[np.float64]

LAGS = 20
"""Distances, in samples, over which correlations are tested; at most a fifth of the samples."""
TOO_FEW_TO_TEST = 10
"""Samples up to which no test is made: correlations of so few mean nothing."""
CORRELATED = 0.3
"""Correlation of neighbouring residuals above which they are not noise but a feature missing in the model."""
NOISE_PROBABLE = 0.01
"""Probability of noise with such correlations above which residuals are taken for noise."""
NOISE_EXCLUDED = 1e-6
"""The same for data below which a motion is seen in them, so that the test would also see a motion in residuals. Samples more
than a period apart at irregular times, for instance, look like noise although they are not."""


def correlations(r: Array, lags: int) -> Array:
    """ρ_1 … ρ_lags, (lags,); zero where all values are equal."""
    r = r - r.mean()
    size = float(np.sum(r**2))
    return np.array([np.sum(r[k:] * r[:-k]) / size if size else 0.0 for k in range(1, lags + 1)])


def probability_of_noise(r: Array) -> float:
    """The probability that independent values correlate as much as these."""
    n, lags = len(r), min(LAGS, len(r) // 5)
    rho = correlations(r, lags)
    return float(chdtrc(lags, n * (n + 2) * np.sum(rho**2 / (n - np.arange(1, lags + 1)))))


def neighbours_correlate(r: Array) -> bool:
    """Whether neighbouring residuals correlate so much that errors of the unknowns are too small."""
    return len(r) > TOO_FEW_TO_TEST and float(correlations(r, 1)[0]) > CORRELATED + 2 / float(np.sqrt(len(r)))


def only_noise(r: Array, data: Array) -> bool:
    """Whether a fit of data (n,) has left nothing but noise, r (n,); False where the test would not see a motion."""
    if len(r) <= TOO_FEW_TO_TEST:
        return False
    return probability_of_noise(r) > NOISE_PROBABLE and probability_of_noise(data) < NOISE_EXCLUDED


__all__ = ["correlations", "neighbours_correlate", "only_noise"]
