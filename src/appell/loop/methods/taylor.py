"""Taylor's method: one step is the series of the solution itself, to a high order.

    z(t + τ) = z + Σ_k c_k τᵏ,  k = 1 … p        the c_k by `graph.taylor.expansion`, written out as machine code

Before a step the two highest coefficients determine its size: h = min_k ‖c_k/w‖^(−1/k), k = p − 1, p, with the weights
w = atol + rtol |z|. After it, the slope of the series is compared with that of the flow. They differ by (p + 1) c_{p+1} hᵖ, so
that h ‖ż(h) − f‖/(p + 1) is the error; if it is too large, a shorter step is taken. Between the ends the series is the dense
output, on which the first root of the distance from a wall is isolated by interval bounds (`roots`).

It costs about p²/2 products for each product in f, where a pair of order 8 evaluates f twelve times for a step half as
long. It pays where f is small or nearly linear (oscillators with walls), but not for a robot.

Reference: À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
Experimental Mathematics 14 (2005) 99–117; the error by the defect: W. H. Enright, SIAM J. Numer. Anal. 26 (1989) 588–599.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.errors import FormNotApplicable, Status
from appell.graph import Fn
from appell.graph.taylor_series import expansion, operations
from appell.loop.header import STEP_SPACINGS
from appell.loop.methods.runge_kutta import StepText
from appell.loop.methods.tableaux import Array
from appell.loop.task import TrialFailed
from appell.normal_form.flow import Flow
from appell.normal_form.solved import status_of

LINEAR_ORDER = 20

LARGEST_SERIES = 30_000
"""Operations of the expansion beyond which the method is refused; a heavy top has 21,000 and compiles in seconds."""


@dataclass(frozen=True)
class Taylor:
    """The method of order p; the Python loop calls `expand`: (t, z, p) → c (order, nz).

    Order 16 is cheapest for nonlinear systems at tolerances from 1e-6 to 1e-13. Where f is linear, a step costs p products
    instead of p², and `linear_order` is better (by 15 % for 10,000 runs of a driven oscillator with a wall).
    """

    order: int = 16
    linear_order: int | None = LINEAR_ORDER
    expand: Callable[[float, Array, Array], Array] | None = None
    name: str = "taylor"
    stages: int = 1
    safety: float = 0.8
    shrink: float = 0.1

    @property
    def error_order(self) -> int:
        """error ~ h^(p + 1)."""
        return self.order

    @property
    def degree(self) -> int:
        """Degree of z(θ) inside a step."""
        return self.order

    @property
    def series_order(self) -> int:
        """Taylor coefficients that the loop keeps."""
        return self.order

    @property
    def in_contact(self) -> str:
        """The method that takes the steps while a contact holds: a pair, since reactions along a step are not polynomials."""
        return "dop853"

    def fitted(self, flow: Flow) -> Taylor:
        """The method at the order that suits a flow."""
        rhs, linear = self._straight(flow), replace(self, order=self.linear_order or self.order)
        cost, linear_cost = (operations(rhs, method.order) for method in (self, linear))
        if cost > LARGEST_SERIES:
            raise FormNotApplicable(
                f"the series of this system takes {cost:,.0f} operations a step, minutes to compile and more than a step of"
                " order 8 saves; use method='dop853'"
            )
        return linear if linear_cost <= 1.3 * cost else self  # p operations, not p²

    def functions(self, flow: Flow) -> tuple[Fn, ...]:
        """(t, z, p) → c, margin: the coefficients of the series."""
        return (expansion(self._straight(flow), self.order),)

    def bound(self, flow: Flow, evaluator: Callable[[Fn], Any]) -> Taylor:
        """The method for the loop in Python, with its series."""
        (series,) = self.functions(flow)
        evaluate = evaluator(series)

        def expand(t: float, z: Array, p: Array) -> Array:
            values = evaluate(t, z, p)
            if not values["margin"] > 0:
                raise TrialFailed(status_of(float(values["margin"])))
            return values["c"]

        return replace(self, expand=expand)

    def loop_text(self, written: StepText) -> dict[str, Any]:
        """Values for the placeholders of the C loop."""
        return series_text(self, written)

    def steps(self, run: Any) -> SeriesSteps:
        """The steps of the loop in Python."""
        return SeriesSteps(self, run)

    def _straight(self, flow: Flow) -> Fn:
        if not isinstance(flow.rhs, Fn):
            raise FormNotApplicable(
                f"method='{self.name}' needs accelerations written out (at most 16 velocities and constraints, none of them"
                " redundant or nonlinear in the accelerations); use method='dop853'"
            )
        return flow.rhs


SERIES = {method.name: method for method in (Taylor(),)}
"""Taylor methods by name. `method_table.register` adds others: `Taylor(order=8, linear_order=None, name="taylor-8")`."""


def series_text(method: Taylor, written: StepText) -> dict[str, Any]:
    """Values for the placeholders in `taylor.c.in` and in the loop around it."""
    memory = f"""\
#define LOOP_ORDER {method.order}
#define LOOP_FORESIGHT 1
#define LOOP_SKETCH 0
#define LOOP_MEMORY 0
#define LOOP_ERRORS 1
typedef struct {{
    V c[LOOP_ORDER*NZ];         /* coefficients of z from the first on */
    V tail[NZ];                 /* the slope of the series at the end of the step */
    int expanded;               /* whether they are those of the state */
}} LoopMemory;"""
    divisor, size = method.order + 1, "h*h*sum0" if written.squared else "fabs(h)"
    return {
        "method": "loop/methods/taylor.c.in",
        "memory": memory,
        "rows": 3,  # one for slopes elsewhere
        "end": 2,
        "end_slope_in_error": 1,
        "series_missed": "\n".join(f"#define SERIES_{name} {x!r}" for name, x in quartic_misses(method.order).items()),
        "sketch_slopes": "",
        "error_norm": f"{size}*(T) ({divisor**-2!r}/NZ)" if written.squared else f"{size}/{divisor}*sqrt(sum0*(1.0/NZ))",
    }


def quartic_misses(order: int) -> dict[str, float]:
    """How far θ^k on [0, 1] may be from its quartic Hermite interpolant (three derivatives at 0, two at 1), for 4 < k <= order.

    θ^k minus the quartic is θ³(1 − θ)² Σ_j (j + 1) θ^(k − 5 − j), j <= k − 5; no term is negative. At most MISSED for k = 5,
    MISSED · MORE · STEEP^(k − 6) after it, so that a sum over k is a polynomial by Horner's rule.
    """
    x = np.linspace(0, 1, 1001)
    bubble = lambda k: x**3 * (1 - x) ** 2 * sum((j + 1) * x ** (k - 5 - j) for j in range(k - 4))
    largest = [1.01 * float(np.max(bubble(k))) for k in range(5, max(order, 7) + 1)]  # the least for a slope
    steep = max((largest[k] / largest[1]) ** (1 / (k - 1)) for k in range(2, len(largest)))
    return {"MISSED": largest[0], "MORE": largest[1] / largest[0], "STEEP": steep}


class SeriesSteps:
    """The Python twin of `taylor.c.in`. `run` has the current state (t, z) with its slope, the task, and evaluates f."""

    def __init__(self, method: Taylor, run: Any):
        assert method.expand is not None
        self.method, self.expand, self.run = method, method.expand, run
        self.c: Array | None = None
        self.end_slope: Array | None = None
        self.weight = np.zeros(len(run.z))

    def propose(self) -> None:
        """Expands the series at a new state and proposes a step, after a rejection no longer than the shortened one."""
        run = self.run
        if self.c is not None:
            return
        run.evaluations += 1
        self.c = np.asarray(self.expand(run.t, run.z.copy(), run.task.p))
        if not run.adaptive:
            return
        h = self._reach(self.c)
        if not h > 0:
            raise TrialFailed(Status.NOT_FINITE)
        if run.rejected or not run.started:
            h = min(h, run.h)
        run.h = run.error = min(h, run.h_max)
        if run.h < min(STEP_SPACINGS * abs(np.nextafter(run.t, run.task.t_end) - run.t), abs(run.task.t_end - run.t)):
            raise TrialFailed(Status.STEP_TOO_SMALL)

    def _reach(self, c: Array) -> float:
        """h ‖c_k‖^(1/k) <= 1 for the two highest coefficients in units of the tolerance."""
        run, task = self.run, self.run.task
        weight = task.atol + task.rtol * np.maximum(abs(run.z), run.error * abs(c[0]))
        highest = (len(c) - 1, len(c))
        squares = [float(np.mean((c[k - 1] / weight) ** 2)) for k in highest]
        if not np.isfinite(squares).all():
            return float("nan") if np.isnan(squares).any() else np.finfo(float).tiny
        return min(square ** (-0.5 / k) if square > 0 else np.inf for square, k in zip(squares, highest, strict=True))

    def forget(self) -> None:
        """Discards the series: the next state has another one."""
        self.c = None

    def stages(self, h: float) -> Array:
        """z₁ from the series, and the slope of the flow there."""
        assert self.c is not None
        k = np.arange(1, len(self.c) + 1)
        z1 = self.run.z + (h**k) @ self.c
        self.series_slope = (k * h ** (k - 1)) @ self.c
        self.end_slope = self.run.evaluate(self.run.t + h, z1)
        return z1

    def error_norm(self, z1: Array, h: float) -> float:
        """The truncation error, from the difference between the slopes of series and flow, (p + 1) c_{p+1} hᵖ."""
        task = self.run.task
        self.weight = task.atol + task.rtol * np.maximum(abs(self.run.z), abs(z1))
        assert self.end_slope is not None
        missed = (self.end_slope - self.series_slope) / self.weight
        return abs(h) / (self.method.order + 1) * float(np.sqrt(np.mean(missed**2)))

    def dense(self, z1: Array, slope: Array, h: float) -> Callable[[float], Array]:
        """z(θ) inside the step: the series."""
        assert self.c is not None
        z, c, k = self.run.z.copy(), self.c, np.arange(1, len(self.c) + 1)
        return lambda theta: z + ((theta * h) ** k) @ c

    def next_size(self, size: float, error: float) -> float:
        """Unchanged: the next series determines it."""
        return size

    def first_size(self) -> float:
        """The first series determines it."""
        return abs(self.run.task.t_end - self.run.t)
