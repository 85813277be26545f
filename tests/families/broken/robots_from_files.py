"""Breakages of the readers of SDF and URDF, of the names of joints, and of what a robot is asked to reach."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "version 1.12 is before 1.5",
        "tree/readers/sdf.py",
        'version < AXES_IN_MODEL_BEFORE)',
        'float(".".join(map(str, version[:2]))) < 1.5)',
        {
            "robots_from_files.versions_of_sdf": (0, 1),
        },
    ),
    Breakage(
        "quaternions in a URDF file are overlooked",
        "tree/readers/urdf.py",
        '    if origin.get("quat_xyzw") is None:',
        '    if True:',
        {
            "robots_from_files.rotations_as_quaternions_in_urdf": (0, 1),
        },
    ),
    Breakage(
        "attributes that URDF does not know are dropped without a note",
        "tree/readers/urdf.py",
        '    for child in element:',
        '    for child in ():',
        {
            "robots_from_files.unknown_attributes_in_urdf": (0, 3),
        },
    ),
    Breakage(
        "a joint may have the same symbol twice",
        "tree/symbols/joint_symbols.py",
        '    if not taken and not repeated:',
        '    if not taken:',
        {
            "robots_from_files.free_joints_called_like_axes": (0, 1),
        },
    ),
    Breakage(
        "steps of a search are as long in metres as in radians",
        "tree/reach_search.py",
        'velocity_units(tree.nodes, self.span)',
        'velocity_units(tree.nodes, 1.0)',
        {
            "robots_from_files.ways_longer_than_a_metre": (1, 2, 8),
        },
    ),
    Breakage(
        "limits of balls and tendons do not hold a search",
        "tree/reach_search.py",
        'if limits and (side := fitting.excess(tree)) is not None]',
        'if False and (side := fitting.excess(tree)) is not None]',
        {
            "robots_from_files.limits_of_several_coordinates": (0, 1, 2),
        },
    ),
    Breakage(
        "balls are drawn beyond their limits",
        "tree/configuration.py",
        '            q = fitting.within(self, q)',
        '            pass',
        {
            "robots_from_files.limits_of_several_coordinates": (0, 1),
        },
    ),
    Breakage(
        "regressors mix newtons and newton metres",
        "tree/base_parameters.py",
        '(Y * (units / (size**2 * rate**2))[:, None])',
        'Y',
        {
            "robot_parameters.slides_and_hinges_in_small_units": (0, 1, 2),
        },
    ),
]
