"""Derivatives of sums that are multiplied out: no expression is made on the way.

    D Π x_i^{p_i} = Σ p_i x_i^{p_i − 1} D x_i Π x_j^{p_j},        D sin a = cos a D a,        D cos a = −sin a D a
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from appell.tidy.polynomial import Expansion, Packed, Polynomial
from appell.tidy.short import count, shorter
from appell.tidy.sums import FLOATS, Sum, wave

LARGEST = 200
"""Terms up to which an expression is multiplied out here."""


class NotExpanded(Exception):
    """An expression that is long when multiplied out, contains floats, or moves inside a function other than sin and cos."""


class Derivation:
    """D with its memory. `value(symbol)` is D on symbols: a symbol, a number, or None where it vanishes."""

    def __init__(self, calculus: Calculus, value: Callable[[Any], Any]):
        self._calculus, self._value = calculus, value
        self._known: dict[Any, Packed] = {}

    def __call__(self, p: Packed) -> Packed:
        expansion = self._calculus.expansion
        rows = list(expansion.unpacked(p))
        there = [i for i, column in enumerate(zip(*rows, strict=True)) if any(column)]
        slopes = [(i, expansion.place(x), d) for i in there if (d := self.of_atom(x := expansion.atoms[i]))]
        out: Packed = {}
        for powers, (monomial, c) in zip(rows, p.items(), strict=True):
            for i, place, d in slopes:
                if power := powers[i]:
                    for m, k in d.items():
                        key = monomial - place + m
                        out[key] = out.get(key, 0) + c * power * k
        return {m: c for m, c in out.items() if c}

    def of_atom(self, x: Any) -> Packed:
        """D x."""
        if x not in self._known:
            self._known[x] = self._derive(x)
        return self._known[x]

    def _derive(self, x: Any) -> Packed:
        expansion = self._calculus.expansion
        if x.is_Symbol:
            slope = self._value(x)
            return {} if slope is None else {0: slope} if isinstance(slope, int) else {expansion.place(slope): 1}
        if all(self._value(s) is None for s in x.free_symbols):
            return {}
        if not isinstance(x, sympy.sin | sympy.cos):
            raise NotExpanded
        angle = x.args[0]
        inner = self.of_atom(angle) if angle.is_Symbol else self(self._calculus.read(angle))
        other, sign = (sympy.cos, 1) if isinstance(x, sympy.sin) else (sympy.sin, -1)
        place = expansion.place(wave(other, angle)) if inner else 0
        return {m + place: sign * c for m, c in inner.items()}


class Calculus:
    """Expressions multiplied out in common atoms."""

    def __init__(self):
        self.expansion = Expansion(single=False)

    def read(self, expr: Any) -> Packed:
        """The expression multiplied out; `NotExpanded` where that is long or not exact."""
        known: dict[Any, Any] = {}
        whole = Sum.of(expr, known)
        if FLOATS in known or count(whole, LARGEST) > LARGEST:
            raise NotExpanded
        return dict(self.expansion.of(whole))

    def derivation(self, value: Callable[[Any], Any]) -> Derivation:
        """D by its values on symbols."""
        return Derivation(self, value)

    def partial(self, s: Any) -> Derivation:
        """∂/∂s."""
        return Derivation(self, lambda x: 1 if x == s else None)

    def short(self, p: Mapping[int, Any], limit: int) -> Sum:
        """The shortest way that is known to write it."""
        if not p:
            return Sum([(0, {})])
        terms = self.expansion.unpacked(p)
        used = [i for i, column in enumerate(zip(*terms, strict=True)) if any(column)]
        atoms = [self.expansion.atoms[i] for i in used]
        polynomial = Polynomial(atoms, {tuple(map(powers.__getitem__, used)): c for powers, c in terms.items()})
        return shorter(polynomial.as_sum(), limit, False, given=polynomial)


def total(*parts: Packed) -> Packed:
    """Σ parts."""
    out: Packed = {}
    for part in parts:
        for m, c in part.items():
            out[m] = out.get(m, 0) + c
    return {m: c for m, c in out.items() if c}


def times(p: Packed, monomial: int, c: Any = 1) -> Packed:
    """c × monomial × p."""
    return {m + monomial: c * d for m, d in p.items()}
