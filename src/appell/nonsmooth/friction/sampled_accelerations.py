"""Accelerations and reactions of a system with friction along a motion, each sample in its own mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import backend_named
from appell.loop.held_inputs import last_change
from appell.modes.mode import SLIP, Mode
from appell.nonsmooth.friction.friction_functions import friction_functions
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.remember import kept_in

Array = NDArray[np.float64]

SLIP_PASSED_ZERO = 1e-9
"""Fraction of the largest slip of a motion: a slip that has passed zero by less has stopped."""


def accelerations_along(
    run: Any, modes: Sequence[tuple[float, Mode]], t: Array, q: Array, v: Array, p: Array | None = None,
    which: NDArray[np.intp] | None = None,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Accelerations (k, nv), multipliers of the constraints (k, rows), of the faces (k, faces) and of frictions (k, parts).

    p: parameters at each sample, (k, np), where a control sets some of them. which: the number of the mode at each sample; by
    default, the mode that holds at its time.
    """
    functions = friction_functions(run.system, run.form)
    layout = functions.layout
    if not modes:  # the run never began
        k, nan = len(t), np.nan
        return tuple(  # type: ignore[return-value]
            np.full((k, n), nan) for n in (v.shape[1], layout.m, layout.faces, sum(layout.parts))
        )
    which = last_change(np.array([time for time, _ in modes]), t) if which is None else which
    data = np.array([mode.data(layout) for _, mode in modes])[which]
    z = np.hstack([q, v, np.zeros((len(t), functions.flow.nz - q.shape[1] - v.shape[1]))])
    parameters = np.broadcast_to(run.p, (len(t), len(run.p))) if p is None else p
    outputs = guard_data_of(run)(t, z, np.hstack([parameters, data]))
    if stopped := _stopped(layout, [mode for _, mode in modes], which, outputs["s"]):
        k = np.array(list(stopped))
        corrected = guard_data_of(run)(t[k], z[k], np.hstack([parameters[k], [mode.data(layout) for mode in stopped.values()]]))
        outputs = {name: np.array(values) for name, values in outputs.items()}
        for name, values in corrected.items():
            outputs[name][k] = values
    rows, force = outputs["reactions"].copy(), outputs["force"].copy()
    for k in np.flatnonzero([bool(modes[i][1].idle) for i in which]):
        problem, _ = functions.problem(float(t[k]), q[k], v[k], parameters[k])
        mode = modes[which[k]][1].directed(layout, outputs["s"][k])
        answer = problem.checked(problem.solve(mode), (), mode.closed)
        rows[k], force[k] = answer.lam, answer.force
    return outputs["a"], rows[:, : layout.m], rows[:, layout.m : layout.m + layout.faces], force


def _stopped(layout: FrictionLayout, modes: Sequence[Mode], numbers: NDArray[np.intp], s: Array) -> dict[int, Mode]:
    """Samples at the end of a stretch at which rounding has taken the slip of a pair beyond zero.

    Each comes with a mode in which the pair keeps the direction of the sample before.
    """
    fixed_modes: dict[int, Mode] = {}
    for i in (i for i in range(layout.count) if layout.parts[i] > 1):
        slip = s[:, layout.columns(i)]
        size = np.linalg.norm(slip, axis=1)
        turns = np.array([mode.frictions[i].state == SLIP and not mode.frictions[i].fixed for mode in modes])[numbers[1:]]
        slow = turns & (numbers[1:] == numbers[:-1]) & (size[1:] <= SLIP_PASSED_ZERO * size.max(initial=0.0))
        previous: tuple[int, Array] = (-1, slip[0])
        for k in (np.flatnonzero(slow) + 1).tolist():
            direction = previous[1] if previous[0] == k - 1 else slip[k - 1]
            if slip[k] @ direction >= 0:
                continue
            previous = k, direction
            mode: Mode = fixed_modes.get(k, modes[int(numbers[k])])
            fixed = mode.frictions[i]._replace(u=tuple((direction / np.linalg.norm(direction)).tolist()), fixed=True)
            fixed_modes[k] = replace(mode, frictions=(*mode.frictions[:i], fixed, *mode.frictions[i + 1 :]))
    return fixed_modes


def guard_data_of(run: Any) -> Callable[[Array, Array, Array], dict[str, Array]]:
    """`FrictionFunctions.guard_data` on the run's back end, for batches of states."""
    functions = friction_functions(run.system, run.form)
    loaded = kept_in(functions, "guard_data")
    if run.backend not in loaded:
        loaded[run.backend] = backend_named(run.backend).load(functions.guard_data)
    names = [port.name for port in functions.guard_data.outputs]
    return lambda t, z, p: dict(zip(names, loaded[run.backend].batch(t, z, p), strict=True))


__all__ = ["accelerations_along", "guard_data_of"]
