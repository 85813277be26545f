"""Plane chains in the short form of the textbooks.

A chain on the ground with parallel axes turns body ν by ψ_ν = φ_1 + … + φ_ν (5.3) about the one axis e, Ω_ν = ψ̇_ν. With

    b_ν = m_ν c_ν + (Σ_{μ>ν} m_μ) r_ν

and c_ν, r_ν, b_ν in their positions at φ = 0, [a, d] = a·d − (e·a)(e·d) and (a, d) = e·(a × d), (5.2) reads

    (J_νe + Σ_{μ>ν} m_μ [r_ν, r_ν]) Ω̇_ν + Σ_{τ≠ν} {([a, d] cos δ − (a, d) sin δ) Ω̇_τ − ((a, d) cos δ + [a, d] sin δ) Ω_τ²}
        = M_ν + Q_ν − M_{ν+1} − Q_{ν+1},        Q_ν − Q_{ν+1} = (b_ν, g) cos ψ_ν − [b_ν, g] sin ψ_ν

with δ = ψ_τ − ψ_ν; a, d = b_ν, r_τ for τ < ν and r_ν, b_τ for τ > ν. Sums of its last rows are (3.14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Symbol, cos, sin

from appell.reading import symbolic
from appell.tree.golubev.golubev_equations import Body, ChainState, apply, cross, dot, plus, times

FACTORED_PLANE_OPERATIONS = 60
"""Operations up to which `factor` is fast."""

Term = tuple[Any, Any, Any]
"""A coefficient in parameters, the cosine or sine of an angle (or 1), and the motion that they multiply."""


@dataclass(frozen=True, eq=False)
class PlaneChain:
    """Bodies on the ground with one axis e; `phi` are the symbols of the angles."""

    bodies: Sequence[Body]
    state: ChainState
    phi: Sequence[Symbol]

    @property
    def e(self) -> Sequence[Any]:
        e = self.bodies[0].e
        assert e is not None
        return e

    @property
    def Omega(self) -> list[Symbol]:
        """Ω_ν, defined by (3.1)."""
        return [Symbol(f"Omega_{n + 1}", real=True) for n in range(len(self.bodies))]

    @property
    def Omega_dot(self) -> list[Symbol]:
        """Ω̇_ν, defined by (3.2)."""
        return [Symbol(f"Omegadot_{n + 1}", real=True) for n in range(len(self.bodies))]

    def definitions(self) -> list[tuple[str, Symbol, Any]]:
        """Ω_ν = ω_1 + … + ω_ν and its rate: number, symbol, value."""
        hinges: list[Any] = list(self.state.hinges)
        rates, accelerations = [h.rate for h in hinges], [h.acceleration for h in hinges]
        upto = lambda values, n: sympy.Add(*values[: n + 1])
        velocities = [("3.1", s, upto(rates, n)) for n, s in enumerate(self.Omega)]
        return velocities + [("3.2", s, upto(accelerations, n)) for n, s in enumerate(self.Omega_dot)]

    def along(self, a: Sequence[Any], d: Sequence[Any]) -> Any:
        """[a, d]: the scalar product of the components in the plane."""
        return factored(dot(a, d) - dot(self.e, a) * dot(self.e, d))

    def across(self, a: Sequence[Any], d: Sequence[Any]) -> Any:
        """(a, d) = e·(a × d)."""
        return factored(dot(self.e, cross(a, d)))

    def r(self, n: int) -> Sequence[Any]:
        """r_ν; none for the last body."""
        return self.bodies[n + 1].r if n + 1 < len(self.bodies) else [0, 0, 0]

    def tail(self, n: int) -> Any:
        """Σ_{μ>ν} m_μ."""
        return sympy.Add(*(body.m for body in self.bodies[n + 1 :]))

    def b(self, n: int) -> Sequence[Any]:
        return plus(times(self.bodies[n].m, self.bodies[n].c), times(self.tail(n), self.r(n)))

    def angle(self, n: int, k: int) -> Any:
        """ψ_k − ψ_n."""
        if k < n:
            return -self.angle(k, n)
        return sympy.Add(*self.phi[n + 1 : k + 1])

    def inertia(self, n: int) -> list[Term]:
        """The left side of (5.2)."""
        J_e = dot(self.e, apply(self.bodies[n].J, self.e))
        diagonal = sympy.expand(J_e + self.tail(n) * self.along(self.r(n), self.r(n)))
        terms: list[Term] = [(diagonal, 1, self.Omega_dot[n])]
        for k in range(len(self.bodies)):
            if k != n:
                a, d = (self.b(n), self.r(k)) if k < n else (self.r(n), self.b(k))
                terms += self.coupling(a, d, self.angle(n, k), k)
        return terms

    def coupling(self, a: Sequence[Any], d: Sequence[Any], delta: Any, k: int) -> list[Term]:
        """[a, d] (Ω̇_k cos δ − Ω_k² sin δ) − (a, d) (Ω̇_k sin δ + Ω_k² cos δ)."""
        Om, Omd, D, C = self.Omega[k], self.Omega_dot[k], self.along(a, d), self.across(a, d)
        return [(D, cos(delta), Omd), (-D, sin(delta), Om**2), (-C, sin(delta), Omd), (-C, cos(delta), Om**2)]

    def gravity(self, n: int) -> Expr:
        """Q_ν − Q_{ν+1}."""
        psi, b, g = sympy.Add(*self.phi[: n + 1]), self.b(n), self.state.g
        return self.across(b, g) * cos(psi) - self.along(b, g) * sin(psi)

    def torque(self, n: int) -> Any:
        """M_ν minus rotor and damping torques; M_{K+1} = 0."""
        if n == len(self.bodies):
            return sympy.Integer(0)
        hinge = self.state.hinges[n]
        assert hinge is not None
        return hinge.torque

    def difference_equation(self, n: int) -> tuple[Expr, Expr]:
        """(5.2), both sides."""
        return gathered(self.inertia(n)), self.torque(n) - self.torque(n + 1) + self.gravity(n)

    def hinge_equation(self, n: int) -> tuple[Expr, Expr]:
        """(3.14), both sides: (5.2) summed over the tail."""
        tail = range(n, len(self.bodies))
        terms = [term for k in tail for term in self.inertia(k)]
        return gathered(terms), self.torque(n) + sympy.Add(*map(self.gravity, tail))


def factored(expr: Any) -> Any:
    """Common factors in front; long expressions are searched only as far as is fast."""
    if expr.is_number:
        return expr
    return sympy.factor(expr) if sympy.count_ops(expr) < FACTORED_PLANE_OPERATIONS else sympy.factor_terms(expr)


def gathered(terms: Sequence[Term]) -> Expr:
    """Σ coefficient · {Σ cos δ (Ω̇ + …) + sin δ (Ω² + …)}, each coefficient and each angle written once."""
    by_factor: dict[Any, dict[Any, list[Any]]] = {}
    for coefficient, function, motion in terms:
        number, factor = symbolic(coefficient, "a coefficient").as_coeff_Mul()
        sign, angle = symbolic(function, "a function").as_coeff_Mul()  # sin(−φ) = −sin φ
        if number != 0:
            by_factor.setdefault(factor, {}).setdefault(angle, []).append(sign * number * motion)
    by_angle = lambda parts: sympy.Add(*(angle * sympy.Add(*motion) for angle, motion in parts.items()))
    return sympy.Add(*(factor * by_angle(parts) for factor, parts in by_factor.items()))
