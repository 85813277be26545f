"""Starts and ends on the rows: whether such states exist, and which of their values the rows imply.

Rows hold at the start and at the last node. A value that is given there and follows from the rows and the other given values
would be asked for twice, and a solver cannot tell two equal conditions apart: it is left to the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, jacobian
from appell.normal_form import NormalForm
from appell.normal_form.manifold import project, residuals
from appell.optimize.steering_request import EndConditions, SteeringRequest
from appell.remember import remembered
from appell.simulate.start import TOLERANCE

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

IMPLIED = 1e-7
"""Share of a unit vector that must lie outside of the space of the rows for its value to be a condition of its own."""


@dataclass(frozen=True, eq=False)
class EndState:
    """A state (nz,) that has the given values as far as it can, on the rows; and which of the given values the rows imply."""

    z: Array
    implied: Mask


def end_state(
    request: SteeringRequest,
    form: NormalForm,
    kept: tuple[int, ...],
    which: str,
    near: Array,
    t: float,
    p: Array,
    *,
    sure: bool,
) -> EndState:
    """The start or the end. sure: whether time and parameters are known, so that a state off the rows is a mistake."""
    conditions = request.start if which == "start" else request.end
    fixed = conditions.fixed
    z = np.where(fixed, conditions.lower, np.clip(near, conditions.lower, conditions.upper))
    _refuse_outside_bounds(request, conditions, which)
    nq = form.nq
    if form.rows or form.quaternions:
        z = _on_rows(request, form, which, z, fixed, t, p, sure)
    return EndState(z, _implied(form, kept, t, z[:nq], z[nq:], p, fixed))


def _refuse_outside_bounds(request: SteeringRequest, conditions: EndConditions, which: str) -> None:
    for s, low, high in zip(request.states, conditions.lower, conditions.upper, strict=True):
        if s not in request.bounds:
            continue
        least, most = request.bounds[s]
        if low > most or high < least:
            value = f"{s} = {low:g}" if low == high else f"{s} in {low:g} … {high:g}"
            raise ModelError(f"bounds= exclude the {which}: {value} lies outside of {least:g} … {most:g}")


def _on_rows(
    request: SteeringRequest, form: NormalForm, which: str, z: Array, fixed: Mask, t: float, p: Array, sure: bool
) -> Array:
    nq = form.nq
    hold_q, hold_v = fixed[:nq].copy(), fixed[nq:]
    for group in form.quaternions:  # they are made unit as a whole
        hold_q[list(group)] = False
    with np.errstate(all="ignore"):
        try:
            q, v = project(form, t, z[:nq].copy(), z[nq:].copy(), p, fixed_q=hold_q, fixed_v=hold_v)
            left = residuals(form, t, q, v, p)
        except np.linalg.LinAlgError:
            return z
    moved = np.abs(np.concatenate([q, v]) - z)[fixed].max(initial=0.0)
    if np.isfinite(left.relative) and left.relative <= TOLERANCE and moved <= 1e-6 * (1 + np.abs(z).max()):
        return np.concatenate([q, v])
    if sure and not request.steered.rates:  # a control in a row may satisfy it
        linear = [row for row in form.rows if row.linear]
        sizes = [(abs(f), row) for f, row in zip(left.f0, [r for r in linear if r.level == 0], strict=True)]
        sizes += [(abs(f), row) for f, row in zip(left.f1, [r for r in linear if r.level < 2], strict=True)]
        size, row = max(sizes, key=lambda pair: pair[0], default=(moved, None))
        what = "the unit quaternions" if row is None else f"constraint '{row.constraint.name}'"
        named = ", ".join(f"{s} = {x:g}" for s, x, f in zip(request.states, z, fixed, strict=True) if f)
        raise ConstraintError(
            f"no state on {what} has the {which} values {named}: {size:.3g} is left. Give fewer of them (ap.free leaves one to"
            f" the plan), or take {which}=ap.consistent(system, …)"
        )
    return z


def _implied(form: NormalForm, kept: tuple[int, ...], t: float, q: Array, v: Array, p: Array, fixed: Mask) -> Mask:
    """Which given values follow from the rows and the given values before them."""
    if not form.rows and not form.quaternions:
        return np.zeros(len(fixed), dtype=bool)
    linear = [row.index for row in form.rows if row.linear]
    low = [k for k, i in enumerate(i for i in linear if form.rows[i].level == 0) if i in kept]
    below = [k for k, i in enumerate(i for i in linear if form.rows[i].level < 2) if i in kept]
    slopes = _row_slopes(form)(t, q, v, p)
    unit = [_unit(np.concatenate([q, v]), group) for group in form.quaternions]
    return _dependent(np.array([*slopes["f0"][low], *unit, *slopes["f1"][below]]).reshape(-1, len(fixed)), fixed)


@remembered
def _row_slopes(form: NormalForm) -> Fn:
    """(t, q, v, p) → ∂f0/∂z and ∂f1/∂z by z = (q, v): states of first order, controls among them, may satisfy rows, too."""
    z = column(form.inputs["q"], form.inputs["v"])
    inputs = {"t": (form.inputs["t"], ())} | {x: (form.inputs[x], (form.inputs[x].numel(),)) for x in ("q", "v", "p")}
    table = {name: (jacobian(form[name], z), (form[name].numel(), z.numel())) for name in ("f0", "f1")}
    return make_fn("row_slopes", inputs, table)


def _unit(z: Array, group: tuple[int, ...]) -> Array:
    row = np.zeros(len(z))
    row[list(group)] = z[list(group)]
    return row


def _dependent(rows: Array, fixed: Mask) -> Mask:
    """Which of the unit vectors that are marked lie in the space of the rows and of the marked ones before them."""
    space: list[Array] = []
    for row in rows:
        _grown(space, row)
    found = np.zeros(len(fixed), dtype=bool)
    for i in np.flatnonzero(fixed):
        found[i] = not _grown(space, np.eye(len(fixed))[i])
    return found


def _grown(space: list[Array], row: Array) -> bool:
    """Puts the part of a row that is new into an orthonormal basis; whether there is any."""
    size = float(np.linalg.norm(row))
    if not size > 0 or not np.isfinite(size):
        return False
    rest = row / size
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        for e in space:
            rest = rest - (e @ rest) * e
    left = float(np.linalg.norm(rest))
    if left < IMPLIED:
        return False
    space.append(rest / left)
    return True


def independent_rows(form: NormalForm, states: list[tuple[float, Array, Array]], p: Array) -> tuple[int, ...]:
    """Numbers of rows that are independent at some state; those nonlinear in the accelerations are all kept."""
    linear = [row.index for row in form.rows if row.linear]
    best: list[int] = []
    for t, q, v in states:
        A, space = form.select("A")(t, q, v, p)["A"], []
        found = [i for i, row in zip(linear, A, strict=True) if np.isfinite(row).all() and _grown(space, row)]
        best = max(best, found, key=len)
        if len(best) == len(linear):
            break
    rest = [row.index for row in form.rows if not row.linear]
    return tuple(sorted([*best, *rest]))


__all__ = ["EndState", "end_state", "independent_rows"]
