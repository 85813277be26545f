"""Sparsity patterns of the factors of M, of Y = L⁻¹Aᵀ and of its Gram matrix G = YᵀY.

    M = L Lᵀ (velocities in an order that keeps L sparse)      Y_i = L⁻¹A_iᵀ      G = R Rᵀ (rows in such an order)

Every triangle and every Y is kept row by row, each row by ascending column. A chain of four-bars takes time proportional to its
length; dense matrices that of a dense factorisation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from appell.graph.algebra import Value, pattern

Row = tuple[int, ...]


@dataclass(frozen=True)
class SparseRows:
    """velocities (n,), rows (m,): permutations; L, Y, R: the columns in each of their rows, the diagonal last."""

    velocities: Row
    rows: Row
    L: tuple[Row, ...]
    Y: tuple[Row, ...]
    R: tuple[Row, ...]

    @staticmethod
    def of(M: Value, A: Value) -> SparseRows:
        """The pattern from structural zeros on the graph."""
        m, n = A.shape
        velocities, L = factor(n, pattern(M))
        position = {j: k for k, j in enumerate(velocities)}
        entries: list[set[int]] = [set() for _ in range(m)]
        for i, j in pattern(A):
            entries[i].add(position[j])
        below = _columns(L)
        filled = [_reach(row, below) for row in entries]
        users: list[list[int]] = [[] for _ in range(n)]
        for i, row in enumerate(filled):
            for j in row:
                users[j].append(i)
        rows, R = factor(m, ((a, b) for group in users for a in group for b in group))
        return SparseRows(velocities, rows, L, tuple(filled[i] for i in rows), R)

    @property
    def cost(self) -> int:
        """Approximate multiplications of one rank check."""
        L = sum(len(self.L[j]) for row in self.L for j in row)
        Y = sum(len(self.L[j]) for row in self.Y for j in row)
        return L + Y + sum(len(self.Y[j]) + len(self.R[j]) for row in self.R for j in row)

    def entries(self, M: Value, A: Value) -> tuple[list[Value], list[Value]]:
        """The entries of M at the positions of L, and of A at the positions of Y."""
        v, r = self.velocities, self.rows
        return (
            [M[v[i], v[j]] for i, row in enumerate(self.L) for j in row],
            [A[r[i], v[j]] for i, row in enumerate(self.Y) for j in row],
        )


def factor(n: int, pairs: Iterable[tuple[int, int]]) -> tuple[Row, tuple[Row, ...]]:
    """(order, rows of the triangle) of a symmetric matrix with entries at `pairs`: minimum degree ordering."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    ready = [(len(neighbours[j]), j) for j in range(n)]
    heapify(ready)
    order: list[int] = []
    later: dict[int, set[int]] = {}
    while ready:
        degree, k = heappop(ready)
        if k in later or degree != len(neighbours[k]):
            continue
        order.append(k)
        later[k] = set(neighbours[k])
        for i in neighbours[k]:
            neighbours[i] |= neighbours[k]
            neighbours[i] -= {i, k}
            heappush(ready, (len(neighbours[i]), i))
    position = {k: i for i, k in enumerate(order)}
    rows: list[list[int]] = [[] for _ in range(n)]
    for k in order:
        for i in later[k]:
            rows[position[i]].append(position[k])
    return tuple(order), tuple((*row, i) for i, row in enumerate(rows))


def _columns(L: tuple[Row, ...]) -> list[list[int]]:
    """For each column of a triangle the rows below its diagonal."""
    below: list[list[int]] = [[] for _ in L]
    for i, row in enumerate(L):
        for j in row[:-1]:
            below[j].append(i)
    return below


def _reach(places: set[int], below: list[list[int]]) -> Row:
    """The entries of L⁻¹y for a y with entries at `places`."""
    reached, ahead = set(places), list(places)
    while ahead:
        for i in below[ahead.pop()]:
            if i not in reached:
                reached.add(i)
                ahead.append(i)
    return tuple(sorted(reached))
