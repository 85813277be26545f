"""Forces that jump or bend with positions and velocities: located on every path, against closed forms; where both sides push
onto the place the run stops there and says what to use."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from sympy import Abs, Expr, Heaviside, Max, Min, Piecewise, Rational, cos, floor, sign, sin, sqrt
from tests.families.family import family

import appell as ap

x, y = ap.coordinates("x y")
t = ap.t

PATHS = (("c", "dop853"), ("vm", "dop853"), ("c", "taylor"), ("vm", "dopri5"), ("c", "dopri5"), ("vm", "taylor"))


def close(found: Any, wanted: float, size: float, what: str, share: float = 1e-8) -> None:
    assert abs(float(found) - wanted) <= share * size, f"{what}: {float(found)!r}, not {wanted!r}"


def signed(kind: int, u: Any) -> Expr:
    """sign(u), said in one of several ways."""
    return [
        sign(u), 2 * Heaviside(u) - 1, Piecewise((1, u > 0), (-1, True)), Piecewise((-1, u < 0), (1, True)),
        Piecewise((1, Max(u, -1) > 0), (-1, True)), Piecewise((1, u >= 0), (-1, True)),
    ][kind % 6]  # fmt: skip


def stopped(motion: Any, at: float, what: str) -> None:
    """The run ended where both sides push, and says what to use."""
    assert motion.status == ap.Status.JUMP and "ap.Friction" in motion.message, (motion.status, motion.message)
    close(motion.t[-1], at, 1 + abs(at), what)


def quietly(*args: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.simulate(*args, **how)


@family(count=18, sample=(0, 2))
def friction_by_hand(seed: int) -> None:
    """m ẍ + k x = −f sign ẋ: |x| falls by 2f/k each half period, and the body stops where |x| < f/k."""
    draw = random.Random(seed)
    m, k, f = (1.0, 1.0, 0.1) if seed == 0 else (10 ** draw.uniform(-2, 2) for _ in range(3))
    a = 3.0 if seed == 0 else f / k * draw.uniform(3, 12)
    mass, stiff, dry = (Rational(value) for value in (m, k, f))
    system = ap.System([x], mass * x.d**2 / 2, stiff * x**2 / 2, forces={x: -dry * signed(seed, x.d)})
    half, (backend, method) = math.pi * math.sqrt(m / k), PATHS[seed % len(PATHS)]
    sticks = math.ceil((a * k / f - 1) / 2 - 1e-9)  # half periods until it stays
    until = (sticks - 0.5) * half
    motion = ap.simulate(system, {x: a}, until, backend=backend, method=method)
    rest = (-1) ** (sticks - 1) * (a - 2 * (sticks - 1) * f / k)
    centre = math.copysign(f / k, rest)
    assert motion.ok, motion.message
    close(motion[x][-1], centre, a, "x")
    close(motion[x.d][-1], -(rest - centre) * math.sqrt(k / m), a * math.sqrt(k / m), "x.d")
    stopped(quietly(system, {x: a}, 3 * sticks * half, backend=backend, method=method), sticks * half, "time of sticking")
    made = ap.simulate_many(system, {x: np.full(2, a)}, until, method=method)
    close(made["x"][1], centre, a, "x of an ensemble")


@family(count=14, sample=(0, 3))
def regions_everywhere(seed: int) -> None:
    """A force in a narrow region beside walls, friction and rows, by series, in fixed steps, backwards: v² by its work."""
    draw = random.Random(seed)
    ranges = ((-1, 1), (-4, -1), (-1, 1))
    far, wide, v0 = (0.5, 0.001, 2.0) if seed == 0 else (10 ** draw.uniform(low, high) for low, high in ranges)
    force = draw.uniform(-0.3, 0.4) * v0**2 / wide
    a, w, f = (Rational(value) for value in (far, wide, force))
    region = [
        Piecewise((f, (x > a) & (x < a + w)), (0, True)), f * (Heaviside(x - a) - Heaviside(x - a - w)),
        f * (sign(x - a) - sign(x - a - w)) / 2, f * Heaviside(w / 2 - Abs(x - a - w / 2)),
        f * (1 - Min(1, Abs(floor(Max(-2, Min(2, (x - a) / w)))))),
    ][seed % 5]  # fmt: skip
    backend, method = PATHS[seed % len(PATHS)]
    how: dict[str, Any] = {"backend": backend, "method": method}
    kind = seed % 7
    after = v0**2 + 2 * force * wide
    if kind == 0:  # a wall behind it
        e, at = draw.uniform(0.6, 1), far + wide + 10 ** draw.uniform(-1, 1)
        system = ap.System([x], x.d**2 / 2, forces={x: region},
                           constraints=[ap.Unilateral(Rational(at) - x, restitution=Rational(e), name="wall")])  # fmt: skip
        end = far / v0 + 2 * wide / min(v0, math.sqrt(after)) + (at - far) / math.sqrt(after)
        back = e**2 * after - 2 * force * wide
        motion = ap.simulate(system, {x.d: v0}, end + 0.5 * (at - far - wide) / (e * math.sqrt(after)), **how)
        close(motion[x.d][-1] ** 2, e**2 * after, v0**2 + abs(after), "v² after the wall")
        if back > 0.01 * v0**2:
            end += (at - far - wide) / (e * math.sqrt(after)) + 2 * wide / min(e * math.sqrt(after), math.sqrt(back))
            motion = ap.simulate(system, {x.d: v0}, end + 0.1 * far / math.sqrt(back), **how)
            close(motion[x.d][-1] ** 2, back, v0**2 + abs(after), "v² after the way back")
    elif kind == 1:  # friction all along
        floor_ = ap.Constraint(y, "floor")
        mu = 0.05 * v0**2 / 20 / (far + wide)
        rub = ap.Friction(x.d, normal=floor_, coefficient=Rational(mu), name="rub")
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, forces={x: region}, constraints=[floor_, rub])
        motion = ap.simulate(system, {x.d: v0}, 1.2 * (far + 2 * wide) / v0, backend=backend)
        close(motion[x.d][-1] ** 2, after - 20 * mu * float(motion[x][-1]), v0**2 + abs(after), "v²")
    elif kind == 2:  # backwards
        system, end = ap.System([x], x.d**2 / 2, forces={x: region}), 2 * (far + wide) / v0
        motion = ap.simulate(system, {x: far + 2 * wide, x.d: v0}, -end, **how)
        close(motion[x.d][-1] ** 2, v0**2 - 2 * force * wide, v0**2 + abs(after), "v²")
    elif kind == 3:  # a bead on a line, with a row
        system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: 2 * region}, constraints=[y - x])
        motion = ap.simulate(system, {x.d: v0, y.d: v0}, 1.2 * (far + 2 * wide) / v0, **how)
        close(motion[x.d][-1] ** 2, after, v0**2 + abs(after), "v²")
    elif kind == 4:  # fixed steps
        system = ap.System([x], x.d**2 / 2, forces={x: region})
        motion = ap.simulate(system, {x.d: v0}, 1.2 * (far + 2 * wide) / v0, step=0.3 * far / v0, **how)
        close(motion[x.d][-1] ** 2, after, v0**2 + abs(after), "v²")
    elif kind == 5:  # in pseudo-velocities
        system = ap.System([x], x.d**2 / 2, forces={x: region})
        motion = ap.simulate(system, {x.d: v0}, 1.2 * (far + 2 * wide) / v0, pseudo={"w": 3 * x.d}, **how)
        close(motion[x.d][-1] ** 2, after, v0**2 + abs(after), "v²")
    else:  # together with a break of time
        late = Rational(far / v0 / 2)
        system = ap.System([x], x.d**2 / 2, forces={x: region + Piecewise((f, (t > late) & (t < late + w)), (0, True))})
        motion = ap.simulate(system, {x.d: v0}, 2 * (far + 2 * wide) / v0, **how)
        push = force * wide
        close(motion[x.d][-1] ** 2, (v0 + push) ** 2 + 2 * force * wide, v0**2 + (abs(push) + v0) ** 2, "v²", 1e-7)
    assert motion.ok, motion.message


@family(count=14, sample=(0, 2))
def thresholds_of_speed(seed: int) -> None:
    """A gear that changes with the speed, ẍ = a below v₁ and b above it: v and x in closed form; and by the ensemble."""
    draw = random.Random(seed)
    a, b, v1 = (2.0, 0.5, 3.0) if seed == 0 else (10 ** draw.uniform(-1, 1) for _ in range(3))
    A, B, V = (Rational(value) for value in (a, b, v1)) if seed % 4 == 0 else ap.parameters("A B V", positive=True)
    values = {} if seed % 4 == 0 else {A: a, B: b, V: v1}
    gear = [
        Piecewise((A, x.d < V), (B, True)), A + (B - A) * Heaviside(x.d - V), Piecewise((B, x.d**2 > V**2), (A, True)),
        (A + B) / 2 + (B - A) / 2 * sign(x.d - V), Piecewise((A, Abs(x.d) < V), (B, True)),
        A + (B - A) * Min(1, floor(x.d / V)), Piecewise((A, sqrt(x.d**2 + y.d**2) < V), (B, True)),
    ][seed % 7]  # fmt: skip
    shift, rest = v1 / a, 0.9 * v1 / b  # floor(v/v1) is one until 2 v1
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={x: gear})
    backend, method = PATHS[seed % len(PATHS)]
    end = shift + rest
    motion = ap.simulate(system, {}, end, values, backend=backend, method=method)
    assert motion.ok, motion.message
    close(motion[x.d][-1], v1 + b * (end - shift), v1, "x.d")
    close(motion[x][-1], a * shift**2 / 2 + v1 * (end - shift) + b * (end - shift) ** 2 / 2, v1 * end, "x")
    made = ap.simulate_many(system, {x.d: np.array([0.0, 0.5 * v1])}, end, values)
    close(made["x_d"][0], v1 + b * (end - shift), v1, "x.d of an ensemble")
    if seed % 7 != 5:
        close(made["x_d"][1], v1 + b * (end - shift / 2), 2 * v1 + b * shift, "x.d of an ensemble")


@family(count=14, sample=(0, 1))
def bent_forces(seed: int) -> None:
    """Springs of two stiffnesses and quadratic drag bend at zero: passed to the accuracy that is asked for, in few steps."""
    draw = random.Random(seed)
    backend, method = PATHS[seed % len(PATHS)]
    if seed % 2 == 0:
        k1, k2 = (1.0, 4.0) if seed == 0 else (10 ** draw.uniform(-1, 1) for _ in range(2))
        a, b = Rational((k1 + k2) / 2), Rational((k1 - k2) / 2)
        spring = [
            a * x + b * Abs(x), Rational(k1) * Max(x, 0) + Rational(k2) * Min(x, 0),
            Piecewise((Rational(k1) * x, x > 0), (Rational(k2) * x, True)),
        ][seed // 2 % 3]  # fmt: skip
        system, periods = ap.System([x], x.d**2 / 2, forces={x: -spring}), 3
        end = periods * math.pi * (1 / math.sqrt(k1) + 1 / math.sqrt(k2))
        motion = ap.simulate(system, {x: 1}, end, backend=backend, method=method, rtol=1e-12, atol=1e-14)
        close(motion[x][-1], 1.0, 1.0, "x after whole periods", 1e-10)
        close(motion[x.d][-1], 0.0, math.sqrt(k1 + k2), "x.d after whole periods", 1e-9)
        most = 2500 if method == "dopri5" else 300
    else:
        g, c = (10 ** draw.uniform(-1, 1) for _ in range(2))
        end_speed = math.sqrt(g / c)
        v0 = end_speed * draw.uniform(0.3, 3)
        drag = [c * x.d * Abs(x.d), c * x.d**2 * sign(x.d), c * x.d * Max(x.d, -x.d)][seed // 2 % 3]
        system = ap.System([x], x.d**2 / 2, Rational(g) * x, forces={x: -drag})
        up = end_speed / g * math.atan(v0 / end_speed)
        end = up + draw.uniform(0.3, 1.5) * end_speed / g
        motion = ap.simulate(system, {x.d: v0}, end, backend=backend, method=method, rtol=1e-12, atol=1e-14)
        close(motion[x.d][-1], -end_speed * math.tanh(g * (end - up) / end_speed), end_speed, "x.d", 1e-10)
        top = end_speed**2 / (2 * g) * math.log(1 + (v0 / end_speed) ** 2)
        fall = end_speed**2 / g * math.log(math.cosh(g * (end - up) / end_speed))
        close(motion[x][-1], top - fall, top, "x", 1e-10)
        most = 2500 if method == "dopri5" else 300
    assert motion.ok and motion.statistics["steps"] < most, (motion.message, motion.statistics["steps"])
    assert motion.statistics["rejected"] <= 4, motion.statistics  # a step that ends at a bend is not refused; across one it is


@family(count=14, sample=(0, 3))
def both_sides_push(seed: int) -> None:
    """Relays, belts and brakes by hand end where the motion would slide along the jump: never a chatter, never an answer."""
    draw = random.Random(seed)
    backend, method = PATHS[seed % len(PATHS)]
    how: dict[str, Any] = {"backend": backend, "method": method}
    kind = seed % 7
    if kind == 0:  # a brake
        v0, f = (3.0, 2.0) if seed == 0 else (10 ** draw.uniform(-1, 1) for _ in range(2))
        system, start, at = ap.System([x], x.d**2 / 2, forces={x: -Rational(f) * signed(seed, x.d)}), {x.d: v0}, v0 / f
    elif kind == 1:  # on a belt
        v0, f, u = draw.uniform(2, 5), draw.uniform(0.3, 3), draw.uniform(-2, 1.5)
        system = ap.System([x], x.d**2 / 2, forces={x: -Rational(f) * signed(seed, x.d - Rational(u))})
        start, at = {x.d: v0}, (v0 - u) / f
    elif kind == 2:  # a relay that switches on x + v/k slides along the line from where it is met with |v| < f
        system = ap.System([x], x.d**2 / 2, forces={x: -signed(seed, x + x.d)})
        start, at = {x: 0.5}, math.sqrt(2) - 1  # x = 1/2 − t²/2, v = −t: x + v = 0, and |v| < 1
    elif kind == 3:  # beside a wall
        v0, f = 3.0, draw.uniform(1, 2)
        wall = ap.Unilateral(2 - x, restitution=1, name="wall")
        system = ap.System([x], x.d**2 / 2, forces={x: -Rational(f) * signed(seed, x.d)}, constraints=[wall])
        start, at = {x.d: v0}, v0 / f
    elif kind == 4:  # at rest from the start
        system, start, at = ap.System([x], x.d**2 / 2, forces={x: -signed(seed, x.d) + Rational(1, 3)}), {}, 0.0
    elif kind == 5:  # in two dimensions, with the reaction of a plane
        plane = ap.Constraint(y, "plane", reaction={y.d: 1, x.d: -Rational(1, 5) * sign(x.d)})
        system, start, at = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[plane]), {x.d: 3}, 1.5
        how["method"] = "dop853"
    else:  # a spring without a slope comes to rest in infinitely many crossings
        f, g = 1.0, draw.uniform(0.2, 0.8)
        system = ap.System([x], x.d**2 / 2, forces={x: -f * sign(x) - Rational(g) * sign(x.d)})
        up, down = 1 + g, 1 - g
        ratio = math.sqrt(down / up)
        first = math.sqrt(2 / down)  # from rest at 1 to 0 with the speed √(2(1 − g))
        speed = math.sqrt(2 * down)
        at = first + speed * (1 / up + ratio / down) / (1 - ratio)
        start = {x: 1.0}
        how["method"] = "dop853"
    motion = quietly(system, start, at + 5, **how)
    assert not motion.ok and "ap.Friction" in motion.message, motion.message
    close(motion.t[-1], at, 1 + at, "time", 1e-6)


@family(count=12, sample=(1,))
def rests_where_both_sides_push(seed: int) -> None:
    """A body at rest where a force turns round, beside others whose motion decides the steps: the run ends at its start. It
    followed the rounding of its first step to and fro, without an end."""
    rng = np.random.default_rng(seed)
    x, z, h = ap.coordinates("x z h")
    s = ap.states("s")
    at, push = rng.uniform(-2, 2) * (seed % 3 > 0), 10.0 ** rng.uniform(-3, 3)
    force = -push * sign(z - at) + (push * rng.uniform(-0.9, 0.9) if seed % 2 else 0)
    rates = {s: -(10.0 ** rng.uniform(0, 3)) * (s + x.d)}
    system = ap.System([x, z, h], (x.d**2 + z.d**2 + h.d**2) / 2, 5 * x**2 + h, {x: s, z: force}, rates=rates)
    how = {"rtol": 10.0 ** -rng.integers(3, 11), "backend": ("vm", "auto")[seed == 0], "max_steps": 2000}
    found = quietly(system, {x: 1.0, h: 1.0, z: at}, 2.0, **how)
    stopped(found, 0.0, "z")


@family(count=12, sample=(1,))
def steps_of_a_wall(seed: int) -> None:
    """The floor jumps where x passes a place: up to a body that is lower ends the run, below one that is higher goes on, and
    off an edge a body falls, h = g t²/2."""
    draw = random.Random(seed)
    edge, rise, v0, g = (1.0, 1.0, 1.0, 10.0) if seed == 0 else (10 ** draw.uniform(-1, 1) for _ in range(4))
    e, high, speed = Rational(edge), Rational(rise), Rational(v0)
    backend = ("c", "vm")[seed % 2]
    place = [
        Piecewise((0, x < e), (high, True)), Piecewise((high, x >= e), (0, True)),
        Piecewise((0, x**3 < e**3), (high, True)), Piecewise((high, (x > e) | (y > 10**9)), (0, True)),
    ][seed % 4]  # fmt: skip
    made = lambda gap, V=0: ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, V, constraints=[ap.Unilateral(gap, restitution=0, name="floor")]
    )
    step, at = made(y - place), edge / v0
    motion = quietly(step, {x.d: speed, y: high / 3}, 3 * at, backend=backend)
    assert motion.status == ap.Status.JUMP and "'floor' jumps" in motion.message, motion.message
    close(motion.t[-1], at, at, "time of the jump")
    motion = ap.simulate(step, {x.d: speed, y: 2 * high}, 3 * at, backend=backend)
    assert motion.ok, motion.message
    close(motion[x][-1], 3 * edge, edge, "x over the step")
    start = {x: 2 * e, x.d: -speed, y: high}
    falls = math.sqrt(2 * rise / g)
    motion = ap.simulate(made(y - place, Rational(g) * y), start, at + min(1.5 * falls, at + falls), backend=backend)
    landed = [impact.time for impact in motion.impacts if impact.kind == "impact"]
    if 1.5 * falls > at + falls:
        landed = landed or [at + falls]
    assert motion.ok, motion.message
    close(landed[0], at + falls, at + falls, "time of landing")


@family(count=14, sample=(0, 3))
def breaks_beside_switches_with_friction(seed: int) -> None:
    """A force that changes at a time and another that jumps at a place, with a spring and dry friction.

    The reference integrates from event to event: sticking while |F| ≤ R, sliding otherwise.
    """
    draw = random.Random(seed)
    ranges = (0.2, 1.2), (-0.1, 0.1), (0.5, 2.0), (-2.0, 0.0), (-3.0, 3.0)
    late, place, before, after, push = (0.5, 0.02, 1.0, -1.0, -3.0) if seed == 0 else (draw.uniform(*one) for one in ranges)
    k, limit, start, until = 4.0, 0.5, (-0.05, 1.0), 2.0
    in_time = [
        Piecewise((before, t < late), (after, True)),
        before + (after - before) * Heaviside(t - late),
        ap.sampled([0, late, 9], [before, after, after], hold="zero"),
    ][seed % 3]
    in_place = Piecewise((0, x < place), (push, True)) if seed % 2 else push * Heaviside(x - place)
    rub = ap.Friction(x.d, limit=limit, name="rub")
    walls = [ap.Unilateral(x + 50, "far")] if seed % 4 == 3 else []
    system = ap.System([x], x.d**2 / 2, k * x**2 / 2, {x: in_time + in_place}, [rub, *walls])
    motion = quietly(system, {x: start[0], x.d: start[1]}, until)
    if motion.status == ap.Status.JUMP:  # both sides push onto the place: no motion there
        around = [(before if motion.t[-1] < late else after) - k * place + one for one in (0.0, push)]
        assert abs(motion[x][-1] - place) < 1e-9 and abs(motion[x.d][-1]) < 1e-6 and around[0] > 0 > around[1], motion.message
        return
    assert motion.ok, (motion.message, motion.doubts)
    force = lambda at, q: (before if at < late else after) - k * q + (push if q > place else 0.0)
    wanted = _slid(force, limit, start, until, late, place)
    close(motion[x][-1], wanted, 1.0, "x at the end", 1e-7)


def _slid(force: Any, limit: float, start: tuple[float, float], until: float, late: float, place: float) -> float:
    """x at the end of m ẍ = F(t, x) − friction with m = 1, from event to event."""
    at, (q, v), tiny = 0.0, start, 1e-12
    for _ in range(200):
        if at >= until - tiny:
            break
        end = late if at < late - tiny else until
        here = force((at + end) / 2 if end == late else at + tiny, q + tiny * v)
        if abs(v) < 1e-10 and abs(here) <= limit:
            at, v = end, 0.0
            continue
        way = math.copysign(1.0, v if abs(v) >= 1e-10 else here)
        middle, q0 = (at + end) / 2, q
        side = math.copysign(1.0, q - place) if abs(q - place) > 1e-11 else way
        stay = place + side * 1.0  # a place on this side
        slope = lambda s, z, m=middle, w=way, p=stay: [
            z[1], force(m, p) + 4.0 * p - 4.0 * z[0] - w * limit
        ]  # the spring is linear, the jumps are those of this side and this time
        stops = lambda s, z, w=way: w * z[1]
        jumps = lambda s, z, d=side: d * (z[0] - place)
        for event in (stops, jumps):
            event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        v = v if abs(v) >= 1e-10 else way * 1e-13
        out = solve_ivp(slope, (at, end), [q0, v], events=(stops, jumps), method="DOP853", rtol=1e-12, atol=1e-13)
        at, (q, v) = float(out.t[-1]), out.y[:, -1]
        v = 0.0 if len(out.t_events[0]) else v
        q = place + math.copysign(1e-13, v) if len(out.t_events[1]) else q
    return float(q)


def _blown_up(seed: int) -> tuple[ap.System, dict[Any, Any], dict[Any, float], float, tuple[float, ...]]:
    """Two masses with drags that drive them, backwards in time: system, start, parameters, step, values of the parameters."""
    rng = np.random.default_rng(seed)
    m, k, c, A, om = symbols = ap.parameters("m k c A omega")
    kinetic = m * x.d**2 / 2 + y.d**2 / 2 + x.d * y.d * cos(x - y) / 3
    drags = (
        {x: -c * Abs(x.d) * x.d + A * sin(om * ap.t), y: -c * y.d * Max(0, x)},
        {x: -c * Abs(x.d) * x.d, y: -c * y.d * Abs(y.d) + A * sin(om * ap.t)},
        {x: -c * Abs(x.d) * x.d * Max(0, y) + A * sin(om * ap.t), y: -c * y.d**3},
    )
    system = ap.System([x, y], kinetic, k * x**2 / 2 + k * (y - x) ** 2 / 2, drags[seed % 3], name="two masses")
    values, start, step = (0.716, 3.49, 0.431, 1.556, 1.561), (-0.732, 0.923, 0.501, 0.0), 0.01
    if seed:
        values = tuple(rng.uniform((0.6, 1, 0.2, 0.5, 1), (1.5, 5, 0.8, 2, 3)))
        start, step = tuple(rng.normal(size=4)), float(rng.choice([0.01, 0.02, 0.05]))
    return system, dict(zip((x, y, x.d, y.d), start, strict=True)), dict(zip(symbols, values, strict=True)), step, values


def _two_masses(seed: int, values: tuple[float, ...], start: Any, since: float, until: float) -> tuple[float, np.ndarray]:
    """The same motion by SciPy: its end, or where a speed exceeds a million, and its final state."""
    m, k, c, A, om = values

    def rate(t: float, z: np.ndarray) -> np.ndarray:
        x, y, u, w = z
        push = A * np.sin(om * t)
        drag = (
            (-c * abs(u) * u + push, -c * w * max(0.0, x)),
            (-c * abs(u) * u, -c * w * abs(w) + push),
            (-c * abs(u) * u * max(0.0, y) + push, -c * w**3),
        )[seed % 3]
        b, slope = np.cos(x - y) / 3, np.sin(x - y) / 3
        right = (drag[0] - k * x + k * (y - x) - slope * w**2, drag[1] - k * (y - x) + slope * u**2)
        return np.array([u, w, *np.linalg.solve([[m, b], [b, 1.0]], right)])

    def fast(t: float, z: np.ndarray) -> float:
        return float(np.abs(z[2:]).max() - 1e6)

    fast.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    found = solve_ivp(rate, (since, until), list(start), "DOP853", events=fast, rtol=1e-10, atol=1e-12)
    return float(found.t[-1]), found.y[:, -1]


@family(count=24, sample=(0, 1, 6))
def steps_that_resolve_nothing(seed: int) -> None:
    """Backwards in time with a fixed step, drags drive a motion, perhaps to infinity: there it ends soon, for that reason."""
    system, start, parameters, step, values = _blown_up(seed)
    known = {s: value for s, value in parameters.items() if s in system.parameters}
    until = -1.09 if seed == 0 else -2.0
    end, state = _two_masses(seed, values, tuple(start.values()), 1.3, until)
    found = quietly(system, start, until, known, since=1.3, step=step, max_steps=1000)
    if end == until:
        assert found.ok, found.message
        size = float(np.abs(state).max())
        np.testing.assert_allclose([found.final[s] for s in start], state, rtol=1e-4, atol=1e-4 * size)
        return
    assert found.status in (ap.Status.NOT_FINITE, ap.Status.JUMP), found.message
    assert abs(found.t[-1] - end) < 3 * step, (found.t[-1], end)
    assert "does not resolve the motion" in found.message or "not finite" in found.message, found.message
