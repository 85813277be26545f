"""Averaging of vibro-impact systems after V. F. Zhuravlev (1978), (15) to (20), for one degree of freedom with one fold.

A folded system (`appell.forms.fold`) is continuous through its impacts. Without its small terms it moves as x = X(φ, r),
φ̇ = Ω(r) (`free_motion`); with them, ẍ = F(x, σ) + f(x, ẋ, σ, ψ), ψ̇ = ω, the same formulas with slow r are a change of
variables,

    X_r ṙ + X_φ (φ̇ − Ω) = 0          V_r ṙ + V_φ (φ̇ − Ω) = f          V = Ω X_φ                        (17), (18)
    ṙ = −X_φ f / D            φ̇ = Ω + X_r f / D            D = X_r V_φ − X_φ V_r = D(r)

and an impact with the restitution e = 1 − μ adds Δr = μ X_φ V/D, Δφ = −μ X_r V/D. Near the resonance m ω = n ν, ν the frequency
of s in the free motion (ν = 2Ω for one wall, Ω for two), the phase θ = m ψ − n (ν/Ω) φ is slow (19); r and θ obey the means

    ṙ = ⟨−X_φ f/D⟩ + Ω/2π Σ Δr            θ̇ = m ω − n ν(r) − n (ν/Ω) {⟨X_r f/D⟩ + Ω/2π Σ Δφ}            (20)

to first order in the small parameters. The means are exact, because the sign σ is constant on each sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import Any, overload

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol, cos, sin

from appell.analysis.fast_forcing import SlowSystem, vibrated
from appell.analysis.forcing import base_frequency
from appell.analysis.free_motion import FreeMotion, free_motion
from appell.analysis.means import integral
from appell.analysis.slow_motion import Averaged
from appell.analysis.smooth_motion import SecondOrder, SmoothOscillator
from appell.errors import ModelError
from appell.forms.fold.chart import free_name, names_of
from appell.forms.fold.fold import Fold, fold
from appell.jets import Coordinate, t
from appell.model import System
from appell.model.described import system_of
from appell.model.first_order import refuse_first_order
from appell.model.friction import refuse_friction
from appell.model.reset import refuse_resets
from appell.reading import shown, symbolic, text_of

Array = NDArray[np.float64]

@overload
def averaged(
    system: System, small: Sequence[Any], resonance: tuple[int, int] | None = None, *, face: Any = None, fast: None = None
) -> Averaged: ...


@overload
def averaged(
    system: System, small: Sequence[Any], resonance: tuple[int, int] | None = None, *, face: Any = None, fast: Any
) -> SlowSystem: ...


def averaged(
    system: System, small: Sequence[Any], resonance: tuple[int, int] | None = None, *, face: Any = None, fast: Any = None
) -> Averaged | SlowSystem:
    """The slow equations of a system to first order in its small parameters, and to second order where the first vanishes.

    Parameters
    ----------
    system: one degree of freedom, with one `Unilateral` or `Between`, or smooth (a spring with small terms); with fast= any
        number of degrees of freedom, smooth.
    small: the parameters that are small (damping, forcing, distance of the wall from the equilibrium, 1 − e, …), by symbol or
        name. Without them the motion between impacts must be one of `free_motion`, and the impacts elastic.
    resonance: (n, m): m ω = n ν, with ν the frequency of the free impacting motion; Zhuravlev's ω = 2kΩ is (k, 1). None: far
    from resonances, averaged over φ and ωt independently.
    face: the constraint to fold, where there are several.
    fast: the frequency of a fast forcing whose amplitudes are small=, as in Kapitza's pendulum: a ~ ε, ω ~ 1/ε.

    Returns
    -------
    `Averaged`: `.equations`, `.rates(r, theta, parameters)`, `.existence`; `ap.resonance` reads its stationary regimes. With
    fast= a `SlowSystem`: `.system`, which can be simulated, `.effective_potential`, `.equations`.
    """
    system = system_of(system, "ap.averaged")
    refuse_friction(system, "ap.averaged")
    refuse_resets(system, "ap.averaged")
    refuse_first_order(system, "ap.averaged")
    chosen, pair = _small_symbols(system, small), _resonance(resonance)
    if fast is not None:
        return vibrated(system, chosen, fast)
    folded = fold(system, face) if system.unilateral else SmoothOscillator(system)
    if folded.chart.y:
        names = ", ".join(str(y) for y in folded.chart.y)
        raise ModelError(f"averaging takes one degree of freedom; '{system.name}' has {names} besides the folded one")
    taken_names = names_of(system) | {folded.x.letter, folded.chart.s.letter}
    r = Coordinate(free_name(("r", "rho", "r_slow"), taken_names))
    theta = Coordinate(free_name(("theta", "vartheta", "theta_slow"), taken_names))
    phi, psi = sympy.Dummy("phi", real=True), sympy.Dummy("psi", real=True)
    radius = sympy.Dummy("r", positive=True)
    without_small: Any = dict.fromkeys(chosen, sympy.Integer(0))
    acceleration = folded.right_sides[folded.x.dd]
    undisturbed = sympy.simplify(acceleration.subs(without_small))
    smooth = isinstance(folded, SmoothOscillator)
    free = folded.free_motion(undisturbed, phi, radius) if smooth else free_motion(folded, undisturbed, phi, radius)
    terms = [_first_order(acceleration, chosen), _second_order(acceleration, chosen)]
    omega, (force,) = _forces_in_phase(terms[:1], psi, system.name)
    slow, order = _Means(folded, free, force, _restitution_loss(folded, chosen), psi), 1
    if pair is None:
        r_rate, correction = slow.off_resonance()
        if isinstance(folded, SmoothOscillator) and omega is None and r_rate == correction == 0:
            omega, (force, second) = _forces_in_phase(terms, psi, system.name)
            mean = integral(second, psi, sympy.Integer(0), 2 * sympy.pi) / (2 * sympy.pi)  # over ωt, independent of φ
            order, turning = 2, SecondOrder(folded, free, [force, mean], psi, free.frequency)
            r_rate, correction = turning.near_resonance(1, 1, theta)
        theta_rate = free.frequency + correction
    else:
        if omega is None and not (smooth and slow.off_resonance() == (0, 0)):
            raise ModelError(f"'{system.name}' has no resonance: nothing of the first order in small= depends on time")
        r_rate, correction = slow.off_resonance() if omega is None else slow.near_resonance(*pair, theta)
        if isinstance(folded, SmoothOscillator) and r_rate == correction == 0:
            omega, forces = _forces_in_phase(terms, psi, system.name)
            if omega is not None:
                order, (r_rate, correction) = 2, SecondOrder(folded, free, forces, psi, omega).near_resonance(*pair, theta)
        if omega is None:
            raise ModelError(f"'{system.name}' has no resonance: nothing to the second order in small= depends on time")
        if not (sympy.simplify(r_rate).has(theta) or sympy.simplify(correction).has(theta)):
            n, m = pair
            raise ModelError(
                f"there is no resonance {m} ω = {n} ν of the first order: the mean of the forcing over {m} periods is zero"
                " whatever the phase"
            )
        n, m = pair
        theta_rate = m * omega - n * free.turns * (free.frequency + correction)
    slow_r, slow_theta = (symbolic(_collected(rate, theta).xreplace({radius: r}), "a rate") for rate in (r_rate, theta_rate))
    free = _with_symbol(free, radius, r)  # type: ignore[arg-type]
    return Averaged(system, chosen, pair, r, theta, omega, slow_r, slow_theta, folded, free, order)


class _Means:
    """Means over the free motion of the effects of f and the impacts on r and φ."""

    def __init__(self, folded: Fold | SmoothOscillator, free: FreeMotion, force: Expr, loss: Expr, psi: Symbol):
        self.free, self.psi = free, psi
        phi, r = free.phi, free.r
        self.rates_of_pieces = []
        self.jumps = [sympy.Integer(0), sympy.Integer(0)]
        kappa = {a: sympy.Dummy("kappa", positive=True) for a in _arcs(free)}
        self.arc_of_symbol = {v: k for k, v in kappa.items()}
        for piece in free.pieces:
            X, Omega = piece.X, free.frequency
            V = Omega * sympy.diff(X, phi)
            X_r, X_phi, V_r, V_phi = (sympy.diff(e, z) for e in (X, V) for z in (r, phi))
            D = sympy.simplify(X_r * V_phi - X_phi * V_r)
            f = force.xreplace({folded.sigma: sympy.Integer(piece.sigma)}).xreplace({folded.x: X, folded.x.d: V})
            rates = [(-X_phi * f / D).xreplace(kappa), (X_r * f / D).xreplace(kappa)]
            self.rates_of_pieces.append((piece, rates))
            for i, jump in enumerate((X_phi * V / D, -X_r * V / D)):
                self.jumps[i] += loss * sympy.simplify(jump.subs(phi, piece.upper)) * Omega / (2 * sympy.pi)

    def near_resonance(self, n: int, m: int, theta: Symbol) -> tuple[Expr, Expr]:
        """⟨ṙ⟩ and ⟨φ̇ − Ω⟩ with m ψ = n (ν/Ω) φ + θ."""
        phi, means = self.free.phi, []
        for i in range(2):
            total = sympy.Integer(0)
            for turn in range(m):
                for piece, rates in self.rates_of_pieces:
                    shifted = (n * self.free.turns * (phi + 2 * sympy.pi * turn) + theta) / m
                    integrand = rates[i].xreplace({self.psi: sympy.expand(shifted)})
                    total += integral(integrand, phi, piece.lower, piece.upper)
            means.append((total / (2 * sympy.pi * m)).xreplace(self.arc_of_symbol) + self.jumps[i])
        return means[0], means[1]

    def off_resonance(self) -> tuple[Expr, Expr]:
        """⟨ṙ⟩ and ⟨φ̇ − Ω⟩ over φ and ψ."""
        phi, means = self.free.phi, []
        for i in range(2):
            total = sympy.Integer(0)
            for piece, rates in self.rates_of_pieces:
                mean = integral(rates[i], self.psi, sympy.Integer(0), 2 * sympy.pi) / (2 * sympy.pi)
                total += integral(mean, phi, piece.lower, piece.upper)
            means.append((total / (2 * sympy.pi)).xreplace(self.arc_of_symbol) + self.jumps[i])
        return means[0], means[1]


def _arcs(free: FreeMotion) -> set[Expr]:
    """asin(π/2r), treated as one symbol during integration."""
    return free.frequency.atoms(sympy.asin)


def _with_symbol(free: FreeMotion, old: Symbol, new: Symbol) -> FreeMotion:
    pieces = tuple(replace(piece, X=piece.X.xreplace({old: new})) for piece in free.pieces)
    return replace(free, r=new, pieces=pieces, frequency=free.frequency.xreplace({old: new}))


def _collected(rate: Expr, theta: Symbol) -> Expr:
    """A rate collected by cos θ and sin θ, each coefficient in its shortest form."""
    expanded = sympy.expand(sympy.expand_trig(rate))
    B, C = (expanded.coeff(wave, 1) for wave in (cos(theta), sin(theta)))
    A = sympy.expand(expanded - B * cos(theta) - C * sin(theta))
    short = lambda e: sympy.factor_terms(sympy.simplify(e))
    if any(coefficient.has(theta) for coefficient in (A, B, C)):
        return short(rate)
    return sympy.Add(short(A), short(B) * cos(theta), short(C) * sin(theta))


def _small_symbols(system: System, small: Sequence[Any]) -> tuple[Symbol, ...]:
    """The small parameters as symbols of the system."""
    if isinstance(small, str) or not isinstance(small, Sequence | set | frozenset) or not small:
        raise ModelError("name the small parameters: small=[h, eps, …]; averaging is of the first order in them")
    by_name = {str(p): p for p in system.parameters}
    unknown = [text_of(p) for p in small if text_of(p) not in by_name]
    if unknown:
        raise ModelError(f"small= names {unknown[0]}, which is no parameter of '{system.name}'; it has {', '.join(by_name)}")
    return tuple(by_name[text_of(p)] for p in small)


def _resonance(pair: Any) -> tuple[int, int] | None:
    if pair is None:
        return None
    try:
        n, m = (int(k) for k in pair)
        integral_pair = (n, m) == tuple(pair)
    except Exception:  # foreign objects may raise anything
        integral_pair = False
        n = m = 0
    if not integral_pair or n < 1 or m < 1:
        raise ModelError(f"resonance={shown(pair)}: give (n, m), two positive whole numbers, for m ω = n ν")
    if (common := gcd(n, m)) != 1:
        raise ModelError(f"resonance={shown(pair)} has a common factor; it is that of {(n // common, m // common)}")
    return n, m


def _first_order(expr: Expr, small: Sequence[Symbol]) -> Expr:
    """The terms of an expression of the first order in the small parameters."""
    at_zero: Any = dict.fromkeys(small, sympy.Integer(0))
    return sympy.Add(*(p * sympy.diff(expr, p).subs(at_zero) for p in small))


def _second_order(expr: Expr, small: Sequence[Symbol]) -> Expr:
    """The terms of an expression of the second order in the small parameters."""
    at_zero: Any = dict.fromkeys(small, sympy.Integer(0))
    pairs = ((p, q) for p in small for q in small)
    return sympy.Add(*(p * q * sympy.diff(expr, p, q).subs(at_zero) / 2 for p, q in pairs))


def _forces_in_phase(forces: Sequence[Expr], psi: Symbol, name: str) -> tuple[Expr | None, list[Expr]]:
    """(ω, forces in ψ = ωt), with ω of the first force that depends on time, in sines and cosines of multiples of ω; the
    other forces may have any frequency."""
    omega = next((w for w in (base_frequency([force], name) for force in forces) if w is not None), None)
    if omega is None:
        return None, list(forces)
    waves = [e for force in forces for e in force.atoms(sin, cos) if e.has(t)]
    in_phase = lambda e: e.func(sympy.expand(sympy.simplify(e.args[0].xreplace({t: psi / omega}))))
    rewritten = [force.xreplace({e: in_phase(e) for e in waves}) for force in forces]
    for force, force_in_phase in zip(forces, rewritten, strict=True):
        if force_in_phase.has(t):
            base_frequency([force], name)  # raises, and says where else time occurs
    return omega, rewritten  # type: ignore[return-value]


def _restitution_loss(folded: Fold | SmoothOscillator, small: Sequence[Symbol]) -> Expr:
    """1 − e to the first order; e must be 1 without the small parameters."""
    e = symbolic(folded.restitution, "a restitution")
    at_rest = sympy.simplify(e.subs(dict.fromkeys(small, sympy.Integer(0))))
    if at_rest != 1:
        name = getattr(folded, "source", folded.origin).name
        raise ModelError(
            f"the restitution of '{name}' is {at_rest} without the small parameters; averaging starts from"
            " elastic impacts: write restitution=1 − mu with mu in small="
        )
    return -_first_order(e, small)
