"""`periodic_orbit`: the periodic orbit near a guess, by shooting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from appell.analysis.forcing import explicit_time, refuse_other_period
from appell.analysis.orbits.first_return import first_return
from appell.analysis.orbits.least_period import is_rest, with_least_period
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.shooting import Shooting, turn_lengths
from appell.analysis.orbits.state_symmetry import StateSymmetry
from appell.analysis.orbits.turn_symmetry import refuse_unless_turns
from appell.analysis.requests import run_of
from appell.compiled.run import Run
from appell.errors import ModelError
from appell.model import System
from appell.model.values import finite
from appell.reading import whole
from appell.tree import Tree

AT_REST = (
    "the state does not move, so it has no period: it is a rest, which ap.equilibrium finds; give a guess nearer to the orbit,"
    " or period= for the multipliers of the rest over a given time"
)


def periodic_orbit(
    system: System | Tree | Run,
    *,
    guess: Mapping[Any, Any],
    period: float | None = None,
    parameters: Mapping[Any, Any] | None = None,
    segments: int = 1,
    since: float = 0.0,
    modulo: Mapping[Any, float] | None = None,
    free: Iterable[Any] = (),
    symmetry: Mapping[Any, Any] | None = None,
    period_guess: float | None = None,
    rtol: float = 1e-11,
    atol: float | None = None,
    tolerance: float = 1e-9,
    **options: Any,
) -> Orbit:
    """The periodic orbit near a guess.

    Parameters
    ----------
    guess: coordinate or velocity → value; near a point of the orbit, and on the constraints (it is projected).
    period: T, s: a multiple of the period of the forcing. None for autonomous systems: found with the orbit, from
        `period_guess` or the first return of the guess.
    segments: points of multiple shooting.
    modulo: coordinate → length of a turn: an angle that grows by this in a period has returned. Nothing may change with it.
    free: coordinates that need not return, because nothing depends on them: the orbit closes without them.
    symmetry: a linear map of the state, coordinate → expression ({x: -x}; velocities follow), of order n: the orbit satisfies
    z(t + T/n) = S z(t), with T its whole period. Along a branch it loses its symmetry at an ordinary branch point.
    tolerance: the largest |z(T) − z(0)| that counts as closed, in units of the size of the orbit.
    rtol, atol and other options are those of `ap.simulate`; atol is 1e-13 of the smallest scale of the guess by default.

    Returns
    -------
    `Orbit`. If Newton's method does not converge, or ends at a rest of an autonomous system whose period was to be found, the
    best iterate, with `ok` False and the reason in `message`. Where the orbit is passed several times in T, `message` gives
    its least period.
    """
    run = run_of(system, parameters, options, guess)
    segments, tolerance = whole(segments, "segments=", 1, 10_000), finite(tolerance, "tolerance=")
    period = None if period is None else finite(period, "period=")
    shooting = Shooting(run, finite(since, "since="), segments, turn_lengths(run.system, modulo, free), rtol, atol, options)
    shooting.symmetry = None if symmetry is None else StateSymmetry.of(run.system, symmetry)
    forced = explicit_time(run)
    if forced and period is None:
        raise ModelError(f"'{run.system.name}' depends on time: give period=, a multiple of the period of its forcing")
    z0 = shooting.read(guess)
    T = float(period or period_guess or 0.0) if period is not None or period_guess else first_return(shooting, z0)
    if not T > 0 or not np.isfinite(T):
        raise ModelError(f"the period must be positive, not {T:g}")
    shooting.measure(z0, T)
    refuse_unless_turns(run, shooting.turns, z0, shooting.since, T)
    if forced:
        refuse_other_period(run, z0, shooting.since, T)
    if shooting.symmetry is not None:
        shooting.symmetry.refuse_unless_symmetric(run, z0, shooting.since, T)
    if run.system.resets or run.system.frictions:
        z0 = shooting.with_room(z0, T)
    orbit = shooting.solve(z0, T, fixed=period is not None, autonomous=not forced, tolerance=tolerance)
    if period is None and orbit.ok and is_rest(orbit):
        return replace(orbit, ok=False, message=AT_REST)
    return with_least_period(orbit, shooting.difference)


__all__ = ["periodic_orbit"]
