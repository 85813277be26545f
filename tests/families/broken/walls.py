"""Breakages of walls and contacts: reactions, corners, redundant feet, landings with friction."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "slopes of walls are those that SymPy knows",
        "model/face_check.py",
        "if not any(slope.has(sympy.Derivative, sympy.Subs) for slope in slopes):",
        "if slopes:",
        {
            "ground_profiles.ground_that_repeats_itself": (0, 1),
        },
    ),
    Breakage(
        "a landing looks ahead by a step that may be longer than the run",
        "nonsmooth/contact/step_guards.c.in",
        "    const double h = left > 0 ? fmin(run->h, left) : run->h;",
        "    const double h = run->h;",
        {
            "ground_profiles.a_straight_flight_lands_on_a_curve": (0, 1),
        },
    ),
    Breakage(
        "what sinks from a wall without a rate hits it at the end of the step",
        "nonsmooth/contact/step_guards.c.in",
        "    if (end < -g.noise) return sinks_from_start(s->touching[face], g.risen, loop_changes_now(run)) ? 0 : 1;\n",
        "    if (end < -g.noise) return 1;\n",
        {
            "growing_loads.loads_that_grow_from_zero": (0, 6, 12),
        },
    ),
    Breakage(
        "contacts without a reaction end when another one does",
        "nonsmooth/contact/transition.c.in",
        "others[i] = i != face && run->mode[i] == HELD;",
        "others[i] = 0;",
        {
            "growing_loads.several_faces_without_a_load": (6, 10, 36),
        },
    ),
    Breakage(
        "the balance of a body that stays at rest has no error",
        "simulate/doubts.py",
        "else atol * _heaviest(motion)",
        "else 0.0",
        {
            "growing_loads.loads_that_grow_from_zero": (1,),
        },
    ),
    Breakage(
        "reactions are not bounded inside a step",
        "roots/isolate.c.in",
        '    *hovers = 0;\n    part[0][0] = 0, part[0][1] = 1;\n',
        '    *hovers = 0;\n    return 0;\n    part[0][0] = 0, part[0][1] = 1;\n',
        {
            "short_events.modes_that_last_an_instant": (0, 1),
            "short_events.contacts_that_end_for_an_instant": (1, 2),
        },
    ),
    Breakage(
        "at a ridge a jump is measured by the terms of the distance alone",
        "simulate/loop/jump_sentence.py",
        'JUMP_UNNOTICED * blocks["g_scale"] + time_error * np.abs(blocks["g_d"])',
        'JUMP_UNNOTICED * blocks["g_scale"]',
        {
            "at_the_origin.ridges": (0, 2, 4, 6),
        },
    ),
    Breakage(
        "what may jump grows with the time",
        "simulate/loop/jump_sentence.py",
        'BREAK_MISTIMED = 64 * GAP_ROUNDING',
        'BREAK_MISTIMED = JUMP_UNNOTICED',
        {
            "at_the_origin.jumps_at_late_times": (0, 1, 7),
        },
    ),
    Breakage(
        "a gap that is open must have a slope",
        "normal_form/manifold.py",
        ' | (parts["g"] > 0))',
        ')',
        {
            "at_the_origin.through_the_anchor": (2, 5),
        },
    ),
    Breakage(
        "redundant contacts are left at the time before their reaction is negative",
        "nonsmooth/contact/face_laws.py",
        '    if ending is not Ending.LEAVE or course.mode.rank == len(contacts):\n        return\n',
        '    if True:\n        return\n',
        {
            "short_events.reactions_that_fall_steeply": (3,),
        },
    ),
    Breakage(
        "friction is decided at the time before a reaction has fallen, again and again",
        "nonsmooth/friction/friction_laws.py",
        '    if trace.stalled and ending in OF_REACTIONS and free:\n',
        '    if False:\n',
        {
            "short_events.reactions_that_fall_steeply": (5,),
        },
    ),
    Breakage(
        "a coefficient or limit of friction is negative at once where it bends at zero",
        "nonsmooth/friction/thresholds.py",
        'BELOW_ZERO = 1e-9\n',
        'BELOW_ZERO = 0.0\n',
        {
            "changing_coefficients.bends_at_zero": (2, 3),
        },
    ),
    Breakage(
        "a coefficient of friction may become negative",
        "nonsmooth/friction/guards.py",
        '                guards.append(ModeGuard(SIGN, i))\n',
        '',
        {
            "changing_coefficients.negative_coefficients_end_the_run": (0, 1),
        },
    ),
    Breakage(
        "steps that are asked for a few at a time are kept without a look at friction",
        "nonsmooth/friction/stretches.py",
        '    event = _first_event(',
        '    event = None if steps < course.friction.stretch else _first_event(',
        {
            "changing_coefficients.bends_at_zero": (0, 8),
        },
    ),
    Breakage(
        "impacts at one instant count as a lack of progress",
        "nonsmooth/transitions.py",
        '        if events.struck and trace.stalled and course.strikes_on():\n',
        '        if False:\n',
        {
            "bouncing_with_friction.rods_rock_to_rest": (0, 1),
        },
    ),
    Breakage(
        "the curvature of walls times 0.99 in accelerations",
        "normal_form/faces.py",
        'jacobian(g_d, kin.v), kin.drift(g_d), e)',
        'jacobian(g_d, kin.v), 0.99 * kin.drift(g_d), e)',
        {
            "several_walls.ladder_leaves_its_wall": (0, 1),
        },
    ),
    Breakage(
        "a crossing of a wall is measured by what its terms are there, even at a corner where they vanish",
        "simulate/doubts.py",
        'np.maximum(FACE_CROSSED * (allowed[k] + motion.tolerances["atol"] * slope), largest)',
        '(FACE_CROSSED * (allowed[k] + motion.tolerances["atol"] * slope) + 1e-300)',
        {
            "several_walls.inelastic_corners_of_three_planes": (0,),
        },
    ),
    Breakage(
        "impacts in turn that converge to rest are taken for endless ones",
        "nonsmooth/contact/contact.py",
        '    return bool(2 * square * rates[receding] <= (linear + np.sqrt(discriminant)) * -rates[approached])\n',
        '    return False\n',
        {
            "several_walls.narrow_wedges": (0, 2),
        },
    ),
    Breakage(
        "feet that cease to be redundant are not chosen again",
        "nonsmooth/contact/face_laws.py",
        '    if trace.status is Status.PROJECTION_FAILED and course.mode.redundant and course.independent_at != trace.t:\n',
        '    if False:\n',
        {
            "several_walls.benches_on_three_feet": (0, 1),
        },
    ),
    Breakage(
        "rates that count as none are not taken when a rough face closes",
        "nonsmooth/friction/friction_laws.py",
        '    _remove_rates(course)\n    if any(friction.fixed',
        '    if any(friction.fixed',
        {
            "bouncing_with_friction.rocking_loses_nothing": (18,),
        },
    ),
    Breakage(
        "a wall that a first-order state moves has no speed",
        "normal_form/face_table.py",
        '    g_d = drift(g)\n',
        '    g_d = drift(g) - (jacobian(g, q)[:, form.nv :] @ qd[form.nv :] if form.nq > form.nv else 0)\n',
        {
            "first_order.walls_that_states_move": (0,),
        },
    ),
    Breakage(
        "tables are cubic between their points, not of degree five",
        "tabulated.py",
        '    degree = 5 if len(t) >= 6 else 3 if len(t) >= 4 else 1\n',
        '    degree = 3 if len(t) >= 4 else 1\n',
        {
            "unseen_walls.walls_moved_by_tables_are_met": (1,),
        },
    ),
    Breakage(
        "a slip below 1e-11 m/s is none, whatever the terms in it",
        "nonsmooth/criteria.py",
        '    return slip <= SLIP_AT_REST * terms\n',
        '    return slip <= AT_REST + 0 * terms\n',
        {
            "friction_scales.units_do_not_matter": (2, 9),
        },
    ),
    Breakage(
        "restitutions of the runs of an ensemble are not looked at",
        "ensembles/inputs.py",
        '    if any(not face.restitution.is_number for face in system.unilateral):\n',
        '    if False:\n',
        {
            "unusable_runs.restitutions_of_each_run": (0, 1),
        },
    ),
    Breakage(
        "changes of piece are looked for near the origin only",
        "model/jumps.py",
        '    for k in range(PAIRS_TRIED + FAR_PAIRS):\n',
        '    for k in range(PAIRS_TRIED):\n',
        {
            "elsewhere.ridges_far_from_the_origin": (0, 1),
            "elsewhere.jumps_far_from_the_origin": (0, 1),
        },
    ),
    Breakage(
        "the rounding of coordinates far from the origin is taken for a jump",
        "model/jumps.py",
        'return math.ulp(max(size for _, size in changes)) / max(length for length, _ in changes) if changes else math.inf',
        'return 0.0',
        {
            "elsewhere.continuous_profiles_without_end": (0, 1, 2, 3),
        },
    ),
    Breakage(
        "what is left of rates makes the orders of impacts differ",
        "nonsmooth/contact/contact.py",
        '    agrees = lambda dv: at.energy(dv) <= allowed or bool((np.abs(at.g_v @ dv) <= 2 * at.slow)[touched].all())\n',
        '    agrees = lambda dv: at.energy(dv) <= allowed\n',
        {
            "elsewhere.falls_flat_anywhere": (0,),
        },
    ),
]
