"""A particle on a surface: a paraboloid, an inclined plane."""

from __future__ import annotations

from sympy import cos, sin, symbols, tan

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Point, Reaction, Scene, Surface, Trail
from appell.zoo.example import Example


def paraboloid() -> Example:
    """A heavy particle on a smooth paraboloid of revolution.

        T = m/2 (ẋ² + ẏ² + ż²),        V = m g z,        z = (x² + y²)/(2a)

    x, y, z: position, z upwards (m); a: radius of curvature at the vertex (m). Conserved: T + V and m (x ẏ − y ẋ).
    On the level circle of any radius ρ the particle goes round with ρ φ̇ = ρ √(g/a), that is, with one period 2π
    √(a/g).
    """
    x, y, z = coordinates("x y z")
    m, g, a = parameters("m g a", positive=True)
    system = System(
        coordinates=[x, y, z],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2),
        potential=m * g * z,
        constraints=[Constraint(z - (x**2 + y**2) / (2 * a), name="surface")],
        name="paraboloid",
    )
    u, v = symbols("u v")
    scene = Scene(
        system,
        [
            Surface([u, v, (u**2 + v**2) / (2 * a)], {u: (-1.2, 1.2), v: (-1.2, 1.2)}),
            Trail([x, y, z]),
            Point([x, y, z], name="particle"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, a: 1.0},
        start={x: 1.0, z: 0.5, y.d: 1.0},
        until=10.0,
        reference="E. T. Whittaker, Analytical Dynamics, ch. IV (motion on a surface of revolution)",
    )


def inclined_plane() -> Example:
    """A heavy particle on a smooth plane inclined at α; everything in closed form.

        T = m/2 (ẋ² + ẏ² + ż²),        V = m g z,        x sin α + z cos α = 0

    x: horizontal, down the slope; y: horizontal, across it; z: upwards (m). The residual is the distance from the
    plane, so Λ is the pressure in newtons:

        ẍ = g sin α cos α,        ÿ = 0,        z̈ = −g sin² α,        Λ = m g cos α.
    """
    x, y, z = coordinates("x y z")
    m, g, alpha = parameters("m g alpha", positive=True)
    system = System(
        coordinates=[x, y, z],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2),
        potential=m * g * z,
        constraints=[Constraint(x * sin(alpha) + z * cos(alpha), name="plane")],
        name="inclined plane",
    )
    u, v = symbols("u v")
    a_ball = 0.2
    scene = Scene(
        system,
        [
            Surface([u, v, -u * tan(alpha)], {u: (-1, 9), v: (-1, 3)}),
            Trail([x, y, z]),
            Point([x, y, z], a_ball, name="particle"),
            Reaction("plane", [x, y, z]),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 2.0, g: 9.81, alpha: 0.5},
        start={y.d: 1.0},
        until=2.0,
        reference="G. Galilei, Discorsi (1638), third day",
    )
