"""At which instant of an orbit its section lies: with room between impacts and resets, in flight."""

from __future__ import annotations

import numpy as np

from appell.motion.motion import Motion

ROOM_BETWEEN_IMPACTS = 0.3
"""Share of half the longest time between two impacts to which an impact may come near the instant of the section."""


def roomy_instant(motion: Motion, T: float) -> float | None:
    """The middle of the longest flight between two impacts of an orbit, s; None where its section has room as it is.

    A section lies in flight: in contact the state has fewer dimensions.
    """
    begin = float(motion.t[0])
    happened = [event.time for event in (*motion.impacts, *motion.resets)]
    hits = np.array(happened + [time for time, _ in motion.contacts if time > begin])
    if not len(hits):
        return None
    hits = np.unique((hits - begin) / T)
    room = min(hits[0], 1 - hits[-1])
    edges = np.append(hits, hits[0] + 1)
    length, middle = np.diff(edges), (edges[:-1] + edges[1:]) / 2 % 1.0
    in_flight = [not _contacts_at(motion, begin + T * at) for at in middle]
    if not any(in_flight):
        return None
    k = int(np.argmax(np.where(in_flight, length, -1.0)))
    roomy = room >= ROOM_BETWEEN_IMPACTS * length[k] / 2
    return None if roomy and not _contacts_at(motion, begin) else begin + T * float(middle[k])


def _contacts_at(motion: Motion, time: float) -> tuple[int, ...]:
    return next((faces for since, faces in reversed(motion.contacts) if since <= time), ())


__all__ = ["roomy_instant"]
