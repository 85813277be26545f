"""Breakages of derivatives by the start and of analyses near a state."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "the derivative through infinitely many impacts is that through the last one",
        "analysis/orbits/chatter.py",
        '        value, difference = at_zero(self.matrices_by_speed)\n',
        '        value, difference = self.matrices_by_speed[-1][1], 0.0\n',
        {
            "chatter.slopes_through_infinitely_many_impacts": (0, 1),
        },
    ),
    Breakage(
        "a guard that only touches zero counts as crossed",
        "analysis/orbits/tangency.py",
        '    return rate**2 <= RATE_DIGITS * approach.accuracy * mean**2\n',
        '    return False\n',
        {
            "slides_from_rest.a_guard_that_is_only_touched_has_no_derivative": (0, 1),
        },
    ),
    Breakage(
        "a slip that begins at rest has one derivative",
        "analysis/orbits/stick_slip.py",
        'if at_rest and np.abs(slip_columns).max(initial=0.0) > STILL_STICKS * np.abs(s_x).max():\n                name',
        'if False:\n                name',
        {
            "slides_from_rest.a_start_that_slides_from_rest_has_two_derivatives": (0, 1),
        },
    ),
    Breakage(
        "impacts are passed in the order of time, backwards too",
        "analysis/orbits/motion_instants.py",
        "key=lambda events: self.direction * events[0].time",
        "key=lambda events: events[0].time",
        {
            "backwards.slopes_of_the_past": (0, 1, 2),
        },
    ),
    Breakage(
        "analyses judge rows at random states",
        "compiled/compiling.py",
        'unjudged(placed(system, start, parameters)',
        'unjudged(placed(system, None, parameters)',
        {
            "narrow_rows.analysed_near_a_state": (7, 1),
        },
    ),
]
