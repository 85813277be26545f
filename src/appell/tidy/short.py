"""The shortest of several forms of an expression."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb
from typing import Any

import sympy
from sympy import Expr

from appell.tidy.angle_sums import TRIGONOMETRIC, opened_wave, terms_expanded
from appell.tidy.draft import Draft, Drafts, shortest
from appell.tidy.polynomial import Polynomial, TooManyTerms
from appell.tidy.sums import Sum, Term, as_factor, is_single, multiplied, raised_term, read, spread
from appell.tidy.terms import rational, scaled, without_denominators
from appell.tidy.waves import (
    fewest_squares,
    on_unit_quaternions,
    squared,
    with_angle_sums,
    with_double_angles,
    with_partners,
)

EXPANDED_TERM_LIMIT = 500
"""Largest number of terms of an expression that is expanded."""
MORE_TERMS_ALLOWED = 8
"""A form with this many terms more than twice the fewest is not drafted."""
DENOMINATOR_TERMS = 200
"""The same for a sum in a denominator."""
INNER_TERMS = 60
"""The same for a sum inside a product, expanded separately."""


def collected(expr: Expr, *, limit: int = EXPANDED_TERM_LIMIT, unit: bool = False) -> Expr:
    """Σ c × monomial where it has at most `limit` terms and is shorter; else as given. `unit` uses |q| = 1 of quaternions."""
    if expr.is_Atom or is_product(expr) or terms_expanded(expr, limit) > limit:
        return expr
    return _collected(expr, limit, unit)


@lru_cache(maxsize=4096)
def _collected(expr: Expr, limit: int, unit: bool) -> Expr:
    sum_, number = read(expr)
    return shorter(sum_, limit, unit, floats=number is not rational).expression(number)


def is_product(expr: Any) -> bool:
    """Whether it is a product of symbols and of trigonometric functions of different ones, which cannot be shortened."""
    factors = expr.args if expr.is_Mul else (expr,)
    return _is_product(x.base if x.is_Pow and x.exp.is_Integer else x for x in factors if not x.is_Rational)


def _is_product(bases: Iterable[Any]) -> bool:
    angles: set[Any] = set()
    for x in bases:
        if type(x) is Sum:
            return False
        if isinstance(x, sympy.sin | sympy.cos) and is_single(x.args[0]) and x.args[0] not in angles:
            angles.add(x.args[0])
        elif not x.is_Symbol:
            return False
    return True


def is_single_product(whole: Sum) -> bool:
    """Whether the sum is one term, and a product in the sense of `is_product`."""
    return len(whole.terms) == 1 and _is_product(whole.terms[0][1])


def count(whole: Sum, limit: int, single: bool = False) -> int:
    """The number of terms of the expanded sum, as in `terms_expanded`."""
    total = 0
    for _, powers in whole.terms:
        product = 1
        for x, p in powers.items():
            if p > 0 and type(x) is Sum:
                product *= comb(count(x, limit, single) + p - 1, p)
            elif p > 0 and single and isinstance(x, TRIGONOMETRIC):
                product *= comb(len(opened_wave(x).terms) + p - 1, p)
            if product > limit:
                break  # shared sums would be visited as often as they are used
        total += product
        if total > limit:
            break
    return total


def shorter(whole: Sum, limit: int, unit: bool, floats: bool = False, given: Polynomial | None = None) -> Sum:
    """The shortest draft of a sum with at most `limit` terms, if that is shorter than `whole` as it stands.

    `given`: the expanded sum, if already known.
    """
    if not floats and is_single_product(whole):
        return whole
    unchanged = given or Polynomial.of_sum(whole, floats=floats)
    drafts = _drafts(whole, unchanged, limit, unit)
    if drafts is not None:
        return _shorter_of(whole, shortest(drafts)) if given is None else Sum(shortest(drafts).make())
    # too long at once: the coefficient of each product of velocities separately
    drafted = _shorter_of(whole, shortest(_drafts_of([_with_its_angles(unchanged, unit)])))
    if len(drafted.terms) == 1:
        return drafted
    summands = [Sum([term]) for term in drafted.terms]
    shortened = [shorter(summand, limit, unit, floats) if count(summand, limit) <= limit else summand for summand in summands]
    return min(drafted, spread([as_factor(summand.terms) for summand in shortened]), key=_size)


def _shorter_of(sum_: Sum, draft: Draft) -> Sum:
    """The draft if it is shorter than the sum."""
    if draft.size + draft.minus > sum_.size:
        return sum_
    return min(sum_, Sum(draft.make()), key=_size)


def _size(sum_: Sum) -> int:
    return sum_.size


def _with_its_angles(p: Polynomial, unit: bool) -> Polynomial:
    """The polynomial in its own angles, with as few squares as possible."""
    if any(isinstance(x, sympy.sin | sympy.cos) for x in p.atoms):
        p = with_angle_sums(fewest_squares(with_partners(p)))
    return on_unit_quaternions(p) if unit else p


def _drafts(sum_: Sum, unchanged: Polynomial, limit: int, unit: bool) -> list[Draft] | None:
    """Drafts of the unchanged form, and of that in sines and cosines of single angles, where all cancellations occur; None if
    too long."""
    waves = [x for x in unchanged.atoms if isinstance(x, TRIGONOMETRIC)]
    has_denominators = any(x.is_Add for x in unchanged.atoms)
    if not waves and not has_denominators:
        return _drafts_of([_with_its_angles(unchanged, unit)])
    if waves and count(sum_, 4 * limit, single=True) > 4 * limit:
        return None
    round_ = not has_denominators and all(isinstance(x, sympy.sin | sympy.cos) for x in waves)
    single = round_ and all(is_single(x.args[0]) for x in waves)
    if round_ and (single or _are_apart([x.args[0] for x in waves])) and _is_linear(unchanged):
        return _drafts_of([on_unit_quaternions(unchanged) if unit else unchanged])
    try:
        plain = unchanged if single else Polynomial.of_sum(sum_, single=True, floats=unchanged.floats, limit=4 * limit)
    except TooManyTerms:
        return None
    plain = plain.with_all_partners()
    integral, n = without_denominators(plain.terms)
    plain = plain.like(integral).reduced()
    forms = [_with_its_angles(unchanged, unit)]
    for p in (plain, *_over_denominators(plain)):
        square = squared(p)
        variants = [p, square, with_double_angles(square), with_angle_sums(square), with_angle_sums(p)] if waves else [p]
        variants = [on_unit_quaternions(form) if unit else form for form in variants]
        forms += [form.like(scaled(form.terms, n)) for form in variants]
    return _drafts_of(forms)


def _are_apart(angles: list[Any]) -> bool:
    """Whether no two of the angles have a symbol in common, so that expanding sums of angles combines no terms."""
    different = list(dict.fromkeys(angles))
    symbols = [angle.free_symbols for angle in different]
    return all(x.is_Add or is_single(x) for x in different) and sum(map(len, symbols)) == len(set().union(*symbols))


def _is_linear(p: Polynomial) -> bool:
    """Whether no term has more than one sine or cosine, so that nothing can be combined."""
    waves = [i for i, x in enumerate(p.atoms) if isinstance(x, sympy.sin | sympy.cos)]
    return all(sum(abs(powers[i]) for i in waves) < 2 for powers in p.terms)


def _drafts_of(forms: list[Polynomial]) -> list[Draft]:
    """Drafts of the forms with few terms, each once."""
    fewest, different = min(map(len, forms)), []
    for form in forms:
        if len(form) <= 2 * fewest + MORE_TERMS_ALLOWED and not any(form.terms == kept.terms for kept in different):
            different.append(form)
    return [draft for form in different for draft in Drafts(form, _short_sum).all()]


def _over_denominators(p: Polynomial) -> list[Polynomial]:
    """Over the sums in its denominators, cancelled where they divide."""
    best = p
    for i, x in enumerate(p.atoms):
        if x.is_Add and len(best) <= EXPANDED_TERM_LIMIT:
            best = best.over(i) or best
    return [] if best is p else [best]


@lru_cache(maxsize=4096)
def _short_sum(e: Any) -> Sum:
    """A sum in a denominator, shortened separately."""
    return Sum.of(collected(e, limit=DENOMINATOR_TERMS))


def inside_out(whole: Sum, floats: bool = False, known: dict[Sum, Sum] | None = None) -> Sum:
    """The sum with each sum inside a product or a power collected, innermost first, so that less is expanded.

    `known`: cached results for sums, all with floats or all without.
    """
    known = {} if known is None else known

    def inside(sum_: Sum) -> Sum:
        terms = [product(term) for term in sum_.terms]
        return sum_ if all(new is old for new, old in zip(terms, sum_.terms, strict=True)) else spread(terms)

    def product(term: Term) -> Term:
        sums = [(x, p) for x, p in term[1].items() if type(x) is Sum]
        if not sums:
            return term
        rebuilt: Term = (term[0], {x: p for x, p in term[1].items() if type(x) is not Sum})
        for x, p in sums:
            rebuilt = multiplied(rebuilt, raised_term(as_factor(short(x).terms), p))
        return rebuilt

    def short(sum_: Sum) -> Sum:
        if sum_ not in known:
            rebuilt = inside(sum_)
            is_short = len(rebuilt.terms) > 1 and count(rebuilt, INNER_TERMS) <= INNER_TERMS
            known[sum_] = shorter(rebuilt, INNER_TERMS, False, floats) if is_short else rebuilt
        return known[sum_]

    return inside(whole)
