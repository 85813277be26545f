"""Stops against closed forms: none is passed between steps, on any path, beside walls, friction and breaks.

Each case draws a motion with a closed form, an expression, and the time of its first zero (None: never) by a formula.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sympy import Piecewise, sign, sin, sqrt
from tests.families.family import family
from tests.reference.sweeps import Outcome, long_run, right, sweep, wrong

import appell as ap

x, y = ap.coordinates("x y")
g, k, c = ap.parameters("g k c")
t = ap.t
FLIGHT = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y, name="flight")
SPRING = ap.System([x], kinetic=x.d**2 / 2, potential=k * x**2 / 2, name="spring")
BALL = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y, constraints=[ap.Unilateral(y, "floor", restitution=c)])
GROUND = ap.Constraint(y, "ground")
SLIDER = ap.System(
    [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=g * y,
    constraints=[GROUND, ap.Friction(x.d, normal=GROUND, coefficient=c, name="rub")],
)  # fmt: skip
PUSHED = ap.System([x], kinetic=x.d**2 / 2, forces={x: Piecewise((0, t < 1), (k, t < 1 + c), (0, True))})
SWITCHED = ap.System([x], kinetic=x.d**2 / 2, forces={x: -k * sign(x)})
FALLING = {"coordinates": [x, y], "kinetic": (x.d**2 + y.d**2) / 2, "potential": g * (x + y)}
FLOOR = ap.Unilateral(y, "floor", restitution=c)
BALLS = ap.System(**FALLING, constraints=[FLOOR, ap.Unilateral(x, "other", restitution=0.5)], name="two balls")
BROKEN = ap.System(**FALLING, forces={x: Piecewise((0, t < k), (1e-3, True))}, constraints=[FLOOR], name="a ball and a break")
CONTROLLED = ap.System(**FALLING, forces={x: k}, constraints=[FLOOR], name="a ball and readings")
BEAD = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x**2 + y**2 - 1, "ring")])


class Case(NamedTuple):
    """A run, its stop, and when that is met, s; None: never."""

    system: ap.System
    start: dict[Any, float]
    until: float
    parameters: dict[Any, float]
    stop: Any
    time: float | None
    slope: float = 1.0  # of the expression there, beside those of the motion


def peg(rng: np.random.Generator) -> Case:
    """A straight flight that meets a small disc, or passes it: the first of two zeros that are close together."""
    D, off = 10 ** rng.uniform(0, 2), rng.uniform(-1.3, 1.3)
    size = 10 ** rng.uniform(-4, -1) * D
    first = D - size * np.sqrt(1 - off**2) if abs(off) < 1 else None
    square = (x - D) ** 2 + (y - off * size) ** 2
    return Case(FLIGHT, {x.d: 1.0}, 3 * D, {g: 0.0}, [sqrt(square) - size, square - size**2][rng.integers(2)], first)


def height(rng: np.random.Generator) -> Case:
    """A thrown ball at a height, on its way down or up; from the height itself, back to it."""
    v = rng.uniform(1, 20)
    h = 0.0 if rng.random() < 0.3 else rng.uniform(0, 1.2) * v**2 / 20
    way = ap.falling if rng.random() < 0.5 or not h else ap.rising
    root = np.sqrt(v**2 - 20 * h) if v**2 > 20 * h else None
    first = None if root is None else (v + root) / 10 if way is ap.falling else (v - root) / 10
    return Case(FLIGHT, {x.d: 1.0, y.d: v}, 10.0, {g: 10.0}, way(y - h), first)


def top(rng: np.random.Generator) -> Case:
    """The top of a throw, beside a condition that is met a little later."""
    v = rng.uniform(1, 20)
    return Case(FLIGHT, {x.d: 1.0, y.d: v}, 10.0, {g: 10.0}, {"top": ap.falling(y.d), "late": x - v / 10 - 1e-3}, v / 10)


def swing(rng: np.random.Generator) -> Case:
    """An oscillator on its way up through a level."""
    w, level = rng.uniform(0.1, 30), rng.uniform(-1.2, 1.2)
    first = (2 * np.pi - np.arccos(level)) / w if abs(level) < 1 else None
    return Case(SPRING, {x: 1.0}, 20 / w, {k: w**2}, ap.rising(x - level), first)


def tip(rng: np.random.Generator) -> Case:
    """An oscillator that passes a level by a little and comes back, or does not reach it."""
    w, over = rng.uniform(0.5, 5), 10 ** rng.uniform(-7, -2) * rng.choice([1, -1])
    first = (np.pi - 2 * np.arcsin(np.sqrt(over / 2))) / w if over > 0 else None
    return Case(SPRING, {x: 1.0}, 4 / w, {k: w**2}, x + 1 - over, first, min(1.0, w * np.sqrt(2 * abs(over))))


def fast(rng: np.random.Generator) -> Case:
    """An expression that turns many times in a step, and is above zero for a moment in each turn only."""
    w, level = rng.uniform(20, 300), 1 - 10 ** rng.uniform(-5, -1)
    return Case(FLIGHT, {x.d: 1.0}, 20.0, {g: 0.0}, sin(w * x + 4) - level, (2 * np.pi - 4 + np.arcsin(level)) / w)


def bounce(rng: np.random.Generator) -> Case:
    """A ball between two bounces, or the first of them."""
    h, e, n = rng.uniform(0.2, 2), rng.uniform(0.5, 1), int(rng.integers(0, 6))
    fall = np.sqrt(2 * h / 10)
    there = fall * (1 + 2 * np.sum(e ** np.arange(1, n + 1))) + rng.uniform(0.1, 0.9) * fall * e ** (n + 1)
    stop, first = [(x - there, there), (ap.rising(y.d), fall)][rng.integers(2)]
    return Case(BALL, {y: h, x.d: 1.0}, there + 1, {g: 10.0, c: e}, stop, first)


def landing(rng: np.random.Generator) -> Case:
    """The distance of a wall reaches zero in the first impact, whatever its restitution."""
    h, e = rng.uniform(0.2, 2), rng.choice([0.0, 0.5, 1.0])
    return Case(BALL, {y: h, x.d: 1.0}, 5.0, {g: 10.0, c: e}, [y, ap.falling(y)][rng.integers(2)], float(np.sqrt(h / 5)))


def sliding(rng: np.random.Generator) -> Case:
    """A block that friction brings to rest: a place before that, or beyond it."""
    v, mu, share = rng.uniform(1, 5), rng.uniform(0.1, 0.9), rng.uniform(0.1, 1.3)
    a, end = 10 * mu, v**2 / 20 / mu
    first = (v - np.sqrt(v**2 - 2 * a * share * end)) / a if share < 1 else None
    return Case(SLIDER, {x.d: v}, 3 * v / a, {g: 10.0, c: mu}, x - share * end, first)


def pushed(rng: np.random.Generator) -> Case:
    """A short push in a long rest, and a place that it sends the body to."""
    force, lasts, there = rng.uniform(10, 1000), rng.uniform(1e-3, 0.1), rng.uniform(0.1, 8)
    place = force * lasts**2 / 2 + force * lasts * there
    return Case(PUSHED, {}, 12.0, {k: force, c: lasts}, x - place, 1 + lasts + there)


def switched(rng: np.random.Generator) -> Case:
    """Forces that push to the middle from both sides: its second passage."""
    a, at = rng.uniform(1, 20), rng.uniform(0.1, 2)
    quarter = np.sqrt(2 * at / a)
    return Case(SWITCHED, {x: at}, 10 * quarter, {k: a}, ap.rising(x), 3 * quarter)


def on_a_ring(rng: np.random.Generator) -> Case:
    """A bead on a ring in Cartesian coordinates, on its way through a direction."""
    w, angle = rng.uniform(0.2, 3), rng.uniform(0.1, 6)
    return Case(BEAD, {x: 1.0, y.d: w}, 7 / w, {}, {"there": ap.rising(y * np.cos(angle) - x * np.sin(angle))}, angle / w)


def backwards(rng: np.random.Generator) -> Case:
    """Backwards in time, with a stop that contains it."""
    v, at = rng.uniform(1, 5), rng.uniform(0.1, 5)
    return Case(FLIGHT, {x.d: v}, -12.0, {g: 1.0}, ap.rising(-x + t / 2 - (v - 0.5) * at), -at)


CASES: tuple[tuple[Callable[[np.random.Generator], Case], dict[str, Any]], ...] = (
    (peg, {}), (height, {}), (bounce, {}), (top, {"method": "dopri5"}), (swing, {}), (tip, {}), (fast, {}), (landing, {}),
    (sliding, {}), (pushed, {}), (switched, {}), (on_a_ring, {}), (backwards, {}), (peg, {"method": "taylor"}),
    (height, {"backend": "vm"}), (bounce, {"backend": "vm"}), (swing, {"method": "taylor", "backend": "vm"}),
    (peg, {"step": 7.0}), (sliding, {"backend": "vm"}), (pushed, {"backend": "vm"}), (tip, {"method": "dopri5", "rtol": 1e-7}),
    (landing, {"method": "taylor"}), (fast, {"times": [0.0]}), (height, {"method": "cvodes", "rtol": 1e-8}),
)  # fmt: skip


SLOW_ROUNDS = 5
"""Of so many rounds through the cases one has those that take a tenth of a second or more."""


def chosen(n: int) -> tuple[Callable[[np.random.Generator], Case], dict[str, Any]]:
    """The case of number n: all of them in turn, slow ones (contacts on the evaluator, CVODES) in some rounds only."""
    draw, options = CASES[n % len(CASES)]
    contact = draw in (bounce, sliding) and options.get("backend") == "vm"
    slow = contact or options.get("method") == "cvodes"
    return CASES[n * 7 % 13] if slow and n // len(CASES) % SLOW_ROUNDS else (draw, options)


def missed(case: Case, options: dict[str, Any]) -> str:
    """What is wrong with a stop; nothing: it is where it should be."""
    motion = ap.simulate(case.system, case.start, case.until, case.parameters, stop=case.stop, **options)
    end = case.time is not None and abs(case.time) < abs(case.until)
    wanted = case.time if end else case.until
    scale = max(1.0, abs(wanted)) * max(1e-9, 1e4 * options.get("rtol", 0.0)) / case.slope
    if motion.status is not (ap.Status.STOPPED if end else ap.Status.OK) or abs(motion.t[-1] - wanted) > scale:
        return f"{motion.message}, not at t = {wanted}"
    return "" if motion.ok else f"doubts: {motion.doubts}"


def run_all(numbers: range) -> list[str]:
    """What is wrong with some random stops of all cases in turn."""
    found = []
    for n in numbers:
        draw, options = chosen(n)
        if text := missed(draw(np.random.default_rng(n)), options):
            found.append(f"{n}, {draw.__name__} {options}: {text}")
    return found


@family(count=len(CASES), sample=(0, 2, 14))
def stops_are_met(seed: int) -> None:
    """Five random stops of one case."""
    found = run_all(range(seed, seed + SLOW_ROUNDS * len(CASES), len(CASES)))
    assert not found, found


@family(count=12, sample=(0, 3))
def impacts_on_readings(seed: int) -> None:
    """A ball under a control falls for √(2h/g), and reaches the floor exactly at a reading: `stop=y` is met there."""
    rng = np.random.default_rng(seed)
    weight, e, readings = (8.0, 1.0, 5) if seed == 0 else (rng.uniform(1, 20), rng.choice([0, 0.5, 1.0]), rng.integers(1, 12))
    late = 0.5 if seed == 0 else rng.uniform(0.2, 2.0)
    push = ap.parameters("push")
    floor = ap.Unilateral(y, "floor", restitution=c)
    ball = ap.System([y], y.d**2 / 2, g * y, {y: push}, [floor])
    options = {"control": lambda t, q, v: {push: 0.0}, "rate": readings / late, "method": ("dop853", "dopri5")[seed % 2]}
    for stop in (y, ap.falling(y)):
        motion = ap.simulate(ball, {y: weight * late**2 / 2}, 4 * late, {g: weight, c: e}, stop=stop, **options)
        assert motion.status == ap.Status.STOPPED and abs(motion.t[-1] - late) < 1e-9 * late, (motion.message, late)
    motion = ap.simulate(ball, {y: weight * late**2 / 2}, 2 * late, {g: weight, c: e}, stop=ap.rising(y), **options)
    assert motion.status == ap.Status.OK, motion.message


@family(count=24, sample=(0, 1, 2))
def impacts_beside_other_events(seed: int) -> None:
    """A ball reaches its floor within 1e-15 to 1e-8 s of another impact, a break or a reading: `stop=` with its distance
    is met in either order of the two, and falling alone; a level that another ball passes then is crossed once."""
    rng = np.random.default_rng(seed)
    beside = ("wall", "break", "reading")[seed % 3]
    balls = {"wall": BALLS, "break": BROKEN, "reading": CONTROLLED}[beside]
    options: dict[str, Any] = {"method": ("dop853", "dopri5", "radau")[seed // 3 % 3], "backend": ("c", "vm")[seed // 9 % 2]}
    for _ in range(6):
        late, weight, e = rng.uniform(0.5, 2), rng.uniform(1, 20), rng.choice([0.0, 0.5, 1.0])
        apart = 10 ** rng.uniform(-15, -8) * rng.choice([1, -1]) * late
        start = {x: weight * (late + apart) ** 2 / 2, y: weight * late**2 / 2}
        options |= {"control": lambda time, q, v: {k: 0.0}, "rate": 1 / (late + apart)} if beside == "reading" else {}
        values = {g: weight, c: e, **({k: late + apart} if beside == "break" else {})}
        for stop in (y, ap.falling(y), ap.rising(y)):
            motion = ap.simulate(balls, start, 1.2 * late, values, stop=stop, **options)
            wanted = 1.2 * late if stop == ap.rising(y) else late
            assert abs(motion.t[-1] - wanted) < 1e-9 * late, (motion.message, late, apart, e)
        if beside != "wall":
            motion = ap.simulate(balls, start, 1.2 * late, values, **options)
            np.testing.assert_allclose(motion.crossings(x), [late + apart], rtol=1e-9)


def member(n: int) -> Outcome:
    found = run_all(range(n, n + 1))
    return wrong(found[0]) if found else right()


def main() -> int:
    """`python -m tests.families.stops COUNT [--share k/N]`"""
    parser = long_run(main.__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    given = parser.parse_args()
    return sweep(member, given.count, given)


if __name__ == "__main__":
    sys.exit(main())
