"""The numbers that contact is decided by, in C and in Python: each is typed here, and `header` writes those of C.

Thresholds are shares of the terms, speeds and accelerations of the system itself, and of `atol`: none is in metres or seconds.
"""

from __future__ import annotations

# -- distances and rates -----------------------------------------------------------------------------------------------

ROUNDING = 8e-16
"""Share of the terms of a distance that rounding may hide: its noise."""
FLOOR = 1e-4
"""Share of atol: no distance is meant to be finer, per unit of its normal."""
ON_FACE = 1e3
"""Noises of a distance, below which a state is on the face."""
RESTS = 4.0
"""Noises of a distance, below which a bounce is none."""
SHORT = 256.0
"""Spacings of the time: a flight that is shorter is none."""
CLEAR_TIME, CLEAR_HEIGHT, CLEAR_RATE = 100.0, 1e4, 1e3
"""Times SHORT, RESTS and STEADY: a flight shows beyond doubt, and compiled code decides without asking."""
STEADY = 1e-14
"""Share of the speeds of a motion that rounding may hide, also after a few blows."""
NEAR = 1e4
"""Noises of a distance, below which an interval between readings does not start: it may be on the face."""
TOUCH = 1.25e4
"""Noises of a distance at both ends of a step, below which a face is touched inside it."""
TOGETHER = 1e3
"""Noises of a distance, within which another face is hit at the same time."""
SHARP = 16.0
"""Noises of a distance, within which several faces are met at one instant."""
JUST_LEFT = 1e8
"""Noises of a distance, below which a face is only just left."""
BELOW = 1e3
"""Noises by which the reaction of a face may lie below zero at the start of a step."""

# -- blows and reactions -----------------------------------------------------------------------------------------------

ORTHOGONAL = 1e-9
"""|n_i M⁻¹ n_j| relative to the diagonal below which two faces do not feel each other's impacts."""
WELL_POSED = 1e-7
"""Share of the velocities, in the kinetic metric, by which the results of two orders of blows may differ."""
NEGLIGIBLE = 300.0
"""Rates of so many times what counts as none: blows at a corner whose order does not matter any more."""
JAMMED = 1e4
"""Rates of so many times what counts as none: bouncing between several faces that takes no time any more has come to rest."""
STAYS = 2.0
"""Rates of so many times what counts as none, with which a face is not left after a blow with friction."""
NO_RATE = 1e-12
"""Share of a blow that counts as no rate of another face."""
LIFTED = 1e3
"""So many times that is a face that lifts off."""
RIDGE = 1e-14
"""Share of its diagonal that is added to G where redundant faces are told apart."""
ROUNDS = 20
"""Times the faces: exchanges of faces until a complementarity problem is given up."""
BALANCED = 1e-10
"""Share of the terms of an acceleration that counts as none,"""
STRONGEST = 1e-3
"""and this part of it of what the strongest of several reactions gives to a face."""
LEFT = 1e-3
"""Of a rate that counts as none, which a contact may start with."""
UNANSWERED = 1e-12
"""Share of n·n/M, below which bilateral constraints leave no answer to an impulse along n."""
CERTAIN = 1e4
"""So many times what may be hidden by rounding is certain, also at states further on."""
HIDDEN = 1e-12
"""Share of what cancels in a reaction that rounding may hide."""
SMALL_SHARE = 1e-6
"""Of the largest reaction, which a redundant face does not bear."""
SEQUENCE = 1000
"""So many blows at one corner do not end: with e < 1 they accumulate."""
ENDED = 1e-10
"""Share of the first rates, below which blows at a corner with e < 1 have come to rest."""
STALLED = 40
"""So many changes of mode at one instant do not lead anywhere."""
STANDING = 50
"""So many crossings at one time do not lead anywhere."""
DOUBLINGS = 8
"""Of the number of impacts, each in less time and with faster ones than the one before: they accumulate."""
FIRST_MARK = 64
"""Impacts before their times are looked at."""
SOONER = 0.75
"""Less than this share of the time before is less time."""
AHEAD = 3.0
"""Times the last doubling: when all impacts will have happened."""

# -- onto the faces that are held --------------------------------------------------------------------------------------

CORRECTIONS = 12
"""Newton's steps onto faces that are tried."""
HALVED = 0.5
"""A step that leaves more than this share of a distance has come to its end …"""
BLUR = 1e6
"""… where so many noises are left at most."""

# -- guards inside a step ----------------------------------------------------------------------------------------------

CAUTION = 0.9
"""Part of the step that would just be resolved."""
FINE = 1e-3
"""Share of the tolerance by which a distance may change in an interval that its values alone decide: far below the error of
the step. A corner that hovers on the floor beside others that rest there would be looked at a billion times."""
RESOLVED = 0.1
"""Share of a distance, or of a reaction, by which the cubic through both ends of a step may miss it."""
UNSEEN = 1e4
"""Noises of a distance that need not be resolved."""
GROWTH = 10.0
"""No step grows faster."""
SAMPLES = 16
"""Of a guard inside a step that may touch zero."""
PROBE = 1e-5
"""Share of a step over which the rates of reactions are taken: they only tell where to look closer."""
LOW = 0.2
"""A reaction that may fall below this share of its values at both ends of a step is followed inside it."""
BLUNT = 1e-7
"""Part of the longest step of late: where a cubic does not follow a reaction in a shorter one, it jumps."""
FORGOTTEN = 0.95
"""What is left of the longest step of late after another one."""
SECTIONS = 40
"""Golden sections towards the lowest point of a guard."""
LATEST = 1e-12
"""Part of a step: a guard that has not risen by then never does."""
ROOTS = 200
"""Evaluations of a guard in search of its root."""
EXACT = 4e-16
"""Part of a step to which the crossing of a reaction is located; a distance has Newton's step in time besides."""
BESIDE = 1e-4
"""Part of a step: Newton's step in time onto a face is not longer."""
SKETCHES = 64
"""Intervals of a distance that are looked at on the cubic through both ends of a step, before its dense output is made."""

BOX_MORE, BOX_LEAST = 2.0, 0.05
"""A box of states far from all faces reaches so many times as far to each side as the states that it was made for, and no less
than the second where faces are so near that others failed."""
BOX_CLEAR = 100.0
"""In it distances are above so many touches: their noise grows with the time, …"""
BOX_AHEAD = 10.0
"""… which may become so many times as long, or moving faces go on for so many steps."""
BOX_PATIENCE = 64
"""Steps at most between two tries to make one."""
BOX_WORTH = 8
"""Steps for which boxes of lanes have to hold all of them; after as many that did not the next ones are made later."""
HULL_PATIENCE = 64
"""Steps at most that are passed by hulls of their own, before noises are looked at again."""

LEAST_NORMAL = 2.2250738585072014e-308
"""The smallest normal number."""


def defines() -> dict[str, float | int]:
    """The numbers by their names."""
    return {name: value for name, value in globals().items() if name.isupper()}
