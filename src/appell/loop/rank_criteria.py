"""Criteria for rows that are about to lose rank, each written once: called with numbers they decide, called with names they
generate C.

    rank_vanishes_soon(fallen, sigma, duration, step)       in Python, numbers or arrays
    rank_vanishes_soon(fallen, sigma, duration, step)       in C, a function of the same name: `rank_criteria_text`

σ is the smallest singular value, or pivot, of Y = L⁻¹Aᵀ/s (`rows.row_space`): rows that moved by less than σ have kept their
rank. The rank guard asks them of each step (`rank`, `rank.c.in`), the passage of steps near a loss of rank
(`simulate.loop.guarded`, `passage`), and the survey of motions without a guard (`simulate.rank_survey`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.criterion_text import function_text, larger, rounded_up

# -- the size of σ -----------------------------------------------------------------------------------------------------

DIGITS_LOST = 6e-6
"""Fraction of the largest σ below which accelerations have no correct digits left."""

RANK_NOTED = 1e-3
"""Fraction of its largest value below which σ deserves a note: accelerations lose six digits or more."""

RANK_RISEN = 1e-7
"""σ above which a dependent combination of rows has become independent."""

PASSAGE_RANK_RISEN = 1e-8
"""The same in steps near a loss of rank, whose ends are projected until the constraints hold to rounding."""

SIGMA_FALLEN, STEPS_TO_LOSS = 0.5, 6
"""A σ below this fraction of its earlier value must not fall so fast that it would vanish within this many steps."""

SIGMA_DIPS = 0.4
"""Fraction of the smaller σ of both ends below which σ dips inside a step in which rows turned."""

SIGMA_VANISHES = 0.1
"""Fraction of the smaller σ of both ends below which rows may lose rank inside a step, and not only come closer to it."""

SMALL_SIGMA = 0.3
"""Fraction of the largest σ below which every step is examined."""

SMALL_SIGMA_SURVEYED = 0.1
"""The same in the survey of a whole motion, which sees how σ goes on after a step, and returns to steps beside small ones."""

# -- the way of the rows -----------------------------------------------------------------------------------------------

ROWS_TURNING = 0.25
"""Fraction of σ by which Y may change in a step before it is asked whether the rows turned by a right angle."""

ROWS_UNEXPECTED = 0.7
"""Fraction of σ by which rows may have moved since the last examination, some steps ago: more is too close to σ."""

RIGHT_ANGLE = 0.2
"""Cosine of the turn of the rows below which it counts as a right angle: about 78°, reached before the rows are reversed."""

ROWS_PER_PART, PARTS_OF_TURNING_STEP, MOST_PARTS_OF_STEP = 0.5, 6, 4096
"""Fraction of their size by which rows may move in a part of a step, so that they cannot return in it unseen; the least number
of parts of a step in which rows turned; and the most: a step that would need more parts is refused."""

RANK_PROBE = 1e-3
"""Part of a step along which the speed of the rows is measured."""

SAME_VOLUME = 1e-9
"""Fraction by which the volume of the rows, the product of all pivots, may change while they turn, if they are never to lose
rank. The smallest pivot does not tell: in a parallelogram it is constant until the other one has become smaller."""

STEPS_WITHOUT_LOOK, ROWS_UNSEEN = 15, 0.2
"""Most steps between two examinations of the rows, and the fraction of σ by which they are expected to move meanwhile."""

ROW_INVOLVED = 0.1
"""Share of a row in a unit combination of rows above which it is named among those that lose rank."""

PIVOT_OF_ROUNDING = 1e-16
"""Pivot of YᵀY for sparse rows below which, as a fraction of its diagonal entry, it is rounding and no pivot."""

RANK_CRITERIA: dict[str, Callable[..., Any]] = {}


def criterion(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds a function of numbers to the table from which C is generated."""
    RANK_CRITERIA[function.__name__] = function
    return function


@criterion
def rank_digits_lost(sigma: Any, largest: Any) -> Any:
    """Whether rows are dependent within rounding: accelerations have no correct digits."""
    return sigma < DIGITS_LOST * largest


@criterion
def rank_noted(sigma: Any, largest: Any) -> Any:
    """Whether σ is so small that steps would soon follow the noise of accelerations, ε/σ³."""
    return sigma < RANK_NOTED * largest


@criterion
def rank_risen(rest: Any, noise: Any) -> Any:
    """Whether a combination of rows that was dependent, now with σ = `rest`, has become independent."""
    return rest > larger(noise, RANK_RISEN)


@criterion
def rank_fallen(sigma: Any, earlier: Any) -> Any:
    """Whether σ is well below its earlier value."""
    return sigma < SIGMA_FALLEN * earlier


@criterion
def rank_vanishes_soon(fallen: Any, sigma: Any, duration: Any, step: Any) -> Any:
    """Whether a σ that has fallen by `fallen` in `duration` would vanish within a few steps."""
    return STEPS_TO_LOSS * fallen * step > sigma * duration


@criterion
def rank_dips(sigma: Any, ends: Any) -> Any:
    """Whether σ dips inside a step in which rows turned; ends: the smaller σ of its ends."""
    return sigma < SIGMA_DIPS * ends


@criterion
def rank_vanishes(sigma: Any, ends: Any) -> Any:
    """Whether σ inside a step is so small beside that of its ends that rank may be lost there."""
    return sigma < SIGMA_VANISHES * ends


@criterion
def rank_small(sigma: Any, largest: Any) -> Any:
    """Whether σ is so small that no step is left out."""
    return sigma < SMALL_SIGMA * largest


@criterion
def rank_may_turn(way: Any, sigma: Any) -> Any:
    """Whether rows moved so far that they may have turned by a right angle."""
    return way > ROWS_TURNING * sigma


@criterion
def rank_moved_far(way: Any, sigma: Any) -> Any:
    """Whether rows moved so far that they may have lost rank."""
    return way > sigma


@criterion
def rank_unexpected(way: Any, sigma: Any) -> Any:
    """Whether rows moved further than expected while they were not examined."""
    return way > ROWS_UNEXPECTED * sigma


@criterion
def rank_parts(way: Any, size: Any, largest: Any) -> Any:
    """The number of parts of a step in none of which rows of this size return unseen; largest: the largest σ so far."""
    return rounded_up(way / (ROWS_PER_PART * larger(size, largest)))


def rows_involved(combinations: NDArray[np.float64]) -> NDArray[np.intp]:
    """The rows that take part in any of some unit combinations, (k, m)."""
    return np.flatnonzero(np.abs(combinations).max(axis=0, initial=0.0) > ROW_INVOLVED)


def rank_criteria_text() -> str:
    """The criteria as C functions, and the numbers that the C of the rank guard uses besides, as `RANK_…`."""
    numbers = {
        "MOST_PARTS": MOST_PARTS_OF_STEP,
        "NO_PIVOT": PIVOT_OF_ROUNDING,
        "PARTS": PARTS_OF_TURNING_STEP,
        "PATIENCE": STEPS_WITHOUT_LOOK,
        "PROBE": RANK_PROBE,
        "RIGHT_ANGLE": RIGHT_ANGLE,
        "SAME_VOLUME": SAME_VOLUME,
        "UNSEEN": ROWS_UNSEEN,
    }
    functions = (function_text(name, function) for name, function in RANK_CRITERIA.items())
    return "\n".join([*(f"#define RANK_{name} {value!r}" for name, value in numbers.items()), *functions])
