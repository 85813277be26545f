"""Scales of coordinates, velocities and tolerances that follow from the model itself, whatever its units.

    w_v = √M_ii,  w_q = √(N⁺ᵀ M N⁺)_ii            q̇ = N v + …

w_v Δv and w_q Δq 2π/T are comparable among all coordinates and velocities (roots of twice an energy), whether these are
angles, micrometres or astronomical units. What hardly changes has no scale of its own, and gets a fraction of the largest.

Rounding has no part in a scale. A body that spins uniformly has velocities that change by rounding only, 1e-31 of them at
times. Taken as their size, this would be the unit in which derivatives are required to be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.requests import simulated
from appell.backends import silence
from appell.compiled.run import Run
from appell.errors import AppellError
from appell.rows import left_inverse

Array = NDArray[np.float64]

LEAST_SIZE = 1e-2
"""Smallest scale in which errors are measured, as a fraction of the largest of its kind."""
STEPS_LOOKED_AT = 20_000
"""Most steps of a run from which scales are taken."""
TOLERANCE_LOOKS = 8
"""Runs from which the sizes for an absolute tolerance are taken, each with the tolerance that the one before it suggests."""
PUSHES = 12
"""Instants of a period at which the accelerations at a state are evaluated."""
VARIED_NEAR = 0.1
"""What is zero at a state is varied by this fraction of the largest of its kind."""
UNKNOWN_SIZE = 1e-3
"""Size of coordinates and velocities near a state at zero where no force acts: the model does not determine any."""
ROUNDING_OF_A_RUN = 1e-14
"""Change of a coordinate or velocity, as a fraction of its size, that rounding may cause in a run."""
LEAST_NATURAL = 1e-140
"""Smallest absolute tolerance: squares of errors in units of it stay in the range of numbers."""


def kinetic_weights(run: Run, t: float, z: Array) -> Array:
    """(w_q, w_v) at a state, (nq + nv,); 0 for what has no inertia. The four of a quaternion are equal: along itself it has no
    inertia, and which of its components that concerns depends on the attitude."""
    nq = run.form.nq
    terms = run.form.select("M", "N")(t, z[:nq], z[nq:], run.p_at(t))
    M, N = terms["M"], terms["N"]
    if N.shape == M.shape and np.array_equal(N, np.eye(nq)):  # v = q̇
        squares = np.tile(np.diag(M), 2)
    else:
        N_inverse = left_inverse(N)
        squares = np.concatenate([np.diag(N_inverse.T @ M @ N_inverse), np.diag(M)])
    weights = np.sqrt(np.maximum(squares, 0.0))
    for group in run.form.quaternions:
        weights[list(group)] = weights[list(group)].max()
    return weights


def alike(size: Array, weights: Array) -> Array:
    """The largest of several sizes of one kind, converted to the unit of each of them."""
    if not len(size):
        return size
    heavy, largest = weights > 0, float((size * weights).max())
    return np.where(heavy, largest / np.where(heavy, weights, 1.0), size.max())


def alike_speeds(positions: Array, weights: Array, nq: int, duration: float) -> Array:
    """The largest of some sizes of coordinates, (nq,), as a speed in the units of each velocity: 2π/T of it."""
    largest, w = float((positions * weights[:nq]).max(initial=0.0)), weights[nq:]
    return 2 * np.pi / abs(duration) * np.where(w > 0, largest / np.where(w > 0, w, 1.0), 0.0)


def scales(size: Array, weights: Array, nq: int, duration: float, share: float) -> Array:
    """Scales of z = (q, v), (nz,), from the sizes of a motion: each at least `share` of the largest of its kind. If all of one
    kind are zero, they follow from the other kind and the duration; if all are zero, the scale is that of unit coordinates."""
    turns = 2 * np.pi / abs(duration)
    groups = [(size[:nq], weights[:nq]), (size[nq:], weights[nq:])]
    large = [alike(*group) for group in groups]
    if not np.any(size > 0):
        large[0], share = np.where(weights[:nq] > 0, 1.0 / np.where(weights[:nq] > 0, weights[:nq], 1.0), 1.0), 1.0
        large[0] = large[0] / max(large[0].max(initial=0.0), np.finfo(float).tiny)
    for kind, other_kind, factor in ((0, 1, 1 / turns), (1, 0, turns)):
        if not np.any(large[kind] > 0):
            largest = float((large[other_kind] * groups[other_kind][1]).max(initial=0.0))
            w = groups[kind][1]
            large[kind] = factor * np.where(w > 0, largest / np.where(w > 0, w, 1.0), 1.0)
    sizes = np.maximum(size, share * np.concatenate(large))
    return np.where(sizes > 0, sizes, 1.0)


def extents(run: Run, t: float, states: Array, duration: float, share: float = LEAST_SIZE) -> Array:
    """Scales of z from states along a motion, (k, nz) → (nz,)."""
    weights, nq = kinetic_weights(run, t, states[0]), run.form.nq
    return scales(known_ranges(states, weights, nq), weights, nq, duration, share)


def known_ranges(states: Array, weights: Array, nq: int) -> Array:
    """Ranges of the coordinates and velocities of states, (k, nz) → (nz,), 0 where rounding may have caused them. Velocities
    act on each other: their rounding is that of the largest in the kinetic metric."""
    size, largest = np.ptp(states, axis=0), np.abs(states).max(axis=0)
    rounding = ROUNDING_OF_A_RUN * np.concatenate([largest[:nq], alike(largest[nq:], weights[nq:])])
    return np.where(size > rounding, size, 0.0)


def size_near(run: Run, z: Array, since: float, T: float) -> Array:
    """The size of each coordinate and velocity of states near z, (nz,): from z, and at zero from the accelerations there over
    a period T."""
    size, nq = np.abs(z), run.form.nq
    if not size.any():
        times = since + T * (np.arange(PUSHES) + 0.5) / PUSHES
        pushed = np.max([np.abs(run.acceleration(t, z[:nq], z[nq:])[0]) for t in times], axis=0)
        size = np.concatenate([np.zeros(nq), pushed * T / (2 * np.pi)])
    if not np.isfinite(size).all() or not size.any():
        return np.full(len(z), UNKNOWN_SIZE)
    return size + scales(size, kinetic_weights(run, since, z), nq, T, VARIED_NEAR)


def natural_time(run: Run, t: float, states: Array) -> float:
    """A time in which motions from some states, (k, nz), change, s: √(|q|/|a|) or |v|/|a| in the kinetic metric, |s|/|ṡ| of
    states of first order; 1 s where nothing moves."""
    times, nq, first_state = [], run.form.nq, run.form.nq - run.form.states
    for z in states:
        weights = kinetic_weights(run, t, z)
        try:
            a = run.acceleration(t, z[:nq], z[nq:])[0]
        except AppellError:
            continue
        Q, V, A = (float(np.linalg.norm(x * w)) for x, w in ((z[:nq], weights[:nq]), (z[nq:], weights[nq:]), (a, weights[nq:])))
        if A > 0 and np.isfinite(A):
            times.append(max(V / A, float(np.sqrt(Q / A))))
        elif V > 0:
            times.append(Q / V)
        rate = run.form.select("qd")(t, z[:nq], z[nq:], run.p_at(t))["qd"][first_state:]
        times += (np.abs(z[first_state:nq])[rate != 0] / np.abs(rate[rate != 0])).tolist()
    longest = max(times, default=0.0)
    return longest if 0 < longest < np.inf else 1.0


def scales_from(run: Run, start: Mapping[Any, Any], since: float, duration: float, options: Mapping[str, Any]) -> Array | None:
    """Scales of the motion from a start over a duration, or over `STEPS_LOOKED_AT` steps; None without one that moves."""
    most = min(int(options.get("max_steps", STEPS_LOOKED_AT)), STEPS_LOOKED_AT)
    try:
        with silence():
            motion = simulated(run, start, since + duration, since=since, **{**options, "max_steps": most})
    except AppellError:
        return None
    states = np.hstack([motion.q, motion.v])
    moves = len(states) > 1 and np.isfinite(states).all() and np.ptp(states, axis=0).any()
    return extents(run, since, states, duration) if moves else None


def natural_tolerance(share: float, first: float, seen: Callable[[float], Array | None]) -> float:
    """atol as a share of the smallest scale of a motion; `seen` gives the scales of a run with an atol, None if it has none.

    A run in too large an atol may be all error: its scale suggests the next one. first: a size to begin with, 0 if unknown.
    """
    atol, natural = share * (first or 1.0), None
    for _ in range(TOLERANCE_LOOKS):
        scales_seen = seen(max(atol, LEAST_NATURAL))
        if scales_seen is None:
            if natural is not None:
                break
            atol *= 1e3
            continue
        natural = share * float(scales_seen.min(initial=np.inf))
        if natural >= 0.1 * atol:
            break
        atol = natural
    return float(max(share if natural is None else natural, LEAST_NATURAL))


__all__ = [
    "LEAST_SIZE",
    "alike",
    "alike_speeds",
    "extents",
    "kinetic_weights",
    "known_ranges",
    "natural_time",
    "natural_tolerance",
    "scales",
    "scales_from",
    "size_near",
]
