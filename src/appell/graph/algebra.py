"""The few operations on graph values that the rest of the library needs: derivatives, blocks, small dense solves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca

if TYPE_CHECKING:
    from appell.graph.fn import Fn

Value = ca.SX
VERSION = str(ca.CasadiMeta.version())  # of CasADi, which shares and orders the operations of a graph


def symbols(name: str, n: int) -> Value:
    """A column of n fresh inputs, (n, 1)."""
    return ca.SX.sym(name, n)


def column(*parts: Value) -> Value:
    """The parts stacked."""
    return ca.vertcat(*parts)


def take(values: Value, indices: Sequence[int]) -> Value:
    """Some entries of a column; none give shape (0, 1)."""
    return values[list(indices)] if len(indices) else zeros(0)


def block_matrix(rows: Sequence[Sequence[Value]]) -> Value:
    """[[K11, K12], [K21, K22]] and the like."""
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def zeros(rows: int, columns: int = 1) -> Value:
    return ca.SX(rows, columns)


def diagonal(entries: Value) -> Value:
    """The diagonal matrix of a column."""
    return ca.diag(entries)


def jacobian(y: Value, x: Value) -> Value:
    """∂y/∂x, (ny, nx), structural zeros kept."""
    return ca.jacobian(y, x)


def gradient(y: Value, x: Value) -> Value:
    """∂y/∂x of a scalar as a column, (nx, 1), by one reverse sweep."""
    return ca.gradient(y, x) if x.numel() else zeros(0)


def hessian(y: Value, x: Value) -> Value:
    """∂²y/∂x² of a scalar, (nx, nx)."""
    return ca.hessian(y, x)[0] if x.numel() else zeros(0, 0)


def derivative_along(y: Value, x: Sequence[Value], direction: Sequence[Value | int]) -> Value:
    """Σ ∂y/∂x_i · direction_i by one forward sweep."""
    return ca.jtimes(y, ca.vertcat(*x), ca.vertcat(*direction)) if y.numel() else zeros(*y.shape)


def substitute(y: Value, old: Sequence[Value], new: Sequence[Value]) -> Value:
    return substitute_all([y], old, new)[0] if y.numel() else y


def substitute_all(ys: Sequence[Value], old: Sequence[Value], new: Sequence[Value]) -> list[Value]:
    """Substitution in several values at once; shared subexpressions stay shared."""
    return list(ca.substitute(list(ys), list(old), [ca.densify(x) for x in new])) if ys else []


def depends(y: Value, x: Value) -> bool:
    """Whether y contains x structurally."""
    return bool(ca.depends_on(y, x)) if y.numel() and x.numel() else False


def used(y: Value, x: Value) -> list[int]:
    """Indices of the entries of the column x that y contains."""
    inside = {s.element_hash() for s in ca.symvar(y)}
    return [i for i in range(x.numel()) if x[i].element_hash() in inside]


def pattern(y: Value) -> list[tuple[int, int]]:
    """Indices (row, column) of the structurally nonzero entries of a matrix."""
    rows, columns = ca.sparsify(y).sparsity().get_triplet()
    return list(zip(rows, columns, strict=True))


def is_zero(y: Value) -> bool:
    """Whether y is structurally zero."""
    return bool(y.is_zero()) if y.numel() else True


def smallest(values: Sequence[Value]) -> Value:
    """The smallest of several scalars; 1 if there are none."""
    result = values[0] if values else ca.SX(1)
    for value in values[1:]:
        result = ca.fmin(result, value)
    return result


def greater(x: Value, y: Value) -> Value:
    """The greater of two values."""
    return ca.fmax(x, y)


def largest(values: Value) -> Value:
    """max |y_i| of a column; 0 if it is empty."""
    result = ca.SX(0)
    for i in range(values.numel()):
        result = ca.fmax(result, ca.fabs(values[i]))
    return result


def where(condition: Value, value: Value | float, otherwise: Value | float) -> Value:
    """`value` where the condition holds, else `otherwise`; both are evaluated."""
    return ca.if_else(condition, value, otherwise)


def where_finite(x: Value, value: Value, otherwise: float) -> Value:
    """`value` where every entry of x is finite (and below 1e150), else `otherwise`. fmin and fmax ignore NaN."""
    return ca.if_else(ca.sumsqr(x) < 1e300, value, otherwise) if x.numel() else value


def alarm(values: Sequence[Value], inputs: Value) -> Value:
    """0, but NaN where an entry of `inputs` that none of the values contains is not finite (or beyond 1e150).

    Added to a value, it guarantees that a NaN in the inputs reaches the output even where the formula does not depend on it.
    """
    entries = ca.vertcat(*[ca.vec(ca.densify(value)) for value in values])
    dependent = ca.which_depends(entries, inputs) if entries.numel() else [False] * inputs.numel()
    return where_finite(take(inputs, [i for i, x in enumerate(dependent) if not x]), ca.SX(0), float("nan"))


def minus_inverse(y: Value) -> Value:
    """−1/y of a scalar as a separate value: CasADi would turn x · (1/y) into x/y, one division for each x."""
    return Value(-1) / y


def symmetric_solve(K: Value, b: Value) -> tuple[Value, Value, Value]:
    """K⁻¹ b by K = L D Lᵀ without pivoting, structural zeros exploited: (x, D, Lᵀ), Lᵀ strictly upper triangular.

    Stable without pivoting for positive definite K, and for K = [[M, Aᵀ], [A, 0]] with M positive definite.
    """
    D, LT, order = ca.ldl(K, False)
    return ca.ldl_solve(b, D, LT, order), D, LT


def general_solve(K: Value, b: Value) -> Value:
    """K⁻¹ b for a small square K."""
    return ca.solve(K, b)


def pseudo_inverse_times(N: Value, B: Value) -> Value:
    """N⁺ B = (NᵀN)⁻¹ Nᵀ B for N of full column rank."""
    return symmetric_solve(N.T @ N, N.T @ B)[0]


def scatter(blocks: Sequence[tuple[Sequence[int], Value]], rows: int, columns: int) -> Value:
    """The (rows, columns) matrix with the rows of each block at its indices."""
    result = ca.SX(rows, columns)
    for indices, block in blocks:
        for k, i in enumerate(indices):
            result[i, :] = block[k, :]
    return result


def apply(fn: Fn, *values: Value) -> dict[str, Value]:
    """The outputs of a function at values of the graph, by name: columns, matrices row by row."""
    columns = [ca.reshape(value.T, value.numel(), 1) for value in map(ca.SX, values)]
    results = fn.function.call(columns)
    return {port.name: result for port, result in zip(fn.outputs, results, strict=True)}


def row_major(value: Value) -> Value:
    """The column of the entries of a matrix, row by row."""
    return ca.reshape(value.T, value.numel(), 1)


def as_matrix(column: Value, rows: int, columns: int) -> Value:
    """The matrix whose entries, row by row, are those of a column."""
    return ca.reshape(column, columns, rows).T
