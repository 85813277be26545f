"""Long straight-line code in pieces, because compile time grows faster than linearly with the length of a function.

A value defined in piece c and used in a later piece d > c passes through `work[slot]`. Inputs are reloaded and constants
rewritten where they are needed. A slot is free after the last piece that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.graph.instructions import Instruction

ANYWHERE = frozenset({"input", "const"})  # available in every piece


@dataclass(frozen=True)
class Plan:
    """`pieces` of instructions (without inputs and constants), `slot` of each value used by a later piece, size of `work`."""

    pieces: tuple[tuple[Instruction, ...], ...]
    slot: dict[int, int]
    work: int


def split(stream: Sequence[Instruction], limit: int) -> Plan:
    """Pieces of at most `limit` instructions in order, of nearly equal length."""
    body = [item for item in stream if item.op not in ANYWHERE]
    count = max(1, -(-len(body) // limit))
    length = max(1, -(-len(body) // count))
    pieces = tuple(tuple(body[k : k + length]) for k in range(0, len(body), length)) or ((),)
    slot, work = _slots(pieces)
    return Plan(pieces, slot, work)


def _slots(pieces: tuple[tuple[Instruction, ...], ...]) -> tuple[dict[int, int], int]:
    born = {item.out: c for c, piece in enumerate(pieces) for item in piece if item.op != "output"}
    last = {arg: c for c, piece in enumerate(pieces) for item in piece for arg in item.args if arg in born}
    slot: dict[int, int] = {}
    free: list[int] = []
    dying: list[list[int]] = [[] for _ in pieces]
    work = 0
    for c, piece in enumerate(pieces):
        for value in (item.out for item in piece if item.op != "output" and last[item.out] > c):
            if not free:
                free.append(work)
                work += 1
            slot[value] = free.pop()
            dying[last[value]].append(slot[value])
        free.extend(dying[c])
    return slot, work
