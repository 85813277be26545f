"""Whether time itself stands in a model. Where it does not, a motion is the same at every time, and may be counted from any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.jets import t
from appell.model.measured import letters_of
from appell.model.system import System
from appell.remember import remembered


@remembered
def is_autonomous(system: System) -> bool:
    """Whether neither t nor a function of it stands in any expression of a system."""
    parts: list[Any] = [*system._expressions(), *system.residuals, *system.rates.values()]
    parts += [part for face in system.unilateral for part in (face.function, face.restitution)]
    parts += [part for reaction in system.reactions if reaction is not None for part in reaction]
    parts += [part for friction in system.frictions for part in friction.expressions]
    parts += [part for reset in system.resets for part in reset.expressions]
    parts += [getattr(body, name, None) for body in system.bodies for name in ("mass", "inertia", "carried", "carried_omega")]
    given = system.prescribed or system.prescription or letters_of(system.parameters)
    return not given and is_timeless(parts)


def is_timeless(expressions: Iterable[Any]) -> bool:
    """Whether t stands in none of the expressions."""
    return all(t not in getattr(one, "free_symbols", ()) for one in expressions)


def origin_for(since: float, lengths: Any) -> float:
    """From which time a loop counts that of an autonomous system: `since` where that is further from 0 than runs are long.

    Near t the numbers are |t| 2⁻⁵² apart (2⁻²³ in single precision), near 0 much closer.
    """
    return since if abs(since) > max(map(abs, lengths), default=0.0) else 0.0


__all__ = ["is_autonomous", "is_timeless", "origin_for"]
