"""The search of a fit: least squares over the residuals of all experiments, from one or several guesses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from appell.errors import ModelError
from appell.optimize.losses import LOSSES
from appell.optimize.prediction import Predicted, Prediction, Unknown
from appell.optimize.residual_structure import only_noise
from appell.optimize.uncertainty import few_decide, leverages, robust_size

Array = NDArray[np.float64]

NOISE_ROUNDS = 30
"""Iterations in which the noise of several channels and the unknowns are estimated alternately; each takes a step or two. Three
to six are usual, and more are needed where a channel with few values decides."""
NOISE_SETTLED = 1e-2
"""Relative change below which a noise level has converged; the unknowns' errors change in the same proportion."""
OUTLIER_ROUNDS = 4
"""The same iterations with a loss that limits outliers."""
WINDOWS = (0.005, 0.012, 0.03, 0.08, 0.2, 0.45, 1.0)
"""Fractions of the records that are fitted one after the other if a fit of the whole fails.

Over n periods the sum of squares has about n minima in a frequency, so the first window should be shorter than one period."""
SAMPLES_FOR_ONE = 6
"""Samples per unknown that a window needs to determine it in spite of noise."""
POOR = 0.05
"""Fraction of the variance of the data left unexplained above which another strategy is tried, unless it is noise."""
MOST_WORK_OF_WINDOWS = 30.0
"""Work of all windows relative to the fit of the whole at which they are given up, but not before that of LARGEST_STEPS
motions: unknowns that a short window does not determine can move to values, such as stiff gains, at which a motion takes a
hundred times as long."""
LONG_MOTION = 30.0
"""Work of a motion relative to that with the first guesses above which the search takes derivatives by differences of motions.
Variations take hundreds of times as long as a motion of the same steps, and a search may pass through very stiff values."""
FACTOR = 3.0
"""Further attempts multiply or divide first guesses by up to this factor."""
LARGEST_STEPS = 200
"""The most evaluations of the residuals in one search."""


class _TooSlow(Exception):
    """The windows have used up their share of work."""


class FitSearch:
    """Residuals of all experiments in units of their noise, and their least squares."""

    def __init__(
        self,
        predictions: list[Prediction],
        unknowns: tuple[Unknown, ...],
        known: dict[str, float | None],
        loss: str,
        progress: Any,
    ):
        self.predictions, self.unknowns, self.known_noise, self.loss, self.progress = (
            predictions,
            unknowns,
            known,
            loss,
            progress,
        )
        self.window, self.count, self.most_work = 1.0, 0, np.inf
        self.levels = {name: 1.0 if level is None else level for name, level in known.items()}
        self._last_motions: tuple[bytes, list[Predicted | None]] = (b"", [])
        self.spreads = self._spreads()
        self.final = False  # whether derivatives are for the assessment, after the search
        self._usual_work: dict[int, int] = {}

    def _spreads(self) -> dict[str, float]:
        spreads: dict[str, float] = {}
        for prediction in self.predictions:
            for channel in prediction.experiment.channels:
                spreads[channel.name] = max(spreads.get(channel.name, 0.0), channel.spread)
        return spreads

    def best(self, tries: int, seed: int) -> tuple[Any, list[float]]:
        """The most probable of several attempts, and the cost of each: the fraction of the data's variance left unexplained."""
        guess = np.array([unknown.guess for unknown in self.unknowns])
        if self.predicted(guess) is None:
            raise ModelError(f"the motion with the first guesses does not reach the end of the data: {self._failure()}")
        fits = [self._with_noise(guess)]
        if not fits[0].success or (self._unexplained(fits[0]) > POOR and not self._only_noise(fits[0].x)):
            fits += self._by_windows(guess)
        if self.loss == "linear" and self._outliers(guess, fits[0].x):
            fits.append(self._around_outliers(guess))
        rng = np.random.default_rng(seed)
        for _ in range(tries - 1):
            begin = self._random(rng)
            if self.predicted(begin) is not None:
                fits.append(self._with_noise(begin))
        fits.sort(key=lambda fit: (self._misfit(fit), not fit.success))
        return fits[0], [self._unexplained(fit) for fit in fits]

    def _random(self, rng: np.random.Generator) -> Array:
        def drawn(u: Unknown) -> float:
            if np.isfinite(u.low) and np.isfinite(u.high) and not (u.low == 0 and u.high == 0):
                return float(rng.uniform(u.low, u.high))
            moved = u.guess * FACTOR ** rng.uniform(-1, 1) if u.guess else rng.normal() * u.size
            return float(np.clip(moved, u.low, u.high))

        return np.array([drawn(u) for u in self.unknowns])

    def _by_windows(self, guess: Array) -> list[Any]:
        """Fits growing windows of the records, each from the result of the one before; nothing where they take too long."""
        count = sum(int(c.present[: p.experiment.fitted].sum()) for p in self.predictions for c in p.experiment.channels)
        self.most_work = self.work * (1 + max(MOST_WORK_OF_WINDOWS, LARGEST_STEPS / self.count))
        try:
            for share in (w for w in WINDOWS if w >= WINDOWS[-4] or w * count >= SAMPLES_FOR_ONE * len(self.unknowns)):
                self.window = share
                solved = self._with_noise(guess) if share == 1.0 else self._solved(guess, self.spreads)
                guess = solved.x
        except _TooSlow:
            return []
        finally:
            self.window, self.most_work = 1.0, np.inf
        return [solved]

    @property
    def work(self) -> int:
        """Evaluations of the right-hand side in all motions so far."""
        return sum(prediction.work for prediction in self.predictions)

    def _only_noise(self, theta: Array) -> bool:
        """Whether no record has anything but noise left in any channel."""
        predicted = self.predicted(theta)
        if predicted is None:
            return False
        for i, prediction in enumerate(self.predictions):
            for c, channel in enumerate(prediction.experiment.channels):
                fitted = self._used(prediction, channel)
                data = channel.values[fitted]
                if not only_noise(predicted[i].values[c][fitted] - data, data):
                    return False
        return True

    def _outliers(self, guess: Array, theta: Array) -> bool:
        """Whether there may be outliers, such as velocities taken before an impact instead of after it."""
        if any(few_decide(r) for r in (self._residuals_by_channel(theta) or {}).values()):
            return True
        pairs = zip(self.predictions, self.predicted(guess) or (), strict=False)
        return any(len(predicted.motion.impacts) > 0 and prediction.has_velocity for prediction, predicted in pairs)

    def _around_outliers(self, guess: Array) -> Any:
        """Starts from the result of a loss that limits outliers, which would dominate the squares."""
        # at least the integration error, which is all that is left in data without noise
        levels = {n: max(robust_size(r), 1e-11 * self.spreads[n]) for n, r in (self._residuals_by_channel(guess) or {}).items()}
        self.loss = "cauchy"
        try:
            for _ in range(OUTLIER_ROUNDS):
                solved = self._solved(guess, levels)
                guess, levels = solved.x, self._estimated(solved)
        finally:
            self.loss = "linear"
        return self._with_noise(guess)

    def _unexplained(self, solved: Any) -> float:
        """The fraction of the variance of the data that a solution does not explain."""
        residuals = self._residuals_by_channel(solved.x)
        if residuals is None:
            return np.inf
        return float(np.mean([np.mean(r**2) / self.spreads[name] ** 2 for name, r in residuals.items()]))

    def _misfit(self, solved: Any) -> float:
        """−log of the probability of the data, up to a constant that attempts with other levels of noise have in common."""
        residuals = self._residuals_by_channel(solved.x)
        if residuals is None:
            return np.inf
        return sum(LOSSES[self.loss].misfit(r, solved.levels[name]) for name, r in residuals.items())

    def _with_noise(self, guess: Array) -> Any:
        """Estimates unknowns and noise levels alternately."""
        levels = {name: self.spreads[name] if level is None else level for name, level in self.known_noise.items()}
        solved = self._solved(guess, levels)
        for _ in range(NOISE_ROUNDS):
            estimated = self._estimated(solved)
            change = max(abs(np.log(estimated[name] / levels[name])) for name in levels)
            levels = estimated
            if change < NOISE_SETTLED:
                break
            if len(levels) > 1 or self.loss != "linear":  # with one channel its level changes only the errors
                solved = self._solved(solved.x, levels)
        self.levels = levels
        solved.levels = dict(levels)
        return solved

    def _estimated(self, solved: Any) -> dict[str, float]:
        """The noise of each channel from its residuals, corrected for its degrees of freedom that the unknowns use."""
        residuals, leverage = self._residuals_by_channel(solved.x) or {}, leverages(solved.jac)
        rows = self.rows
        levels = {}
        for name, level in self.known_noise.items():
            if level is not None or name not in residuals:
                levels[name] = level or self.levels[name]
                continue
            r, spent = residuals[name], float(leverage[rows == name].sum())
            size = robust_size(r, spent) if self.loss != "linear" else np.sqrt(np.sum(r**2) / max(len(r) - spent, 1.0))
            levels[name] = max(float(size), 1e-11 * self.spreads[name])  # noise-free data: the integration error
        return levels

    def _solved(self, guess: Array, levels: Mapping[str, float]) -> Any:
        """Least squares from a guess by a trust region; a motion that ends early counts as too long a step."""
        self.levels = dict(levels)
        sizes = np.array([u.size for u in self.unknowns])  # SciPy takes values within 1e-10 of a bound to be at it
        low, high = np.array([(u.low, u.high) for u in self.unknowns]).T / sizes
        room = np.where(np.isfinite(low) & np.isfinite(high), high - low, 1.0)
        inside = np.clip(guess / sizes, low + 1e-10 * room, high - 1e-10 * room)
        if not np.isfinite(self.residuals(inside * sizes)).all():
            inside = guess / sizes
        solved = least_squares(
            lambda y: self.residuals(y * sizes), inside, jac=lambda y: self.jacobian(y * sizes) * sizes, bounds=(low, high),  # type: ignore[arg-type]
            x_scale="jac", loss=self.loss, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=LARGEST_STEPS,  # type: ignore[arg-type]
        )  # fmt: skip
        solved.x = np.clip(solved.x * sizes, *np.array([(u.low, u.high) for u in self.unknowns]).T)
        return solved

    # -- values ----------------------------------------------------------------------------------------------------

    def predicted(self, theta: Array) -> list[Predicted] | None:
        """Each experiment at θ; None where one of them ends early."""
        key = theta.tobytes()
        if key != self._last_motions[0]:
            self.count += 1
            if self.progress is not None:
                self.progress(float(min(self.count, LARGEST_STEPS)))
            self._last_motions = (key, [prediction(theta) for prediction in self.predictions])
            if self.work > self.most_work:
                raise _TooSlow
        results = self._last_motions[1]
        return None if any(result is None for result in results) else [result for result in results if result is not None]

    def _used(self, prediction: Prediction, channel: Any) -> NDArray[np.bool_]:
        """Whether each sample of a channel is fitted, (k,)."""
        fitted = channel.present.copy()
        fitted[max(2, int(np.ceil(self.window * prediction.experiment.fitted))) :] = False
        return fitted

    @property
    def rows(self) -> NDArray[np.str_]:
        """The channel of each residual, (N,)."""
        pairs = [(prediction, channel) for prediction in self.predictions for channel in prediction.experiment.channels]
        return np.concatenate([np.full(self._used(prediction, channel).sum(), channel.name) for prediction, channel in pairs])

    def residuals(self, theta: Array) -> Array:
        """(y_model − y_measured)/σ, (N,); NaN where a motion ends early."""
        predicted, blocks = self.predicted(theta), []
        for i, prediction in enumerate(self.predictions):
            for c, channel in enumerate(prediction.experiment.channels):
                fitted = self._used(prediction, channel)
                r = (
                    np.full(fitted.sum(), np.nan)
                    if predicted is None
                    else predicted[i].values[c][fitted] - channel.values[fitted]
                )
                blocks.append(r / self.levels[channel.name])
        return np.concatenate(blocks)

    def jacobian(self, theta: Array) -> Array:
        """∂r/∂θ, (N, n)."""
        predicted, blocks = self.predicted(theta), []
        assert predicted is not None  # called only where residuals were finite
        for i, prediction in enumerate(self.predictions):
            slopes = self._slopes(prediction, theta, predicted[i])
            self._last_motions = (theta.tobytes(), list(predicted))  # finite differences have overwritten it
            for channel, slope in zip(prediction.experiment.channels, slopes, strict=True):
                blocks.append(slope[self._used(prediction, channel)] / self.levels[channel.name])
        return np.concatenate(blocks)

    def _slopes(self, prediction: Prediction, theta: Array, predicted: Predicted) -> tuple[Array, ...]:
        work = int(predicted.motion.statistics.get("evaluations", 0))
        usual_work = self._usual_work.setdefault(prediction.number, work)
        return (
            prediction.slopes(theta, predicted)
            if self.final or work <= LONG_MOTION * usual_work
            else prediction._by_differences(theta, predicted)
        )

    def _residuals_by_channel(self, theta: Array) -> dict[str, Array] | None:
        """Channel → residuals of all its fitted samples, SI."""
        predicted = self.predicted(theta)
        if predicted is None:
            return None
        residuals: dict[str, list[Array]] = {}
        for i, prediction in enumerate(self.predictions):
            for c, channel in enumerate(prediction.experiment.channels):
                fitted = channel.present.copy()
                fitted[prediction.experiment.fitted :] = False
                residuals.setdefault(channel.name, []).append(predicted[i].values[c][fitted] - channel.values[fitted])
        return {name: np.concatenate(rows) for name, rows in residuals.items()}

    def _failure(self) -> str:
        return next((prediction.failure for prediction in self.predictions if prediction.failure), "a value is not finite")


__all__ = ["LARGEST_STEPS", "FitSearch"]
