"""Reorders instructions for faster machine code.

gather(stream)          independent sines and cosines are adjacent, for SIMD
depth_first(stream)     short live ranges, for few registers
nearest_first(stream)   also reorders the results, always the one that needs the fewest further values
least_traffic(stream)   that order, or the results from last to first, whichever has less memory traffic
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from appell.graph.instructions import TWIN, Instruction

TRIG = frozenset(TWIN)
ORDERED_INSTRUCTIONS = 10_000  # beyond this the order of the outputs is not optimized
UNCOMPARED_INSTRUCTIONS = 40_000  # beyond this no orders are compared
VALUE_REGISTERS = 29  # of the 32 registers of 64-byte vectors, some are temporaries


def gather(stream: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """All sines and cosines of depth 0 (no other sine before them) side by side, then those of depth 1, and so on.

    Instructions for their arguments come before them, all others after the last; otherwise the order is kept.
    """
    maker = {item.out: item for item in stream if item.op != "output"}
    groups = _by_depth(stream)
    ordered: list[Instruction] = []
    placed: set[int] = set()
    for group in groups:
        ancestors = _ancestors((arg for item in group for arg in item.args), maker, placed)
        arguments = [maker[value] for value in sorted(ancestors)]
        ordered += [*arguments, *group]
        placed.update(item.out for item in (*arguments, *group))
    return (*ordered, *(item for item in stream if item.op == "output" or item.out not in placed))


def _by_depth(stream: Iterable[Instruction]) -> list[list[Instruction]]:
    """Sines and cosines by the number of others on the longest path to their argument; equal arguments are adjacent."""
    depth: dict[int, int] = {}
    groups: list[dict[int, list[Instruction]]] = []
    for item in stream:
        if item.op == "output":
            continue
        depth[item.out] = max((depth[arg] for arg in item.args), default=0)
        if item.op in TRIG:
            while len(groups) <= depth[item.out]:
                groups.append({})
            groups[depth[item.out]].setdefault(item.args[0], []).append(item)
            depth[item.out] += 1
    return [[item for twins in group.values() for item in twins] for group in groups]


def _ancestors(values: Iterable[int], maker: dict[int, Instruction], placed: set[int]) -> set[int]:
    """`values` and everything they depend on, except what is `placed`."""
    ancestors: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in ancestors and value not in placed:
            ancestors.add(value)
            waiting.extend(maker[value].args)
    return ancestors


def depth_first(stream: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Each value shortly before its first use: the outputs in order, each preceded by the values it still needs.

    Of two operands, the one that needs more registers is computed first, which keeps fewer values live (Sethi and Ullman).
    """
    maker = {item.out: item for item in stream if item.op != "output"}
    twin = {(item.op, item.args): item for item in stream if item.op in TWIN}
    registers = _registers(stream)
    ordered: list[Instruction] = []
    placed: set[int] = set()
    for output in (item for item in stream if item.op == "output"):
        waiting = [*output.args]
        while waiting:
            item = maker[waiting[-1]]
            unplaced = [] if item.out in placed else {arg for arg in item.args if arg not in placed}
            if unplaced:
                waiting.extend(sorted(unplaced, key=lambda arg: registers[arg]))
                continue
            waiting.pop()
            twins = (item, twin.get((TWIN.get(item.op, ""), item.args)))
            new = [member for member in twins if member is not None and member.out not in placed]
            placed.update(member.out for member in new)
            ordered += new
        ordered.append(output)
    return tuple(ordered)


def nearest_first(stream: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """`depth_first`, always taking the output that needs the fewest further values: fewer values are live.

    (Mass matrix of a humanoid: at most 215 live values, 419 in the order of its rows.) The search needs memory of the length
    squared, in bits: very long functions keep their order.
    """
    outputs = [item for item in stream if item.op == "output"]
    if len(stream) > ORDERED_INSTRUCTIONS or len(outputs) > ORDERED_INSTRUCTIONS // 10:
        return depth_first(stream)
    values_behind: dict[int, int] = {}  # value: itself and its dependencies, as bits
    for item in stream:
        if item.op != "output":
            values_behind[item.out] = reduce(or_, (values_behind[arg] for arg in item.args), 1 << item.out)
    waiting = [(values_behind[item.args[0]], item) for item in outputs]
    placed, ordered = 0, []
    while waiting:
        nearest = min(range(len(waiting)), key=lambda k: (waiting[k][0] & ~placed).bit_count())
        bits, item = waiting.pop(nearest)
        placed |= bits
        ordered.append(item)
    return depth_first((*(item for item in stream if item.op != "output"), *ordered))


def least_traffic(stream: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """`nearest_first`, or `depth_first` with the outputs from last to first.

    Either can be better. Columns of M, body by body from the tips to the base, leave few values that are needed later: the
    traffic for g1 is then 233, against 809 with `nearest_first` (the whole function is 8 % faster).
    """
    if len(stream) > UNCOMPARED_INSTRUCTIONS:
        return depth_first(stream)
    body, outputs = ([item for item in stream if (item.op == "output") is last] for last in (False, True))
    return min(nearest_first(stream), depth_first((*body, *outputs[::-1])), key=traffic)


def traffic(stream: Sequence[Instruction]) -> int:
    """Loads and stores between memory and `VALUE_REGISTERS` registers, when the value with the farthest next use is always
    evicted."""
    nothing = {item.out for item in stream if item.op == "const"}
    in_memory = {item.out for item in stream if item.op == "input"}
    steps = [item for item in stream if item.op not in ("const", "input")]
    uses: defaultdict[int, list[int]] = defaultdict(list)  # steps that use a value, the next one last
    for k in reversed(range(len(steps))):
        for arg in set(steps[k].args) - nothing:
            uses[arg].append(k)
    in_registers: set[int] = set()
    moves = 0
    for item in steps:
        for arg in set(item.args) - nothing:
            moves += arg not in in_registers
            in_registers.add(arg)
            uses[arg].pop()
        in_registers = {value for value in (*in_registers, item.out) if uses[value]}
        while len(in_registers) > VALUE_REGISTERS:
            evicted = max(in_registers, key=lambda value: uses[value][-1])
            moves += evicted not in in_memory
            in_memory.add(evicted)
            in_registers.remove(evicted)
    return moves


def _registers(stream: Iterable[Instruction]) -> dict[int, int]:
    """Registers needed for each value without sharing: max(a, b + 1) for operands with a ≥ b."""
    need: dict[int, int] = {}
    for item in stream:
        if item.op != "output":
            operands = sorted((need[arg] for arg in item.args), reverse=True)
            need[item.out] = max((count + k for k, count in enumerate(operands)), default=1)
    return need
