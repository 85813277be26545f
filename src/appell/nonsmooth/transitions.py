"""From the end of a mode to the next one: one table for faces and frictions.

    strike     blows on the faces that are met, by the laws of the system        (v⁻ → v⁺)
    still      a slip that has vanished is set to zero in the kinetic metric
    settle     which faces press and what sticks from here on: the complementarity problem of the accelerations

Compiled code does the same where it is clear, `contact/transition.c.in` and `friction/settle.c.in`, and hands over the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.modes.contact_thresholds import STALLED
from appell.modes.endings import Ending
from appell.nonsmooth.contact.face_laws import land
from appell.nonsmooth.friction.friction_laws import refuse, stop
from appell.nonsmooth.mode_course import Happened, ModeCourse


def change(course: ModeCourse, ending: tuple[Ending, int]) -> None:
    """The mode after an ending; `STALLED` of them at one instant do not lead anywhere."""
    trace, (kind, number) = course.trace, ending
    trace.stalled = trace.stalled + 1 if trace.t == trace.switched else 0
    trace.switched = trace.t
    kind = kind if trace.stalled <= STALLED else Ending.STALL
    course.laws.pass_on(course, kind, number)
    happened = TRANSITIONS[kind](course, kind, number)
    if happened is not None:
        course.laws.settle(course, happened)
    trace.switched = trace.t  # pairs that begin to slide move on


def _hit(course: ModeCourse, kind: Ending, face: int) -> Happened:
    """Blows on all faces that are met at this instant; it begins to press on a face that it does not approach."""
    at = course.faces()
    met = course.trace.touching if kind is Ending.CORNER else {face, *(set(at.approaching) - set(course.mode.closed))}
    hits = [i for i in sorted(met) if at.g_d[i] < 0]
    stays = course.laws.strike(course, at, hits) if hits else {face}
    return Happened(holding=frozenset(stays), met=frozenset(hits), struck=bool(hits))


def _land(course: ModeCourse, kind: Ending, face: int) -> Happened:
    land(course, face)
    return Happened(holding=frozenset({face}), met=frozenset({face}))


def _stop(course: ModeCourse, kind: Ending, number: int) -> Happened | None:
    return Happened(stopped=number) if stop(course, number) else None


def _anew(course: ModeCourse, kind: Ending, number: int) -> Happened:
    return Happened()


TRANSITIONS: dict[Ending, Callable[[ModeCourse, Ending, int], Happened | None]] = {
    Ending.HIT: _hit,  # strike, settle
    Ending.CORNER: _hit,
    Ending.LAND: _land,  # a blow that ends the bouncing, settle
    Ending.LIFT: lambda course, kind, face: Happened(met=frozenset({face})),
    Ending.LEAVE: lambda course, kind, face: Happened(leaving=face),
    Ending.STOP: _stop,  # still, settle; or the slip of a pair passes zero by
    Ending.BREAK: _anew,
    Ending.KINK: _anew,
    Ending.ZERO: _anew,
    Ending.JAM: _anew,
    Ending.HOLD: _anew,
    Ending.DRIFT: _anew,
    Ending.SIGN: lambda course, kind, i: refuse(course, i),
    Ending.STALL: lambda course, kind, number: course.laws.stall(course, kind),
    Ending.STANDSTILL: lambda course, kind, number: course.laws.stall(course, kind),
}
"""From what ends a mode to what is done there, with the number of its face, friction or row, and to what `settle` is told."""


__all__ = ["TRANSITIONS", "change"]
