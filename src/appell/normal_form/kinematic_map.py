"""q̇ = N(t, q) v + n0(t, q), and differentiation along the motion.

States of first order are the last entries of q. Their rates g(t, q, v, s) are entirely part of n0, even if they contain
velocities: their rows of N are zero, so that displacements N δ, forces Nᵀ∂V/∂q and projections do not affect them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sympy import Symbol

from appell.graph import Lowering
from appell.graph.algebra import (
    Value,
    column,
    depends,
    derivative_along,
    gradient,
    is_zero,
    jacobian,
    pseudo_inverse_times,
    substitute,
    symbols,
    take,
    zeros,
)
from appell.jets import t as time
from appell.model import System

Lowered = Callable[[Mapping[Symbol, Value], Value, Value, Value], Lowering]


@dataclass(frozen=True, eq=False)
class Kinematics:
    """The symbols of a system on the graph, their lowering, and d/dt."""

    t: Value
    q: Value
    v: Value
    a: Value
    p: Value
    lower: Lowering
    qd: Value
    N: Value
    n0: Value
    coordinate_count: int
    """Number of coordinates: the entries of q after them are states of first order."""

    @staticmethod
    def of(system: System, lowering: Lowered) -> Kinematics:
        """`lowering(seeds, q, v, a)` maps the system's expressions to the graph; the seeds are its symbols."""
        t = symbols("t", 1)
        q, v, a = symbols("q", system.nq), symbols("v", system.nv), symbols("a", system.nv)
        p = symbols("p", len(system.parameters))
        seeds = {time: t}
        for names, values in (
            (system.positions, q),
            (system.velocities, v),
            (system.accelerations, a),
            (system.parameters, p),
        ):
            seeds.update({name: values[i] for i, name in enumerate(names)})
        seeds.update({c.multiplier: Value(0) for c in (*system.constraints, *system.unilateral)})  # `laws` binds those of rows
        seeds.update({x: Value(0) for fr in system.frictions for x in fr.multipliers})
        lower = lowering(seeds, q, v, a)
        qd = lower.column(system.rates.values())
        coordinates = len(system.coordinates)
        qd_coordinates, state_rates = take(qd, range(coordinates)), take(qd, range(coordinates, system.nq))
        n0 = column(substitute(qd_coordinates, [v], [zeros(system.nv)]), state_rates)
        N = column(jacobian(qd_coordinates, v), zeros(system.nq - coordinates, system.nv))
        return Kinematics(t, q, v, a, p, lower, qd, N, n0, coordinates)

    def drift(self, y: Value) -> Value:
        """∂y/∂t + ∂y/∂q q̇: the derivative of y along the motion at a = 0."""
        return derivative_along(y, [self.t, self.q], [1, self.qd])

    def slope(self, y: Value) -> Value:
        """∂y/∂q of a scalar, (nq, 1)."""
        return gradient(y, self.q)

    def partial_t(self, y: Value) -> Value:
        """∂y/∂t of a scalar."""
        return jacobian(y, self.t)

    def twist(self) -> Value:
        """Ṅ − ∂_q(N v + n0) N, (nq, nv): the difference between d/dt and variation of the velocities. Zero for v = q̇."""
        rate, slope = self.twist_terms()
        return rate - slope

    def twist_terms(self) -> tuple[Value, Value]:
        """Ṅ and ∂_q(N v + n0) N, (nq, nv) each."""
        constant = not depends(self.N, column(self.t, self.q))
        rate = zeros(*self.N.shape) if constant else derivative_along(self.N, [self.t, self.q], [1, self.qd])
        return rate, self._coordinates_only(jacobian(self.qd, self.q) @ self.N)

    def _coordinates_only(self, y: Value) -> Value:
        """y, (nq, k), with zeros for the states of first order."""
        states = y.shape[0] - self.coordinate_count
        return column(y[: self.coordinate_count, :], zeros(states, y.shape[1])) if states else y

    def lag(self) -> Value:
        """C v of `structure`, (nv, 1), by (Ṅ − ∂_q(N v + n0) N) v = ∂_t(N v) + ∂_q(N v) n0 − ∂_q n0 N v.

        Zero where kinematics do not depend on time and n0 = 0: then only forces change H.
        """
        qd_v = self.N @ self.v
        of_n0 = self._coordinates_only(derivative_along(self.n0, [self.q], [qd_v]))
        twist_v = derivative_along(qd_v, [self.t, self.q], [1, self.n0]) - of_n0
        return zeros(self.v.numel()) if is_zero(twist_v) else pseudo_inverse_times(self.N, twist_v)

    def structure(self) -> tuple[Value, Value]:
        """C = N⁺(Ṅ − ∂_q(N v + n0) N), (nv, nv), and the defect (I − N N⁺)(…), (nq, nv), zero where C is sufficient."""
        D = self.twist()
        if is_zero(D):
            return zeros(self.v.numel(), self.v.numel()), zeros(*D.shape)
        C = pseudo_inverse_times(self.N, D)
        return C, D - self.N @ C
