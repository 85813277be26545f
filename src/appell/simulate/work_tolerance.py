"""The tolerance of the work that a run integrates beside its state, in joules.

    Σ |Q_i − h_i| (s atol + ε |q_i|) + M_ii |v_i| (s atol + ε |v_i|)        at the start

is what an error of s atol, or rounding, in coordinates and velocities makes of the energy. An error of the work up to this size
is always allowed. With atol alone, rounding in the power of forces that do no work in sum (a Coriolis force on 1e6 kg) would be
taken for an error of the steps, which then become shorter without end.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, depends, diagonal, largest, take, zeros
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow
from appell.remember import remembered

Array = NDArray[np.float64]

WORK_SHARE, WORK_ROUNDING = 1e-2, 2e-15
"""s and ε of the formula: shares of atol, and of a coordinate or velocity."""


def with_work(atol: Any, flow: Flow, form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Any:
    """atol, (nz,) or one number, with at least the tolerance above for the work, the last entry of z."""
    if not flow.has_work or flow.extra or flow.energy is not None or form.law is not None:
        return atol
    by_error, by_rounding = _energies(form)(t, q, v, p)["energies"].tolist()
    plain = type(atol) is float
    work = WORK_SHARE * (atol if plain else float(np.min(atol))) * by_error + WORK_ROUNDING * by_rounding
    if not isfinite(work) or work <= (atol if plain else np.resize(atol, flow.nz)[-1]):
        return atol
    return np.append(np.resize(atol, flow.nz - 1), work)


@remembered
def _energies(form: NormalForm) -> Fn:
    """Σ |Q − h| + M_ii |v_i| and Σ |Q − h| |q| + M_ii v_i², (2,): of q and v changed by 1, by themselves."""
    t, q, v, p = (form.inputs[x] for x in "tqvp")
    simple = form.nq - form.states
    magnitudes = take(q, range(simple)).fabs() if simple == form.nv else largest(q)
    forces, momenta, total = (form["Q"] - form["h"]).fabs(), diagonal(form["M"]) * v.fabs(), Value.ones(1, form.nv)
    ports = {"t": (t, ()), **{name: (x, (x.numel(),)) for name, x in (("q", q), ("v", v), ("p", p))}}
    sums = column(total @ (forces + momenta), total @ (forces * magnitudes + momenta * v.fabs()))
    if any(depends(sums, form.inputs[x]) for x in ("a", "lam")):
        sums = zeros(2)  # forces that are not known yet
    return make_fn("energies", ports, {"energies": (sums, (2,))})
