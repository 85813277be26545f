"""Poincaré sections: the states at which a motion crosses a surface.

    s(t, q, v) = 0,  crossed upwards (direction 1), downwards (−1) or either way (0)

A section is any expression of t, coordinates, velocities and parameters, or a unilateral constraint: its impacts, with the
state after them. All changes of sign are found, up to rounding: they are isolated by a bound along the steps
(`appell.motion.zeros`). Values below the rounding of their terms count as zero. A section that jumps, such as a phase modulo
2π, is crossed only where it is continuous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import atol_near
from appell.analysis.requests import run_of, simulated, state_column, state_variables
from appell.backends import silence, warn
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.ensembles.ensemble_result import FINISHED_BUT
from appell.errors import ModelError, Status
from appell.jets import expression
from appell.model import Between, System, Unilateral
from appell.model.values import finite
from appell.motion.motion import Motion
from appell.motion.result_frame import Result
from appell.motion.zeros import CROSSED, Zeros, motion_zeros
from appell.reading import shown, table_of, text_of, whole
from appell.simulate.progress import reporter
from appell.tree import Tree

Array = NDArray[np.float64]

STEPS_WITHOUT_CROSSING = 5000
"""Integrator steps without a crossing after which the search stops, and the most in an interval before the first one."""
FIRST_SPAN = 9.87654
"""The first interval, s, if it takes no more steps: not a round number, so that its end is not on a section."""
SPANS_WITHOUT_CROSSING = 7, 100
"""Intervals without a crossing, each twice as long as the one before it, after which the search may stop, and stops."""
SECTION_ATOL = 1e-12
"""Default atol, as a fraction of the smallest scale of the motion from the start."""


@dataclass(frozen=True, eq=False, repr=False)
class Section(Result):
    """Crossings of a section, from `ap.poincare`.

    Attributes
    ----------
    t: (n,) times, s; q: (n, nq), v: (n, nv), SI, the states there.
    skipped: number of earlier crossings that were skipped.
    ok, message: whether the requested number was found, by a motion without doubts, and if not, why.
    atol: the absolute tolerance of the motion.
    """

    system: System
    section: str
    t: Array
    q: Array
    v: Array
    skipped: int
    ok: bool
    message: str
    atol: float = 0.0

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key: Any) -> Array:
        """A coordinate or velocity at the crossings, (n,), by symbol or name."""
        return np.hstack([self.q, self.v])[:, state_column(self.system, key)]

    def variables(self) -> Mapping[str, Any]:
        """Time and every coordinate and velocity over the dimension `crossing`."""
        t = {"t": (("crossing",), self.t, {"units": "s", "long_name": "time"})}
        return {**t, **state_variables(self.system, ("crossing",), np.hstack([self.q, self.v]))}

    def attributes(self) -> Mapping[str, Any]:
        return {**super().attributes(), "section": self.section}

    def plot(self, x: Any = None, y: Any = None, ax: Any = None, **style: Any) -> Any:
        """Plots two coordinates or velocities against each other, by default the first coordinate and its velocity, or others
        if one of these is constant on the section; returns the figure."""
        horizontal, vertical = self._default_axes()
        x, y = x if x is not None else horizontal, y if y is not None else vertical
        return delegate("Section.plot")(self[x], self[y], str(x), str(y), ax, **style)

    def _default_axes(self) -> tuple[Any, Any]:
        """The first coordinate and its velocity, replaced by the next ones if constant on the section."""
        system, z = self.system, np.hstack([self.q, self.v])
        symbols = (*system.positions, *system.velocities)
        pairs = [s for pair in zip(system.positions, system.velocities, strict=False) for s in pair]
        order = list(dict.fromkeys([*pairs, *symbols]))
        moves = lambda s: bool(len(z)) and np.ptp(z[:, symbols.index(s)]) > 1e-9 * np.abs(z[:, symbols.index(s)]).max()
        chosen = [*filter(moves, order), *(s for s in order if not moves(s))]
        return (chosen[0], chosen[1]) if sum(map(moves, order)) > 1 else (order[0], order[1])

    def __str__(self) -> str:
        return f"{len(self)} crossings of {self.section} = 0; {self.message}"


def poincare(
    system: System | Tree | Run,
    section: Any,
    start: Mapping[Any, Any] | None = None,
    until: float | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    count: int = 100,
    direction: int = 1,
    skip: int = 0,
    since: float = 0.0,
    progress: Any = False,
    **options: Any,
) -> Section:
    """The states at which a motion crosses a section.

    Parameters
    ----------
    section: an expression of t, coordinates, velocities and parameters; or a unilateral constraint (object or name) for its
        impacts. `sin(omega*t)` crossed upwards is a stroboscope of the period 2π/ω. A jump across zero is not a crossing.
    count, skip: number of crossings, after this number of skipped ones.
    direction: 1 upwards, −1 downwards, 0 both.
    until: latest time, s; by default as far as needed, or until no further crossing is expected.
    atol: 1e-12 of the smallest scale of the motion near the start by default.
    progress: True for a bar, or a function of the number of crossings found. Ctrl-C returns what is done.
    Other options are those of `ap.simulate`.
    """
    count, skip, since = whole(count, "count=", 1), whole(skip, "skip=", 0), finite(since, "since=")
    until = None if until is None else finite(until, "until=")
    if not isinstance(direction, int | float | np.number) or direction not in (-1, 0, 1):
        raise ModelError(f"direction = {shown(direction)} must be 1, −1 or 0")
    run = run_of(system, parameters, options, start)
    collector = _Collector(run, section, direction, count + skip, options)
    report = reporter(progress, 0, count + skip)
    collector.measure(dict(table_of(start, "start=")), since)
    try:
        return collector.collect(dict(table_of(start, "start=")), since, until, skip, report)
    finally:
        if report is not None:
            report.close()


class _Collector:
    """Follows a motion interval by interval and collects crossings."""

    def __init__(self, run: Run, section: Any, direction: int, wanted: int, options: Mapping[str, Any]):
        self.run, self.direction, self.count, self.options = run, direction, wanted, options
        self.face = _face(run.system, section)
        self.name = self.face or text_of(section)
        self.expression = None if self.face else expression(section, "a section")
        self.crossings: list[tuple[float, Array, Array]] = []
        self.zeros: Zeros | None = None  # of the last interval: the section may be zero at its end
        self.unbounded: float | None = None
        self.doubts: tuple[str, ...] = ()  # of the first doubtful interval

    def measure(self, start: Mapping[Any, Any], since: float) -> None:
        """Takes the absolute tolerance, if none was given, from the size of the motion near the start."""
        if self.options.get("atol") is None:
            self.options = {**self.options, "atol": atol_near(self.run, start, since, None, SECTION_ATOL, self.options)}

    def collect(self, start: Mapping[Any, Any], since: float, until: float | None, skip: int, report: Any) -> Section:
        t, span, state, empty, steps, message = float(since), FIRST_SPAN, dict(start), 0, 0, ""
        try:
            while len(self.crossings) < self.count:
                end = t + span if until is None else min(t + span, float(until))
                count_before = len(self.crossings)
                motion, end = self._interval(state, end, t)
                self.doubts = self.doubts or motion.doubts
                self.crossings += (
                    self._after_impacts(motion)
                    if self.face
                    else self._crossings(motion, self._motion_at(motion, state, end, t))
                )
                if motion.status is not Status.OK:
                    message = f"the motion ended early: {motion.message}"
                    break
                state, span, t = motion.final, end - t, end
                if report is not None:
                    report(min(len(self.crossings), self.count))
                if until is not None and t >= until:
                    message = f"t = {until:g} was reached"
                    break
                rate = len(self.crossings) - count_before
                empty = 0 if rate else empty + 1
                steps = 0 if rate else steps + int(motion.statistics["steps"])
                may, must = SPANS_WITHOUT_CROSSING
                if empty >= may and (steps > STEPS_WITHOUT_CROSSING or empty >= must):
                    message = f"nothing is crossed until t = {t:g}"
                    break
                missing = self.count - len(self.crossings)
                span = 2 * span if not rate else float(np.clip(1.05 * span * missing / rate, 0.1 * span, 4 * span))
        except KeyboardInterrupt:
            message = f"interrupted at t = {t:g}"
        rows = self.crossings[skip : self.count]
        if self.unbounded is not None:
            warn(f"the section {self.name} could not be bounded near t = {self.unbounded:.6g}: a crossing may be missing")
        nq, nv = self.run.system.nq, self.run.system.nv
        if len(rows) < self.count - skip:
            message = f"{len(rows)} of {self.count - skip} crossings: {message}"
        elif self.doubts:
            message = FINISHED_BUT + self.doubts[0]
        return Section(
            self.run.system, self.name, np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]).reshape(-1, nq), np.array([row[2] for row in rows]).reshape(-1, nv),
            min(skip, len(self.crossings)), len(rows) == self.count - skip and not self.doubts,
            message or "complete", float(np.max(self.options["atol"])),
        )  # fmt: skip

    def _interval(self, state: Mapping[Any, Any], end: float, since: float) -> tuple[Motion, float]:
        """The motion of an interval, and its end. Before the first crossing nothing says how long it should be: it ends after
        a number of steps at most."""
        if self.crossings:
            return simulated(self.run, state, end, since=since, **self.options), end
        most = self.options.get("max_steps", np.inf)
        with silence():
            motion = simulated(
                self.run, state, end, since=since, **{**self.options, "max_steps": int(min(most, STEPS_WITHOUT_CROSSING))}
            )
        end_reached = float(motion.t[-1])
        if motion.status is not Status.MAX_STEPS or most <= STEPS_WITHOUT_CROSSING or end_reached == since:
            return motion, end
        return simulated(self.run, state, end_reached, since=since, **self.options), end_reached

    def _motion_at(self, motion: Motion, state: Mapping[Any, Any], end: float, since: float) -> Callable[[Array], Motion]:
        """The motion at other times: by repeating the run or, if it ended early, from its samples."""
        if motion.status is not Status.OK:
            return motion.at
        return lambda times: simulated(self.run, state, end, since=since, **{**self.options, "times": times})

    def _after_impacts(self, motion: Motion) -> list[tuple[float, Array, Array]]:
        """The states after the impacts on a face, in the order of the run."""
        sign = 1 if motion.t[-1] >= motion.t[0] else -1
        times = [event.time for event in motion.impacts[::sign] if event.constraint == self.face and event.kind == "impact"]
        samples = [int(np.flatnonzero(motion.t == time)[-1]) for time in times if (motion.t == time).any()]
        return [(float(motion.t[k]), motion.q[k], motion.v[k]) for k in samples]

    def _crossings(self, motion: Motion, motion_at: Callable[[Array], Motion]) -> list[tuple[float, Array, Array]]:
        if len(motion.t) < 2 or motion.t[-1] == motion.t[0]:
            return []
        sign = 1.0 if motion.t[-1] > motion.t[0] else -1.0
        zeros = motion_zeros(motion, self.expression, sign * np.unique(sign * motion.t), motion_at, self.zeros)
        self.zeros = zeros
        if len(zeros.unbounded):
            self.unbounded = float(zeros.unbounded[0])
        chosen = (zeros.kind == CROSSED) & ((zeros.direction == self.direction) | (self.direction == 0))
        at = zeros.time[chosen]
        if not len(at):
            return []
        state = motion_at(at)
        return [(float(t), q, v) for t, q, v in zip(state.t, state.q, state.v, strict=True)]


def _face(system: System, section: Any) -> str | None:
    """The name of the face used as a section; None for an expression."""
    names = {face.name for face in system.unilateral} | {face.source.name for face in system.unilateral}
    if isinstance(section, Between):
        raise ModelError(f"'{section.name}' has two faces; name one: '{section.name}:lower' or '{section.name}:upper'")
    if isinstance(section, Unilateral):
        section = section.name
    if isinstance(section, str):
        if section not in names:
            listed = ", ".join(sorted(names)) or "none"
            raise ModelError(f"'{section}' is no unilateral constraint of '{system.name}'; it has {listed}")
        return section
    return None


__all__ = ["Section", "poincare"]
