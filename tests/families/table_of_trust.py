"""Every figure of the table of a motion, `motion.verify()`, against a computation that shares nothing with the library.

Energies and residuals are evaluated from the expressions by `lambdify`; what a step leaves before projection comes from one
step of the same tableau as SciPy has it, with accelerations from a system of linear equations written here.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import sympy
from scipy.integrate import DOP853, RK45
from sympy import cos, sin
from tests.families.family import family

import appell as ap

TABLEAUX = {"dop853": DOP853, "dopri5": RK45}


@dataclass(frozen=True)
class Rows:
    """Constant masses m (n,), V(q), rows f(q) and rows a(q)·v, and a slip with friction μ on the first row."""

    q: tuple[Any, ...]
    mass: tuple[float, ...]
    V: Any
    holonomic: tuple[Any, ...] = ()
    velocity: tuple[Any, ...] = ()  # in the symbols v
    slip: Any = None
    mu: float = 0.0

    @cached_property
    def v(self) -> tuple[Any, ...]:
        return tuple(sympy.Symbol(f"v{i}") for i in range(len(self.q)))

    @cached_property
    def functions(self) -> dict[str, Any]:
        q, v = self.q, self.v
        rate = lambda e: sum(sympy.diff(e, a) * b for a, b in zip(q, v, strict=True))
        f, f1 = list(self.holonomic), [*(rate(e) for e in self.holonomic), *self.velocity]
        A = [[sympy.diff(e, b) for b in v] for e in f1]
        table = {"V": self.V, "F": [-sympy.diff(self.V, a) for a in q], "f": f, "f1": f1, "A": A, "g": [rate(e) for e in f1]}
        if self.slip is not None:
            table |= {"s": self.slip, "D": [sympy.diff(self.slip, b) for b in v]}
        return {name: sympy.lambdify([q, v], e, "numpy") for name, e in table.items()}

    def at(self, name: str, q: Any, v: Any) -> np.ndarray:
        return np.array(self.functions[name](list(q), list(v)), dtype=float)

    def acceleration(self, q: Any, v: Any) -> np.ndarray:
        """M a = F + Aᵀλ − μ |λ_0| D sign(s), A a + g = 0; |λ_0| by the sign that it has without friction."""
        n, A, F = len(q), self.at("A", q, v).reshape(-1, len(q)), self.at("F", q, v)
        W, m = A.T.copy(), len(A)
        solve = lambda: np.linalg.solve(
            np.block([[np.diag(self.mass), -W], [A, np.zeros((m, m))]]), np.concatenate([F, -self.at("g", q, v)])
        )
        x = solve()
        if self.slip is not None:
            W[:, 0] -= self.mu * np.sign(x[n]) * np.sign(self.at("s", q, v)) * self.at("D", q, v)
            x = solve()
        return x[:n]

    def step(self, method: str, q: Any, v: Any, h: float) -> tuple[np.ndarray, np.ndarray]:
        """One step of the explicit tableau without projection."""
        tableau, n = TABLEAUX[method], len(q)
        z, slopes = np.concatenate([q, v]), []
        slope = lambda z: np.concatenate([z[n:], self.acceleration(z[:n], z[n:])])
        for a in tableau.A:
            slopes.append(slope(z + h * sum((c * k for c, k in zip(a, slopes, strict=False)), np.zeros(2 * n))))
        z = z + h * sum(b * k for b, k in zip(tableau.B, slopes, strict=True))
        return z[:n], z[n:]

    def before_projection(self, method: str, q: Any, v: Any, h: float) -> float:
        """Largest |f| of positions after a step, and of velocities once positions are mended in the metric of the masses."""
        q, v = self.step(method, q, v, h)
        found = np.abs(self.at("f", q, v)).max(initial=0.0)
        for _ in range(20):
            A, f = self.at("A", q, v).reshape(-1, len(q))[: len(self.holonomic)], self.at("f", q, v)
            if len(f):
                answer = A.T / np.array(self.mass)[:, None]
                q = q - answer @ np.linalg.solve(A @ answer, f)
        return float(max(found, np.abs(self.at("f1", q, v)).max(initial=0.0)))

    def system(self) -> ap.System:
        """The same for the library."""
        known = ap.coordinates([str(a) for a in self.q])
        here = dict(zip(self.q, known, strict=True)) | {a: b.d for a, b in zip(self.v, known, strict=True)}
        rows = [ap.Constraint(e.xreplace(here), name=f"row {i}") for i, e in enumerate((*self.holonomic, *self.velocity))]
        kinetic = sum(m * b.d**2 for m, b in zip(self.mass, known, strict=True)) / 2
        if self.slip is not None:
            rows.append(ap.Friction(self.slip.xreplace(here), normal=rows[0], coefficient=self.mu, name="rub"))
        return ap.System(known, kinetic, self.V.xreplace(here), constraints=rows)


def pendulum(rng: np.random.Generator) -> tuple[Rows, list[float], list[float]]:
    x, y = sympy.symbols("x y")
    a, l = rng.uniform(0.3, 1.2), rng.uniform(0.5, 2)
    rows = Rows((x, y), tuple(rng.uniform(0.5, 2, 2)), 9.81 * y, (x**2 + y**2 - l**2,))
    return rows, [l * np.sin(a), -l * np.cos(a)], list(rng.uniform(0.5, 1) * np.array([l * np.cos(a), l * np.sin(a)]))


def spherical(rng: np.random.Generator) -> tuple[Rows, list[float], list[float]]:
    x, y, z = sympy.symbols("x y z")
    a, b = rng.uniform(0.4, 1), rng.uniform(0, 3)
    q = np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), -np.cos(a)])
    rows = Rows((x, y, z), (1.0, 1.0, float(rng.uniform(0.5, 2))), 5 * z, (x**2 + y**2 + z**2 - 1,))
    return rows, q.tolist(), np.cross(q, rng.normal(size=3)).tolist()


def skate(rng: np.random.Generator) -> tuple[Rows, list[float], list[float]]:
    x, y, turn = sympy.symbols("x y turn")
    v = sympy.symbols("v0 v1 v2")
    a, speed, spin = rng.uniform(0, 6), rng.uniform(0.5, 2), rng.uniform(0.5, 3)
    rows = Rows((x, y, turn), (1.0, 1.0, 0.4), 2.0 * x, (), (v[0] * sin(turn) - v[1] * cos(turn),))
    return rows, [0.1, 0.2, a], [speed * np.cos(a), speed * np.sin(a), spin]


def bead(rng: np.random.Generator) -> tuple[Rows, list[float], list[float]]:
    """On a rough parabola: y = k x², slip along it."""
    x, y = sympy.symbols("x y")
    v = sympy.symbols("v0 v1")
    k, x0, speed = rng.uniform(0.3, 1), rng.uniform(0.2, 0.6), rng.uniform(1, 2)
    root = sympy.sqrt(1 + 4 * k**2 * x**2)
    rows = Rows((x, y), (1.5, 1.5), 14.0 * y, ((y - k * x**2) / root,), (), (v[0] + 2 * k * x * v[1]) / root, 0.2)
    return rows, [x0, k * x0**2], [speed, 2 * k * x0 * speed]


MACHINES = (pendulum, spherical, skate, bead)


def drawn(seed: int) -> tuple[Rows, np.ndarray, np.ndarray, str, str]:
    rng = np.random.default_rng(seed)
    rows, q, v = MACHINES[seed % len(MACHINES)](rng)
    return rows, np.array(q), np.array(v), ("dop853", "dopri5")[seed // 4 % 2], ("auto", "vm")[seed // 8 % 2]


def simulated(rows: Rows, q: Any, v: Any, until: float, **options: Any) -> ap.Motion:
    system = rows.system()
    start = dict(zip(system.coordinates, q, strict=True)) | {a.d: b for a, b in zip(system.coordinates, v, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.simulate(system, start, until, **options)


@family(count=16, sample=(0, 3))
def before_projection(seed: int) -> None:
    """What one step of a fixed size leaves of the rows, in metres and metres per second."""
    rows, q, v, method, backend = drawn(seed)
    h = 0.15 if method == "dop853" else 0.05
    expected = rows.before_projection(method, q, v, h)
    motion = simulated(rows, q, v, h, step=h, method=method, backend=backend)
    assert motion.statistics["steps"] == 1
    assert expected > 1e-14, "a step that leaves nothing proves nothing"
    assert np.isclose(motion.drift.before, expected, rtol=1e-2, atol=3e-15), (motion.drift.before, expected)


@family(count=16, sample=(1, 3))
def samples_and_energies(seed: int) -> None:
    """Steps, samples, residuals and the energy balance as the table writes them."""
    rows, q, v, method, backend = drawn(seed)
    motion = simulated(rows, q, v, 0.5, method=method, backend=backend)
    mass = np.array(rows.mass)
    energy = [mass @ b**2 / 2 + rows.at("V", a, b) for a, b in zip(motion.q, motion.v, strict=True)]
    work = 0.0 if rows.slip is None else -np.array(motion.dissipated)
    E = motion.energy_scale
    assert np.abs(motion.balance - (np.array(energy) - energy[0] - work)).max() <= 1e-12 * E
    if rows.slip is not None:  # what friction took, by quadrature of μ|Λ||s| along the motion
        nodes, weights = np.polynomial.legendre.leggauss(12)
        ends = np.concatenate([motion.t[:1], [p.end for p in motion.phases]])
        lost = 0.0
        for a, b in pairwise(ends):
            for c, d in pairwise(np.linspace(a, b, 9)):
                fine = motion.at((c + d) / 2 + (d - c) / 2 * nodes)
                slip = np.array([rows.at("s", x, w) for x, w in zip(fine.q, fine.v, strict=True)])
                lost += (d - c) / 2 * weights @ np.abs(fine.reaction("rub") * slip)
        assert np.isclose(motion.dissipated[-1], lost, rtol=1e-7, atol=1e-9 * E)
    position = max(np.abs(rows.at("f", a, b)).max(initial=0.0) for a, b in zip(motion.q, motion.v, strict=True))
    velocity = max(np.abs(rows.at("f1", a, b)).max(initial=0.0) for a, b in zip(motion.q, motion.v, strict=True))
    rounding = 1e-15 * (1 + np.abs(motion.q).max() ** 2) * (1 + np.abs(motion.v).max())  # two orders of evaluation
    assert abs(motion.drift.position - position) <= rounding and abs(motion.drift.velocity - velocity) <= rounding
    assert motion.statistics["steps"] == len(np.unique(motion.t)) - 1
    table = dict(motion.verify().rows)
    assert table["samples"].startswith(f"{len(motion.t)}, ")
    shown = [float(x) for x in re.findall(r"[0-9.]+e[-+][0-9]+", table["constraint residuals"])]
    assert np.allclose(shown, [motion.drift.position, motion.drift.velocity, motion.drift.before], rtol=0.06)


@family(count=12, sample=(0,))
def nothing_moves(seed: int) -> None:
    """At rest, where every term of a row is rounding, steps leave rounding: member 0 hangs on three spherical rods."""
    rng = np.random.default_rng(seed)
    x, y, z = ap.coordinates("x y z")
    feet = np.column_stack([np.cos([0, 2.1, 4.2]), np.sin([0, 2.1, 4.2]), np.zeros(3)]) * (1 + 0.1 * seed)
    size = 10.0 ** (-3 * (seed % 4))
    feet, hang = feet * size, -size * (1.0 + 0.1 * (seed % 3))
    start = {x: 0.0, y: 0.0, z: hang}
    count = 3 if seed % 2 == 0 else 2
    rods = [ap.Constraint((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 - (a**2 + b**2 + (hang - c) ** 2), name=f"rod {i}")
            for i, (a, b, c) in enumerate(feet[:count])]  # fmt: skip
    floor = ap.Constraint(z - hang, name="floor") if count == 2 else None
    mass = float(rng.uniform(0.5, 2))
    rows = rods if floor is None else [floor, ap.Friction([x.d, y.d], normal=floor, coefficient=0.3, name="sole")]
    system = ap.System([x, y, z], mass * (x.d**2 + y.d**2 + z.d**2) / 2, mass * 9.81 * z, constraints=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for until in (1e-9, 0.5):
            motion = ap.simulate(system, start, until, backend=("auto", "vm")[seed // 2 % 2])
            assert motion.ok, motion.message
            assert motion.drift.before is not None and motion.drift.before <= 1e-12 * size, motion.drift
