"""Doubts about runs of an ensemble: a check of their energy.

    |H(t₁) − H(t₀)|  against  max(T + |V − V(t₀)|) at both ends        where nothing does work

An impact may only lose energy. A step that jumps over a singularity, or is far too long, may end anywhere; one with error
control may pass a force that acts on less than its length, as that of a potential tanh(x/w). Such a run counts as finished, but
its message says that it should not be trusted.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.backends import warn
from appell.compiled.run import Run
from appell.ensembles.ensemble_result import Results, doubted, doubtful
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.errors import STATUS_TEXT, Status
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, depends, greater, is_zero, substitute_all, symbols, take
from appell.jets import jets_of, nodes_of
from appell.model import System
from appell.normal_form import NormalForm
from appell.remember import remembered
from appell.simulate.doubts import FIXED_STEP_BALANCE

Array = NDArray[np.float64]

LEAST_ENERGY_SCALE = 1e-3
"""Lower bound of the energy scale, as a fraction of |T| + |V|: at a turning point T = 0 and V = V(t₀)."""


RUNS_PER_THREAD = 1 << 16
"""Number of runs that justifies a thread; fewer are checked before a thread has started."""


def doubt_energies(run: Run, inputs: Inputs, order: Order, results: Results, threads: int = 1) -> None:
    """Adds to the message of each finished run whether it failed to conserve energy."""
    if (order.step is None and not may_be_steep(run.system)) or not _keeps_energy(run):
        return
    good = results.as_requested
    chosen: Any = slice(None) if good.all() else np.flatnonzero(good)
    fraction = _energy_changes(run, inputs, order, results, chosen, threads)
    changed = np.flatnonzero((fraction > FIXED_STEP_BALANCE) & ~doubtful(results.message)[chosen])
    for k, size in zip(changed if good.all() else chosen[changed], fraction[changed], strict=True):
        reason = f"its energy changed by {size:.2g} of the energies: {_remedy(order)}"
        results.set_message(k, doubted(STATUS_TEXT[Status.OK], [reason]))
    if len(changed):
        with_steps = "" if order.step is None else f" in steps of {order.step:g} s"
        warn(f"{len(changed)} of {len(results.status)} runs{with_steps} did not keep their energy; see motions['message']")


def _remedy(order: Order) -> str:
    """What to change where energy is not kept."""
    if order.step is None:
        return "tighten rtol=, limit the step by max_step=, or look for a singular configuration"
    return f"step={order.step:g} is too long, or jumped a singularity; shorten it, or use rtol="


@remembered
def may_be_steep(system: System) -> bool:
    """Whether the potential may change in less than a step with error control: polynomials of coordinates, their sines and
    cosines do not."""
    powers = nodes_of(system.potential, sympy.Pow)
    other_functions = nodes_of(system.potential, sympy.Function) - nodes_of(system.potential, sympy.sin, sympy.cos)
    return bool(other_functions) or any(not (x.exp.is_integer and x.exp.is_nonnegative) for x in powers if jets_of(x))


def _keeps_energy(run: Run) -> bool:
    """Whether H is constant between impacts, no wall moves, no state is reset, and none changes by a rate of its own."""
    form = run.form
    if run.system.resets or form.states:
        return False
    steady = not depends(form["g"], form.inputs["t"]) and not depends(form["V"], form.inputs["t"])
    steady &= run.schedule is None
    return not run.system.frictions and is_zero(form["power"]) and steady


def _energy_changes(run: Run, inputs: Inputs, order: Order, results: Results, chosen: Any, threads: int) -> Array:
    """`_changes_of_chunk`, in several threads if there are many runs."""
    count = inputs.runs if isinstance(chosen, slice) else len(chosen)
    pieces = min(threads, 1 + count // RUNS_PER_THREAD)
    if pieces == 1:
        return _changes_of_chunk(run, inputs, order, results, chosen)
    bounds = np.linspace(0, count, pieces + 1).astype(int).tolist()
    chunks = [slice(a, b) if isinstance(chosen, slice) else chosen[a:b] for a, b in pairwise(bounds)]
    with ThreadPoolExecutor(pieces) as pool:
        return np.concatenate([*pool.map(lambda chunk: _changes_of_chunk(run, inputs, order, results, chunk), chunks)])


def _changes_of_chunk(run: Run, inputs: Inputs, order: Order, results: Results, chosen: Any) -> Array:
    """The change of H relative to the energy scale, (chosen,); NaN where an energy is not defined."""
    p = inputs.p if inputs.p.ndim == 1 else inputs.p[chosen]
    arrays = [order.t0, inputs.q[chosen], inputs.v[chosen], results.t[chosen], results.z[chosen], p]
    if len(arrays[1]) == 0:
        return np.zeros(0)
    with np.errstate(all="ignore"):
        return run._evaluate(_change_function(run.form, bool(run.system.unilateral)), arrays)["share"]


@remembered
def _change_function(form: NormalForm, struck: bool) -> Fn:
    """(t₀, q₀, v₀, t₁, z₁, p) → the change of H (only its gain if there were impacts), relative to the energy scale."""
    begin = [form.inputs[name] for name in ("t", "q", "v")]
    t, z = symbols("t1", 1), symbols("z", form.nq + form.nv)
    end = [t, take(z, range(form.nq)), take(z, range(form.nq, form.nq + form.nv))]
    energies = [form[name] for name in ("T", "V", "H")]
    T0, V0, H0 = energies
    T1, V1, H1 = substitute_all(energies, begin, end)
    change = greater(H1 - H0, Value(0)) if struck else (H1 - H0).fabs()
    exchanged = greater(T0.fabs(), T1.fabs() + (V1 - V0).fabs())
    total = T0.fabs() + V0.fabs() + T1.fabs() + V1.fabs()
    inputs = {"t": (begin[0], ()), "q": (begin[1], (form.nq,)), "v": (begin[2], (form.nv,)), "t1": (t, ())}
    inputs |= {"z": (z, (form.nq + form.nv,)), "p": (form.inputs["p"], (form.inputs["p"].numel(),))}
    return make_fn("energies", inputs, {"share": (change / greater(exchanged, LEAST_ENERGY_SCALE * total + 1e-300), ())})


__all__ = ["doubt_energies", "may_be_steep"]
