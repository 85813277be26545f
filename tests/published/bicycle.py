"""The Whipple bicycle, nonlinear, with `RigidBody` and `Constraint`, and its linearisation about straight upright motion.

Axes of the benchmark: x forward, y to the right, z down, the ground at z = 0. Four bodies: rear wheel R, rear frame with the
rider B, handlebar with the fork H, front wheel F.

    rear frame       R_B = R_z(ψ) R_x(φ) R_y(θ)                         yaw, lean, pitch; turns about the rear hub
    handlebar        R_H = R_B R_y(λ) R_z(δ) R_y(−λ)                    steer, about an axis that meets the ground at w + c
    wheels           R_y(χ_R), R_y(χ_F) further                         forward motion is χ̇ < 0

A wheel of radius r with hub C and axle n touches the ground below the lowest point of its rim, C + ρ,

    ρ = r (e_z − (e_z·n) n)/|…|,        contact: C_z + ρ_z = 0,        rolling: Ċ + ω × ρ = 0 along x and y.

Nine coordinates, two contacts, four rolling conditions: three speeds remain, of which lean and steer couple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Matrix, cos, sin, sqrt

import appell as ap

Array = NDArray[np.float64]

x, y, z, psi, phi, theta, delta, chi_R, chi_F = ap.coordinates("x y z psi phi theta delta chi_R chi_F")
M_phi, M_delta = ap.parameters("M_phi M_delta")

CENTRAL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
"""Central differences of order 8: f′ ≈ Σ c_k (f(k h) − f(−k h))/h."""

STEP = 0.0075
"""h, rad and rad/s: both h⁸ f⁽⁹⁾/630 and rounding over h are about 1e-13 here."""


def turn_y(angle) -> Matrix:
    return Matrix([[cos(angle), 0, sin(angle)], [0, 1, 0], [-sin(angle), 0, cos(angle)]])


def turn_z(angle) -> Matrix:
    return Matrix([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1]])


def bicycle(P: Mapping[str, float]) -> ap.System:
    """The bicycle with the parameters of the benchmark; M_phi and M_delta (N m) are the moments on lean and steer."""
    B = ap.euler([psi, phi, theta], "zxy")
    R_B = B.rotation
    R_H = R_B * turn_y(P["lam"]) * turn_z(delta) * turn_y(-P["lam"])
    hub = Matrix([x, y, z])
    foot = hub + R_B * Matrix([P["w"] + P["c"], 0, P["rR"]])  # where the steer axis meets the ground in the upright position
    on_H = lambda at_x, at_z: foot + R_H * Matrix([at_x - P["w"] - P["c"], 0, at_z])
    rear = ap.RigidBody(P["mR"], inertia(P, "R"), hub, ap.euler([psi, phi, theta + chi_R], "zxy"), name="rear wheel")
    frame = ap.RigidBody(P["mB"], inertia(P, "B"), hub + R_B * Matrix([P["xB"], 0, P["zB"] + P["rR"]]), B, name="rear frame")
    handlebar = ap.RigidBody(P["mH"], inertia(P, "H"), on_H(P["xH"], P["zH"]), R_H, name="handlebar")
    front = ap.RigidBody(P["mF"], inertia(P, "F"), on_H(P["w"], -P["rF"]), R_H * turn_y(chi_F), name="front wheel")
    bodies = [rear, frame, handlebar, front]
    return ap.System(
        coordinates=[x, y, z, psi, phi, theta, delta, chi_R, chi_F],
        bodies=bodies,
        potential=-P["g"] * sum(body.mass * body.position[2] for body in bodies),
        forces={phi: M_phi, delta: M_delta},
        constraints=[*wheel_rows(rear, frame, chi_R, P["rR"]), *wheel_rows(front, handlebar, chi_F, P["rF"])],
        name="Whipple bicycle",
    )


def inertia(P: Mapping[str, float], body: str) -> Matrix:
    """The inertia matrix of R, B, H or F, kg m²; a wheel has I_zz = I_xx and no I_xz."""
    xx, yy = P[f"I{body}xx"], P[f"I{body}yy"]
    zz, xz = P.get(f"I{body}zz", xx), P.get(f"I{body}xz", 0)
    return Matrix([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])


def wheel_rows(wheel: ap.RigidBody, carrier: ap.RigidBody, chi: Any, radius: float) -> list[ap.Constraint]:
    """Contact and rolling of a wheel that turns by chi about the y axis of its carrier."""
    R, hub = carrier.orientation.rotation, wheel.position
    n = R.col(1)
    across = sqrt(1 - n[2] ** 2)  # |e_z − (e_z·n) n|
    rho = radius * (Matrix([0, 0, 1]) - n[2] * n) / across
    omega = R * carrier.omega({}) + chi.d * n
    slip = ap.total_derivative(hub) + omega.cross(rho)
    return [
        ap.Constraint(hub[2] + radius * across, name=f"{wheel.name} contact"),
        ap.Constraint(slip[0], name=f"{wheel.name} rolls along x"),
        ap.Constraint(slip[1], name=f"{wheel.name} rolls along y"),
    ]


# -- linearisation ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bicycle:
    """Accelerations of lean and steer as functions of lean, steer, their rates and the speed."""

    system: ap.System
    P: Mapping[str, float]

    def state(self, lean: float, steer: float, lean_rate: float, steer_rate: float, v: float) -> dict:
        """The state on the constraints with these values, heading along x with the rear wheel turning at −v/r_R."""
        start = {z: -self.P["rR"], phi: lean, delta: steer, phi.d: lean_rate, delta.d: steer_rate}
        start |= {x.d: v, chi_R.d: -v / self.P["rR"], chi_F.d: -v / self.P["rF"]}
        free = {z, theta, x.d, y.d, z.d, psi.d, theta.d, chi_F.d}
        hold = [s for s in (*self.system.coordinates, *self.system.velocities) if s not in free]
        return ap.consistent(self.system, start, {M_phi: 0, M_delta: 0}, hold=hold)

    def solve(self, state: Mapping, moments: tuple[float, float] = (0.0, 0.0)) -> tuple[Array, Array]:
        """((φ̈, δ̈), Λ) at a state under moments on lean and steer, N m."""
        q, u = ([state[s] for s in symbols] for symbols in (self.system.coordinates, self.system.velocities))
        a, lam = _run(self.system, moments).acceleration(0.0, q, u)
        return a[[self.system.coordinates.index(s) for s in (phi, delta)]], lam

    def mass(self) -> Array:
        """M, (2, 2): the accelerations are affine in the moments, q̈ = M⁻¹ f + …, so that these differences are exact."""
        upright = self.state(0, 0, 0, 0, v=0)
        rest = self.solve(upright)[0]
        return np.linalg.inv(np.stack([self.solve(upright, f)[0] - rest for f in ((1.0, 0.0), (0.0, 1.0))], axis=1))

    def slope(self, v: float) -> Array:
        """∂(φ̈, δ̈)/∂(φ, δ, φ̇, δ̇) in straight upright motion at the speed v, (2, 4)."""
        at = lambda direction, h: self.solve(self.state(*(h * direction), v))[0]
        along = lambda e: sum(c * (at(e, k * STEP) - at(e, -k * STEP)) for k, c in CENTRAL.items()) / STEP
        return np.stack([along(e) for e in np.eye(4)], axis=1)


@cache
def _run(system: ap.System, moments: tuple[float, float]) -> ap.Run:
    return ap.compile(system, dict(zip((M_phi, M_delta), moments, strict=True)), backend="vm")
