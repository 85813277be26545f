"""A function as a list of scalar instructions, each value defined once: the input of every back end.

CasADi evaluates its scalar graphs by a stream `w[o] = op(w[i], w[j])` that reuses work slots. Here the slots become
numbered values (static single assignment):

    value_k = op(value_i, value_j),    i, j < k,

equal right-hand sides are merged, dead values dropped, and sin and cos of one argument are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca

from appell.errors import ModelError


class Instruction(NamedTuple):
    """`out = op(*args)`. `value` belongs to "const"; `port`, `index` to "input" and "output" (whose `out` is −1)."""

    op: str
    out: int
    args: tuple[int, ...] = ()
    value: float | None = None
    port: int | None = None
    index: int | None = None


# Number of arguments of each operation; the names are CasADi's, OP_ADD is "add".
ARITY = {
    **dict.fromkeys(["neg", "sq", "sqrt", "twice", "inv", "fabs", "sign", "floor", "ceil", "not"], 1),
    **dict.fromkeys(["exp", "log", "expm1", "log1p", "erf", "erfinv"], 1),
    **dict.fromkeys(["sin", "cos", "tan", "asin", "acos", "atan"], 1),
    **dict.fromkeys(["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"], 1),
    **dict.fromkeys(["add", "sub", "mul", "div", "pow", "constpow", "atan2", "hypot"], 2),
    **dict.fromkeys(["fmin", "fmax", "fmod", "remainder", "copysign"], 2),
    **dict.fromkeys(["lt", "le", "eq", "ne", "and", "or", "if_else_zero"], 2),
}
COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "hypot"})
PLACEMENT = frozenset({"input", "const", "output"})
SAME_AS_FIRST_ARGUMENT = frozenset({ca.OP_ASSIGN, ca.OP_LIFT})
TWIN = {"sin": "cos", "cos": "sin"}
_NAME = {getattr(ca, f"OP_{name.upper()}"): name for name in ARITY}


def instructions_of(function: ca.Function) -> tuple[Instruction, ...]:
    """The stream of `function` (a dense scalar function) in single-assignment form, numbered from 0 without gaps."""
    return _renumbered(_sincos_adjacent(alive(_single_assignment(function))))


def count_operations(stream: Iterable[Instruction]) -> int:
    """The number of instructions that compute, without loads, stores and constants."""
    return sum(item.op not in PLACEMENT for item in stream)


def _single_assignment(function: ca.Function) -> list[Instruction]:
    """Slots become values; a repeated expression reuses its earlier value (bitwise equal in IEEE arithmetic)."""
    stream: list[Instruction] = []
    value_number: dict[object, int] = {}
    slot: dict[int, int] = {}

    def value_of(op: str, args: tuple[int, ...] = (), value: float | None = None, place: tuple = (None, None)) -> int:
        operands = tuple(sorted(args)) if op in COMMUTATIVE else args
        key = (op, operands, None if value is None else value.hex(), place)
        if key not in value_number:
            value_number[key] = len(value_number)
            stream.append(Instruction(op, value_number[key], args, value, *place))
        return value_number[key]

    for k in range(function.n_instructions()):
        code, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            stream.append(Instruction("output", -1, (slot[source[0]],), None, target[0], target[1]))
        elif code == ca.OP_INPUT:
            slot[target[0]] = value_of("input", place=(source[0], source[1]))
        elif code == ca.OP_CONST:
            slot[target[0]] = value_of("const", value=float(function.instruction_constant(k)))
        elif code in SAME_AS_FIRST_ARGUMENT:
            slot[target[0]] = slot[source[0]]
        else:
            op = _operation(code, function.name())
            slot[target[0]] = value_of(op, tuple(slot[i] for i in source[: ARITY[op]]))
    return stream


def _operation(code: int, name_of_function: str) -> str:
    if code not in _NAME:
        names = [name for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) == code]
        raise ModelError(
            f"function '{name_of_function}' contains the operation {names[0] if names else code}, which no back end can write; "
            f"build it from scalar arithmetic (known: {', '.join(sorted(ARITY))})"
        )
    return _NAME[code]


def alive(stream: Sequence[Instruction]) -> list[Instruction]:
    """Only the instructions that an output needs."""
    needed: set[int] = set()
    needed_items: list[Instruction] = []
    for item in reversed(stream):
        if item.op == "output" or item.out in needed:
            needed.update(item.args)
            needed_items.append(item)
    return needed_items[::-1]


def _sincos_adjacent(stream: list[Instruction]) -> list[Instruction]:
    """Moves the later of sin(x), cos(x) up to the earlier one, so that compilers call sincos once."""
    twin = {(item.op, item.args): item for item in stream if item.op in TWIN}
    placed: set[int] = set()
    ordered: list[Instruction] = []
    for item in stream:
        if item.op != "output" and item.out in placed:
            continue
        ordered.append(item)
        partner = twin.get((TWIN.get(item.op, ""), item.args))
        if partner is not None:
            ordered.append(partner)
            placed.add(partner.out)
    return ordered


def _renumbered(stream: list[Instruction]) -> tuple[Instruction, ...]:
    number = {item.out: k for k, item in enumerate(item for item in stream if item.op != "output")}
    return tuple(item._replace(out=number.get(item.out, -1), args=tuple(number[arg] for arg in item.args)) for item in stream)
