"""States on the constraints, in numbers of any kind, and the generic rank there.

    positions    ∂f/∂q Δq = −f          velocities    ∂ḟ/∂v Δv = −ḟ          each step of least norm, repeated (Newton)

A matrix of coefficients that loses rank has two possible meanings. Redundant constraints lose it at every state of the
manifold: accelerations stay determined, and Λ is taken of least norm. A singular configuration loses it at this state only
(∂f/∂q̇ = 0 at rest): the motion is not determined, and nothing is regularised silently. `usual_nullity` tells them apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import sympy
from sympy import Symbol

from appell.errors import SingularConfiguration
from appell.forms.engine.derivation import gradient
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic, magnitude
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.model import System
from appell.rows import EMPTY, null_space

State = dict[Symbol, Any]

DEPENDENT_PIVOTS = (1e-4, 1e-10)
"""A row with a pivot below this is dependent: redundant rows are left out of Newton's steps, and are satisfied with the others.
Where rows become dependent on the constraints alone, as for three parallel cranks on a coupler, their pivots shrink with the
distance d, and f with d²: each step halves d, and in float64 f vanishes 3e-7 off the constraints. The first bound leaves such
rows out before that, and the others converge as usual; all rows are verified in the end. Where they are not satisfied, the
second bound applies."""

WALK = 0.5
"""Largest step along the kernel of dependent rows, in each of its directions."""
WALK_LOST = 1e-5
"""Singular value of unit rows below which they are dependent there: where f vanishes to second order, states are 3e-7 off."""
DAMPED_STEPS, SETTLED = 60, 1e-9
"""Most damped steps; |f| relative to the sizes of its rows at which Newton's method takes over."""


class Projection:
    """Positions onto the holonomic constraints and unit quaternions, then velocities onto all rows of order 0 and 1.

    held: coordinates and velocities that keep their values. rows: the constraints that count, all by default.
    """

    def __init__(self, system: System, held: Collection[Symbol] = (), *, rows: Collection[int] | None = None):
        f = system.residuals
        order = [c.order for c in system.constraints]
        chosen = [i for i in range(len(f)) if rows is None or i in rows]
        positions = [f[i] for i in chosen if order[i] == 0]
        positions += [sympy.Add(*(x**2 for x in ball.coordinates)) - 1 for ball in system.quaternions]
        velocities = [system.total_derivative(f[i]) if order[i] == 0 else f[i] for i in chosen if order[i] < 2]
        self._levels = [
            (symbols, len(rows), Tape([*rows, *(slope for e in rows for slope in gradient(e, symbols)), *map(magnitude, rows)]))
            for rows, moved in ((positions, system.coordinates), (velocities, system.velocities))
            for symbols in [tuple(s for s in moved if s not in held)]
        ]

    def __call__(self, state: Mapping[Symbol, Any], numbers: Arithmetic) -> State | None:
        """The state on the constraints near a state; None if Newton's method does not converge."""
        projected = dict(state)
        tolerance = 1e-13 if numbers is FLOAT else 10.0 ** -(numbers.digits + 3)
        return projected if all(_satisfied(projected, *level, numbers, tolerance) for level in self._levels) else None

    def holds(self, state: Mapping[Symbol, Any], numbers: Arithmetic) -> bool:
        """Whether a state satisfies all rows, up to the rounding of a state that satisfies some to all digits."""
        tolerance = numbers.tolerance
        try:
            return all(_rows_at(state, len(moved), count, tape, numbers, tolerance)[0] for moved, count, tape in self._levels)
        except SingularConfiguration:
            return False

    def off_crossings(self, state: State, rng: random.Random) -> State | None:
        """A state on the rows, in float64, further from one at which some depend on others; None if none does.

            Δq = −Jᵀ(J Jᵀ + |f|)⁻¹ f        J = ∂f/∂q, from a random step along the kernel of J

        Rows that are dependent on the constraints alone are independent beside them, and Newton's method, which satisfies all
        at once, goes to where branches cross and the fewest are independent. Damped steps go to the nearest branch.
        """
        symbols, count, tape = self._levels[0]
        try:
            return self._damped(dict(state), symbols, count, tape, rng) if count and symbols else None
        except (SingularConfiguration, np.linalg.LinAlgError):
            return None

    def _damped(self, state: State, symbols: tuple[Symbol, ...], count: int, tape: Tape, rng: random.Random) -> State | None:
        rows = lambda: [np.array(x, dtype=float) for x in _rows_at(state, len(symbols), count, tape, FLOAT, 1.0)[1:]]
        Z = null_space(rows()[1], WALK_LOST)
        if Z.shape[1] <= len(symbols) - count:
            return None
        move = Z @ [rng.uniform(-WALK, WALK) for _ in range(Z.shape[1])]
        for _ in range(DAMPED_STEPS):
            state |= {s: state[s] + float(d) for s, d in zip(symbols, move, strict=True)}
            f, J = rows()
            size = np.linalg.norm(J, axis=1) + np.abs(f) + EMPTY
            f, J = f / size, J / size[:, None]
            damping = np.linalg.norm(f)
            if not SETTLED < damping < np.inf:
                break
            move = -J.T @ np.linalg.solve(J @ J.T + damping * np.eye(count), f)
        return self(state, FLOAT)


def _satisfied(
    state: State, symbols: tuple[Symbol, ...], count: int, tape: Tape, numbers: Arithmetic, tolerance: float
) -> bool:
    """Moves the symbols of a state in place until the rows hold; whether they do."""
    start = {s: state[s] for s in symbols}
    for pivot in DEPENDENT_PIVOTS:
        state.update(start)
        try:
            if _newton(state, symbols, count, tape, numbers, tolerance, pivot):
                return True
        except (Undetermined, SingularConfiguration):
            continue
    return False


def _rows_at(
    state: Mapping[Symbol, Any], n: int, count: int, tape: Tape, numbers: Arithmetic, tolerance: float
) -> tuple[bool, list[Any], list[list[Any]]]:
    """Whether the rows hold at a state, f (count,), and ∂f/∂z (count, n)."""
    flat = tape(state, numbers)
    f, J = flat[:count], [flat[count + i * n : count + (i + 1) * n] for i in range(count)]
    return all(abs(x) <= tolerance * size for x, size in zip(f, flat[count + count * n :], strict=True)), f, J


def _newton(
    state: State, symbols: tuple[Symbol, ...], count: int, tape: Tape, numbers: Arithmetic, tolerance: float, pivot: float
) -> bool:
    n = len(symbols)
    for _ in range(25):
        satisfied, f, J = _rows_at(state, n, count, tape, numbers, tolerance)
        if satisfied:
            return True
        step = solve_linear(J, [-x for x in f], [False] * n, pivot, [""] * n)
        for s, d in zip(symbols, step, strict=True):
            state[s] += d
    return False


def usual_nullity(system: System, state: Mapping[Symbol, Any], nullity: Callable[[State, Arithmetic], int]) -> int:
    """The smallest nullity at three nearby states on the manifold; large if none is found.

    They are sought in many digits and close by. In float64 a state on rows that are dependent on the constraints alone is
    known to √ε, where these rows are not dependent yet; and Newton's method from afar ends on another branch. Where the rows
    contradict each other in the decimals of their parameters, they are satisfied in float64 only.
    """
    moved = {*system.positions, *system.velocities}
    rng, projection = random.Random(0), Projection(system)
    for numbers, distance in ((arithmetic(NEARBY_DIGITS), NEARBY), (FLOAT, FAR)):
        origin, nullities = {s: _decimal(x, numbers, s in moved) for s, x in state.items()}, []
        for _ in range(12):
            step = {s: distance * (1 + abs(float(x))) * rng.uniform(-1, 1) for s, x in origin.items() if s in moved}
            on_manifold = projection({s: x + numbers.number(step.get(s, 0)) for s, x in origin.items()}, numbers)
            if on_manifold is None:
                continue
            try:
                nullities.append(nullity(on_manifold, numbers))
            except (Undetermined, SingularConfiguration):
                continue
            if len(nullities) == 3:
                return min(nullities)
        if nullities:
            return min(nullities)
    return 10**6


def _decimal(x: Any, numbers: Arithmetic, moved: bool) -> Any:
    """A number in other digits; a float parameter as its shortest decimal, so that 0.3 is three times 0.1."""
    if numbers is FLOAT:
        return float(x)
    return numbers.number(sympy.Rational(repr(x)) if isinstance(x, float) and not moved else x)


NEARBY_DIGITS = 50
NEARBY, FAR = 1e-3, 0.3
"""Distance of nearby states, relative to 1 + |x|, in many digits and in float64. A rank that is lost at a state alone rises
with a power of the distance, 1e-24 at the eighth, and a pivot of 1e-25 counts."""
