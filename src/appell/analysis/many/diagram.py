"""Bifurcation diagrams: states of a motion once a period or at each crossing of a section, over values of a parameter.

    z_k = z(t₀ + (skip + k) T),  k = 1 … keep        T the period of the forcing, for each value of the parameter

All values run in one compiled loop. With `follow` each value starts where the one before it ended: sweeping up and down shows
coexisting branches. Autonomous systems use a section (`ap.poincare`), or impacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.many.periodic_runs import SWEEP_ATOL, PeriodicRuns, distinct
from appell.analysis.many.sections import Section, poincare
from appell.analysis.requests import (
    axis,
    given_once,
    model_of,
    parameter_named,
    parameter_variable,
    state_column,
    state_variables,
)
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.errors import AppellError, ConstraintError, ModelError
from appell.model import System
from appell.model.values import bound
from appell.motion.result_frame import Result
from appell.reading import refuse_many, table_of, truth, whole
from appell.simulate.progress import reporter
from appell.simulate.simulate import simulate
from appell.tree import Tree

Array = NDArray[np.float64]

MOTION_REPEATS = 1e-6
"""A motion repeats if it returns within this fraction of the extent of the diagram."""
ERROR_OF_STATES = 100.0
"""Multiple of atol within which states are equal: a motion that has come to rest at 0 has no extent but its errors."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagram(Result):
    """Late states over a parameter, from `ap.bifurcation_diagram`.

    Attributes
    ----------
    parameter, values: the varied parameter, and its values, (n,).
    t: (n, keep) times, s; z: (n, keep, nq + nv) states there, SI; nan where a motion ended early.
    ok, message: whether every value has all its states, of motions without doubts, and if not, where and why.
    atol: the absolute tolerance of the runs.
    """

    system: System
    parameter: str
    values: Array
    t: Array
    z: Array
    ok: bool
    message: str
    atol: float = 0.0

    def __getitem__(self, key: Any) -> Array:
        """A coordinate or velocity, (n, keep), by symbol or name."""
        return self.z[:, :, state_column(self.system, key)]

    @cached_property
    def periods(self) -> NDArray[np.int_]:
        """The number of samples after which each motion repeats (1: one point in the diagram), (n,); 0 if it does not within
        half of the kept samples: another period, quasiperiodic, chaotic, or not converged."""
        with np.errstate(all="ignore"):
            extent = np.nan_to_num(np.nanmax(self.z, axis=(0, 1)) - np.nanmin(self.z, axis=(0, 1)))
        least = max(ERROR_OF_STATES * self.atol, 1e-300)
        return distinct(self.z, np.maximum(extent, least / MOTION_REPEATS), MOTION_REPEATS)

    def variables(self) -> Mapping[str, Any]:
        dims = (self.parameter, "sample")
        t = {"t": (dims, self.t, {"units": "s", "long_name": "time"})}
        attributes = {"units": "1", "long_name": "samples after which the motion repeats itself; 0 where it does not"}
        return {**t, **state_variables(self.system, dims, self.z), "periods": (self.parameter, self.periods, attributes)}

    def coords(self) -> Mapping[str, Any]:
        return {self.parameter: parameter_variable(self.parameter, self.parameter, self.values)}

    def plot(self, of: Any = None, ax: Any = None, **style: Any) -> Any:
        """Plots a coordinate or velocity over the parameter, by default the first coordinate; returns the figure."""
        of = of if of is not None else self.system.positions[0]
        y = self[of]
        x = np.broadcast_to(self.values[:, None], y.shape)
        return delegate("Diagram.plot")(x.ravel(), y.ravel(), self.parameter, str(of), ax, figsize=(7.2, 4.4), **style)

    def __str__(self) -> str:
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return (
            f"bifurcation diagram of '{self.system.name}', {self.parameter} = {span}, {self.z.shape[1]} samples; {self.message}"
        )


def bifurcation_diagram(
    system: System | Tree | Run,
    over: Mapping[Any, ArrayLike],
    start: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    skip: int = 200,
    keep: int = 100,
    period: Any = None,
    section: Any = None,
    direction: int = 1,
    follow: bool = False,
    since: float = 0.0,
    rtol: float = 1e-8,
    atol: float | None = None,
    method: str = "auto",
    backend: str = "auto",
    threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> Diagram:
    """The states of motions after a transient, once a period, over values of one parameter.

    Parameters
    ----------
    over: {parameter: values}.
    skip, keep: periods (or crossings) that are skipped, and that are kept after them.
    start, parameters, since: the start of each value, the other parameters, and the time of the start, s.
    period: s, or an expression in the parameters; that of the forcing by default.
    section, direction: an expression of t, q, v, p or a wall, as in `ap.poincare`, instead of a period.
    follow: start each value where the one before it ended.
    threads: all cores by default, where the values run in lanes (many of them, a model that `ap.simulate_many` takes in lanes).
    progress: True for a bar, or a function of the number of values done. Ctrl-C returns what is done.
    atol: 1e-10 of the smallest scale of the first period by default; with a section, that of `ap.poincare`.
    rtol, atol, method and other options are those of `ap.simulate`; "auto" takes series for small smooth systems.
    """
    ((name, values),) = axis(over, "over=", 1)
    skip, keep = whole(skip, "skip=", 0), whole(keep, "keep=", 1)
    model = model_of(system, "bifurcation_diagram")
    refuse_many(len(values) * keep * (model.nq + model.nv), f"{len(values)} × {keep} states")
    follow = truth(follow, "follow=")
    parameter_named(model, name, "over=")
    given_once(parameters, (name,), "parameters=", "over=")
    if section is not None:
        if period is not None:
            raise ModelError("give period= or section=, not both")
        if isinstance(system, Run):
            parameters = {**{str(k): v for k, v in system.parameters.items() if str(k) != name}, **(parameters or {})}
            backend = system.backend
        section_options = {"rtol": rtol, "method": method, "backend": backend, "since": since, **options}
        section_options |= {} if atol is None else {"atol": atol}
        return _on_section(
            model, name, values, section, direction, skip, keep, start, parameters, follow, progress, section_options
        )
    all_parameters = {**table_of(parameters, "parameters="), name: values}
    ensemble = PeriodicRuns(
        system, dict(table_of(start, "start=")), all_parameters, len(values), since=since, period=period, autonomous=False,
        periods=skip + keep, rtol=rtol, atol=atol, share=SWEEP_ATOL, method=method, backend=backend, threads=threads, **options,
    )  # fmt: skip
    return _strobed(ensemble, name, values, skip, keep, follow, progress)


def _strobed(ensemble: PeriodicRuns, name: str, values: Array, skip: int, keep: int, follow: bool, progress: Any) -> Diagram:
    n, interrupted, restarted = len(values), "", []
    begin, z = ensemble.t.copy(), np.full((n, keep, ensemble.z.shape[1]), np.nan)
    report = reporter(progress, 0, n)
    running = np.flatnonzero(~ensemble.failed)
    size = 1 if follow else max(1, len(running))
    try:
        for begun in range(0, len(running), size):
            rows = running[begun : begun + size]
            states = np.empty((len(rows), keep, z.shape[2]))
            try:
                ensemble.advance(
                    rows, skip + keep, states, None if report is None else lambda k, count=begun: report(count + k)
                )
            finally:
                z[rows] = states
            if follow and begun + 1 < len(running) and not ensemble.failed[rows[0]]:
                row = int(running[begun + 1])
                restarted += [] if ensemble.start_from_state(row, z[rows[0], -1]) else [row]
    except KeyboardInterrupt:
        interrupted = f"interrupted after {int(np.isfinite(z[:, -1, 0]).sum())} of {n} values"
    finally:
        if report is not None:
            report.close()
    t = begin[:, None] + ensemble.period[:, None] * np.arange(skip + 1, skip + keep + 1)
    failed = np.flatnonzero(ensemble.failed)
    message = interrupted
    if len(failed) and not message:
        k = failed[0]
        message = f"{len(failed)} of {n} motions ended early, the first at {name} = {values[k]:.6g}: {ensemble.why_ended(k)}"
    message = message or ensemble.doubts()
    t = np.where(np.isfinite(z[:, :, 0]), t, np.nan)
    notes = [message or "complete"]
    if restarted:
        first = f"the first {name} = {values[restarted[0]]:.6g}"
        notes.append(f"{len(restarted)} values, {first}, begin at start= since the end of the one before lies behind a wall")
    return Diagram(ensemble.system, name, values, t, z, not message, "; ".join(notes), float(ensemble.options["atol"]))


def _on_section(
    system: Any, name: str, values: Array, section: Any, direction: int, skip: int, keep: int, start: Any, parameters: Any,
    follow: bool, progress: Any, section_options: Mapping[str, Any],
) -> Diagram:  # fmt: skip
    """One value after another by `poincare`. Values with which no motion can begin are marked, whichever they are."""
    n, incomplete = len(values), []
    for value in (np.min(values), np.max(values)):
        bound(system.parameters, {**(parameters or {}), name: float(value)}, system.name)
    z, t = np.full((n, keep, system.nq + system.nv), np.nan), np.full((n, keep), np.nan)
    state, message, section_options, atol = dict(table_of(start, "start=")), "", dict(section_options), 0.0
    report = reporter(progress, 0, n)
    try:
        for k, value in enumerate(values):
            try:
                crossings = poincare(
                    system, section, state, count=keep, skip=skip, direction=direction,
                    parameters={**(parameters or {}), name: value}, **section_options,
                )  # fmt: skip
            except AppellError as error:
                if isinstance(error, ModelError) and not isinstance(error, ConstraintError) and k == 0:
                    raise
                incomplete.append(f"at {name} = {value:.6g}: {error}")
                continue
            m, atol = len(crossings), max(atol, crossings.atol)
            z[k, :m], t[k, :m] = np.hstack([crossings.q, crossings.v]), crossings.t
            if not crossings.ok:
                incomplete.append(f"at {name} = {value:.6g}: {crossings.message}")
            if follow and m > 1:
                state, section_options["since"] = _after_last_crossing(
                    crossings, {**(parameters or {}), name: value}, section_options
                )
            if report is not None:
                report(k + 1)
    except KeyboardInterrupt:
        message = f"interrupted after {int(np.isfinite(z[:, -1, 0]).sum())} of {n} values"
    finally:
        if report is not None:
            report.close()
    if incomplete and not message:
        message = (
            incomplete[0]
            if len(incomplete) == 1
            else f"{len(incomplete)} of {n} values have no complete motion, the first {incomplete[0]}"
        )
    return Diagram(system, name, values, t, z, not message, message or "complete", atol)


def _after_last_crossing(
    crossings: Section, parameters: Mapping[Any, Any], section_options: Mapping[str, Any]
) -> tuple[Mapping[Any, float], float]:
    """State and time half a step after the last crossing, away from a wall that moves with the parameter."""
    system, begin = crossings.system, float(crossings.t[-1])
    until = begin + 0.5 * float(crossings.t[-1] - crossings.t[-2])
    state = dict(zip((*system.positions, *system.velocities), map(float, (*crossings.q[-1], *crossings.v[-1])), strict=True))
    return simulate(system, state, until, parameters, **{**section_options, "since": begin}).final, until


__all__ = ["Diagram", "bifurcation_diagram"]
