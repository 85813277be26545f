"""The skate of Gantmacher's lectures."""

from __future__ import annotations

from sympy import cos, sin

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Curve, Link, Point, Reaction, Scene, Trail
from appell.zoo.example import Example


def skate() -> Example:
    """Two unit masses on a weightless rod of length l in a vertical plane, with a blade at its middle along the rod.

        T = ẋ² + ẏ² + l²/4 φ̇²        V = 2 g y        ẋ sin φ − ẏ cos φ = 0

    x, y: middle of the rod, y upwards (m); φ: angle of the rod with the horizontal (rad). With the pseudo-velocity
    π̇ = ẋ cos φ + ẏ sin φ Appell's equations are π̈ = −g sin φ, φ̈ = 0, so that

        φ = α t + β,        π̇ = g cos φ / α + γ,        Λ = −2 (2 g cos φ + α γ),
        x =   g φ / (2α²) + [γ/α + g cos φ / (2α²)] sin φ + δ,
        y = −[γ/α + g cos φ / (2α²)] cos φ + ε.

    The start has α = 1 rad/s, β = 0, γ = 1 m/s − g/α.
    """
    x, y, phi = coordinates("x y phi")
    l, g = parameters("l g", positive=True)
    blade = Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    system = System(
        coordinates=[x, y, phi],
        kinetic=x.d**2 + y.d**2 + l**2 / 4 * phi.d**2,
        potential=2 * g * y,
        constraints=[blade],
        name="skate",
    )
    ends = [[x + s * l / 2 * cos(phi), y + s * l / 2 * sin(phi)] for s in (-1, 1)]
    blade_line = [[x + s * l / 8 * cos(phi), y + s * l / 8 * sin(phi)] for s in (-1, 1)]
    scene = Scene(
        system,
        [
            Trail([x, y]),
            Link(*ends, width=4),
            Curve(*blade_line, width=5, colour="#d1495b", name="blade"),
            *(Point(end) for end in ends),
            Reaction("blade", [x, y]),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={l: 1.0, g: 9.81},
        start={x.d: 1.0, phi.d: 1.0},
        pseudo={"pi": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d},
        until=10.0,
        reference="F. R. Gantmacher, Lectures in Analytical Mechanics, §10, example 1 (and §3)",
    )
