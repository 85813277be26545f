"""Sines and cosines that depend only on inputs, moved out of the straight-line code of a vector function.

sin(q + c) and cos(q + c), with an input q and a constant c, are computed in a short loop: less code to fetch, and work for the
next block of states that overlaps with the stores of this one, when the arithmetic units are idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from appell.backends.lanes.lane_layout import Packed
from appell.backends.text.instruction_order import TRIG
from appell.graph.fn import Port
from appell.graph.instructions import Instruction, alive

NEGATIVE_ZERO = -0.0  # x + NEGATIVE_ZERO is x, also for a negative zero


class ShiftedAngle(NamedTuple):
    """The angle `input[port][index] + offset`."""

    port: int
    index: int
    offset: float


@dataclass(frozen=True)
class Turned:
    """`packed` with one more input, `turns`: sine and cosine of turn 0, of turn 1, …"""

    packed: Packed

    @property
    def name(self) -> str:
        return self.packed.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        return (*self.packed.inputs, Port("turns", (2 * len(self.turns),)))

    @property
    def outputs(self) -> tuple[Port, ...]:
        return self.packed.outputs

    @cached_property
    def turns(self) -> tuple[ShiftedAngle, ...]:
        return tuple(dict.fromkeys(self._turn.values()))

    @cached_property
    def _turn(self) -> dict[int, ShiftedAngle]:
        """Argument value → its turn."""
        maker = {item.out: item for item in self.packed.instructions if item.op != "output"}
        arguments = (item.args[0] for item in self.packed.instructions if item.op in TRIG)
        turns = ((value, _turn_of(maker[value], maker)) for value in dict.fromkeys(arguments))
        return {value: turn for value, turn in turns if turn is not None}

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        port, number_of = len(self.packed.inputs), {turn: k for k, turn in enumerate(self.turns)}
        stream = [
            Instruction("input", item.out, (), None, port, 2 * number_of[self._turn[item.args[0]]] + (item.op == "cos"))
            if item.op in TRIG and item.args[0] in self._turn
            else item
            for item in self.packed.instructions
        ]
        return tuple(alive(stream))


def _turn_of(item: Instruction, maker: dict[int, Instruction]) -> ShiftedAngle | None:
    """q, q + c, c + q or q − c."""
    if item.op == "input":
        return ShiftedAngle(item.port or 0, item.index or 0, NEGATIVE_ZERO)
    if item.op not in ("add", "sub"):
        return None
    angle, offset = (maker[arg] for arg in item.args)
    if item.op == "add" and offset.op == "input":
        angle, offset = offset, angle
    if angle.op != "input" or offset.value is None:
        return None
    return ShiftedAngle(angle.port or 0, angle.index or 0, offset.value if item.op == "add" else -offset.value)
