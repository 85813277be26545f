"""Collocation at Radau points: the polynomials of one interval of a mesh.

    c_1 < … < c_s = 1 in (0, 1]:  the zeros of  d^{s−1}/dx^{s−1} (x^{s−1}(x − 1)^s)          (Hairer, Wanner II, IV.5)

States are polynomials of degree s through the left end and the s nodes, controls of degree s − 1 through the nodes. The last
node is the right end, so that conditions at the nodes hold where intervals meet; the order at the ends is 2s − 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RadauTable:
    """nodes c (s,), weights b (s,) of the quadrature, D (s, s + 1): derivatives at the nodes of the polynomial through values
    at 0, c_1, …, c_s."""

    nodes: Array
    weights: Array
    D: Array

    @property
    def s(self) -> int:
        return len(self.nodes)

    @property
    def knots(self) -> Array:
        """0, c_1, …, c_s."""
        return np.append(0.0, self.nodes)

    def states(self, x: Array) -> Array:
        """(k, s + 1): the matrix from values at the knots to those at x (k,)."""
        return _basis(self.knots, x)

    def rates(self, x: Array) -> Array:
        """(k, s + 1): the matrix from values at the knots to the derivatives at x (k,)."""
        return _basis(self.knots, x, order=1)

    def controls(self, x: Array) -> Array:
        """(k, s): the matrix from values at the nodes to those at x (k,)."""
        return _basis(self.nodes, x)

    @property
    def powers(self) -> Array:
        """(s, s): the matrix from values at the nodes to the coefficients of 1, x, …, x^{s−1}."""
        return np.asarray(np.linalg.inv(np.vander(self.nodes, increasing=True)), dtype=float)

    @property
    def legendre(self) -> Array:
        """(s, s): the matrix from values at the nodes to the coefficients of Legendre's polynomials on the interval."""
        return np.asarray(np.linalg.inv(legvander(2 * self.nodes - 1, self.s - 1)), dtype=float)


@lru_cache(maxsize=16)
def radau(s: int) -> RadauTable:
    """The table with s nodes."""
    body = poly.polymul(poly.polypow([0.0, 1.0], s - 1), poly.polypow([-1.0, 1.0], s))
    nodes = np.sort(np.real(poly.polyroots(poly.polyder(body, s - 1))))
    f, df = poly.polyder(body, s - 1), poly.polyder(body, s)
    for _ in range(3):  # Newton steps, because eigenvalues lose digits
        nodes = nodes - poly.polyval(nodes, f) / poly.polyval(nodes, df)
    nodes[-1] = 1.0
    weights = np.linalg.solve(np.vander(nodes, increasing=True).T, 1.0 / np.arange(1, s + 1))
    return RadauTable(nodes, np.asarray(weights, dtype=float), _basis(np.append(0.0, nodes), nodes, order=1))


def _basis(knots: Array, x: Array, order: int = 0) -> Array:
    """Values, or derivatives, at x (k,) of the Lagrange polynomials of some knots (n,), (k, n)."""
    columns = []
    for j, knot in enumerate(knots):
        other_knots = np.delete(knots, j)
        polynomial = poly.polyfromroots(other_knots) / np.prod(knot - other_knots)
        columns.append(poly.polyval(np.asarray(x, dtype=float), poly.polyder(polynomial, order) if order else polynomial))
    return np.stack(columns, axis=-1)


__all__ = ["RadauTable", "radau"]
