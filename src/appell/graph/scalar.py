"""Scalars of any kind: Python and NumPy numbers, NumPy arrays as batches, graph values, expressions; the same code for all.

An algorithm written with +, −, ·, / and the few functions here runs on all of them. Python floats are constants: they are
folded before they reach the graph, and the graph drops 0·x, x + 0 and 1·x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

Scalar = Any  # float, np.ndarray (a batch), a 1×1 graph value or an expression


class GraphScalar(ca.SX):
    """A 1×1 graph value whose operators call CasADi's `binary` directly.

    CasADi's own +, −, · and / first resolve overloads, which takes thirty times as long. The resulting nodes are the same.
    """

    __slots__ = ()
    __array_priority__ = 2000.0  # above NumPy's numbers, which then defer to these operators

    def __neg__(self) -> ca.SX:
        result = ca.SX.unary(ca.OP_NEG, self)
        result.__class__ = GraphScalar
        return result


@lru_cache(maxsize=65536)
def _constant(value: float) -> ca.SX:
    return ca.SX(value)


def _number(value: float) -> ca.SX:
    value = float(value)
    return _constant(value or 0.0) if value == value else ca.SX(value)  # −0 is 0 in CasADi


def _operator(code: int, name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    plain, binary = getattr(ca.SX, name), ca.SX.binary

    def apply(x: Any, y: Any) -> Any:
        if isinstance(y, GraphScalar):
            pass
        elif isinstance(y, float | int):
            y = _number(y)
        else:
            return plain(x, y)
        result = binary(code, y, x) if swapped else binary(code, x, y)
        result.__class__ = GraphScalar
        return result

    return apply


for _code, _name in ((ca.OP_ADD, "add"), (ca.OP_SUB, "sub"), (ca.OP_MUL, "mul"), (ca.OP_DIV, "truediv")):
    setattr(GraphScalar, f"__{_name}__", _operator(_code, f"__{_name}__", False))
    setattr(GraphScalar, f"__r{_name}__", _operator(_code, f"__r{_name}__", True))


def _unary(code: int, x: Any) -> Any:
    result = ca.SX.unary(code, x)
    if isinstance(x, GraphScalar):
        result.__class__ = GraphScalar
    return result


def sin(x: Scalar) -> Scalar:
    if isinstance(x, sympy.Expr):
        return sympy.sin(x)
    return math.sin(x) if isinstance(x, float | int) else _unary(ca.OP_SIN, x) if isinstance(x, ca.SX) else np.sin(x)


def cos(x: Scalar) -> Scalar:
    if isinstance(x, sympy.Expr):
        return sympy.cos(x)
    return math.cos(x) if isinstance(x, float | int) else _unary(ca.OP_COS, x) if isinstance(x, ca.SX) else np.cos(x)


def is_constant_zero(x: Scalar) -> bool:
    """Whether x is identically 0."""
    return bool(x.is_zero()) if isinstance(x, ca.SX) else isinstance(x, float | int) and x == 0


def scalars(column: ca.SX) -> list[ca.SX]:
    """The entries of a dense column."""
    entries = [ca.SX(entry) for entry in ca.vertsplit(column)] if column.numel() else []
    for entry in entries:
        entry.__class__ = GraphScalar
    return entries


def stacked(entries: Sequence[Scalar]) -> ca.SX:
    """The entries as a column, (n, 1)."""
    return ca.vertcat(*[x if isinstance(x, ca.SX) else ca.SX(x) for x in entries]) if len(entries) else ca.SX.zeros(0, 1)
