"""An impact without a chart: the velocities reflected in the kinetic metric.

    v⁺ = v⁻ − (1 + e) K n ḟ⁻/(n·Kn),        n = ∂ḟ/∂v,        ḟ = n·v + ḟ|_{v=0}

K = M⁻¹, or the inverse of M on the velocities admitted by bilateral rows A v = …,

    K = M⁻¹ − M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺A M⁻¹,

so that the bilateral constraints respond with their own impulses. For empty A this is Zhuravlev's gluing, (12) in every
chart: tangential momenta are continuous, ḟ⁺ = −e ḟ⁻, and T changes by −(1 − e²) ḟ²/(2 n·Kn).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.rows import inverse_on_range

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FoldImpact:
    """Velocities after an impact, (nv,), the impulse on f (N s for f in m) and ḟ before and after."""

    v: Array
    impulse: float
    before: float
    after: float


def allowed_inverse(M: Array, A: Array) -> Array:
    """K, (nv, nv): the inverse of M on ker A."""
    K = np.asarray(np.linalg.inv(M), dtype=np.float64)
    if len(A) == 0:
        return K
    KA = K @ A.T
    return np.asarray(K - KA @ inverse_on_range(A @ KA) @ KA.T, dtype=np.float64)


def reflected(M: Array, n: Array, v: Array, rate: float, restitution: float, A: Array | None = None) -> FoldImpact:
    """The impact on a face with normal n = ∂ḟ/∂v and normal velocity rate = ḟ < 0."""
    K = allowed_inverse(M, np.zeros((0, len(M))) if A is None else A)
    Kn = K @ n
    impulse = -(1 + restitution) * rate / (n @ Kn)
    return FoldImpact(v + impulse * Kn, float(impulse), float(rate), float(-restitution * rate))
