"""A test for redundant faces: a face is redundant if its g vanishes wherever certain others do, at nearby states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.normal_form import NormalForm
from appell.normal_form.manifold import normalise
from appell.rows import NEWTON_LOST, least_squares

Array = NDArray[np.float64]

LEVER_ROUNDED = 1e-12
"""A coordinate that moves no distance by more than this fraction of what the others do moves none: rounding."""
START_SPREAD = 0.3
"""Largest displacement of the start of the search, in units of the length of each coordinate."""
ON_FACES_STEPS = 30
"""Most Newton steps onto the faces."""
ON_FACES_REACHED, ON_FACES_ACCEPTED = 1e-15, 1e-12
"""Distances, as fractions of their terms, at which the iteration ends, and at which its result is on the faces."""


def on_faces(
    form: NormalForm, p: Array, contacts: tuple[int, ...], t: float, q: Array, v: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """g at a random state near (t, q) where contacts and constraints hold, (faces,), and its size where the search began.

    Newton's iteration in the coordinates, Δq = N Δπ of least norm. It starts from a random displacement: each coordinate moves
    by a third of the length that changes a distance as much as the others do, and bodies turn by a third of a radian. (A large
    displacement of one entry of a quaternion would swamp the others.)
    """
    fn, c = form.select("g", "g_scale", "g_v", "N", "f0", "A0"), list(contacts)
    values = fn(t, q, v, p)
    lever = np.abs(values["g_v"][c]).max(axis=0)
    lever[lever < LEVER_ROUNDED * lever.max()] = 0  # below rounding: this coordinate moves no distance
    unit = 1 / np.where(lever > 0, lever, 1.0)
    arms = lever.max() / np.where(lever > 0, lever, np.inf)
    balls = [i for group in form.quaternions for i in group]
    turns = np.abs(values["N"][balls]).max(axis=0, initial=0.0) > 0
    reach = np.where(turns, 1.0, np.clip(arms, 1.0, 1e12))
    q = normalise(form, q + values["N"] @ (rng.uniform(-START_SPREAD, START_SPREAD, form.nv) * reach))
    size = fn(t, q, v, p)["g_scale"]
    for _ in range(ON_FACES_STEPS):
        values = fn(t, q, v, p)
        rows = np.vstack([values["A0"], values["g_v"][c]])
        residual = np.concatenate([values["f0"], values["g"][c]])
        scaled = rows * unit
        length = np.linalg.norm(scaled, axis=1)
        step = unit * least_squares(scaled / length[:, None], -residual / length, NEWTON_LOST)
        q = normalise(form, q + values["N"] @ step)
        if not np.isfinite(q).all():
            return np.full(len(values["g"]), np.nan), size
        if np.abs(values["g"][c]).max(initial=0.0) <= ON_FACES_REACHED * size[c].max(initial=0.0):
            break
    values = fn(t, q, v, p)
    arrived = np.abs(values["g"][c]).max(initial=0.0) <= ON_FACES_ACCEPTED * size[c].max(initial=0.0)
    return values["g"] if arrived else np.full(len(size), np.nan), size

