"""Exact scalars for the recursions: the polynomials of `tidy` in cos q, sin q, q and v.

    sin² = 1 − cos²,        w² = 1 − x² − y² − z²  for the components of a unit quaternion

are applied after every product, so that equal expressions look equal and need no simplification. The algorithms of `kinematics`
run over `Exact` as over floats and the graph. Floats become the numbers that were meant: 1/3, or the decimal of 15 digits,
which is not affected by the rounding in 1.2·0.7²/3; angles become fractions of π likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Rational, Symbol, cos, pi, sin

from appell.tidy import Polynomial

FRACTION_ROUNDING = 4e-15
"""Relative distance within which a float means a fraction: several roundings of 1.1e-16."""

POLYNOMIAL_TERMS = 3000
"""A polynomial with more terms is unreadable; T of a six-axis arm has about a thousand at most."""


class PolynomialTooLong(Exception):
    """A polynomial has outgrown `POLYNOMIAL_TERMS`."""


SIMPLE = 360
"""Largest denominator of a fraction, or of a fraction of π, that a float is replaced by."""


def exact_number(x: float, scale: float = 0.0) -> Any:
    """The rational that a float represents: a simple fraction nearby, or its decimal of 15 digits.

    `scale`: if x is a difference, the size of the numbers subtracted; digits below 1e-15 of it are rounding.
    """
    simple = Fraction(x).limit_denominator(SIMPLE)
    if abs(x - simple) <= FRACTION_ROUNDING * max(abs(x), scale):
        return Rational(simple.numerator, simple.denominator)
    digits = 14 - math.floor(math.log10(max(abs(x), scale)))
    return Rational(f"{x:.{max(digits, 0)}f}")


def exact_scalar(x: Any, scale: float = 0.0) -> Any:
    """A number by `exact_number`, or an expression in parameters with its numbers so converted."""
    if isinstance(x, Expr) and x.free_symbols:
        return tidy(x, dust=FRACTION_ROUNDING)
    return exact_number(float(x), scale)


def exact_angle(x: float) -> Expr:
    """A fraction of π where the float is one, else its number."""
    share = Fraction(x / float(pi)).limit_denominator(SIMPLE)
    if share and abs(x / float(pi) - share) <= FRACTION_ROUNDING * abs(share):
        return pi * Rational(share.numerator, share.denominator)
    return exact_number(x)


def rational_turn(angle: float) -> tuple[Rational, Rational]:
    """cos and sin within 1e-16 as rationals with c² + s² = 1: (1 − t²)/(1 + t²), 2t/(1 + t²), t = tan(angle/2)."""
    fraction = Fraction(math.tan(angle / 2)).limit_denominator(10**8)
    t: Any = Rational(fraction.numerator, fraction.denominator)
    return (1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)


@dataclass(frozen=True, eq=False)
class Algebra:
    """Polynomials in `generators`: symbols, cos x and sin x, components of quaternions, and other expressions unchanged."""

    generators: tuple[Expr, ...]

    @cached_property
    def one(self) -> Polynomial:
        """The polynomial 1."""
        return Polynomial(self.generators, {(0,) * len(self.generators): 1})

    @property
    def circles(self) -> tuple[tuple[int, int], ...]:
        """(index of sin x, index of cos x) for each angle x."""
        return self.one.circles

    @cached_property
    def squares(self) -> dict[int, tuple[int, ...]]:
        """Index of a generator → indices of those whose squares, with its own, add up to 1."""
        return {**{s: (c,) for s, c in self.circles}, **self.one.spheres()}

    def number(self, x: Any) -> Exact:
        """A constant, or an expression in the generators."""
        if isinstance(x, Expr) and x.free_symbols:
            return Exact(self, Polynomial.of(x, atoms=self.generators))
        value = sympy.Integer(x) if isinstance(x, int) else x if isinstance(x, Rational) else exact_number(float(x))
        return Exact(self, Polynomial.of(value, atoms=self.generators))

    def generator(self, expr: Expr) -> Exact:
        """A generator as a scalar."""
        index = self.generators.index(expr)
        return Exact(self, self.one.like({tuple(int(i == index) for i in range(len(self.generators))): 1}))

    def reduced(self, p: Polynomial) -> Polynomial:
        """p with no generator of `squares` beyond its first power."""
        for i, others in self.squares.items():
            p = p.on_sphere(i, others)
        return p

    def writing(self, p: Polynomial) -> Writing:
        """The way of writing p with the fewest terms."""
        flips = []
        for s, c in self.circles:
            flipped = p.on_sphere(c, [s])  # 1 − sin² for cos²
            if len(flipped) < len(p):
                p, flips = flipped, [*flips, (s, c)]
        return Writing(tuple(flips), len(p.waves()) < len(p))

    def written(self, p: Polynomial, writing: Writing) -> Expr:
        """p in SymPy, a sum of products."""
        for s, c in writing.flips:
            p = p.on_sphere(c, [s])
        if not writing.folded:
            return p.plain()
        angles: list[Any] = [p.atoms[s].args[0] for s, _ in self.circles]
        terms = []
        for (exponents, multiples, sine), value in p.waves().items():
            angle = sympy.Add(*(n * x for n, x in zip(multiples, angles, strict=True)))
            powers = [g**k for g, k in zip(self.generators, exponents, strict=True) if k]
            terms.append(sympy.Mul(p.number(value), *powers, (sin if sine else cos)(angle)))
        return sympy.Add(*terms)


@dataclass(frozen=True)
class Writing:
    """How a polynomial is written: angles with sin² for cos²; products of cosines folded into cosines of sums, or not."""

    flips: tuple[tuple[int, int], ...]
    folded: bool


@dataclass(frozen=True, eq=False)
class Exact:
    """A scalar of an algebra, with +, −, · for floats and other such scalars."""

    algebra: Algebra
    poly: Polynomial

    def _other(self, x: Any) -> Polynomial:
        return x.poly if isinstance(x, Exact) else self.algebra.number(x).poly

    def __add__(self, x: Any) -> Exact:
        return Exact(self.algebra, self.poly + self._other(x))

    def __sub__(self, x: Any) -> Exact:
        return Exact(self.algebra, self.poly - self._other(x))

    def __rsub__(self, x: Any) -> Exact:
        return Exact(self.algebra, self._other(x) - self.poly)

    def __neg__(self) -> Exact:
        return Exact(self.algebra, -self.poly)

    def __mul__(self, x: Any) -> Exact:
        other = self._other(x)
        if len(self.poly) * len(other) > POLYNOMIAL_TERMS**2:
            raise PolynomialTooLong
        product = self.algebra.reduced(self.poly * other)
        if len(product) > POLYNOMIAL_TERMS:
            raise PolynomialTooLong
        return Exact(self.algebra, product)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, n: int) -> Exact:
        return self * self ** (n - 1) if n > 1 else self if n == 1 else self.algebra.number(1)

    def expression(self, values: Mapping[Symbol, Expr], writing: Writing | None = None) -> Expr:
        """The scalar in SymPy, as short as possible or written in a given way, with `values` substituted for symbols."""
        expr: Any = self.algebra.written(self.poly, writing or self.algebra.writing(self.poly))
        return expr.xreplace(values) if values else expr


@dataclass(frozen=True, eq=False)
class Linear(Exact):
    """A coordinate, or a sum of multiples of coordinates: it may be a length, and it has a cosine and a sine.

    `angle` is the same as an expression; a number added to it is taken as an angle, such as π/2.
    """

    angle: Expr

    @staticmethod
    def of(algebra: Algebra, q: Symbol) -> Linear:
        return Linear(algebra, algebra.generator(q).poly, q)

    def __add__(self, x: Any) -> Exact:
        total = Exact.__add__(self, x)
        if isinstance(x, Exact) and not isinstance(x, Linear):
            return total
        return Linear(self.algebra, total.poly, self.angle + (x.angle if isinstance(x, Linear) else exact_angle(float(x))))

    def __sub__(self, x: Any) -> Exact:
        return self + (-x)

    def __neg__(self) -> Linear:
        return Linear(self.algebra, -self.poly, -self.angle)

    def __mul__(self, x: Any) -> Exact:
        product = Exact.__mul__(self, x)
        return product if isinstance(x, Exact) else Linear(self.algebra, product.poly, self.angle * exact_number(float(x)))

    __radd__, __rmul__ = __add__, __mul__

    def cos(self) -> Exact:
        return self.algebra.generator(cos(self.angle))

    def sin(self) -> Exact:
        sign = -1 if self.angle.could_extract_minus_sign() else 1
        return self.algebra.generator(sin(sign * self.angle)) * sign


def generators_of(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
    """The generators in which expressions are polynomials: their symbols, roots and quotients."""
    return tuple(dict.fromkeys(atom for e in exprs if e.free_symbols for atom in Polynomial.of(e).atoms))


def tidy(expr: Expr, dust: float = 0.0) -> Expr:
    """The expression without floats and with the relations of this module applied, inside roots and functions too.

    Terms with coefficients up to `dust`, or up to that fraction of the largest one, are rounding and are dropped.
    """
    return _tidy(without_floats(expr), dust)


def without_floats(expr: Expr) -> Any:
    """The expression with every float replaced by the number it represents."""
    return expr.xreplace({x: exact_number(float(x)) for x in expr.atoms(sympy.Float)})


def _tidy(expr: Any, dust: float = 0.0) -> Expr:
    polynomial = _with_tidy_arguments(expr)
    if not polynomial.args or not isinstance(polynomial, Expr):  # a condition of Piecewise
        return polynomial
    p = Polynomial.of(polynomial)
    if p.floats:
        return polynomial
    algebra = Algebra(tuple(p.atoms))
    p = algebra.reduced(p)
    if dust:
        threshold = dust * max(1.0, *(abs(float(c)) for c in p.terms.values()))
        p = p.like({powers: c for powers, c in p.terms.items() if abs(float(c)) > threshold})
    return Exact(algebra, p).expression({})


def _with_tidy_arguments(expr: Any) -> Any:
    """Tidies the arguments of roots, quotients and functions."""
    if not expr.args:
        return expr
    if expr.is_Add or expr.is_Mul:
        return expr.func(*map(_with_tidy_arguments, expr.args))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return _with_tidy_arguments(expr.base) ** expr.exp
    return expr.func(*map(_tidy, expr.args))
