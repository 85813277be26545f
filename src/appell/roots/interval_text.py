"""Interval arithmetic as C source: the same instructions in another dialect, with each value an `Interval`.

    static void NAME(const Interval *inputs…, Interval *outputs…, Interval *jumps)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.c_source import INSTRUCTIONS_OF_PIECE, emit, emit_plan, plan_of
from appell.backends.text.dialect import C, Dialect, c_literal
from appell.backends.text.templates import template
from appell.graph.fn import Fn
from appell.graph.instructions import ARITY
from appell.roots.limits import limit_defines
from appell.roots.solved_guards import SolvedGuards
from appell.roots.stream import operations, ranged

SCALAR = {
    "N": "double", "M": "int", "Interval": "Interval", "iv": "iv", "inline": "static inline", "pick": "IV_PICK", "no": "!",
    "all": "(double) ", "one": "1.0", "half": "0.5", "epsilon": "ROOT_EPSILON",
}  # fmt: skip
"""Values for the placeholders of `interval.c.in` if a number is a double."""
NUMBER_OF = {**ARITY, "choose": 3, "jumps": 1, "broken": 1, "cut": 1}
EXTRA = f"""
{limit_defines()}
#define IV_PICK(mask, x, y) ((mask) ? (x) : (y))
#define ROOT_SELDOM __attribute__((cold, noinline))      /* short machine code, soon compiled */
"""
OWN = """
static inline Interval iv_jumps(Interval x) { return iv_point(!(x.lo == x.hi)); }
static inline Interval iv_broken(Interval x) { (void) x; return iv_point(1); }
static inline Interval iv_cut(Interval x) { return iv_point(!(x.hi - x.lo < ROOT_LESS_THAN_A_TURN)); }
"""


def filled(text: str, values: dict[str, str]) -> str:
    """A template with its placeholders replaced."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def interval_text() -> str:
    """C source of the type `Interval` and of all operations on doubles, to follow `SCALAR_C`."""
    return "\n".join([EXTRA, filled(template("roots/interval.c.in"), SCALAR), template("roots/functions.c.in"), OWN])


def _call(op: str) -> str:
    return f"iv_{op}({', '.join(f'{{{k}}}' for k in range(NUMBER_OF[op]))})"


POINTS: Dialect = replace(C, order=tuple, packs=(), load_alone=C.load)
"""Values are doubles, one at a time: lanes and threads have no pairs of them."""
INTERVALS: Dialect = replace(
    POINTS,
    operations={op: _call(op) for op in NUMBER_OF},
    literal=lambda value: f"iv_point({c_literal(value)})",
    value="Interval",
    reserved=C.reserved | {"Interval"},
)
"""Values are intervals of doubles."""


QUICK_INSTRUCTIONS = 100
"""Most instructions of a second derivative for which compile time does not matter."""
SELDOM = "static __attribute__((cold, noinline))"
COMPACT_INTERVALS: Dialect = replace(INTERVALS, head=f"{SELDOM} void")
"""The same, optimised for size."""
CALLED: Dialect = replace(
    INTERVALS, operations={op: "ivs" + text[2:] for op, text in INTERVALS.operations.items()}, head=f"{SELDOM} void"
)
"""The same with function calls: fast to compile, where speed matters less."""


def emit_ranges(fn: Fn, name: str, *, dialect: Dialect = INTERVALS, whole: bool = False) -> str:
    """`static void NAME(inputs…, outputs…, jumps)` over intervals, after `interval_text`."""
    function = ranged(fn, name, whole=whole)
    return emit_plan(function, function.instructions, plan_of(function.instructions, INSTRUCTIONS_OF_PIECE, dialect), dialect)


def _second_text(fn: Fn, name: str) -> str:
    """A guard with its first two derivatives over intervals; short functions are inlined, long ones compile fast."""
    quick = len(fn.instructions) <= QUICK_INSTRUCTIONS
    return emit_ranges(fn, name, dialect=INTERVALS if quick else COMPACT_INTERVALS, whole=True)


def _calls(ops: Iterable[str]) -> str:
    """The operations of `CALLED` as functions."""
    arguments = lambda op: [f"Interval x{k}" for k in range(NUMBER_OF[op])]
    passed = lambda op: ", ".join(f"x{k}" for k in range(NUMBER_OF[op]))
    wrapper = lambda op: f"{SELDOM} Interval ivs_{op}({', '.join(arguments(op))}) {{ return iv_{op}({passed(op)}); }}"
    return "\n".join(wrapper(op) for op in sorted(ops))


def isolate_text(guards: SolvedGuards) -> str:
    """C text of `bound_isolate`, after `interval_text` and `outline_text` of all numbers of the state in z."""
    ranged_functions = [ranged(fn, fn.name, whole=True) for fn in (guards.rows, guards.guards)]
    sizes = {
        "BOUND_N": guards.n, "BOUND_GUARDS": guards.guards.outputs[0].size,
        "BOUND_P": next(port.size for port in guards.rows.inputs if port.name == "p"), "BOUND_ROWS_FROM": guards.accelerations,
    }  # fmt: skip
    return "\n".join([
        _calls(operations(ranged_functions) & set(NUMBER_OF)),
        *(emit_ranges(fn, fn.name, dialect=CALLED, whole=True) for fn in (guards.rows, guards.guards)),
        *(f"#define {name} {value}" for name, value in sizes.items()), template("roots/isolate.c.in"),
    ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class GuardShape:
    """Guards of the same form: `fn` (x (n,), xd (n,), c (m,)) → (g, its rate along xd), `second` (x, xd, xdd, c) → (g, its
    rate, its second derivative along xd and xdd), with one row of each table for each guard."""

    fn: Fn
    second: Fn
    numbers: NDArray[np.int32]  # (k,) numbers of the guards
    inputs: NDArray[np.int32]  # (k, n) indices in s = (t, z, p)
    constants: NDArray[np.float64]  # (k, m)


def outline_text(used: Sequence[int], degree: int) -> str:
    """C source of `RootStep`: the entries `used` of the state along a step, in powers up to the degree."""
    shares = ", ".join("{" + _list([1 / comb(n, min(k, n)) for k in range(degree + 1)]) + "}" for n in range(degree + 1))
    binomials = ", ".join("{" + _list([float(comb(n, k)) for k in range(degree + 1)]) + "}" for n in range(degree + 1))
    return "\n".join([
        f"#define ROOT_N {max(len(used), 1)}", f"#define ROOT_USED {len(used)}", f"#define ROOT_DEGREE {degree}",
        f"static const int ROOT_Z[] = {{{_list(used)}}};",
        f"static const double ROOT_BINOMIAL[][{degree + 1}] = {{{binomials}}};",
        f"static const double ROOT_SHARE[][{degree + 1}] = {{{shares}}};",
        template("roots/outline.c.in"),
    ])  # fmt: skip


def finder_text(shapes: Sequence[GuardShape], nz: int, degree: int, also: Iterable[int] = ()) -> str:
    """C text of `root_clear` and `root_first` for the guards of a system with nz numbers in its state; also: more numbers of
    the state that are followed along a step."""
    in_guards = {int(j) - 1 for shape in shapes for j in shape.inputs.flat if 1 <= j <= nz}
    used = sorted(in_guards | set(also))
    slot = {0: 0, **{j + 1: 1 + k for k, j in enumerate(used)}}
    code = lambda position: slot[position] if position in slot else 1 + len(used) + position - 1 - nz
    position = {int(i): (k, j) for k, shape in enumerate(shapes) for j, i in enumerate(shape.numbers)}
    case = lambda k, call: f"    case {k}: {call.format(k=k, i='GUARD_AT[guard]')}; return;"
    cases = lambda call: "\n".join(case(k, call) for k in range(len(shapes)))
    guards = f"""\
static const int GUARD_SHAPE[] = {{{_list(position[i][0] for i in range(len(position)))}}};
static const int GUARD_AT[] = {{{_list(position[i][1] for i in range(len(position)))}}};
{"".join(_guard_text(k, shape, code) for k, shape in enumerate(shapes))}
static void guard_range(const RootStep *r, int guard, double a, double b, Interval *y, Interval *jumps)
{{
    switch (GUARD_SHAPE[guard]) {{
{cases("guard_range{k}(r, {i}, a, b, y, jumps)")}
    }}
}}
static void guard_point(const RootStep *r, int guard, double theta, double *y)
{{
    switch (GUARD_SHAPE[guard]) {{
{cases("guard_point{k}(r, {i}, theta, y)")}
    }}
}}
static void guard_near(const RootStep *r, int guard, double theta, Interval *y)
{{
    switch (GUARD_SHAPE[guard]) {{
{cases("guard_near{k}(r, {i}, theta, y)")}
    }}
}}
static void guard_second(const RootStep *r, int guard, double a, double b, Interval *y, Interval *jumps)
{{
    switch (GUARD_SHAPE[guard]) {{
{cases("guard_second{k}(r, {i}, a, b, y, jumps)")}
    }}
}}
"""
    return "\n".join([
        *(emit_ranges(shape.fn, f"guard_shape{k}") for k, shape in enumerate(shapes)),
        *(_second_text(shape.second, f"guard_bent{k}") for k, shape in enumerate(shapes)),
        *(emit(replace(shape.fn, name=f"guard_value{k}"), dialect=POINTS) for k, shape in enumerate(shapes)),
        outline_text(used, degree),
        f"#define ROOT_TIME {int(any((shape.inputs == 0).any() for shape in shapes))}",
        f"static const int ROOT_GAP[] = {{{_list(int(j in in_guards) for j in used)}}};",
        template("roots/finder.c.in").replace("@guards@", INPUT + guards),
    ])  # fmt: skip


INPUT = """\
/* What a guard contains: the time, a number of the state, or a parameter. */
static void root_input(const RootStep *r, int code, double a, double b, Interval *x, Interval *xd)
{
    if (code == 0) *x = iv_hull(iv_point(r->t + a*r->h), iv_point(r->t + b*r->h)), *xd = iv_point(r->h);
    else if (code > ROOT_USED) *x = iv_point(r->p[code - 1 - ROOT_USED]), *xd = iv_point(0);
    else if (a == 0 && b == 1 && r->hulled) *x = r->whole[code - 1], *xd = r->whole_d[code - 1];
    else if (a == b) root_point(r, code - 1, a, x, xd);
    else root_component(r, code - 1, a, b, x, xd);
}

/* The same at a point, with what rounding may leave of it. */
static void root_input_near(const RootStep *r, int code, double theta, Interval *x, Interval *xd)
{
    if (code == 0) *x = iv_out(r->t + theta*r->h, r->t + theta*r->h), *xd = iv_point(r->h);
    else if (code > ROOT_USED) *x = iv_point(r->p[code - 1 - ROOT_USED]), *xd = iv_point(0);
    else root_near(r, code - 1, theta, x, xd);
}

static void root_number(const RootStep *r, int code, double theta, double *x, double *xd)
{
    if (code == 0) *x = r->t + theta*r->h, *xd = r->h;
    else if (code > ROOT_USED) *x = r->p[code - 1 - ROOT_USED], *xd = 0;
    else root_along(r, code - 1, theta, x, xd);
}

"""


def _guard_text(k: int, shape: GuardShape, code: Any) -> str:
    (count, n), m = shape.inputs.shape, shape.constants.shape[1]
    rows = lambda table: ", ".join("{" + _list(row) + "}" for row in table)
    codes = [[code(int(j)) for j in row] for row in shape.inputs]
    return f"""
static const int GUARD_IN{k}[{count}][{max(n, 1)}] = {{{rows(codes)}}};
static const double GUARD_C{k}[{count}][{max(m, 1)}] = {{{rows(shape.constants)}}};
static void guard_range{k}(const RootStep *r, int i, double a, double b, Interval *y, Interval *jumps)
{{
    Interval x[{max(n, 1)}], xd[{max(n, 1)}], c[{max(m, 1)}];
    for (int j = 0; j < {n}; j++) root_input(r, GUARD_IN{k}[i][j], a, b, x + j, xd + j);
    for (int j = 0; j < {m}; j++) c[j] = iv_point(GUARD_C{k}[i][j]);
    guard_shape{k}(x, xd, c, y, jumps);
}}
static void guard_near{k}(const RootStep *r, int i, double theta, Interval *y)
{{
    Interval x[{max(n, 1)}], xd[{max(n, 1)}], c[{max(m, 1)}], jumps;
    for (int j = 0; j < {n}; j++) root_input_near(r, GUARD_IN{k}[i][j], theta, x + j, xd + j);
    for (int j = 0; j < {m}; j++) c[j] = iv_point(GUARD_C{k}[i][j]);
    guard_shape{k}(x, xd, c, y, &jumps);
}}
static void guard_second{k}(const RootStep *r, int i, double a, double b, Interval *y, Interval *jumps)
{{
    Interval x[{max(n, 1)}], xd[{max(n, 1)}], xdd[{max(n, 1)}], c[{max(m, 1)}];
    for (int j = 0; j < {n}; j++) {{
        const int code = GUARD_IN{k}[i][j];
        root_input(r, code, a, b, x + j, xd + j);
        if (code == 0) x[j] = iv_out(x[j].lo, x[j].hi);
        xdd[j] = code == 0 || code > ROOT_USED ? iv_point(0) : root_second(r, code - 1, a, b);
    }}
    for (int j = 0; j < {m}; j++) c[j] = iv_point(GUARD_C{k}[i][j]);
    guard_bent{k}(x, xd, xdd, c, y, jumps);
}}
static void guard_point{k}(const RootStep *r, int i, double theta, double *y)
{{
    double x[{max(n, 1)}], xd[{max(n, 1)}];
    for (int j = 0; j < {n}; j++) root_number(r, GUARD_IN{k}[i][j], theta, x + j, xd + j);
    guard_value{k}(x, xd, GUARD_C{k}[i], y);
}}
"""


def _list(values: Iterable[Any]) -> str:
    return ", ".join(repr(x.item() if isinstance(x, np.generic) else x) for x in values) or "0"


__all__ = ["INTERVALS", "GuardShape", "emit_ranges", "filled", "finder_text", "interval_text", "isolate_text", "outline_text"]
