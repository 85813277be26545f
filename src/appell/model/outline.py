"""The structure of an expression without its names and numbers.

    sqrt((x1 − x0)² + (y1 − y0)²) − 2,   sqrt((x7 − x3)² + (y7 − y3)²) − 5        one key, other symbols and numbers

Fifty discs in a box have 1,425 faces and a handful of keys: properties of the structure are determined once.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Symbol

from appell.jets import Coordinate, Parameter
from appell.tabulated import Tabulated


@dataclass(frozen=True)
class Outline:
    """A key without names and numbers, and the symbols and numbers in order of occurrence."""

    key: Any
    coordinates: tuple[Any, ...]
    parameters: tuple[Any, ...]
    numbers: tuple[float, ...]

    @staticmethod
    def of(*expressions: Any, alike: Container[Any] | None = None) -> Outline:
        """alike: the coordinates whose names do not matter, all by default."""
        walk = _Walk(alike)
        key = tuple(walk.key(e) for e in expressions)
        return Outline(key, tuple(walk.coordinates), tuple(walk.parameters), tuple(walk.numbers))


class _Walk:
    """Traverses an expression from left to right; numbers are extracted unless they are exponents or orders of derivatives."""

    def __init__(self, alike: Container[Any] | None):
        self.alike = alike
        self.coordinates: dict[Any, int] = {}
        self.parameters: dict[Any, int] = {}
        self.numbers: list[float] = []

    def key(self, e: Any) -> Any:
        if isinstance(e, Coordinate) and (self.alike is None or e in self.alike):
            return "q", self.coordinates.setdefault(e, len(self.coordinates))
        if isinstance(e, Parameter):
            return "p", self.parameters.setdefault(e, len(self.parameters))
        if e.is_Number:
            self.numbers.append(float(e))
            return "c"
        if not e.args:
            return str(e)
        if isinstance(e, Tabulated):
            pieces, x, order = e._parts
            return "Tabulated", pieces.digest, int(order), self.key(x)
        if isinstance(e, sympy.Pow):
            return "Pow", self.key(e.base), str(e.exp) if e.exp.is_number else self.key(e.exp)
        if isinstance(e, sympy.Add | sympy.Mul) or e.is_Function:
            return e.func.__name__, *(self.key(a) for a in e.args)
        return str(e)


def with_letters_for_numbers(e: Any, letter: Callable[[float], Symbol]) -> Any:
    """The expression with a symbol for each number, in the order of its outline."""
    if e.is_Number:
        return letter(float(e))
    if isinstance(e, sympy.Pow):
        base = with_letters_for_numbers(e.base, letter)
        return sympy.Pow(base, e.exp if e.exp.is_number else with_letters_for_numbers(e.exp, letter))
    if isinstance(e, Tabulated):
        pieces, x, order = e._parts
        return Tabulated(pieces, with_letters_for_numbers(x, letter), order)
    if e.args and (isinstance(e, sympy.Add | sympy.Mul) or e.is_Function):
        return e.func(*(with_letters_for_numbers(a, letter) for a in e.args))
    return e


__all__ = ["Outline", "with_letters_for_numbers"]
