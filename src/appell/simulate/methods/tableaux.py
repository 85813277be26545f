"""Explicit Runge–Kutta pairs as data.

One step of size h from (t, z), with k_1 = f(t, z):

    k_i = f(t + c_i h, z + h Σ_j A_ij k_j),        z₁ = z + h Σ_i B_i k_i,        k_{s+1} = f(t + h, z₁)

k_{s+1} is the first slope of the next step. The local error is read off h Σ_i E_i k_i (one row, or two that are
blended), and between the ends, with θ = (τ − t)/h and Δ = z₁ − z,

    z(θ) = z + θ(F₀ + (1−θ)(F₁ + θ(F₂ + (1−θ)(F₃ + …)))),
    F₀ = Δ,   F₁ = h k_1 − Δ,   F₂ = 2Δ − h(k_1 + k_{s+1}),   F_{3+j} = h Σ_i D_ji k_i.

F₀ … F₂ are the cubic through both ends and their slopes; the rows of D raise its order, with extra stages where the
method needs them. The coefficients are those of SciPy's `DOP853` and `RK45`, taken from there.

Reference: E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., Springer 1993,
II.4 (step size), II.5 (the methods), II.6 (dense output).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853, RK45

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tableau:
    """The coefficients of one pair with s stages, e extra stages of its dense output and d rows beyond the cubic."""

    name: str
    order: int  # of z₁
    dense_order: int  # largest power of h to which z(θ) is exact
    error_order: int  # of the error estimate: error ~ h^(error_order + 1)
    A: Array  # (s, s)
    B: Array  # (s,)
    C: Array  # (s,)
    E: Array  # (1 or 2, s + 1)
    A_extra: Array  # (e, s + 1 + e)
    C_extra: Array  # (e,)
    D: Array  # (d, s + 1 + e)
    safety: float  # part of the step that would just be accepted,
    beta: float  # exponent of the previous error,
    shrink: float  # smallest and
    grow: float  # largest factor from one step to the next: the step-size control
    scipy_class: type[RK45] | type[DOP853]

    @property
    def stages(self) -> int:
        """s, the slopes that z₁ is made of."""
        return len(self.B)

    @property
    def end_slope_in_error(self) -> bool:
        """Whether the error estimate needs k_{s+1}: then it is computed before the step is judged."""
        return bool(np.any(self.E[:, -1] != 0))


def _as_rows(*rows: Array) -> Array:
    return np.array(rows, dtype=float)


dop853 = Tableau(
    name="dop853",
    order=8,
    dense_order=7,
    error_order=7,
    A=DOP853.A,
    B=DOP853.B,
    C=DOP853.C,
    E=_as_rows(DOP853.E5, DOP853.E3),
    A_extra=DOP853.A_EXTRA,
    C_extra=DOP853.C_EXTRA,
    D=DOP853.D,
    safety=0.65,
    beta=0.0,
    shrink=1 / 3,
    grow=6.0,
    scipy_class=DOP853,
)
"""Order 8 in 12 stages, by P. J. Prince and J. R. Dormand (1981) as recast by E. Hairer (DOP853, 1993).

A single embedded method of order 7 or 6 is blind to some errors, so two are blended (Hairer II.10, eq. 10.17):
err = |h| ‖e₅‖² / √(‖e₅‖² + 0.01 ‖e₃‖²). The dense output has order 7 and asks for three extra stages, which the
loop computes only in steps that contain a requested time. The end slope is not in the error estimate, so a rejected
step costs 11 evaluations and an accepted one 12, whether or not the state is projected at its end. With safety 0.65
instead of Hairer's 0.9 a double pendulum, Kepler's and Hénon–Heiles's problems reach the same error with 11 % fewer
evaluations (rejected steps of the pendulum: 9 % instead of 27 %); the stabilised control, β > 0, gained nothing more.
"""

dopri5 = Tableau(
    name="dopri5",
    order=5,
    dense_order=4,
    error_order=4,
    A=RK45.A,
    B=RK45.B,
    C=RK45.C,
    E=_as_rows(RK45.E),
    A_extra=np.zeros((0, 7)),
    C_extra=np.zeros(0),
    D=_as_rows(RK45.P[:, -1]),
    safety=0.8,
    beta=0.04,
    shrink=0.2,
    grow=10.0,
    scipy_class=RK45,
)
"""Order 5 in 6 stages, by J. R. Dormand and P. J. Prince (J. Comp. Appl. Math. 6 (1980) 19–26).

The pair behind MATLAB's ode45: the last stage is the first of the next step (FSAL), and its coefficients minimise the
error of the higher-order result. The quartic dense output is L. F. Shampine's (Math. Comp. 46 (1986) 135–150); of
its coefficients only those of θ⁴ are needed here, since both ends and both slopes fix the rest.
"""

TABLEAUX = {tableau.name: tableau for tableau in (dop853, dopri5)}
