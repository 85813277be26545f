"""Explicit Runge–Kutta pairs as data.

One step of size h from (t, z), with k_1 = f(t, z):

    k_i = f(t + c_i h, z + h Σ_j A_ij k_j),        z₁ = z + h Σ_i B_i k_i,        k_{s+1} = f(t + h, z₁)

k_{s+1} is the first slope of the next step. The local error is read off h Σ_i E_i k_i (one row, or two that are
blended), and between the ends, with θ = (τ − t)/h and Δ = z₁ − z,

    z(θ) = z + θ(F₀ + (1−θ)(F₁ + θ(F₂ + (1−θ)(F₃ + …)))),
    F₀ = Δ,   F₁ = h k_1 − Δ,   F₂ = 2Δ − h(k_1 + k_{s+1}),   F_{3+j} = h Σ_i D_ji k_i.

F₀ … F₂ are the cubic through both ends and their slopes; the rows of D raise its order, with extra stages where the
method needs them. The coefficients of `dop853` and `dopri5` are those of SciPy's `DOP853` and `RK45`, taken from there.

Another pair can be registered in one call and then runs wherever these do:

    register(embedded_pair("cash-karp", A, B, B_hat, C, order=5, error_order=4))

Reference: E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., Springer 1993,
II.4 (step size), II.5 (the methods), II.6 (dense output).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import DOP853, RK45

from appell.errors import ModelError
from appell.graph import Fn
from appell.loop.methods.runge_kutta import PairSteps, StepText, pair_text
from appell.reading import finite, reals, text, whole

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
    safety: float  # fraction of the step that would just be accepted
    beta: float  # exponent of the previous error in the step-size control
    shrink: float  # smallest factor from one step to the next
    grow: float  # largest factor from one step to the next

    def __post_init__(self) -> None:
        s, e = len(self.B), len(self.C_extra)
        shapes = {"A": (s, s), "C": (s,), "A_extra": (e, s + 1 + e)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ModelError(f"{name} of '{self.name}' must have the shape {shape}, not {getattr(self, name).shape}")
        if self.E.shape not in ((1, s + 1), (2, s + 1)) or self.D.ndim != 2 or self.D.shape[1] != s + 1 + e:
            raise ModelError(f"'{self.name}' needs E of shape (1 or 2, {s + 1}) and D of shape (rows, {s + 1 + e})")
        misses = np.abs(self.A.sum(axis=1) - self.C).max()
        if np.triu(self.A).any() or misses > 1e-12 or abs(self.B.sum() - 1) > 1e-12 or np.abs(self.E.sum(axis=1)).max() > 1e-12:
            raise ModelError(f"'{self.name}' is no explicit pair: A must be below its diagonal with rows that sum to C, ΣB = 1")

    @property
    def size_exponent(self) -> float:
        """α of the next size, h safety err^−α err_previous^β: 1/(order of the estimate + 1) − 3β/4 (Hairer IV.2, 2.43)."""
        return 1 / (self.error_order + 1) - 0.75 * self.beta

    @property
    def stages(self) -> int:
        """s, the number of slopes in z₁."""
        return len(self.B)

    @property
    def degree(self) -> int:
        """Degree of z(θ) inside a step."""
        return 3 + len(self.D)

    @property
    def end_slope_in_error(self) -> bool:
        """Whether the error estimate needs k_{s+1}, which is then computed before the step is accepted or rejected."""
        return bool(np.any(self.E[:, -1] != 0))

    # -- what a time loop asks of a method (`Taylor` answers the same) --------------------------------------------------

    series_order = 0
    """Taylor coefficients that the loop keeps: none."""

    @property
    def in_contact(self) -> str:
        """The method that takes the steps while a contact holds: itself."""
        return self.name

    def fitted(self, flow: Any) -> Tableau:
        """The method for a flow: itself."""
        return self

    def functions(self, flow: Any) -> tuple[Fn, ...]:
        """The functions that the C loop calls besides the right-hand side."""
        return ()

    def bound(self, flow: Any, evaluator: Callable[[Fn], Any]) -> Tableau:
        """The method for the loop in Python."""
        return self

    def loop_text(self, written: StepText) -> dict[str, Any]:
        """Values for the placeholders of the C loop."""
        return pair_text(self, written)

    def steps(self, run: Any) -> PairSteps:
        """The steps of the loop in Python."""
        return PairSteps(self, run)


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
)
"""Order 8 in 12 stages, by P. J. Prince and J. R. Dormand (1981) as recast by E. Hairer (DOP853, 1993).

A single embedded formula of order 7 or 6 misses some errors, so two are combined (Hairer II.10, eq. 10.17):
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
    A=np.pad(RK45.A, ((0, 0), (0, 1))),
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
)
"""Order 5 in 6 stages, by J. R. Dormand and P. J. Prince (J. Comp. Appl. Math. 6 (1980) 19–26).

The pair behind MATLAB's ode45: the last stage is the first of the next step (FSAL), and its coefficients minimise the
error of the higher-order result. The quartic dense output is L. F. Shampine's (Math. Comp. 46 (1986) 135–150); of
its coefficients only those of θ⁴ are needed here, since both ends and both slopes fix the rest.
"""

TABLEAUX = {tableau.name: tableau for tableau in (dop853, dopri5)}
"""Embedded pairs by name; each is a method of `simulate`. `method_table.register` adds others."""


LARGEST_ORDER = 14
"""Largest order of a pair that can be given; the highest known is Feagin's 14, with 35 stages."""


def embedded_pair(
    name: str, A: ArrayLike, B: ArrayLike, B_hat: ArrayLike, C: ArrayLike, *, order: int, error_order: int,
    safety: float = 0.8, beta: float = 0.0, shrink: float = 0.2, grow: float = 8.0,
) -> Tableau:  # fmt: skip
    """A pair from its Butcher tableau: z₁ by B, of the given order; the error by B − B̂, of `error_order` (of the lower method).

    A (s, s), B, B̂, C (s,). A last stage that is f at z₁ (first same as last) is recognised. A tableau has no dense output;
    `with_dense_output` makes one, of an order one below that of the pair.
    """
    coefficients = {"A": A, "B": B, "B_hat": B_hat, "C": C}
    A, B, B_hat, C = (reals(x, f"{letter} of a pair", infinite=False) for letter, x in coefficients.items())
    if B.ndim != 1 or not len(B) or (A.shape, B_hat.shape, C.shape) != ((len(B), len(B)), B.shape, B.shape):
        shapes = ", ".join(str(x.shape) for x in (A, B, B_hat, C))
        raise ModelError(f"a pair of s stages has A (s, s) and B, B_hat, C (s,); they are {shapes}")
    if np.triu(A).any():
        raise ModelError("A of a pair is strictly lower triangular: explicit stages know those before them alone")
    name = text(name, "the name of a pair")
    order, error_order = (whole(x, "the order of a pair", 1, LARGEST_ORDER) for x in (order, error_order))
    safety, beta, shrink, grow = (finite(x, "safety, beta, shrink and grow of a pair") for x in (safety, beta, shrink, grow))
    E = np.append(B - B_hat, 0.0)
    if len(B) > 1 and C[-1] == 1 and B[-1] == 0 and np.array_equal(A[-1], B):
        A, B, C, E = A[:-1, :-1], B[:-1], C[:-1], E[:-1]
    s = len(B)
    bare = Tableau(
        name=name, order=order, dense_order=3, error_order=error_order, A=A, B=B, C=C, E=E[None], A_extra=np.zeros((0, s + 1)),
        C_extra=np.zeros(0), D=np.zeros((0, s + 1)), safety=safety, beta=beta, shrink=shrink, grow=grow,
    )  # fmt: skip
    return with_dense_output(bare, order - 1)


def with_dense_output(tableau: Tableau, order: int) -> Tableau:
    """The pair with a dense output of order 4 or higher, from its own slopes (bootstrapping, Hairer II.6).

    The cubic through both ends is exact to h³, so a slope at m = 1 point on it is exact to h⁴ in h f. The polynomial with that
    slope is exact to h⁴, slopes at m = 2 points on it to h⁵, and so on. Each level uses only its own slopes:

        Σ_j φ'_{3+j}(θ_i) F_{3+j} = h f(θ_i) − Σ_{j<3} φ'_j(θ_i) F_j,    i = 1 … m,    φ_j = θ, θ(1−θ), θ²(1−θ), θ²(1−θ)², …

    At points symmetric about ½ this may have no solution; with θ_i = i/(m + 2) no weight exceeds 0.8.
    """
    s = tableau.stages
    width = s + 1 + sum(range(1, order - 2))
    unit = np.eye(width)
    delta = np.append(tableau.B, np.zeros(width - s))
    cubic = np.array([delta, unit[0] - delta, 2 * delta - unit[0] - unit[s]])  # F/h in terms of the slopes
    rows, stages, points = np.zeros((0, width)), np.zeros((0, width)), np.zeros(0)
    for m in range(1, order - 2):
        theta = np.arange(1, m + 1) / (m + 2)
        F = np.vstack([cubic, rows])
        positions = s + 1 + len(points) + np.arange(m)
        value, slope = _basis(theta, 3 + m)
        stages = np.vstack([stages, value[:, : len(F)] @ F])
        points = np.append(points, theta)
        rows = np.linalg.solve(slope[:, 3:], unit[positions] - slope[:, :3] @ cubic)
    return replace(tableau, dense_order=max(order, 3), A_extra=stages, C_extra=points, D=rows)


def _basis(theta: Array, n: int) -> tuple[Array, Array]:
    """φ_j(θ_i) and φ'_j(θ_i), j = 0 … n − 1, (points, n)."""
    product = np.polynomial.Polynomial([1.0])
    factors = (np.polynomial.Polynomial([0.0, 1.0]), np.polynomial.Polynomial([1.0, -1.0]))
    basis = []
    for j in range(n):
        product = product * factors[j % 2]
        basis.append(product)
    return np.array([p(theta) for p in basis]).T, np.array([p.deriv()(theta) for p in basis]).T


def _triangle(*rows: str) -> Array:
    """A square matrix from the rows below its diagonal, each written as quotients."""
    A = np.zeros((len(rows) + 1, len(rows) + 1))
    for i, row in enumerate(rows, start=1):
        A[i, :i] = [float(Fraction(entry)) for entry in row.split()]
    return A


_PRINCE = _triangle(
    "1/18",
    "1/48 1/16",
    "1/32 0 3/32",
    "5/16 0 -75/64 75/64",
    "3/80 0 0 3/16 3/20",
    "29443841/614563906 0 0 77736538/692538347 -28693883/1125000000 23124283/1800000000",
    "16016141/946692911 0 0 61564180/158732637 22789713/633445777 545815736/2771057229 -180193667/1043307555",
    "39632708/573591083 0 0 -433636366/683701615 -421739975/2616292301 100302831/723423059 790204164/839813087"
    " 800635310/3783071287",
    "246121993/1340847787 0 0 -37695042795/15268766246 -309121744/1061227803 -12992083/490766935 6005943493/2108947869"
    " 393006217/1396673457 123872331/1001029789",
    "-1028468189/846180014 0 0 8478235783/508512852 1311729495/1432422823 -10304129995/1701304382 -48777925059/3047939560"
    " 15336726248/1032824649 -45442868181/3398467696 3065993473/597172653",
    "185892177/718116043 0 0 -3185094517/667107341 -477755414/1098053517 -703635378/230739211 5731566787/1027545527"
    " 5232866602/850066563 -4093664535/808688257 3962137247/1805957418 65686358/487910083",
    "403863854/491063109 0 0 -5068492393/434740067 -411421997/543043805 652783627/914296604 11173962825/925320556"
    " -13158990841/6184727034 3936647629/1978049680 -160528059/685178525 248638103/1413531060 0",
    "14005451/335480064 0 0 0 0 -59238493/1068277825 181606767/758867731 561292985/797845732 -1041891430/1371343529"
    " 760417239/1151165299 118820643/751138087 -528747749/2220607170 1/4",
    "13451932/455176623 0 0 0 0 -808719846/976000145 1757004468/5645159321 656045339/265891186 -3867574721/1518517206"
    " 465885868/322736535 53011238/667516719 2/45 0 0",
)

dopri8 = embedded_pair(
    "dopri8", _PRINCE[:13, :13], _PRINCE[13, :13], _PRINCE[14, :13], _PRINCE[:13].sum(axis=1), order=8, error_order=7,
    safety=0.65,
)  # fmt: skip
"""Order 8(7) in 13 stages, by P. J. Prince and J. R. Dormand (J. Comp. Appl. Math. 7 (1981) 67–75), RK8(7)13M.

Evaluations at the same largest error, against those of `dop853`: 64 double pendulums over 10 s 27 % fewer at 1e-8 and 34 % at
1e-11, five links 14 % at 1e-8, Kepler's problem 16 %; Hénon–Heiles as many, a heavy top 5 % more. It has no dense output of its
own: the one made here takes ten stages, so `dop853` is better where states inside steps are needed.
"""

TABLEAUX[dopri8.name] = dopri8
