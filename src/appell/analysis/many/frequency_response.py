"""Frequency response by simulation: amplitude and phase of the steady motion over the frequency of the forcing.

    y(t) = Re Σ_k c_k e^{ikωt},     c_k = 2/T ∫ y e^{−ikωt} dt  (c_0: half of that),     T = 2π/ω

after `skip` periods, over one period of the dense output: from samples, or, where these do not resolve the response and in
systems with events, step by step (`steady_harmonics`). So a response that lags behind cos ωt has a negative phase, arg c_1.
Motions that do not repeat after the period (subharmonic, quasiperiodic, chaotic, or not converged) are marked. So are
those that repeat but still drift: with the changes d, d' of the last two periods the motion is

    |d|/|1 − μ|,     μ = d·d'/d'·d'

from its limit, which is much more than |d| with little damping (a free vibration at a multiple of ω also repeats).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.many.periodic_runs import PeriodicRuns
from appell.analysis.many.steady_harmonics import piecewise_harmonics, sampled_harmonics, unresolved_share
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
NOISE = 100.0
"""Multiple of rtol below which the change over a period is integration error."""
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
    extent of the motion; to_come: (n,) remaining change, extrapolated from the last two periods.
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
    times, z, interrupted = _last_period(runs, T, skip, samples, follow, reporter(progress, 0, len(values)))
    z_before, z = z[:, 0], z[:, 1:]
    with np.errstate(all="ignore"):
        y = observed(times, z, runs.p)
        change, to_come = _changes(z, z_before, NOISE * rtol, NO_RESPONSE * float(runs.options["atol"]))
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
            motion = simulated(runs.alone(int(k)), start, float(times[k, -1]), since=float(times[k, 0]), **runs.options)
    except AppellError:
        return False
    if motion.status is not Status.OK:
        return False

    def y(t: Array) -> Array:
        at = motion.at(t)
        return observed(t[None], np.hstack([at.q, at.v])[None], runs.p[k : k + 1])[0]

    c[k], error = piecewise_harmonics(y, np.unique(motion.t), c.shape[1] - 1)
    return bool(error <= tolerance * np.abs(c[k]).max())


def _changes(z: Array, z_before: Array, noise: float, least: float) -> tuple[Array, Array]:
    """The change of the states z (n, k, nz) over a period, and their distance from the limit, (n,), as fractions of their
    extent.

    z_before: the states one period earlier, (n, nz), nan if unknown. Changes below `noise` are not extrapolated; extents below
    `least` are none.
    """
    extent = np.ptp(z, axis=1)
    constant = extent <= np.maximum(1e-12 * np.abs(z).max(axis=1), least)  # a constant repeats
    share = lambda d: np.where(constant, 0.0, d / np.maximum(extent, 1e-300))
    last, previous = share(z[:, -1] - z[:, 0]), share(z[:, 0] - z_before)
    change = np.abs(last).max(axis=1)
    mu = (last * previous).sum(axis=1) / (previous * previous).sum(axis=1)
    to_come = np.where(mu < 1, change / np.abs(1 - mu), np.inf)
    return change, np.where((change > noise) & np.isfinite(mu), to_come, change)


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
) -> tuple[Array, Array, str]:  # fmt: skip
    """Times (n, samples + 1) of one period after the transient, both ends included; the states there, preceded by that one
    period earlier, (n, samples + 2, nz); and whether it was interrupted."""
    n, interrupted = len(T), ""
    times, z = np.full((n, samples + 1), np.nan), np.full((n, samples + 2, runs.z.shape[1]), np.nan)
    running = np.flatnonzero(~runs.failed)
    size = 1 if follow else max(1, len(running))
    try:
        for begun in range(0, len(running), size):
            rows = running[begun : begun + size]
            begin, states = runs.t[rows].copy(), _sampled(runs, rows, T[rows], skip, samples)
            z[rows] = states
            times[rows] = begin[:, None] + (skip + np.arange(samples + 1) / samples) * T[rows, None]
            if report is not None:
                report(begun + len(rows))
            if follow and begun + 1 < len(running) and not runs.failed[rows[0]]:
                runs.begin_where(int(running[begun + 1]), z[rows[0], -1])
    except KeyboardInterrupt:
        interrupted = f"interrupted after {int(np.isfinite(z[:, -1, 0]).sum())} of {n} values"
    finally:
        if report is not None:
            report.close()
    return times, z, interrupted


def _sampled(runs: PeriodicRuns, rows: NDArray[np.intp], T: Array, skip: int, samples: int) -> Array:
    """States of one period after the transient, both ends included, preceded by that one period earlier, which is nan if fewer
    than two are skipped: (rows, samples + 2, nz)."""
    states = np.full((len(rows), samples + 2, runs.z.shape[1]), np.nan)
    runs.period[rows] = T / samples
    if runs.wide and skip:  # lanes share one time, and sample the dense output of long steps
        two_periods = np.full((len(rows), samples * min(skip, 2) + 1, runs.z.shape[1]), np.nan)
        runs.go(rows, (skip + 1) * samples, two_periods)
        states[:, 1:] = two_periods[:, -samples - 1 :]
        states[:, 0] = two_periods[:, 0] if skip > 1 else np.nan
        return states
    if skip:
        runs.period[rows] = T
        runs.go(rows, skip, states[:, :2] if skip > 1 else states[:, 1:2])
        runs.period[rows] = T / samples
    else:
        states[:, 1] = runs.z[rows]
    alive = ~runs.failed[rows]
    later = np.empty((int(alive.sum()), samples, states.shape[2]))
    runs.go(rows[alive], samples, later)
    states[alive, 2:] = later
    return states


def _unsettled(
    runs: PeriodicRuns, name: str, values: Array, settled: NDArray[np.bool_], change: Array, to_come: Array
) -> str:  # fmt: skip
    """The values without a steady response, and why; empty if all have one."""
    n, failed, moving = len(values), np.flatnonzero(runs.failed), np.flatnonzero(~settled & ~runs.failed)
    if len(failed):
        k = int(failed[0])
        return f"{len(failed)} of {n} motions ended early, the first at {name} = {values[k]:.6g}: {runs.said(k)}"
    if len(moving):
        k = int(moving[0])
        first = f"the first at {name} = {values[k]:.6g}, by {change[k]:.1e} of its extent"
        first += f" with {to_come[k]:.1e} to come" if np.isfinite(to_come[k]) and to_come[k] > 2 * change[k] else ""
        return f"{len(moving)} of {n} motions still change after a period, {first}: skip= more periods, or another period="
    return ""


__all__ = ["FrequencyResponse", "frequency_response"]
