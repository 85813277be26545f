"""What jumps at a known time: pulses, trains of pulses, belts, walls, potentials, against closed forms on every path."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
from sympy import Abs, Expr, Heaviside, Max, Min, Mod, Piecewise, Rational, ceiling, cos, exp, floor, lambdify, sign, sin, sqrt
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
t = ap.t
begins, lasts, push = ap.parameters("begins lasts push", positive=True)

PATHS = (("vm", "dop853"), ("c", "dop853"), ("c", "dopri5"), ("c", "taylor"), ("vm", "taylor"), ("vm", "dopri5"))


def pulse(kind: int, start: Any, length: Any, size: Any) -> Expr:
    """`size` between two times and nothing else, said in one of several ways."""
    end = start + length
    return [
        Piecewise((size, (t >= start) & (t < end)), (0, True)),
        size * (Heaviside(t - start) - Heaviside(t - end)),
        size * (sign(t - start) - sign(t - end)) / 2,
        Piecewise((0, t < start), (Piecewise((size, t < end), (0, True)), True)),
        size * Heaviside(length / 2 - Abs(t - start - length / 2)),
        size * Piecewise((1, Max(start - t, t - end) < 0), (0, True)),
        size * (1 - Min(1, Abs(floor((t - start) / length)))),
    ][kind % 7]  # fmt: skip


def pushed(size: float, start: float, length: float, time: float) -> tuple[float, float]:
    """x and ẋ of a unit mass at rest after a push."""
    going = min(max(time - start, 0.0), length)
    return size * going**2 / 2 + size * going * max(time - start - length, 0.0), size * going


def same(found: float, wanted: float, size: float, what: str) -> None:
    assert abs(found - wanted) <= 2e-8 * size, f"{what}: {found!r}, not {wanted!r}"


@family(count=24, sample=(0, 3))
def short_pulses(seed: int) -> None:
    """A short push far into a long quiet flight: x, ẋ in closed form, forwards and backwards."""
    draw = random.Random(seed)
    start, length, size = (50.0, 0.1, 1000.0) if seed == 0 else (
        10 ** draw.uniform(-2, 4), 10 ** draw.uniform(-5, 0), 10 ** draw.uniform(-3, 6)
    )  # fmt: skip
    end = start + length + (4.9 if seed == 0 else 10 ** draw.uniform(-1, 2))
    system = ap.System([x], x.d**2 / 2, forces={x: pulse(seed, Rational(start), Rational(length), Rational(size))})
    backend, method = PATHS[seed % len(PATHS)]
    motion = ap.simulate(system, {}, end, backend=backend, method=method)
    wanted = pushed(size, start, length, end)
    scale = abs(wanted[0]) + abs(wanted[1]) + 1e-7 * size * start  # a double has ε·start of a break
    assert motion.ok, motion.message
    same(motion[x][-1], wanted[0], scale, "x")
    same(motion[x.d][-1], wanted[1], scale, "x.d")
    back = ap.simulate(system, motion.final, 0.0, since=end, backend=backend, method=method)
    assert back.ok, back.message
    same(back[x][-1], 0.0, scale, "x before")
    same(back[x.d][-1], 0.0, scale, "x.d before")


@family(count=14, sample=(0, 5))
def trains(seed: int) -> None:
    """Pulses again and again, by `Mod`, `floor`, waves of sine: ẋ is the sum of the pushes."""
    draw = random.Random(seed)
    period, share = (2.0, 0.25) if seed == 0 else (10 ** draw.uniform(-2, 2), draw.uniform(0.05, 0.9))
    count, phase = draw.randint(3, 40), draw.uniform(-3, 3) * period
    T, d, p = (Rational(value) for value in (period, share * period, phase))
    waves = [
        Piecewise((1, Mod(t - p, T) < d), (0, True)),
        Heaviside(d - Mod(t - p, T)),
        floor((t - p) / T) - floor((t - p - d) / T),
        ceiling((t - p) / T) - ceiling((t - p - d) / T),
        Heaviside(d / T - ((t - p) / T - floor((t - p) / T))),
    ]
    system = ap.System([x], x.d**2 / 2, forces={x: waves[seed % len(waves)]})
    end = count * period
    backend, method = PATHS[seed % len(PATHS)]
    motion = ap.simulate(system, {}, end, backend=backend, method=method)
    assert motion.ok and len(motion.breaks) >= 2 * count - 1, (motion.message, len(motion.breaks))
    same(motion[x.d][-1], count * share * period, count * period, "x.d")
    if seed % 7 == 0:  # a square wave by a sine on a spring
        w = Rational(draw.uniform(0.2, 5))
        system = ap.System([x], x.d**2 / 2, forces={x: sign(sin(w * t))})
        motion = ap.simulate(system, {}, 4 * math.pi / float(w), backend=backend, method=method)
        same(motion[x.d][-1], 0.0, math.pi / float(w), "x.d after whole periods")


@family(count=12, sample=(0,))
def driven_oscillators(seed: int) -> None:
    """x″ + ω²x = a constant from stretch to stretch: the closed form is carried from break to break."""
    draw = random.Random(seed)
    omega = 1.0 if seed == 0 else 10 ** draw.uniform(-1, 1)
    times = sorted(draw.uniform(0, 20) for _ in range(1 + seed % 6))
    levels = [draw.uniform(-5, 5) for _ in range(len(times) + 1)]
    pieces = [(Rational(f), t < Rational(b)) for f, b in zip(levels, times, strict=False)]
    force = Piecewise(*pieces, (Rational(levels[-1]), True))
    system = ap.System([x], x.d**2 / 2, Rational(omega) ** 2 * x**2 / 2, forces={x: force})
    z, now = np.array([0.3, 0.0]), 0.0
    for f, b in zip(levels, [*times, 21.0], strict=True):
        c, s, rest = math.cos(omega * (b - now)), math.sin(omega * (b - now)), f / omega**2
        z, now = np.array([rest + (z[0] - rest) * c + z[1] * s / omega, -(z[0] - rest) * omega * s + z[1] * c]), b
    backend, method = PATHS[seed % len(PATHS)]
    grid = np.sort([*times, 0.0, *np.linspace(0.1, 20.9, 7), 21.0])  # breaks are among the times that are asked for
    motion = ap.simulate(system, {x: 0.3}, 21.0, backend=backend, method=method, times=grid)
    assert motion.ok, motion.message
    size = 0.3 + max(map(abs, levels)) / omega**2
    same(motion[x][-1], z[0], 10 * size, "x")
    same(motion[x.d][-1], z[1], 10 * size * omega, "x.d")


@family(count=12, sample=(0, 4))
def belts(seed: int) -> None:
    """A block on a belt whose speed jumps slides until it has caught up: x after the slide in closed form."""
    draw = random.Random(seed)
    first, second, mu, at = (1.0, 3.0, 0.3, 1.0) if seed == 0 else (
        draw.uniform(-2, 2), draw.uniform(-2, 2), draw.uniform(0.1, 1), draw.uniform(0.2, 30)
    )  # fmt: skip
    a, b, m, c = (Rational(value) for value in (first, second, mu, at))
    speed = [Piecewise((a, t < c), (b, True)), a + (b - a) * Heaviside(t - c), a + (b - a) * (1 + sign(t - c)) / 2][seed % 3]
    floor_ = ap.Constraint(y, "floor")
    given, value = (speed, {}) if seed % 2 == 0 else ((f := ap.prescribed("f")), {f: speed})
    friction = ap.Friction(x.d - given, normal=floor_, coefficient=m, name="belt")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[floor_, friction])
    slides = abs(second - first) / (10 * mu)
    end = at + slides + 1
    motion = ap.simulate(system, {x.d: first}, end, value, backend=("c", "vm")[seed % 2])
    assert motion.ok, motion.message
    assert [phase.state for phase in motion.phases] == ["stick", "slip", "stick"]
    same(motion[x][-1], first * at + (first + second) / 2 * slides + second, 1 + abs(at) + slides, "x")


@family(count=12, sample=(0, 1))
def walls(seed: int) -> None:
    """A body at rest, and a wall that starts to move: one blow, ẋ = (1 + e) times its speed. A wall that jumps is refused."""
    draw = random.Random(seed)
    e, speed, away, at = (0.5, 1.0, 0.0, 1.0) if seed == 0 else (
        draw.uniform(0, 1), 10 ** draw.uniform(-2, 2), draw.choice([0.0, draw.uniform(0, 3)]), draw.uniform(0.1, 40)
    )  # fmt: skip
    way = Rational(speed) * [Max(0, t - Rational(at)), (t - Rational(at)) * Heaviside(t - Rational(at)),
                             (Abs(t - Rational(at)) + t - Rational(at)) / 2][seed % 3]  # fmt: skip
    system = ap.System([x], x.d**2 / 2, constraints=[ap.Unilateral(x - way, name="wall", restitution=Rational(e))])
    backend = ("c", "vm")[seed % 2]
    meets = at + away / speed
    motion = ap.simulate(system, {x: away}, meets + 1, backend=backend)
    assert motion.ok, motion.message
    if e > 0.01:
        same(motion[x.d][-1], (1 + e) * speed, speed, "x.d")
        assert [impact.kind for impact in motion.impacts] == ["impact"] and abs(motion.impacts[0].time - meets) < 1e-8 * meets
    place = Piecewise((0, t < Rational(at)), (1, True))
    system = ap.System([x], x.d**2 / 2, constraints=[ap.Unilateral(x - place, name="wall")])
    assert ap.simulate(system, {x: 2}, at + 1, backend=backend).ok  # it is not there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, {x: 0.5}, at + 1, backend=backend)
    assert motion.status == ap.Status.JUMP and "'wall' jumps" in motion.message and abs(motion.t[-1] - at) < 1e-9 * at


@family(count=12, sample=(0, 2))
def potentials(seed: int) -> None:
    """A spring whose stiffness jumps with time: closed form, and an energy balance that knows the work of the jump."""
    draw = random.Random(seed)
    k1, k2, at = (1.0, 4.0, 1.0) if seed == 0 else (10 ** draw.uniform(-1, 2), 10 ** draw.uniform(-1, 2), draw.uniform(0.1, 30))
    k = Rational(k1) + Rational(k2 - k1) * Heaviside(t - Rational(at))
    system = ap.System([x], x.d**2 / 2, k * x**2 / 2, forces={x: 0 if seed % 2 else -Rational(1, 10**9) * x.d})
    backend, method = PATHS[seed % len(PATHS)]
    motion = ap.simulate(system, {x: 1}, at + 2, backend=backend, method=method)
    w1, w2 = math.sqrt(k1), math.sqrt(k2)
    here, speed = math.cos(w1 * at), -w1 * math.sin(w1 * at)
    wanted = here * math.cos(2 * w2) + speed / w2 * math.sin(2 * w2)
    assert motion.ok, motion.doubts
    assert abs(motion[x][-1] - wanted) < 1e-6 * (1 + w1 / w2)


@family(count=12, sample=(0, 4))
def ensembles(seed: int) -> None:
    """Each run of an ensemble has a pulse of its own: x and ẋ in closed form in lanes, in fixed steps, one by one."""
    draw = np.random.default_rng(seed)
    runs = 32
    start, length, size = (10 ** draw.uniform(low, high, runs) for low, high in ((-1, 3), (-4, 1), (-2, 4)))
    if seed == 0:
        start[:], length[:], size[:] = 50.0, 0.1, 1000.0
    how = [{}, {"method": "dop853"}, {"method": "taylor"}, {"method": "dopri5"}, {"step": 0.37}, {"backend": "vm"}][seed % 6]
    ends = start + length + draw.uniform(0.1, 5, runs)
    system = ap.System([x], x.d**2 / 2, forces={x: pulse(seed, begins, lasts, push)})
    made = ap.simulate_many(system, {x: np.zeros(runs)}, ends, {begins: start, lasts: length, push: size}, **how)
    assert made.attrs["path"].startswith("one by one" if "backend" in how else "lanes"), made.attrs["path"]
    for k in range(runs):
        wanted = pushed(size[k], start[k], length[k], ends[k])
        scale = abs(wanted[0]) + abs(wanted[1]) + 1e-7 * size[k] * start[k] * (1 + ends[k] - start[k])
        same(float(made["x"][k]), wanted[0], scale, f"x of run {k}")
        same(float(made["x_d"][k]), wanted[1], scale, f"x.d of run {k}")


@family(count=12, sample=(0, 1))
def located(seed: int) -> None:
    """Functions of time whose breaks cannot be read off are searched by bounds: ẋ against a sum over a million samples."""
    draw = random.Random(seed)
    a, b = (Rational(draw.uniform(0.5, 3)) for _ in range(2))
    forces = [
        1000 * Heaviside(sin(t) + sin(sqrt(2) * t) - Rational(199, 100)), floor(3 * sin(a * t)), sign(t**3 - 12 * a * t - b),
        Piecewise((1, t * exp(-t) > Rational(1, 3)), (0, True)), Abs(sin(t) + t / 10 - 1), Max(sin(a * t), cos(b * t)),
        Heaviside(sin(a * t**2)), Piecewise((1, sin(a * t) * exp(-t / 9) > Rational(1, 5)), (-1, True)),
        ceiling(2 * cos(a * t) + sin(b * t)), Heaviside(Abs(sin(a * t)) - Rational(1, 2)), Min(sin(a * t), Rational(1, 3)) ** 2,
        sign(sin(a * t) - t / 20),
    ]  # fmt: skip
    force, end = forces[seed % len(forces)], 60.0 if seed == 0 else 20.0
    backend, method = PATHS[seed % len(PATHS)]
    motion = ap.simulate(ap.System([x], x.d**2 / 2, forces={x: force}), {}, end, backend=backend, method=method)
    n = 1_000_000
    value = lambdify(t, force, ["numpy", {"Heaviside": lambda u, half=0.5: np.heaviside(u, half)}])
    known = np.broadcast_to(value((np.arange(n) + 0.5) * end / n), n)
    assert motion.ok and len(motion.breaks), motion.message
    most = np.abs(known).max() * (len(motion.breaks) + 1) * end / n  # a sample at each jump is on the wrong side, at most
    assert abs(motion[x.d][-1] - known.mean() * end) < most + 1e-6


@family(count=14, sample=(0, 2))
def regions(seed: int) -> None:
    """A force in a narrow region that is crossed at speed: v² = v₀² + 2 F (way inside), in one and two dimensions."""
    draw = random.Random(seed)
    narrow = -5 if seed % 7 < 4 else -2
    far, wide, v0 = (10 ** draw.uniform(low, high) for low, high in ((-1, 2), (narrow, 0), (-1, 2)))
    if seed == 0:
        far, wide, v0 = 0.5, 0.001, 2.0
    force = -500.0 * v0**2 / 2 / wide / 1000 if seed % 2 == 0 else 10 ** draw.uniform(-2, 3) * v0**2
    a, w, f = (Rational(value) for value in (far, wide, force))
    backend, method = ("c", "vm")[seed % 2], ("dop853", "dopri5")[seed % 3 == 1]
    if seed % 7 < 4:
        region = [
            Piecewise((f, (x > a) & (x < a + w)), (0, True)), f * (Heaviside(x - a) - Heaviside(x - a - w)),
            f * (sign(x - a) - sign(x - a - w)) / 2, f * Heaviside(w / 2 - Abs(x - a - w / 2)),
        ][seed % 4]  # fmt: skip
        system, inside, start = ap.System([x], x.d**2 / 2, forces={x: region}), wide, {x.d: v0}
    else:  # a disc of radius w, crossed beside its middle
        beside = draw.uniform(-0.9, 0.9) * wide
        region = Piecewise((f, (x - a) ** 2 + y**2 < w**2), (0, True))
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: region})
        inside, start = 2 * math.sqrt(wide**2 - beside**2), {x.d: v0, y: beside}
    end = 3 * (far + 2 * wide) / v0
    motion = ap.simulate(system, start, end, backend=backend, method=method)
    assert motion.ok and not motion.impacts, motion.message
    wanted = v0**2 + 2 * force * inside
    same(motion[x.d][-1] ** 2, wanted, v0**2 + abs(force) * inside * (1 + far / wide * 1e-7), "v²")
    made = ap.simulate_many(system, {key: np.full(2, value) for key, value in start.items()}, end)
    same(float(made["x_d"][0]) ** 2, wanted, v0**2 + abs(force) * inside * (1 + far / wide * 1e-7), "v² of an ensemble")
