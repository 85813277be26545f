"""Routh's equations of a system with a unilateral constraint, folded (V. F. Zhuravlev, 1978).

    d/dt ∂R0/∂ẋ − ∂R0/∂x = [S − d/dt(p·Ab) + ẋ p·∂(Ab)/∂x] sgn x
    ẏ = −∂R0/∂p − ẋ Ab sgn x                                                             (10)
    ṗ =  ∂R0/∂y + ẋ ∂(p·Ab)/∂y sgn x + Y
    R0 = (a − b·Ab) ẋ²/2 − p·Ap/2 + U(t, |x|, y)                                         (9)

hold for all time: impacts are crossings of x = 0 at which x, ẋ, y and p are continuous. For lower <= f <= upper, |x| and sgn x
are replaced by Π(x) and M(x) = sgn cos x. With a restitution 0 < e < 1, Ivanov's velocity u takes the place of ẋ,

    ẋ = u (1 − k sgn(x u)),                  k = (1 − e)/(1 + e)
    ẋ = u (1 + (2k/π) M(x) Π(x) sgn u)       for Π(x), where a motion from stop to stop has no turning point

with u continuous at the wall and ṡ⁺ = −e ṡ⁻.

The derivation differentiates R0 along the motion with σ = sgn x as a constant; the explicit form of (10) in
`appell.forms.fold.fold` was derived by hand and is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Eq, Expr, Symbol

from appell.errors import ModelError
from appell.forms.base import Equations, Form, Values
from appell.forms.engine import multiplier_forces
from appell.forms.engine.evaluation import Arithmetic
from appell.forms.engine.system_terms import equation
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage
from appell.forms.fold.chart import free_name, names_of
from appell.forms.fold.fold import Fold, fold
from appell.forms.fold.small_matrices import entries
from appell.jets import Parameter, Speed, total_derivative
from appell.model import System
from appell.spelling import checked_keywords

ONE = sympy.Integer(1)


class Routh(Form):
    name = "routh"
    source = "Zhuravlev (10)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        sources = list(dict.fromkeys(face.source.name for face in system.unilateral))
        if not sources:
            return "it has no unilateral constraint, so there is nothing to fold; use ap.forms.lagrange"
        if multiplier_forces.in_forces(system) or multiplier_forces.of_faces(system):
            return "a force contains the multiplier of a constraint; use ap.forms.lagrange"
        face = options.get("face")
        if face is None and len(sources) > 1:
            names = ", ".join(f"'{name}'" for name in sources)
            return f"it has several unilateral constraints; fold one at a time with face= one of {names}"
        try:
            folded = fold(system, face)
        except ModelError as error:
            return str(error)
        if folded.chart_found is None:
            return f"{folded.reason}; ap.forms.lagrange writes the motion between impacts"
        return None

    def derive(self, system: System, **options: Any) -> Equations:
        folded = fold(system, options.get("face"))
        velocity = _velocity(folded)
        sheet = _on_sheet(self, folded, velocity)
        write = lambda e: velocity.written(folded.written(e))
        names = "Π(x), M(x)" if folded.two_sided else "|x|, sgn x"
        return Equations(
            route=self,
            system=system,
            provenance=f"{self.source} from Routh's function with {names}{velocity.note}; {folded}",
            equations=tuple(_mapped(e, write) for e in sheet.derived),
            rows=tuple(_mapped(e, write) for e in sheet.rows),
            unknowns=sheet.unknowns,
            multipliers=(),
            kinematics=tuple(_mapped(e, write) for e in _definitions(folded, velocity)),
            definitions=sheet.definitions,
            written_in=(*_remaining_velocities(system, folded), velocity.symbol, *folded.p),
            objects={**_objects(folded, write), "sheet": sheet, "fold": folded},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        objects = equations.objects
        matrices = [(name, objects[key]) for name, key in (("a", "a"), ("b", "b"), ("A", "A"))]
        lines = tuple(Line(LeftSide(name, name), value) for name, value in matrices)
        yield Stage("Kinetic energy in the distance x and the other coordinates", NO_RULE, lines)
        yield Stage("Force function, reflected", NO_RULE, (Line(LeftSide("U", "U"), objects["U"]),))
        functions = (Line(LeftSide("R_0", "R0"), objects["R0"]), Line(LeftSide("R", "R"), objects["R"]))
        yield Stage("Routh's function", NO_RULE, functions)

    def solve_at(self, equations: Equations, values: Values, numbers: Arithmetic) -> Values:
        """The unknowns from the equations with σ = 1: |x| and sgn x would lose the states on x = 0."""
        return equations.objects.get("sheet", equations)._solve_linear(values, numbers)


@checked_keywords()
def routh(system: System, *, face: Any = None) -> Equations:
    """The equations (10) of Zhuravlev for a unilateral constraint folded by s = |x| or s = Π(x).

    `face`: the constraint, if the system has several. Objects: `chart`, `a`, `b`, `A`, `A_inverse`, `mu`, `U`, `R0`,
    `R`, `N` (the reaction (13), by face), `crossing`, `impact` (12), `recover`, `fold`.
    """
    return Routh()(system, face=face)


# -- the continuous velocity -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Velocity:
    """The integrated velocity: ẋ itself, or Ivanov's u with ẋ = u w, where w depends on the sign g, constant between its
    jumps."""

    symbol: Any
    factor: Expr = ONE
    sign: Symbol | None = None
    sign_formula: Expr = ONE
    note: str = ""

    def substituted(self, expr: Expr, folded: Fold) -> Expr:
        """An expression with ẋ = u w and ẍ = u̇ w + u ẇ substituted."""
        if self.sign is None:
            return expr
        x_d = self.symbol * self.factor
        x_dd = total_derivative(x_d, {folded.chart.s: folded.sigma * x_d}).xreplace({folded.sigma**2: ONE})
        return expr.xreplace({folded.x.d: x_d, folded.x.dd: x_dd})  # type: ignore[return-value]

    def written(self, expr: Expr) -> Expr:
        return expr if self.sign is None else expr.xreplace({self.sign: self.sign_formula})  # type: ignore[return-value]


def _velocity(folded: Fold) -> _Velocity:
    """w = 1 − k g with g = sgn(x u) for |x|; w = 1 + (2k/π) g M Π with g = sgn u for Π(x). Either way w⁺/w⁻ = e at a wall."""
    e, x = folded.restitution, folded.x
    if e == 1:
        return _Velocity(x.d)
    if e == 0:
        return _Velocity(x.d, note=" until the first contact (restitution 0), after which x stays while N >= 0")
    names = names_of(folded.origin) | {x.letter, folded.chart.s.letter}
    u = Speed(free_name(("u", "u_fold", "u_fold_"), names))
    g = Parameter(free_name(("sign_fold", "sign_fold_"), names), real=True)
    k = (1 - e) / (1 + e)
    note = f" and Ivanov's substitution for the restitution {e}"
    if folded.two_sided:
        return _Velocity(u, 1 + 2 * k / sympy.pi * folded.sigma * folded.chart.s * g, g, sympy.sign(u), note)
    return _Velocity(u, 1 - k * g, g, sympy.sign(x * u), note)


# -- (10) on a sheet ---------------------------------------------------------------------------------------------------


def _on_sheet(form: Form, folded: Fold, velocity: _Velocity) -> Equations:
    """(10) in s and σ, closed by ÿ and q̈_k in ẍ and ṗ."""
    chart, x, s, sigma = folded.chart, folded.x, folded.chart.s, folded.sigma
    d_dt = lambda e: total_derivative(e, {s: sigma * x.d})
    force = lambda e: e.xreplace({s.d: sigma * x.d})
    R0, pAb = folded.R0, folded.pAb
    put = lambda left, right: equation(velocity.substituted(left, folded), velocity.substituted(right, folded))
    motion = [
        put(
            d_dt(sympy.diff(R0, x.d)) - sigma * sympy.diff(R0, s),
            sigma * (force(folded.S) - d_dt(pAb)) + x.d * sympy.diff(pAb, s),  # sgn x ∂/∂x = ∂/∂s
        )
    ]
    rates = [-sympy.diff(R0, p) - x.d * k * sigma for p, k in zip(folded.p, entries(folded.Ab), strict=True)]
    motion += [put(y.d, rate) for y, rate in zip(chart.y, rates, strict=True)]
    motion += [
        put(p.d, sympy.diff(R0, y) + x.d * sympy.diff(pAb, y) * sigma + force(Y))
        for p, y, Y in zip(folded.p, chart.y, folded.Y, strict=True)
    ]
    rows = [put(y.dd, d_dt(rate)) for y, rate in zip(chart.y, rates, strict=True)]
    rows.append(put(chart.coordinate.dd, d_dt(d_dt(chart.inverse))))
    return Equations(
        route=form,
        system=folded.origin,
        provenance="(10) on a sheet",
        equations=tuple(motion),
        rows=tuple(rows),
        unknowns=(*folded.origin.accelerations, velocity.symbol.d, *(p.d for p in folded.p)),
        multipliers=(),
        definitions=_values(folded, velocity),
    )


def _remaining_velocities(system: System, folded: Fold) -> tuple[Symbol, ...]:
    """The velocities without ẏ, which (10) gives by p."""
    replaced = {y.d for y in folded.chart.y}
    return tuple(v for v in system.velocities if v not in replaced)


def _values(folded: Fold, velocity: _Velocity) -> dict[Symbol, Expr]:
    """σ = 1, s, x, the velocity and p in t, q, q̇: the sheet on which x = s."""
    sheet = {folded.sigma: ONE}
    entered: dict[Symbol, Any] = {symbol: value.xreplace(sheet) for symbol, value in folded.entered.items()}
    s_rate = entered.pop(folded.x.d)
    values: dict[Symbol, Any] = {**sheet, folded.chart.s: folded.chart.definition}
    if velocity.sign is not None:
        values[velocity.sign] = sympy.sign(s_rate)
    return {**values, velocity.symbol: s_rate / velocity.factor, **entered}


# -- display -------------------------------------------------------------------------------------------------------------


def _mapped(e: Eq, write: Any) -> Eq:
    return equation(write(e.lhs), write(e.rhs))


def _definitions(folded: Fold, velocity: _Velocity) -> Sequence[Eq]:
    """The chart, the blocks of (4) and R0, one per line; zero blocks are shown too, since they mean no coupling."""
    chart, x = folded.chart, folded.x
    lines = [equation(chart.definition, chart.s), equation(chart.coordinate, chart.inverse)]
    if velocity.sign is not None:
        lines.append(equation(x.d, velocity.symbol * velocity.factor))
    n = len(chart.y)
    lines.append(equation(Symbol("a"), folded.a))
    lines += [equation(Symbol(f"b_{i + 1}"), folded.b[i, 0]) for i in range(n)]
    lines += [equation(Symbol(f"A_{i + 1}{j + 1}"), folded.A[i, j]) for i in range(n) for j in range(i, n)]
    lines.append(equation(Symbol("mu"), folded.mu))
    lines.append(equation(Symbol("R_0"), velocity.substituted(folded.R0, folded)))
    return lines


def _objects(folded: Fold, write: Any) -> dict[str, Any]:
    return {
        "chart": folded.chart,
        "a": write(folded.a),
        "b": folded.b.applyfunc(write),
        "A": folded.A.applyfunc(write),
        "A_inverse": folded.A_inverse.applyfunc(write),
        "mu": write(folded.mu),
        "U": write(folded.U),
        "S": folded.S,
        "Y": folded.Y,
        "R0": write(folded.R0),
        "R": write(folded.R),
        "N": {name: folded.reaction(name) for name in folded.walls},
        "crossing": folded.crossing,
        "impact": folded.impact,
        "recover": folded.recover,
    }
