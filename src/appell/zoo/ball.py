"""A ball rolling on a turntable."""

from __future__ import annotations

from sympy import Matrix, Rational

from appell.jets import coordinates, parameters, t
from appell.model import Constraint, RigidBody, System, quaternion
from appell.scene import Disc, Scene, Sphere, Trail
from appell.zoo.example import Example


def rolling_ball_on_turntable() -> Example:
    """A homogeneous ball that rolls without slipping on a horizontal table turning at the constant rate Ω.

        T = m/2 (ẋ² + ẏ²) + J/2 ω·ω,    J = (2/5) m r²        ẋ − r ω_y = −Ω y        ẏ + r ω_x = Ω x

    x, y: centre, from the axis of the table (m); attitude: a unit quaternion with body rates, ω = R (rates) in
    space. The constraints are affine in the velocities, so their reactions do work. ω_z is constant and the centre
    moves on a circle at the rate Ω J/(J + m r²) = (2/7) Ω:  v̇ = (2/7) Ω e_z × v.
    """
    x, y = coordinates("x y")
    ball = quaternion("ball")
    m, r, Omega = parameters("m r Omega", positive=True)
    J = Rational(2, 5) * m * r**2
    omega = ball.rotation * Matrix(ball.rates)
    system = System(
        coordinates=[x, y, ball],
        bodies=[RigidBody(m, [J, J, J], [x, y], ball, name="ball")],
        constraints=[
            Constraint(x.d - r * omega[1] + Omega * y, name="rolling x"),
            Constraint(y.d + r * omega[0] - Omega * x, name="rolling y"),
        ],
        name="rolling ball on a turntable",
    )
    radius, turn, speed = 0.5, 2.0, 0.5
    omega_x, _, _ = ball.rates
    scene = Scene(
        system,
        [
            Disc([0, 0, -r / 20], 4 * r, turned=Omega * t, thickness=r / 10, colour="#9aa3ad", spokes=4, name="table"),
            Trail([x, y, 0]),
            Sphere([x, y, r], r, turned=ball, name="ball"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, r: radius, Omega: turn},
        start={x: 1.0, y.d: speed, omega_x: (turn - speed) / radius},
        until=15.0,
        reference=(
            "S. Earnshaw, Dynamics (1844); K. Weltner, Am. J. Phys. 47 (1979) 984; "
            "Ju. I. Neimark and N. A. Fufaev"
        ),
    )
