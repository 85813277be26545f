"""The model's prediction of an experiment, and its derivatives with respect to the unknowns.

    y_c(t_k; θ),        ∂y_c/∂θ = ∂y_c/∂z (Φ ∂z_0/∂θ + Ψ) + ∂y_c/∂p        z = (q, v), Φ and Ψ of `ap.variations`

Derivatives are exact where `ap.variations` applies, also through impacts; elsewhere (friction, a graze, measured accelerations)
they are central differences of whole motions, and `exact` is False.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import natural_tolerance
from appell.analysis.orbits.variations import Variations, variations
from appell.analysis.requests import simulated
from appell.errors import AppellError, ModelError, Status
from appell.jets import partial
from appell.model import System
from appell.motion.motion import Motion
from appell.optimize.experiments import Channel, Experiment
from appell.optimize.state_sizes import StateSizes, inertia_roots
from appell.reading import text_of
from appell.simulate.start import consistent

Array = NDArray[np.float64]

STEP_OF_MOTIONS = 1e-4
"""Step relative to the size of an unknown: central differences then have truncation errors of 1e-8, and errors of 1e-5 from an
integration tolerance of 1e-9."""


SHARE_OF_SIZE = 1e-12
"""Absolute tolerance of motions as a fraction of the smallest size of a state."""


STEP_OF_STARTS = 1e-5
"""Step of start values on constraints, relative to the size of an unknown; such states are found to 1e-12."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """A number to be found: a parameter (`experiment` None), or the start value of a state in one experiment."""

    name: str
    symbol: Any
    experiment: int | None
    guess: float
    low: float
    high: float
    scale: float = 0.0  # the size of its state along the motion with the first guesses; see `with_parameter_scales`

    @property
    def size(self) -> float:
        """Its size: its absolute value, its scale or the interval of its bounds; 1 if nothing determines it."""
        known = max(abs(self.guess), self.scale)
        return known or (self.high - self.low if np.isfinite(self.high - self.low) else 1.0)


def in_natural_units(prediction: Prediction) -> Prediction:
    """The same with an absolute tolerance in proportion to the motion, unless one is given, and with sizes of start values."""
    requested_atol, sizes_with = prediction.options.get("atol"), prediction.sizes
    largest_start = max((abs(x) for x in prediction.experiment.start.values() if isinstance(x, int | float)), default=0.0)
    atol = natural_tolerance(SHARE_OF_SIZE, float(largest_start), sizes_with) if requested_atol is None else requested_atol
    sizes, state = sizes_with(atol), (*prediction.system.positions, *prediction.system.velocities)
    scale = lambda unknown: 0.0 if sizes is None else float(sizes[state.index(unknown.symbol)])
    unknowns = [
        replace(unknown, scale=scale(unknown)) if unknown.experiment == prediction.number else unknown
        for unknown in prediction.unknowns
    ]
    options = {**prediction.options, "atol": atol}
    rescaled = Prediction(prediction.system, prediction.number, prediction.experiment, unknowns, prediction.since, options)
    return rescaled.of(with_parameter_scales(rescaled))


def with_parameter_scales(prediction: Prediction) -> tuple[Unknown, ...]:
    """The unknowns, with scales for the parameters whose first guess is 0: the value that changes the prediction by as much as
    its own size, min_c max|y_c|/max|∂y_c/∂θ|, at most the interval of its bounds; 0 if nothing determines a scale."""
    unscaled = [
        j for j in prediction.own_unknowns if prediction.unknowns[j].experiment is None and not prediction.unknowns[j].guess
    ]
    theta = np.array([unknown.guess for unknown in prediction.unknowns])
    predicted = prediction(theta) if unscaled else None
    if predicted is None:
        return prediction.unknowns
    unknowns, slopes = list(prediction.unknowns), prediction.slopes(theta, predicted)
    for j in unscaled:
        pairs = [
            (np.abs(y).max(), np.abs(slope[:, j]).max()) for y, slope in zip(predicted.values, slopes, strict=True) if len(y)
        ]
        scales = [size / slope for size, slope in pairs if size > 0 and 0 < slope < np.inf]
        unknowns[j] = replace(unknowns[j], scale=min([*scales, unknowns[j].high - unknowns[j].low]) if scales else 0.0)
    return tuple(unknowns)


@dataclass(frozen=True, eq=False)
class Predicted:
    """A motion of one experiment at its times, with the values of its channels, (k,) each."""

    motion: Motion
    values: tuple[Array, ...]


class Prediction:
    """The model of one experiment as a function of the unknowns θ, (n,)."""

    def __init__(
        self, system: System, number: int, experiment: Experiment, unknowns: Sequence[Unknown], since: float,
        options: Mapping[str, Any],
    ):  # fmt: skip
        self.system, self.number, self.experiment = system, number, experiment
        self.unknowns, self.since, self.options = tuple(unknowns), since, dict(options)
        self.exact = True  # whether the last derivatives were exact
        self.failure = ""
        self.work = 0  # evaluations of the right-hand side in all motions so far

    def of(self, unknowns: Sequence[Unknown]) -> Prediction:
        """The same with the sizes of other unknowns."""
        return Prediction(self.system, self.number, self.experiment, unknowns, self.since, self.options)

    @property
    def own_unknowns(self) -> list[int]:
        """The unknowns that this experiment depends on."""
        return [j for j, unknown in enumerate(self.unknowns) if unknown.experiment in (None, self.number)]

    def __call__(self, theta: Array) -> Predicted | None:
        """The motion with these unknowns; None where it does not reach the end, or cannot start (`failure` is the reason)."""
        try:
            motion = self.motion(theta, times=self.experiment.times)
        except ModelError as error:
            if not self.failure:
                self.failure = str(error)
            return None
        except AppellError as error:
            self.failure = str(error)
            return None
        self.work += int(motion.statistics.get("evaluations", 0))
        if motion.status is not Status.OK:
            self.failure = motion.message
            return None
        values = tuple(np.asarray(motion[channel.expression], float) for channel in self.experiment.channels)
        return Predicted(motion, values) if all(np.isfinite(y).all() for y in values) else None

    def sizes(self, atol: float) -> Array | None:
        """Sizes of the states along the motion with the first guesses, (nq + nv,); None where it does not reach the end."""
        try:
            motion = self.motion(np.array([unknown.guess for unknown in self.unknowns]), atol=atol)
        except AppellError:
            return None
        z = np.hstack([motion.q, motion.v])
        if motion.status is not Status.OK or not np.isfinite(z).all():
            return None
        states = [(float(motion.t[k]), z[k]) for k in (0, len(z) // 2, -1)]
        roots = inertia_roots(motion.run.form, states, motion.run.p_at(float(motion.t[0])))
        return StateSizes(self.system.nq, np.zeros(z.shape[1]), roots).over([z])

    @property
    def has_velocity(self) -> bool:
        """Whether a quantity jumps where a velocity does."""
        moving = {*self.system.velocities, *self.system.accelerations}
        return any(channel.expression.free_symbols & moving for channel in self.experiment.channels)

    def start(self, theta: Array) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """(parameters, start values) with these unknowns; where there are constraints, other start values give way to them."""
        parameters, start = dict(self.experiment.parameters), dict(self.experiment.start)
        for j in self.own_unknowns:
            unknown = self.unknowns[j]
            table = parameters if unknown.experiment is None else start
            for key in [key for key in table if text_of(key) == str(unknown.symbol)]:
                del table[key]
            table[unknown.symbol] = float(theta[j])
        if self.system.constraints and self.own_unknowns:
            symbols = [self.unknowns[j].symbol for j in self.own_unknowns if self.unknowns[j].experiment is not None]
            start = consistent(self.system, start, parameters, since=self.since, hold=symbols)
        return parameters, start

    def _start_slopes(self, theta: Array) -> dict[int, Array]:
        """Unknown → ∂z_0/∂θ_j, (nz,), by central differences where constraints make start values depend on each other."""
        state = (*self.system.positions, *self.system.velocities)
        slopes = {j: np.zeros(len(state)) for j in self.own_unknowns}
        if not self.system.constraints:
            for j in (j for j in self.own_unknowns if self.unknowns[j].experiment is not None):
                slopes[j][state.index(self.unknowns[j].symbol)] = 1.0
            return slopes
        for j in self.own_unknowns:
            sides, step = [], STEP_OF_STARTS * max(abs(theta[j]), 1e-3 * self.unknowns[j].size)
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[j] = np.clip(theta[j] + sign * step, self.unknowns[j].low, self.unknowns[j].high)
                start = self.start(moved)[1]
                sides.append((moved[j], np.array([float(start[s]) for s in state])))
            (theta_above, z_above), (theta_below, z_below) = sides
            slopes[j] = (z_above - z_below) / (theta_above - theta_below)
        return slopes

    def motion(self, theta: Array, times: Array | None = None, **more: Any) -> Motion:
        """The motion with these unknowns, at its own steps unless times are given; more: options in place of the given ones."""
        parameters, start = self.start(theta)
        until = float(self.experiment.times[-1])
        return simulated(self.system, start, until, parameters, since=self.since, times=times, **{**self.options, **more})

    def slopes(self, theta: Array, at: Predicted) -> tuple[Array, ...]:
        """∂y_c/∂θ, (k, n) for each channel."""
        smooth = not any(_has_acceleration(self.system, c) for c in self.experiment.channels)
        varied = self._varied(at) if smooth else None
        self.exact = varied is not None
        if varied is None:
            return self._by_differences(theta, at)
        starts = self._start_slopes(theta)
        return tuple(self._by_chain(c, at, varied, starts) for c in self.experiment.channels)

    def _varied(self, at: Predicted) -> Variations | None:
        parameters = [self.unknowns[j].symbol for j in self.own_unknowns if self.unknowns[j].experiment is None]
        try:
            result = variations(at.motion, by=parameters, times=self.experiment.times)
        except AppellError:  # friction, records: no variations
            return None
        return result if result.complete and np.isfinite(result.state).all() and np.isfinite(result.parameters).all() else None

    def _by_chain(self, channel: Channel, at: Predicted, variation: Variations, starts: Mapping[int, Array]) -> Array:
        """∂y_c/∂θ, (k, n), by the chain rule through the derivatives of the state; starts: unknown → ∂z_0/∂θ_j."""
        k, system = len(self.experiment.times), self.system
        value = lambda expr: np.asarray(at.motion[expr], float) if expr.free_symbols else np.full(k, float(expr))
        state = (*system.positions, *system.velocities)
        by_state = {i: value(slope) for i, s in enumerate(state) if (slope := partial(channel.expression, s)) != 0}
        slopes, column = np.zeros((k, len(self.unknowns))), 0
        for j in self.own_unknowns:
            unknown, moved = self.unknowns[j], variation.state @ starts[j]
            if unknown.experiment is None:
                moved, column = moved + variation.parameters[:, :, column], column + 1
                direct = partial(channel.expression, unknown.symbol)
                slopes[:, j] = value(direct) if direct != 0 else 0.0
            for i, slope in by_state.items():
                slopes[:, j] += slope * moved[:, i]
        return slopes

    def _by_differences(self, theta: Array, at: Predicted) -> tuple[Array, ...]:
        slopes = tuple(np.zeros((len(y), len(self.unknowns))) for y in at.values)
        for j in self.own_unknowns:
            step = STEP_OF_MOTIONS * max(abs(theta[j]), 1e-3 * self.unknowns[j].size)
            sides = []
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[j] = np.clip(theta[j] + sign * step, self.unknowns[j].low, self.unknowns[j].high)
                shifted = self(moved)
                sides.append((theta[j], at.values) if shifted is None else (moved[j], shifted.values))
            (theta_above, y_above), (theta_below, y_below) = sides
            for c, slope in enumerate(slopes):
                slope[:, j] = (y_above[c] - y_below[c]) / (theta_above - theta_below) if theta_above != theta_below else np.nan
        return slopes


def _has_acceleration(system: System, channel: Channel) -> bool:
    return bool(channel.expression.free_symbols & set(system.accelerations))
