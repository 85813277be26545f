"""Where the numbers of a state lie, for code in which a vector holds one number of several states.

A result is a row of numbers for each state. Rows are written in segments of as many numbers as a vector has lanes:

    a square        the vectors of that many values, transposed
    a constant      numbers that no input changes, the same for every state: zeros of M between two branches of a tree

A value that stands in several places (M = Mᵀ) is computed and kept once. Segments are written in the order of addresses:
neighbours share lines of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from appell.graph.fn import Fn, Port
from appell.graph.instructions import Instruction

SQUARE, CONSTANT = 3, 2  # what a segment costs: a square eight stores and 24 shuffles, a constant the stores alone


class Segment(NamedTuple):
    """Numbers at, at + 1, … of a row: a square of the vectors `places`, or the numbers `row`."""

    at: int
    places: tuple[int, ...] = ()
    row: tuple[float, ...] = ()


class Layout(NamedTuple):
    """The segments of each output, the number of vectors they are made of, and which of those are `constant`."""

    outputs: tuple[tuple[Segment, ...], ...]
    vectors: int
    constant: Mapping[int, float]


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
        return (Port("values", (len(self._place),)),)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """Those of `fn` but for the outputs."""
        body = (item for item in self.fn.instructions if item.op != "output")
        ends = (Instruction("output", -1, (value,), None, 0, place) for value, place in self._place.items())
        return (*body, *ends)

    @cached_property
    def used(self) -> tuple[frozenset[int], ...]:
        """Of each input the indices that occur."""
        found: list[set[int]] = [set() for _ in self.fn.inputs]
        for item in self.fn.instructions:
            if item.op == "input":
                found[item.port or 0].add(item.index or 0)
        return tuple(frozenset(indices) for indices in found)

    @cached_property
    def _constant(self) -> dict[int, float]:
        return {item.out: item.value for item in self.fn.instructions if item.op == "const" and item.value is not None}

    @cached_property
    def _place(self) -> dict[int, int]:
        """Value → its index in `values`."""
        results = (item.args[0] for item in self.fn.instructions if item.op == "output")
        return {value: place for place, value in enumerate(dict.fromkeys(x for x in results if x not in self._constant))}

    @cached_property
    def _rows(self) -> list[list[int]]:
        """Which value stands at each index of each output."""
        rows = [[-1] * port.size for port in self.fn.outputs]
        for item in self.fn.instructions:
            if item.op == "output":
                rows[item.port or 0][item.index or 0] = item.args[0]
        return rows

    def layout(self, lanes: int) -> Layout:
        """How every output is written; constants that squares contain get places after the values."""
        place, outputs = dict(self._place), []
        for row in self._rows:
            segments = []
            for at, square in cover([value in self._constant for value in row], lanes):
                here = [*row[at : at + lanes], *row[-1:] * (at + lanes - len(row))]
                if square:
                    segments.append(Segment(at, places=tuple(place.setdefault(x, len(place)) for x in here)))
                else:
                    segments.append(Segment(at, row=tuple(self._constant[x] for x in here)))
            outputs.append(tuple(segments))
        kept = {place[value]: number for value, number in self._constant.items() if value in place}
        return Layout(tuple(outputs), len(place), kept)


def cover(constant: Sequence[bool], lanes: int) -> list[tuple[int, bool]]:
    """The cheapest segments, (at, whether it is a square), that write a row of which some numbers are constant.

    Segments may overlap. They begin at multiples of half a vector where rows do: with both halves in one line of the cache
    they are written faster. A row shorter than a vector is one segment, longer than the row.
    """
    size, grid = len(constant), lanes // 2 if len(constant) % (lanes // 2) == 0 else 1
    if size <= lanes:
        return [(0, not all(constant))] if size else []
    run = [0] * (size + 1)  # constants from here on
    for k in reversed(range(size)):
        run[k] = run[k + 1] + 1 if constant[k] else 0
    cost, step = [0, *[SQUARE * size] * size], [(0, 0, True)] * (size + 1)  # to have the first `done` numbers written
    for done in range(0, size, grid):
        square, same = min(done, size - lanes), min(done, (done + run[done]) // grid * grid - lanes)
        moves = [(square, True, SQUARE)] + ([(same, False, CONSTANT)] if same >= 0 and run[same] >= lanes else [])
        for at, is_square, price in moves:
            if at + lanes > done and cost[done] + price < cost[at + lanes]:
                cost[at + lanes], step[at + lanes] = cost[done] + price, (done, at, is_square)
    chosen, done = [], size
    while done:
        done, at, is_square = step[done]
        chosen.append((at, is_square))
    return chosen[::-1]


def squares_read(used: Iterable[int], size: int, lanes: int) -> list[int]:
    """Where squares begin that contain all `used` places of a row of `size` numbers."""
    starts: list[int] = []
    for place in sorted(used):
        if not starts or place >= starts[-1] + lanes:
            starts.append(max(0, min(place, size - lanes)))
    return starts
