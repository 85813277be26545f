"""`NAME_lanes` in C around `NAME_vectors`: tables of where everything lies, memory, and the loop over blocks of states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

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
        covers = chain.from_iterable(self.layout.outputs)
        rows = (self._row(segment) for segment in chain.from_iterable(covers) if segment.row)
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
        writes = (self._covers(f"write{k}", covers) for k, covers in enumerate(self.layout.outputs))
        rows = "".join(f", {{{row}}}" for row in self._constants)
        return "".join([*reads, *writes, f"static const V constants[] = {{{{}}{rows}}};\n"])

    def _covers(self, name: str, covers: Sequence[Sequence[Segment]]) -> str:
        """A table for each phase, and one of those."""
        each = [_table(f"{name}_{phase}", map(self._record, segments)) for phase, segments in enumerate(covers)]
        rows = ", ".join(f"{{{name}_{phase}, {len(segments)}}}" for phase, segments in enumerate(covers))
        return f"{''.join(each)}static const Cover {name}[] = {{{rows}}};\n"

    def _reads(self) -> Iterator[tuple[int, list[int]]]:
        """Inputs that occur, and where their squares begin."""
        for k, used in enumerate(self.packed.used):
            if used:
                yield k, squares_read(used, self.packed.inputs[k].size, self.lanes)

    def loop(self) -> str:
        """`NAME_lanes` itself: blocks of states `apart`, then the rest in blocks of neighbours."""
        scalar, *_, values, work, end = self.precision.scalar, *self._begin
        longest = 1 + max((port.size for port in (*self.packed.inputs, *self.packed.fn.outputs)), default=0)
        vectors = [f"memory + {at}" for at in self._begin[:-2]]
        name, lanes, apart = self.packed.name, self.lanes, self.layout.apart
        given = "in, stride, out, far, memory"
        return f"""\
static inline __attribute__((always_inline)) Bytes {name}_block(
    ptrdiff_t i, ptrdiff_t apart, ptrdiff_t left, const {scalar} *const *in, const ptrdiff_t *stride, {scalar} *const *out,
    unsigned char *far, V *memory)
{{
    {scalar} *const spare = ({scalar} *) (memory + {end});
    V sum = {{}};
{self._before()}\
    {name}_vectors({", ".join(vectors)}, &sum, memory + {work});
{self._after(values)}\
    const Bytes flags = 1 + __builtin_convertvector(sum < {literal(self.precision.limit, self.precision)}, Bytes);
    for (int k = 0; k < {lanes} && k < left; k++) far[i + apart*k] = flags[k];
    return flags;
}}

{lanes_declaration(self.packed, scalar)}
{{
    V *const memory = room;
    Bytes any = {{}};
    ptrdiff_t i = 0;
{self._once()}\
    for (; n - i >= {lanes * apart}; i += {lanes * apart})
        for (int k = 0; k < {apart}; k++) any |= {name}_block(i + k, {apart}, n - i - k - {(lanes - 1) * (apart - 1)}, {given});
    for (; i < n; i += {lanes}) any |= {name}_block(i, 1, n - i, {given});
    int some = 0;
    for (int k = 0; k < {lanes}; k++) some |= any[k];
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
            source = f"in[{k}] + i*stride[{k}], stride[{k}], apart, left, spare"
            lines.append(f"    if (stride[{k}]) lanes_load({to}, {table}, {source});\n")
        return "".join(lines)

    def _after(self, values: int) -> str:
        """Outputs of one block."""
        source = f"(const {self.precision.scalar} *) (memory + {values}), constants"
        lines = []
        for k, (port, covers) in enumerate(zip(self.packed.fn.outputs, self.layout.outputs, strict=True)):
            to, cover = f"out[{k}] + i*{port.size}", f"write{k}[{f'PHASE(out[{k}] + i*{port.size})' if len(covers) > 1 else 0}]"
            if port.size:
                lines.append(f"    lanes_store({to}, {port.size}, {source}, {cover}, apart, left, spare);\n")
        return "".join(lines)


def _begins(sizes: Sequence[int]) -> list[int]:
    """Where parts of these sizes begin that lie one after the other, and where the last one ends."""
    return [0, *accumulate(sizes)]


def _table(name: str, records: Iterable[Iterable[int]]) -> str:
    lines = ",\n    ".join(", ".join(map(str, record)) for record in records)
    return f"static const Place {name}[] = {{\n    {lines or 0}\n}};\n"
