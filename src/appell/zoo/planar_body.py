"""A holonomic system in pseudo-velocities: a body thrown in a vertical plane."""

from __future__ import annotations

from sympy import cos, sin

from appell.jets import coordinates, parameters
from appell.model import RigidBody, System
from appell.scene import Box, Frame, Scene, Trail
from appell.zoo.example import Example


def holonomic_pseudo() -> Example:
    """A body thrown in a vertical plane, with the velocities on its own axes as pseudo-velocities and no constraint.

        T = m/2 (ẋ² + ẏ²) + J/2 φ̇²,        V = m g y,
        u = ẋ cos φ + ẏ sin φ,        v = −ẋ sin φ + ẏ cos φ,        ω = φ̇,
        m (u̇ − v ω) = −m g sin φ,      m (v̇ + u ω) = −m g cos φ,      J ω̇ = 0.

    x, y: centre of mass, y upwards (m); φ: attitude (rad). Appell's equations in u, v, ω differ in form from
    Lagrange's, with which they coincide for ẋ, ẏ, φ̇. The motion is a parabola with a uniform rotation.
    """
    x, y, phi = coordinates("x y phi")
    m, J, g = parameters("m J g", positive=True)
    system = System(
        coordinates=[x, y, phi],
        bodies=[RigidBody(m, J, [x, y], phi)],
        potential=m * g * y,
        name="thrown body",
    )
    scene = Scene(
        system,
        [
            Trail([x, y]),
            Box([x, y], [1.2, 0.5], turned=phi, name="body"),
            Frame([x, y], turned=phi),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, J: 0.2, g: 9.81},
        start={x.d: 3.0, y.d: 4.0, phi.d: 2.0},
        pseudo={
            "u": x.d * cos(phi) + y.d * sin(phi),
            "v": -x.d * sin(phi) + y.d * cos(phi),
            "omega": phi.d,
        },
        until=2.0,
        reference="F. R. Gantmacher, Lectures in Analytical Mechanics, §10, remark 2 and its footnote",
    )
