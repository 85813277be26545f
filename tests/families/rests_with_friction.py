"""`equilibrium` with dry friction: rests within the cones, the nearest to a start; against closed forms and own searches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from sympy import cos, sin
from tests.families.family import family

import appell as ap

G = 9.81
EDGE = 3e-7  # a rest that is moved to the edge of its cone is inside by 1e-7 of it


@family(count=14, sample=(0, 2))
def rest_within_the_cones(seed: int) -> None:
    """Member 0: a block with a spring on a rough floor; others: see each check."""
    checks = (_block, _ladder, _incline, _hoop, _journal, _belt, _plate, _socket, _blocks, _rope, _small, _refused, _moving_up,
              _static)  # fmt: skip
    checks[seed]()


def _stays(rest, until: float = 0.5) -> None:
    motion = ap.simulate(rest.system, rest.start, until, rest.parameters)
    assert motion.ok and {p.state for p in motion.phases} <= {"stick", "off"}, motion.phases
    assert all(abs(motion.final[q] - rest[q]) < 1e-9 * max(1.0, abs(rest[q])) for q in rest.system.positions)


def _spring_block(scale: float = 1.0):
    x, y = ap.coordinates("x y")
    floor = ap.Unilateral(y, name="floor")
    sole = ap.Friction(x.d, normal=floor, coefficient=0.3, name="sole")
    return x, y, ap.System(coordinates=[x, y], kinetic=scale * (x.d**2 + y.d**2) / 2,
                           potential=scale * (5 * x**2 + G * y), constraints=[floor, sole])  # fmt: skip


def _block() -> None:
    """|k x| <= μ m g: a start inside is its own answer, others go to the edge."""
    x, y, system = _spring_block()
    edge = 0.3 * G / 10
    for start, expected in ((0.1, 0.1), (-0.29, -0.29), (0.5, edge), (-3.0, -edge)):
        rest = ap.equilibrium(system, {x: start})
        assert abs(rest[x] - expected) < EDGE * edge * 2 and rest[y] == 0 and rest.sticking == ("sole",)
        assert abs(rest.reaction("sole") - 10 * rest[x]) < 1e-9 and abs(rest.reaction("floor") - G) < 1e-9
        _stays(rest)
    assert abs(ap.equilibrium(system, {x: 0.5, y: 0.3})[y]) < 1e-12


def _ladder() -> None:
    """tan φ = (1 − μ_f μ_w)/(2 μ_f) is the flattest of a uniform ladder."""
    steep = ap.zoo.ladder(angle=1.2)
    rest = ap.equilibrium(steep.system, steep.start, steep.parameters)
    assert abs(rest["phi"] - 1.2) < 1e-15 and set(rest.sticking) == {"foot", "head"}
    flat = ap.zoo.ladder(angle=0.9)
    rest = ap.equilibrium(flat.system, flat.start, flat.parameters)
    ratio = {name: abs(rest.reaction(name)) / rest.reaction(normal) for name, normal in (("foot", "floor"), ("head", "wall"))}
    expected = np.arctan((1 - ratio["foot"] * ratio["head"]) / (2 * ratio["foot"]))
    assert rest["phi"] > 0.9 and abs(rest["phi"] - expected) < 1e-6
    _stays(rest, 0.1)


def _incline() -> None:
    """tan α <= μ holds, and more is refused by name."""
    x, y = ap.coordinates("x y")
    angle = ap.parameters("alpha")
    guide = ap.Constraint(y, name="guide")
    system = ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, forces={x: 2 * G * sin(angle), y: -2 * G * cos(angle)},
                       constraints=[guide, ap.Friction(x.d, normal=guide, coefficient=0.4, name="sole")])  # fmt: skip
    rest = ap.equilibrium(system, {x: 0.7}, {angle: 0.35})
    assert rest[x] == 0.7 and abs(rest.reaction("sole") + 2 * G * np.sin(0.35)) < 1e-9
    with pytest.raises(ap.AppellError, match="'sole' would have to bear"):
        ap.equilibrium(system, {x: 0.7}, {angle: 0.45})


def _hoop() -> None:
    """A bead on a vertical hoop rests where |tan φ| <= μ, at the bottom and at the top."""
    r, a = ap.coordinates("r a")
    hoop = ap.Constraint(r - 1, name="hoop")
    system = ap.System(coordinates=[r, a], kinetic=(r.d**2 + r**2 * a.d**2) / 2, potential=-G * r * cos(a),
                       constraints=[hoop, ap.Friction(r * a.d, normal=hoop, coefficient=0.5, name="rub")])  # fmt: skip
    edge = np.arctan(0.5)
    for start, expected in ((0.2, 0.2), (1.0, edge), (-1.2, -edge), (np.pi - 0.3, np.pi - 0.3), (2.3, np.pi - edge)):
        assert abs(ap.equilibrium(system, {r: 1, a: start})[a] - expected) < 1e-6


def _journal() -> None:
    """A pendulum on a rough journal: l sin φ <= μ ρ, the resultant being its weight."""
    x, y, phi = ap.coordinates("x y phi")
    rows, length, rho, mu = [ap.Constraint(x, name="x row"), ap.Constraint(y, name="y row")], 0.5, 0.1, 0.6
    place = (x + length * sin(phi), y - length * cos(phi))
    v = [ap.total_derivative(one) for one in place]
    system = ap.System(coordinates=[x, y, phi], kinetic=v[0] ** 2 + v[1] ** 2 + 0.01 * phi.d**2, potential=2 * G * place[1],
                       constraints=[*rows, ap.Friction(rho * phi.d, normal=rows, coefficient=mu, name="rub")])  # fmt: skip
    rest = ap.equilibrium(system, {phi: 0.6})
    assert abs(rest["phi"] - np.arcsin(mu * rho / length)) < 1e-6 and abs(rest.reaction(rows[1]) - 2 * G) < 1e-8
    assert ap.equilibrium(system, {phi: -0.05})["phi"] == -0.05
    _stays(rest)


def _belt() -> None:
    """A block with a spring on a belt that runs: it rests where the friction that slides pulls it, k x = μ m g."""
    x, y = ap.coordinates("x y")
    belt = ap.Constraint(y, name="belt")
    system = ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, potential=8 * x**2 + 2 * G * y,
                       constraints=[belt, ap.Friction(x.d - 0.4, normal=belt, coefficient=0.3, name="rub")])  # fmt: skip
    rest = ap.equilibrium(system, {x: 1.0})
    assert abs(rest[x] - 0.3 * 2 * G / 16) < 1e-9 and rest.sticking == () and "slides" in rest.reason


def _plate() -> None:
    """A body on a rough plate between two springs: the nearest point of |K q| <= μ m g, by an own search."""
    x, y, z = ap.coordinates("x y z")
    floor = ap.Constraint(z, name="floor")
    K, m, mu = np.diag([4.0, 25.0]), 1.0, 0.4
    system = ap.System(coordinates=[x, y, z], kinetic=m * (x.d**2 + y.d**2 + z.d**2) / 2,
                       potential=K[0, 0] * x**2 / 2 + K[1, 1] * y**2 / 2 + m * G * z,
                       constraints=[floor, ap.Friction([x.d, y.d], normal=floor, coefficient=mu, name="sole")])  # fmt: skip
    start = np.array([1.5, 0.7])
    rest = ap.equilibrium(system, {x: start[0], y: start[1]})
    edge = lambda angle: np.linalg.solve(K, mu * m * G * np.array([np.cos(angle), np.sin(angle)]))
    own = minimize(lambda a: ((edge(a[0]) - start) ** 2).sum(), [0.5], method="Nelder-Mead",
                   options={"xatol": 1e-12, "fatol": 1e-16})  # fmt: skip
    nearest = edge(own.x[0])
    assert np.abs(np.array([rest[x], rest[y]]) - nearest).max() < 1e-5
    assert abs(np.linalg.norm(rest.reaction("sole")) - mu * m * G) < 1e-5
    _stays(rest)


def _socket() -> None:
    """A ball with an eccentric weight in a dry socket: m g l sin θ <= M, about any axis."""
    ball, torque, m, length = ap.quaternion("ball"), 1.0, 1.0, 0.2
    place = -length * ball.rotation[:, 2]
    rub = ap.Friction(list(ball.rates), limit=torque, name="socket")
    system = ap.System(coordinates=[ball], bodies=[ap.RigidBody(m, [0.01] * 3, list(place), ball)],
                       potential=m * G * place[2], constraints=[rub])  # fmt: skip
    axis, angle = np.array([0.6, 0.8, 0.0]), 1.2
    x, y, z, w = ball.coordinates
    half = np.sin(angle / 2) * axis
    rest = ap.equilibrium(system, {x: half[0], y: half[1], z: half[2], w: np.cos(angle / 2)})
    found = 2 * np.arctan2(np.hypot(rest[x], rest[y]), rest[w])
    assert abs(found - np.arcsin(torque / (m * G * length))) < 1e-6
    assert abs(np.linalg.norm(rest.reaction("socket")) - torque) < 1e-6


def _blocks() -> None:
    """Two blocks joined by springs, each with its own floor: the nearest point of a polygon, by an own search."""
    a, b = ap.coordinates("a b")
    k, limits = np.array([6.0, 9.0]), (1.0, 2.0)
    force = lambda q: np.array([-k[0] * q[0] + k[1] * (q[1] - q[0]), -k[1] * (q[1] - q[0])])
    rubs = [ap.Friction(q.d, limit=limit, name=f"sole {q}") for q, limit in zip((a, b), limits, strict=True)]
    system = ap.System(coordinates=[a, b], kinetic=(a.d**2 + 3 * b.d**2) / 2,
                       potential=k[0] * a**2 / 2 + k[1] * (b - a) ** 2 / 2, constraints=rubs)  # fmt: skip
    start, M = np.array([1.0, -0.5]), np.diag([1.0, 3.0])
    rest = ap.equilibrium(system, {a: start[0], b: start[1]})
    rules = [{"type": "ineq", "fun": lambda q: np.concatenate([np.array(limits) - force(q), np.array(limits) + force(q)])}]
    own = minimize(lambda q: (q - start) @ M @ (q - start), np.zeros(2), constraints=rules, method="SLSQP", tol=1e-14)
    assert np.abs(np.array([rest[a], rest[b]]) - own.x).max() < 1e-5
    _stays(rest)


def _rope() -> None:
    """Two weights on a rope over a post, one on a spring: e^{−μπ} <= T₁/T₂ <= e^{μπ}, by a limit that contains the tension."""
    a, b = ap.coordinates("a b")
    rope, grow = ap.Constraint(a + b, name="rope"), np.exp(0.2 * np.pi)
    system = ap.System(coordinates=[a, b], kinetic=(2 * a.d**2 + b.d**2) / 2, potential=-G * (2 * a + b) + 20 * a**2,
                       constraints=[rope, ap.Friction(a.d, limit=-rope.multiplier * (grow - 1), name="post")])  # fmt: skip
    rest = ap.equilibrium(system, {a: -0.5, b: 0.5})
    assert abs(2 * G - 40 * rest[a] - G * grow) < 1e-5 and abs(rest.reaction(rope) + G) < 1e-8


def _small() -> None:
    """The same block as a grain of dust and as a house."""
    for scale in (1e-9, 1e7):
        x, _, system = _spring_block(scale)
        rest = ap.equilibrium(system, {x: 0.5})
        assert abs(rest[x] - 0.3 * G / 10) < 1e-6 and abs(rest.reaction("floor") / (scale * G) - 1) < 1e-9


def _refused() -> None:
    """What has no rest, or none that a linearisation describes, says so and names the friction."""
    x, y, system = _spring_block()
    with pytest.raises(ap.FormNotApplicable, match="'sole'"):
        ap.equilibria(system)
    assert "sole: stick" in ap.linearize(system, at={x: 0.0}).system.name
    with pytest.raises(ap.AppellError, match="'sole' would have to bear 20"):
        ap.equilibrium(system.replace(potential=G * y - 20 * x), {x: 0.0})
    with pytest.raises(ap.ModelError, match=r"contains time"):
        ap.equilibrium(system.replace(forces={x: sin(ap.t)}), {x: 0.0})
    free = ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, potential=G * y,
                     constraints=[ap.Friction(x.d, limit=1, name="rub")])  # fmt: skip
    with pytest.raises(ap.AppellError, match="which no friction holds"):
        ap.equilibrium(free, {x: 0.0})


def _moving_up() -> None:
    """A start above the floor, or below it, comes onto it; a face that is not needed stays open."""
    x, y = ap.coordinates("x y")
    floor, wall = ap.Unilateral(y - x / 10, name="floor"), ap.Unilateral(x + 1, name="wall")
    sole = ap.Friction(x.d + y.d / 10, normal=floor, coefficient=0.3, name="sole")
    system = ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, potential=2 * G * y, constraints=[floor, wall, sole])
    for start in ({x: 0.5, y: 0.4}, {x: 0.5, y: -0.2}):
        rest = ap.equilibrium(system, start)
        assert rest.contacts == ("floor",) and abs(rest[y] - rest[x] / 10) < 1e-12
        _stays(rest)


def _static() -> None:
    """The coefficient at rest counts, not that of sliding."""
    x, y = ap.coordinates("x y")
    floor = ap.Unilateral(y, name="floor")
    sole = ap.Friction(x.d, normal=floor, coefficient=0.2, static=0.5, name="sole")
    system = ap.System(coordinates=[x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=5 * x**2 + G * y, constraints=[floor, sole])
    assert ap.equilibrium(system, {x: 0.45})[x] == 0.45
    assert abs(ap.equilibrium(system, {x: 2.0})[x] - 0.5 * G / 10) < 1e-6


@family(count=60, sample=(0, 1))
def chains_of_blocks(seed: int) -> None:
    """Blocks in a chain of springs, each with its own floor: the nearest q with |K q| <= F in the metric of the masses.

    With f = −K q that is a least-squares problem with bounds, min |M^{1/2} (K⁻¹ f + s)| over |f| <= F."""
    rng = np.random.default_rng([29, seed])
    n = 2 + seed % 3
    k, limits, masses = (10 ** rng.uniform(*ends, n) for ends in ((-1, 2), (-1, 1), (-1, 1)))
    start = rng.normal(size=n)
    q = ap.coordinates(" ".join(f"q{i}" for i in range(n)))
    stretched = [q[0], *(q[i] - q[i - 1] for i in range(1, n))]
    rubs = [ap.Friction(one.d, limit=float(limit), name=f"sole {one}") for one, limit in zip(q, limits, strict=True)]
    system = ap.System(
        coordinates=[*q], kinetic=sum(m * one.d**2 / 2 for m, one in zip(masses, q, strict=True)),
        potential=sum(c * x**2 / 2 for c, x in zip(k, stretched, strict=True)), constraints=rubs,
    )  # fmt: skip
    rest = ap.equilibrium(system, dict(zip(q, start, strict=True)))
    D = np.eye(n) - np.eye(n, k=-1)
    K, root = D.T @ np.diag(k) @ D, np.diag(np.sqrt(masses))
    force = lsq_linear(root @ np.linalg.inv(K), -root @ start, (-limits, limits), method="bvls", tol=1e-14).x
    wanted, found = -np.linalg.solve(K, force), np.array([rest[one] for one in q])
    far = lambda x: float((x - start) @ np.diag(masses) @ (x - start))
    assert (np.abs(K @ found) <= limits * (1 + 1e-9)).all()
    assert far(found) <= far(wanted) * (1 + 1e-5) + 1e-12, (far(found), far(wanted))
