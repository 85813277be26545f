"""A function as CUDA text: the instructions that C has, one thread for each state.

    NAME_kernel(n, q, q_stride, …, M, …)        n states; a stride of 0 repeats an input

The text is compiled by NVRTC, whose functions run on the device by themselves (`--device-as-default-execution-space`). With
`APPELL_HOST` defined it is C++ for the CPU, where `NAME_kernel` is a loop over the threads: the same arithmetic without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from appell.backends.cuda.limbs import Limbs, limb_source
from appell.backends.lanes.driver import literal
from appell.backends.text.c_source import emit_plan, plan_of
from appell.backends.text.dialect import C_KEYWORDS, C_OPERATIONS, Dialect
from appell.backends.text.order import depth_first, least_traffic
from appell.backends.text.sincos import DOUBLE, SINGLE, Precision
from appell.graph.fn import Fn

PRECISIONS = {"double": DOUBLE, "float": SINGLE}
WHOLE = 100_000
"""Instructions in one function: values that travel between functions leave the registers."""

PRELUDE = """\
typedef @scalar@ T;
typedef long long Count;
#define restrict __restrict__
#ifdef APPELL_HOST
#include <math.h>
#define __global__
#define __forceinline__ inline
#else
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#endif

static __forceinline__ T appell_sign(T x) { return x < 0 ? (T) -1 : x > 0 ? (T) 1 : x; }
static __forceinline__ T appell_fmin(T x, T y) { const T m = x < y ? x : y; return y != y ? x : m; }
static __forceinline__ T appell_fmax(T x, T y) { const T m = x > y ? x : y; return y != y ? x : m; }
static __forceinline__ void appell_sincos(T x, T *s, T *c)
{
#ifdef APPELL_HOST
    *s = sin(x), *c = cos(x);
#else
    sincos@suffix@(x, s, c);
#endif
}
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
    "inv": "(T) 1/{0}",
    **{op: f"(T) ({C_OPERATIONS[op].replace('0.0', '(T) 0')})" for op in ("lt", "le", "eq", "ne", "not", "and", "or")},
    "if_else_zero": "{0} != (T) 0 ? {1} : (T) 0",
}


ORDERS = (tuple, depth_first, least_traffic)
"""Orders of the instructions that are tried: the compiler of the device makes more of one or of the other."""


def dialect_of(precision: Precision, order: Callable[..., Any] = tuple) -> Dialect:
    """Values are numbers of this precision; sine and cosine of one argument come together."""
    return Dialect(
        OPERATIONS,
        lambda value: f"((T) {number(value, precision)})",
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


def prelude(precision: Precision) -> str:
    """What every file begins with."""
    return PRELUDE.replace("@scalar@", precision.scalar).replace("@suffix@", precision.suffix)


def kernel_source(fn: Fn, scalar: str = "double", order: Callable[..., Any] = tuple) -> str:
    """A whole file with `NAME_kernel` in double or single precision ("float")."""
    precision = PRECISIONS[scalar]
    dialect = dialect_of(precision, order)
    text = emit_plan(fn, fn.instructions, plan_of(fn.instructions, WHOLE, dialect), dialect)
    return "\n".join([prelude(precision), text, _kernel(fn)])


def limb_kernel_source(fn: Fn, limbs: Limbs, scalar: str = "double", *, staged: bool = False) -> tuple[str, int]:
    """(a whole file with `NAME_kernel`, a warp a limb; numbers of shared memory a block needs)."""
    precision = PRECISIONS[scalar]
    text, room = limb_source(fn, depth_first(fn.instructions), limbs, dialect_of(precision), staged=staged)
    return "\n".join([prelude(precision), text]), room


def _kernel(fn: Fn) -> str:
    inputs = [f"const T *in{k}, Count stride{k}" for k in range(len(fn.inputs))]
    outputs = [f"T *out{k}" for k in range(len(fn.outputs))]
    here = [f"in{k} + k*stride{k}" for k in range(len(fn.inputs))]
    here += [f"out{k} + k*{port.size}" for k, port in enumerate(fn.outputs)]
    call = f"{fn.name}({', '.join(here)});"
    return (
        f'extern "C" __global__ void {fn.name}_kernel({", ".join(["Count n", *inputs, *outputs])})\n{{\n'
        "#ifdef APPELL_HOST\n"
        f"    for (Count k = 0; k < n; k++) {call}\n"
        "#else\n"
        "    const Count k = (Count) blockIdx.x*blockDim.x + threadIdx.x;\n"
        f"    if (k < n) {call}\n"
        "#endif\n}\n"
    )


__all__ = ["ORDERS", "PRECISIONS", "WHOLE", "dialect_of", "kernel_source", "limb_kernel_source", "number", "prelude"]
