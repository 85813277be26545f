"""`simulate`: from an initial state to a `Motion`, for every kind of system."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import backend_named
from appell.compiled.compiling import unjudged
from appell.compiled.run import Run
from appell.errors import AS_ASKED, BackendUnavailable, ModelError
from appell.loop.in_c import CLoop
from appell.loop.in_python import PyLoop
from appell.loop.methods.method_table import methods
from appell.loop.methods.stiff import STIFF
from appell.loop.task import DEFAULT_ATOL, DEFAULT_RTOL, MOST_STEPS, Loop
from appell.model import System
from appell.model.autonomous import is_autonomous, is_timeless, origin_for
from appell.model.described import system_of
from appell.model.given_units import given_in_si, in_seconds
from appell.model.jumps import dry_friction
from appell.model.placed import placed
from appell.model.prescription import settled
from appell.model.stops import read_stops
from appell.model.values import as_table
from appell.motion.motion import Motion
from appell.reading import name_in
from appell.reductions.course import lowered
from appell.reductions.following import doubt_of, missed_tolerance, reduced_values
from appell.simulate.arguments import (
    checked_progress,
    count,
    fixed,
    in_order,
    known_option,
    method_for,
    number,
    positive,
    pseudo_velocities,
    relative,
    times_between,
    tolerance,
    within_budget,
)
from appell.simulate.control.control_values import Control, Reader
from appell.simulate.control.sampled import SampledLoop
from appell.simulate.driven_run import driven
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.keeping import Keeping, KeepLoop, read_keeping
from appell.simulate.loop.prepare import CORNERS, plain_loop
from appell.simulate.loop.stiffness import AutoLoop
from appell.simulate.motion_of_trace import motion_of
from appell.simulate.progress import reporter
from appell.simulate.run_request import RunRequest
from appell.simulate.second_run import unconfirmed
from appell.simulate.start import read
from appell.simulate.started_run import StartedRun, started_run
from appell.spelling import checked_keywords
from appell.tree import Tree

Array = NDArray[np.float64]


@checked_keywords(fixed_step="step")
def simulate(
    system: System | Tree | Run,
    start: Mapping[Any, Any] | None = None,
    until: float = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    rtol: float = DEFAULT_RTOL,
    atol: float = DEFAULT_ATOL,
    method: str = "auto",
    since: float = 0.0,
    times: ArrayLike | None = None,
    control: Control | None = None,
    rate: float | None = None,
    pseudo: Mapping[str, Any] | None = None,
    progress: bool | Callable[[float], None] = False,
    backend: str = "auto",
    max_step: float = np.inf,
    max_steps: int = MOST_STEPS,
    step: float | None = None,
    corner: str = "raise",
    fold: bool = False,
    stop: Any = None,
    keep: Any = None,
) -> Motion:
    """Integrates the equations of motion, q̇ = N v + n0, v̇ = a(t, q, v), under the constraints.

    After each accepted step, and at each requested time, the state is projected onto the constraints in the kinetic metric.

    Parameters
    ----------
    system: a `System`, a `Tree` as it stands (`tree.system()`), or what `ap.compile` made of it (then without parameters and
        backend).
    start: coordinate or velocity → value, SI or a pint quantity; values not named are 0. A start that violates a constraint by
        rounding is projected; one that is further off raises `ConstraintError`.
    until, since: end and beginning, s, or a pint quantity. A run may go backwards in time.
    parameters: symbol → value, SI or a pint quantity; for a prescribed function an expression in t, a table (times, values) or
        a function of t. Dimensions of quantities are checked against the system.
    rtol, atol: tolerances of the step control; atol one number, or one for each coordinate and velocity, (nq + nv,).
    method: "dop853" (order 8), "dopri5" (order 5), "taylor" (series of order 16, for small analytic systems), "radau"
        (stiff systems: implicit, order 5, with constraints, walls and friction), "conserving" (with step=: order 4;
        "conserving2" and "conserving6" of orders 2 and 6; energy and constraints to rounding however long the run), "cvodes" or
        "idas" (stiff, smooth), or "auto": explicit, and radau as soon as a smooth system turns out to be stiff, with a note.
    times: times to return, (k,), s; the steps themselves by default.
    control: (t, q (nq,), v (nv,)) → {input: value}: a function that reads the state at t_k = since + k/rate and returns values
        of inputs: parameters that occur in forces, by symbol or name, the same ones each time. They are held until the next
        reading; `motion[u]` contains them.
    rate: readings of the control per second, Hz.
    pseudo: name → expression in the velocities: integrate the minimal state (q, π) instead of (q, v).
    progress: True for a bar, or a function of the time reached.
    max_step, max_steps: limits of the step control.
    step: fixed steps of this size, s, without error control (an impact cuts a step short); for studies of convergence.
    corner: what happens where two unilateral constraints that are not orthogonal in the kinetic metric are hit at one instant:
        "raise" (`SingularConfiguration`, which carries the motion until then), or impacts in the order of the constraints,
        "first" or "last" first, or one impact on all of them, "together", with ḟ⁺ >= −e ḟ⁻ on each (a block that falls flat).
        If every order has the same result (angle π/n with e = 1, two walls in one place), no rule is needed.
    fold: whether the values of the parameters are compiled in, see `ap.compile`.
    stop: an expression in t, coordinates, velocities and parameters, or {name: expression}: the run ends at the first zero of
        any of them, in either direction, or in one direction with `ap.rising(…)`, `ap.falling(…)`. Interval bounds find the
        zeros, as they find impacts, so none is missed between steps. If a velocity jumps over zero, or a distance reaches
        zero, in an impact, the run ends after the impact; likewise after a reset. An expression that is zero at the start,
        touches zero smoothly or vanishes throughout does not end it.
    keep: for a long run: k (every k-th step), {name: ap.reduce.…} (values in `motion.reduced`; only the first and the last step
        are stored), a folder to which these are written during the run, or several of these, (folder, k). An interrupted run
        resumes from its folder when the same call is made again. Impacts, contacts and resets are always stored. Not with
        times= or control=.

    Returns
    -------
    `Motion`. If `stop` ended it, its status is STOPPED, it is `ok`, and its `message` names the condition. A run that cannot be
    finished returns the motion so far, with `motion.status` and a warning. If a control raises, or its result cannot be used,
    `SimulationError` is raised, which carries the motion until then.
    """
    system = system if isinstance(system, Run) else system_of(system, "ap.simulate", also=" or what ap.compile returns")
    in_order(start, until, "ap.simulate")
    start, parameters, units = given_in_si(system.system if isinstance(system, Run) else system, start, parameters)
    until, since, max_step, step, times = (
        in_seconds(value, name)
        for name, value in (("until", until), ("since", since), ("max_step", max_step), ("step", step), ("times", times))
    )
    t0, t1 = number(since, "since"), number(until, "until")
    if isinstance(system, System):
        system, parameters = settled(system, parameters, (t0, t1))
        system = placed(system, start, parameters)
    model = settled(system.system, None, (t0, t1))[0] if isinstance(system, Run) else system
    known_option(method, methods(), "method")
    known_option(corner, CORNERS, "corner")
    chosen = method_for(method, rtol := relative(rtol))
    request = RunRequest(
        t0=t0, t_end=t1, method=chosen, rtol=rtol, atol=tolerance(atol), step=fixed(step, chosen), corner=corner,
        max_step=positive(max_step, "max_step"), max_steps=count(max_steps, "max_steps"),
        times=None if times is None else times_between(times, t0, t1),
        stops=read_stops(model, stop), pseudo=pseudo_velocities(pseudo),
    )  # fmt: skip
    bar = reporter(checked_progress(progress), t0, t1)
    q, v = read(model, {} if start is None else start)
    reader = None if control is None and rate is None else Reader(model, control, rate)
    run = _ready_run(system, parameters, backend, {} if reader is None else reader.first_values(t0, q.copy(), v.copy()), fold)
    if not backend_named(run.backend).steps:
        raise BackendUnavailable(f"backend='{run.backend}' runs many motions at once: use ap.simulate_many")
    started = started_run(run, request, q, v)
    keeping = read_keeping(keep)
    if keeping is not None:
        _refuse_keeping(request, reader)
        _refuse_reductions(keeping, started)
    plain = _is_plain(started.loop) and reader is None and not request.stops
    automatic = method == "auto" and step is None
    if automatic and plain:
        started = replace(started, loop=_watching_stiffness(started))
    within_budget(request.step, t1 - t0, request.max_steps)
    clock = time.perf_counter()
    origin = 0.0 if reader is not None else _origin(model, request, keeping)
    watched = started.stopping(started.loop)
    if keeping is not None:
        settings = () if plain else (model, request.stops, corner)
        watched = KeepLoop(
            watched, keeping, started.run, started.flow, request.method, started.loop, settings, legs=bool(request.stops)
        )
    trace = driven(_controlled(reader, watched, started), started.task, bar, dry_friction(model.forces), origin)
    seconds = time.perf_counter() - clock
    doubts = unconfirmed(started, trace, origin) if reader is None else []  # a control must not be called twice
    if keeping is not None and trace.status in AS_ASKED:
        unresolved = missed_tolerance(trace.reduced, keeping.reductions, request.rtol, float(np.min(started.task.atol)))
        doubts += [doubt_of(unresolved)] if unresolved else []
    motion = motion_of(started, trace, seconds=seconds, doubts=doubts, stiffness_unwatched=automatic and not plain)
    if keeping is not None and keeping.reductions:
        motion = replace(motion, reduced=reduced_values(trace.reduced, keeping.reductions, trace.t - t0, origin))
    return replace(motion, units=units) if units else motion


def _origin(model: System, request: RunRequest, keeping: Keeping | None) -> float:
    """The time from which the loop counts, s: near the start if nothing depends on time, so that no digits are lost."""
    expressions = [*(request.pseudo or {}).values(), *(stop.expression for stop in request.stops.values())]
    timeless = is_timeless([*expressions, *(keeping.expressions if keeping else ())]) and is_autonomous(model)
    return origin_for(request.t0, [request.t_end - request.t0]) if timeless else 0.0


def _is_plain(loop: Loop) -> bool:
    """Whether a loop has neither modes nor breaks."""
    return isinstance(loop.loop if isinstance(loop, RankedLoop) else loop, CLoop | PyLoop)


def _refuse_keeping(request: RunRequest, reader: Reader | None) -> None:
    """Refuses combinations that keep= does not support."""
    if request.times is not None:
        raise ModelError("keep= says which steps are kept, times= which states are returned: give one of them")
    if reader is not None:
        raise ModelError("keep= cannot be combined with control=, whose memory is not stored: give times=")
    if request.method in STIFF:
        raise ModelError(
            f"keep= cannot be combined with '{request.method}', whose steps are not stored: use 'radau', or give times="
        )


def _refuse_reductions(keeping: Keeping, started: StartedRun) -> None:
    """Refuses reductions that cannot be computed."""
    if keeping.reductions and started.request.pseudo:
        raise ModelError("keep={name: ap.reduce.…} cannot be combined with pseudo=: omit pseudo=, or keep steps")
    for expression in keeping.expressions:
        lowered(started.run, expression)  # refuses what it cannot read


def _watching_stiffness(started: StartedRun) -> AutoLoop:
    """The loop that switches to an implicit method where the system is stiff."""

    def implicit() -> Loop:
        radau = plain_loop(started.run, started.flow, "radau")
        return RankedLoop(radau, started.run.form, started.flow, started.sizes) if started.guarded else radau

    return AutoLoop(started.loop, implicit, started.flow)


def _ready_run(
    system: System | Run, parameters: Mapping[Any, Any] | None, backend: str, inputs: Mapping[Any, float], fold: bool
) -> Run:
    """The system with its parameters, and with the inputs that a control returns at the start, which are never folded."""
    if isinstance(system, System):
        table = as_table(system.parameters, parameters)
        names = {name_in(key) for key in table}
        twice = [str(key) for key in inputs if str(key) in names]
        if twice:
            raise ModelError(f"parameter '{twice[0]}' is given by parameters= and by the control; give it in one place")
        return _with_inputs(unjudged(system, {**table, **inputs}, backend, fold=fold), inputs)
    if parameters is not None:
        raise ModelError("this system was compiled with its parameters; compile it again to change them")
    if fold:
        raise ModelError("this system was compiled; fold= belongs to ap.compile")
    if not inputs:
        return system
    values = {**system.parameters, **inputs}
    p = np.array([values[s] for s in system.system.parameters], dtype=float)
    return _with_inputs(replace(system, parameters=values, p=p), inputs)


def _with_inputs(run: Run, inputs: Mapping[Any, float]) -> Run:
    """The run with the inputs excluded from folding."""
    names = {str(key) for key in inputs}
    free = {i for i, s in enumerate(run.system.parameters) if str(s) in names}
    return replace(run, fold=tuple(i for i in run.fold if i not in free)) if free else run


def _controlled(reader: Reader | None, loop: Loop, started: StartedRun) -> Loop:
    """The loop with the control applied, if one is given."""
    return loop if reader is None else SampledLoop(loop, started.run, started.flow, reader)


__all__ = ["simulate"]
