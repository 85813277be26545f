"""Whole time loops in compiled vector lanes: which systems can use them, and one ensemble that does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import backend_named
from appell.backends.calls.vectors import lanes_here
from appell.compiled.branching import TimeBranches, branches_of
from appell.compiled.run import Run
from appell.ensembles.ensemble_result import Results
from appell.ensembles.inputs import Inputs
from appell.ensembles.kept import Kept
from appell.ensembles.lane_program import CDEF, GUARDED_ROW_DISTANCE, HANDED, Stops, Watch, guarded_flow, many_source
from appell.ensembles.methods import fixed_methods, lane_method
from appell.ensembles.order import Order
from appell.ensembles.walls import no_walls, wall_functions
from appell.errors import Status
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, depends, substitute, symbols, take
from appell.graph.ranges import WITH_SIZES, ranges
from appell.loop.methods.taylor import SERIES
from appell.model.hidden_jumps import jumps_in
from appell.model.jumps import dry_friction
from appell.model.sides import kink_functions, sided
from appell.modes.contact_thresholds import GAP_FLOOR
from appell.normal_form.flow import Flow, FlowState, flow, inputs_of
from appell.normal_form.next_break import next_break
from appell.reductions.kinds import ACCUMULATORS, ReductionPart, finished, parts_of
from appell.remember import kept_in

Array = NDArray[np.float64]

GROUP_UP_TO = 12
"""Largest state for which two vectors of runs advance together, so that one computes while the other waits (1.3 times faster
with one link; with larger states the slopes of both no longer fit into the nearest cache)."""


def why_not(run: Run, order: Order) -> str | None:
    """None if the runs of a system can use lanes, otherwise the reason why they are made one by one."""
    if not order.gpu and backend_named(run.backend).program is None:
        return f"backend={run.backend!r} compiles no time loops"
    if order.stops:
        return "runs are ended by stop="
    if run.system.unilateral and (order.ends < order.t0).any():
        return "the system has unilateral constraints and time runs backwards"
    if not order.digits_suffice:
        return "single precision has too few digits for the times of these steps"
    if run.system.resets:
        return "the system has resets"
    if run.system.frictions:
        return "the system has friction"
    if run.form.law is not None or run.form.face_law is not None:
        return "forces contain multipliers"
    if run.form.gauss:
        return "a constraint is nonlinear in the accelerations"
    if (sides := sided(run.system)) is not None and sides.jumps:
        return f"forces jump where {sides.surfaces[0].text} = 0"
    if hidden := jumps_in(run.system):
        return f"{hidden[0].subject} jumps where {hidden[0].surface} = 0"
    if jump := dry_friction(run.system.forces):
        return f"forces jump: {jump}"
    if order.method not in fixed_methods() and (order.method not in SERIES or order.gpu or run.form.rows):
        return f"method={order.method!r} has no lanes"
    if run.system.unilateral and (reason := no_walls(run)):
        return reason
    if (branches := branches_of(run)) is not None and (reason := _jump_in_time(branches, order)):
        return reason
    motion = lanes_flow(run, order)
    if not isinstance(motion.rhs, Fn) or not all(x is None or isinstance(x, Fn) for x in (motion.position, motion.velocity)):
        return "the accelerations are not written out (more than 16 velocities and constraints, or redundant ones)"
    return None


def _jump_in_time(branches: TimeBranches, order: Order) -> str | None:
    """The jump or kink in time that lanes cannot handle, if there is one."""
    if branches.breaks.located:
        return f"a branch is decided by {branches.breaks.located[0]}, whose zeros are looked for"
    if branches.depends("g", "f0", "f1"):
        return "a constraint jumps or bends with time"
    balance = any(part.accumulator == "energy" for reduction in order.kept.all_reductions for part in parts_of(reduction))
    return "the potential jumps with time" if balance and branches.depends("V") else None


def stops_of(branches: TimeBranches | None, order: Order) -> Stops | None:
    """The breaks at which lanes stop."""
    if branches is None:
        return None
    timed = branches.breaks.phases or branches.breaks.knots
    columns = branches.schedule.columns if branches.schedule is not None else ()
    return Stops(next_break(branches.run.form, branches.breaks, order.scalar) if timed else None, branches.index, columns)


def lanes_flow(run: Run, order: Order) -> Flow:
    """The flow that the lanes integrate; it includes the work of forces only if the energy balance needs it."""
    balance = any(part.accumulator == "energy" for reduction in order.kept.all_reductions for part in parts_of(reduction))
    walls = True if run.system.unilateral else None  # impacts do work
    return flow(run.numeric_form, run.policies, work=walls if balance else False)


def bends_of(run: Run, motion: Flow) -> Fn | None:
    """(t, z, p) → c, which change sign where a force has a kink; None if none has."""
    if not (surfaces := kink_functions(run.system)):
        return None
    state = FlowState.full(run.form, motion.has_work)
    values = run.form.lowered_values({f"c{k}": c for k, c in enumerate(surfaces)}, run.system).values()
    return make_fn("bends", dict(inputs_of(run.form, state)), {"c": (column(*values), (len(surfaces),))})


def watch_of(run: Run, motion: Flow, kept: Kept) -> Watch | None:
    """The expressions that the reductions of an ensemble need."""
    parts = [part for reduction in kept.all_reductions for part in parts_of(reduction)]
    if not parts:
        return None
    state = FlowState.full(run.form, motion.has_work)
    follow, ends = _Expressions(run, motion, state), _Expressions(run, motion, state)
    texts: dict[str, list[str]] = {name: [] for name in ("begin", "held", "update", "each", "jump")}
    conditions, r = [], 0
    for part in parts:
        accumulator = ACCUMULATORS[part.accumulator]
        fields = {"r": r, "e": (follow if accumulator.followed else ends).first_number(part), "way": part.way}
        for k, value in enumerate(accumulator.begin):
            text = f"s->value[{r + k}] = lanes_select(fresh, {value.format(**fields)}, s->value[{r + k}]);"
            texts["begin"].append(text)
        if accumulator.followed:
            texts["held"].append(f"const I held{r} = {accumulator.held.format(**fields)};")
            conditions.append(f"(held{r} | s->nowhere[{fields['e']}])")
            texts["update"].append(accumulator.doubt.format(**fields, lanes=f"done & ~held{r}"))
        for name in ("update", "each", "jump"):
            texts[name].append(getattr(accumulator, name).format(**fields))
        r += len(accumulator.begin)
    texts["held"].append(f"const I fine = {' & '.join(conditions)};")
    slopes = follow.slopes or ends.slopes
    written = {name: "\n".join(f"        {line}" for line in lines if line) for name, lines in texts.items()}
    follow_fn = follow.fn("follow", slopes)
    return Watch(
        follow=follow_fn, ranges=ranges(follow_fn, ("p",), WITH_SIZES) if follow_fn else None, ends=ends.fn("ends", slopes),
        slopes=slopes, count=r, **written,
    )  # fmt: skip


class _Expressions:
    """The graph expressions that parts of reductions need, each once, in the state of the flow and its slope."""

    def __init__(self, run: Run, motion: Flow, state: FlowState):
        self.run, self.motion, self.state = run, motion, state
        self.first_numbers: dict[Any, int] = {}
        self.values: list[Value] = []
        self.size, self.slopes = 0, False

    def first_number(self, part: ReductionPart) -> int:
        """The index of the first number of a part."""
        key = part.accumulator if part.expression is None else part.expression
        if key not in self.first_numbers:
            self.first_numbers[key] = self.size
            self.values.append(self._observed(part))
            self.size += ACCUMULATORS[part.accumulator].width
        return self.first_numbers[key]

    def _observed(self, part: ReductionPart) -> Value:
        """The graph expression of a part; energies for one without an expression."""
        form = self.run.form
        if part.expression is None:
            work = self.state.w if self.motion.has_work else Value(0)
            return column(form["H"] - work, form["T"], form["V"], work)[: ACCUMULATORS[part.accumulator].width]
        value = form.lowered_values({"e": part.expression}, self.run.system)["e"]
        self.slopes |= depends(value, form.inputs["a"])
        return value

    def fn(self, name: str, slopes: bool) -> Fn | None:
        """(t, z, p[, zd]) → g; None if there are no expressions."""
        if not self.size:
            return None
        form, g = self.run.form, column(*self.values)
        inputs = dict(inputs_of(form, self.state))
        if slopes:
            zd = symbols("zd", self.state.size)
            g = substitute(g, [form.inputs["a"]], [take(zd, range(form.nq, form.nq + form.nv))])
            inputs["zd"] = (zd, (self.state.size,))
        return make_fn(name, inputs, {"g": (g, (self.size,))})


class Ensemble:
    """The C struct of all runs, pointing to the memory of their results; every thread calls `work` once."""

    counts = False  # whether steps and rejections of each run are counted; results do not contain them

    def __init__(self, run: Run, inputs: Inputs, order: Order, chosen: NDArray[np.int64], results: Results):
        self.branches = branches_of(run)
        if self.branches is not None:
            run, inputs = self.branches.run, replace(inputs, p=self.branches.parameters(inputs.p, order.t0))
        self.motion, self.origin = lanes_flow(run, order), order.origin
        self.watch = watch_of(run, self.motion, order.kept)
        self.library = self.load(run, order)
        self.pointed_to: list[Any] = []  # arrays that the struct points to
        runs, nz = inputs.runs, self.motion.nz
        z0 = inputs.states
        if z0.shape[1] < nz:
            z0 = np.hstack([z0, np.zeros((runs, nz - z0.shape[1]))])
        direct = nz == results.z.shape[1]  # the lanes can then write directly into the results
        self.t, self.z = results.t, results.z if direct else np.empty((runs, nz))
        self.status = np.full(runs, int(Status.CANCELLED), np.int32)
        self.values = np.zeros((runs, self.watch.count if self.watch else 0))
        self.steps, self.rejected = (np.zeros(runs if self.counts else 0, np.int64) for _ in range(2))
        self.rows = results.rows if direct else np.full((*results.rows.shape[:2], nz), np.nan)
        self.row_times = results.row_times
        self.struct = self._struct(inputs, order, chosen, z0)
        self._put_schedule(inputs)

    def _struct(self, inputs: Inputs, order: Order, chosen: NDArray[np.int64], z0: Array) -> Any:
        """The C struct of the runs `chosen`, whose states are z0 (runs, nz)."""
        job, kept = self.library.ffi.new("appell_many *"), order.kept
        self.all_runs = len(chosen) == inputs.runs
        job.n, job.z0 = len(chosen), self._pointer(z0)
        if not self.all_runs:
            job.order = self._pointer(chosen, "int64_t[]")
        job.p, job.p_stride = self._pointer(inputs.p), inputs.p.shape[1] if inputs.p.ndim == 2 else 0
        job.t0, job.t_end, job.end_stride = order.t0, self._pointer(order.ends), int(len(order.ends) > 1)
        job.rtol, job.h_max = (order.rtol, order.max_step) if order.step is None else (0.0, order.step)
        job.atol, job.max_steps = self._pointer(np.full(self.motion.nz, order.atol)), order.max_steps
        if kept.times is not None:
            job.times, job.n_times = self._pointer(kept.times), kept.times.shape[-1]
            job.times_stride = job.n_times if kept.times.ndim == 2 else 0
            job.z_times = self._pointer(self.rows)
        if kept.section is not None:
            job.n_points, job.skip = kept.section.count, kept.section.skip
            job.points, job.point_times = self._pointer(self.rows), self._pointer(self.row_times)
        for name in ("z", "t", "values"):
            setattr(job, name, self._pointer(getattr(self, name)))
        for name in ("steps", "rejected") if self.counts else ():
            setattr(job, name, self._pointer(getattr(self, name), "int64_t[]"))
        job.floor = GAP_FLOOR * order.atol
        job.status = self._pointer(self.status, "int32_t[]")
        return job

    def _put_schedule(self, inputs: Inputs) -> None:
        """Sets the knots, and the values of parameters between them, if there are any."""
        if self.branches is None or self.branches.schedule is None:
            return
        job, schedule = self.struct, self.branches.schedule
        job.knots, job.n_knots = self._pointer(schedule.knots), len(schedule.knots)
        rows = schedule.rows if inputs.tables is None else inputs.tables.rows
        job.rows, job.rows_stride = self._pointer(rows), rows[0].size if rows.ndim == 3 and len(rows) > 1 else 0

    def load(self, run: Run, order: Order) -> Any:
        """The library, with `ffi` for the struct and the compiled loop in `lib`."""
        return _library(run, self.motion, order, self.watch, stops_of(self.branches, order))

    def _pointer(self, array: NDArray[Any], kind: str = "double[]") -> Any:
        """A pointer to an array, which is kept alive; kind: of its C type."""
        array = np.ascontiguousarray(array, np.float64 if kind == "double[]" else None)
        self.pointed_to.append(array)
        return self.library.ffi.from_buffer(kind, array)

    def work(self) -> None:
        """Makes runs in this thread until none is left."""
        if self.library.lib.appell_many_run(self.struct):
            raise MemoryError("no memory for the lanes of one thread")

    def stop(self) -> None:
        self.struct.stop = 1

    @property
    def done(self) -> int:
        return self.struct.done

    @property
    def handed_over(self) -> NDArray[np.bool_]:
        """(runs,) whether each was handed over, to be made by itself."""
        return self.status == HANDED

    def reduced(self, kept: Kept, since: float) -> dict[str, Array]:
        """The results of the reductions by name, (runs,); since: when the runs began, s."""
        results, r = dict[str, Array](), 0
        for name, reduction in kept.reductions.items():
            part_results = list[Array]()
            for part in parts_of(reduction):
                accumulator = ACCUMULATORS[part.accumulator]
                with np.errstate(all="ignore"):
                    part_results.append(
                        accumulator.result(self.values[:, r : r + len(accumulator.begin)]) + self.origin * accumulator.is_time
                    )
                r += len(accumulator.begin)
            with np.errstate(all="ignore"):  # runs not made yet have undefined values
                results[name] = finished(reduction, part_results, self.t - since)
        return results

    def missed_tolerance(self, order: Order) -> dict[str, NDArray[np.bool_]]:
        """Name of a reduction → the runs in which it missed the tolerance, (runs,)."""
        missed, r = dict[str, NDArray[np.bool_]](), 0
        for name, reduction in order.kept.named.items():
            missed[name] = np.zeros(len(self.values), dtype=bool)
            for part in parts_of(reduction):
                accumulator = ACCUMULATORS[part.accumulator]
                if accumulator.followed:
                    missed[name] |= accumulator.lost(
                        self.values[:, r : r + len(accumulator.begin)], part.way, order.rtol, order.atol
                    )
                r += len(accumulator.begin)
        return missed


def _library(run: Run, motion: Flow, order: Order, watch: Watch | None, breaks: Stops | None) -> Any:
    """The compiled loop, built once for a flow, a method and the results to keep."""
    libraries = kept_in(motion, "lanes")
    key = (run.backend, order.method, order.scalar, watch and watch.key, breaks and breaks.columns)
    if key not in libraries:
        groups = 2 if motion.nz <= GROUP_UP_TO else 1
        lanes = lanes_here(order.scalar)
        method = lane_method(order.method).fitted(motion)
        walls = wall_functions(run, motion)
        source = many_source(
            motion, method, watch, walls, breaks, bends_of(run, motion), lanes=lanes, groups=groups, scalar=order.scalar
        )
        program = backend_named(run.backend).program
        assert program is not None
        libraries[key] = program(source, CDEF, optimise="loop")
    return libraries[key]


def doubtful_ranks(run: Run, order: Order, inputs: Inputs) -> NDArray[np.bool_]:
    """(runs,) initial states whose rows are much closer to a loss of rank than those of the others."""
    motion = lanes_flow(run, order)
    if motion.guarded is None:
        return np.zeros(inputs.runs, dtype=bool)
    fn = guarded_flow(motion)
    z = np.hstack([inputs.q, inputs.v, np.zeros((inputs.runs, int(motion.has_work)))])
    pivots = run._evaluate(fn, [np.full(inputs.runs, order.t0), z, inputs.p])["pivots"]
    with np.errstate(all="ignore"):
        return np.asarray(~(pivots >= GUARDED_ROW_DISTANCE * np.nanmedian(pivots, axis=0)).all(axis=1))


__all__ = ["Ensemble", "bends_of", "doubtful_ranks", "lanes_flow", "stops_of", "why_not"]
