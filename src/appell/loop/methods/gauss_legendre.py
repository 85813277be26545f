"""Conserving methods: Gauss collocation with fixed steps, and a projection onto constraints and energy after each step.

    K_i = f(t + c_i h, z + h Σ_j a_ij K_j),  i = 1 … s,        z₁ = z + h Σ_i b_i K_i,        order 2s

Gauss collocation is symmetric: a step of −h undoes a step of h. The stages are iterated down to rounding. Then z₁ is projected
in the kinetic metric onto the constraints and onto H = w, where w is the initial energy plus the work done since
(`normal_form.conserving`). Energy and constraints therefore do not drift, however many steps there are; without walls, neither
do the momenta of symmetries that the constraints admit. The projection uses the end of a step only, so the method as a whole is
not reversible (measured: the difference after stepping back is one order smaller than the error), and integrals that are not
enforced may drift slowly: `ap.integral_slopes` shows how.

The iteration converges for h|λ| below about 1; use `radau` for stiff systems.

Reference: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd ed., Springer 2006, II.1.3, IV.4, VIII.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.graph import Fn
from appell.loop.header import SAME_STEP
from appell.loop.methods.runge_kutta import StepText
from appell.loop.task import TrialFailed

Array = NDArray[np.float64]

STAGE_ITERATIONS = 100
"""Most iterations of the stages; a step that has not converged by then is too long."""
STAGES_SETTLED = 1e-12
"""Changes of stages below this fraction of the state are rounding once they stop shrinking."""


DIVERGING_ITERATIONS = 5
"""Iterations after which changes larger than the first one mean divergence."""


@dataclass(frozen=True)
class GaussLegendre:
    """The method with s stages."""

    name: str
    stages: int

    safety: float = 0.9
    shrink: float = 0.5
    series_order = 0

    @property
    def order(self) -> int:
        """2s."""
        return 2 * self.stages

    @property
    def error_order(self) -> int:
        """The order of the method itself; no error is estimated."""
        return self.order

    @property
    def degree(self) -> int:
        """Degree of z(θ) inside a step: the cubic through both ends and their slopes."""
        return 3

    @property
    def in_contact(self) -> str:
        """The method that takes the steps while a contact holds: itself."""
        return self.name

    @cached_property
    def c(self) -> Array:
        return np.asarray((np.polynomial.legendre.leggauss(self.stages)[0] + 1) / 2, dtype=np.float64)

    @cached_property
    def A(self) -> Array:
        """Σ_j a_ij c_j^(k−1) = c_i^k/k, k = 1 … s."""
        powers = np.vander(self.c, increasing=True)
        k = np.arange(1, self.stages + 1)
        return np.asarray(np.linalg.solve(powers.T, (self.c[:, None] ** k / k).T).T, dtype=np.float64)

    @cached_property
    def b(self) -> Array:
        return np.asarray(np.polynomial.legendre.leggauss(self.stages)[1] / 2, dtype=np.float64)

    @cached_property
    def ahead(self) -> Array:
        """(s, s): extrapolates the slopes at the nodes of this step to those of the next one."""
        powers, next_ones = (np.vander(x, self.stages, increasing=True) for x in (self.c, 1 + self.c))
        return np.asarray(np.linalg.solve(powers.T, next_ones.T).T, dtype=np.float64)

    def fitted(self, flow: Any) -> GaussLegendre:
        """The method for a flow: itself."""
        return self

    def functions(self, flow: Any) -> tuple[Fn, ...]:
        """The functions that the C loop calls besides the right-hand side."""
        return ()

    def bound(self, flow: Any, evaluator: Callable[[Fn], Any]) -> GaussLegendre:
        """The method for the loop in Python."""
        return self

    def loop_text(self, written: StepText) -> dict[str, Any]:
        """Values for the placeholders in `gauss_legendre.c.in` and in the loop around it."""
        table = lambda rows: ", ".join("{" + ", ".join(map(repr, map(float, row))) + "}" for row in rows)
        line = lambda row: ", ".join(repr(float(x)) for x in row)
        memory = f"""\
#define LOOP_FORESIGHT 0
#define LOOP_SKETCH 0
#define GAUSS_S {self.stages}
typedef struct {{
    double K[GAUSS_S][NZ], last[GAUSS_S][NZ];   /* slopes at the stages, and of the step before */
    double h;                                   /* its size, 0: there is none */
}} GaussMemory;
#define LOOP_MEMORY sizeof(GaussMemory)
typedef struct {{
    double K[GAUSS_S][NZ], F[2][NZ];    /* new slopes; dense output */
    GaussMemory *at;
}} LoopMemory;"""
        return {
            "method": "loop/methods/gauss_legendre.c.in", "memory": memory, "rows": 2, "end": 1, "end_slope_in_error": 0,
            "nodes": line(self.c), "A": table(self.A), "b": line(self.b), "ahead": table(self.ahead),
            "iterations": STAGE_ITERATIONS, "given_up": DIVERGING_ITERATIONS, "settled": repr(STAGES_SETTLED), "grow": "1.0",
            "same_step": repr(SAME_STEP),
        }  # fmt: skip

    def steps(self, run: Any) -> GaussSteps:
        """The steps of the loop in Python."""
        return GaussSteps(self, run)


FOURTH, SECOND, SIXTH = GaussLegendre("conserving", 2), GaussLegendre("conserving2", 1), GaussLegendre("conserving6", 3)
CONSERVING = {method.name: method for method in (FOURTH, SECOND, SIXTH)}
"""Conserving methods by name, of orders 4, 2 and 6."""


class GaussSteps:
    """The twin of `gauss_legendre.c.in`."""

    def __init__(self, method: GaussLegendre, run: Any):
        self.method, self.run = method, run
        self.last: tuple[float, Array] | None = None
        self.trial: tuple[float, Array] | None = None
        self.end_slope: Array | None = None
        self.weight = np.zeros(len(run.z))

    def propose(self) -> None:
        """Does nothing: the method has no prediction for a step."""

    def forget(self) -> None:
        """Makes the step just taken the previous one."""
        self.last = self.trial

    def stages(self, h: float) -> Array:
        """z₁, with stages iterated until their changes stop shrinking."""
        m, run = self.method, self.run
        predicts = self.last is not None and abs(self.last[0] - h) <= SAME_STEP * abs(h)
        K = m.ahead @ self.last[1] if predicts and self.last is not None else np.tile(run.slope, (m.stages, 1))
        last_change, first_change = np.inf, np.inf
        for k in range(STAGE_ITERATIONS):
            new_K = np.array([run.evaluate(run.t + c * h, run.z + h * (a @ K)) for c, a in zip(m.c, m.A, strict=True)])
            change, size = float(np.abs(h * (new_K - K)).max()), float(np.abs(run.z).max() + np.abs(h * new_K).max())
            K, first_change = new_K, change if k == 0 else first_change
            if k > DIVERGING_ITERATIONS and change > first_change:
                break
            if change == 0 or (change >= last_change and change <= STAGES_SETTLED * size):
                self.trial = h, K
                return run.z + h * (m.b @ K)
            last_change = change
        raise TrialFailed(Status.STEP_TOO_SMALL)

    def error_norm(self, z1: Array, h: float) -> float:
        """Zero: no error is estimated."""
        return 0.0

    def dense(self, z1: Array, slope: Array, h: float) -> Callable[[float], Array]:
        """The cubic through both ends and their slopes."""
        z, start_slope = self.run.z.copy(), self.run.slope.copy()
        rise = z1 - z
        a, b = h * (start_slope + slope) - 2 * rise, 3 * rise - h * (2 * start_slope + slope)
        return lambda x: z + x * (h * start_slope + x * (b + x * a))

    def next_size(self, size: float, error: float) -> float:
        """The same size: steps are fixed."""
        return size

    def first_size(self) -> float:
        """The fixed step as given."""
        return self.run.h_max


__all__ = ["CONSERVING", "GaussLegendre"]
