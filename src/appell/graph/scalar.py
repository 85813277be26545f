"""Scalars of any kind: Python and NumPy numbers, NumPy arrays as batches, graph values, expressions. One text, many uses.

An algorithm written with +, −, ·, / and the few functions here runs on all of them. Python floats are constants: they
fold among themselves before they ever meet the graph, and the graph drops 0·x, x + 0 and 1·x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import sympy

Scalar = Any  # float, np.ndarray (a batch), a 1×1 graph value or an expression


def sin(x: Scalar) -> Scalar:
    if isinstance(x, sympy.Expr):
        return sympy.sin(x)
    return math.sin(x) if isinstance(x, float | int) else ca.sin(x) if isinstance(x, ca.SX) else np.sin(x)


def cos(x: Scalar) -> Scalar:
    if isinstance(x, sympy.Expr):
        return sympy.cos(x)
    return math.cos(x) if isinstance(x, float | int) else ca.cos(x) if isinstance(x, ca.SX) else np.cos(x)


def is_constant_zero(x: Scalar) -> bool:
    """Whether x is 0 whatever the state."""
    return bool(x.is_zero()) if isinstance(x, ca.SX) else isinstance(x, float | int) and x == 0


def scalars(column: ca.SX) -> list[ca.SX]:
    """The entries of a dense column."""
    return [ca.SX(entry) for entry in ca.vertsplit(column)] if column.numel() else []


def stacked(entries: Sequence[Scalar]) -> ca.SX:
    """The entries as a column, (n, 1)."""
    return ca.vertcat(*[ca.SX(entry) for entry in entries]) if len(entries) else ca.SX.zeros(0, 1)
