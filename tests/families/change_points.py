"""Change points: linkages in angles against the same motions in minimal coordinates, and rows that vanish with velocities."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import Mod, Piecewise, cos, sin, sqrt
from tests.families.family import family

import appell as ap


class Seen:
    """The draws of the member that was seen: cranks 1 and 0.7, grounds 2 and 1, masses 1."""

    def __init__(self):
        self.draws = iter([1.0, 2.0, np.ones(3), 0.7, 1.0, np.ones(3), 1.0, np.array([1.2, 1.5]), np.array([2.0, 2.0])])

    def uniform(self, low: float, high: float, count: int = 1) -> Any:
        return next(self.draws)

    def choice(self, values: Any) -> Any:
        return -1


def parallelograms(rng: Any, count: int, gravity: float) -> tuple[ap.System, ap.System, dict, dict]:
    """(linkages in three angles each, the same in one angle each, their starts), coupled by springs between the cranks."""
    q: list[Any] = []
    rows: list[Any] = []
    kinetic: Any = 0
    potential: Any = 0
    cranks = ap.coordinates([f"u{i}" for i in range(count)])
    cranks = cranks if isinstance(cranks, tuple) else (cranks,)
    flat: dict[Any, Any] = {}
    for i in range(count):
        a, b, c = ap.coordinates(f"a{i} b{i} c{i}")
        crank, ground, m = rng.uniform(0.6, 1.4), rng.uniform(1.5, 2.5), rng.uniform(0.5, 2.0, 3)
        q += [a, b, c]
        rows += [crank * cos(a) + ground * cos(b) - ground - crank * cos(c), crank * sin(a) + ground * sin(b) - crank * sin(c)]
        centres = [
            (crank * cos(a) / 2, crank * sin(a) / 2),
            (crank * cos(a) + ground * cos(b) / 2, crank * sin(a) + ground * sin(b) / 2),
            (ground + crank * cos(c) / 2, crank * sin(c) / 2),
        ]
        for mass, (x, y) in zip(m, centres, strict=True):
            kinetic += mass * (ap.total_derivative(x) ** 2 + ap.total_derivative(y) ** 2) / 2
            potential += mass * gravity * y
        kinetic += (m[0] * a.d**2 + m[1] * b.d**2 + m[2] * c.d**2) / 12
        flat |= {a: cranks[i], b: 0, c: cranks[i], a.d: cranks[i].d, b.d: 0, c.d: cranks[i].d}
    stiff = rng.uniform(0.2, 1.0)
    potential += sum(stiff * (q[3 * i] - q[3 * i + 3]) ** 2 / 2 for i in range(count - 1))
    angles = rng.uniform(0.9, 1.6, count)
    rates = rng.choice([-1, 1]) * rng.uniform(1.0, 4.0, count)
    whole, start = ap.System(q, kinetic, potential, constraints=rows), {}
    for i in range(count):
        start |= {q[3 * i]: angles[i], q[3 * i + 2]: angles[i], q[3 * i].d: rates[i], q[3 * i + 2].d: rates[i]}
    single = ap.System(list(cranks), kinetic.xreplace(flat), potential.xreplace(flat))
    minimal = {u: x for u, x in zip(cranks, angles, strict=True)} | {u.d: x for u, x in zip(cranks, rates, strict=True)}
    return whole, single, start, minimal


@family(sample=(3, 9))
def order_kept(seed: int) -> None:
    """Two parallelograms, 20 s at rtol 1e-10: the error is that of the motion in minimal coordinates at the same tolerance."""
    rng = np.random.default_rng(seed) if seed else Seen()
    count, gravity = (2, 2, 1, 3)[seed % 4], (9.81, 3.0, 0.0)[seed % 3]
    rtol, backend, until = (1e-10, 1e-8, 1e-10)[seed % 3], ("auto", "vm")[seed % 2], 20.0 if seed % 2 == 0 else 5.0
    whole, single, start, minimal = parallelograms(rng, count, gravity)
    times = np.linspace(0, until, 41)
    exact = ap.simulate(single, minimal, until, times=times, rtol=1e-14, atol=1e-15, method="taylor")
    plain = ap.simulate(single, minimal, until, times=times, rtol=rtol, atol=rtol / 100, method="dop853")
    motion = ap.simulate(whole, start, until, times=times, rtol=rtol, atol=rtol / 100, backend=backend)
    error = np.abs(motion.q[:, ::3] - exact.q).max()
    usual = np.abs(plain.q - exact.q).max()
    assert motion.ok, motion.message
    assert sum(note.kind == "change point" for note in motion.notes) >= 3
    assert error < 4 * usual + 10 * rtol, (error, usual)


x, y, z = ap.coordinates("x y z")
HEIGHTS = [9.81 * z, 20 * z**2, 9.81 * z + z**3, 30 * (1 - cos(z)), 4 * z + 10 * z**2, 3 * (sin(2 * z) + 2 * z)]


@family(sample=(0, 1, 5))
def at_the_top_of_a_rise(seed: int) -> None:
    """a²(ẋ² + ẏ²) = ż² comes to rest and goes on: ż = a s, (1 + a²) m ṡ = −a V′(z) − c (1 + a²) s through s = 0."""
    rng = np.random.default_rng(seed)
    a, m, c = (0.5, 1.0, 0.0) if seed == 0 else (*rng.uniform(0.3, 2.0, 2), 0.4 * (seed % 3 == 2))
    turn, V, degree = rng.uniform(0, 6.28), HEIGHTS[seed % 6], 2 if seed % 4 == 3 else 1
    row = (a**2 * (x.d**2 + y.d**2)) ** degree - z.d ** (2 * degree)
    walls = [ap.Unilateral(z + 100)] if seed % 5 == 4 else []
    kinetic, drag = m * (x.d**2 + y.d**2 + z.d**2) / 2, {q: -c * q.d for q in (x, y, z)}
    system = ap.System([x, y, z], kinetic, V, drag, [ap.Constraint(row, "wheel"), *walls])
    slope = lambda h: float(V.diff(z).subs(z, h))
    rates = lambda _, w: [a * w[1], -a * slope(w[0]) / (m * (1 + a**2)) - c * w[1] / m, w[1]]
    end = 1.5
    height, s, way = solve_ivp(rates, (0, end), [0.0, 1.0, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    start = {x.d: np.cos(turn), y.d: np.sin(turn), z.d: a}
    exact = np.array([way * np.cos(turn), way * np.sin(turn), height, s * np.cos(turn), s * np.sin(turn), a * s])
    tight = {"rtol": 1e-9, "atol": 1e-11}
    options: list[dict[str, Any]] = [tight, {**tight, "backend": "vm"}, {"step": 0.004}]
    for option in options[: 2 if walls else 3]:
        motion = ap.simulate(system, start, end, **option)
        told = [note.kind for note in motion.notes]
        if degree == 2 and "step" in option:  # a row ~ v³ is rounding at several steps, and said to be
            assert motion.doubts or "change point" in told
            continue
        assert motion.ok and "change point" in told, (option, motion.message, motion.doubts)
        assert np.abs(np.concatenate([motion.q[-1], motion.v[-1]]) - exact).max() < 1e-6


@family(sample=(0, 5))
def thin_walls(seed: int) -> None:
    """A parallelogram whose crank hits a thin peg near a flat position, where steps are those of the passage: one angle."""
    rng = np.random.default_rng(seed)
    (a, b, c), u = ap.coordinates("a b c"), ap.coordinates("u")
    place, width, e = rng.uniform(-0.25, 0.25), 10 ** rng.uniform(-5, -2.5), (1.0, 0.6)[seed % 2]
    if seed == 0:
        place, width = 0.0685, 1e-3
    rows = [cos(a) + cos(c) - 1 - cos(b), sin(a) + sin(c) - sin(b)]
    peg = lambda q: ap.Unilateral([(q - place) ** 2 - width**2, sqrt((q - place) ** 2 + 1e-14) - width][seed % 2], "peg", e)
    whole = ap.System([a, b, c], (a.d**2 + b.d**2 + c.d**2) / 2, sin(a), constraints=[*rows, peg(a)])
    single = ap.System([u], u.d**2, sin(u), constraints=[peg(u)])
    start = {a: np.pi / 2, b: np.pi / 2, a.d: -2.0, b.d: -2.0}
    exact = ap.simulate(single, {u: np.pi / 2, u.d: -2.0}, 1.5, rtol=1e-12, atol=1e-14)
    motion = ap.simulate(whole, start, 1.5, backend=("auto", "vm")[seed // 2 % 2])
    assert motion.ok and len(motion.impacts) == len(exact.impacts) == 1, (len(motion.impacts), motion.doubts)
    assert abs(motion[a][-1] - exact[u][-1]) < 1e-6


@family(sample=(0, 3))
def where_many_motions_leave(seed: int) -> None:
    """Elliptic cones, sideways forces, unequal masses: the run stops, or in steps of fixed size doubts itself, and says why."""
    rng = np.random.default_rng(seed)
    ratio, push, heavy = [(2.0, 0, 1.0), (1.0, 3.0, 1.0), (1.0, 0, 0.5), (3.0, 0, 1.0)][seed % 4]
    a = 0.5 if seed < 4 else rng.uniform(0.4, 1.2)
    row = a**2 * (x.d**2 + ratio**2 * y.d**2) - z.d**2
    kinetic = (x.d**2 + heavy * y.d**2 + z.d**2) / 2
    system = ap.System([x, y, z], kinetic, 9.81 * z - push * x, constraints=[ap.Constraint(row, "wheel")])
    turn = rng.uniform(0.3, 1.2)
    rise = a * np.hypot(np.cos(turn), ratio * np.sin(turn))
    start = {x.d: np.cos(turn), y.d: np.sin(turn), z.d: rise}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rtol in (1e-6, 1e-9, 1e-11):
            motion = ap.simulate(system, start, 2.0, rtol=rtol, atol=rtol / 100)
            assert not motion.ok and motion.notes[-1].kind == "singular" and motion.t[-1] < 1.5
        for step in (0.01, 0.0031):
            motion = ap.simulate(system, start, 2.0, step=step)
            assert not motion.ok, (step, motion.notes)


def side(motion: Any, rocker: float) -> np.ndarray:
    """v·(∇f₁ × ∇f₂) of cos a + 2 cos b = 2 + r cos c, sin a + 2 sin b = r sin c: a motion on one branch keeps its sign."""
    a, b, c = motion.q.T
    one = np.stack([-np.sin(a), -2 * np.sin(b), rocker * np.sin(c)], axis=1)
    two = np.stack([np.cos(a), 2 * np.cos(b), -rocker * np.cos(c)], axis=1)
    return np.einsum("ki,ki->k", np.cross(one, two), motion.v)


@family(sample=(0, 1, 4))
def long_steps_over_change_points(seed: int) -> None:
    """A linkage that turns uniformly, in steps of up to several turns: none of its flat positions is passed unseen.

    An exact parallelogram stays one, a = c = a₀ + ω t, with a note at each multiple of π. If the rocker is longer by
    1e-11 … 1e-9, the branches do not meet: the rocker swings back, or the run stops.
    """
    rng = np.random.default_rng(seed)
    (a, b, c), r = ap.coordinates("a b c"), ap.parameters("r", positive=True)
    rows = [ap.Constraint(cos(a) + 2 * cos(b) - 2 - r * cos(c)), ap.Constraint(sin(a) + 2 * sin(b) - r * sin(c))]
    system = ap.System([a, b, c], (a.d**2 + b.d**2 + c.d**2) / 2, constraints=rows)
    at, speed, rtol = rng.uniform(0.3, 2.2), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-8, -2)
    longer = 0.0 if seed % 2 else 10 ** rng.uniform(-11, -9.5)
    if seed == 0:
        at, speed, rtol, longer = 0.32857142857142857, 1.0, 1e-3, 1e-10
    guess = {a: at, c: at, a.d: speed, c.d: speed}
    start = ap.consistent(system, guess, parameters={r: 1 + longer}, hold=[a, a.d]) if longer else guess
    options: dict[str, Any] = {"max_step": 2 * np.pi / speed * (1 + seed % 2)} if seed % 3 == 1 else {}
    options |= {"rtol": rtol, "atol": rtol / 100, "backend": ("auto", "vm")[seed % 4 == 3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, start, 15 / speed, {r: 1 + longer}, **options)
    if longer:
        assert (side(motion, 1 + longer)[:-1] > 0).all() or (side(motion, 1 + longer)[:-1] < 0).all(), motion.notes
        assert not motion.ok or abs(motion.q[-1, 0] - motion.q[-1, 2]) > 0.1, motion.q[-1]
        return
    flat = np.pi * np.arange(1, 1 + (at + 15) // np.pi)
    found = np.sort([note.time or 0.0 for note in motion.notes if note.kind == "change point"])
    assert motion.ok and len(found) == len(flat), (motion.message, len(found), len(flat))
    assert np.abs(at + speed * found - flat).max() < 1e-5
    assert np.abs(motion.q[:, [0, 2]] - (at + speed * motion.t)[:, None]).max() < 1e-6 + 100 * rtol


@family(sample=(1, 2, 6))
def change_points_that_no_guard_watches(seed: int) -> None:
    """A linkage that turns uniformly while a body rests on a floor, in fixed steps, or by a stiff method: steps of up to turns.

    As in `long_steps_over_change_points`: each flat position of an exact parallelogram is noted, and the motion is right. If
    the rocker is longer by 1e-11 … 1e-9, the branches do not meet, and a motion that went on as a parallelogram is doubtful.
    """
    rng = np.random.default_rng(seed)
    (a, b, c, y), r = ap.coordinates("a b c y"), ap.parameters("r", positive=True)
    rows = [ap.Constraint(cos(a) + 2 * cos(b) - 2 - r * cos(c)), ap.Constraint(sin(a) + 2 * sin(b) - r * sin(c))]
    floor = [ap.Unilateral(y, name="floor")] if seed % 3 == 0 else []
    weight = 9.81 * y if floor else 0
    system = ap.System([a, b, c, y], (a.d**2 + b.d**2 + c.d**2 + y.d**2) / 2, weight, constraints=rows + floor)
    at, speed, longer = rng.uniform(0.3, 2.2), 10 ** rng.uniform(-2, 2), 0.0 if seed % 2 else 10 ** rng.uniform(-11, -9.5)
    rtol, step = 10 ** rng.uniform(-4, -2), 10 ** rng.uniform(-1.5, 0.9) / speed
    options: dict[str, Any] = ({"rtol": rtol, "atol": rtol / 100}, {"step": step}, {"method": "radau", "rtol": rtol})[seed % 3]
    guess = {a: at, c: at, a.d: speed, c.d: speed}
    start = ap.consistent(system, guess, parameters={r: 1 + longer}, hold=[a, a.d]) if longer else guess
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, start, 15 / speed, {r: 1 + longer}, **options)
    if longer:
        assert not motion.ok or abs(motion.q[-1, 0] - motion.q[-1, 2]) > 0.1, motion.q[-1]
        return
    flat = np.pi * np.arange(1, 1 + (at + 15) // np.pi)
    found = np.sort([note.time or 0.0 for note in motion.notes if note.kind == "change point"])
    assert motion.ok and len(found) == len(flat), (motion.message, motion.doubts, len(found), len(flat))
    assert np.abs(at + speed * found - flat).max() < 0.3
    assert np.abs(motion.q[:, [0, 2]] - (at + speed * motion.t)[:, None]).max() < 1e-6 + 100 * rtol


@family(sample=(1, 4))
def masses_that_vanish_beside_rows(seed: int) -> None:
    """A bob on a massless cart that is driven: M has the determinant m² l² sin² φ, and the row keeps the motion regular.

    φ̈ = −(g sin φ + ẍ cos φ)/l + τ/(m l²) with x = A sin ω t, and a torque τ that is switched on and off. The row only grows
    where φ passes through 0: no rank is lost, nothing is noted, and SciPy finds the same motion.
    """
    rng = np.random.default_rng(seed)
    (u, phi), (m, length) = ap.coordinates("u phi"), rng.uniform(0.5, 2.0, 2)
    A, w, on, torque = rng.uniform(0.05, 0.3), rng.uniform(2.0, 7.0), rng.uniform(0.01, 0.04), rng.uniform(0.0, 0.3)
    speed = u.d**2 + 2 * length * cos(phi) * u.d * phi.d + length**2 * phi.d**2
    drive = ap.Constraint(u - A * sin(w * ap.t), name="drive")
    push = {phi: torque * Piecewise((1, Mod(ap.t, 2 * on) < on), (0, True))}
    system = ap.System([u, phi], m * speed / 2, -9.81 * m * length * cos(phi), push, [drive])
    start = {phi: rng.uniform(0.2, 1.0), u.d: A * w}
    motion = ap.simulate(system, start, 2.0, backend=("auto", "vm")[seed % 2])
    assert motion.ok and not [note for note in motion.notes if note.kind in ("near miss", "change point")], motion.notes
    z, edges = np.array([start[phi], 0.0]), np.append(np.arange(0, 2, on), 2.0)
    for k, span in enumerate(pairwise(edges)):
        slope = lambda t, z, on=k % 2 == 0: [
            z[1],
            (A * w**2 * np.sin(w * t) * np.cos(z[0]) - 9.81 * np.sin(z[0])) / length + on * torque / (m * length**2),
        ]
        z = solve_ivp(slope, span, z, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert np.abs([motion[phi][-1] - z[0], motion[phi.d][-1] - z[1]]).max() < 1e-7, (motion.final, z)
