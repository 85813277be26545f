"""Memory layout of states for code in which a vector contains one number of several states.

A result is a row of numbers for each state. Rows are written in segments of as many numbers as a vector has lanes:

    a square        the vectors of that many values, transposed
    a constant      numbers that depend on no input: zeros of M between two branches of a tree

A value that occurs several times (M = Mᵀ) is computed and kept once. Segments are written in the order of addresses, because
neighbours share cache lines. A segment across two lines takes twice the time, and the position of the lines in a row varies
between states: rows of 35² numbers begin one number later in a line each time. So there is a cover for every `phase`, and a
block takes every eighth state, whose rows have the same phase (`LaneLayout.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import NamedTuple

from appell.graph.fn import Fn, Port
from appell.graph.instructions import Instruction

SQUARE, CONSTANT, ASTRIDE = 4, 2, 2  # costs of segments: stores with shuffles, stores only; factor for stores across two lines
VECTORS_BY_CACHE_LINES = 8  # vectors in the outputs of a state from which cache lines matter


class Segment(NamedTuple):
    """Numbers at, at + 1, … of a row: a square of the vectors `places`, or the numbers `row`."""

    at: int
    places: tuple[int, ...] = ()
    row: tuple[float, ...] = ()


class LaneLayout(NamedTuple):
    """The segments of each output for every phase, the number of vectors they use, and which are `constant`."""

    outputs: tuple[tuple[tuple[Segment, ...], ...], ...]
    vectors: int
    constant: Mapping[int, float]
    apart: int  # distance of the states in a block: rows of one phase


@dataclass(frozen=True)
class Packed:
    """`fn` with all its results in one output `values`, each value once and no constants."""

    fn: Fn

    @property
    def name(self) -> str:
        return self.fn.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.fn.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (Port("values", (len(self._value_index),)),)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions of `fn`, with other outputs."""
        body = (item for item in self.fn.instructions if item.op != "output")
        outputs = (Instruction("output", -1, (value,), None, 0, index) for value, index in self._value_index.items())
        return (*body, *outputs)

    @cached_property
    def used(self) -> tuple[frozenset[int], ...]:
        """For each input, the indices that are used."""
        indices_of: list[set[int]] = [set() for _ in self.fn.inputs]
        for item in self.fn.instructions:
            if item.op == "input":
                indices_of[item.port or 0].add(item.index or 0)
        return tuple(frozenset(indices) for indices in indices_of)

    @cached_property
    def _constant(self) -> dict[int, float]:
        return {item.out: item.value for item in self.fn.instructions if item.op == "const" and item.value is not None}

    @cached_property
    def _value_index(self) -> dict[int, int]:
        """Value → its index in `values`: by growing upper left corners of matrices; for M, body after body."""
        shells: dict[int, tuple[int, int]] = {}
        for port, row in zip(self.fn.outputs, self._rows, strict=True):
            for k, value in enumerate(row):
                if value not in self._constant:
                    shells.setdefault(value, _shell(port.shape, k))
        return {value: index for index, value in enumerate(sorted(shells, key=lambda value: shells[value]))}

    @cached_property
    def _rows(self) -> list[list[int]]:
        """The value at each index of each output."""
        rows = [[-1] * port.size for port in self.fn.outputs]
        for item in self.fn.instructions:
            if item.op == "output":
                rows[item.port or 0][item.index or 0] = item.args[0]
        return rows

    def layout(self, lanes: int) -> LaneLayout:
        """How every output is written; constants inside squares are placed after the values."""
        index_of, distance = dict(self._value_index), self._apart(lanes)
        phases = range(lanes if distance else 1)
        outputs = tuple(tuple(tuple(self._segments(row, lanes, phase, index_of)) for phase in phases) for row in self._rows)
        constants = {index_of[value]: number for value, number in self._constant.items() if value in index_of}
        return LaneLayout(outputs, len(index_of), constants, distance or 1)

    def _apart(self, lanes: int) -> int:
        """The number of states after which the phase repeats; 0 for short outputs, where it does not matter, and for outputs
        shorter than a vector, which are written over the beginning of the next state."""
        sizes = [port.size for port in self.fn.outputs if port.size]
        if sum(sizes) < VECTORS_BY_CACHE_LINES * lanes or min(sizes) < lanes:
            return 0
        return max(lanes // gcd(size, lanes) for size in sizes)

    def _segments(self, row: list[int], lanes: int, phase: int, index_of: dict[int, int]) -> Iterator[Segment]:
        for at, square in cover([value in self._constant for value in row], lanes, phase):
            values = [*row[at : at + lanes], *row[-1:] * (at + lanes - len(row))]
            if square:
                yield Segment(at, places=tuple(index_of.setdefault(x, len(index_of)) for x in values))
            else:
                yield Segment(at, row=tuple(self._constant[x] for x in values))


def _shell(shape: tuple[int, ...], k: int) -> tuple[int, int]:
    """Sort key of entry k of an array; for a square matrix, by the larger and the smaller of row and column."""
    if len(shape) == 2 and shape[0] == shape[1]:
        row, column = divmod(k, shape[1])
        return max(row, column), min(row, column)
    return k, 0


def cover(constant: Sequence[bool], lanes: int, phase: int = 0) -> list[tuple[int, bool]]:
    """The cheapest segments, (at, whether it is a square), that write a row with some constant numbers.

    Segments may overlap. The row begins `phase` numbers after a line of the cache; a segment is within one line where
    at + phase is a multiple of `lanes`. A row shorter than a vector is one segment, longer than the row.
    """
    size, last = len(constant), len(constant) - lanes
    if last <= 0:
        return [(0, not all(constant))] if size else []
    run = [0] * (size + 1)  # length of the run of constants from here
    for k in reversed(range(size)):
        run[k] = run[k + 1] + 1 if constant[k] else 0
    cost, step = [0, *[SQUARE * ASTRIDE * size] * size], [(0, 0, True)] * (size + 1)  # cost of writing the first k numbers
    for written in range(size):
        starts = (min(written, last), written - (written + phase) % lanes, written + run[written] - lanes)
        for at in (at for at in starts if max(0, written - lanes + 1) <= at <= min(written, last)):
            square = run[at] < lanes
            price = cost[written] + (SQUARE if square else CONSTANT) + (ASTRIDE if (at + phase) % lanes else 0)
            if price < cost[at + lanes]:
                cost[at + lanes], step[at + lanes] = price, (written, at, square)
    chosen, written = [], size
    while written:
        written, at, square = step[written]
        chosen.append((at, square))
    return chosen[::-1]


def squares_read(used: Iterable[int], size: int, lanes: int) -> list[int]:
    """Offsets of squares that contain all `used` indices of a row of `size` numbers."""
    starts: list[int] = []
    for index in sorted(used):
        if not starts or index >= starts[-1] + lanes:
            starts.append(max(0, min(index, size - lanes)))
    return starts
