"""`method="auto"` on a system that turns out to be stiff: explicit steps until only stability limits their size.

An explicit method damps a mode e^{λt} only while h|λ| stays below some number, so a mode that has long decayed may limit all
steps. If a run has far to go, the eigenvalues of ∂f/∂z at its state are examined; if a damped mode limits the steps, the
implicit method takes over, and a note says so. Examinations happen after fixed numbers of steps, so that a repeated run is the
same. A run with walls, friction, resets, stops or a control is examined after its end (`stiff_note`): it keeps its explicit
steps, and the note says what would be faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.backends import backend_named
from appell.compiled.run import Run
from appell.errors import AppellError, Status
from appell.graph.fn import Fn
from appell.loop.methods.radau import jacobian_of
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace
from appell.normal_form.flow import Flow, flow
from appell.normal_form.slopes import flow_slopes
from appell.notes import Note

Array = NDArray[np.float64]

STEPS_BEFORE_LOOK = 1000
"""Steps before the first examination, and the factor (`LOOKS_GROW_BY`) to the next one."""
WORTH_A_LOOK = 20_000
"""Fewest remaining steps for an examination, which takes from milliseconds to a second, to be worth its time."""
STABILITY_LIMITS = 2.0
"""h|Re λ| above which stability limits the steps: explicit pairs hover between 3 (order 5) and 6 (order 8)."""
DAMPED_SHARE = 0.5
"""Smallest −Re λ as a fraction of |λ|: an undamped fast oscillation must be resolved by any method."""
LOOKS_GROW_BY = 4
NEVER_STABLE = 30.0
"""h|Re λ| above which no explicit method is stable: such a mode is suppressed by a contact or by friction."""
STEPS_WORTH_A_NOTE = 3000
"""Fewest steps of a finished run for it to be examined; shorter runs are not worth a note."""
STATES_LOOKED_AT = 7
"""Number of states of a finished run that are examined; a damped mode must limit the steps at most of them."""
EIGENVALUE_ENTRIES = 200
"""Largest state for which eigenvalues are computed."""


@dataclass(frozen=True, eq=False)
class AutoLoop:
    """`Loop` that uses `explicit`, and switches to the loop from `implicit()` where a damped mode limits the steps."""

    explicit: Loop
    implicit: Callable[[], Loop]
    flow: Flow

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`."""
        trace = trace or task.trace()
        trace.next_look = trace.next_look or STEPS_BEFORE_LOOK
        while not trace.implicit:
            leg = task.adjusted(max_steps=min(trace.next_look, task.max_steps))
            for _ in self.explicit.run(leg, trace):
                if trace.status is not Status.MAX_STEPS or leg.max_steps == task.max_steps:
                    yield trace
            if trace.status is not Status.MAX_STEPS or leg.max_steps == task.max_steps:
                return
            trace.next_look *= LOOKS_GROW_BY
            if held_back := self._held_back(task, trace):
                trace.notes.append(_note(trace, held_back))
                trace.implicit, trace.next_step = True, None
        yield from self.implicit().run(task, trace)

    def _held_back(self, task: Task, trace: Trace) -> float:
        """−Re λ of the damped mode that limits the steps, 1/s; 0 if none does."""
        worth_examining = trace.next_step is not None and abs(task.t_end - trace.t) > WORTH_A_LOOK * trace.next_step
        if not worth_examining or trace.next_step is None:
            return 0.0
        fastest = fastest_decay(self.flow, trace.t, trace.z.copy(), task.p)
        return fastest if fastest * trace.next_step > STABILITY_LIMITS else 0.0


def fastest_decay(of: Flow, t: float, z: Array, p: Array) -> float:
    """−Re λ of the fastest damped mode of ∂f/∂z of a flow, 1/s; 0 if there is none, or it cannot be computed."""
    slopes = flow_slopes(of) if of.nz <= EIGENVALUE_ENTRIES else None
    if slopes is None:
        return 0.0
    vm = backend_named("vm")

    def evaluator(fn: Fn) -> Callable[..., dict[str, Array]]:
        single, names = vm.load(fn).single, [port.name for port in fn.outputs]
        return lambda *arrays: dict(zip(names, single(*arrays), strict=True))

    with np.errstate(all="ignore"):
        J = jacobian_of(slopes, evaluator)(t, z, p)
    if not np.isfinite(J).all():
        return 0.0
    values = np.linalg.eigvals(J)
    damped = -values.real[-values.real > DAMPED_SHARE * np.abs(values)]
    return float(damped.max(initial=0.0))


def stiff_note(run: Run, task: Task, trace: Trace, t: Array, q: Array, v: Array) -> Note | None:
    """A note about a finished run, from its states t (k,), q (k, nq), v (k, nv); None if there is nothing to say.

    It says whether a damped mode of the system in free flight, without dry friction, has limited most of its steps.
    """
    if trace.statistics.accepted < STEPS_WORTH_A_NOTE or run.form.gauss:
        return None
    flight = flow(run.numeric_form, run.policies, work=False)
    sizes, mean = np.abs(np.diff(t)), abs(trace.t - task.t0) / trace.statistics.accepted
    all_steps = len(t) > trace.statistics.accepted  # otherwise they are requested times, or every k-th step
    limited = []
    for k in np.linspace(0, len(t) - 1, STATES_LOOKED_AT + 2).astype(int)[1:-1]:
        sizes_nearby = sizes[max(0, k - STATES_LOOKED_AT) : k + STATES_LOOKED_AT]
        h = float(np.median(sizes_nearby[sizes_nearby > 0])) if all_steps and (sizes_nearby > 0).any() else mean
        try:
            rate = fastest_decay(flight, float(t[k]), np.concatenate([q[k], v[k]]), run.p_at(float(t[k])))
        except AppellError:  # a state at which free flight is not determined
            continue
        if STABILITY_LIMITS < rate * h < NEVER_STABLE:
            limited.append((h, rate))
    if len(limited) <= STATES_LOOKED_AT / 2:
        return None
    h, rate = np.median(limited, axis=0)
    return Note(
        f"the system is stiff: steps were held at about {h:.1e} s by a mode that decays in {1 / rate:.1e} s;"
        " method='radau' takes longer ones",
        kind="stiff",
    )


def _note(trace: Trace, held_back: float) -> Note:
    t = trace.t + trace.origin
    return Note(
        f"the system is stiff: from t = {t:.6g} s on method='radau' takes the steps (an explicit one would be held at"
        f" {trace.next_step:.1e} s by a mode that decays in {1 / held_back:.1e} s)",
        time=t,
        kind="stiff",
    )


__all__ = ["AutoLoop", "stiff_note"]
