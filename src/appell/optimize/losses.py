"""Losses ρ of a fit, as functions of z = r², r a residual in units of its noise (Huber, Robust Statistics, 1981).

    ψ(r) = ρ′(r²) r,        ψ′(r) = ρ′ + 2 ρ″ r²

ψ is the influence of a residual on the fit, and ψ′ the weight of its value: 1 in least squares, where ψ = r.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """ρ, ρ′ and ρ″ as functions of z, and the part of ρ in the negative logarithm of the density of the noise."""

    rho: Callable[[Array], Array]
    first: Callable[[Array], Array]
    second: Callable[[Array], Array]
    likelihood: float = 1.0

    def influence(self, r: Array) -> Array:
        """ψ, (N,)."""
        return self.first(r**2) * r

    def weight(self, r: Array) -> Array:
        """ψ′, (N,)."""
        return self.first(r**2) + 2 * self.second(r**2) * r**2

    def misfit(self, r: Array, sigma: float) -> float:
        """−log of the density of residuals r (N,) with noise σ, up to a constant: κ Σ ρ(r²/σ²) + N log σ.

        κ is ½ for squares, the normal density, and 1 for "cauchy", the density of that name.
        """
        return float(self.likelihood * np.sum(self.rho((r / sigma) ** 2)) + len(r) * np.log(sigma))


def _above_one(z: Array) -> Array:
    """z where it exceeds 1, else 1."""
    return np.maximum(z, 1.0)


LOSSES: Mapping[str, Loss] = {
    "linear": Loss(lambda z: z, np.ones_like, np.zeros_like, likelihood=0.5),
    "soft_l1": Loss(lambda z: 2 * ((1 + z) ** 0.5 - 1), lambda z: (1 + z) ** -0.5, lambda z: -0.5 * (1 + z) ** -1.5),
    "huber": Loss(
        lambda z: np.where(z <= 1, z, 2 * _above_one(z) ** 0.5 - 1), lambda z: _above_one(z) ** -0.5,
        lambda z: np.where(z <= 1, 0.0, -0.5 * _above_one(z) ** -1.5),
    ),
    "cauchy": Loss(np.log1p, lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2),
    "arctan": Loss(np.arctan, lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2),
}  # fmt: skip
"""The losses of SciPy's `least_squares`."""


__all__ = ["LOSSES", "Loss"]
