"""A knife edge on a plane that turns: a rheonomic constraint."""

from __future__ import annotations

from sympy import cos, sin

from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System
from appell.scene import Box, Curve, Point, Reaction, Scene, Trail
from appell.zoo.example import Example


def turning_knife_edge() -> Example:
    """A body with a blade at its centre of mass on a plane, inclined at α, that turns about its normal at the rate Ω.

        T = m/2 (ẋ² + ẏ²) + J/2 (ψ̇ + Ω)²,        V = m g y sin α,        σ = ψ + Ω t,
        (ẋ + Ω y) sin σ − (ẏ − Ω x) cos σ = 0

    x, y: centre on axes fixed in space, y up the slope, the origin on the axis of turning (m); ψ: heading relative
    to the plane (rad). The blade does not slip sideways on the plane, whose points move with (−Ω y, Ω x). The
    constraint depends on time and has a free term, T has a part linear in ψ̇. ψ̈ = 0, so σ̇ is constant. The
    reaction works at the rate −Λ Ω (x cos σ + y sin σ): energy is not conserved.
    """
    x, y, psi = coordinates("x y psi")
    m, J, g, alpha, Omega = parameters("m J g alpha Omega", positive=True)
    sigma = psi + Omega * t
    slip = (x.d + Omega * y) * sin(sigma) - (y.d - Omega * x) * cos(sigma)
    system = System(
        coordinates=[x, y, psi],
        kinetic=m / 2 * (x.d**2 + y.d**2) + J / 2 * (psi.d + Omega) ** 2,
        potential=m * g * y * sin(alpha),
        constraints=[Constraint(slip, name="blade")],
        name="turning knife edge",
    )
    edge = [[x + s * cos(sigma) / 5, y + s * sin(sigma) / 5] for s in (-1, 1)]
    scene = Scene(
        system,
        [
            Trail([x, y]),
            Curve([0, 0], [cos(Omega * t), sin(Omega * t)], colour="grey", dashed=True, name="plane"),
            Point([0, 0], hinge=True),
            Box([x, y], [0.4, 0.12], turned=sigma),
            Curve(*edge, width=4, colour="#d1495b", name="blade"),
            Reaction("blade", [x, y]),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, J: 0.1, g: 9.81, alpha: 0.3, Omega: 0.5},
        start={x: 1.0, x.d: 0.5, y.d: 0.5, psi.d: 1.0},
        pseudo={"u": x.d * cos(sigma) + y.d * sin(sigma), "omega": psi.d},
        until=10.0,
        reference=(
            "Ju. I. Neimark and N. A. Fufaev, Dynamics of Nonholonomic Systems (knife edge on an incline), "
            "here on a turning plane"
        ),
    )
