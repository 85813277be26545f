"""The motion between impacts from which averaging starts: a folded system of one degree of freedom without its small terms.

In x of the fold (s = |x| or s = Π(x)) it is periodic and continuous through the impacts,

    x = X(φ, r),        ẋ = Ω(r) X_φ,        φ̇ = Ω(r),        X(φ + 2π) ~ X(φ),

and is known in closed form for

    one wall    ẍ = −β x              x = r cos φ                                    Ω = √β                  Zhuravlev (17)
    one wall    ẍ = −α sgn x          x = ± r (1 − 4φ²/π²)                           Ω = π √(α/(8 r))        after (14)
    two walls   ẍ = 0                 x = φ                                          Ω = r
    two walls   ẍ = −β Π(x) M(x)      x = r sin κφ,  κ = (2/π) arcsin(π/(2r))        Ω = √β/κ,  r > π/2

φ is proportional to time, and the sign σ of the sheet is constant on the pieces of the period between impacts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy
from sympy import Expr, Symbol, pi

from appell.errors import ModelError
from appell.forms.fold.fold import Fold
from appell.jets import t

HALF, ZERO = pi / 2, sympy.Integer(0)


@dataclass(frozen=True)
class PeriodPart:
    """The part lower <= φ <= upper of a period, on the sheet σ, with x = X(φ, r)."""

    lower: Expr
    upper: Expr
    sigma: int
    X: Expr


@dataclass(frozen=True)
class FreeMotion:
    """x = X(φ, r), piece by piece, with φ̇ = Ω(r).

    Attributes
    ----------
    phi, r: the phase, and the amplitude or an equivalent (see `meaning`).
    pieces: over one period 2π of φ; they end at impacts.
    frequency: Ω(r), rad/s, of φ.
    turns: periods of s in one period of φ: 2 for one wall (|x| has half the period of x), 1 for two.
    least: r is larger than this.
    """

    phi: Symbol
    r: Symbol
    pieces: tuple[PeriodPart, ...]
    frequency: Expr
    turns: int
    meaning: str
    least: Expr


def free_motion(folded: Fold, acceleration: Expr, phi: Symbol, r: Symbol) -> FreeMotion:
    """The free motion of `acceleration` = ẍ(x, ẋ, σ, t) without small terms; raises if it is not in the table."""
    s = sympy.Dummy("s", real=True)
    law = _on_wall(folded, acceleration, s)
    if law.free_symbols & {folded.x.d, t} or not law.is_polynomial(s) or sympy.Poly(law, s).degree() > 1:
        raise ModelError(
            f"without the small terms the motion between impacts is s̈ = {_law_text(law, s)}; averaging starts from s̈ = −β s,"
            " s̈ = −α or s̈ = 0 (s the distance from the wall): name every other term in small="
        )
    line = sympy.Poly(law, s)
    beta, alpha = (ZERO if c.is_zero else -c for c in (line.coeff_monomial(s), line.coeff_monomial(1)))  # 0.0 == 0 is False
    make = _two_walls if folded.two_sided else _one_wall
    motion = make(sympy.simplify(alpha), sympy.simplify(beta), phi, r)
    if isinstance(motion, str):
        raise ModelError(f"without the small terms the motion between impacts is s̈ = {_law_text(law, s)}: {motion}")
    return motion


def _on_wall(folded: Fold, acceleration: Expr, s: Symbol) -> Expr:
    """s̈ = σ ẍ in s = σ x + c, the same law on both sheets."""
    laws = []
    for sign in (1, -1):
        shift = folded.sheet.xreplace({folded.x: sympy.Integer(0), folded.sigma: sympy.Integer(sign)})
        x = {folded.x: sign * (s - shift), folded.x.d: sign * folded.x.d, folded.sigma: sympy.Integer(sign)}
        laws.append(sympy.simplify(sign * acceleration.subs(x, simultaneous=True)))
    if sympy.simplify(laws[0] - laws[1]) != 0:
        raise ModelError(f"the motion between impacts of '{folded.origin.name}' has no law s̈(s): {laws[0]} and {laws[1]}")
    return laws[0]


def _one_wall(alpha: Expr, beta: Expr, phi: Symbol, r: Symbol) -> FreeMotion | str:
    if alpha == 0 and beta == 0:
        return "nothing brings it back to the wall, so there is no periodic motion to start from"
    if alpha != 0 and beta != 0:
        return "the equilibrium is not at the wall; let its distance Δ be a small parameter, small=[Δ, …]"
    negative = next((c for c in (alpha, beta) if c.is_negative), None)
    if negative is not None:
        return "it is driven away from the wall, so there is no periodic motion to start from"
    if beta != 0:
        x = lambda sign: r * sympy.cos(phi)
        frequency, meaning = sympy.sqrt(beta), "amplitude of x"
    else:
        x = lambda sign: r * (1 - 4 * phi**2 / pi**2) if sign > 0 else -r * (1 - 4 * (phi - pi) ** 2 / pi**2)
        frequency, meaning = pi * sympy.sqrt(alpha / (8 * r)), "greatest distance from the wall"
    return FreeMotion(phi, r, _sheets(x), frequency, 2, meaning, ZERO)


def _two_walls(alpha: Expr, beta: Expr, phi: Symbol, r: Symbol) -> FreeMotion | str:
    if alpha != 0:
        return "between two stops only a spring from their middle can be left; name the constant force in small="
    if beta == 0:
        return FreeMotion(phi, r, _sheets(lambda sign: phi), r, 1, "rate of s, the gap being π", ZERO)
    if beta.is_negative:
        return "a spring that pushes from the middle is not treated; name its stiffness in small="
    kappa = 2 / pi * sympy.asin(HALF / r)
    x = lambda sign: r * sympy.sin(kappa * phi) if sign > 0 else pi + r * sympy.sin(kappa * (phi - pi))
    return FreeMotion(phi, r, _sheets(x), sympy.sqrt(beta) / kappa, 1, "amplitude without stops, the gap being π", HALF)


def _sheets(x: Callable[[int], Expr]) -> tuple[PeriodPart, ...]:
    """The half periods between impacts, σ = 1 on the first."""
    return PeriodPart(-HALF, HALF, 1, x(1)), PeriodPart(HALF, 3 * HALF, -1, x(-1))


def _law_text(law: Expr, s: Symbol) -> str:
    return str(law.xreplace({s: Symbol("s")}))

