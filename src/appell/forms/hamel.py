"""The Boltzmann–Hamel equations in pseudo-velocities, with their structure coefficients.

    d/dt ∂T*/∂w_s − ∂T*/∂π_s + Σ_r ∂T*/∂w_r Γ_rs = Π_s  (+ Λ_s),        Γ_rs = Σ_k γ^r_sk w_k + γ^r_s0

w = (π̇, f): the pseudo-velocities and the constraints, w = F(t, q) q̇ + f_0(t, q), q̇ = H w + h_0, H = F⁻¹; T* = T in w,
∂/∂π_s = Σ_i H_is ∂/∂q_i, Π_s = Σ_i H_is Q_i. Derivation: E_i = d/dt (Σ_r T*_r F_ri) − T*_{q_i} − Σ_r T*_r ∂w_r/∂q_i gives

    Γ_rs = Σ_i (dF_ri/dt − ∂w_r/∂q_i) H_is,
    γ^r_sk = Σ_ij (∂F_ri/∂q_j − ∂F_rj/∂q_i) H_is H_jk        (0 where w_r is the derivative of a coordinate),

and γ^r_s0 from h_0, f_0 and ∂F/∂t. Where the system has quasi-velocities u, q̇ = N u + n0 (unit quaternions), w = F u + f_0 and

    Γ_rs = Σ_a [ dF_ra/dt − X_a w_r − Σ_b F_rb C_ba ] H_as,     X_a = Σ_i N_ia ∂/∂q_i,     ∂/∂π_s = Σ_a H_as X_a,

with C = N⁺(Ṅ − ∂_q(N u + n0) N) of the quasi-velocities themselves (for body rates Cᵀp = p × ω). T* contains the constrained w
until its derivatives are taken; then they are set to zero, and the equations of the constrained w give the reactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.forms.base import Equations, Form
from appell.forms.engine.constraint_rows import liberated_from, needs_affine, refusal
from appell.forms.engine.derivation import gradient, partial, restricted, time_derivation
from appell.forms.engine.matrices import row_times
from appell.forms.engine.pseudo import PseudoVelocities, needs_coordinates, suggest
from appell.forms.engine.system_terms import equation, generalized_forces, reason_against_states_in_rows
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, force_step, indexed, kinematic_step, slopes_of
from appell.forms.lagrange import closes, shortened, twist
from appell.jets import Speed, t
from appell.model import System
from appell.spelling import checked_keywords
from appell.tidy import collected


class Hamel(Form):
    """Lagrange's equations in quasi-coordinates, for constraints and pseudo-velocities affine in the velocities."""

    name = "hamel"
    source = "Hamel (1904); Neimark and Fufaev"
    variants = (("pseudo",),)

    def reason_against(self, system: System, **options: Any) -> str | None:
        affine = needs_affine(system, "the structure coefficients need affine ones; use ap.forms.maggi")
        affine = affine or reason_against_states_in_rows(system, "the structure coefficients are functions of t and q")
        if not system.holonomic_speeds and not closes(system):
            return affine or needs_coordinates(system)
        return affine or refusal(system, "the Boltzmann–Hamel form")

    def derive(self, system: System, *, pseudo: Mapping[str, Any] | None = None, **options: Any) -> Equations:
        chosen = PseudoVelocities.suggested(system) if pseudo is None else PseudoVelocities.of(system, pseudo)
        chosen.require_affine("the Boltzmann–Hamel form")
        frame = QuasiFrame(system, chosen) if system.holonomic_speeds else SpeedFrame(system, chosen)
        n = chosen.n
        left = [frame.inertia(s) for s in range(len(frame.w))]
        forces = frame.forces()
        lam, rows, extra = liberated_from(chosen.rows, chosen.g, [e - f for e, f in zip(left[n:], forces[n:], strict=True)])
        new = [a for a in chosen.accelerations if a not in system.accelerations]
        return Equations(
            route=self,
            system=system,
            provenance="T in pseudo-velocities with the structure coefficients γ (Boltzmann–Hamel)",
            equations=tuple(equation(e, f) for e, f in zip(left[:n], forces[:n], strict=True)),
            rows=(*chosen.closing(), *rows),
            unknowns=(*system.accelerations, *new, *extra),
            multipliers=lam,
            kinematics=chosen.kinematics(),
            definitions=chosen.values(),
            solved_block=chosen.solved_block,
            written_in=chosen.written_in,
            objects={"T_star": frame.T, "gamma": frame.gamma, "generalized_forces": tuple(forces[:n]), "pseudo": chosen},
        )

    def worked(self, equations: Equations) -> Iterator[Stage]:
        chosen, T = equations.objects["pseudo"], equations.objects["T_star"]
        yield kinematic_step(equations)
        yield Stage("T in the chosen velocities and in those of the constraints", NO_RULE, (Line(LeftSide("T^*", "T*"), T),))
        yield Stage("Its derivatives", NO_RULE, slopes_of("T^*", T, chosen.speeds, "T*"))
        gamma = equations.objects["gamma"]
        label = lambda key: "".join(str(k + 1) if k >= 0 else "0" for k in key)
        lines = tuple(
            Line(LeftSide(rf"\gamma^{{{label(key[:1])}}}_{{{label(key[1:])}}}", f"γ^{label(key[:1])}_{label(key[1:])}"), e)
            for key, e in gamma.items()
        )
        yield Stage("Structure coefficients that do not vanish", NO_RULE, lines)
        yield force_step(equations.system)
        values = zip(chosen.speeds, equations.objects["generalized_forces"], strict=True)
        yield Stage("Forces of the chosen velocities", NO_RULE, tuple(Line(indexed(r"\Pi", s, "Π"), e) for s, e in values))

    def default(self, system: System, option: str) -> Any:
        """Pseudo-velocities for `agree`."""
        return suggest(system)


@checked_keywords()
def hamel(system: System, pseudo: Mapping[str, Any] | None = None) -> Equations:
    """The Boltzmann–Hamel equations; `pseudo` as in `appell`, affine in q̇ or in the speeds. Objects: gamma, T_star."""
    return Hamel()(system, pseudo=pseudo)


class QuasiFrame:
    """The full set w = (π̇, f) with its structure coefficients."""

    def __init__(self, system: System, pseudo: PseudoVelocities):
        self.system, self.pseudo = system, pseudo
        broken = tuple(Speed(f"f_{i + 1}") for i in range(len(pseudo.rows.indices)))
        self.w: tuple[Symbol, ...] = (*pseudo.speeds, *broken)
        self.H = pseudo.inverse
        self.vanishing_speeds: dict[Symbol, Expr] = {s: sympy.Integer(0) for f in broken for s in (f, f.d)}
        column = Matrix(self.w) if self.w else sympy.zeros(0, 1)
        velocity = {v: row_times(self.H, i, column) + pseudo.h0[i] for i, v in enumerate(system.velocities)}
        self.T = restricted(system.kinetic, velocity)
        self.momenta = [restricted(p, self.vanishing_speeds) for p in gradient(self.T, self.w)]
        self.slopes = self.shifts(restricted(self.T, self.vanishing_speeds))
        self.rate = time_derivation(pseudo.rates)

    def shifts(self, expr: Expr) -> list[Expr]:
        """X_a: the slope along each velocity, (nv,); ∂/∂q_a for velocities q̇."""
        return gradient(expr, self.system.coordinates)

    @cached_property
    def brackets(self) -> list[dict[tuple[int, int], Expr]]:
        """∂F_ri/∂q_j − ∂F_rj/∂q_i, for each r the entries that do not vanish."""
        q, F, brackets = self.system.coordinates, self.pseudo.Phi, []
        for r in range(F.shape[0]):
            slope = [gradient(F[r, i], q) for i in range(len(q))]
            entries = {(i, j): slope[i][j] - slope[j][i] for i in range(len(q)) for j in range(i)}
            brackets.append({pair: e for pair, e in entries.items() if e != 0})
        return brackets

    def _contract(self, r: int, s: int, column: list[Expr]) -> Expr:
        """Σ_ij (∂F_ri/∂q_j − ∂F_rj/∂q_i) H_is x_j, using that the bracket is antisymmetric."""
        H, terms = self.H, []
        for (i, j), e in self.brackets[r].items():
            pair = H[i, s] * column[j] - H[j, s] * column[i]
            if pair != 0:
                terms.append(e * pair)
        return sympy.Add(*terms)

    @cached_property
    def gamma(self) -> dict[tuple[int, int, int], Expr]:
        """(r, s, k) → γ^r_sk, nonzero entries, k = −1 for γ^r_s0; indices count π̇ first, then the constraints."""
        m, coefficients = len(self.w), {}
        columns = [list(self.H[:, k]) for k in range(m)]
        h0 = list(self.pseudo.h0)
        for r in range(m):
            free = self._free(r)
            for s in range(m):
                drift = sympy.Add(*(x * self.H[i, s] for i, x in enumerate(free) if x != 0 and self.H[i, s] != 0))
                entries = {k: self._contract(r, s, columns[k]) for k in range(m)} if self.brackets[r] else {}
                entries[-1] = drift + (self._contract(r, s, h0) if self.brackets[r] else 0)
                coefficients.update({(r, s, k): e for k, e in entries.items() if e != 0})
        return coefficients

    def _free(self, r: int) -> list[Expr]:
        """∂F_ri/∂t − ∂f_0r/∂q_i."""
        zero = dict.fromkeys(self.system.velocities, sympy.Integer(0))
        f0 = restricted((*self.pseudo.definitions, *self.pseudo.rows.first)[r], zero)
        f0_q = gradient(f0, self.system.coordinates)
        return [partial(t)(self.pseudo.Phi[r, i]) - slope for i, slope in enumerate(f0_q)]

    def inertia(self, s: int) -> Expr:
        """d/dt ∂T*/∂w_s − ∂T*/∂π_s + Σ_r ∂T*/∂w_r Γ_rs, on the constraints."""
        p = self.momenta
        slopes = [self.H[i, s] * T_q for i, T_q in enumerate(self.slopes) if self.H[i, s] != 0]
        turning = [p[r] * self.Gamma(r, s) for r in range(len(p))]
        return self.rate(p[s]) - sympy.Add(*slopes) + sympy.Add(*turning)

    def Gamma(self, r: int, s: int) -> Expr:
        """Γ_rs = Σ_k γ^r_sk w_k + γ^r_s0 on the constraints."""
        speeds = {-1: sympy.Integer(1), **dict(enumerate(self.pseudo.speeds))}
        return sympy.Add(*(self.gamma[r, s, k] * w for k, w in speeds.items() if (r, s, k) in self.gamma))

    def forces(self) -> list[Expr]:
        """Π_s = Σ_i H_is Q_i for all of w."""
        Q = Matrix([restricted(x, self.pseudo.velocities) for x in generalized_forces(self.system)])
        return [row_times(self.H.T, s, Q) for s in range(len(self.w))]


class SpeedFrame(QuasiFrame):
    """The same for w = F u + f_0 in quasi-velocities u with q̇ = N u + n0."""

    def shifts(self, expr: Expr) -> list[Expr]:
        slopes, rates = gradient(expr, self.system.coordinates), [self.system.rates[q] for q in self.system.coordinates]
        return [
            sympy.Add(*(partial(u)(rate) * d for rate, d in zip(rates, slopes, strict=True) if d != 0))
            for u in self.system.velocities
        ]

    @cached_property
    def gamma(self) -> dict[tuple[int, int, int], Expr]:
        """(r, s, k) → γ^r_sk from Γ_rs, affine in w."""
        _, _, C = twist(self.system)
        m, d_dt, coefficients = len(self.w), time_derivation(self.system.rates), {}
        column = Matrix(self.w)
        velocity = {v: row_times(self.H, i, column) + self.pseudo.h0[i] for i, v in enumerate(self.system.velocities)}
        zero_velocities = dict.fromkeys(self.w, sympy.Integer(0))
        F, defined = self.pseudo.Phi, (*self.pseudo.definitions, *self.pseudo.rows.first)
        for r in range(m):
            shifted = self.shifts(defined[r])
            row = [d_dt(F[r, a]) - shifted[a] - row_times(C.T, a, F[r, :].T) for a in range(m)]
            for s in range(m):
                Gamma = restricted(row_times(self.H.T, s, Matrix(row)), velocity)
                entries = {k: restricted(e, zero_velocities) for k, e in enumerate(gradient(Gamma, self.w))}
                entries[-1] = restricted(Gamma, zero_velocities)
                short = {k: shortened(collected(e, unit=True)) for k, e in entries.items()}
                coefficients.update({(r, s, k): e for k, e in short.items() if e != 0})
        return coefficients
