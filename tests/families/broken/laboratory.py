"""Breakages of small motions beside walls, of exponents, of ends of motions, and of what designs and fits take for a size."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "linear equations do not see walls",
        "analysis/mode_of_state.py",
        '        return on_pressed_faces(model, start, parameters, time, what), parameters\n',
        '        return system, parameters\n',
        {
            "beside_walls.eigenvalues_on_walls": (0,),
            "beside_walls.walls_without_a_load": (0,),
        },
    ),
    Breakage(
        "reactions among outputs have no derivatives",
        "analysis/linear_probe.py",
        '            dlam = out["y_lam"] @ self._reactions(varied, load, out["y_lam"])\n',
        '            dlam = 0 * out["y_lam"] @ self._reactions(varied, load, out["y_lam"])\n',
        {
            "beside_walls.reactions_as_outputs": (0,),
        },
    ),
    Breakage(
        "the scale of a rest is at least 1 m",
        "analysis/linear_probe.py",
        '        return np.concatenate([steps, np.abs(',
        '        return np.concatenate([np.maximum(steps, 1.0), np.abs(',
        {
            "beside_walls.rests_off_by_little": (0,),
        },
    ),
    Breakage(
        "exponents are renormalised every second",
        "analysis/many/lyapunov.py",
        '        natural = time_to_look(run, since, np.concatenate(read(run.system, start))) / (2 * np.pi)\n',
        '        natural = 1.0\n',
        {
            "units_of_orbits.times_of_exponents": (4,),
        },
    ),
    Breakage(
        "a parameter whose first guess is 0 has the size 1",
        "optimize/prediction.py",
        (
            '        unknowns[j] = replace(unknowns[j], scale=min([*scales, unknowns[j].high - unknowns[j].low]) if scales'
            ' else 0.0)\n'
        ),
        '        pass\n',
        {
            "units_of_plans.designs_in_any_units": (2, 4),
        },
    ),
    Breakage(
        "a stated noise is not compared with the residuals",
        "optimize/fit_result.py",
        '        for name, size in self._beyond_noise().items():\n',
        '        for name, size in {}.items():\n',
        {
            "units_of_fits.noise_as_given": (0,),
        },
    ),
    Breakage(
        "ends of plans may lie behind walls",
        "optimize/end_states.py",
        '    if sure and fixed[: rows.form.nq].all():\n',
        '    if False:\n',
        {
            "plans.ends_behind_walls": (0, 1),
        },
    ),
    Breakage(
        "late states alone say the extent of motions",
        "analysis/many/attractors.py",
        '        self.first_extent = np.median(travel[moves], axis=0) if moves.any() else self.first_extent\n',
        '        self.first_extent = 0 * self.first_extent\n',
        {
            "ends_of_motions.rests_at_zero": (0, 2),
        },
    ),
    Breakage(
        "what decays slowly is an attractor",
        "analysis/many/attractors.py",
        '            if leaves or (drifting and orbit is None):\n',
        '            if leaves:\n',
        {
            "ends_of_motions.slow_decay": (0, 3),
        },
    ),
    Breakage(
        "every motion without a period decays",
        "analysis/many/transients.py",
        '    return any(_monotone(values, float(size)) for values, size in series)\n',
        '    return True\n',
        {
            "ends_of_motions.chaos_does_not_decay": (0, 1),
        },
    ),
    Breakage(
        "harmonics are sums of samples through impacts, too",
        "analysis/many/frequency_response.py",
        '        coarse = np.flatnonzero(moves & (',
        '        coarse = np.flatnonzero(moves & False & (',
        {
            "ends_of_motions.harmonics_through_impacts": (0,),
        },
    ),
    Breakage(
        "decays hide slower ones from the map over a period",
        "analysis/many/limit_of_decays.py",
        '    known = (np.abs(along) > noise) & (sigma > NEUTRAL)\n',
        '    known = (np.abs(along) > noise) & (sigma > 1.0)\n',
        {
            "ends_of_motions.slow_decays_beside_fast_ones": (0,),
        },
    ),
    Breakage(
        "errors of states at rest are an extent",
        "analysis/many/diagram.py",
        '        least = max(ERROR_OF_STATES * self.atol, 1e-300)\n',
        '        least = 1e-300\n',
        {
            "ends_of_motions.sweeps_of_rests": (0,),
        },
    ),
    Breakage(
        "perturbations begin along the axes",
        "analysis/many/lyapunov.py",
        '            self.Q = Q @ np.linalg.qr(np.random.default_rng(1).normal(size=(Q.shape[1],) * 2))[0]\n',
        '            self.Q = Q\n',
        {
            "ends_of_motions.exponents_of_sleighs": (0,),
        },
    ),
    Breakage(
        "terms of the second order keep their time",
        "analysis/averaging.py",
        '            omega, (force, second) = _forces_in_phase(terms, psi, system.name)\n',
        '            force, second = terms\n',
        {
            "ends_of_motions.means_of_second_order": (0,),
        },
    ),
    Breakage(
        "a residual is relative to rounding",
        "analysis/rests/friction_rest.py",
        ' + np.sqrt(problem.scale[2] * inertia)  #',
        '  #',
        {
            "ends_of_motions.residuals_of_rounding": (0, 1, 2, 3),
        },
    ),
    Breakage(
        "doubtful motions have Lyapunov exponents",
        "analysis/many/lyapunov_field.py",
        '    doubtful_runs = np.flatnonzero((results.status.values != Status.OK) | doubtful(messages))\n',
        '    doubtful_runs = np.flatnonzero(results.status.values != Status.OK)\n',
        {
            "unusable_runs.fields_over_doubtful_motions": (0, 2),
        },
    ),
    Breakage(
        "an orbit that shrinks to a rest is compared in its own units",
        "analysis/orbits/shooting.py",
        '(rows if autonomous else rows.at_least(here.scale)).size < here.size',
        'rows.size < here.size',
        {
            "orbits_at_rest.rests_from_any_guess": (0, 1, 2, 3),
        },
    ),
    Breakage(
        "the size of an orbit at rest is its rounding",
        "analysis/orbits/orbit.py",
        '            return self.sought\n',
        '            pass\n',
        {
            "orbits_at_rest.swings_that_leave_their_rest": (0, 1, 2, 3),
        },
    ),
    Breakage(
        "sweeps do not look at the energy of their motions",
        "analysis/many/periodic_runs.py",
        '            if motion.doubts:\n',
        '            if False:\n',
        {
            "unusable_runs.laboratory_over_doubtful_motions": (0, 4),
            "unusable_runs.basins_over_doubtful_motions": (0, 2),
        },
    ),
    Breakage(
        "sections are taken from doubtful motions",
        "analysis/many/sections.py",
        '                self.doubts = self.doubts or motion.doubts\n',
        '',
        {
            "unusable_runs.laboratory_over_doubtful_motions": (2, 5),
        },
    ),
    Breakage(
        "a diagram on a section ends at a first value without a start",
        "analysis/many/diagram.py",
        'isinstance(error, ModelError) and not isinstance(error, ConstraintError) and k == 0',
        'isinstance(error, ModelError) and k == 0',
        {
            "unusable_runs.values_without_a_start": (0, 4),
        },
    ),
    Breakage(
        "derivatives do not know the doubts of their motion",
        "analysis/orbits/variations.py",
        'doubt = FINISHED_BUT + motion.doubts[0] if motion.doubts else ""',
        'doubt = ""',
        {
            "unusable_runs.slopes_over_doubtful_motions": (0, 4),
        },
    ),
]
