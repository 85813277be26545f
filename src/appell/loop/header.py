"""Constants shared by the C and Python versions of the time loop, and the C header generated from them.

Statuses, kinds of events and endings of modes are `appell.errors.Status`, `appell.modes.events.Kind` and
`appell.modes.endings.Ending`; nothing is typed twice.
"""

from __future__ import annotations

from appell.errors import Status
from appell.modes.contact_thresholds import defines
from appell.modes.endings import Ending
from appell.modes.events import Kind

STRETCH = 1 + 1e-6
"""The last step may be so much longer than wanted, rather than leave a remainder of rounding."""
MOVED = 0.01
"""A projection by less than this part of the tolerance leaves the slope at the end of a step valid."""
STEP_SPACINGS = 10
"""Spacings of the floating-point numbers at t: a step shorter than so many is not tried."""
NEWTON = 12
"""Corrections onto the constraints that are tried."""
RESIDUAL_ROUNDING = 1e-15
"""A relative residual below this is not mended."""
UNNOTICED = 1e-14
"""A correction below this share of the largest number of a state is rounding, whatever the residual that it leaves."""
QUADRATIC = 1e-7
"""After a Newton step from a relative residual below this, the next one would be at rounding level."""

HALVED_AT_LEAST = 0.5
"""A correction onto the constraints that leaves more than this share of the residual has come to its end."""

# -- sizes of steps ----------------------------------------------------------------------------------------------------

LEAST_ERROR = 1e-10
"""In units of the tolerance: an error below this tells no more about the next step (straight motion has none)."""
LEAST_BEFORE = 1e-4
"""The same of the error of the step before, and what it is taken for at the start (Hairer IV.2)."""
THIRD_ORDER = 0.01
"""Weight of the estimate of third order in the error of a pair with two of them (Hairer II.10, eq. 10.17)."""
NO_SCALE = 1e-5
"""In units of the tolerance: a state or a slope below this gives the first step no scale of time (Hairer II.4)."""
UNSCALED = 1e-6
"""The first step where there is no such scale, s."""
FIRST_PART = 0.01
"""Part of |z|/|ż|, and of a unit of error, that the first step is meant to take."""
STRAIGHT = 1e-15
"""A second derivative below this is none: then the first step is"""
SHORTER = 1e-3
"""this part of what was tried,"""
LONGEST_FIRST = 100.0
"""and it never is longer than so many times that."""

NUMBERS = {
    "STRETCH": STRETCH,
    "MOVED": MOVED,
    "TINY": STEP_SPACINGS,
    "NEWTON": NEWTON,
    "ROUNDING": RESIDUAL_ROUNDING,
    "UNNOTICED": UNNOTICED,
    "QUADRATIC": QUADRATIC,
    "HALVED_AT_LEAST": HALVED_AT_LEAST,
    "LEAST_ERROR": LEAST_ERROR,
    "LEAST_BEFORE": LEAST_BEFORE,
    "THIRD_ORDER": THIRD_ORDER,
    "NO_SCALE": NO_SCALE,
    "UNSCALED": UNSCALED,
    "FIRST_PART": FIRST_PART,
    "STRAIGHT": STRAIGHT,
    "SHORTER": SHORTER,
    "LONGEST_FIRST": LONGEST_FIRST,
}


def header() -> str:
    """C text: `LOOP_…` for statuses and numbers, `KIND_…` for kinds of events, `GUARD_…` for endings of modes, `CONTACT_…` for
    the numbers of contact."""
    enums = (("LOOP", Status), ("KIND", Kind), ("GUARD", Ending))
    lines = [f"enum {{ {', '.join(f'{prefix}_{x.name} = {x.value}' for x in table)} }};" for prefix, table in enums]
    numbers = {f"LOOP_{name}": value for name, value in NUMBERS.items()}
    numbers |= {f"CONTACT_{name}": value for name, value in defines().items()}
    return "\n".join([*lines, *(f"#define {name} {value!r}" for name, value in numbers.items()), ""])


__all__ = ["MOVED", "NEWTON", "QUADRATIC", "RESIDUAL_ROUNDING", "STEP_SPACINGS", "STRETCH", "UNNOTICED", "header"]
