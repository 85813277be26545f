"""Basins of attraction: the attractor of each start on a plane.

    z_{k+1} = P(z_k),  P the motion over one period;    attractor with m points: P^m(z) = z, all multipliers inside the circle

All starts run in one compiled loop; attractors are found from the motions themselves (`attractors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.forcing import explicit_time, refuse_other_period
from appell.analysis.many.attractor import Attractor
from appell.analysis.many.attractors import PERIODS_BETWEEN_LOOKS, AttractorSearch
from appell.analysis.many.basin_measures import BoundaryDimension, boundary_dimension, shares
from appell.analysis.many.periodic_runs import SWEEP_ATOL, PeriodicRuns
from appell.analysis.requests import axis, given_once, model_of, state_column
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.errors import ModelError
from appell.model import System
from appell.model.values import finite
from appell.motion.result_frame import Result
from appell.reading import refuse_many, whole
from appell.simulate.progress import reporter
from appell.spelling import checked_keywords
from appell.tree import Tree

Array = NDArray[np.float64]


STATE = 64  # bytes per start: two coordinates, time, step, label


@dataclass(frozen=True, eq=False, repr=False)
class Basin(Result):
    """Basins of attraction on a plane of starts, from `ap.basin`.

    Attributes
    ----------
    names, axes: the two coordinates or velocities and their values, (n,) and (m,).
    labels: (n, m), the index of the attractor; −1 undecided, −2 no motion (behind a wall, or it ended early).
    attractors: by label, those with most starts first.
    ok, message: whether every start that moves was decided by a motion without doubts, and if not, why.
    """

    system: System
    names: tuple[str, str]
    axes: tuple[Array, Array]
    labels: NDArray[np.int_]
    attractors: tuple[Attractor, ...]
    ok: bool
    message: str

    def variables(self) -> Mapping[str, Any]:
        attributes = {"units": "1", "long_name": "number of the attractor; -1 undecided, -2 no motion"}
        return {"label": (self._dims, self.labels, attributes)}

    def coords(self) -> Mapping[str, Any]:
        pairs = zip(self._dims, self.axes, self.names, strict=True)
        return {name: (name, values, {"units": "SI", "symbol": symbol}) for name, values, symbol in pairs}

    @property
    def stability(self) -> Array:
        """(attractors, 2): the fraction of the starts that end at each attractor (basin stability), and its standard error."""
        return shares(self.labels, len(self.attractors))

    def boundary_dimension(self) -> BoundaryDimension:
        """The box-counting dimension of the boundary between the basins: 1 for a smooth curve, between 1 and 2 for a
        fractal."""
        return boundary_dimension(self.labels)

    @property
    def _dims(self) -> tuple[str, str]:
        return self.names[0].replace(".", "_"), self.names[1].replace(".", "_")

    def plot(self, ax: Any = None) -> Any:
        """Plots the plane of starts in the colours of their attractors, with the points of these; returns the figure."""
        return delegate("Basin.plot")(self, [state_column(self.system, name) for name in self.names], ax)

    def __str__(self) -> str:
        kinds = "; ".join(f"{k}: {attractor}" for k, attractor in enumerate(self.attractors)) or "no attractor"
        return (
            f"basins of '{self.system.name}' on {self.labels.shape[0]} × {self.labels.shape[1]} starts: {kinds}; {self.message}"
        )


@checked_keywords(grid="over")
def basin(
    system: System | Tree | Run,
    over: Mapping[Any, ArrayLike],
    start: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    period: Any = None,
    most: int = 1000,
    tolerance: float = 1e-3,
    since: float = 0.0,
    rtol: float = 1e-8,
    atol: float | None = None,
    method: str = "auto",
    backend: str = "auto",
    threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> Basin:
    """The attractor of each initial state on a plane of initial states.

    Parameters
    ----------
    over: {coordinate or velocity: values, another: values}.
    start, parameters, since: the other initial values, the parameters, the initial time, s.
    period: s, or an expression in the parameters; that of the forcing by default; for autonomous systems a
        time in which their motions change.
    most: number of periods after which an initial state counts as undecided, or its motion as not periodic.
    tolerance: distance from an attractor, as a fraction of the extent of the motions, that counts as reached.
    threads: all cores by default, where the starts run in lanes (many starts, a model that `ap.simulate_many` takes in lanes).
    progress: True for a bar, or a function of the number of starts decided. Ctrl-C returns what is done.
    atol: 1e-10 of the smallest scale of the first period by default.
    rtol, atol, method and other options are those of `ap.simulate`; "auto" uses Taylor series for small smooth systems.
    """
    (x, xs), (y, ys) = axis(over, "over=", 2)
    most = whole(most, "most=", 1)
    tolerance = finite(tolerance, "tolerance=")
    if not 0 < tolerance < 1:
        raise ModelError(f"tolerance = {tolerance:g} must be a share of the extent between 0 and 1")
    refuse_many(len(xs) * len(ys), f"a basin of {len(xs)} × {len(ys)} = {len(xs) * len(ys)} starts", width=STATE)
    X, Y = np.meshgrid(xs, ys, indexing="ij")
    model = model_of(system, "basin")
    for name in (x, y):
        state_column(model, name)
    given_once(start, (x, y), "start=", "over=")
    ensemble = PeriodicRuns(
        system, {**(start or {}), x: X.ravel(), y: Y.ravel()}, dict(parameters or {}), X.size, since=since, period=period,
        autonomous=True, periods=4 * PERIODS_BETWEEN_LOOKS, rtol=rtol, atol=atol, share=SWEEP_ATOL, method=method,
        backend=backend, threads=threads, **options,
    )  # fmt: skip
    if period is not None and explicit_time(ensemble.run):
        refuse_other_period(ensemble.run, ensemble.z[0], since, float(ensemble.period[0]))
    search = AttractorSearch(ensemble, tolerance)
    message = search.run(most, reporter(progress, 0, X.size)) or ensemble.doubts()
    labels, attractors = search.ordered()
    notes = "; ".join(text for text in (message, search.immobile()) if text)
    return Basin(ensemble.system, (x, y), (xs, ys), labels.reshape(X.shape), attractors, not message, notes or "complete")


__all__ = ["Basin", "basin"]
