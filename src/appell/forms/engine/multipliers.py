"""Equations with multipliers, E_i = Q_i + Σ Λ_k W_ki, from an inertia E_i that a form has derived by its own route.

    E_i(t, q, v, a) = Q_i + Σ Λ_k W_ki            r_k(t, q, v, a) = 0            W = ∂r/∂a, or as given by `reaction=`

The common part of Lagrange's, Nielsen's, Tsenov's, Gauss's and Appell's forms, after the inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.forms.base import Equations, Form
from appell.forms.engine import expanded
from appell.forms.engine.derivation import Replacement
from appell.forms.engine.system_terms import (
    acceleration_rows,
    directions,
    equation,
    generalized_forces,
    kinematics_of,
    multiplier_symbols,
    nonlinear_rows,
)
from appell.model import System
from appell.remember import Later
from appell.tidy import collected


def with_multipliers(
    form: Form,
    system: System,
    inertia: Sequence[Expr],
    provenance: str,
    objects: Mapping[str, Any] | None = None,
    short: bool = False,
) -> Equations:
    """E_i = Q_i + Σ Λ_k W_ki, closed by the constraints at the level of accelerations. Short expressions are collected.

    `short`: the inertia is already collected.
    """
    E, lam = inertia if short else [collected(E_i) for E_i in inertia], multiplier_symbols(system)
    forces = expanded.forces(system, lam)
    shortest = short and forces is not None and expanded.are_shortest(system)
    criterion = None
    if nonlinear_rows(system):
        a = system.accelerations
        criterion = Later(lambda: without_free_terms(E, a) - work(generalized_forces(system), a))
        provenance += "; of its several roots the one of least Z, sought by Newton from many starts (not proven)"
    return Equations(
        route=form,
        system=system,
        provenance=provenance,
        equations=tuple(equation(E_i, Q_i) for E_i, Q_i in zip(E, forces or _forces(system, lam), strict=True)),
        unknowns=(*system.accelerations, *lam),
        multipliers=lam,
        rows=Later(lambda: tuple(equation(collected(r), 0) for r in acceleration_rows(system))),
        kinematics=kinematics_of(system),
        objects=Later(lambda: {"generalized_forces": generalized_forces(system), **(objects or {})}),
        criterion=criterion,
        collected=True,
        shortest=shortest,
    )


def _forces(system: System, lam: Sequence[Symbol]) -> list[Expr]:
    """Q_i + Σ Λ_k W_ki, collected where short."""
    Q, W = generalized_forces(system), directions(system)
    work = lambda i: sympy.Add(*(lam_k * W_k[i] for lam_k, W_k in zip(lam, W, strict=True)))
    return [collected(Q_i + work(i)) for i, Q_i in enumerate(Q)]


def without_free_terms(slopes: Sequence[Expr], accelerations: Sequence[Symbol]) -> Expr:
    """S = ½ Σ a_s (S_s + S_s|_{a=0}) from S_s = ∂S/∂a_s: the quadratic function with this gradient and S(0) = 0."""
    at_rest = Replacement(dict.fromkeys(accelerations, sympy.Integer(0)))
    return sympy.Add(*(a * (S_s + at_rest(S_s)) / 2 for a, S_s in zip(accelerations, slopes, strict=True)))


def work(Q: Sequence[Expr], accelerations: Sequence[Symbol]) -> Expr:
    """Q·a."""
    return sympy.Add(*(Q_i * a for Q_i, a in zip(Q, accelerations, strict=True)))
