"""The quadrature rule for expressions inside a step, and the thresholds for its refinement.

The Gauss rule with 7 nodes and its Kronrod extension to 15 (degrees 13 and 22; QUADPACK's QK15, Piessens et al. 1983), with
both ends of the piece as additional nodes of zero weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_X = (0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
      0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
      0.207784955007898467600689403773245)  # fmt: skip
_KRONROD = (0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
            0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
            0.204432940075298892414161999234649)  # fmt: skip
_GAUSS = (0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0,
          0.381830050505118944950369775488975, 0.0)  # fmt: skip


def _symmetric(half: tuple[float, ...], middle: float) -> Array:
    """Weights on [0, 1], zero at the ends."""
    return np.array([0.0, *half, middle, *half[::-1], 0.0]) / 2


NODES: Array = (1 + np.array([-1.0, *(-x for x in _X), 0.0, *_X[::-1], 1.0])) / 2
KRONROD: Array = _symmetric(_KRONROD, 0.209482141084727828012999174891714)
GAUSS: Array = _symmetric(_GAUSS, 0.417959183673469387755102040816327)

INFLATION = 1.35
"""Factor from the range of a state at 17 nodes to that over the whole piece: a polynomial of degree 7 exceeds its values there
by at most 1/cos(7π/32) = 1.29 (Ehlich and Zeller 1964)."""
RULES_AGREE = 1e-4
"""Largest difference of both rules, in units of the mean deviation, at which the nodes resolve an expression."""
RULE_UNITS = 50
"""Rounding of the difference of both rules, in units of the last digit of the mean |e|; …"""
RULE_ROUNDING = RULE_UNITS * float(np.finfo(float).eps)
"""… as a fraction of it."""
ALONG_UNITS = 100
"""Rounding of quantities that are computed along a run, in units of their last digit."""
QUADPACK_FACTOR = 200
"""Factor of the difference of both rules in QUADPACK's estimate of the error, spread (200 apart/spread)^1.5."""
INTEGRAL_SHARE = 0.1
"""Fraction of the tolerance that the error of an integral may use."""
SECTION_OF_BRACKET = 0.382
"""Golden section, at which an extreme is sought where a parabola does not help."""
ZERO_ITERATIONS = 80
"""Most iterations towards a zero of an expression: secants, with every third step a bisection."""
NARROWEST_PIECE = 2.0**-40
"""Narrowest piece, as a fraction of a step; a change inside it is a switch, or not resolved."""
NARROW_SINGLE = 2.0**-14
"""The same in single precision."""
JUMP_SHARE, JUMP_SHARE_SINGLE = 1e-6, 1e-2
"""Fraction of the largest |e|: a larger change within the narrowest piece is a jump."""
SIGN_NOISE, NOISE_SINGLE = 1e-12, 1e-6
"""Fraction of the largest |e| so far below which its sign counts as unknown."""
MOST_PIECES = 20_000
"""Most pieces of a step; what misses the tolerance then is reported."""
EXTREME_ITERATIONS = 8
"""Iterations towards an extreme; each about doubles the number of digits, starting from two."""
SAME_EXTREME, SAME_SINGLE = 1e-8, 1e-4
"""Accuracy of the position of an extreme, as a fraction of a piece: values around it differ only by rounding."""

__all__ = [
    "EXTREME_ITERATIONS",
    "GAUSS",
    "INFLATION",
    "JUMP_SHARE",
    "KRONROD",
    "MOST_PIECES",
    "NARROWEST_PIECE",
    "NODES",
    "RULES_AGREE",
    "SAME_EXTREME",
]  # fmt: skip
