"""Whether a full turn of a coordinate, or any change of it, leads to an equivalent state: `modulo=` and `free=` of an orbit.

    f(t, q + l e_i, v) = f(t, q, v)        with the same rows of constraints, distances from walls and guards of resets

Compared at some states near that of the guess, as in `state_symmetry`. Coordinates that are coupled, such as the path and the
angle of a wheel, may turn together. For a free coordinate l is any length, and the rows only relate it to others.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import alike, kinetic_weights, size_near
from appell.compiled.run import Run
from appell.errors import AppellError, ModelError
from appell.normal_form.manifold import normalise
from appell.simulate.loop.reset_maps import reset_slopes

Array = NDArray[np.float64]

TURNED_STATES = 5
SAME_BEHIND_TURN = 1e-9
"""Accelerations, rows and distances must agree at a state and a turn further, to this fraction of the largest of their kind."""
TURN_ROUNDING = 1e-12
"""Difference of accelerations that are all zero, as a fraction of 2π/T times the velocities: rounding of forces that cancel."""
TIED_TURNS = 4
"""Most coordinates that are tried to turn together, forwards or backwards each."""

Sampled = list[tuple[float, Array]]


def refuse_unless_turns(run: Run, turns: Array, z: Array, since: float, T: float) -> None:
    """Raises unless a turn of each coordinate that has one leaves the equations unchanged; turns: (nz,), infinite without one,
    0 if free."""
    turning, free = np.flatnonzero(np.isfinite(turns) & (turns > 0)), np.flatnonzero(turns == 0)
    if not len(turning) and not len(free):
        return
    rng, nq, size = np.random.default_rng(5), run.form.nq, size_near(run, z, since, T)
    states: Sampled = []
    for share in rng.random(TURNED_STATES):
        y = z + 0.1 * size * rng.uniform(-1, 1, len(z))
        states.append((since + T * share, np.concatenate([normalise(run.form, y[:nq]), y[nq:]])))
    rounding = TURN_ROUNDING * size[nq:] * 2 * np.pi / T
    differing = {int(i): _first_change(run, states, {int(i): float(turns[i])}, rounding, not len(free)) for i in turning}
    wrong = [i for i, change in differing.items() if change]
    for signs in product((1.0, -1.0), repeat=len(wrong) - 1) if 2 <= len(wrong) <= TIED_TURNS else ():
        shift = {i: sign * float(turns[i]) for i, sign in zip(wrong, (1.0, *signs), strict=True)}
        if not _first_change(run, states, shift, rounding, not len(free)):
            wrong = []
            break
    if wrong:
        q, length = run.system.positions[wrong[0]], float(turns[wrong[0]])
        raise ModelError(
            f"modulo= says that {q} and {q} + {length:.6g} are the same state of '{run.system.name}', but {differing[wrong[0]]}"
            f" differ there: give the length after which everything repeats (2π for an angle), or leave {q} out"
        )
    for i in map(int, free):
        if difference := _first_change(run, states, {i: float(size[i]) * rng.uniform(0.5, 3.0)}, rounding, rows=False):
            q = run.system.positions[i]
            raise ModelError(f"free= names {q}, but {difference} of '{run.system.name}' depend on it: {q} has to return too")


def _first_change(run: Run, states: Sampled, shift: dict[int, float], rounding: Array, rows: bool) -> str:
    """What changes with a shift of some coordinates; empty if nothing."""
    for t, y in states:
        shifted = y.copy()
        shifted[list(shift)] += list(shift.values())
        try:
            values, shifted_values = _quantities_at(run, t, y, rounding, rows), _quantities_at(run, t, shifted, rounding, rows)
        except AppellError:
            continue  # no motion starts at such a state
        for name, (value, least) in values.items():
            other_value, _ = shifted_values[name]
            if (np.isfinite(value) != np.isfinite(other_value)).any():
                return name
            finite = np.isfinite(value)
            if (np.abs(value - other_value)[finite] > least[finite]).any():
                return name
    return ""


def _quantities_at(run: Run, t: float, z: Array, rounding: Array, rows: bool) -> dict[str, tuple[Array, Array]]:
    """What a motion depends on at a state, each with the differences that count as none."""
    nq, form, p = run.form.nq, run.form, run.p_at(t)
    q, v, weights = z[:nq], z[nq:], kinetic_weights(run, t, z)
    names: list[str] = ["qd", "g", "g_scale", *(("f0", "f0_scale", "f1", "f1_scale") if rows else ())]
    terms: dict[str, Any] = {name: np.ravel(value) for name, value in form.select(*names)(t, q, v, p).items()}
    a = run.acceleration(t, q, v)[0]
    allowed = lambda value, weight: SAME_BEHIND_TURN * alike(np.nan_to_num(np.abs(value)), weight)
    order = np.argsort(terms["g"])
    quantities = {
        "the accelerations": (a, allowed(a, weights[nq:]) + rounding),
        "the rates of coordinates": (terms["qd"], allowed(terms["qd"], weights[:nq])),
        "the distances from walls": (terms["g"][order], SAME_BEHIND_TURN * terms["g_scale"][order]),
    }
    if rows:
        sizes = np.concatenate([terms["f0_scale"], terms["f1_scale"]])
        quantities["the constraints"] = np.concatenate([terms["f0"], terms["f1"]]), SAME_BEHIND_TURN * sizes
    for reset in run.system.resets:
        slopes = reset_slopes(form, run.system, reset)(t, q, v, p)
        size = np.abs(np.ravel(slopes["g_x"])[1 : 1 + len(z)]) @ np.abs(z)
        quantities[f"the values of the guard of reset '{reset.name}'"] = (
            np.ravel(slopes["g"]),
            np.array([SAME_BEHIND_TURN * size]),
        )
    return quantities


__all__ = ["refuse_unless_turns"]
