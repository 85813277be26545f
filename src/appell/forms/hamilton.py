"""Hamilton's canonical equations, with multipliers or in quasi-momenta.

    q̇_i = ∂H/∂p_i,      ṗ_i = −∂H/∂q_i + Q'_i + Σ Λ_k W_ki,          p = ∂T/∂q̇,   H(t, q, p) = p·q̇ − T + V

H = ½ (p − b)·M⁻¹(p − b) − T0 + V for T = ½ q̇·Mq̇ + b·q̇ + T0; Q' are the forces that have no potential. With pseudo-velocities w,
q̇ = Σ_k h_k w_k + h_0 on the constraints, T~(t, q, w) and the quasi-momenta p_s = ∂T~/∂w_s give H_c(t, q, p) and (van der Schaft
and Maschke 1994; with h_0 and time here)

    w_s = ∂H_c/∂p_s,    ṗ_s = −X_s H_c + Π'_s + P·( Σ_k w_k [h_k, h_s] + [h_0, h_s] + ∂h_s/∂t ),

with X_s = Σ_i h_is ∂/∂q_i, P_i = ∂T/∂q̇_i on the constraints and [X, Y] = (∂Y/∂q) X − (∂X/∂q) Y. Without brackets there is no
curvature: a holonomic system. Where M⁻¹ is long (three links of a chain), velocities stay in the equations instead: M q̇ + b =
p, and −∂H/∂q_i = ∂(T − V)/∂q_i at these velocities. Derivation: p_s = P·h_s, Ṗ_i = ∂T/∂q_i + Q_i + …, and X_s T~ = Σ_i h_is
(∂T/∂q_i + P·∂q̇/∂q_i).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable
from appell.forms.base import Equations, Form
from appell.forms.engine.added_names import with_stem
from appell.forms.engine.constraint_rows import needs_affine, refusal
from appell.forms.engine.derivation import Derivation, gradient, partial, restricted, time_derivation
from appell.forms.engine.kinetic_degrees import Quadratic, is_short
from appell.forms.engine.matrices import Table, row_times
from appell.forms.engine.pseudo import PseudoVelocities, liberated, needs_coordinates, suggest
from appell.forms.engine.system_terms import (
    acceleration_rows,
    directions,
    equation,
    generalized_forces,
    multiplier_symbols,
    nonlinear_rows,
    reason_against_states_in_rows,
    state_rates,
)
from appell.forms.engine.worked_steps import NO_RULE, LeftSide, Line, Stage, indexed, slopes_of
from appell.jets import Speed, t
from appell.model import System
from appell.spelling import checked_keywords


class Hamilton(Form):
    """Canonical equations in q and p, for a regular mass matrix."""

    name = "hamilton"
    source = "Hamilton (1835); van der Schaft and Maschke (1994)"
    variants = ((), ("pseudo",))

    def reason_against(self, system: System, **options: Any) -> str | None:
        if needs_coordinates(system):
            return "its velocities are speeds of their own; use ap.forms.poincare_chetaev"
        if nonlinear_rows(system):
            return "a constraint is nonlinear in the accelerations; use ap.forms.gauss"
        if options.get("pseudo") is not None:
            affine = needs_affine(system, "quasi-momenta need q̇ affine in the pseudo-velocities; leave pseudo= out")
            affine = affine or reason_against_states_in_rows(system, "brackets of fields are functions of t and q")
            return affine or refusal(system, "Hamilton's form with quasi-momenta")
        if not Quadratic.of(system.kinetic, system.velocities).regular():
            return "its mass matrix is singular, so that q̇ does not follow from p; use ap.forms.lagrange"
        return None

    def derive(self, system: System, *, pseudo: Mapping[str, Any] | None = None, **options: Any) -> Equations:
        return _with_multipliers(self, system) if pseudo is None else _reduced(self, PseudoVelocities.of(system, pseudo))

    def worked(self, equations: Equations) -> Iterator[Stage]:
        system, H, p = equations.system, equations.objects["H"], equations.objects["p"]
        momenta = [Line(s, value) for s, value in equations.definitions.items()]
        yield Stage("Momenta", LeftSide(r"p_i = \partial T/\partial\dot q_i", "p_i = ∂T/∂q̇_i"), tuple(momenta))
        kinematics = tuple(Line(e.lhs, e.rhs) for e in equations.kinematics)  # type: ignore[arg-type]
        yield Stage("Velocities in the momenta", LeftSide(r"\dot q_i = \partial H/\partial p_i", "q̇_i = ∂H/∂p_i"), kinematics)
        rule = LeftSide(r"H = p\cdot\dot q - T + V", "H = p·q̇ − T + V")
        yield Stage("Hamilton's function", rule, (Line(LeftSide("H", "H"), H),))
        if not H.has(*system.velocities):
            yield Stage("Its derivatives by the coordinates", NO_RULE, slopes_of("H", H, system.coordinates))
            yield Stage("Its derivatives by the momenta", NO_RULE, slopes_of("H", H, p))
        forces = [(q, Q) for q, Q in zip(system.coordinates, system.forces, strict=True) if Q != 0]
        yield Stage("Forces without a potential", NO_RULE, tuple(Line(indexed("Q'", q), Q) for q, Q in forces))

    def default(self, system: System, option: str) -> Any:
        """Pseudo-velocities for `agree`."""
        return suggest(system)


@checked_keywords()
def hamilton(system: System, pseudo: Mapping[str, Any] | None = None) -> Equations:
    """Hamilton's canonical equations; with `pseudo` in the quasi-momenta of the pseudo-velocities, without multipliers.

    Objects: H, p (the momenta); with `pseudo` also brackets: (k, s) → P·[h_k, h_s].
    """
    return Hamilton()(system, pseudo=pseudo)


class Canonical:
    """p_s = ∂T/∂w_s = (M w + b)_s, w = M⁻¹(p − b), H = ½ (p − b)·w − T0 + V.

    Where M⁻¹ is long, `names_velocities`, w stay in the equations in place of M⁻¹(p − b), with M w + b = p: −∂H/∂q at fixed p
    is ∂(T − V)/∂q at fixed w. Where M⁻¹ cannot be written at all, they also stay in H.
    """

    def __init__(self, T: Expr, V: Expr, velocities: tuple[Symbol, ...], p: tuple[Any, ...]):
        quadratic = Quadratic.of(T, velocities)
        if not quadratic.regular():
            raise FormNotApplicable("the mass matrix of these velocities is singular, so that they do not follow from p")
        inverse = quadratic.written_inverse()
        shifted: Any = Matrix([p_i - b_i for p_i, b_i in zip(p, quadratic.b, strict=True)])
        self.p, self.names_velocities, self._lagrangian = p, not is_short(inverse), T - V
        self.momenta = dict(zip(p, gradient(T, velocities), strict=True))
        self._velocity_sums = dict(zip(p, quadratic.times(velocities), strict=True))
        w = velocities if inverse is None else [row_times(inverse, i, shifted) for i in range(len(velocities))]
        self.H = sympy.Add(*(x * w_s for x, w_s in zip(shifted, w, strict=True))) / 2 - quadratic.T0 + V
        self.velocities = dict(zip(velocities, velocities if self.names_velocities else w, strict=True))

    def forces(self, coordinates: Sequence[Symbol]) -> list[Expr]:
        """−∂H/∂q."""
        return gradient(self._lagrangian, coordinates) if self.names_velocities else [-e for e in gradient(self.H, coordinates)]

    def lifted(self, accelerations: Sequence[Symbol], d_dt: Derivation) -> tuple[Any, ...]:
        """d/dt of w = M⁻¹(p − b), or of p = M w + b."""
        if self.names_velocities:
            return tuple(equation(p.d, d_dt(e)) for p, e in self._velocity_sums.items())
        return tuple(equation(a, d_dt(w)) for a, w in zip(accelerations, self.velocities.values(), strict=True))

    def kinematics(self) -> tuple[Any, ...]:
        """The definition of w, where they are named: p = M w + b."""
        return tuple(equation(p, e) for p, e in self._velocity_sums.items()) if self.names_velocities else ()


def momentum_symbols(system: System, names: list[str]) -> tuple[Any, ...]:
    """p, named after their velocities."""
    return tuple(map(Speed, with_stem(system, "p", names)))


# -- with multipliers --------------------------------------------------------------------------------------------------


def _with_multipliers(form: Form, system: System) -> Equations:
    p = momentum_symbols(system, [q.letter for q in system.coordinates])
    canonical = Canonical(system.kinetic, system.potential, system.velocities, p)
    velocities, lam = canonical.velocities, multiplier_symbols(system)
    in_p = lambda e: restricted(e, velocities)
    W = directions(system)
    right = [
        force + in_p(Q) + sympy.Add(*(x * in_p(W_k[i]) for x, W_k in zip(lam, W, strict=True)))
        for i, (force, Q) in enumerate(zip(canonical.forces(system.coordinates), system.forces, strict=True))
    ]
    rates = {q: velocities[q.d] for q in system.coordinates} | state_rates(system, velocities)
    lifted = canonical.lifted(system.accelerations, time_derivation(rates))
    return Equations(
        route=form,
        system=system,
        provenance="canonical equations of H = p·q̇ − T + V, with multipliers; Hamilton (1835)",
        equations=tuple(equation(p_i.d, e) for p_i, e in zip(p, right, strict=True)),
        rows=(*lifted, *(equation(in_p(r), 0) for r in acceleration_rows(system))),
        unknowns=(*system.accelerations, *(p_i.d for p_i in p), *lam),
        multipliers=lam,
        kinematics=_kinematics(canonical, system, rates),
        definitions=canonical.momenta,
        written_in=p,
        objects={"H": canonical.H, "p": p, "implied": lifted},
    )


def _kinematics(canonical: Canonical, system: System, rates: Mapping[Any, Expr]) -> tuple[Any, ...]:
    """q̇ = ∂H/∂p, or p = M w + b where w are named; then the rates of states."""
    sums = canonical.kinematics()
    first = sums or tuple(equation(q.d, rates[q]) for q in system.coordinates)
    return (*first, *(equation(s.d, rates[s]) for s in system.states))


# -- in quasi-momenta --------------------------------------------------------------------------------------------------


def _reduced(form: Form, pseudo: PseudoVelocities) -> Equations:
    pseudo.require_affine("Hamilton's form with quasi-momenta")
    system, n = pseudo.system, pseudo.n
    p = momentum_symbols(system, [s.letter for s in pseudo.speeds])
    canonical = Canonical(restricted(system.kinetic, pseudo.velocities), system.potential, pseudo.speeds, p)
    w = canonical.velocities
    in_p = lambda e: restricted(restricted(e, pseudo.velocities), w)
    P = [in_p(P_i) for P_i in gradient(system.kinetic, system.velocities)]
    curving = _Brackets(system, pseudo.h, pseudo.h0, P)
    F = Matrix([in_p(Q) for Q in system.forces])
    slopes = Matrix(canonical.forces(system.coordinates))
    right = [
        row_times(pseudo.h.T, s, slopes) + row_times(pseudo.h.T, s, F) + curving.drift(s)
        + sympy.Add(*(w_k * curving(k, s) for k, w_k in enumerate(w.values())))
        for s in range(n)
    ]  # fmt: skip
    rates: dict[Any, Expr] = {q: restricted(rate, w) for q, rate in pseudo.rates.items()}
    lifted = canonical.lifted(pseudo.accelerations, time_derivation(rates))
    lam, rows, extra = liberated(pseudo, _newton(system))
    new = [a for a in pseudo.accelerations if a not in system.accelerations]
    return Equations(
        route=form,
        system=system,
        provenance="canonical equations in quasi-momenta with brackets of fields; van der Schaft and Maschke (1994)",
        equations=tuple(equation(p_s.d, e) for p_s, e in zip(p, right, strict=True)),
        rows=(*lifted, *pseudo.closing(), *rows),
        unknowns=(*system.accelerations, *new, *(p_s.d for p_s in p), *extra),
        multipliers=lam,
        kinematics=(*canonical.kinematics(), *(equation(q.d, rate) for q, rate in rates.items())),
        definitions={**pseudo.values(), **canonical.momenta},
        written_in=p,
        solved_block=pseudo.solved_block,
        objects={
            "H": canonical.H,
            "p": p,
            "brackets": {(k, s): curving(k, s) for k in range(n) for s in range(n)},
            "pseudo": pseudo,
            "implied": lifted,
        },
    )


def _newton(system: System) -> list[Expr]:
    """Ṗ_i − ∂T/∂q_i − Q_i of the free momenta, balanced by the reactions, (nv,)."""
    d_dt, P = time_derivation(system.rates), gradient(system.kinetic, system.velocities)
    slopes = gradient(system.kinetic, system.coordinates)
    return [d_dt(P_i) - T_q - Q for P_i, T_q, Q in zip(P, slopes, generalized_forces(system), strict=True)]


class _Brackets:
    """P·[h_k, h_s] and P·([h_0, h_s] + ∂h_s/∂t)."""

    def __init__(self, system: System, h: Table, h0: Table, P: list[Expr]):
        self.q, self.h, self.h0, self.P = system.coordinates, h, h0, P
        self.slopes = [[gradient(h[i, s], self.q) for i in range(h.shape[0])] for s in range(h.shape[1])]
        self.slopes0 = [gradient(h0[i], self.q) for i in range(h.shape[0])]

    def __call__(self, k: int, s: int) -> Expr:
        return self._along(list(self.h[:, k]), self.slopes[k], s) if k != s else sympy.Integer(0)

    def drift(self, s: int) -> Expr:
        """P·([h_0, h_s] + ∂h_s/∂t)."""
        d_t = partial(t)
        moving = sympy.Add(*(P_i * d_t(self.h[i, s]) for i, P_i in enumerate(self.P)))
        return moving + self._along(list(self.h0), self.slopes0, s)

    def _along(self, X: list[Any], X_q: list[list[Any]], s: int) -> Expr:
        terms = []
        for i, P_i in enumerate(self.P):
            forth = sympy.Add(*(x * y for x, y in zip(self.slopes[s][i], X, strict=True) if x != 0 and y != 0))
            back = sympy.Add(*(X_q[i][j] * self.h[j, s] for j in range(len(X)) if X_q[i][j] != 0 and self.h[j, s] != 0))
            terms.append(P_i * (forth - back))
        return sympy.Add(*terms)
