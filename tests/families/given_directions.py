"""Given directions of reactions beside rows nonlinear in the accelerations: refused, and either of them alone is right."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sympy import Matrix, Rational, cos, sin
from tests.families.family import family

import appell as ap

q: Any = ap.coordinates("x y z")
x, y, z = q
V: Any = [s.d for s in q]
MASS: Any = Matrix([[2, 0, cos(y) / 2], [0, 3, 0], [cos(y) / 2, 0, 1]])
LEVELS = (
    x + y / 2 - sin(z) / 3, y.d - x * z.d, x.d + 2 * y.d - z * z.d - Rational(1, 3), z.d - x.d * y.d / 2,
    y.dd - x * z.dd + x.d, x - y + ap.t / 4,
)  # fmt: skip


def _parts(seed: int) -> tuple[dict[str, Any], ap.Constraint, Any, ap.Constraint]:
    """(System without rows, an ideal row, a direction for it, a row quadratic in the accelerations)."""
    rng = random.Random(seed)
    number = lambda: Rational(rng.choice([-1, 1]) * rng.randint(2, 9), rng.randint(4, 9))
    T = (Matrix(V).T * MASS * Matrix(V))[0] / 2
    given = {"coordinates": q, "kinetic": T, "potential": number() * z + number() * x**2, "forces": {"y": number() * x.d}}
    directions: Any = {str(s): number() + number() * sin(y) for s in rng.sample(V, rng.randint(1, 3))}
    speed = sum((1 + number() / 3) * s.dd**2 for s in q) + number() * x.dd
    return given, ap.Constraint(LEVELS[seed % 6], "servo"), directions, ap.Constraint(speed - 40, "wild")


def _residual(system: ap.System, seed: int) -> float:
    """|M a + h − Q − W Λ| over its largest term: d/dt ∂T/∂q̇ − ∂T/∂q by SymPy, W as given or the gradient at a."""
    rng = np.random.default_rng(seed)
    state, v = rng.uniform(0.2, 0.8, 3), rng.uniform(0.2, 0.8, 3)
    a, lam = ap.compile(system, backend="vm").acceleration(0.5, state, v)
    at = {ap.t: 0.5, **dict(zip((*q, *V, *(s.dd for s in q)), (*state, *v, *a), strict=True))}
    T: Any = system.kinetic
    U: Any = system.potential
    left: Any = [ap.total_derivative(T.diff(s.d)) - T.diff(s) + U.diff(s) - Q for s, Q in zip(q, system.forces, strict=True)]
    W = np.zeros((3, len(lam)))
    for k, c in enumerate(system.constraints):
        symbols = {0: q, 1: V, 2: [s.dd for s in q]}[c.order]
        said: Any = c.reaction or {}
        own: Any = {**dict.fromkeys(map(str, V), 0), **said}
        W[:, k] = [float(Matrix([own[str(s.d)] if c.reaction else c.residual.diff(u)]).subs(at)[0])
                   for s, u in zip(q, symbols, strict=True)]  # fmt: skip
    value = np.array([float(e.subs(at)) for e in left])
    return float(np.abs(value - W @ lam).max() / (np.abs(value).max() + np.abs(W * lam).max()))


@family(sample=(0, 3, 7))
def directions_beside_nonlinear_rows(seed: int) -> None:
    """Member 0 had accelerations that fulfil the rows and no equation of motion; the row itself may have the direction, too."""
    given, ideal, directions, wild = _parts(seed)
    servo = ap.Constraint(ideal.residual, "servo", reaction=directions)
    both: list[Any] = [[servo, wild], [wild, servo], [ap.Constraint(wild.residual, "wild", reaction=directions), ideal]]
    with pytest.raises(ap.ConstraintError, match=r"'wild' is nonlinear in the accelerations, and (constraint 'servo'|it) has"):
        ap.System(**given, constraints=both[seed % 3])
    assert _residual(ap.System(**given, constraints=[servo]), seed) < 1e-12
    assert _residual(ap.System(**given, constraints=[ideal, wild]), seed) < 1e-9
