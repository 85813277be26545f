"""Autonomous models: no expression contains the time, and its origin is arbitrary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.jets import t
from appell.model.measured import letters_of
from appell.model.system import System
from appell.remember import remembered


@remembered
def is_autonomous(system: System) -> bool:
    """Whether no expression of a system contains t or a function of it."""
    terms: list[Any] = [*system._expressions(), *system.residuals, *system.rates.values()]
    terms += [e for face in system.unilateral for e in (face.function, face.restitution)]
    terms += [e for reaction in system.reactions if reaction is not None for e in reaction]
    terms += [e for friction in system.frictions for e in friction.expressions]
    terms += [e for reset in system.resets for e in reset.expressions]
    terms += [getattr(body, name, None) for body in system.bodies for name in ("mass", "inertia", "carried", "carried_omega")]
    driven = system.prescribed or system.prescription or letters_of(system.parameters)
    return not driven and is_timeless(terms)


def is_timeless(expressions: Iterable[Any]) -> bool:
    """Whether none of the expressions contains t."""
    return all(t not in getattr(e, "free_symbols", ()) for e in expressions)


def origin_for(since: float, lengths: Any) -> float:
    """The time origin of a loop for an autonomous system: `since` if that is farther from 0 than runs are long.

    Near t floats are |t| 2⁻⁵² apart (2⁻²³ in single precision), near 0 much closer.
    """
    return since if abs(since) > max(map(abs, lengths), default=0.0) else 0.0


__all__ = ["is_autonomous", "is_timeless", "origin_for"]
