"""M and h of M a + h = Q + W Λ, from the kinetic energy or from the accelerations of the bodies.

From T(t, q, v), with p = T_v (Lagrange in quasi-velocities; C from the kinematics, zero for v = q̇):

    M = T_vv          h = p_q q̇ + p_t − NᵀT_q − Cᵀp                      valid where (I − N N⁺)(Ṅ − ∂_q(N v + n0)N) = 0
                                                                         and N has full column rank, unless C = 0

From bodies (Appell: M a + h = ∂S/∂a), for any kinematics:

    M = Σ m JᵀJ + GᵀIG          h = Σ m Jᵀ r̈|₀ + Gᵀ(I ω̇|₀ + ω × Iω)      J = ∂ṙ/∂v,  G = ∂ω/∂v

Energy with H = p·v − T + V = T2 − T0 + V:

    dH/dt = forces·v + Λ·Wᵀv − T_t + V_t + (V_q − T_q)·n0 + p·Cv.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph import make_fn
from appell.graph.algebra import Value, column, derivative_along, gradient, hessian, is_zero, jacobian, substitute, zeros
from appell.model import RigidBody, System
from appell.normal_form.kinematic_map import Kinematics
from appell.normal_form.sampling import finite_samples, no_values, place_of
from appell.rows import rank, unit_rows


@dataclass(frozen=True, eq=False)
class InertiaTerms:
    """T; H without V; the part of dH/dt from explicit time and moving frames; M and h on demand."""

    blocks: Callable[[], tuple[Value, Value]]
    T: Value
    H: Value
    power: Value
    route: str

    @cached_property
    def formed(self) -> tuple[Value, Value]:
        """M, (nv, nv), and h, (nv, 1)."""
        return self.blocks()


def inertia_of(system: System, kin: Kinematics) -> InertiaTerms:
    """M and h from T where that is valid, otherwise from the bodies."""
    C, defect = kin.structure()
    moves = is_zero(kin.twist()) or _moves(system, kin)
    if moves and (is_zero(defect) or _vanishes(defect, system, kin)):
        return _from_kinetic(system, kin, C)
    if system.kinetic_given == 0 and system.bodies:
        return _from_bodies(system, kin)
    if not moves:
        raise ModelError(
            f"kinematics= let {', '.join(map(str, system.velocities))} move the coordinates in fewer directions than there are"
            " velocities, so the coordinates do not tell how these velocities turn into each other, and T in them is not"
            " enough. List the coordinates that are missing (all angles of an attitude or ap.quaternion, all components of a"
            " position), or describe the inertia by bodies= (Particle, RigidBody)"
        )
    raise ModelError(
        "kinematics= hide a nonholonomic constraint: the speeds cannot reach every q̇, and T restricted to them loses"
        " terms. Give T in the velocities x.d together with the constraint, or describe the inertia by bodies="
        " (Particle, RigidBody), whose accelerations are right for any kinematics"
    )


def _moves(system: System, kin: Kinematics) -> bool:
    """Whether N has full column rank, so that C exists, at some random state or near the system's `sample`."""
    out = [out["N"] for out in _examined({"N": kin.N}, system, kin)]
    return any(rank(unit_rows(N).T) == system.nv for N in out)


def _vanishes(defect: Value, system: System, kin: Kinematics) -> bool:
    """Whether the defect of the kinematics is only rounding of its terms, at random states or near the system's `sample`."""
    rate, slope = kin.twist_terms()
    values = {"defect": defect, "rate": rate, "slope": slope}
    size = lambda out: np.abs(out["rate"]).max() + np.abs(out["slope"]).max()  # size of the terms before they cancel
    return all(np.abs(out["defect"]).max() <= 1e-9 * size(out) for out in _examined(values, system, kin))


def _examined(values: dict[str, Value], system: System, kin: Kinematics) -> list[dict[str, NDArray[np.float64]]]:
    """Matrices of the kinematics at states with values."""
    inputs = {"t": (kin.t, ())} | {x: (getattr(kin, x), (getattr(kin, x).numel(),)) for x in ("q", "v", "p")}
    fn = make_fn("examined", inputs, {name: (value, value.shape) for name, value in values.items()})
    samples = [out for _, out in finite_samples(fn, count=5, around=place_of(system))]
    if not samples:
        raise no_values(system, "kinematics")
    return samples


def _from_kinetic(system: System, kin: Kinematics, C: Value) -> InertiaTerms:
    T = kin.lower(system.kinetic)
    p = gradient(T, kin.v)
    T_q = kin.slope(T)
    blocks = lambda: (hessian(T, kin.v), kin.drift(p) - kin.N.T @ T_q - C.T @ p)
    H = p.T @ kin.v - T
    power = -kin.partial_t(T) - T_q.T @ kin.n0 + p.T @ kin.lag()
    return InertiaTerms(blocks, T, H, power, "T")


def _from_bodies(system: System, kin: Kinematics) -> InertiaTerms:
    nv = system.nv
    M, h, power = zeros(nv, nv), zeros(nv), zeros(1)
    zero_v = zeros(nv)

    def add(inertia: Value, velocity: Value, gyroscopic: Value) -> None:
        """One body in one kind of motion: velocity (3,), its inertia (3, 3), the inertia force at a = 0.

        With I(t) the momentum I v also changes by İ v, and dT/dt = v·(I v)˙ − ½ v·İ v.
        """
        nonlocal M, h, power
        J = jacobian(velocity, kin.v)
        free = kin.drift(inertia @ velocity) + gyroscopic
        M, h = M + J.T @ inertia @ J, h + J.T @ free
        power = power + substitute(velocity, [kin.v], [zero_v]).T @ (inertia @ (J @ kin.a) + free)
        power = power - velocity.T @ derivative_along(inertia, [kin.t], [1]) @ velocity / 2

    for body in system.bodies:
        mass = kin.lower(system.in_velocities(body.mass))
        add(mass * _eye(), kin.lower.column(body.velocity(system.rates).flat()), zeros(3))
        if isinstance(body, RigidBody):
            omega = kin.lower.column(body.turning(system.rates).flat())
            I = _matrix(kin, system.in_velocities(body.inertia))
            add(I, omega, _cross(omega, I @ omega))
    T = kin.lower(system.kinetic)
    return InertiaTerms(lambda: (M, h), T, T, power, "bodies")


def _eye() -> Value:
    return Value.eye(3)


def _matrix(kin: Kinematics, matrix) -> Value:
    return kin.lower.column(matrix.T).reshape((3, 3))


def _cross(a: Value, b: Value) -> Value:
    return column(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
