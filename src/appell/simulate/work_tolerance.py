"""The tolerance of the work that a run integrates beside its state, in joules.

    Σ |Q_i − h_i| (s atol + ε |q_i|) + M_ii |v_i| (s atol + ε |v_i|)        at the start

is what an error of s atol, or rounding, in coordinates and velocities makes of the energy. An error of the work up to this size
is always allowed. With atol alone, rounding in the power of forces that do no work in sum (a Coriolis force on 1e6 kg) would be
taken for an error of the steps, which then become shorter without end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow

Array = NDArray[np.float64]

WORK_SHARE, WORK_ROUNDING = 1e-2, 2e-15
"""s and ε of the formula: shares of atol, and of a coordinate or velocity."""


def with_work(atol: Any, flow: Flow, form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Any:
    """atol, (nz,) or one number, with at least the tolerance above for the work, the last entry of z."""
    if not flow.has_work or flow.extra or flow.energy is not None or form.law is not None:
        return atol
    out, least = form.select("M", "Q", "h")(t, q, v, p), float(np.min(atol))
    places = np.abs(q[: len(v)]) if form.nq - form.states == len(v) else np.full(len(v), np.abs(q).max(initial=0.0))
    allowed = lambda x: WORK_SHARE * least + WORK_ROUNDING * x
    work = float(np.abs(out["Q"] - out["h"]) @ allowed(places) + (out["M"].diagonal() * np.abs(v)) @ allowed(np.abs(v)))
    if not np.isfinite(work) or work <= (atol if type(atol) is float else np.resize(atol, flow.nz)[-1]):
        return atol
    return np.append(np.resize(atol, flow.nz - 1), work)
