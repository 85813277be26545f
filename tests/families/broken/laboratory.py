"""Breakages of small motions beside walls, of the times of exponents, and of what designs and fits take for a size."""

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
        '            dlam = out["y_lam"] @ self._reactions(moved, given, out["y_lam"])\n',
        '            dlam = 0 * out["y_lam"] @ self._reactions(moved, given, out["y_lam"])\n',
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
        '        found[j] = replace(found[j], scale=min([*told, found[j].high - found[j].low]) if told else 0.0)\n',
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
]
