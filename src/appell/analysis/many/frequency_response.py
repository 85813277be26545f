"""Frequency response by simulation: amplitude and phase of the steady motion over the frequency of the forcing.

    y(t) = Re Σ_k c_k e^{ikωt},     c_k = 2/T ∫ y e^{−ikωt} dt  (c_0: half of that),     T = 2π/ω

after `skip` periods, over one period of the dense output: from samples, or, where these do not resolve the response and in
systems with events, step by step (`steady_harmonics`). So a response that lags behind cos ωt has a negative phase, arg c_1.
Motions that do not repeat after the period (subharmonic, quasiperiodic, chaotic, or not converged) are marked. So are
those that repeat but still drift: a motion may be much farther from its limit than it changes in a period, with little
damping (a free vibration at a multiple of ω also repeats) or by a slow decay beside a faster one. The distance is extrapolated
from the periods before the last; of a motion that would then count as steady, it is also a step of Newton's method, with the
derivative Φ of the map over the last period where that exists, (I − Φ) δ = d (`limit_of_decays`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.many.limit_of_decays import distance_to_limit, newton_step
from appell.analysis.many.periodic_runs import PeriodicRuns
from appell.analysis.many.steady_harmonics import piecewise_harmonics, sampled_harmonics, unresolved_share
from appell.analysis.orbits.variations import variations
from appell.analysis.requests import axis, given_once, model_of, parameter_named, parameter_variable, simulated
from appell.backends import silence
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.errors import AppellError, ModelError, Status
from appell.jets import t as time
from appell.model import System
from appell.motion.result_frame import Result
from appell.numeric_functions import numeric_function
from appell.reading import finite, refuse_many, shown, symbolic, table_of, truth, whole
from appell.simulate.arguments import relative
from appell.simulate.progress import reporter
from appell.tree import Tree

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

RESPONSE_ATOL = 1e-12
"""Default atol, as a fraction of the smallest scale of the first period."""
NOISE = 1.0
"""Multiple of rtol below which the change of a motion over a period is integration error; settled ones were seen to change by
0.1."""
MOST_PERIODS_BACK = 512
"""Periods before the last whose ends are compared: as many states as two periods have samples by default."""
NO_RESPONSE = 10.0
"""Multiple of atol below which the extent of a motion is integration error: a motion at rest."""
SAMPLES_SUFFICE = 1e-2
"""Fraction of the tolerance within which the highest harmonics of the samples vanish where these resolve the response."""


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse(Result):
    """The steady response of an expression over a parameter, usually the frequency, from `ap.frequency_response`.

    Attributes
    ----------
    of: the expression; parameter, values: the varied parameter, and its values, (n,).
    harmonics: c_k, (n, K + 1), complex, SI: y(t) = Re Σ_k c_k e^{ikωt}; nan where a motion ended early.
    period: of the forcing, s, (n,); change: (n,) change of the state over the last period, as a fraction of the
    extent of the motion; to_come: (n,) remaining change, extrapolated from the periods before.
    settled: (n,) whether both are within the tolerance.
    ok, message: whether all values have converged and harmonics are within the tolerance, and if not, where and why.
    """

    system: System
    of: str
    parameter: str
    values: Array
    harmonics: Complex
    period: Array
    change: Array
    to_come: Array
    settled: NDArray[np.bool_]
    ok: bool
    message: str

    @property
    def amplitude(self) -> Array:
        """|c_1|, (n,), in the unit of the expression."""
        return np.abs(self.harmonics[:, 1])

    @property
    def phase(self) -> Array:
        """arg c_1, (n,), rad, in (−π, π]: y ≈ amplitude cos(ωt + phase), with the t of the system."""
        return np.angle(self.harmonics[:, 1])

    @property
    def mean(self) -> Array:
        """c_0, (n,)."""
        return self.harmonics[:, 0].real

    def variables(self) -> Mapping[str, Any]:
        """`amplitude`, `phase`, `mean`, `change`, `to_come` and `settled` over the parameter; for each harmonic
        `harmonic_amplitude` and `harmonic_phase`."""
        name, both_dims = self.parameter, (self.parameter, "harmonic")
        of = {"units": "SI", "symbol": self.of}
        return {
            "amplitude": (name, self.amplitude, {**of, "long_name": f"amplitude of {self.of}"}),
            "phase": (name, self.phase, {"units": "rad", "long_name": f"phase of {self.of}"}),
            "mean": (name, self.mean, {**of, "long_name": f"mean of {self.of}"}),
            "harmonic_amplitude": (both_dims, np.abs(self.harmonics), {**of, "long_name": "amplitude of a harmonic"}),
            "harmonic_phase": (both_dims, np.angle(self.harmonics), {"units": "rad", "long_name": "phase of a harmonic"}),
            "period": (name, self.period, {"units": "s", "long_name": "period of the forcing"}),
            "change": (name, self.change, {"units": "1", "long_name": "change over the last period"}),
            "to_come": (name, self.to_come, {"units": "1", "long_name": "change that is still to come"}),
            "settled": (name, self.settled, {"long_name": "whether the motion repeats itself"}),
        }

    def coords(self) -> Mapping[str, Any]:
        axis_of_values = {self.parameter: parameter_variable(self.parameter, self.parameter, self.values)}
        return {**axis_of_values, "harmonic": np.arange(self.harmonics.shape[1])}

    def plot(self, ax: Any = None) -> Any:
        """Plots amplitude and phase over the parameter, stacked (`ax`: two axes); values that have not converged as open
        dots."""
        return delegate("FrequencyResponse.plot")(self, ax)

    def __str__(self) -> str:
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"response of {self.of} of '{self.system.name}' over {self.parameter} = {span}; {self.message}"


def frequency_response(
    system: System | Tree | Run,
    of: Any,
    over: Mapping[Any, ArrayLike],
    start: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    skip: int = 200,
    harmonics: int = 5,
    samples: int = 256,
    tolerance: float = 1e-4,
    period: Any = None,
    follow: bool = False,
    since: float = 0.0,
    rtol: float = 1e-9,
    atol: float | None = None,
    method: str = "auto",
    backend: str = "auto",
    threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> FrequencyResponse:
    """Amplitude and phase of the steady response to a periodic forcing, over values of one parameter, by simulation.

    Parameters
    ----------
    of: the response: a coordinate or velocity, by symbol or name, or an expression in t, q, v and parameters.
    over: {parameter: values}, usually the frequency of the forcing.
    start, parameters, since: the start of each value, the other parameters, and the time of the start, s.
    skip: periods before the one that is analysed; harmonics: the highest multiple of ω that is kept.
    samples: in that period. With impacts and other events, and where samples do not resolve the response, harmonics are
    integrated step by step instead.
    tolerance: a motion is steady if its change over a period, and its distance from its limit, are within this fraction of its
    extent. Without damping there is no limit, and every motion that repeats counts as steady.
    period: s, or an expression in the parameters; that of the forcing by default.
    follow: start each value where the one before it ended: sweeping up and down shows coexisting branches.
    progress: True for a bar, or a function of the number of values done.
    atol: 1e-12 of the smallest scale of the first period by default. Other options are those of `ap.bifurcation_diagram`.
    """
    ((name, values),) = axis(over, "over=", 1)
    model = model_of(system, "frequency_response")
    skip, harmonics = whole(skip, "skip=", 0), whole(harmonics, "harmonics=", 1)
    samples, follow = whole(samples, "samples=", 2 * harmonics + 1), truth(follow, "follow=")
    tolerance, rtol = finite(tolerance, "tolerance="), relative(rtol)
    if not 0 < tolerance < 1:
        raise ModelError(f"tolerance = {tolerance:g} must be a share of the extent between 0 and 1")
    refuse_many(len(values) * 2 * samples * (model.nq + model.nv), f"{len(values)} × {samples} states")
    parameter_named(model, name, "over=")
    given_once(parameters, (name,), "parameters=", "over=")
    name_of_response, observed = _observed(model, of)
    runs = PeriodicRuns(
        system, dict(table_of(start, "start=")), {**table_of(parameters, "parameters="), name: values}, len(values),
        since=since, period=period, autonomous=False, periods=skip + 1, rtol=rtol, atol=atol, share=RESPONSE_ATOL,
        method=method, backend=backend, threads=threads, **options,
    )  # fmt: skip
    T = runs.period.copy()
    times, z, past, interrupted = _last_period(runs, T, skip, samples, follow, reporter(progress, 0, len(values)))
    with np.errstate(all="ignore"):
        y = observed(times, z, runs.p)
        change, to_come = _changes(z, past, NOISE * rtol, NO_RESPONSE * float(runs.options["atol"]))
        for k in np.flatnonzero((change > NOISE * rtol) & (change <= tolerance) & (to_come <= tolerance)):
            to_come[k] = max(to_come[k], _step_to_orbit(runs, int(k), times[k], z[k], NOISE * rtol))
        settled = (change <= tolerance) & (to_come <= tolerance)
        c = sampled_harmonics(y[:, 1:], times[:, 1:], T, harmonics)
        moves = np.isfinite(z).all(axis=(1, 2)) & (np.ptp(z, axis=1) > NO_RESPONSE * runs.options["atol"]).any(axis=1)
        coarse = np.flatnonzero(moves & (runs.has_events | (unresolved_share(y[:, 1:]) > SAMPLES_SUFFICE * tolerance)))
    inaccurate: list[int] = []
    try:
        inaccurate = (
            [] if interrupted else [int(k) for k in coarse if not _integrated(runs, observed, k, times, z, c, tolerance)]
        )
    except KeyboardInterrupt:
        interrupted = "interrupted, before all harmonics were integrated between events"
    message = interrupted or _unsettled(runs, name, values, settled, change, to_come)
    if inaccurate and not message:
        first = f"the first at {name} = {values[inaccurate[0]]:.6g}"
        message = (
            f"harmonics of {len(inaccurate)} of {len(values)} motions are not within the tolerance, {first}: a smaller rtol="
        )
    message = message or runs.doubts()
    return FrequencyResponse(
        model, name_of_response, name, values, c, T, change, to_come, settled, not message, message or "complete"
    )


def _integrated(
    runs: PeriodicRuns, observed: Any, k: np.intp, times: Array, z: Array, c: Complex, tolerance: float
) -> bool:  # fmt: skip
    """Integrates the harmonics c[k] step by step, over a repetition of the last period; whether they are within the
    tolerance."""
    start = dict(zip((*runs.system.positions, *runs.system.velocities), map(float, z[k, 0]), strict=True))
    try:
        with silence():
            motion = simulated(runs.single_run(int(k)), start, float(times[k, -1]), since=float(times[k, 0]), **runs.options)
    except AppellError:
        return False
    if motion.status is not Status.OK:
        return False

    def y(t: Array) -> Array:
        at = motion.at(t)
        return observed(t[None], np.hstack([at.q, at.v])[None], runs.p[k : k + 1])[0]

    c[k], error = piecewise_harmonics(y, np.unique(motion.t), c.shape[1] - 1)
    return bool(error <= tolerance * np.abs(c[k]).max())


def _changes(z: Array, past: Array, noise: float, least: float) -> tuple[Array, Array]:
    """The change of the states z (n, k, nz) over a period, and their distance from the limit, (n,), as fractions of their
    extent.

    past: the states at the ends of periods before, (n, m, nz), oldest first. Changes below `noise` say nothing; extents below
    `least` are none.
    """
    sizes = _sizes(z, least)
    change = (np.abs(z[:, -1] - z[:, 0]) / sizes).max(axis=1)
    ends = (np.concatenate([past, z[:, :1], z[:, -1:]], axis=1) - z[:, -1:]) / sizes[:, None]
    good = np.isfinite(ends).all(axis=(1, 2))
    to_come = np.full(len(z), np.nan)
    to_come[good] = np.maximum(distance_to_limit(ends[good], noise), change[good])
    return change, to_come


def _sizes(z: Array, least: float) -> Array:
    """The extents (n, nz) of states z (n, k, nz), inf where there is none but errors: a constant repeats."""
    extent = np.ptp(z, axis=1)
    return np.where(extent <= np.maximum(1e-12 * np.abs(z).max(axis=1), least), np.inf, np.maximum(extent, 1e-300))


def _step_to_orbit(runs: PeriodicRuns, k: int, times: Array, z: Array, noise: float) -> float:
    """The step of Newton's method from the states z (m, nz) of the last period of run k to a periodic orbit, as a fraction of
    their extent; 0 where the derivative of the map over the period does not exist or is not known."""
    start = dict(zip((*runs.system.positions, *runs.system.velocities), map(float, z[0]), strict=True))
    run = replace(runs.single_run(k), backend="vm")  # a few periods: not worth compiling the variation
    try:
        with silence():
            varied = variations(run, start, float(times[-1]), by=(), since=float(times[0]), **runs.options)
    except AppellError:
        return 0.0
    sizes = _sizes(z[None], NO_RESPONSE * float(runs.options["atol"]))[0]
    moving = np.isfinite(sizes)
    if not varied.complete or not moving.any():
        return 0.0
    Phi = varied.monodromy[np.ix_(moving, moving)] * sizes[moving] / sizes[moving, None]
    return newton_step(Phi, (z[-1] - z[0])[moving] / sizes[moving], noise)


def _observed(system: System, of: Any) -> tuple[str, Any]:
    """The name of the response, and a function of t (n, k), z (n, k, nz), p (n, np) → (n, k)."""
    states = (*system.positions, *system.velocities)
    by_name = {str(s): s for s in states}
    expr = by_name[of] if isinstance(of, str) and of in by_name else symbolic(of, "of=")
    symbols = {time, *states, *system.parameters}
    if unknown := sorted(str(s) for s in expr.free_symbols - symbols):
        raise ModelError(f"of= contains {unknown[0]}, which '{system.name}' does not have")
    if not expr.free_symbols & set(states):
        raise ModelError(f"of= is a coordinate, a velocity or an expression in them, not {shown(of)}")
    function = numeric_function([time, *states, *system.parameters], expr)
    return str(expr), lambda t, z, p: np.broadcast_to(function(t, *np.moveaxis(z, -1, 0), *p.T[:, :, None]), t.shape).astype(
        float
    )


def _last_period(
    runs: PeriodicRuns, T: Array, skip: int, samples: int, follow: bool, report: Any
) -> tuple[Array, Array, Array, str]:  # fmt: skip
    """Times (n, samples + 1) of one period after the transient, both ends included; the states there; those at the ends of
    earlier periods, (n, m, nz); and whether it was interrupted."""
    n, interrupted, nz = len(T), "", runs.z.shape[1]
    times, z = np.full((n, samples + 1), np.nan), np.full((n, samples + 1, nz), np.nan)
    past = np.full((n, min(skip, MOST_PERIODS_BACK), nz), np.nan)
    running = np.flatnonzero(~runs.failed)
    size = 1 if follow else max(1, len(running))
    try:
        for begun in range(0, len(running), size):
            rows = running[begun : begun + size]
            begin = runs.t[rows].copy()
            z[rows], past[rows] = _sampled(runs, rows, T[rows], skip, samples)
            times[rows] = begin[:, None] + (skip + np.arange(samples + 1) / samples) * T[rows, None]
            if report is not None:
                report(begun + len(rows))
            if follow and begun + 1 < len(running) and not runs.failed[rows[0]]:
                runs.start_from_state(int(running[begun + 1]), z[rows[0], -1])
    except KeyboardInterrupt:
        interrupted = f"interrupted after {int(np.isfinite(z[:, -1, 0]).sum())} of {n} values"
    finally:
        if report is not None:
            report.close()
    return times, z, past, interrupted


def _sampled(runs: PeriodicRuns, rows: NDArray[np.intp], T: Array, skip: int, samples: int) -> tuple[Array, Array]:
    """States of one period after the transient, both ends included, (rows, samples + 1, nz), and at the ends of the periods
    before it, (rows, m, nz): of all, starting with the start, or of the last."""
    back = min(skip, MOST_PERIODS_BACK + 1)
    kept = np.full((len(rows), back + 1 + samples, runs.z.shape[1]), np.nan)  # the start, ends of periods, samples of the last
    kept[:, 0] = runs.z[rows]
    if runs.in_lanes:  # lanes share one time, and sample the dense output of long steps
        counts = np.concatenate([samples * np.arange(skip - back + 1, skip + 1), samples * skip + np.arange(1, samples + 1)])
        runs.period[rows] = T / samples
        runs.advance(rows, (skip + 1) * samples, kept[:, 1:], counts=counts)
    else:
        runs.period[rows] = T
        if skip:
            runs.advance(rows, skip, kept[:, 1 : back + 1])
        runs.period[rows] = T / samples
        alive = ~runs.failed[rows]
        later = np.empty((int(alive.sum()), samples, kept.shape[2]))
        runs.advance(rows[alive], samples, later)
        kept[alive, back + 1 :] = later
    return kept[:, back:], kept[:, max(0, back - MOST_PERIODS_BACK) : back]


def _unsettled(
    runs: PeriodicRuns, name: str, values: Array, settled: NDArray[np.bool_], change: Array, to_come: Array
) -> str:  # fmt: skip
    """The values without a steady response, and why; empty if all have one."""
    n, failed, moving = len(values), np.flatnonzero(runs.failed), np.flatnonzero(~settled & ~runs.failed)
    if len(failed):
        k = int(failed[0])
        return f"{len(failed)} of {n} motions ended early, the first at {name} = {values[k]:.6g}: {runs.why_ended(k)}"
    if len(moving):
        k = int(moving[0])
        first = f"the first at {name} = {values[k]:.6g}, by {change[k]:.1e} of its extent"
        first += f" with {to_come[k]:.1e} to come" if np.isfinite(to_come[k]) and to_come[k] > 2 * change[k] else ""
        return f"{len(moving)} of {n} motions still change after a period, {first}: skip= more periods, or another period="
    return ""


__all__ = ["FrequencyResponse", "frequency_response"]
