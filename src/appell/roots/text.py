"""Intervals as C text: the same instructions in another dialect, each value an `Interval`.

    static void NAME(const Interval *inputs…, Interval *outputs…, Interval *jumps)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.c_source import PIECE, emit_plan, plan_of
from appell.backends.text.dialect import C, Dialect, c_literal
from appell.graph.fn import Fn
from appell.graph.instructions import ARITY
from appell.roots.limits import limit_defines
from appell.roots.stream import ranged

SCALAR = {
    "N": "double", "M": "int", "Interval": "Interval", "iv": "iv", "inline": "static inline", "pick": "IV_PICK", "no": "!",
    "all": "(double) ", "one": "1.0", "half": "0.5", "epsilon": "ROOT_EPSILON",
}  # fmt: skip
"""What the names of `interval.c.in` stand for where a number is a double."""
NUMBER_OF = {**ARITY, "choose": 3, "jumps": 1, "broken": 1, "cut": 1}
EXTRA = f"""
{limit_defines()}
#define IV_PICK(mask, x, y) ((mask) ? (x) : (y))
"""
OWN = """
static inline Interval iv_jumps(Interval x) { return iv_point(!(x.lo == x.hi)); }
static inline Interval iv_broken(Interval x) { (void) x; return iv_point(1); }
static inline Interval iv_cut(Interval x) { return iv_point(!(x.hi - x.lo < 6.28)); }
"""


def _template(name: str) -> str:
    return files("appell.roots").joinpath(name).read_text(encoding="utf-8")


def filled(template: str, values: dict[str, str]) -> str:
    """A template with its names replaced."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def interval_text() -> str:
    """C text of the type `Interval` and of all operations over doubles, after `SCALAR_C`."""
    return "\n".join([EXTRA, filled(_template("interval.c.in"), SCALAR), _template("functions.c.in"), OWN])


def _call(op: str) -> str:
    return f"iv_{op}({', '.join(f'{{{k}}}' for k in range(NUMBER_OF[op]))})"


INTERVALS: Dialect = replace(
    C,
    operations={op: _call(op) for op in NUMBER_OF},
    literal=lambda value: f"iv_point({c_literal(value)})",
    value="Interval",
    order=tuple,
    packs=(),
    load_alone=C.load,
    reserved=C.reserved | {"Interval"},
)
"""Values are intervals of doubles."""


def emit_ranges(fn: Fn, name: str) -> str:
    """`static void NAME(inputs…, outputs…, jumps)` over intervals, after `interval_text`."""
    function = ranged(fn, name)
    return emit_plan(function, function.instructions, plan_of(function.instructions, PIECE, INTERVALS), INTERVALS)


@dataclass(frozen=True, eq=False)
class GuardShape:
    """Guards that are written alike: `fn` (x (n,), xd (n,), c (m,)) → (g, its rate along xd), a row of each table for each."""

    fn: Fn
    numbers: NDArray[np.int32]  # (k,) of the guards
    inputs: NDArray[np.int32]  # (k, n) places in s = (t, z, p)
    constants: NDArray[np.float64]  # (k, m)


def finder_text(shapes: Sequence[GuardShape], nz: int, degree: int) -> str:
    """C text of `root_clear` and `root_first` for the guards of a system with nz numbers in its state."""
    used = sorted({int(j) - 1 for shape in shapes for j in shape.inputs.flat if 1 <= j <= nz})
    slot = {0: 0, **{j + 1: 1 + k for k, j in enumerate(used)}}
    code = lambda place: slot[place] if place in slot else 1 + len(used) + place - 1 - nz
    place = {int(i): (k, j) for k, shape in enumerate(shapes) for j, i in enumerate(shape.numbers)}
    cases = "\n".join(f"    case {k}: guard_range{k}(r, GUARD_AT[guard], a, b, y, jumps); return;" for k in range(len(shapes)))
    shares = ", ".join("{" + _list([1 / comb(n, min(k, n)) for k in range(degree + 1)]) + "}" for n in range(degree + 1))
    binomials = ", ".join("{" + _list([float(comb(n, k)) for k in range(degree + 1)]) + "}" for n in range(degree + 1))
    guards = f"""\
static const int GUARD_SHAPE[] = {{{_list(place[i][0] for i in range(len(place)))}}};
static const int GUARD_AT[] = {{{_list(place[i][1] for i in range(len(place)))}}};
{"".join(_guard_text(k, shape, code) for k, shape in enumerate(shapes))}
static void guard_range(const RootStep *r, int guard, double a, double b, Interval *y, Interval *jumps)
{{
    switch (GUARD_SHAPE[guard]) {{
{cases}
    }}
}}
"""
    return "\n".join([
        *(emit_ranges(shape.fn, f"guard_shape{k}") for k, shape in enumerate(shapes)),
        f"#define ROOT_N {max(len(used), 1)}", f"#define ROOT_USED {len(used)}", f"#define ROOT_DEGREE {degree}",
        f"static const int ROOT_Z[] = {{{_list(used)}}};",
        f"static const double ROOT_BINOMIAL[][{degree + 1}] = {{{binomials}}};",
        f"static const double ROOT_SHARE[][{degree + 1}] = {{{shares}}};",
        _template("finder.c.in").replace("@guards@", INPUT + guards),
    ])  # fmt: skip


INPUT = """\
/* What a guard contains: the time, a number of the state, or a parameter. */
static void root_input(const RootStep *r, int code, double a, double b, Interval *x, Interval *xd)
{
    if (code == 0) *x = iv_hull(iv_point(r->t + a*r->h), iv_point(r->t + b*r->h)), *xd = iv_point(r->h);
    else if (code > ROOT_USED) *x = iv_point(r->p[code - 1 - ROOT_USED]), *xd = iv_point(0);
    else if (a == 0 && b == 1) *x = r->whole[code - 1], *xd = r->whole_d[code - 1];
    else if (a == b) root_point(r, code - 1, a, x, xd);
    else root_component(r, code - 1, a, b, x, xd);
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
"""


def _list(values: Iterable[Any]) -> str:
    return ", ".join(repr(x.item() if isinstance(x, np.generic) else x) for x in values) or "0"


__all__ = ["INTERVALS", "GuardShape", "emit_ranges", "filled", "finder_text", "interval_text"]
