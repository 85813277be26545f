"""Long expressions with names for shared parts: each part is written once.

    x = (a + b)²/(c (a + b) + d)        becomes        k₁ = a + b,    x = k₁²/(c k₁ + d)

Expressions from an elimination share most of their parts: written out they grow as 4ⁿ, with names as n³.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sympy import Symbol

from appell import tidy
from appell.jets import Parameter

REPEATED_CHARACTERS = 12
"""Longest part, in characters, that is repeated instead of named."""
STEMS = ("k", "c", "s", "K", "C", "S")


def named(values: Mapping[Symbol, Any], others: Iterable[Symbol] = ()) -> tuple[dict[Symbol, Any], dict[Symbol, Any]]:
    """(names → their definitions, each in earlier names; values in names). `others`: symbols not to be used as names."""
    sharing = tidy.Sharing()
    shared = {x: sharing(value) for x, value in values.items()}
    uses = Counter(id(value) for value in shared.values())
    for _, args in sharing.parts:
        uses.update(map(id, args))
    stem = _stem({*others, *values, *(s for e, args in sharing.parts if not args for s in e.free_symbols)})
    names: dict[Symbol, Any] = {}
    short: dict[int, Any] = {}
    for e, args in sharing.parts:
        rebuilt = e.func(*(short[id(x)] for x in args)) if args else e
        if uses[id(e)] > 1 and _is_worth(rebuilt):
            symbol = Parameter(f"{stem}{len(names) + 1}")
            names[symbol] = rebuilt
            rebuilt = symbol
        short[id(e)] = rebuilt
    return names, {x: short[id(value)] for x, value in shared.items()}


def _is_worth(e: Any) -> bool:
    return (e.is_Add or e.is_Mul or e.is_Pow) and tidy.characters(e) > REPEATED_CHARACTERS


def _stem(symbols: set[Any]) -> str:
    """A letter that no symbol begins with."""
    begins = {str(s)[:1] for s in symbols}
    return next((stem for stem in STEMS if stem not in begins), "named")
