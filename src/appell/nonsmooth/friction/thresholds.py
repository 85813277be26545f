"""The thresholds of friction, for C and Python: each is defined here once, and `friction_defines` writes them for C.

All are fractions of the scales of the problem itself, of the terms of a slip, or of a step; none has a unit. Those that
friction shares with walls are in `modes/contact_thresholds.py`.
"""

from __future__ import annotations

# -- which mode holds --------------------------------------------------------------------------------------------------

TIE = 1e-9
"""Fraction of the scales of a problem below which one of its inequalities is a tie."""
CLEAR_OF_TIE = 10.0
"""Multiple of TIE above which compiled code decides an inequality itself; closer ones it leaves to Python."""
ACCELERATIONS_VANISHING = 1e-2
"""Fraction of the largest accelerations so far that serves as their scale where they vanish."""
NO_COMPLIANCE = 1e-9
"""Fraction of Σ J²/M below which the constraints give a force along a row no effect; the row is then scaled by Σ J²/M."""
NO_ENERGY = 1e-300
"""A positive energy in place of zero, J."""
STATIC_BELOW = 1e-12
"""Fraction by which a static coefficient may lie below the sliding one, for rounding."""
FEW_MODES = 100
"""Most modes that compiled code tries in succession."""
SMALLEST_PIVOT = 1e-9
"""Smallest pivot of a saddle point that compiled code solves, as a fraction of the largest."""
ENERGY_GAINED = 1e-9
"""Fraction of the energies of an impact that rounding may add."""
FACE_NEARBY = 1e3
"""Multiple of ON_FACE within which an open face is too near for compiled code to decide."""

# -- slips -------------------------------------------------------------------------------------------------------------

SLIP_AT_REST = 1e-11
"""Fraction of its terms below which a slip counts as zero."""
SLOW_PAIR = 1e-9
"""Fraction of its terms at which it is examined whether the slip of a pair stops …"""
PAIR_SLOWER = 0.1
"""… but at most this fraction of its current slip: a slip that stops falls by less from step to step."""
STOPPED_PAIR = 1e-13
"""Fraction of its terms at which it has stopped in any case."""

# -- noise of guards ---------------------------------------------------------------------------------------------------

REACTION_NOISE = 1e-12
"""Noise of a reaction, as a fraction of the scale of its multiplier."""
COEFFICIENT_NOISE = 1e-13
"""Noise of a coefficient or a limit, as a fraction of it."""
BELOW_ZERO = 1e-9
"""How far a coefficient, or a limit as a fraction of the forces, must fall below zero to be called negative. At a bend such as
that of 0.3 |x − 1|, the place of the bend is found before that, and the coefficient rises again."""
SLIP_NOISE = 1e-15
"""Noise of a slip, as a fraction of its largest terms."""
PAIR_NOISE = 1e-3
"""Noise of the slip of a pair, as a fraction of the slip at which it may have stopped."""
DETERMINANT_NOISE = 1e-12
"""Noise of the quotient of determinants that vanishes in Painlevé configurations."""
JAMMING = 1e-6
"""Quotient of determinants below which compiled steps do not start."""
GUARD_UNRISEN = 10.0
"""Multiple of its noise by which a guard that has not risen must be negative to count as falling."""
ROOT_DECIDED = 1e-3
"""Multiple of its noise within which the zero of a guard is accurate enough, where no Newton correction follows."""

# -- steps -------------------------------------------------------------------------------------------------------------

RISING_HALVINGS = 40
"""Halvings of an interval within which a guard that starts at zero must have risen; otherwise it falls at once."""
EVENTS_AT_ONCE = 1e-9
"""Fraction of a step within which two events count as simultaneous."""
SCALES_REFRESHED = 16
"""Steps after which compiled code computes the scales of forces again."""


def friction_defines() -> str:
    """`#define FRICTION_TIE 1e-09` and so on."""
    return "\n".join(f"#define FRICTION_{name} {value!r}" for name, value in globals().items() if name.isupper())
