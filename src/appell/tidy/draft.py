"""Drafts: candidate forms of a polynomial, whose lengths are known before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import compress
from math import isqrt
from operator import add, mul, sub
from typing import Any, NamedTuple

import sympy
from sympy.external.gmpy import MPQ

from appell.jets import Jet
from appell.tidy.polynomial import Polynomial
from appell.tidy.sums import INFINITE, Sum, Term, as_factor, digits, multiplied, raised_term, size_of_base
from appell.tidy.terms import Number, Powers, Terms, content, scaled

ONE_FRACTION_SHORTER_BY_ONE_IN = 6
"""One fraction instead of a sum of several has to be shorter by one part in so many, since sums are easier to read."""


class Draft(NamedTuple):
    """A planned sum: characters of its text without its sign, whether the sign is a minus, its terms, and how to build them.

    The number 1 has no terms: as a factor it is not written.
    """

    size: int
    minus: bool
    terms: int
    make: Callable[[], list[Term]]


def sum_of(parts: Sequence[Draft]) -> Draft:
    """Σ parts."""
    if len(parts) == 1:
        return parts[0]
    size = sum(part.size for part in parts) + 3 * (len(parts) - 1) + all(part.minus for part in parts)
    terms = max(2, sum(part.terms for part in parts))
    return Draft(size, False, terms, lambda: [term for part in parts for term in part.make()])


def times(outside: Draft, inside: Draft) -> Draft:
    """outside × inside; a sum inside is in brackets."""
    if not outside.terms or not inside.terms:
        factor, unit = (inside, outside) if not outside.terms else (outside, inside)
        return factor._replace(minus=factor.minus != unit.minus, make=lambda: _times(outside, inside))
    size = outside.size + inside.size + 1 + (2 if inside.terms > 1 else 0)
    return Draft(size, outside.minus != inside.minus, 1, lambda: _times(outside, inside))


def _times(outside: Draft, inside: Draft) -> list[Term]:
    """The product; a plain number is multiplied into a sum."""
    left, right = outside.make(), inside.make()
    for number, terms in ((left, right), (right, left)):
        if len(number) == 1 and not number[0][1]:
            return [(number[0][0] * c, powers) for c, powers in terms]
    return [multiplied(as_factor(left), as_factor(right))]


class Drafts:
    """Candidate forms of one polynomial. `short` writes a sum that is an atom."""

    def __init__(self, p: Polynomial, short: Callable[[Any], Sum]):
        self.p = p = _with_used_atoms(p)
        self._short = short
        self._sizes = [short(x).size + 2 if x.is_Add else size_of_base(x) for x in p.atoms]
        self._lengths: dict[Powers, Any] = {}
        self._cofactors: dict[Any, Draft] = {}
        self._in_motion = [int(bool(_is_moving(x))) for x in p.atoms]
        self._infinite = [i for i, x in enumerate(p.atoms) if isinstance(x, INFINITE)]
        self._periodic_or_moving = [int(isinstance(x, sympy.sin | sympy.cos | Jet)) for x in p.atoms]

    def all(self) -> Iterable[Draft]:
        """Grouped by motion; the same with common factors in front, or with the least common denominator."""
        terms = self.p.terms
        if not terms:
            return [Draft(1, False, 1, lambda: [(0, {})])]
        drafts, shared = [self.by_motion(terms)], self._commons(terms) if len(terms) > 1 else []
        for common in shared:
            if any(common):
                cofactor = {tuple(map(sub, powers, common)): c for powers, c in terms.items()}
                draft = min((self._in_front(number, common, cofactor) for number in self._numbers(cofactor)), key=_size)
                worse = draft.size // ONE_FRACTION_SHORTER_BY_ONE_IN if common not in shared[-1:] else 0
                drafts.append(draft._replace(size=draft.size + worse))
        return drafts

    def _commons(self, terms: Iterable[Powers]) -> list[Powers]:
        return commons(terms, self._infinite)

    def _numbers(self, terms: Terms) -> list[Number]:
        """The numbers that may be factored out of all terms, with and without common denominators."""
        number = 1 if self.p.floats else content(terms.values())
        return [number] if number.denominator == 1 else [number, number.numerator]

    def _in_front(self, number: Number, common: Powers, cofactor: Terms) -> Draft:
        """number × common × Σ cofactor/number."""
        return times(self.monomial(number, common), self.by_motion(scaled(cofactor, number)))

    def by_motion(self, terms: Terms) -> Draft:
        """Σ c(t, q) × monomial in the motion, with common factors of each c factored out."""
        groups: dict[Powers, Terms] = {}
        for powers, c in terms.items():
            moving = tuple(map(mul, powers, self._in_motion))
            groups.setdefault(moving, {})[tuple(map(sub, powers, moving))] = c
        return sum_of([self._factored(key, c) for key, c in groups.items()])

    def _factored(self, key: Powers, terms: Terms) -> Draft:
        """key × a number and the common powers × the rest, grouped by trigonometric functions, by parameters, or as a
        product."""
        if len(terms) == 1:
            ((powers, c),) = terms.items()
            return self.monomial(c, tuple(map(add, key, powers)))
        return min((self._without(common, key, terms) for common in self._commons(terms)), key=_size)

    def _without(self, common: Powers, key: Powers, terms: Terms) -> Draft:
        """key × common × Σ terms/common."""
        outside = tuple(map(add, key, common))
        number = 1 if self.p.floats or not any(outside) else content(terms.values())
        cofactor = terms if not any(common) else {tuple(map(sub, powers, common)): c for powers, c in terms.items()}
        cofactor = scaled(cofactor, number)
        written = tuple(cofactor.items())
        if written not in self._cofactors:
            self._cofactors[written] = min(self._sums(cofactor), key=_size)
        return times(self.monomial(number, outside), self._cofactors[written])

    def _sums(self, terms: Terms) -> list[Draft]:
        """Candidate forms of a sum whose terms have no common factor."""
        flat = sum_of([self.monomial(c, powers) for powers, c in terms.items()])
        if len(terms) < 3:
            return [flat]
        if len(terms) == 3 and (square := self._square(terms)) is not None:
            return [flat, square]
        split = {powers: tuple(map(mul, powers, self._periodic_or_moving)) for powers in terms}
        if len(set(split.values())) == 1:
            return [flat]
        by_wave: dict[Powers, Terms] = {}
        by_cofactor: dict[Powers, Terms] = {}
        for powers, c in terms.items():
            wave, cofactor = split[powers], tuple(map(sub, powers, split[powers]))
            by_wave.setdefault(wave, {})[cofactor] = c
            by_cofactor.setdefault(cofactor, {})[wave] = c
        if len(by_wave) == len(terms) == len(by_cofactor):
            return [flat]
        return [flat, *(self._grouped(groups) for groups in (by_wave, by_cofactor)), *self._product(by_wave)]

    def _square(self, terms: Terms) -> Draft | None:
        """(a ± b)² of a² ± 2 a b + b², with either sign; None otherwise."""
        for sign in (1, -1):
            signed = [(powers, sign * c) for powers, c in terms.items()]
            for i, (powers, c) in enumerate(signed):
                (a, p), (b, q) = (_root(*term) for j, term in enumerate(signed) if j != i)
                if p and q and abs(c) == 2 * p * q and powers == tuple(map(add, a, b)):
                    inside = sum_of([self.monomial(p, a), self.monomial(q if c > 0 else -q, b)])
                    return _squared(sign, inside)
        return None

    def _grouped(self, groups: Mapping[Powers, Terms]) -> Draft:
        drafts = []
        for key, inner in groups.items():
            if len(inner) == 1:
                ((powers, c),) = inner.items()
                drafts.append(self.monomial(c, tuple(map(add, key, powers))))
                continue
            number = 1 if self.p.floats or not any(key) else content(inner.values())
            inside = sum_of([self.monomial(c, powers) for powers, c in scaled(inner, number).items()])
            drafts.append(times(self.monomial(number, key), inside))
        return sum_of(drafts)

    def _product(self, groups: Mapping[Powers, Terms]) -> list[Draft]:
        """(Σ trigonometric terms)(Σ parameters), if every group is a multiple of the first."""
        first, *others = groups.values()
        if not others or any(inner.keys() != first.keys() for inner in others):
            return []
        key = next(iter(first))
        ratios = [MPQ(inner.get(key, 0)) / first[key] for inner in groups.values()]
        pairs = zip(ratios, groups.values(), strict=True)
        alike = all({k: c * ratio for k, c in first.items()} == inner for ratio, inner in pairs)
        if not alike:
            return []
        waves = sum_of([self.monomial(ratio, wave) for ratio, wave in zip(ratios, groups, strict=True)])
        parameters = sum_of([self.monomial(c, powers) for powers, c in first.items()])
        return [times(waves, parameters)._replace(size=waves.size + parameters.size + 3 + 2 * (parameters.terms > 1))]

    def monomial(self, c: Number, powers: Powers) -> Draft:
        """c × Π atom^power, with tanⁿ for sinⁿ/cosⁿ."""
        lengths: Any = self._lengths.get(powers)
        if lengths is None:
            lengths = self._lengths[powers] = self._factors(powers)
        above, n_above, below, n_below, factors = lengths
        if c != 1 and c != -1:
            n, d = abs(c.numerator), c.denominator
            (upper, lower) = _of_number(n, d, self.p.floats)
            above, n_above, below, n_below = above + upper, n_above + (upper > 0), below + lower, n_below + (lower > 0)
        size = above + n_above - 1 if n_above else 1
        if n_below:
            size += below + n_below + (2 if n_below > 1 else 0)
        return Draft(size, c.numerator < 0, 1 if n_above or n_below else 0, lambda: self._monomial(c, *factors))

    def _factors(self, powers: Powers) -> tuple[int, int, int, int, tuple[list[tuple[int, int]], dict[int, int]]]:
        """Lengths and numbers of factors in numerator and denominator, tangents, and the remaining powers."""
        remaining, tangents = {i: p for i, p in enumerate(powers) if p}, []
        if min(powers, default=0) < 0:
            for i, j in self.p.circles:
                s, k = remaining.get(i, 0), remaining.get(j, 0)
                if s and s == -k:
                    tangents.append((i, s))
                    remaining[i] = remaining[j] = 0
        above = n_above = below = n_below = 0
        for i, p in (*tangents, *remaining.items()):
            size = self._sizes[i]
            if p != 1 and p != -1:
                size += 2 + digits(abs(p))
            if p > 0:
                above, n_above = above + size, n_above + 1
            elif p < 0:
                below, n_below = below + size, n_below + 1
        return above, n_above, below, n_below, (tangents, remaining)

    def _monomial(self, c: Number, tangents: list[tuple[int, int]], powers: Mapping[int, int]) -> list[Term]:
        atoms = self.p.atoms
        plain = {atoms[i]: p for i, p in powers.items() if p and not atoms[i].is_Add}
        sums = [raised_term(as_factor(self._short(atoms[i]).terms), p) for i, p in powers.items() if p and atoms[i].is_Add]
        waves: list[Term] = [(1, {_tangent(atoms[i].args[0]): n}) for i, n in tangents]  # tan may also be an atom
        return [reduce(multiplied, (*waves, *sums), (c, plain))]


def _root(powers: Powers, c: Number) -> tuple[Powers, int]:
    """(powers, number) of √(c Π atom^power); the number is 0 if there is no root."""
    root = isqrt(c.numerator) if c > 0 and c.denominator == 1 else 0
    even = root**2 == c and all(p % 2 == 0 for p in powers)
    return tuple(p // 2 for p in powers), root if even else 0


def _squared(sign: int, inside: Draft) -> Draft:
    """±(inside)²."""
    make = lambda: [multiplied((sign, {}), raised_term(as_factor(inside.make()), 2))]
    return Draft(inside.size + 5, sign < 0, 1, make)


def commons(terms: Iterable[Powers], infinite: Collection[int] = ()) -> list[Powers]:
    """The factors that may be taken out of all terms: their common factors, and these over the least common denominator.

    `infinite`: atoms not allowed as a denominator of all terms, since (a + b tan θ)/tan θ is ∞/∞ at π/2.
    """
    columns = list(zip(*terms, strict=True))
    lowest = tuple(map(min, columns))
    shared = tuple(low if low >= 0 else min(0, max(column)) for low, column in zip(lowest, columns, strict=True))
    lowest = tuple(s if i in infinite else low for i, (low, s) in enumerate(zip(lowest, shared, strict=True)))
    return [lowest] if shared == lowest else [lowest, shared]


def _size(draft: Draft) -> int:
    return draft.size + draft.minus


def shortest(drafts: Iterable[Draft]) -> Draft:
    """The shortest draft, the first if there are several."""
    return min(drafts, key=_size)


def _of_number(n: int, d: int, floats: bool) -> tuple[int, int]:
    """Lengths of a coefficient's numerator and denominator, 0 if not written."""
    if floats and max(n, d) > 1000:
        return len(f"{n / d:.15g}") if n.bit_length() - d.bit_length() < 1023 else digits(n), 0
    return (digits(n) if n != 1 else 0), (digits(d) if d != 1 else 0)


def _with_used_atoms(p: Polynomial) -> Polynomial:
    """The same draft without unused atoms."""
    used = [any(column) for column in zip(*p.terms, strict=True)]
    if all(used):
        return p
    return Polynomial(list(compress(p.atoms, used)), {tuple(compress(k, used)): c for k, c in p.terms.items()}, p.floats)


@lru_cache(maxsize=1024)
def _tangent(angle: Any) -> Any:
    return sympy.tan(angle)


def _is_moving(s: Any) -> bool:
    """A velocity, an acceleration or a multiplier."""
    return (isinstance(s, Jet) and s.level > 0) or hasattr(s, "label")
