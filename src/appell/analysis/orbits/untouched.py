"""A system without the face, or without the reset guard, that a grazing orbit touches. In this system the smallest distance of
an orbit is smooth on both sides of grazing, and its zeros form a curve in two parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.analysis.orbits.grazing import NEAR_TOUCH, clearance, slowest_impact
from appell.analysis.orbits.orbit import Orbit
from appell.errors import ModelError
from appell.model import System
from appell.model.reset import Reset
from appell.model.unilateral import Unilateral
from appell.motion.extremes import extremes
from appell.motion.motion import Motion

FAR_FROM_ZERO = 1e3
"""A face is moved away by this multiple of its largest distance."""


class Untouched(NamedTuple):
    """The system with one face, or guard, moved away, and the function that an orbit touches; scale: its largest value."""

    system: System
    name: str
    function: Any
    scale: float

    def least(self, motion: Motion) -> float:
        """The smallest value along the orbit, as a fraction of the scale."""
        values = extremes(motion, self.function)
        low = values.value[values.bend > 0]
        return float(low.min(initial=np.inf) if len(low) else values.least) / self.scale


def _touched_name(motion: Motion) -> str:
    clear, slow = clearance(motion), slowest_impact(motion)
    return slow[0] if slow[1] < NEAR_TOUCH and slow[1] < clear.share else clear.face


def touches_and_hits(orbit: Orbit) -> bool:
    """Whether a grazing orbit also has impacts on the face, or resets at the guard, that it touches."""
    motion = orbit.motion
    name = _touched_name(motion)
    hits = [event for event in motion.impacts if event.constraint == name and event.kind == "impact"]
    faster = [event for event in hits if abs(event.before) > 2 * min(abs(hit.before) for hit in hits)]
    other_face = bool(hits) and slowest_impact(motion)[0] != name
    return bool(faster) or other_face or any(event.reset == name for event in motion.resets)


def untouched(orbit: Orbit) -> Untouched:
    """The system and distance function of a grazing orbit."""
    system, motion = orbit.system, orbit.motion
    name = _touched_name(motion)
    if touches_and_hits(orbit):
        raise ModelError(f"the orbit touches '{name}' and hits it, too")
    faces = {face.name: face for face in system.unilateral}
    guards = {reset.name: reset for reset in system.resets}
    function = faces[name].function if name in faces else guards[name].guard
    scale = max(extremes(motion, function).largest, 1e-300)
    return Untouched(_moved_away(system, name, FAR_FROM_ZERO * scale), name, function, scale)


def _moved_away(system: System, name: str, distance: float) -> System:
    rows: list[Any] = [*system.constraints]
    for face in system.unilateral:
        frictions = [fr.name for fr, normal in zip(system.frictions, system.normals, strict=True)
                if face.name == name and normal and normal[0] == "face" and system.unilateral[normal[1]] is face]  # fmt: skip
        if frictions:
            raise ModelError(f"'{name}', which the orbit touches, presses on '{frictions[0]}': its curve is not followed")
        rows.append(Unilateral(face.function + (distance if face.name == name else 0), face.name, restitution=face.restitution))
    rows += [fr.by_name() for fr in system.frictions]
    rows += [
        Reset(reset.guard + (distance if reset.name == name else 0), dict(reset.map), name=reset.name)
        for reset in system.resets
    ]
    return system.replace(constraints=rows)


__all__ = ["Untouched", "touches_and_hits", "untouched"]
