"""What speaks against runs in steps of fixed size, which have no error to control: an energy that is not kept.

    |H(t₁) − H(t₀)|  against  max(T + |V − V(t₀)|) at both ends        where nothing does work

A blow may only take energy away. A step that has jumped a singularity, or is far too long, ends anywhere: its run is finished,
and its message says that it is not to be trusted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.backends import warn
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.ensembles.result import Results
from appell.errors import Status
from appell.graph.algebra import depends, is_zero
from appell.simulate.doubts import COARSE
from appell.simulate.run import Run

Array = NDArray[np.float64]

OFFSET = 1e-3
"""Share of |T| + |V| that the energies have at least: a run that ends where it turns has T = 0 and V = V(t₀)."""
CHUNK = 1_000_000
"""Runs that are looked at together."""


def doubt_energies(run: Run, inputs: Inputs, order: Order, results: Results) -> None:
    """Tells, in its message, of each run that is finished and has not kept its energy."""
    if order.step is None or not _keeps_energy(run):
        return
    done = np.flatnonzero(results.status == Status.OK)
    doubted = 0
    for chosen in np.array_split(done, max(1, -(-len(done) // CHUNK))):
        share = _changes(run, inputs, order, results, chosen)
        for k, size in zip(chosen[share > COARSE], share[share > COARSE], strict=True):
            results.message[k] = (
                f"finished, but its energy changed by {size:.2g} of the energies: step={order.step:g} is too long, or jumped a"
                " singularity; shorten it, or use rtol="
            )
            doubted += 1
    if doubted:
        runs = f"{doubted} of {len(results.status)} runs"
        warn(f"{runs} in steps of {order.step:g} s did not keep their energy; see dataset.message")


def _keeps_energy(run: Run) -> bool:
    """Whether H is constant between blows, and no wall pushes."""
    form = run.form
    steady = not depends(form["g"], form.inputs["t"]) and not depends(form["V"], form.inputs["t"])
    return not run.system.frictions and is_zero(form["power"]) and steady


def _changes(run: Run, inputs: Inputs, order: Order, results: Results, chosen: NDArray[np.intp]) -> Array:
    """The change of H in units of the energies, (chosen,)."""
    p = inputs.p if inputs.p.ndim == 1 else inputs.p[chosen]
    nq, n = run.form.nq, run.form.nq + run.form.nv
    fn = run.form.select("T", "V", "H")
    starts = np.full(len(chosen), order.t0), inputs.q[chosen], inputs.v[chosen]
    ends = results.t[chosen], results.z[chosen, :nq], results.z[chosen, nq:n]
    with np.errstate(all="ignore"):
        before, after = (run._evaluate(fn, [*at, p]) for at in (starts, ends))
        change = after["H"] - before["H"]
        change = np.maximum(change, 0.0) if run.system.unilateral else np.abs(change)
        moved = np.maximum(np.abs(before["T"]), np.abs(after["T"]) + np.abs(after["V"] - before["V"]))
        whole = sum(np.abs(at[name]) for at in (before, after) for name in ("T", "V"))
        return np.nan_to_num(change / np.maximum(moved, OFFSET * whole + 1e-300), nan=0.0)


__all__ = ["doubt_energies"]
