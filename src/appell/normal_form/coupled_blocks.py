"""Blocks of velocities and rows coupled by M, A and W: fifty discs are a hundred blocks of one velocity each.

A chain of four-bars is one block, but a sparse one: in the right order its elimination takes time proportional to its length.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from appell.graph.algebra import Value, pattern

Group = tuple[tuple[int, ...], tuple[int, ...]]


def coupled(M: Value, A: Value, W: Value) -> list[Group]:
    """(velocities, rows) of each block that has a velocity, by index."""
    nv, m = A.shape[1], A.shape[0]
    leader = list(range(nv + m))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = i = leader[leader[i]]
        return i

    for pairs in (pattern(M), [(nv + i, j) for i, j in pattern(A)], [(i, nv + j) for i, j in pattern(W)]):
        for i, j in pairs:
            leader[find(i)] = find(j)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for i in range(nv + m):
        v, r = groups.setdefault(find(i), ([], []))
        (v if i < nv else r).append(i if i < nv else i - nv)
    return [(tuple(v), tuple(r)) for v, r in groups.values() if v]


def elimination(M: Value, A: Value) -> tuple[list[int], int]:
    """(order, multiplications) of K = [[M, Aᵀ], [A, 0]] = L D Lᵀ without pivoting: velocities 0 … n−1, rows n … n+m−1.

    Minimum degree: the unknown with the fewest neighbours goes first, a row only after all its velocities; then every pivot of
    a velocity is positive and every pivot of a row negative, as in the order «all of M, then A M⁻¹Aᵀ».
    """
    n, m = A.shape[1], A.shape[0]
    neighbours: list[set[int]] = [set() for _ in range(n + m)]
    for i, j in (*pattern(M), *((n + i, j) for i, j in pattern(A))):
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    waits = [0] * n + [len(neighbours[n + k]) for k in range(m)]
    rows_of = [[k for k in neighbours[j] if k >= n] for j in range(n)]
    ready = [(len(neighbours[j]), j) for j in range(n)] + [(0, n + k) for k in range(m) if not waits[n + k]]
    heapify(ready)
    eliminated, order, cost = [False] * (n + m), [], 0
    while ready:
        degree, k = heappop(ready)
        if eliminated[k] or degree != len(neighbours[k]):
            continue
        eliminated[k] = True
        order.append(k)
        cost += degree * (degree + 3) // 2
        for i in neighbours[k]:
            neighbours[i] |= neighbours[k]
            neighbours[i] -= {i, k}
        for row in rows_of[k] if k < n else ():
            waits[row] -= 1
        for i in (*neighbours[k], *(rows_of[k] if k < n else ())):
            if not eliminated[i] and not waits[i]:
                heappush(ready, (len(neighbours[i]), i))
    return order, cost
