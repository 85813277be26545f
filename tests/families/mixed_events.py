"""Resets, walls, friction, pulses and a state of first order in one system, on every path, against SciPy from event to event.

    ẍ = F(t) + b s − k x + R,  |R| <= μ,    ṡ = 1 + x/5 − c s,    wall x <= L,    reset at a level of s: s → 0, ẋ → ẋ + kick

The reference knows this equation alone. It integrates one mode with DOP853 to the first zero of its own guards.
In some systems F has a part that acts in a strip of places alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import Piecewise
from tests.families.family import family

import appell as ap

x, s = ap.coordinates("x"), ap.states("s")
NAMES = ("mu", "k", "L", "e", "begins", "ends", "F", "level", "kick", "c", "b", "G", "first", "last")
P = dict(zip(NAMES, ap.parameters(" ".join(NAMES)), strict=True))
KINDS = ("RW", "RT", "PRWT", "PTW", "PR", "PRW", "RTW", "TW")
"""Parts of a system: a reset, a wall, friction (T), a pulse; a strip of places with a force (N)."""
SHORT = ("PRW", "NRW", "PNRW", "NW")
UNTIL, FREE = 3.0, 2


def system_of(parts: str) -> ap.System:
    force = Piecewise((P["F"], (ap.t >= P["begins"]) & (ap.t < P["ends"])), (0, True)) if "P" in parts else 0
    force += Piecewise((P["G"], (x > P["first"]) & (x < P["last"])), (0, True)) if "N" in parts else 0
    table = {
        "T": ap.Friction(x.d, limit=P["mu"], name="pad"),
        "W": ap.Unilateral(P["L"] - x, "wall", P["e"]),
        "R": ap.Reset(P["level"] - s, {s: 0, x.d: x.d + P["kick"]}, name="spark"),
    }
    rows = [table[part] for part in parts if part in table]
    return ap.System([x], x.d**2 / 2, P["k"] * x**2 / 2, {x: force + P["b"] * s}, rows, rates={s: 1 + x / 5 - P["c"] * s})


def drawn(rng: np.random.Generator) -> tuple[dict[str, float], np.ndarray]:
    """Parameters and a start (x, ẋ, s)."""
    u = rng.uniform
    p = {"mu": u(0.1, 1.5), "k": u(0.2, 6), "L": u(0.3, 1.2), "e": float(rng.choice([0.3, 0.7, 1.0])), "begins": u(0.2, 2)}
    p |= {"ends": p["begins"] + 10 ** u(-2, 0), "F": u(-6, 6), "level": u(0.3, 0.9), "kick": u(-2.5, 2.5), "c": u(0, 0.5)}
    p["b"] = float(rng.choice([0.0, u(-3, 3)]))
    return p, np.array([u(-0.5, 0.2), 1.5 * rng.normal(), u(0, 0.2)])


class Reference:
    """States (x, ẋ, s) from event to event; modes: the sign of the slip, 0 where it sticks, FREE without friction."""

    def __init__(self, parts: str, p: dict[str, float]):
        self.parts, self.p, self.mu, self.within = parts, p, p["mu"] if "T" in parts else 0.0, False

    def push(self, t: float, z: np.ndarray) -> float:
        p = self.p
        pulse = p["F"] if "P" in self.parts and p["begins"] <= t < p["ends"] else 0.0
        return pulse + (p["G"] if self.within else 0.0) - p["k"] * z[0] + p["b"] * z[2]

    def mode(self, t: float, z: np.ndarray) -> int:
        if "T" not in self.parts:
            return FREE
        slip = z[1] if abs(z[1]) > 1e-13 else 0.0 if abs(self.push(t, z)) <= self.mu else self.push(t, z)
        return int(np.sign(slip))

    def guards(self, t0: float, z0: np.ndarray, mode: int, inside: float) -> dict[str, Any]:
        """Name → function of (t, z) that falls through zero; a slip that begins is divided by the time."""
        p, found = self.p, {}
        a0 = mode * self.push(inside, z0) - self.mu
        if mode in (1, -1):
            begins = abs(z0[1]) < 1e-12
            found["stop"] = lambda t, z: (mode * z[1] / (t - t0) if t > t0 else a0) if begins else mode * z[1]
        if mode == 0:
            found["break"] = lambda t, z: self.mu - abs(self.push(inside, z))
        if "W" in self.parts:  # after a blow it is on the wall, by rounding
            found["wall"] = lambda t, z: p["L"] - z[0] if t > t0 + 1e-12 else 1.0
        if "R" in self.parts:
            found["reset"] = lambda t, z: p["level"] - z[2]
        if "N" in self.parts:  # each edge by itself: a step across the strip changes the sign of one of them
            for name in ("first", "last"):
                side = 1.0 if z0[0] + 1e-9 * z0[1] > p[name] else -1.0
                found[name] = lambda t, z, name=name, side=side: side * (z[0] - p[name]) if t > t0 + 1e-12 else 1.0
        for guard in found.values():
            guard.terminal, guard.direction = True, -1
        return found

    def step(self, t: float, z: np.ndarray) -> tuple[float, np.ndarray]:
        """To the next event, break or end, and across it."""
        p, stops = self.p, [self.p["begins"], self.p["ends"], UNTIL]
        end = min(b for b in stops if b > t + 1e-12)
        inside = (t + end) / 2  # the pulse of this piece
        self.within = "N" in self.parts and p["first"] < z[0] + 1e-9 * z[1] < p["last"]
        mode = self.mode(inside, z)
        slows = 0.0 if mode in (0, FREE) else -self.mu * mode
        held = float(mode != 0)
        f = lambda _, y: [held * y[1], held * (self.push(inside, y) + slows), 1 + y[0] / 5 - p["c"] * y[2]]
        guards = self.guards(t, z, mode, inside)
        longest = 0.02
        if self.within:  # no step may cross the strip and turn beyond it
            wide = p["last"] - p["first"]
            longest = 0.1 * wide / (abs(z[1]) + np.sqrt(2 * abs(p["G"]) * wide))
        path = solve_ivp(f, (t, end), z, "DOP853", rtol=1e-12, atol=1e-14, events=list(guards.values()), max_step=longest)
        t, z = float(path.t[-1]), path.y[:, -1].copy()
        what = next((name for name, hits in zip(guards, path.t_events or [], strict=False) if len(hits)), "")
        if what == "stop":
            z[1] = 0.0
        elif what == "break":
            z[1] = 2e-13 * np.sign(self.push(inside, z))
        elif what == "wall":
            z[0], z[1] = p["L"] - 1e-15, -p["e"] * z[1]
        elif what == "reset":
            z[2], z[1] = 0.0, z[1] + p["kick"]
        return t, z

    def run(self, z: np.ndarray, most: int = 200) -> np.ndarray | None:
        """The state at the end; None where impacts accumulate, which is not followed here."""
        t = 0.0
        for _ in range(most):
            if t >= UNTIL - 1e-12:
                return z
            t, z = self.step(t, z)
        return None


@family(count=32, sample=(2,))
def events_of_all_kinds(seed: int) -> None:
    """Four random motions of a kind, as single runs and as an ensemble."""
    rng, parts = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    compare(parts, [drawn(rng) for _ in range(4)], "vm" if seed // len(KINDS) == 3 else "c")


@family(sample=(1,))
def events_shorter_than_a_step(seed: int) -> None:
    """Flights without forces, whose steps are long, but for a blow of a millisecond or a strip of a millimetre."""
    rng, parts = np.random.default_rng(seed), SHORT[seed % len(SHORT)]
    compare(parts, [sudden(*drawn(rng), rng) for _ in range(4)], "vm" if seed // len(SHORT) == 2 else "c")


def sudden(p: dict[str, float], z: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, float], np.ndarray]:
    """The same without forces but a pulse and a strip, both short and strong."""
    brief, narrow, push = 10 ** rng.uniform(-4, -2), 10 ** rng.uniform(-4, -2), rng.uniform(0.2, 1)
    p = {**p, "k": 0.0, "b": 0.0, "ends": p["begins"] + brief, "F": -push / brief, "G": 2 * push / narrow}
    p["first"] = rng.uniform(0.2, 0.25)
    return {**p, "last": p["first"] + narrow}, np.array([-0.3, rng.uniform(0.8, 2), z[2]])


def compare(parts: str, cases: list[Any], backend: str) -> None:
    """Motions against the reference, in an ensemble and one by one; a single one on the evaluator, which is slow."""
    system = system_of(parts)
    pairs = [(case, end) for case in cases if (end := Reference(parts, case[0]).run(case[1])) is not None]
    wanted = np.array([end for _, end in pairs])
    starts = dict(zip((x, x.d, s), np.array([z for (_, z), _ in pairs]).T, strict=True))
    values = {symbol: np.array([p[str(symbol)] for (p, _), _ in pairs]) for symbol in system.parameters}
    options = {"rtol": 1e-10, "atol": 1e-12}
    many = ap.simulate_many(system, starts, UNTIL, values, **options)
    assert many.ok
    assert np.abs(np.stack([many[name] for name in ("x", "x_d", "s")], axis=1) - wanted).max(initial=0.0) < 1e-6
    for i, end in enumerate(wanted):
        if i and backend == "vm":
            break
        start, numbers = ({key: float(column[i]) for key, column in table.items()} for table in (starts, values))
        motion = ap.simulate(system, start, UNTIL, numbers, backend=backend, **options)
        assert motion.ok, (motion.message, motion.doubts)
        assert np.abs(np.array([motion.final[z] for z in (x, x.d, s)]) - end).max() < 1e-6, (i, motion.final, end)


y = ap.coordinates("y")
ground = ap.Constraint(y, "ground")
KINETIC = (x.d**2 + y.d**2) / 2
PATCH = ap.System(
    [x, y], KINETIC, 10 * y,
    constraints=[ground, ap.Friction(x.d, normal=ground, coefficient=Piecewise((P["mu"], x < 1), (P["c"], True)), name="rub")],
)  # fmt: skip
HILL = ap.System(
    [x, y], KINETIC, 10 * y, constraints=[ap.Unilateral(y - Piecewise((0, x < 1), (-P["k"] * (x - 1) ** 2 / 2, True)), "floor")]
)


@family(sample=(0,))
def floors_that_change_at_a_place(seed: int) -> None:
    """A block comes to rest beyond a change of the coefficient, 1 + (v² − 20 μ₁)/(20 μ₂); a bead leaves a floor that bends
    down with the curvature k where k v² > 10, and stays on it where that is less: each in single runs and in an ensemble."""
    rng, backend = np.random.default_rng(seed), ("c", "vm")[seed % 2]
    v, first, second = rng.uniform(3, 5, 3), rng.uniform(0, 0.4, 3), rng.uniform(0.1, 0.9, 3)
    wanted = 1 + (v**2 - 20 * first) / (20 * second)
    values = {P["mu"]: first, P["c"]: second}
    assert np.abs(ap.simulate_many(PATCH, {x.d: v}, 20.0, values)["x"] - wanted).max() < 1e-6
    one = ap.simulate(PATCH, {x.d: v[0]}, 20.0, {key: value[0] for key, value in values.items()}, backend=backend)
    assert one.ok and abs(one.final[x] - wanted[0]) < 1e-6
    bend = 10 / v**2 * rng.choice([0.5, 1.5], 3)
    ends = ap.simulate_many(HILL, {x.d: v}, 1 / v + 0.2, {P["k"]: bend}).dataset
    flies = bend * v**2 > 10
    on_floor = -bend * (ends.x.values - 1) ** 2 / 2
    assert np.abs(np.where(flies, ends.y.values + 0.2, ends.y.values - on_floor)).max() < 1e-7
    one = ap.simulate(HILL, {x.d: v[0]}, 1 / v[0] + 0.2, {P["k"]: bend[0]}, backend=backend)
    assert one.ok and abs(one.final[y] - ends.y.values[0]) < 1e-6 and abs(one.final[x] - ends.x.values[0]) < 1e-6
