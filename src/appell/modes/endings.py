"""The events that end a mode of contact or friction: one list for the loops in Python and C, and for the transitions."""

from __future__ import annotations

from enum import IntEnum


class Ending(IntEnum):
    """An event that ends a mode; `transitions` says what follows. The numbers are part of the C interface, `GUARD_…`."""

    HIT = 0  # g of an open face falls to 0
    LEAVE = 1  # Λ of a closed face falls through 0
    BREAK = 2  # |λ| of a sticking friction reaches its bound
    STOP = 3  # u·s of a sliding friction, or |s| of a pair, falls to 0
    KINK = 4  # Λ of a constraint that loads a sliding friction changes sign
    SIGN = 5  # μ or F falls through 0
    JAM = 6  # a Painlevé configuration
    ZERO = 7  # as KINK, for one of several constraints that load a friction together
    HOLD = 8  # non-unique reactions can no longer hold
    DRIFT = 9  # a row implied by others is no longer implied
    CORNER = 10  # several open faces are hit at one instant
    LAND = 11  # after an impact whose flight is too short or too low to be resolved
    LIFT = 12  # after an impact that lifted the system off a closed face
    STALL = 13  # changes of mode at one instant do not end
    STANDSTILL = 14  # steps shrink to nothing


__all__ = ["Ending"]
