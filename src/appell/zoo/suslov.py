"""Suslov's problem."""

from __future__ import annotations

import math

from sympy import Matrix

from appell.jets import coordinates, parameters
from appell.model import Constraint, System, euler
from appell.scene import Scene
from appell.zoo.euler import body_rates, turning_body
from appell.zoo.example import Example


def suslov() -> Example:
    """A body with a fixed point that cannot turn about an axis fixed in it: r = 0.

        T = ½ ω·Iω,        ω = (p, q, r),        I12 = 0,        r = ψ̇ cos θ + φ̇ = 0

    ψ, θ, φ: Euler's angles (rad). The third axis is not a principal axis (otherwise p and q are constant), and

        I11 ṗ = −q (I13 p + I23 q),        I22 q̇ = p (I13 p + I23 q):

    the rates run along the ellipse I11 p² + I22 q² = 2T to its point on the line I13 p + I23 q = 0, a uniform rotation.
    """
    psi, theta, phi = coordinates("psi theta phi")
    I11, I22, I33 = parameters("I11 I22 I33", positive=True)
    I13, I23 = parameters("I13 I23")
    p, q, r = body_rates(psi, theta, phi)
    omega = Matrix([p, q, r])
    inertia = Matrix([[I11,   0, I13],
                      [  0, I22, I23],
                      [I13, I23, I33]])  # fmt: skip
    system = System(
        coordinates=[psi, theta, phi],
        kinetic=omega.dot(inertia * omega) / 2,
        constraints=[Constraint(r, name="axis")],
        name="Suslov's problem",
    )
    nutation, precession = 1.2, 1.0
    R = euler([psi, theta, phi]).rotation
    scene = Scene(system, turning_body(R))
    return Example(
        system=system,
        scene=scene,
        parameters={I11: 2.0, I22: 1.5, I33: 1.0, I13: 0.4, I23: 0.2},
        start={theta: nutation, psi.d: precession, theta.d: 0.3, phi.d: -precession * math.cos(nutation)},
        pseudo={"p": p, "q": q},
        until=5.0,
        reference="G. K. Suslov, Theoretical Mechanics (1946); A. M. Bloch, Nonholonomic Mechanics and Control",
    )
