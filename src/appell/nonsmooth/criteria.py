"""Criteria of nonsmooth motion, each written once: called with numbers they decide, called with names they generate C.

    flight_unseen(after, pressing, noise, spacing)          in Python, numbers or arrays
    flight_unseen(after, pressing, noise, spacing)          in C, a function of the same name: `criteria_text`
    …                                                       in vector lanes: `criteria_text(LANES)`

Their thresholds are defined in `modes/contact_thresholds.py` and `friction/thresholds.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from appell.backends.text.criterion_text import SCALAR, CDialect, finite_or, function_text, larger, root, size, smaller
from appell.modes.contact_thresholds import (
    BOUNCE_HEIGHT_CLEAR,
    BOUNCE_HEIGHT_UNSEEN,
    CORRECTION_LEAVES,
    CORRECTION_NEAR_NOISE,
    CUBIC_MISFIT,
    CUBIC_NOISE,
    CUBIC_STEP_SAFETY,
    DOUBLING_SOONER,
    FACE_CLOSINGS_AT_ONCE,
    FACE_TOUCHED,
    FLIGHT_TIME_CLEAR,
    FLIGHT_TIME_UNSEEN,
    GAP_FINE,
    GAP_RATE_ROUNDING,
    GAP_ROUNDING,
    HIT_TOGETHER,
    IMPACTS_DECOUPLED,
    IMPULSE_UNANSWERED,
    NO_ACCELERATION,
    ON_FACE,
    RATE_CLEAR,
    RATE_LEFT,
    RATE_LIFTED_OFF,
    RATE_STAYING,
    RATE_UNAFFECTED,
    REACTION_BELOW_ZERO,
    REACTION_JUMP_STEP,
    REACTION_LOW,
    STRONGEST_REACTION,
    TIME_CORRECTION,
    USUAL_STEP_FADES,
)
from appell.nonsmooth.friction.thresholds import ENERGY_GAINED, FACE_NEARBY, PAIR_SLOWER, SLIP_AT_REST, SLOW_PAIR, STOPPED_PAIR
from appell.roots.limits import EPSILON, SMALLEST_NORMAL

CRITERIA: dict[str, Callable[..., Any]] = {}


def criterion(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds a function of numbers to the table from which C is generated."""
    CRITERIA[function.__name__] = function
    return function


# -- distances ---------------------------------------------------------------------------------------------------------


@criterion
def gap_noise(gap: Any, terms: Any, rate: Any, t: Any, least: Any) -> Any:
    """Uncertainty of a distance: rounding of its terms and of the time, plus `least`, the finest distance that matters.

    Where the distance has no slope (at the centre of a ball, at the anchor of a thread): rounding of its value.
    """
    return finite_or(GAP_ROUNDING * (terms + size(t * rate)) + least, GAP_ROUNDING * size(gap))


@criterion
def gap_touch(noise_before: Any, noise_after: Any) -> Any:
    """The distance below which a face counts as touched, from the noise at both ends of a step."""
    return FACE_TOUCHED * larger(noise_before, noise_after)


@criterion
def gap_fine(rtol: Any, noise: Any) -> Any:
    """Largest change of a distance over an interval that is judged by its end values alone.

    noise/ε is about the size of the terms of the distance.
    """
    return GAP_FINE * rtol / EPSILON * noise


@criterion
def leaves_face(rate: Any, bend: Any, touch: Any) -> Any:
    """Whether a step that starts on a face penetrates it by no more than a touch: ġ >= 0, or ġ²/(2 g̈) <= touch."""
    return (rate >= 0) | (rate * rate <= 2 * bend * touch)


@criterion
def sinks_from_start(touching: Any, risen: Any, changes: Any) -> Any:
    """Whether a step that ends behind a face, without a root inside, penetrates it from its start: it starts on the face at
    rest, under a load that grows from zero.

    changes: number of mode changes at this instant so far. After many of them the face is met at the end of the step, so that
    time passes.
    """
    return (touching > 0) & (risen <= 0) & (changes <= FACE_CLOSINGS_AT_ONCE)


@criterion
def on_face(gap: Any, noise: Any) -> Any:
    """Whether a state lies on a face, or behind it."""
    return gap <= ON_FACE * noise


@criterion
def clear_of_face(gap: Any, noise: Any) -> Any:
    """Whether a state is far enough from an open face for compiled code to decide alone."""
    return gap > FACE_NEARBY * ON_FACE * noise


@criterion
def met_together(gap: Any, noise: Any) -> Any:
    """Whether a face is hit together with another one, from its distance at that time; noise: the larger of both ends."""
    return gap <= HIT_TOGETHER * noise


@criterion
def just_below(guard: Any, noise: Any) -> Any:
    """Whether the reaction at the start of a step is negative by rounding only; it then counts as zero."""
    return guard > -REACTION_BELOW_ZERO * noise


@criterion
def correction_stagnates(left: Any, before: Any) -> Any:
    """Whether Newton's iteration onto the faces stagnates; left, before: remaining distances as multiples of their noise."""
    return (left >= CORRECTION_LEAVES * before) & (left < CORRECTION_NEAR_NOISE)


@criterion
def moved_onto(dt: Any, h: Any) -> Any:
    """Whether the Newton correction of the time of an event is small beside the step; otherwise it is not applied."""
    return size(dt) <= TIME_CORRECTION * h


# -- blows -------------------------------------------------------------------------------------------------------------


@criterion
def flight_unseen(after: Any, pressing: Any, noise: Any, spacing: Any) -> Any:
    """Whether the flight after an impact is below the resolution of t or of g.

    It lasts 2 ġ⁺/|g̈| and rises by ġ⁺²/(2|g̈|); pressing: −g̈.
    """
    brief = 2 * after <= FLIGHT_TIME_UNSEEN * spacing * pressing
    low = 0.5 * after * after <= BOUNCE_HEIGHT_UNSEEN * noise * pressing
    return (pressing > 0) & (brief | low)


@criterion
def flight_clear(after: Any, bends: Any, noise: Any, spacing: Any, speed: Any) -> Any:
    """Whether the flight after an impact is resolved beyond doubt, rounding of the rate included; bends: the terms of g̈."""
    long = 2 * after > FLIGHT_TIME_CLEAR * FLIGHT_TIME_UNSEEN * spacing * bends
    high = 0.5 * after * after > BOUNCE_HEIGHT_CLEAR * BOUNCE_HEIGHT_UNSEEN * noise * bends
    return long & high & (after > RATE_CLEAR * GAP_RATE_ROUNDING * speed)


@criterion
def slow_rate(speed: Any, bends: Any, noise: Any, spacing: Any) -> Any:
    """The rate below which a face counts as at rest.

    The rate itself, the height to which it leads, or the duration of the flight, 2 ġ/|g̈|, is then rounding.
    """
    by_height, by_time = root(2 * BOUNCE_HEIGHT_UNSEEN * bends * noise), 0.5 * (FLIGHT_TIME_UNSEEN * spacing) * bends
    return GAP_RATE_ROUNDING * speed + by_height + by_time


@criterion
def bouncing_ends(rate: Any, pressing: Any, e: Any) -> Any:
    """Whether bouncing ends in finite time, each flight e times as long as the one before; pressing: −g̈."""
    return (e < 1) & (rate > 0) & (pressing > 0)


@criterion
def bouncing_lasts(rate: Any, pressing: Any, e: Any) -> Any:
    """Total duration of bouncing: 2 ġ/|g̈| (1 + e + e² + …)."""
    return 2 * rate / pressing / (1 - e)


@criterion
def face_stays(rate: Any, slow: Any) -> Any:
    """Whether a system stays on a face with friction after an impact; slow: the rate that counts as zero."""
    return rate <= RATE_STAYING * slow


@criterion
def rate_is_rounding(rate: Any, speed: Any) -> Any:
    """Whether the rate of a face is only rounding, so that there is no impact; speed: of the motion along its normal."""
    return size(rate) <= GAP_RATE_ROUNDING * speed


@criterion
def unaffected_rate(strength: Any, push: Any) -> Any:
    """The rate below which an impact leaves another face at rest: a fraction of what it could cause; push: √(n K n)."""
    return RATE_UNAFFECTED * strength * push + SMALLEST_NORMAL


@criterion
def lifts_off(rate: Any, unaffected: Any) -> Any:
    """Whether an impact on one face lifts the system off another one; unaffected: see `unaffected_rate`."""
    return rate > RATE_LIFTED_OFF * unaffected


@criterion
def blows_apart(coupling: Any, geometric_mean: Any) -> Any:
    """Whether impacts on two faces are decoupled: n_i K n_j is small beside √(n_i K n_i n_j K n_j)."""
    return size(coupling) <= IMPACTS_DECOUPLED * geometric_mean


@criterion
def impulse_answered(compliance: Any, free: Any) -> Any:
    """Whether the bilateral constraints let an impulse along n have an effect: n K n beside Σ n²/M."""
    return compliance > IMPULSE_UNANSWERED * free


@criterion
def no_acceleration(bends: Any, push: Any, strongest: Any) -> Any:
    """g̈ that counts as zero: a fraction of its terms and of the effect of the strongest reaction; push: √(n K n)."""
    return NO_ACCELERATION * (bends + STRONGEST_REACTION * push * strongest) + SMALLEST_NORMAL


@criterion
def rate_is_left(rate: Any, slow: Any) -> Any:
    """Whether a face in contact still moves and has to be stopped by impulses; slow: the rate that counts as zero."""
    return size(rate) > RATE_LEFT * slow


@criterion
def sooner_and_faster(lasted: Any, before: Any, speed: Any, fastest: Any) -> Any:
    """Whether impacts accumulate: their number doubled in less time than before, and they did not get slower."""
    return (lasted < DOUBLING_SOONER * before) & (speed >= fastest)


@criterion
def blow_gains(gained: Any, sizes: Any, moved: Any) -> Any:
    """Whether an impact with friction would gain energy beyond the rounding of its works and of Δv·MΔv."""
    return gained > ENERGY_GAINED * larger(sizes, moved)


# -- reactions inside a step -------------------------------------------------------------------------------------------


@criterion
def reaction_followed(missed: Any, largest: Any, noise: Any) -> Any:
    """Whether a cubic represents a reaction inside a step, given by how much it misses its values."""
    return missed <= CUBIC_MISFIT * (largest + CUBIC_NOISE * noise)


@criterion
def reaction_stretch(missed: Any, largest: Any) -> Any:
    """Factor by which to scale a step for the cubic to represent the reaction: its error is of fourth order."""
    return CUBIC_STEP_SAFETY * root(root(CUBIC_MISFIT * largest / missed))


@criterion
def reaction_may_end(least: Any, missed: Any, ends: Any) -> Any:
    """Whether a reaction may vanish inside a step: the minimum of the cubic beside the smaller of its end values."""
    return least - 2 * missed < REACTION_LOW * ends


@criterion
def reaction_may_vary(h: Any, usual: Any) -> Any:
    """Whether a reaction that no cubic represents may just vary fast: in a step that is much shorter than usual, it jumps."""
    return h > REACTION_JUMP_STEP * usual


@criterion
def usual_step(h: Any, usual: Any) -> Any:
    """The longest recent step; the memory of it fades from step to step."""
    return larger(h, USUAL_STEP_FADES * usual)


# -- slips -------------------------------------------------------------------------------------------------------------


@criterion
def pair_level(level: Any, terms: Any, slip: Any) -> Any:
    """The slip below which a two-dimensional friction may have stopped; it never falls within a mode.

    terms: the largest terms of the slip so far.
    """
    return larger(level, larger(smaller(SLOW_PAIR * terms, PAIR_SLOWER * slip), STOPPED_PAIR * terms))


@criterion
def slip_rests(slip: Any, terms: Any) -> Any:
    """Whether a slip is zero to rounding, compared with its terms."""
    return slip <= SLIP_AT_REST * terms


def bouncing_time(rate: float, pressing: float, e: float) -> float:
    """Duration of the bouncing that is not simulated bounce by bounce, s; 0 where bouncing does not end."""
    return float(bouncing_lasts(rate, pressing, e)) if bouncing_ends(rate, pressing, e) else 0.0


LANE_CRITERIA = ("flight_unseen", "gap_noise", "gap_touch", "met_together", "on_face")
ONE_LANE_CRITERIA = ("gap_touch", "leaves_face")


FINITE_OR_C = {
    "double": "static inline double finite_or(double x, double y) { return fabs(x) < INFINITY ? x : y; }",
    "V": "static V lanes_finite_or(V x, V y) { return lanes_select(lanes_fabs(x) < (T) INFINITY, x, y); }",
}
"""x, or y where x is infinite or no number, by the type of numbers."""


def criteria_text(dialect: CDialect = SCALAR, names: tuple[str, ...] | None = None) -> str:
    """The criteria as C functions of the same names."""
    found = [FINITE_OR_C[dialect.number]] if "finite_or" in dialect.functions else []
    return "\n".join([*found, *(function_text(name, CRITERIA[name], dialect) for name in names or tuple(CRITERIA))])


