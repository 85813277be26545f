"""Random systems with unilateral constraints: the compiled loop, its Python twin and the event-driven reference.

Two or three coordinates, inertial coupling (b ≠ 0), terms linear in the velocities, explicit time, forces without a potential,
one to three walls (planes, curves, moving ones, inside and outside of circles, two stops) of restitution 0 to 1, and bilateral
constraints of order 0, 1 and 2 beside them. All run at rtol 1e-12. Blows that are slower than 1e-5 are the end of bouncing,
where the sides stop at different heights and rounding moves the times: they are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sympy import Matrix, Rational, cos, lambdify, sin
from tests.reference.events import simulate_events

import appell as ap
from appell.backends import reason_against_c
from appell.jets import t

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
BACKENDS = ["vm"] if reason_against_c() else ["c", "vm"]
SLOW = 1e-5


@dataclass
class Dice:
    """Random rational numbers from a seed."""

    seed: int

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)

    def eighths(self, low=-4, high=4):
        return Rational(int(self.rng.integers(low, high + 1)), 8)

    def one_of(self, *things):
        return things[int(self.rng.integers(len(things)))]


def wall(dice: Dice, q, name: str):
    x, y = dice.one_of(*q[:2]), dice.one_of(*q[:2])
    gap, e = dice.eighths(1, 4), Rational(dice.one_of(10, 10, 9, 5, 2, 0), 10)
    make = dice.one_of(
        lambda: ap.Unilateral(x + gap, name, e),
        lambda: ap.Unilateral(gap - 3 * x / 2 + sin(y) / 3, name, e),
        lambda: ap.Between(-gap, x, gap + Rational(1, 8), name, e),
        lambda: ap.Unilateral(x + y / 2 + gap + sin(dice.eighths(4, 40) * t) / 10, name, e),
        lambda: ap.Unilateral((gap + 1) ** 2 / 2 - q[0] ** 2 - q[1] ** 2, name, e),
        lambda: ap.Unilateral((q[0] + Rational(3, 4)) ** 2 + (q[1] + Rational(3, 4)) ** 2 - gap**2, name, e),
    )
    return make()


BILATERAL = {
    "none": lambda q: [],
    "order 0": lambda q: [ap.Constraint(q[2] - sin(q[0]) / 2 - q[1] ** 2 / 4, name="surface")],
    "order 1": lambda q: [ap.Constraint((2 + sin(q[1])) * q[2].d + cos(q[0]) * q[1].d / 2 - sin(t), name="affine")],
    "order 2": lambda q: [ap.Constraint(2 * q[2].dd + q[0].dd * sin(q[1]) / 2 + q[2] + q[1].d, name="acceleration")],
}


def drawn(dice: Dice, bilateral: str):
    n = 2 + (bilateral != "none")
    q = ap.coordinates(f"q1:{n + 1}")
    s = dice.one_of(t, 0)
    B = Matrix(n, n, lambda i, j: dice.eighths() * cos(q[j] + s) if j < i else 0)
    for i in range(n):
        B[i, i] = 1 + dice.eighths() * sin(q[i] + q[(i + 1) % n] + s) / 2
    w = B.T * Matrix([x.d for x in q])
    T = w.dot(w) / 2 + sum(dice.eighths() * sin(x + s) * x.d * q[0] for x in q)
    V = dice.eighths(4, 20) * sum(x**2 for x in q) + dice.eighths() * cos(q[0] - q[-1] + s)
    Q = {x: -dice.eighths(0, 2) * x.d + dice.eighths() * sin(q[0]) * q[-1].d + cos(dice.eighths(4, 24) * t) for x in q}
    walls = [wall(dice, q, f"wall {k}") for k in range(dice.one_of(1, 2, 3))]
    return ap.System(q, T, V, Q, [*BILATERAL[bilateral](q), *walls], name="random walls")


def start_of(system, dice: Dice, bilateral: str):
    distances = lambdify([t, list(system.coordinates)], [face.function for face in system.unilateral])
    for _ in range(400):
        q = dice.rng.uniform(-0.5, 0.5, system.nq)
        if bilateral == "order 0":
            q[2] = np.sin(q[0]) / 2 + q[1] ** 2 / 4
        if min(distances(0.0, q)) > 0.02:
            break
    else:
        raise AssertionError("no start inside all walls was found: take another seed")
    v = dice.rng.uniform(-2.5, 2.5, system.nv)
    start = {**dict(zip(system.coordinates, q, strict=True)), **dict(zip(system.velocities, v, strict=True))}
    return start if bilateral == "order 2" else ap.consistent(system, start)


def blows(events, names=None):
    return [
        (i.time, names[i.face] if names else i.constraint, i.before) for i in events if i.kind == "impact" and i.before < -SLOW
    ]


def same(ours, theirs):
    """How many impacts both sides have (one may count a last slow one or two), and the largest difference of their times."""
    count = min(len(ours), len(theirs))
    assert [i[1] for i in ours[:count]] == [i[1] for i in theirs[:count]]
    assert len(ours) == len(theirs) or max(len(ours), len(theirs)) - count <= 2
    return count, max((abs(i[0] - j[0]) for i, j in zip(ours, theirs, strict=False)), default=0.0)


CASES = [("none", 4), ("none", 0), ("order 0", 4), ("order 1", 3), ("order 2", 0)]


@pytest.mark.parametrize(("bilateral", "seed"), CASES)
def test_three_ways_to_the_same_motion(bilateral, seed):
    dice = Dice(seed)
    system = drawn(dice, bilateral)
    start, until = start_of(system, dice, bilateral), 4.0
    runs = [ap.simulate(system, start, until, backend=backend, corner="first", **TIGHT) for backend in BACKENDS]
    for motion in runs:
        assert motion.ok, motion.message
        assert np.abs(motion.energy_error).max() < 1e-9
        fine = motion.at(np.linspace(0, until, 500))
        assert min(fine[face.function].min() for face in system.unilateral) > -1e-9
        assert all((motion.reaction(face).min() if ":" not in face.name else 0) > -1e-9 for face in system.unilateral)
    end = lambda motion: np.concatenate([motion.q[-1], motion.v[-1]])
    for other in runs[1:]:
        count, late = same(blows(runs[0].impacts), blows(other.impacts))
        assert count >= 2 and late < 1e-9
        np.testing.assert_allclose(end(other), end(runs[0]), atol=1e-8)
    if bilateral != "order 2":
        reference = simulate_events(system, start, until, {}, rtol=1e-12, atol=1e-13, max_step=0.04)
        names = [face.name for face in system.unilateral]
        count, late = same(blows(runs[0].impacts), blows(reference.impacts, names))
        assert count >= 2 and late < 1e-9
        np.testing.assert_allclose(end(runs[0]), reference.end, atol=1e-7)
