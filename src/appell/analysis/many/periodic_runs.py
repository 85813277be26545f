"""Many runs of one system from arrays of starts and parameters, period by period, with progress and safe on Ctrl-C.

If there is enough work and the model allows it, the runs use the lanes of `ap.simulate_many`, several per instruction and on
all cores; otherwise they go one after another through the compiled loop of `RunBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.forcing import period_law
from appell.analysis.natural_scales import natural_time, natural_tolerance, scales_from
from appell.analysis.orbits.force_jumps import surfaces
from appell.analysis.requests import model_of, simulated, state_names
from appell.backends import backend_named, silence, vm_function
from appell.compiled.compiling import compile_near
from appell.compiled.run import Run
from appell.ensembles import simulate_many
from appell.ensembles.energy_doubts import may_be_steep
from appell.ensembles.kept import Kept
from appell.ensembles.lanes import why_not
from appell.ensembles.order import Order
from appell.errors import STATUS_TEXT, AppellError, ConstraintError, ModelError, Status
from appell.loop.task import MOST_STEPS
from appell.model import System
from appell.model.values import bound
from appell.reading import reals, text_of
from appell.simulate.arguments import positive, relative
from appell.simulate.loop.prepare import strange_restitution
from appell.simulate.many import RunBatch, fitting_method
from appell.simulate.start import check, consistent, read
from appell.tree import Tree

Array = NDArray[np.float64]

SECONDS_PER_CALL = 0.2
"""Target duration of a call into compiled code, so that Ctrl-C and progress work."""
PERIODS_WORTH_LANES = 20_000
"""Total number of periods from which lanes are worth compiling; fewer than `LANES_FILLED` runs do not fill them."""
LANES_FILLED = 16
RUNS_LOOKED_AT = 3
"""Runs from which a natural absolute tolerance is taken."""
RUNS_DOUBTED, PERIODS_DOUBTED = 16, 24
"""Runs of steep systems that are repeated by `ap.simulate`, which sees what their steps jump over, and periods of each of them
after its start and after its last state."""
RUNS_AT_A_TIME = 50_000
"""Largest number of runs in the lanes at a time, to limit memory."""


SWEEP_ATOL = 1e-10
"""Default atol of sweeps, as a fraction of the smallest scale of the first period."""

OPTIONS = {"max_steps": MOST_STEPS, "corner": "raise"}
"""Options of `ap.simulate` accepted here, with their defaults."""


class PeriodicRuns:
    """n runs: current (t, z), parameters and period of each.

    Parameters
    ----------
    system, parameters: the system, and values of its parameters, {name: number or (n,)}.
    starts: {coordinate or velocity: number or (n,)}; unnamed values are 0.
    period: number, expression in the parameters, or None for that of the forcing. autonomous: whether systems without one have
        the natural time of their starts instead.
    periods: approximate number for each run, for the choice of method.
    atol: None for the fraction `share` of the smallest scale of the first period.
    """

    def __init__(
        self, system: System | Tree | Run, starts: Mapping[Any, Any], parameters: Mapping[Any, Any], n: int, *, since: float,
        period: Any, autonomous: bool, periods: int, rtol: float, atol: float | None, share: float, method: str, backend: str,
        threads: int | None = None, **options: Any,
    ):  # fmt: skip
        self.system, self.n = (model := model_of(system, "this")), n
        values_given: dict[Any, Any] = dict(system.parameters) if isinstance(system, Run) else {}
        values_given = {text_of(k): v for k, v in values_given.items()} | {text_of(k): v for k, v in parameters.items()}
        self.p = self._parameters(values_given)
        first_values = dict(zip(map(str, model.parameters), self.p[0], strict=True))
        self.run = compile_near(model, starts, first_values, backend=system.backend if isinstance(system, Run) else backend)
        law = period_law(model, period)
        if law is None and not autonomous:
            raise ModelError(f"'{model.name}' is autonomous: give section= (an expression, or a wall), or period=")
        names = [str(p) for p in model.parameters]
        self.t, self.h = np.full(n, float(since)), np.zeros(n)
        self.z = self._starts(starts)
        if law is None:
            durations = natural_time(self.run, float(since), self._sample(np.arange(n))[1])
        else:
            durations = np.array([law(dict(zip(names, row, strict=True))) for row in np.atleast_2d(self._parameter_rows())])
        self.period = np.broadcast_to(durations, (n,)).copy()
        self.status = np.full(n, Status.OK, dtype=np.intc)
        self.reason: dict[int, str] = {}
        self._admit(share * float(np.abs(self.z).max(initial=0.0)) if atol is None else positive(atol, "atol"))
        self._begin()
        self.starts, self.natural_period = (self.t.copy(), self.z.copy()), self.period.copy()
        smooth = not surfaces(model) and not model.frictions
        self.has_events = not smooth or bool(model.unilateral or model.resets)  # impacts, sticking, maps, sides of forces
        self.method = method if method != "auto" else fitting_method(self.run, n * periods) if smooth else "dop853"
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise ModelError(
                f"{unknown[0]}= is no option of many runs; of those of ap.simulate they take {' and '.join(OPTIONS)}"
            )
        self.options: dict[str, Any] = {**OPTIONS, **options, "rtol": relative(rtol)}
        self.options["atol"] = self._natural_atol(share) if atol is None else positive(atol, "atol")
        enough_work = n >= LANES_FILLED and n * periods >= PERIODS_WORTH_LANES
        # the loop of `RunBatch` has no friction; `ap.simulate_many` does such runs one by one
        self.threads, self.in_lanes = threads, bool(model.frictions) or (enough_work and self._fits_lanes())
        self.periods_per_second = 1e5  # first estimate, periods per second

    def _sample(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
        """A few of some runs, and their states."""
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, RUNS_LOOKED_AT).astype(int))] if len(rows) else rows
        return rows, self.z[rows]

    def _natural_atol(self, share: float) -> float:
        """atol as a fraction of the smallest scale of a few runs in their first period."""
        rows, z = self._sample(np.flatnonzero(self.status == Status.OK))

        def seen(atol: float) -> Array | None:
            scales_of_runs = [self._scales(int(row), atol) for row in rows]
            known = [scale for scale in scales_of_runs if scale is not None]
            return np.max(known, axis=0) if known else None

        return natural_tolerance(share, float(np.abs(z).max(initial=0.0)), seen)

    def single_run(self, row: int) -> Run:
        """A run with the parameters of one of these."""
        values = dict(zip(self.system.parameters, map(float, self.p[row]), strict=True))
        return replace(self.run, fold=(), p=self.p[row].copy(), parameters=values)

    def _scales(self, row: int, atol: float) -> Array | None:
        """The scales of the first period of a run; None if it has no motion."""
        start = dict(zip((*self.system.positions, *self.system.velocities), map(float, self.z[row]), strict=True))
        options = {"rtol": self.options["rtol"], "atol": atol}
        return scales_from(self.single_run(row), start, float(self.t[row]), float(self.period[row]), options)

    def _fits_lanes(self) -> bool:
        """Whether `ap.simulate_many` can do the runs in lanes."""
        order = Order(
            t0=0.0, ends=np.ones(1), step=None, method=self.method, max_step=np.inf, kept=Kept(), scalar="double",
            **self.options,
        )  # fmt: skip
        return why_not(self.run, order) is None

    @cached_property
    def loop(self) -> RunBatch:
        """The loop over runs one after another."""
        return RunBatch(self.run, method=self.method, **self.options)

    def _parameters(self, values_given: Mapping[str, Any]) -> Array:
        names, long = [str(p) for p in self.system.parameters], {k: v for k, v in values_given.items() if np.ndim(v)}
        plain = {k: v for k, v in values_given.items() if k not in long}
        rows = np.empty((self.n, len(names)))
        extremes: list[dict[str, float]] = [{k: float(f(v)) for k, v in long.items()} for f in (np.min, np.max)]
        for row in extremes:  # assumptions are half lines: checking both ends suffices
            values = bound(self.system.parameters, {**plain, **row}, self.system.name)
        for i, (name, symbol) in enumerate(zip(names, self.system.parameters, strict=True)):
            rows[:, i] = long[name] if name in long else values[symbol]
        return rows

    def _parameter_rows(self) -> Array:
        """The rows of parameters; a single one if all are equal."""
        return self.p[:1] if (self.p == self.p[0]).all() else self.p

    def _starts(self, starts: Mapping[Any, Any]) -> Array:
        starts = {k: reals(v, f"the start of {text_of(k)}") for k, v in starts.items()}
        misshapen = [text_of(k) for k, v in starts.items() if v.shape not in ((), (1,), (self.n,))]
        if misshapen:
            raise ModelError(f"the start of {misshapen[0]} is one number, or {self.n}, one for each run")
        first_start = {k: float(v.flat[0]) for k, v in starts.items()}
        z = np.tile(np.concatenate(read(self.system, first_start)), (self.n, 1))
        names = state_names(self.system)
        for key, value in starts.items():
            if np.ndim(value):
                z[:, names.index(text_of(key))] = value
        return z

    def _admit(self, atol: float) -> None:
        """Marks starts behind a wall by more than `atol`, or off the constraints, as without a motion."""
        form, nq, bilateral = self.run.form, self.run.form.nq, bool(self.system.constraints or self.system.quaternions)
        for k in np.arange(self.n) if bilateral else self._starts_behind_walls():
            try:
                q, v = self.z[k, :nq].copy(), self.z[k, nq:].copy()
                q, v, _ = check(self.system, form, self.p[k], float(self.t[k]), q, v, atol)
                self.z[k] = np.concatenate([q, v])
            except AppellError as error:
                self.status[k], self.reason[int(k)] = Status.NO_SOLUTION, str(error)

    def _begin(self) -> None:
        """Determines the ranks of the rows at the first start with a motion, and checks restitutions between 0 and 1."""
        with_motion = np.flatnonzero(self.status == Status.OK)
        nq = self.run.form.nq
        if len(with_motion):
            z = self.z[with_motion[0]]
            self.run = self.run.started(float(self.t[with_motion[0]]), z[:nq], z[nq:])
        if self.system.unilateral:
            p = self._parameter_rows()
            states = self.t[: len(p)], self.z[: len(p), :nq], self.z[: len(p), nq:], p
            (e,) = vm_function(self.run.form.select("restitution")).batch(*states)
            k, face = np.unravel_index(int(np.argmax(np.abs(e - 0.5))), e.shape)
            if not 0 <= e[k, face] <= 1:
                raise ConstraintError(strange_restitution(self.system.unilateral[int(face)], float(e[k, face])))

    def _starts_behind_walls(self) -> NDArray[np.intp]:
        """Runs that start behind a wall."""
        if not self.system.unilateral:
            return np.zeros(0, dtype=np.intp)
        nq, distance = self.run.form.nq, backend_named(self.run.backend if self.n >= PERIODS_WORTH_LANES else "vm").function
        (g,) = distance(self.run.form.select("g")).batch(self.t, self.z[:, :nq], self.z[:, nq:], self.p)
        return np.flatnonzero((g < 0).any(axis=1))

    def start_from_state(self, row: int, z: Array) -> bool:
        """Starts a run at the final state of another one, projected onto its own constraints; False, without a change, if that
        is behind one of its own walls."""
        nq, names = self.run.form.nq, [str(p) for p in self.system.parameters]
        try:
            if self.system.constraints or self.system.quaternions:
                symbols = (*self.system.positions, *self.system.velocities)
                guess = dict(zip(symbols, map(float, z), strict=True))
                start = consistent(self.system, guess, dict(zip(names, self.p[row], strict=True)), since=float(self.t[row]))
                z = np.array([float(start[s]) for s in symbols])
            q, v, _ = check(
                self.system, self.run.form, self.p[row], float(self.t[row]), z[:nq].copy(), z[nq:].copy(), self.options["atol"]
            )
        except AppellError:
            return False
        self.z[row] = self.starts[1][row] = np.concatenate([q, v])
        return True

    def doubts(self) -> str:
        """Why motions are doubtful; empty if none is. Only where the potential may be steep: a few of them are repeated with a
        check of their energy, which the compiled loop leaves out."""
        rows = np.flatnonzero(~self.failed) if may_be_steep(self.system) else np.zeros(0, dtype=np.intp)
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, RUNS_DOUBTED).astype(int))] if len(rows) else rows
        reasons = [reason for row in rows if (reason := self._doubt(int(row)))]
        return f"{len(reasons)} of {len(rows)} motions that were repeated are doubtful: {reasons[0]}" if reasons else ""

    def _doubt(self, row: int) -> str:
        """The first reason to doubt a run soon after its start or after its last state."""
        symbols, options = (*self.system.positions, *self.system.velocities), {**self.options, "method": self.method}
        for t, z in ((self.starts[0][row], self.starts[1][row]), (self.t[row], self.z[row])):
            until = float(t + PERIODS_DOUBTED * self.natural_period[row])
            try:
                with silence():
                    start = dict(zip(symbols, map(float, z), strict=True))
                    motion = simulated(self.single_run(row), start, until, since=float(t), **options)
            except AppellError:
                continue
            if motion.doubts:
                return motion.doubts[0]
        return ""

    def advance(
        self, rows: NDArray[np.intp], count: int, states: Array, report: Callable[[int], Any] | None = None,
        counts: NDArray[np.int_] | None = None,
    ) -> None:  # fmt: skip
        """Advances some runs at a common time by `count` periods; the states at the ends of the last ones, in lanes also after
        the numbers of periods `counts`, are written into `states`, (len(rows), keep, nz), nan where runs ended. After Ctrl-C,
        runs not yet reached keep their state, with nan; the others are written before it is raised."""
        states[:] = np.nan
        done = 0
        while done < len(rows):
            size = RUNS_AT_A_TIME if self.in_lanes else max(1, int(self.periods_per_second * SECONDS_PER_CALL / count))
            chunk = rows[done : done + size]
            chunk_states = states[done : done + len(chunk)]
            if self.in_lanes:
                kept = np.arange(count - chunk_states.shape[1] + 1, count + 1) if counts is None else counts
                self._in_lanes(chunk, kept, chunk_states, _report_below(len(chunk), done, report))
            else:
                self._one_after_another(chunk, count, chunk_states)
            done += len(chunk)
            if report is not None:
                report(done)

    def _one_after_another(self, rows: NDArray[np.intp], count: int, states: Array) -> None:
        began = perf_counter()
        t, z, h = self.t[rows], self.z[rows], self.h[rows]
        result = self.loop.advance(t, z, self.p[rows], self.period[rows], count, states.shape[1], h)
        self.t[rows], self.z[rows], self.h[rows], self.status[rows] = t, z, h, result.status
        states[:] = result.states
        self.periods_per_second = len(rows) * count / max(perf_counter() - began, 1e-6)

    def _in_lanes(
        self, rows: NDArray[np.intp], counts: NDArray[np.int_], states: Array, report: Callable[[float], Any] | bool
    ) -> None:  # fmt: skip
        since, period = float(self.t[rows[0]]), self.period[rows, None]
        times = since + counts * period
        parameters = {str(p): self.p[rows, i] for i, p in enumerate(self.system.parameters)}
        with silence():  # the caller reports runs that ended early
            results = simulate_many(
                self.system, self.z[rows], times[:, -1], parameters, since=since, keep=times, method=self.method,
                backend=self.run.backend, threads=self.threads, progress=report, **self.options,
            ).dataset  # fmt: skip
        states[:] = np.stack([results[name].values for name in list(results.data_vars)[: states.shape[2]]], axis=-1)
        status = results.status.values
        done = status != Status.CANCELLED
        self.status[rows[done]] = status[done]
        finished = status == Status.OK
        self.t[rows[finished]], self.z[rows[finished]] = times[finished, -1], states[finished, -1]
        for k in np.flatnonzero(done & ~finished):
            self.reason[int(rows[k])] = str(results.message.values[k])
        if not done.all():
            raise KeyboardInterrupt

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which runs have ended early, (n,)."""
        return self.status != Status.OK

    def why_ended(self, k: int) -> str:
        """Why run k ended early."""
        return self.reason.get(int(k), STATUS_TEXT[Status(int(self.status[k]))])


def _report_below(count: int, done: int, report: Callable[[int], Any] | None) -> Callable[[float], Any] | bool:
    """Reports progress within `count` runs after `done`. Completion is reported later, after results are stored, so that an
    interrupt at that point loses nothing."""
    if report is None:
        return False
    return lambda k: report(done + int(k)) if k < count else None


def distinct(states: Array, scale: ArrayLike, tolerance: float) -> NDArray[np.int_]:
    """The number of samples after which each sequence (n, keep, nz) repeats, at most keep/2; 0 if it does not."""
    n, keep, _ = states.shape
    counts = np.zeros(n, dtype=int)
    with np.errstate(invalid="ignore"):
        for m in range(1, keep // 2 + 1):
            deviation = (np.abs(states[:, m:] - states[:, :-m]) / scale).max(axis=(1, 2), initial=0.0)
            counts[(counts == 0) & (deviation <= tolerance)] = m
    return counts


__all__ = ["SWEEP_ATOL", "PeriodicRuns", "distinct"]
