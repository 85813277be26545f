"""An explicit Runge–Kutta pair as C source, and its twin in Python.

In C, coefficients are literals, and each combination of slopes is one loop over a constant number of vectors (the vector types
of GCC and Clang)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.templates import template
from appell.errors import AppellError
from appell.loop.header import (
    FIRST_STEP_LONGEST,
    FIRST_STEP_SHARE,
    FIRST_STEP_SHORTER,
    FIRST_STEP_STRAIGHT,
    FIRST_STEP_UNSCALED,
    LEAST_ERROR,
    LEAST_ERROR_BEFORE,
    NO_SCALE,
    STEP_SPACINGS,
    THIRD_ORDER,
)

if TYPE_CHECKING:
    from appell.loop.methods.tableaux import Tableau

Array = NDArray[np.float64]

NUMBERS_ADDED_APART = 12  # states up to here add the newest slope one by one, see _update (measured at 4, 10 and 20)


MEMORY = """\
#define LOOP_FORESIGHT 0
#define LOOP_SKETCH {sketch}
#define LOOP_MEMORY 0
#define LOOP_ERRORS {errors}
#define LOOP_SKETCH_OFF {off}          /* z(theta) may differ so many times from the cubic as slopes do; its rate */
#define LOOP_SKETCH_OFF_D {off_d}
#define LOOP_SKETCH_LINE {line}         /* and from the line, as slopes do from its slope */
typedef struct {{
    LoopRow F[{rows}];         /* dense output */
}} LoopMemory;"""


class StepText(NamedTuple):
    """Options for the source of a step, besides its macros (`one_run.c.in`, `many_runs.c.in`).

    Lanes compute squares of errors, with `tiny` added before division, and factor common coefficients out. A single run may add
    the newest slope separately from the older ones (`_update`).
    """

    squared: bool = False
    tiny: str = "0"
    factored: bool = False
    fresh_apart: bool = False


def one_run(nz: int) -> StepText:
    """The options for a single run with a state of `nz` numbers."""
    return StepText(fresh_apart=nz <= NUMBERS_ADDED_APART)


def pair_text(tableau: Tableau, written: StepText) -> dict[str, Any]:
    """Values for the placeholders in `runge_kutta.c.in` and in the loop around it."""
    d, sketch = len(tableau.D), sketch_of(tableau)
    errors = [row for row in tableau.E if np.any(row)]
    slope = "    missed = lanes_max(lanes_fabs(h*NUMBER(s->k[{0}], i) - (d0 + {1}*((T) 2*b + {1}*3*a))), missed);"
    line = "        slowest = lanes_least(slowest, NUMBER(s->k[{0}], i)), fastest = lanes_max(fastest, NUMBER(s->k[{0}], i));"
    stages = () if sketch is None else sketch.stages
    return {
        "sketch_slopes": "\n".join(line.format(i) for i in stages),
        "series_missed": "",
        "sketch": "\n".join(slope.format(i, _number(tableau.C[i])) for i in stages),
        "method": "loop/methods/runge_kutta.c.in",
        "memory": MEMORY.format(
            rows=3 + d,
            sketch=int(sketch is not None),
            errors=len(errors),
            off=_number(sketch.value if sketch else 0.0),
            off_d=_number(sketch.rate if sketch else 0.0),
            line=_number(sketch.line(tableau) if sketch else 0.0),
        ),
        "rows": tableau.stages + 1 + len(tableau.A_extra),
        "end": tableau.stages,
        "end_slope_in_error": int(tableau.end_slope_in_error),
        "dense": 3 + d,
        "stages": _stages(tableau, written),
        "extra": _extra_stages(tableau),
        "dense_rows": "\n".join(f"        VECTOR(s->m.F[{3 + j}], i) = h*{combination(tableau.D[j])};" for j in range(d)),
        "sums": ", ".join(f"sum{j} = LOOP_ZERO" for j in range(len(errors))),
        "error_rows": "\n".join(f"        VECTOR(e[{j}], i) = {combination(row)};" for j, row in enumerate(errors)),
        "error_sums": " ".join(f"const V e{j} = NUMBER(e[{j}], i)*scale; sum{j} += e{j}*e{j};" for j in range(len(errors))),
        "error_norm": _error_norm(len(errors), written),
        "factor": _factor(tableau, written),
        "first_size": first_size_text(),
        "exponent": repr(1 / (tableau.error_order + 1)),
        "grow": repr(tableau.grow),
    }


def refused_text(method: Any, written: StepText) -> dict[str, str]:
    """The factor for a rejected step, for every method: safety · err^−1/(order of the estimate + 1)."""
    exponent = (0.5 if written.squared else 1.0) / (method.error_order + 1)
    return {
        "refused": template("loop/methods/refused.c.in"),
        "shorter": f"{_number(method.safety)}*lanes_power(error, {_number(-exponent)})",
        "shrink": repr(method.shrink),
    }


def first_size_text() -> str:
    """The rule for the first step, for every method with error control."""
    return template("loop/methods/first_size.c.in")


SLOPES_AGREE = 2.0
"""Slopes of stages agree with those of the dense output within this multiple of their difference from a cubic."""
EARLIEST_STAGE, LATEST_STAGE = 0.1, 0.99
"""Range of θ in which slopes of stages are useful: earlier ones are of low order, later ones repeat the end of the step."""


class Sketch(NamedTuple):
    """Bounds of z(θ) and its rate from the slopes of `stages`, without the dense output.

    value, rate: how far z(θ) and its rate may be from the cubic through both ends, per unit of the difference between these
    slopes and those of the cubic. line: how far z(θ) may be from the chord, per unit of the difference of these and the end
    slopes from the chord. The cubic minus the chord is θ(1 − θ)² and −θ²(1 − θ) times the differences of the end slopes.
    """

    stages: tuple[int, ...]
    value: float
    rate: float

    def line(self, tableau: Tableau) -> float:
        c = tableau.C[list(self.stages)]
        return 0.25 + self.value * (1 + float(np.max(np.abs(1 - 4 * c + 3 * c**2) + np.abs(2 * c - 3 * c**2))))


def sketch_of(tableau: Tableau) -> Sketch | None:
    """The sketch of a pair; None where the dense output needs no extra stages, or the stages carry too little information.

    z(θ) minus the cubic is θ²(1 − θ)² times a polynomial, which follows from its slopes at as many stages as it has
    coefficients. The bounds are the largest sums of absolute weights on [0, 1], for the stages that make them smallest.
    """
    if not len(tableau.C_extra):
        return None
    P, x = np.polynomial.Polynomial, np.linspace(0, 1, 201)
    bubbles = [P([0, 0, 1]) * P([1, -1]) ** 2 * P.basis(j) for j in range(len(tableau.D))]
    useful = [i for i in range(1, tableau.stages) if EARLIEST_STAGE <= tableau.C[i] <= LATEST_STAGE]
    best: Sketch | None = None
    for stages in combinations(useful, len(bubbles)):
        slopes = np.array([[b.deriv()(tableau.C[i]) for b in bubbles] for i in stages])
        if not bubbles or np.linalg.cond(slopes) > 1e6:  # such stages would multiply rounding
            continue
        weights = np.linalg.inv(slopes)
        largest = lambda table: SLOPES_AGREE * float(np.abs(np.array(table).T @ weights).sum(axis=1).max())  # noqa: B023
        sketch = Sketch(stages, largest([b(x) for b in bubbles]), largest([b.deriv()(x) for b in bubbles]))
        best = sketch if best is None or sketch.rate < best.rate else best
    return best


def _number(value: float) -> str:
    return f"(T) {float(value)!r}"


def combination(coefficients: Array) -> str:
    """(Σ_j c_j k_j) as C source, without the zeros."""
    return f"({' + '.join(f'{_number(c)}*VECTOR(k[{j}], i)' for j, c in enumerate(coefficients) if c != 0)})"


def _change(coefficients: Array, written: StepText) -> str:
    """h Σ_j c_j k_j; if the c_j are integer multiples of the first one, it may be factored out to save products."""
    common = next(c for c in coefficients if c != 0)
    multiples = coefficients / common
    if not written.factored or not np.array_equal(multiples, np.rint(multiples)):
        return f"s->step*{combination(coefficients)}"
    terms = (f"VECTOR(k[{j}], i)" if c == 1 else f"{_number(c)}*VECTOR(k[{j}], i)" for j, c in enumerate(multiples) if c != 0)
    return f"({_number(common)}*s->step)*({' + '.join(terms)})"


def _update(target: str, coefficients: Array, written: StepText) -> str:
    """target = z + h Σ_j c_j k_j as C source.

    In a single run, rhs has just written the newest slope double by double. A vector load across these stores would wait until
    they have left the store buffer, which takes longer than the addition for small states. There the newest slope is added
    double by double (volatile prevents vectorisation), and the older ones as vectors.
    """
    head = f"for (int i = 0; i < LOOP_VECTORS; i++) VECTOR({target}, i) = VECTOR(s->z, i)"
    if not written.fresh_apart:
        return f"        {head} + {_change(coefficients, written)};"
    newest = int(np.flatnonzero(coefficients)[-1])
    older = f" + {_change(coefficients[:newest], written)}" if np.any(coefficients[:newest]) else ""
    return (
        f"        {head}{older};\n"
        f"        for (int i = 0; i < NZ; i++)"
        f" NUMBER({target}, i) += {float(coefficients[newest])!r}*s->step*((const volatile double *) k[{newest}].x)[i];"
    )


def _stage(target: str, coefficients: Array, node: float, row: str, written: StepText) -> str:
    """One stage of every group: the state at which its slope is taken, and the slope, if it has a row."""
    time = "s->t1" if node == 1 else f"LOOP_FROM(run, s) + {_number(node)}*s->step"
    slope = f"        LOOP_SLOPE(s, {time}, {target}, k[{row}])\n" if row else ""
    return (
        "    for (int g = 0; g < LOOP_GROUPS; g++) {\n        LoopStep *const s = all + g;\n        LoopRow *const k = s->k;\n"
        f"{_update(target, coefficients, written)}\n{slope}    }}"
    )


def _stages(tableau: Tableau, written: StepText) -> str:
    """k_i = f(t + c_i h, z + h Σ a_ij k_j), then z₁ and, where the error estimate needs it, its slope."""
    stages = [_stage("s->y", tableau.A[i, :i], tableau.C[i], str(i), written) for i in range(1, tableau.stages)]
    return "\n".join([*stages, _stage("s->z1", tableau.B, 1.0, "LOOP_END" if tableau.end_slope_in_error else "", written)])


def _extra_stages(tableau: Tableau) -> str:
    """The stages that only the dense output needs."""
    return "\n".join(
        f"    for (int i = 0; i < LOOP_VECTORS; i++) VECTOR(s->y, i) = VECTOR(s->z, i) + h*{combination(a[:i])};\n"
        f"    LOOP_SLOPE(s, LOOP_FROM(run, s) + {_number(c)}*h, s->y, k[{i}])"
        for i, (c, a) in enumerate(zip(tableau.C_extra, tableau.A_extra, strict=True), start=tableau.stages + 1)
    )


def _error_norm(errors: int, written: StepText) -> str:
    """One row: |h| ‖e‖; two rows: |h| ‖e₅‖² / √(‖e₅‖² + 0.01 ‖e₃‖²) (Hairer II.10, eq. 10.17). ‖e‖² = Σe²/NZ. Or its square."""
    if errors < 2:
        return "h*h*sum0*(T) (1.0/NZ)" if written.squared else "fabs(h)*sqrt(sum0*(1.0/NZ))"
    if written.squared:
        return f"h*h*sum0*sum0/((sum0 + (T) LOOP_THIRD_ORDER*sum1 + (T) {written.tiny})*(T) NZ)"
    return "sum0 == 0 ? 0 : fabs(h)*sum0/sqrt((sum0 + LOOP_THIRD_ORDER*sum1)*NZ)"


def _factor(tableau: Tableau, written: StepText) -> str:
    """safety · err^−α err_before^β, see `Tableau.size_exponent`; half the exponents for squares."""
    power = 0.5 if written.squared else 1.0
    previous = f"*lanes_power(before, {_number(power * tableau.beta)})" if tableau.beta else ""
    return f"{_number(tableau.safety)}*lanes_power(error, {_number(-power * tableau.size_exponent)}){previous}"


class PairSteps:
    """The Python twin of `runge_kutta.c.in`. `run` has the current state (t, z) with its slope, the task, and evaluates f."""

    def __init__(self, tableau: Tableau, run: Any):
        self.tableau, self.run = tableau, run
        rows = tableau.stages + 1 + len(tableau.A_extra)
        self.k = np.zeros((rows, len(run.z)))
        self.end_slope: Array | None = None
        self.weight = np.zeros(len(run.z))

    def propose(self) -> None:
        """Does nothing: the method has no prediction for a step."""

    def forget(self) -> None:
        """Does nothing: the next step does not depend on this one."""

    def stages(self, h: float) -> Array:
        """z₁; k_i = f(t + c_i h, z + h Σ a_ij k_j)."""
        pair, run, k = self.tableau, self.run, self.k
        k[0] = run.slope
        for i in range(1, pair.stages):
            k[i] = run.evaluate(run.t + pair.C[i] * h, run.z + h * (pair.A[i, :i] @ k[:i]))
        z1 = run.z + h * (pair.B @ k[: pair.stages])
        self.end_slope = None
        if pair.end_slope_in_error:
            self.end_slope = k[pair.stages] = run.evaluate(run.t + h, z1)
        return z1

    def error_norm(self, z1: Array, h: float) -> float:
        """The error of a trial step in units of the tolerance: weights atol + rtol max(|z|, |z₁|), mean square."""
        pair, task = self.tableau, self.run.task
        self.weight = task.atol + task.rtol * np.maximum(abs(self.run.z), abs(z1))
        sums = (((pair.E @ self.k[: pair.stages + 1]) / self.weight) ** 2).sum(axis=1)
        if len(sums) == 1:
            return abs(h) * float(np.sqrt(sums[0] / len(z1)))
        return 0.0 if sums[0] == 0 else abs(h) * float(sums[0] / np.sqrt((sums[0] + THIRD_ORDER * sums[1]) * len(z1)))

    def dense(self, z1: Array, slope: Array, h: float) -> Callable[[float], Array]:
        """z(θ) inside the step to z₁; slope: f at z₁."""
        pair, run, k = self.tableau, self.run, self.k
        k[pair.stages] = slope
        for i, (c, a) in enumerate(zip(pair.C_extra, pair.A_extra, strict=True), start=pair.stages + 1):
            k[i] = run.evaluate(run.t + c * h, run.z + h * (a[:i] @ k[:i]))
        z, delta = run.z.copy(), z1 - run.z
        F = [delta, h * k[0] - delta, 2 * delta - h * (k[0] + slope), *(h * (pair.D @ k))]

        def between(theta: float) -> Array:
            total = np.zeros_like(z)
            for j in range(len(F) - 1, -1, -1):
                total = (total + F[j]) * (1 - theta if j % 2 else theta)
            return z + total

        return between

    def next_size(self, size: float, error: float) -> float:
        """h min(grow, max(shrink, safety err^−α err_previous^β)), Hairer II.4 (4.13) and IV.2 (2.43)."""
        pair, run = self.tableau, self.run
        factor = pair.safety * max(error, LEAST_ERROR) ** -pair.size_exponent * run.error**pair.beta
        factor = max(min(factor, pair.grow), pair.shrink)
        run.error = max(error, LEAST_ERROR_BEFORE)
        return size * (min(factor, 1.0) if run.rejected else factor)

    def first_size(self) -> float:
        """The automatic first step for the error order of the pair."""
        return first_size(self.run, self.tableau.error_order)


def first_size(run: Any, error_order: int) -> float:
    """Hairer's automatic first step, II.4: one explicit Euler step measures the second derivative."""
    task = run.task
    rest = task.t_end - run.t
    weight = task.atol + task.rtol * abs(run.z)
    size = lambda x: float(np.sqrt(np.mean((x / weight) ** 2)))
    d0, d1 = size(run.z), size(run.slope)
    shortest = STEP_SPACINGS * abs(np.nextafter(run.t, task.t_end) - run.t)  # a state of pure rounding has no time scale
    h0 = min(max(FIRST_STEP_UNSCALED if d0 < NO_SCALE or d1 < NO_SCALE else FIRST_STEP_SHARE * d0 / d1, shortest), abs(rest))
    step = np.copysign(h0, rest)
    try:
        slope = run.evaluate(run.t + step, run.z + step * run.slope)
    except (AppellError, ArithmeticError):
        return h0
    d = max(d1, size(slope - run.slope) / h0)
    straight = max(FIRST_STEP_UNSCALED, FIRST_STEP_SHORTER * h0)
    h1 = straight if d <= FIRST_STEP_STRAIGHT else (FIRST_STEP_SHARE / d) ** (1 / (error_order + 1))
    return max(min(FIRST_STEP_LONGEST * h0, h1), shortest)
