"""Loads: forces at points, torques on bodies, and the momentum of mass gained or lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import ModelError
from appell.jets import total_derivative
from appell.model.attitudes import Rates, vector
from appell.model.bodies import Particle, RigidBody
from appell.reading import shown
from appell.spelling import checked_keywords


@checked_keywords()
@dataclass(frozen=True, init=False)
class Force:
    """A force (N, inertial axes) acting at a point: Q_i = F·∂ṙ/∂v_i. `at` is the position of the point, m."""

    vector: Matrix
    at: Matrix

    def __init__(self, vector_: Any, at: Any):
        object.__setattr__(self, "vector", vector(vector_, "a force"))
        at = at.position if isinstance(at, Particle | RigidBody) else at
        object.__setattr__(self, "at", vector(at, "the point of a force"))

    potential = sympy.Integer(0)

    @property
    def expressions(self) -> list[tuple[Expr, int]]:
        """Its expressions, each with the highest order of derivatives allowed."""
        vector: Any = self.vector
        at: Any = self.at
        return [*((e, 1) for e in vector), *((e, 0) for e in at)]

    def generalized(self, rates: Rates, velocities: Sequence[Symbol]) -> list[Expr]:
        """Q_i = F·∂ṙ/∂v_i, (nv,)."""
        v = total_derivative(self.at, rates)
        return [self.vector.dot(v.diff(s)) for s in velocities]


@checked_keywords()
@dataclass(frozen=True, init=False)
class Torque:
    """A torque (N m) on a body: Q_i = τ·∂ω/∂v_i, with τ on inertial axes, or on body axes with frame="body"."""

    vector: Matrix
    on: RigidBody
    frame: str

    def __init__(self, vector_: Any, on: RigidBody, *, frame: str = "space"):
        if not isinstance(on, RigidBody):
            raise ModelError("a torque acts on a RigidBody: Torque(vector, on=body)")
        if frame not in ("space", "body"):
            raise ModelError(f"the frame of a torque is 'space' or 'body', not {shown(frame)}")
        if not isinstance(vector_, Sequence | sympy.MatrixBase):
            vector_ = [0, 0, vector_]  # plane motion: about z
        object.__setattr__(self, "vector", vector(vector_, "a torque"))
        object.__setattr__(self, "on", on)
        object.__setattr__(self, "frame", frame)

    potential = sympy.Integer(0)

    @property
    def expressions(self) -> list[tuple[Expr, int]]:
        """Its expressions, each with the highest order of derivatives allowed."""
        vector: Any = self.vector
        return [(e, 1) for e in vector]

    def generalized(self, rates: Rates, velocities: Sequence[Symbol]) -> list[Expr]:
        """Q_i = τ·∂ω/∂v_i, (nv,)."""
        tau = self.vector if self.frame == "body" else self.on.orientation.rotation.T * self.vector
        w = self.on.omega(rates)
        return [tau.dot(w.diff(s)) for s in velocities]


def momentum_of_mass(body: Particle | RigidBody) -> list[Force | Torque]:
    """ṁ u at the centre of mass and J̇ w, the momentum carried by mass gained or lost: (m ṙ)˙ = F + ṁ u is Meshchersky's
    equation."""
    loads: list[Force | Torque] = []
    if body.carried is not None:
        loads.append(Force(body.carried * total_derivative(body.mass), body))
    if isinstance(body, RigidBody) and body.carried_omega is not None:
        loads.append(Torque(total_derivative(body.inertia) * body.carried_omega, body, frame="body"))
    return loads
