"""Terms of a flow with friction, as graph expressions.

Slips, the numbers of a mode, bound and direction of each friction, and forces that contain multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Dummy, Integer

from appell.graph.algebra import (
    Value,
    block_matrix,
    column,
    derivative_along,
    jacobian,
    pattern,
    substitute,
    symbols,
    take,
    used,
    zeros,
)
from appell.graph.sizes import sizes
from appell.model import System
from appell.model.friction import SPEED, Friction
from appell.model.friction_load import load_of, multipliers_in, with_slope
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.normal_form import NormalForm
from appell.normal_form.reaction_laws import Law

SPEED_OFFSET = 1e-140
"""Added to speeds that are divided by: its square is still a number, and it changes no speed beyond rounding."""


@dataclass(frozen=True, eq=False)
class Slips:
    """Slips s of all frictions and the sizes of their terms, (parts,): s = D v + …, ṡ = D a + γ."""

    s: Value
    D: Value
    gamma: Value
    size: Value

    @staticmethod
    def of(system: System, form: NormalForm) -> Slips:
        t, q, v, qd = form.inputs["t"], form.inputs["q"], form.inputs["v"], form["qd"]
        s = column(*(form.lower(e) for fr in system.frictions for e in fr.slip))
        size = sizes([s], [form.inputs[x] for x in "tqvp"])[0]
        return Slips(s, jacobian(s, v), derivative_along(s, [t, q], [1, qd]), size)


@dataclass(frozen=True, eq=False)
class ReactionForces:
    """M a = r + E F(λ) + W λ with the multipliers λ of all rows, (R,). W includes laws affine in λ; F holds the others.

    Parameters
    ----------
    W: (nv, R), directions of the reactions of constraints, faces and frictions. r: (nv,), Q − h without the law.
    lam, F, places: a nonlinear law, its forces at the velocities `places` as functions of `lam` (R,); None without one.
    """

    W: Value
    r: Value
    lam: Value
    F: Value | None = None
    places: tuple[int, ...] = ()

    @staticmethod
    def of(form: NormalForm, slips: Slips) -> ReactionForces:
        directions = slips.D.T if form.friction_law is None else slips.D.T + form.friction_law.slope
        open_forces = form.open_forces
        if open_forces is None:
            return ReactionForces(block_matrix([[form["W"], form["g_w"], directions]]), form["Q"] - form["h"], zeros(0))
        W = form["W"] if form.law is None else form["W"] - form.law.slope
        pull = form["Q"] - (form["forces"] if form.law is None else form.law.rest)
        places = tuple(sorted({i for i, _ in pattern(jacobian(open_forces.forces, open_forces.lam))}))
        rest = column(*(Value(0) if i in places else open_forces.forces[i] for i in range(form.nv)))
        F = column(*(open_forces.forces[i] for i in places))
        return ReactionForces(
            block_matrix([[W, form["g_v"].T, slips.D.T]]), pull + rest - form["h"], open_forces.lam, F, places
        )

    def law(self, layout: FrictionLayout, n: int, friction_forces: Any, pushed: Any) -> Law | None:
        """The nonlinear law of a saddle point with n velocities, as a function of its multipliers.

        friction_forces: multipliers → λ of the frictions. pushed: multipliers → forces (nv,) of frictions that slide under
        several.
        """
        if self.F is None and not layout.loaded:
            return None
        lam = symbols("lam_rows", layout.rows)
        forces = pushed(lam)
        if self.F is not None:
            F = substitute(self.F, [self.lam], [column(take(lam, range(layout.m + layout.faces)), friction_forces(lam))])
            for k, i in enumerate(self.places):
                forces[i] += F[k]
        places = tuple(sorted({i for i, _ in pattern(jacobian(forces, lam))} | set(self.places)))
        F = take(forces, places)
        return Law(lam, tuple(used(F, lam)), places, F, False, zeros(n), zeros(n, layout.rows), True)

    def at(self, form: NormalForm) -> tuple[Value, Value]:
        """(F, ∂F/∂λ) at all velocities, (nv,) and (nv, R)."""
        assert self.F is not None
        E = zeros(form.nv, len(self.places))
        for k, i in enumerate(self.places):
            E[i, k] = 1
        return E @ self.F, E @ jacobian(self.F, self.lam)

    def power(self, form: NormalForm, rows: Value, v: Value) -> Value:
        """Power of a nonlinear law in addition to `form["power"]`, in which faces and frictions have no reactions.

        rows: λ of all rows.
        """
        if self.F is None:
            return Value(0)
        idle = column(take(rows, range(form.m)), zeros(self.lam.numel() - form.m))
        added = substitute(self.F, [self.lam], [rows]) - substitute(self.F, [self.lam], [idle])
        return sum((added[k] * v[i] for k, i in enumerate(self.places)), Value(0))


class ModeNumbers:
    """The numbers of a mode, as graph symbols."""

    def __init__(self, layout: FrictionLayout):
        self.all = symbols("mode", layout.data)
        edges = np.cumsum([0, layout.rows, layout.count, layout.count, layout.count, sum(layout.parts)])
        block = lambda k: self.all[int(edges[k]) : int(edges[k + 1])]
        self.act, self.slide, self.sign, self.fixed, self.direction = (block(k) for k in range(5))


def _at_speed(form: NormalForm, e: Any, speed: Value) -> Value:
    """An expression with `speed` in place of the slip speed."""
    if SPEED not in e.free_symbols:
        return form.lower(e)
    letter = Dummy(nonnegative=True)
    form.lower.bind({letter: speed})
    return form.lower(e.xreplace({SPEED: letter}))


def bounds(form: NormalForm, fr: Friction, speed: Value) -> tuple[Value, Value]:
    """μ or F, sliding and at rest; 1 for a limit with multipliers, which is treated as a load."""
    if multipliers_in(fr.limit):
        return Value(1), Value(1)
    moving: Any = fr.coefficient if fr.limit is None else fr.limit
    static: Any = moving if fr.static is None else fr.static
    return _at_speed(form, moving, speed), _at_speed(form, static.xreplace({SPEED: Integer(0)}), speed)


def load(system: System, form: NormalForm, i: int, speed: Value, lam: Value) -> tuple[Value, Value] | None:
    """Load L of friction i, sliding and at rest, for the multipliers `lam` (R,); None under a single reaction."""
    stated = load_of(system, i)
    if stated is None:
        return None
    rows = {c.multiplier: row for row, c in enumerate(system.constraints)}
    letters: dict[Any, Any] = {x: Dummy(real=True) for x in multipliers_in(stated)}
    form.lower.bind({letter: lam[rows[x]] for x, letter in letters.items()})
    sloped: Any = with_slope(stated)
    moving, static = (_at_speed(form, e.xreplace(letters), speed) for e in (sloped, sloped.xreplace({SPEED: Integer(0)})))
    return moving, static


def regularised(form: NormalForm, fr: Friction, s: Value) -> Value:
    """s/√(|s|² + ε²) of a regularised friction; zero for others."""
    return 0 * s if fr.regularise is None else s / (s.T @ s + form.lower(fr.regularise) ** 2) ** 0.5


@dataclass(frozen=True, eq=False)
class CoulombTerms:
    """u and μ (or F) of a friction, sliding and at rest."""

    u: Value
    moving: Value
    static: Value
    normal: int | None
    sign: Value
    lam: Value  # (R,), arguments of the loads
    loads: tuple[Value, Value] | None  # L, sliding and at rest

    @staticmethod
    def of(system: System, form: NormalForm, layout: FrictionLayout, slips: Slips, mode: ModeNumbers, i: int) -> CoulombTerms:
        fr, s, direction = system.frictions[i], slips.s[layout.columns(i)], mode.direction[layout.columns(i)]
        if fr.regularise is not None:
            u, speed = regularised(form, fr, s), (s.T @ s + SPEED_OFFSET**2) ** 0.5
        elif layout.parts[i] == 1:
            u, speed = direction, direction * s
        else:
            speed = (s.T @ s + SPEED_OFFSET**2) ** 0.5
            u = mode.fixed[i] * direction + (1 - mode.fixed[i]) * s / speed
        lam = symbols("lam_load", layout.rows)
        return CoulombTerms(
            u, *bounds(form, fr, speed), layout.normals[i], mode.sign[i], lam, load(system, form, i, speed, lam)
        )  # fmt: skip

    def bound(self, lam: Value, *, static: bool = False) -> Value:
        """μ σ Λ_N, μ L(λ) or F."""
        size = self.static if static else self.moving
        if self.loads is not None:
            return size * substitute(self.loads[int(static)], [self.lam], [lam])
        return size if self.normal is None else size * self.sign * lam[self.normal]


__all__ = ["SPEED_OFFSET", "CoulombTerms", "ModeNumbers", "ReactionForces", "Slips", "bounds", "load", "regularised"]
