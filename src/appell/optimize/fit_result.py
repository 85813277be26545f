"""The result of `ap.fit`: values with their errors, what the data do not determine, motion and residuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from appell.delegates import delegate
from appell.errors import ModelError, UnknownKey
from appell.model import System
from appell.motion.motion import Motion
from appell.motion.result_frame import Result
from appell.optimize.experiments import Experiment
from appell.optimize.prediction import Unknown
from appell.optimize.residual_structure import correlations, neighbours_correlate
from appell.optimize.uncertainty import Uncertainty, few_decide, robust_size
from appell.reading import finite, name_in

Array = NDArray[np.float64]

BEYOND_NOISE = 3.0
"""Residuals of more than this many times the noise are no noise."""
HARDLY_TOLD = 100.0
"""Standard error relative to the size of an unknown above which the data do not determine it in any practical sense."""


FEW_FOR_ROBUST = 4.0
"""Values per unknown below which an error of a robust loss is a rough estimate. With normal noise and two to three values for
each of three unknowns, the median error was 0.8 (arctan) to 1.1 times the spread of the estimates, in 150 fits each."""
AT_BOUND = 1e-3
"""Distance from a bound, in standard errors, below which a value lies at it. A search ends within 1e-5 of an active bound."""


class ByName(Mapping[Any, Any]):
    """Values by symbol or by its name, "x.d" or "x_d"."""

    def __init__(self, entries: Mapping[Any, Any], what: str):
        self._entries, self._what = dict(entries), what
        self._names = {name_in(key): key for key in self._entries}
        self._spellings = {name.replace(".", "_"): key for name, key in self._names.items()} | self._names

    def __getitem__(self, key: Any) -> Any:
        name = key if isinstance(key, str) else name_in(key)
        if name not in self._spellings:
            raise UnknownKey(f"{name} is not among {self._what}: {', '.join(self._names)}")
        return self._entries[self._spellings[name]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Result):
    """Parameters and start values identified from measured motions, returned by `ap.fit`.

    Attributes
    ----------
    values: unknown → its value, SI; for a start value in several experiments (experiments,).
    errors: unknown → its standard error; infinite where the data do not determine it.
    identifiable: unknown → whether the data determine it; `unseen` describes what they do not determine.
    correlation: of the unknowns, an xarray `DataArray` (unknown, other).
    motion: the motion with these values, a tuple of them for a list of experiments.
    residuals: measured quantity → measured minus computed, (k,) with NaN in gaps; a tuple for a list of experiments.
    noise: measured quantity → standard deviation of its noise, SI, given or estimated.
    held_out: measured quantity → root mean square error of the held-out samples, in units of its noise.
    doubts: messages on what speaks against the model or the fit.
    ok: whether the search converged, the data determine every unknown and there are no doubts; message: if not, why.
    """

    system: System
    experiments: tuple[Experiment, ...]
    unknowns: tuple[Unknown, ...]
    theta: Array
    uncertainty: Uncertainty
    motions: tuple[Motion, ...]
    predicted: tuple[tuple[Array, ...], ...]
    noise: Mapping[str, float]
    known_noise: frozenset[str]
    freedom: int
    converged: bool
    why: str
    costs: tuple[float, ...]
    exact: bool
    motions_computed: int
    loss: str = "linear"

    # -- results -------------------------------------------------------------------------------------------------------

    def _by_name(self, numbers: Sequence[Any]) -> ByName:
        grouped: dict[Any, list[Any]] = {}
        for unknown, number in zip(self.unknowns, numbers, strict=True):
            grouped.setdefault(unknown.symbol, []).append(number)
        return ByName({s: x[0] if len(x) == 1 else np.array(x) for s, x in grouped.items()}, "the unknowns")

    @cached_property
    def values(self) -> ByName:
        return self._by_name([float(x) for x in self.theta])

    @cached_property
    def errors(self) -> ByName:
        return self._by_name([float(x) for x in self.uncertainty.errors])

    @cached_property
    def identifiable(self) -> ByName:
        return self._by_name([bool(x) for x in self.uncertainty.identifiable])

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the data do not determine: one sentence for each direction of the unknowns that changes nothing."""
        return self.uncertainty.unseen

    def interval(self, level: float = 0.95) -> ByName:
        """Unknown → (lower, upper) of its confidence interval: value ± error times Student's quantile (the normal one for given
        noise), with the degrees of freedom of the noise that its error comes from."""
        level = finite(level, "the level")
        if not 0 < level < 1:
            raise ModelError(f"a level of confidence lies between 0 and 1, as 0.95 does, not {level:g}")
        half_width = student.ppf(0.5 + level / 2, self.uncertainty.freedom) * self.uncertainty.errors
        return self._by_name([(float(x - h), float(x + h)) for x, h in zip(self.theta, half_width, strict=True)])

    @cached_property
    def correlation(self) -> Any:
        import xarray as xr

        names = [unknown.name for unknown in self.unknowns]
        return xr.DataArray(self.uncertainty.correlation, coords={"unknown": names, "other": names}, dims=("unknown", "other"))

    @property
    def motion(self) -> Any:
        return self.motions[0] if len(self.motions) == 1 else self.motions

    @cached_property
    def residuals(self) -> Any:
        records = []
        for experiment, values in zip(self.experiments, self.predicted, strict=True):
            end = np.full(experiment.empty, np.nan)
            residuals = {c.key: np.concatenate([c.values - y, end]) for c, y in zip(experiment.channels, values, strict=True)}
            records.append(ByName(residuals, "what was measured"))
        return records[0] if len(records) == 1 else tuple(records)

    @cached_property
    def held_out(self) -> Mapping[str, float]:
        residuals: dict[str, list[Array]] = {}
        for experiment, values in zip(self.experiments, self.predicted, strict=True):
            for channel, y in zip(experiment.channels, values, strict=True):
                residual = (channel.values - y)[experiment.fitted :]
                residuals.setdefault(channel.name, []).append(residual[np.isfinite(residual)])
        joined = {name: np.concatenate(rows) for name, rows in residuals.items()}
        errors = {name: float(np.sqrt(np.mean(r**2)) / self.noise[name]) for name, r in joined.items() if len(r)}
        return ByName(errors, "what was held out")

    # -- reliability ---------------------------------------------------------------------------------------------------

    @property
    def ok(self) -> bool:  # type: ignore[override]
        return self.converged and bool(self.uncertainty.identifiable.all()) and not self.doubts

    @property
    def message(self) -> str:  # type: ignore[override]
        return self.outcome if self.outcome != "complete" or not self.doubts else "; ".join(self.doubts)

    @property
    def outcome(self) -> str:
        """The end of the search and what the data do not determine, as text, without the doubts."""
        if not self.converged:
            return f"the search has not ended: {self.why}"
        return "; ".join(self.unseen) if self.unseen else "complete"

    def _beyond_noise(self) -> Mapping[str, float]:
        """Quantity → size of its residuals in units of the noise that was given, where these disagree."""
        residuals: dict[str, list[Array]] = {name: [] for name in self.known_noise}
        for experiment, values in zip(self.experiments, self.predicted, strict=True):
            for channel, y in zip(experiment.channels, values, strict=True):
                if channel.name in residuals:
                    residual = (channel.values - y)[: experiment.fitted]
                    residuals[channel.name].append(residual[np.isfinite(residual)])
        sizes = {name: robust_size(np.concatenate(rows)) / self.noise[name] for name, rows in sorted(residuals.items())}
        return {name: float(size) for name, size in sizes.items() if size > BEYOND_NOISE}

    def _few_values(self) -> list[str]:
        """Doubts about errors of a robust loss from too few values."""
        if self.loss == "linear":
            return []
        counts = {name: 0 for name in self.noise}
        for experiment in self.experiments:
            for channel in experiment.channels:
                counts[channel.name] += int(channel.present[: experiment.fitted].sum())
        few = {name: p for name, p in self.uncertainty.used.items() if counts[name] < FEW_FOR_ROBUST * round(p, 3)}
        return [
            f"'{name}' has {counts[name]} values for {p:.2g} unknowns, too few for the errors of loss='{self.loss}', which may"
            f" be too small below {FEW_FOR_ROBUST:g} values for each unknown"
            for name, p in few.items()
        ]

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        doubts = []
        for one, values in zip(self.experiments, self.predicted, strict=True):
            for channel, y in zip(one.channels, values, strict=True):
                residual = (channel.values - y)[: one.fitted]
                residual = residual[np.isfinite(residual)]
                if (
                    self.loss == "linear"
                    and len(residual) > 10
                    and few_decide(residual)
                    and np.std(residual) > 1e-9 * channel.spread
                ):
                    far = int(np.sum(np.abs(residual) > 5 * robust_size(residual)))
                    doubts.append(
                        f"{far} of {len(residual)} values of '{channel.name}' in {one.label} are far from the motion and decide"
                        " the fit: outliers (loss='soft_l1' bounds their weight), or a local minimum (attempts=)"
                    )
                if neighbours_correlate(residual) and np.std(residual) > 1e-9 * channel.spread:
                    doubts.append(
                        f"what is left of '{channel.name}' in {one.label} is not noise (neighbouring residuals correlate by"
                        f" {correlations(residual, 1)[0]:.2f}): the model lacks something, or the search has found a local"
                        " minimum; errors are then too small"
                    )
        for name, size in self._beyond_noise().items():
            doubts.append(
                f"what is left of '{name}' is {size:.3g} times its noise as given: noise= is too small, or the model lacks"
                " something; errors are then too small"
            )
        doubts += self._few_values()
        for one, x, error in zip(self.unknowns, self.theta, self.uncertainty.errors, strict=True):
            ends = [b for b in (one.low, one.high) if np.isfinite(b)]
            if any(abs(x - b) <= min(AT_BOUND * error, 1e-6 * max(abs(b), one.size)) for b in ends):
                doubts.append(f"{one.name} = {x:.6g} lies at its bound; its error is not to be trusted")
        for one, x, error in zip(self.unknowns, self.theta, self.uncertainty.errors, strict=True):
            size = max(abs(x), one.size)
            if HARDLY_TOLD * size < error < np.inf:
                doubts.append(
                    f"the data hardly tell {one.name}: its error, {error:.2g}, is {error / size:.1g} times its value"
                    " and its first guess (where a motion is stationary in it, as in s² at s = 0, errors say nothing)"
                )
        far = {name: size for name, size in self.held_out.items() if size > BEYOND_NOISE}
        doubts += [f"the held-out part of '{name}' is missed by {size:.3g} times its noise" for name, size in far.items()]
        return tuple(doubts)

    # -- display -------------------------------------------------------------------------------------------------------

    def variables(self) -> Mapping[str, Any]:
        """Unknowns with errors; each measured quantity and its residual over its own times, by experiment."""
        table: dict[str, Any] = {
            "value": (("unknown",), self.theta, {"units": "SI"}),
            "error": (("unknown",), self.uncertainty.errors, {"units": "SI", "long_name": "standard error"}),
            "identifiable": (("unknown",), self.uncertainty.identifiable),
            "correlation": (("unknown", "other"), self.uncertainty.correlation),
        }
        for i, (experiment, values) in enumerate(zip(self.experiments, self.predicted, strict=True)):
            mark = f"_{i + 1}" if len(self.experiments) > 1 else ""
            for channel, y in zip(experiment.channels, values, strict=True):
                name = channel.name.replace(".", "_") + mark
                table[f"measured_{name}"] = ((f"t{mark}",), channel.values, {"units": "SI", "symbol": channel.name})
                table[f"computed_{name}"] = ((f"t{mark}",), y, {"units": "SI", "symbol": channel.name})
        return table

    def coords(self) -> Mapping[str, Any]:
        names = [unknown.name for unknown in self.unknowns]
        times = {
            f"t_{i + 1}" if len(self.experiments) > 1 else "t": experiment.times
            for i, experiment in enumerate(self.experiments)
        }
        return {"unknown": names, "other": names, **{k: (k, x, {"units": "s", "long_name": "time"}) for k, x in times.items()}}

    def plot(self, axes: Any = None) -> Any:
        """Plots measured points on computed curves, with residuals below; returns the figure."""
        return delegate("Fit.plot")(self, axes)

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Writes one self-contained page: unknowns and errors, what the data do not determine, curves; returns its path."""
        return delegate("Fit.report")(self, path, title=title)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, value, error and 95 % interval of each unknown, as text."""
        rows = []
        pairs = [np.atleast_2d(np.asarray(pair)) for pair in self.interval().values()]
        flat = [tuple(pair) for several in pairs for pair in several]
        for unknown, x, error, (low, high) in zip(self.unknowns, self.theta, self.uncertainty.errors, flat, strict=True):
            determined = np.isfinite(error)
            rows.append((unknown.name, f"{x:.6g}", f"{error:.2g}" if determined else "not told by the data",
                          f"{low:.6g} … {high:.6g}" if determined else "–"))  # fmt: skip
        return rows

    def __str__(self) -> str:
        cells = [("unknown", "value", "standard error", "95 % interval"), *self.rows()]
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        head = f"fit of '{self.system.name}' to {sum(len(e.times) for e in self.experiments)} samples: {self.outcome}"
        return "\n".join([head, *lines, *(f"doubt: {doubt}" for doubt in self.doubts)])

    def __repr__(self) -> str:
        return str(self)


__all__ = ["ByName", "Fit"]
