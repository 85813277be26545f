"""A disc that rolls and leans, and a coin that rolls upright."""

from __future__ import annotations

import math

from sympy import Matrix, cos, sin

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Disc, Floor, Scene, Trail
from appell.zoo.example import Example


def rolling_disc() -> Example:
    """A thin uniform disc that rolls without slipping on a horizontal plane, in all its six coordinates.

    x, y, z: centre (m), z upwards; ψ: heading of the horizontal diameter e = (cos ψ, sin ψ, 0); θ: lean, 0 upright;
    φ: spin about the axis a. With the body directions e (heading), a (axis), u (up, in the disc), a right-handed
    triad,

        ω = θ̇ e + ω_a a + ω_u u,        ω_a = φ̇ + ψ̇ sin θ,        ω_u = ψ̇ cos θ,
        T = m/2 (ẋ² + ẏ² + ż²) + m r²/8 (θ̇² + ω_u²) + m r²/4 ω_a²,        V = m g z,
        height:    z = r cos θ                                    (holonomic)
        rolling:   ẋ cos ψ + ẏ sin ψ = r ω_a                      (no slip along the heading)
        side:      ẏ cos ψ − ẋ sin ψ = −r θ̇ cos θ                 (no slip across it)

    The start leans slightly and rolls fast enough to stay up.
    """
    x, y, z, psi, theta, phi = coordinates("x y z psi theta phi")
    m, g, r = parameters("m g r", positive=True)
    omega_a = phi.d + psi.d * sin(theta)
    omega_u = psi.d * cos(theta)
    rotation = m * r**2 / 8 * (theta.d**2 + omega_u**2) + m * r**2 / 4 * omega_a**2
    system = System(
        coordinates=[x, y, z, psi, theta, phi],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2) + rotation,
        potential=m * g * z,
        constraints=[
            Constraint(z - r * cos(theta), name="height"),
            Constraint(x.d * cos(psi) + y.d * sin(psi) - r * omega_a, name="rolling"),
            Constraint(y.d * cos(psi) - x.d * sin(psi) + r * theta.d * cos(theta), name="side"),
        ],
        name="rolling disc",
    )
    radius, lean, turn, spin = 0.5, 0.2, 0.5, 8.0
    heading = Matrix([[cos(psi), -sin(psi), 0], [sin(psi), cos(psi), 0], [0, 0, 1]])
    leaning = Matrix([[1, 0, 0], [0, cos(theta), -sin(theta)], [0, sin(theta), cos(theta)]])
    spinning = Matrix([[cos(phi), 0, sin(phi)], [0, 1, 0], [-sin(phi), 0, cos(phi)]])
    R = heading * leaning * spinning
    contact = [x - r * sin(theta) * sin(psi), y + r * sin(theta) * cos(psi), 0]
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1]),
            Trail(contact),
            Disc([x, y, z], r, turned=R, axis="y", thickness=r / 16, spokes=3, name="disc"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, r: radius},
        start={
            z: radius * math.cos(lean),
            theta: lean,
            psi.d: turn,
            phi.d: spin,
            x.d: radius * (spin + turn * math.sin(lean)),
        },
        pseudo={"omega_e": theta.d, "omega_a": omega_a, "omega_u": omega_u},
        until=10.0,
        reference=(
            "D. J. Korteweg (1899); P. Appell (1900); "
            "Ju. I. Neimark and N. A. Fufaev, Dynamics of Nonholonomic Systems"
        ),
    )


def rolling_coin() -> Example:
    """A coin that stays upright and rolls on a horizontal plane.

        T = m/2 (ẋ² + ẏ²) + I/2 φ̇² + J/2 ψ̇²        ẋ = r φ̇ cos ψ        ẏ = r φ̇ sin ψ

    x, y: contact point (m); ψ: heading; φ: spin (rad); I, J: moments about the axis and about a diameter (kg m²).
    Both rates are constant and the contact draws a circle of radius r φ̇/ψ̇; with c = m r φ̇ ψ̇ the reactions are Λ
    = (−c sin ψ, c cos ψ).
    """
    x, y, psi, phi = coordinates("x y psi phi")
    m, I, J, r = parameters("m I J r", positive=True)
    system = System(
        coordinates=[x, y, psi, phi],
        kinetic=m / 2 * (x.d**2 + y.d**2) + I / 2 * phi.d**2 + J / 2 * psi.d**2,
        constraints=[
            Constraint(x.d - r * phi.d * cos(psi), name="rolling x"),
            Constraint(y.d - r * phi.d * sin(psi), name="rolling y"),
        ],
        name="rolling coin",
    )
    turn = Matrix([[cos(psi), -sin(psi), 0], [sin(psi), cos(psi), 0], [0, 0, 1]])
    spin = Matrix([[cos(phi), 0, sin(phi)], [0, 1, 0], [-sin(phi), 0, cos(phi)]])
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1]),
            Trail([x, y, 0]),
            Disc([x, y, r], r, turned=turn * spin, axis="y", spokes=3, name="coin"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, I: 0.125, J: 0.0625, r: 0.5},
        start={psi.d: 1.0, phi.d: 2.0, x.d: 1.0},
        pseudo={"omega": psi.d, "Omega": phi.d},
        until=10.0,
        reference="A. M. Bloch, Nonholonomic Mechanics and Control, ch. 1 (the vertical rolling disk)",
    )
