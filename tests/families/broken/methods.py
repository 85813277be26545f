"""Breakages of models and methods: stiff and conserving steps, change points, states of first order, mass that is refused."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "two runs of a stiff method may differ by any amount",
        "simulate/second_run.py",
        'RUNS_APART = 1000.0\n',
        'RUNS_APART = 1e99\n',
        {
            "stiff_runs.overdamped_mounts": (0, 2),
        },
    ),
    Breakage(
        "runs with walls are not examined for stiffness",
        "simulate/loop/stiffness.py",
        '        if STABILITY_LIMITS < rate * h < NEVER_STABLE:\n',
        '        if STABILITY_LIMITS < rate * h < NEVER_STABLE and not run.system.unilateral:\n',
        {
            "stiff_runs.stiffness_is_said_beside_events": (0,),
        },
    ),
    Breakage(
        "the error of a step of Radau times 1e-6",
        "loop/methods/radau.c.in",
        '        norm = sqrt(norm/NZ);\n',
        '        norm = 1e-6*sqrt(norm/NZ);\n',
        {
            "stiff_runs.radau_keeps_its_tolerance": (4, 5),
        },
    ),
    Breakage(
        "steps of Radau are straight inside",
        "loop/methods/radau.c.in",
        'theta*(m->Q[0][j] + s->y.x[j] + theta*(m->Q[1][j] + theta*m->Q[2][j]));\n',
        'theta*(m->Q[0][j] + s->y.x[j] + m->Q[1][j] + m->Q[2][j]);\n',
        {
            "stiff_runs.stiff_and_rough": (1, 0),
        },
    ),
    Breakage(
        "the energy is not brought back after a step of a conserving method",
        "normal_form/conserving.py",
        'minimal=False), energy=_energy(form, policies, state))',
        'minimal=False), energy=None)',
        {
            "conserving.energy_does_not_drift": (0, 1),
        },
    ),
    Breakage(
        "steps over change points keep the tolerances, not a tenth of them",
        "simulate/loop/guarded.py",
        'TOLERANCES_NEAR_RANK_LOSS = 0.1\n',
        'TOLERANCES_NEAR_RANK_LOSS = 1.0\n',
        {
            "change_points.order_kept": (0,),
        },
    ),
    Breakage(
        "walls are looked for at the ends of steps over change points alone",
        "simulate/loop/guarded.py",
        "        return any(root.theta is not None or root.lost for root in roots)\n",
        "        return bool((two.g < 0).any())\n",
        {
            "change_points.thin_walls": (0, 2, 5),
        },
    ),
    Breakage(
        "rows whose smallest pivot is constant are not examined",
        "loop/rank_sparse.c.in",
        "k->volume += log(R[rank_R_at[i + 1] - 1]);",
        "k->volume = log(k->sigma);",
        {
            "change_points.long_steps_over_change_points": (0, 5),
        },
    ),
    Breakage(
        "rows that turn all the way round in a step are not examined",
        "loop/rank.c.in",
        "double way = fmax(change, s->rank_speed*passed);",
        "double way = change;",
        {
            "change_points.long_steps_over_change_points": (1, 7, 9),
        },
    ),
    Breakage(
        "the same, in Python",
        "loop/rank.py",
        "        path = max(change, self.speed * abs(t1 - t))",
        "        path = change",
        {
            "change_points.long_steps_over_change_points": (3, 7, 11),
        },
    ),
    Breakage(
        "steps over change points are as long as their error allows",
        "simulate/loop/passage.py",
        "        s, Y = RANK_PROBE * h, state.rows.Y\n",
        "        s, Y = RANK_PROBE * h, state.rows.Y\n        return abs(h)\n",
        {
            "change_points.long_steps_over_change_points": (1, 5),
        },
    ),
    Breakage(
        "the survey of rank looks at the ends of steps alone",
        "simulate/surveyed_rows.py",
        "        if places:\n            self.examine(np.concatenate(places))",
        "",
        {
            "change_points.change_points_that_no_guard_watches": (3, 9),
        },
    ),
    Breakage(
        "the survey of rank takes branches that miss each other for branches that meet",
        "simulate/rank_survey.py",
        "meets = not reversed_ or self._branches_meet(int(k))",
        "meets = True",
        {
            "change_points.change_points_that_no_guard_watches": (0, 4, 6),
        },
    ),
    Breakage(
        "rows that grow are taken for rows that turn",
        "simulate/loop/passage.py",
        "        lengthening = np.maximum(np.sum(change * Y, axis=1) / size, 0.0)",
        "        lengthening = np.zeros(len(size))",
        {
            "change_points.masses_that_vanish_beside_rows": (1, 4, 5),
        },
    ),
    Breakage(
        "rows that vanish with the velocities are passed even where motions part",
        "simulate/loop/vanishing.py",
        'LARGEST_STEADY_GROWTH = 1.05\n',
        'LARGEST_STEADY_GROWTH = 1e9\n',
        {
            "change_points.where_many_motions_leave": (0, 1),
        },
    ),
    Breakage(
        "rows that vanish with the velocities are not passed even where one motion goes on",
        "simulate/loop/vanishing.py",
        'LARGEST_STEADY_GROWTH = 1.05\n',
        'LARGEST_STEADY_GROWTH = 0.5\n',
        {
            "change_points.at_the_top_of_a_rise": (0, 1),
        },
    ),
    Breakage(
        "rates of first-order states times 1.000001",
        "model/first_order.py",
        '        rates[state] = rate.xreplace(velocities)\n',
        '        rates[state] = 1.000001 * rate.xreplace(velocities)\n',
        {
            "first_order.linear_systems": (0, 5),
        },
    ),
    Breakage(
        "first-order states start alike in all runs of an ensemble",
        "ensembles/inputs.py",
        '        state[:, index_of[text_of(key)]] = value\n',
        '        alike = len(system.coordinates) <= index_of[text_of(key)] < system.nq\n'
        '        state[:, index_of[text_of(key)]] = np.ravel(value)[0] if alike else value\n',
        {
            "first_order.machines_in_lanes": (0, 4),
        },
    ),
    Breakage(
        "a mass that depends on time is accepted without the velocity that it carries",
        "model/carried.py",
        '    if moves and carried is None:\n',
        '    if False:\n',
        {
            "varying_mass.mass_that_is_refused": (0, 4, 7),
        },
    ),
    Breakage(
        "the work is held to atol in joules",
        "simulate/work_tolerance.py",
        '    if not flow.has_work or flow.extra',
        '    return atol\n    if not flow.has_work or flow.extra',
        {
            "heavy_bodies.steps_do_not_depend_on_the_mass": (0,),
        },
    ),
    Breakage(
        "the degree of the kinetic energy is judged in kilograms",
        "normal_form/model_check.py",
        '> 1e-9 * size:',
        '> 1e-9 * (1 + size):',
        {
            "heavy_bodies.energies_of_a_higher_degree_are_refused": (4,),
        },
    ),
    Breakage(
        "velocities that the coordinates do not tell apart have brackets by rounding",
        "normal_form/inertia_terms.py",
        'moves = is_zero(kin.twist()) or _moves(system, kin)',
        'moves = True',
        {
            "lost_directions.velocities_without_their_coordinates": (0, 1, 2),
        },
    ),
    Breakage(
        "a kinetic energy has degree two if its second derivatives are constant",
        "normal_form/model_check.py",
        'if not depends(form["M"], form.inputs["v"]) and not any(s.level for atom in pieces for s in jets_of(atom)):',
        'if not depends(form["M"], form.inputs["v"]):',
        {
            "lost_directions.energies_with_kinks": (1, 2, 3),
        },
    ),
]
