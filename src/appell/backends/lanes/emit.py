"""A function as C text over vectors: one lane is one state, one vector (GCC's and Clang's types) is one value.

    int NAME_lanes(n, in, stride, out, far, room)       n states as in `NAME_batch`; returns whether any `far` is 1
    ptrdiff_t NAME_room()                               required bytes of `room`, aligned as a vector

States come as rows; each block of `lanes` of them is transposed into vectors, evaluated by the text from `emit` (the same
instructions in another dialect), and transposed back. The last block is filled up with the last state. far[k] is 1 where a sine
or cosine had a huge or non-finite argument, for which the polynomial is not valid: such states have to be evaluated by
`NAME_batch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.backends.lanes.driver import Driver, lanes_declaration, literal, room_declaration
from appell.backends.lanes.lane_layout import Packed
from appell.backends.lanes.turns import Turned
from appell.backends.text.c_source import INSTRUCTIONS_OF_PIECE, emit_plan, plan_of
from appell.backends.text.dialect import SCALAR_C, C, Dialect
from appell.backends.text.instruction_order import least_traffic
from appell.backends.text.sincos import DOUBLE, GUARD, SINGLE, Precision, filled, sincos_source
from appell.graph.fn import Fn, Signature
from appell.graph.instructions import ARITY

__all__ = [
    "ONE_BY_ONE",
    "PRECISIONS",
    "dialect_of",
    "emit_lanes",
    "emit_vectors",
    "lanes_declarations",
    "one_by_one",
    "vector_types",
]
PRECISIONS = {"double": DOUBLE, "float": SINGLE}
# values, 12 kB of vectors, that leave little of the L1 cache to values passed between pieces of code
VALUES_IN_CACHE = 200
VECTOR_PART_BYTES = 16  # bytes of a vector within which shuffles are faster than across
INSTRUCTIONS_IN_ONE_PIECE = 5000  # larger pieces in that case (mass matrix of a humanoid: 4 % faster)

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
    """The dialect with vectors V as values; `far` and `work` are passed along, since thousands of vectors do not belong on the
    stack."""
    calls = {op: f"lanes_{op}({', '.join(f'{{{k}}}' for k in range(ARITY[op]))})" for op in ONE_BY_ONE}
    return replace(
        C,
        operations={**VECTOR_OPERATIONS, **calls},
        literal=lambda value: f"ALL({literal(value, precision)})",
        value="V",
        suffix="_vectors",
        passed=("far", "work"),
        order=least_traffic,
        packs=(1,),
        sincos=("    V {name}s, {name}c;", "    lanes_sincos({filled}, &{name}s, &{name}c, far);"),
        part="{whole}",
        load_alone=C.load,
        reserved=C.reserved | {"V", "I", "ALL", "FLAG", "far"},
    )


def emit_lanes(fn: Fn, lanes: int, *, scalar: str = "double", piece: int | None = None) -> str:
    """A whole C file with `NAME_lanes` for `lanes` (2, 4, 8, 16) doubles or floats, in pieces of `piece` instructions."""
    precision, packed = PRECISIONS[scalar], Packed(fn)
    dialect, many, with_turns = dialect_of(precision), _many(packed), Turned(packed)
    body, turns = (with_turns, with_turns.turns) if many and with_turns.turns else (packed, ())
    plan = plan_of(body.instructions, piece or (INSTRUCTIONS_IN_ONE_PIECE if many else INSTRUCTIONS_OF_PIECE), dialect)
    driver = Driver(packed, turns, packed.layout(lanes), plan.work, precision, lanes)
    values = {
        "transpose": _transposed(lanes, VECTOR_PART_BYTES // precision.size),
        "each": " ".join(f"DO({k})" for k in range(lanes)),
        "place": driver.index_type,
        "abreast": " ".join(["WRITE_NEXT"] * driver.abreast),
    }
    texts = [vector_types([fn], lanes, precision), filled("lanes.c.in", values, precision, lanes, "lanes")]
    texts += [emit_plan(body, body.instructions, plan, dialect), driver.tables(), driver.loop()]
    return "\n".join(texts)


def vector_types(fns: Sequence[Fn], lanes: int, precision: Precision) -> str:
    """C text: vectors V of `lanes` numbers, masks I, and every operation that the functions contain."""
    ops = {item.op for fn in fns for item in fn.instructions}
    values = {"zero": f"0.0{precision.suffix}", **_largest(lanes, precision)}
    types = filled("vector.c.in", values, precision, lanes, "lanes")
    texts = [SCALAR_C, GUARD, sincos_source(precision, lanes), types]
    return "\n".join([*texts, *(one_by_one(op, precision, lanes) for op in ONE_BY_ONE if op in ops)])


X86_MAXIMA = {16: ("__SSE2__", ""), 32: ("__AVX__", "256"), 64: ("__AVX512F__", "512_mask")}
"""Bytes of a vector → the macro that indicates x86's maximum instruction, and the suffix of GCC's name."""


def _largest(lanes: int, precision: Precision) -> dict[str, str]:
    """Values for the maxima and minima of `vector.c.in`."""
    flag, ending = X86_MAXIMA.get(lanes * precision.size, ("APPELL_NONE", ""))
    packed, mask = ("pd", "char") if precision.size == 8 else ("ps", "short")
    return {"flag": flag, "packed": packed + ending, "rest": f", (V) {{}}, ({mask}) -1, 4" if ending == "512_mask" else ""}


def emit_vectors(fn: Fn, precision: Precision, *, piece: int = INSTRUCTIONS_OF_PIECE) -> tuple[str, int]:
    """`static void NAME_vectors(inputs…, outputs…, far, work)` after `vector_types`, and the number of vectors in `work`."""
    dialect = dialect_of(precision)
    plan = plan_of(fn.instructions, piece, dialect)
    return emit_plan(fn, fn.instructions, plan, dialect), plan.work


def _many(packed: Packed) -> bool:
    return packed.outputs[0].size >= VALUES_IN_CACHE and len(packed.instructions) <= INSTRUCTIONS_IN_ONE_PIECE


def lanes_declarations(fn: Signature, scalar: str = "double") -> str:
    """What `emit_lanes` exports, for cffi's `cdef`."""
    return f"{lanes_declaration(fn, scalar)};\n{room_declaration(fn)};"


def one_by_one(op: str, precision: Precision, lanes: int) -> str:
    """An operation that exists only for scalars; GCC turns the loop into one instruction where there is one (sqrt, floor)."""
    names = "xyz"[: ARITY[op]]
    value = C.operations[op].format(*(f"{name}[k]" for name in names))
    return (
        f"static V lanes_{op}({', '.join(f'V {name}' for name in names)})\n{{\n    V v;\n"
        f"    for (int k = 0; k < {lanes}; k++) v[k] = {value};\n    return v;\n}}\n"
    )


def _transposed(lanes: int, part: int) -> str:
    """A transposition by exchanges of rows i and i + d, for d = 1, 2, …: within parts of `part` numbers they exchange blocks of
    d entries, upper right with lower left; beyond, where parts move as a whole, one row gets the odd parts of both, the other
    the even ones."""
    lines = []
    for d in (1 << k for k in range(lanes.bit_length() - 1)):
        if d < part:
            low = [k if not k & d else lanes + k - d for k in range(lanes)]
            high = [k + d for k in low]
        else:
            low = [2 * k - k % part for k in range(lanes)]
            high = [k + part for k in low]
        for i in (i for i in range(lanes) if not i & d):
            lines.append(f"    a = r[{i}], b = r[{i + d}];")
            lines.append(f"    r[{i}] = SHUFFLE(a, b, {', '.join(map(str, low))});")
            lines.append(f"    r[{i + d}] = SHUFFLE(a, b, {', '.join(map(str, high))});")
    return "\n".join(lines)
