"""Terms of goals and conditions of a plan: ∫ F dt, values at the start, the end or a time, and free values."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.symbol import Str

from appell.errors import ModelError
from appell.jets import expression
from appell.reading import finite, shown

INSTANTS = ("start", "end")


class TimeIntegral(sympy.Function):
    """∫ F dt over the whole motion, made by `ap.integral`."""

    nargs = 1
    is_real = True

    def _sympystr(self, printer: Any) -> str:
        return f"∫ {printer._print(self.args[0])} dt"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = rf"\int {printer._print(self.args[0])}\,dt"
        return body if exp is None else rf"\left({body}\right)^{{{exp}}}"


class InstantValue(sympy.Function):
    """The value of an expression at an instant, made by `ap.at`."""

    nargs = 2
    is_real = True

    @property
    def instant(self) -> str | float:
        """ "start", "end", or a time, s."""
        argument: Any = self.args[1]
        return str(argument) if isinstance(argument, Str) else float(argument)

    def within(self, first: float, last: float) -> InstantValue:
        """The same, with the times first and last (s) replaced by "start" and "end"; a time outside raises."""
        if isinstance(self.instant, str):
            return self
        slack = 1e-9 * (last - first)  # times that a user computes are rounded
        if not first - slack <= self.instant <= last + slack:
            raise ModelError(f"{self}: the plan lasts from t = {first:g} s to {last:g} s")
        for name, t in zip(INSTANTS, (first, last), strict=True):
            if abs(self.instant - t) <= slack:
                return InstantValue(self.args[0], Str(name))  # pyright: ignore[reportReturnType]
        return self

    def _sympystr(self, printer: Any) -> str:
        return f"at({printer._print(self.args[0])}, {self.instant})"


class Free:
    """Marks a value that is not given; `ap.free` is its only instance."""

    def __repr__(self) -> str:
        return "ap.free"

    def __reduce__(self) -> str:
        return "free"


free = Free()
"""In `start=` and `end=` of `ap.optimize`: the value is not given, the plan finds it."""


def integral(expr: Any) -> sympy.Expr:
    """∫ F(t, q, v, a, controls, multipliers) dt over a whole plan: `ap.optimize(…, minimize=ap.integral(F**2))`.

    Integrals may be added, multiplied by numbers and parameters, and bounded in `subject_to=`.
    """
    inside = expression(expr, "ap.integral")
    if inside.has(TimeIntegral, InstantValue):
        raise ModelError("ap.integral takes an expression along the motion; ap.at and another ap.integral stand outside of it")
    return TimeIntegral(inside)  # pyright: ignore[reportReturnType]


def at(expr: Any, instant: Any) -> sympy.Expr:
    """The value of an expression at one instant of a plan: `ap.at(x, "end") - ap.at(x, "start") >= 1`.

    instant: "start", "end", or a time of a plan with a fixed end, s.
    """
    inside = expression(expr, "ap.at")
    if inside.has(TimeIntegral, InstantValue):
        raise ModelError("ap.at takes an expression along the motion; ap.integral and another ap.at stand outside of it")
    if isinstance(instant, str):
        if instant not in INSTANTS:
            raise ModelError(f"ap.at(…, instant): the instant is 'start', 'end' or a time, not {shown(instant)}")
        return InstantValue(inside, Str(instant))  # pyright: ignore[reportReturnType]
    return InstantValue(inside, sympy.Float(finite(instant, "the instant of ap.at")))  # pyright: ignore[reportReturnType]


__all__ = ["Free", "InstantValue", "TimeIntegral", "at", "free", "integral"]
