"""The derivative of a motion through a reset.

    g(t*, z⁻, p) = 0,  z⁺ = R(t*, z⁻, p):        δt* = −(g_z δz + g_p δp)/ġ⁻
    δz⁺ = R_z δz⁻ + R_p δp + (R_z f⁻ + R_t − f⁺) δt*                                  (saltation; f± the flow before and after)

A reset that is triggered by the map of another happens at the same t*: its map follows, R₂ ∘ R₁.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.tangency import Approach, touches
from appell.compiled.run import Run
from appell.simulate.loop.reset_maps import ResetState, reset_slopes

Array = NDArray[np.float64]

RESETS_TOGETHER = 1e-9
"""The guard of a second reset is zero at the instant of the first below this fraction of its terms."""
ON_CONTACT = 1e-7
"""A map may miss the faces in contact after it by this fraction of their terms."""

Flow = Callable[[float, Array], Array]
"""(t, z) → ż."""


class NoSlope(Exception):
    """A reset has no derivative; the text says why."""


class MapSlopes(NamedTuple):
    """Derivatives of the composed maps of one instant: R_z (nz, nz), R_t (nz,), R_p (nz, np)."""

    z: Array
    t: Array
    p: Array


def reset_saltation(
    run: Run, states: Sequence[ResetState], p: Array, Phi: Array, Pi: Array, flows: tuple[Flow, Flow], approach: Approach
) -> tuple[Array, Array]:  # fmt: skip
    """Φ after the resets of one instant, (nz, columns), and δt*, (columns,).

    Pi: ∂p/∂(columns); flows: before the first and after the last; approach: the motion before.
    """
    first, t, nz = states[0], states[0].time, len(states[0].before)
    name = run.system.resets[first.number].name
    slopes = _slopes(run, first, p)
    g_x = slopes["g_x"][0]
    f_before, f_after = flows[0](t, first.before), flows[1](t, states[-1].after)
    terms = np.concatenate([[g_x[0]], g_x[1 : 1 + nz] * f_before])
    rate = float(terms.sum())
    if touches(rate, _guard_along(run, first, p, approach), approach):
        raise NoSlope(f"the guard of reset '{name}' only touches zero at t = {t:.6g}: there is no derivative")
    R = _composed(run, states, p)
    dt = -(g_x[1 : 1 + nz] @ Phi + g_x[1 + nz :] @ Pi) / rate
    return np.asarray(R.z @ Phi + R.p @ Pi + np.outer(R.z @ f_before + R.t - f_after, dt), float), dt


def _guard_along(run: Run, state: ResetState, p: Array, approach: Approach) -> Array:
    """The guard along the motion before a reset, (k,)."""
    nq, fn = run.form.nq, reset_slopes(run.form, run.system, run.system.resets[state.number])
    return np.array([float(fn(t, z[:nq].copy(), z[nq:].copy(), p)["g"]) for t, z in zip(approach.t, approach.z, strict=True)])


def _slopes(run: Run, state: ResetState, p: Array) -> Any:
    nq = run.form.nq
    fn = reset_slopes(run.form, run.system, run.system.resets[state.number])
    return fn(state.time, state.before[:nq].copy(), state.before[nq:].copy(), p)


def _composed(run: Run, states: Sequence[ResetState], p: Array) -> MapSlopes:
    """The derivatives of the composed map R_k ∘ … ∘ R_1."""
    nz = len(states[0].before)
    composed = MapSlopes(np.eye(nz), np.zeros(nz), np.zeros((nz, len(p))))
    for k, state in enumerate(states):
        slopes = _slopes(run, state, p)
        if k:
            _refuse_together(run, state, slopes, states[0])
        R_t, R_z, R_p = slopes["R_x"][:, 0], slopes["R_x"][:, 1 : 1 + nz], slopes["R_x"][:, 1 + nz :]
        composed = MapSlopes(R_z @ composed.z, R_z @ composed.t + R_t, R_z @ composed.p + R_p)
    return composed


def _refuse_together(run: Run, state: ResetState, slopes: Any, first: ResetState) -> None:
    """Raises if two guards vanish at one instant, since neighbouring motions have either order."""
    x = np.concatenate([[state.time], state.before])
    if abs(float(slopes["g"])) > RESETS_TOGETHER * float(np.abs(slopes["g_x"][0][: len(x)] * x).sum()):
        return
    names = [run.system.resets[reset_state.number].name for reset_state in (first, state)]
    raise NoSlope(f"resets '{names[0]}' and '{names[1]}' coincide at t = {state.time:.6g}: the derivative is not unique")


__all__ = ["ON_CONTACT", "NoSlope", "reset_saltation"]
