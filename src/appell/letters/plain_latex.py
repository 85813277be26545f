"""LaTeX as SymPy writes it, for labels of datasets and axes."""

from __future__ import annotations

from typing import Any

import sympy


def latex(what: Any) -> str:
    """LaTeX of a symbol, an expression, or a name ("omega_1")."""
    return sympy.latex(sympy.Symbol(what) if isinstance(what, str) else what)


__all__ = ["latex"]
