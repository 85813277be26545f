"""Averaging under fast forcing of small amplitude: Kapitza's pendulum, and systems of any number of degrees of freedom.

With amplitudes a = ε ã and a frequency ω = ω̃/ε the equations are M q̈ + h₋₁(q, ψ)/ε + h₀(q, q̇, ψ) + … = 0, ψ̇ = ω. Then q is
the sum of a slow Q and a small fast ξ, M ξ̈ = −h₋₁, ξ̇ = η, ⟨ξ⟩ = ⟨η⟩ = 0. Where h₋₁ is a gradient in q, the averaged
Lagrangian is

    L = ⟨T(Q, Q̇, ψ)⟩ − ⟨V(Q, ψ)⟩ − ½ ⟨η·M η⟩

to first order: the energy of the fast motion acts as a potential. The pendulum on a support a cos ωt has ¼ m a²ω² sin²φ in
addition to its weight, and is stable upright for a²ω² > 2 g l.

References: P. L. Kapitza, Dynamical stability of a pendulum when its point of suspension vibrates, 1951; L. D. Landau,
E. M. Lifshitz, Mechanics, § 30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Eq, Expr, I, Symbol

from appell.analysis.means import real
from appell.analysis.smooth_motion import masses_and_rest, waves
from appell.errors import ModelError
from appell.jets import t
from appell.letters.displayed_equations import DisplayedEquations
from appell.model import System
from appell.reading import text_of


@dataclass(frozen=True, eq=False)
class SlowSystem(DisplayedEquations):
    """The slow motion of a system under fast forcing, from `ap.averaged(…, fast=)`.

    Attributes
    ----------
    origin, small, fast: the averaged system, the small amplitudes, the large frequency.
    system: the slow system, in the original coordinates: it can be simulated, linearized, continued.
    quick: coordinate → ξ, the small fast motion about the slow one, in t and the coordinates.
    quick_energy: ½ ⟨η·M η⟩, the part of the potential that the forcing adds.
    """

    origin: System
    small: tuple[Symbol, ...]
    fast: Symbol
    system: System
    quick: dict[Any, Expr]
    quick_energy: Expr

    @property
    def ok(self) -> bool:
        """Always True: systems that cannot be averaged raise."""
        return True

    @property
    def message(self) -> str:
        """What was averaged."""
        amplitudes = ", ".join(map(str, self.small))
        return f"'{self.origin.name}' averaged over a fast forcing, {amplitudes} small and {self.fast} large"

    @cached_property
    def equations(self) -> tuple[Eq, ...]:
        """M q̈ = …, Lagrange's equations of the slow system."""
        M, forces = masses_and_rest(self.system)
        inertial = M * sympy.Matrix([x.dd for x in self.system.coordinates])
        return tuple(Eq(term, -h, evaluate=False) for term, h in zip(inertial, forces, strict=True))  # type: ignore[misc]

    @property
    def effective_potential(self) -> Expr:
        """The potential of the slow system, including the energy of the fast motion."""
        return self.system.potential

    def __str__(self) -> str:
        return f"{self.message}:\n" + "\n".join(f"    {e.lhs} = {e.rhs}" for e in self.equations)

    @cached_property
    def motion(self) -> dict[Any, Expr]:
        """Coordinate → Q + ξ: the fast motion added to the slow one."""
        return {q: q + xi for q, xi in self.quick.items()}


def vibrated(system: System, small: tuple[Symbol, ...], fast: Any) -> SlowSystem:
    """See `ap.averaged`."""
    omega = next((p for p in system.parameters if str(p) == text_of(fast)), None)
    if omega is None:
        raise ModelError(f"fast= names {text_of(fast)}, which is no parameter of '{system.name}': the frequency of its forcing")
    if system.constraints or system.unilateral or len(system.velocities) != len(system.coordinates):
        raise ModelError("averaging over a fast forcing takes independent coordinates, without constraints and walls")
    scale, psi, q = _Scale(system, small, omega), sympy.Dummy("psi", real=True), list(system.coordinates)
    M, remainder = masses_and_rest(system)
    if M.has(t) or M.free_symbols & {*small, omega}:
        raise ModelError(f"masses of '{system.name}' depend on time or on small=, which is not averaged over a fast forcing")
    rows = [scale.leading_orders(row, psi) for row in remainder]
    large = [waves(row[0], psi) for row in rows]
    _refuse_others(system, q, large, [waves(row[1], psi) for row in rows], omega)
    zero = sympy.Integer(0)
    solve = lambda k: list(-M.LUsolve(sympy.Matrix([row.get(k, zero) for row in large])) / (I * k * omega))
    eta = {k: solve(k) for k in dict.fromkeys(k for row in large for k in row)}
    energy = sympy.Add(*((sympy.Matrix(eta_k).T * M * sympy.Matrix(eta[-k]))[0] for k, eta_k in eta.items() if -k in eta)) / 2
    energy = _short(sympy.expand(energy))
    mean = lambda expr: waves(scale.leading_orders(expr, psi)[1], psi).get(zero, zero)
    letters = {k: [sympy.Dummy("eta") for _ in q] for k in eta}  # short symbols for long expressions
    etas = {letter: c for k in eta for letter, c in zip(letters[k], eta[k], strict=True)}
    varied = {x.d: x.d + sympy.Add(*(letters[k][i] * sympy.exp(I * k * psi) for k in eta)) for i, x in enumerate(q)}
    force = lambda Q: waves(scale.leading_orders(Q, psi)[1].subs(varied, simultaneous=True), psi).get(zero, zero).xreplace(etas)
    forces = {x: Q for x, Q_full in zip(q, system.forces, strict=True) if (Q := _short(force(Q_full))) != 0}
    V = _short(mean(system.potential) + energy)
    slow = System(q, _short(mean(system.kinetic)), V, forces, name=f"slow {system.name}")
    waving = [
        sympy.Add(*(eta_k[i] / (I * k * omega) * sympy.exp(I * k * psi) for k, eta_k in eta.items())) for i in range(len(q))
    ]
    quick = {x: _short(real(wave)).subs(psi, omega * t) for x, wave in zip(q, waving, strict=True)}
    return SlowSystem(system, small, omega, slow, quick, energy)


def _refuse_others(system: System, q: list[Any], large: list[Any], order_one: list[Any], omega: Symbol) -> None:
    """Raises for other kinds of forcing: with a mean, without a potential, or dependent on velocities."""
    if any(0 in row for row in large):
        raise ModelError(f"the forcing of '{system.name}' has a mean of the order of {omega}: it drives the coordinates away")
    speeds = {x.d for x in q}
    if any(c.free_symbols & speeds for row in large for c in row.values()) or any(
        c.free_symbols & speeds for row in order_one for k, c in row.items() if k != 0
    ):
        raise ModelError(f"a fast force in '{system.name}' depends on velocities, which is not averaged")
    for i, x in enumerate(q):
        for j, y in enumerate(q[:i]):
            for k in {*large[i], *large[j]}:
                curl = sympy.diff(large[i].get(k, 0), y) - sympy.diff(large[j].get(k, 0), x)
                if sympy.simplify(curl) != 0:
                    raise ModelError(f"the fast forces of '{system.name}' have no potential, which is not averaged")


def _short(expr: Expr) -> Expr:
    """The expression, simplified if it is short enough."""
    return sympy.simplify(expr) if sympy.count_ops(expr) < SIMPLIFIED else expr


SIMPLIFIED = 150
"""Largest number of operations of an expression to be simplified."""


class _Scale:
    """Orders of expressions with a = ε ã and ω = ω̃/ε."""

    def __init__(self, system: System, small: Sequence[Symbol], omega: Symbol):
        self.name, self.omega, self.eps = system.name, omega, sympy.Dummy("eps", positive=True)
        self.scales: Any = {**{p: self.eps * p for p in small}, omega: omega / self.eps}

    def leading_orders(self, expr: Expr, psi: Symbol) -> tuple[Expr, Expr]:
        """The parts of orders 1/ε and 1, in ψ = ωt."""
        eps = self.eps
        scaled = sympy.expand(expr.subs(t, psi / self.omega).subs(self.scales, simultaneous=True))
        if scaled.has(t):
            raise ModelError(f"time must stand in '{self.name}' as {self.omega}*t alone")
        if scaled.has(eps) and not scaled.is_polynomial(eps, 1 / eps):
            scaled = sympy.series(scaled, eps, 0, 1).removeO()
        terms = sympy.collect(sympy.expand(scaled), eps, evaluate=False)
        if any(power.as_base_exp()[1] < -1 for power in terms if power != 1):
            complaint = f"a force in '{self.name}' is larger than of the order of {self.omega}"
            raise ModelError(f"{complaint}: name its amplitude in small=")
        return terms.get(1 / eps, sympy.Integer(0)), terms.get(sympy.Integer(1), sympy.Integer(0))


__all__ = ["SlowSystem", "vibrated"]
