"""Rigid bodies with a fixed point."""

from __future__ import annotations

import math

from sympy import Expr, Matrix

from appell.jets import coordinates, parameters
from appell.model import RigidBody, System, Torque, euler, quaternion
from appell.scene import Disc, Floor, Link, Scene, Trail
from appell.zoo.euler import body_rates, turning_body, vertical
from appell.zoo.example import Example

_MOMENTS = "A B C"
_VALUES = (2.0, 1.7, 1.0, 1.0, 9.81, 0.05, -0.02, 0.4)
_LEAN, _PRECESSION, _SPIN = 0.5, 1.0, 12.0


def heavy_top() -> Example:
    """A heavy rigid body with a fixed point, any moments of inertia, any centre of mass; Euler's angles.

        T = ½ (A p² + B q² + C r²),        V = m g (ξ sin θ sin φ + η sin θ cos φ + ζ cos θ)

    ψ precession, θ nutation, φ spin (rad); p, q, r: angular velocity on the principal axes at the fixed point
    (`euler.body_rates`); ξ, η, ζ: centre of mass on these axes (m). Conserved: T + V and the vertical angular
    momentum ∂T/∂ψ̇.
    """
    psi, theta, phi = coordinates("psi theta phi")
    A, B, C = parameters(_MOMENTS, positive=True)
    p, q, r = body_rates(psi, theta, phi)
    gravity, values = _gravity(vertical(theta, phi))
    system = System(
        coordinates=[psi, theta, phi],
        kinetic=(A * p**2 + B * q**2 + C * r**2) / 2,
        potential=gravity,
        name="heavy top",
    )
    return Example(
        system=system,
        scene=_scene(system, euler([psi, theta, phi]).rotation),
        parameters=values,
        start={theta: _LEAN, psi.d: _PRECESSION, phi.d: _SPIN},
        pseudo={"p": p, "q": q, "r": r},
        until=10.0,
        reference="E. T. Whittaker, Analytical Dynamics, ch. VI; letters of S. Deneva (1989), (61) and (62)",
    )


def heavy_top_quaternion() -> Example:
    """The motion of `heavy_top` from the same start, by a unit quaternion and the body rates (no singular attitude).

        T = ½ (A p² + B q² + C r²),        V = m g e_z·R (ξ, η, ζ)
    """
    top = quaternion("top")
    A, B, C = parameters(_MOMENTS, positive=True)
    p, q, r = top.rates
    gravity, values = _gravity(tuple(top.rotation.row(2)))
    x, _, _, w = top.coordinates
    system = System(
        coordinates=[top],
        kinetic=(A * p**2 + B * q**2 + C * r**2) / 2,
        potential=gravity,
        name="heavy top (quaternion)",
    )
    return Example(
        system=system,
        scene=_scene(system, top.rotation),
        parameters=values,
        start={
            x: math.sin(_LEAN / 2),
            w: math.cos(_LEAN / 2),
            q: _PRECESSION * math.sin(_LEAN),
            r: _PRECESSION * math.cos(_LEAN) + _SPIN,
        },
        until=10.0,
        reference="E. T. Whittaker, Analytical Dynamics, ch. I (Rodrigues–Euler parameters) and ch. VI",
    )


def _scene(system: System, R: Matrix) -> Scene:
    """A disc on an axle that stands on the floor; R: from the body to space, (3, 3)."""
    centre = R * Matrix(parameters("xi eta zeta"))
    return Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1], length=1.2),
            Link([0, 0, 0], centre, width=0.03, colour="#5b6470"),
            Disc(centre, 0.2, turned=R, thickness=0.06, spokes=3, name="top"),
            Link(centre, 1.6 * centre, width=0.02, colour="#5b6470"),
            Trail(1.6 * centre),
        ],
    )


def _gravity(up: tuple[Expr, Expr, Expr]) -> tuple[Expr, dict]:
    """V = m g (ξ, η, ζ)·up, and the values of all parameters of the top."""
    symbols = (*parameters(_MOMENTS, positive=True), *parameters("m g", positive=True), *parameters("xi eta zeta"))
    m, g, *centre = symbols[3:]
    return m * g * sum(c * e for c, e in zip(centre, up, strict=True)), dict(zip(symbols, _VALUES, strict=True))


def euler_body() -> Example:
    """A rigid body with a fixed point under a moment L given on its principal axes; p, q, r are pseudo-velocities.

        S = ½ (A ṗ² + B q̇² + C ṙ²) + (C − B) q r ṗ + (A − C) r p q̇ + (B − A) p q ṙ,
        A ṗ + (C − B) q r = L_ξ,        B q̇ + (A − C) r p = L_η,        C ṙ + (B − A) p q = L_ζ.

    ψ, θ, φ: Euler's angles (rad). A, B, C: principal moments at the fixed point (kg m²).
    """
    psi, theta, phi = coordinates("psi theta phi")
    A, B, C = parameters(_MOMENTS, positive=True)
    moment = parameters("L_xi L_eta L_zeta")
    p, q, r = body_rates(psi, theta, phi)
    body = RigidBody(1, [A, B, C], [0, 0, 0], [psi, theta, phi])  # at rest at the origin: the mass does not enter
    system = System(
        coordinates=[psi, theta, phi],
        bodies=[body],
        loads=[Torque(moment, on=body, frame="body")],
        name="Euler's body",
    )
    R = euler([psi, theta, phi]).rotation
    scene = Scene(system, turning_body(R))
    return Example(
        system=system,
        scene=scene,
        parameters={A: 3.0, B: 2.0, C: 1.5, **dict(zip(moment, (0.1, -0.05, 0.02), strict=True))},
        start={theta: 1.0, psi.d: 1.0, theta.d: 0.2, phi.d: 0.5},
        pseudo={"p": p, "q": q, "r": r},
        until=5.0,
        reference="F. R. Gantmacher, Lectures in Analytical Mechanics, §10, example 2",
    )
