"""Constants shared by the C and Python versions of the time loop, and the C header generated from them.

Statuses, kinds of events and endings of modes are `appell.errors.Status`, `appell.modes.events.Kind` and
`appell.modes.endings.Ending`; nothing is defined twice.
"""

from __future__ import annotations

from appell.errors import Status
from appell.modes.contact_thresholds import defines
from appell.modes.endings import Ending
from appell.modes.events import Kind
from appell.normal_form.manifold import RESIDUAL_ROUNDING

LAST_STEP_STRETCH = 1 + 1e-6
"""Factor by which the last step may be longer than proposed, to avoid a tiny remainder."""
PROJECTION_MOVED = 0.01
"""A projection by less than this fraction of the tolerance leaves the slope at the end of a step valid."""
STEP_SPACINGS = 10
"""Shortest step that is tried, in spacings of the floating-point numbers at t."""
SAME_STEP = 1e-9
"""Relative difference of two steps, from rounding of their times, up to which an implicit method treats them as equal."""
PROJECTION_CORRECTIONS = 12
"""Most Newton corrections onto the constraints."""
CORRECTION_UNNOTICED = 1e-14
"""A correction below this fraction of the largest number of a state is rounding, whatever residual remains."""
LAST_NEWTON_FROM = 1e-7
"""After a Newton step from a relative residual below this, the next one would be at rounding level."""

PROJECTION_STAGNATES = 0.5
"""The iteration onto the constraints stagnates when it leaves more than this fraction of the residual."""

# -- step sizes --------------------------------------------------------------------------------------------------------

LEAST_ERROR = 1e-10
"""Smallest error, in units of the tolerance, that affects the next step (uniform motion has none)."""
LEAST_ERROR_BEFORE = 1e-4
"""The same for the error of the previous step, and its value at the start (Hairer IV.2)."""
THIRD_ORDER = 0.01
"""Weight of the estimate of third order in the error of a pair with two of them (Hairer II.10, eq. 10.17)."""
NO_SCALE = 1e-5
"""A state or slope below this, in units of the tolerance, gives the first step no time scale (Hairer II.4)."""
FIRST_STEP_UNSCALED = 1e-6
"""First step without such a scale, s."""
FIRST_STEP_SHARE = 0.01
"""Fraction of |z|/|ż|, and of a unit of error, at which the first step aims."""
FIRST_STEP_STRAIGHT = 1e-15
"""A second derivative below this counts as zero."""
FIRST_STEP_SHORTER = 1e-3
"""The first step without a second derivative, as a fraction of the Euler step that was tried (Hairer II.4)."""
FIRST_STEP_LONGEST = 100.0
"""Longest first step, as a multiple of that Euler step."""


def numbers() -> dict[str, float | int]:
    """The constants by name."""
    return {name: value for name, value in globals().items() if name.isupper()}


def header() -> str:
    """The C header: `LOOP_…` for statuses and constants, `KIND_…` for kinds of events, `GUARD_…` for endings of modes,
    `CONTACT_…` for the thresholds of contact."""
    enums = (("LOOP", Status), ("KIND", Kind), ("GUARD", Ending))
    lines = [f"enum {{ {', '.join(f'{prefix}_{x.name} = {x.value}' for x in table)} }};" for prefix, table in enums]
    constants = {f"LOOP_{name}": value for name, value in numbers().items()}
    constants |= {f"CONTACT_{name}": value for name, value in defines().items()}
    return "\n".join([*lines, *(f"#define {name} {value!r}" for name, value in constants.items()), ""])


__all__ = [
    "CORRECTION_UNNOTICED", "FIRST_STEP_LONGEST", "FIRST_STEP_SHARE", "FIRST_STEP_SHORTER", "FIRST_STEP_STRAIGHT",
    "FIRST_STEP_UNSCALED", "LAST_NEWTON_FROM", "LAST_STEP_STRETCH", "LEAST_ERROR", "LEAST_ERROR_BEFORE", "NO_SCALE",
    "PROJECTION_CORRECTIONS", "PROJECTION_MOVED", "PROJECTION_STAGNATES", "RESIDUAL_ROUNDING", "SAME_STEP", "STEP_SPACINGS",
    "THIRD_ORDER", "header",
]  # fmt: skip
