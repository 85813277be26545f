"""Equations whose rows are nonlinear in the accelerations: the stationary point with the smallest Z.

    F(a, Λ) = (E − Q − W(a)Λ, r(a)) = 0 is ∂/∂a, ∂/∂Λ of Z(a) − Λ·r(a): it has several roots, and the motion is the one with the
    smallest Z.

Newton's method from many starts finds stationary points; nothing proves that it finds all of them. For one row quadratic in the
accelerations, `forms.gauss` uses the secular equation, which gives a proven minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import STATUS_TEXT, SingularConfiguration, Status
from appell.forms.engine.derivation import gradient
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.remember import remembered
from appell.rows import NEWTON_LOST, least_squares

if TYPE_CHECKING:
    from appell.forms.base import Equations

Array = NDArray[np.float64]

STATIONARY_STARTS = 24
STATIONARY_ITERATIONS = 40


def least(equations: Equations, values: dict, numbers: Arithmetic) -> dict:
    """The unknowns at the stationary point with the smallest `equations.criterion`, among those found by multistart Newton."""
    problem = _problem(equations)
    floats = {s: float(x) for s, x in values.items()}
    points = problem.stationary_points(floats)
    if not points:
        raise Undetermined(STATUS_TEXT[Status.NO_SOLUTION])
    costs = [problem.cost(floats, x) for x in points]
    order = np.argsort(costs)
    best = points[order[0]]
    if len(points) > 1 and costs[order[1]] - costs[order[0]] < 1e-9 * (1 + abs(costs[order[0]])):
        # equal up to rounding: Newton's last step is below 1e-12
        raise Undetermined(tie_text(equations.system.accelerations, best, points[order[1]]))
    x = best.tolist() if numbers is FLOAT else problem.polished(values, best, numbers)
    return dict(zip(equations.unknowns, x, strict=True))


def tie_text(symbols: Any, one: Any, other: Any) -> str:
    """The sentence that shows both accelerations of a tie."""
    show = lambda x: "(" + ", ".join(f"{s} = {float(v):.6g}" for s, v in zip(symbols, x, strict=False)) + ")"
    return f"{STATUS_TEXT[Status.TIE]}: {show(one)} and {show(other)}"


@remembered
def _problem(equations: Equations) -> _StationaryProblem:
    return _StationaryProblem(equations)


class _StationaryProblem:
    """F, its Jacobian and Z as tapes over the state and the unknowns x, accelerations first."""

    def __init__(self, equations: Equations):
        if equations.criterion is None:
            raise Undetermined(
                f"the {equations.form} equations have several roots here and do not say which is the motion; use ap.forms.gauss"
            )
        self.unknowns, F = equations.unknowns, equations.residuals
        self.n, self.m = len(self.unknowns), len(F)
        self.tape = Tape([*F, *(slope for f in F for slope in gradient(f, self.unknowns))])
        self.criterion = Tape([equations.criterion])
        self.nv = equations.system.nv
        if tuple(self.unknowns[: self.nv]) != equations.system.accelerations:
            raise Undetermined(f"the {equations.form} equations do not list the accelerations first")

    def system_at(self, values: dict, x: Any, numbers: Arithmetic) -> tuple[list, list[list]]:
        flat = self.tape({**values, **dict(zip(self.unknowns, x, strict=True))}, numbers)
        J = [flat[self.m + i * self.n : self.m + (i + 1) * self.n] for i in range(self.m)]
        return flat[: self.m], J

    def cost(self, values: dict, x: Array) -> float:
        return float(self.criterion({**values, **dict(zip(self.unknowns, x.tolist(), strict=True))}, FLOAT)[0])

    def stationary_points(self, values: dict) -> list[Array]:
        """Distinct roots of F reached from random accelerations of several sizes, Λ fitted to each."""
        rng = np.random.default_rng(0)
        points: list[Array] = []

        def at(x: Array) -> tuple[Array, Array]:
            F, J = self.system_at(values, x.tolist(), FLOAT)
            F, J = np.array(F, dtype=float), np.array(J, dtype=float)
            if not (np.isfinite(F).all() and np.isfinite(J).all()):
                raise OverflowError("not finite")
            return F, J

        for k in range(STATIONARY_STARTS):
            x = np.zeros(self.n)
            x[: self.nv] = rng.standard_normal(self.nv) * 10.0 ** (k % 4 - 1)
            root = _newton(at, x, self.nv)
            # one root reached from two starts, which Newton's method leaves much closer to each other than this
            is_same = lambda y, a: np.abs(a - y[: self.nv]).max() < 1e-6 * (1 + np.abs(y).max())
            if root is not None and not any(is_same(y, root[: self.nv]) for y in points):
                points.append(root)
        return points

    def polished(self, values: dict, x: Array, numbers: Arithmetic) -> list:
        """The root to full precision: Newton doubles the digits each time."""
        point = [numbers.number(v) for v in x]
        names = [str(s) for s in self.unknowns]
        unique = [j < self.nv for j in range(self.n)]
        for _ in range(max(4, numbers.digits.bit_length())):
            F, J = self.system_at(values, point, numbers)
            step = solve_linear(J, [-f for f in F], unique, numbers.tolerance, names)
            point = [a + b for a, b in zip(point, step, strict=True)]
        return point


def _newton(at: Callable[[Array], tuple[Array, Array]], x: Array, nv: int) -> Array | None:
    """A root of F near x by damped Newton steps (least squares where the Jacobian is singular); None where it stalls."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            return _steps(at, x, nv)
    except (SingularConfiguration, np.linalg.LinAlgError, ArithmeticError):
        return None


def _steps(at: Callable[[Array], tuple[Array, Array]], x: Array, nv: int) -> Array | None:
    F, J = at(x)
    x = x + np.concatenate([np.zeros(nv), least_squares(J[:, nv:], -F, NEWTON_LOST)])
    F, J = at(x)
    for _ in range(STATIONARY_ITERATIONS):
        step = least_squares(J, -F, NEWTON_LOST)
        if np.abs(step).max(initial=0) < 1e-12 * (1 + np.abs(x).max()):
            return x + step if np.abs(F).max() < 1e-8 * (1 + np.abs(x).max() ** 2) else None
        scale, size = 1.0, float(F @ F)
        while scale > 1e-4:
            F_new, J_new = at(x + scale * step)
            if float(F_new @ F_new) < size or scale < 2e-4:
                break
            scale /= 2
        x, F, J = x + scale * step, F_new, J_new  # type: ignore[possibly-undefined]
    return None
