"""Expressions as numeric functions: the only place where SymPy turns an expression into Python code.

Every name in that code is an argument or a name of Python's grammar, so that nothing in an expression can be executed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef
from sympy.core.symbol import Str

from appell.errors import ModelError
from appell.reading import NUMBERS, described, shown
from appell.tabulated import with_implementations


def numeric_function(symbols: Sequence[Any], exprs: Any, modules: Any = "numpy", *, cse: bool = False) -> Callable[..., Any]:
    """`sympy.lambdify` of expressions in the symbols.

    An undefined function, or a symbol that is not an argument, raises: it would appear in that code by its name.
    """
    for expr in _flat(exprs):
        _refuse_names(expr, symbols)
    kinked = any(isinstance(expr, sympy.Basic) and expr.has(sympy.Max, sympy.Min) for expr in _flat(exprs))
    try:
        with sympy.evaluate(not kinked):  # SymPy compares the arguments of a Max whenever it is rebuilt: seconds for frames
            return sympy.lambdify(list(symbols), with_implementations(_stepped(exprs) if kinked else exprs), modules, cse=cse)
    except Exception:  # SymPy has no code for complex infinity, sets and the like, and raises various types
        raise ModelError(f"there is no function of numbers for {shown(exprs)}") from None


def _stepped(exprs: Any) -> Any:
    """Expressions with (1 + sign x)/2 for Heaviside(x), the derivative of a Max, whose code SymPy does not finish without
    evaluation."""
    if isinstance(exprs, list | tuple):
        return [_stepped(expr) for expr in exprs]
    if not isinstance(exprs, sympy.Basic | sympy.MatrixBase):
        return exprs
    steps: Any = [step for step in exprs.atoms(sympy.Heaviside) if step.args[1] == sympy.Rational(1, 2)]
    return exprs.xreplace({step: (1 + sympy.sign(step.args[0])) / 2 for step in steps})


def _flat(exprs: Any) -> list[Any]:
    return [leaf for expr in exprs for leaf in _flat(expr)] if isinstance(exprs, list | tuple) else [exprs]


def _refuse_names(expr: Any, symbols: Sequence[Any]) -> None:
    if not isinstance(expr, sympy.Basic | sympy.MatrixBase):
        if isinstance(expr, NUMBERS):
            return
        raise ModelError(f"a function is made of expressions, not of {described(expr)}")
    undefined = sorted(map(str, expr.atoms(AppliedUndef)))
    if undefined:
        raise UnknownName(f"{shown(undefined[0])} has no value: it is a function that is not defined", name=undefined[0])
    strange = sorted(map(str, expr.free_symbols - set(symbols)))
    bound = {str(s) for s in expr.atoms(sympy.Symbol, Str)} - {str(s) for s in symbols}
    strange += sorted(name for name in bound if not name.isidentifier())
    if strange:
        raise UnknownName(f"'{strange[0]}' has no value here", name=strange[0])


class UnknownName(ModelError, NameError):
    """An expression contains a name that has no value."""

    def __init__(self, message: str, *, name: str):
        super().__init__(message)
        self.name = name


__all__ = ["UnknownName", "numeric_function"]
