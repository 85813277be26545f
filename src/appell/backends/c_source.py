"""A function as C text: straight-line code, one `const double` for each value.

    static void NAME(const double *restrict q, …, double *restrict M, …)    one state, pointers to the ports' memory
    void NAME_packed(const double *in, double *out)                         all ports one after the other
    void NAME_batch(n, in, stride, out)                                     n states; stride 0 repeats an input

What is particular to a language stands in a `Dialect`: another one over the same instructions is another emitter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from appell.backends.chunks import Plan, split
from appell.backends.schedule import TRIG, gather
from appell.backends.sincos import DOUBLE, PACKS, packs_source, vector
from appell.graph.fn import Fn, Port, Signature
from appell.graph.instructions import Instruction

PIECE = 1000  # instructions in one C function: gcc then takes about 0.1 ms an instruction, at any length

C_OPERATIONS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0}*{1}",
    "div": "{0}/{1}",
    "neg": "-{0}",
    "sq": "{0}*{0}",
    "twice": "{0} + {0}",
    "inv": "1.0/{0}",
    "sign": "appell_sign({0})",
    "erfinv": "appell_erfinv({0})",
    "constpow": "pow({0}, {1})",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "not": "{0} == 0.0",
    "and": "{0} != 0.0 && {1} != 0.0",
    "or": "{0} != 0.0 || {1} != 0.0",
    "if_else_zero": "{0} != 0.0 ? {1} : 0.0",
    **{
        name: f"{name}({{0}})"
        for name in "sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
        "floor ceil fabs erf log1p expm1".split()
    },
    **{name: f"{name}({{0}}, {{1}})" for name in "pow atan2 hypot fmod remainder copysign".split()},
    **{name: f"appell_{name}({{0}}, {{1}})" for name in ("fmin", "fmax")},
}

# erfinv: a rational guess and two Newton steps on erf(y) = x, as CasADi does it.
PRELUDE = """\
#include <math.h>
#include <stddef.h>

static inline double appell_sign(double x) { return x < 0.0 ? -1.0 : x > 0.0 ? 1.0 : x; }
/* as in libm, without a call: NaN against a number is the number */
static inline double appell_fmin(double x, double y) { const double m = x < y ? x : y; return y != y ? x : m; }
static inline double appell_fmax(double x, double y) { const double m = x > y ? x : y; return y != y ? x : m; }

static inline double appell_erfinv(double x)
{
    if (fabs(x) >= 1.0) return fabs(x) == 1.0 ? copysign(INFINITY, x) : NAN;
    double y;
    if (fabs(x) < 0.7) {
        const double z = x*x;
        y = x*(((-0.140543331*z + 0.914624893)*z - 1.645349621)*z + 0.886226899)
            / ((((0.012229801*z - 0.329097515)*z + 1.442710462)*z - 2.118377725)*z + 1.0);
    } else {
        const double z = sqrt(-log((1.0 - fabs(x))/2.0));
        y = copysign((((1.641345311*z + 3.429567803)*z - 1.624906493)*z - 1.970840454)
            / ((1.637067800*z + 3.543889200)*z + 1.0), x);
    }
    for (int k = 0; k < 2; k++) y -= (erf(y) - x)/(1.1283791670955126*exp(-y*y));
    return y;
}
"""
PRELUDE += packs_source()

C_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof "
    "main in out stride n k work NAN INFINITY NULL".split()
)


def c_literal(value: float) -> str:
    """The shortest decimal that reads back as the same double; negative numbers in parentheses."""
    if math.isnan(value):
        return "NAN"
    text = repr(value) if math.isfinite(value) else "INFINITY" if value > 0 else "-INFINITY"
    return f"({text})" if text.startswith("-") else text


@dataclass(frozen=True)
class Dialect:
    """How a language writes a value, a load, a store and each operation."""

    operations: Mapping[str, str]
    literal: Callable[[float], str]
    define: str = "    const double {name} = {text};"
    load: str = "{pointer}[{index}]"
    store: str = "    {pointer}[{index}] = {text};"
    reserved: frozenset[str] = field(default=C_KEYWORDS)
    packs: tuple[int, ...] = ()  # sizes in which sines and cosines are evaluated together


C = Dialect(C_OPERATIONS, c_literal, packs=PACKS)


def emit(fn: Fn, *, piece: int = PIECE, dialect: Dialect = C) -> str:
    """`static void NAME(inputs…, outputs…)`; beyond `piece` instructions a chain of functions over a work array."""
    plan = split(gather(fn.instructions) if dialect.packs else fn.instructions, piece)
    bodies = ["\n".join(_lines(fn, plan, k, dialect)) for k in range(len(plan.pieces))]
    head = ", ".join(_parameters(fn, dialect))
    if len(bodies) == 1:
        return f"static void {fn.name}({head})\n{{\n{bodies[0]}\n}}\n"
    shared = ", ".join([*_parameters(fn, dialect), "double *restrict work"])
    passed = ", ".join([*_pointers(fn, dialect), "work"])
    parts = [
        f"static __attribute__((noinline)) void {fn.name}_{k}({shared})\n{{\n{body}\n}}\n"
        for k, body in enumerate(bodies)
    ]
    calls = "\n".join(f"    {fn.name}_{k}({passed});" for k in range(len(bodies)))
    whole = f"static void {fn.name}({head})\n{{\n    double work[{max(plan.work, 1)}];\n{calls}\n}}\n"
    return "\n".join([*parts, whole])


def emit_exports(fn: Signature) -> str:
    """The two entry points that Python calls; `emit(fn)` must precede them."""
    packed, state, begin = [], [], 0
    for ports, base in ((fn.inputs, "in"), (fn.outputs, "out")):
        begin = 0
        for k, port in enumerate(ports):
            step = f"stride[{k}]" if base == "in" else str(port.size)
            packed.append(f"{base} + {begin}")
            state.append(f"{base}[{k}] + k*{step}")
            begin += port.size
    one, many = packed_declaration(fn), batch_declaration(fn)
    return (
        f"{one}\n{{\n    {fn.name}({', '.join(packed)});\n}}\n\n"
        f"{many}\n{{\n    for (ptrdiff_t k = 0; k < n; k++)\n        {fn.name}({', '.join(state)});\n}}\n"
    )


def packed_declaration(fn: Signature) -> str:
    return f"void {fn.name}_packed(const double *in, double *out)"


def batch_declaration(fn: Signature) -> str:
    arguments = "ptrdiff_t n, const double *const *in, const ptrdiff_t *stride, double *const *out"
    return f"void {fn.name}_batch({arguments})"


def module(fns: Sequence[Fn], *, piece: int = PIECE) -> str:
    """A whole C file with both entry points of every function."""
    return "\n".join([PRELUDE, *(text for fn in fns for text in (emit(fn, piece=piece), emit_exports(fn)))])


def declarations(fns: Sequence[Signature]) -> str:
    """What `module(fns)` exports, for cffi's `cdef`."""
    return "\n".join(f"{declare(fn)};" for fn in fns for declare in (packed_declaration, batch_declaration))


def _lines(fn: Fn, plan: Plan, k: int, dialect: Dialect) -> Iterator[str]:
    """Piece k: each operand is loaded before its first use, each result that crosses is put into `work`."""
    pointers = _pointers(fn, dialect)
    anywhere = {item.out: item for item in fn.instructions if item.op in ("input", "const")}
    text: dict[int, str] = {}
    for together in _steps(plan.pieces[k], dialect.packs):
        for arg in (arg for item in together for arg in item.args):
            if arg not in text:
                text[arg], loaded = _operand(arg, anywhere.get(arg), pointers, plan, dialect)
                if loaded:
                    yield dialect.define.format(name=text[arg], text=loaded)
        item = together[0]
        if item.op == "output":
            pointer = pointers[len(fn.inputs) + (item.port or 0)]
            yield dialect.store.format(pointer=pointer, index=item.index, text=text[item.args[0]])
            continue
        text.update((item.out, f"w{item.out}") for item in together)
        if dialect.packs and item.op in TRIG:
            yield from _pack(together, text, dialect)
        else:
            value = dialect.operations[item.op].format(*(text[arg] for arg in item.args))
            yield dialect.define.format(name=text[item.out], text=value)
        for item in together:
            if item.out in plan.slot:
                yield dialect.store.format(pointer="work", index=plan.slot[item.out], text=text[item.out])


def _steps(piece: Sequence[Instruction], packs: tuple[int, ...]) -> Iterator[list[Instruction]]:
    """Instruction by instruction, neighbouring sines and cosines (of at most the largest pack's arguments) together."""
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


def _pack(together: Sequence[Instruction], text: Mapping[int, str], dialect: Dialect) -> Iterator[str]:
    """One call for all; lanes without an argument repeat the last one."""
    arguments = list(dict.fromkeys(item.args[0] for item in together))
    lanes = next(size for size in dialect.packs if size >= len(arguments))
    place, kind, name = {arg: k for k, arg in enumerate(arguments)}, vector(DOUBLE, lanes), text[together[0].out]
    filled = ", ".join(text[arg] for arg in arguments + [arguments[-1]] * (lanes - len(arguments)))
    yield f"    {kind} {name}s, {name}c;"
    yield f"    appell_sincos{lanes}_any(({kind}){{{filled}}}, &{name}s, &{name}c);"
    for item in together:
        yield dialect.define.format(name=text[item.out], text=f"{name}{item.op[0]}[{place[item.args[0]]}]")


def _operand(
    value: int, source: Instruction | None, pointers: Sequence[str], plan: Plan, dialect: Dialect
) -> tuple[str, str]:
    """How a value from outside the piece is written, and the load that must precede it ("" for a constant)."""
    if source is None:
        return f"w{value}", dialect.load.format(pointer="work", index=plan.slot[value])
    if source.op == "const":
        assert source.value is not None
        return dialect.literal(source.value), ""
    return f"w{value}", dialect.load.format(pointer=pointers[source.port or 0], index=source.index)


def _parameters(fn: Fn, dialect: Dialect) -> list[str]:
    inputs = len(fn.inputs)
    return [f"{'const ' if k < inputs else ''}double *restrict {name}" for k, name in enumerate(_pointers(fn, dialect))]


def _pointers(fn: Fn, dialect: Dialect) -> list[str]:
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
