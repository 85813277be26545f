"""The numbers that both twins of the time loop decide by, and the C header that is made of them.

Statuses and kinds of events are `appell.errors.Status` and `appell.nonsmooth.contact.events.Kind`; nothing is typed twice.
"""

from __future__ import annotations

from appell.errors import Status
from appell.nonsmooth.contact.contact_thresholds import defines
from appell.nonsmooth.contact.events import Kind

STRETCH = 1 + 1e-6
"""The last step may be so much longer than wanted, rather than leave a remainder of rounding."""
MOVED = 0.01
"""A projection by less than this part of the tolerance leaves the slope at the end of a step valid."""
TINY = 10
"""Spacings of the floating-point numbers at t: a step shorter than so many is not tried."""
NEWTON = 12
"""Corrections onto the constraints that are tried."""
ROUNDING = 1e-15
"""A relative residual below this is not mended."""
UNNOTICED = 1e-14
"""A correction below this share of the largest number of a state is rounding, whatever the residual that it leaves."""
QUADRATIC = 1e-7
"""After a Newton step from a relative residual below this, the next one would be at rounding level."""

NUMBERS = {
    "STRETCH": STRETCH,
    "MOVED": MOVED,
    "TINY": TINY,
    "NEWTON": NEWTON,
    "ROUNDING": ROUNDING,
    "UNNOTICED": UNNOTICED,
    "QUADRATIC": QUADRATIC,
}


def header() -> str:
    """C text: `LOOP_…` for statuses and numbers, `KIND_…` for kinds of events, `CONTACT_…` for the numbers of contact."""
    enums = (("LOOP", Status), ("KIND", Kind))
    lines = [f"enum {{ {', '.join(f'{prefix}_{x.name} = {x.value}' for x in table)} }};" for prefix, table in enums]
    numbers = {f"LOOP_{name}": value for name, value in NUMBERS.items()}
    numbers |= {f"CONTACT_{name}": value for name, value in defines().items()}
    return "\n".join([*lines, *(f"#define {name} {value!r}" for name, value in numbers.items()), ""])


__all__ = ["MOVED", "NEWTON", "QUADRATIC", "ROUNDING", "STRETCH", "TINY", "UNNOTICED", "header"]
