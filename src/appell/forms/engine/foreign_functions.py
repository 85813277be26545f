"""Expressions with other functions than `tidy` knows: roots, exponentials, arcs. SymPy simplifies them, within bounds."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from appell import tidy
from appell.forms.engine.work_budget import SIMPLIFY, WorkBudget

SIMPLIFIED_OPERATIONS = 40
"""Operations up to which `simplify` is quick."""
SIMPLIFIED_WAVES = 2
"""Different sines, cosines, tangents up to which it looks for relations between them: of seven it tries for minutes."""


def simplified_by_sympy(expr: Any, effort: WorkBudget) -> Any:
    """What `simplify` makes of a small expression with other functions than `tidy` knows, where that is shorter."""
    size = tidy.length(expr)
    if size > SIMPLIFIED_OPERATIONS or is_rational(tidy.parts(expr)) or _has_roots(expr) or not effort.spend(SIMPLIFY * size):
        return expr
    waves = expr.atoms(TrigonometricFunction)
    names = {wave: sympy.Dummy() for wave in waves} if len(waves) > SIMPLIFIED_WAVES else {}
    short: Any = sympy.simplify(expr.xreplace(names)).xreplace({name: wave for wave, name in names.items()})
    return min(expr, short, key=tidy.characters)


def is_rational(parts: set[Any]) -> bool:
    """Whether it is a rational function of symbols, sines and cosines, of which `tidy` has done all that can be done."""
    known = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.Abs, sympy.sign)
    return all(_has_whole_power(e) and (isinstance(e, known) or not isinstance(e, sympy.Function)) for e in parts)


def _has_whole_power(e: Any) -> bool:
    return not e.is_Pow or e.exp.is_Integer


def _has_roots(expr: Any) -> bool:
    """Whether a root of a sum stands in it: `simplify` then multiplies out conjugates, without end for distances of bodies."""
    return any(not _has_whole_power(e) and e.base.is_Add for e in tidy.parts(expr))


__all__ = ["is_rational", "simplified_by_sympy"]
