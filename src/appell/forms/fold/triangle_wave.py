"""The triangle wave and its slope.

    M(x) = sgn cos x            Π(x) = ∫₀ˣ sgn cos ξ dξ = arcsin sin x            Π′ = M

s = Π(x) covers −π/2 <= s <= π/2 once on every half period, as s = |x| covers s >= 0 once on each side of x = 0.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Function


class Triangle(Function):
    """Π(x): the triangle wave of period 2π, amplitude π/2 and slopes ±1."""

    @classmethod
    def eval(cls, x: Any) -> Any:
        if x.is_number and x.is_comparable:
            return sympy.asin(sympy.sin(x))
        return None

    def fdiff(self, argindex: int = 1) -> Any:
        return Meander(self.args[0])

    def _eval_rewrite(self, rule: Any, args: Any, **hints: Any) -> Any:
        return sympy.asin(sympy.sin(args[0])) if rule == sympy.asin else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else rf"^{{{exp}}}"
        return rf"\Pi{power}\left({printer._print(self.args[0])}\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"Π({printer._print(self.args[0])})"


class Meander(Function):
    """M(x) = sgn cos x: the square wave, slope of Π. Its own derivative is zero off the jumps."""

    @classmethod
    def eval(cls, x: Any) -> Any:
        if x.is_number and x.is_comparable:
            return sympy.sign(sympy.cos(x))
        return None

    def fdiff(self, argindex: int = 1) -> Any:
        return sympy.Integer(0)

    def _eval_rewrite(self, rule: Any, args: Any, **hints: Any) -> Any:
        return sympy.sign(sympy.cos(args[0])) if rule == sympy.sign else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else rf"^{{{exp}}}"
        return rf"M{power}\left({printer._print(self.args[0])}\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"M({printer._print(self.args[0])})"
