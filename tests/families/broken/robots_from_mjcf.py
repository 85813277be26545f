"""Breakages of the reader of MJCF, and of the parameters of the bodies of robots."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "actuators with names alike share an input",
        "tree/actuators.py",
        '        while symbol in used:',
        '        while False:',
        {
            "robots_from_mjcf.actuators_with_names_alike": (0, 1, 12),
        },
    ),
    Breakage(
        "weights are carried in the standard gravity, whatever gravity is given",
        "tree/tendons.py",
        'zip(self.force, tree.gravity, strict=True)',
        'zip(self.force, (0.0, 0.0, -9.81), strict=True)',
        {
            "robots_from_mjcf.weights_carried_in_another_gravity": (0, 1, 4),
        },
    ),
    Breakage(
        "the flag that disables all constraints is overlooked",
        "tree/readers/mjcf_fittings.py",
        ' and not (name in SOLVED_FLAGS and disabled("CONSTRAINT"))',
        '',
        {
            "robots_from_mjcf.constraints_that_a_flag_switches_off": (0, 2, 3),
        },
    ),
    Breakage(
        "hinges stop at their range, without the margin",
        "tree/readers/mjcf.py",
        '        margin = float(model.jnt_margin[j])',
        '        margin = 0.0',
        {
            "robots_from_mjcf.limits_with_margins": (0, 1, 4),
        },
    ),
    Breakage(
        "balls stop at their range, without the margin",
        "tree/readers/mjcf_fittings.py",
        'float(model.jnt_range[j][1] - model.jnt_margin[j]) for j in limited',
        'float(model.jnt_range[j][1]) for j in limited',
        {
            "robots_from_mjcf.limits_with_margins": (2, 6),
        },
    ),
    Breakage(
        "the least force of a joint is minus the largest",
        "tree/description.py",
        '(-self.effort if self.least_effort is None else self.least_effort)',
        '-abs(self.effort)',
        {
            "robots_from_mjcf.forces_that_are_limited_unevenly": (0, 1, 2),
        },
    ),
    Breakage(
        "the delay of an actuator is overlooked",
        "tree/readers/mjcf_actuators.py",
        '    _refuse_unread(model, name, k)\n    gain',
        '    gain',
        {
            "robots_from_mjcf.parts_that_are_not_read": (0, 6),
        },
    ),
    Breakage(
        "the ground is called world, whatever a joint is called",
        "tree/readers/mjcf.py",
        '    ground = fresh(WORLD)',
        '    ground = WORLD',
        {
            "robots_from_mjcf.joints_called_like_other_parts": (0, 1),
        },
    ),
    Breakage(
        "tendons and equalities keep the names of joints",
        "tree/readers/mjcf_fittings.py",
        '            while name in used:',
        '            while False:',
        {
            "robots_from_mjcf.joints_called_like_other_parts": (2, 5),
        },
    ),
    Breakage(
        "joints whose axes are no unit vectors do not move in exact algebra",
        "tree/regrouping.py",
        'for column in _columns(node) or ()]',
        'for column in _columns(node) or () if node.kind.subspace.axes]',
        {
            "robot_parameters.base_parameters_of_any_joints": (0, 1, 10),
        },
    ),
    Breakage(
        "axes that are parallel up to rounding are taken for different",
        "tree/base_parameters.py",
        '    return base if base.rank < rank else None',
        '    return None',
        {
            "robot_parameters.base_parameters_of_any_joints": (85, 86, 88),
        },
    ),
    Breakage(
        "bodies are held to those of the tree as if the forces had noise",
        "tree/identified.py",
        'PRIOR_WEIGHT**2, False',
        'max(PRIOR_WEIGHT**2, 1e-11 * float(np.max(1 / c**2))), False',
        {
            "robot_parameters.bodies_from_nearly_exact_forces": (0, 4, 5, 9),
        },
    ),
    Breakage(
        "bodies that differ from plain least squares raise no doubt",
        "tree/identified.py",
        '    if not deviation.max(initial=0.0) > ESTIMATES_APART:',
        '    if True:',
        {
            "robot_parameters.bodies_that_cannot_be": (0, 1, 2),
        },
    ),
]
"""Decisions of the library that are broken on purpose, to see that the families notice it."""
