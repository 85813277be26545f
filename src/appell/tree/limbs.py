"""The limbs of a tree: subtrees that meet at its trunk; a GPU computes each in its own warp."""

from __future__ import annotations

from collections.abc import Iterator

from appell.backends.cuda.limb_warps import NO_LIMB, Limbs
from appell.graph.fn import Fn
from appell.tree.frames import FrameLayout

LIMBS_PER_BLOCK = 8
"""Limbs in a block, one warp each."""

SHORTEST_LIMB = 2
"""Subtrees with fewer links stay with the trunk."""


def limbs_of(layout: FrameLayout, fn: Fn) -> Limbs | None:
    """The limb of each entry of the inputs and outputs of a function of q, v and vectors as long as v; None where there are
    fewer than two limbs, or where the outputs have other shapes."""
    links = layout.links
    nq, nv = (sum(getattr(link.node.kind, size) for link in links) for size in ("nq", "nv"))
    if any(port.shape not in ((nq,), (nv,)) for port in fn.inputs) or any(port.shape != (nv,) for port in fn.outputs):
        return None
    limbs = _limbs(layout)
    if len(limbs) < 2:
        return None
    q, v = [NO_LIMB] * nq, [NO_LIMB] * nv
    for k, limb in enumerate(limbs):
        for node in (links[n].node for n in limb):
            q[node.iq : node.iq + node.kind.nq] = [k] * node.kind.nq
            v[node.iv : node.iv + node.kind.nv] = [k] * node.kind.nv
    owners = lambda port: tuple(q if port.name == "q" else v)
    return Limbs(len(limbs), tuple(map(owners, fn.inputs)), tuple(map(owners, fn.outputs)))


def _limbs(layout: FrameLayout) -> list[list[int]]:
    """Indices of the links of each limb: the largest subtree is split where it forks, and its stem goes to the trunk, as long
    as it forks and there are not too many limbs."""
    successors: list[list[int]] = [[] for _ in layout.links]
    roots: list[int] = []
    for n, link in enumerate(layout.links):
        (roots if link.node.parent < 0 else successors[link.node.parent]).append(n)

    def behind(n: int) -> Iterator[int]:
        yield n
        for after in successors[n]:
            yield from behind(after)

    def fork(n: int) -> list[int]:
        while len(successors[n]) == 1:
            n = successors[n][0]
        return [after for after in successors[n] if sum(1 for _ in behind(after)) >= SHORTEST_LIMB]

    tops = roots
    while tops:
        largest = max(tops, key=lambda n: sum(1 for _ in behind(n)))
        branches = fork(largest)
        if len(branches) < 2 or len(tops) - 1 + len(branches) > LIMBS_PER_BLOCK:
            break
        tops = [n for n in tops if n != largest] + branches
    return [list(behind(n)) for n in sorted(tops)]
