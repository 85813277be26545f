"""One run of an ensemble as a course: its steps with their dense output, along which reductions are accumulated.

    z(θ) = Σ c_k T_k(2θ − 1)        inside each step, through enough states for the polynomial of the method

An expression is evaluated at states of the course, in the mode that holds there; it is never interpolated itself. A step is
sampled in pieces, which are halved until a reduction meets its tolerance, as `reduce.c.in` does in lanes; here for all steps at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.branching import inside
from appell.compiled.run import Run
from appell.graph import Fn
from appell.graph.ranges import WITH_SIZES, ranges
from appell.loop.trace import Trace
from appell.model.multiplier import of_states
from appell.modes.events import Kind
from appell.reductions.accelerations import Modes
from appell.reductions.quadrature import (
    ALONG_UNITS,
    GAUSS,
    INFLATION,
    KRONROD,
    MOST_PIECES,
    NARROWEST_PIECE,
    NODES,
    RULE_ROUNDING,
    RULES_AGREE,
)
from appell.remember import kept_in

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

ROUNDING_ALONG = ALONG_UNITS * float(np.finfo(float).eps)
"""Relative rounding error of quantities computed along a course."""
STEPS_LOOKED_AT_TOGETHER = 2000
"""Most steps that are processed together, to bound memory."""


@dataclass(frozen=True, eq=False)
class Course:
    """The steps of a run: begin, length (steps,), s; states (steps, nodes, nz) at `nodes`, Chebyshev's of [0, 1].

    rtol, atol: those of the run. since: when it began, s.
    """

    run: Run
    trace: Trace
    begin: Array
    length: Array
    states: Array
    rtol: float
    atol: float
    since: float

    @staticmethod
    def nodes(count: int) -> Array:
        """Chebyshev extreme points on [0, 1], (count,), both ends included."""
        return (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2

    @property
    def relative(self) -> float:
        """rtol plus the rounding of quantities computed along the course."""
        return self.rtol + ROUNDING_ALONG

    @cached_property
    def coefficients(self) -> Array:
        """c, (steps, nodes, nz)."""
        n = self.states.shape[1]
        basis = np.polynomial.chebyshev.chebvander(2 * self.nodes(n) - 1, n - 1)
        return np.einsum("kn,snz->skz", np.linalg.inv(basis), self.states)

    @cached_property
    def modes(self) -> Modes:
        """The mode of each step."""
        return Modes.of(self.run, self.trace, inside(self.begin, self.begin + self.length))

    def at(self, step: Ints, theta: Array) -> tuple[Array, Array]:
        """Times (m,) and states (m, nz) at fractions θ of some steps; exact at the ends of a step."""
        basis = np.polynomial.chebyshev.chebvander(2 * theta - 1, self.states.shape[1] - 1)
        z = np.einsum("mk,mkz->mz", basis, self.coefficients[step])
        z[theta == 0], z[theta == 1] = self.states[step[theta == 0], 0], self.states[step[theta == 1], -1]
        t = self.begin[step] + theta * self.length[step]
        return np.where(theta == 1, np.nextafter(t, self.begin[step]), t), z  # a step may end where forces jump

    def evaluate(self, expression: Any, step: Ints, theta: Array) -> Array:
        """The expression at fractions θ of some steps, (m,)."""
        return self._inputs(expression, step, theta)[0]

    def _inputs(self, expression: Any, step: Ints, theta: Array) -> tuple[Array, dict[str, Array]]:
        """The expression at fractions θ of some steps, (m,), and the arrays of which it is a function."""
        t, z = self.at(step, theta)
        nq, nv = self.run.form.nq, self.run.form.nv
        arrays = {"t": t, "q": z[:, :nq], "v": z[:, nq : nq + nv], "p": self._parameters(step)}
        fn = lowered(self.run, expression)
        if any(port.name == "a" for port in fn.inputs):
            arrays["a"] = self.modes.accelerations(t, arrays["q"], arrays["v"], step)
        return self.values(fn, arrays), arrays

    def flights_left_out(self, expression: Any) -> tuple[float, float]:
        """What the last flights of bounces, which were not followed, add to ∫ e dt; and how far that may be off where several
        faces landed at one instant, whose flights do not last equally long.

        They count as contact from the landing on, and would have lasted until its time among the events. Velocities and heights
        in them are rounding, so that e differs by the accelerations only.
        """
        fn, zero = lowered(self.run, expression), (0.0, 0.0)
        if not self.trace.modes or all(port.name != "a" for port in fn.inputs):
            return zero
        steps, before = self.modes.begun(self.begin)
        durations = self._flight_times(self.begin[steps])
        chosen = np.flatnonzero([max(lasting, default=0.0) > 0 for lasting in durations])
        if not len(chosen):
            return zero
        steps, before, start = steps[chosen], before[chosen], np.zeros(len(chosen))
        in_contact, arrays = self._inputs(expression, steps, start)
        arrays["a"] = self.modes.accelerations_before(arrays["t"], arrays["q"], arrays["v"], steps, before)
        difference = np.nan_to_num(self.values(fn, arrays) - in_contact)
        longest, shortest = (np.array([extreme(durations[k]) for k in chosen]) for extreme in (max, min))
        return float(difference @ (longest + shortest)) / 2, float(np.abs(difference) @ (longest - shortest)) / 2

    def _flight_times(self, times: Array) -> list[list[float]]:
        """For each change of mode, the durations of the flights that were left out on the faces that landed then, s."""
        modes, landings = self.trace.modes, self.trace.events.joined()
        landings = landings[landings["kind"] == Kind.LANDING]
        on_face = {face: np.sort(landings["time"][landings["face"] == face]) for face in np.unique(landings["face"]).tolist()}
        changes = np.array([time for time, _ in modes])
        until, before = np.searchsorted(changes, times, side="right") - 1, np.searchsorted(changes, times, side="left") - 1
        durations = list[list[float]]()
        for time, now, earlier in zip(times, until, before, strict=True):
            landed = set(modes[now][1].resting) - set(modes[earlier][1].resting if earlier >= 0 else ())
            ends = [on_face[face][on_face[face] >= time][:1] for face in landed if face in on_face]
            durations.append([float(end[0] - time) for end in ends if len(end)])
        return durations

    def _parameters(self, step: Ints) -> Array:
        """Parameters of the run, (np,); with records or sampled inputs, which change from step to step, (m, np)."""
        if self.run.schedule is None:
            return self.run.p
        begin = self.begin[step]
        return self.run.schedule.put(self.run.p, inside(begin, begin + self.length[step]))

    def values(self, fn: Fn, known: dict[str, Array]) -> Array:
        """A function of arrays by name, with the parameters of the run unless others are among them."""
        inputs = [known.get("p", self.run.p) if port.name == "p" else known[port.name] for port in fn.inputs]
        with np.errstate(all="ignore"):
            return np.array(np.broadcast_to(self.run._evaluate(fn, inputs)["value"], known["t"].shape))

    def sample(self, expression: Any, step: Ints, start: Array, width: Array) -> StepPieces:
        """Samples of pieces of steps; start, width: in fractions of the step."""
        m, n = len(step), len(NODES)
        theta = start[:, None] + width[:, None] * NODES
        theta[:, -1] = start + width
        g, arrays = self._inputs(expression, np.repeat(step, n), theta.ravel())
        fn, inputs = ranges(lowered(self.run, expression), ("p",), WITH_SIZES), []
        for port in lowered(self.run, expression).inputs:
            if port.name == "p":
                inputs.append(self._parameters(step))
                continue
            values = arrays[port.name].reshape(m, n, *arrays[port.name].shape[1:])
            lo, hi = values.min(axis=1), values.max(axis=1)
            if port.name != "t":
                middle, half = (lo + hi) / 2, INFLATION * (hi - lo) / 2
                lo, hi = middle - half, middle + half
            inputs += [lo, hi]
        with np.errstate(all="ignore"):
            bounds = self.run._evaluate(fn, inputs)
        low, high, rough, size = (np.broadcast_to(bounds[key].reshape(-1), m) for key in ("lo", "hi", "rough", "size"))
        return StepPieces(step, start, width, g.reshape(m, n), low, high, rough, size, np.zeros(m, dtype=bool))

    def pieces(self, expression: Any, accurate: Callable[[StepPieces], Bools]) -> StepPieces:
        """All steps in pieces that meet the tolerance, or are as narrow as possible, in the order of time."""
        blocks = np.array_split(np.arange(len(self.begin)), max(1, -(-len(self.begin) // STEPS_LOOKED_AT_TOGETHER)))
        halved = [self._halved(expression, block, accurate) for block in blocks]
        return StepPieces(*(np.concatenate([getattr(part, c.name) for part in halved]) for c in fields(StepPieces)))

    def _halved(self, expression: Any, step: Ints, accurate: Callable[[StepPieces], Bools]) -> StepPieces:
        """Some steps in pieces, halved until `accurate` or as narrow as possible."""
        start, width, finished = np.zeros(len(step)), np.ones(len(step)), list[StepPieces]()
        count = np.zeros(len(self.begin), dtype=int)
        while True:
            sampled = self.sample(expression, step, start, width)
            met = accurate(sampled)
            np.add.at(count, step, 1)
            nowhere = ~np.isfinite(sampled.g).any(axis=1)  # undefined throughout: narrower pieces would be, too
            ended = met | nowhere | (width <= NARROWEST_PIECE) | (count[step] >= MOST_PIECES)
            finished.append(sampled.selected(ended, met[ended]))
            if ended.all():
                break
            step, start, width = np.repeat(step[~ended], 2), np.repeat(start[~ended], 2), np.repeat(width[~ended] / 2, 2)
            start[1::2] += width[1::2]
        joined = StepPieces(*(np.concatenate([getattr(part, c.name) for part in finished]) for c in fields(StepPieces)))
        return joined.selected(np.lexsort((joined.start, joined.step)))


@dataclass(frozen=True, eq=False)
class StepPieces:
    """Pieces of steps: `start` and `width` in fractions of their `step`, (m,).

    g (m, nodes): the expression at the nodes; low, high, rough, terms: its range over the piece and the size of its terms
    (`graph.ranges`); accurate: whether the tolerance is met.
    """

    step: Ints
    start: Array
    width: Array
    g: Array
    low: Array
    high: Array
    rough: Array
    terms: Array
    accurate: Bools

    def selected(self, chosen: Any, accurate: Bools | None = None) -> StepPieces:
        """Some of the pieces, with other values of `accurate` if given."""
        columns = {column.name: getattr(self, column.name)[chosen] for column in fields(self)}
        return StepPieces(**{**columns, **({} if accurate is None else {"accurate": accurate})})

    @property
    def mean(self) -> Array:
        """Mean of e over each piece, (m,)."""
        return self.g @ KRONROD

    @property
    def rule_difference(self) -> Array:
        """Difference between the shorter and the longer rule, (m,)."""
        return np.abs(self.g @ (KRONROD - GAUSS))

    @property
    def size(self) -> Array:
        """Mean of |e| over each piece, (m,)."""
        return np.abs(self.g) @ KRONROD

    @property
    def spread(self) -> Array:
        """Mean deviation of e from its mean, (m,)."""
        return np.abs(self.g - self.mean[:, None]) @ KRONROD

    @property
    def resolved(self) -> Bools:
        """Whether the nodes determine the expression."""
        with np.errstate(invalid="ignore"):
            return (self.rough <= 1) & (self.rule_difference <= RULES_AGREE * self.spread + self.rounding)

    @property
    def level(self) -> Bools:
        """Whether the expression varies by no more than its rounding; not by its terms alone, which are large near a pole."""
        with np.errstate(invalid="ignore"):
            return self.high - self.low < RULE_ROUNDING * self.terms

    @property
    def rounding(self) -> Array:
        """Rounding error of the difference between both rules, (m,)."""
        return RULE_ROUNDING * np.fmax(self.size, self.terms)


def lowered(run: Run, expression: Any) -> Fn:
    """The expression as a function of t, q, v, p and accelerations."""
    functions = kept_in(run.form, "reduced expressions")
    if expression not in functions:
        functions[expression] = run.form.lowered(of_states(run.system.in_velocities(expression)))
    return functions[expression]


__all__ = ["ROUNDING_ALONG", "Course", "StepPieces", "lowered"]
