"""Expressions in which equal parts are the same object.

Comparing two equal expressions as deep as the solution of n equations takes 4ⁿ steps, unless they share their parts. Results
from caches, SymPy's and ours, mix old objects with new ones.
"""

from __future__ import annotations

from typing import Any

from sympy import Pow


class Sharing:
    """share(expression) is an equal expression that shares its parts with all expressions before; `parts` are these sums,
    products and powers, inner ones first, each once.

    A sum, a product or a power is identified by its parts, anything else by itself.
    """

    def __init__(self) -> None:
        self._representative: dict[int, Any] = {}  # id of an object → the representative of all equal ones
        self._by_structure: dict[Any, Any] = {}
        self._alive: list[Any] = []  # keeps objects alive, so that ids stay unique
        self.parts: list[tuple[Any, tuple[Any, ...]]] = []

    def __call__(self, top: Any) -> Any:
        self._alive.append(top)
        stack = [(top, False)]  # an explicit stack, because expressions are deep
        while stack:
            e, has_parts = stack.pop()
            if id(e) in self._representative:
                continue
            nested = e.is_Add or e.is_Mul or e.is_Pow
            if nested and not has_parts:
                stack.append((e, True))
                stack.extend((x, False) for x in e.args)
            else:
                self._representative[id(e)] = self._of_parts(e) if nested else self._leaf(e)
        return self._representative[id(top)]

    def _leaf(self, e: Any) -> Any:
        if e not in self._by_structure:
            self._by_structure[e] = e
            self.parts.append((e, ()))
        return self._by_structure[e]

    def _of_parts(self, e: Any) -> Any:
        parts = [self._representative[id(x)] for x in e.args]
        key = (e.func, *map(id, parts))
        if key not in self._by_structure:
            is_shared = all(x is y for x, y in zip(parts, e.args, strict=True))
            rebuilt = e if is_shared else Pow(*parts, evaluate=False) if e.is_Pow else e._from_args(parts, e.is_commutative)
            self._by_structure[key] = self._representative[id(rebuilt)] = rebuilt
            self._alive.append(rebuilt)
            self.parts.append((rebuilt, tuple(parts)))
        return self._by_structure[key]
