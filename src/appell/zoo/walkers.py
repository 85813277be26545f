"""Walking down a slope without motors: each footstep is a reset in which the legs swap roles."""

from __future__ import annotations

import math
from typing import Any

from sympy import Rational, cos, pi, sin

from appell.jets import coordinates, parameters
from appell.model import Reset, System
from appell.scene import Floor, Link, Point, Scene
from appell.zoo.example import Example


def simplest_walker() -> Example:
    """Two massless legs with a mass at the hip and feet of vanishing mass, on a slope γ; lengths in l, times in √(l/g).

        θ̈ = sin(θ − γ),        φ̈ = θ̈ + (θ̇² − cos(θ − γ)) sin φ                                    (Garcia et al., (2), (3))
        where φ − 2θ = 0 at the end of a step:   θ⁺ = −θ,  φ⁺ = −2θ,  θ̇⁺ = θ̇ cos 2θ,  φ̇⁺ = θ̇ cos 2θ (1 − cos 2θ)         (4)

    θ of the stance leg from the normal of the slope, φ between the legs. The swing leg does not act on the hip, so that
    its equation is separate, with an inertia of 1. 2θ − φ rises through zero where the swing foot scuffs past the stance leg,
    which is ignored, and falls at heelstrike. On γ = 0.009 the long step θ⁺ = 0.2003109…, θ̇⁺ = −0.1998325… is stable, with
    multipliers of modulus 0.589; the short one, 0.1939374…, −0.2038669…, is not (multipliers 4.0 and 0.46). The long step
    loses its stability by a period doubling at γ = 0.0151.
    """
    theta, phi = coordinates("theta phi")
    gamma = parameters("gamma")
    turn = cos(2 * theta)
    legs: dict[Any, Any] = {theta: -theta, phi: -2 * theta, theta.d: turn * theta.d, phi.d: turn * (1 - turn) * theta.d}
    system = System(
        coordinates=[theta, phi],
        kinetic=(theta.d**2 + phi.d**2) / 2,
        potential=cos(theta - gamma),
        forces={phi: sin(theta - gamma) + (theta.d**2 - cos(theta - gamma)) * sin(phi)},
        constraints=[Reset(2 * theta - phi, legs, name="heelstrike")],
        name="simplest walker",
    )
    angle, speed = 0.200310900544287, -0.199832473004977
    start = {theta: angle, phi: 2 * angle, theta.d: speed, phi.d: speed * (1 - math.cos(2 * angle))}
    hip = [-sin(theta), cos(theta)]
    foot = [-sin(theta) - sin(phi - theta), cos(theta) - cos(phi - theta)]
    return Example(
        system=system,
        parameters={gamma: 0.009},
        start=start,
        until=20.0,
        scene=_two_legs(system, hip, foot, 0),
        reference="M. Garcia, A. Chatterjee, A. Ruina and M. Coleman, J. Biomech. Eng. 120 (1998) 281",
    )


def compass_gait() -> Example:
    """Two legs with masses m, a from the foot and b from the hip, and m_H at the hip, on a slope φ of 3°.

        T = (m_H l² + m a² + m l²) σ̇²/2 − m l b σ̇ ν̇ cos(σ − ν) + m b² ν̇²/2,   V = g [(m_H l + m a + m l) cos σ − m b cos ν]

    σ of the stance leg and ν of the other one from the vertical, l = a + b. At the end of a step, where σ + ν + 2φ falls to
    zero, the legs swap roles; angular momenta about the new foot, and of the old stance leg about the hip, are kept:

        σ̇⁺ = [(m_H l² + m a l) σ̇ cos(σ − ν) − m a b ν̇]/(m_H l² + m a² + m l² sin²(σ − ν)),    b ν̇⁺ = l σ̇⁺ cos(σ − ν) − a σ̇

    With m_H = 10, m = 5, a = b = 0.5, g = 9.8 the gait on 3° begins a step with σ = 0.2187, ν = −0.3234, σ̇ = −1.0918,
    ν̇ = −0.3772, and takes 0.73 s for it.
    """
    sigma, nu = coordinates("sigma nu")
    m, m_H, a, b, g, slope = parameters("m m_H a b g phi", positive=True)
    l, c = a + b, cos(sigma - nu)
    momentum = (m_H * l**2 + m * a * l) * c * sigma.d - m * a * b * nu.d
    stance = momentum / (m_H * l**2 + m * a**2 + m * l**2 * sin(sigma - nu) ** 2)
    swing = (l * c * stance - a * sigma.d) / b
    system = System(
        coordinates=[sigma, nu],
        kinetic=(m_H * l**2 + m * a**2 + m * l**2) * sigma.d**2 / 2 - m * l * b * sigma.d * nu.d * c + m * b**2 * nu.d**2 / 2,
        potential=g * ((m_H * l + m * a + m * l) * cos(sigma) - m * b * cos(nu)),
        constraints=[
            Reset(sigma + nu + 2 * slope, {sigma: nu, nu: sigma, sigma.d: stance, nu.d: swing}, name="heelstrike")
        ],
        name="compass gait",
    )
    hip = [-l * sin(sigma), l * cos(sigma)]
    foot = [hip[0] + l * sin(nu), hip[1] - l * cos(nu)]
    return Example(
        system=system,
        parameters={m: 5.0, m_H: 10.0, a: 0.5, b: 0.5, g: 9.8, slope: math.radians(3)},
        start={sigma: 0.2187, nu: -0.2187 - 2 * math.radians(3), sigma.d: -1.0918, nu.d: -0.3772},
        until=5.0,
        scene=_two_legs(system, hip, foot, slope),
        reference="A. Goswami, B. Thuilot and B. Espiau, Int. J. Robotics Research 17 (1998) 1282",
    )


def rimless_wheel(spokes: int = 8) -> Example:
    """A wheel of spokes without a rim rolls down a slope γ, from spoke to spoke.

        (J + m l²) θ̈ = m g l sin θ;   where θ = γ + α:  θ⁺ = θ − 2α,  θ̇⁺ = η θ̇,  η = (J + m l² cos 2α)/(J + m l²),  α = π/n

    θ of the stance spoke from the vertical. From step to step θ̇⁺² = η² (θ̇² + 4 m g l sin α sin γ/(J + m l²)): the wheel rolls
    for ever with θ̇⁺² = η² 4 m g l sin α sin γ/((1 − η²)(J + m l²)), where that is enough to pass the vertical;
    deviations of θ̇² from it shrink by the factor η² with every step.
    """
    theta = coordinates("theta")
    m, J, l, g, gamma = parameters("m J l g gamma", positive=True)
    alpha = pi / spokes
    eta = (J + m * l**2 * cos(2 * alpha)) / (J + m * l**2)
    system = System(
        coordinates=[theta],
        kinetic=(J + m * l**2) * theta.d**2 / 2,
        potential=m * g * l * cos(theta),
        constraints=[Reset(gamma + alpha - theta, {theta: theta - 2 * alpha, theta.d: eta * theta.d}, name="spoke")],
        name="rimless wheel",
    )
    hub = [l * sin(theta), l * cos(theta)]
    rim = [[hub[0] - l * sin(theta + 2 * k * alpha), hub[1] - l * cos(theta + 2 * k * alpha)] for k in range(1, spokes)]
    items = [Floor([0, 0], [sin(gamma), cos(gamma)], length=4 * l), Link([0, 0], hub), *(Link(hub, end) for end in rim)]
    return Example(
        system=system,
        parameters={m: 1.0, J: 0.5, l: 1.0, g: 9.81, gamma: 0.1},
        start={theta: 0.0, theta.d: 1.0},
        until=8.0,
        scene=Scene(system, [*items, Point(hub, name="hub")]),
        reference="T. McGeer, Int. J. Robotics Research 9 (1990) 62; M. J. Coleman, DCDIS B 16 (2009)",
    )


def _two_legs(system: System, hip: Any, foot: Any, slope: Any) -> Scene:
    """Both legs, with the stance foot."""
    length = Rational(5, 2)
    ground = Floor([0, 0], [sin(slope), cos(slope)], length=length)
    return Scene(system, [ground, Link([0, 0], hip), Link(hip, foot), Point(hip, name="hip"), Point(foot, name="foot")])


__all__ = ["compass_gait", "rimless_wheel", "simplest_walker"]
