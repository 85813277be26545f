"""The snakeboard."""

from __future__ import annotations

import math

from sympy import cos, sin

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Box, Link, Point, Scene, Trail
from appell.zoo.example import Example


def snakeboard() -> Example:
    """A board with a rotor at its centre and two wheel pairs at ±l that steer by opposite angles ±φ.

        T = m/2 (ẋ² + ẏ²) + J/2 θ̇² + J_r/2 (θ̇ + ψ̇)² + J_w/2 [(θ̇ + φ̇)² + (θ̇ − φ̇)²],        V = k_r/2 ψ² + k_w/2 φ²,
        front:    −ẋ sin(θ + φ) + ẏ cos(θ + φ) + l θ̇ cos φ = 0
        rear:     −ẋ sin(θ − φ) + ẏ cos(θ − φ) − l θ̇ cos φ = 0

    x, y: centre (m); θ: heading; ψ: rotor relative to the board; φ: steering (rad). Springs in place of the rider
    keep the shape oscillating, so that energy is conserved and the board propels itself. θ̇ = u tan φ/l with u the
    forward speed: θ̇ cannot serve as an independent velocity at φ = 0, and the rows lose rank at |φ| = π/2.
    """
    x, y, theta, psi, phi = coordinates("x y theta psi phi")
    m, l, J, J_r, J_w, k_r, k_w = parameters("m l J J_r J_w k_r k_w", positive=True)
    wheels = J_w / 2 * ((theta.d + phi.d) ** 2 + (theta.d - phi.d) ** 2)
    front = -x.d * sin(theta + phi) + y.d * cos(theta + phi) + l * theta.d * cos(phi)
    rear = -x.d * sin(theta - phi) + y.d * cos(theta - phi) - l * theta.d * cos(phi)
    system = System(
        coordinates=[x, y, theta, psi, phi],
        kinetic=m / 2 * (x.d**2 + y.d**2) + J / 2 * theta.d**2 + J_r / 2 * (theta.d + psi.d) ** 2 + wheels,
        potential=k_r / 2 * psi**2 + k_w / 2 * phi**2,
        constraints=[Constraint(front, name="front"), Constraint(rear, name="rear")],
        name="snakeboard",
    )
    length, steer, speed = 0.5, 0.3, 0.5
    ends = [[x + s * l * cos(theta), y + s * l * sin(theta)] for s in (-1, 1)]
    rotor = [[x + s * l / 2 * cos(theta + psi), y + s * l / 2 * sin(theta + psi)] for s in (-1, 1)]
    scene = Scene(
        system,
        [
            Trail([x, y]),
            Link(*ends, width=10),
            *(Box(end, [l / 8, l / 2], turned=theta + s * phi, colour="#5b6470") for end, s in zip(ends, (-1, 1), strict=True)),
            Link(*rotor, width=4, colour="#e08a3c", name="rotor"),
            Point([x, y], hinge=True),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 6.0, l: length, J: 0.1, J_r: 0.8, J_w: 0.05, k_r: 2.0, k_w: 0.4},
        start={phi: steer, psi: 0.7, x.d: speed, theta.d: speed * math.tan(steer) / length},
        pseudo={"u": x.d * cos(theta) + y.d * sin(theta), "omega_r": psi.d, "omega_w": phi.d},
        until=10.0,
        reference="A. Lewis, J. Ostrowski, J. Burdick and R. Murray, ICRA (1994) 2391; A. M. Bloch, ch. 1",
    )
