"""`simulate_many`: one model, many motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import choose_backend, silence, warn
from appell.compiled.compiling import unjudged
from appell.compiled.run import Run
from appell.ensembles.energy_doubts import doubt_energies
from appell.ensembles.ensemble_result import Results, dataset, doubted, with_units
from appell.ensembles.input_tables import placed_tables, read_tables, with_first
from appell.ensembles.inputs import Inputs, none_usable, read_inputs, refused_starts
from appell.ensembles.kept import refuse_names
from appell.ensembles.lane_program import HANDED
from appell.ensembles.lanes import Ensemble, doubtful_ranks, why_not
from appell.ensembles.memory import refuse_too_large
from appell.ensembles.motions import Motions
from appell.ensembles.on_gpu import OnGpu
from appell.ensembles.order import Order
from appell.ensembles.order_reading import method_of_least_time, read_order, span, thread_count
from appell.ensembles.pool import drive
from appell.ensembles.single import Halted, make, message_of
from appell.ensembles.stability import refuse_unstable
from appell.errors import STATUS_TEXT, AppellError, ModelError, StartsRefused, Status
from appell.loop.task import MOST_STEPS
from appell.model import System
from appell.model.autonomous import is_autonomous, is_timeless, origin_for
from appell.model.described import system_of
from appell.model.given_units import given_in_si, in_seconds
from appell.model.placed import placed
from appell.model.prescription import settled
from appell.model.sides import refuse_ridges
from appell.model.stops import read_stops
from appell.model.values import finite
from appell.reading import as_array, refuse_large, shown
from appell.reductions.course import lowered
from appell.reductions.following import doubt_of
from appell.reductions.kinds import parts_of
from appell.simulate.arguments import in_order, known_option, within_budget
from appell.simulate.loop.prepare import CORNERS
from appell.simulate.progress import Reporter, reporter
from appell.spelling import checked_keywords
from appell.tree import Tree

Array = NDArray[np.float64]
GPU = "cuda"


@checked_keywords(starts="start", fixed_step="step")
def simulate_many(
    system: System | Tree | Run,
    start: Mapping[Any, Any] | Array | None = None,
    until: ArrayLike = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    method: str = "auto",
    since: float = 0.0,
    keep: Any = "final",
    product: bool = False,
    backend: str = "auto",
    inputs: Mapping[Any, Any] | None = None,
    rate: float | None = None,
    dtype: Any = np.float64,
    threads: int | None = None,
    progress: bool | Callable[[float], None] = False,
    max_step: float = np.inf,
    max_steps: int = MOST_STEPS,
    corner: str = "raise",
    fold: bool = False,
    stop: Any = None,
) -> Motions:
    """Integrates the equations of motion for many initial states and parameter values.

        q̇ = N v + n0,    v̇ = a(t, q, v; p_k),    (q, v)(since) = start k,    k = 0 … runs − 1

    Smooth systems run in vector lanes: the whole time loop is compiled, each lane integrates one run with its own step and
    error control, and starts the next run when one has ended. Constraints are projected, quaternions kept unit and impacts
    located as in `simulate`. Systems that lanes do not support (friction, redundant rows, methods for stiff systems;
    `motions.attrs["path"]` gives the reason), and runs that come to rest on a wall, to a corner or near a loss of rank, use the
    loops of `simulate`, one run at a time in each thread: the same result, but slower.

    Parameters
    ----------
    system: a `System`, a `Tree` as it stands, or what `ap.compile` made (then without parameters and backend).
    start: coordinate or velocity → value or array (runs,); values not named are 0. Or all states as an array, (runs, nq + nv).
    until, since: end, one or (runs,), and beginning, s.
    parameters: symbol → value or array (runs,); for a prescribed function an expression in t, a table (times, values) or a
        function of t, the same for all runs.
    step: a fixed step, s, without error control; or
    rtol, atol: tolerances of the step control, 1e-9 and 1e-12 by default.
    method: "rk4" (order 4, with `step` only, and its default; runs that are made one by one take the same steps by dop853, and
        `motions.attrs["method"]` says so), "dopri8" (order 8, the default with `rtol` if only final states are kept and there
        are no walls), "dop853" (order 8, the default if states inside steps are needed), "dopri5", "taylor" (small analytic
        systems, walls), or another method of `simulate`, one run at a time in each thread: "radau" for stiff systems,
        "conserving" with `step` for long runs.
    keep: "final" (states at the end); k (every k-th step); times (k,) or (runs, k); {name: `ap.reduce.…`}; or
        `ap.reduce.section(…)`, the points of a Poincaré section.
    inputs: input → values (runs, steps), or (steps,) for all runs: parameters that occur in forces or potentials. Run i holds
        U[i, k] from since + k/rate to since + (k + 1)/rate, exactly: no step crosses a sample. `simulate` does the same with
        `parameters={u: ap.sampled(times, U[i], hold="zero")}`.
    rate: samples of the inputs per second, Hz.
    product: every combination of the arrays in start and parameters; the last one varies fastest (`ap.outer`).
    dtype: float64, or float32 with a fixed step: half the time, seven digits.
    threads: all cores by default; results do not depend on it.
    progress: True for a bar, or a function of the number of finished runs.
    max_step, max_steps, corner: as in `simulate`.
    stop: an expression, or {name: expression}; each run ends at the first zero, as in `simulate`. `motions["t"]` is the time at
        which it ended, and `motions["message"]` says by which. Such runs are made one by one.
    fold: whether parameters with one value for all runs are compiled in, see `ap.compile`.

    Returns
    -------
    `Motions`: `.ok`, `.message`, `.plot()`, and `.dataset`, an `xarray.Dataset` with the dimension `run` (and `t`, `sample` or
    `point`): a variable for each coordinate and velocity, named as in `motion.dataset` (x, x_d; attribute `symbol`), or for
    each reduction; `status` (`ap.Status` as an integer) and `message` of each run; and, as coordinates, the parameters and
    initial values that vary. A failed run has its last good state, and NaN at times that it did not reach. If a run with fixed
    steps did not conserve energy, its message says so. After Ctrl-C the finished runs are returned; the others have the status
    CANCELLED.
    """
    if not isinstance(product, bool | np.bool_):
        raise ModelError(f"product= is True or False, not {shown(product)}; ap.outer makes combinations of some arrays alone")
    known_option(corner, CORNERS, "corner")
    in_order(start, until, "ap.simulate_many")
    start, parameters, units = given_in_si(system, start, parameters)
    until, since, step, max_step = (
        in_seconds(value, name) for name, value in (("until", until), ("since", since), ("step", step), ("max_step", max_step))
    )
    gpu = backend == GPU or (isinstance(system, Run) and system.backend == GPU)
    times = span(since, until)
    tables = read_tables(inputs, rate, finite(since, "since="), times)
    if tables is not None and product:
        raise ModelError("inputs= cannot be combined with product=True: repeat the rows of the inputs, one for each run")
    run, all_parameters = _first_run(system, start, parameters, _host_backend(backend), fold, times, tables and tables[0])
    model = run.system
    starts, run = _all_inputs(run, start, all_parameters, product, tables, finite(since, "since="))
    run = replace(run, fold=tuple(i for i in run.fold if str(model.parameters[i]) not in starts.varied_parameters))
    if method == "auto":
        method = method_of_least_time(model, step, rtol, keep if stop is None else None)
    order = read_order(starts, until, step, rtol, atol, method, since, keep, dtype, max_step, max_steps, corner, gpu)
    order = replace(order, stops=read_stops(model, stop))
    refuse_names(order.kept, model)
    refuse_ridges(model)
    parts = (part for reduction in order.kept.all_reductions for part in parts_of(reduction))
    for part in (part for part in parts if part.expression is not None):
        lowered(run, part.expression)  # refuses what cannot be evaluated
    within_budget(order.step, float(np.abs(order.ends - order.t0).max()), order.max_steps)
    refuse_too_large(starts, order, model.nq + model.nv)
    threads = min(thread_count(threads), starts.runs)
    clock = perf_counter()
    run = replace(run, p=starts.p_of(0), parameters=dict(zip(model.parameters, map(float, starts.p_of(0)), strict=True)))
    results = Results(starts.runs, order, model.nq + model.nv)
    refused = refused_starts(run, order.t0, starts, order.atol)
    for k, reason in refused.items():
        results.status[k], results.t[k] = Status.REFUSED, order.t0
        results.set_message(k, reason)
        results.z[k] = np.concatenate([starts.q[k], starts.v[k]])
    todo = np.arange(starts.runs)
    if refused:
        todo = np.delete(todo, list(refused))
    if not len(todo):
        empty = Motions(with_units(dataset(run, starts, order, results, {"path": "none"}), model, units))
        raise StartsRefused(none_usable(model, refused), motions=empty)
    if order.step is not None:
        refuse_unstable(run, starts, order, todo)
    judged, counted = _with_ranks(run, starts, order, todo), _counted_from_origin(run, order)
    path, method = _make_runs(judged, starts, counted, results, todo, threads, reporter(progress, 0, starts.runs))
    results.on_the_clock(counted, order, todo)
    doubt_energies(run, starts, order, results, threads)
    _set_messages(results, order)
    facts = {"path": path, "method": method, "seconds": perf_counter() - clock, "threads": threads}
    if run.numeric_form is not run.form:
        facts["folded"] = ", ".join(str(model.parameters[i]) for i in run.fold)
    return Motions(with_units(dataset(run, starts, order, results, facts), model, units))


def _all_inputs(
    run: Run, start: Any, parameters: Any, product: bool, tables: tuple[dict[str, Array], Array] | None, since: float
) -> tuple[Inputs, Run]:
    """Initial states, parameters and sampled inputs of all runs; and the run with the inputs and records of the first one."""
    if tables is None:
        read = read_inputs(run.system, start, parameters, product=product)
        return replace(read, p=replace(run, p=read.p).p_at(since)), run
    sampled = placed_tables(run.system, *tables, run.schedule)
    read = read_inputs(
        run.system, start, parameters, product=product, runs=len(sampled.values) if len(sampled.values) > 1 else None
    )
    run = replace(run, schedule=sampled.of(0), fold=tuple(i for i in run.fold if i not in sampled.columns))
    return replace(read, p=replace(run, p=read.p).p_at(since), tables=sampled), run


def _counted_from_origin(run: Run, order: Order) -> Order:
    """The order with times counted from an origin that leaves enough digits, if neither model nor results depend on time."""
    origin = origin_for(order.t0, order.ends - order.t0)
    reduced = (part.expression for reduction in order.kept.all_reductions for part in parts_of(reduction))
    expressions = [*reduced, *(stop.expression for stop in order.stops.values())]
    timeless = run.schedule is None and is_autonomous(run.system)
    return order.counted_from(origin) if origin and is_timeless(expressions) and timeless else order


def _host_backend(backend: str) -> str:
    """The back end for the work that a GPU does not do, if a GPU was requested and there is one."""
    return "auto" if backend == GPU and choose_backend(GPU) else backend


def _first_run(
    system: System | Tree | Run, start: Any, parameters: Any, backend: str, fold: bool, times: tuple[float, float],
    sampled: Mapping[str, Array] | None,
) -> tuple[Run, Any]:  # fmt: skip
    """The model with the parameters of its first run and prescribed functions substituted; and the parameters of all runs.

    sampled: inputs whose values change during a run, represented by their first values.
    """
    first_inputs = {name: float(values.flat[0]) for name, values in (sampled or {}).items()}
    if isinstance(system, Run) and system.backend == GPU:
        system = replace(system, backend=choose_backend("auto").name)
    if isinstance(system, Run):
        if parameters is not None:
            raise ModelError("this system was compiled with its parameters; give the system itself to vary them")
        if fold:
            raise ModelError("this system was compiled; fold= belongs to ap.compile")
        settled(system.system, None, times)
        return system, system.parameters
    model = system_of(system, "ap.simulate_many", also=" or what ap.compile returns")
    if first_inputs:
        parameters = with_first(model, parameters, first_inputs)
    system, parameters = settled(model, parameters, times)
    system = placed(system, start, parameters)
    first_values = {key: _first(value) for key, value in parameters.items()} if isinstance(parameters, Mapping) else parameters
    return unjudged(system, first_values, backend, fold=fold), parameters


def _first(value: Any) -> Any:
    """The first of several values, or the value itself."""
    refuse_large(value, "the values of a parameter")
    array = as_array(value, "the values of a parameter")
    return array.flat[0] if array.size else value


def _with_ranks(run: Run, inputs: Inputs, order: Order, todo: NDArray[np.int64]) -> Run:
    """The run with the ranks of its rows, from the first initial state that determines them."""
    for k in todo[:10]:
        try:
            return replace(run, p=inputs.p_of(k)).started(order.t0, inputs.q[k], inputs.v[k])
        except AppellError:
            continue
    return run


def _make_runs(
    run: Run, inputs: Inputs, order: Order, results: Results, todo: NDArray[np.int64], threads: int, report: Reporter | None
) -> tuple[str, str]:
    """Makes all runs of `todo`, and returns a description of how they were made, and by which method."""
    reason = why_not(run, order)
    try:
        if reason is not None:
            _one_by_one(run, inputs, order, results, todo, threads, report, 0)
            return f"one by one: {reason}", order.method_alone
        doubtful = doubtful_ranks(run, order, inputs)
        chosen = todo[~doubtful[todo]] if doubtful.any() else todo
        ensemble = (OnGpu if order.gpu else Ensemble)(run, inputs, order, chosen, results)
        completed = drive(ensemble.work, 1 if order.gpu else threads, lambda: ensemble.done, ensemble.stop, report)
        _take_finished(ensemble, inputs, order, results)
        remaining = todo[doubtful[todo]] if doubtful.any() else todo[:0]
        if ensemble.status.any():  # not all of them OK
            remaining = np.union1d(np.flatnonzero(ensemble.handed_over), remaining)
        if completed and len(remaining):
            _one_by_one(run, inputs, order, results, remaining, threads, report, inputs.runs - len(remaining))
        path = GPU if order.gpu else "lanes"
        if not len(remaining):
            return path, order.method
        second_method = "" if order.method_alone == order.method else f", and {order.method_alone} one by one"
        return f"{path}, and {len(remaining)} runs one by one", order.method + second_method
    finally:
        if report is not None:
            report.end(int((results.status != Status.CANCELLED).sum()))


def _take_finished(ensemble: Ensemble, inputs: Inputs, order: Order, results: Results) -> None:
    """Copies the runs that the lanes have finished into the results."""
    n, status = results.z.shape[1], ensemble.status
    made, all_made = _runs_made(status)
    results.status[made] = status[made]
    if ensemble.z is not results.z:
        results.z[made], results.rows[made] = ensemble.z[made, :n], ensemble.rows[made, :, :n]
    if not all_made:  # clears what runs that were handed over left behind
        for array in (results.t, results.z, results.rows, results.row_times):
            array[status == HANDED] = np.nan
    for name, value in ensemble.reduced(order.kept, order.t0).items():
        results.values[name][made] = value[made]
    for k in map(int, np.flatnonzero(status) if all_made else np.flatnonzero(made & (status != Status.OK))):
        results.set_message(k, message_of(Status(int(status[k])), float(ensemble.t[k]), order.end_of(k), order))
    missed = ensemble.missed_tolerance(order)
    for k in np.flatnonzero(np.any([*missed.values()], axis=0) & (ensemble.status == Status.OK)) if missed else ():
        results.set_message(k, doubted(STATUS_TEXT[Status.OK], [doubt_of([name for name, runs in missed.items() if runs[k]])]))


def _runs_made(status: NDArray[np.int32]) -> tuple[Any, bool]:
    """The runs that the lanes have made, as an index, and whether these are all runs."""
    if not status.any():
        return slice(None), True
    made = (status != Status.CANCELLED) & (status != HANDED)
    return (slice(None), True) if made.all() else (made, False)


def _one_by_one(
    run: Run, inputs: Inputs, order: Order, results: Results, chosen: NDArray[np.int64], threads: int, report: Reporter | None,
    already: int,
) -> None:  # fmt: skip
    """Makes runs one by one, several at a time in threads."""
    numbers, counter, halt = count(), count(already), [False]
    progress = [already]

    def work() -> None:
        while not halt[0] and (i := next(numbers)) < len(chosen):
            k = int(chosen[i])
            try:
                single = make(run, inputs, order, k, lambda: halt[0])
            except Halted:
                return
            results.t[k], results.z[k] = single.t, single.z
            if single.message != STATUS_TEXT[Status.OK]:
                results.set_message(k, single.message)
            results.rows[k, : len(single.rows)] = single.rows
            results.row_times[k, : len(single.row_times)] = single.row_times
            for name, value in single.values.items():
                results.values[name][k] = value
            results.status[k] = single.status
            progress[0] = next(counter) + 1

    with silence():
        drive(work, threads, lambda: progress[0], lambda: halt.__setitem__(0, True), report)


def _set_messages(results: Results, order: Order) -> None:
    """Sets the messages of runs that were not made, and warns once if something went wrong."""
    if not results.status.any():  # all are OK
        return
    undone = results.status == Status.CANCELLED
    bad = results.status[~undone & ~results.as_requested]
    if undone.any():
        results.set_message(undone, message_of(Status.CANCELLED, 0, 0, order))
        warn(f"stopped: {int((~undone).sum())} of {len(undone)} runs are done, the others have the status CANCELLED")
    elif len(bad):
        kinds = ", ".join(f"{int((bad == s).sum())} {Status(int(s)).name}" for s in np.unique(bad))
        warn(f"{len(bad)} of {len(undone)} runs did not reach their end ({kinds}); see motions['message']")


__all__ = ["simulate_many"]
