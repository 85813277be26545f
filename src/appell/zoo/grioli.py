"""Bodies with a fixed point in generalized Grioli precession: a second-order constraint."""

from __future__ import annotations

from sympy import Expr, Matrix, Rational, cos, sin

from appell.jets import Jet, coordinates, parameters
from appell.model import Constraint, System, euler
from appell.scene import Frame, Point, Scene, Sphere, Trail
from appell.zoo.euler import body_rates, turning_body, vertical
from appell.zoo.example import Example

_SOURCE = "S. Deneva, Nonholonomic systems with nonlinear connections, Annuaire Univ. Sofia 83 (1989), section 4"


def _precession(psi: Jet, theta: Jet, mu: Expr) -> Expr:
    """f of (60), with the θ̇ that is missing there in its first term.

        p q̇ − q ṗ + r (p² + q²) − μ (p² + q²)^{3/2}                                                              (59)
        = ψ̈ θ̇ sin θ − θ̈ ψ̇ sin θ + 2 ψ̇ θ̇² cos θ + ψ̇³ sin² θ cos θ − μ (ψ̇² sin² θ + θ̇²)^{3/2}                  (60)
    """
    s, c = sin(theta), cos(theta)
    swing = psi.d**2 * s**2 + theta.d**2  # p² + q²
    twist = psi.dd * theta.d * s - theta.dd * psi.d * s
    return twist + 2 * psi.d * theta.d**2 * c + psi.d**3 * s**2 * c - mu * swing ** Rational(3, 2)


def grioli() -> Example:
    """A heavy body with a fixed point whose third axis describes a circle on the unit sphere: f = 0 of (60).

        T = ½ (A p² + B q² + C r²),        V = m g (ξ sin θ sin φ + η sin θ cos φ + ζ cos θ)

    ψ, θ, φ: Euler's angles (rad). μ is the geodesic curvature of the path of the third axis, so this axis moves on
    a circle of angular radius arccot μ about a direction fixed in space. The reaction does no work: T + V is
    conserved. Where p = q = 0 the motion is not determined.
    """
    psi, theta, phi = coordinates("psi theta phi")
    A, B, C, m, g = parameters("A B C m g", positive=True)
    xi, eta, zeta, mu = parameters("xi eta zeta mu")
    p, q, r = body_rates(psi, theta, phi)
    e1, e2, e3 = vertical(theta, phi)
    system = System(
        coordinates=[psi, theta, phi],
        kinetic=(A * p**2 + B * q**2 + C * r**2) / 2,
        potential=m * g * (xi * e1 + eta * e2 + zeta * e3),
        constraints=[Constraint(_precession(psi, theta, mu), name="precession")],
        name="Grioli precession",
    )
    R = euler([psi, theta, phi]).rotation
    scene = Scene(
        system,
        [
            *turning_body(R),
            Point(R * Matrix([xi, eta, zeta]), 0.05, colour="#d1495b", name="centre of mass"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={A: 2.0, B: 1.7, C: 1.0, m: 1.0, g: 1.0, xi: 0.1, eta: -0.05, zeta: 0.2, mu: 1.5},
        start={theta: 1.8, psi.d: 2.0, theta.d: 0.3, phi.d: 1.0},
        until=5.0,
        reference=f"{_SOURCE}, (59)–(68) with corrections",
    )


def homogeneous_ball() -> Example:
    """The constraint of `grioli` on a homogeneous ball with its centre fixed: T = J/2 (p² + q² + r²), no gravity.

    ψ, θ, φ: Euler's angles (rad). In closed form r is constant, h = p² + q² too,
    u = ψ̇ sin θ = (C2 − μ √h cos θ)/sin θ, and

        cos θ = C2 μ/(√h (1 + μ²)) + a cos(W t + d),        W = √(h (1 + μ²)),
        a = √(h (1 + μ²) − C2²)/(√h (1 + μ²)),               Λ = J (μ √h − r) constant.
    """
    psi, theta, phi = coordinates("psi theta phi")
    J = parameters("J", positive=True)
    mu = parameters("mu")
    p, q, r = body_rates(psi, theta, phi)
    system = System(
        coordinates=[psi, theta, phi],
        kinetic=J / 2 * (p**2 + q**2 + r**2),
        constraints=[Constraint(_precession(psi, theta, mu), name="precession")],
        name="homogeneous ball",
    )
    R = euler([psi, theta, phi]).rotation
    scene = Scene(
        system,
        [
            Sphere([0, 0, 0], 0.8, turned=R, opacity=0.9, name="ball"),
            Frame([0, 0, 0], turned=R, size=1.1),
            Trail(1.1 * R.col(2)),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={J: 0.4, mu: 0.5},
        start={theta: 1.2, psi.d: 1.0, theta.d: 0.3, phi.d: 0.5},
        until=5.0,
        reference=f"{_SOURCE}, (69)–(75)",
    )
