"""Expressions with functions that `tidy` does not handle: roots, exponentials, inverse functions. SymPy simplifies them, within
limits."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from appell import tidy
from appell.forms.engine.work_budget import SIMPLIFY, WorkBudget

SIMPLIFIED_OPERATIONS = 40
"""Operations up to which `simplify` is fast."""
SIMPLIFIED_WAVES = 2
"""Distinct sines, cosines, tangents up to which it may look for relations between them: with seven it takes minutes."""


def simplified_by_sympy(expr: Any, effort: WorkBudget) -> Any:
    """The result of `simplify` for a small expression with functions that `tidy` does not handle, if it is shorter."""
    size = tidy.length(expr)
    if size > SIMPLIFIED_OPERATIONS or is_rational(tidy.parts(expr)) or _has_roots(expr) or not effort.spend(SIMPLIFY * size):
        return expr
    waves = expr.atoms(TrigonometricFunction)
    names = {wave: sympy.Dummy() for wave in waves} if len(waves) > SIMPLIFIED_WAVES else {}
    short: Any = sympy.simplify(expr.xreplace(names)).xreplace({name: wave for wave, name in names.items()})
    return min(expr, short, key=tidy.characters)


def is_rational(parts: set[Any]) -> bool:
    """Whether it is a rational function of symbols, sines, cosines, secants …, for which `tidy` has already done all."""
    rational_functions = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc, sympy.Abs, sympy.sign)
    return all(_has_whole_power(e) and (isinstance(e, rational_functions) or not isinstance(e, sympy.Function)) for e in parts)


def _has_whole_power(e: Any) -> bool:
    return not e.is_Pow or e.exp.is_Integer


def _has_roots(expr: Any) -> bool:
    """Whether it contains a root of a sum: `simplify` would then expand conjugates, endlessly for distances of bodies."""
    return any(not _has_whole_power(e) and e.base.is_Add for e in tidy.parts(expr))


__all__ = ["is_rational", "simplified_by_sympy"]
