"""A function as C text over vectors: one lane is one state, one vector (GCC's and Clang's types) is one value.

    int NAME_lanes(n, in, stride, out, far)     n states as in `NAME_batch`; 1 if there is no memory, else 0

States come as rows; each block of `lanes` of them is transposed into vectors, evaluated by the text that `emit` writes
(the same instructions in another dialect), and transposed back. The last block is filled up with the last state.
far[k] is 1 where a sine or cosine had a huge or non-finite argument, for which the polynomial is not made: such states
are wrong and have to be evaluated by `NAME_batch`.
"""

from __future__ import annotations

from dataclasses import replace

from appell.backends.c_source import PIECE, emit, plan_of
from appell.backends.dialect import SCALAR_C, C, Dialect, c_literal
from appell.backends.schedule import depth_first
from appell.backends.sincos import DOUBLE, GUARD, SINGLE, Precision, filled, sincos_source
from appell.graph.fn import Fn, Signature
from appell.graph.instructions import ARITY

PRECISIONS = {"double": DOUBLE, "float": SINGLE}

VECTOR_OPERATIONS = {
    **{op: C.operations[op] for op in ("add", "sub", "mul", "div", "neg", "sq", "twice")},
    "inv": "ALL(1)/{0}",
    **{op: f"FLAG({{0}} {sign} {{1}})" for op, sign in (("lt", "<"), ("le", "<="), ("eq", "=="), ("ne", "!="))},
    "not": "FLAG({0} == 0)",
    "and": "FLAG(({0} != 0) & ({1} != 0))",
    "or": "FLAG(({0} != 0) | ({1} != 0))",
    "if_else_zero": "(V) (({0} != 0) & (I) {1})",
    **{op: f"lanes_{op}({{0}})" for op in ("fabs", "sign")},
    **{op: f"lanes_{op}({{0}}, {{1}})" for op in ("fmin", "fmax", "copysign")},
}
ONE_BY_ONE = tuple(op for op in ARITY if op not in VECTOR_OPERATIONS and op not in ("sin", "cos"))


def dialect_of(precision: Precision) -> Dialect:
    """Values are vectors V; `far` and `work` are passed on, since vectors in thousands do not belong on the stack."""
    calls = {op: f"lanes_{op}({', '.join(f'{{{k}}}' for k in range(ARITY[op]))})" for op in ONE_BY_ONE}
    return replace(
        C,
        operations={**VECTOR_OPERATIONS, **calls},
        literal=lambda value: f"ALL({c_literal(value).strip('()')}{precision.suffix if abs(value) < float('inf') else ''})",
        value="V",
        suffix="_vectors",
        passed=("far", "work"),
        order=depth_first,
        packs=(1,),
        sincos=("    V {name}s, {name}c;", "    lanes_sincos({filled}, &{name}s, &{name}c, far);"),
        part="{whole}",
        load_alone=C.load,
        reserved=C.reserved | {"V", "I", "ALL", "FLAG", "far"},
    )


def emit_lanes(fn: Fn, lanes: int, *, scalar: str = "double", piece: int = PIECE) -> str:
    """A whole C file with `NAME_lanes` for `lanes` (2, 4, 8, 16) doubles or floats."""
    precision = PRECISIONS[scalar]
    dialect = dialect_of(precision)
    used = {item.op for item in fn.instructions}
    parts = [SCALAR_C, "#include <stdlib.h>", GUARD, sincos_source(precision, lanes)]
    parts += [filled("lanes.c.in", {"transpose": _transposed(lanes), "zero": f"0.0{precision.suffix}"}, precision, lanes)]
    parts += [_one_by_one(op, precision, lanes) for op in ONE_BY_ONE if op in used]
    parts += [emit(fn, piece=piece, dialect=dialect), _driver(fn, plan_of(fn, piece, dialect).work, precision, lanes)]
    return "\n".join(parts)


def lanes_declaration(fn: Signature, scalar: str = "double") -> str:
    arguments = f"ptrdiff_t n, const {scalar} *const *in, const ptrdiff_t *stride, {scalar} *const *out"
    return f"int {fn.name}_lanes({arguments}, unsigned char *far)"


def _one_by_one(op: str, precision: Precision, lanes: int) -> str:
    """An operation that only scalars have; GCC makes one instruction of the loop where there is one (sqrt, floor)."""
    names = "xyz"[: ARITY[op]]
    value = C.operations[op].format(*(f"{name}[k]" for name in names))
    return (
        f"static V lanes_{op}({', '.join(f'V {name}' for name in names)})\n{{\n    V v;\n"
        f"    for (int k = 0; k < {lanes}; k++) v[k] = {value};\n    return v;\n}}\n"
    )


def _transposed(lanes: int) -> str:
    """For d = 1, 2, 4, …: rows i and i + d exchange their blocks of d entries, upper right against lower left."""
    lines = []
    d = 1
    while d < lanes:
        low = ", ".join(str(k if not k & d else lanes + k - d) for k in range(lanes))
        high = ", ".join(str(k + d if not k & d else lanes + k) for k in range(lanes))
        for i in (i for i in range(lanes) if not i & d):
            lines.append(f"    a = r[{i}], b = r[{i + d}];")
            lines.append(f"    r[{i}] = SHUFFLE(a, b, {low});")
            lines.append(f"    r[{i + d}] = SHUFFLE(a, b, {high});")
        d *= 2
    return "\n".join(lines)


def _driver(fn: Signature, work: int, precision: Precision, lanes: int) -> str:
    """Memory for the vectors of all ports and of `work`, inputs that are repeated loaded once, then block by block."""
    begin, at = {}, 0
    for side, ports in (("in", fn.inputs), ("out", fn.outputs)):
        for k, port in enumerate(ports):
            begin[side, k], at = at, at + port.size
    loads = [
        (f"memory + {begin['in', k]}, {port.size}, in[{k}]", f"stride[{k}]") for k, port in enumerate(fn.inputs) if port.size
    ]
    once = "\n".join(f"    if (!{step} && n) lanes_load_few({load}, 0, 1);" for load, step in loads)
    each = "\n".join(f"        if ({step}) lanes_load({load} + i*{step}, {step}, n - i);" for load, step in loads)
    stores = "\n".join(
        f"        lanes_store(memory + {begin['out', k]}, {port.size}, out[{k}] + i*{port.size}, n - i);"
        for k, port in enumerate(fn.outputs)
        if port.size
    )
    pointers = ", ".join([*(f"memory + {place}" for place in begin.values()), "&sum", f"memory + {at}"])
    return f"""\
{lanes_declaration(fn, precision.scalar)}
{{
    V *memory = aligned_alloc(sizeof(V), sizeof(V)*{max(1, at + work)});
    if (!memory) return 1;
{once}
    for (ptrdiff_t i = 0; i < n; i += {lanes}) {{
        const ptrdiff_t rows = n - i < {lanes} ? n - i : {lanes};
        V sum = {{}};
{each}
        {fn.name}_vectors({pointers});
{stores}
        for (ptrdiff_t k = 0; k < rows; k++) far[i + k] = !(sum[k] < {precision.limit!r});
    }}
    free(memory);
    return 0;
}}
"""
