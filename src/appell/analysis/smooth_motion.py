"""Smooth systems for averaging: symbolic accelerations, oscillators of one degree of freedom, means of second order.

    ẍ = −β (x − x₀) + f(x, ẋ, ψ),  ψ̇ = ω          x = x₀ + r cos φ,  φ̇ = Ω = √β                       Krylov and Bogolyubov

`averaging` takes means of first order by the same formulas as with walls. Where they vanish, means of second order are used:
with ẏ = F₁(y, ψ) + F₂(y, ψ), y = (r, θ), m ψ = n φ + θ,

    ẏ = ⟨F₂ + ∂F₁/∂y U⟩            ω ∂U/∂ψ = F₁,  ⟨U⟩ = 0

Reference: N. N. Bogoliubov, Yu. A. Mitropolsky, Asymptotic Methods in the Theory of Non-Linear Oscillations, 1961, §§ 1, 26.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import sympy
from sympy import Expr, I, Symbol, pi

from appell.analysis.free_motion import HALF, ZERO, FreeMotion, PeriodPart
from appell.analysis.means import exponentials, real
from appell.errors import ModelError
from appell.jets import Coordinate, t, total_derivative
from appell.model import System


def masses_and_rest(system: System) -> tuple[Any, Any]:
    """M (n, n) and h (n, 1) of M q̈ + h = 0, Lagrange's equations of a system without constraints."""
    T, V, q = system.kinetic, system.potential, system.coordinates
    rows = sympy.Matrix([
        total_derivative(sympy.diff(T, x.d)) - sympy.diff(T, x) + sympy.diff(V, x) - Q
        for x, Q in zip(q, system.forces, strict=True)
    ])  # fmt: skip
    qdd = [x.dd for x in q]
    return sympy.simplify(rows.jacobian(qdd)), rows.subs(dict.fromkeys(qdd, 0))


class SmoothOscillator:
    """A system of one degree of freedom in place of a fold: no walls, one sheet."""

    def __init__(self, system: System):
        if len(system.coordinates) != 1 or system.constraints or system.velocities != tuple(x.d for x in system.coordinates):
            raise ModelError(
                f"averaging without walls takes one degree of freedom in one coordinate, and '{system.name}' has"
                f" {len(system.coordinates)}; of several, give the frequency of a fast forcing, fast="
            )
        self.x: Coordinate = system.coordinates[0]
        self.origin, self.sigma = system, sympy.Dummy("sigma", positive=True)
        M, h = (list(matrix) for matrix in masses_and_rest(system))
        self.right_sides = {self.x.dd: sympy.simplify(-h[0] / M[0])}
        self.restitution: Any = sympy.Integer(1)
        self.recover = {self.x: self.x}
        self.chart = SimpleNamespace(coordinate=self.x, s=self.x, y=())

    def free_motion(self, acceleration: Expr, phi: Symbol, r: Symbol) -> FreeMotion:
        """x = x₀ + r cos φ of `acceleration` without small terms; raises if that is not a linear spring."""
        law, x = sympy.expand(acceleration), self.x
        line = sympy.Poly(law, x) if not law.free_symbols & {x.d, t} and law.is_polynomial(x) else None
        if line is None or line.degree() != 1:
            raise ModelError(
                f"without the small terms the motion is {x}̈ = {acceleration}; averaging starts from a spring, −β ({x} − x₀):"
                " name every other term in small="
            )
        beta = sympy.simplify(-line.coeff_monomial(x))
        if beta.is_negative:
            raise ModelError(f"without the small terms {x} is driven away from rest: there is no periodic motion to start from")
        middle = sympy.simplify(line.coeff_monomial(1) / beta)
        X = middle + r * sympy.cos(phi)
        pieces = (PeriodPart(-HALF, HALF, 1, X), PeriodPart(HALF, 3 * pi / 2, 1, X))
        return FreeMotion(phi, r, pieces, sympy.sqrt(beta), 1, f"amplitude of {x}", ZERO)


class SecondOrder:
    """Means of the second order in (r, θ), where those of the first vanish."""

    def __init__(self, oscillator: SmoothOscillator, free: FreeMotion, forces: Sequence[Expr], psi: Symbol, omega: Expr):
        self.free, self.psi, self.omega = free, psi, omega
        X, phi, r = free.pieces[0].X, free.phi, free.r
        V = free.frequency * sympy.diff(X, phi)
        free_motion = {oscillator.x: X, oscillator.x.d: V}
        D = -free.frequency * r
        self.rates: list[list[Any]] = [
            [-sympy.diff(X, phi) * f.xreplace(free_motion) / D, sympy.diff(X, r) * f.xreplace(free_motion) / D] for f in forces
        ]

    def near_resonance(self, n: int, m: int, theta: Symbol) -> tuple[Expr, Expr]:
        """⟨ṙ⟩ and ⟨φ̇ − Ω⟩ with m ψ = n φ + θ."""
        phase = {self.free.phi: (m * self.psi - theta) / n}
        first, second = (
            [waves(pair[0].xreplace(phase), self.psi), waves(-n * pair[1].xreplace(phase), self.psi)] for pair in self.rates
        )
        if any(rate.get(ZERO, ZERO) != 0 for rate in first):
            raise ModelError("means of the second order are taken where those of the first vanish, which they do not here")
        U = [{k: c / (I * k * self.omega) for k, c in rate.items()} for rate in first]
        means = []
        for i in range(2):
            total = second[i].get(ZERO, ZERO)
            for y, U_y in zip((self.free.r, theta), U, strict=True):
                total += sympy.Add(*(sympy.diff(c, y) * U_y.get(-k, ZERO) for k, c in first[i].items()))
            means.append(sympy.simplify(real(sympy.expand(total))))
        return means[0], sympy.simplify(-means[1] / n)


def waves(expr: Any, psi: Symbol) -> dict[Any, Any]:
    """c_k of Σ c_k e^{ikψ}, by k; anything else raises."""
    coefficients: dict[Any, Any] = {}
    expanded = sympy.expand(sympy.powsimp(sympy.expand(exponentials(expr, psi))))
    for term in sympy.Add.make_args(expanded):
        constant, varying = term.as_independent(psi, as_Add=False)
        factors: list[Any] = [factor for factor in sympy.Mul.make_args(varying) if factor.has(psi)]
        pure = all(isinstance(factor, sympy.exp) for factor in factors)
        exponent = sympy.expand(sympy.Add(*(factor.args[0] for factor in factors))) if pure else ZERO
        slope = exponent.coeff(psi, 1)
        if not pure or sympy.expand(exponent - slope * psi).has(psi):
            shown_term = varying.subs(psi, Symbol("ψ"))
            raise ModelError(
                f"the mean over a period of the term {shown_term} is not known in closed form: averaging takes forces that are"
                " polynomials in position and velocity, times sines and cosines of ψ = ωt"
            )
        k = sympy.expand(-I * slope)
        coefficients[k] = coefficients.get(k, ZERO) + constant * sympy.exp(sympy.expand(exponent - slope * psi))
    return {k: c for k, c in ((k, sympy.expand(c)) for k, c in coefficients.items()) if c != 0}


__all__ = ["SecondOrder", "SmoothOscillator", "masses_and_rest", "waves"]
