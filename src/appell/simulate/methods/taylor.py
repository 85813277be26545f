"""Taylor's method: one step is the series of the solution itself, to a high order.

    z(t + τ) = z + Σ_k c_k τᵏ,  k = 1 … p        the c_k by `graph.taylor.expansion`, written out as machine code

Before a step the two highest coefficients tell how far the series reaches: h = min_k ‖c_k/w‖^(−1/k), k = p − 1, p, with the
weights w = atol + rtol |z|. After it the slope of the series is compared with that of the flow: it misses the latter by
(p + 1) c_{p+1} hᵖ, so that h ‖ż(h) − f‖/(p + 1) is the error, and a step in which it is too large is taken again, shorter.
Between the ends the series is the dense output, and the distance from a wall is a polynomial whose first root is isolated
by bounds.

It costs about p²/2 products for each product in f, where a pair of order 8 evaluates f twelve times for a step half as
long: it pays where f is small or nearly linear (oscillators with walls), not for a robot.

Reference: À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
Experimental Mathematics 14 (2005) 99–117; the error by the defect: W. H. Enright, SIAM J. Numer. Anal. 26 (1989) 588–599.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from appell.simulate.methods.tableaux import Array

LINEAR_ORDER = 20


@dataclass(frozen=True)
class Taylor:
    """The method of order p; `expand` (t, z, p) → c (order, nz) is what the loop in Python calls.

    With 16 the steps of nonlinear systems cost least at tolerances from 1e-6 to 1e-13; where f is linear, and a step costs p
    products instead of p², 20 is better (10,000 starts of a driven oscillator with a wall: 15 %).
    """

    order: int = 16
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
    def scipy_class(self) -> Callable[..., OdeSolver]:
        return partial(SeriesSolver, method=self)


def series_text(method: Taylor, free: int) -> dict[str, Any]:
    """What stands for the names in `taylor.c.in` and in the loop around it."""
    distances = "double g[(LOOP_ORDER + 1)*LOOP_FREE];        /* of the distances */\n    "
    distances += "double distance[LOOP_FREE][LOOP_ORDER + 1]; /* the same per step, see loop_look */\n    "
    memory = f"""\
#define LOOP_ORDER {method.order}
#define LOOP_FORESIGHT 1
#define LOOP_DISTANCES {"s->m.g," if free else ""}
typedef struct {{
    double c[LOOP_ORDER*NZ];        /* coefficients of z from the first on */
    {distances if free else ""}double h;
    int expanded;
}} LoopMemory;"""
    return {
        "method": "simulate/methods/taylor.c.in",
        "sight": "contact/sight_series.c.in",
        "memory": memory,
        "rows": 2,
        "end": 1,
        "end_slope_in_error": 1,
        "bernstein": ",\n".join(_bernstein(method.order)),
    }


def _bernstein(p: int) -> list[str]:
    """Rows k = 0 … p of binomial(i, k)/binomial(p, k), i = 0 … p; beyond, the last one again."""
    width = 8 * ((p + 8) // 8)
    entry = lambda k, i: comb(min(i, p), k) / comb(p, k)
    return [f"    {{{', '.join(repr(entry(k, i)) for i in range(width))}}}" for k in range(p + 1)]


class SeriesSolver(OdeSolver):
    """The method in SciPy's form. `h_abs` bounds the next step where somebody else has set it."""

    def __init__(
        self, fun: Any, t0: float, y0: Array, t_bound: float, *, max_step: float, first_step: float | None,
        rtol: float, atol: Any, method: Taylor,
    ):  # fmt: skip
        super().__init__(fun, t0, y0, t_bound, vectorized=False)
        assert method.expand is not None
        self.expand, self.method, self.p = method.expand, method, fun.p
        self.max_step, self.rtol, self.atol = max_step, rtol, atol
        self.h_abs = self.own_size = np.inf if first_step is None else first_step
        self.f = self.fun(t0, y0)
        self.last = 1e-4
        self.bounded = first_step is not None

    def _reach(self, c: Array) -> float:
        weight = self.atol + self.rtol * np.maximum(abs(self.y), self.last * abs(c[0]))
        with np.errstate(divide="ignore", over="ignore"):
            sizes = [np.float64(np.mean((c[k - 1] / weight) ** 2)) ** (-0.5 / k) for k in (len(c) - 1, len(c))]
        return float(min(sizes))

    def _step_impl(self) -> tuple[bool, str | None]:
        c = np.asarray(self.expand(self.t, self.y, self.p))
        bound = self.h_abs if self.bounded or self.h_abs != self.own_size else np.inf
        size = min(self._reach(c), bound, self.max_step)
        while size >= 10 * abs(np.nextafter(self.t, self.direction * np.inf) - self.t):
            h = self.direction * min(size, abs(self.t_bound - self.t))
            self.last, error = abs(h), self._try(c, h)
            if error <= 1:
                self.h_abs = self.own_size = abs(h)
                self.bounded = False
                return True, None
            factor = self.method.safety * error ** (-1 / (self.method.order + 1)) if np.isfinite(error) else 0.0
            size = abs(h) * max(self.method.shrink, factor)
        return False, self.TOO_SMALL_STEP

    def _try(self, c: Array, h: float) -> float:
        """The step, unless its error is above one."""
        k = np.arange(1, len(c) + 1)
        t, y = self.t + h, self.y + (h**k) @ c
        f = self.fun(t, y)
        weight = self.atol + self.rtol * np.maximum(abs(self.y), abs(y))
        error = abs(h) / (len(c) + 1) * float(np.sqrt(np.mean(((f - (k * h ** (k - 1)) @ c) / weight) ** 2)))
        if error <= 1:
            self.series = _Series(self.t, t, self.y, c)
            self.t, self.y, self.f = t, y, f
        return error

    def _dense_output_impl(self) -> DenseOutput:
        return self.series


class _Series(DenseOutput):
    """z + Σ c_k τᵏ between two times."""

    def __init__(self, t_old: float, t: float, y: Array, c: Array):
        super().__init__(t_old, t)
        self.y, self.c = y, c

    def _call_impl(self, t: Any) -> Array:
        powers = np.power.outer(np.atleast_1d(t) - self.t_old, np.arange(1, len(self.c) + 1))
        found = (self.y + powers @ self.c).T
        return found if np.ndim(t) else found[:, 0]
