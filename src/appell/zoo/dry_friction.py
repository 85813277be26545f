"""Dry friction in a plane: stick, slip, and transitions."""

from __future__ import annotations

import math

from sympy import cos, sin

from appell.jets import coordinates, parameters, t
from appell.model import Constraint, Friction, System, Unilateral
from appell.scene import Arrow, Box, Disc, Floor, Link, Point, Scene, Spring, Trail, Wall, Wheel
from appell.zoo.example import Example


def block_on_belt() -> Example:
    """A block on a belt that moves with v, held by a spring; it sticks up to μ_s m g and slides with μ m g.

        m ẍ = −k x + λ,    |λ| <= μ_s m g where ẋ = v,    λ = −μ m g sign(ẋ − v) elsewhere

    It sticks until k x = μ_s m g, then moves on a circle about μ m g/k in the plane (x, ẋ/ω) back to ẋ = v: the cycle of
    stick and slip, its period 2 (μ_s − μ) m g/(k v) + (2/ω)(π − arctan((μ_s − μ) g/(ω v))) with ω² = k/m.
    """
    x, y = coordinates("x y")
    m, k, g, v, mu, mu_s = parameters("m k g v mu mu_s", positive=True)
    ground = Constraint(y, name="belt")
    system = System(
        coordinates=[x, y],
        kinetic=m * (x.d**2 + y.d**2) / 2,
        potential=k * x**2 / 2 + m * g * y,
        constraints=[ground, Friction(x.d - v, normal=ground, coefficient=mu, static=mu_s, name="friction")],
        name="block on a belt",
    )
    scene = Scene(
        system,
        [
            Wall([-1.2, 0.15], [1, 0], length=0.6),
            Floor([0, 0], [0, 1], length=2.4),
            Spring([-1.2, 0.15], [x - 0.15, 0.15], width=0.12),
            Box([x, 0.15 + y], [0.3, 0.3], name="block"),
            Arrow([0.7, -0.12], [v, 0], scale=2, name="belt"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, k: 10.0, g: 9.81, v: 0.2, mu: 0.2, mu_s: 0.4},
        start={x.d: 0.2},
        until=20.0,
        reference="J. P. Den Hartog, Mechanical Vibrations (1934); J. J. Thomsen and A. Fidlin (2003)",
    )


def bowling_ball() -> Example:
    """A ball thrown without spin: it slides, then rolls for ever.

        m v̇ = −μ m g,  (2/5) m r² φ̈ = μ m g r       until v = r φ̇ at t = 2 v0/(7 μ g), v = 5 v0/7, after 12 v0²/(49 μ g)
    """
    x, y, phi = coordinates("x y phi")
    m, r, g, mu = parameters("m r g mu", positive=True)
    lane = Constraint(y - r, name="lane")
    system = System(
        coordinates=[x, y, phi],
        kinetic=m * (x.d**2 + y.d**2) / 2 + m * r**2 / 5 * phi.d**2,
        potential=m * g * y,
        constraints=[lane, Friction(x.d - r * phi.d, normal=lane, coefficient=mu, name="friction")],
        name="bowling ball",
    )
    scene = Scene(
        system,
        [Floor([6, 0], [0, 1], length=14), Trail([x, y]), Disc([x, y], r, turned=-phi, name="ball")],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 7.0, r: 0.11, g: 9.81, mu: 0.12},
        start={y: 0.11, x.d: 7.0},
        until=3.0,
        reference="G. Coriolis, Théorie mathématique des effets du jeu de billard (1835)",
    )


def ladder(*, angle: float = 0.9) -> Example:
    """A ladder between a rough floor and a rough wall, at rest at an angle too flat for it.

        T = m (ẋ² + ẏ²)/2 + m l² φ̇²/6,    floor y − l sin φ >= 0,    wall x − l cos φ >= 0        length 2l

    It rests while tan φ >= (1 − μ ν)/(2μ), μ on the floor and ν at the wall; its reactions are not unique then, and whether
    they hold is decided over all of them. Below, it slides, and leaves the wall before it lies on the floor.
    """
    x, y, phi = coordinates("x y phi")
    m, l, g, mu, nu = parameters("m l g mu nu", positive=True)
    floor, wall = Unilateral(y - l * sin(phi), "floor", restitution=0), Unilateral(x - l * cos(phi), "wall", restitution=0)
    system = System(
        coordinates=[x, y, phi],
        kinetic=m * (x.d**2 + y.d**2) / 2 + m * l**2 / 6 * phi.d**2,
        potential=m * g * y,
        constraints=[
            floor,
            wall,
            Friction(x.d - l * sin(phi) * phi.d, normal=floor, coefficient=mu, name="foot"),
            Friction(y.d + l * cos(phi) * phi.d, normal=wall, coefficient=nu, name="head"),
        ],
        name="ladder",
    )
    end = lambda sign: [x - sign * l * cos(phi), y + sign * l * sin(phi)]
    scene = Scene(
        system,
        [
            Floor([1.2, 0], [0, 1], length=3),
            Wall([0, 1], [1, 0], length=2.4),
            Link(end(1), end(-1), name="ladder"),
            Trail(end(1)),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 10.0, l: 1.0, g: 9.81, mu: 0.3, nu: 0.2},
        start={x: math.cos(angle), y: math.sin(angle), phi: angle},
        until=0.7,
        reference="F. Pfeiffer and Ch. Glocker, Multibody Dynamics with Unilateral Contacts (1996)",
    )


def painleve_rod() -> Example:
    """A rod whose lower end slides over a rough floor (chalk that is pushed over a board).

        N (1/m + l² cos φ (cos φ − μ sin φ)/J) = g − l φ̇² sin φ            sliding to the right, J = m l²/3

    The minimum of the bracket is 5/2m − 3√(1 + μ²)/2m: negative at some φ if μ > 4/3, and there Coulomb's law has no solution
    (φ̇² l sin φ < g), or two (Painlevé 1895). With the μ of this start the rod slides, rises and leaves the floor.
    """
    x, y, phi = coordinates("x y phi")
    m, l, g, mu = parameters("m l g mu", positive=True)
    floor = Unilateral(y - l * sin(phi), name="floor", restitution=0)
    system = System(
        coordinates=[x, y, phi],
        kinetic=m * (x.d**2 + y.d**2) / 2 + m * l**2 / 6 * phi.d**2,
        potential=m * g * y,
        constraints=[floor, Friction(x.d + l * sin(phi) * phi.d, normal=floor, coefficient=mu, name="tip")],
        name="Painlevé's rod",
    )
    end = lambda sign: [x - sign * l * cos(phi), y - sign * l * sin(phi)]
    scene = Scene(
        system, [Floor([0.6, 0], [0, 1], length=3), Trail(end(1)), Link(end(1), end(-1), name="rod"), Point(end(1), name="tip")]
    )
    angle, turn, half = 0.6, 5.0, 0.5
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, l: half, g: 9.81, mu: 0.8},
        start={y: half * math.sin(angle), phi: angle, x.d: 3.0, y.d: half * math.cos(angle) * turn, phi.d: turn},
        until=0.3,
        reference="P. Painlevé, C. R. Acad. Sci. Paris 121 (1895); F. Génot and B. Brogliato, Eur. J. Mech. A 18 (1999)",
    )


def locking_wheel() -> Example:
    """A wheel with an increasing brake force: it rolls, slides, and locks.

        m v̇ = −λ,   J φ̈ = r λ − r B,    |λ| <= μ m g at the road (slip v − r φ̇),    |B| <= b t at the brake (slip r φ̇)

    m: the car on this wheel. The tyre holds up to λ = μ m g, B = (1 + J/(m r²)) μ m g; shortly after, the wheel locks, and
    the car slides on with the deceleration μ g.
    """
    x, y, phi = coordinates("x y phi")
    m, J, r, g, mu, b = parameters("m J r g mu b", positive=True)
    road = Constraint(y - r, name="road")
    system = System(
        coordinates=[x, y, phi],
        kinetic=m * (x.d**2 + y.d**2) / 2 + J * phi.d**2 / 2,
        potential=m * g * y,
        constraints=[
            road,
            Friction(x.d - r * phi.d, normal=road, coefficient=mu, name="tyre"),
            Friction(r * phi.d, limit=b * t, name="brake"),
        ],
        name="wheel that locks",
    )
    scene = Scene(system, [Floor([12, 0], [0, 1], length=28), Wheel([x, y], r, turned=-phi, name="wheel")])
    return Example(
        system=system,
        scene=scene,
        parameters={m: 300.0, J: 1.2, r: 0.3, g: 9.81, mu: 0.8, b: 2500.0},
        start={y: 0.3, x.d: 20.0, phi.d: 20.0 / 0.3},
        until=4.0,
        reference="M. Mitschke and H. Wallentowitz, Dynamik der Kraftfahrzeuge, ch. 3",
    )
