"""`ap.fit`: unknown parameters and starts from measured motions, by least squares on whole motions.

    min_θ Σ_c Σ_k ρ( ((y_c(t_k; θ) − ŷ_ck)/σ_c)² )

ρ is the identity, or a loss that limits the effect of outliers. Where the noise σ_c of a channel is not given, it is estimated
together with θ from the residuals of the channel. What the data do not determine is found from the rank of the sensitivities,
and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.model import System
from appell.model.described import system_of
from appell.optimize.experiments import quantity_of, read_experiments
from appell.optimize.fit_result import ByName, Fit
from appell.optimize.fit_search import LARGEST_STEPS, FitSearch
from appell.optimize.losses import LOSSES
from appell.optimize.prediction import Prediction, Unknown, in_natural_units
from appell.optimize.uncertainty import ChannelResiduals, uncertainty
from appell.reading import finite, items_of, name_in, one_of, shown, table_of, whole
from appell.simulate.progress import reporter
from appell.spelling import checked_keywords, did_you_mean

Array = NDArray[np.float64]


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
    """Identifies parameters and start values of a system from measured motions.

    Parameters
    ----------
    system: a `System` or a `Tree`.
    data: {"t": times (k,), x: values (k,), …} with coordinates, velocities, accelerations or expressions of them as keys (or
        their names, "x", "x.d", "x_d"); a `pandas.DataFrame` or `xarray.Dataset` with such columns; or a list of these, one for
        each experiment. SI; gaps are NaN, and may differ between quantities.
    unknown: parameters (one value for all experiments), and coordinates or velocities, whose start values are then unknown (one
        for each experiment).
    start: coordinate or velocity → value at `since`, or the first guess if it is unknown; values not named are 0. A list
        gives each experiment its own.
    parameters: parameter → value, or the first guess if it is unknown. A list gives each experiment its own.
    since: the time of the start, s.
    bounds: unknown → (lower, upper). A parameter assumed positive stays positive.
    noise: measured quantity → standard deviation of its noise, SI; estimated from the residuals where it is not given.
    loss: "linear" (least squares), or "soft_l1", "huber", "cauchy", "arctan", which limit the weight of outliers.
    held_out: fraction of each record, at its end, that is predicted and not fitted; `fit.held_out` says how well.
    attempts: number of first guesses; further ones are random (`seed`), within the bounds where both are finite, else within a
    factor of three.
    progress: True for a bar, or a function of the number of motions computed.
    options: of `ap.simulate`: rtol, atol, method, backend, corner …

    Returns
    -------
    `Fit` with .values .errors .identifiable .correlation .motion .residuals .noise .ok .message.
    """
    system = system_of(system, "ap.fit")
    since = finite(since, "since")
    one_of(loss, tuple(LOSSES), "loss=")
    n_attempts = whole(attempts, "attempts=", 1, 10_000)
    experiments = read_experiments(system, data, start, parameters, since, held_out)
    unknowns = _unknowns(system, unknown, experiments, table_of({} if bounds is None else bounds, "bounds="))
    levels = _noise(system, experiments, {} if noise is None else table_of(noise, "noise="))
    _refuse_few(experiments, unknowns, levels)
    unscaled = [Prediction(system, i, e, unknowns, since, options) for i, e in enumerate(experiments)]
    predictions = [in_natural_units(prediction) for prediction in unscaled]
    unknowns = tuple(
        max((prediction.unknowns[j] for prediction in predictions), key=lambda u: u.scale) for j in range(len(unknowns))
    )
    predictions = [prediction.of(unknowns) for prediction in predictions]
    report = reporter(progress, 0.0, float(LARGEST_STEPS))
    search = FitSearch(predictions, unknowns, levels, loss, report)
    try:
        best, costs = search.best(n_attempts, whole(seed, "seed=", 0))
    finally:
        if report is not None:
            report.close()
    return _assessed(system, search, best, costs)


# -- the request -------------------------------------------------------------------------------------------------------


def _unknowns(system: System, unknown: Any, experiments: Any, bounds: Mapping[Any, Any]) -> tuple[Unknown, ...]:
    listed = [unknown] if hasattr(unknown, "free_symbols") or isinstance(unknown, str) else items_of(unknown, "unknown=")
    if not listed:
        raise ModelError("unknown= names nothing: list the parameters, or the start values, that are to be found")
    parameters = {str(p): p for p in system.parameters}
    states = {str(s): s for s in (*system.positions, *system.velocities)}
    names = [name_in(key) for key in listed]
    if len(set(names)) < len(names):
        raise ModelError(f"unknown= names {next(n for n in names if names.count(n) > 1)} twice")
    limits: dict[str, Any] = {}
    for key, pair in bounds.items():
        if name_in(key) in limits:
            raise ModelError(f"bounds= names {name_in(key)} twice")
        limits[name_in(key)] = pair
    unlisted = [name for name in limits if name not in names]
    if unlisted:
        raise ModelError(f"bounds= names {unlisted[0]}, which is not among the unknowns: {', '.join(names)}")
    unknowns = []
    for name in names:
        if name in parameters:
            guess = _one_guess(experiments, name)
            unknowns.append(_bounded(name, parameters[name], None, guess, limits.get(name)))
        elif name in states:
            several = len(experiments) > 1
            for i, experiment in enumerate(experiments):
                guess = _guess(experiment.start, name, None)
                label = f"{name}(0) of experiment {i + 1}" if several else f"{name}(0)"
                unknowns.append(_bounded(label, states[name], i, guess, limits.get(name)))
        else:
            raise ModelError(
                f"unknown= names {name}, which is neither a parameter nor a coordinate or velocity of '{system.name}'"
                f"{did_you_mean(name, [*parameters, *states])}"
            )
    return tuple(unknowns)


def _one_guess(experiments: Any, name: str) -> float:
    """The first guess of a parameter, the same for all experiments."""
    guesses = [_guess(experiment.parameters, name, "parameters=") for experiment in experiments]
    if len(set(guesses)) > 1:
        raise ModelError(
            f"the unknown {name} has one value for all experiments, and its first guesses are {guesses[0]:g} and"
            f" {next(x for x in guesses if x != guesses[0]):g}; give the same one"
        )
    return guesses[0]


def _guess(table: Mapping[Any, Any], name: str, keyword: str | None) -> float:
    values = [value for key, value in table.items() if name_in(key) == name]
    if not values and keyword is not None:
        raise ModelError(f"the unknown {name} needs a first guess in {keyword}")
    return finite(values[0], f"the first guess of {name}") if values else 0.0


def _bounded(name: str, symbol: Any, experiment: int | None, guess: float, pair: Any) -> Unknown:
    low, high = -np.inf, np.inf
    if experiment is None:
        low = 0.0 if symbol.is_nonnegative else low
        high = 0.0 if symbol.is_nonpositive else high
    if pair is not None:
        try:
            limits = [finite(x, f"a bound of {name}", infinite=True) for x in pair]
        except TypeError:
            raise ModelError(f"the bounds of {name} are (least, largest), not {shown(pair)}") from None
        if len(limits) != 2 or not limits[0] < limits[1]:
            raise ModelError(f"the bounds of {name} are (least, largest) with least < largest, not {shown(pair)}")
        low, high = max(low, limits[0]), min(high, limits[1])
    if not low <= guess <= high:
        raise ModelError(f"the first guess {guess:g} of {name} lies outside its bounds {low:g} … {high:g}")
    return Unknown(name, symbol, experiment, guess, low, high)


def _noise(system: System, experiments: Any, noise: Mapping[Any, Any]) -> dict[str, float | None]:
    """Channel → its noise, where known; keys of `noise` are any spelling of a measured quantity."""
    names = {channel.expression: channel.name for experiment in reversed(experiments) for channel in experiment.channels}
    levels: dict[str, float | None] = {c.name: None for experiment in experiments for c in experiment.channels}
    for key, number in noise.items():
        name = names.get(quantity_of(system, key, "noise="))
        if name is None:
            raise ModelError(f"noise= names {name_in(key)}, which was not measured; there are {', '.join(levels)}")
        if levels[name] is not None:
            raise ModelError(f"noise= names '{name}' twice")
        value = finite(number, f"the noise of {name}")
        if not value > 0:
            raise ModelError(f"the noise of {name} is a standard deviation, above zero, not {value:g}")
        levels[name] = value
    return levels


def _refuse_few(experiments: Any, unknowns: tuple[Unknown, ...], levels: Mapping[str, float | None]) -> None:
    """Raises for a quantity with no more values than unknowns: it can be matched exactly, and then its noise is not
    determined."""
    for name in (name for name, level in levels.items() if level is None):
        measured_in = [i for i, experiment in enumerate(experiments) if name in {c.name for c in experiment.channels}]
        count = sum(
            int(c.present[: experiments[i].fitted].sum())
            for i in measured_in
            for c in experiments[i].channels
            if c.name == name
        )
        n_unknowns = sum(unknown.experiment in (None, *measured_in) for unknown in unknowns)
        if count <= n_unknowns:
            raise ModelError(
                f"'{name}' has {count} values for {n_unknowns} unknowns, from which its noise cannot be estimated; give"
                f" noise={{'{name}': its standard deviation}}"
            )


# -- the assessment ----------------------------------------------------------------------------------------------------


def _assessed(system: System, search: FitSearch, solved: Any, costs: list[float]) -> Fit:
    search.window, search.levels, search.final = 1.0, dict(solved.levels), True
    theta = np.asarray(solved.x, float)
    predicted = search.predicted(theta)
    assert predicted is not None
    J, r = search.jacobian(theta), search.residuals(theta)
    # a value near zero has no size of its own: a thousandth of the size of the unknown stands for it
    sizes = np.array([max(abs(x), 1e-3 * unknown.size) for x, unknown in zip(theta, search.unknowns, strict=True)])
    exact = all(prediction.exact for prediction in search.predictions)
    rows, loss = search.rows, LOSSES[search.loss]
    channels = [ChannelResiduals(n, rows == n, r[rows == n], loss, level is None) for n, level in search.known_noise.items()]
    assessment = uncertainty(J, channels, sizes, [unknown.name for unknown in search.unknowns], exact)
    return Fit(
        system=system, experiments=tuple(prediction.experiment for prediction in search.predictions),
        unknowns=search.unknowns, theta=theta,
        uncertainty=assessment, motions=tuple(prediction.motion(theta) for prediction in search.predictions),
        predicted=tuple(record.values for record in predicted),
        noise=ByName(search.levels, "what was measured"),
        known_noise=frozenset(n for n, level in search.known_noise.items() if level is not None),
        freedom=len(r) - len(theta), converged=bool(solved.success), why=str(solved.message), costs=tuple(costs), exact=exact,
        motions_computed=search.count, loss=search.loss,
    )  # fmt: skip


__all__ = ["Fit", "fit"]
