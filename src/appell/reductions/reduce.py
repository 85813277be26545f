"""Reductions, what is kept of a run instead of its history: a number for each run, or the points of a section.

    keep={"highest": ap.reduce.max(y), "mean energy": ap.reduce.mean(x.d**2/2), "falls": ap.reduce.first_crossing(y)}

An expression may contain t, coordinates, velocities, accelerations and parameters. Accelerations are those of the current mode,
with its contacts and sticking frictions. The expression is sampled inside every step on the method's own dense output, in
pieces: a piece is halved until bounds of the expression over it show that no peak or zero hides between the samples
(`graph.ranges`). Extremes are values of the expression; integrals and means meet the tolerances of the run; if a tolerance
cannot be met (a pole on the way), the message of the run says so.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Float

from appell.errors import ModelError
from appell.reading import answered_by, finite, items_of, shown, text, whole
from appell.reductions.kinds import KINDS, ReductionKind


@dataclass(frozen=True)
class Reduction:
    """A reduction of an expression, made by a function of this module; `units` and `meaning` label the result."""

    kind: str
    expression: Any = None
    direction: int = 0
    count: int = 0
    skip: int = 0

    @property
    def meaning(self) -> str:
        """The reduction in words, for the attribute long_name."""
        words = self.kind.replace("_", " ")
        return words if self.expression is None else f"{words} of {self.expression}"


def max(expression: Any) -> Reduction:
    """The largest value over the run, start and end included."""
    return Reduction("max", _read_expression(expression))


def min(expression: Any) -> Reduction:
    """The smallest value over the run, start and end included."""
    return Reduction("min", _read_expression(expression))


def mean(expression: Any) -> Reduction:
    """∫ e dt / (t₁ − t₀), with the integral held to rtol ∫|e| dt + atol; of a run that ends where it starts, e there."""
    return Reduction("mean", _read_expression(expression))


def integral(expression: Any) -> Reduction:
    """∫ e dt, held to rtol ∫|e| dt + atol. An integrand that switches (a `Heaviside`, |x|) is split there."""
    return Reduction("integral", _read_expression(expression))


def final(expression: Any) -> Reduction:
    """The value at the end of the run."""
    return Reduction("final", _read_expression(expression))


def first_crossing(expression: Any, direction: int = 0) -> Reduction:
    """The first time, s, at which e passes through zero: upwards (direction 1), downwards (−1), either way (0); else NaN.

    Leaving e = 0 at the start is not a crossing, nor is a jump over zero (of a velocity in an impact, of an angle modulo 2π),
    since no state has e = 0 there, nor a touch after which e has the same sign. Values below rounding, or below 1e-12 of the
    largest so far, count as zero.
    """
    return Reduction("first_crossing", _read_expression(expression), _direction(direction))


def crossings(expression: Any, direction: int = 0) -> Reduction:
    """The number of times that e passes through zero.

    Crossings are those of `first_crossing`: a velocity that changes sign in an impact jumps over zero and does not count.
    """
    return Reduction("crossings", _read_expression(expression), _direction(direction))


def energy_error() -> Reduction:
    """max |H − H(0) − ∫ power dt| / E at the steps, as `motion.energy_error`."""
    return Reduction("energy_error")


def impacts() -> Reduction:
    """Impacts on unilateral constraints."""
    return Reduction("impacts")


def section(expression: Any, *, count: int, direction: int = 1, skip: int = 0) -> Reduction:
    """States and times at which e passes through zero (Poincaré points): `count` of them after the first `skip`.

    It is given as `keep=` itself. A run ends when it has all its points; if it reaches `until` first, the missing ones are NaN.
    """
    count, skip = whole(count, "count= of a section", 1), whole(skip, "skip= of a section", 0)
    return Reduction("section", _read_expression(expression), _direction(direction), count, skip)


def register(
    name: str, parts: Callable[[Any], Sequence[Reduction]], finish: Callable[..., Any], *, units: str = "SI"
) -> Callable[[Any], Reduction]:
    """A new kind of reduction made of others; returns the function that makes it.

        rms = ap.reduce.register("rms", lambda e: [ap.reduce.mean(e**2)], lambda square: np.sqrt(square))
        keep={"force": rms(k*x)}

    Parameters
    ----------
    name: of the kind; a name in use is refused.
    parts: expression → the reductions of which it consists.
    finish: their results, (runs,) each → its own, (runs,).
    units: of the result; "SI" for those of the expression.

    It runs wherever its parts do: in lanes, on a GPU, one by one.
    """
    name, units = text(name, "the name of a kind of reduction"), text(units, "units=")
    if name in KINDS:
        raise ModelError(f"there is a kind of reduction called {shown(name)} already; choose another name")
    if not callable(parts) or not callable(finish):
        raise ModelError("register takes parts=, a function of the expression, and finish=, a function of their results")

    finish_text = f"finish= of the reduction '{name}'"

    def made_of(expression: Any, direction: int) -> Sequence[Reduction]:
        parts_text = f"parts= of the reduction '{name}'"
        reductions = items_of(answered_by(parts, parts_text, expression), f"the answer of {parts_text}")
        if not reductions or not all(isinstance(part, Reduction) and part.kind != "section" for part in reductions):
            wrong = f"the parts of the reduction '{name}' must be reductions"
            raise ModelError(f"{wrong} such as ap.reduce.max(e), not {shown(reductions)}")
        return reductions

    KINDS[name] = ReductionKind(name, made_of, lambda values, duration: answered_by(finish, finish_text, *values), units)
    return lambda expression: Reduction(name, _read_expression(expression))


def _read_expression(expression: Any) -> Any:
    """The expression of a reduction, checked."""
    if isinstance(expression, int | float) and not isinstance(expression, bool):
        return Float(finite(expression, "a reduction"))
    if not isinstance(expression, Expr):
        raise ModelError(f"a reduction takes an expression in the system's symbols, x or x.d**2, not {shown(expression)}")
    return expression


def _direction(direction: Any) -> int:
    """The direction of a crossing, checked."""
    if not isinstance(direction, numbers.Real) or isinstance(direction, bool) or direction not in (-1, 0, 1):
        raise ModelError(f"direction= is 1 (upwards), −1 (downwards) or 0 (either), not {shown(direction)}")
    return int(float(direction))


__all__ = [
    "Reduction", "crossings", "energy_error", "final", "first_crossing", "impacts", "integral", "max", "mean", "min",
    "register", "section",
]  # fmt: skip
