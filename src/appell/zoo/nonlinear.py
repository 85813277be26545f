"""First-order constraints that are nonlinear in the velocities."""

from __future__ import annotations

from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.scene import Arrow, Frame, Point, Scene, Trail
from appell.zoo.example import Example


def appell_hamel() -> Example:
    """The nonlinear constraint of Appell and Hamel, as a particle in gravity (massless wheel, Chetaev's rule).

        T = m/2 (ẋ² + ẏ² + ż²),        V = m g z,        a² (ẋ² + ẏ²) − ż² = 0

    x, y, z: position of the mass, z upwards (m). The horizontal velocity s keeps its direction; on the branch ż = ε a s

        ṡ = −ε a g/(1 + a²),        z̈ = −a² g/(1 + a²),        Λ = m ṡ/(2 a² s),

    so that a rising mass comes to rest in finite time, where ∂f/∂q̇ = 0. The smooth motion continues through s = 0 and falls
    back the way it came; a run passes the point and reports it. The start falls (ε = −1). Chetaev's rule is an assumption
    about the realisation: the wheel of Appell and Hamel with its linear constraints moves otherwise.
    """
    x, y, z = coordinates("x y z")
    m, g, a = parameters("m g a", positive=True)
    system = System(
        coordinates=[x, y, z],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2),
        potential=m * g * z,
        constraints=[Constraint(a**2 * (x.d**2 + y.d**2) - z.d**2, name="wheel")],
        name="Appell–Hamel",
    )
    scene = Scene(
        system,
        [
            Trail([x, y, z]),
            Point([x, y, z], name="mass"),
            Frame([0, 0, 0]),
            Arrow([x, y, z], [x.d, y.d, z.d], name="velocity"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, a: 0.5},
        start={x.d: 0.6, y.d: 0.8, z.d: -0.5},
        until=5.0,
        reference=(
            "P. Appell, C. R. Acad. Sci. 152 (1911) 1197; G. Hamel, Theoretische Mechanik (1949); "
            "S. Deneva (1989), ref. 1"
        ),
    )


def constant_speed() -> Example:
    """A body in gravity whose centre of mass is kept at constant speed; its rotation separates and is left out.

        T = m/2 (ẋ² + ẏ² + ż²),        V = m g z,        f = m/2 (ẋ² + ẏ² + ż² − v²) = 0

    x, y, z: centre of mass, z upwards (m). r̈ = g + Λ ṙ with

        ż = −v tanh(g (t − t*)/v),        √(ẋ² + ẏ²) = v sech(g (t − t*)/v),        Λ = g ż/v² (1/s),

    in a fixed vertical plane; every motion that is not vertical ends straight down. T is conserved, T + V is not:
    the power of the control is m g ż. The start rises, so the run passes the apex, where ẋ, ẏ cannot serve as
    independent velocities.
    """
    x, y, z = coordinates("x y z")
    m, g, v = parameters("m g v", positive=True)
    system = System(
        coordinates=[x, y, z],
        kinetic=m / 2 * (x.d**2 + y.d**2 + z.d**2),
        potential=m * g * z,
        constraints=[Constraint(m / 2 * (x.d**2 + y.d**2 + z.d**2 - v**2), name="speed")],
        name="constant speed",
    )
    scene = Scene(
        system,
        [
            Trail([x, y, z]),
            Point([x, y, z], name="body"),
            Frame([0, 0, 0]),
            Arrow([x, y, z], [x.d, y.d, z.d], name="velocity"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, g: 9.81, v: 3.0},
        start={x.d: 1.0, y.d: 2.0, z.d: 2.0},
        until=3.0,
        reference=(
            "S. Deneva, Nonholonomic systems with nonlinear connections, Annuaire Univ. Sofia 83 (1989), section 3, "
            "(36)–(58) with corrections"
        ),
    )
