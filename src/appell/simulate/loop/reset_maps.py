"""The maps of resets in numbers: the state after an event, and whether the constraints hold there.

    (q, v)⁺ = map(t, q⁻, v⁻, p)        H⁺ − H⁻ = work of the reset
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.errors import AppellError
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, jacobian
from appell.model import Reset, System
from appell.normal_form import NormalForm
from appell.remember import remembered
from appell.simulate.start import check

Array = NDArray[np.float64]


class ResetState(NamedTuple):
    """One reset: its number, its time, s, and the states (q, v) before and after, (nq + nv,), SI; work: H⁺ − H⁻, J;
    loop_state: the state of the loop after it, (nz,)."""

    time: float
    number: int
    before: Array
    after: Array
    work: float
    loop_state: Array


class MapRefused(Exception):
    """Raised where a reset leads to a state from which no motion can start; the text says why."""


@remembered
def reset_map(form: NormalForm, system: System, reset: Reset) -> Fn:
    """(t, q, v, p) → the state (q, v) after the reset."""
    inputs = {"t": (form.inputs["t"], ()), **{n: (form.inputs[n], (form.inputs[n].numel(),)) for n in ("q", "v", "p")}}
    return make_fn("reset_map", inputs, {"z": (_mapped(form, system, reset), (form.nq + form.nv,))})


def _mapped(form: NormalForm, system: System, reset: Reset):
    """(q, v)⁺ as expressions in the symbols of the form."""
    return column(*(form.lower(system.in_velocities(reset.map.get(s, s))) for s in (*system.positions, *system.velocities)))


@remembered
def reset_slopes(form: NormalForm, system: System, reset: Reset) -> Fn:
    """(t, q, v, p) → guard g and its slope g_x (1, …), and that of the map R_x (nq + nv, …), by (t, q, v, p)."""
    g, z = form.lower(system.in_velocities(reset.guard)), _mapped(form, system, reset)
    x = column(*(form.inputs[name] for name in ("t", "q", "v", "p")))
    inputs = {"t": (form.inputs["t"], ()), **{n: (form.inputs[n], (form.inputs[n].numel(),)) for n in ("q", "v", "p")}}
    outputs = {"g": (g, ()), "g_x": (jacobian(g, x), (1, x.numel())), "R_x": (jacobian(z, x), (form.nq + form.nv, x.numel()))}
    return make_fn("reset_slopes", inputs, outputs)


def mapped_state(run: Run, number: int, t: float, z: Array, atol: float, *, has_work: bool) -> ResetState:
    """The state after a reset of z = (q, v, …, work), (nz,); `MapRefused` if it is not finite or off the constraints."""
    form, reset, p = run.form, run.system.resets[number], run.p_at(t)
    before = z[: form.nq + form.nv].copy()
    q, v = before[: form.nq].copy(), before[form.nq :].copy()
    after = np.array(reset_map(form, run.system, reset)(t, q, v, p)["z"], dtype=float)
    if not np.isfinite(after).all():
        symbols = (*run.system.positions, *run.system.velocities)
        raise MapRefused(f"reset '{reset.name}' gives {symbols[int(np.argmin(np.isfinite(after)))]} a value that is not finite")
    try:
        q_on, v_on, _ = check(run.system, form, p, t, after[: form.nq].copy(), after[form.nq :].copy(), atol)
    except AppellError as error:
        reason = str(error).replace("the start ", "the state ").split(". Use start=")[0]
        raise MapRefused(f"reset '{reset.name}' leads off the constraints: after its map {reason}") from None
    after = np.concatenate([q_on, v_on])
    energy = form.select("H")
    H = [float(energy(t, z[: form.nq].copy(), z[form.nq :].copy(), p)["H"]) for z in (before, after)]
    whole_z = np.concatenate([after, z[len(after) :]])
    whole_z[-1] += H[1] - H[0] if has_work else 0.0
    return ResetState(t, number, before, after, H[1] - H[0], whole_z)


__all__ = ["MapRefused", "ResetState", "mapped_state", "reset_map", "reset_slopes"]
