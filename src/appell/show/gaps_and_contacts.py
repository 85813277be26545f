"""Gaps in curves over time, and intervals of contact; without matplotlib, also for web pages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.motion.record import Record

Array = NDArray[np.float64]


def with_gaps(t: Array, values: Array) -> tuple[Array, Array]:
    """The curve with a gap at each jump."""
    gaps = jumps(t, values)
    return np.insert(t, gaps, np.nan), np.insert(values, gaps, np.nan)


def jumps(t: Array, values: Array) -> NDArray[np.int_]:
    """Indices before which the value jumps at one time, as at an impact."""
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return 1 + np.flatnonzero((np.diff(t) == 0) & (np.abs(np.diff(values)) > 1e-9 * size))


def contact_intervals(motion: Record) -> list[tuple[float, float]]:
    """Intervals (s) in which some face is in contact: from a landing to the leaving, or to the end."""
    changes = [(float(time), len(faces)) for time, faces in motion.contacts] or _changes_of_contact(motion)
    ends = [*(time for time, _ in changes[1:]), *motion.t[-1:].tolist()]
    return [(time, end) for (time, count), end in zip(changes, ends, strict=False) if count and end != time]


def _changes_of_contact(motion: Record) -> list[tuple[float, int]]:
    """(time, number of faces in contact from then on) from the events only, since a file keeps nothing else."""
    changes: list[tuple[float, int]] = []
    in_contact: set[str] = set()
    for event in motion.impacts:
        if event.kind == "landing":
            in_contact.add(event.constraint)
        elif event.kind == "leaving":
            if event.constraint not in in_contact:  # in contact from the beginning
                changes = [(float(motion.t[0]), 1), *((time, count + 1) for time, count in changes)]
            in_contact.discard(event.constraint)
        else:
            continue
        changes.append((float(event.time), len(in_contact)))
    return changes


__all__ = ["contact_intervals", "jumps", "with_gaps"]
