"""The numbers that decide where a root is sought, for C and Python alike."""

import sys

EPSILON = sys.float_info.epsilon
SMALLEST_NORMAL = sys.float_info.min
NARROWEST_INTERVAL = 1e-12
"""Part of a step below which an interval is a point: the step's own error is larger."""
LEAST_SHARE, SAFE_SHARE = 1 / 64, 0.8
"""Part of an interval that is cut off at a start where the guard is zero: at least, and as a share of what should do."""
GUARD_INTERVALS = 4000
"""Intervals of one guard in one step, after which a shorter step is asked for."""
NARROWEST_SOLVED_INTERVAL = 1e-9
"""Part of a step below which an interval of a guard that reads a solution is not halved: the error of its state is larger."""
GUARD_HALVINGS = 256
"""Intervals of such a guard in one step that are halved: one that is zero all along is not excluded by any number of them."""
HASTY_HALVINGS = 8
"""The same where steps before were not decided by them, or before the dense output of a step is made."""
FROM_ZERO = 1e-6
"""Share of what a guard that starts at zero comes to in its step: by so much it may first fall, as a tie was decided."""
BOUND_WIDENING = 1 + 1e-12
"""By which a bound of a solution is widened for the rounding of its own computation."""
YIELDING = 1e-3
"""By how much rows that depend on each other yield, as a share of the acceleration that their own force gives them: a change
of their reactions is followed to such a share, and their equations have one solution."""
FOLLOWED = 0.25
"""Share of its size by which a datum of equations may change between two readings of guards that have no bound."""
FOLLOWED_AT_ALL = 1e-3
"""Share of the largest that a datum is in its step, below which its changes are not followed: it may be zero in between."""


def limit_defines() -> str:
    """The same as `#define`s, ROOT_EPSILON and so on."""
    return "\n".join(f"#define ROOT_{name} {value!r}" for name, value in globals().items() if name.isupper())


__all__ = [
    "BOUND_WIDENING", "EPSILON", "FOLLOWED", "FOLLOWED_AT_ALL", "FROM_ZERO", "GUARD_HALVINGS", "GUARD_INTERVALS",
    "HASTY_HALVINGS", "LEAST_SHARE", "NARROWEST_INTERVAL", "NARROWEST_SOLVED_INTERVAL", "SAFE_SHARE",
    "SMALLEST_NORMAL", "YIELDING", "limit_defines",
]  # fmt: skip
