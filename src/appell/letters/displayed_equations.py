"""Records of equations that a notebook displays."""

from __future__ import annotations

import sympy
from sympy import Eq


class DisplayedEquations:
    """A record with `equations`, shown as LaTeX."""

    @property
    def equations(self) -> tuple[Eq, ...]:
        """Its equations, in the order in which they are shown."""
        raise NotImplementedError

    def latex(self) -> str:
        """The equations in LaTeX, one `align*`."""
        rows = r" \\ ".join(f"{sympy.latex(e.lhs)} &= {sympy.latex(e.rhs)}" for e in self.equations)
        return rf"\begin{{align*}} {rows} \end{{align*}}"

    def _repr_latex_(self) -> str:
        return self.latex()


__all__ = ["DisplayedEquations"]
