"""Long expressions with names for what they share: each part is written once.

    x = (a + b)²/(c (a + b) + d)        becomes        k₁ = a + b,    x = k₁²/(c k₁ + d)

Expressions that come out of an elimination share most of their parts: written out they grow as 4ⁿ, with names as n³.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import sympy
from sympy import Symbol

from appell import tidy
from appell.jets import Parameter

SHORT = 12
"""Characters up to which a part is repeated and not named."""
STEMS = ("k", "c", "s", "K", "C", "S")


def named(values: Mapping[Symbol, Any], others: Iterable[Symbol] = ()) -> tuple[dict[Symbol, Any], dict[Symbol, Any]]:
    """(names → what they stand for, each in the names before it; values in names). `others` are symbols not to be used."""
    parts = _Parts()
    for value in values.values():
        parts.read(value)
    stem = _stem({*others, *values, *parts.symbols})
    names: dict[Symbol, Any] = {}
    short: dict[int, Any] = {}
    for e in parts.order:  # parts before what they are part of
        made = e.func(*(short.get(id(x := parts.one[id(arg)]), x) for arg in e.args))
        if parts.uses[id(e)] > 1 and _is_worth(made):
            symbol = Parameter(f"{stem}{len(names) + 1}")
            names[symbol] = made
            made = symbol
        short[id(e)] = made
    return names, {x: short.get(id(one := parts.one[id(value)]), one) for x, value in values.items()}


def _is_worth(e: Any) -> bool:
    return (e.is_Add or e.is_Mul or e.is_Pow) and tidy.characters(e) > SHORT


class _Parts:
    """The parts of expressions, innermost first, and in how many places each stands. Equal parts are one object, known by
    its own parts: to compare two long ones takes as long as they are."""

    def __init__(self) -> None:
        self.one: dict[int, Any] = {}  # of an object → the one that stands for all equal ones
        self.uses: Counter[int] = Counter()
        self.order: list[Any] = []
        self.symbols: set[Symbol] = set()
        self._equal: dict[Any, Any] = {}
        self._alive: list[Any] = []

    def read(self, top: Any) -> None:
        """All parts of an expression (by a stack of its own: they are deep)."""
        self._alive.append(top)
        stack: list[tuple[Any, bool]] = [(top, False)]
        while stack:
            e, done = stack.pop()
            if id(e) in self.one:
                continue
            is_leaf = not e.args or isinstance(e, sympy.Function)
            if not (done or is_leaf):
                stack.append((e, True))
                stack.extend((x, False) for x in e.args)
                continue
            inside = [] if is_leaf else [id(self.one[id(x)]) for x in e.args]
            self.one[id(e)] = one = self._equal.setdefault(e if is_leaf else (e.func, *inside), e)
            if one is e:
                self._keep(e, inside)
        self.uses[id(self.one[id(top)])] += 1

    def _keep(self, e: Any, inside: list[int]) -> None:
        self.uses.update(inside)
        if inside:
            self.order.append(e)
        else:
            self.symbols |= e.free_symbols


def _stem(taken: set[Any]) -> str:
    """A letter with which no symbol begins."""
    begins = {str(s)[:1] for s in taken}
    return next((stem for stem in STEMS if stem not in begins), "named")
