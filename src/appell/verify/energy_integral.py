"""The energy integral, and what does work where there is none.

    dH/dt = power,  H = T2 − T0 + V            an integral where the power vanishes, and impacts are elastic on faces at rest
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy

from appell.forms.engine.system_terms import directions
from appell.jets import t, total_derivative
from appell.model import Face, System
from appell.reading import symbolic, text_of
from appell.verify.conserved import RATE_ROUNDING, StateBatch

POWERLESS = 1e-14
"""Fraction of the power of inertia below which a power is rounding."""


def energy(system: System, batch: StateBatch, given: Mapping[Any, Any]) -> tuple[bool, str]:
    """Whether H = T2 − T0 + V is an integral, and a sentence that says so or names what changes it."""
    out, rounding = batch.outputs("power", "H", "T", "V"), power_rounding(batch)
    impacts = [reason for face in system.unilateral if (reason := _loss(system, face, given))]
    reasons = []
    if not np.abs(out["power"]).max() <= rounding:
        reasons = _reasons(system, batch)
    if not reasons and not impacts:
        sizes = max(np.abs(out[term]).max() for term in ("H", "T", "V"))
        is_total = np.abs(out["H"] - out["T"] - out["V"]).max() <= RATE_ROUNDING * sizes
        name = "the energy T + V" if is_total else "H = T2 − T0 + V"
        timely = [f"'{c.name}'" for c, f in zip(system.constraints, system.residuals, strict=True) if t in f.free_symbols]
        time = f"time enters only {', '.join(timely)}" if timely else "time does not enter"
        elastic = ", impacts are elastic" if system.unilateral else ""
        return True, f"{name} is conserved: no force and no constraint does work{elastic}, and {time}"
    suffix = "; between impacts it is" if not reasons else ""
    return False, f"the energy is not conserved: {'; '.join(reasons + impacts)}{suffix}"


def power_rounding(batch: StateBatch) -> float:
    """The power at the states that counts as rounding: a fraction of what forces and reactions exchange, Σ |v_i| (|Q_i| +
    (|W| |Λ|)_i), and a smaller one of that of inertia, Σ |v_i| (|M| |a| + |h|)_i, which does no work of its own."""
    out, (n, nv), rows = batch.outputs("forces", "W", "M", "h"), batch.v.shape, batch.lam.shape[1]
    inertia = np.einsum("kij,kj->ki", np.abs(out["M"]).reshape(n, nv, nv), np.abs(batch.a)) + np.abs(out["h"]).reshape(n, nv)
    forces = np.abs(out["forces"]).reshape(n, nv) + POWERLESS / RATE_ROUNDING * inertia
    if rows and out["W"].size == n * nv * rows:
        forces = forces + np.einsum("kij,kj->ki", np.abs(out["W"]).reshape(n, nv, rows), np.abs(batch.lam))
    return RATE_ROUNDING * float((np.abs(batch.v) * forces).sum(axis=1).max(initial=0.0))


def _reasons(system: System, batch: StateBatch) -> list[str]:
    """The causes of a change of the energy, one text for each."""
    reasons = []
    if any(force != 0 for force in system.forces):
        reasons.append("the forces do work")
    timely = [n for n, e in (("T", system.kinetic), ("V", system.potential)) if t in e.free_symbols]
    if timely:
        reasons.append(f"{' and '.join(timely)} contain time")
    if states := sorted(map(str, system.potential.free_symbols & set(system.states))):
        reasons.append(f"V contains the state {states[0]}")
    reasons += [f"the reaction of constraint '{name}' does work" for name in _working(system, batch)]
    return reasons or ["the kinematics depend on time"]


def _loss(system: System, face: Face, given: Mapping[Any, Any]) -> str:
    """The effect of an impact on a face on the energy; empty where it is elastic and the face is at rest."""
    values = {text_of(key): value for key, value in given.items()}
    stated = [s for s in face.restitution.free_symbols if str(s) in values]
    e = face.restitution.xreplace({s: symbolic(values[str(s)], f"the value of parameter '{s}'") for s in stated})
    drift = total_derivative(face.function, system.rates).xreplace(dict.fromkeys(system.velocities, sympy.Integer(0)))
    if sympy.simplify(drift) != 0:
        return f"'{face.name}' moves, and a blow of it does work"
    if e.free_symbols:
        return f"an impact on '{face.name}' takes from it unless {e} = 1"
    return "" if e == 1 else f"an impact on '{face.name}' takes from it (restitution {sympy.Float(e, 6)})"


def _working(system: System, batch: StateBatch) -> list[str]:
    """The constraints with Λ Wᵀv ≠ 0 at some state: affine, rheonomic, non-ideal, or nonlinear and inhomogeneous."""
    power_per_lam = [sympy.Add(*(w * v for w, v in zip(W, system.velocities, strict=True))) for W in directions(system)]
    rates = np.array([batch.values(e) for e in power_per_lam]).T.reshape(batch.lam.shape)
    power, rounding = np.abs(batch.lam * rates).max(axis=0, initial=0.0), power_rounding(batch)
    return [c.name for c, x in zip(system.constraints, power, strict=True) if x > rounding]


__all__ = ["energy", "power_rounding"]
