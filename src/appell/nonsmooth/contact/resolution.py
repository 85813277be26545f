"""Whether steps of a fixed size see the distances to the unilateral constraints.

A touch inside a step is sought on its dense output where the cubic through g, ġ at both ends comes near zero. The step control
keeps that cubic within a tenth of the distance; a fixed step has nobody to look after it. From g̈ at the ends, the quintic
differs from the cubic by θ²(1 − θ)²(m0 (1 − θ) + m1 θ).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.nonsmooth.contact.numbers import RESOLVED, ROUNDING, UNSEEN
from appell.simulate.run import Run

Array = NDArray[np.float64]
Contacts = Sequence[tuple[float, tuple[int, ...]]]


def unresolved(run: Run, contacts: Contacts, steps: Array) -> NDArray[np.int_]:
    """How many steps, rows (t, z), do not follow each face, (faces,); contacts: (time, faces in contact from then on)."""
    t, count = steps[:, 0], np.zeros(len(run.system.unilateral), dtype=int)
    ends = [*(time for time, _ in contacts[1:]), np.inf]
    for (begin, held), end in zip(contacts, ends, strict=False):
        inside = steps[(t >= begin) & (t <= end)]
        if len(inside) > 1:
            count += _in_one_mode(run, held, inside[:, 0], inside[:, 1:])
    return count


def _in_one_mode(run: Run, contacts: tuple[int, ...], t: Array, z: Array) -> NDArray[np.int_]:
    q, v = z[:, : run.form.nq], z[:, run.form.nq : run.form.nq + run.form.nv]
    there = run.in_contact(contacts)
    a, _ = there.acceleration(t, q, v)
    out = there.evaluate(t, q, v, ("g", "g_scale", "g_d", "g_v", "g_dd0"))
    g, g_d, g_dd = out["g"], out["g_d"], np.einsum("kfv,kv->kf", out["g_v"], a) + out["g_dd0"]
    h = np.diff(t)[:, None]
    d0, d1, rise = h * g_d[:-1], h * g_d[1:], np.diff(g, axis=0)
    cubic, square = d0 + d1 - 2 * rise, 3 * rise - 2 * d0 - d1
    m0, m1 = h**2 * g_dd[:-1] / 2 - square, h**2 * g_dd[1:] / 2 - square - 3 * cubic
    middle = g[:-1] + (d0 + (square + cubic / 2) / 2) / 2
    size = np.maximum(np.maximum(np.abs(g[:-1]), np.abs(g[1:])), np.abs(middle)) + UNSEEN * ROUNDING * out["g_scale"][1:]
    missed = (np.abs(m0) + np.abs(m1)) / 32 > RESOLVED * size
    missed[:, list(contacts)] = False
    return missed.sum(axis=0)


def warn_of(run: Run, step: float, counts: NDArray[np.int_], steps: int) -> None:
    """Says which distances a run with fixed steps did not follow."""
    for face, count in zip(run.system.unilateral, counts, strict=True):
        if count:
            warn(
                f"step = {step:g} is too long to see every touch of '{face.name}': its distance bends too much inside"
                f" {count} of {steps} steps; take shorter ones, or leave the steps to their control"
            )
