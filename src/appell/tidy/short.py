"""The shortest of several ways to write an expression."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy
from sympy import Expr

from appell.tidy.draft import Draft, Drafts, shortest
from appell.tidy.measure import characters
from appell.tidy.polynomial import TRIGONOMETRIC, Polynomial, terms_expanded
from appell.tidy.waves import (
    fewest_squares,
    on_unit_quaternions,
    squared,
    with_angle_sums,
    with_double_angles,
    with_partners,
)

SMALL = 500
"""Terms up to which an expression is multiplied out."""
FEW = 8
"""A way with that many terms more than twice the fewest is not drafted."""
DENOMINATOR = 200
"""Terms up to which a sum in a denominator is."""


def collected(expr: Expr, *, limit: int = SMALL, unit: bool = False) -> Expr:
    """Σ c × monomial where it has at most `limit` terms and is shorter; else as given. `unit` uses |q| = 1 of quaternions."""
    if expr.is_Atom or terms_expanded(expr, limit) > limit:
        return expr
    return _collected(expr, limit, unit)


@lru_cache(maxsize=4096)
def _collected(expr: Expr, limit: int, unit: bool) -> Expr:
    drafts = _drafts(expr, limit, unit)
    if drafts is not None:
        return _made(expr, shortest(drafts))
    # too much at once: what multiplies each product of velocities by itself
    first = _made(expr, shortest(_drafts_of([_with_its_angles(expr, unit)])))
    parts: Any = sympy.Add.make_args(first)
    if len(parts) == 1:
        return first
    again = sympy.Add(*(collected(part, limit=limit, unit=unit) if part.is_Mul else part for part in parts))
    return min(first, again, key=characters)


def _made(expr: Expr, draft: Draft) -> Expr:
    """The draft where it is shorter than the expression."""
    if draft.size + draft.minus > characters(expr):
        return expr
    return min(expr, draft.make(), key=characters)


def _with_its_angles(expr: Expr, unit: bool) -> Polynomial:
    """With the angles that the expression has, in as few squares as can be."""
    p = with_angle_sums(fewest_squares(with_partners(Polynomial.of(expr))))
    return on_unit_quaternions(p) if unit else p


def _drafts(expr: Expr, limit: int, unit: bool) -> list[Draft] | None:
    """As it stands, and in sines and cosines of single angles, where all that cancels has cancelled; None if too long."""
    waves = expr.has(*TRIGONOMETRIC)
    if not waves and not _has_sums_below(expr):
        return _drafts_of([_with_its_angles(expr, unit)])
    if waves and terms_expanded(expr, 4 * limit, single=True) > 4 * limit:
        return None
    plain = Polynomial.of(expr, single=True).with_all_partners().reduced()
    ways = [_with_its_angles(expr, unit)]
    for p in (plain, *_over_denominators(plain)):
        square = squared(p)
        same = [p, square, with_double_angles(square), with_angle_sums(square), with_angle_sums(p)] if waves else [p]
        ways += [on_unit_quaternions(way) if unit else way for way in same]
    return _drafts_of(ways)


def _drafts_of(ways: list[Polynomial]) -> list[Draft]:
    """Drafts of the ways that have few terms, each once."""
    fewest, different = min(map(len, ways)), []
    for way in ways:
        if len(way) <= 2 * fewest + FEW and not any(way.terms == other.terms for other in different):
            different.append(way)
    return [draft for way in different for draft in Drafts(way, _short_sum).all()]


def _over_denominators(p: Polynomial) -> list[Polynomial]:
    """Over the sums in its denominators, these cancelled where they divide."""
    best = p
    for i, x in enumerate(p.atoms):
        if x.is_Add and len(best) <= SMALL:
            best = best.over(i) or best
    return [] if best is p else [best]


def _has_sums_below(expr: Any) -> bool:
    return any(p.exp.is_Integer and p.exp < 0 and p.base.is_Add for p in expr.atoms(sympy.Pow))


@lru_cache(maxsize=4096)
def _short_sum(e: Any) -> Any:
    """A sum in a denominator, written for itself."""
    return collected(e, limit=DENOMINATOR)


def inside_out(expr: Any, limit: int = 60) -> Any:
    """The expression with each sum inside a product or a power collected, innermost first, so that less is multiplied out."""
    known: dict[Any, Any] = {}

    def short(e: Any) -> Any:
        if e.is_Atom or not (e.is_Add or e.is_Mul or e.is_Pow):
            return e
        if e not in known:
            made = e.func(*map(short, e.args))
            known[e] = collected(made, limit=limit) if made.is_Add else made
        return known[e]

    return expr.func(*map(short, expr.args)) if expr.args else expr
