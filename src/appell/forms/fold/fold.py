"""A system with a unilateral constraint, folded: Routh's function with s = |x| or s = Π(x).

In a chart (s, y) the Lagrangian is, with the terms linear in the velocities moved to the forces (V. F. Zhuravlev, 1978),

    L = (a ṡ² + 2 ṡ b·ẏ + ẏ·A⁻¹ẏ)/2 + U(t, s, y)                                        (5)
    p = ṡ b + A⁻¹ẏ                                                                       (6)
    R0 = μ ẋ²/2 − p·Ap/2 + U(t, |x|, y),        μ = a − b·Ab                             (9)

and the equations of motion (10) hold for all time, x, ẋ, y and p continuous through every impact. Explicitly, with
σ = sgn x a mode of the motion and never differentiated (the terms ẋ p·∂(Ab)/∂x cancel),

    ẏ   = A p − ẋ σ A b
    ṗ   = ẋ² μ_y/2 − (p·Ap)_y/2 + U_y + ẋ σ (p·Ab)_y + Y
    μ ẍ = σ [S − ṗ·Ab − p·((Ab)_y ẏ + (Ab)_t) − (p·Ap)_s/2 + U_s] − (μ_y·ẏ + μ_t) ẋ − σ μ_s ẋ²/2
    N   = ṗ·Ab + p·((Ab)_y ẏ + (Ab)_t) + (p·Ap)_s/2 − S − U_s        at s = 0, ẋ = 0     (13)

On a sheet, s = σ x + c with c = 0 for |x|, and c = π(1 − σ)/2 for Π(x) on −π/2 <= x < 3π/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable, ModelError
from appell.forms.fold.chart import Chart, find_chart, free_name, names_of
from appell.forms.fold.small_matrices import column, dot, entries, inverse, short
from appell.forms.fold.triangle_wave import Meander, Triangle
from appell.jets import Coordinate, Jet, Parameter, explicit, expression, total_derivative
from appell.letters import text
from appell.model import Between, Face, System, Unilateral

ONE, ZERO = sympy.Integer(1), sympy.Integer(0)


class Momentum(Jet):
    """p of one coordinate y; p.d is its rate."""

    __slots__ = ()
    base_level = 1


@dataclass(frozen=True, eq=False)
class Fold:
    """A folded unilateral constraint of a system. Expressions are in t, s, y, ṡ, ẏ, x, ẋ, p and the mode σ.

    Attributes
    ----------
    origin, source: the system and the constraint that is folded.
    chart: the coordinates (s, y), or None where impacts reflect the momenta in the kinetic metric; `reason` says why.
    x, sigma, p: the coordinate without bounds, the sign of the sheet (a parameter), the momenta of `chart.y`.
    a, b, A_inverse, A, mu, U, S, Y: the blocks of (4), μ, the force function and the forces, in t, s, y, ṡ, ẏ.
    """

    origin: System
    source: Unilateral | Between
    chart_found: Chart | None
    reason: str

    @property
    def two_sided(self) -> bool:
        """Whether s = Π(x) is used: a `Between`."""
        return isinstance(self.source, Between)

    @property
    def chart(self) -> Chart:
        """The chart; `FormNotApplicable` with the reason where there is none."""
        if self.chart_found is None:
            raise FormNotApplicable(f"no chart for '{self.source.name}': {self.reason}")
        return self.chart_found

    @property
    def restitution(self) -> Expr:
        """e."""
        return self.source.restitution

    # -- symbols -------------------------------------------------------------------------------------------------------

    def _letter(self, *names: str) -> str:
        return free_name(names, names_of(self.origin) | {self.chart.s.letter})

    @cached_property
    def x(self) -> Coordinate:
        """The coordinate without bounds."""
        return Coordinate(self._letter("x", "xi", "x_fold"))

    @cached_property
    def sigma(self) -> Parameter:
        """sgn x or M(x): which sheet."""
        return Parameter(self._letter("sigma", "sigma_fold", "sigma_fold_"), real=True)

    @cached_property
    def p(self) -> tuple[Momentum, ...]:
        """The momenta of y."""
        return tuple(Momentum(self._letter(f"p_{y.letter}", f"p_fold_{y.letter}")) for y in self.chart.y)

    @cached_property
    def sheet(self) -> Expr:
        """s = σ x + c."""
        return self.sigma * self.x + (sympy.pi * (1 - self.sigma) / 2 if self.two_sided else ZERO)

    @cached_property
    def walls(self) -> dict[str, Expr]:
        """Face → the value of s there: 0, or −π/2 and π/2."""
        lower, *upper = (face.name for face in self.source.faces)
        return {lower: -sympy.pi / 2, upper[0]: sympy.pi / 2} if upper else {lower: ZERO}

    # -- Lagrange's function in the chart, (3) to (5) ------------------------------------------------------------------

    @cached_property
    def kinetic(self) -> Expr:
        """T in t, s, y, ṡ, ẏ."""
        return self.chart.into(self.origin.kinetic)

    @cached_property
    def velocities(self) -> tuple[Jet, ...]:
        """ṡ and ẏ."""
        return (self.chart.s.d, *(y.d for y in self.chart.y))

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix of T2, (4)."""
        v = self.velocities
        return Matrix(len(v), len(v), lambda i, j: short(sympy.diff(self.kinetic, v[min(i, j)], v[max(i, j)])))

    @property
    def a(self) -> Expr:
        return entries(self.matrix)[0]

    @property
    def b(self) -> Matrix:
        """(n − 1, 1)."""
        return self.matrix.extract(range(1, self.matrix.rows), [0])

    @property
    def A_inverse(self) -> Matrix:
        """(n − 1, n − 1)."""
        indices = range(1, self.matrix.rows)
        return self.matrix.extract(indices, indices)

    @cached_property
    def A(self) -> Matrix:
        """Inverse of the y-block, (n − 1, n − 1)."""
        return inverse(self.A_inverse)

    @cached_property
    def Ab(self) -> Matrix:
        return (self.A * self.b).applyfunc(short)

    @cached_property
    def mu(self) -> Expr:
        """μ = a − b·Ab, the inertia of the normal motion at constant p: 1/(∇f·M⁻¹∇f)."""
        return short(self.a - dot(self.b, self.Ab))

    @cached_property
    def _linear(self) -> list[Expr]:
        """g of T1 = g·(ṡ, ẏ)."""
        at_rest = dict.fromkeys(self.velocities, ZERO)
        return [expression(sympy.diff(self.kinetic, v).xreplace(at_rest), "T1") for v in self.velocities]

    @cached_property
    def U(self) -> Expr:
        """T0 − V: what (3) calls the force function."""
        at_rest = dict.fromkeys(self.velocities, ZERO)
        return short(self.kinetic.xreplace(at_rest) - self.chart.into(self.origin.potential))

    @cached_property
    def given_forces(self) -> tuple[Expr, ...]:
        """Σ_i Q_i ∂q_i/∂(s, y), without the potential and the gyroscopic ones."""
        Q = dict(zip(self.origin.coordinates, map(self.chart.into, self.origin.forces), strict=True))
        phi, Q_k = self.chart.inverse, Q[self.chart.coordinate]
        return (Q_k * sympy.diff(phi, self.chart.s), *(Q[y] + Q_k * sympy.diff(phi, y) for y in self.chart.y))

    @cached_property
    def forces(self) -> tuple[Expr, ...]:
        """S and Y: the given ones and Σ_j (∂_i g_j − ∂_j g_i) v_j − ∂_t g_i of T1 = g·v."""
        z, v, g = (self.chart.s, *self.chart.y), self.velocities, self._linear
        gyroscopic = [
            sympy.Add(*((sympy.diff(g[j], z[i]) - sympy.diff(g[i], z[j])) * v[j] for j in range(len(v)))) - explicit(g[i])
            for i in range(len(v))
        ]
        return tuple(short(Q + G) for Q, G in zip(self.given_forces, gyroscopic, strict=True))

    @property
    def S(self) -> Expr:
        return self.forces[0]

    @property
    def Y(self) -> tuple[Expr, ...]:
        return self.forces[1:]

    # -- Routh's function, (6) to (9) ----------------------------------------------------------------------------------

    @cached_property
    def pAp(self) -> Expr:
        """p·Ap."""
        return dot(column(self.p), self.A * column(self.p))

    @cached_property
    def pAb(self) -> Expr:
        """p·Ab."""
        return dot(column(self.p), self.Ab)

    @cached_property
    def R0(self) -> Expr:
        """R0 = μ ẋ²/2 − p·Ap/2 + U, (9), in s for |x| or Π(x)."""
        return self.mu * self.x.d**2 / 2 - self.pAp / 2 + self.U

    @cached_property
    def R(self) -> Expr:
        """R = R0 + ẋ p·Ab σ, (9)."""
        return self.R0 + self.x.d * self.pAb * self.sigma

    def written(self, expr: Expr) -> Expr:
        """An expression as the paper writes it: |x| and sgn x, or Π(x) and M(x), for s and σ."""
        fold, sign = (Triangle, Meander) if self.two_sided else (sympy.Abs, sympy.sign)
        return expr.xreplace({self.chart.s: fold(self.x), self.sigma: sign(self.x)})  # type: ignore[return-value]

    def on_sheet(self, expr: Expr) -> Expr:
        """An expression in x instead of s: s = σ x + c, ṡ = σ ẋ."""
        return expr.xreplace({self.chart.s: self.sheet, self.chart.s.d: self.sigma * self.x.d})  # type: ignore[return-value]

    # -- equations (10) in explicit form -------------------------------------------------------------------------------

    @cached_property
    def y_rates(self) -> tuple[Expr, ...]:
        """ẏ = A p − ẋ σ A b."""
        return tuple(entries(self.A * column(self.p) - self.x.d * self.sigma * self.Ab))

    def _at_momenta(self, expr: Expr) -> Expr:
        """A force with ṡ = σ ẋ and ẏ = A p − ẋ σ A b substituted."""
        rates = {y.d: rate for y, rate in zip(self.chart.y, self.y_rates, strict=True)}
        return expr.xreplace({self.chart.s.d: self.sigma * self.x.d, **rates})  # type: ignore[return-value]

    @cached_property
    def p_rates(self) -> tuple[Expr, ...]:
        """ṗ = ẋ² μ_y/2 − (p·Ap)_y/2 + U_y + ẋ σ (p·Ab)_y + Y = ∂R/∂y + Y."""
        return tuple(sympy.diff(self.R, y) + self._at_momenta(Y) for y, Y in zip(self.chart.y, self.Y, strict=True))

    @cached_property
    def _normal(self) -> Expr:
        """ṗ·Ab + p·((Ab)_y ẏ + (Ab)_t) + (p·Ap)_s/2 − S − U_s, the left side of (13) at any s and ẋ."""
        pAb_rate = explicit(self.pAb) + sympy.Add(
            *(sympy.diff(self.pAb, y) * rate for y, rate in zip(self.chart.y, self.y_rates, strict=True)),
            *(sympy.diff(self.pAb, p) * rate for p, rate in zip(self.p, self.p_rates, strict=True)),
        )
        return pAb_rate + sympy.diff(self.pAp / 2 - self.U, self.chart.s) - self._at_momenta(self.S)

    @cached_property
    def x_acceleration(self) -> Expr:
        """ẍ = {−σ [left side of (13)] − (μ_y·ẏ + μ_t) ẋ − σ μ_s ẋ²/2}/μ."""
        mu_rate = explicit(self.mu) + sympy.Add(
            *(sympy.diff(self.mu, y) * rate for y, rate in zip(self.chart.y, self.y_rates, strict=True))
        )
        mu_s = sympy.diff(self.mu, self.chart.s)
        return (-self.sigma * self._normal - mu_rate * self.x.d - self.sigma * mu_s * self.x.d**2 / 2) / self.mu

    @cached_property
    def right_sides(self) -> Mapping[Symbol, Expr]:
        """ẋ's, y's and p's rates on a sheet: {x.dd: …, y.d: …, p.d: …} in t, x, ẋ, y, p, σ."""
        rates: dict[Symbol, Expr] = {self.x.dd: self.x_acceleration}
        rates.update({y.d: rate for y, rate in zip(self.chart.y, self.y_rates, strict=True)})
        rates.update({p.d: rate for p, rate in zip(self.p, self.p_rates, strict=True)})
        return {symbol: self.on_sheet(rate) for symbol, rate in rates.items()}

    def reaction(self, face: Face | str | None = None) -> Expr:
        """N of (13) in t, y, p while the constraint is kept (ẋ = 0), the multiplier of f: the force on the system is +N ∂f/∂q.

        At the upper stop of a `Between` the inequality (13) reverses (M jumps from + to −), and the sign here with it:
        N >= 0 keeps the contact at both.
        """
        name = getattr(face, "name", face) or next(iter(self.walls))
        if name not in self.walls:
            raise ModelError(f"'{name}' is not a face of '{self.source.name}'; it has: {', '.join(self.walls)}")
        scale = sympy.pi / (self.source.upper - self.source.lower) if isinstance(self.source, Between) else ONE
        sign = -ONE if name != next(iter(self.walls)) else ONE
        return sign * scale * self._normal.xreplace({self.x.d: ZERO, self.chart.s: self.walls[name]})  # type: ignore[return-value]

    # -- crossing, and back to the user's coordinates ------------------------------------------------------------------

    @cached_property
    def crossing(self) -> Mapping[Symbol, Expr]:
        """The state after x reaches a wall: ẋ⁺ = e ẋ⁻, p⁺ = p⁻, σ⁺ = −σ⁻. Everything else is continuous."""
        return {self.x.d: self.restitution * self.x.d, **{p: p for p in self.p}, self.sigma: -self.sigma}

    @cached_property
    def impact(self) -> Mapping[Symbol, Expr]:
        """ṡ⁺ = −e ṡ⁻, ẏ⁺ = ẏ⁻ + (1 + e) ṡ⁻ A b; (12) for e = 1."""
        e, s_d = self.restitution, self.chart.s.d
        return {s_d: -e * s_d, **{y.d: y.d + (1 + e) * s_d * k for y, k in zip(self.chart.y, entries(self.Ab), strict=True)}}

    @cached_property
    def recover(self) -> Mapping[Symbol, Expr]:
        """Every q and q̇ of the user in t, x, ẋ, y, p, σ."""
        chart, rates = self.chart, dict(zip(self.chart.y, self.y_rates, strict=True))
        recovered: dict[Symbol, Expr] = {}
        for q in self.origin.coordinates:
            value = chart.inverse if q == chart.coordinate else q
            rate = total_derivative(value, {chart.s: self.sigma * self.x.d, **rates})
            recovered[q], recovered[q.d] = self.on_sheet(value), self.on_sheet(rate)
        return recovered

    @cached_property
    def entered(self) -> Mapping[Symbol, Expr]:
        """x, ẋ and p in t, q, q̇ and σ: x = σ (s − c), ẋ = σ ṡ, p = ṡ b + A⁻¹ẏ (6)."""
        chart = self.chart
        shift = self.sheet - self.sigma * self.x
        momenta = entries(self.b * chart.s.d + self.A_inverse * column([y.d for y in chart.y]))
        on_fold: dict[Symbol, Expr] = {
            self.x: self.sigma * (chart.definition - shift),
            self.x.d: self.sigma * total_derivative(chart.definition),
        }
        return on_fold | {p: chart.out_of(value) for p, value in zip(self.p, momenta, strict=True)}

    @cached_property
    def system(self) -> System:
        """The folded system: L(t, σx + c, y, σẋ, ẏ), an ordinary `System` in (x, y) with the parameter σ = ±1.

        Its equations are (10) on either sheet. Other unilateral constraints are carried over.
        """
        into = lambda e: self.on_sheet(self.chart.into(e))
        S, *Y = map(self.on_sheet, self.given_forces)
        others = {id(face.source): face.source for face in self.origin.unilateral if face.source is not self.source}
        return System(
            coordinates=[self.x, *self.chart.y],
            kinetic=into(self.origin.kinetic),
            potential=into(self.origin.potential),
            forces={self.x: self.sigma * S, **dict(zip(self.chart.y, Y, strict=True))},
            constraints=[_in_new_coordinates(other, into) for other in others.values()],
            name=f"{self.origin.name}, folded",
        )

    def __str__(self) -> str:
        if self.chart_found is None:
            return f"'{self.source.name}': reflection of the momenta in the kinetic metric, since {self.reason}"
        x, chart = text(self.x), self.chart
        s = f"s = {text(chart.definition)} = {f'Π({x})' if self.two_sided else f'|{x}|'}"
        return f"'{self.source.name}': {s}, {text(chart.coordinate)} = {text(chart.inverse)} ({chart.inverse_origin})"


def fold(system: System, face: Face | Unilateral | Between | str | None = None) -> Fold:
    """Folds a unilateral constraint of a system, given by name or object if there are several."""
    sources = list({id(f.source): f.source for f in system.unilateral}.values())
    if system.resets:
        raise FormNotApplicable(
            f"'{system.name}' has the reset '{system.resets[0].name}', which is not written in folded coordinates; leave it out"
        )
    if not sources:
        raise FormNotApplicable(f"'{system.name}' has no unilateral constraint to fold")
    if face is None and len(sources) > 1:
        names = ", ".join(f"'{source.name}'" for source in sources)
        raise FormNotApplicable(f"'{system.name}' has several unilateral constraints; fold one at a time, face= one of {names}")
    source = sources[0] if face is None else system.unilateral[system.faces(face)[0]].source
    chart, reason = find_chart(system, source)
    return Fold(system, source, chart, reason)


def _in_new_coordinates(other: Unilateral | Between, into: Any) -> Unilateral | Between:
    """Another unilateral constraint in the new coordinates; its chart is searched for again."""
    if isinstance(other, Between):
        return Between(into(other.lower), into(other.function), into(other.upper), other.name, other.restitution)
    return Unilateral(into(other.function), other.name, other.restitution)
