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


@family(count=len(MEMBERS), sample=(0, 1))
def modes_that_last_an_instant(seed: int) -> None:
    """What happens within a small part of a step is found, and the motion after it is right."""
    case, rng = MEMBERS[seed], np.random.default_rng(seed)
    at = 5.3 + rng.uniform(-0.3, 0.3)
    motion = ap.simulate(case.system(), case.start, until=END, parameters={T0: at, W: case.width}, **case.options)
    assert motion.ok, motion.message
    q = y if case.reference is _rises else x
    expected = case.reference(at, case.width)[0]
    missed = 3e-4 * (1 + abs(expected))  # by the reference
    assert abs(motion.final[q] - expected) <= missed, (motion.final[q], expected)
