"""Modes that end and begin again inside one step: short pulses, narrow dips of a coefficient, bumps on the way.

A body that sticks, rests or slides steadily is followed in long steps; what breaks it loose may last a thousandth of one. The
reference knows where that is: it integrates each member around that time in short steps, with friction as a relay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import exp, tanh
from tests.families.family import family

import appell as ap

x, y, u = ap.coordinates("x y u")
t = ap.t
T0, W = ap.parameters("T0 W", positive=True)
PULSE = exp(-(((t - T0) / W) ** 2))
"""A pulse of height 1 at T0."""
BUMP = exp(-(((x - T0) / W) ** 2))
"""The same along the way; a body that is carried with the speed 1 meets it at T0, too."""
G, END = 10.0, 10.0


def pulse(s: float, at: float, w: float) -> float:
    """The same in numbers."""
    return float(np.exp(-(((s - at) / w) ** 2)))


@dataclass(frozen=True)
class Short:
    """A system and its start; `reference`: (T0, W) → the coordinates at END; options of the run."""

    system: Callable[[], ap.System]
    start: dict[Any, float]
    reference: Callable[[float, float], np.ndarray]
    options: dict[str, Any] = field(default_factory=dict)
    width: float = 1e-3


def relay(force: Any, bound: Any, belt: Any, v: float, at: float, w: float) -> np.ndarray:
    """x at END of x.dd = force(t, x) − bound(t, x) sign(v − belt(t)), which sticks to the belt where it can; v at first."""
    coarse, fine = (_relay(force, bound, belt, v, at, w, count) for count in (4000, 8000))
    return np.array([2 * fine - coarse])  # the scheme is of first order


def _relay(force: Any, bound: Any, belt: Any, v: float, at: float, w: float, count: int) -> float:
    """Moreau's time stepping: impulses of friction are those that leave the least slip."""
    parts = (np.linspace(0, at - 7 * w, count), np.linspace(at - 7 * w, at + 7 * w, count), np.linspace(at + 7 * w, END, count))
    time, q = np.concatenate([parts[0], parts[1][1:], parts[2][1:]]).tolist(), 0.0
    for now, then in pairwise(time):
        h, middle = then - now, q + (then - now) * v / 2
        slip = v + h * force(now + h / 2, middle) - belt(then)
        rubs = h * bound(now + h / 2, middle)
        after = belt(then) + (slip - rubs if slip > rubs else slip + rubs if slip < -rubs else 0.0)
        q, v = q + h * (v + after) / 2, after
    return q


def flight(lift: float, at: float, w: float) -> np.ndarray:
    """y at END of a body on the floor, y.dd = lift·pulse − G, which lands without a bounce: in the air at END, or at rest."""
    begin = at - w * np.sqrt(np.log(lift / G))
    flow = lambda tau, z: [z[1], lift * pulse(tau, at, w) - G]
    ground = lambda tau, z: z[0] + (1e-14 if tau < at else 0.0)
    ground.terminal, ground.direction = True, -1  # type: ignore[attr-defined]
    found = solve_ivp(flow, (begin, at + 9 * w), [0.0, 0.0], rtol=1e-11, atol=1e-14, max_step=w / 10)
    found = solve_ivp(flow, (at + 9 * w, END), found.y[:, -1], rtol=1e-11, atol=1e-13, events=ground)
    return np.array([0.0 if found.status == 1 else found.y[0, -1], found.t[-1]])


SLIDES = ap.Constraint(y, name="track")


@cache
def pushed() -> ap.System:
    """A block with a brake under a pulse of force."""
    return ap.System([x], x.d**2 / 2, forces={x: 1 + 300 * PULSE}, constraints=[ap.Friction(x.d, limit=5, name="brake")])


def _pushed(at: float, w: float) -> np.ndarray:
    return relay(lambda s, q: 1 + 300 * pulse(s, at, w), lambda *_: 5.0, lambda _: 0.0, 0.0, at, w)


@cache
def lifted() -> ap.System:
    """A block on a track that is pulled along; what presses it on the track goes away for an instant."""
    rub = ap.Friction(x.d, normal=SLIDES, coefficient=0.5, name="rub")
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, forces={x: 4.5, y: 9.5 * PULSE}, constraints=[SLIDES, rub])


def _lifted(at: float, w: float) -> np.ndarray:
    load = lambda s, _: 0.5 * (G - 9.5 * pulse(s, at, w))
    return relay(lambda *_: 4.5, load, lambda _: 0.0, 0.0, at, w)


@cache
def carried() -> ap.System:
    """A block on a belt that runs over a slippery place, against the wind."""
    rub = ap.Friction(x.d - 1, normal=SLIDES, coefficient=0.5 - 0.49 * BUMP, name="rub")
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, forces={x: -4.9}, constraints=[SLIDES, rub])


def _carried(at: float, w: float) -> np.ndarray:
    mu = lambda _, q: G * (0.5 - 0.49 * pulse(q, at, w))
    return relay(lambda *_: -4.9, mu, lambda _: 1.0, 1.0, at, w)


@cache
def bumped() -> ap.System:
    """A block on a belt that runs up a step of potential energy."""
    return ap.System([x], x.d**2 / 2, tanh((x - T0) / W) / 5, constraints=[ap.Friction(x.d - 1, limit=5, name="belt")])


def _bumped(at: float, w: float) -> np.ndarray:
    pull = lambda _, q: -0.2 / w / np.cosh((q - at) / w) ** 2 if abs(q - at) < 99 * w else 0.0
    return relay(pull, lambda *_: 5.0, lambda _: 1.0, 1.0, at, w)


@cache
def jerked() -> ap.System:
    """A body that slides steadily on a belt which overtakes it for an instant."""
    return ap.System([x], x.d**2 / 2, forces={x: 2}, constraints=[ap.Friction(x.d - 3 * PULSE, limit=2, name="belt")])


def _jerked(at: float, w: float) -> np.ndarray:
    belt = lambda s: 3 * pulse(s, at, w)
    return relay(lambda *_: 2.0, lambda *_: 2.0, belt, 1.0, at, w)


@cache
def pressed() -> ap.System:
    """A body that slides in a guide, from one side of which it is thrown on the other for an instant."""
    rub = ap.Friction(x.d, normal=SLIDES, coefficient=0.5, name="rub")
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, forces={x: 5, y: 400 * PULSE}, constraints=[SLIDES, rub])


def _pressed(at: float, w: float) -> np.ndarray:
    load = lambda s, _: 0.5 * abs(400 * pulse(s, at, w) - G)
    return relay(lambda *_: 5.0, load, lambda _: 0.0, 3.0, at, w)


@cache
def rests() -> ap.System:
    """A body on the floor that is thrown up."""
    floor = ap.Unilateral(y, "floor", restitution=0)
    return ap.System([y], y.d**2 / 2, G * y, forces={y: 3000 * PULSE}, constraints=[floor])


@cache
def rests_and_rubs() -> ap.System:
    """The same, with friction at the floor."""
    floor = ap.Unilateral(y, "floor", restitution=0)
    rub = ap.Friction(x.d, normal=floor, coefficient=0.5, name="rub")
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=[floor, rub])


@cache
def puck() -> ap.System:
    """A pair of slips that a pulse along one of them breaks loose."""
    rub = ap.Friction([x.d, u.d], limit=5, name="sole")
    return ap.System([x, u], (x.d**2 + u.d**2) / 2, forces={x: 1 + 300 * PULSE}, constraints=[rub])


@cache
def train() -> ap.System:
    """Two wagons, the second of which holds by a far stronger brake: the first one is pushed."""
    brakes = [ap.Friction(x.d, limit=5, name="first"), ap.Friction(u.d, limit=500, name="second")]
    return ap.System([x, u], (x.d**2 + 7 * u.d**2) / 2, forces={x: 1 + 300 * PULSE}, constraints=brakes)


def _rises(at: float, w: float) -> np.ndarray:
    return flight(3000.0, at, w)[:1]


def feet(*places: float) -> list[ap.Unilateral]:
    """Of a bar at the height y, turned by u."""
    return [ap.Unilateral(y + place * u, f"foot {k}", restitution=0) for k, place in enumerate(places)]


@cache
def bench() -> ap.System:
    """A bar on three feet, whose reactions are not unique, that is thrown up."""
    return ap.System([y, u], (y.d**2 + u.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=feet(-1, 0, 1))


@cache
def leaning() -> ap.System:
    """The same with its weight beside the middle: reactions of least norm are not all of one sign."""
    return ap.System([y, u], (y.d**2 + u.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=feet(-1.8, -0.8, 0.2))


@cache
def table() -> ap.System:
    """A table on four legs in space: x and u are its tilts."""
    legs = [ap.Unilateral(y + a * x + b * u, f"leg {a} {b}", restitution=0) for a in (-1, 1) for b in (-2, 2)]
    return ap.System([x, y, u], (x.d**2 + y.d**2 + u.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=legs)


@cache
def guided_twice() -> ap.System:
    """A body on the floor with two rows that say the same."""
    rows = [ap.Constraint(x, name="guide"), ap.Constraint(2 * x, name="guide again")]
    floor = ap.Unilateral(y, "floor", restitution=0)
    return ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=[*rows, floor])


@cache
def rubbing_bench() -> ap.System:
    """A bar on three feet that rub, thrown up."""
    floor = feet(-1, 0, 1)
    rubs = [ap.Friction(x.d, normal=foot, coefficient=0.5, name=f"rub {k}") for k, foot in enumerate(floor)]
    return ap.System([x, y, u], (x.d**2 + y.d**2 + u.d**2) / 2, G * y, forces={y: 3000 * PULSE}, constraints=[*floor, *rubs])


@cache
def pushed_bench() -> ap.System:
    """A bar on two feet that stick, pushed along: how they share the push is open."""
    floor = feet(-1, 1)
    rubs = [ap.Friction(x.d, normal=foot, coefficient=0.5, name=f"rub {k}") for k, foot in enumerate(floor)]
    force = {x: 1 + 300 * PULSE}
    return ap.System([x, y, u], (x.d**2 + y.d**2 + u.d**2) / 2, G * y, forces=force, constraints=[*floor, *rubs])


def groove(along: Any, across: Any = 0, belt: Any = 0) -> ap.System:
    """A body in a groove, two sides of which press on it with 6 and 8 less `across` of that: friction on their resultant."""
    sides = [SLIDES, ap.Constraint(u, name="other side")]
    rub = ap.Friction(x.d - belt, normal=sides, coefficient=0.5, name="rub")
    force = {x: along, y: 6 * across, u: 8 * across}
    return ap.System([x, y, u], (x.d**2 + y.d**2 + u.d**2) / 2, 6 * y + 8 * u, forces=force, constraints=[*sides, rub])


@cache
def pushed_in_groove() -> ap.System:
    """A push that breaks it loose."""
    return groove(1 + 300 * PULSE)


@cache
def lifted_in_groove() -> ap.System:
    """What presses it into the groove goes away for an instant."""
    return groove(4.5, 0.95 * PULSE)


@cache
def jerked_in_groove() -> ap.System:
    """The groove moves, and overtakes it for an instant."""
    return groove(5, belt=3 * PULSE)


def _jerked_in_groove(at: float, w: float) -> np.ndarray:
    return relay(lambda *_: 5.0, lambda *_: 5.0, lambda s: 3 * pulse(s, at, w), 1.0, at, w)


MEMBERS = (
    Short(pushed, {}, _pushed),
    Short(rests, {}, _rises, width=1e-2),
    Short(pushed, {}, _pushed, {"backend": "vm"}),
    Short(lifted, {}, _lifted, width=3e-2),
    Short(carried, {x.d: 1.0}, _carried, width=1e-2),
    Short(bumped, {x.d: 1.0}, _bumped),
    Short(jerked, {x.d: 1.0}, _jerked, width=1e-2),
    Short(pressed, {x.d: 3.0}, _pressed, width=1e-2),
    Short(rests, {}, _rises, {"backend": "vm"}, width=1e-2),
    Short(rests_and_rubs, {}, _rises, width=1e-2),
    Short(puck, {}, _pushed),
    Short(train, {}, _pushed),
    Short(rests, {}, _rises, {"method": "taylor"}, width=1e-2),
    Short(lifted, {}, _lifted, {"backend": "vm"}, width=3e-2),
    Short(jerked, {x.d: 1.0}, _jerked, {"backend": "vm"}, width=1e-2),
    Short(rests, {}, _rises, {"rtol": 1e-6, "atol": 1e-9}, width=1e-2),
)
SHARED = (
    Short(rests, {}, _rises, {"lanes": True}, width=1e-2),
    Short(bench, {}, _rises, width=1e-2),
    Short(guided_twice, {}, _rises, width=1e-2),
    Short(pushed_bench, {}, _pushed, width=1e-2),
    Short(rubbing_bench, {}, _rises, width=1e-2),
    Short(leaning, {}, _rises, width=1e-2),
    Short(table, {}, _rises, width=1e-2),
    Short(bench, {}, _rises, {"backend": "vm"}, width=1e-2),
    Short(guided_twice, {}, _rises, {"backend": "vm"}, width=1e-2),
    Short(bench, {}, _rises, {"lanes": True}, width=1e-2),
    Short(bench, {}, _rises, {"method": "taylor"}, width=1e-2),
    Short(rests, {}, _rises, {"lanes": True, "method": "dopri5"}, width=2e-3),
    Short(leaning, {}, _rises, {"backend": "vm"}, width=1e-2),
    Short(rubbing_bench, {}, _rises, {"lanes": True}, width=1e-2),
    Short(pushed_in_groove, {}, _pushed),
    Short(lifted_in_groove, {}, _lifted, width=3e-2),
    Short(jerked_in_groove, {x.d: 1.0}, _jerked_in_groove, width=1e-2),
    Short(pushed_in_groove, {}, _pushed, {"backend": "vm"}),
    Short(lifted_in_groove, {}, _lifted, {"rtol": 1e-6, "atol": 1e-9}, width=3e-2),
)
"""In lanes, where reactions are not unique, and where they stand in the law of friction."""


@family(count=len(MEMBERS), sample=(0, 1))
def modes_that_last_an_instant(seed: int) -> None:
    """What happens within a small part of a step is found, and the motion after it is right."""
    _judge(MEMBERS[seed], seed)


@family(count=len(SHARED), sample=(0,))
def contacts_that_end_for_an_instant(seed: int) -> None:
    """The same in lanes, and of contacts whose reactions are not unique: benches, tables, rows said twice."""
    _judge(SHARED[seed], seed)


STEEP = tuple(
    Short(system, {}, reference, options, width=width)
    for width in (2e-5, 1e-5, 4e-5)
    for system, reference, options in (
        (rests_and_rubs, _rises, {}), (pushed, _pushed, {}), (rubbing_bench, _rises, {}),
        (bench, _rises, {"corner": "together"}), (rests_and_rubs, _rises, {"backend": "vm"}),
    )
)  # fmt: skip
"""Pulses so short that a reaction changes by more than its noise between neighbouring times."""


@family(count=len(STEEP), sample=(0,))
def reactions_that_fall_steeply(seed: int) -> None:
    """The nearest time before a reaction falls through zero finds it above: the mode ends all the same."""
    _judge(STEEP[seed], 100 + seed)


def _judge(case: Short, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at, q = 5.3 + rng.uniform(-0.3, 0.3), y if case.reference is _rises else x
    if case.options.get("lanes"):
        options = {key: value for key, value in case.options.items() if key != "lanes"}
        times = at + np.linspace(0, 0.2, 5)
        found = ap.simulate_many(case.system(), {q: np.zeros(5)}, END, {T0: times, W: case.width}, **options)
        assert (found["status"] == 0).all()
        ends = [(float(a), float(b)) for a, b in zip(times, np.asarray(found[str(q)]), strict=True)]
    else:
        motion = ap.simulate(case.system(), case.start, until=END, parameters={T0: at, W: case.width}, **case.options)
        assert motion.ok, motion.message
        ends = [(at, motion.final[q])]
    for time, end in ends:
        expected = case.reference(time, case.width)[0]
        missed = 3e-4 * (1 + abs(expected))  # by the reference
        assert abs(end - expected) <= missed, (end, expected)
