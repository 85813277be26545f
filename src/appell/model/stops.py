"""Stop conditions of a run: expressions and the direction in which they pass through zero.

    simulate(ball, start, 10.0, stop={"apex": ap.falling(y.d), "wall": x - 3})

A bare expression stops in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Basic

from appell.errors import ModelError
from appell.jets import Jet, expression, t
from appell.model import System
from appell.reading import name_in, shown

DIRECTIONS = {1: "rising", -1: "falling", 0: "either way"}


@dataclass(frozen=True)
class Stop:
    """An expression of t, coordinates, velocities and parameters that stops a run where it passes through zero.

    direction: 1 rising, −1 falling, 0 either; made by `ap.rising` and `ap.falling`.
    """

    expression: Any
    direction: int = 0

    @property
    def description(self) -> str:
        """The condition as text."""
        return f"{shown(self.expression)} = 0{f', {DIRECTIONS[self.direction]}' if self.direction else ''}"


def rising(e: Any) -> Stop:
    """The condition that an expression passes through zero from below, for `stop=` and `motion.crossings`."""
    return Stop(_expression(e, "ap.rising"), 1)


def falling(e: Any) -> Stop:
    """The condition that an expression passes through zero from above, for `stop=` and `motion.crossings`."""
    return Stop(_expression(e, "ap.falling"), -1)


def _expression(e: Any, caller: str) -> Any:
    if isinstance(e, Stop):
        raise ModelError(f"{caller} takes an expression; {e.description} has a direction already")
    if callable(e) and not isinstance(e, Basic):
        raise ModelError(f"{caller} takes an expression that passes through zero, as x - 3, not a Python function")
    if isinstance(e, bool):
        raise ModelError(f"{caller} takes an expression that passes through zero, as x - 3, not {shown(e)}")
    return expression(e, caller)


def condition(e: Any, what: str = "stop=") -> Stop:
    """A condition from an expression, or a `Stop` unchanged."""
    if getattr(e, "is_Relational", False) or getattr(e, "is_Boolean", False):
        sides = f"{e.lhs - e.rhs}" if getattr(e, "is_Relational", False) else "x - 3"
        raise ModelError(f"{what} is an expression that passes through zero, not {shown(e)}: give ap.rising({sides})")
    return e if isinstance(e, Stop) else Stop(_expression(e, what))


def read_stops(system: System, stop: Any) -> dict[str, Stop]:
    """Name → condition from `stop=`; {} for None."""
    if stop is None:
        return {}
    if isinstance(stop, list | tuple | set):
        raise ModelError("stop= is an expression, or several by name, {'apex': ap.falling(y.d)}; several have no names here")
    by_name = stop if isinstance(stop, Mapping) else {"stop": stop}
    if not by_name:
        raise ModelError("stop={} has no condition; leave it out, or give one, {'apex': ap.falling(y.d)}")
    stops = {}
    for key, value in by_name.items():
        name = name_in(key)
        named = condition(value, f"stop '{name}'")
        _check(system, name, named.expression)
        stops[name] = named
    return stops


def _check(system: System, name: str, e: Any) -> None:
    allowed = {t, *system.positions, *system.velocities, *system.parameters}
    occurring = system.in_velocities(e).free_symbols
    for s in sorted(occurring - allowed, key=str):
        kind = "an acceleration" if isinstance(s, Jet) and s.level >= 2 else f"unknown to '{system.name}'"
        raise ModelError(f"stop '{name}' contains {s}, {kind}; it is made of t, coordinates, velocities, states and parameters")
    if not occurring & {t, *system.positions, *system.velocities}:
        raise ModelError(
            f"stop '{name}' is {shown(e)}, which contains neither the time nor coordinates, velocities or states: it never"
            " passes through zero between two readings of a control"
            if occurring
            else f"stop '{name}' is {shown(e)}, a number: it never passes through zero"
        )


__all__ = ["Stop", "condition", "falling", "read_stops", "rising"]
