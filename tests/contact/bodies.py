"""Random bodies over planes: polygons and polyhedra whose corners meet floors and walls, as systems and as references.

Corners, planes, inertias and restitutions are parameters, so that one compiled program serves a whole family.
"""

from __future__ import annotations

import numpy as np
from sympy import Matrix, cos, sin
from tests.reference.bodies_on_planes import Planar, Spatial

import appell as ap

x, y, z, phi = ap.coordinates("x y z phi")
J1, J2, J3, fx = ap.parameters("J1 J2 J3 fx")
ball = ap.quaternion("b")
GRAVITY = 9.81


def polygons(corners, planes=1, name="polygon"):
    """The system of all polygons with so many corners over so many planes n·r >= d."""
    c, s, walls = cos(phi), sin(phi), []
    for w in range(planes):
        n1, n2, d, e = ap.parameters(f"n{w} m{w} d{w} e{w}")
        for k in range(corners):
            a, b = ap.parameters(f"a{k} b{k}")
            f = n1 * (x + a * c - b * s) + n2 * (y + a * s + b * c) - d
            walls.append(ap.Unilateral(f, f"{w}.{k}", e, chart="reflection"))
    T = (x.d**2 + y.d**2) / 2 + J3 * phi.d**2 / 2
    return ap.System([x, y, phi], T, GRAVITY * y - fx * x, constraints=walls, name=name)


def polygon(rng, corners, planes=(((0.0, 1.0), 0.0),), e=None, regular=False):
    """(reference, parameters) of one of them."""
    angles = np.arange(corners) / corners if regular else np.sort(rng.uniform(0, 1, corners))
    places = np.column_stack([np.cos(2 * np.pi * angles), np.sin(2 * np.pi * angles)])
    if not regular:
        places *= rng.uniform(0.6, 1.0, (corners, 1))
        places -= places.mean(axis=0)
    e = rng.choice([0.0, 0.3, 0.5, 0.8], len(planes)).tolist() if e is None else e
    body = Planar(1.0, float(rng.uniform(0.15, 0.4)), places, list(planes), np.array([rng.choice([0.0, 0.7]), -GRAVITY]), e)
    values = {"J3": body.inertia, "fx": body.force[0]}
    for w, ((n1, n2), d) in enumerate(planes):
        values |= {f"n{w}": n1, f"m{w}": n2, f"d{w}": d, f"e{w}": e[w]}
    for k, (a, b) in enumerate(places):
        values |= {f"a{k}": a, f"b{k}": b}
    return body, values


def planar_start(rng, height=1.3):
    """(start, z) of a polygon in the air."""
    state = np.array([0.0, height, rng.uniform(0, 6), rng.normal() * 0.3, 0.0, rng.normal()])
    return dict(zip((x, y, phi, x.d, y.d, phi.d), state.tolist(), strict=True)), state


def polyhedra(corners, planes=1):
    """The system of all polyhedra with so many corners over so many planes n·r >= d."""
    R, walls = Matrix(ball.rotation), []
    for w in range(planes):
        *n, d, e = ap.parameters(f"n{w} m{w} l{w} d{w} e{w}")
        for k in range(corners):
            place = Matrix([x, y, z]) + R * Matrix(ap.parameters(f"a{k} b{k} c{k}"))
            f = sum(s * r for s, r in zip(n, place, strict=True)) - d
            walls.append(ap.Unilateral(f, f"{w}.{k}", e, chart="reflection"))
    T = (x.d**2 + y.d**2 + z.d**2) / 2 + sum(J * w**2 for J, w in zip((J1, J2, J3), ball.rates, strict=True)) / 2
    return ap.System([x, y, z, *ball.coordinates], T, GRAVITY * z, constraints=walls, name="polyhedron")


def polyhedron(rng, corners, e=None, planes=(((0.0, 0.0, 1.0), 0.0),)):
    """(reference, parameters) of one of them: a box where there are eight corners."""
    box = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) * rng.uniform(0.3, 0.6, 3)
    places = box if corners == 8 else rng.normal(size=(corners, 3)) * 0.5
    places = places - places.mean(axis=0)
    e = rng.choice([0.0, 0.4, 0.7], len(planes)).tolist() if e is None else [e] * len(planes)
    inertia = rng.uniform(0.1, 0.2, 3)
    body = Spatial(1.0, inertia, places, list(planes), np.array([0.0, 0.0, -GRAVITY]), e)
    values = dict(zip(("J1", "J2", "J3"), inertia.tolist(), strict=True))
    for w, (n, d) in enumerate(planes):
        values |= {f"n{w}": n[0], f"m{w}": n[1], f"l{w}": n[2], f"d{w}": d, f"e{w}": e[w]}
    for k, (a, b, c) in enumerate(places):
        values |= {f"a{k}": a, f"b{k}": b, f"c{k}": c}
    return body, values


def spatial_start(rng):
    """(start, z) of a polyhedron in the air."""
    q, w = rng.normal(size=4), rng.normal(size=3)
    q /= np.linalg.norm(q)
    bx, by, bz, bw = ball.coordinates
    start = {z: 1.6, **dict(zip((bw, bx, by, bz), q.tolist(), strict=True)), **dict(zip(ball.rates, w.tolist(), strict=True))}
    return start, np.concatenate([[0, 0, 1.6], q, [0, 0, 0], w])


bx, by, bz, bw = ball.coordinates
in_space = (x, y, z, bw, bx, by, bz, x.d, y.d, z.d, *ball.rates)
"""The state of a polyhedron in the order of its reference."""


def judged(motion, faces):
    """What must hold of any motion: it is finished, no face is crossed, reactions push and energy is accounted for."""
    assert motion.ok, motion.message
    least = min(float(motion[face.function].min()) for face in faces)
    balance = float(np.abs(motion.balance).max())
    pushes = min((float(motion.reaction(face.name).min()) for face in faces), default=0.0)
    return least, balance, pushes
