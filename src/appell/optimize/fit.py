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
from appell.optimize.prediction import Prediction, Unknown, in_own_units
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
    tries = whole(attempts, "attempts=", 1, 10_000)
    experiments = read_experiments(system, data, start, parameters, since, held_out)
    unknowns = _unknowns(system, unknown, experiments, table_of({} if bounds is None else bounds, "bounds="))
    levels = _noise(system, experiments, {} if noise is None else table_of(noise, "noise="))
    _refuse_few(experiments, unknowns, levels)
    asked = [Prediction(system, i, e, unknowns, since, options) for i, e in enumerate(experiments)]
    predictions = [in_own_units(one) for one in asked]
    unknowns = tuple(max((one.unknowns[j] for one in predictions), key=lambda u: u.scale) for j in range(len(unknowns)))
    predictions = [one.of(unknowns) for one in predictions]
    told = reporter(progress, 0.0, float(LARGEST_STEPS))
    search = FitSearch(predictions, unknowns, levels, loss, told)
    try:
        best, costs = search.best(tries, whole(seed, "seed=", 0))
    finally:
        if told is not None:
            told.close()
    return _judged(system, search, best, costs)


# -- the request -------------------------------------------------------------------------------------------------------


def _unknowns(system: System, unknown: Any, experiments: Any, bounds: Mapping[Any, Any]) -> tuple[Unknown, ...]:
    asked = [unknown] if hasattr(unknown, "free_symbols") or isinstance(unknown, str) else items_of(unknown, "unknown=")
    if not asked:
        raise ModelError("unknown= names nothing: list the parameters, or the start values, that are to be found")
    parameters = {str(p): p for p in system.parameters}
    states = {str(s): s for s in (*system.positions, *system.velocities)}
    names = [name_in(key) for key in asked]
    if len(set(names)) < len(names):
        raise ModelError(f"unknown= names {next(n for n in names if names.count(n) > 1)} twice")
    limits: dict[str, Any] = {}
    for key, pair in bounds.items():
        if name_in(key) in limits:
            raise ModelError(f"bounds= names {name_in(key)} twice")
        limits[name_in(key)] = pair
    stray = [name for name in limits if name not in names]
    if stray:
        raise ModelError(f"bounds= names {stray[0]}, which is not among the unknowns: {', '.join(names)}")
    found = []
    for name in names:
        if name in parameters:
            guess = _one_guess(experiments, name)
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


def _one_guess(experiments: Any, name: str) -> float:
    """The first guess of a parameter, the same for all experiments."""
    guesses = [_guess(one.parameters, name, "parameters=") for one in experiments]
    if len(set(guesses)) > 1:
        raise ModelError(
            f"the unknown {name} has one value for all experiments, and its first guesses are {guesses[0]:g} and"
            f" {next(x for x in guesses if x != guesses[0]):g}; give the same one"
        )
    return guesses[0]


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


def _noise(system: System, experiments: Any, given: Mapping[Any, Any]) -> dict[str, float | None]:
    """Channel → its noise, where known; keys of `given` are any spelling of a measured quantity."""
    names = {channel.expression: channel.name for one in reversed(experiments) for channel in one.channels}
    levels: dict[str, float | None] = {c.name: None for one in experiments for c in one.channels}
    for key, number in given.items():
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


# -- the assessment ----------------------------------------------------------------------------------------------------


def _judged(system: System, search: FitSearch, solved: Any, costs: list[float]) -> Fit:
    search.share, search.levels, search.final = 1.0, dict(solved.levels), True
    theta = np.asarray(solved.x, float)
    found = search.predicted(theta)
    assert found is not None
    J, r = search.jacobian(theta), search.residuals(theta)
    sizes = np.array([max(abs(x), 1e-3 * one.size) for x, one in zip(theta, search.unknowns, strict=True)])
    exact = all(one.exact for one in search.predictions)
    rows, loss = search.rows, LOSSES[search.loss]
    channels = [ChannelResiduals(n, rows == n, r[rows == n], loss, level is None) for n, level in search.known.items()]
    known = uncertainty(J, channels, sizes, [one.name for one in search.unknowns], exact)
    return Fit(
        system=system, experiments=tuple(one.experiment for one in search.predictions), unknowns=search.unknowns, theta=theta,
        uncertainty=known, motions=tuple(one.motion(theta) for one in search.predictions),
        predicted=tuple(one.values for one in found),
        noise=ByName(search.levels, "what was measured"),
        known_noise=frozenset(n for n, level in search.known.items() if level is not None),
        freedom=len(r) - len(theta), converged=bool(solved.success), why=str(solved.message), costs=tuple(costs), exact=exact,
        motions_computed=search.count, loss=search.loss,
    )  # fmt: skip


__all__ = ["Fit", "fit"]
