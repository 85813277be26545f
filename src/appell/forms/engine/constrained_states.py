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

import sympy
from sympy import Symbol

from appell.errors import SingularConfiguration
from appell.forms.engine.derivation import gradient
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, magnitude
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.model import System

State = dict[Symbol, Any]

DEPENDENT_PIVOTS = (1e-4, 1e-10)
"""A row with a pivot below this is dependent: redundant rows are left out of Newton's steps, and are satisfied with the others.
Where rows become dependent on the constraints alone, as for three parallel cranks on a coupler, their pivots shrink with the
distance d, and f with d²: each step halves d, and in float64 f vanishes 3e-7 off the constraints. The first bound leaves such
rows out before that, and the others converge as usual; all rows are verified in the end. Where they are not satisfied, the
second bound applies."""


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


def usual_nullity(system: System, state: Mapping[Symbol, Any], nullity: Callable[[State], int]) -> int:
    """The smallest nullity at three nearby states on the manifold, in float64; large if none is found."""
    rng, projection, nullities = random.Random(0), Projection(system), []
    floats = {s: float(x) for s, x in state.items()}
    moved = (*system.positions, *system.velocities)
    for _ in range(12):
        nearby = {s: x + rng.uniform(-0.3, 0.3) * (1 + abs(x)) if s in moved else x for s, x in floats.items()}
        on_manifold = projection(nearby, FLOAT)
        if on_manifold is None:
            continue
        try:
            nullities.append(nullity(on_manifold))
        except (Undetermined, SingularConfiguration):
            continue
        if len(nullities) == 3:
            break
    return min(nullities, default=10**6)
