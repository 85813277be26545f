"""Dry friction in larger mechanisms and in three dimensions: a ball, a top, a toy and a leg."""

from __future__ import annotations

import math

from sympy import Matrix, cos, diff, sin, sqrt

from appell.jets import coordinates, parameters, t
from appell.model import Constraint, Friction, System, Unilateral, quaternion
from appell.scene import Box, Disc, Floor, Link, Point, Scene, Sphere, Spring, Trail
from appell.zoo.example import Example


def billiard_ball() -> Example:
    """A ball struck off its centre: its path is a parabola while it slides, then a line.

        m v̇ = λ,   (2/5) m r² ω̇ = −r e_z × λ,   λ = −μ m g s/|s|,        s = v − r ω × e_z the slip on the cloth

    ṡ = −(7/2) μ g s/|s|: the direction of the slip does not turn, so that the acceleration is constant until 2|s0|/(7 μ g).
    """
    x, y, z = coordinates("x y z")
    ball = quaternion("ball")
    m, r, g, mu = parameters("m r g mu", positive=True)
    cloth = Constraint(z - r, name="cloth")
    spin = ball.rotation * Matrix(ball.rates)
    slip = (x.d - r * spin[1], y.d + r * spin[0])
    system = System(
        coordinates=[x, y, z, ball],
        kinetic=m * (x.d**2 + y.d**2 + z.d**2) / 2 + m * r**2 / 5 * sum(w**2 for w in ball.rates),
        potential=m * g * z,
        constraints=[cloth, Friction(slip, normal=cloth, coefficient=mu, name="friction")],
        name="billiard ball",
    )
    scene = Scene(
        system,
        [
            Floor([0.6, 0.2, 0], [0, 0, 1], length=1.8),
            Trail([x, y, z]),
            Sphere([x, y, z], r, turned=ball.rotation, name="ball"),
        ],
    )
    wx, wy, wz = ball.rates
    return Example(
        system=system,
        scene=scene,
        parameters={m: 0.17, r: 0.02875, g: 9.81, mu: 0.2},
        start={z: 0.02875, x.d: 1.5, wx: -60.0, wy: -20.0, wz: 40.0},
        until=1.2,
        reference="G. Coriolis, Théorie mathématique des effets du jeu de billard (1835); L. Euler (1765)",
    )


def tippe_top() -> Example:
    """A ball whose centre of mass lies a below its centre, spun fast on a rough table: friction turns it over.

        z = R − a cos θ,    s = v + ω × (a e3 − R e_z) on the table,    λ = −μ Λ s/√(|s|² + ε²)

    e3: the axis of the body, θ its angle with the vertical. It rises where (1 − a/R) < A/C < (1 + a/R) and the spin is fast;
    Jellett's integral −L·(a e3 − R e_z) stays constant whatever the friction. Gliding for ever, it needs no modes: its friction
    is a force that contains the multiplier Λ of the table.
    """
    x, y, z = coordinates("x y z")
    top = quaternion("top")
    m, R, a, A, C, g, mu, eps = parameters("m R a A C g mu epsilon", positive=True)
    rotation = top.rotation
    axis, (p, q, r) = rotation.col(2), top.rates
    table = Constraint(z + a * axis[2] - R, name="table")
    speed = Matrix([x.d, y.d, z.d]) + (rotation * Matrix([p, q, r])).cross(a * axis - Matrix([0, 0, R]))
    push = [-mu * table.multiplier * s / sqrt(speed[0] ** 2 + speed[1] ** 2 + eps**2) for s in speed[:2]]
    velocities = (x.d, y.d, z.d, *top.rates)
    system = System(
        coordinates=[x, y, z, top],
        kinetic=m * (x.d**2 + y.d**2 + z.d**2) / 2 + (A * (p**2 + q**2) + C * r**2) / 2,
        potential=m * g * z,
        forces={v: sum(F * diff(s, v) for F, s in zip(push, speed[:2], strict=True)) for v in velocities},
        constraints=[table],
        name="tippe top",
    )
    centre = [x + a * axis[0], y + a * axis[1], z + a * axis[2]]
    stem = [c + 2 * R * e for c, e in zip(centre, axis, strict=True)]
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1], length=0.2),
            Sphere(centre, R, turned=rotation, name="top"),
            Link(centre, stem, width=0.008, colour="#5b6470"),
            Trail(stem),
        ],
    )
    lean, size = 0.1, 0.015
    qx, _, _, qw = top.coordinates
    return Example(
        system=system,
        scene=scene,
        parameters={m: 0.006, R: size, a: 0.003, A: 8e-7, C: 7e-7, g: 9.81, mu: 0.3, eps: 0.002},
        start={
            z: size - 0.003 * math.cos(lean), qx: math.sin(lean / 2), qw: math.cos(lean / 2),
            r: 155.0 * math.cos(lean), q: 155.0 * math.sin(lean),
        },
        until=4.0,
        reference="R. J. Cohen, The tippe top revisited, Am. J. Phys. 45 (1977)",
    )  # fmt: skip


def woodpecker_toy() -> Example:
    """A woodpecker that pecks its way down a pole: a spring, a sleeve with play, three contacts with friction.

        q = (y, φ_M, φ_S): height of the sleeve, angles of sleeve and bird;    beak  (l_M + l_G − l_S − r_0) − h_S φ_S >= 0,
        sleeve  (r_M − r_0) ± h_M φ_M >= 0,        slips  ẏ + l_M φ̇_M + (l_G − l_S) φ̇_S,   ẏ + r_M φ̇_M

    The sleeve jams, the bird swings, the beak hits the pole, the sleeve slides: one period takes 0.146 s and 20 mm.
    """
    y, f, s = coordinates("y phi_M phi_S")
    mM, JM, mS, JS, c, g, mu = parameters("m_M J_M m_S J_S c g mu", positive=True)
    r0, rM, hM, lM, lG, hS, lS = parameters("r_0 r_M h_M l_M l_G h_S l_S", positive=True)
    beak = Unilateral(lM + lG - lS - r0 - hS * s, name="beak", restitution=0.5)
    lower = Unilateral(rM - r0 + hM * f, name="lower edge", restitution=0)
    upper = Unilateral(rM - r0 - hM * f, name="upper edge", restitution=0)
    slide = y.d + rM * f.d
    system = System(
        coordinates=[y, f, s],
        kinetic=(mM * y.d**2 + JM * f.d**2 + JS * s.d**2 + mS * (y.d + lM * f.d + lG * s.d) ** 2) / 2,
        potential=(mM + mS) * g * y + mS * g * (lM * f + lG * s) + c * (s - f) ** 2 / 2,
        constraints=[
            beak,
            lower,
            upper,
            Friction(y.d + lM * f.d + (lG - lS) * s.d, normal=beak, coefficient=mu, name="beak's friction"),
            Friction(slide, normal=lower, coefficient=mu, name="lower friction"),
            Friction(slide, normal=upper, coefficient=mu, name="upper friction"),
        ],
        name="woodpecker toy",
    )
    sleeve = lambda across, up: [across * cos(f) - up * sin(f), y + across * sin(f) + up * cos(f)]
    hook = [lM * cos(f), y + lM * sin(f)]
    bird = lambda across, up: [hook[0] + across * cos(s) - up * sin(s), hook[1] + across * sin(s) + up * cos(s)]
    scene = Scene(
        system,
        [
            Link([0, 0.03], [0, -0.12], width=2 * r0, colour="#5b6470", name="pole"),
            Link(sleeve(0.004, -hM), sleeve(0.004, hM), colour="#e08a3c", name="sleeve"),
            Link(sleeve(0.004, 0), hook, colour="#e08a3c"),
            Link(hook, bird(lG, 0), name="woodpecker"),
            Link(bird(lG, -0.012), bird(lG, 0.02)),
            Link(bird(lG, 0.02), bird(lG - lS, 0.02), colour="#d1495b", name="beak"),
        ],
    )
    values = (3e-4, 5e-9, 4.5e-3, 7e-7, 5.6e-3, 9.81, 0.3, 2.5e-3, 3.1e-3, 5.8e-3, 0.010, 0.015, 0.02, 0.0201)
    names = (mM, JM, mS, JS, c, g, mu, r0, rM, hM, lM, lG, hS, lS)
    return Example(
        system=system,
        scene=scene,
        parameters=dict(zip(names, values, strict=True)),
        start={f: -0.1034, s: -0.2788, y.d: -0.3411, s.d: -7.4583},
        until=0.6,
        reference="F. Pfeiffer, Ing.-Archiv 54 (1984); R. I. Leine, Ch. Glocker and D. H. van Campen, J. Vib. Control 9 (2003)",
    )


def hopping_leg() -> Example:
    """A leg that hops over rough ground: a level body, a leg that is swung and stretched in time, a foot that sticks or slides.

        foot (x − l sin α, y − l cos α),    V = m g y + m_f g y_f + k (l − l_0(t))²/2 + κ (α − α_0)²/2

    The leg's springs are damped; l_0 = L + A sin Ωt drives it. Landing without restitution, friction μ at the foot.
    """
    x, y, l, alpha = coordinates("x y l alpha")
    m, mf, g, k, d, L, A, Omega = parameters("m m_f g k d L A Omega", positive=True)
    kappa, delta, alpha0, mu = parameters("kappa delta alpha_0 mu", positive=True)
    foot = [x - l * sin(alpha), y - l * cos(alpha)]
    ground = Unilateral(foot[1], name="ground", restitution=0)
    velocity = [x.d - l.d * sin(alpha) - l * cos(alpha) * alpha.d, y.d - l.d * cos(alpha) + l * sin(alpha) * alpha.d]
    system = System(
        coordinates=[x, y, l, alpha],
        kinetic=m * (x.d**2 + y.d**2) / 2 + mf * (velocity[0] ** 2 + velocity[1] ** 2) / 2,
        potential=m * g * y + mf * g * foot[1] + kappa * (alpha - alpha0) ** 2 / 2,
        forces={l: -k * (l - L - A * sin(Omega * t)) - d * l.d, alpha: -delta * alpha.d},
        constraints=[ground, Friction(velocity[0], normal=ground, coefficient=mu, name="foot")],
        name="hopping leg",
    )
    scene = Scene(
        system,
        [
            Floor([1, 0], [0, 1], length=4),
            Trail([x, y]),
            Spring([x, y], foot, width=0.08),
            Box([x, y + 0.08], [0.4, 0.16], name="body"),
            Disc(foot, 0.03, name="foot"),
            Point([x, y], hinge=True),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={
            m: 10.0, mf: 1.0, g: 9.81, k: 2500.0, d: 30.0, L: 0.6, A: 0.06, Omega: 14.0, kappa: 200.0, delta: 8.0, alpha0: 0.12,
            mu: 0.7,
        },
        start={y: 0.75, l: 0.6, alpha: 0.12, x.d: 0.2},
        until=3.0,
        reference="M. H. Raibert, Legged Robots That Balance (1986)",
    )  # fmt: skip
