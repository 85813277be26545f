"""`NAME_lanes` in C around `NAME_vectors`: tables of the memory layout, memory, and the loop over blocks of states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from appell.backends.lanes.lane_layout import LaneLayout, Packed, Segment, squares_read
from appell.backends.lanes.turns import ShiftedAngle
from appell.backends.text.dialect import c_literal
from appell.backends.text.sincos import Precision, filled
from appell.graph.fn import Signature

GROUPS_ABREAST = 3  # segments written per turn: the fastest of 1 to 5 for matrices of humanoids


def lanes_declaration(fn: Signature, scalar: str = "double") -> str:
    arguments = f"ptrdiff_t n, const {scalar} *const *in, const ptrdiff_t *stride, {scalar} *const *out"
    return f"int {fn.name}_lanes({arguments}, unsigned char *far, void *room)"


def room_declaration(fn: Signature) -> str:
    return f"ptrdiff_t {fn.name}_room(void)"


def literal(value: float, precision: Precision) -> str:
    """A number of this precision as C text."""
    return f"{c_literal(value).strip('()')}{precision.suffix if abs(value) < float('inf') else ''}"


@dataclass(frozen=True)
class Driver:
    """The layout of `room`: the vectors of the inputs, of the turns, of the values (constants among them are written once) and
    of `work`; then space for a copy of the rows of one block, used where there are fewer states than lanes, or no next row that
    may be read or overwritten.
    """

    packed: Packed
    turns: tuple[ShiftedAngle, ...]
    layout: LaneLayout
    work: int
    precision: Precision
    lanes: int

    @property
    def index_type(self) -> str:
        """The type of the numbers in the tables: as short as possible, because tables share the cache with the vectors."""
        sizes = [port.size for port in (*self.packed.inputs, *self.packed.fn.outputs)]
        return "unsigned short" if max([sum(sizes), self.layout.vectors * self.lanes]) < 2**16 else "unsigned int"

    @cached_property
    def _begin(self) -> list[int]:
        """Offsets of the vectors of each input, of the turns, of the values, of `work`, and the end."""
        return _begins([*(port.size for port in self.packed.inputs), 2 * len(self.turns), self.layout.vectors, self.work])

    @cached_property
    def _constants(self) -> dict[str, int]:
        """Rows of constants as text → number, from 1."""
        covers = chain.from_iterable(self.layout.outputs)
        rows = (self._row(segment) for segment in chain.from_iterable(covers) if segment.row)
        return {text: k for k, text in enumerate(dict.fromkeys(rows), start=1)}

    def _row(self, segment: Segment) -> str:
        return ", ".join(literal(number, self.precision) for number in segment.row)

    def _record(self, segment: Segment) -> tuple[int, ...]:
        if segment.row:
            return (segment.at, self._constants[self._row(segment)], *[0] * self.lanes)
        return (segment.at, 0, *(self.lanes * vector for vector in segment.places))

    def tables(self) -> str:
        """The tables for `lanes_load` and `lanes_store`."""
        reads = (_table(f"read{k}", [starts]) for k, starts in self._reads())
        writes = (self._covers(f"write{k}", covers) for k, covers in enumerate(self.layout.outputs))
        rows = "".join(f", {{{row}}}" for row in self._constants)
        turns = _table("turn_of", [[self._begin[turn.port] + turn.index] for turn in self.turns])
        offsets = ", ".join(literal(turn.offset, self.precision) for turn in self.turns)
        turns += f"static const {self.precision.scalar} turn_by[] = {{{offsets or 0}}};\n"
        return "".join([*reads, *writes, turns, f"static const V constants[] = {{{{}}{rows}}};\n"])

    def _covers(self, name: str, covers: Sequence[Sequence[Segment]]) -> str:
        """A table for each phase, and a table of these tables."""
        tables = [_table(f"{name}_{phase}", map(self._record, segments)) for phase, segments in enumerate(covers)]
        rows = ", ".join(f"{{{name}_{phase}, {len(segments)}}}" for phase, segments in enumerate(covers))
        return f"{''.join(tables)}static const Cover {name}[] = {{{rows}}};\n"

    def _reads(self) -> Iterator[tuple[int, list[int]]]:
        """Inputs that are used, and the offsets of their squares."""
        for k, indices in enumerate(self.packed.used):
            if indices:
                yield k, squares_read(indices, self.packed.inputs[k].size, self.lanes)

    def loop(self) -> str:
        """`NAME_lanes` itself, `loop.c.in`."""
        *inputs, turns, values, work, end = self._begin
        longest = 1 + max((port.size for port in (*self.packed.inputs, *self.packed.fn.outputs)), default=0)
        vectors = [f"memory + {at}" for at in (*inputs, *([turns] if self.turns else []), values)]
        name, distance = self.packed.name, self.layout.apart
        texts = {
            "function": name,
            "read": self._before(),
            "write": self._after(values),
            "once": self._once(),
            "vectors": ", ".join(vectors),
            "turns": str(len(self.turns)),
            "at_turns": str(turns),
            "at_work": str(work),
            "size": str(end + longest),
            "first": f"{name}_blocks(call, 0, n, {distance}, &any)" if distance > 1 else "0",
            "declaration": lanes_declaration(self.packed, self.precision.scalar),
            "room": room_declaration(self.packed),
        }
        return filled("loop.c.in", texts, self.precision, self.lanes, "lanes")

    def _once(self) -> str:
        """Setup: constants, and inputs common to all states."""
        values, lines = self._begin[-3], []
        for k, number in self.layout.constant.items():
            lines.append(f"    memory[{values + k}] = ALL({literal(number, self.precision)});\n")
        for k, _ in self._reads():
            begin, size = self._begin[k], self.packed.inputs[k].size
            lines.append(f"    if (!stride[{k}] && n) lanes_repeat(memory + {begin}, {size}, in[{k}]);\n")
        return "".join(lines)

    def _before(self) -> str:
        """Loads the inputs of one block."""
        lines = []
        for k, starts in self._reads():
            to, table = f"memory + {self._begin[k]}, {self.packed.inputs[k].size}", f"read{k}, {len(starts)}"
            step = f"call.stride[{k}]"
            source = f"call.in[{k}] + block.i*{step}, {step}, block.apart, block.left, {self._spare}"
            lines.append(f"    if ({step}) lanes_load({to}, {table}, {source});\n")
        return "".join(lines)

    def _after(self, values: int) -> str:
        """Stores the outputs of one block; the longest is interleaved with the turns of the next block."""
        sizes = [port.size for port in self.packed.fn.outputs]
        source = f"(const {self.precision.scalar} *) (memory + {values}), constants"
        lines = []
        for k, (size, covers) in enumerate(zip(sizes, self.layout.outputs, strict=True)):
            to = f"call.out[{k}] + block.i*{size}"
            cover = f"write{k}[{f'PHASE({to})' if len(covers) > 1 else 0}]"
            rest = f"block.apart, block.left, {self._spare}, {'ahead' if k == self._longest else '(Turns) {}'}"
            if size:
                lines.append(f"    lanes_store({to}, {size}, {source}, {cover}, {rest});\n")
        return "".join(lines)

    @cached_property
    def _longest(self) -> int:
        sizes = [port.size for port in self.packed.fn.outputs]
        return sizes.index(max(sizes))

    @property
    def _spare(self) -> str:
        return f"({self.precision.scalar} *) (memory + {self._begin[-1]})"

    @property
    def abreast(self) -> int:
        """Segments written per turn of the next block."""
        segments = min(map(len, self.layout.outputs[self._longest])) if self.turns else 0
        return min(GROUPS_ABREAST, segments // max(1, len(self.turns)))


def _begins(sizes: Sequence[int]) -> list[int]:
    """Offsets of consecutive parts of these sizes, and the end of the last."""
    return [0, *accumulate(sizes)]


def _table(name: str, records: Iterable[Iterable[int]]) -> str:
    lines = ",\n    ".join(", ".join(map(str, record)) for record in records)
    return f"static const Place {name}[] = {{\n    {lines or 0}\n}};\n"
