"""Breakages of the scales that orbits, sections and sweeps take from the model."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "absolute tolerances are in SI units",
        "analysis/natural_scales.py",
        '    return float(max(share if natural is None else natural, LEAST_NATURAL))',
        '    return share',
        {
            "units_of_orbits.free_orbits": (0,),
        },
    ),
    Breakage(
        "coordinates and velocities of a branch have one smallest scale",
        "analysis/orbits/orbit_equations.py",
        '        self.units, self.period, self.shots = orbit.scale, orbit.period, 1',
        '        self.units, self.period, self.shots = np.maximum(orbit.scale, 0.01 * orbit.scale.max()), orbit.period, 1',
        {
            "units_of_orbits.branches_of_orbits": (1,),
        },
    ),
    Breakage(
        "a search for crossings ends after seven intervals",
        "analysis/many/sections.py",
        '                if empty >= may and (steps > STEPS_WITHOUT_CROSSING or empty >= must):',
        '                if empty >= may:',
        {
            "units_of_orbits.sections": (3,),
        },
    ),
    Breakage(
        "sweeps have an absolute tolerance in SI units",
        "analysis/many/periodic_runs.py",
        '        self.options["atol"] = self._natural_atol(share) if atol is None else positive(atol, "atol")',
        '        self.options["atol"] = share if atol is None else positive(atol, "atol")',
        {
            "units_of_orbits.sweeps": (0, 8),
            "units_of_orbits.basins": (0,),
            "units_of_orbits.responses_and_exponents": (0,),
        },
    ),
    Breakage(
        "a power vanishes in SI units",
        "verify/energy_integral.py",
        '    if not np.abs(out["power"]).max() <= rounding:',
        '    if not np.abs(out["power"]).max() <= RATE_ROUNDING + rounding:',
        {
            "units_of_orbits.diagnoses": (6,),
        },
    ),
    Breakage(
        "the largest coordinate is a number, not a displacement by the inertia",
        "normal_form/move_sizes.py",
        '    return np.minimum(most / roots, own.max(axis=-1, initial=0.0, keepdims=True))',
        '    return np.broadcast_to(own.max(axis=-1, initial=0.0, keepdims=True), roots.shape)',
        {
            "units_of_small_motions.starts_in_any_units": (2, 5),
        },
    ),
    Breakage(
        "there are no starts beside places of large forces",
        "analysis/rests/strong_places.py",
        '        if size > FAR_ABOVE_OTHERS * usual > 0 and new:',
        '        if size < 0 and new:',
        {
            "many_rests.lagrange_points": (1,),
        },
    ),
    Breakage(
        "there are no starts beside places of large slopes",
        "analysis/rests/strong_places.py",
        "enumerate(starts[:CLIMBS_OF_SLOPES])",
        "enumerate(starts[:0])",
        {
            "many_rests.rests_beside_anchors": (0,),
        },
    ),
    Breakage(
        "all starts of a search are random",
        "analysis/rests/equilibria.py",
        '    regular = regular_starts(low, high, rng) if attempts is None else []',
        '    regular: list[Array] = []',
        {
            "many_rests.upright_and_hanging": (1,),
        },
    ),
    Breakage(
        "a start that ends behind a wall ends the search",
        "analysis/rests/equilibria.py",
        '            if not isinstance(error, ConstraintError) and not turn:  # behind a wall, or pulled by one',
        '            if isinstance(error, ModelError) and not turn:',
        {
            "many_rests.bowls_between_walls": (0,),
        },
    ),
]
