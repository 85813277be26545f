"""Mesh refinement by the error of the polynomials between the nodes of each interval.

    e_k = ∫ |dz/dt − ż(t, z, u)| / size of z dt  over interval k          (Betts, 2010, 4.7.4)

z is the polynomial of the plan, ż the right-hand side at it. Meshes are refined by e_k. An interval in which the inputs are not
resolved, that is where their highest Legendre coefficient is a large fraction of their range (it contains a switch), is halved
as well while the objective still changes. A mode that decays much faster than an interval lasts forgets its defect
r = dz/dt − ż: |∫ e^{J s} ds r| with J = ∂ż/∂z, if that is less, is what remains. A mesh may stand by what remains, if the
simulation agrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.linalg import expm

from appell.backends import backend_named, vm_function
from appell.graph import Fn
from appell.normal_form.flow import acceleration
from appell.normal_form.policy import choose
from appell.optimize.state_sizes import StateSizes
from appell.optimize.transcription import PlannedMotion, PlannedPhase, Transcription

Array = NDArray[np.float64]

MOST_PARTS = 4
"""Largest number of parts into which an interval is cut at once, because its error is only an estimate."""
UNSETTLED = 0.02
"""Largest highest Legendre coefficient of a smooth input in an interval, as a fraction of its range."""
JUMP, CONSTANT_INPUT = 0.1, 1e-6
"""An input switches if it jumps by this fraction of its range between two intervals; a range below this fraction of its size is
zero."""
MOST_INTERVALS = 500
"""Breaks of all phases above which no finer mesh is made."""
FORGOTTEN_AFTER, SLOPE_STEP = 2.0, 1e-6
"""Time constants of a decaying mode in an interval above which it forgets defects; step of a difference quotient, as a fraction
of the size of a state."""


@dataclass(frozen=True, eq=False)
class MeshErrors:
    """errors: (N,) for each phase, relative to the size of the states; rough: (N,) whether inputs jump within the interval;
    remaining: the largest error that decaying modes do not forget."""

    errors: tuple[Array, ...]
    rough: tuple[NDArray[np.bool_], ...]
    remaining: float

    @property
    def largest(self) -> float:
        return max(float(e.max(initial=0.0)) for e in self.errors)


def mesh_errors(
    transcription: Transcription, planned: PlannedMotion, numbers: Array, since: float, states: StateSizes
) -> MeshErrors:
    """The error of the polynomials in each interval.

    numbers: all parameters; entries of inputs are filled from the plan.
    """
    errors, rough, remaining, t0 = [], [], [], since
    sizes = states.over([phase.states.reshape(-1, phase.nz) for phase in planned.phases])
    for functions, phase in zip(transcription.model.phases, planned.phases, strict=True):
        graph, system = functions.graph, functions.graph.system
        x, weights = legendre.leggauss(transcription.s + 2)
        x, weights = (x + 1) / 2, weights / 2
        h = np.diff(phase.breaks)
        tau = (phase.breaks[:-1, None] + h[:, None] * x).ravel()
        z, rates = phase.states_at(tau), phase.rates_at(tau)
        names = transcription.model.shared.names
        p = np.tile(numbers[[names.index(s) for s in system.parameters]], (len(tau), 1))
        rest = phase.rest_at(tau)
        for k, s in enumerate(graph.inputs):
            p[:, system.parameters.index(s)] = rest[:, graph.indices("u")[k] - graph.nz]
        right_side = _right_side(graph, t0 + tau * phase.duration, z, p)
        defects = (rates - right_side) / sizes
        defects = np.where(np.isfinite(defects), defects, 1.0).reshape(len(h), len(x), -1)
        middle = slice(len(x) // 2, None, len(x))  # of each interval
        slopes = _slopes(graph, t0 + tau[middle] * phase.duration, z[middle], p[middle], sizes)
        errors.append((np.abs(defects).max(axis=2) @ weights) * h * phase.duration)
        remaining.append(_remaining(errors[-1], defects, slopes, h * phase.duration, weights))
        rough.append(_rough(phase, list(graph.indices("u"))))
        t0 += phase.duration
    return MeshErrors(tuple(errors), tuple(rough), max(float(e.max(initial=0.0)) for e in remaining))


def _slopes(graph, t: Array, z: Array, p: Array, sizes: Array) -> Array:  # type: ignore[no-untyped-def]
    """∂ż/∂z at a batch of states, each state in units of its size, (k, nz, nz)."""
    k, nz = z.shape
    shifted = np.repeat(z, nz + 1, axis=0).reshape(k, nz + 1, nz)
    shifted[:, 1:] += np.diag(SLOPE_STEP * sizes)
    rates = _right_side(graph, np.repeat(t, nz + 1), shifted.reshape(-1, nz), np.repeat(p, nz + 1, axis=0)).reshape(
        k, nz + 1, nz
    )
    return np.swapaxes((rates[:, 1:] - rates[:, :1]) / sizes / SLOPE_STEP, 1, 2)


def _remaining(errors: Array, defects: Array, slopes: Array, h: Array, weights: Array) -> Array:
    """The `errors` that remain at the ends of intervals of length h, s: stiff modes forget a part of the defects (N, k, nz)."""
    remaining, finite = errors.copy(), np.isfinite(slopes).all(axis=(1, 2), keepdims=True)
    decay = np.linalg.eigvals(np.where(finite, slopes, 0.0)).real.min(axis=1)
    for k in np.flatnonzero(-decay * h > FORGOTTEN_AFTER):
        nz = slopes.shape[1]
        response = expm(np.block([[h[k] * slopes[k], np.eye(nz)], [np.zeros((nz, 2 * nz))]]))[:nz, nz:]  # ∫ e^{J s} ds / h
        remaining[k] = np.fmin(remaining[k], float((np.abs(defects[k] @ response.T).max(axis=1) @ weights) * h[k]))
    return remaining


def _right_side(graph, t: Array, z: Array, p: Array) -> Array:  # type: ignore[no-untyped-def]
    """ż at a batch of states, (k, nz)."""
    form, nq = graph.form, graph.form.nq
    q, v = z[:, :nq], z[:, nq:]
    policies = choose(form, p[0])
    fn = acceleration(form, policies)
    evaluate = vm_function(fn) if isinstance(fn, Fn) else _loaded(fn)
    a = evaluate.batch(t, q, v, p)[0]
    rates = vm_function(form.select("qd")).batch(t, q, v, p)[0]
    return np.hstack([rates, a])


def _loaded(fn):  # type: ignore[no-untyped-def]
    return backend_named("vm").load(fn)


def _rough(phase: PlannedPhase, places: list[int]) -> NDArray[np.bool_]:
    u = phase.nodes[:, :, places]  # (N, s, nu)
    if not places or phase.table.s < 2:
        return np.zeros(len(u), dtype=bool)
    highest = np.abs(np.einsum("j,njk->nk", phase.table.legendre[-1], u))
    span = np.ptp(u, axis=(0, 1))
    return (highest > UNSETTLED * np.where(span > 0, span, 1.0)).any(axis=1)


def beside_switches(phase: PlannedPhase, places: list[int]) -> NDArray[np.bool_]:
    """Whether each interval contains or adjoins a jump of an input, (N,)."""
    u = phase.nodes[:, :, places]
    near_switch = _rough(phase, places)
    span = np.ptp(u, axis=(0, 1))
    moving = span > CONSTANT_INPUT * np.abs(u).max(axis=(0, 1), initial=0.0)
    left = np.einsum("j,njk->nk", phase.table.controls(np.zeros(1))[0], u)
    jumps = ((np.abs(left[1:] - u[:-1, -1]) > JUMP * span) & moving).any(axis=1)
    near_switch = near_switch & bool(moving.any())
    near_switch[1:] |= jumps
    near_switch[:-1] |= jumps
    return near_switch


def refined(
    breaks: Array, errors: Array, rough: NDArray[np.bool_], tolerance: float, s: int, *, unsettled: bool, exceeded: Array
) -> Array:
    """Breaks of a finer mesh: intervals are cut into as many parts as their error requires at order s + 1.

    exceeded: (N,) relative violation of a bound of a state between the nodes; for a velocity it is proportional to the
    length of the interval.
    """
    share = tolerance / np.sqrt(len(errors))
    parts = np.ceil((np.maximum(errors, 1e-300) / (0.5 * share)) ** (1 / (s + 1))).astype(int)
    parts = np.maximum(parts, np.ceil(np.minimum(2 * exceeded / tolerance, MOST_PARTS)).astype(int))
    parts = np.clip(parts, 1, MOST_PARTS)
    if unsettled:
        parts = np.where(rough, np.maximum(parts, 2), parts)
        if (parts == 1).all():
            parts[:] = 2
    knots = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(breaks[:-1], breaks[1:], parts, strict=True)]
    return np.append(np.concatenate(knots), 1.0)


__all__ = ["MOST_INTERVALS", "MeshErrors", "beside_switches", "mesh_errors", "refined"]
