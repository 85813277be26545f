"""The load of a friction that is not a single reaction: a resultant, or multipliers in its limit.

    bound = μ L(Λ),   L = √(Λ₁² + Λ₂² + …)            bound = L(t, q, v, Λ), the limit itself
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy import Dummy, Expr

from appell.errors import ModelError
from appell.model.multiplier import Multiplier
from appell.numeric_functions import numeric_function

if TYPE_CHECKING:
    from appell.model.friction import Friction

ROOT_OFFSET = 1e-280
"""Added under roots of multipliers, so that they are differentiable at zero load: far below the square of any force."""


def multipliers_in(e: Expr | None) -> tuple[Multiplier, ...]:
    """The multipliers in an expression, by name."""
    return () if e is None else tuple(sorted((s for s in e.free_symbols if isinstance(s, Multiplier)), key=str))


def without_multipliers(e: Any) -> Any:
    """The expression with a number in place of each multiplier, so that its other symbols can be checked."""
    return e.xreplace({s: sympy.Rational(k + 3, 7) for k, s in enumerate(multipliers_in(e))})


def refuse_multipliers(system: Any, e: Expr, where: str, *, allowed: bool) -> None:
    """Raises `ModelError` for multipliers where none are allowed, and for others than those of bilateral constraints."""
    for s in multipliers_in(e):
        if not allowed:
            raise ModelError(f"{where} contains {s}, the multiplier of a constraint; say the whole bound as limit=")
        if s in {c.multiplier for c in system.constraints if c.order < 2}:
            continue
        if s in {c.multiplier for c in system.constraints}:
            raise ModelError(f"{where} contains {s}: a constraint of second order presses on nothing")
        if s in {face.multiplier for face in system.unilateral}:
            raise ModelError(
                f"{where} contains {s}, the reaction of a one-sided constraint, with which the friction comes and goes: give"
                " normal= and coefficient=, one friction for each face"
            )
        names = ", ".join(f"'{c.name}'" for c in system.constraints) or "none"
        raise ModelError(f"{where} contains {s}, but no bilateral constraint is called '{s.label}'; there are: {names}")


def rows_of_resultant(system: Any, fr: Friction) -> tuple[int, ...]:
    """The indices of the constraints that load a friction together."""
    indices: list[int] = []
    assert isinstance(fr.normal, tuple)
    for constraint in fr.normal:
        name = getattr(constraint, "name", constraint)
        rows = [i for i, c in enumerate(system.constraints) if c is constraint or c == constraint or c.name == constraint]
        if not rows:
            faces = [face.name for face in system.unilateral if constraint in (face.source, face.name)]
            names = ", ".join(f"'{c.name}'" for c in system.constraints) or "none"
            reason = "is one-sided: two faces are two contacts, each with a friction of its own" if faces else (
                f"is not a constraint of {system.name}; put it into constraints= too. Its bilateral ones are: {names}"
            )  # fmt: skip
            raise ModelError(f"normal= of friction '{fr.name}' lists '{name}', which {reason}")
        if system.constraints[rows[0]].order > 1:
            raise ModelError(f"normal= of friction '{fr.name}' lists '{name}' of second order, which presses on nothing")
        if rows[0] in indices:
            raise ModelError(f"normal= of friction '{fr.name}' lists '{name}' twice")
        indices.append(rows[0])
    return tuple(indices)


def load_of(system: Any, i: int) -> Expr | None:
    """L of friction i in multipliers of constraints; None for a single reaction, or a limit without multipliers."""
    fr, normal = system.frictions[i], system.normals[i]
    if normal is not None and normal[0] == "constraints":
        return sympy.sqrt(sum((system.constraints[row].multiplier ** 2 for row in normal[1]), sympy.Integer(0)))
    return fr.limit if multipliers_in(fr.limit) else None


def with_slope(load: Expr) -> Any:
    """L with `ROOT_OFFSET` under its roots of multipliers."""
    rooted = lambda e: e.is_Pow and e.exp == sympy.S.Half and bool(multipliers_in(e.base))
    return load.replace(rooted, lambda e: sympy.sqrt(e.base + sympy.Float(ROOT_OFFSET)))


def homogeneous(load: Expr) -> bool:
    """Whether L(c Λ) = c L(Λ) for c > 0, at a few points: then it bounds impulses like forces."""
    letters = {s: Dummy() for s in multipliers_in(load)}
    fixed_symbols = sorted(load.free_symbols - set(letters), key=str)
    value = numeric_function([*letters.values(), *fixed_symbols], [load.xreplace(letters)])
    rng, k = np.random.default_rng(5), len(letters)
    for _ in range(4):
        lam, fixed = rng.normal(size=k), rng.uniform(0.2, 0.9, len(fixed_symbols))
        with np.errstate(all="ignore"):
            unscaled, scaled = (float(np.asarray(value(*(c * lam), *fixed)).ravel()[0]) for c in (1.0, 3.7))
        if not abs(scaled - 3.7 * unscaled) <= 1e-11 * abs(scaled):
            return False
    return True


__all__ = [
    "homogeneous", "load_of", "multipliers_in", "refuse_multipliers", "rows_of_resultant", "with_slope", "without_multipliers"
]  # fmt: skip
