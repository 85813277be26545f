"""SUNDIALS through CasADi: CVODES for ż = f(t, z, p), IDAS for ż = f(t, z, y, p), 0 = g(t, z, y, p).

CasADi's integrators share the memory of their linear solver between calls: two threads in one integrator corrupt the heap. Here
each call has its own integrator, borrowed from the idle ones. A call makes a bounded number of steps, and no signal
handler runs inside it (CasADi would take its exception for a failure of the right-hand side and drop it): Ctrl-C is handled
between two calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.graph.fn import Fn
from appell.remember import remembered

Array = NDArray[np.float64]


COUNTED = ("nfevals", "nsteps", "netfails")

FIRST_TIMES = (1e-3, 1e-6, 1.0)
"""Fractions of an interval over which IDAS computes consistent initial values, tried in turn. With the whole interval this
fails for a pendulum that swings through it; with too small a fraction rounding dominates."""

STEPS_PER_CALL, FEWEST_STEPS = 2000, 100
"""Largest and smallest limits of steps per call; a restart costs about 50."""
STEP_OPERATIONS = 10_000_000
"""Operations of the right-hand side in all steps of one call, about a third of a second with ten evaluations per step."""
LISTEN = 0.05
"""Seconds between two checks of a call by the main thread: on some systems Ctrl-C does not end a wait."""

_making = Lock()


class SundialsResult(NamedTuple):
    """z at the end of the call, status (BUFFER_FULL: too few steps, z is unchanged), evaluations, steps, rejected steps."""

    z: Array
    status: Status
    work: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Stiff:
    """Integrates over [t0, t1] mapped to [0, 1]: one compiled problem serves every interval. Threads may share it."""

    make: Callable[[], tuple[ca.Function, ...]]  # the same integrator with other initializations, tried in turn
    steps: int  # largest number per call
    idle: list[tuple[ca.Function, ...]] = field(default_factory=list)

    def __call__(self, t0: float, t1: float, z: Array, y: Array, p: Array) -> SundialsResult:
        """z at t1 from z at t0 with the algebraic unknowns y at t0; or the status of a failure."""
        try:
            integrators = self.idle.pop()  # atomic: never shared by two threads
        except IndexError:
            with _making:
                integrators = self.make()
        arguments = {"x0": z, "z0": y, "p": np.concatenate([p, [t0, t1]])}
        result = _uninterrupted(lambda: _integrated(integrators, arguments, self.steps))
        self.idle.append(integrators)  # not after an exception: the call may still be running
        return result


def _integrated(integrators: tuple[ca.Function, ...], arguments: dict[str, Any], most: int) -> SundialsResult:
    for integrator in integrators:
        try:
            out = integrator(**arguments)
        except RuntimeError as failure:  # CasADi's statistics are those of the last success
            if "TOO_MUCH_WORK" in str(failure):
                return SundialsResult(arguments["x0"], Status.BUFFER_FULL, (most, most, 0))
            continue
        statistics = integrator.stats()
        evaluations, steps, rejected = (int(statistics[name]) for name in COUNTED)
        z = np.array(out["xf"]).ravel()
        status = Status.OK if np.isfinite(z).all() else Status.NOT_FINITE
        return SundialsResult(z, status, (evaluations, steps, rejected))
    return SundialsResult(arguments["x0"], Status.STEP_TOO_SMALL, (0, 0, 0))


def _uninterrupted(call: Callable[[], SundialsResult]) -> SundialsResult:
    """The result of a call that no signal handler can interrupt: handlers run in the main thread, which waits meanwhile."""
    if current_thread() is not main_thread():
        return call()
    results: list[SundialsResult] = []
    failures: list[BaseException] = []
    done = Lock()  # not an Event: an interrupt inside its wait could leave its lock in any state
    done.acquire()

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            failures.append(error)
        finally:
            done.release()

    Thread(target=work, name="appell stiff", daemon=True).start()
    while not done.acquire(timeout=LISTEN):
        pass
    if failures:
        raise failures[0]
    return results[0]


@remembered
def make_stiff(fn: Fn, method: str, rtol: float, atol: float, max_steps: int) -> Stiff:
    """`fn` maps (t, z, p) → zd, … for "cvodes" and (t, z, p, y) → zd, residual for "idas"."""
    steps = int(np.clip(STEP_OPERATIONS // max(1, fn.operations), FEWEST_STEPS, STEPS_PER_CALL))
    steps = max(1, min(steps, max_steps))
    return Stiff(lambda: _integrators(fn, method, rtol, atol, steps), steps)


def _integrators(fn: Fn, method: str, rtol: float, atol: float, steps: int) -> tuple[ca.Function, ...]:
    ports = {port.name: port for port in fn.inputs}
    z, p, s = ca.SX.sym("z", ports["z"].size), ca.SX.sym("p", ports["p"].size), ca.SX.sym("s")
    interval = ca.SX.sym("ends", 2)
    t, span = interval[0] + s * (interval[1] - interval[0]), interval[1] - interval[0]
    problem = {"x": z, "t": s, "p": ca.vertcat(p, interval)}
    if method == "idas":
        y = ca.SX.sym("y", ports["y"].size)
        zd, residual = fn.function(t, z, p, y)
        problem.update({"z": y, "ode": span * zd, "alg": residual})
    else:
        problem["ode"] = span * fn.function(t, z, p)[0]
    options = {"reltol": rtol, "abstol": atol, "max_num_steps": steps, "show_eval_warnings": False}
    options["disable_internal_warnings"] = True  # SUNDIALS would print
    if method == "idas":
        # IDAS computes consistent ẋ, y to a fraction of the tolerances; for an unknown near 0 that must not be below rounding
        options |= {"calc_ic": True, "suppress_algebraic": True, "abstol": max(atol, 0.1 * rtol)}
    initializations = [{"first_time": time} for time in FIRST_TIMES] if method == "idas" else [{}]
    return tuple(
        ca.integrator("stiff", method, problem, 0, 1, {**options, **initialization}) for initialization in initializations
    )
