"""Random systems for hypothesis: T = ½ q̇ᵀM(t, q)q̇ + b(t, q)·q̇ + T0(t, q) with M = B Bᵀ positive definite, V(t, q),
forces, and constraints of every kind.

The diagonal of the triangular B stays above 0.6, so M is positive definite at every state. The leading coefficients of the
constraints stay away from zero at states of size one, and two constraints lead in different coordinates, so the rows
are independent at almost every state.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st
from sympy import Expr, Matrix, Rational, cos, exp, sin

from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System

HOMOGENEOUS = ("holonomic", "linear", "quadratic")
WORKING = ("rheonomic", "affine", "speed")
SECOND = ("acceleration",)
KINDS = (*HOMOGENEOUS, *WORKING, *SECOND)
"""Reactions of the first do no work; those of the others do."""


EXTENDED = bool(os.environ.get("APPELL_TESTS_EXTENDED"))


def few(count: int):
    """So many examples with `--extended`, else a third of them, the same in every run; a failure is shown as it was found
    (shrinking takes minutes here)."""
    phases = (Phase.explicit, Phase.generate)
    count = count if EXTENDED else -(-count // 3)
    return settings(derandomize=True, deadline=None, max_examples=count, database=None, phases=phases)


@dataclass(frozen=True)
class Drawn:
    """A system with its kinds of constraints, parameter values and a seed for states."""

    system: System
    kinds: tuple[str, ...]
    values: dict
    seed: int

    def states(self, count: int = 2):
        """(t, q, v) of size one."""
        rng = np.random.default_rng(self.seed)
        for _ in range(count):
            yield rng.uniform(-1, 1), rng.uniform(-1, 1, self.system.nq), rng.uniform(0.3, 1, self.system.nv)

    @property
    def p(self) -> np.ndarray:
        return np.array([self.values[s] for s in self.system.parameters])


small = st.integers(-4, 4).map(lambda k: Rational(k, 8))
some = st.integers(2, 6).map(lambda k: Rational(k, 8))


def constraint(kind: str, q, lead: int, c: Expr, k: Expr) -> Constraint:
    """A constraint of a kind; `lead` is the coordinate that it can be solved for."""
    n = len(q)
    x, y, z = q[lead], q[(lead + 1) % n], q[(lead + 2) % n]
    linear = (2 + sin(y)) * x.d + k * cos(x) * y.d - c * z.d * y
    residual = {
        "holonomic": 2 * x + sin(x) + k * y**2 - c * cos(z),
        "rheonomic": 2 * x + sin(x + t) + k * y * cos(t) - c * z,
        "linear": linear,
        "affine": linear + 1 + k * sin(y) ** 2,
        "quadratic": 2 * x.d**2 - (1 + k * sin(y) ** 2) * y.d**2 + c * x.d * z.d,
        "speed": 2 * x.d**2 + y.d**2 + c * x.d * y.d - 1 - k,
        "acceleration": (2 + cos(y)) * x.dd + k * y.dd * sin(x) + c * x.d * y.d + sin(t),
    }[kind]
    return Constraint(residual, name=f"{kind} {lead}")


@st.composite
def systems(draw, kinds=KINDS, count=(0, 2), rheonomic: bool | None = None, forces: bool = True) -> Drawn:
    """Systems of two or three coordinates with `count` constraints out of `kinds`."""
    n = draw(st.integers(2, 3))
    q = coordinates(f"q1:{n + 1}")
    m, k = parameters("m k", positive=True)
    moves = draw(st.booleans()) if rheonomic is None else rheonomic
    s = t if moves else 0 * t
    B = Matrix(n, n, lambda i, j: 0)
    for i in range(n):
        B[i, i] = 1 + draw(small) * sin(q[i] + q[(i + 1) % n] + s) * Rational(4, 5)
        for j in range(i):
            B[i, j] = draw(small) * cos(q[j] + draw(small) * s)
    v = Matrix([x.d for x in q])
    w = B.T * v
    T = m * w.dot(w) / 2 + sum(draw(small) * sin(x + s) * x.d * q[0] for x in q) + draw(small) * cos(q[0] + s) * q[1] ** 2
    V = k * sum(x**2 for x in q) / 2 + draw(some) * cos(q[0] - q[1] + s) + draw(small) * exp(q[-1] / 2)
    Q = {x: -draw(some) * x.d + draw(small) * sin(s + q[0]) * q[1].d ** 2 for x in q} if forces else {}
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=count[0], max_size=min(count[1], n - 1)))
    rows = [constraint(kind, q, i, draw(some), draw(some)) for i, kind in enumerate(chosen)]
    system = System(q, T, V, Q, rows, name="random")
    values = {m: draw(st.floats(0.5, 2)), k: draw(st.floats(0.5, 2))}
    return Drawn(system, tuple(chosen), values, draw(st.integers(0, 2**20)))
