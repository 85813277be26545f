"""Criteria of nonsmooth motion, each written once: Python calls them with numbers, C text comes from calling them with names.

    flight_unseen(after, pressing, noise, spacing)          in Python, numbers or arrays
    flight_unseen(after, pressing, noise, spacing)          in C, a function of the same name: `criteria_text`
    …                                                       in lanes, the same over vectors: `criteria_text(LANES)`

The thresholds in them are those of `contact/contact_thresholds.py` and `friction/thresholds.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from appell.modes.contact_thresholds import (
    BALANCED,
    BELOW,
    BESIDE,
    BLUNT,
    BLUR,
    CAUTION,
    CLEAR_HEIGHT,
    CLEAR_RATE,
    CLEAR_TIME,
    FINE,
    FORGOTTEN,
    HALVED,
    LEAST_NORMAL,
    LEFT,
    LIFTED,
    LOW,
    NO_RATE,
    ON_FACE,
    ORTHOGONAL,
    RESOLVED,
    RESTS,
    ROUNDING,
    SHORT,
    SOONER,
    STAYS,
    STEADY,
    STRONGEST,
    TOGETHER,
    TOUCH,
    UNANSWERED,
    UNSEEN,
)
from appell.nonsmooth.friction.thresholds import AT_REST, GAINED, NEARBY, SLOW_PAIR, SLOWER, STOPPED_PAIR

EPSILON = float(np.finfo(float).eps)


class CDialect(NamedTuple):
    """How C writes a criterion: the types of an argument and of a truth, a literal, and, or, and the names of functions."""

    number: str
    truth: str
    literal: str
    both: str
    either: str
    functions: dict[str, str]
    head: str = "static inline"


SCALAR = CDialect("double", "int", "{}", "&&", "||", {"sqrt": "sqrt", "fabs": "fabs", "fmax": "fmax", "fmin": "fmin"})
LANES = CDialect("V", "I", "(T) {}", "&", "|", {"sqrt": "lanes_sqrt", "fabs": "lanes_fabs", "fmax": "lanes_max"}, "static")


@dataclass(frozen=True)
class CText:
    """An expression in C, made by the operators of Python."""

    text: str
    dialect: CDialect
    is_truth: bool = False

    def _with(self, op: str, other: Any, *, swapped: bool = False, truth: bool = False) -> CText:
        right = other.text if isinstance(other, CText) else self.dialect.literal.format(repr(float(other)))
        a, b = (right, self.text) if swapped else (self.text, right)
        return CText(f"({a} {op} {b})", self.dialect, truth)

    def __add__(self, other: Any) -> CText:
        return self._with("+", other)

    def __radd__(self, other: Any) -> CText:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Any) -> CText:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> CText:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Any) -> CText:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> CText:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: Any) -> CText:
        return self._with("/", other)

    def __lt__(self, other: Any) -> CText:
        return self._with("<", other, truth=True)

    def __le__(self, other: Any) -> CText:
        return self._with("<=", other, truth=True)

    def __gt__(self, other: Any) -> CText:
        return self._with(">", other, truth=True)

    def __ge__(self, other: Any) -> CText:
        return self._with(">=", other, truth=True)

    def __and__(self, other: Any) -> CText:
        return self._with(self.dialect.both, other, truth=True)

    def __or__(self, other: Any) -> CText:
        return self._with(self.dialect.either, other, truth=True)

    def called(self, name: str, *others: Any) -> CText:
        """A call of a C function on this expression and others."""
        rest = [x.text if isinstance(x, CText) else self.dialect.literal.format(repr(float(x))) for x in others]
        return CText(f"{self.dialect.functions[name]}({', '.join([self.text, *rest])})", self.dialect)


def _function(name: str, numeric: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *rest: x.called(name, *rest) if isinstance(x, CText) else numeric(x, *rest)


root, size, larger, smaller = (
    _function("sqrt", np.sqrt), _function("fabs", np.abs), _function("fmax", np.maximum), _function("fmin", np.minimum)
)  # fmt: skip

CRITERIA: dict[str, Callable[..., Any]] = {}


def criterion(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers alone, in the table that C is written from."""
    CRITERIA[function.__name__] = function
    return function


# -- distances ---------------------------------------------------------------------------------------------------------


@criterion
def gap_noise(terms: Any, rate: Any, t: Any, least: Any) -> Any:
    """What rounding leaves of a distance: of its terms and of the time; nothing finer than `least` is meant, either."""
    return ROUNDING * (terms + size(t * rate)) + least


@criterion
def gap_touch(noise_before: Any, noise_after: Any) -> Any:
    """A distance below which a face is touched, from its noises at both ends of a step."""
    return TOUCH * larger(noise_before, noise_after)


@criterion
def gap_fine(rtol: Any, noise: Any) -> Any:
    """By how much a distance may change in an interval that its values alone decide: noise/ε is about the size of its terms."""
    return FINE * rtol / EPSILON * noise


@criterion
def leaves_face(rate: Any, bend: Any, touch: Any) -> Any:
    """Whether a step that starts on a face does not go deeper behind it than what counts as a touch."""
    return (rate >= 0) | (rate * rate <= 2 * bend * touch)


@criterion
def on_face(gap: Any, noise: Any) -> Any:
    """Whether a state stands on a face, or behind it."""
    return gap <= ON_FACE * noise


@criterion
def clear_of_face(gap: Any, noise: Any) -> Any:
    """Whether a state is so far from an open face that compiled code need not ask about it."""
    return gap > NEARBY * ON_FACE * noise


@criterion
def met_together(gap: Any, noise: Any) -> Any:
    """Whether a face is hit at the same time as another one: its distance there; noise: the larger of those at both ends."""
    return gap <= TOGETHER * noise


@criterion
def just_below(guard: Any, noise: Any) -> Any:
    """Whether the reaction with which a step starts is so little below zero that it is none; the step then starts at zero."""
    return guard > -BELOW * noise


@criterion
def correction_stagnates(left: Any, before: Any) -> Any:
    """Whether Newton's steps onto faces have come to their end, in noises of the distances that are left."""
    return (left >= HALVED * before) & (left < BLUR)


@criterion
def moved_onto(dt: Any, h: Any) -> Any:
    """Whether Newton's step in time onto a guard is short beside the step of the run: else the end stays where it is."""
    return size(dt) <= BESIDE * h


# -- blows -------------------------------------------------------------------------------------------------------------


@criterion
def flight_unseen(after: Any, pressing: Any, noise: Any, spacing: Any) -> Any:
    """Whether a flight of 2 ġ⁺/|g̈|, a quarter of that times ġ⁺ high, does not show in t or in g; pressing: −g̈."""
    brief, low = 2 * after <= SHORT * spacing * pressing, 0.5 * after * after <= RESTS * noise * pressing
    return (pressing > 0) & (brief | low)


@criterion
def flight_clear(after: Any, bends: Any, noise: Any, spacing: Any, speed: Any) -> Any:
    """Whether such a flight shows beyond doubt, also in what rounding leaves of the rate; bends: the terms of g̈."""
    long, high = 2 * after > CLEAR_TIME * SHORT * spacing * bends, 0.5 * after * after > CLEAR_HEIGHT * RESTS * noise * bends
    return long & high & (after > CLEAR_RATE * STEADY * speed)


@criterion
def slow_rate(speed: Any, bends: Any, noise: Any, spacing: Any) -> Any:
    """Rates that count as none: they are rounding, or lead to a height or to a flight, 2 ġ/|g̈|, that is."""
    return STEADY * speed + root(2 * RESTS * bends * noise) + 0.5 * (SHORT * spacing) * bends


@criterion
def bouncing_ends(rate: Any, pressing: Any, e: Any) -> Any:
    """Whether flights that begin with a rate, each e times the one before, come to an end; pressing: −g̈."""
    return (e < 1) & (rate > 0) & (pressing > 0)


@criterion
def bouncing_lasts(rate: Any, pressing: Any, e: Any) -> Any:
    """Total duration of these flights: 2 ġ/|g̈| (1 + e + e² + …)."""
    return 2 * rate / pressing / (1 - e)


@criterion
def face_stays(rate: Any, slow: Any) -> Any:
    """Whether a face with friction is not left after a blow; slow: what counts as no rate."""
    return rate <= STAYS * slow


@criterion
def rate_is_rounding(rate: Any, speed: Any) -> Any:
    """Whether the rate of a face is what rounding leaves of a motion: no blow; speed: of the motion along its normal."""
    return size(rate) <= STEADY * speed


@criterion
def no_rate(strength: Any, push: Any) -> Any:
    """The rate of another face that a blow leaves at rest: a share of what the blow gives it; push: √(n K n)."""
    return NO_RATE * strength * push + LEAST_NORMAL


@criterion
def lifts_off(rate: Any, none: Any) -> Any:
    """Whether a face on which a system rests is left in a blow on another; none: `no_rate`."""
    return rate > LIFTED * none


@criterion
def blows_apart(coupling: Any, geometric_mean: Any) -> Any:
    """Whether two faces do not feel each other's blows: n_i K n_j beside √(n_i K n_i n_j K n_j)."""
    return size(coupling) <= ORTHOGONAL * geometric_mean


@criterion
def impulse_answered(compliance: Any, free: Any) -> Any:
    """Whether bilateral constraints leave an answer to an impulse along n: n K n beside Σ n²/M."""
    return compliance > UNANSWERED * free


@criterion
def no_acceleration(bends: Any, push: Any, strongest: Any) -> Any:
    """g̈ that counts as none: a share of its terms, and of what the strongest of several reactions gives; push: √(n K n)."""
    return BALANCED * (bends + STRONGEST * push * strongest) + LEAST_NORMAL


@criterion
def rate_is_left(rate: Any, slow: Any) -> Any:
    """Whether a face that is to be held still moves, so that impulses stop it; slow: what counts as no rate."""
    return size(rate) > LEFT * slow


@criterion
def sooner_and_faster(lasted: Any, before: Any, speed: Any, fastest: Any) -> Any:
    """Whether impacts accumulate: their number has doubled in less time than before, and they are not slower."""
    return (lasted < SOONER * before) & (speed >= fastest)


@criterion
def blow_gains(gained: Any, sizes: Any, moved: Any) -> Any:
    """Whether a blow with friction would gain energy: more than rounding of its works and of Δv·MΔv."""
    return gained > GAINED * larger(sizes, moved)


# -- reactions inside a step -------------------------------------------------------------------------------------------


@criterion
def reaction_followed(missed: Any, largest: Any, noise: Any) -> Any:
    """Whether a cubic that misses the values of a reaction by so much follows it."""
    return missed <= RESOLVED * (largest + UNSEEN * noise)


@criterion
def reaction_stretch(missed: Any, largest: Any) -> Any:
    """By which factor a step may change so that the cubic follows: its error is of fourth order."""
    return CAUTION * root(root(RESOLVED * largest / missed))


@criterion
def reaction_may_end(least: Any, missed: Any, ends: Any) -> Any:
    """Whether a reaction may be zero inside a step: its least value on the cubic, beside the smaller one of both ends."""
    return least - 2 * missed < LOW * ends


@criterion
def step_is_blunt(h: Any, usual: Any) -> Any:
    """Whether a step is long enough to tell a reaction that a cubic does not follow from one that jumps."""
    return h > BLUNT * usual


@criterion
def usual_step(h: Any, usual: Any) -> Any:
    """The longest recent step, which fades from step to step."""
    return larger(h, FORGOTTEN * usual)


# -- slips -------------------------------------------------------------------------------------------------------------


@criterion
def pair_level(level: Any, terms: Any, slip: Any) -> Any:
    """The slip of a pair below which it may have stopped, which only rises in a mode; terms: the largest of the slip so far."""
    return larger(level, larger(smaller(SLOW_PAIR * terms, SLOWER * slip), STOPPED_PAIR * terms))


@criterion
def slip_rests(slip: Any, terms: Any) -> Any:
    """Whether a slip is zero to rounding, compared with its terms."""
    return slip <= AT_REST * terms


def bouncing_time(rate: float, pressing: float, e: float) -> float:
    """How long bouncing lasts that is not followed, s: not at all where it has no end."""
    return float(bouncing_lasts(rate, pressing, e)) if bouncing_ends(rate, pressing, e) else 0.0


LANE_CRITERIA = ("flight_unseen", "gap_touch", "met_together", "on_face")


def criteria_text(dialect: CDialect = SCALAR, names: tuple[str, ...] | None = None) -> str:
    """The criteria as C functions of their names."""
    found = []
    for name in names or tuple(CRITERIA):
        arguments = list(inspect.signature(CRITERIA[name]).parameters)
        value = CRITERIA[name](*(CText(argument, dialect) for argument in arguments))
        kind = dialect.truth if value.is_truth else dialect.number
        given = ", ".join(f"{dialect.number} {argument}" for argument in arguments)
        found.append(f"{dialect.head} {kind} {name}({given}) {{ return {value.text}; }}")
    return "\n".join(found)


