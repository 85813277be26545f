"""The instants of a motion at which something happens: impacts, landings, leavings and resets, and the states around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.chatter import Chatter, chatters
from appell.motion.motion import Motion

Array = NDArray[np.float64]

ONE_INSTANT = 1e-14
"""Relative time difference within which events coincide: a plastic impact and the contact that follows it."""


class Ended(Exception):
    """No derivative beyond this point; the text says why."""


class MotionInstants:
    """A motion, instant by instant."""

    def __init__(self, motion: Motion):
        self.motion, self.run_of, self.p = motion, motion.run, motion.run.p
        self.nq = motion.run.form.nq
        self.begin, self.end = motion.span or (float(motion.t[0]), float(motion.t[-1]))
        self.direction = 1.0 if self.end >= self.begin else -1.0
        self.chatters: list[Chatter] = []

    def _instants(self) -> list[list[Any]]:
        """Events at faces and resets, grouped by instant, in the order of the run."""
        instants, slack = self._events(), ONE_INSTANT * max(abs(self.begin), abs(self.end))
        resets: list[list[Any]] = []
        for state in self.motion.reset_states:
            if resets and state.time - resets[-1][0].time <= slack:
                resets[-1].append(state)
            else:
                resets.append([state])
        for states in resets:
            time, name = states[0].time, self.motion.system.resets[states[0].number].name
            coinciding = [event for events in instants for event in events if abs(event.time - time) <= slack]
            if any(event.kind == "impact" for event in coinciding):
                raise Ended(f"reset '{name}' and a blow on '{coinciding[0].constraint}' coincide at t = {time:.6g}")
            instants = [events for events in instants if abs(events[0].time - time) > slack]
        return sorted([*instants, *resets], key=lambda events: self.direction * events[0].time)

    def _events(self) -> list[list[Any]]:
        """Impacts, landings and leavings, grouped by instant, in order of time."""
        groups: list[list[Any]] = []
        for event in self.motion.impacts:
            if event.time == self.begin and event.kind != "impact":
                continue  # contacts of the start, without an impact
            if groups and event.time - groups[-1][0].time <= ONE_INSTANT * max(abs(self.begin), abs(self.end)):
                groups[-1].append(event)
            else:
                groups.append([event])
        self.chatters = chatters(groups, self._face, self._bounces)
        for chatter in self.chatters:  # the time after the last resolved impact is not an interval of its own
            k = next(k for k, events in enumerate(groups) if events[-1].time == chatter.end)
            if chatter.times and groups[k - 1][0].time == chatter.times[0]:
                groups[k - 1 : k + 1] = [groups[k - 1] + groups[k]]
        return groups

    def _face(self, name: str) -> int:
        return next(i for i, face in enumerate(self.motion.system.unilateral) if face.name == name)

    def _bounces(self, face: int, time: float) -> bool:
        q, v = self._states(time, after=False)
        return bool(self.run_of.form.select("restitution")(time, q, v, self.p)["restitution"][face] > 0)

    def _states(self, time: float, after: bool) -> tuple[Array, Array]:
        """(q, v) of the motion at an instant; `after` or before its events."""
        motion = self.motion
        samples = np.flatnonzero(motion.t == time)
        if len(samples):
            k = int(samples[-1] if after else samples[0])
            return motion.q[k], motion.v[k]
        state = motion.at(time)
        return state.q[0], state.v[0]

    def _contacts(self, time: float) -> tuple[int, ...]:
        """The faces in contact from this instant on."""
        latest: tuple[int, ...] = ()
        for since, faces in self.motion.contacts:
            if since <= time:
                latest = faces
        return latest


__all__ = ["ONE_INSTANT", "Ended", "MotionInstants"]
