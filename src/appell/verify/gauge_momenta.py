"""Momenta about an axis of a body that are conserved times a function of its attitude.

    I = w √P(u),        w = J_3 ω_3,    u = e_3 · e_z,        dI/dt = 0    ⇔    2 ẇ P + w Ṗ = 0,    P = Σ c_j u^j

The condition is linear in c. A ball that rolls on a plane, its centre of mass off its centre on an axis of symmetry, has
ω_3 √(A C + m (A R² sin²θ + C (R cos θ + a)²)) (Routh 1884): the momentum of the rotation about its own axis, which is not
compatible with the constraints, times a function of the position: a gauge momentum (Bates, Graumann, MacDonnell 1996).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr

from appell.forms.engine.derivation import time_derivation
from appell.forms.engine.display import simplified
from appell.model import RigidBody, System
from appell.rows import null_space
from appell.verify.conserved import RATE_ROUNDING, ConservedMomentum, StateBatch, confirmation, scattered
from appell.verify.pfaffian_integrals import rational, reduced

Array = NDArray[np.float64]

GAUGE_DEGREE = 2
"""Degree of P: lengths are squared, and so are cosines."""
LETTERS_DEGREE = 4
"""Degree of P in the parameters: m A R²."""
GAUGE_UNKNOWNS = 240
"""Largest number of monomials of parameters times powers of u for a symbolic P."""


def gauge_momenta(batch: StateBatch, given: Mapping[Any, Any]) -> list[ConservedMomentum]:
    """Gauge momenta of bodies with an axis of symmetry, with symbolic P; batch and given as in `conserved_momenta`."""
    system, momenta = batch.run.system, []
    if not system.bodies or system.kinetic_given != 0 or not system.constraints or system.unilateral:
        return []
    for body, k in _axes(system):
        w = system.in_velocities(body.inertia[k, k] * body.omega(system.rates)[k])
        for axis, u in zip("zxy", (body.orientation.rotation[i, k] for i in (2, 0, 1)), strict=True):
            columns = _columns(system, w, u)
            if len(_null(batch, columns, [sympy.Integer(1)])) != 1 or not np.ptp(batch.values(u)):
                continue
            P = _in_letters(batch, columns, u)
            momentum = None if P is None else w / body.inertia[k, k] * sympy.sqrt(P)
            if momentum is not None and confirmation(system, given)(momentum):
                symmetry = f"a turn of {body.name} about its own {'xyz'[k]} axis, times a function of its tilt to {axis}"
                momenta.append(ConservedMomentum(simplified(w / body.inertia[k, k], 0.3) * sympy.sqrt(P), symmetry))
                break
    return momenta


def _axes(system: System) -> list[tuple[Any, int]]:
    """Bodies and their axes of symmetry: two moments are equal, the third differs, the products vanish."""
    axes = []
    for body in system.bodies:
        if not isinstance(body, RigidBody):
            continue
        J: Any = body.inertia
        plain = all(J[i, j] == 0 for i in range(3) for j in range(3) if i != j)
        for k in range(3):
            i, j = (i for i in range(3) if i != k)
            if plain and J[k, k] != 0 and J[i, i] - J[j, j] == 0 and J[i, i] - J[k, k] != 0:
                axes.append((body, k))
    return axes


def _columns(system: System, w: Any, u: Any) -> list[Expr]:
    """2 ẇ u^j + w j u^(j − 1) u̇ for each power."""
    d_dt = time_derivation(system.rates)
    w_d, u_d = system.in_velocities(d_dt(w)), system.in_velocities(d_dt(u))
    return [2 * w_d * u**j + (j * w * u ** (j - 1) * u_d if j else 0) for j in range(GAUGE_DEGREE + 1)]


def _null(batch: StateBatch, columns: list[Expr], letters: list[Expr]) -> Array:
    """(vectors, columns × letters): combinations that vanish at the states."""
    table = np.einsum("ki,kj->kij", batch.table(columns), batch.table(letters)).reshape(len(batch.t), -1)
    size = np.abs(table).max(axis=0, initial=0.0)
    if not len(batch.t) or size.max() <= RATE_ROUNDING:
        return np.zeros((0, table.shape[1]))
    return null_space(table / np.where(size > 0, size, 1.0), as_given=True).T / np.where(size > 0, size, 1.0)


def _in_letters(batch: StateBatch, columns: list[Expr], u: Any) -> Expr | None:
    """P with rational coefficients of products of parameters; None if it is not found."""
    letters = _letters(batch.run.system)
    if len(letters) * len(columns) > GAUGE_UNKNOWNS:
        return None
    sample = scattered(batch, {}, len(letters) * len(columns) + 20)
    vectors = reduced(_null(sample, columns, letters))
    for c in sorted(vectors, key=lambda c: np.count_nonzero(np.abs(c) > 1e-7 * np.abs(c).max())):
        exact = rational(c)
        if not all(abs(float(r) - x) < 1e-5 * np.abs(c).max() for r, x in zip(exact, c, strict=True)):
            continue
        products = [u**j * letter for j in range(len(columns)) for letter in letters]
        P = sympy.Add(*(r * e for r, e in zip(exact, products, strict=True)))
        if P.free_symbols:
            values = sample.values(P)
            return simplified(P if values.mean() > 0 else -P, 0.5) if (values * values[0] > 0).all() else None
    return None


def _letters(system: System) -> list[Expr]:
    """Products of the parameters of T and the constraints, masses and moments to the first power, lengths to the second."""
    occurring = system.kinetic.free_symbols.union(*(f.free_symbols for f in system.residuals))
    free = [p for p in system.parameters if p in occurring]
    highest = [1 if sympy.diff(system.kinetic, p, 2) == 0 and sympy.diff(system.kinetic, p) != 0 else 2 for p in free]
    powers = itertools.product(*(range(n + 1) for n in highest))
    return [sympy.Mul(*(p**n for p, n in zip(free, power, strict=True))) for power in powers if sum(power) <= LETTERS_DEGREE]


__all__ = ["gauge_momenta"]
