"""Small matrices of expressions."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr, Matrix

from appell.errors import FormNotApplicable
from appell.jets import expression


def column(values: Sequence[Expr]) -> Matrix:
    """(n, 1), also for n = 0."""
    return Matrix(len(values), 1, list(values))


def entries(matrix: Matrix) -> list[Expr]:
    """The entries row by row."""
    return list(matrix.flat())


def dot(left: Matrix, right: Matrix) -> Expr:
    """Σ left_i right_i."""
    return sympy.Add(*(x * y for x, y in zip(entries(left), entries(right), strict=True)))


def short(expr: Expr) -> Expr:
    """The shortest of what quick simplifications give."""
    if sympy.count_ops(expr) > 400:
        return expr
    forms = [expr, sympy.factor_terms(sympy.expand(expr))]
    if sympy.count_ops(forms[1]) <= 60:
        forms += [sympy.simplify(forms[1]), sympy.factor(forms[1])]
    return min(reversed(forms), key=sympy.count_ops)  # type: ignore[return-value]


def inverse(K: Matrix) -> Matrix:
    """K⁻¹ by its adjugate up to four rows, by elimination beyond."""
    if K.rows == 0:
        return K
    if K.rows > 4:
        return K.inv(method="LU")  # type: ignore[return-value]
    det = short(expression(K.det(method="berkowitz"), "a determinant"))
    if det == 0:
        raise FormNotApplicable("the inertia of the coordinates y is singular, so their velocities do not follow from p")
    return (K.adjugate() / det).applyfunc(short)
