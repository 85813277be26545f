"""Many runs of one system, sampled once per period: initial states and parameters are rows of arrays, in compiled code.

A run stays in compiled code as long as it meets only impacts; one that lands or meets a corner is repeated with all its modes.
The work of forces is not integrated, so that it does not shorten the steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import FormNotApplicable, SingularConfiguration, Status
from appell.graph.fn import Fn
from appell.loop.in_c import CLoop, LoopCall
from appell.loop.methods.taylor import SERIES
from appell.loop.task import MOST_STEPS, Loop, Task
from appell.model import System
from appell.model.breaks import breaks_of
from appell.model.sides import sided
from appell.normal_form.flow import Flow, flow
from appell.remember import kept_in
from appell.simulate.loop.prepare import flight_loop, plain_loop, prepare

Array = NDArray[np.float64]

EVENTS_BETWEEN_LOOKS = 4096
"""Most events between two checks of their memory."""
SERIES_FROM = 20_000
"""Total number of periods from which Taylor series are worth compiling, for systems of at most `SERIES_SIZE` operations."""
SERIES_SIZE = 400


class Advanced(NamedTuple):
    """Each of n runs after some periods: the last states, (n, keep, nz), NaN if it ended before; status; events."""

    states: Array
    status: NDArray[np.intc]
    events: NDArray[np.int64]


def fitting_method(run: Run, periods: int) -> str:
    """ "taylor" for small smooth systems and much work, else "dop853"."""
    if run.backend != "c" or periods < SERIES_FROM or _one_by_one(run.system):
        return "dop853"
    motion = flow(run.form, run.policies, work=False)
    if not isinstance(motion.rhs, Fn) or motion.rhs.operations > SERIES_SIZE:
        return "dop853"
    known = kept_in(motion, "fitting method")
    if "name" not in known:
        known["name"] = "taylor" if _has_series(motion) else "dop853"
    return known["name"]


def _has_series(motion: Flow) -> bool:
    """Whether the Taylor method applies to a flow."""
    try:
        SERIES["taylor"].fitted(motion).functions(motion)
    except FormNotApplicable:
        return False
    return True


def _forces_jump(system: System) -> bool:
    """Whether forces jump with positions, at surfaces that are located."""
    sides = sided(system)
    return sides is not None and sides.jumps


def _one_by_one(system: System) -> bool:
    """Whether each run is made by itself, because of modes, maps, stops or sides."""
    return bool(system.frictions or system.resets or breaks_of(system)) or _forces_jump(system)


def _bare_loop(run: Run, method: str) -> Loop:
    """The loop of free flight without the work of forces."""
    if run.system.unilateral:
        return flight_loop(run, method, work=False)[1]
    return plain_loop(run, flow(run.form, run.policies, work=False), method)


class RunBatch:
    """The loop over many runs.

    Parameters
    ----------
    rtol, atol, method, corner, max_steps: as those of `ap.simulate`; max_steps of one call.
    """

    def __init__(
        self, run: Run, *, rtol: float, atol: float, method: str = "dop853", corner: str = "raise", max_steps: int = MOST_STEPS
    ):  # fmt: skip
        run = replace(run, fold=())  # each run has parameters of its own
        self.run, self.method, self.corner = run, method, corner
        self.nz = run.form.nq + run.form.nv
        self.task = Task(
            t0=0.0, z0=np.zeros(self.nz), t_end=1.0, p=run.p, rtol=rtol, atol=atol, max_steps=max_steps, keep_steps=False
        )
        loop = None if _one_by_one(run.system) else _bare_loop(run, method)
        self.call = LoopCall(loop, self.task, self.task.trace()) if isinstance(loop, CLoop) else None
        if self.call is not None:
            self.call.give_room(EVENTS_BETWEEN_LOOKS)

    def advance(
        self, t: Array, z: Array, p: Array, period: Array, count: int, keep: int = 1, h: Array | None = None
    ) -> Advanced:
        """Advances each run by `count` periods, and keeps the states at the ends of the last `keep` of them.

        t (n,), z (n, nz), h (n,) (sizes of the next steps, 0: unknown) are updated in place to the current state of the runs;
        p: (n, np); period: (n,), s.
        """
        n, keep = len(z), min(keep, count)
        states = np.full((n, keep, self.nz), np.nan)
        status, events = np.full(n, Status.SWITCH, dtype=np.intc), np.zeros(n, dtype=np.int64)
        h = np.zeros(n) if h is None else h
        if self.call is not None and n:
            self._compiled(t, z, np.ascontiguousarray(p), np.ascontiguousarray(period), count, keep, h, states, status, events)
        for k in np.flatnonzero(status == Status.SWITCH):
            states[k], status[k], events[k] = self._with_modes(int(k), t, z, p[k], float(period[k]), count, keep)
        return Advanced(states, status, events)

    def _compiled(
        self,
        t: Array,
        z: Array,
        p: Array,
        period: Array,
        count: int,
        keep: int,
        h: Array,
        states: Array,
        status: Any,
        events: Any,
    ) -> None:
        call: Any = self.call
        ffi, reals = call.loop.ffi, call.pointer
        call.loop.lib.appell_many(
            call.struct, len(z), count, keep, p.shape[1], reals(t), reals(z), reals(p), reals(period), reals(h),
            reals(np.zeros(keep)), reals(states), ffi.from_buffer("int[]", status), ffi.from_buffer("int64_t[]", events),
        )  # fmt: skip

    def _with_modes(
        self, k: int, t: Array, z: Array, p: Array, period: float, count: int, keep: int
    ) -> tuple[Array, Status, int]:  # fmt: skip
        """One run with all its modes."""
        names = self.run.system.parameters
        run = replace(self.run, p=p, parameters=dict(zip(names, map(float, p), strict=True)))
        motion, loop = prepare(run, None, self.method, self.corner)
        times = t[k] + np.arange(count - keep + 1, count + 1) * period
        task = replace(
            self.task, t0=float(t[k]), t_end=float(times[-1]), p=p, times=times,
            z0=np.concatenate([z[k], np.zeros(motion.nz - self.nz)]), atol=float(self.task.atol[0]),  # type: ignore[index]
        )  # fmt: skip
        trace = task.trace()
        try:
            for _ in loop.run(task, trace):
                pass
        except SingularConfiguration:
            trace.status = Status.CORNER
        states = np.full((keep, self.nz), np.nan)
        states[: trace.passed] = trace.z_times[:, : self.nz]
        t[k], z[k] = trace.t, trace.z[: self.nz]
        return states, trace.status, len(trace.events)


__all__ = ["Advanced", "RunBatch", "fitting_method"]
