"""A motion at more times than its samples: every interval between them is subdivided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import AppellError
from appell.motion.record import subdivided
from appell.reading import whole

if TYPE_CHECKING:
    from appell.motion.motion import Motion


def refined(motion: Motion, points: int) -> Motion:
    """See `Motion.fine`."""
    points, span = whole(points, "points=", 1, 10**7), np.abs(np.diff(motion.t))
    counts = np.maximum(1, np.ceil(points * span / max(span.sum(), np.finfo(float).tiny)).astype(int))
    if motion.sampler is None or (counts == 1).all():
        return motion
    try:
        fine = motion.at(subdivided(motion.t, counts))
    except AppellError:  # the last step of a failed run may not be repeatable
        return motion
    states = {name: getattr(fine, name).copy() for name in ("q", "v", "work")}
    for name, values in states.items():
        values[np.append(0, np.cumsum(counts))] = getattr(motion, name)  # keeps both samples at an impact
    return replace(fine, **states, lost=None, precedes=None)


__all__ = ["refined"]
