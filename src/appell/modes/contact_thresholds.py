"""The thresholds of contact, for C and Python: each is defined here once, and `loop/header.py` writes them for C.

They are fractions of the terms, speeds and accelerations of the system itself, and of `atol`; none is in metres or seconds. The
noise of a distance is its uncertainty by rounding; many thresholds are multiples of it.
"""

from __future__ import annotations

# -- distances and rates -----------------------------------------------------------------------------------------------

GAP_ROUNDING = 8e-16
"""Noise of a distance, as a fraction of its terms: a few units of the last digit."""
GAP_FLOOR = 1e-4
"""Fraction of `atol`: smaller distances never matter, per unit of the normal."""
ON_FACE = 1e3
"""Multiple of the noise below which a state lies on the face."""
BOUNCE_HEIGHT_UNSEEN = 4.0
"""Multiple of the noise below which the height of a bounce is not resolved."""
FLIGHT_TIME_UNSEEN = 256.0
"""Spacings of floating-point time below which the duration of a flight is not resolved."""
FLIGHT_TIME_CLEAR, BOUNCE_HEIGHT_CLEAR, RATE_CLEAR = 100.0, 1e4, 1e3
"""Multiples of FLIGHT_TIME_UNSEEN, BOUNCE_HEIGHT_UNSEEN and GAP_RATE_ROUNDING above which a flight is beyond doubt,
so that compiled code decides alone."""
GAP_RATE_ROUNDING = 1e-14
"""Rounding of a rate as a fraction of the speeds of the motion, also after a few impacts."""
NEAR_FACE = 1e4
"""Multiple of the noise below which an interval between two readings does not start: the state may be on the face."""
FACE_TOUCHED = 1.25e4
"""Multiple of the noise at both ends of a step below which a face counts as touched inside it."""
HIT_TOGETHER = 1e3
"""Multiple of the noise within which another face is hit at the same time."""
HIT_ORDER_UNSEEN = 16.0
"""Multiple of the noise within which it cannot be decided which of several faces is met first."""
FACE_JUST_LEFT = 1e8
"""Multiple of the noise below which a face was left only just now."""
REACTION_BELOW_ZERO = 1e3
"""Multiple of its noise by which a reaction may be negative at the start of a step and still count as zero."""

# -- impacts and reactions ---------------------------------------------------------------------------------------------

IMPACTS_DECOUPLED = 1e-9
"""|n_i M⁻¹ n_j| relative to the diagonal below which impacts on two faces are decoupled."""
IMPACT_ORDERS_AGREE = 1e-7
"""Fraction of the velocities, in the kinetic metric, by which the results of impacts in different orders may differ."""
CORNER_RATE_NEGLIGIBLE = 300.0
"""Multiple of the zero rate below which the order of impacts at a corner no longer matters."""
CORNER_RATE_AT_REST = 1e4
"""Multiple of the zero rate below which bouncing between several faces has come to rest, once it takes no more time."""
RATE_STAYING = 2.0
"""Multiple of the zero rate up to which a system stays on a face after an impact with friction."""
RATE_UNAFFECTED = 1e-12
"""Fraction of the effect of an impact below which the rate of another face counts as zero."""
RATE_LIFTED_OFF = 1e3
"""Multiple of that rate above which the other face lifts off."""
COMPLIANCE_RIDGE = 1e-14
"""Fraction of its diagonal that is added to G, so that redundant faces have a unique solution."""
COMPLEMENTARITY_EXCHANGES = 20
"""Exchanges per face before a complementarity problem is given up."""
NO_ACCELERATION = 1e-10
"""Fraction of its terms below which an acceleration g̈ counts as zero."""
STRONGEST_REACTION = 1e-3
"""Part of NO_ACCELERATION that applies to the effect of the strongest of several reactions on a face."""
RATE_LEFT = 1e-3
"""Fraction of the zero rate with which a contact may start."""
IMPULSE_UNANSWERED = 1e-12
"""Fraction of n·n/M below which the bilateral constraints give an impulse along n no effect."""
REACTION_CERTAIN = 1e4
"""Multiple of the rounding error above which a reaction is certain, at later states too."""
REACTION_ROUNDING = 1e-12
"""Rounding error of a reaction, as a fraction of the terms that cancel in it."""
LOAD_SHARE_UNLOADED = 1e-6
"""Fraction of the largest reaction below which a redundant face does not count as loaded."""
CORNER_IMPACTS = 1000
"""Number of impacts at one corner after which they count as endless; with e < 1 they accumulate."""
CORNER_IMPACTS_ENDED = 1e-10
"""Fraction of the first rates below which impacts at a corner with e < 1 have come to rest."""
MODE_CHANGES_STALLED = 40
"""Changes of mode at one instant after which the run is stuck."""
FACE_CLOSINGS_AT_ONCE = 12
"""Most changes of mode at one instant at which a face is closed before a step from rest that would end behind it. After more of
them it is met at the end of that step, so that time passes before the run counts as stalled."""
CROSSINGS_STALLED = 50
"""Crossings at one time after which the run is stuck."""
ACCUMULATION_DOUBLINGS = 8
"""Successive doublings of the number of impacts, each in less time and with faster impacts, that show accumulation."""
ACCUMULATION_FROM = 64
"""Number of impacts before accumulation is examined."""
DOUBLING_SOONER = 0.75
"""Fraction of the time of the previous doubling that counts as less time."""
ACCUMULATION_AHEAD = 3.0
"""Multiple of the time of the last doubling within which all impacts will have happened."""

# -- projection onto closed faces --------------------------------------------------------------------------------------

FACE_CORRECTIONS = 12
"""Newton iterations onto the faces in contact."""
CORRECTION_LEAVES = 0.5
"""The iteration stagnates when it leaves more than this fraction of a distance …"""
CORRECTION_NEAR_NOISE = 1e6
"""… and the distance is below this multiple of its noise."""

# -- guards inside a step ----------------------------------------------------------------------------------------------

CUBIC_STEP_SAFETY = 0.9
"""Safety factor for the step in which a cubic would just represent a reaction."""
GAP_FINE = 1e-3
"""Fraction of the tolerance by which a distance may change over an interval judged by its end values: far below the error of
the step. Without it, a corner that hovers over the floor beside others at rest would be subdivided a billion times."""
CUBIC_MISFIT = 0.1
"""Fraction of a distance or a reaction by which the cubic through both ends of a step may miss it."""
CUBIC_NOISE = 1e4
"""Multiple of the noise that need not be resolved."""
STEP_GROWTH = 10.0
"""Largest growth of a step."""
DIP_SAMPLES = 16
"""Samples of a guard inside a step in which it may touch zero."""
REACTION_RATE_PROBE = 1e-5
"""Fraction of a step over which rates of reactions are differenced; they only show where to look closer."""
REACTION_LOW = 0.2
"""A reaction that may fall below this fraction of its end values is sampled inside the step."""
REACTION_JUMP_STEP = 1e-7
"""Fraction of the longest recent step: a reaction that a cubic misses even over a shorter step jumps."""
USUAL_STEP_FADES = 0.95
"""Factor by which the memory of the longest recent step fades with each step."""
GOLDEN_SECTIONS = 40
"""Golden-section iterations towards the minimum of a guard."""
RISEN_BY = 1e-12
"""Fraction of a step within which a guard that starts at zero must have risen, or it never does."""
REACTION_ROOT_STEPS = 200
"""Most evaluations of a guard in a search for its root."""
CROSSING_LOCATED = 4e-16
"""Fraction of a step to which the crossing of a reaction is located; distances get a Newton correction in time as well."""
TIME_CORRECTION = 1e-4
"""Largest Newton correction in time onto a face, as a fraction of the step."""
SKETCH_INTERVALS = 64
"""Intervals in which a distance is bounded on the cubic through both ends of a step, before the dense output is computed."""

BOX_WIDENING, BOX_LEAST_WIDENING = 2.0, 0.05
"""A box of states that is clear of all faces is this many times as wide as the states it was made for. Where nearby faces make
such boxes fail, the factor shrinks, but not below the second number."""
BOX_TRIES = 3
"""Attempts to make a box in lanes, each with a quarter of the margin of the one before."""
BOX_CLEARANCE = 100.0
"""Inside a box all distances exceed this many touches, since their noise grows with time, …"""
BOX_NOISE_GROWTH = 10.0
"""… which may grow by this factor; boxes beside moving faces last this many steps."""
BOX_PATIENCE = 64
"""Most steps between two attempts to make a box."""
BOX_WORTH = 8
"""Steps for which the boxes of all lanes must hold to be worth their cost; otherwise the next ones are made later."""
HULL_PATIENCE = 64
"""Most steps that are cleared by their own hulls before the noise is computed again."""


def defines() -> dict[str, float | int]:
    """The thresholds by name."""
    return {name: value for name, value in globals().items() if name.isupper()}
