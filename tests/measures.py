"""What tests measure: orders of convergence and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def order_of(steps: ArrayLike, errors: ArrayLike) -> float:
    """The exponent of errors ~ steps^exponent by least squares."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def extrapolated_slope(f: Callable[[float], Any], h: float) -> Any:
    """f′(0) by central differences of h and h/2, extrapolated: of order h⁴."""
    central = lambda d: (f(d) - f(-d)) / (2 * d)
    return (4 * central(h / 2) - central(h)) / 3
