"""What ends a mode of contact or friction: one list for the loops that find it, in Python and in C, and for what follows it."""

from __future__ import annotations

from enum import IntEnum


class Ending(IntEnum):
    """What ends a mode; the numbers are part of the C interface, `GUARD_…`. What follows each: `transitions.TRANSITIONS`."""

    HIT = 0  # g of a free face falls to 0
    LEAVE = 1  # Λ of a closed face falls through 0
    BREAK = 2  # |λ| of what sticks reaches its bound
    STOP = 3  # u·s of what slides, or |s| of a pair, falls to 0
    KINK = 4  # Λ of a constraint that presses on what slides changes its sign
    SIGN = 5  # μ or F falls through 0
    JAM = 6  # a configuration of Painlevé
    ZERO = 7  # as KINK, of one among several that press together
    HOLD = 8  # reactions that are not unique no longer hold
    DRIFT = 9  # a row that held because of others does not any more
    CORNER = 10  # several free faces are hit at one instant
    LAND = 11  # a blow was given, and the flight after it does not show
    LIFT = 12  # a blow was given, and a face that was closed has lifted off
    STALL = 13  # changes of mode at one instant do not end
    STANDSTILL = 14  # steps shrink to nothing


__all__ = ["Ending"]
