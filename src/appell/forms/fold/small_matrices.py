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


EXPANDED_OPERATIONS, FACTORED_OPERATIONS = 150, 60
"""Operations up to which an expression is expanded, and up to which it is factored."""


def short(expr: Expr) -> Expr:
    """The shortest result of fast rewritings; `sympy.simplify` takes half a minute for sums of two angles."""
    if sympy.count_ops(expr) > EXPANDED_OPERATIONS:
        return expr
    plain = _pythagoras(sympy.expand(expr))
    forms = [expr, sympy.factor_terms(plain)]
    if sympy.count_ops(forms[1]) <= FACTORED_OPERATIONS:
        forms.append(expression(sympy.factor(plain), "a block"))
    return min(reversed(forms), key=sympy.count_ops)  # type: ignore[return-value]


def _pythagoras(expr: Expr) -> Expr:
    """An expanded expression with sin² + cos² = 1 used where that makes it shorter."""
    for angle in sorted({f.args[0] for f in expr.atoms(sympy.sin, sympy.cos)}, key=str):
        s, c = sympy.sin(angle), sympy.cos(angle)
        forms = [sympy.expand(expr.subs(a**2, 1 - b**2)) for a, b in ((s, c), (c, s))]
        expr = min(expr, *forms, key=sympy.count_ops)  # type: ignore[assignment]
    return expr


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
