"""Transitions from one mode to the next: one table for faces and frictions.

    strike     impacts on the faces that are met, by the laws of the system      (v⁻ → v⁺)
    still      a slip that has vanished is set to zero in the kinetic metric
    settle     which faces press and what sticks from here on: the complementarity problem of the accelerations

Compiled code (`contact/transition.c.in`, `friction/settle.c.in`) makes the clear transitions itself and leaves the rest to
these functions.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.modes.contact_thresholds import MODE_CHANGES_STALLED
from appell.modes.endings import Ending
from appell.nonsmooth.contact.face_laws import land
from appell.nonsmooth.criteria import rate_is_rounding
from appell.nonsmooth.friction.friction_laws import refuse, stop
from appell.nonsmooth.mode_course import InstantEvents, ModeCourse


def change(course: ModeCourse, ending: tuple[Ending, int]) -> None:
    """Finds the mode after an ending; `MODE_CHANGES_STALLED` changes at one instant count as a failure to make progress.

    Impacts do not count, up to `CORNER_IMPACTS`: those of a rod that falls on both ends lose speed in turn, and end.
    """
    trace, (kind, number) = course.trace, ending
    trace.stalled = trace.stalled + 1 if trace.t == trace.switched else 0
    trace.switched = trace.t
    kind = kind if trace.stalled <= MODE_CHANGES_STALLED else Ending.STALL
    course.laws.pass_on(course, kind, number)
    events = TRANSITIONS[kind](course, kind, number)
    if events is not None:
        if events.struck and trace.stalled and course.strikes_on():
            trace.stalled -= 1
        course.laws.settle(course, events)
    trace.switched = trace.t  # time has passed if a two-dimensional friction began to slide


def _hit(course: ModeCourse, kind: Ending, face: int) -> InstantEvents:
    """Impacts on all faces that are met at this instant; those that are met without approach come into contact."""
    at = course.faces()
    met = course.trace.touching if kind is Ending.CORNER else {face, *(set(at.approaching) - set(course.mode.closed))}
    hits = [i for i in sorted(met) if at.g_d[i] < 0 and not rate_is_rounding(at.g_d[i], at.speeds[i])]
    stays = course.laws.strike(course, at, hits) if hits else {*met, *course.mode.closed}
    return InstantEvents(holding=frozenset(stays), met=frozenset(hits), struck=bool(hits))


def _land(course: ModeCourse, kind: Ending, face: int) -> InstantEvents:
    """The bouncing on a face ends with an inelastic impact."""
    at = course.faces()
    # without a rate there is no impulse, and the other contacts stay
    staying = set() if abs(at.g_d[face]) > at.slow[face] else course.mode.closed
    land(course, face)
    return InstantEvents(holding=frozenset({face, *staying}), met=frozenset({face}))


def _stop(course: ModeCourse, kind: Ending, number: int) -> InstantEvents | None:
    """A slip has vanished; None if it is two-dimensional and passes zero without stopping."""
    return InstantEvents(stopped=number) if stop(course, number) else None


def _from_state_alone(course: ModeCourse, kind: Ending, number: int) -> InstantEvents:
    """The next mode is found from the state alone."""
    return InstantEvents()


TRANSITIONS: dict[Ending, Callable[[ModeCourse, Ending, int], InstantEvents | None]] = {
    Ending.HIT: _hit,  # strike, settle
    Ending.CORNER: _hit,
    Ending.LAND: _land,  # an inelastic impact that ends the bouncing, settle
    Ending.LIFT: lambda course, kind, face: InstantEvents(met=frozenset({face})),
    Ending.LEAVE: lambda course, kind, face: InstantEvents(leaving=face, holding=frozenset(course.mode.closed) - {face}),
    Ending.STOP: _stop,  # still, settle; nothing if a two-dimensional slip passes zero without stopping
    Ending.BREAK: _from_state_alone,
    Ending.KINK: _from_state_alone,
    Ending.ZERO: _from_state_alone,
    Ending.JAM: _from_state_alone,
    Ending.HOLD: _from_state_alone,
    Ending.DRIFT: _from_state_alone,
    Ending.SIGN: lambda course, kind, i: refuse(course, i),
    Ending.STALL: lambda course, kind, number: course.laws.stall(course, kind),
    Ending.STANDSTILL: lambda course, kind, number: course.laws.stall(course, kind),
}
"""The transition after each ending, given the number of its face, friction or row; the result is the input of `settle`."""


__all__ = ["TRANSITIONS", "change"]
