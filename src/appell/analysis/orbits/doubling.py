"""Switching of branches: from a multiplier −1 to the orbit of twice the period, and from a branch point to the other branch.

F_x = (Φ − 1, ż, Ψ_p) has a kernel of two dimensions at a branch point: n in it, orthogonal to the direction in which the
parameter grows, leads to the other branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.periodic_orbits import periodic_orbit
from appell.analysis.orbits.shooting import closing_options
from appell.errors import AppellError, ModelError
from appell.rows import range_of_projection, singular


def doubled(branch: Any, orbit: Orbit, at: float, size: float) -> Orbit:
    """The orbit of twice the period, in the direction of the multiplier −1, on the side of the parameter where it exists."""
    derivatives = orbit.variations
    B = range_of_projection(derivatives.state[0])
    values, vectors = np.linalg.eig(B.T @ derivatives.monodromy @ B)
    direction = np.real(B @ vectors[:, int(np.argmin(np.abs(values + 1)))])
    direction = np.sqrt(len(direction)) * direction / np.linalg.norm(direction / orbit.scale)
    symbols = (*branch.system.positions, *branch.system.velocities)
    z = np.array([orbit.start[s] for s in symbols])
    reach = float(np.abs(branch.values - at).max()) or 1.0
    options = dict(branch.options)
    last_error = ""
    for share in (1e-3, -1e-3, 1e-2, -1e-2, 3e-2, -3e-2):
        values_there = {**{str(k): v for k, v in orbit.parameters.items()}, branch.parameter: at + share * reach}
        for kick in (size, 4 * size, 16 * size, 64 * size):
            guess = dict(zip(symbols, z + kick * direction, strict=True))
            T = 2 * (orbit.period if branch.period_of is None else branch.period_of(at + share * reach))
            period_options = {"period_guess": T} if orbit.autonomous else {"period": T}
            try:
                candidate = periodic_orbit(
                    branch.system,
                    guess=guess,
                    parameters=values_there,
                    since=float(orbit.motion.t[0]),
                    **period_options,
                    **options,
                )
            except AppellError as error:
                last_error = str(error)
                continue
            if candidate.ok and _is_new(candidate):
                return candidate
    raise ModelError(f"no orbit of twice the period was found near {branch.parameter} = {at:.6g} {last_error}".strip())


def beside_branch_point(branch: Any, equations: Any, size: float) -> Orbit:
    """An orbit of the other branch through a branch point, the first point of the equations; `size` in units of the orbit."""
    x, J = equations.first_with_jacobian()
    kernel = singular(J)[2][-2:]
    ahead = kernel.T @ kernel[:, -1]  # the direction in which the parameter grows most
    ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-300)
    sideways = min(kernel, key=lambda row: abs(float(row @ ahead)))
    sideways = sideways - float(sideways @ ahead) * ahead
    sideways = sideways / np.linalg.norm(sideways)
    reason = "it is the branch that is known already"
    for distance in (size, -size, 4 * size, -4 * size, size / 4):
        try:
            orbit = equations.correct(x + distance * sideways, sideways).record
        except AppellError as error:
            reason = str(error)
            continue
        if not _on_branch(branch, orbit):
            return orbit
    raise ModelError(f"no orbit of another branch was found near {branch.parameter} = {x[-1] * equations.span:.6g}: {reason}")


def _on_branch(branch: Any, orbit: Orbit) -> bool:
    """Whether an orbit is on the branch at its parameter: all coordinates have the same extremes."""
    value = orbit.parameters[next(p for p in branch.system.parameters if str(p) == branch.parameter)]
    neighbour = branch.orbits[int(np.argmin(np.abs(branch.values - value)))]
    period_options = {"period_guess": neighbour.period} if neighbour.autonomous else {"period": orbit.period}
    since, values = float(neighbour.motion.t[0]), orbit.parameters
    try:
        options = closing_options(neighbour, branch.options)  # the guess may be a rest, which has no scale
        old = periodic_orbit(branch.system, guess=neighbour.start, parameters=values, since=since, **period_options, **options)
    except AppellError:
        return False
    ranges = [np.array([either.range(q) for q in branch.system.positions]) for either in (old, orbit)]
    size = np.maximum(np.abs(ranges[0]).max(axis=1), old.scale[: len(ranges[0])])
    return old.ok and bool((np.abs(ranges[0] - ranges[1]) <= 1e-6 * size[:, None]).all())


def _is_new(orbit: Orbit) -> bool:
    """Whether it is not the old orbit traversed twice: half a period later it is elsewhere."""
    t0 = float(orbit.motion.t[0])
    half = orbit.motion.at([t0, t0 + orbit.period / 2])
    gap = np.concatenate([half.q[1] - half.q[0], half.v[1] - half.v[0]])
    return bool((np.abs(gap) > 1e-4 * orbit.scale).any())


__all__ = ["beside_branch_point", "doubled"]
