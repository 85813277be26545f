"""A mode of a linearization as a motion, for display.

    q(t) = q_0 + q̇_0 t + N Re(ε x e^{λt}),    v(t) = v_0 + Re(ε λ x e^{λt})        x the shape, largest entry 1

Positions are then projected onto the holonomic constraints: at a visible amplitude the linear shape would stretch the bars of a
linkage. It illustrates the linear equations and is not a solution of the system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.motion.motion import Motion
from appell.normal_form.manifold import project
from appell.notes import Note
from appell.reading import finite, shown, whole

if TYPE_CHECKING:
    from appell.analysis.linearization import Linearization
    from appell.compiled.run import Run

Array = NDArray[np.float64]

VISIBLE_AMPLITUDE = 0.3
"""Displacement of the coordinate that moves most, rad or m: visible, but still fairly small."""
SAMPLES_A_PERIOD = 60
OSCILLATES = 1e-6
"""A mode does not oscillate if its imaginary part is below this fraction of the largest eigenvalue."""
FOLDINGS = 2.0
"""Duration of a mode that does not oscillate, in units of 1/|λ|."""


class ReferenceState(NamedTuple):
    """The reference of a linearization: its run, time (s), q (nq,), v (nv,)."""

    run: Run
    t: float
    q: Array
    v: Array


def modes_to_show(linear: Linearization) -> list[int]:
    """One of each conjugate pair of modes with a displacement: oscillating ones by frequency, then the others."""
    values, most = linear.eigenvalues, np.abs(linear.eigenvalues).max(initial=0.0)
    moves = [k for k in range(len(values)) if np.abs(linear.modes[:, k]).max(initial=0.0) > 0 and abs(values[k]) > 0]
    swings = sorted((k for k in moves if values[k].imag > OSCILLATES * most), key=lambda k: values[k].imag)
    return swings + [k for k in moves if abs(values[k].imag) <= OSCILLATES * most]


def mode_motion(linear: Linearization, mode: Any, amplitude: Any = None, periods: Any = 1.0) -> Motion:
    """The motion of one mode, numbered as `eigenvalues` are."""
    if linear.reference is None:
        raise ModelError("modes are shown about a rest or a steady motion: ap.linearize(system, at=…)")
    k = whole(mode, "the number of the mode", 0, len(linear.eigenvalues) - 1)
    size = VISIBLE_AMPLITUDE if amplitude is None else finite(amplitude, "amplitude=")
    count = finite(periods, "periods=")
    if not size > 0 or not count > 0:
        raise ModelError(f"amplitude= and periods= are positive, not {shown(amplitude if not size > 0 else periods)}")
    value, shape = complex(linear.eigenvalues[k]), linear.modes[:, k]
    if not np.abs(shape).max(initial=0.0) > 0 or value == 0:
        raise ModelError(f"mode {k} of {linear.system.name} moves nothing: its eigenvalue is {value:.4g}")
    swings = abs(value.imag) > OSCILLATES * np.abs(linear.eigenvalues).max()
    length = count * 2 * np.pi / abs(value.imag) if swings else FOLDINGS / abs(value)
    largest = np.exp(max(value.real * length, 0.0))  # a mode that grows ends at the amplitude
    times = np.linspace(0.0, length, max(2, round(SAMPLES_A_PERIOD * max(count, 1.0))) + 1)
    waves = size / largest * np.exp(value * times)[:, None] * shape
    rates = (value * waves).real
    q, v = _projected(linear.reference, times, waves.real, rates)
    t = linear.reference.t + times
    note = Note("a mode of the linear equations at a visible amplitude, not a motion of the system")
    return Motion(run=linear.reference.run, t=t, q=q, v=v, work=np.zeros(len(t)), method="mode", notes=(note,))


def _projected(at: ReferenceState, times: Array, displacements: Array, rates: Array) -> tuple[Array, Array]:
    form, p = at.run.form, at.run.p_at(at.t)
    N, drift = (form.select(name)(at.t, at.q, at.v, p)[name] for name in ("N", "qd"))
    drift = np.where(np.abs(drift) > 0, drift, 0.0)
    states = []
    for time, x, rate in zip(times, displacements, rates, strict=True):
        predicted = at.q + drift * time
        predicted[: N.shape[0]] += N @ x[: N.shape[1]]
        states.append(project(form, at.t, predicted, at.v + rate, p))
    return np.array([q for q, _ in states]), np.array([v for _, v in states])
