"""Accelerations and reactions along a motion: each sample in its own mode, with its own parameters.

    M a + h = Q + W Λ + Σ n_j Λ_j        A a + a0 = 0        g̈_j = 0 on the faces in contact
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.errors import AppellError
from appell.loop.held_inputs import last_change
from appell.motion.record import Array
from appell.nonsmooth.contact.contact import Instant
from appell.rows import rows_of_dependencies

if TYPE_CHECKING:
    from appell.compiled.run import Run
    from appell.motion.motion import Motion


def solved(motion: Motion, run_at: Callable[[tuple[int, ...], Any], Run]) -> tuple[Array, Array, Array]:
    """Accelerations (k, nv), multipliers of the constraints (k, rows) and of the faces (k, faces).

    run_at: (faces in contact, samples) → their evaluator. Velocities between two impacts at one instant belong to no motion;
    such samples get the values after the last impact.
    """
    t, q, v = motion.t, motion.q, motion.v
    rows, faces = len(motion.system.constraints), len(motion.system.unilateral)
    a, lam, face_lam = np.empty_like(v), np.empty((len(t), rows)), np.zeros((len(t), faces))
    settled = _last_of_instant(t, motion._precedes)
    for contacts, samples in _modes(motion):
        samples = samples[settled[samples] == samples]
        if not len(samples):
            continue
        run = run_at(contacts, samples)
        try:
            a[samples], all_rows = run.acceleration(t[samples], q[samples], v[samples])
        except AppellError:  # some sample is singular, not all
            a[samples], all_rows = _one_by_one(run, rows + len(contacts), t[samples], q[samples], v[samples])
        if contacts:
            _by_least_norm(motion, run, contacts, samples, a, all_rows)
        lam[samples] = all_rows[:, :rows]
        face_lam[np.ix_(samples, contacts)] = all_rows[:, rows:]
    a, lam, face_lam = a[settled], lam[settled], face_lam[settled]
    bad = ~(np.isfinite(a).all(axis=1) & np.isfinite(lam).all(axis=1))
    if bad.any():
        warn(
            f"accelerations and reactions of {motion.name} are not determined at {bad.sum()} of {len(t)} samples,"
            f" first at t = {t[bad][0]:.6g} s; they are NaN there"
        )
    return a, lam, face_lam


def _last_of_instant(t: Array, precedes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The index of each sample, (k,); between the first and the last sample of one instant, the index of the last."""
    settled, coincides = np.arange(len(t)), precedes[:-1]
    for i in np.flatnonzero(coincides[:-1] & coincides[1:])[::-1] + 1:
        settled[i] = settled[i + 1]
    return settled


def _by_least_norm(motion: Motion, run: Run, contacts: tuple[int, ...], samples: Any, a: Array, lam: Array) -> None:
    """Solves non-finite samples again by least norm: faces in contact may be dependent at some states only."""
    for k in np.flatnonzero(~np.isfinite(lam).all(axis=1)):
        i = samples[k]
        p = run.p if run.p.ndim == 1 else run.p[k]
        instant = Instant.at(motion._evaluator.form, float(motion.t[i]), motion.q[i].copy(), motion.v[i].copy(), p)
        a[i], lam[k] = instant.reactions(contacts)


def _modes(motion: Motion) -> list[tuple[tuple[int, ...], Any]]:
    """Sets of faces in contact, each with the samples at which it holds."""
    changes = motion.contacts or ((-np.inf, ()),)
    interval = last_change(np.array([time for time, _ in changes]), motion.t, motion._precedes)
    sets = sorted({contacts for _, contacts in changes})
    modes = [(c, np.flatnonzero([changes[k][1] == c for k in interval])) for c in sets]
    return [(contacts, samples) for contacts, samples in modes if len(samples)]


def _one_by_one(run: Run, rows: int, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """Accelerations and multipliers, sample by sample; NaN where they are not determined."""
    a, lam = np.full_like(v, np.nan), np.full((len(t), rows), np.nan)
    for i in range(len(t)):
        try:
            a[i], lam[i] = run.acceleration(t[i], q[i], v[i])
        except AppellError:
            continue
    return a, lam


def undetermined(run: Run, t: float, q: Array, v: Array) -> tuple[str, ...]:
    """Names of the constraints whose reactions are not unique at a state: all rows of each combination yᵀA = 0, since Λ + y
    pushes as Λ does."""
    if not run.policies.redundant:
        return ()
    rows = run.form.select("A")(t, q, v, run.p_at(t))["A"]
    names = [row.constraint.name for row in run.form.rows if row.linear]
    return tuple(names[i] for i in rows_of_dependencies(rows, run.policies.acceleration.rank))


__all__ = ["solved", "undetermined"]
