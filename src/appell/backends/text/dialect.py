"""Dialects of target languages: operations, literals, reserved names, file headers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from appell.backends.text.instruction_order import gather
from appell.backends.text.sincos import PACKS, packs_source
from appell.graph.instructions import Instruction

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

# erfinv: a rational guess and two Newton steps on erf(y) = x, as in CasADi.
SCALAR_C = """\
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
PRELUDE = SCALAR_C + packs_source()

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
    """How a language writes a value, a load, a store and each operation, and the preferred order of instructions."""

    operations: Mapping[str, str]
    literal: Callable[[float], str]
    value: str = "double"  # the type of every value
    suffix: str = ""  # of the function's name
    passed: tuple[str, ...] = ()  # further pointer arguments of every function
    order: Callable[[Sequence[Instruction]], Sequence[Instruction]] = tuple
    packs: tuple[int, ...] = ()  # pack sizes for sines and cosines evaluated together; (): one by one
    sincos: tuple[str, ...] = ()  # sine and cosine of a pack: {lanes}, {filled} with arguments, into {name}s and {name}c
    part: str = "{whole}"  # the value of argument {place} in a pack
    load: str = "{pointer}[{index}]"
    load_alone: str = "{pointer}[{index}]"  # of the arguments of a pack
    store: str = "    {pointer}[{index}] = {text};"
    meet: str = "    appell_meet();"  # a barrier in functions computed by several threads
    head: str = "static void"  # before the name of a function
    head_of_part: str = "static __attribute__((noinline)) void"
    reserved: frozenset[str] = C_KEYWORDS

    def define(self, name: str, text: str) -> str:
        return f"    const {self.value} {name} = {text};"


C = Dialect(
    C_OPERATIONS,
    c_literal,
    order=gather,
    packs=PACKS,
    sincos=(
        "    AppellDouble{lanes} {name}s, {name}c;",
        "    appell_sincos{lanes}_any((AppellDouble{lanes}){{{filled}}}, &{name}s, &{name}c);",
    ),
    part="{whole}[{place}]",
    # one by one: a vector load over several recent stores stalls until they leave the store buffer (13 ns of 40 with 2 links)
    load_alone="((const volatile double *) {pointer})[{index}]",
)
