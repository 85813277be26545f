"""Problems of books that are not in the zoo, each with the equations that its book prints, in the same letters.

A `Problem` is a system, the form and velocities that its book uses, and the book's own equations (lhs, rhs): they are judged at
random states before their characters are compared with ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import sympy
from sympy import Matrix, Rational, cos, diag, sin

import appell as ap
from appell.jets import total_derivative

d = total_derivative
half = Rational(1, 2)


@dataclass(frozen=True)
class Problem:
    """A problem and the page of its book.

    form, options: how the book writes it, `ap.forms.<form>(system, **options)`.
    book: the equations of the book as (lhs, rhs) in t, q, q̇, q̈ and `names`; empty where no book prints them as such.
    names: symbol → what it stands for in t, q, q̇, q̈, for the letters that the book introduces.
    printed: those of the names whose definitions the book prints beside its equations; their text counts, too.
    source: author, work.
    """

    name: str
    system: ap.System
    form: str
    options: Mapping[str, Any] = field(default_factory=dict)
    book: tuple[tuple[Any, Any], ...] = ()
    names: Mapping[Any, Any] = field(default_factory=dict)
    source: str = ""
    printed: tuple[Any, ...] = ()

    @property
    def solved(self) -> bool:
        """Whether the book gives the accelerations."""
        return self.form.startswith("solution of ")

    def derive(self) -> Any:
        """The equations in the form of the book."""
        return getattr(ap.forms, self.form.removeprefix("solution of "))(self.system, **self.options)


def trailers(n: int) -> Problem:
    """A blade that pulls n trailers, each hitched at the axle before it: M(θ) v̇ + ½ Ṁ v = 0, θ̈₀ = 0."""
    m, J, l = ap.parameters("m J l", positive=True)
    x, y = ap.coordinates("x y")
    theta = ap.coordinates([f"theta{i}" for i in range(n + 1)])
    P = Matrix([x, y])
    T, rows = 0, []
    for i, angle in enumerate(theta):
        P = P - l * Matrix([cos(angle), sin(angle)]) if i else P
        V = P.applyfunc(d)
        T += half * (m * V.dot(V) + J * angle.d**2)
        rows.append(ap.Constraint(V[0] * sin(angle) - V[1] * cos(angle), f"axle{i}"))
    system = ap.System([x, y, *theta], T, constraints=rows, name=f"{n} trailers" if n > 1 else "a trailer")
    v = x.d * cos(theta[0]) + y.d * sin(theta[0])
    behind, M = sympy.Integer(1), m
    for a, b in pairwise(theta):
        M = M + behind**2 * (m * cos(a - b) ** 2 + J * sin(a - b) ** 2 / l**2)
        behind = behind * cos(a - b)
    name, speed, turn = ap.speeds("M v omega")
    names = {name: M, speed: v, name.d: d(M), speed.d: d(v), turn.d: theta[0].dd}
    book = ((name * speed.d + half * name.d * speed, 0), (J * turn.d, 0))
    pseudo = {"v": v, "omega": theta[0].d}
    source = "Rouchon, Fliess, Lévine, Martin (1993); reduced by hand"
    return Problem(system.name, system, "kane", {"pseudo": pseudo}, book, names, source, (name,))


def roller_racer() -> Problem:
    """A seat with an axle and a steered one that is swung by hand (Krishnaprasad and Tsakiris 2001), masses at the joint."""
    m, I1, I2, d1, d2 = ap.parameters("m I1 I2 d1 d2", positive=True)
    x, y, theta, phi = ap.coordinates("x y theta phi")
    T = half * m * (x.d**2 + y.d**2) + half * I1 * theta.d**2 + half * I2 * (theta.d + phi.d) ** 2
    lateral = lambda a, w, arm: -x.d * sin(a) + y.d * cos(a) + arm * w
    rows = [
        ap.Constraint(lateral(theta, theta.d, -d1), "rear"),
        ap.Constraint(lateral(theta + phi, theta.d + phi.d, d2), "front"),
    ]
    system = ap.System([x, y, theta, phi], T, constraints=rows, name="roller racer")
    return Problem("roller racer", system, "voronets", {"independent": [theta, phi]}, source="Krishnaprasad, Tsakiris (2001)")


def cardan() -> Problem:
    """A gyroscope in gimbals: outer ring α about a fixed axis, inner ring β, rotor γ."""
    A, C, A1, B1, C1, C2 = ap.parameters("A C A1 B1 C1 C2", positive=True)
    alpha, beta, gamma = ap.coordinates("alpha beta gamma")
    T = half * (
        (C2 + (A + B1) * cos(beta) ** 2 + C1 * sin(beta) ** 2) * alpha.d**2
        + (A + A1) * beta.d**2
        + C * (gamma.d + alpha.d * sin(beta)) ** 2
    )
    system = ap.System([alpha, beta, gamma], T, name="gyroscope in gimbals")
    turned = C2 + (A + B1) * cos(beta) ** 2 + C1 * sin(beta) ** 2
    spin = gamma.d + alpha.d * sin(beta)
    book = (
        (d(turned * alpha.d + C * spin * sin(beta)), 0),
        (
            (A + A1) * beta.dd + (A + B1 - C1) * alpha.d**2 * sin(beta) * cos(beta) - C * spin * alpha.d * cos(beta),
            0,
        ),
        (C * (gamma.dd + alpha.dd * sin(beta) + alpha.d * beta.d * cos(beta)), 0),
    )
    return Problem("gyroscope in gimbals", system, "lagrange", {}, book, source="Magnus, Kreisel")


def gimbals_of_bodies() -> Problem:
    """The same of three bodies, with rotation matrices."""
    A, C, A1, B1, C1, C2 = ap.parameters("A C A1 B1 C1 C2", positive=True)
    alpha, beta, gamma = ap.coordinates("alpha beta gamma")
    bodies = [
        ap.RigidBody(0, diag(A1, A1, C2), [0, 0, 0], ap.euler([alpha, 0, 0], "zxy"), name="outer"),
        ap.RigidBody(0, diag(A1, B1, C1), [0, 0, 0], ap.euler([alpha, beta, 0], "zxy"), name="inner"),
        ap.RigidBody(0, diag(A, C, A), [0, 0, 0], ap.euler([alpha, beta, gamma], "zxy"), name="rotor"),
    ]
    system = ap.System([alpha, beta, gamma], bodies=bodies, name="gimbals of bodies")
    return Problem("gimbals of bodies", system, "routhian", source="Magnus, Kreisel")


def veselova() -> Problem:
    """A body about its fixed centre of mass that may not turn about a line fixed in space: (ω, γ) = 0."""
    A, B, C = ap.parameters("A B C", positive=True)
    q = ap.quaternion("q")
    gamma = q.rotation.T * Matrix([0, 0, 1])
    row = ap.Constraint((Matrix(q.rates).T * gamma)[0], "no turn about z")
    system = ap.System([q], bodies=[ap.RigidBody(1, diag(A, B, C), [0, 0, 0], q)], constraints=[row], name="Veselova's body")
    return Problem("Veselova's body", system, "lagrange", source="Veselova (1986)")


def chaplygin_ball() -> Problem:
    """A ball with different moments whose centre of mass is its centre, rolling on a plane."""
    m, R, A, B, C = ap.parameters("m R A B C", positive=True)
    x, y = ap.coordinates("x y")
    q = ap.quaternion("q")
    omega = q.rotation * Matrix(q.rates)
    rows = [ap.Constraint(x.d - R * omega[1], "rolling x"), ap.Constraint(y.d + R * omega[0], "rolling y")]
    ball = ap.RigidBody(m, diag(A, B, C), [x, y], q, name="ball")
    system = ap.System([x, y, q], bodies=[ball], constraints=rows, name="Chaplygin's ball")
    return Problem("Chaplygin's ball", system, "lagrange", source="Chaplygin (1903)")


def ball_in_cylinder() -> Problem:
    """A homogeneous ball that rolls inside a vertical cylinder: φ̇ stays, z swings. Rates on axes that go round with it."""
    m, r, a, g = ap.parameters("m r a g", positive=True)
    phi, z = ap.coordinates("phi z")
    n, e = Matrix([cos(phi), sin(phi), 0]), Matrix([-sin(phi), cos(phi), 0])
    q = ap.quaternion("q", axes=[n, e, [0, 0, 1]], rates="omega_n omega_e omega_z")
    J = Rational(2, 5) * m * r**2
    ball = ap.RigidBody(m, [J, J, J], [a * cos(phi), a * sin(phi), z], q, name="ball")
    v = ball.point_velocity(list(r * n), frame="space")
    rows = [ap.Constraint(v.dot(e), "around"), ap.Constraint(v[2], "along")]
    system = ap.System([phi, z, q], potential=m * g * z, bodies=[ball], constraints=rows, name="ball in a cylinder")
    spin = q.rates[0]
    book = (
        (phi.dd, sympy.Integer(0)),
        (spin.d, z.d * phi.d / r),
        (z.dd, -Rational(5, 7) * g - Rational(2, 7) * r * spin * phi.d),
    )
    return Problem(system.name, system, "solution of lagrange", {}, book, source="Neimark, Fufaev, chapter 3")


def spherical_double_pendulum() -> Problem:
    """Two particles on two rods, each with two angles."""
    m1, m2, l1, l2, g = ap.parameters("m1 m2 l1 l2 g", positive=True)
    a, f, b, h = ap.coordinates("theta1 phi1 theta2 phi2")
    one = l1 * Matrix([sin(a) * cos(f), sin(a) * sin(f), -cos(a)])
    two = one + l2 * Matrix([sin(b) * cos(h), sin(b) * sin(h), -cos(b)])
    V = m1 * g * one[2] + m2 * g * two[2]
    bodies = [ap.Particle(m1, list(one)), ap.Particle(m2, list(two))]
    system = ap.System([a, f, b, h], bodies=bodies, potential=V, name="spherical double pendulum")
    M = m1 + m2
    S, D = sin, f - h
    A, B = m2 * l2, l1 * S(b)
    book = (
        (
            M * l1 * a.dd
            + A * (b.dd * (cos(a) * cos(b) * cos(D) + S(a) * S(b)) + h.dd * S(b) * cos(a) * S(D))
            + A * (2 * b.d * h.d * cos(b) * S(D) - (b.d**2 + h.d**2) * S(b) * cos(D)) * cos(a)
            + A * b.d**2 * S(a) * cos(b) - M * l1 * f.d**2 * S(a) * cos(a) + M * g * S(a),
            0,
        ),
        (
            M * l1 * f.dd * S(a) ** 2 + 2 * M * l1 * a.d * f.d * S(a) * cos(a)
            + A * S(a) * (h.dd * S(b) * cos(D) - b.dd * cos(b) * S(D))
            + A * S(a) * ((b.d**2 + h.d**2) * S(b) * S(D) + 2 * b.d * h.d * cos(b) * cos(D)),
            0,
        ),
        (
            l2 * b.dd
            + l1 * (a.dd * (cos(a) * cos(b) * cos(D) + S(a) * S(b)) - f.dd * S(a) * cos(b) * S(D))
            - l1 * (2 * a.d * f.d * cos(a) * S(D) + (a.d**2 + f.d**2) * S(a) * cos(D)) * cos(b)
            + l1 * a.d**2 * cos(a) * S(b) - l2 * h.d**2 * S(b) * cos(b) + g * S(b),
            0,
        ),
        (
            l2 * h.dd * S(b) ** 2 + 2 * l2 * b.d * h.d * S(b) * cos(b)
            + B * (f.dd * S(a) * cos(D) + a.dd * cos(a) * S(D))
            - B * ((a.d**2 + f.d**2) * S(a) * S(D) - 2 * a.d * f.d * cos(a) * cos(D)),
            0,
        ),
    )  # fmt: skip
    return Problem(
        system.name, system, "lagrange", {}, book, source="by hand, in the letters of Landau and Lifshitz, section 5"
    )


def governor() -> Problem:
    """Watt's governor: two balls on arms, a sleeve, a wheel of the engine's moment."""
    m, M, J, l, g = ap.parameters("m M J l g", positive=True)
    theta, phi = ap.coordinates("theta phi")
    T = (
        m * l**2 * (theta.d**2 + phi.d**2 * sin(theta) ** 2)
        + half * M * (2 * l * theta.d * sin(theta)) ** 2
        + half * J * phi.d**2
    )
    V = -2 * (m + M) * g * l * cos(theta)
    system = ap.System([theta, phi], T, V, name="Watt's governor")
    book = (
        (
            2 * l**2 * (m + 2 * M * sin(theta) ** 2) * theta.dd
            + 2 * l**2 * (2 * M * theta.d**2 - m * phi.d**2) * sin(theta) * cos(theta)
            + 2 * (m + M) * g * l * sin(theta),
            0,
        ),
        ((J + 2 * m * l**2 * sin(theta) ** 2) * phi.dd + 4 * m * l**2 * theta.d * phi.d * sin(theta) * cos(theta), 0),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Landau and Lifshitz, section 5, problem 4, with a wheel")


def hartnell() -> Problem:
    """A governor whose balls fly out against a spring: the same spring in every form."""
    m, J, l, a, k, g = ap.parameters("m J l a k g", positive=True)
    theta, phi = ap.coordinates("theta phi")
    radius = a + l * sin(theta)
    T = m * l**2 * theta.d**2 + m * radius**2 * phi.d**2 + half * J * phi.d**2
    V = half * k * l**2 * (1 - cos(theta)) ** 2 - 2 * m * g * l * cos(theta)
    system = ap.System([theta, phi], T, V, name="spring governor")
    book = (
        (
            2 * m * l**2 * theta.dd - 2 * m * l * (a + l * sin(theta)) * phi.d**2 * cos(theta)
            + k * l**2 * (1 - cos(theta)) * sin(theta) + 2 * m * g * l * sin(theta),
            0,
        ),
        ((J + 2 * m * radius**2) * phi.dd + 4 * m * l * radius * theta.d * phi.d * cos(theta), 0),
    )  # fmt: skip
    return Problem(system.name, system, "lagrange", {}, book, source="Hartnell's governor, by hand")


def hoop_on_cylinder() -> Problem:
    """A hoop of radius r that rolls on a fixed cylinder: θ̈ = g sin θ/(2 (R + r))."""
    m, R, r, g = ap.parameters("m R r g", positive=True)
    rho, theta, phi = ap.coordinates("rho theta phi")
    T = half * m * (rho.d**2 + rho**2 * theta.d**2) + half * m * r**2 * phi.d**2
    rows = [ap.Constraint(rho - R - r, "touches"), ap.Constraint((R + r) * theta.d - r * phi.d, "rolls")]
    system = ap.System([rho, theta, phi], T, m * g * rho * cos(theta), constraints=rows, name="hoop on a cylinder")
    return Problem(
        system.name, system, "solution of lagrange", {}, ((theta.dd, g * sin(theta) / (2 * (R + r))),),
        source="Goldstein, chapter 2, exercise 18",
    )  # fmt: skip


def foucault() -> Problem:
    """A pendulum on the turning Earth, small swings: ẍ − 2Ω sin λ ẏ + g x/l = 0."""
    m, l, g, Omega, beta = ap.parameters("m l g Omega beta", positive=True)
    x, y = ap.coordinates("x y")
    w = Omega * sin(beta)
    T = half * m * ((x.d - w * y) ** 2 + (y.d + w * x) ** 2)
    V = half * m * g * (x**2 + y**2) / l + half * m * w**2 * (x**2 + y**2)
    system = ap.System([x, y], T, V, name="Foucault's pendulum")
    book = (
        (x.dd - 2 * Omega * sin(beta) * y.d + g * x / l, 0),
        (y.dd + 2 * Omega * sin(beta) * x.d + g * y / l, 0),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Landau and Lifshitz, section 39, problem 3")


def swinging_atwood() -> Problem:
    """Atwood's machine with one mass swinging (Tufillaro 1984)."""
    m, M, g = ap.parameters("m M g", positive=True)
    r, theta = ap.coordinates("r theta")
    system = ap.System(
        [r, theta], half * M * r.d**2 + half * m * (r.d**2 + r**2 * theta.d**2), M * g * r - m * g * r * cos(theta),
        name="swinging Atwood's machine",
    )  # fmt: skip
    book = (
        ((m + M) * r.dd - m * r * theta.d**2, m * g * cos(theta) - M * g),
        (r * theta.dd + 2 * r.d * theta.d, -g * sin(theta)),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Tufillaro, Abbott, Griffiths (1984)")


def elastic_pendulum() -> Problem:
    """A spring with a mass, in the plane."""
    m, k, l, g = ap.parameters("m k l g", positive=True)
    r, theta = ap.coordinates("r theta")
    system = ap.System(
        [r, theta], half * m * (r.d**2 + r**2 * theta.d**2), half * k * (r - l) ** 2 - m * g * r * cos(theta),
        name="spring pendulum",
    )  # fmt: skip
    book = (
        (m * r.dd, m * r * theta.d**2 + m * g * cos(theta) - k * (r - l)),
        (m * r**2 * theta.dd + 2 * m * r * r.d * theta.d, -m * g * r * sin(theta)),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Morin, Introduction to Classical Mechanics, section 6.1")


def pendulum_drawn_in() -> Problem:
    """A pendulum whose string is drawn in as prescribed: θ̈ + 2 (l̇/l) θ̇ + (g/l) sin θ = 0."""
    m, g = ap.parameters("m g", positive=True)
    l = ap.prescribed("l")
    theta = ap.coordinates("theta")
    V = -m * g * l * cos(theta)
    body = ap.Particle(m, [l * sin(theta), -l * cos(theta)])
    system = ap.System([theta], bodies=[body], potential=V, name="pendulum drawn in")
    book = ((l * theta.dd + 2 * l.d * theta.d + g * sin(theta), 0),)
    return Problem(system.name, system, "lagrange", {}, book, source="Landau and Lifshitz, section 49")


def prescribed_radius() -> Problem:
    """A bead on a wire that turns, its support driven along a line: r(t) prescribed, Kane's form of one row."""
    m, g, J = ap.parameters("m g J", positive=True)
    rho = ap.prescribed("rho")
    r, theta = ap.coordinates("r theta")
    T = half * m * (r.d**2 + r**2 * theta.d**2) + half * J * theta.d**2
    system = ap.System(
        [r, theta], T, m * g * r * sin(theta), constraints=[ap.Constraint(r - rho, "drive")], name="driven radius"
    )
    return Problem(
        system.name, system, "solution of lagrange", {},
        ((theta.dd, -m * (2 * r * rho.d * theta.d + g * r * cos(theta)) / (J + m * r**2)),),
        source="by hand: (J + m r²) θ̈ + 2 m r ṙ θ̇ + m g r cos θ = 0",
    )  # fmt: skip


def two_wheeled_cart() -> Problem:
    """A cart on two wheels, its centre of mass a before the axle."""
    m, I, J, r, b, a = ap.parameters("m I J r b a", positive=True)
    x, y, theta, p, q = ap.coordinates("x y theta psi1 psi2")
    body = half * m * ((x.d - a * theta.d * sin(theta)) ** 2 + (y.d + a * theta.d * cos(theta)) ** 2) + half * I * theta.d**2
    T = body + half * J * (p.d**2 + q.d**2)
    along, rows = x.d * cos(theta) + y.d * sin(theta), [ap.Constraint(x.d * sin(theta) - y.d * cos(theta), "sideways")]
    rows += [ap.Constraint(along + b * theta.d - r * p.d, "right"), ap.Constraint(along - b * theta.d - r * q.d, "left")]
    system = ap.System([x, y, theta, p, q], T, constraints=rows, name="two-wheeled cart")
    v, w = ap.speeds("v omega")
    names = {v: along, w: theta.d, v.d: d(along), w.d: theta.dd}
    book = (
        ((m + 2 * J / r**2) * v.d - m * a * w**2, 0),
        ((I + m * a**2 + 2 * J * b**2 / r**2) * w.d + m * a * v * w, 0),
    )
    return Problem(
        system.name,
        system,
        "kane",
        {"pseudo": {"v": along, "omega": theta.d}},
        book,
        names,
        "Neimark, Fufaev; Campion, Bastin, d'Andréa-Novel",
    )


def cart_with_pendulum() -> Problem:
    """A pendulum on a cart."""
    m, M, l, g = ap.parameters("m M l g", positive=True)
    x, theta = ap.coordinates("x theta")
    system = ap.System(
        [x, theta], bodies=[ap.Particle(M, [x, 0]), ap.Particle(m, [x + l * sin(theta), -l * cos(theta)])],
        potential=-m * g * l * cos(theta), name="pendulum on a cart",
    )  # fmt: skip
    book = (
        ((M + m) * x.dd + m * l * (theta.dd * cos(theta) - theta.d**2 * sin(theta)), 0),
        (l * theta.dd + x.dd * cos(theta) + g * sin(theta), 0),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Landau and Lifshitz, section 5, problem 2")


def bead_on_turning_hoop() -> Problem:
    """A bead on a hoop that turns about its vertical diameter by itself."""
    m, J, R, g = ap.parameters("m J R g", positive=True)
    theta, phi = ap.coordinates("theta phi")
    T = half * m * R**2 * (theta.d**2 + phi.d**2 * sin(theta) ** 2) + half * J * phi.d**2
    system = ap.System([theta, phi], T, -m * g * R * cos(theta), name="bead on a turning hoop")
    p = sympy.Symbol("p_phi")
    book = (
        (
            m * R**2 * theta.dd,
            p**2 * m * R**2 * sin(theta) * cos(theta) / (J + m * R**2 * sin(theta) ** 2) ** 2 - m * g * R * sin(theta),
        ),
    )
    names = {p: (J + m * R**2 * sin(theta) ** 2) * phi.d}
    return Problem(system.name, system, "routhian", {}, book, names, "Goldstein, chapter 8; Routhian by hand")


def sliding_ladder() -> Problem:
    """A rod against a wall and a floor, both smooth: θ̈ = 3 g sin θ/(2 l)."""
    m, l, g = ap.parameters("m l g", positive=True)
    x, y, theta = ap.coordinates("x y theta")
    T = half * m * (x.d**2 + y.d**2) + m * l**2 * theta.d**2 / 24
    rows = [ap.Constraint(x - l * sin(theta) / 2, "wall"), ap.Constraint(y - l * cos(theta) / 2, "floor")]
    system = ap.System([x, y, theta], T, m * g * y, constraints=rows, name="ladder")
    return Problem(
        system.name, system, "solution of lagrange", {}, ((theta.dd, 3 * g * sin(theta) / (2 * l)),),
        source="Whittaker; Gantmacher",
    )  # fmt: skip


def rolling_cylinders() -> Problem:
    """A cylinder that rolls in a cylinder that rolls: two angles."""
    m, M, R, r, g = ap.parameters("m M R r g", positive=True)
    phi, theta = ap.coordinates("phi theta")
    b = R - r
    # outer hoop of radius R rolls on the floor by φ; inner disc's centre at θ, its turn from rolling inside
    turn = (b * theta.d - R * phi.d) / r
    T = (
        M * R**2 * phi.d**2
        + half * m * ((R * phi.d + b * theta.d * cos(theta)) ** 2 + (b * theta.d * sin(theta)) ** 2)
        + m * r**2 * turn**2 / 4
    )
    system = ap.System([phi, theta], T, -m * g * b * cos(theta), name="a cylinder in a hoop")
    book = (
        ((2 * M + Rational(3, 2) * m) * R * phi.dd + m * b * ((cos(theta) - half) * theta.dd - theta.d**2 * sin(theta)), 0),
        (Rational(3, 2) * b * theta.dd + R * (cos(theta) - half) * phi.dd + g * sin(theta), 0),
    )
    return Problem(system.name, system, "lagrange", {}, book, source="Routh, Elementary Rigid Dynamics, by hand")


def tippe_top() -> Problem:
    """Routh's ball: centre of mass off the centre, two moments equal, rolling."""
    m, R, a, A, C, g = ap.parameters("m R a A C g", positive=True)
    x, y, psi, theta, phi = ap.coordinates("x y psi theta phi")
    turn = ap.euler([psi, theta, phi])
    axis = turn.rotation * Matrix([0, 0, 1])
    centre = [x + a * axis[0], y + a * axis[1], R + a * axis[2]]
    body = ap.RigidBody(m, [A, A, C], centre, turn, name="ball")
    omega = turn.rotation * body.omega()
    rows = [ap.Constraint(x.d - R * omega[1], "rolls along x"), ap.Constraint(y.d + R * omega[0], "rolls along y")]
    system = ap.System(
        [x, y, psi, theta, phi], bodies=[body], potential=m * g * a * cos(theta), constraints=rows, name="Routh's ball"
    )
    w3 = psi.d * cos(theta) + phi.d
    pseudo = {"p": theta.d, "q": psi.d * sin(theta), "n": w3}
    return Problem("Routh's ball", system, "hamel", {"pseudo": pseudo}, source="Routh, Advanced Rigid Dynamics, section 244")


PROBLEMS: dict[str, Callable[[], Problem]] = {
    **{f"trailers {n}": (lambda n=n: trailers(n)) for n in range(1, 5)},
    "roller racer": roller_racer,
    "gimbals": cardan,
    "gimbals of bodies": gimbals_of_bodies,
    "Veselova": veselova,
    "Chaplygin's ball": chaplygin_ball,
    "ball in a cylinder": ball_in_cylinder,
    "spherical double pendulum": spherical_double_pendulum,
    "Watt's governor": governor,
    "spring governor": hartnell,
    "hoop on a cylinder": hoop_on_cylinder,
    "Foucault": foucault,
    "swinging Atwood": swinging_atwood,
    "spring pendulum": elastic_pendulum,
    "pendulum drawn in": pendulum_drawn_in,
    "driven radius": prescribed_radius,
    "two-wheeled cart": two_wheeled_cart,
    "pendulum on a cart": cart_with_pendulum,
    "bead on a turning hoop": bead_on_turning_hoop,
    "ladder": sliding_ladder,
    "cylinder in a hoop": rolling_cylinders,
    "Routh's ball": tippe_top,
}
