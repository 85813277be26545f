"""Problems of books that are not in the zoo, each with the equations that its book prints, in the same letters.

A `Problem` is a system, the form and velocities that its book uses, and the book's own equations (lhs, rhs): they are judged at
random states before their characters are compared with ours.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy import Matrix, Rational, cos, diag, sin

import appell as ap
from appell.jets import total_derivative
from benchmarks.book_problem import Problem
from benchmarks.rolling_problems import (
    ball_in_cylinder,
    chaplygin_ball,
    hoop_on_cylinder,
    roller_racer,
    rolling_cylinders,
    tippe_top,
    trailers,
    two_wheeled_cart,
    veselova,
)

d = total_derivative
half = Rational(1, 2)


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

__all__ = ["PROBLEMS", "Problem"]
