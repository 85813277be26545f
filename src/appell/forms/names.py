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
    uses: Counter[Any] = Counter()
    order: list[Any] = []
    for value in values.values():
        _count(value, uses, order)
    stem = _stem({*others, *values, *(s for e in uses if e.is_Symbol or isinstance(e, sympy.Function) for s in e.free_symbols)})
    names: dict[Symbol, Any] = {}
    short: dict[Any, Any] = {}
    for e in order:  # parts before what they are part of
        made = e.func(*(short.get(x, x) for x in e.args))
        if uses[e] > 1 and _is_worth(made):
            symbol = Parameter(f"{stem}{len(names) + 1}")
            names[symbol] = made
            made = symbol
        short[e] = made
    return names, {x: short.get(value, value) for x, value in values.items()}


def _is_worth(e: Any) -> bool:
    return (e.is_Add or e.is_Mul or e.is_Pow) and tidy.characters(e) > SHORT


def _count(top: Any, uses: Counter[Any], order: list[Any]) -> None:
    """Counts in how many places each part stands, and lists parts innermost first (a stack of its own: they are deep)."""
    stack: list[tuple[Any, bool]] = [(top, False)]
    while stack:
        e, done = stack.pop()
        if done:
            order.append(e)
            continue
        uses[e] += 1
        if uses[e] == 1 and e.args and not isinstance(e, sympy.Function):
            stack.append((e, True))
            stack.extend((x, False) for x in e.args)


def _stem(taken: set[Any]) -> str:
    """A letter with which no symbol begins."""
    begins = {str(s)[:1] for s in taken}
    return next((stem for stem in STEMS if stem not in begins), "named")
