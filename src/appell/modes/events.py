"""Events of a motion with unilateral constraints: as compiled loops write them, and as a user reads them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Kind(IntEnum):
    """Kind of an event at a face. The numbers are part of the C interface."""

    IMPACT = 0
    GRAZE = 1  # touched without an impact
    LANDING = 2  # comes into contact
    LEAVING = 3


EVENT_KINDS = tuple(kind.name.lower() for kind in Kind)

EVENT = np.dtype(
    [("time", "f8"), ("face", "i4"), ("kind", "i4"), ("before", "f8"), ("after", "f8"), ("impulse", "f8")], align=True
)
"""An event as compiled code writes it: time, s; number of the face; `Kind`; ġ before and after; impulse P."""

CHANGE = np.dtype([("time", "f8"), ("face", "i4"), ("held", "i4"), ("last", "i4")], align=True)
"""A change of the contacts as compiled code writes it, face by face: whether it is in contact from then on."""


class Impact(NamedTuple):
    """One event of a motion: time (s), the face, ġ before and after, the impulse P (N s per unit of ∂g/∂q), and its kind:
    impact, graze (touched without an impact), landing (comes into contact), leaving."""

    time: float
    constraint: str
    before: float
    after: float
    impulse: float
    kind: str


def impacts(events: NDArray[Any], names: Sequence[str]) -> tuple[Impact, ...]:
    """Events, (n,) of dtype `EVENT`, by the names of their faces."""
    faces = np.array(names, dtype=object)[events["face"]].tolist()
    kinds = np.array(EVENT_KINDS, dtype=object)[events["kind"]].tolist()
    numbers = (events[name].tolist() for name in ("time", "before", "after", "impulse"))
    time, before, after, impulse = numbers
    return tuple(map(Impact._make, zip(time, faces, before, after, impulse, kinds, strict=True)))


__all__ = ["CHANGE", "EVENT", "EVENT_KINDS", "Impact", "Kind", "impacts"]
