"""Plane mechanisms with holonomic constraints: a four-bar linkage, a rod between wall and floor."""

from __future__ import annotations

import math

from sympy import cos, sin

from appell.jets import coordinates, parameters
from appell.model import Constraint, RigidBody, System
from appell.scene import Floor, Link, Point, Scene, Trail, Wall
from appell.zoo.example import Example


def four_bar() -> Example:
    """Crank, coupler and rocker, uniform bars, pivots at (0, 0) and (d, 0), in a vertical plane.

        l1 cos θ1 + l2 cos θ2 − l3 cos θ3 = d,        l1 sin θ1 + l2 sin θ2 − l3 sin θ3 = 0        (the loop is closed)

    θ_i: angle of bar i with the horizontal (rad); bar 2 goes from the end of bar 1 to the end of bar 3. Lengths 1, 5, 5, 7 (m)
    satisfy Grashof's condition with a margin: the crank turns fully and no configuration is singular.
    """
    theta1, theta2, theta3 = coordinates("theta1:4")
    m1, m2, m3 = parameters("m1:4", positive=True)
    l1, l2, l3 = parameters("l1:4", positive=True)
    d, g = parameters("d g", positive=True)
    x1, y1 = l1 / 2 * cos(theta1), l1 / 2 * sin(theta1)
    x2, y2 = 2 * x1 + l2 / 2 * cos(theta2), 2 * y1 + l2 / 2 * sin(theta2)
    x3, y3 = d + l3 / 2 * cos(theta3), l3 / 2 * sin(theta3)
    system = System(
        coordinates=[theta1, theta2, theta3],
        bodies=[
            RigidBody(m1, m1 * l1**2 / 12, [x1, y1], theta1, name="crank"),
            RigidBody(m2, m2 * l2**2 / 12, [x2, y2], theta2, name="coupler"),
            RigidBody(m3, m3 * l3**2 / 12, [x3, y3], theta3, name="rocker"),
        ],
        potential=g * (m1 * y1 + m2 * y2 + m3 * y3),
        constraints=[
            Constraint(l1 * cos(theta1) + l2 * cos(theta2) - l3 * cos(theta3) - d, name="loop x"),
            Constraint(l1 * sin(theta1) + l2 * sin(theta2) - l3 * sin(theta3), name="loop y"),
        ],
        name="four-bar linkage",
    )
    lengths = {l1: 1.0, l2: 5.0, l3: 5.0, d: 7.0}
    crank = 10.0  # rad/s, with the crank upright the others follow from 3-4-5 triangles
    A = [l1 * cos(theta1), l1 * sin(theta1)]
    B = [d + l3 * cos(theta3), l3 * sin(theta3)]
    scene = Scene(
        system,
        [
            Floor([0, 0], [0, 1], length=1),
            Floor([d, 0], [0, 1], length=1),
            Link([0, 0], A, name="crank"),
            Link(A, B, colour="#e08a3c", name="coupler"),
            Link([d, 0], B, colour="#4aa37b", name="rocker"),
            *(Point(p, hinge=True) for p in ([0, 0], A, B, [d, 0])),
            Trail([x2, y2]),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m1: 1.0, m2: 0.5, m3: 0.5, **lengths, g: 9.81},
        start={
            theta1: math.pi / 2,
            theta2: math.atan2(3, 4),
            theta3: math.atan2(4, -3),
            theta1.d: crank,
            theta2.d: -3 * crank / 25,
            theta3.d: 4 * crank / 25,
        },
        pseudo={"omega": theta1.d},
        until=5.0,
        reference=(
            "F. Grashof, Theoretische Maschinenlehre (1883); "
            "E. J. Haug, Computer Aided Kinematics and Dynamics (1989)"
        ),
    )


def sliding_rod() -> Example:
    """A uniform rod whose ends slide without friction on a wall (x = 0) and on the floor (y = 0), held to both.

        T = m/2 (ẋ² + ẏ²) + m l²/24 θ̇²,        V = m g y,        x = (l/2) sin θ,        y = (l/2) cos θ

    x, y: centre (m); θ: angle with the wall (rad). From rest at θ0

        θ̈ = (3g/2l) sin θ,        θ̇² = (3g/l)(cos θ0 − cos θ),
        Λ_wall = m ẍ = (3/4) m g sin θ (3 cos θ − 2 cos θ0),        Λ_floor = m g + m ÿ;

    a rod that only leans on the wall leaves it where cos θ = (2/3) cos θ0.
    """
    x, y, theta = coordinates("x y theta")
    m, l, g = parameters("m l g", positive=True)
    system = System(
        coordinates=[x, y, theta],
        bodies=[RigidBody(m, m * l**2 / 12, [x, y], theta, name="rod")],
        potential=m * g * y,
        constraints=[
            Constraint(x - l / 2 * sin(theta), name="wall"),
            Constraint(y - l / 2 * cos(theta), name="floor"),
        ],
        name="sliding rod",
    )
    length, angle = 2.0, 0.3
    scene = Scene(
        system,
        [
            Floor([0, 0], [0, 1]),
            Wall([0, 0], [1, 0]),
            Trail([x, y]),
            Link([x - l / 2 * sin(theta), y + l / 2 * cos(theta)], [x + l / 2 * sin(theta), y - l / 2 * cos(theta)]),
            Point([x, y], hinge=True),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, l: length, g: 9.81},
        start={theta: angle, x: length / 2 * math.sin(angle), y: length / 2 * math.cos(angle)},
        pseudo={"omega": theta.d},
        until=2.0,
        reference="E. J. Routh, Dynamics of a System of Rigid Bodies, elementary part (the sliding ladder)",
    )
