"""Reasons to doubt a motion: an energy balance or constraint residuals far above what its tolerances explain.

    |H − H(0) − ∫P dt|  against  k (rtol E + atol (n 2T/|v| + n ΔV/|Δq|) + ε (|T| + |V|)),        k steps, n velocities
    |f| against the size of its terms: states are projected, so only rounding may remain
    −g of a face that is crossed, against rtol of its terms and atol, since impacts are located to rounding. Less than rtol of
    the largest terms of g so far is no reason either: near the origin there is no other scale

A factor of `DOUBTFUL` is granted; no system of the zoo needs more than 0.03 at tolerances from 1e-4 to 1e-13. Steps of fixed
size have no tolerance: their balance speaks against them from `FIXED_STEP_BALANCE` of the energies on, as where a
singularity was jumped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.motion.motion import Motion
from appell.normal_form.manifold import RESIDUAL_PARTS, relative, residuals_from

Array = NDArray[np.float64]

DOUBTFUL = 1e3
"""Factor above the errors explained by tolerances and rounding beyond which a motion is doubtful."""

FIXED_STEP_BALANCE = 0.1
"""Largest error of the energy balance with fixed steps, as a fraction of the energies."""

FACE_CROSSED = 30
"""Factor above rtol and atol by which a face may be crossed."""

STATES_JUDGED = 24
"""Number of states that are examined; distances from faces at `DISTANCES_JUDGED`."""

DISTANCES_JUDGED = 2000


def doubts_of(motion: Motion, *, fixed_step: bool) -> tuple[str, ...]:
    """Reasons to doubt a motion, as sentences; empty if it is as accurate as its tolerances promise."""
    if len(motion.t) == 0:
        return ()
    with np.errstate(all="ignore"):
        if motion.readings is not None:  # the time of a sample at a reading does not tell whether it precedes the reading
            return tuple(_balance(motion, fixed_step))
        crossed = [] if fixed_step else _crossed(motion)
        if len(motion.breaks) or motion.run.schedule is not None:  # so does one at a break, unless all samples there are seen
            return (*_balance(motion, fixed_step), *crossed, *_residual(motion))
        chosen = _spread(len(motion.t), STATES_JUDGED)
        if _surely_fine(motion, chosen, fixed_step):
            return tuple(crossed)
        sampled = replace(
            motion, t=motion.t[chosen], q=motion.q[chosen], v=motion.v[chosen], work=motion.work[chosen], origin=motion._origin
        )
        return (*_balance(sampled, fixed_step), *crossed, *_residual(sampled))


def _spread(count: int, limit: int) -> NDArray[np.intp]:
    """At most `most` indices from 0 to count − 1, the first and the last included."""
    return np.arange(count) if count <= limit else (np.arange(limit) * (count - 1)) // (limit - 1)


def _surely_fine(motion: Motion, chosen: NDArray[np.intp], fixed_step: bool) -> bool:
    """Whether balance and residuals at some samples are within lower bounds of the limits in `_balance` and `_residual`.

    Nearly every motion is, and the check costs only one evaluation of these samples and the origin.
    """
    form, count = motion.run.form, 1 + len(chosen)
    fn = form.select("T", "V", "H", *(RESIDUAL_PARTS[:4] if form.rows else ()))
    work = fn.borrow(1 + STATES_JUDGED)
    for memory, origin, samples in zip(work.inputs, motion._origin, (motion.t, motion.q, motion.v), strict=False):
        memory[0] = origin
        samples.take(chosen, 0, memory[1:count], mode="clip")  # "raise" would copy twice
    work.inputs[-1][:] = motion.run.p
    work.run()
    values = {port.name: memory[:count] for port, memory in zip(fn.outputs, work.outputs, strict=True)}
    fine = _within_bounds(values, motion, motion.work[chosen], fixed_step)
    fn.give_back(work, 1 + STATES_JUDGED)
    return fine


def _within_bounds(values: Mapping[str, Array], motion: Motion, work_done: Array, fixed_step: bool) -> bool:
    """`_surely_fine` from the outputs of the normal form at the origin and at the samples, and the work done until then."""
    rtol, steps = motion.tolerances["rtol"], max(10, motion.statistics.get("steps", 0))
    for f in ("f0", "f1"):
        if f in values and values[f].size:
            size = values[f"{f}_scale"][1:].max(axis=0)
            if not (np.abs(values[f][1:]) <= (1e-8 + DOUBTFUL * rtol) * size).all():
                return False
    T, V, H = values["T"], values["V"], values["H"]
    work = np.zeros(len(T))
    work[1:] = work_done
    scale = (np.abs(T) + np.abs(V - V[0]) + np.abs(work)).max()
    return bool((np.abs(H - H[0] - work) <= (FIXED_STEP_BALANCE if fixed_step else DOUBTFUL * steps * rtol) * scale).all())


def allowed_balance(motion: Motion) -> float:
    """The error of the energy balance that tolerances and rounding explain, J, without the factor."""
    rtol, atol, energies = motion.tolerances["rtol"], motion.tolerances["atol"], motion._energies
    T, V = np.abs(energies["T"]), energies["V"]
    speed, distance = np.abs(motion.v).max(initial=0.0), np.abs(motion.q - motion._origin.q).max(initial=0.0)
    # at rest under a load the distance is rounding, and so is the work of the load
    distance = distance or speed * float(np.ptp(motion.t))
    forces = np.ptp(V) + np.ptp(motion.work)
    momentum = 2 * T.max() / speed if speed > 0 else atol * _heaviest(motion)  # of a body that stays at rest, that of an error
    slopes = momentum + (forces / distance if distance > 0 else 0.0)
    rounding = np.finfo(float).eps * float((T + np.abs(V)).max())
    steps = max(10, motion.statistics.get("steps", 0) + len(motion.events))
    return steps * ((rtol + 1e-15) * motion.energy_scale + atol * motion.v.shape[1] * float(slopes) + rounding)


def _heaviest(motion: Motion) -> float:
    """The largest inertia at the origin, SI."""
    origin = motion._origin
    return float(motion.run.form.select("M")(origin.t, origin.q, origin.v, motion.run.p)["M"].diagonal().max(initial=0.0))


def _balance(motion: Motion, fixed_step: bool) -> list[str]:
    """A sentence if the energy balance is off by more than the tolerances explain."""
    size = np.abs(motion.balance)
    allowed = FIXED_STEP_BALANCE * motion.energy_scale if fixed_step else DOUBTFUL * allowed_balance(motion)
    if not size.max(initial=0.0) > allowed:
        return []
    fraction, since = size.max() / motion.energy_scale, motion.t[np.argmax(size > allowed)]
    off = f"{size.max():.1e} J, {fraction:.1e} of the energies, from t = {since:.6g} on"
    if fixed_step:
        return [f"the energy balance is off by {off}: the step is too long, or jumped a singularity. Shorten it, or use rtol="]
    return [
        f"the energy balance is off by {off}: far more than the tolerances explain. Tighten rtol=, or look for a singular"
        " configuration"
    ]


def _residual(motion: Motion) -> list[str]:
    """Violation of rows at the samples, relative to the largest size of their terms in any sample."""
    run = motion.run
    if not run.form.rows:
        return []
    blocks = motion._run_at().evaluate(motion.t, motion.q, motion.v, RESIDUAL_PARTS)
    missed = residuals_from(run.form, blocks, motion.q, motion.v)
    # a row at rest in which nothing is but rounding has no size of its own: atol says what counts as nothing there
    nothing = DOUBTFUL * motion.tolerances["atol"] * np.abs(blocks["A"]).sum(axis=-1).max(axis=0)
    rows = ((missed.f0, missed.f0_scale, run.form.levels == 0), (missed.f1, missed.f1_scale, run.form.levels < 2))
    levels = (relative(np.where(np.abs(f) > nothing[affected], f, 0.0), size.max(axis=0)) for f, size, affected in rows)
    worst = np.max([level.max(axis=-1, initial=0.0) for level in levels], axis=0)
    exceeded = ~(worst <= 1e-8 + DOUBTFUL * motion.tolerances["rtol"])
    if not exceeded.any():
        return []
    k = int(np.argmax(exceeded))
    return [
        f"the constraints are violated at t = {motion.t[k]:.6g} by {worst[k]:.1e} of the size of their terms: some that"
        " were taken for redundant are not, or contradict the others"
    ]


def _crossed(motion: Motion) -> list[str]:
    """Faces that the motion has penetrated."""
    if not motion.system.unilateral:
        return []
    chosen = _spread(len(motion.t), DISTANCES_JUDGED)
    t, q, v = motion.t[chosen], motion.q[chosen], motion.v[chosen]
    gaps = motion._run_at(here=chosen).evaluate(t, q, v, ("g", "g_scale"))
    g, allowed = gaps["g"], (motion.tolerances["rtol"] + 1e-13) * gaps["g_scale"]
    largest, worst, at_worst = allowed.max(axis=0) + 1e-300, 1.0, None
    for k in np.flatnonzero((-g > FACE_CROSSED * allowed).any(axis=1)):  # normals, (faces, nv) a state, there alone
        slope = np.abs(motion._run_at(here=chosen[[k]]).evaluate(t[[k]], q[[k]], v[[k]], ("g_v",))["g_v"][0]).sum(axis=-1)
        excess = -g[k] / np.maximum(FACE_CROSSED * (allowed[k] + motion.tolerances["atol"] * slope), largest)
        if excess.max() > worst:
            worst, at_worst = excess.max(), (k, int(np.argmax(excess)))
    if at_worst is None:
        return []
    k, face = at_worst
    name = motion.system.unilateral[face].name
    return [f"'{name}' is crossed by {-g[k, face]:.1e} at t = {t[k]:.6g}: more than the tolerances explain"]
