"""Regrouping of simplified sums: completed squares, cancelled quotients, other groupings of terms.

    J + 2 m a² + 4 m a l s + 2 m l² s²   =  J + 2 m (a + l s)²
    α − α sin²                           =  α cos²
    (a + b)(c + d)/(c + d)³              =  (a + b)/(c + d)²,   also where the numerator is expanded
    ẍ (J + 2 m S²) + 2 m l v S           =  J ẍ + 2 m S (ẍ S + l v)        by mass, or by acceleration

Each is an identity, and is used if the text becomes shorter. No denominator is added.
"""

from __future__ import annotations

from itertools import combinations
from math import gcd, isqrt
from typing import Any

import sympy
from sympy import Add, Mul, Rational

from appell.tidy.angle_sums import terms_expanded
from appell.tidy.factor import factored_out
from appell.tidy.measure import characters
from appell.tidy.polynomial import Polynomial
from appell.tidy.short import collected

SQUARE_TERMS = 24
"""Largest number of terms of a sum whose pairs are examined."""
DIVIDED_TERMS, DIVISOR_TERMS = 120, 16
"""Largest number of expanded terms of numerator and denominator for a polynomial division."""
GROUPED_TERMS = 16
"""Largest number of terms of a sum that are grouped by common factors."""
MOST_PASSES = 3
"""Largest number of passes over an expression, while it becomes shorter."""
GROUP_GAIN_CHARACTERS = 3
"""Characters by which a group with different powers of its factor has to be shorter: d² + 2 d e + e² reads well as it is."""
Powers = dict[Any, int]
Key = tuple[Any, int]
"""A factor, and whether it is in the numerator (1) or the denominator (−1)."""


def regrouped(expr: Any) -> Any:
    """The expression with its sums regrouped, inner ones first; the same object if nothing is shorter."""
    for _ in range(MOST_PASSES):
        rewritten = _one_pass(expr)
        if characters(rewritten) > characters(expr) or rewritten == expr:
            break
        expr = rewritten
    return expr


def _one_pass(expr: Any) -> Any:
    memo: dict[Any, Any] = {}

    def short(e: Any) -> Any:
        if not (e.is_Add or e.is_Mul or e.is_Pow):
            return e
        if e not in memo:
            args = [short(x) for x in e.args]
            rebuilt = e if all(new is old for new, old in zip(args, e.args, strict=True)) else e.func(*args)
            if rebuilt.is_Add:
                rebuilt = _grouped_by_factors(_folded(squares_completed(rebuilt)))
            elif rebuilt.is_Mul:
                rebuilt = _flat(cancelled(rebuilt))
            memo[e] = min(rebuilt, e, key=characters)
        return memo[e]

    return short(expr)


# -- squares -----------------------------------------------------------------------------------------------------------


def squares_completed(expr: Any) -> Any:
    """A sum with c x² ± 2 c x y + c y² as c (x ± y)², and α − α sin² as α cos², as long as that is shorter."""
    while expr.is_Add and len(expr.args) <= SQUARE_TERMS:
        forms = [Add(*(t for t in expr.args if t not in old), new) for old, new in (*_squares(expr), *_circles(expr))]
        best = min(forms, key=characters, default=expr)
        if characters(best) >= characters(expr):
            break
        expr = factored_out(best)
    return expr


def _squares(expr: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """(three terms, their square) of a sum."""
    products = {t: part for t in expr.args if (part := _factors(t)) is not None}
    twice = {frozenset((x, 2 * p) for x, p in powers.items()): t for t, (_, powers) in products.items()}
    squares = []
    for first, second in combinations(products, 2):
        (c, left), (d, right) = products[first], products[second]
        joint = {x: left.get(x, 0) + right.get(x, 0) for x in {*left, *right}}
        mixed = twice.get(frozenset((x, p) for x, p in joint.items() if p))
        if mixed is None or mixed in (first, second) or products[mixed][0] ** 2 != 4 * c * d:
            continue
        number = Rational(gcd(c.p * d.q, d.p * c.q), c.q * d.q) * (1 if c > 0 else -1)
        shared = {x: min(left.get(x, 0), right.get(x, 0)) for x in joint}
        roots = [_root(c / number), _root(d / number)]
        if None in roots:
            continue
        halves = [Mul(*(x ** ((powers.get(x, 0) - shared[x]) // 2) for x in joint)) for powers in (left, right)]
        sign = 1 if products[mixed][0] * c > 0 else -1
        inside = Add(roots[0] * halves[0], sign * roots[1] * halves[1])
        squares.append(((first, second, mixed), Mul(number, *(x**p for x, p in shared.items()), inside**2)))
    return squares


def _circles(expr: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """(two terms α and −α sin², α cos²) of a sum, and the other way round."""
    terms, replacements = set(expr.args), []
    for t in expr.args:
        for x in t.args if t.is_Mul else (t,):
            if x.is_Pow and x.exp == 2 and isinstance(x.base, sympy.sin | sympy.cos):
                alpha = -t / x
                if alpha in terms:
                    partner = sympy.cos if isinstance(x.base, sympy.sin) else sympy.sin
                    replacements.append(((t, alpha), alpha * partner(x.base.args[0]) ** 2))
    return replacements


def _factors(term: Any) -> tuple[Rational, Powers] | None:
    """A number and base → power of a product; None if a power is not an integer or the number not rational."""
    c, product = term.as_coeff_Mul()
    powers = {x: int(p) for x, p in product.as_powers_dict().items() if x != 1 and p.is_Integer}
    integral = c.is_Rational and all(p.is_Integer or x == 1 for x, p in product.as_powers_dict().items())
    return (c, powers) if integral else None


def _power(term: Any, base: Any) -> Any:
    """The power of a base in a product; 0 where it is no number: it is not known whether xⁿ is a multiple of x."""
    p = term.as_powers_dict().get(base, sympy.S.Zero)
    return p if p.is_Rational else sympy.S.Zero


def _root(c: Any) -> Any:
    """√c of a square of a rational number, else None."""
    root = Rational(isqrt(c.p), isqrt(c.q)) if c > 0 else None
    return root if root is not None and root**2 == c else None


# -- quotients ---------------------------------------------------------------------------------------------------------


def cancelled(expr: Any) -> Any:
    """A product with a numerator divided by a denominator that it is a multiple of."""
    denominators = [x for x in expr.args if x.is_Pow and x.base.is_Add and x.exp.is_Integer and x.exp < 0]
    sums = [x for x in expr.args if x.is_Add]
    for denominator in denominators:
        for numerator in sums:
            quotient = _divided(numerator, denominator.base)
            if quotient is not None:
                others = [x for x in expr.args if x is not denominator and x is not numerator]
                result = Mul(*others, collected(quotient), denominator.base ** (denominator.exp + 1))
                return cancelled(result) if result.is_Mul else result
    return expr


def _flat(expr: Any) -> Any:
    """(a sin + b)/sin³ for (a + b/sin)/sin², if it is not longer."""
    waves = [x for x in expr.args if x.is_Pow and x.exp.is_Integer and x.exp < 0 and isinstance(x.base, sympy.sin | sympy.cos)]
    sums = [x for x in expr.args if x.is_Add] if expr.is_Mul else []
    if len(sums) != 1:
        return expr
    for wave in waves:
        power = max(-_power(t, wave.base) for t in sums[0].args)
        if power > 0:
            numerator = Add(*(t * wave.base**power for t in sums[0].args))
            others = [x for x in expr.args if x is not wave and x is not sums[0]]
            result = Mul(*others, _grouped_by_factors(factored_out(numerator)), wave.base ** (wave.exp - power))
            return result if characters(result) <= characters(expr) else expr
    return expr


def _divided(upper: Any, lower: Any) -> Any:
    """upper/lower where it is a polynomial in sines, cosines and symbols; else None."""
    if terms_expanded(lower, DIVISOR_TERMS, True) > DIVISOR_TERMS or terms_expanded(upper, DIVIDED_TERMS, True) > DIVIDED_TERMS:
        return None
    if upper.has(sympy.Float) or lower.has(sympy.Float):
        return None
    p, q = (Polynomial.of(e, single=True).with_all_partners().reduced() for e in (upper, lower))
    atoms = list(dict.fromkeys([*p.atoms, *q.atoms]))
    p, q = (_in_atoms(x, atoms).reduced() for x in (p, q))
    if len(q) < 2 or any(min(powers) < 0 for x in (p, q) for powers in x.terms):
        return None
    quotient = p.divided(q.terms)
    return None if quotient is None else quotient.plain()


def _in_atoms(p: Polynomial, atoms: list[Any]) -> Polynomial:
    positions = [atoms.index(x) for x in p.atoms]
    spread = lambda powers: dict(zip(positions, powers, strict=True))
    return Polynomial(atoms, {tuple(spread(powers).get(k, 0) for k in range(len(atoms))): c for powers, c in p.terms.items()})


# -- groups ------------------------------------------------------------------------------------------------------------


def _grouped_by_factors(expr: Any) -> Any:
    """A sum with terms grouped by a common factor, one group after the other, as long as that is shorter."""
    while expr.is_Add and len(expr.args) <= GROUPED_TERMS and not expr.has(sympy.Float):
        forms = [_grouped(expr, key) for key in _shared(expr)]
        best = min((form for form, gain in forms if characters(form) + gain <= characters(expr)), key=characters, default=None)
        if best is None:
            break
        expr = best
    return expr


def _folded(expr: Any) -> Any:
    """a − b + 2 (b − a) c as (b − a)(2 c − 1): terms that are a multiple of a sum in another term."""
    if not expr.is_Add or len(expr.args) > GROUPED_TERMS:
        return expr
    for t in expr.args:
        for x in [x for x in t.args if x.is_Add] if t.is_Mul else ():
            others, (number, sum_) = [term for term in expr.args if term is not t], x.primitive()
            for term in others:
                factor = term / sum_.args[0]
                multiples = [factor * y for y in sum_.args]
                if all(y in others for y in multiples):
                    folded = Add(*(y for y in others if y not in multiples), sum_ * (number * t / x + factor))
                    return _folded(folded) if characters(folded) < characters(expr) else expr
    return expr


def _shared(expr: Any) -> list[Key]:
    """Factors, and trigonometric functions in denominators, common to several products of the sum, also inside brackets."""
    count: dict[Key, int] = {}
    for t in [x for term in expr.args for x in _opened(term)]:
        for x, p in t.as_powers_dict().items():
            if not x.is_Number and p.is_Integer and (p > 0 or isinstance(x, sympy.sin | sympy.cos)):
                key = (x, 1 if p > 0 else -1)
                count[key] = count.get(key, 0) + 1
    return [key for key, n in count.items() if n > 1]


def _opened(term: Any) -> list[Any]:
    """The terms of a product with one sum, expanded; any other term itself."""
    sums = [x for x in term.args if x.is_Add] if term.is_Mul else []
    if len(sums) != 1:
        return [term]
    factor = Mul(*(x for x in term.args if x is not sums[0]))
    return [factor * x for x in sums[0].args]


def _grouped(expr: Any, key: Key) -> tuple[Any, int]:
    """The terms with a factor, with their common factors in front, plus the others; and by how much that has to be shorter."""
    power = lambda t: _power(t, key[0]) * key[1]
    group, others = [], []
    for t in expr.args:
        opened = [t] if power(t) > 0 else _opened(t)
        multiples = [x for x in opened if power(x) > 0]
        group += multiples
        if not multiples:
            others.append(t)
        elif len(multiples) < len(opened):
            others.append(factored_out(Add(*(x for x in opened if power(x) <= 0))))
    return Add(*others, factored_out(Add(*group))), 1 if len({power(t) for t in group}) == 1 else GROUP_GAIN_CHARACTERS


__all__ = ["cancelled", "regrouped", "squares_completed"]
