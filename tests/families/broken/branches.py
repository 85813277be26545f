"""Breakages of branches of orbits, plans and linearizations."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "a test that dips to zero between two orbits is not followed",
        "analysis/orbits/refining.py",
        '    fa, fm, fb = test(a), test(m), test(b)\n    sign = np.sign(fm)',
        '    return None\n    fa, fm, fb = test(a), test(m), test(b)\n    sign = np.sign(fm)',
        {
            "branches.special_points": (1,),
            "branches.pairs_in_one_step": (2, 7),
        },
    ),
    Breakage(
        "two folds between two rests are told by the signs of dp/ds alone",
        "analysis/orbits/refining.py",
        '    if not (a > 0 and abs(c) > abs(b - a)):',
        '    if True:',
        {
            "branches.pairs_in_one_step": (0, 6),
        },
    ),
    Breakage(
        "eigenvalues that pass the axis and return between two rests are not looked for",
        "analysis/rests/rest_branches.py",
        '            if self.structure is None or not len(values) or not _fold(point):',
        '            if True:',
        {
            "branches.pairs_in_one_step": (2, 7, 8, 11),
        },
    ),
    Breakage(
        "a free duration does not move the rows of an end",
        "optimize/end_states.py",
        '        table[:, -1] = by_t if k and free_end else 0.0',
        '        table[:, -1] = 0.0',
        {
            "plans.ends_tell_what_rows_do_not": (0, 1),
        },
    ),
    Breakage(
        "the times of a start and an end are instants between nodes",
        "optimize/goals.py",
        '            if abs(self.instant - t) <= slack:',
        '            if False:',
        {
            "plans.instants_by_time_and_by_name": (0,),
        },
    ),
    Breakage(
        "inputs, multipliers and slacks without a size have the size 1",
        "optimize/variable_sizes.py",
        '    if (sizes > 0).all():\n        return sizes\n',
        '    return sizes\n',
        {
            "units_of_plans.objectives_in_any_units": (3, 9),
            "units_of_plans.next_plans_in_any_units": (4,),
        },
    ),
    Breakage(
        "states of first order are compared with a size far above that of their rates",
        "optimize/variable_sizes.py",
        '    return np.where(first_order, rows.max(axis=0), 0.0)\n',
        '    return np.where(first_order, 1e12 * rows.max(axis=0), 0.0)\n',
        {
            "quiet_states.boats_in_a_current": (0, 1),
        },
    ),
    Breakage(
        "an unknown start value moves the start by half of itself",
        "optimize/prediction.py",
        '                slopes[j][state.index(self.unknowns[j].symbol)] = 1.0\n',
        '                slopes[j][state.index(self.unknowns[j].symbol)] = 0.5\n',
        {
            "units_of_fits.oscillators_in_any_units": (3,),
        },
    ),
    Breakage(
        "unknown start values give way to constraints as known ones do",
        "optimize/prediction.py",
        'since=self.since, hold=symbols)',
        'since=self.since)',
        {
            "units_of_fits.starts_on_constraints": (0, 1),
        },
    ),
    Breakage(
        "of dependent rows only the one that is left out has no reaction of its own",
        "optimize/end_states.py",
        '            undetermined |= {linear[k] for k in rows_of_dependencies(A, len(linear) - len(dependent))}',
        '            undetermined |= set()',
        {
            "plans.redundant_mechanisms": (2,),
        },
    ),
    Breakage(
        "rows have the sizes in which they are written",
        "analysis/linear_probe.py",
        '            rows = unit_rows(out["A1"] * scale)',
        '            rows = out["A1"] * scale',
        {
            "units.rows_of_any_size_linearize": (1, 3),
        },
    ),
    Breakage(
        "slips are compared with rows in SI units",
        "verify/diagnose.py",
        '            free = free or bool(rank(np.vstack([A, D])) > rank(A))',
        '            free = free or bool(np.linalg.matrix_rank(np.vstack([A, D]), tol=1e-9) > rank(A))',
        {
            "units.slips_of_any_size_can_slide": (0, 1),
        },
    ),
    Breakage(
        "a metric is regular by its singular values in SI units",
        "verify/principle.py",
        '        if not any(regular(M) for M in samples(self.metric)):',
        '        if all(np.linalg.matrix_rank(M) < n for M in samples(self.metric)):',
        {
            "units.light_bodies_have_a_metric": (0, 1),
        },
    ),
    Breakage(
        "states of linear equations are compared in SI units",
        "analysis/linearization.py",
        '(A[core, j] <= rounding[core]).all()',
        'np.abs(self.A)[core, j].max() <= 1e-11 * np.abs(self.A).max()',
        {
            "units_of_small_motions.eigenvalues_in_any_units": (0,),
        },
    ),
    Breakage(
        "the way to the nearest state ends within a length in SI units",
        "normal_form/nearest.py",
        '(np.linalg.norm(offset) + 1e-6 * level.size)',
        '(np.linalg.norm(offset) + 1e-6)',
        {
            "units_of_small_motions.nearest_states_in_any_units": (5,),
        },
    ),
    Breakage(
        "coordinates along a branch are measured in metres",
        "analysis/rests/rest_equations.py",
        '        self.steps, reach, forces = self._sizes(rest.q, lam, np.asarray(units, dtype=float))',
        '        self.steps, reach, forces = np.ones(self.moves), np.ones(self.nq), np.ones(self.m)',
        {
            "units.branches_fold_in_any_units": (0, 1, 2),
        },
    ),
    Breakage(
        "the steps to a steady motion are at most 1 m long",
        "analysis/rests/steady_equations.py",
        'step /= max(1.0, float((np.abs(step[: self.sizes[0]]) / sizes[: self.sizes[0]]).max(initial=0.0)))',
        'step /= max(1.0, float(np.abs(step[: self.sizes[0]]).max(initial=0.0)))',
        {
            "units.steady_motions_in_any_units": (1, 6),
        },
    ),
    Breakage(
        "a force that is zero at the start has no size",
        "analysis/rests/balance.py",
        '        scaled.floor = np.where(forces > 0, forces, stiff), conditions',
        '        scaled.floor = forces, conditions',
        {
            "units.rests_in_any_units": (12, 14, 17),
        },
    ),
    Breakage(
        "rounding of the check by simulation chooses among plans",
        "optimize/plan_search.py",
        '(not attempt.ok, 0.0 if attempt.ok else attempt.infeasibility, attempt.solution.objective)',
        '(not attempt.ok, attempt.infeasibility, attempt.solution.objective)',
        {
            "plans_choices.the_best_attempt_is_returned": (0, 1, 2, 3),
        },
    ),
    Breakage(
        "controls that became states have any sign",
        "optimize/steering_request.py",
        '    for declared, s in (*steered_system.values.items(), *((s, s) for s in unknown)):',
        '    for declared, s in ((s, s) for s in (*steered_system.inputs, *unknown)):',
        {
            "plans_choices.signs_of_controls_are_kept": (0,),
        },
    ),
    Breakage(
        "the rate of a control takes a name that another symbol has",
        "optimize/inputs_as_states.py",
        '    while name in taken:',
        '    while False:',
        {
            "plans_choices.names_of_rates_are_free": (0, 1, 2),
        },
    ),
    Breakage(
        "a stationary point is taken for a minimum",
        "optimize/plan_search.py",
        '            if coarser is None:\n                solution = self._downhill(solution, stiffness)',
        '            if False:\n                solution = self._downhill(solution, stiffness)',
        {
            "plans_choices.maxima_are_left": (0, 1, 2),
        },
    ),
    Breakage(
        "a next plan is not looked at between its nodes",
        "optimize/again.py",
        '        doubts = messages_between_nodes(solution, violations, tolerance)',
        '        violations, doubts = [], ()',
        {
            "plans_choices.next_plans_keep_bounds_between_nodes": (0, 2),
        },
    ),
    Breakage(
        "a next plan keeps the impacts of another restitution",
        "optimize/replanning.py",
        'if face.name in fresh and absorbs(face, before) != absorbs(face, after):',
        'if False:',
        {
            "plans_choices.next_plans_keep_their_impacts": (0, 1),
        },
    ),
    Breakage(
        "bounds of given parameters are accepted in silence",
        "optimize/steering_request.py",
        '        if expr.free_symbols and expr.free_symbols <= self.given_parameters and not expr.has(TimeIntegral):',
        '        if False:',
        {
            "plans_choices.conditions_on_parameters": (0, 1),
        },
    ),
    Breakage(
        "exponents that pass the axis are not counted",
        "analysis/orbits/axis_crossings.py",
        '        return range(self._growing(fewer), min(self._growing(more), len(fewer.free), len(more.free)))',
        '        return range(0)',
        {
            "several_at_once.rests_of_several_modes": (0, 1),
        },
    ),
    Breakage(
        "only products of multipliers tell what passes the circle",
        "analysis/orbits/orbit_tests.py",
        '    return spectra, spectra.crossings if len(spectra.first) == len(spectra.second) else []',
        '    return spectra, []',
        {
            "several_at_once.orbits_of_several_modes": (0,),
        },
    ),
    Breakage(
        "any length is a turn",
        "analysis/orbits/turn_symmetry.py",
        '    if wrong:\n',
        '    if False:\n',
        {
            "several_at_once.lengths_of_turns": (0,),
        },
    ),
    Breakage(
        "velocities that change by rounding have its size",
        "analysis/natural_scales.py",
        '    return np.where(size > rounding, size, 0.0)',
        '    return size',
        {
            "several_at_once.spinning_bodies": (0,),
        },
    ),
    Breakage(
        "two special points of a kind are one, wherever they are",
        "analysis/orbits/arclength.py",
        ' < LOCATED_AGAIN\n',
        ' < np.inf\n',
        {
            "branches.both_folds": (0, 5),
        },
    ),
    Breakage(
        "closed branches go round and round",
        "analysis/orbits/arclength.py",
        '        if len(self.points) < 3 or len(there.x) != len(x):',
        '        if True:',
        {
            "branches.closed_branches": (0, 3),
        },
    ),
    Breakage(
        "predictions along a branch of orbits are not brought back to the constraints",
        "analysis/orbits/orbit_equations.py",
        "            x = self._on_rows(x)\n",
        "",
        {
            "branches.branches_on_constraints": (1, 7),
        },
    ),
]
