"""Rows that depend on others only where the constraints hold.

At random states the rows of f = 0 and (1 + x) f = 0 are independent, and so are those of three parallel cranks on a coupler.
On the constraints they are not, and only the rank there counts. Forms that eliminate the reactions need it before they begin.
A row is left out if, at states that satisfy the others alone,

    f = 0  and  ḟ = 0  for the row itself,        (A | a0) has no further rank with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from appell.errors import SingularConfiguration
from appell.forms.engine.constrained_states import Projection, State
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic
from appell.model import System
from appell.rows import rank

Array = NDArray[np.float64]

STATES_ON_ROWS = 3
"""States on the constraints at which ranks are compared, and at which a row that is left out has to follow from the others."""
NEARLY_DEPENDENT = 1e-3
"""Relative singular value below which rows may be dependent on the constraints. f may vanish there to second order: states that
satisfy it to 1e-13 are then 3e-7 off."""
VERIFIED_DIGITS = 30
"""Digits in which rows that are left out are verified."""
VANISHING_COLUMN = 1e-5
"""Largest entry of a column of unit rows that may vanish on the constraints: states on them may be 3e-7 off."""
BESIDE = 1e-5
"""Distance from a state on all rows at which those of a basis are satisfied, relative to 1 + |x|."""
DEPENDENT = 1e-9
"""The same for rows at states that satisfy the constraints to `VERIFIED_DIGITS`: rounding, of entries in float64."""


def independent_on_constraints(
    system: System, A: sympy.Matrix, a0: Sequence[Any], pivots: Callable[[Sequence[Array], int], list[int]], keep: list[int]
) -> list[int]:
    """Which of the rows `keep`, independent at random states, are independent on the constraints; (A | a0) are all rows."""
    if len(keep) < 2 or all(system.constraints[i].order == 2 for i in keep):
        return keep
    tape, symbols = Tape([*A, *a0]), _symbols(system, A, a0)
    found = [(state, _values(tape, state, FLOAT, A.shape)) for state in states_on_constraints(system, symbols)]
    on_rows = [(state, m[keep, :-1]) for state, m in found if m is not None]
    ranks = [rank(_alike(m), NEARLY_DEPENDENT) for _, m in on_rows]
    # where branches of several ranks meet the largest counts, unless nothing moves there
    largest = max([r for r in ranks if r < system.nv] or ranks, default=len(keep))
    if largest == len(keep):
        return keep
    on_branch = [pair for pair, r in zip(on_rows, ranks, strict=True) if r == largest]
    basis = [keep[i] for i in sorted(pivots([m for _, m in on_branch], largest))]
    numbers = arithmetic(VERIFIED_DIGITS)
    all_rows, checked = Projection(system), 0
    for state in _beside(system, [state for state, _ in on_branch], basis, numbers):
        m = _values(tape, state, numbers, A.shape)
        if m is None:
            continue
        if not all_rows.holds(state, numbers) or rank(m[basis, :-1], DEPENDENT) < len(basis) or rank(m, DEPENDENT) > len(basis):
            return keep
        checked += 1
    return basis if checked == STATES_ON_ROWS else keep


def _alike(A: Array) -> Array:
    """A with columns of one size, whatever the units of the velocities; those that vanish on the constraints stay small."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    return A / np.where(largest > VANISHING_COLUMN, largest, 1.0)


def on_constraints(system: System, A: sympy.Matrix) -> list[Array]:
    """A at states on the constraints, in float64."""
    tape, symbols = Tape([*A, *[0] * A.rows]), _symbols(system, A)
    values = (_values(tape, state, FLOAT, A.shape) for state in states_on_constraints(system, symbols))
    return [m[:, :-1] for m in values if m is not None]


def _symbols(system: System, *entries: Any) -> list[Symbol]:
    """All symbols of a state, in a fixed order."""
    occurring = {s for group in (*entries, system.residuals, system.rates.values()) for e in group for s in e.free_symbols}
    return sorted({*system.positions, *system.velocities, *occurring} - {*system.accelerations}, key=str)


def states_on_constraints(system: System, symbols: Sequence[Symbol]) -> Iterator[State]:
    """States that satisfy the constraints, in float64; near the `sample` of a system with one, else away from states at
    which branches cross."""
    projection, rng, yielded = Projection(system), random.Random(1), 0
    for _ in range(4 * STATES_ON_ROWS):
        state = {s: FLOAT.number(_drawn(system, s, rng)) for s in symbols}
        projected = projection(state, FLOAT)
        if projected is not None:
            yielded += 1
            yield projected if system.sample else projection.off_crossings(projected, rng) or projected
        if yielded == STATES_ON_ROWS:
            return


def _beside(system: System, states: Sequence[State], basis: Sequence[int], numbers: Arithmetic) -> Iterator[State]:
    """States that satisfy the rows of a basis, close to states that satisfy all: further off, they may be on another branch."""
    projection, rng, yielded = Projection(system, rows=basis), random.Random(1), 0
    moved = {*system.positions, *system.velocities}
    for k in range(4 * STATES_ON_ROWS):
        off = lambda x: x + BESIDE * (1 + abs(x)) * rng.uniform(-1, 1)
        near = {s: numbers.number(off(x) if s in moved else x) for s, x in states[k % len(states)].items()}
        projected = projection(near, numbers)
        if projected is not None:
            yielded += 1
            yield projected
        if yielded == STATES_ON_ROWS:
            return


def _drawn(system: System, symbol: Symbol, rng: random.Random) -> float:
    """A value of a symbol, as for the coefficients of forms; near the sample of the system."""
    sample = system.sample or {}
    if sample and (symbol in sample or symbol in system.positions or symbol in system.velocities):
        centre = float(sample.get(symbol, getattr(symbol, "start", 0.0)))
        return centre + rng.uniform(-0.01, 0.01) * (abs(centre) or 1.0)
    size = rng.uniform(0.3, 1.5)
    return size if symbol.is_positive else rng.choice((-size, size))


def _values(tape: Tape, state: State, numbers: Arithmetic, shape: tuple[int, int]) -> Array | None:
    """(A | a0) at a state, rows of unit length in A, (rows, nv + 1)."""
    try:
        flat = np.array([float(x) for x in tape(state, numbers)])
    except (SingularConfiguration, OverflowError):
        return None
    A, a0 = flat[: shape[0] * shape[1]].reshape(shape), flat[shape[0] * shape[1] :]
    if not np.isfinite(flat).all():
        return None
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1.0
    return np.column_stack([A / length[:, None], a0 / length])
