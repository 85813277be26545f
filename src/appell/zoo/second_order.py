"""Second-order constraints on particles, linear and nonlinear in the accelerations."""

from __future__ import annotations

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Arrow, Box, Curve, Frame, Point, Scene, Spring, Trail
from appell.zoo.example import Example


def orthogonal_acceleration() -> Example:
    """A heavy particle whose acceleration is kept orthogonal to the field b = (0, x/a, 1).

        T = m/2 (ẋ² + ẏ² + ż²),        V = m g z,        (x/a) ÿ + z̈ = 0

    x, y, z: position, z upwards (m); a: a length. The constraint is no derivative of a first-order one (∂b/∂q has a
    symmetric part). With u = ẋ constant, x = x0 + u t,

        Λ = m g a²/(a² + x²),        ẏ = ẏ0 + (g a/2u) ln[(a² + x²)/(a² + x0²)],
        ż = ż0 − g t + (g a/u) [arctan(x/a) − arctan(x0/a)].
    """
    x, y, z = coordinates("x y z")
    m, g, a = parameters("m g a", positive=True)
    system = System(
        coordinates=[x, y, z],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2),
        potential=m * g * z,
        constraints=[Constraint(x / a * y.dd + z.dd, name="orthogonal")],
        name="orthogonal acceleration",
    )
    scene = Scene(
        system,
        [
            Trail([x, y, z]),
            Point([x, y, z], name="particle"),
            Frame([0, 0, 0]),
            Arrow([x, y, z], [0, x / a, 1], colour="#4aa37b", name="b"),
            Arrow([x, y, z], [x.dd, y.dd, z.dd], name="acceleration"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, a: 1.0},
        start={x: -1.0, x.d: 1.0, z.d: 2.0},
        until=4.0,
        reference=(
            "the linear second-order constraint (1.3) of Sh. Kh. Soltakhanov, "
            "T. S. Shugaylo and M. P. Yushkov (2018)"
        ),
    )


def constant_acceleration() -> Example:
    """Two masses, each on its own straight line, whose accelerations together keep a constant magnitude w.

        T = (m1 ẋ² + m2 ẏ²)/2,        Q = (F, −k y),        f = (ẍ² + ÿ² − w²)/2 = 0

    x, y: the positions (m). Gauss's stationary points are (m1 − Λ) ẍ = F, (m2 − Λ) ÿ = −k y with Λ a root of the
    secular equation F²/(m1 − Λ)² + k² y²/(m2 − Λ)² = w²; the motion is the global minimum, the root below min(m1,
    m2). The constant force on the lighter mass keeps the minimum unique: with F = 0 and |k y| < w (m2 − m1) two
    accelerations would tie.
    """
    x, y = coordinates("x y")
    m1, m2, k, w = parameters("m1 m2 k w", positive=True)
    F = parameters("F")
    system = System(
        coordinates=[x, y],
        kinetic=(m1 * x.d**2 + m2 * y.d**2) / 2,
        potential=k * y**2 / 2,
        forces={x: F},
        constraints=[Constraint((x.dd**2 + y.dd**2 - w**2) / 2, name="magnitude")],
        name="constant acceleration",
    )
    scene = Scene(
        system,
        [
            Curve([-1, 0], [8, 0], colour="grey"),
            Curve([-1, -2], [8, -2], colour="grey"),
            Spring([-1, -2], [y + 1, -2], width=0.3),
            Box([x, 0], [0.5, 0.35], name="first"),
            Box([y + 1, -2], [0.6, 0.45], colour="#e08a3c", name="second"),
            Arrow([x, 0], [x.dd, 0], 1 / w),
            Arrow([y + 1, -2], [y.dd, 0], 1 / w),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m1: 1.0, m2: 2.0, k: 3.0, w: 2.0, F: 0.5},
        start={y: 1.0},
        until=5.0,
        reference=(
            "C. F. Gauss, Crelle's Journal 4 (1829) 232; "
            "S. Deneva (1989), (17)–(26), with f nonlinear in the accelerations"
        ),
    )
