"""C source of a whole time loop in vector lanes: `many.c.in` filled in for a flow, a method and the results to keep.

    flow_vectors(t, z, p, zd, margin[, pivots], far, work)      the right-hand side, by `backends.lanes`
    position_vectors, velocity_vectors                          Newton's corrections onto the constraints
    follow_vectors, ranges_vectors, ends_vectors                the expressions of the reductions, see `Watch`

The source does not depend on the width of a vector, so the same text serves other `Language`s. On a GPU, each thread is a lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appell.backends.lanes.emit import PRECISIONS, emit_vectors, vector_types
from appell.backends.text.criterion_text import LANES, ONE_LANE
from appell.backends.text.sincos import Precision
from appell.backends.text.templates import template
from appell.ensembles.wall_bounds import wall_bounds_text
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, apply, as_matrix, block_matrix, column, is_zero, symbols, zeros
from appell.graph.elimination import eliminated
from appell.graph.scalar import scalars
from appell.loop.header import LEAST_ERROR, LEAST_ERROR_BEFORE, header
from appell.loop.methods.runge_kutta import StepText, refused_text
from appell.loop.methods.tableaux import Tableau
from appell.loop.methods.taylor import Taylor
from appell.loop.projection import projection_text
from appell.loop.task import DEFAULT_RTOL
from appell.model.breaks import GOLDEN_SECTION
from appell.model.schedule import KNOT_SPACINGS
from appell.motion.record import LEAST_EXCHANGED
from appell.nonsmooth.criteria import LANE_CRITERIA, ONE_LANE_CRITERIA, criteria_text
from appell.normal_form.flow import Flow, GuardedRows
from appell.reductions.quadrature import (
    ALONG_UNITS,
    EXTREME_ITERATIONS,
    GAUSS,
    INFLATION,
    INTEGRAL_SHARE,
    JUMP_SHARE,
    JUMP_SHARE_SINGLE,
    KRONROD,
    MOST_PIECES,
    NARROW_SINGLE,
    NARROWEST_PIECE,
    NODES,
    NOISE_SINGLE,
    QUADPACK_FACTOR,
    RULE_UNITS,
    RULES_AGREE,
    SAME_EXTREME,
    SAME_SINGLE,
    SECTION_OF_BRACKET,
    SIGN_NOISE,
    ZERO_ITERATIONS,
)  # fmt: skip
from appell.remember import remembered
from appell.roots.interval_text import GuardShape
from appell.roots.solved_guards import SolvedGuards

GUARDED_ROW_DISTANCE = 0.1
"""Squared distance of a row from the others, relative to its largest value, below which a run goes to the guarded loop."""
HANDED = 100
"""Status, used only in this package, of a run that the lanes leave to the loop for single runs."""
ACCUMULATING = 1e-5
"""Fraction of the longest flight between two impacts below which a run is left to the loop for rest and accumulation."""
KINK_ERROR_FACTOR = 1e5
"""Factor for the error estimate of a step in which a force has a kink: the estimate vanishes for some step sizes, although the
error does not. In 4,096 runs with two kinks each, the largest error was 5e4 tolerances without this factor and 4e1 with it."""
LANDING_TRIALS = 12
"""Attempts to end a step on a face before a run that misses it each time is handed over."""

CDEF = """
typedef struct {
    int64_t n;                          /* runs to be made: those in `order`, or 0 ... n - 1 where that is NULL */
    const int64_t *order;
    const double *z0;                   /* (runs, NZ) */
    const double *p;                    /* (runs, NP), or (NP,) with p_stride 0 */
    int64_t p_stride;
    double t0;
    const double *t_end;                /* (runs,), or (1,) with end_stride 0 */
    int64_t end_stride;
    double rtol;                        /* 0: fixed step h_max */
    const double *atol;                 /* (NZ,) */
    double h_max;
    int64_t max_steps;

    const double *times;                /* (runs, n_times), or (n_times,) with times_stride 0 */
    int64_t n_times, times_stride;
    double *z_times;                    /* (runs, n_times, NZ) */
    int64_t n_points, skip;             /* points of a section: kept, and passed over before them */
    double *points, *point_times;       /* (runs, n_points, NZ), (runs, n_points) */

    const double *knots;                /* (n_knots,): times at which some parameters change, and their values between, */
    int64_t n_knots, rows_stride;
    const double *rows;                 /* (runs, n_knots - 1, SCHEDULED), or of one run with rows_stride 0 */

    double floor;                       /* no distance from a wall is meant to be finer, per unit of its normal */
    double *z, *t, *values;             /* (runs, NZ), (runs,), (runs, reductions) */
    int64_t *steps, *rejected;          /* (runs,); NULL: they are not counted */
    int32_t *status;                    /* (runs,) */

    int64_t next, done;                 /* runs given out, runs that have ended: all threads count together */
    int32_t stop;                       /* set from outside: no step more */
} appell_many;

int appell_many_run(appell_many *job);
"""


@dataclass(frozen=True)
class Watch:
    """The expressions of the reductions, and the C source that accumulates them; see `kinds.Accumulator`.

    follow: (t, z, p[, zd]) → g, expressions that are evaluated inside steps, and `ranges`, their bounds over boxes of these.
    ends: the same for expressions evaluated at the ends of steps. None: there are none. slopes: whether they take zd.
    """

    follow: Fn | None
    ranges: Fn | None
    ends: Fn | None
    slopes: bool
    count: int
    begin: str
    held: str
    update: str
    each: str
    jump: str

    @property
    def functions(self) -> list[Fn]:
        return [fn for fn in (self.follow, self.ranges, self.ends) if fn is not None]

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for equal source."""
        return (*(fn.digest for fn in self.functions), self.begin, self.held, self.update, self.each, self.jump)


@dataclass(frozen=True)
class WallFunctions:
    """guards (t, z, p, zd) → g, d, dd, terms, length (faces,); blows (t, z, p) → dz (faces, nz), for an impact on each face.

    hold (t, z, p, zd) → dzd (faces, nz), push, hidden (faces,): contact; settle (t, z, p) → position, velocity (faces, nz).
    bounds (boxes of t, q, their rates, p) → lo, hi, rough (2 faces,): of distances and their rates; shapes: the same as guards.
    lowest (boxes of t and q, p) → lo (faces,): of distances.
    reactions: of closed faces, for bounds inside a step, or None; followed: indices of the state on which they depend.
    """

    guards: Fn
    blows: Fn
    hold: Fn
    settle: Fn
    bounds: Fn
    lowest: Fn
    shapes: tuple[GuardShape, ...]
    reactions: SolvedGuards | None
    followed: int


@dataclass(frozen=True)
class Stops:
    """next (t, p) → next, last: the breaks around a time; index: position in p of the time that selects the branches.

    columns: indices of the parameters whose values change at the knots of a schedule, which are data of a run.
    """

    next: Fn | None
    index: int | None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Language:
    """How a loop over lanes is written: the types V and I, functions on them, machine-specific code, and the entry point."""

    types: Callable[[Sequence[Fn], int, Precision], str]
    emit: Callable[[Fn, Precision], tuple[str, int]]
    suffix: str  # suffix of the files `language` and `entry`
    finish: Callable[[str], str] = str


THREADS_GATHERED, TURNS_WAITED = 20, 16
"""Threads of a warp of 32 whose steps are evaluated together, and the most turns that one waits for the others."""
STEPS_OF_TURN = {"double": 4, "float": 6}
"""Steps of a turn."""
UNROLLED_INSTRUCTIONS = 100
"""Most instructions of a right-hand side for the steps of a turn to be unrolled."""

VECTORS = Language(vector_types, emit_vectors, "c.in")
"""Vectors of a CPU; the entry point is `appell_many_run`."""


def many_source(
    flow: Flow, tableau: Tableau | Taylor, watch: Watch | None, walls: WallFunctions | None = None,
    breaks: Stops | None = None, bends: Fn | None = None, *, lanes: int, groups: int, scalar: str = "double",
    language: Language = VECTORS,
) -> str:  # fmt: skip
    """The whole source file, with the entry point of the language: `appell_many_run` of `CDEF`, or a kernel on its struct.

    bends (t, z, p) → c, expressions that change sign where a force has a kink.
    """
    precision, rhs = PRECISIONS[scalar], guarded_flow(flow)
    corrections = [step for step in (flow.position, flow.velocity) if step is not None]
    assert all(isinstance(step, Fn) for step in corrections)
    fns = [rhs, *corrections, *(watch.functions if watch else [])]
    fns += [walls.guards, walls.blows, walls.hold, walls.settle, walls.bounds, walls.lowest] if walls else []
    fns += [breaks.next] if breaks and breaks.next else []
    fns += [bends] if bends else []
    fns += tableau.functions(flow)
    texts = [language.emit(fn, precision) for fn in fns]
    pivots = rhs.outputs[2].size if len(rhs.outputs) > 2 else 0
    sizes = {
        "NZ": flow.nz, "NP": rhs.inputs[2].size, "HAS_PROJECTION": int(flow.projects), "PIVOTS": pivots,
        "CLOSE": GUARDED_ROW_DISTANCE,
        "HANDED": HANDED, "OBSERVED": int(watch is not None), "PROBES": len(NODES),
        "FOLLOWED": watch.follow.outputs[0].size if watch and watch.follow else 0,
        "ENDS": watch.ends.outputs[0].size if watch and watch.ends else 0, "SLOPES": int(watch is not None and watch.slopes),
        "REDUCTIONS": watch.count if watch else 0, "FACES": walls.guards.outputs[0].size if walls else 0,
        "BREAKS": int(breaks is not None), "BRANCH": breaks.index if breaks and breaks.index is not None else -1,
        "TIMED": int(bool(breaks and breaks.next)), "SCHEDULED": len(breaks.columns) if breaks else 0,
        "BENDS": bends.outputs[0].size if bends else 0, "KINK_ERROR_FACTOR": KINK_ERROR_FACTOR**2,
        "NQ": walls.bounds.inputs[2].size if walls else 0,
        "WORK": int(flow.has_work), "ORDER": tableau.series_order, "ACCUMULATING": ACCUMULATING,
        "LANDING_TRIALS": LANDING_TRIALS,
    }  # fmt: skip
    numbers = _number_text(precision, lanes)
    written = StepText(squared=True, tiny=str(numbers["tiny"]), factored=True)
    method = {**tableau.loop_text(written), **refused_text(tableau, written)}
    values = {
        **method, **numbers,
        "criteria": criteria_text(LANES, LANE_CRITERIA) + "\n" + criteria_text(ONE_LANE, ONE_LANE_CRITERIA),
        "scheduled": _schedule_text(breaks.columns if breaks else ()), "default_rtol": DEFAULT_RTOL,
        "knot_spacings": KNOT_SPACINGS,
        "inside": repr(GOLDEN_SECTION), "name": tableau.name, "groups": groups, "gathered": THREADS_GATHERED,
        "patient": TURNS_WAITED, "stride": STEPS_OF_TURN[scalar],
        "unrolled": STEPS_OF_TURN[scalar] if len(rhs.instructions) <= UNROLLED_INSTRUCTIONS else 1,
        "work": max(1, *(work for _, work in texts)), "interface": CDEF,
        "project": projection_text(flow) if flow.projects else "", "reduce": _reduce_text(watch, precision) if watch else "",
    }  # fmt: skip
    text = template("ensembles/many.c.in")
    for section in ("walls_types", "walls"):
        text = text.replace(f"@{section}@", template(f"ensembles/{section}.c.in") if walls else "")
    text = text.replace("@project@", values.pop("project")).replace("@reduce@", values.pop("reduce"))
    text = text.replace("@many_runs@", template("ensembles/many_runs.c.in"))
    text = text.replace("@method@", template(str(values.pop("method"))))
    for section in ("language", "entry"):
        text = text.replace(f"@{section}@", template(f"ensembles/{section}.{language.suffix}"))
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    defines = "\n".join(f"#define {name} {value}" for name, value in sizes.items())
    finder = wall_bounds_text(walls, flow.nz, tableau.degree, holds=not tableau.series_order) if walls else []
    sources = [language.types(fns, lanes, precision), header(), *(code for code, _ in texts), *finder, defines, text]
    return language.finish("\n".join(sources))


@remembered
def guarded_flow(flow: Flow) -> Fn:
    """(t, z, p) → zd, margin and, if the loop watches the rank of rows, the pivots of A M⁻¹ Aᵀ.

    A pivot is the squared distance of a row from the rows before it, in the kinetic metric. The accelerations need this
    factorisation anyway.
    """
    assert isinstance(flow.rhs, Fn)
    if flow.guarded is None:
        return flow.rhs
    inputs = {port.name: (symbols(port.name, port.size), port.shape) for port in flow.rhs.inputs}
    arguments = [value for value, _ in inputs.values()]
    rates, blocks = apply(flow.rhs, *arguments), apply(flow.guarded.rows, *arguments)
    n, m = flow.guarded.n, flow.guarded.m
    M, A = _matrices(flow.guarded, blocks)
    _, eliminations = eliminated(block_matrix([[M, A.T], [A, zeros(m, m)]]), zeros(n + m), range(n))
    pivots = column(*(pivot.value for pivot in eliminations[n:]))
    return make_fn("flow", inputs, {"zd": (rates["zd"], (flow.nz,)), "margin": (rates["margin"], ()), "pivots": (pivots, (m,))})


def _matrices(guarded: GuardedRows, blocks: Mapping[str, Value]) -> tuple[Value, Value]:
    """M (n, n) and A (m, n) in the order of the system, with their structural zeros."""
    n, m, sparse = guarded.n, guarded.m, guarded.sparse
    if sparse is None:
        return as_matrix(blocks["M"], n, n), as_matrix(blocks["A"], m, n)
    M, A = zeros(n, n), zeros(m, n)
    v, r = sparse.velocities, sparse.rows
    for (i, j), x in zip(((v[i], v[j]) for i, row in enumerate(sparse.L) for j in row), scalars(blocks["M"]), strict=True):
        if not is_zero(x):
            M[i, j] = M[j, i] = x
    for (i, j), x in zip(((r[i], v[j]) for i, row in enumerate(sparse.Y) for j in row), scalars(blocks["A"]), strict=True):
        if not is_zero(x):
            A[i, j] = x
    return M, A


def _schedule_text(columns: Sequence[int]) -> str:
    """C source that sets the parameters that change at the knots of a schedule."""
    return "\n".join(f"    s->p[{column}][lane] = (T) row[{k}];" for k, column in enumerate(columns))


def _number_text(precision: Precision, lanes: int) -> dict[str, object]:
    """Values for the placeholders that depend on the precision."""
    double = precision.scalar == "double"
    return {
        "scalar": precision.scalar, "integer": precision.integer, "lanes": lanes, "bytes": precision.size * lanes,
        "size": precision.size, "mantissa": 52 if double else 23, "shift": repr(2.0**52 if double else 2.0**23),
        "bias": 1023 if double else 127, "tiny": "1e-300" if double else "1e-36f", "near": "1e-15" if double else "1e-6f",
        "coarse": "1" if double else "1.5e8", "swift": "1" if double else "3e3",
        "epsilon": "DBL_EPSILON" if double else "FLT_EPSILON", "smallest": repr(LEAST_ERROR**2),
        "least_before": repr(LEAST_ERROR_BEFORE**2),  # lanes compute squares of errors
        "limit": f"{precision.limit!r}{precision.suffix}",
    }  # fmt: skip


def _reduce_text(watch: Watch, precision: Precision) -> str:
    """C source of the reductions: `reduce.c.in` filled in."""
    listed = lambda numbers: ", ".join(f"{float(x)!r}{precision.suffix}" for x in numbers)
    double = precision.scalar == "double"
    values = {
        "begin": watch.begin, "held": watch.held, "update": watch.update, "each": watch.each, "jump": watch.jump,
        "nodes": listed(NODES), "kronrod": listed(KRONROD), "gauss": listed(GAUSS), "inflation": INFLATION,
        "rules_agree": RULES_AGREE,
        "narrow": NARROWEST_PIECE if double else NARROW_SINGLE, "same": SAME_EXTREME if double else SAME_SINGLE,
        "parabolas": EXTREME_ITERATIONS, "section": SECTION_OF_BRACKET, "zero_iterations": ZERO_ITERATIONS,
        "least_exchanged": LEAST_EXCHANGED,
        "rule_units": RULE_UNITS, "along_units": ALONG_UNITS, "quadpack": QUADPACK_FACTOR, "integral_share": INTEGRAL_SHARE,
        "jump_share": JUMP_SHARE if double else JUMP_SHARE_SINGLE, "most_pieces": MOST_PIECES,
        "noise": SIGN_NOISE if double else NOISE_SINGLE,
        "with_slopes": "zd," if watch.slopes else "", "with_ranges": "slope_lo, slope_hi," if watch.slopes else "",
    }  # fmt: skip
    text = template("ensembles/reduce.c.in")
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


__all__ = ["CDEF", "HANDED", "VECTORS", "Language", "Stops", "WallFunctions", "Watch", "many_source"]
