"""The rattleback: a boat-shaped stone that prefers one direction of spin."""

from __future__ import annotations

import math
from typing import Any

from sympy import Matrix, cos, sin, sqrt

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Ellipsoid, Floor, Scene, Trail
from appell.zoo.example import Example


def rattleback() -> Example:
    """An ellipsoid that rolls without slipping on a plane; its principal axes of inertia are rotated relative to its shape.

    x, y, z: centre of mass G (m), z upwards; ψ: heading of the long axis, β: pitch, α: roll about it (rad). With the vertical n
    and the angular velocity ω in body axes 1, 2, 3 (long, broad, up),

        n = (−sin β, cos β sin α, cos β cos α)
        ω = (α̇ − ψ̇ sin β, β̇ cos α + ψ̇ cos β sin α, −β̇ sin α + ψ̇ cos β cos α)
        T = m/2 (ẋ² + ẏ² + ż²) + ½ (A ω₁² + B ω₂² + C ω₃² + 2D ω₁ω₂),        V = m g z

    The semi-axes are a, b, c, and G lies h below the centre of the ellipsoid. The point of contact is at ρ from G,

        ρ = h e₃ − (a² n₁, b² n₂, c² n₃)/s,        s² = a² n₁² + b² n₂² + c² n₃²
        height:    z = s − h n₃                                           (holonomic)
        rolling, side:  v_G + ω × ρ = 0 along the heading and across it

    D couples pitching and rolling to the spin: spun in the wrong sense, it stops, rattles and turns back.
    """
    x, y, z, psi, beta, alpha = coordinates("x y z psi beta alpha")
    m, g, a, b, c, h, A, B, C = parameters("m g a b c h A B C", positive=True)
    D = parameters("D")
    heading = Matrix([[cos(psi), -sin(psi), 0], [sin(psi), cos(psi), 0], [0, 0, 1]])
    pitch = Matrix([[cos(beta), 0, sin(beta)], [0, 1, 0], [-sin(beta), 0, cos(beta)]])
    roll = Matrix([[1, 0, 0], [0, cos(alpha), -sin(alpha)], [0, sin(alpha), cos(alpha)]])
    n: Any = Matrix([-sin(beta), cos(beta) * sin(alpha), cos(beta) * cos(alpha)])
    omega: Any = Matrix([
        alpha.d - psi.d * sin(beta),
        beta.d * cos(alpha) + psi.d * cos(beta) * sin(alpha),
        -beta.d * sin(alpha) + psi.d * cos(beta) * cos(alpha),
    ])  # fmt: skip
    s = sqrt(a**2 * n[0] ** 2 + b**2 * n[1] ** 2 + c**2 * n[2] ** 2)
    rho = Matrix([0, 0, h]) - Matrix([a**2 * n[0], b**2 * n[1], c**2 * n[2]]) / s
    slip: Any = pitch * roll * omega.cross(rho)
    turning = A * omega[0] ** 2 + B * omega[1] ** 2 + C * omega[2] ** 2 + 2 * D * omega[0] * omega[1]
    system = System(
        coordinates=[x, y, z, psi, beta, alpha],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2) + turning / 2,
        potential=m * g * z,
        constraints=[
            Constraint(z - s + h * n[2], name="height"),
            Constraint(x.d * cos(psi) + y.d * sin(psi) + slip[0], name="rolling"),
            Constraint(y.d * cos(psi) - x.d * sin(psi) + slip[1], name="side"),
        ],
        name="rattleback",
    )
    R = heading * pitch * roll
    centre = Matrix([x, y, z]) + R * Matrix([0, 0, h])
    contact = Matrix([x, y, z]) + R * rho
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1], length=0.6),
            Trail([contact[0], contact[1], 0]),
            Ellipsoid(list(centre), [a, b, c], turned=R, name="stone"),
        ],
    )
    values = {m: 1.0, g: 9.81, a: 0.2, b: 0.03, c: 0.02, h: 0.01, A: 2e-4, B: 1.6e-3, C: 1.7e-3, D: -2e-5}
    tilt, spin = math.radians(0.5), -5.0
    still: Any = {**values, psi: 0.0, beta: tilt, alpha: tilt, psi.d: spin, beta.d: 0.0, alpha.d: 0.0}
    at = lambda expr: float(expr.subs(still))
    start = {z: at(s - h * n[2]), beta: tilt, alpha: tilt, psi.d: spin, x.d: -at(slip[0]), y.d: -at(slip[1])}
    return Example(
        system=system,
        scene=scene,
        parameters=values,
        start=start,
        pseudo={"omega_1": omega[0], "omega_2": omega[1], "omega_3": omega[2]},
        until=20.0,
        reference=(
            "G. T. Walker, Q. J. Pure Appl. Math. 28 (1896) 175; T. R. Kane and D. A. Levinson, Int. J. Non-Linear Mech. 17"
            " (1982) 175; A. Garcia and M. Hubbard, Proc. R. Soc. A 418 (1988) 165"
        ),
    )
