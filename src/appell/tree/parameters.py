"""Parameters in a tree: the symbols it contains, and the same tree with numbers for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy
from sympy import Symbol

from appell.errors import ModelError
from appell.model.attitudes import RotationMatrix
from appell.model.bodies import RigidBody
from appell.tree.description import Joint
from appell.tree.inertia import Inertia, Placement

Table = Mapping[Symbol, float]


def symbols_in(thing: Any) -> set[Symbol]:
    """The symbols of a number, an expression, an array, a placement, a body or a joint."""
    if isinstance(thing, sympy.Basic | sympy.MatrixBase):
        return set(thing.free_symbols)  # type: ignore[arg-type]
    return set().union(*(symbols_in(part) for part in _members(thing)))


def with_numbers(thing: Any, table: Table) -> Any:
    """`thing` with numbers for its symbols; unchanged if it has none."""
    if not symbols_in(thing):
        return thing
    if isinstance(thing, sympy.Basic | sympy.MatrixBase):
        value = thing.xreplace({symbol: sympy.Float(number, 17) for symbol, number in table.items()})
        if isinstance(value, sympy.MatrixBase) or value.free_symbols:
            return value
        if not (value.is_real and value.is_finite):
            raise ModelError(f"with these values of the parameters {thing} is {value}, which is not a finite number")
        return float(value)  # type: ignore[arg-type]
    evaluated = lambda part: with_numbers(part, table)
    if isinstance(thing, Placement):
        return Placement(thing.R, evaluated(thing.p))
    if isinstance(thing, Inertia):
        return Inertia(evaluated(thing.m), evaluated(thing.h), evaluated(thing.P))
    if isinstance(thing, RigidBody):
        R = RotationMatrix(evaluated(thing.orientation.rotation))
        return RigidBody(evaluated(thing.mass), evaluated(thing.inertia), evaluated(thing.position), R, thing.name)
    if isinstance(thing, Joint):
        return replace(thing, **{field: evaluated(getattr(thing, field)) for field in _FIELDS})
    return np.array([evaluated(part) for part in thing], dtype=float)


_FIELDS = ("placement", "axis", "body", "armature", "damping")


def _members(thing: Any) -> tuple[Any, ...]:
    if isinstance(thing, Placement):
        return (thing.p,)
    if isinstance(thing, Inertia):
        return thing.m, thing.h, thing.P
    if isinstance(thing, RigidBody):
        return thing.mass, thing.inertia, thing.position, thing.orientation.rotation
    if isinstance(thing, Joint):
        return tuple(getattr(thing, field) for field in _FIELDS)
    if isinstance(thing, np.ndarray):
        return tuple(thing.ravel()) if thing.dtype == object else ()
    return tuple(thing) if isinstance(thing, list | tuple) else ()
