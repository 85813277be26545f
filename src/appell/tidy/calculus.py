"""Derivatives of expanded sums, without building expressions.

D Π x_i^{p_i} = Σ p_i x_i^{p_i − 1} D x_i Π x_j^{p_j},        D sin a = cos a D a,        D cos a = −sin a D a
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import Any

import sympy

from appell.tidy.factor import Factoring
from appell.tidy.polynomial import Expansion, Packed, Polynomial, packed_product
from appell.tidy.short import is_single_product, shorter
from appell.tidy.sums import Sum, wave
from appell.tidy.terms import Powers, base_and_power, number_of, quotient

ZERO = sympy.S.Zero
EXPANDED_TERMS = 200
"""Largest number of terms of an expression that is expanded here."""


class NotExpanded(Exception):
    """An expression that is too long when expanded, contains floats, or has moving arguments in functions other than sin and
    cos."""


class AtomDerivation:
    """D with its cache. `value(symbol)` is D on symbols: a symbol, a number, or None where it vanishes."""

    def __init__(self, calculus: Calculus, value: Callable[[Any], Any]):
        self._calculus, self._value = calculus, value
        self._slopes_of_atoms: dict[Any, Packed] = {}

    def __call__(self, p: Packed) -> Packed:
        expansion = self._calculus.expansion
        rows, occurring = self._calculus.powers(p)
        slopes = [(i, expansion.monomial_of(x), d) for i in occurring if (d := self.of_atom(x := expansion.atoms[i]))]
        slope: Packed = {}
        for powers, (monomial, c) in zip(rows, p.items(), strict=True):
            for i, removed, d in slopes:
                if power := powers[i]:
                    for m, k in d.items():
                        key = monomial - removed + m
                        slope[key] = slope.get(key, 0) + c * power * k
        return {m: c for m, c in slope.items() if c}

    def of_atom(self, x: Any) -> Packed:
        """D x."""
        if x not in self._slopes_of_atoms:
            self._slopes_of_atoms[x] = self._derive(x)
        return self._slopes_of_atoms[x]

    def _derive(self, x: Any) -> Packed:
        expansion = self._calculus.expansion
        if x.is_Symbol:
            slope = self._value(x)
            return {} if slope is None else {0: slope} if isinstance(slope, int) else {expansion.monomial_of(slope): 1}
        if all(self._value(s) is None for s in x.free_symbols):
            return {}
        if not isinstance(x, sympy.sin | sympy.cos):
            raise NotExpanded
        angle = x.args[0]
        inner = self.of_atom(angle) if angle.is_Symbol else self(self._calculus.read(angle))
        partner, sign = (sympy.cos, 1) if isinstance(x, sympy.sin) else (sympy.sin, -1)
        factor = expansion.monomial_of(wave(partner, angle)) if inner else 0
        return {m + factor: sign * c for m, c in inner.items()}


class Calculus:
    """Expanded expressions in common atoms."""

    def __init__(self):
        self.expansion = Expansion(single=False)
        self._powers: dict[int, tuple[Packed, Any]] = {}  # keeps the terms alive, so that their ids stay unique

    def read(self, expr: Any) -> Packed:
        """The expanded expression; raises `NotExpanded` where that is too long or not exact."""
        if expr is ZERO:
            return {}
        expanded: Packed = {}
        for term in expr.args if expr.is_Add else (expr,):
            for monomial, c in self._term(term).items():
                expanded[monomial] = expanded.get(monomial, 0) + c
        if len(expanded) > EXPANDED_TERMS:
            raise NotExpanded
        return {monomial: c for monomial, c in expanded.items() if c}

    def _term(self, term: Any) -> Packed:
        """An expanded product."""
        monomial, number, sums = 0, 1, []
        for x in term.args if term.is_Mul else (term,):
            if x.is_Symbol:
                monomial += self.expansion.monomial_of(x)
            elif x.is_Rational:
                number *= number_of(x)
            elif x.is_Float:
                raise NotExpanded
            else:
                base, power = base_and_power(x)
                if base.is_Add and power > 0:
                    sums += [self.read(base)] * power
                else:
                    monomial += power * self.expansion.monomial_of(base)
        expanded: Packed = {monomial: number}
        for terms in sums:
            expanded = packed_product(expanded, terms)
            if len(expanded) > EXPANDED_TERMS:
                raise NotExpanded
        return expanded

    def powers(self, p: Packed) -> tuple[list[Powers], list[int]]:
        """The powers of the terms, and the indices of the atoms that occur."""
        stored = self._powers.get(id(p))
        if stored is None:
            rows = self.expansion.rows(p)
            columns = rows[0] if len(rows) == 1 else map(any, zip(*rows, strict=True))
            stored = self._powers[id(p)] = p, (rows, [i for i, occurs in enumerate(columns) if occurs])
        return stored[1]

    def derivation(self, value: Callable[[Any], Any]) -> AtomDerivation:
        """D by its values on symbols."""
        return AtomDerivation(self, value)

    def gradient(self, p: Packed, symbols: Sequence[Any]) -> list[Packed]:
        """∂p/∂s for each of the symbols, in one pass over the terms."""
        p, denominator = without_denominators(p)
        rows, occurring = self.powers(p)
        index = {s: k for k, s in enumerate(symbols)}
        atoms = [(i, self.expansion.atoms[i]) for i in occurring]
        by_atom = [(i, self.expansion.monomial_of(x), slopes) for i, x in atoms if (slopes := self._slopes(x, index))]
        gradient: list[Packed] = [{} for _ in symbols]
        for powers, (monomial, c) in zip(rows, p.items(), strict=True):
            for i, removed, slopes in by_atom:
                if power := powers[i]:
                    for k, d in slopes:
                        terms = gradient[k]
                        for m, n in d.items():
                            key = monomial - removed + m
                            terms[key] = terms.get(key, 0) + c * power * n
        return [over({m: c for m, c in terms.items() if c}, denominator) for terms in gradient]

    def _slopes(self, x: Any, index: dict[Any, int]) -> list[tuple[int, Packed]]:
        """(k, ∂x/∂s_k) of an atom, for the symbols that it contains."""
        if x.is_Symbol:
            return [(index[x], {0: 1})] if x in index else []
        indices = sorted(index[s] for s in x.free_symbols if s in index)
        symbols = list(index)
        return [(k, AtomDerivation(self, lambda y, s=symbols[k]: 1 if y == s else None).of_atom(x)) for k in indices]

    def short(self, p: Packed, limit: int) -> Sum:
        """The shortest known form of an expanded expression."""
        if not p:
            return Sum([(0, {})])
        rows, used = self.powers(p)
        atoms = self.expansion.atoms
        sum_ = Sum([(c, {atoms[i]: n for i in used if (n := powers[i])}) for powers, c in zip(rows, p.values(), strict=True)])
        if is_single_product(sum_):
            return sum_
        terms = {tuple([powers[i] for i in used]): c for powers, c in zip(rows, p.values(), strict=True)}
        return Factoring().of(shorter(sum_, limit, False, given=Polynomial([atoms[i] for i in used], terms)))

    def is_plain(self) -> bool:
        """Whether everything read so far consists of symbols, sines and cosines only."""
        return all(x.is_Symbol or isinstance(x, sympy.sin | sympy.cos) for x in self.expansion.atoms)


def total(*parts: Packed) -> Packed:
    """Σ parts."""
    sum_: Packed = {}
    for p in parts:
        for m, c in p.items():
            sum_[m] = sum_.get(m, 0) + c
    return {m: c for m, c in sum_.items() if c}


def without_denominators(p: Packed) -> tuple[Packed, int]:
    """(n p, n) with integer coefficients, whose arithmetic is fast."""
    n = lcm(*[c.denominator for c in p.values()])
    return (p, n) if n == 1 else ({m: int(c * n) for m, c in p.items()}, n)


def over(p: Packed, n: int) -> Packed:
    """p/n."""
    return p if n == 1 else {m: quotient(c, n) for m, c in p.items()}


def times(p: Packed, monomial: int, c: Any = 1) -> Packed:
    """c × monomial × p."""
    return {m + monomial: c * d for m, d in p.items()}
