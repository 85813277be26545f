"""The parts of a request that a design uses: its unknowns and the conditions at the end; other parts are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.motion.motion import Motion
from appell.optimize.goals import at
from appell.optimize.prediction import Unknown
from appell.optimize.steering_request import BoundedExpression, SteeringRequest
from appell.reading import shown


def refuse_unsupported(request: SteeringRequest) -> None:
    """Raises for requests that a design does not support, and says what does."""
    if request.steered.controls:
        raise ModelError(
            f"phases='any' finds parameters and start values; with the control {request.steered.controls[0]} name the phases"
        )
    if request.duration[0] != request.duration[1]:
        raise ModelError("phases='any' needs a fixed end: until= is a time, not an interval")
    unsupported = [
        *(str(row.text) for row in request.path_relations),
        *(str(s) for s in request.bounds if s not in request.unknown),
    ]
    if unsupported:
        raise ModelError(
            f"phases='any' takes bounds of unknowns and relations between instants (ap.at), not '{unsupported[0]}'"
        )


def refuse_reactions(request: SteeringRequest, totals: list[Any]) -> None:
    """Raises for integrals of anything but times, coordinates, velocities and parameters."""
    known = {*request.states, *request.system.parameters, *request.parameters, sympy.Symbol("t")}
    for node in totals:
        foreign = [s for s in node.args[0].free_symbols if s not in known and str(s) != "t"]
        if foreign:
            raise ModelError(f"{node} contains {foreign[0]}; with phases='any' integrals take t, coordinates and velocities")


def end_rows(request: SteeringRequest) -> list[BoundedExpression]:
    """Values and intervals given for the end."""
    pairs = zip(request.states, request.end.lower, request.end.upper, strict=True)
    return [
        BoundedExpression(at(s, "end"), float(low), float(high), f"{s} at the end")
        for s, low, high in pairs
        if np.isfinite(low) or np.isfinite(high)
    ]


def _guessed_values(request: SteeringRequest, guess: Any) -> dict[str, float]:
    """Name → first guess of unknowns and start values, from a plan or a motion."""
    if guess is None:
        return {}
    motion = getattr(guess, "motion", guess)
    if not isinstance(motion, Motion):
        raise ModelError(
            "with phases='any' guess= is a motion, or a plan with a motion, whose start and unknowns the search begins with,"
            f" not {shown(guess)}; first guesses of unknowns are also given in parameters="
        )
    states = {str(s) for s in (*motion.system.positions, *motion.system.velocities)}
    unknowns = {str(s): float(x) for s, x in getattr(guess, "values", {}).items()}
    start = {str(s): float(np.ravel(motion[str(s)])[0]) for s in request.states if str(s) in states}
    if not start:
        raise ModelError(f"guess= is a motion of '{motion.system.name}' without any of the states of '{request.original.name}'")
    return unknowns | start


def unknowns_of(request: SteeringRequest, given: Any) -> tuple[Unknown, ...]:
    """Unknown parameters and start values with their bounds, and first guesses from a plan or a motion if one is given."""
    unknowns, guesses = [], _guessed_values(request, given)
    for s in request.unknown:
        low, high = request.bounds.get(s, (-np.inf, np.inf))
        unknowns.append(
            Unknown(str(s), s, None, float(np.clip(guesses.get(str(s), request.parameters[s]), low, high)), low, high)
        )
    for s, low, high in zip(request.states, request.start.lower, request.start.upper, strict=True):
        if low < high:
            guess = (low + high) / 2 if np.isfinite([low, high]).all() else float(np.clip(0.0, low, high))
            guess = float(np.clip(guesses.get(str(s), guess), low, high))
            unknowns.append(Unknown(f"{s}(0)", s, 0, guess, low, high))
    if not unknowns:
        raise ModelError("nothing can be chosen: give unknown=, or a start with an interval or ap.free")
    return tuple(unknowns)


__all__ = ["end_rows", "refuse_reactions", "refuse_unsupported", "unknowns_of"]
