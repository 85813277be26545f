"""Piecewise polynomial functions of time: tables and callables as expressions with derivatives.

    f(x) = Σ_j c_jk s^j,      s = (x − centre_k)/width_k,      x in [breaks_k, breaks_{k+1}]

A table (t, values) becomes its interpolating spline of degree five (three or one where it is short), a callable a Chebyshev fit
that is refined down to rounding. Each has an error estimate. `Tabulated(pieces, x, order)` is the SymPy function; it is
undefined outside its range.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache, partial
from math import factorial
from typing import Any

import numpy as np
import sympy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from sympy.utilities.lambdify import implemented_function

from appell.errors import ModelError

Array = NDArray[np.float64]

FIT_PIECES = 256
"""Largest number of pieces: a longer table is fitted by fewer pieces of higher degree, since evaluation would be slow."""
FIT_DEGREE = 9
"""Degree of the pieces of a fit: high enough for few pieces, low enough that powers of s lose at most three digits."""
FIT_MISFIT = 1e-13
"""Target error of the fit of a callable, as a fraction of the largest value."""
SECANT_SHARE = 1e-6
"""Fraction of the span over which slopes are differenced."""
TIME_SPACINGS_OF_FIT = 8.0
"""Multiple of the rounding of a time, its own and within the function, that the fit through ten values makes of it."""
LARGEST_MISFIT = 1e-6
"""Largest accepted error of a fit, as a fraction of the largest value."""


class PiecewisePolynomial(sympy.AtomicExpr):
    """The polynomials of a function: data without symbols. `label`: their origin, `error`: an estimate of their error."""

    __slots__ = ("breaks", "centres", "coefficients", "digest", "error", "label", "name", "smooth", "widths")
    is_real = True
    is_commutative = True
    breaks: Array
    centres: Array
    coefficients: Array
    widths: Array
    error: float
    smooth: int

    def __new__(
        cls, name: str, label: str, breaks: Any, centres: Any, widths: Any, coefficients: Any, error: float, smooth: int
    ):  # fmt: skip
        """breaks (k + 1,), centres and widths (k,), coefficients (degree + 1, k); derivatives are continuous up to `smooth`."""
        self = super().__new__(cls)
        self.name, self.label, self.error, self.smooth = name, label, float(error), int(smooth)
        self.breaks, self.centres, self.widths = (np.array(x, dtype=float) for x in (breaks, centres, widths))
        self.coefficients = np.array(coefficients, dtype=float)
        arrays = (self.breaks, self.centres, self.widths, self.coefficients)
        self.digest = hashlib.sha256(b"|".join([name.encode(), *(x.tobytes() for x in arrays)])).hexdigest()
        return self

    def __reduce__(self):
        arrays = (self.breaks, self.centres, self.widths, self.coefficients)
        return type(self), (self.name, self.label, *arrays, self.error, self.smooth)

    def __getnewargs__(self):
        return self.__reduce__()[1]

    def __getstate__(self):
        return None

    def _hashable_content(self):
        return (self.digest,)

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last time at which it is defined, s."""
        return float(self.breaks[0]), float(self.breaks[-1])

    @property
    def description(self) -> str:
        """A text on the origin of the values and their error."""
        error = "unknown, the table is short" if np.isnan(self.error) else f"about {self.error:.1g}"
        first, last = self.range
        return f"{self.name} is {self.label} over {first:g} … {last:g} s, in {len(self.centres)} pieces; its error is {error}"

    def piece_of(self, x: float) -> int | None:
        """The index of the piece of x; None outside the range (beyond a tolerance of 1e-12 of it)."""
        first, last = self.range
        slack = 1e-12 * (last - first)
        if not first - slack <= x <= last + slack:
            return None
        return int(np.clip(np.searchsorted(self.breaks, x, side="right") - 1, 0, len(self.centres) - 1))

    def slopes(self, order: int) -> Array:
        """Coefficients of the derivative of some order by s, (degree + 1 − order, k); one row of zeros past the degree."""
        degree = len(self.coefficients) - 1
        if order > degree:
            return np.zeros((1, len(self.centres)))
        factors = np.array([factorial(j) // factorial(j - order) for j in range(order, degree + 1)], dtype=float)
        return self.coefficients[order:] * factors[:, None]

    def value(self, x: Any, order: int, number: Callable[[Any], Any]) -> Any:
        """The derivative of some order at x in numbers of any kind; None outside the range."""
        k = self.piece_of(float(x))
        if k is None:
            return None
        width = number(float(self.widths[k]))
        s = (x - number(float(self.centres[k]))) / width
        total = number(0)
        for c in self.slopes(order)[::-1, k]:
            total = total * s + number(float(c))
        return total / width**order

    def clamped(self, x: Any, order: int) -> Any:
        """The derivative of some order at x, an array or one number of any kind; before the first and after the last time those
        of the nearest end. Runs raise for such times; this is for checks at random times."""
        if not isinstance(x, np.ndarray):
            first, last = self.range
            nearest = x if first <= x <= last else type(x)(first if x < first else last)
            return self.value(nearest, order, type(x))
        nearest = np.clip(np.asarray(x, dtype=float), *self.range)
        k = np.clip(np.searchsorted(self.breaks, nearest, side="right") - 1, 0, len(self.centres) - 1)
        s = (nearest - self.centres[k]) / self.widths[k]
        total = np.zeros_like(s)
        for c in self.slopes(order)[::-1]:
            total = total * s + c[k]
        return total / self.widths[k] ** order

    def _sympystr(self, printer: Any) -> str:
        return self.name

    def _latex(self, printer: Any) -> str:
        return rf"\mathrm{{{self.name}}}"


class Tabulated(sympy.Function):
    """Tabulated(pieces, x, order): the derivative of some order of a function made of pieces, at x."""

    nargs = 3
    is_real = True

    @property
    def _parts(self) -> Any:
        return self.args

    def fdiff(self, argindex: int = 2) -> Any:
        pieces, x, order = self._parts
        return Tabulated(pieces, x, order + 1)

    def _eval_derivative(self, s: Any) -> Any:
        x: Any = self.args[1]
        return self.fdiff() * x.diff(s)

    def _eval_evalf(self, prec: int) -> Any:
        pieces, x, order = self._parts
        if not x.is_number:
            return None
        value = pieces.value(x.evalf(), int(order), sympy.Float)
        return sympy.nan if value is None else value

    def _sympystr(self, printer: Any) -> str:
        pieces, x, order = self._parts
        return f"{pieces}{chr(39) * int(order)}({printer._print(x)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        pieces, x, order = self.args
        dots = rf"^{{({order})}}" if order else ""
        body = rf"{printer._print(pieces)}{dots}\left({printer._print(x)}\right)"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


def with_implementations(exprs: Any) -> Any:
    """Expressions, in lists of any depth, with piecewise functions replaced by ones that `sympy.lambdify` can call."""
    if isinstance(exprs, list | tuple):
        return [with_implementations(expr) for expr in exprs]
    if not isinstance(exprs, sympy.Basic | sympy.MatrixBase):
        return exprs
    nodes: Any = exprs.atoms(Tabulated)
    return exprs.xreplace({node: _implemented(*node._parts[::2])(node._parts[1]) for node in nodes})


@lru_cache(maxsize=256)
def _implemented(pieces: PiecewisePolynomial, order: Any) -> Any:
    """One function for each name, since `lambdify` does not accept two."""
    return implemented_function(f"tabulated_{order}_{pieces.digest}", partial(pieces.clamped, order=int(order)))


# -- tables --------------------------------------------------------------------------------------------------------------


def from_table(name: str, times: Any, values: Any) -> PiecewisePolynomial:
    """The spline through (times, values), (n,) each, of degree five, or less where n is small."""
    t, y = _column(times, name, "times"), _column(values, name, "values")
    if len(t) != len(y):
        raise ModelError(f"the table of {name} has {len(t)} times and {len(y)} values")
    if len(t) < 2:
        raise ModelError(f"the table of {name} has {len(t)} point{'s' * (len(t) != 1)}; it needs two at least")
    late = np.flatnonzero(np.diff(t) <= 0)
    if len(late):
        k = int(late[0])
        raise ModelError(f"the times of the table of {name} must increase; {t[k]:g} is followed by {t[k + 1]:g}")
    degree = 5 if len(t) >= 6 else 3 if len(t) >= 4 else 1
    error = _left_out(t, y, degree)
    label = f"a spline of degree {degree} through {len(t)} points"
    spline = _spline(t, y, degree)
    if len(t) - 1 > FIT_PIECES:
        # the fit adds little to the error of the table itself
        target = max(1e-3 * error, 1e-10 * np.abs(y).max()) if np.isfinite(error) else 1e-10 * np.abs(y).max()
        fit = _fitted(name, label + ", fitted", spline, (t[0], t[-1]), target)
        pieces = fit.breaks, fit.centres, fit.widths, fit.coefficients
        return PiecewisePolynomial(name, fit.label, *pieces, error + fit.error, degree - 1)
    widths = np.diff(t)
    coefficients = spline_pieces(spline, t, degree) * widths ** np.arange(degree + 1)[:, None]
    return PiecewisePolynomial(name, label, t, t[:-1], widths, coefficients, error, degree - 1)


def _column(values: Any, name: str, column: str) -> Array:
    if np.ma.is_masked(values):
        k = int(np.flatnonzero(np.ma.getmaskarray(values).ravel())[0])
        raise ModelError(f"the {column} of the table of {name} have a gap, entry {k} is masked; leave it out, or fill it")
    try:
        array = np.asarray(values).astype(float, casting="same_kind")
    except Exception:  # a foreign __array__ may raise anything
        raise ModelError(f"the {column} of the table of {name} must be real numbers") from None
    if array.ndim != 1:
        raise ModelError(f"the {column} of the table of {name} must have shape (n,), not {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"the {column} of the table of {name} contain a value that is not finite")
    return array


def _spline(t: Array, y: Array, degree: int) -> Any:
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(t, y, k=degree)


def spline_pieces(spline: Any, t: Array, degree: int) -> Array:
    """Taylor coefficients of a spline at the left end of each interval, (degree + 1, n − 1)."""
    mid = t[:-1] + np.diff(t) / 2  # inside, where every derivative is unique
    at_mid = [spline(mid, nu=j) / factorial(j) for j in range(degree + 1)]
    back = t[:-1] - mid
    rows = [sum(at_mid[i] * _choose(i, j) * back ** (i - j) for i in range(j, degree + 1)) for j in range(degree + 1)]
    return np.array(rows)


def _choose(n: int, k: int) -> int:
    return factorial(n) // (factorial(k) * factorial(n - k))


def _left_out(t: Array, y: Array, degree: int) -> float:
    """The error, estimated from that of the spline through every other point, which is 2^(degree + 1) times larger."""
    every_other = np.unique([*range(0, len(t), 2), len(t) - 1])
    if len(every_other) < 2 * (degree + 1):
        return float("nan")
    deviation = np.abs(_spline(t[every_other], y[every_other], degree)(t) - y).max()
    return float(deviation / 2 ** (degree + 1) + 1e-16 * np.abs(y).max())


# -- callables -----------------------------------------------------------------------------------------------------------


def from_callable(name: str, function: Callable[[float], Any], span: tuple[float, float]) -> PiecewisePolynomial:
    """A fit to a function over a span of times, refined down to rounding."""
    first, last = sorted(map(float, span))
    if not last > first:
        raise ModelError(f"the span of {name} is empty: {first:g} … {last:g} s")

    def values(x: Array) -> Array:
        results = []
        for time in map(float, x):
            try:
                results.append(float(function(time)))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise ModelError(f"the function given for {name} fails at t = {time:g}: {reason}") from error
        if not np.isfinite(results).all():
            bad = float(x[int(np.argmin(np.isfinite(results)))])
            raise ModelError(f"the function given for {name} is not finite at t = {bad:g}")
        return np.array(results)

    return _fitted(name, f"the function '{getattr(function, '__name__', 'given')}', fitted", values, (first, last), 0.0)


def _fitted(
    name: str, label: str, values: Callable[[Array], Array], span: tuple[float, float], target: float
) -> PiecewisePolynomial:
    """Intervals are halved until a polynomial of degree `FIT_DEGREE` through the Chebyshev points is accurate between them."""
    size = float(np.abs(values(np.linspace(*span, 33))).max())
    target = max(target, FIT_MISFIT * size, _error_of_late_times(values, span))
    nodes = np.cos(np.pi * (np.arange(FIT_DEGREE + 1) + 0.5) / (FIT_DEGREE + 1))
    extrema = np.cos(np.pi * np.arange(FIT_DEGREE + 2) / (FIT_DEGREE + 1))
    intervals, fits, worst = [span], [], 0.0
    while intervals:
        low, high = intervals.pop()
        centre, half = (low + high) / 2, (high - low) / 2
        series = chebyshev.chebfit(nodes, values(centre + half * nodes), FIT_DEGREE)
        deviation = float(np.abs(chebyshev.chebval(extrema, series) - values(np.clip(centre + half * extrema, *span))).max())
        if deviation <= target or len(intervals) + len(fits) + 2 > FIT_PIECES:
            fits.append((low, high, centre, half, chebyshev.cheb2poly(series)))
            worst = max(worst, deviation)
        else:
            intervals += [(centre, high), (low, centre)]
    if worst > LARGEST_MISFIT * size:
        raise ModelError(
            f"{name} cannot be written with {FIT_PIECES} polynomials over {span[0]:g} … {span[1]:g} s:"
            f" {worst:.1g} of {size:.3g} is"
            " left. Are there kinks, jumps or noise? Give it as an expression with Piecewise, or as a coarser table (t, values)"
        )
    fits.sort(key=lambda fit: fit[0])
    low, high, centre, half, rows = zip(*fits, strict=True)
    bent = min(half) < 1e-6 * (span[1] - span[0])  # a smooth function needs no pieces this short
    padded = np.array([np.pad(row, (0, FIT_DEGREE + 1 - len(row))) for row in rows]).T
    smooth = 0 if bent else _continuous(padded, np.array(half), worst + FIT_MISFIT * size)
    return PiecewisePolynomial(name, label, [*low, high[-1]], centre, half, padded, worst, smooth)


def _error_of_late_times(values: Callable[[Array], Array], span: tuple[float, float]) -> float:
    """Error of the values by the rounding of the times at which they are asked for, which grows with the times."""
    step = SECANT_SHARE * (span[1] - span[0])
    x = np.linspace(span[0], span[1] - step, 33)
    slope = float(np.abs(values(np.minimum(x + step, span[1])) - values(x)).max()) / step
    return TIME_SPACINGS_OF_FIT * slope * float(np.spacing(max(map(abs, span))))


def _continuous(rows: Array, half: Array, error: float) -> int:
    """The number of continuous derivatives at all joints, which may be kinks. Jumps within the error of the fit do not count
    (Markov)."""
    for k in range(4):
        ends = [np.array([np.polyval(np.polyder(row[::-1], k), x) for row in rows.T]) / half**k for x in (-1.0, 1.0)]
        gap, size = np.abs(ends[0][1:] - ends[1][:-1]), np.abs(ends).max()
        noise = error * (FIT_DEGREE**2 / np.minimum(half[1:], half[:-1])) ** k
        if (gap > np.maximum(0.02 * size, 10 * noise)).any():
            return max(k - 1, 0)
    return FIT_DEGREE - 1
