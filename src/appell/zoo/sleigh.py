"""Chaplygin's sleigh."""

from __future__ import annotations

from sympy import cos, sin

from appell.jets import coordinates, parameters
from appell.model import Constraint, RigidBody, System
from appell.scene import Curve, Point, Reaction, Scene, Trail
from appell.zoo.example import Example


def sleigh() -> Example:
    """A body on a horizontal plane with a blade, its centre of mass at distance a ahead of the blade.

        T = m/2 [(ẋ − a φ̇ sin φ)² + (ẏ + a φ̇ cos φ)²] + J/2 φ̇²        ẋ sin φ − ẏ cos φ = 0

    x, y: contact point of the blade (m); φ: its heading (rad); J: moment of inertia about the centre of mass (kg
    m²). With u = ẋ cos φ + ẏ sin φ, ω = φ̇ and k² = a² + J/m

        u̇ = a ω²,        k² ω̇ = −a u ω,
        u = c tanh(a c (t − t0)/k²),        k ω = ± c sech(a c (t − t0)/k²),        c² = u² + k² ω²,

    and the reaction is Λ = −m (a ω̇ + u ω). Every motion ends straight ahead, the centre of mass in front.
    """
    x, y, phi = coordinates("x y phi")
    m, J, a = parameters("m J a", positive=True)
    body = RigidBody(m, J, [x + a * cos(phi), y + a * sin(phi)], phi, name="sleigh")
    system = System(
        coordinates=[x, y, phi],
        bodies=[body],
        constraints=[Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")],
        name="sleigh",
    )
    at = lambda u, v: [x + a * (u * cos(phi) - v * sin(phi)), y + a * (u * sin(phi) + v * cos(phi))]
    corners = [at(u, v) for u, v in ((1.8, 0), (1.2, 0.5), (-0.4, 0.5), (-0.4, -0.5), (1.2, -0.5))]
    edge = [at(-0.3, 0), at(0.3, 0)]
    scene = Scene(
        system,
        [
            Trail([x, y]),
            Curve(*corners, closed=True, fill="#3b82c4", name="sleigh"),
            Curve(*edge, width=5, colour="#d1495b", name="blade"),
            Point(body, hinge=True),
            Reaction("blade", [x, y]),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, J: 0.5, a: 0.5},
        start={x.d: -1.0, phi.d: 1.0},
        pseudo={"u": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d},
        until=10.0,
        reference=(
            "S. A. Chaplygin, Mat. Sbornik 28 (1911) 303–314; "
            "A. M. Bloch, Nonholonomic Mechanics and Control, ch. 1"
        ),
    )
