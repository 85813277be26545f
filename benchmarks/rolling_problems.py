"""Problems of books with blades, wheels and rolling bodies; `page_problems` lists them."""

from __future__ import annotations

from itertools import pairwise

import sympy
from sympy import Matrix, Rational, cos, diag, sin

import appell as ap
from appell.jets import total_derivative
from benchmarks.book_problem import Problem

d = total_derivative
half = Rational(1, 2)


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
