"""A system on the faces that press at one state, with these as constraints, for analyses that need one mode nearby.

    M a + h = Q + W Λ,    g = 0,  ġ = 0,  g̈ = 0  and  Λ > 0  for each of them

A face that is touched without a load has no linear equations beside it: neighbours on one side are free, others strike it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.rests.rest_state import GAP_CLOSED_AT_REST, NO_LOAD, gaps_at, may_part
from appell.compiled.compiling import compile_near
from appell.compiled.run import Run
from appell.errors import FormNotApplicable, ModelError
from appell.model import System
from appell.model.closed_faces import with_closed_faces
from appell.motion.motion import Motion
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import metric_roots
from appell.simulate.start import read

Array = NDArray[np.float64]

WALL_PASSED = 1e-9
"""A face is touched for a moment only if its rate exceeds this fraction of the speeds."""


def on_pressed_faces(system: System, start: Any, parameters: Any, time: float, what: str) -> System:
    """The system with the faces that press at a state as constraints. Raises if one is touched without load, or penetrated."""
    if not system.unilateral or system.frictions:
        return system
    run = _run(system, start, parameters, time)
    touched = faces_touched(run, start, time)
    if not touched:
        return system
    _refuse_passing(run, touched, start, time, what)
    closed = _pressed(run, touched, start, parameters, time)
    closed_system = with_closed_faces(run.system, closed)
    unloaded = [j for j in touched if j not in closed]
    if idle := [j for j in unloaded if _may_strike(run, j, _run(closed_system, start, parameters, time), start, time)]:
        raise ModelError(
            f"'{system.unilateral[idle[0]].name}' is touched without a load at this state of {system.name}: neighbours are free"
            f" on one side and strike it on the other, and {what} has no unique answer there"
        )
    return closed_system


def _pressed(run: Run, touched: list[int], start: Any, parameters: Any, time: float) -> list[int]:
    """The touched faces that press: those that would pull are let go, one by one."""
    closed = list(touched)
    while closed:
        pushes = _pushes(_run(with_closed_faces(run.system, closed), start, parameters, time), len(closed), start, time)
        if pushes.min() >= -NO_LOAD:
            return [j for j, push in zip(closed, pushes, strict=True) if push > NO_LOAD]
        closed.pop(int(np.argmin(pushes)))
    return closed


def faces_touched(run: Run, start: Any, time: float) -> list[int]:
    """The numbers of the faces with g = 0 at a state."""
    q = normalise(run.form, read(run.system, start)[0])
    return np.flatnonzero(np.abs(gaps_at(run.system, run.p_at(time), q, t=time).relative) <= GAP_CLOSED_AT_REST).tolist()


def refuse_contacts_along(motion: Motion, what: str) -> None:
    """Raises `FormNotApplicable` for a motion that meets walls: its equations change there."""
    struck = dict.fromkeys(impact.constraint for impact in motion.impacts)
    loaded = [face.name for face in motion.system.unilateral if np.any(np.asarray(motion.reaction(face.name)) != 0)]
    if names := list(dict.fromkeys([*struck, *loaded])):
        raise FormNotApplicable(
            f"{what} along a motion that meets {', '.join(map(repr, names))} would leave out what impacts and contacts do:"
            " ap.variations(motion) has the derivatives through them"
        )


def _run(system: System, start: Any, parameters: Any, time: float) -> Run:
    run = compile_near(system, start, parameters, backend="vm")
    return run if run.schedule is None else run.at(time)


def _refuse_passing(run: Run, touched: list[int], start: Any, time: float, analysis: str) -> None:
    """Raises if a touched face is approached or left at a speed."""
    q, v = read(run.system, start)
    gaps = run.form.select("g_d", "g_v")(time, q, v, run.p_at(time))
    wall_rates = gaps["g_d"] - gaps["g_v"] @ v  # the rate of a moving wall
    for j in touched:
        if abs(gaps["g_d"][j]) > WALL_PASSED * (np.abs(gaps["g_v"][j]) @ np.abs(v) + abs(wall_rates[j])):
            raise ModelError(
                f"'{run.system.unilateral[j].name}' is touched for a moment at this state of {run.system.name}, where its gap"
                f" changes by {gaps['g_d'][j]:.4g}/s: {analysis} needs a rest or a steady motion"
            )


def _pushes(run: Run, count: int, start: Any, time: float) -> Array:
    """Λ of the last `count` rows, (count,), as fractions of the forces, weighted by inertia."""
    q, v = read(run.system, start)
    lam = run.acceleration(time, q, v)[1][-count:]
    terms = run.form.select("M", "h", "Q", "W")(time, q, v, run.p_at(time))
    roots = metric_roots(terms["M"])
    forces = np.linalg.norm((np.abs(terms["h"]) + np.abs(terms["Q"])) / roots)
    sizes = np.linalg.norm(terms["W"] / roots[:, None], axis=0)[-count:]
    return lam * sizes / (forces or 1.0)


def _may_strike(run: Run, face: int, run_on_faces: Run, start: Any, time: float) -> bool:
    """Whether neighbours of a state strike a touched face that does not press: the motion does not leave it, g̈ > 0, and the
    pressed faces do not keep its gap closed."""
    q, v = read(run.system, start)
    a = run_on_faces.acceleration(time, q, v)[0]
    gap_slopes = run.form.select("g_v", "g_dd0")(time, q, v, run.p_at(time))
    rows = run_on_faces.form.select("A0", "M")(time, q, v, run_on_faces.p_at(time))
    terms = np.abs(gap_slopes["g_v"][face]) @ np.abs(a) + abs(gap_slopes["g_dd0"][face])
    leaves = gap_slopes["g_v"][face] @ a + gap_slopes["g_dd0"][face] > NO_LOAD * terms
    return bool(not leaves and may_part(rows["A0"], gap_slopes["g_v"][[face]], metric_roots(rows["M"]))[0])


__all__ = ["on_pressed_faces", "refuse_contacts_along"]
