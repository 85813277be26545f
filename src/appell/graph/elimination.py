"""K x = b for a symmetric K without pivoting, written out with few divisions.

    K = L D Lᵀ,        D of blocks with one or two rows,        −L = U J block by block,  J = −D⁻¹

Two unknowns are eliminated at once: the inverse of [[a, b], [b, c]] takes one division, 1/(ac − b²), where two pivots one after
the other take two, and each entry of L one more. Rounding is that of two pivots: both subtract b² from ac, in units of a.
Structural zeros are left out.

Stable without pivoting for positive definite K, and for K = [[M, Aᵀ], [A, 0]] with M positive definite, in any order in which
a row of A comes after its velocities.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import casadi as ca

from appell.graph.algebra import Value, minus_inverse


@dataclass(frozen=True)
class Pivot:
    """What has to be positive, and the size of what it was left of: D_k and K_kk, or ac − b² and aK_kk.

    Of an unknown that is eliminated after others with a zero on its diagonal, −D_k and what the positive pivots took.
    """

    left: Value
    size: Value


def eliminated(K: Value, b: Value, positive: Collection[int]) -> tuple[Value, list[Pivot]]:
    """x, as many columns as b, and the pivots in order. positive: the places of positive pivots; others are negative."""
    n = K.shape[0]
    S = _entries(K)
    right = [[b[i, j] for j in range(b.shape[1])] for i in range(n)]
    taken: list[Value] = [ca.SX(0)] * n
    blocks, pivots, k = [], [], 0
    while k < n:
        two = k + 1 < n and k in positive and k + 1 in positive and k in S[k + 1]
        block = _Block(S, right, [k, k + 1] if two else [k])
        pivots += block.pivots(K, positive, taken)
        block.eliminate(taken, k in positive)
        blocks.append(block)
        k += 1 + two
    x: list[list[Value]] = [[]] * n
    for block in reversed(blocks):
        block.solve(x)
    return (ca.vertcat(*[ca.horzcat(*row) for row in x]) if n else ca.SX(0, b.shape[1])), pivots


def _entries(K: Value) -> list[dict[int, Value]]:
    """The lower triangle, row by row, without structural zeros."""
    S: list[dict[int, Value]] = [{} for _ in range(K.shape[0])]
    rows, columns = ca.sparsify(K).sparsity().get_triplet()
    for i, j in zip(rows, columns, strict=True):
        if j <= i:
            S[i][j] = K[i, j]
    for i, row in enumerate(S):
        row.setdefault(i, ca.SX(0))
    return S


class _Block:
    """One or two unknowns, taken out of what is left of K."""

    def __init__(self, S: list[dict[int, Value]], right: list[list[Value]], places: list[int]):
        self.S, self.right, self.places = S, right, places
        k, last = places[0], places[-1]
        self.a = S[k][k]
        self.below = [i for i in range(last + 1, len(S)) if any(j in S[i] for j in places)]
        if len(places) == 2:
            self.b, self.c = S[last][k], S[last][last]
            self.det = self.a * self.c - self.b**2
        self.j = minus_inverse(self.det if len(places) == 2 else self.a)
        self.factors: dict[int, list[Value]] = {}

    def pivots(self, K: Value, positive: Collection[int], taken: list[Value]) -> list[Pivot]:
        k, last = self.places[0], self.places[-1]
        if k not in positive:
            return [Pivot(-self.a, taken[k])]
        first = Pivot(self.a, K[k, k])
        return [first] if k == last else [first, Pivot(self.det, self.a * K[last, last])]

    def eliminate(self, taken: list[Value], positive: bool) -> None:
        """The rest of K and of the right side without these unknowns."""
        if not self.below:
            return
        self.J = self._minus_inverse()
        rows = {i: [self.S[i].pop(j, None) for j in self.places] for i in self.below}
        self.factors = {i: _times(row, self.J) for i, row in rows.items()}
        own = [self.right[j] for j in self.places]
        for i, factor in self.factors.items():
            for j in (j for j in self.below if j <= i):
                part = _dot(factor, rows[j])
                self.S[i][j] = self.S[i][j] + part if j in self.S[i] else part
                if i == j and positive:
                    taken[i] = taken[i] - part
            self.right[i] = [x + _dot(factor, list(y)) for x, y in zip(self.right[i], zip(*own, strict=True), strict=True)]

    def _minus_inverse(self) -> list[list[Value]]:
        if len(self.places) == 1:
            return [[self.j]]
        b = -(self.b * self.j)
        return [[self.c * self.j, b], [b, self.a * self.j]]

    def solve(self, x: list[list[Value]]) -> None:
        """These unknowns, after all below."""
        own = [self.right[j] for j in self.places]
        for n, place in enumerate(self.places):
            found = [self._alone(n, each) for each in zip(*own, strict=True)]
            if self.below:
                below = [
                    _dot([f[n] for f in self.factors.values()], [x[i][k] for i in self.factors]) for k in range(len(found))
                ]
                found = [y - z for y, z in zip(below, found, strict=True)]
            x[place] = found

    def _alone(self, n: int, right: Sequence[Value]) -> Value:
        """Unknown n of D x = right; where there are others below, of −D x = right."""
        if self.below:
            return _dot([row[n] for row in self.J], list(right))
        if len(right) == 1:
            return right[0] / self.a if len(self.right[0]) == 1 else -(right[0] * self.j)
        y, z = right
        return (self.b * z - self.c * y if n == 0 else self.b * y - self.a * z) * self.j


def _times(row: list[Value | None], J: list[list[Value]]) -> list[Value]:
    return [_dot([entry[j] for entry in J], row) for j in range(len(J))]


def _dot(a: list[Value], b: list[Value | None]) -> Value:
    """Σ a_j b_j over what is there."""
    parts = [x * y for x, y in zip(a, b, strict=True) if y is not None]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


__all__ = ["Pivot", "eliminated"]
