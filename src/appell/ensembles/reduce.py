"""What is kept of a run instead of its history: a number for each run, or the points of a section.

    keep={"highest": ap.reduce.max(y), "mean energy": ap.reduce.mean(x.d**2/2), "falls": ap.reduce.first_crossing(y)}

An expression has t, coordinates, velocities, accelerations and parameters. It is followed through every step, on the method's
own dense output: an extreme or a zero between two steps is found, not guessed from the steps. Only what rises and falls again
within a seventh of a step can be missed; `max_step=` helps against that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Float

from appell.errors import ModelError


@dataclass(frozen=True)
class Reduction:
    """One of the functions of this module, with its expression; `units` and `meaning` label the result."""

    kind: str
    expression: Any = None
    direction: int = 0
    count: int = 0
    skip: int = 0

    @property
    def meaning(self) -> str:
        """In words, for the attribute long_name."""
        words = self.kind.replace("_", " ")
        return words if self.expression is None else f"{words} of {self.expression}"


def max(expression: Any) -> Reduction:
    """The largest value over the run, start and end included."""
    return Reduction("max", _given(expression))


def min(expression: Any) -> Reduction:
    """The smallest value over the run, start and end included."""
    return Reduction("min", _given(expression))


def mean(expression: Any) -> Reduction:
    """∫ e dt / (t₁ − t₀), by a rule of degree 11 in each step; of a run that ends where it starts, e there."""
    return Reduction("mean", _given(expression))


def integral(expression: Any) -> Reduction:
    """∫ e dt, by a rule of degree 11 in each step."""
    return Reduction("integral", _given(expression))


def final(expression: Any) -> Reduction:
    """The value at the end of the run."""
    return Reduction("final", _given(expression))


def first_crossing(expression: Any, direction: int = 0) -> Reduction:
    """The first time, s, at which e passes through zero: upwards (direction 1), downwards (−1), either way (0); else NaN.

    A run that starts on e = 0 does not cross it by leaving.
    """
    return Reduction("first_crossing", _given(expression), _direction(direction))


def crossings(expression: Any, direction: int = 0) -> Reduction:
    """How often e passes through zero."""
    return Reduction("crossings", _given(expression), _direction(direction))


def energy_error() -> Reduction:
    """max |H − H(0) − ∫ power dt| / E at the steps, as `motion.energy_error`."""
    return Reduction("energy_error")


def impacts() -> Reduction:
    """Impacts on unilateral constraints."""
    return Reduction("impacts")


def section(expression: Any, *, count: int, direction: int = 1, skip: int = 0) -> Reduction:
    """States and times at which e passes through zero (Poincaré points): `count` of them after the first `skip`.

    Given as `keep=` itself. A run that has its points ends there; one that does not find them all until `until` has NaN after
    those that it found.
    """
    for name, value, least in (("count", count, 1), ("skip", skip, 0)):
        if not (isinstance(value, int) and not isinstance(value, bool) and value >= least):
            raise ModelError(f"{name}= of a section is a number of points, at least {least}, not {value!r}")
    return Reduction("section", _given(expression), _direction(direction), count, skip)


def _given(expression: Any) -> Any:
    if isinstance(expression, int | float) and not isinstance(expression, bool):
        return Float(expression)
    if not isinstance(expression, Expr):
        raise ModelError(f"a reduction takes an expression in the system's symbols, such as x or x.d**2, not {expression!r}")
    return expression


def _direction(direction: Any) -> int:
    if direction not in (-1, 0, 1):
        raise ModelError(f"direction= is 1 (upwards), −1 (downwards) or 0 (either), not {direction!r}")
    return int(direction)


__all__ = [
    "Reduction", "crossings", "energy_error", "final", "first_crossing", "impacts", "integral", "max", "mean", "min", "section",
]  # fmt: skip
