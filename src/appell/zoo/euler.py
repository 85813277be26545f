"""Euler's angles and rates, and the drawing of a body, shared by the bodies with a fixed point."""

from __future__ import annotations

from sympy import Expr, Matrix, cos, sin

from appell.jets import Jet
from appell.scene import Box, Frame, Item, Trail


def body_rates(psi: Jet, theta: Jet, phi: Jet) -> tuple[Expr, Expr, Expr]:
    """Euler's kinematic equations: ω on the body axes (rad/s), angles ψ, θ, φ about z, x', z''.

        p = ψ̇ sin θ sin φ + θ̇ cos φ,        q = ψ̇ sin θ cos φ − θ̇ sin φ,        r = ψ̇ cos θ + φ̇
    """
    p = psi.d * sin(theta) * sin(phi) + theta.d * cos(phi)
    q = psi.d * sin(theta) * cos(phi) - theta.d * sin(phi)
    r = psi.d * cos(theta) + phi.d
    return p, q, r


def vertical(theta: Jet, phi: Jet) -> tuple[Expr, Expr, Expr]:
    """The upward vertical on the body axes, the last row of R: (sin θ sin φ, sin θ cos φ, cos θ)."""
    return sin(theta) * sin(phi), sin(theta) * cos(phi), cos(theta)


def turning_body(R: Matrix) -> list[Item]:
    """A body with a fixed point at the origin, for a scene: a box, its axes, and the path of the third one. R: body → space."""
    return [
        Box([0, 0, 0], [1.0, 0.7, 0.45], turned=R, opacity=0.85, name="body"),
        Frame([0, 0, 0], turned=R, size=0.9),
        Trail(R.col(2)),
    ]
