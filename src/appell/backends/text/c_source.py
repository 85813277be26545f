"""A function as C text: straight-line code, one `const double` for each value.

    static void NAME(const double *restrict q, …, double *restrict M, …)    one state, pointers to the ports' memory
    void NAME_batch(n, in, stride, out)                                     n states; stride 0 repeats an input

Everything specific to a language is in a `Dialect`: another dialect gives another emitter for the same instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from appell.backends.text.dialect import PRELUDE, C, Dialect
from appell.backends.text.function_chunks import ANYWHERE, Plan, split
from appell.backends.text.instruction_order import TRIG
from appell.graph.composite import Composite
from appell.graph.fn import Fn, Port, Signature
from appell.graph.instructions import Instruction

INSTRUCTIONS_OF_PIECE = 1000  # instructions in one C function: gcc then takes about 0.1 ms per instruction, at any length


def emit(fn: Fn, *, piece: int = INSTRUCTIONS_OF_PIECE, dialect: Dialect = C) -> str:
    """`static void NAME(inputs…, outputs…)`; beyond `piece` instructions, a chain of functions over a work array."""
    return emit_plan(fn, fn.instructions, plan_of(fn.instructions, piece, dialect), dialect)


def emit_plan(fn: Signature, stream: Sequence[Instruction], plan: Plan, dialect: Dialect) -> str:
    """`emit` for given instructions and pieces."""
    anywhere = {item.out: item for item in stream if item.op in ANYWHERE}
    bodies = ["\n".join(_lines(fn, plan, chunk, anywhere, dialect)) for chunk in plan.pieces]
    name, pointers = f"{fn.name}{dialect.suffix}", [*_pointers(fn, dialect), *dialect.passed]
    head = ", ".join(_declared(pointers, len(fn.inputs), dialect))
    if len(bodies) == 1:
        return f"{dialect.head} {name}({head})\n{{\n{bodies[0]}\n}}\n"
    inside = "work" not in pointers
    shared = head + (f", {dialect.value} *restrict work" if inside else "")
    arguments = ", ".join([*pointers, "work"] if inside else pointers)
    functions = [f"{dialect.head_of_part} {name}_{k}({shared})\n{{\n{body}\n}}\n" for k, body in enumerate(bodies)]
    memory = [f"    {dialect.value} work[{max(plan.work, 1)}];"] if inside else []
    calls = "\n".join([*memory, *(f"    {name}_{k}({arguments});" for k in range(len(bodies)))])
    return "\n".join([*functions, f"{dialect.head} {name}({head})\n{{\n{calls}\n}}\n"])


def plan_of(stream: Sequence[Instruction], piece: int, dialect: Dialect) -> Plan:
    """The order and the pieces in which `emit` writes them."""
    return split(dialect.order(stream), piece)


def emit_function(fn: Fn | Composite) -> str:
    """`static void NAME(inputs…, outputs…)` of a graph, or of parts with C in between; `fn.routine` precedes it."""
    if isinstance(fn, Fn):
        return emit(fn)
    return "\n".join([*(emit(part) for part in fn.parts), fn.between()])


def emit_exports(fn: Signature) -> str:
    """The entry point that Python calls; `emit_function(fn)` must precede it."""
    inputs = [f"in[{k}] + k*stride[{k}]" for k in range(len(fn.inputs))]
    outputs = [f"out[{k}] + k*{port.size}" for k, port in enumerate(fn.outputs)]
    return (
        f"{batch_declaration(fn)}\n{{\n    for (ptrdiff_t k = 0; k < n; k++)\n"
        f"        {fn.name}({', '.join([*inputs, *outputs])});\n}}\n"
    )


def batch_declaration(fn: Signature) -> str:
    arguments = "ptrdiff_t n, const double *const *in, const ptrdiff_t *stride, double *const *out"
    return f"void {fn.name}_batch({arguments})"


def module(fns: Sequence[Fn | Composite], *, piece: int = INSTRUCTIONS_OF_PIECE) -> str:
    """A whole C file with the entry point of every function."""
    routines = dict.fromkeys(fn.routine for fn in fns if isinstance(fn, Composite))
    texts = ((emit(fn, piece=piece) if isinstance(fn, Fn) else emit_function(fn), emit_exports(fn)) for fn in fns)
    return "\n".join([PRELUDE, *routines, *(text for pair in texts for text in pair)])


def declarations(fns: Sequence[Signature]) -> str:
    """What `module(fns)` exports, for cffi's `cdef`."""
    return "\n".join(f"{batch_declaration(fn)};" for fn in fns)


def _lines(
    fn: Signature, plan: Plan, piece: Sequence[Instruction], anywhere: Mapping[int, Instruction], dialect: Dialect
) -> Iterator[str]:
    """One piece: each operand is loaded before its first use, each result needed by a later piece is stored in `work`."""
    pointers = _pointers(fn, dialect)
    text: dict[int, str] = {}
    for group in _steps(piece, dialect.packs):
        for arg in (arg for item in group for arg in item.args):
            if arg not in text:
                in_pack = group[0].op in TRIG
                text[arg], loaded = _operand(arg, anywhere.get(arg), pointers, plan, dialect, in_pack)
                if loaded:
                    yield dialect.define(text[arg], loaded)
        item = group[0]
        if item.op == "meet":
            yield dialect.meet
            continue
        if item.op == "output":
            pointer = pointers[len(fn.inputs) + (item.port or 0)]
            yield dialect.store.format(pointer=pointer, index=item.index, text=text[item.args[0]])
            continue
        text.update((item.out, f"w{item.out}") for item in group)
        if dialect.packs and item.op in TRIG:
            yield from _pack(group, text, dialect)
        else:
            value = dialect.operations[item.op].format(*(text[arg] for arg in item.args))
            yield dialect.define(text[item.out], value)
        for item in group:
            if item.out in plan.slot:
                yield dialect.store.format(pointer="work", index=plan.slot[item.out], text=text[item.out])


def _steps(piece: Sequence[Instruction], packs: tuple[int, ...]) -> Iterator[list[Instruction]]:
    """Instruction by instruction, with neighbouring sines and cosines (up to the largest pack) together."""
    pack: list[Instruction] = []
    for item in piece:
        trig = bool(packs) and item.op in TRIG
        full = pack and trig and len({*(x.args for x in pack), item.args}) > packs[-1]
        inside = any(item.args[:1] == (x.out,) for x in pack)
        if pack and (not trig or full or inside):
            yield pack
            pack = []
        if trig:
            pack.append(item)
        else:
            yield [item]
    if pack:
        yield pack


def _pack(group: Sequence[Instruction], text: Mapping[int, str], dialect: Dialect) -> Iterator[str]:
    """One call for a pack of arguments; unused lanes repeat the last one."""
    arguments = list(dict.fromkeys(item.args[0] for item in group))
    lanes = next(size for size in dialect.packs if size >= len(arguments))
    lane_of, name = {arg: k for k, arg in enumerate(arguments)}, text[group[0].out]
    filled = ", ".join(text[arg] for arg in arguments + [arguments[-1]] * (lanes - len(arguments)))
    for line in dialect.sincos:
        yield line.format(lanes=lanes, filled=filled, name=name)
    for item in group:
        yield dialect.define(text[item.out], dialect.part.format(whole=f"{name}{item.op[0]}", place=lane_of[item.args[0]]))


def _operand(
    value: int, source: Instruction | None, pointers: Sequence[str], plan: Plan, dialect: Dialect, in_pack: bool
) -> tuple[str, str]:
    """The text of a value from outside the piece, and the load that must precede it ("" for a constant)."""
    if source is not None and source.op == "const":
        assert source.value is not None
        return dialect.literal(source.value), ""
    pointer, index = ("work", plan.slot[value]) if source is None else (pointers[source.port or 0], source.index)
    return f"w{value}", (dialect.load_alone if in_pack else dialect.load).format(pointer=pointer, index=index)


def _declared(pointers: Sequence[str], inputs: int, dialect: Dialect) -> list[str]:
    return [f"{'const ' if k < inputs else ''}{dialect.value} *restrict {name}" for k, name in enumerate(pointers)]


def _pointers(fn: Signature, dialect: Dialect) -> list[str]:
    """The ports' names, with an underscore appended where the language, a value or another port has that name."""
    taken = set(dialect.reserved).union(*(re.findall(r"[a-z]\w+", text) for text in dialect.operations.values()))
    names: list[str] = []
    for port in (*fn.inputs, *fn.outputs):
        name = _free_name(port, taken)
        taken.add(name)
        names.append(name)
    return names


def _free_name(port: Port, taken: set[str]) -> str:
    name = port.name
    while name in taken or re.fullmatch(r"w\d+[sc]?|_.*|[aA]ppell.*", name):
        name = f"p{name}" if name.startswith(("_", "a", "A")) else f"{name}_"
    return name
