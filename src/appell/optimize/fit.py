"""`ap.fit`: unknown parameters and starts from measured motions, by least squares on whole motions.

    min_θ Σ_c Σ_k ρ( ((y_c(t_k; θ) − ŷ_ck)/σ_c)² )

ρ is the identity, or a loss that bounds outliers. Where the noise σ_c of a channel is not given it is estimated with θ: each
channel is weighed by what is left of it. What the data cannot tell is found from the rank of the sensitivities, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from appell.errors import ModelError
from appell.model import System
from appell.model.described import system_of
from appell.optimize.experiments import read_experiments
from appell.optimize.fit_result import Fit
from appell.optimize.prediction import Predicted, Prediction, Unknown
from appell.optimize.uncertainty import uncertainty
from appell.reading import finite, items_of, name_in, one_of, shown, table_of, whole
from appell.simulate.progress import reporter
from appell.spelling import checked_keywords, did_you_mean

Array = NDArray[np.float64]

NOISE_ROUNDS = 12
"""Of estimating the noise of several channels in turn with the unknowns; each takes a step or two."""
NOISE_SETTLED = 1e-2
"""Change of a noise level from which on it counts as estimated: it enters the unknowns' errors in the same proportion."""
WINDOWS = (0.08, 0.2, 0.45, 1.0)
"""Shares of the records that are fitted one after the other where a fit of the whole does not find its way."""
POOR = 0.05
"""Share of the variance of the data that is not explained: above it another way is tried."""
FACTOR = 3.0
"""Further attempts begin at first guesses times or divided by up to this."""
LARGEST_STEPS = 200


@checked_keywords()
def fit(
    system: System | Any,
    data: Any,
    unknown: Iterable[Any],
    start: Any = None,
    parameters: Any = None,
    *,
    since: float = 0.0,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    noise: Mapping[Any, float] | None = None,
    loss: str = "linear",
    held_out: float = 0.0,
    attempts: int = 1,
    seed: int = 0,
    progress: bool | Callable[[float], None] = False,
    **options: Any,
) -> Fit:
    """Find parameters and starts with which the motion of a system is the one that was measured.

    Parameters
    ----------
    system: a `System` or a `Tree`.
    data: {"t": times (k,), x: values (k,), …} with coordinates, velocities, accelerations or expressions of them as keys (or
        their names, "x", "x.d", "x_d"); a `pandas.DataFrame` or `xarray.Dataset` with such columns; or a list of these, one for
        each experiment. SI; gaps are NaN; each quantity has gaps of its own.
    unknown: parameters (one value for all experiments), and coordinates or velocities, whose start values are then unknown (one
        for each experiment).
    start: coordinate or velocity → value at `since`, the first guess of those that are unknown; unnamed values are 0. A list
        gives each experiment its own.
    parameters: parameter → value; first guesses of those that are unknown. A list gives each experiment its own.
    since: the time of the start, s.
    bounds: unknown → (least, largest). A parameter that is assumed positive is not asked to be anything else.
    noise: measured quantity → standard deviation of its noise, SI; estimated from what is left where it is not given.
    loss: "linear" (least squares), or "soft_l1", "huber", "cauchy", "arctan", which bound the weight of outliers.
    held_out: share of each record, at its end, that is not fitted but predicted; `fit.held_out` says how well.
    attempts: how many first guesses are tried; further ones are random (`seed`), within the bounds where both are finite, else
        within a factor of three.
    progress: True for a bar, or a function of the number of motions that were computed.
    options: of `ap.simulate`: rtol, atol, method, backend, corner …

    Returns
    -------
    `Fit` with .values .errors .identifiable .correlation .motion .residuals .noise .ok .message.
    """
    system = system_of(system, "ap.fit")
    since = finite(since, "since")
    one_of(loss, ("linear", *LOSS_SLOPES), "loss")
    tries = whole(attempts, "attempts=", 1, 10_000)
    experiments = read_experiments(system, data, start, parameters, since, held_out)
    unknowns = _unknowns(system, unknown, experiments, table_of({} if bounds is None else bounds, "bounds="))
    levels = _noise(experiments, {} if noise is None else table_of(noise, "noise="))
    _refuse_few(experiments, unknowns, levels)
    predictions = [Prediction(system, i, e, unknowns, since, options) for i, e in enumerate(experiments)]
    told = reporter(progress, 0.0, float(LARGEST_STEPS))
    search = Search(predictions, unknowns, levels, loss, told)
    try:
        best, costs = search.best(tries, whole(seed, "seed=", 0))
    finally:
        if told is not None:
            told.close()
    return _judged(system, search, best, costs)


# -- what is asked -----------------------------------------------------------------------------------------------------


def _unknowns(system: System, unknown: Any, experiments: Any, bounds: Mapping[Any, Any]) -> tuple[Unknown, ...]:
    asked = [unknown] if hasattr(unknown, "free_symbols") or isinstance(unknown, str) else items_of(unknown, "unknown=")
    if not asked:
        raise ModelError("unknown= names nothing: list the parameters, or the start values, that are to be found")
    parameters = {str(p): p for p in system.parameters}
    states = {str(s): s for s in (*system.positions, *system.velocities)}
    names = [name_in(key) for key in asked]
    if len(set(names)) < len(names):
        raise ModelError(f"unknown= names {next(n for n in names if names.count(n) > 1)} twice")
    limits = {name_in(key): pair for key, pair in bounds.items()}
    stray = [name for name in limits if name not in names]
    if stray:
        raise ModelError(f"bounds= names {stray[0]}, which is not among the unknowns: {', '.join(names)}")
    found = []
    for name in names:
        if name in parameters:
            guess = _guess(experiments[0].parameters, name, "parameters=")
            found.append(_bounded(name, parameters[name], None, guess, limits.get(name)))
        elif name in states:
            several = len(experiments) > 1
            for i, one in enumerate(experiments):
                guess = _guess(one.start, name, None)
                label = f"{name}(0) of experiment {i + 1}" if several else f"{name}(0)"
                found.append(_bounded(label, states[name], i, guess, limits.get(name)))
        else:
            raise ModelError(
                f"unknown= names {name}, which is neither a parameter nor a coordinate or velocity of '{system.name}'"
                f"{did_you_mean(name, [*parameters, *states])}"
            )
    return tuple(found)


def _guess(given: Mapping[Any, Any], name: str, where: str | None) -> float:
    values = [value for key, value in given.items() if name_in(key) == name]
    if not values and where is not None:
        raise ModelError(f"the unknown {name} needs a first guess in {where}")
    return finite(values[0], f"the first guess of {name}") if values else 0.0


def _bounded(name: str, symbol: Any, experiment: int | None, guess: float, pair: Any) -> Unknown:
    low, high = -np.inf, np.inf
    if experiment is None:
        low = 0.0 if symbol.is_nonnegative else low
        high = 0.0 if symbol.is_nonpositive else high
    if pair is not None:
        try:
            given = [finite(x, f"a bound of {name}", infinite=True) for x in pair]
        except TypeError:
            raise ModelError(f"the bounds of {name} are (least, largest), not {shown(pair)}") from None
        if len(given) != 2 or not given[0] < given[1]:
            raise ModelError(f"the bounds of {name} are (least, largest) with least < largest, not {shown(pair)}")
        low, high = max(low, given[0]), min(high, given[1])
    if not low <= guess <= high:
        raise ModelError(f"the first guess {guess:g} of {name} lies outside its bounds {low:g} … {high:g}")
    return Unknown(name, symbol, experiment, guess, low, high)


def _noise(experiments: Any, given: Mapping[Any, Any]) -> dict[str, float | None]:
    """Channel → its noise where it is known."""
    names = list(dict.fromkeys(channel.name for one in experiments for channel in one.channels))
    known = {name_in(key): finite(value, f"the noise of {name_in(key)}") for key, value in given.items()}
    for name, value in known.items():
        if name not in names:
            raise ModelError(f"noise= names {name}, which was not measured; there are {', '.join(names)}")
        if not value > 0:
            raise ModelError(f"the noise of {name} is a standard deviation, above zero, not {value:g}")
    return {name: known.get(name) for name in names}


def _refuse_few(experiments: Any, unknowns: tuple[Unknown, ...], levels: Mapping[str, float | None]) -> None:
    """A quantity with no more values than unknowns can be met exactly, and then tells nothing of its noise."""
    for name in (name for name, level in levels.items() if level is None):
        where = [i for i, one in enumerate(experiments) if name in {c.name for c in one.channels}]
        count = sum(
            int(c.seen[: experiments[i].fitted].sum()) for i in where for c in experiments[i].channels if c.name == name
        )
        free = sum(one.experiment in (None, *where) for one in unknowns)
        if count <= free:
            raise ModelError(
                f"'{name}' has {count} values for {free} unknowns, from which its noise cannot be estimated; give"
                f" noise={{'{name}': its standard deviation}}"
            )


# -- the search --------------------------------------------------------------------------------------------------------


class Search:
    """Residuals of all experiments in units of their noise, and the least of their squares."""

    def __init__(
        self, predictions: list[Prediction], unknowns: tuple[Unknown, ...], known: dict[str, float | None], loss: str, told: Any
    ):
        self.predictions, self.unknowns, self.known, self.loss, self.told = predictions, unknowns, known, loss, told
        self.share, self.count = 1.0, 0
        self.levels = {name: 1.0 if level is None else level for name, level in known.items()}
        self._at: tuple[bytes, list[Predicted | None]] = (b"", [])
        self.spreads = self._spreads()

    def _spreads(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for one in self.predictions:
            for channel in one.experiment.channels:
                found[channel.name] = max(found.get(channel.name, 0.0), channel.spread)
        return found

    def best(self, tries: int, seed: int) -> tuple[Any, list[float]]:
        """The best of so many attempts, and the cost of each: the share of the data's variance that is left."""
        guess = np.array([one.guess for one in self.unknowns])
        if self.predicted(guess) is None:
            raise ModelError(f"the motion with the first guesses does not reach the end of the data: {self._failure()}")
        found = [self._with_noise(guess)]
        if self._left(found[0]) > POOR or not found[0].success:
            found.append(self._grown(guess))
        rng = np.random.default_rng(seed)
        for _ in range(tries - 1):
            begin = self._random(rng)
            if self.predicted(begin) is not None:
                found.append(self._with_noise(begin))
        found.sort(key=lambda one: (self._left(one), not one.success))
        return found[0], [self._left(one) for one in found]

    def _random(self, rng: np.random.Generator) -> Array:
        def one(u: Unknown) -> float:
            if np.isfinite(u.low) and np.isfinite(u.high) and not (u.low == 0 and u.high == 0):
                return float(rng.uniform(u.low, u.high))
            moved = u.guess * FACTOR ** rng.uniform(-1, 1) if u.guess else rng.normal() * u.size
            return float(np.clip(moved, u.low, u.high))

        return np.array([one(u) for u in self.unknowns])

    def _grown(self, guess: Array) -> Any:
        """Windows of the records, each from where the one before it has led."""
        for share in WINDOWS:
            self.share = share
            solved = self._with_noise(guess) if share == 1.0 else self._solved(guess, self.spreads)
            guess = solved.x
        return solved

    def _left(self, solved: Any) -> float:
        """The share of the variance of the data that a solution does not explain."""
        parts = self._parts(solved.x)
        if parts is None:
            return np.inf
        return float(np.mean([np.mean(r**2) / self.spreads[name] ** 2 for name, r in parts.items()]))

    def _with_noise(self, guess: Array) -> Any:
        """Unknowns and noise levels in turn."""
        levels = {name: self.spreads[name] if level is None else level for name, level in self.known.items()}
        solved = self._solved(guess, levels)
        for _ in range(NOISE_ROUNDS):
            new = self._estimated(solved)
            moved = max(abs(np.log(new[name] / levels[name])) for name in levels)
            levels = new
            if moved < NOISE_SETTLED:
                break
            if len(levels) > 1 or self.loss != "linear":  # one channel: its level changes nothing but the errors
                solved = self._solved(solved.x, levels)
        self.levels = levels
        solved.levels = dict(levels)
        return solved

    def _estimated(self, solved: Any) -> dict[str, float]:
        """The noise of each channel from what is left of it, with the freedom that the unknowns take from it."""
        parts = self._parts(solved.x) or {}
        total = sum(len(r) for r in parts.values())
        new = {}
        for name, level in self.known.items():
            if level is not None or name not in parts:
                new[name] = level or self.levels[name]
                continue
            r = parts[name]
            free = max(len(r) * (1 - len(self.unknowns) / max(total, len(self.unknowns) + 1)), 1.0)
            size = 1.4826 * np.median(np.abs(r)) if self.loss != "linear" else np.sqrt(np.sum(r**2) / free)
            new[name] = max(float(size), 1e-11 * self.spreads[name])  # data without noise: the run's own errors
        return new

    def _solved(self, guess: Array, levels: Mapping[str, float]) -> Any:
        """Least squares from a guess by a trust region; motions that break off are steps that are too long."""
        self.levels = dict(levels)
        low, high = np.array([(u.low, u.high) for u in self.unknowns]).T
        room = np.where(np.isfinite(low) & np.isfinite(high), high - low, np.maximum(np.abs(guess), 1.0))
        inside = np.clip(guess, low + 1e-10 * room, high - 1e-10 * room)
        first = self.residuals(inside)
        if not np.isfinite(first).all():
            inside = guess
        return least_squares(
            self.residuals, inside, jac=self.jacobian, bounds=(low, high), x_scale="jac", loss=self.loss,  # type: ignore[arg-type]
            method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=LARGEST_STEPS,
        )  # fmt: skip

    # -- values ----------------------------------------------------------------------------------------------------

    def predicted(self, theta: Array) -> list[Predicted] | None:
        """Each experiment at θ; None where one of them breaks off."""
        key = theta.tobytes()
        if key != self._at[0]:
            self.count += 1
            if self.told is not None:
                self.told(float(min(self.count, LARGEST_STEPS)))
            self._at = (key, [one(theta) for one in self.predictions])
        found = self._at[1]
        return None if any(one is None for one in found) else [one for one in found if one is not None]

    def _used(self, prediction: Prediction, channel: Any) -> NDArray[np.bool_]:
        """Which samples of a channel are fitted."""
        used = channel.seen.copy()
        used[max(2, int(np.ceil(self.share * prediction.experiment.fitted))) :] = False
        return used

    def residuals(self, theta: Array) -> Array:
        """(y_model − y_measured)/σ, (N,); NaN where a motion breaks off."""
        found, out = self.predicted(theta), []
        for i, one in enumerate(self.predictions):
            for c, channel in enumerate(one.experiment.channels):
                used = self._used(one, channel)
                r = np.full(used.sum(), np.nan) if found is None else found[i].values[c][used] - channel.values[used]
                out.append(r / self.levels[channel.name])
        return np.concatenate(out)

    def jacobian(self, theta: Array) -> Array:
        """∂r/∂θ, (N, n)."""
        found, out = self.predicted(theta), []
        assert found is not None  # it is asked for where residuals were finite
        for i, one in enumerate(self.predictions):
            slopes = one.slopes(theta, found[i])
            self._at = (theta.tobytes(), list(found))  # differences have moved on
            for channel, slope in zip(one.experiment.channels, slopes, strict=True):
                out.append(slope[self._used(one, channel)] / self.levels[channel.name])
        return np.concatenate(out)

    def _parts(self, theta: Array) -> dict[str, Array] | None:
        """Channel → what is left of all its fitted samples, SI."""
        found = self.predicted(theta)
        if found is None:
            return None
        parts: dict[str, list[Array]] = {}
        for i, one in enumerate(self.predictions):
            for c, channel in enumerate(one.experiment.channels):
                used = channel.seen.copy()
                used[one.experiment.fitted :] = False
                parts.setdefault(channel.name, []).append(found[i].values[c][used] - channel.values[used])
        return {name: np.concatenate(rows) for name, rows in parts.items()}

    def _failure(self) -> str:
        return next((one.failure for one in self.predictions if one.failure), "a value is not finite")


# -- the judgement -----------------------------------------------------------------------------------------------------


def _judged(system: System, search: Search, solved: Any, costs: list[float]) -> Fit:
    search.share, search.levels = 1.0, dict(solved.levels)
    theta = np.asarray(solved.x, float)
    found = search.predicted(theta)
    assert found is not None
    J, r = search.jacobian(theta), search.residuals(theta)
    sizes = np.array([abs(x) or one.size for x, one in zip(theta, search.unknowns, strict=True)])
    exact = all(one.exact for one in search.predictions)
    known = uncertainty(J, _inflation(search.loss, r), sizes, [one.name for one in search.unknowns], exact)
    return Fit(
        system=system, experiments=tuple(one.experiment for one in search.predictions), unknowns=search.unknowns, theta=theta,
        uncertainty=known, motions=tuple(one.motion(theta) for one in search.predictions),
        predicted=tuple(one.values for one in found),
        noise=dict(search.levels), known_noise=frozenset(n for n, level in search.known.items() if level is not None),
        freedom=len(r) - len(theta), converged=bool(solved.success), why=str(solved.message), costs=tuple(costs), exact=exact,
        motions_computed=search.count,
    )  # fmt: skip


LOSS_SLOPES: Mapping[str, Callable[[Array], tuple[Array, Array]]] = {
    "soft_l1": lambda z: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
    "huber": lambda z: (np.maximum(z, 1) ** -0.5, np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1) ** -1.5)),
    "cauchy": lambda z: (1 / (1 + z), -1 / (1 + z) ** 2),
    "arctan": lambda z: (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
}
"""ρ′ and ρ″ of z = r² for each loss that is not the square itself."""


def _inflation(loss: str, r: Array) -> float:
    """By how much the covariance exceeds (JᵀJ)⁻¹: E ψ²/(E ψ′)² with ψ = ρ′(r²) r (Huber 1981, chapter 7)."""
    if loss == "linear":
        return 1.0
    first, second = LOSS_SLOPES[loss](r**2)
    return float(np.mean((first * r) ** 2) / np.mean(first + 2 * second * r**2) ** 2)


__all__ = ["Fit", "fit"]
