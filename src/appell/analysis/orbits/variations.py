"""Derivatives of a motion with respect to its start and parameters, through impacts and resets.

    Φ(t) = ∂z(t)/∂z(0),        Ψ(t) = ∂z(t)/∂p,        z = (q, v)

Between events both are integrated with the motion in the compiled loop (`normal_form.variation`). At an event on a face, g(t*,
z) = 0 and z⁺ = R(t*, z⁻), the time moves too, δt* = −(g_z δz + g_p δp)/ġ, and

    δz⁺ = R_z δz⁻ + R_p δp + (R_z f⁻ + R_t − f⁺) δt*                                   (saltation; f± the flow before and after)

A reset has the map that was given for R, and its guard for g (`reset_saltation`). An impact has R = (q, v + Δv); a landing
without restitution ends on the face, ġ⁺ = 0, and goes on in contact; so do infinitely many impacts (`chatter`); leaving a
face changes nothing, since accelerations are continuous there. A start may only vary along the constraints: Φ(0) projects onto
them in the kinetic metric, as `ap.consistent` does, and Ψ(0) follows constraints that contain p.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.orbits.fundamental_matrix import FundamentalMatrix
from appell.analysis.orbits.stick_slip import StickSlipMatrix
from appell.analysis.requests import simulated, state_names
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.ensembles.ensemble_result import FINISHED_BUT
from appell.errors import ModelError
from appell.jets import Parameter
from appell.model import System
from appell.model.measured import records_of
from appell.motion.motion import Motion
from appell.motion.result_frame import Result
from appell.reading import items_of, name_in
from appell.tree import Tree

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Variations(Result):
    """Φ = ∂z(t)/∂z(0) and Ψ = ∂z(t)/∂p along a motion, from `ap.variations`.

    Attributes
    ----------
    motion: the motion; t: (k,) times, s; an impact has two entries, before and after it.
    state: Φ, (k, nz, nz) with z = (q, v) in the order of `names`: state[i, a, b] = ∂z_a(t_i)/∂z_b(0), SI.
    parameters: Ψ, (k, nz, np) in the order of `parameter_names`.
    ok, message: whether the end of the motion was reached, and the motion has no doubts; if not, why.
    stuck: number of further directions of the start removed by sticking friction there.
    complete: whether the end was reached, by a doubtful motion too; if not, the arrays end before it.
    """

    motion: Motion
    t: Array
    state: Array
    parameters: Array
    names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    ok: bool = True
    message: str = ""
    stuck: int = 0
    complete: bool = True

    @property
    def monodromy(self) -> Array:
        """Φ at the end, (nz, nz)."""
        if not len(self.state):
            raise ModelError(f"there is no derivative of '{self.motion.name}' to show: {self.message}")
        return self.state[-1]

    @property
    def system(self) -> System:  # type: ignore[override]
        """The system that moves."""
        return self.motion.system

    def variables(self) -> Mapping[str, Any]:
        """`state` over (t, of, by), `parameters` over (t, of, parameter)."""
        return {
            "state": (("t", "of", "by"), self.state, {"units": "SI", "long_name": "derivative by the start"}),
            "parameters": (("t", "of", "parameter"), self.parameters, {"units": "SI", "long_name": "by parameters"}),
        }

    def coords(self) -> Mapping[str, Any]:
        t = ("t", self.t, {"units": "s", "long_name": "time"})
        return {"t": t, "of": list(self.names), "by": list(self.names), "parameter": list(self.parameter_names)}

    def plot(self, ax: Any = None) -> Any:
        """Plots the singular values of Φ over time, on a logarithmic scale; returns the figure."""
        return delegate("Variations.plot")(self, ax)

    def __str__(self) -> str:
        return f"variations of '{self.motion.name}' at {len(self.t)} times" + (f"; {self.message}" if not self.ok else "")


def variations(
    motion: Motion | System | Tree | Run,
    start: Mapping[Any, Any] | None = None,
    until: float = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    by: Iterable[Any] | None = None,
    times: ArrayLike | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **options: Any,
) -> Variations:
    """The fundamental matrix ∂z(t)/∂z(0) and ∂z(t)/∂p along a motion, through impacts, contact, release, sticking,
    slipping and resets.

    Parameters
    ----------
    motion: a `Motion`, or a system with `start`, `until`, `parameters` and other options of `ap.simulate`.
    by: the parameters by which to differentiate, symbols or names; all of them by default.
    times: times to return, (k,), s; those of the motion by default.
    rtol, atol: tolerances of the variations; those of the motion by default.

    Where a derivative does not exist (grazing, infinitely many impacts without a smooth limit, simultaneous impacts on several
    faces, slips that come to rest together, a slip that begins at rest, whose neighbours slide to either side), or is not
    implemented (impacts with friction, two-dimensional slips that begin or end), the result ends there and `message` says why.
    """
    if not isinstance(motion, Motion):
        tolerances = {} if rtol is None else {"rtol": rtol}
        tolerances |= {} if atol is None else {"atol": atol}
        motion = simulated(motion, start, until, parameters, **tolerances, **options)
    elif start is not None or parameters is not None or options:
        raise ModelError("a Motion has its start and parameters; variations(motion) takes by=, times=, rtol=, atol= only")
    if motion.readings is not None:
        raise ModelError("variations of a motion under sampled control are not taken: how the control answers is not known")
    if records := records_of(motion.system.parameters):
        raise ModelError(
            f"variations do not follow the measured record '{records[0].name}' of {motion.name}: write it as an expression in"
            " ap.t, a Piecewise or a Fourier series, or take differences of two motions"
        )
    if motion.sampler is None and (len(motion.impacts) or motion.resets):
        raise ModelError("this motion cannot be continued between its samples; simulate it again to take its variations")
    numbers, system = _chosen(motion, by), motion.system
    matrix = StickSlipMatrix if system.frictions else FundamentalMatrix
    walk = matrix(_with_steps(motion), numbers, motion.t if times is None else times, rtol, atol)
    matrices, message = walk.run()
    doubt = FINISHED_BUT + motion.doubts[0] if motion.doubts else ""
    return Variations(
        motion, walk.t[: len(matrices)], matrices[:, :, : walk.nz], matrices[:, :, walk.nz :],
        state_names(system),
        tuple(str(system.parameters[i]) for i in numbers), not (message or doubt), message or doubt or "complete", walk.stuck,
        not message,
    )  # fmt: skip


def _with_steps(motion: Motion) -> Motion:
    """The same motion with both sides of every impact among its samples; rerun if only requested times were kept."""
    event_times = [event.time for event in motion.impacts if event.kind == "impact"] + [event.time for event in motion.resets]
    if all(np.sum(motion.t == time) > 1 for time in event_times):
        return motion
    sampler: Any = motion.sampler
    task, (pseudo, method, corner), begin = sampler.task, sampler.how, motion.origin
    symbols = (*motion.system.positions, *motion.system.velocities)
    assert begin is not None
    start = dict(zip(symbols, map(float, (*begin.q, *begin.v)), strict=True))
    return simulated(
        motion.run, start, task.t_end, since=task.t0, rtol=task.rtol, atol=motion.tolerances["atol"], method=method,
        pseudo=pseudo, corner=corner, max_step=task.max_step, max_steps=task.max_steps, step=task.fixed_step,
    )  # fmt: skip


def _chosen(motion: Motion, by: Iterable[Any] | None) -> tuple[int, ...]:
    names = [str(p) for p in motion.system.parameters]
    if by is None:
        return tuple(range(len(names)))
    requested = [name_in(p) for p in ([by] if isinstance(by, str | Parameter) else items_of(by, "by="))]
    unknown = [name for name in requested if name not in names]
    if unknown:
        raise ModelError(f"by= names {unknown[0]}, which is no parameter of {motion.name}; it has {', '.join(names) or 'none'}")
    return tuple(names.index(name) for name in requested)


__all__ = ["Variations", "variations"]
