"""The request for one run, with its numbers checked: from `simulate`, or for each run of `simulate_many`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.loop.task import MOST_STEPS
from appell.model.stops import Stop

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A run from t0 to t_end with a method and its tolerances, or with steps of a fixed size.

    times: times whose states are returned, in the order of the run, (k,); None: those of the steps.
    keep_steps: whether the steps are stored in any case.
    corner: the rule for corners. stops: conditions by name; the first that occurs ends the run.
    pseudo: name → expression in the velocities, for a run in pseudo-velocities.
    origin: the time of the model from which all these times are counted, s.
    """

    t0: float
    t_end: float
    method: str
    rtol: float
    atol: float | Array
    step: float | None = None
    max_step: float = np.inf
    max_steps: int = MOST_STEPS
    corner: str = "raise"
    times: Array | None = None
    keep_steps: bool = False
    stops: Mapping[str, Stop] = field(default_factory=dict)
    pseudo: Mapping[str, Any] | None = None
    origin: float = 0.0


__all__ = ["RunRequest"]
