"""Breakages of robots from files, of their loops and of what they are asked to reach."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "limits that leave a joint no way are taken",
        "tree/readers/joint_fittings.py",
        '    if limits.lower > limits.upper:',
        '    if False:',
        {
            "robot_input.files_that_are_refused": (7,),
        },
    ),
    Breakage(
        "limits that are no numbers are used",
        "tree/readers/urdf.py",
        '        if math.isnan(values[key]):',
        '        if False:',
        {
            "robot_input.files_that_are_used_without_a_part": (0, 4),
        },
    ),
    Breakage(
        "a joint is locked wherever it is told",
        "tree/locked.py",
        '        if name in values and not lower <= position <= upper:',
        '        if False:',
        {
            "robot_input.requests_that_cannot_be_met": (1,),
        },
    ),
    Breakage(
        "the best configuration counts as reached",
        "tree/reach.py",
        '    if search.targets_met(q, tolerance):\n        return Reached(q',
        '    if True:\n        return Reached(q',
        {
            "robot_input.targets_out_of_reach": (0, 5),
        },
    ),
    Breakage(
        "frames agree where three products of their axes vanish",
        "tree/loops.py",
        '_turn(row, axes_a, axes_b) if kind in WITHOUT_TURN and row in TURNS else',
        '_turn(row, axes_a, axes_b) if False else',
        {
            "joined_frames.starts_that_are_half_a_turn_off": (0, 2, 4),
        },
    ),
]
