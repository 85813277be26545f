"""A graph function prepared for interval arithmetic: the meaning of undecided conditions, and whether a value may jump.

    if_else_zero(c, x) + if_else_zero(not c, y)      choose(c, x, y): the hull of x and y where c is undecided
    c x + (not c) y                                  the same, as derivatives of minima and maxima are written
    jumps                                            1 where a condition, floor or sign in the first output is undecided

Without a jump the rate bounds the change of a function; with one, only its own interval does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.graph.fn import Fn, Port
from appell.graph.instructions import Instruction, alive

JUMPING = frozenset({"lt", "le", "eq", "ne", "not", "floor", "ceil", "sign"})
"""Operations whose value jumps if the interval is more than a point."""
BROKEN = frozenset({"fmod", "remainder", "copysign"})
"""Operations that may jump inside their interval."""


@dataclass(frozen=True)
class RangedFunction:
    """The ports of a function with `jumps` after its outputs, and the instructions over intervals."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    instructions: tuple[Instruction, ...]


def ranged(fn: Fn, name: str, *, whole: bool = False) -> RangedFunction:
    """`fn` over intervals; jumps are reported for the first number, or for the `whole` first output."""
    stream = _choices(list(fn.instructions))
    observed = [item for item in stream if item.op != "output" or (item.port == 0 and (whole or item.index == 0))]
    watched = [item for item in alive(observed) if item.op in JUMPING or item.op in BROKEN or item.op == "atan2"]
    number = 1 + max((item.out for item in stream), default=-1)
    body = [item for item in stream if item.op != "output"]
    outputs = [item for item in stream if item.op == "output"]
    total = number
    body.append(Instruction("const", number, (), 0.0))
    for item in watched:
        op = "broken" if item.op in BROKEN else "cut" if item.op == "atan2" else "jumps"
        body.append(Instruction(op, number + 1, (item.out,)))
        body.append(Instruction("fmax", number + 2, (total, number + 1)))
        total = number = number + 2
    outputs.append(Instruction("output", -1, (total,), None, len(fn.outputs), 0))
    return RangedFunction(name, fn.inputs, (*fn.outputs, Port("jumps")), tuple(alive([*body, *outputs])))


def _choices(stream: list[Instruction]) -> list[Instruction]:
    """Replaces sums over a condition and its negation by one choice."""
    items = {item.out: item for item in stream if item.op != "output"}

    def parts(value: int) -> list[tuple[int, int]]:
        item = items[value]
        if item.op == "if_else_zero":
            return [(item.args[0], item.args[1])]
        return [(item.args[0], item.args[1]), (item.args[1], item.args[0])] if item.op == "mul" else []

    def contrary(c: int, d: int) -> bool:
        return (items[c].op == "not" and items[c].args[0] == d) or (items[d].op == "not" and items[d].args[0] == c)

    replaced = []
    for item in stream:
        if item.op == "add":
            pairs = [(p, q) for p in parts(item.args[0]) for q in parts(item.args[1]) if contrary(p[0], q[0])]
            if pairs:
                (c, x), (d, y) = pairs[0]
                choice = (d, y, x) if items[c].op == "not" else (c, x, y)
                item = item._replace(op="choose", args=choice)
        replaced.append(item)
    return replaced


def operations(functions: Sequence[RangedFunction]) -> set[str]:
    """The operations that the functions contain."""
    return {item.op for fn in functions for item in fn.instructions}


__all__ = ["RangedFunction", "operations", "ranged"]
