"""The exceptions of the library; each message says what is wrong, where, and what to do.

Compiled code returns a `Status`; Python turns it into one of the exceptions below at its edge.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

MESSAGE_CHARACTERS = 3000
"""Longest message, in characters; a longer one contains a long value."""


class AppellError(Exception):
    """Base of every error this library raises on purpose."""

    def __init__(self, *args: Any):
        super().__init__(*(shortened(arg) if isinstance(arg, str) else arg for arg in args))


def shortened(text: str, most: int = MESSAGE_CHARACTERS) -> str:
    """The beginning and the end of a text that is too long."""
    return text if len(text) <= most else f"{text[: 3 * most // 4]} … {text[-most // 6 :]}"


class ModelError(AppellError, ValueError):
    """The description of a system is incomplete or contradicts itself."""


class UnknownKey(ModelError, KeyError):
    """A name that does not exist was requested."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotation marks


class ArgumentError(ModelError, TypeError):
    """A function was called with an argument that it does not have, or in another order."""


class ConstraintError(ModelError):
    """A constraint cannot be satisfied, by the model or by the given start."""


class StartsRefused(ConstraintError):
    """No start of an ensemble can be used. Carries `motions`, in which each run says why."""

    def __init__(self, message: str, *, motions: Any = None):
        super().__init__(message)
        self.motions = motions


class NoValues(ModelError):
    """Energies or constraints have no finite value at any random state."""


class FormNotApplicable(AppellError):
    """A classical form of the equations does not apply to this system; the message says why and which one does."""


class SingularConfiguration(AppellError):
    """The accelerations are not determined at a state. Carries `time`, `state` and, from a run, `motion` up to there."""

    def __init__(
        self, message: str, *, time: float | None = None, state: dict[str, float] | None = None, motion: Any = None
    ):
        super().__init__(message)
        self.time, self.state, self.motion = time, state, motion


class SimulationError(AppellError):
    """A run stopped early. Carries `motion`, everything computed until then."""

    def __init__(self, message: str, *, motion: Any = None):
        super().__init__(message)
        self.motion = motion


class BackendUnavailable(AppellError):
    """A back end was requested by name and is not available on this machine."""


class NotationError(ModelError):
    """An expression in a model file is not understood; `line` and `column` say where, from 1."""

    def __init__(self, what: str, line: int, column: int):
        super().__init__(f"line {line}, column {column}: {what}")
        self.what, self.line, self.column = what, line, column

    def __reduce__(self):
        return type(self), (self.what, self.line, self.column)


class FileError(AppellError, OSError):
    """A file cannot be read or written; the message names it."""


class MissingFile(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class Status(IntEnum):
    """Status returned by compiled code. The numbers are part of the C interface; `STATUS_TEXT` says what to do."""

    OK = 0
    BUFFER_FULL = 1  # not a failure: the caller empties the buffers and continues
    SINGULAR = 2
    NOT_FINITE = 3
    STEP_TOO_SMALL = 4
    MAX_STEPS = 5
    PROJECTION_FAILED = 6
    CONTRADICTORY = 7
    TIE = 8
    NO_SOLUTION = 9
    SWITCH = 10  # not a failure: a unilateral constraint changed its mode; the caller decides how to continue
    CORNER = 11
    RANK = 13  # not a failure: rows are about to lose rank; the caller checks
    ACCUMULATION = 14
    REACTION = 15
    FRICTION = 16
    JUMP = 17  # never from compiled code: at a break of the model something jumps that no motion can follow
    STOPPED = 18  # not a failure: a condition of stop= was met
    CONTROL = 12  # never from compiled code: the user's function failed
    CANCELLED = 20  # a run of an ensemble that was not started or finished when it was stopped
    REFUSED = 21  # a run of an ensemble with an invalid start


AS_ASKED = (Status.OK, Status.STOPPED)
"""Regular ends of a run: its final time, or a stop condition."""

STATUS_TEXT = {
    Status.OK: "finished",
    Status.BUFFER_FULL: "output buffer full",
    Status.SINGULAR: "singular configuration: the constraint rows (or the mass matrix on their kernel) lose rank here,"
    " so the accelerations are not determined",
    Status.NOT_FINITE: "the equations gave a value that is not finite (a division by zero, or an overflow)",
    Status.STEP_TOO_SMALL: "the step size fell below the spacing of the floating-point numbers: a singularity of the"
    " motion, or stiffness",
    Status.MAX_STEPS: "the step budget is spent: raise max_steps= or loosen rtol=",
    Status.PROJECTION_FAILED: "the state could not be brought back onto the constraints; tighten rtol=, or look for a"
    " configuration where the constraint rows lose rank",
    Status.CONTRADICTORY: "redundant constraint rows contradict each other at this state",
    Status.TIE: "Gauss's minimum is not unique here: two accelerations are equally small",
    Status.SWITCH: "a unilateral constraint was hit, released or came to rest",
    Status.RANK: "constraint rows lose rank here: branches of the motion meet, and the motion could not be followed through",
    Status.CORNER: "two unilateral constraints were hit at one instant, and the result depends on their order: the corner"
    " is not well posed. Choose an order, corner='first' or corner='last', one blow, corner='together', or change the start",
    Status.ACCUMULATION: "infinitely many impacts accumulate at a finite time without coming to rest, as between walls that"
    " close on each other: the motion has no continuation",
    Status.REACTION: "the reactions are not determined: a force contains the multiplier of a constraint, and no reaction, or"
    " more than one, satisfies that law here (I − ∂F/∂Λ is singular, or Newton's iteration for Λ does not settle; Painlevé)",
    Status.FRICTION: "dry friction does not determine the motion any further",
    Status.STOPPED: "stopped where stop= asks for it",
    Status.JUMP: "a constraint jumps with time: no motion can follow it",
    Status.CONTROL: "the control did not answer with values of its inputs",
    Status.CANCELLED: "not finished: the runs were stopped from outside",
    Status.REFUSED: "the start cannot be used",
    Status.NO_SOLUTION: "no acceleration satisfies the second-order constraint at this state",
}
