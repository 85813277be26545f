"""Graphs exported as CasADi functions, with names, shapes and derivatives.

A function of the graph becomes one over matrices; one with a saddle point between two graphs becomes

    [M  −W] [x]   [r]
    [A   0] [λ] = [s],        solved and differentiated by a linear solver in CasADi
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from appell.graph.fn import Fn, Port

Function = ca.Function


def casadi_function(name: str, fn: Fn, outputs: Sequence[str]) -> ca.Function:
    """The graph as a CasADi function with named inputs and outputs; matrices are (m, n)."""
    symbols = [ca.SX.sym(port.name, port.size) for port in fn.inputs]
    values = dict(zip((port.name for port in fn.outputs), _called(fn, symbols), strict=True))
    shapes = {port.name: port for port in fn.outputs}
    results = [_shaped(values[key], shapes[key]) for key in outputs]
    return ca.Function(name, symbols, results, [port.name for port in fn.inputs], list(outputs))


def casadi_saddle(name: str, head: Fn, tail: Fn) -> ca.Function:
    """head (inputs) → M, A[, W], r, s; tail (inputs, x, λ) → outputs."""
    symbols = [ca.MX.sym(port.name, port.size) for port in head.inputs]
    blocks = {port.name: _shaped(x, port) for port, x in zip(head.outputs, _called(head, symbols), strict=True)}
    M, A, r, s = (blocks[key] for key in ("M", "A", "r", "s"))
    W = blocks.get("W", A.T)
    m, n = A.shape
    K = ca.vertcat(ca.horzcat(M, -W), ca.horzcat(A, ca.MX(m, m)))
    solution = ca.solve(K, ca.vertcat(r, s), "qr")
    results = _called(tail, [*symbols, solution[:n], solution[n:]])
    shaped = [_shaped(x, port) for x, port in zip(results, tail.outputs, strict=True)]
    return ca.Function(name, symbols, shaped, [port.name for port in head.inputs], [port.name for port in tail.outputs])


def _called(fn: Fn, arguments: Sequence[Any]) -> list[Any]:
    results = fn.function.call(list(arguments))
    return list(results)


def _shaped(column: Any, port: Port) -> Any:
    """The matrix whose entries, row by row, are those of a column."""
    if len(port.shape) < 2:
        return column
    rows, columns = port.shape
    return ca.reshape(column, columns, rows).T


__all__ = ["Function", "casadi_function", "casadi_saddle"]
