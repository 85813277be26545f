"""The limits of the search for roots, for C and Python alike."""

import sys

EPSILON = sys.float_info.epsilon
SMALLEST_NORMAL = sys.float_info.min
FUNCTION_ULPS = 8 * EPSILON
"""Relative error of a function of the mathematical library."""
PERIOD_UNRESOLVED = 1e15
"""Largest argument for which a period is resolved."""
LARGEST_WHOLE_POWER = 1e9
"""Largest exponent that is recognised as even or odd."""
LESS_THAN_A_TURN = 6.28
"""Width of a range of angles, rad, below which it cannot contain a whole turn."""
NARROWEST_INTERVAL = 1e-12
"""Fraction of a step below which an interval counts as a point: the step's own error is larger."""
LEAST_SPLIT, SPLIT_SAFETY = 1 / 64, 0.8
"""Fraction of an interval that is split off at a start where the guard is zero: the smallest, and relative to the estimate."""
GUARD_INTERVALS = 4000
"""Most intervals of one guard in one step, after which a shorter step is requested."""
NARROWEST_SOLVED_INTERVAL = 1e-9
"""Fraction of a step below which an interval of a guard on a solution is not halved: the error of its state is larger."""
GUARD_HALVINGS = 256
"""Most bisections for such a guard in one step: no number of them excludes a guard that is zero throughout."""
HASTY_HALVINGS = 8
"""The same if earlier steps remained undecided, or before the dense output of a step is computed."""
FALL_FROM_ZERO = 1e-6
"""Fraction of its largest value in a step by which a guard that starts at zero may first fall, after a tie was decided."""
BOUND_WIDENING = 1 + 1e-12
"""Factor by which the bound of a solution is widened for the rounding of its own computation."""
ROW_COMPLIANCE = 1e-3
"""Compliance of dependent rows, as a fraction of the acceleration that their own force causes: it makes their solution unique,
and resolves changes of their reactions to this fraction."""
DATUM_FOLLOWED = 0.25
"""Fraction of its size by which a datum of equations may change between two samples of guards without bounds."""
DATUM_IGNORED = 1e-3
"""Fraction of the largest value of a datum in its step below which its changes are ignored; it may vanish in between."""


def limit_defines() -> str:
    """The limits as `#define`s: ROOT_EPSILON and so on."""
    return "\n".join(f"#define ROOT_{name} {value!r}" for name, value in globals().items() if name.isupper())


__all__ = [
    "BOUND_WIDENING",
    "DATUM_FOLLOWED",
    "DATUM_IGNORED",
    "EPSILON",
    "FALL_FROM_ZERO",
    "FUNCTION_ULPS",
    "GUARD_HALVINGS",
    "GUARD_INTERVALS",
    "HASTY_HALVINGS",
    "LARGEST_WHOLE_POWER",
    "LEAST_SPLIT",
    "LESS_THAN_A_TURN",
    "NARROWEST_INTERVAL",
    "NARROWEST_SOLVED_INTERVAL",
    "PERIOD_UNRESOLVED",
    "ROW_COMPLIANCE",
    "SMALLEST_NORMAL",
    "SPLIT_SAFETY",
    "limit_defines",
]  # fmt: skip
