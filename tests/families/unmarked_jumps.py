"""Energies and constraints that jump by functions that do not look like it: atan(y/x), tanh(1/x), atan(tan(x)), x/|x|.

A motion that keeps away from the jump is right; one that crosses it is doubted, alone and in an ensemble.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Abs, acot, atan, atan2, cos, exp, log, sign, sin, sqrt, tan, tanh
from tests.families.family import family

import appell as ap

x, y, z = ap.coordinates("x y z")
t = ap.t
T = (x.d**2 + y.d**2) / 2
JUMPS: list[Callable[[Any], Any]] = [
    lambda u: atan(tan(u + sympy.pi / 2)), lambda u: acot(u), lambda u: atan(1 / u), lambda u: tanh(1 / u),
    lambda u: 1 / (1 + exp(1 / u)), lambda u: atan2(u, -1), lambda u: u**2 + atan(2 / u) / 3, lambda u: sin(atan(1 / u)),
    lambda u: sin(atan2(u, -1) / 2), lambda u: tanh(1 / sin(u)),
]  # fmt: skip
"""Functions of u that jump at u = 0, and are smooth elsewhere for |u| < 1."""
REMOVABLE: list[Callable[[Any], Any]] = [
    lambda u: (exp(u) - 1) / u, lambda u: (1 - exp(-u)) / u, lambda u: (1 - cos(u)) / u**2, lambda u: (u - sin(u)) / u**3,
    lambda u: (tan(u) - u) / u**3, lambda u: log(1 + u**2) / u**2, lambda u: (sqrt(1 + u**2) - 1) / u, lambda u: atan(u) / u,
    lambda u: (sqrt(4 + sin(u)) - 2) / u, lambda u: u / (exp(u) - 1), lambda u: u / (1 - exp(-u / 3)), lambda u: tanh(u) / u,
]  # fmt: skip
"""Functions of u that are smooth, although their denominators vanish at u = 0; their rounding grows towards it."""


def _quiet(made: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(*args, **options)


@family(count=20, sample=(0, 3))
def potentials_that_jump(seed: int) -> None:
    """A fast particle crosses u = 0: doubted. One that flies along it does not, and keeps its energy."""
    draw = random.Random(seed)
    angle, height = draw.uniform(-1, 1), draw.uniform(0.02, 0.3)
    u = cos(angle) * x + sin(angle) * y
    system = ap.System([x, y], T, height * JUMPS[seed % len(JUMPS)](u))
    n, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    for crossing in (True, False):
        q, v = (-0.5 * n, 2 * n + 0.3 * along) if crossing else (0.6 * n, 0.2 * n + along)
        start = {x: q[0], y: q[1], x.d: v[0], y.d: v[1]}
        motion = _quiet(ap.simulate, system, start, 0.5)
        assert motion.ok is not crossing, motion.doubts
        stopped = motion.status is not ap.Status.OK  # 1/(1 + exp(1/u)) overflows beside u = 0
        assert stopped or any("the potential jumps where" in doubt for doubt in motion.doubts) is crossing
        many = _quiet(ap.simulate_many, system, {s: np.full(3, value) for s, value in start.items()}, 0.5)
        assert many.ok is not crossing


@family(count=16, sample=(0, 1, 2))
def surfaces_crossed_beside_jumps(seed: int) -> None:
    """An oscillator in a wrapped angle x crosses sin(n x) = 0 at x = 0 for a long time; the jumps are at n x = ±π. It is not
    doubted, and x = a + (x₀ − a) cos ωt + ẋ₀/ω sin ωt."""
    draw = random.Random(seed)
    n, stiffness, middle = draw.randint(1, 4), draw.uniform(0.5, 2), draw.uniform(-0.1, 0.1)
    u = [atan2(sin(n * x), cos(n * x)) / n, 2 * atan(tan(n * x / 2)) / n, atan2(-sin(n * x), -cos(n * x)) / n][seed % 3]
    if seed % 3 == 2:  # it jumps at 0, and is crossed at π/n without a jump
        middle += np.pi / n
        u += np.pi / n
    until, rate = 10 ** draw.uniform(2, 2.6), stiffness**0.5
    first, speed = middle + draw.uniform(-0.2, 0.2), rate * draw.uniform(0.25, 0.4)
    system = ap.System([x], x.d**2 / 2, stiffness * (u - middle) ** 2 / 2)
    motion = _quiet(ap.simulate, system, {x: first, x.d: speed}, until)
    assert motion.ok, motion.doubts
    wanted = middle + (first - middle) * np.cos(rate * until) + speed / rate * np.sin(rate * until)
    assert abs(motion.final[x] - wanted) < 1e-6


@family(count=24, sample=(0, 1, 9))
def removable_singularities(seed: int) -> None:
    """A fast particle crosses u = 0, where a smooth potential is written as 0/0: no jump is found, and its energy is kept."""
    draw = random.Random(seed)
    u = [x, x - y, x + sympy.Rational(1, 3), 3 * x - y**2, x * y - sympy.Rational(1, 5), sin(x)][seed % 6]
    system = ap.System([x, y], T, draw.uniform(0.05, 0.3) * REMOVABLE[seed % len(REMOVABLE)](u))
    start = {x: -1.3, y: draw.uniform(0.2, 0.4), x.d: draw.uniform(3, 4), y.d: draw.uniform(-0.2, 0.2)}
    motion = _quiet(ap.simulate, system, start, 0.7, rtol=1e-6)
    assert not any("jumps" in doubt for doubt in motion.doubts), motion.doubts
    assert motion.status is ap.Status.OK and np.abs(motion.balance).max() < 1e-4


@family(count=20, sample=(0, 3))
def rows_that_jump(seed: int) -> None:
    """A bead on y = f(x) with a jump at x = 0: across it the motion is doubted or stops. Before it the speed is constant, and
    the bead is on its wire."""
    draw = random.Random(seed)
    height = draw.uniform(0.05, 0.4)
    f = height * JUMPS[seed % len(JUMPS)](x)
    system = ap.System([x, y], T, constraints=[ap.Constraint(y - f, name="wire")])
    at = lambda e, value: float(e.subs(x, value))
    begin, speed = -0.7, draw.uniform(0.5, 1.5)
    slope = at(f.diff(x), begin)
    start = {x: begin, y: at(f, begin), x.d: speed, y.d: speed * slope}
    length = speed * np.hypot(1, slope)
    near = _quiet(ap.simulate, system, start, 0.2 / length)
    assert near.ok, near.doubts
    assert np.abs(np.hypot(near[x.d], near[y.d]) - length).max() < 1e-7 * length
    assert abs(near["y"][-1] - at(f, near["x"][-1])) < 1e-9
    far = _quiet(ap.simulate, system, start, 4.0 / length)
    assert not far.ok and (far.status is not ap.Status.OK or any("'wire' jumps" in doubt for doubt in far.doubts))


@family(count=14, sample=(0, 5))
def wires_with_poles(seed: int) -> None:
    """y = f(x) with a pole at x = 0, where |x| has a kink: no motion gets there, and the wire is smooth on each side."""
    draw = random.Random(seed)
    shapes = [log(Abs(x)), 1 / Abs(x), 1 / (x * Abs(x)), Abs(x) ** -3, sign(x) / x, sign(x) * log(Abs(x)), 1 / sqrt(Abs(x))]
    f = draw.uniform(0.2, 2.0) * shapes[seed % len(shapes)] + draw.uniform(-1, 1) * x
    system = ap.System([x, y], T, constraints=[y - f])
    begin = draw.choice([-1, 1]) * draw.uniform(1.0, 1.6)
    at = lambda e, value: float(e.subs(x, value))
    slope = at(f.diff(x), begin).real
    motion = ap.simulate(system, {x: begin, y: at(f, begin), x.d: -begin, y.d: -begin * slope}, 1.0)
    assert motion.ok and abs(motion["y"][-1] - at(f, motion["x"][-1])) < 1e-8 * (1 + abs(motion["y"][-1]))
    speed = np.hypot(motion[x.d], motion[y.d])
    assert np.ptp(speed) < 1e-7 * speed[0]


@family(count=12, sample=(0, 1))
def signs_by_division(seed: int) -> None:
    """u/|u| is sign(u): refused in energies and in rows, however it is written."""
    draw = random.Random(seed)
    u = sympy.Float(draw.uniform(0.5, 2)) * x + draw.choice([0, y, y**2, sympy.Integer(1)]) - sympy.Rational(1, 3)
    written = [u / Abs(u), Abs(u) / u, Abs(u) ** 3 / u**3, u * Abs(1 / u), 1 + 2 * u / Abs(u) + x**2, Abs(u) * u / u**2]
    e = written[seed % len(written)]
    with pytest.raises(ap.ModelError, match="jumps where"):
        ap.System([x, y], T, e)
    with pytest.raises(ap.ModelError, match="jumps where"):
        ap.System([x, y], T, constraints=[y - e])


@family(count=12, sample=(0, 1))
def steep_potentials_in_ensembles(seed: int) -> None:
    """A step of a potential, far narrower than a step in time, by error control: each run that passes it is doubted."""
    draw = random.Random(seed)
    width, height, place = 10.0 ** -draw.uniform(9, 15), draw.uniform(0.3, 0.8), draw.uniform(-0.5, 0.5)
    u = x - place
    V = height * [u / sqrt(u**2 + width**2), tanh(u / width), 2 / sympy.pi * atan(u / width)][seed % 3]
    speeds = np.array([1.5, 2.0, 0.1])
    many = _quiet(ap.simulate_many, ap.System([x], x.d**2 / 2, V), {x: -1.0, x.d: speeds}, 1.2)
    passed = many.dataset["x"].values > place
    said = np.array(["energy changed" in str(text) for text in many.dataset["message"].values])
    assert passed[:2].all() and not passed[2]
    assert (said == passed).all()


@family(count=24, sample=(0, 4))
def integrals_without_cases(seed: int) -> None:
    """μ dφ/dt = 0: what `ap.diagnose` says to be constant has one value on states with one φ, also where a coordinate is 0."""
    shapes = [x * y + z, x * y + t * z, x**2 * y + z, x * sin(y) + z, x * y * z + t, x * (y + t) + z, x * exp(y) + t * z,
              x**2 + y**2 + t * z]  # fmt: skip
    phi = shapes[seed % len(shapes)]
    mu = [1 / phi, 2 + sin(t), 2 + sin(x)][seed // len(shapes)]
    row = (mu * ap.total_derivative(phi)).expand() if seed % 2 else mu * ap.total_derivative(phi)
    system = ap.System([x, y, z], T + z.d**2 / 2, constraints=[ap.Constraint(row, name="row")])
    said = str(ap.diagnose(system).of("integrability")[0])
    assert "holonomic in disguise" in said, said
    text = said.split("holonomic in disguise: ")[1].split(" stays constant")[0]
    known = {"log": log, "Abs": Abs, "atan": atan, "sin": sin, "cos": cos, "exp": exp, "sqrt": sqrt, "tan": tan}
    found = eval(text, {"Piecewise": sympy.Piecewise, "Eq": sympy.Eq}, {**known, "x": x, "y": y, "z": z, "t": t})
    assert not found.has(sympy.Piecewise)
    rng, values = np.random.default_rng(seed), []
    for k in range(6):
        state = dict(zip((x, y, t), rng.uniform(0.3, 1.2, 3), strict=True))
        if k == 0 and phi.subs({x: 1, y: 0, t: 1}).has(z):
            state[y] = 0.0
        (level,) = sympy.solve(phi.subs(state) - 2, z)
        values.append(float(found.subs({**state, z: level})))
    assert np.ptp(values) < 1e-9 * (1 + np.abs(values).max())
