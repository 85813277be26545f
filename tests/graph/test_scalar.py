"""Entries of the graph with fast operators: the same nodes as CasADi's own."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from appell.graph.scalar import GraphScalar, cos, scalars, sin, stacked

OPERATIONS = {
    "sum": lambda x, y: x + y, "difference": lambda x, y: x - y, "product": lambda x, y: x * y, "quotient": lambda x, y: x / y,
    "number first": lambda x, y: 2.0 - x / 3 + 0.5 * (1 / y) + 2, "signs": lambda x, y: -x * -y + x * -1,
    "zeros": lambda x, y: x * 0 + y * 1.0 + 0 - 0.0,
    "waves": lambda x, y: sin(x) * cos(y), "powers": lambda x, y: x**2 - y**3, "itself": lambda x, y: (x - x) + y / y,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_nodes_are_those_of_casadi(name):
    q = ca.SX.sym("q", 2)
    plain = OPERATIONS[name](*[ca.SX(x) for x in ca.vertsplit(q)])
    fast = OPERATIONS[name](*scalars(q))
    assert str(fast) == str(plain) and ca.Function("f", [q], [fast]).n_nodes() == ca.Function("f", [q], [plain]).n_nodes()


def test_what_entries_meet():
    q = ca.SX.sym("q", 2)
    x, y = scalars(q)
    assert isinstance(x * 2, GraphScalar) and isinstance(2 * x, GraphScalar) and isinstance(-(x + y), GraphScalar)
    matrix = ca.SX.sym("m", 2, 2)
    assert (matrix * x).shape == (2, 2) == (x * matrix).shape
    assert str(np.float64(2.0) * x) == str(2.0 * x)
    assert stacked([x, 1.0, y]).shape == (3, 1)
    assert np.isnan(float(ca.Function("f", [q], [x * float("nan")])([1, 2])))
