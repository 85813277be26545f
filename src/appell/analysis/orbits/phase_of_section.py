"""The instant of an orbit's section: away from impacts, resets and changes of stick and slip, and in flight."""

from __future__ import annotations

import numpy as np

from appell.modes.mode import STICK
from appell.motion.motion import Motion

ROOM_BETWEEN_IMPACTS = 0.3
"""Smallest distance of an impact from the instant of the section, as a fraction of half the longest time between impacts."""


def roomy_instant(motion: Motion, T: float) -> float | None:
    """The middle of the longest flight between two impacts of an orbit, s; None if its section is already far enough.

    A section is in flight, and where the fewest frictions stick: in contact, and while frictions stick, the state has fewer
    dimensions.
    """
    begin = float(motion.t[0])
    times = [event.time for event in (*motion.impacts, *motion.resets)]
    times += [time for time, _ in motion.modes if time > begin] if motion.system.frictions else []
    hits = np.array(times + [time for time, _ in motion.contacts if time > begin])
    if not len(hits):
        return None
    hits = np.unique((hits - begin) / T)
    room = min(hits[0], 1 - hits[-1])
    edges = np.append(hits, hits[0] + 1)
    length, middle = np.diff(edges), (edges[:-1] + edges[1:]) / 2 % 1.0
    in_flight = np.array([not _contacts_at(motion, begin + T * at) for at in middle])
    if not in_flight.any():
        return None
    sticks = np.array([_sticks_at(motion, begin + T * at) for at in middle])
    free = in_flight & (sticks == sticks[in_flight].min())
    k = int(np.argmax(np.where(free, length, -1.0)))
    roomy = room >= ROOM_BETWEEN_IMPACTS * length[k] / 2
    stays = not _contacts_at(motion, begin) and _sticks_at(motion, begin) <= sticks[k]
    return None if roomy and stays else begin + T * float(middle[k])


def _sticks_at(motion: Motion, time: float) -> int:
    """The number of frictions that stick at an instant."""
    mode = next((mode for since, mode in reversed(motion.modes) if since <= time), None)
    return 0 if mode is None else sum(friction.state == STICK for friction in mode.frictions)


def _contacts_at(motion: Motion, time: float) -> tuple[int, ...]:
    return next((faces for since, faces in reversed(motion.contacts) if since <= time), ())


__all__ = ["roomy_instant"]
