"""From an orbit whose multiplier passes −1 to the orbit of twice its period."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.shooting import periodic_orbit
from appell.errors import AppellError, ModelError
from appell.rows import range_of_projection


def doubled(branch: Any, orbit: Orbit, at: float, size: float) -> Orbit:
    """Twice the period, from the direction of the multiplier −1; on the side of the parameter where it exists."""
    beside = orbit.variations
    B = range_of_projection(beside.state[0])
    values, vectors = np.linalg.eig(B.T @ beside.monodromy @ B)
    direction = np.real(B @ vectors[:, int(np.argmin(np.abs(values + 1)))])
    direction = direction / np.linalg.norm(direction)
    symbols = (*branch.system.positions, *branch.system.velocities)
    z = np.array([orbit.start[s] for s in symbols])
    extent = np.concatenate([np.ptp(orbit.motion.q, axis=0), np.ptp(orbit.motion.v, axis=0)])
    reach = float(np.abs(branch.values - at).max()) or 1.0
    options = dict(branch.options)
    why = ""
    for share in (1e-3, -1e-3, 1e-2, -1e-2, 3e-2, -3e-2):
        values_there = {**{str(k): v for k, v in orbit.parameters.items()}, branch.parameter: at + share * reach}
        for kick in (size, 4 * size, 16 * size):
            guess = dict(zip(symbols, z + kick * np.linalg.norm(extent) * direction, strict=True))
            T = 2 * (orbit.period if branch.period_of is None else branch.period_of(at + share * reach))
            asked = {"period_guess": T} if orbit.autonomous else {"period": T}
            try:
                found = periodic_orbit(
                    branch.system, guess=guess, parameters=values_there, since=float(orbit.motion.t[0]), **asked, **options
                )
            except AppellError as error:
                why = str(error)
                continue
            if found.ok and _is_new(found):
                return found
    raise ModelError(f"no orbit of twice the period was found near {branch.parameter} = {at:.6g} {why}".strip())


def _is_new(orbit: Orbit) -> bool:
    """Whether it is not the old orbit run twice: half a period later it is elsewhere."""
    t0 = float(orbit.motion.t[0])
    half = orbit.motion.at([t0, t0 + orbit.period / 2])
    gap = np.concatenate([half.q[1] - half.q[0], half.v[1] - half.v[0]])
    extent = np.concatenate([np.ptp(orbit.motion.q, axis=0), np.ptp(orbit.motion.v, axis=0)])
    return bool((np.abs(gap) > 1e-4 * np.maximum(extent, 1e-12 * extent.max(initial=0.0))).any())


__all__ = ["doubled"]
