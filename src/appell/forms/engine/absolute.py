"""Absolute values in ordinary notation: y sign y = |y|, y² sign y = y |y|, |y| sign y = y."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Eq

from appell import tidy
from appell.model import System
from appell.reading import symbolic
from appell.remember import remembered


@remembered
def has_signs(system: System) -> bool:
    """Whether an absolute value or a sign occurs in the energies, forces or constraints."""
    terms = [system.kinetic, system.potential, *system.forces, *system.residuals]
    return any(isinstance(e, sympy.Abs | sympy.sign) for x in terms for e in tidy.parts(symbolic(x, "a part of the system")))


class SignsAbsorbed:
    """written(expression): an equal expression without sign(y) times y; each subexpression is processed once."""

    def __init__(self) -> None:
        self._rewritten: dict[Any, Any] = {}

    def equation(self, e: Eq) -> Eq:
        """Both sides."""
        return Eq(self(e.lhs), self(e.rhs), evaluate=False)  # type: ignore[return-value]

    def __call__(self, expr: Any) -> Any:
        if not expr.args:
            return expr
        if expr not in self._rewritten:
            args = [self(x) for x in expr.args]
            is_unchanged = all(x is y for x, y in zip(args, expr.args, strict=True))
            rebuilt = expr if is_unchanged else expr.func(*args)
            self._rewritten[expr] = _without_signs(rebuilt) if rebuilt.is_Mul else rebuilt
        return self._rewritten[expr]


def _without_signs(product: Any) -> Any:
    """sign(y) yⁿ = |y| yⁿ⁻¹ and sign(y) |y|ⁿ = y |y|ⁿ⁻¹ for n ≥ 1; sign(y) √|y| is kept, since y/√|y| is undefined at 0."""
    if not product.is_Mul:
        return product
    powers = dict(x.as_base_exp() for x in product.args)
    for step in [x for x, n in powers.items() if isinstance(x, sympy.sign) and n == 1]:
        y: Any = step.args[0]
        for base, instead in ((sympy.Abs(y), y), (y, sympy.Abs(y)), (-y, -sympy.Abs(y))):
            if (powers.get(base, sympy.S.Zero) - 1).is_nonnegative:
                return _without_signs(product / step / base * instead)
    return product
