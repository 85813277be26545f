"""How the polynomials of `sincos.py` were made: Remez' exchange in 200 bits, then rounding one coefficient after the other.

    sin r = r + r z S(z),     cos r = 1 − z/2 + z² C(z),     z = r²,     0 ≤ r ≤ π/4,     least relative error.

The lowest coefficient is rounded to the format first and the others fitted again, and so on. `python minimax.py` prints them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from mpmath import cos, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

Real = Callable[[mpf], mpf]
mp.prec = 200
START, END = mpf(2) ** -20, (pi / 4) ** 2 * (1 + mpf(2) ** -20)


def S(z: mpf) -> mpf:
    """(sin r / r − 1)/z by its series."""
    return _series(mpf(-1) / 6, z, lambda k: (2 * k + 4) * (2 * k + 5))


def C(z: mpf) -> mpf:
    """(cos r − 1 + z/2)/z² by its series."""
    return _series(mpf(1) / 24, z, lambda k: (2 * k + 5) * (2 * k + 6))


def _series(term: mpf, z: mpf, divisor: Callable[[int], int]) -> mpf:
    total = mpf(0)
    for k in range(40):
        total += term
        term *= -z / divisor(k)
    return total


def weight_S(z: mpf) -> mpf:
    """Relative error of sin r for a unit error of S."""
    return z * sqrt(z) / sin(sqrt(z))


def weight_C(z: mpf) -> mpf:
    return z * z / cos(sqrt(z))


def chebyshev(count: int) -> list[mpf]:
    return [(START + END) / 2 - (END - START) / 2 * mp.cos(pi * k / count) for k in range(count + 1)]


def error(coefficients: Sequence[float], f: Real, weight: Real, count: int = 300) -> mpf:
    """Largest weighted error over a grid."""
    value = lambda z: sum(mpf(c) * z**k for k, c in enumerate(coefficients))
    return max(abs((f(z) - value(z)) * weight(z)) for z in chebyshev(count))


def remez(f: Real, weight: Real, powers: Sequence[int], rounds: int = 12) -> list[mpf]:
    """Σ c_j z^powers_j with the least largest weighted error."""
    n, grid = len(powers), chebyshev(600)
    known = [(z, f(z), weight(z)) for z in grid]
    nodes, c = chebyshev(n), []
    for _ in range(rounds):
        A, y = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i, z in enumerate(nodes):
            for j, power in enumerate(powers):
                A[i, j] = z**power
            A[i, n], y[i] = (-1) ** i / weight(z), f(z)
        c = list(lu_solve(A, y))[:n]
        errors = [(fz - sum(cj * z**p for cj, p in zip(c, powers, strict=True))) * w for z, fz, w in known]
        peaks = _alternating(errors, n + 1)
        if len(peaks) < n + 1:
            break
        nodes = [grid[k] for k in peaks]
    return c


def _alternating(errors: list[mpf], count: int) -> list[int]:
    """The largest error of each run of equal signs; of too many the smaller end goes."""
    peaks: list[int] = []
    for k, e in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (e > 0):
            peaks[-1] = k if abs(e) > abs(errors[peaks[-1]]) else peaks[-1]
        else:
            peaks.append(k)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def fit(f: Real, weight: Real, count: int, single: bool) -> list[float]:
    """Coefficients in double or single precision."""
    fixed: list[float] = []
    for k in range(count):
        rest = lambda z: f(z) - sum(mpf(c) * z**j for j, c in enumerate(fixed))
        c = float(remez(rest, weight, range(k, count))[0])
        fixed.append(struct.unpack("f", struct.pack("f", c))[0] if single else c)
    return fixed


if __name__ == "__main__":
    for single, count in ((False, 6), (True, 3)):
        for f, weight in ((S, weight_S), (C, weight_C)):
            found = fit(f, weight, count, single)
            print(f.__name__, "float" if single else "double", found, f"2^{float(log(error(found, f, weight), 2)):.1f}")
