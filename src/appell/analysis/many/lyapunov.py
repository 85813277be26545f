"""Lyapunov exponents: growth rates of perturbations in every direction admitted by the constraints.

    Φ(t_{k+1}, t_k) Q_k = Q_{k+1} R_{k+1},        λ_i = lim 1/T Σ_k log (R_k)_ii

Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980) 9, with Φ from `variations`, also through impacts. The sum of
all exponents is the mean divergence of the flow, plus 2 log e for each impact with restitution e. Q_0 is a random basis: axes
may be invariant (along them a Chaplygin sleigh moves or only turns), and growth stays where it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import atol_near, time_to_look
from appell.analysis.natural_scales import extents
from appell.analysis.orbits.variations import variations
from appell.analysis.requests import run_of, simulated
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.ensembles.ensemble_result import FINISHED_BUT
from appell.errors import ModelError, Status
from appell.model import System
from appell.model.values import finite
from appell.motion.result_frame import Result
from appell.reading import refuse_many, table_of
from appell.rows import range_of_projection
from appell.simulate.progress import reporter
from appell.simulate.start import read
from appell.tree import Tree

Array = NDArray[np.float64]

BLOCKS = 16
"""Number of parts of the run, from whose means the error is estimated."""
EXPONENT_INTERVALS = 1000
"""Number of renormalisations by default."""


EXPONENT_ATOL = 1e-12
"""Default atol, as a fraction of the smallest scale of the first interval."""
DIRECTION_LOST = 1e-11
"""After sticking or a map, a direction with less than this fraction of the largest growth in an interval is rounding."""
NARROWEST_GROWTH = 1e-5
"""Smallest fraction of the largest growth that is read from one matrix: it is off by about rtol = 1e-8 of the largest growth,
which changes the logarithm of this fraction by 1e-3 of 11.5. Over a longer time fast decays are lost in rounding."""
MOST_TIMES_HALVED = 7
"""How often an interval is halved until the growths of all directions are within that fraction of each other."""


@dataclass(frozen=True, eq=False, repr=False)
class Lyapunov(Result):
    """The spectrum of Lyapunov exponents, from `ap.lyapunov`.

    Attributes
    ----------
    exponents: λ, (d,), 1/s, the largest first; error: one standard error of each, from the means of `BLOCKS` parts of the run.
    t: (n,) times of renormalisation, s; growth: (n, d) Σ log R_ii until then.
    ok, message: whether the run was finished without doubts, and if not, why; the exponents are those until then.
    """

    system: System
    exponents: Array
    error: Array
    t: Array
    growth: Array
    ok: bool
    message: str

    @property
    def chaotic(self) -> bool:
        """Whether the largest exponent exceeds zero by five standard errors, and perturbations have grown more than like t².

        In regular motions whose frequency depends on the amplitude they grow like t: the logarithm of it is no exponent.
        """
        most_regular = 2 * np.log1p(len(self.t))
        return bool(len(self.exponents) and self.exponents[0] > 5 * self.error[0] > 0 and self.growth[-1, 0] > most_regular)

    def variables(self) -> Mapping[str, Any]:
        """`exponent` and `error` over `number`, `growth` over (t, number)."""
        return {
            "exponent": ("number", self.exponents, {"units": "1/s", "long_name": "Lyapunov exponent"}),
            "error": ("number", self.error, {"units": "1/s", "long_name": "standard error"}),
            "growth": (("t", "number"), self.growth, {"units": "1", "long_name": "sum of log R_ii"}),
        }

    def coords(self) -> Mapping[str, Any]:
        return {"t": ("t", self.t, {"units": "s", "long_name": "time"})}

    def plot(self, ax: Any = None) -> Any:
        """Plots the convergence of the exponents over time; returns the figure."""
        return delegate("Lyapunov.plot")(self, ax)

    def __str__(self) -> str:
        values = ", ".join(f"{x:.5g} ± {e:.1g}" for x, e in zip(self.exponents, self.error, strict=True))
        return f"Lyapunov exponents of '{self.system.name}', 1/s: {values}; {self.message}"


def lyapunov(
    system: System | Tree | Run,
    start: Mapping[Any, Any] | None = None,
    until: float | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    every: float | None = None,
    skip: float = 0.0,
    since: float = 0.0,
    progress: Any = False,
    **options: Any,
) -> Lyapunov:
    """The whole spectrum of Lyapunov exponents along a motion, through impacts, sticking, slipping and resets, on the
    constraints. A direction lost permanently by sticking, a landing or a map has the exponent −∞.

    Parameters
    ----------
    until, since, skip: end and start, s, and the transient of motion and directions before averaging, s. The end is by default
    `EXPONENT_INTERVALS` times `every` behind the transient.
    every: time between two renormalisations, s; short compared with 1/λ. By default T/2π with the period T of the forcing, or a
    time T in which the motion from the start changes, and at least `BLOCKS` times before `until`.
    Other options are those of `ap.simulate`; atol is 1e-12 of the smallest scale of the first interval by default. Where
    variations end (grazing, several simultaneous impacts) the result is partial and says so.
    """
    run, begin = run_of(system, parameters, options, start), dict(table_of(start, "start="))
    times, settle = _schedule(run, begin, until, every, skip, since)
    if options.get("atol") is None:
        options["atol"] = atol_near(run, begin, float(times[0]), float(times[1] - times[0]), EXPONENT_ATOL, options)
    spread, rows, message = _Spread(run, begin, options), [], ""
    report = reporter(progress, float(times[0]), float(times[-1]))
    try:
        for begin, end in pairwise(times):
            growth, message = spread.over(float(begin), float(end))
            if message:
                break
            rows.append(growth)
            if report is not None:
                report(float(end))
    except KeyboardInterrupt:
        message = f"interrupted at t = {times[len(rows)]:g}"
    finally:
        if report is not None:
            report.close()
    if len(rows) <= settle:
        raise ModelError(f"no exponent can be taken: {message}")
    message = message or (FINISHED_BUT + spread.doubts[0] if spread.doubts else "")
    return _gathered(run.system, times[settle:], np.array(rows[settle:]), message)


def _schedule(run: Run, start: Mapping[Any, Any], until: Any, every: Any, skip: Any, since: Any) -> tuple[Array, int]:
    """Times of renormalisation, and the number of intervals in the transient."""
    skip, since = finite(skip, "skip="), finite(since, "since=")
    last = None if until is None else finite(until, "until=")
    if every is None:
        natural = time_to_look(run, since, np.concatenate(read(run.system, start))) / (2 * np.pi)
        every = natural if last is None or not last > since + skip else min(natural, (last - since - skip) / BLOCKS)
    every = finite(every, "every=")
    until = since + skip + EXPONENT_INTERVALS * every if last is None else last
    if not (every > 0 and until > since + skip >= since):
        raise ModelError(f"every = {every:g} must be positive, and until = {until:g} after since + skip = {since + skip:g}")
    refuse_many(int(min((until - since) / every, 1e300)), f"{(until - since) / every:.3g} renormalisations", width=8 * 4)
    settle, count = (max(least, round(span / every)) for span, least in ((skip, 0), (until - since - skip, 1)))
    early = np.linspace(since, since + skip, settle + 1)[:-1] if settle else np.zeros(0)
    return np.append(early, np.linspace(since + skip, until, count + 1)), settle


class _Spread:
    """Perturbations Q along a motion, reorthonormalized after each interval: Φ Q = Q' R."""

    def __init__(self, run: Run, state: Mapping[Any, Any], options: Mapping[str, Any]):
        self.run, self.state, self.options, self.Q = run, state, options, None
        self.doubts: tuple[str, ...] = ()  # of the first doubtful interval
        self.S = np.ones(run.system.nq + run.system.nv)
        dry = any(friction.regularise is None for friction in run.system.frictions)
        self.loses = bool(dry or run.system.resets)  # sticking, maps and landings remove directions
        self.halvings = 0  # of the latest interval

    def over(self, begin: float, end: float) -> tuple[Array, str]:
        """log R_ii of the next interval, (d,), and, if there is none, why.

        The interval is halved as often as needed until growths are near enough to each other to be read from one matrix.
        """
        while True:
            before = self.state, self.Q, self.S, self.loses, self.doubts
            growth, apart, message = self._over_parts(np.linspace(begin, end, 2**self.halvings + 1))
            if message:
                return np.zeros(0), message
            if apart < 1:
                self.halvings -= bool(self.halvings and apart < 0.4)
                return growth, ""
            if self.halvings == MOST_TIMES_HALVED:
                if np.isneginf(growth).any():
                    return np.zeros(0), f"a direction is lost for ever at t = {end:g}: its exponent is minus infinity"
                self.doubts = self.doubts or (
                    f"near t = {end:g} directions shrink too fast to be resolved, and the smallest exponents are rounding: "
                    "shorten every=",
                )
                return growth, ""
            self.state, self.Q, self.S, self.loses, self.doubts = before
            self.halvings += 1

    def _over_parts(self, times: Array) -> tuple[Array, float, str]:
        """Σ log R_ii, (d,), the largest distance between growths in a part, where 1 is still read from one matrix, and why
        there is none."""
        total, most, last = np.zeros(1), 0.0, self.halvings == MOST_TIMES_HALVED
        for begin, end in pairwise(times):
            growth, apart, message = self._over_part(float(begin), float(end))
            total, most = (total + growth, max(most, apart)) if not message else (growth, 0.0)
            if message or (most >= 1 and not last):
                return total, most, message
        return total, most, ""

    def _over_part(self, begin: float, end: float) -> tuple[Array, float, str]:
        motion = simulated(self.run, self.state, end, since=begin, **self.options)
        if motion.status is not Status.OK:
            return np.zeros(0), 0.0, motion.message
        derivatives = variations(motion, by=[], times=[begin, end])
        if not derivatives.complete:
            return np.zeros(0), 0.0, derivatives.message
        self.doubts = self.doubts or motion.doubts
        if self.Q is None:  # in units of the motion: SI may set the directions of q and v apart by more than all digits
            states = np.hstack([motion.q, motion.v])
            self.S = extents(self.run, begin, states, end - begin)
            Q = range_of_projection(derivatives.state[0] * self.S / self.S[:, None])
            self.Q = Q @ np.linalg.qr(np.random.default_rng(1).normal(size=(Q.shape[1],) * 2))[0]
        self.loses = self.loses or any(event.kind == "landing" for event in motion.impacts)
        self.Q, R = np.linalg.qr(derivatives.state[-1] * self.S / self.S[:, None] @ self.Q)
        size = np.abs(np.diag(R))
        if self.loses:
            size = np.where(size > DIRECTION_LOST * size.max(initial=0.0), size, 0.0)
        self.state = motion.final
        with np.errstate(divide="ignore"):
            growth = np.log(size)
        at_once = self.loses or len(motion.impacts)  # a shorter part would not bring them nearer
        apart = 0.0 if at_once and (self.loses or (size > 0).all()) else np.ptp(growth) / -np.log(NARROWEST_GROWTH)
        return growth, float(apart), ""


def _gathered(system: System, times: Array, rows: Array, message: str) -> Lyapunov:
    n, T = len(rows), times[len(rows)] - times[0]
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    rows = rows[:, order]
    growth, steps = np.cumsum(rows, axis=0), np.diff(times[: n + 1])[:, None]
    blocks = [block for block in np.array_split(rows / steps, min(BLOCKS, n)) if len(block)]
    means = np.array([block.mean(axis=0) for block in blocks])
    with np.errstate(invalid="ignore"):
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.full(rows.shape[1], np.inf)
    error = np.where(np.isneginf(growth[-1]), 0.0, error)
    return Lyapunov(system, growth[-1] / T, error, times[1 : n + 1], growth, not message, message or "complete")


__all__ = ["Lyapunov", "lyapunov"]
