"""A system with friction in the mode of one state, as a system without friction, for analyses that need a single mode
nearby."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.analysis.contact_of_state import on_pressed_faces
from appell.analysis.orbits.stick_slip import FROM_REST
from appell.compiled.compiling import compile
from appell.compiled.run import Run
from appell.errors import FormNotApplicable, ModelError
from appell.model.described import system_of
from appell.modes.mode import SLIP, STICK, Mode
from appell.motion.motion import Motion
from appell.nonsmooth.friction.friction_functions import friction_functions
from appell.nonsmooth.friction.sampled_accelerations import guard_data_of
from appell.reading import table_of, text_of
from appell.simulate.friction_accelerations import mode_at
from appell.simulate.start import read

EDGE_OF_CONE = 1e-9
"""A sticking friction must stay below its bound by this fraction for neighbouring states to stick too."""


def refuse_modes_along(motion: Motion, what: str) -> None:
    """Raises `FormNotApplicable` for a motion with friction, whose mode changes."""
    if motion.system.frictions:
        names = ", ".join(f"'{fr.name}'" for fr in motion.system.frictions)
        raise FormNotApplicable(
            f"{what} along a motion with dry friction ({names}) would be one of each mode, and miss what its changes do:"
            " ap.variations(motion) has the derivatives through sticking, slipping and their changes"
        )


def in_mode_of(system: Any, start: Any, parameters: Any, time: float, what: str) -> tuple[Any, Any]:
    """The system in the mode of a state, faces that press as constraints, and the remaining parameters; the system itself
    without friction and away from walls. Raises where neighbouring states are in other modes."""
    model = system_of(system, what)
    if not model.frictions:
        return on_pressed_faces(model, start, parameters, time, what), parameters
    run = compile(model, parameters, backend="vm")
    q, v = read(model, start)
    mode = mode_at(run, time, q, v)
    _refuse_edges(run, mode, time, q, v, what)
    mode_names = {STICK: "stick", SLIP: "slip"}
    states, signs = {}, {}
    for law, friction in zip(model.frictions, mode.frictions, strict=True):
        state = mode_names.get(friction.state, "off")
        if friction.state == SLIP and law.parts == 1 and law.regularise is None:
            state = "slip+" if friction.u[0] > 0 else "slip-"
        states[law.name], signs[law.name] = state, friction.sign
    in_mode = model.in_mode(states, signs)
    names = {str(p) for p in in_mode.parameters}
    remaining = {key: value for key, value in table_of(parameters, "parameters=").items() if text_of(key) in names}
    return on_pressed_faces(in_mode, start, remaining, time, what), remaining


def _refuse_edges(run: Run, mode: Mode, time: float, q: Any, v: Any, analysis: str) -> None:
    functions, z = friction_functions(run.system, run.form), np.concatenate([q, v])
    full_state = np.concatenate([z, np.zeros(functions.flow.nz - len(z))])[None]
    numbers = np.append(run.p, mode.data(functions.layout))[None]
    terms = {name: values[0] for name, values in guard_data_of(run)(np.array([time]), full_state, numbers).items()}
    for i, (law, friction) in enumerate(zip(run.system.frictions, mode.frictions, strict=True)):
        columns = functions.layout.columns(i)
        size = np.abs(v).max(initial=0.0)
        if friction.state == SLIP and law.regularise is None and np.linalg.norm(terms["s"][columns]) <= FROM_REST * size:
            raise ModelError(
                f"'{law.name}' begins to slide from rest at this state, and neighbours slide to either side: {analysis} has no"
                " one answer there"
            )
        force, bound = float(np.linalg.norm(terms["force"][columns])), float(terms["hold"][i])
        if friction.state == STICK and force >= (1 - EDGE_OF_CONE) * bound:
            raise ModelError(
                f"'{law.name}' bears {force:.6g} of at most {bound:.6g}, and neighbours slide: {analysis} has no one answer"
                " there"
            )


__all__ = ["in_mode_of", "refuse_modes_along"]
