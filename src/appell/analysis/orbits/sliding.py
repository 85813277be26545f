"""Stick and slip phases of an orbit, and their changes along a branch.

The course of a friction over one period is the cyclic word of its phases: s (stick), + and − (slip, by its direction), o (off,
in flight). Where a phase appears or disappears, there is a sliding bifurcation; its kind depends on the neighbouring phases
(M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems, 2008, chapter 8):

    + s +  →  +         grazing–sliding        slip touches zero tangentially
    + s −  →  + −       crossing–sliding       slip changes sign where sticking was just possible
    s + s  →  s         multi-sliding          sticking is interrupted where the force just reaches its limit
    s + −  →  s −       switching–sliding      sticking ends in either direction
    + − +  →  +         grazing–crossing       slip changes sign twice

If no sticking is left between slips in both directions, it is called loss of sticking. On a symmetric orbit several such phases
vanish at once. The orbit and the parameter are smooth functions of the duration of the phase that vanishes, and their limit at
zero is extrapolated (`grazing.orbit_at_vanishing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from appell.analysis.orbits.refining import CurvePoint
from appell.modes.mode import SLIP, STICK, Phase
from appell.motion.motion import Motion

Word = tuple[str, ...]

SLIDING = ("grazing–sliding", "crossing–sliding", "multi-sliding", "switching–sliding", "grazing–crossing", "loss of sticking")
"""The named kinds."""
SHORTEST_PHASE = 0.02
"""A phase is followed down to this fraction of its first duration; shorter ones are at the limit of deciding between modes."""
OTHER = "change of stick and slip"


class PhaseWord(NamedTuple):
    """The word of one friction over a period, rotated to a canonical start, and the durations of its phases, s."""

    word: Word
    durations: tuple[float, ...]


def _letter(phase: Phase) -> str:
    if phase.state != SLIP:
        return "s" if phase.state == STICK else "o"
    return "p" if isinstance(phase.direction, tuple) else "+" if phase.direction > 0 else "−"


def course(motion: Motion, friction: str) -> PhaseWord:
    """The word of a closed motion: equal phases at both ends are joined."""
    phases = [phase for phase in motion.phases if phase.friction == friction]
    letters, times = [_letter(phase) for phase in phases], [phase.end - phase.start for phase in phases]
    if len(letters) > 1 and letters[0] == letters[-1]:
        letters, times = letters[:-1], [times[0] + times[-1], *times[1:-1]]
    if not letters:
        return PhaseWord((), ())
    turns = [(tuple(letters[k:] + letters[:k]), k) for k in range(len(letters))]
    word, k = min(turns)
    return PhaseWord(word, tuple(times[k:] + times[:k]))


def phase_words(point: CurvePoint) -> tuple[Word, ...]:
    """The words of all frictions along an orbit."""
    motion = point.record.motion
    return tuple(course(motion, friction.name).word for friction in motion.system.frictions)


def _word_without(word: Word, vanished: Sequence[int]) -> Word:
    """A cyclic word without some letters, with equal neighbours merged, rotated to its canonical start."""
    remaining = [letter for k, letter in enumerate(word) if k not in vanished]
    remaining = [letter for k, letter in enumerate(remaining) if letter != remaining[k - 1] or len(remaining) == 1]
    return min((tuple(remaining[i:] + remaining[:i]) for i in range(len(remaining))), default=())


def _candidates(long: Word, short: Word) -> Iterator[tuple[int, ...]]:
    """Letters that may have vanished: one or, for symmetric orbits, all of one kind at once."""
    yield from ((k,) for k in range(len(long)))
    kinds = [_kind(long, short, k) for k in range(len(long))]
    for kind in dict.fromkeys(kinds):
        for letters in ("s", "+−"):
            yield tuple(k for k, letter in enumerate(long) if kinds[k] == kind and letter in letters)


class Vanishing(NamedTuple):
    """The phase that only one of two orbits has: its friction, the kind, and whether it is the first orbit that has it."""

    friction: str
    kind: str
    first: bool
    letter: str


def vanishing(here: CurvePoint, there: CurvePoint) -> Vanishing | None:
    """The change in the words of two neighbouring orbits; None if there is none."""
    names = [friction.name for friction in here.record.motion.system.frictions]
    for name, a, b in zip(names, phase_words(here), phase_words(there), strict=True):
        if a == b:
            continue
        long, short, in_first = (a, b, True) if len(a) > len(b) else (b, a, False)
        for vanished in _candidates(long, short):
            if vanished and _word_without(long, vanished) == short:
                return Vanishing(name, _kind(long, short, vanished[0]), in_first, long[vanished[0]])
        return Vanishing(name, OTHER, in_first, "")
    return None


def _kind(long: Word, short: Word, k: int) -> str:
    before, letter, after = long[k - 1], long[k], long[(k + 1) % len(long)]
    slips = {before, after} <= {"+", "−"}
    if letter == "s" and "s" not in short and not (slips and before == after):
        return "loss of sticking"
    if letter == "s" and slips:
        return "grazing–sliding" if before == after else "crossing–sliding"
    if letter in "+−" and before == after:
        return "multi-sliding" if before == "s" else "grazing–crossing" if slips else OTHER
    if letter in "+−" and "s" in (before, after) and {before, after} & {"+", "−"}:
        return "switching–sliding"
    return OTHER


def lasting(point: CurvePoint, what: Vanishing) -> float:
    """The shortest phase of a kind, as a fraction of the period; infinite if there is none."""
    phases = course(point.record.motion, what.friction)
    times = [t for letter, t in zip(phases.word, phases.durations, strict=True) if letter == what.letter]
    return min(times, default=float("inf")) / point.record.period


__all__ = ["OTHER", "SHORTEST_PHASE", "SLIDING", "Vanishing", "lasting", "phase_words", "vanishing"]
