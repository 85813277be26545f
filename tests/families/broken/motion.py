"""Breakages of what moves: break times, located conditions, impacts, friction, slopes."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "break times are not read off the model",
        "model/breaks.py",
        '    return replace(_read(system)[1], records=bool(letters_of(system.parameters)))',
        '    return Breaks((), (), ())',
        {
            "breaks.short_pulses": (0, 3, 5),
            "breaks.trains": (0, 5),
            "breaks.belts": (0, 4),
            "breaks.walls": (0, 1),
            "breaks.potentials": (0,),
            "breaks.ensembles": (0, 4),
            "breaks.located": (0,),
            "mixed_events.events_shorter_than_a_step": (0, 4),
        },
    ),
    Breakage(
        "breaks are 1e-5 s late",
        "model/breaks.py",
        '            return sympy.Piecewise((-b / a, direction',
        '            return sympy.Piecewise((-b / a + sympy.Float(1e-5), direction',
        {
            "breaks.driven_oscillators": (0, 3),
            "several_walls.pulses_under_a_body_at_rest": (0, 1),
        },
    ),
    Breakage(
        "conditions on positions and velocities are not located",
        "simulate/loop/surfaces.py",
        '        ends = steps.ends()\n        rounding = steps.rounding(np.tile',
        '        return None\n        ends = steps.ends()\n        rounding = steps.rounding(np.tile',
        {
            "switches.friction_by_hand": (0, 2),
            "switches.regions_everywhere": (0, 3),
            "switches.thresholds_of_speed": (0, 2),
            "switches.both_sides_push": (0, 3),
            "switches.steps_of_a_wall": (1,),
            "mixed_events.floors_that_change_at_a_place": (0, 1),
            "mixed_events.events_shorter_than_a_step": (1, 3),
        },
    ),
    Breakage(
        "crossings that a fixed step only seems to show are not confirmed",
        "simulate/loop/switched.py",
        '        if (step := self.task.fixed_step) is not None:',
        '        if (step := None) is not None:',
        {
            "switches.steps_that_resolve_nothing": (0,),
        },
    ),
    Breakage(
        "bends of forces are not located",
        "model/sides.py",
        '_SWITCHES = (sympy.sign, sympy.Heaviside, *_BENDS, *_STEPS, *_ORDERED)',
        '_SWITCHES = (sympy.sign, sympy.Heaviside, *_STEPS, *_ORDERED)',
        {
            "switches.bent_forces": (0, 1),
        },
    ),
    Breakage(
        "a rest between two pushes is not looked for",
        "simulate/loop/side_loop.py",
        '            if max(pushes) < 0:\n                return i\n',
        '',
        {
            "switches.rests_where_both_sides_push": (1, 0),
        },
    ),
    Breakage(
        "a map is applied entry by entry",
        "simulate/loop/reset_maps.py",
        '    return column(*(form.lower(system.in_velocities(reset.map.get(s, s))) for s in (',
        '    found = {}\n'
        '    for s in (*system.positions, *system.velocities):\n'
        '        found[s] = reset.map.get(s, s).xreplace(found)\n'
        '    return column(*(form.lower(system.in_velocities(found[s])) for s in (',
        {
            "resets.resets_against_scipy": (0, 7),
        },
    ),
    Breakage(
        "restitution times 0.999",
        "normal_form/faces.py",
        '        e = kin.lower.column(face.restitution for face in system.unilateral)',
        '        e = kin.lower.column(face.restitution * 0.999 for face in system.unilateral)',
        {
            "backwards.forward_and_back": (0, 1),
            "bouncing_with_friction.landing_is_exact": (0, 1),
            "several_walls.walls_move_against_each_other": (0, 1),
        },
    ),
    Breakage(
        "a change of mode leaves out the jump of the slopes",
        "analysis/orbits/stick_slip.py",
        '        return np.asarray(Phi + np.outer(f_before - f_after, dt), float)',
        '        return np.asarray(Phi + 0 * np.outer(f_before - f_after, dt), float)',
        {
            "stick_slip.slopes_through_stick_and_slip": (0, 1, 2),
        },
    ),
    Breakage(
        "the time of a reset does not vary with the start",
        "analysis/orbits/reset_saltation.py",
        'np.outer(R.z @ f_before + R.t - f_after, dt), float), dt',
        '0 * np.outer(R.z @ f_before + R.t - f_after, dt), float), dt',
        {
            "resets.slopes_through_resets": (0, 1, 2),
            "slides_from_rest.a_map_to_rest_is_followed": (0, 1),
        },
    ),
    Breakage(
        "mass that is carried away takes no momentum along",
        "model/loads.py",
        '    if body.carried is not None:',
        '    if body.carried is not None and not body.mass.free_symbols:',
        {
            "varying_mass.mass_that_comes_and_goes": (0, 3),
        },
    ),
    Breakage(
        "rows are not judged at the given start",
        "normal_form/sampling.py",
        '    if system.sample is None:\n        return times or None\n    sample',
        '    if True:\n        return times or None\n    sample',
        {
            "narrow_rows.judged_at_the_start": (0, 2, 4),
        },
    ),
    Breakage(
        "an equation less is not noticed",
        "verify/judge.py",
        '        return not_determined(equations, [solution for solution in solutions if solution is not None], self.numbers)',
        '        return ""',
        {
            "agreement.missing_equations": (0, 8),
        },
    ),
    Breakage(
        "a distance that is positive at both ends of a step is not examined",
        "roots/finder.c.in",
        '    RootFound found = {ROOT_NONE, ROOT_NONE};\n',
        '    RootFound found = {ROOT_NONE, ROOT_NONE};\n    if (g->start > 0 && g->end > 0) return found;\n',
        {
            "unseen_walls.thin_obstacles_are_met": (0, 1, 2, 3),
            "unseen_walls.pairs_of_discs_collide": (0, 1),
            "breaks.regions": (0, 2),
        },
    ),
    Breakage(
        "a stop forgets at a reading of the control from where it reached zero",
        "simulate/loop/stopped.py",
        "            self.trace.reached = reached",
        "            self.trace.reached = {}",
        {
            "stops.impacts_on_readings": (0, 3),
        },
    ),
    Breakage(
        "a distance is reached by a second impact only where it is zero to rounding",
        "motion/zeros.py",
        "HIT_TOGETHER * self.noise[step]",
        "self.noise[step]",
        {
            "stops.impacts_beside_other_events": (0, 3, 9),
        },
    ),
    Breakage(
        "a level that is passed beside a break counts as jumped over",
        "motion/zeros.py",
        "        tiny = np.flatnonzero(jump & (np.abs(g[nearest]) <= rounding))\n",
        "        tiny = np.flatnonzero(jump)[:0]\n",
        {
            "stops.impacts_beside_other_events": (1, 2, 7, 8),
        },
    ),
    Breakage(
        "a break in time is passed on without the sides of other jumps",
        "simulate/loop/switched.py",
        "            trace.p_before_jump = self.sides.parameters(trace.p_before_jump, trace.sides)",
        "            pass",
        {
            "switches.breaks_beside_switches_with_friction": (0, 3),
        },
    ),
    Breakage(
        "stops are found at the ends of steps alone",
        "simulate/loop/stopped.py",
        '        watched = self.watched.along_steps(self.task, times, self._states)',
        '        times = times[[0, -1]]\n        watched = self.watched.along_steps(self.task, times, self._states)',
        {
            "stops.stops_are_met": (0, 2, 14),
        },
    ),
    Breakage(
        "coefficients and limits of friction times 1.001",
        "nonsmooth/friction/friction_terms.py",
        '    return _at_speed(form, moving, speed), _at_speed(form, static.xreplace({SPEED: Integer(0)}), speed)',
        '    moving, static = 1.001 * moving, 1.001 * static\n'
        '    return _at_speed(form, moving, speed), _at_speed(form, static.xreplace({SPEED: Integer(0)}), speed)',
        {
            "resultant_friction.resultant_of_two_rows": (0, 8),
            "rests_with_friction.rest_within_the_cones": (0, 2),
            "rough_surfaces.rough_curved_surface": (0, 1),
            "slips_in_space.slip_of_three_parts": (0, 1, 11),
            "loss_of_sticking.sticking_is_lost_where_den_hartog_puts_it": (0, 1),
            "breaks.belts": (0, 1),
            "mixed_events.events_of_all_kinds": (1, 2),
        },
    ),
    Breakage(
        "the bound of a friction along a line is squared",
        "analysis/rests/friction_rest.py",
        '                if len(rows) == 1:\n',
        '                if not len(rows):\n',
        {
            "rests_with_friction.chains_of_blocks": (6, 7, 8),
        },
    ),
    Breakage(
        "loads of friction by reactions times 1.001",
        "nonsmooth/friction/friction_terms.py",
        '    return moving, static\n',
        '    return 1.001 * moving, 1.001 * static\n',
        {
            "limits_with_multipliers.limit_of_reactions": (0, 8),
            "resultant_friction.resultant_of_two_rows": (0, 8),
        },
    ),
    Breakage(
        "a condition that is made of others keeps its side where those change",
        "simulate/loop/switched.py",
        "        followed[k] = value if surface.step else value or surface.edge or 1.0\n",
        "        followed[k] = sides[k]\n",
        {
            "nested_conditions.conditions_made_of_others": (0, 4, 7),
        },
    ),
]
