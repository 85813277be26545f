"""The numbers that friction is decided by, in C and in Python: each is typed here, and `friction_defines` writes those of C.

All are shares of the sizes of the problem itself, of the terms of a slip, or of a step: none has a unit. Those that friction
has in common with walls are in `contact/contact_thresholds.py`.
"""

from __future__ import annotations

# -- which mode holds --------------------------------------------------------------------------------------------------

TIE = 1e-9
"""Share of the sizes of a problem below which one of its lines is a tie."""
CLEAR_OF_TIE = 10.0
"""So many ties away a line is decided by compiled code; what is nearer it hands over."""
VANISHING = 1e-2
"""Share of the largest accelerations so far that is the size of those at an instant where they vanish."""
NO_COMPLIANCE = 1e-9
"""Share of Σ J²/M below which constraints leave no answer to a force along a row: then it is measured by that."""
NO_ENERGY = 1e-300
"""An energy above zero where there is none."""
STATIC_BELOW = 1e-12
"""Share of a coefficient of sliding by which that at rest may lie below it."""
FEW_MODES = 100
"""Modes that compiled code tries one after another."""
SMALLEST_PIVOT = 1e-9
"""The smallest pivot of a saddle point that compiled code solves, as a share of the largest."""
GAINED = 1e-9
"""Share of the energies of a blow that rounding may add."""
NEARBY = 1e3
"""Times what stands on a face may touch it: an open face, about which compiled code does not decide."""

# -- slips -------------------------------------------------------------------------------------------------------------

AT_REST = 1e-11
"""Share of its terms below which a slip is none."""
SLOW_PAIR = 1e-9
"""Share of its terms at which it is looked at whether the slip of a pair stops,"""
SLOWER = 0.1
"""but less than this share of the slip that it has: one that stops falls by less from step to step."""
STOPPED_PAIR = 1e-13
"""Share of its terms at which it has stopped in any case."""

# -- noises of guards --------------------------------------------------------------------------------------------------

REACTION_NOISE = 1e-12
"""Share of the size of a multiplier that rounding may hide."""
COEFFICIENT_NOISE = 1e-13
"""Share of a coefficient, or of a limit."""
SLIP_NOISE = 1e-15
"""Share of the largest terms of a slip."""
PAIR_NOISE = 1e-3
"""Share of the slip at which a pair may have stopped."""
DETERMINANT_NOISE = 1e-12
"""Of the quotient of determinants in which Painlevé's configurations show,"""
JAMMING = 1e-6
"""which compiled steps do not start below."""
UNRISEN = 10.0
"""Noises below zero at which a guard that has not risen falls."""
DECIDED = 1e-3
"""Noises of a guard within which a root is good enough, where no Newton's step in time follows."""

# -- steps -------------------------------------------------------------------------------------------------------------

AT_ONCE = 1e-9
"""Part of a step within which two events happen at once."""
REFRESHED = 16
"""Steps after which compiled code finds the sizes of forces anew."""


def friction_defines() -> str:
    """`#define FRICTION_TIE 1e-09` and so on."""
    return "\n".join(f"#define FRICTION_{name} {value!r}" for name, value in globals().items() if name.isupper())
