"""Velocities and rows that M, A and W couple with each other: fifty discs are a hundred parts of one velocity each."""

from __future__ import annotations

from appell.graph.algebra import Value, pattern

Group = tuple[tuple[int, ...], tuple[int, ...]]


def coupled(M: Value, A: Value, W: Value) -> list[Group]:
    """(velocities, rows) of each part with a velocity, by number."""
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
