"""Common factors of the terms of a sum, factored out in place, without expanding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from appell.tidy.sums import INFINITE, Sum, Term, as_factor, multiplied, raised_term, read, size_of, spread
from appell.tidy.terms import content, quotient, rational


def factored_out(expr: Any) -> Any:
    """The nested expression with common factors of sums factored out, innermost first."""
    sum_, number = read(expr)
    factored = Factoring(exact=number is rational).of(sum_)
    return expr if factored.size >= sum_.size else factored.expression(number)


FRACTION_SHORTER_BY_ONE_IN = 16
"""A fraction instead of a sum of several has to be shorter by one part in so many, since sums are easier to read."""
DENOMINATOR_BASES = 6
"""Largest number of bases in denominators that are tried one by one as a common denominator."""
Plan = tuple[int, Callable[[], Sum]]
"""The length of a planned sum, and how to build it."""


class Factoring:
    """Factoring with a cache: the sums encountered, their signs, and the results.

    `exact` is False with floats, whose ratios are not factored out.
    """

    def __init__(self, exact: bool = True):
        self._exact = exact
        self._signs: set[Sum] = set()
        self._results: dict[Sum, Sum] = {}

    def of(self, whole: Sum, inside: bool = False) -> Sum:
        """The sum with common factors factored out; `inside` a product a sum costs its brackets."""
        if len(whole.terms) == 1 and Sum not in map(type, whole.terms[0][1]):
            return whole
        if not inside:
            return self._factored(whole, inside)
        if whole not in self._results:
            self._results[whole] = self._factored(whole, inside)
        return self._results[whole]

    def _factored(self, sum_: Sum, inside: bool) -> Sum:
        inner = self._from_the_inside(sum_)
        if len(inner.terms) == 1:
            return inner
        terms = [self._signed(term) for term in inner.terms]
        grouped = self._by_common_sums(terms)
        bracket = 2 if inside else 0
        sums = [form for form in (inner, grouped) if form is not None]
        forms: list[Plan] = [(form.size + (bracket if len(form.terms) > 1 else 0), lambda form=form: form) for form in sums]
        forms += self._with_factors_in_front(terms)
        if grouped is not None and len(grouped.terms) > 1:
            forms += self._with_factors_in_front([self._signed(term) for term in grouped.terms])
        return min(forms, key=lambda form: form[0])[1]()

    def _from_the_inside(self, sum_: Sum) -> Sum:
        """The sum with the sums in its products factored; the same object if nothing changes."""
        if not any(Sum in map(type, powers) for _, powers in sum_.terms):
            return sum_
        terms = [self._product(term) for term in sum_.terms]
        if all(new is old for new, old in zip(terms, sum_.terms, strict=True)):
            return sum_
        return spread(terms)

    def _product(self, term: Term) -> Term:
        c, powers = term
        sums = [(x, p, self.of(x, True)) for x, p in powers.items() if type(x) is Sum]
        if all(new is x for x, _, new in sums):
            return term
        product: Term = (c, {x: p for x, p in powers.items() if type(x) is not Sum})
        for _, p, new in sums:
            product = multiplied(product, raised_term(as_factor(new.terms), p))
        return product

    def _signed(self, term: Term) -> Term:
        """The term with each sum in the sign with more positive terms, or in the sign in which it or its opposite occurred
        first."""
        c, powers = term
        if Sum not in map(type, powers):
            return term
        signed: dict[Any, int] = {}
        for x, p in powers.items():
            if type(x) is Sum and x not in self._signs:
                minuses, minus = sum(d < 0 for d, _ in x.terms), -x
                if 2 * minuses > len(x.terms) or minus in self._signs:
                    x, c = minus, -c if p % 2 else c
                self._signs.add(x)
            signed[x] = signed.get(x, 0) + p
        return c, signed

    def _with_factors_in_front(self, terms: list[Term]) -> list[Plan]:
        """A sum with common factors in front, and with the least common denominator."""
        bases = dict.fromkeys(x for i, (_, powers) in enumerate(terms) for x, p in powers.items() if p < 0 or not i)
        columns = {x: [powers.get(x, 0) for _, powers in terms] for x in bases}
        infinite = {x for x, column in columns.items() if isinstance(x, INFINITE) and max(column) >= 0}
        lowest = {x: low for x, column in columns.items() if (low := min(column)) > 0 or (low and x not in infinite)}
        shared = {x: p for x, p in ((x, low if low > 0 else min(0, max(columns[x]))) for x, low in lowest.items()) if p}
        if shared == lowest:
            return [self._taken_out(terms, shared)] if shared else []
        fractions = [self._taken_out(terms, common) for common in (shared, lowest) if common]
        return [*fractions, *self._with_some_denominators(terms, shared, lowest)]

    def _with_some_denominators(self, terms: list[Term], shared: dict[Any, int], lowest: dict[Any, int]) -> list[Plan]:
        """The sum with only some of the bases as a common denominator: a/(b c) + d/(b e) − f as (a/c + d/e − b f)/b."""
        denominators = [x for x, low in lowest.items() if low < shared.get(x, 0)]
        common, best = shared, None
        for x in denominators if 1 < len(denominators) <= DENOMINATOR_BASES else ():
            trial = {**common, x: lowest[x]}
            form = self._taken_out(terms, trial)
            if best is None or form[0] <= best[0]:
                common, best = trial, form
        return [] if best is None else [(best[0] + best[0] // FRACTION_SHORTER_BY_ONE_IN, best[1])]

    def _taken_out(self, terms: list[Term], common: dict[Any, int]) -> Plan:
        number = content([c for c, _ in terms]) if self._exact else 1
        inner = spread([(quotient(c, number), _over(powers, common)) for c, powers in terms])
        if len(inner.terms) == 1:
            product = Sum([multiplied((number, common), inner.terms[0])])
            return product.size, lambda: product
        return size_of(number, common, inner) + (number < 0), lambda: Sum([multiplied((number, common), (1, {inner: 1}))])

    def _by_common_sums(self, terms: list[Term]) -> Sum | None:
        """Terms that are multiples of one sum as one term: a S + b S is (a + b) S. None if there are none."""
        count: dict[Sum, int] = {}
        for x in (x for _, powers in terms for x, p in powers.items() if type(x) is Sum and p > 0):
            count[x] = count.get(x, 0) + 1
        shared = [x for x, n in count.items() if n > 1]
        if not shared:
            return None
        for x in shared:
            multiples = [term for term in terms if term[1].get(x, 0) > 0]
            if len(multiples) > 1:
                others = [term for term in terms if term[1].get(x, 0) <= 0]
                cofactor = spread([(c, _over(powers, {x: 1})) for c, powers in multiples])
                terms = [*others, self._signed(multiplied((1, {x: 1}), as_factor(self.of(cofactor, True).terms)))]
        return spread(terms)


def _over(powers: dict[Any, int], common: dict[Any, int]) -> dict[Any, int]:
    """The powers of a product over those of another."""
    remaining = dict(powers)
    for x, p in common.items():
        power = remaining.get(x, 0) - p
        if power:
            remaining[x] = power
        else:
            remaining.pop(x, None)
    return remaining
