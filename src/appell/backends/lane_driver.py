"""`NAME_lanes` in C around `NAME_vectors`: tables of where everything lies, memory, and the loop over blocks of states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from appell.backends.dialect import c_literal
from appell.backends.lane_rows import Layout, Packed, Segment, squares_read
from appell.backends.sincos import Precision
from appell.graph.fn import Signature


def lanes_declaration(fn: Signature, scalar: str = "double") -> str:
    arguments = f"ptrdiff_t n, const {scalar} *const *in, const ptrdiff_t *stride, {scalar} *const *out"
    return f"int {fn.name}_lanes({arguments}, unsigned char *far, void *room)"


def room_declaration(fn: Signature) -> str:
    return f"ptrdiff_t {fn.name}_room(void)"


def literal(value: float, precision: Precision) -> str:
    """A number of this precision."""
    return f"{c_literal(value).strip('()')}{precision.suffix if abs(value) < float('inf') else ''}"


@dataclass(frozen=True)
class Driver:
    """In the `room`: the vectors of the inputs, of the values (constants among them written once) and of `work`; then space for
    a copy of the rows of one block, where there are fewer states than lanes, or no next row that may be read or overwritten.
    """

    packed: Packed
    layout: Layout
    work: int
    precision: Precision
    lanes: int

    @property
    def place(self) -> str:
        """The type of the numbers in the tables: as short as they allow, for tables share the cache with the vectors."""
        sizes = [port.size for port in (*self.packed.inputs, *self.packed.fn.outputs)]
        return "unsigned short" if max([sum(sizes), self.layout.vectors * self.lanes]) < 2**16 else "unsigned int"

    @cached_property
    def _begin(self) -> list[int]:
        """Of the vectors of each input, of the values, of `work`, and the end."""
        return _begins([*(port.size for port in self.packed.inputs), self.layout.vectors, self.work])

    @cached_property
    def _constants(self) -> dict[str, int]:
        """Rows of constants as text, numbered from 1."""
        rows = (self._row(segment) for segments in self.layout.outputs for segment in segments if segment.row)
        return {text: k for k, text in enumerate(dict.fromkeys(rows), start=1)}

    def _row(self, segment: Segment) -> str:
        return ", ".join(literal(number, self.precision) for number in segment.row)

    def _record(self, segment: Segment) -> tuple[int, ...]:
        if segment.row:
            return (segment.at, self._constants[self._row(segment)], *[0] * self.lanes)
        return (segment.at, 0, *(self.lanes * place for place in segment.places))

    def tables(self) -> str:
        """What `lanes_load` and `lanes_store` read."""
        reads = (_table(f"read{k}", [starts]) for k, starts in self._reads())
        writes = (_table(f"write{k}", map(self._record, segments)) for k, segments in enumerate(self.layout.outputs))
        rows = "".join(f", {{{row}}}" for row in self._constants)
        return "".join([*reads, *writes, f"static const V constants[] = {{{{}}{rows}}};\n"])

    def _reads(self) -> Iterator[tuple[int, list[int]]]:
        """Inputs that occur, and where their squares begin."""
        for k, used in enumerate(self.packed.used):
            if used:
                yield k, squares_read(used, self.packed.inputs[k].size, self.lanes)

    def loop(self) -> str:
        """`NAME_lanes` itself."""
        scalar, *_, values, work, end = self.precision.scalar, *self._begin
        longest = max(port.size for port in (*self.packed.inputs, *self.packed.fn.outputs)) + 1
        vectors = [f"memory + {at}" for at in self._begin[:-2]]
        return f"""\
{lanes_declaration(self.packed, scalar)}
{{
    V *const memory = room;
    {scalar} *const spare = ({scalar} *) (memory + {end});
    Bytes any = {{}};
{self._once()}\
    for (ptrdiff_t i = 0; i < n; i += {self.lanes}) {{
        const ptrdiff_t left = n - i;
        V sum = {{}};
{self._before()}\
        {self.packed.name}_vectors({", ".join(vectors)}, &sum, memory + {work});
{self._after(values)}\
        const Bytes flags = 1 + __builtin_convertvector(sum < {literal(self.precision.limit, self.precision)}, Bytes);
        any |= flags;
        if (left < {self.lanes}) __builtin_memcpy(far + i, &flags, left);
        else __builtin_memcpy(far + i, &flags, {self.lanes});
    }}
    int some = 0;
    for (int k = 0; k < {self.lanes}; k++) some |= any[k];
    return some;
}}

{room_declaration(self.packed)} {{ return sizeof(V)*{end + longest}; }}
"""

    def _once(self) -> str:
        """Constants, and inputs that are the same for all states."""
        values, lines = self._begin[-3], []
        for k, number in self.layout.constant.items():
            lines.append(f"    memory[{values + k}] = ALL({literal(number, self.precision)});\n")
        for k, _ in self._reads():
            begin, size = self._begin[k], self.packed.inputs[k].size
            lines.append(f"    if (!stride[{k}] && n) lanes_repeat(memory + {begin}, {size}, in[{k}]);\n")
        return "".join(lines)

    def _before(self) -> str:
        """Inputs of one block."""
        lines = []
        for k, starts in self._reads():
            to, table = f"memory + {self._begin[k]}, {self.packed.inputs[k].size}", f"read{k}, {len(starts)}"
            source = f"in[{k}] + i*stride[{k}], stride[{k}], left, spare"
            lines.append(f"        if (stride[{k}]) lanes_load({to}, {table}, {source});\n")
        return "".join(lines)

    def _after(self, values: int) -> str:
        """Outputs of one block."""
        source = f"(const {self.precision.scalar} *) (memory + {values}), constants"
        return "".join(
            f"        lanes_store(out[{k}] + i*{port.size}, {port.size}, {source}, write{k}, {len(segments)}, left, spare);\n"
            for k, (port, segments) in enumerate(zip(self.packed.fn.outputs, self.layout.outputs, strict=True))
            if segments
        )


def _begins(sizes: Sequence[int]) -> list[int]:
    """Where parts of these sizes begin that lie one after the other, and where the last one ends."""
    return [0, *accumulate(sizes)]


def _table(name: str, records: Iterable[Iterable[int]]) -> str:
    lines = ",\n    ".join(", ".join(map(str, record)) for record in records)
    return f"static const Place {name}[] = {{\n    {lines or 0}\n}};\n"
