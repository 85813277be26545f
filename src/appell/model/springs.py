"""Springs and dampers, between two points or along any scalar, as loads of a `System` or a tree.

    spring   V = ½ k (s − s₀)²            damper   Q_i = −c ṡ ∂ṡ/∂v_i            s = |p_b − p_a|, or a scalar of t and q

A spring adds to the potential, and so to the energy; a damper adds to the forces. Between points the damper is
written without the root, −c (d·ḋ)(d·∂ḋ/∂v_i)/(d·d), d = p_b − p_a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import ModelError
from appell.jets import expression, total_derivative
from appell.model.attitudes import vector
from appell.model.bodies import Particle, RigidBody
from appell.spelling import checked_keywords

Rates = Mapping[Symbol, Expr]


def _ends(between: Any, load: str) -> tuple[Any, Any]:
    """(d, None) of two points, or (None, s) of a scalar; frames of trees have a `position`."""
    if isinstance(between, tuple | list):
        if len(between) != 2:
            raise ModelError(f"{load} is between two points, (a, b), or along a scalar; {len(between)} things were given")
        a, b = (_point(end, load) for end in between)
        if a == b:
            raise ModelError(f"{load} is between a point and itself")
        return b - a, None
    if isinstance(between, Particle | RigidBody | sympy.MatrixBase):
        raise ModelError(f"{load} is between two points, (a, b); [0, 0, 0] is the origin")
    return None, expression(between, f"the scalar of {load}")


def _point(end: Any, load: str) -> Matrix:
    position: Any = getattr(end, "position", end)
    return Matrix(vector(list(position.flat()) if isinstance(position, sympy.MatrixBase) else position, f"an end of {load}"))


@checked_keywords()
@dataclass(frozen=True, init=False)
class Spring:
    """A linear spring, V = ½ k (s − s₀)².

    Parameters
    ----------
    between: two ends (a, b): bodies (their centres of mass), positions of 1 to 3 expressions, or frames of a tree; s is their
        distance, m. Or a scalar in t and coordinates, m or rad: `ap.Spring(phi, k)` is a torsion spring.
    stiffness: k, N/m or N m/rad. length: s₀, where it is at rest; 0 by default.
    """

    between: Any
    scalar: Any
    stiffness: Expr
    length: Expr
    name: str

    def __init__(self, between: Any, stiffness: Any, length: Any = 0, *, name: str = "spring"):
        set_ = object.__setattr__
        d, s = _ends(between, f"'{name}'")
        set_(self, "between", None if d is None else sympy.ImmutableMatrix(d))
        set_(self, "scalar", s)
        set_(self, "stiffness", expression(stiffness, f"the stiffness of '{name}'"))
        set_(self, "length", expression(length, f"the length of '{name}'"))
        set_(self, "name", str(name))
        if self.between is not None and self.length.is_negative:
            raise ModelError(f"the length of '{name}' is {self.length}; a distance is not negative")

    @property
    def potential(self) -> Expr:
        """V, J."""
        if self.between is None:
            return self.stiffness * (self.scalar - self.length) ** 2 / 2
        square = self.between.dot(self.between)
        if self.length == 0:
            return self.stiffness * square / 2
        return self.stiffness * (sympy.sqrt(square) - self.length) ** 2 / 2

    @property
    def expressions(self) -> list[tuple[Expr, int]]:
        """Its expressions, each with the highest order of derivatives allowed."""
        lengths = [self.scalar] if self.between is None else list(self.between)
        return [(e, 0) for e in (*lengths, self.stiffness, self.length)]

    def generalized(self, rates: Rates, velocities: Sequence[Symbol]) -> list[Expr]:
        """No forces besides its potential."""
        return [sympy.Integer(0)] * len(velocities)

    def pairs(self) -> list[tuple[Matrix, Matrix]]:
        """Forces on velocities, for trees: none besides its potential."""
        return []


@checked_keywords()
@dataclass(frozen=True, init=False)
class Damper:
    """A linear damper, Q_i = −c ṡ ∂ṡ/∂v_i; `between` as in `Spring`, c in N s/m or N m s/rad."""

    between: Any
    scalar: Any
    damping: Expr
    name: str
    potential = sympy.Integer(0)

    def __init__(self, between: Any, damping: Any, *, name: str = "damper"):
        set_ = object.__setattr__
        d, s = _ends(between, f"'{name}'")
        set_(self, "between", None if d is None else sympy.ImmutableMatrix(d))
        set_(self, "scalar", s)
        set_(self, "damping", expression(damping, f"the damping of '{name}'"))
        set_(self, "name", str(name))

    @property
    def expressions(self) -> list[tuple[Expr, int]]:
        """Its expressions, each with the highest order of derivatives allowed."""
        lengths = [self.scalar] if self.between is None else list(self.between)
        return [*((e, 0) for e in lengths), (self.damping, 1)]

    def generalized(self, rates: Rates, velocities: Sequence[Symbol]) -> list[Expr]:
        """Q_i = −c ṡ ∂ṡ/∂v_i, (nv,)."""
        if self.between is None:
            rate = total_derivative(self.scalar, rates)
            return [-self.damping * rate * sympy.diff(rate, v) for v in velocities]
        d = self.between
        d_t = total_derivative(d, rates)
        pull = self.damping * d.dot(d_t) / d.dot(d)
        return [-pull * d.dot(d_t.diff(v)) for v in velocities]

    def pairs(self) -> list[tuple[Matrix, Matrix]]:
        """(F, u): forces with the velocities ḋ or ṡ on which they do work."""
        if self.between is None:
            rate = total_derivative(self.scalar)
            return [(Matrix([-self.damping * rate]), Matrix([rate]))]
        d = Matrix(self.between)
        d_t = total_derivative(d)
        return [(-self.damping * d.dot(d_t) / d.dot(d) * d, d_t)]
