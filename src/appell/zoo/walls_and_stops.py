"""Walls, threads and stops: systems with unilateral constraints."""

from __future__ import annotations

from typing import Any

from sympy import Rational, cos, pi, sin, sqrt, symbols

from appell.jets import coordinates, parameters, t
from appell.model import Between, System, Unilateral
from appell.scene import Box, Disc, Floor, Link, Point, Scene, Spring, Surface, Thread, Trail, Wall
from appell.zoo.example import Example

ZHURAVLEV = "V. F. Zhuravlev, Equations of motion of mechanical systems with ideal unilateral constraints (1978)"


def thread_pendulum(*, slack: bool = True) -> Example:
    """A mass on an inextensible thread, in polar coordinates; the thread may be slack.

        T = m (ṙ² + r² θ̇²)/2,    V = −m g r cos θ,    R − r >= 0

    θ from the downward vertical. Taut while m (R θ̇² + g cos θ) >= 0, (14). With `slack` it starts inside the circle, otherwise
    on it, with the speed √(4 g R) at the bottom, between √(2gR) and √(5gR): it leaves where cos θ = −2/3.
    """
    r, theta = coordinates("r theta")
    m, R, g = parameters("m R g", positive=True)
    system = System(
        coordinates=[r, theta],
        kinetic=m * (r.d**2 + r**2 * theta.d**2) / 2,
        potential=-m * g * r * cos(theta),
        constraints=[Unilateral(R - r, name="thread")],
        name="pendulum on a thread",
    )
    start = {r: 0.6, theta: 1.2, r.d: 0.3, theta.d: 0.5} if slack else {r: 1.0, theta.d: 2 * 9.81**0.5}
    bob, u = [r * sin(theta), -r * cos(theta)], symbols("u")
    scene = Scene(
        system,
        [
            Surface([R * sin(u), -R * cos(u)], {u: (0, 2 * pi)}, colour="grey"),
            Floor([0, 0], [0, -1], length=R),
            Trail(bob),
            Thread([0, 0], bob, R, name="thread"),
            Point([0, 0], hinge=True),
            Point(bob, name="bob"),
        ],
    )
    return Example(
        system=system, parameters={m: 1.0, R: 1.0, g: 9.81}, start=start, until=3.0, scene=scene, reference=f"{ZHURAVLEV}, (14)"
    )


def bouncing_ball(restitution: Any = 1) -> Example:
    """A ball above a floor:  T = m ż²/2,  V = m g z,  z >= 0.

    From the height h it meets the floor first at √(2h/g), then every 2√(2h/g); with a restitution e < 1 it comes to rest
    at √(2h/g) (1 + e)/(1 − e). `restitution` is a number in [0, 1] or "e" for a parameter of value 0.8.
    """
    z = coordinates("z")
    m, g, e = parameters("m g e", positive=True)
    symbolic = isinstance(restitution, str) and restitution == "e"
    system = System(
        coordinates=[z],
        kinetic=m * z.d**2 / 2,
        potential=m * g * z,
        constraints=[Unilateral(z, name="floor", restitution=e if symbolic else restitution)],
        name="bouncing ball",
    )
    values = {m: 1.0, g: 9.81} | ({e: 0.8} if symbolic else {})
    scene = Scene(
        system,
        [
            Floor([0, 0], [0, 1], length=1),
            Disc([0, z + 0.06], 0.06, name="ball"),
        ],
    )
    source = f"{ZHURAVLEV}, after (14)"
    return Example(system=system, scene=scene, parameters=values, start={z: 1.0}, until=5.0, reference=source)


def oscillator_with_wall() -> Example:
    """A damped, driven oscillator with a wall at Δ from its equilibrium.

        s̈ + h ṡ + Ω² s = ε sin ωt,    s <= Δ            ẍ = −h ẋ − Ω² x + Ω² Δ sgn x − ε sgn x sin ωt    (16)
    """
    s = coordinates("s")
    h, Omega, eps, omega = parameters("h Omega epsilon omega", positive=True)
    Delta = parameters("Delta")
    system = System(
        coordinates=[s],
        kinetic=s.d**2 / 2,
        potential=Omega**2 * s**2 / 2,
        forces={s: -h * s.d + eps * sin(omega * t)},
        constraints=[Unilateral(Delta - s, name="wall")],
        name="oscillator with a wall",
    )
    scene = Scene(
        system,
        [
            Wall([Delta, 0], [-1, 0], length=1),
            Wall([-2, 0], [1, 0], length=1),
            Spring([-2, 0], [s - 0.2, 0], width=0.2),
            Box([s - 0.1, 0], [0.2, 0.3], name="mass"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={h: 0.05, Omega: 1.0, eps: 0.3, omega: 2.1, Delta: 0.2},
        start={s: -0.5},
        until=60.0,
        reference=f"{ZHURAVLEV}, (15), (16); V. K. Astashev (1971)",
    )


def oscillator_between_stops() -> Example:
    """A driven oscillator between two stops:  m ẍ + c ẋ + k x = F cos ωt,  −d <= x <= d."""
    x = coordinates("x")
    m, k, c, F, omega, d = parameters("m k c F omega d", positive=True)
    system = System(
        coordinates=[x],
        kinetic=m * x.d**2 / 2,
        potential=k * x**2 / 2,
        forces={x: -c * x.d + F * cos(omega * t)},
        constraints=[Between(-d, x, d, name="stops", restitution=Rational(9, 10))],
        name="oscillator between stops",
    )
    scene = Scene(
        system,
        [
            Wall([-d - 0.2, 0], [1, 0], length=1),
            Wall([d + 0.2, 0], [-1, 0], length=1),
            Floor([0, -0.15], [0, 1]),
            Box([x, 0], [0.4, 0.3], name="mass"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, k: 1.0, c: 0.1, F: 2.0, omega: 1.5, d: 1.0},
        start={x: 0.3},
        until=40.0,
        reference=f"{ZHURAVLEV}, the two-sided case; S. W. Shaw and P. J. Holmes, J. Sound Vib. 90 (1983) 129",
    )


def double_pendulum_with_wall() -> Example:
    """Two equal links with point masses; the lower mass may not pass a vertical wall, w − l (sin θ1 + sin θ2) >= 0.

    Angles from the downward vertical. f = s has two branches for either angle: impacts reflect the momenta.
    """
    a, b = coordinates("theta1 theta2")
    m, l, g, w = parameters("m l g w", positive=True)
    T = m * l**2 / 2 * (2 * a.d**2 + b.d**2 + 2 * a.d * b.d * cos(a - b))
    system = System(
        coordinates=[a, b],
        kinetic=T,
        potential=-m * g * l * (2 * cos(a) + cos(b)),
        constraints=[Unilateral(w - l * (sin(a) + sin(b)), name="wall")],
        name="double pendulum with a wall",
    )
    high = [l * sin(a), -l * cos(a)]
    low = [high[0] + l * sin(b), high[1] - l * cos(b)]
    scene = Scene(
        system,
        [
            Wall([w, -l], [-1, 0], length=2.4 * l),
            Floor([0, 0], [0, -1], length=l / 2),
            Trail(low),
            Link([0, 0], high, width=5),
            Link(high, low, width=5, colour="#e08a3c"),
            Point([0, 0], hinge=True),
            Point(high),
            Point(low, name="lower mass"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, l: 1.0, g: 9.81, w: 0.3},
        start={a: -0.6, b: -0.4},
        until=5.0,
        reference="A. P. Ivanov, Dynamics of Systems with Mechanical Collisions (1997)",
    )


def block_on_vibrating_table() -> Example:
    """A block on a table that moves as c sin ωt:  T = m ż²/2,  V = m g z,  z − c sin ωt >= 0, restitution 1/2.

    It stays on the table while g >= c ω² sin ωt, and is thrown off where that fails.
    """
    z = coordinates("z")
    m, g, c, omega = parameters("m g c omega", positive=True)
    system = System(
        coordinates=[z],
        kinetic=m * z.d**2 / 2,
        potential=m * g * z,
        constraints=[Unilateral(z - c * sin(omega * t), name="table", restitution=Rational(1, 2))],
        name="block on a vibrating table",
    )
    scene = Scene(
        system,
        [
            Floor([0, c * sin(omega * t)], [0, 1], length=0.1, name="table"),
            Box([0, z + 0.01], [0.02, 0.02], name="block"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, c: 0.02, omega: 25.0},
        start={z: 0.05},
        until=2.0,
        reference="P. J. Holmes, J. Sound Vib. 84 (1982) 173",
    )


def ball_in_corner() -> Example:
    """A ball between a floor and a wall at right angles, orthogonal in the kinetic metric:  x >= 0, y >= 0.

    A spring of stiffness k pulls it into the corner; the motions along x and y are independent.
    """
    x, y = coordinates("x y")
    m, g, k = parameters("m g k", positive=True)
    system = System(
        coordinates=[x, y],
        kinetic=m * (x.d**2 + y.d**2) / 2,
        potential=m * g * y + k * x**2 / 2,
        constraints=[Unilateral(x, name="wall"), Unilateral(y, name="floor")],
        name="ball in a corner",
    )
    scene = Scene(
        system,
        [
            Floor([0.5, 0], [0, 1], length=1.2),
            Wall([0, 0.7], [1, 0], length=1.6),
            Spring([0, y + 0.05], [x + 0.05, y + 0.05], width=0.06, colour="grey"),
            Trail([x + 0.05, y + 0.05]),
            Disc([x + 0.05, y + 0.05], 0.05, name="ball"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, k: 20.0},
        start={x: 0.7, y: 1.0, x.d: -0.5},
        until=10.0,
        reference="V. V. Kozlov and D. V. Treshchev, Billiards (1991)",
    )


def impact_pair() -> Example:
    """A ball in a slot of a driven carriage:  T = m ẋ²/2,  |x − c sin ωt| <= d, restitution 4/5; no force between impacts."""
    x = coordinates("x")
    m, c, omega, d = parameters("m c omega d", positive=True)
    system = System(
        coordinates=[x],
        kinetic=m * x.d**2 / 2,
        constraints=[Between(-d, x - c * sin(omega * t), d, name="slot", restitution=Rational(4, 5))],
        name="impact pair",
    )
    scene = Scene(
        system,
        [
            Wall([c * sin(omega * t) - d, 0], [1, 0], length=0.5, name="left"),
            Wall([c * sin(omega * t) + d, 0], [-1, 0], length=0.5, name="right"),
            Floor([c * sin(omega * t), -0.1], [0, 1], length=2 * d),
            Disc([x, 0], 0.06, name="ball"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, c: 1.0, omega: 1.0, d: 0.5},
        start={x: 0.1, x.d: 0.7},
        until=40.0,
        reference="A. E. Kobrinskii, Dynamics of Mechanisms with Elastic Connections and Impact Systems (1964)",
    )


def arm_with_joint_stops() -> Example:
    """A two-link arm in a vertical plane with stops at the elbow:  lower <= φ2 <= upper for the relative angle φ2.

    Inertial coupling makes the shoulder answer at every impact of the elbow, φ̇1⁺ = φ̇1⁻ + (1 + e) φ̇2⁻ Ab, (12).
    """
    q1, q2 = coordinates("phi1 phi2")
    m1, m2, l1, l2, g, upper = parameters("m1 m2 l1 l2 g upper", positive=True)
    lower = parameters("lower")
    v1, v2 = l1 * q1.d, l2 * (q1.d + q2.d)
    system = System(
        coordinates=[q1, q2],
        kinetic=m1 * v1**2 / 2 + m2 / 2 * (v1**2 + v2**2 + 2 * v1 * v2 * cos(q2)),
        potential=-(m1 + m2) * g * l1 * cos(q1) - m2 * g * l2 * cos(q1 + q2),
        constraints=[Between(lower, q2, upper, name="elbow", restitution=Rational(3, 5))],
        name="two-link arm with joint stops",
    )
    elbow = [l1 * sin(q1), -l1 * cos(q1)]
    hand = [elbow[0] + l2 * sin(q1 + q2), elbow[1] - l2 * cos(q1 + q2)]
    scene = Scene(
        system,
        [
            Floor([0, 0], [0, -1], length=l1 / 2),
            Trail(hand),
            Link([0, 0], elbow),
            Link(elbow, hand, colour="#e08a3c"),
            Point([0, 0], hinge=True),
            Point(elbow, hinge=True),
            Point(hand, name="hand"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m1: 1.0, m2: 0.5, l1: 1.0, l2: 0.8, g: 9.81, lower: -0.2, upper: 2.0},
        start={q1: 1.2, q2: 0.5},
        until=5.0,
        reference="F. Pfeiffer and Ch. Glocker, Multibody Dynamics with Unilateral Contacts (1996)",
    )


def bead_on_pulley_thread() -> Example:
    """Two masses on a thread over a small pulley: one hangs, one slides on a table; the thread may be slack.

        T = (m1 ẋ² + m2 ż²)/2,    V = −m2 g z + k (x − c)²/2,    L − x − z >= 0

    x: distance of the bead from the pulley along the table, drawn to x = c by a spring of stiffness k; z: depth of the
    hanging mass. n·M⁻¹n = 1/m1 + 1/m2, so that μ = m1 m2/(m1 + m2).
    """
    x, z = coordinates("x z")
    m1, m2, g, k, c, L = parameters("m1 m2 g k c L", positive=True)
    system = System(
        coordinates=[x, z],
        kinetic=(m1 * x.d**2 + m2 * z.d**2) / 2,
        potential=-m2 * g * z + k * (x - c) ** 2 / 2,
        constraints=[Unilateral(L - x - z, name="thread", restitution=Rational(1, 2))],
        name="bead on a thread over a pulley",
    )
    scene = Scene(
        system,
        [
            Floor([-L / 2, -0.08], [0, 1], length=L),
            Spring([-x - L / 4, 0], [-x, 0], width=0.1, colour="grey"),
            Thread([-x, 0], [0, 0], name="thread"),
            Thread([0.08, -0.04], [0.08, -z]),
            Disc([0, -0.08], 0.08, colour="#5b6470", name="pulley"),
            Box([-x, 0], [0.2, 0.14], name="bead"),
            Box([0.08, -z], [0.16, 0.16], colour="#e08a3c", name="hanging mass"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m1: 1.0, m2: 0.5, g: 9.81, k: 20.0, c: 1.5, L: 2.0},
        start={x: 1.2, z: 0.3},
        until=5.0,
        reference="P. Appell, Traité de mécanique rationnelle, vol. 2",
    )


def bead_in_circle() -> Example:
    """A heavy bead inside a circle in Cartesian coordinates:  T = m (ẋ² + ẏ²)/2,  V = m g y,  R − √(x² + y²) >= 0.

    The thread pendulum without its chart: f = s has two branches for x and for y, so impacts reflect the momenta.
    """
    x, y = coordinates("x y")
    m, R, g = parameters("m R g", positive=True)
    system = System(
        coordinates=[x, y],
        kinetic=m * (x.d**2 + y.d**2) / 2,
        potential=m * g * y,
        constraints=[Unilateral(R - sqrt(x**2 + y**2), name="thread")],
        name="bead in a circle",
    )
    u = symbols("u")
    scene = Scene(
        system,
        [
            Surface([R * cos(u), R * sin(u)], {u: (0, 2 * pi)}, colour="grey"),
            Trail([x, y]),
            Point([x, y], name="bead"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, R: 1.0, g: 9.81},
        start={x: 0.3, y: 0.2, x.d: 0.4},
        until=3.0,
        reference=f"{ZHURAVLEV}, (14) in Cartesian coordinates",
    )
