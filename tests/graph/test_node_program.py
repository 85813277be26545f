"""Programs of nodes: what one derivative costs does not depend on another."""

import casadi as ca
import numpy as np

from appell.graph.algebra import column
from appell.graph.node_program import NodeFunction


def _heavy_rows() -> NodeFunction:
    """A cost that is simple beside rows that are not."""
    w, theta, d, p = (ca.SX.sym(name, size) for name, size in (("w", 6), ("theta", 1), ("d", 1), ("p", 1)))
    rows, carried = [], w[0]
    for k in range(6):
        carried = ca.sin(carried * w[k]) + ca.exp(carried - theta)
        rows.append(carried)
    return NodeFunction(w, theta, d, p, column(*rows), theta * w[0] ** 2)


def test_the_gradient_of_a_cost_computes_no_slope_of_a_row():
    node = _heavy_rows()
    assert 10 * node.cost_slopes.n_instructions() < node.slopes.n_instructions()


def test_entries_of_the_gradient_of_a_cost():
    node = _heavy_rows()
    found = node.cost_slopes([3.0, 0, 0, 0, 0, 0], 2.0, 0.0, 0.0)
    assert dict(zip(node.cost_places.tolist(), np.array(found).ravel().tolist(), strict=True)) == {0: 12.0, 6: 9.0}
