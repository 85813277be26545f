"""Gauss's minimum with one row quadratic in the accelerations, in any precision: by the secular equation, a proven minimum.

    Z = ½ a·Ma − b·a → min,      A a + a0 = 0,      ½ a·Ha + k·a + l = 0

The unit vectors, projected on ker A in the metric of M and orthonormalized there, span the accelerations left free by the
linear rows: a = a_c + Σ y_j B_j, and Z = ½|y|² + const with a_c the minimum on the linear rows. In the eigenvectors of S =
BᵀHB the stationary points are

    y_i = μγ_i/(1 − μs_i),       φ(μ) = Σ (½ s_i y_i² + γ_i y_i) + c = 0.

Where all 1 − μs_i > 0 the Lagrangian ½|y|² − μρ(y) is strictly convex, so a root there is the only global minimum, and φ
increases there (dφ/dμ = Σ γ_i²/(1 − μs_i)³): at most one root. No root before a finite end of that interval means a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Expr

from appell.errors import STATUS_TEXT, Status
from appell.forms.engine.derivation import gradient
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.forms.engine.stationary import tie_text

if TYPE_CHECKING:
    from appell.forms.base import Equations

Vector = list[Any]


def is_quadratic(row: Expr, accelerations: Any) -> bool:
    """Whether ∂²r/∂a² is free of the accelerations."""
    tops = set(accelerations)
    second = [sympy.diff(row, a, b) for a in accelerations for b in accelerations]
    return not any(e.free_symbols & tops and sympy.expand(e).free_symbols & tops for e in second)


@dataclass(frozen=True, eq=False)
class Secular:
    """The blocks M, b, A, a0, H, k, l as a tape over the state."""

    equations: Equations
    nonlinear: int
    tape: Tape

    @staticmethod
    def of(equations: Equations, rows: tuple[Expr, ...], nonlinear: int) -> Secular:
        accelerations = equations.system.accelerations
        zero_accelerations = {a: sympy.Integer(0) for a in accelerations}
        slopes = lambda f: gradient(f, accelerations)
        at_rest = lambda entries: [e.xreplace(zero_accelerations) for e in entries]
        assert equations.criterion is not None
        curvatures = lambda entries: [slope for f in entries for slope in slopes(f)]
        Z_a = slopes(equations.criterion)
        linear = [r for i, r in enumerate(rows) if i != nonlinear]
        r, r_a = rows[nonlinear], slopes(rows[nonlinear])
        entries = [*at_rest(curvatures(Z_a)), *at_rest([-e for e in Z_a])]
        for f in linear:
            entries += at_rest([*slopes(f), -f])
        entries += at_rest([*curvatures(r_a), *r_a, r])
        return Secular(equations, nonlinear, Tape(entries))

    def solve(self, values: dict, numbers: Arithmetic) -> tuple[Vector, Vector]:
        """(a, Λ in the order of the constraints)."""
        work = arithmetic(30) if numbers is FLOAT else numbers
        n, m = self.equations.system.nv, len(self.equations.system.constraints) - 1
        flat = [work.number(x) for x in self.tape({s: work.number(x) for s, x in values.items()}, work)]
        take = lambda count: [flat.pop(0) for _ in range(count)]
        M, b = [take(n) for _ in range(n)], take(n)
        linear = [take(n + 1) for _ in range(m)]
        A, minus_a0 = [row[:n] for row in linear], [row[n] for row in linear]
        H, k, l = [take(n) for _ in range(n)], take(n), take(1)[0]
        reduced = _MetricRows(M, A, [str(a) for a in self.equations.system.accelerations], work)
        a_c, B = reduced.projected(b, minus_a0), reduced.basis()
        S = [[_dot(x, _times(H, y)) for y in B] for x in B]
        g = [_dot(x, _plus(_times(H, a_c), k)) for x in B]
        c = _dot(a_c, _times(H, a_c)) / 2 + _dot(k, a_c) + l
        y, mu, tied = _least(S, g, c, work)
        at = lambda y: [sum((y_j * B_j[i] for y_j, B_j in zip(y, B, strict=True)), a_c[i]) for i in range(n)]
        if tied is not None:
            raise Undetermined(tie_text(self.equations.system.accelerations, at(y), at(tied)))
        a = at(y)
        force = [f - p - mu * q for f, p, q in zip(_times(M, a), b, _plus(_times(H, a), k), strict=True)]
        columns = [[A[j][i] for j in range(m)] for i in range(n)]
        lam = solve_linear(columns, force, [False] * m, work.tolerance, [""] * m) if m else []
        lam.insert(self.nonlinear, mu)
        return [numbers.number(x) for x in a], [numbers.number(x) for x in lam]


@dataclass(frozen=True)
class _MetricRows:
    """The linear rows in the metric of M."""

    M: list[Vector]
    A: list[Vector]
    names: list[str]
    numbers: Arithmetic

    def projected(self, force: Vector, rhs: Vector) -> Vector:
        """a with M a = force + Aᵀλ, A a = rhs."""
        n, m = len(self.M), len(self.A)
        zero = self.numbers.number(0)
        K = [[*self.M[i], *(-row[i] for row in self.A)] for i in range(n)] + [[*row, *[zero] * m] for row in self.A]
        unique = [True] * n + [False] * m
        return solve_linear(K, [*force, *rhs], unique, self.numbers.tolerance, [*self.names, *[""] * m])[:n]

    def basis(self) -> list[Vector]:
        """Vectors of ker A, orthonormal in the metric of M."""
        zero = self.numbers.number(0)
        basis: list[Vector] = []
        for i in range(len(self.M)):
            d = self.projected([row[i] for row in self.M], [zero] * len(self.A))
            size = _dot(d, _times(self.M, d))
            for _ in range(2):  # Gram–Schmidt twice: orthogonal to rounding
                for e in basis:
                    component = _dot(e, _times(self.M, d))
                    d = [x - component * y for x, y in zip(d, e, strict=True)]
            remainder = _dot(d, _times(self.M, d))
            if remainder > self.numbers.tolerance * size and size > 0:
                root = self.numbers.functions["sqrt"](remainder)
                basis.append([x / root for x in d])
        return basis


def _least(S: list[Vector], g: Vector, c: Any, numbers: Arithmetic) -> tuple[Vector, Any, Vector | None]:
    """(y, μ, the other y of a tie or None) for one row ½ y·Sy + g·y + c = 0; its sign is chosen so that c <= 0."""
    n, zero = len(g), numbers.number(0)
    if abs(c) <= numbers.tolerance**2:
        return [zero] * n, zero, None
    if n == 0:
        raise Undetermined(STATUS_TEXT[Status.NO_SOLUTION])
    sign = 1 if c <= 0 else -1
    s, U = numbers.eigenvectors([[sign * x for x in row] for row in S])
    gamma = [sum((sign * g[i] * U[i][j] for i in range(n)), zero) for j in range(n)]
    size = max(abs(x) for x in s)
    s = [x if abs(x) > numbers.tolerance**2 * size else zero for x in s]
    y, mu, tie = _root(s, gamma, -abs(c), numbers)
    back = lambda y: [sum((U[i][j] * y[j] for j in range(n)), zero) for i in range(n)]
    return back(y), sign * mu, None if tie is None else back(tie)


def _root(s: Vector, gamma: Vector, c: Any, numbers: Arithmetic) -> tuple[Vector, Any, Vector | None]:
    end, tiny = max(s), numbers.number(10) ** (-3 * numbers.digits)
    weak = [e >= end * (1 - numbers.tolerance) for e in s] if end > 0 else [False] * len(s)
    size = max(abs(x) for x in gamma)
    gamma = [0 * x if w and abs(x) <= numbers.tolerance * size else x for x, w in zip(gamma, weak, strict=True)]
    y_of = lambda mu: [mu * x / (1 - mu * e) if x else x for x, e in zip(gamma, s, strict=True)]
    phi = lambda y: sum((e * v * v / 2 + x * v for e, v, x in zip(s, y, gamma, strict=True)), c)
    if end > 0 and not any(x for x, w in zip(gamma, weak, strict=True) if w):
        y = y_of((1 - tiny) / end)
        residual = phi(y)
        if residual < 0:  # the hard case
            tau = numbers.functions["sqrt"](-2 * residual / end)
            j = weak.index(True)
            return [v + tau * (i == j) for i, v in enumerate(y)], 1 / end, [v - tau * (i == j) for i, v in enumerate(y)]
    # an increasing function on (0, 1/s_e) or (0, ∞): μ = x/(1 + x s_e) with x in (0, ∞)
    mu_of = lambda x: x / (1 + x * end) if end > 0 else x
    low, high = numbers.number(0), numbers.number(1)
    while phi(y_of(mu_of(high))) < 0:
        low, high = high, 4 * high
        if high > 1 / tiny:
            raise Undetermined(STATUS_TEXT[Status.NO_SOLUTION])
    for _ in range(8 * numbers.digits + 200):
        middle = (low + high) / 2
        low, high = (middle, high) if phi(y_of(mu_of(middle))) < 0 else (low, middle)
        if high - low <= high * numbers.number(10) ** (-numbers.digits - 8):
            break
    mu = mu_of((low + high) / 2)
    return y_of(mu), mu, None


def _dot(a: Vector, b: Vector) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0)


def _times(A: list[Vector], x: Vector) -> Vector:
    return [_dot(row, x) for row in A]


def _plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]
