"""Jumps of a branched system that no motion can follow: distances and rows, before and after the break."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.modes.contact_thresholds import GAP_ROUNDING
from appell.normal_form import NormalForm

Array = NDArray[np.float64]

JUMP_UNNOTICED = 1e-9
"""Fraction of its terms by which a row or a distance may change at a break without counting as a jump."""
BREAK_MISTIMED = 64 * GAP_ROUNDING
"""Fraction of the time by which a break may be met too late or too early: a state lies on a surface up to 64 roundings of its
time. At the origin all terms of a distance vanish, and only what it travels in that time is left."""
CONTINUOUS_OUTPUTS = ("g", "f0", "f1")
"""Outputs of the normal form that are checked: distances of faces, rows of positions, rows of velocities."""


def jumped_sentence(
    run: Run, t: float, z: Array, before: Array, after: Array, *, since: float, where: str = "",
    watched: Sequence[str] = CONTINUOUS_OUTPUTS,
) -> str | None:  # fmt: skip
    """A sentence about a jump at the state z = (q, v), between the parameters before and after, that no motion can follow.

    since: when the run began; where: the surface, unless the jump is at a time."""
    form, q, v = run.form, z[: run.form.nq].copy(), z[run.form.nq :].copy()
    time_error = BREAK_MISTIMED * max(abs(t), abs(since))
    instant = f"at t = {t:.9g}" + (f", where {where} = 0," if where else "")
    if "g" in watched and run.system.unilateral:
        new, old = (form.select("g", "g_scale", "g_d")(t, q, v, p) for p in (after, before))
        tol_new, tol_old = (JUMP_UNNOTICED * blocks["g_scale"] + time_error * np.abs(blocks["g_d"]) for blocks in (new, old))
        passed = np.flatnonzero((old["g"] - new["g"] > tol_old + tol_new) & (new["g"] < -tol_new))
        if len(passed):
            return (
                f"'{run.system.unilateral[int(passed[0])].name}' jumps {instant} past the body: its distance is"
                f" {new['g'][passed[0]]:.6g} after the jump, and no impulse displaces a body instantly; let the wall move at a"
                " finite speed"
            )
    for level, name in ((0, "f0"), (1, "f1")):
        if name not in watched or not form.rows:
            continue
        new, old = (form.select(name, "f0_scale", "f1_scale")(t, q, v, p) for p in (after, before))
        tolerance = JUMP_UNNOTICED * (new[f"{name}_scale"] + old[f"{name}_scale"])
        if level == 0:
            tolerance += time_error * (new["f1_scale"] + old["f1_scale"])[_of_positions(form)]
        jumping = np.abs(new[name] - old[name]) > tolerance
        if jumping.any():
            rows = [row.constraint.name for row in form.rows if row.linear and row.level <= level and row.level < 2]
            quantities = "positions" if level == 0 else "velocities"
            return (
                f"constraint '{rows[int(np.argmax(jumping))]}' jumps {instant}: {quantities} would have to jump with it, which"
                " is a blow that no equation of motion holds; give a continuous function"
            )
    return None


def _of_positions(form: NormalForm) -> list[int]:
    """Indices of the rows f0 among the rows f1."""
    levels = [row.level for row in form.rows if row.linear and row.level < 2]
    return [i for i, level in enumerate(levels) if level == 0]


__all__ = ["jumped_sentence"]
