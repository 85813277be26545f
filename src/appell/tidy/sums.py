"""Sums of products in a light representation, whose length is known before they become expressions.

    Σ c Π base^power,        a base is a symbol, a function, or such a sum in brackets

SymPy sorts, flattens and queries assumptions for every product it creates. Of several forms of an expression all but one are
discarded, so they are built here, and only the one that is shown becomes an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import sympy
from sympy import Add, Basic, Expr, Integer, Mul, Pow, Symbol
from sympy.core.basic import ordering_of_classes
from sympy.external.gmpy import MPQ

from appell.tidy.measure import characters
from appell.tidy.terms import Number, base_and_power, is_number, long_as_float, number_of, rational

Term = tuple[Number, dict[Any, int]]
"""A number, and base → power, of a product. Never modified."""


class Key:
    """The common key of equal sums, compared by identity, so that nested sums are not compared in full."""

    __slots__ = ("__weakref__", "_terms")
    _all: ClassVar[WeakValueDictionary[Any, Key]] = WeakValueDictionary()

    @staticmethod
    def of(terms: frozenset[Any]) -> Key:
        """The unique key of the terms."""
        key = Key._all.get(terms)
        if key is None:
            key = Key._all[terms] = Key()
            key._terms = terms  # keeps the keys of inner sums alive
        return key


class Sum:
    """Σ terms, at least one of them. Equal where the terms are, in any order."""

    __slots__ = ("_expr", "_hash", "_key", "_size", "terms")

    def __init__(self, terms: Sequence[Term], expr: Any = None, size: int | None = None):
        self.terms, self._expr, self._key, self._size, self._hash = terms, expr, None, size, None

    @staticmethod
    def of(expr: Any, known: dict[Any, Any] | None = None) -> Sum:
        """A nested expression; sums inside sums are flattened."""
        known = {} if known is None else known
        if expr not in known:
            nested = expr.is_Add and any(x.is_Add for x in expr.args)
            terms = [_read(x, known) for x in (_flat(expr) if nested else expr.args if expr.is_Add else (expr,))]
            known[expr] = Sum(like_terms_joined(terms)) if nested else Sum(terms, expr)
        return known[expr]

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Sum and self.key is other.key)

    @property
    def key(self) -> Key:
        """The common key of all equal sums."""
        if self._key is None:
            of = lambda powers: frozenset([(x.key if type(x) is Sum else x, p) for x, p in powers.items()])
            self._key = Key.of(frozenset([(c, of(powers)) for c, powers in self.terms]))
        return self._key

    def __neg__(self) -> Sum:
        return Sum([(-c, powers) for c, powers in self.terms])

    @property
    def size(self) -> int:
        """Approximate number of characters of its text, as `measure.characters` counts them."""
        if self._size is None:
            sizes = sum([size_of(c, powers) for c, powers in self.terms])
            self._size = sizes + 3 * (len(self.terms) - 1) + all([c < 0 for c, _ in self.terms])
        return self._size

    def expression(self, number: Any) -> Expr:
        """The expression; `number` converts a coefficient."""
        if self._expr is None:
            terms = [_shared(_product(c, powers, number)) for c, powers in self.terms]
            self._expr = terms[0] if len(terms) == 1 else _shared(_sum(terms))
        return self._expr


HAS_FLOATS = "floats"


def read(expr: Any, known: dict[Any, Any] | None = None) -> tuple[Sum, Callable[[Number], Expr]]:
    """An expression, unchanged, and the conversion of its coefficients: long ones become floats if the input had floats.

    `known`: cached parts of other expressions, none with floats.
    """
    known = {} if known is None else known
    sum_ = Sum.of(expr, known)
    return (Sum(sum_.terms, expr, characters(expr)), long_as_float) if HAS_FLOATS in known else (sum_, rational)


def _flat(e: Any) -> Iterable[Any]:
    for x in e.args:
        if x.is_Add:
            yield from _flat(x)
        else:
            yield x


def like_terms_joined(terms: Iterable[Term]) -> list[Term]:
    """The terms of a sum with like terms collected."""
    joined: dict[Any, Term] = {}
    for c, powers in terms:
        key = frozenset(powers.items())
        joined[key] = (joined[key][0] + c if key in joined else c, powers)
    return [term for term in joined.values() if term[0]] or [(0, {})]


def _read(e: Any, memo: dict[Any, Any]) -> Term:
    number, powers = 1, {}
    for x in e.args if e.is_Mul else (e,):
        if x.is_Symbol:
            powers[x] = powers.get(x, 0) + 1
        elif is_number(x):
            number *= number_of(x)
            if x.is_Float:
                memo[HAS_FLOATS] = True
        else:
            base, power = base_and_power(x)
            base = Sum.of(base, memo) if base.is_Add else base
            powers[base] = powers.get(base, 0) + power
    return number, powers


# -- lengths -----------------------------------------------------------------------------------------------------------


_WAVES = (sympy.sin, sympy.cos)
INFINITE = (sympy.tan, sympy.cot)
"""Functions with poles: not used as a common denominator if a numerator contains them."""


@cache
def digits(n: int) -> int:
    """The number of digits of a number."""
    return len(str(n))


def size_of_base(x: Any) -> int:
    """Characters of a symbol, a function or a sum without brackets."""
    if type(x) is Sum:
        return x.size
    if x.is_Symbol:
        return len(x.name)
    angle: Any = x.args[0] if isinstance(x, _WAVES) else x
    return 5 + len(angle.name) if angle.is_Symbol else characters(x)


def size_of(c: Number, powers: dict[Any, int], inside: Sum | None = None) -> int:
    """Characters of a product without its sign; optionally with a further sum in brackets."""
    above, n_above = (0, 0) if inside is None else (inside.size + 2, 1)
    below = n_below = 0
    if c != 1 and c != -1:
        upper, lower = abs(c.numerator), c.denominator
        if upper != 1:
            above, n_above = above + digits(upper), n_above + 1
        if lower != 1:
            below, n_below = digits(lower), 1
    for x, power in powers.items():
        if type(x) is Sum:
            size = x.size + 2
        elif x.is_Symbol:
            size = len(x.name)
        else:
            size = size_of_base(x) + (2 if power != 1 and x.is_Pow else 0)
        if power != 1 and power != -1:
            size += 2 + digits(abs(power))
        if power > 0:
            above, n_above = above + size, n_above + 1
        else:
            below, n_below = below + size, n_below + 1
    size = max(1, above + n_above - 1)
    return size + below + n_below + (2 if n_below > 1 else 0) if n_below else size


# -- products of terms -------------------------------------------------------------------------------------------------


def as_factor(terms: Sequence[Term]) -> Term:
    """A sum as a factor: itself if it is one product, else in brackets."""
    return terms[0] if len(terms) == 1 else (1, {Sum(terms): 1})


def multiplied(one: Term, other: Term) -> Term:
    """one × other."""
    powers = dict(one[1])
    for x, p in other[1].items():
        power = powers.get(x, 0) + p
        if power:
            powers[x] = power
        else:
            powers.pop(x, None)  # x⁰ may occur in either
    return one[0] * other[0], powers


def raised_term(term: Term, power: int) -> Term:
    """term^power."""
    c, powers = term
    number = c**power if power > 0 else MPQ(c) ** power
    return number, {x: p * power for x, p in powers.items()}


def spread(terms: Sequence[Term]) -> Sum:
    """The sum, with terms of the form number × sum expanded."""
    opened = [_opened(term) for term in terms]
    if all(group is None for group in opened):
        return Sum(terms)
    joined = [[term] if group is None else group for term, group in zip(terms, opened, strict=True)]
    return Sum(like_terms_joined(term for group in joined for term in group))


def _opened(term: Term) -> list[Term] | None:
    """The terms of number × sum; None for any other product."""
    c, powers = term
    if len(powers) == 1:
        ((x, p),) = powers.items()
        if p == 1 and type(x) is Sum:
            return [(c * d, inner) for d, inner in x.terms]
    return None


# -- waves -------------------------------------------------------------------------------------------------------------


def is_single(angle: Any) -> bool:
    """Whether it is neither a sum of angles nor a small integer multiple of one."""
    first = angle.args[0] if angle.is_Mul else angle
    return angle.is_Symbol or not (angle.is_Add or (first.is_Integer and abs(first) <= 4))


_CALLS_OF_X: dict[Any, Any] = {kind: kind(Symbol("x")) for kind in (sympy.sin, sympy.cos)}


@lru_cache(maxsize=4096)
def wave(kind: Any, angle: Any, times: int = 1) -> Any:
    """sin or cos of a multiple of an angle; for a symbol without evaluation."""
    if not angle.is_Symbol:
        return kind(times * angle)
    function: Any = Expr.__new__(kind, angle if times == 1 else Mul._from_args((Integer(times), angle), True))
    function.nargs = _CALLS_OF_X[kind].nargs
    return function


# -- as expressions ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def _order(e: Any) -> Any:
    """A key that sorts as `Basic.compare` does."""
    content = e._hashable_content()
    return _class_order(type(e)), len(content), tuple([_order(x) if isinstance(x, Basic) else x for x in content])


@cache
def _class_order(kind: type) -> tuple[int, str]:
    order = ordering_of_classes
    return order.index(kind.__name__) if kind.__name__ in order else len(order), kind.__name__


_PLAIN = (sympy.sin, sympy.cos, sympy.tan)


_SHARED_EXPRESSIONS: dict[Any, Any] = {}
SUMS_REMEMBERED = 100_000
"""Largest number of cached expressions."""


def _shared(e: Any) -> Any:
    """An equal object built before, if there is one: comparing two expressions as deep as the solution of n equations takes 4ⁿ
    steps, unless they share their parts."""
    if not (e.is_Add or e.is_Mul or e.is_Pow):
        return e
    if len(_SHARED_EXPRESSIONS) > SUMS_REMEMBERED:
        _SHARED_EXPRESSIONS.clear()
    return _SHARED_EXPRESSIONS.setdefault((e.func, *(id(x) if x.is_Add or x.is_Mul or x.is_Pow else x for x in e.args)), e)


def _product(c: Number, powers: dict[Any, int], number: Any) -> Any:
    """c Π base^power, as SymPy would build it."""
    factors, plain = [], True
    for x, p in powers.items():
        if type(x) is Sum:
            x = x.expression(number)
            plain = plain and x.is_Add
        else:
            plain = plain and (x.is_Symbol or isinstance(x, _PLAIN)) and x.is_commutative
        factors.append(x if p == 1 else _shared(_power(x, p) if plain else x**p))
    if not factors:
        return number(c)
    if c == 1 and len(factors) == 1:
        return factors[0]
    coefficient = [] if c == 1 else [number(c)]
    if not plain or (len(factors) == 1 and factors[0].is_Add):
        return Mul(*coefficient, *factors)
    factors.sort(key=_order)
    return Mul._from_args((*coefficient, *factors), True)


def _power(x: Any, p: int) -> Any:
    """x^p of a symbol, a trigonometric function or a sum, without evaluation."""
    power: Any = Expr.__new__(Pow, x, Integer(p))
    power.is_commutative = True
    return power


def _sum(terms: list[Any]) -> Any:
    """The terms as SymPy would add them: no two are alike."""
    if any(x.is_Add or not x.is_commutative for x in terms) or sum(x.is_Number for x in terms) > 1:
        return Add(*terms)
    terms.sort(key=_order)
    numbers = [x for x in terms if x.is_Number]
    return Add._from_args((*numbers, *(x for x in terms if not x.is_Number)), True)
