"""A function as CUDA text: the same instructions as in C, one thread for each state.

    NAME_kernel(n, q, q_stride, …, M, …)        n states; a stride of 0 repeats an input

The text is compiled by NVRTC, whose functions are device functions by default (`--device-as-default-execution-space`). With
`APPELL_HOST` defined it is C++ for the CPU, where `NAME_kernel` is a loop over the threads: the same arithmetic without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.backends.cuda.limb_warps import Limbs, limb_source
from appell.backends.lanes.driver import literal
from appell.backends.text.c_source import emit_plan, plan_of
from appell.backends.text.dialect import C_KEYWORDS, C_OPERATIONS, Dialect
from appell.backends.text.instruction_order import depth_first, least_traffic
from appell.backends.text.sincos import DOUBLE, SINGLE, TWO_OVER_PI, Precision, filled
from appell.graph.fn import Fn

PRECISIONS = {"double": DOUBLE, "float": SINGLE}
INSTRUCTIONS_PER_FUNCTION = 100_000
"""Largest number of instructions in one function: values passed between functions leave the registers."""

PRELUDE = """\
typedef @scalar@ T;
typedef long long Count;
#define restrict __restrict__
#ifdef APPELL_HOST
#include <math.h>
#include <string.h>
#define __global__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#else
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#endif

static __forceinline__ T appell_sign(T x) { return x < 0 ? (T) -1 : x > 0 ? (T) 1 : x; }
static __forceinline__ T appell_fmin(T x, T y) { const T m = x < y ? x : y; return y != y ? x : m; }
static __forceinline__ T appell_fmax(T x, T y) { const T m = x > y ? x : y; return y != y ? x : m; }
@constants@
@functions@
static T appell_erfinv(T x)
{
#ifdef APPELL_HOST
    if (fabs(x) >= 1) return fabs(x) == 1 ? copysign((T) INFINITY, x) : (T) NAN;
    T low = -7, high = 7;
    for (int k = 0; k < 80; k++) { const T y = (T) 0.5*(low + high); if (erf(y) < x) low = y; else high = y; }
    return (T) 0.5*(low + high);
#else
    return erfinv@suffix@(x);
#endif
}
"""

OPERATIONS = {
    **C_OPERATIONS,
    "inv": "appell_inverse({0})",
    "div": "appell_quotient({0}, {1})",
    **{op: f"(T) ({C_OPERATIONS[op].replace('0.0', '(T) 0')})" for op in ("lt", "le", "eq", "ne", "not", "and", "or")},
    "if_else_zero": "{0} != (T) 0 ? {1} : (T) 0",
}


ORDERS = (tuple, depth_first, least_traffic)
"""Orders of the instructions that are tried: which one compiles best varies."""


class Constants:
    """Constants of the text. 64-bit ones are in constant memory, from where one instruction loads them; as immediates each
    costs two."""

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self.places: dict[float, int] = {}

    def __call__(self, value: float) -> str:
        text = number(value, self.precision)
        if self.precision is SINGLE or not math.isfinite(value) or not np.float64(value).view(np.uint64) & 0xFFFFFFFF:
            return f"((T) {text})"  # its lower half is zero
        return f"appell_constants[{self.places.setdefault(value, len(self.places))}]"

    def table(self) -> str:
        """Their definition, once all are known. Not `static`: a compiler that sees all uses would inline the numbers."""
        listed = ", ".join(number(value, self.precision) for value in self.places)
        return f"__constant__ T appell_constants[] = {{{listed}}};" if self.places else ""


def dialect_of(precision: Precision, constants: Constants, order: Callable[..., Any] = tuple) -> Dialect:
    """The dialect with values of this precision; sine and cosine of one argument are computed together."""
    return Dialect(
        OPERATIONS,
        constants,
        value="T",
        order=order,
        packs=(1,),
        sincos=("    T {name}s, {name}c;", "    appell_sincos({filled}, &{name}s, &{name}c);"),
        part="{whole}",
        head="static __forceinline__ void",
        head_of_part="static __noinline__ void",
        reserved=C_KEYWORDS | {"T", "Count", "first", "threads"},
    )


def number(value: float, precision: Precision) -> str:
    largest = float(np.finfo(np.float64 if precision is DOUBLE else np.float32).max)
    return literal(value if abs(value) <= largest else math.copysign(math.inf, value), precision)


def prelude(precision: Precision, constants: Constants) -> str:
    """The beginning of every file, written last because it contains the constants."""
    values = {f"minus_P{k}": constants(-part) for k, part in enumerate(precision.parts, start=1)}
    values |= {name: _horner([constants(c) for c in getattr(precision, name)]) for name in ("sine", "cosine")}
    values |= {"turns": constants(TWO_OVER_PI), "signed_shift": f"{1.5 * precision.shift!r}{precision.suffix}"}
    values |= {"size": str(precision.size)}
    text = PRELUDE.replace("@functions@", filled("functions.cu.in", values, precision, 1, room="cuda"))
    text = text.replace("@constants@", constants.table())
    return text.replace("@scalar@", precision.scalar).replace("@suffix@", precision.suffix)


def _horner(c: Sequence[str]) -> str:
    """c0 + z(c1 + z(c2 + …)): one constant per instruction."""
    text = c[-1]
    for coefficient in c[-2::-1]:
        text = f"fma(z, {text}, {coefficient})"
    return text


def kernel_source(fn: Fn, scalar: str = "double", order: Callable[..., Any] = tuple) -> str:
    """A whole file with `NAME_kernel` in double or single precision ("float")."""
    precision = PRECISIONS[scalar]
    constants = Constants(precision)
    dialect = dialect_of(precision, constants, order)
    text = emit_plan(fn, fn.instructions, plan_of(fn.instructions, INSTRUCTIONS_PER_FUNCTION, dialect), dialect)
    return "\n".join([prelude(precision, constants), text, _kernel(fn)])


def limb_kernel_source(fn: Fn, limbs: Limbs, scalar: str = "double", *, staged: bool = False) -> tuple[str, int]:
    """(a whole file with `NAME_kernel`, one warp per limb; size of shared memory per block, in numbers)."""
    precision = PRECISIONS[scalar]
    constants = Constants(precision)
    text, room = limb_source(fn, depth_first(fn.instructions), limbs, dialect_of(precision, constants), staged=staged)
    return "\n".join([prelude(precision, constants), text]), room


def _kernel(fn: Fn) -> str:
    inputs = [f"const T *in{k}, Count stride{k}" for k in range(len(fn.inputs))]
    outputs = [f"T *out{k}" for k in range(len(fn.outputs))]
    arguments = [f"in{k} + k*stride{k}" for k in range(len(fn.inputs))]
    arguments += [f"out{k} + k*{port.size}" for k, port in enumerate(fn.outputs)]
    call = f"{fn.name}({', '.join(arguments)});"
    return (
        f'extern "C" __global__ void {fn.name}_kernel({", ".join(["Count n", *inputs, *outputs])})\n{{\n'
        "#ifdef APPELL_HOST\n"
        f"    for (Count k = 0; k < n; k++) {call}\n"
        "#else\n"
        "    const Count k = (Count) blockIdx.x*blockDim.x + threadIdx.x;\n"
        f"    if (k < n) {call}\n"
        "#endif\n}\n"
    )


__all__ = ["INSTRUCTIONS_PER_FUNCTION", "ORDERS", "PRECISIONS", "Constants", "kernel_source", "limb_kernel_source", "prelude"]
