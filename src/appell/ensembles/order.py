"""The request for an ensemble: times, tolerances or a step, a method, and what to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from appell.ensembles.kept import Kept
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.stiff import STIFF
from appell.model.stops import Stop
from appell.simulate.doubts import STATES_JUDGED
from appell.simulate.run_request import RunRequest

Array = NDArray[np.float64]

SINGLE_SPACING = 2.0**-23
"""Spacing of single-precision numbers near 1."""
TIME_IN_STEPS = 0.05
"""Accuracy to which times must be known, as a fraction of a step, since a step is the difference of two times."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Runs from t0 to ends, (runs,) or (1,), with the fixed step `step`, or with error control if that is None.

    All times are counted from `origin`. stops: conditions by name; the first that occurs ends a run.
    """

    t0: float
    ends: Array
    rtol: float
    atol: float
    step: float | None
    method: str
    max_step: float
    max_steps: int
    corner: str
    kept: Kept
    scalar: str  # "double" or "float"
    gpu: bool = False
    stops: Mapping[str, Stop] = field(default_factory=dict)
    origin: float = 0.0

    def counted_from(self, origin: float) -> Order:
        """The same request with its times counted from another origin."""
        kept = self.kept if self.kept.times is None else replace(self.kept, times=self.kept.times - origin)
        return replace(self, t0=self.t0 - origin, ends=self.ends - origin, kept=kept, origin=self.origin + origin)

    @property
    def digits_suffice(self) -> bool:
        """Whether the precision of the loop resolves the times of its steps."""
        furthest = max(abs(self.t0), float(np.abs(self.ends).max()))
        return self.scalar == "double" or self.step is None or furthest * SINGLE_SPACING < TIME_IN_STEPS * self.step

    def end_of(self, run: int) -> float:
        return float(self.ends[run if len(self.ends) > 1 else 0])

    @property
    def method_alone(self) -> str:
        """The method of runs that are made one by one: the loops of `simulate` have no rk4."""
        return "dop853" if self.method == "rk4" else self.method

    def request_of(self, run: int) -> RunRequest:
        """The request for one of the runs, made by itself.

        Without times or reductions, it includes a few times, at whose states the run is verified.
        """
        end, method, times = self.end_of(run), self.method_alone, self.kept.times
        if times is not None:
            times = times if times.ndim == 1 else times[run]
        elif not self.kept.all_reductions and method not in (*STIFF, *CONSERVING):
            # stiff and conserving methods are confirmed by a second run at their own steps
            times = np.linspace(self.t0, end, STATES_JUDGED)
        return RunRequest(
            t0=self.t0, t_end=end, method=method, rtol=self.rtol, atol=self.atol, step=self.step, max_step=self.max_step,
            max_steps=self.max_steps, corner=self.corner, times=times,
            keep_steps=bool(self.kept.all_reductions), stops=self.stops, origin=self.origin,
        )  # fmt: skip
