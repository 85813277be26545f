"""Start and end states on the rows: whether they exist, and which of their values the rows imply.

Rows hold at the start and at the last node. A given value that follows from the rows and the other given values would be a
redundant condition, which makes the solver's system singular: it is left to the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, jacobian
from appell.model import System
from appell.normal_form import NormalForm
from appell.normal_form.manifold import GAP_PARTS, Residuals, faces_crossed, project, residuals
from appell.optimize.state_sizes import by_inertia, inertia_roots
from appell.optimize.steering_request import EndConditions, SteeringRequest
from appell.remember import remembered
from appell.rows import rows_of_dependencies, with_direction
from appell.simulate.start import START_RESIDUAL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

IMPLIED = 1e-7
"""A given value is an independent condition if more than this fraction of its unit vector lies outside the row space."""
DEPENDENT_AT_END = 1e-4
"""The same for a row among rows; larger, because Newton's method finds states on dependent rows only to about √ε."""


VALUE_KEPT_WITHIN = 1e-6
"""A given value is kept by a state that differs from it by less than this fraction of its size."""
OTHER_STARTS = 16
"""Random starts of Newton's method before an end is declared inconsistent with the rows."""


@dataclass(frozen=True, eq=False)
class EndState:
    """A state (nz,) on the rows, with the given values as far as possible; and which of the given values the rows imply."""

    z: Array
    implied: Mask


@dataclass(frozen=True, eq=False)
class RowsAtEnd:
    """The rows that hold at the start or the end: a normal form, the indices of its independent rows, a time, s, and the
    system of the phase with the values of its parameters."""

    form: NormalForm
    independent_rows: tuple[int, ...]
    t: float
    system: System
    p: Array


def nearest_end(request: SteeringRequest, rows: RowsAtEnd, which: str, near: Array, *, sure: bool) -> Array:
    """The state (nz,) on the rows at the start or the end, with the values given there, and otherwise near `near`.

    sure: whether time and parameters are known, so that a state off the rows is an error.
    """
    conditions = request.start if which == "start" else request.end
    fixed = conditions.fixed
    z = np.where(fixed, conditions.lower, np.clip(near, conditions.lower, conditions.upper))
    _refuse_outside_bounds(request, conditions, which)
    if sure and fixed[: rows.form.nq].all():
        _refuse_behind_walls(rows, which, z)
    if rows.form.rows or rows.form.quaternions:
        return _on_rows(request, rows, which, z, sure)
    return z


def end_sizes(request: SteeringRequest, rows: RowsAtEnd, z: Array) -> Array:
    """Sizes of the states at an end, (nz,), from z and the values given for both ends."""
    values = np.abs(
        [z, *(bound for conditions in (request.start, request.end) for bound in (conditions.lower, conditions.upper))]
    )
    largest, nq = np.where(np.isfinite(values), values, 0.0).max(axis=0), rows.form.nq
    sizes = by_inertia(largest, inertia_roots(rows.form, [(rows.t, z)], rows.p), nq)
    q = np.where(sizes[:nq] > 0, sizes[:nq], 1.0)
    v = np.where(sizes[nq:] > 0, sizes[nq:], (q if len(q) == len(z) - nq else q.max(initial=1.0)) / request.duration[1])
    return np.concatenate([q, v])


def _refuse_outside_bounds(request: SteeringRequest, conditions: EndConditions, which: str) -> None:
    for s, low, high in zip(request.states, conditions.lower, conditions.upper, strict=True):
        if s not in request.bounds:
            continue
        lower, upper = request.bounds[s]
        if low > upper or high < lower:
            value = f"{s} = {low:g}" if low == high else f"{s} in {low:g} … {high:g}"
            raise ModelError(f"bounds= exclude the {which}: {value} lies outside of {lower:g} … {upper:g}")


def _refuse_behind_walls(rows: RowsAtEnd, which: str, z: Array) -> None:
    """Raises if the values given for an end lie behind a wall."""
    if not (faces := rows.system.unilateral):
        return
    q, v = np.split(z, [rows.form.nq])
    values = rows.form.select(*GAP_PARTS)(rows.t, q, v, rows.p)
    for face, g, behind in zip(faces, values["g"], faces_crossed(values, q, v, START_RESIDUAL, 0.0), strict=True):
        if behind:
            raise ConstraintError(f"the {which} lies behind '{face.name}': {face.function} >= 0 does not hold, it is {g:.6g}")


def _on_rows(request: SteeringRequest, rows: RowsAtEnd, which: str, z: Array, sure: bool) -> Array:
    form, nq, conditions = rows.form, rows.form.nq, request.start if which == "start" else request.end
    fixed = conditions.fixed
    hold_q, hold_v = fixed[:nq].copy(), fixed[nq:]
    for group in form.quaternions:  # normalized as a whole
        hold_q[list(group)] = False
    state, residual, moved = _nearest_on_rows(rows, z, (hold_q, hold_v), conditions, end_sizes(request, rows, z))
    if state is not None:
        return state
    if residual is None:
        return z
    if sure and fixed.any() and not request.steered.rates:  # otherwise a control may satisfy the row
        linear = [row for row in form.rows if row.linear]
        sizes = [(abs(f), row) for f, row in zip(residual.f0, [r for r in linear if r.level == 0], strict=True)]
        sizes += [(abs(f), row) for f, row in zip(residual.f1, [r for r in linear if r.level < 2], strict=True)]
        size, row = max(sizes, key=lambda pair: pair[0], default=(moved, None))
        label = "the unit quaternions" if row is None else f"constraint '{row.constraint.name}'"
        values = ", ".join(f"{s} = {x:g}" for s, x, f in zip(request.states, z, fixed, strict=True) if f)
        raise ConstraintError(
            f"no state on {label} has the {which} values {values}: {size:.3g} is left. Give fewer of them (ap.free leaves one"
            f" to the plan), or take {which}=ap.consistent(system, …)"
        )
    return z


def _nearest_on_rows(
    rows: RowsAtEnd, z: Array, hold: tuple[Mask, Mask], conditions: EndConditions, sizes: Array
) -> tuple[Array | None, Residuals | None, float]:
    """A state on the rows with the fixed values of z, the residual of the rows at z itself, and how far fixed values moved.

    Newton's method from z may reach a point where the rows have no gradient in the free values (the circle x² + y² = 1 with
    x = 0, from y = 0), or a state outside the given intervals. Then other starts of the free coordinates are tried.
    """
    form, t, p, fixed = rows.form, rows.t, rows.p, conditions.fixed
    nq, rng, slack = form.nq, np.random.default_rng(0), VALUE_KEPT_WITHIN * sizes
    first_residual, first_moved, outside = None, np.inf, None
    for k in range(1 + OTHER_STARTS):
        start = z[:nq].copy()
        start[~hold[0]] += rng.normal(size=int((~hold[0]).sum())) * sizes[:nq][~hold[0]] if k else 0.0
        with np.errstate(all="ignore"):
            try:
                q, v = project(form, t, start, z[nq:].copy(), p, fixed_q=hold[0], fixed_v=hold[1])
                residual = residuals(form, t, q, v, p)
            except np.linalg.LinAlgError:
                continue
        deviation = np.abs(np.concatenate([q, v]) - z)[fixed]
        moved = float(deviation.max(initial=0.0))
        if first_residual is None:
            first_residual, first_moved = residual, moved
        if not (np.isfinite(residual.relative) and residual.relative <= START_RESIDUAL and (deviation <= slack[fixed]).all()):
            continue
        state = np.concatenate([q, v])
        if ((state >= conditions.lower - slack) & (state <= conditions.upper + slack)).all():
            return state, residual, moved
        outside = state if outside is None else outside
    return outside, first_residual, first_moved


def end_states(
    request: SteeringRequest, rows: tuple[RowsAtEnd, RowsAtEnd], z: tuple[Array, Array]
) -> tuple[EndState, EndState]:
    """Which given values follow from the rows and the given values before them, those of the start first.

    The unknowns are (z at the start, z at the end, unknown parameters, duration): where such a value determines an unknown
    length, or the time at which a moving row is met, the rows do not imply it.
    """
    nz = len(z[0])
    fixed = np.concatenate([request.start.fixed, request.end.fixed, np.zeros(len(request.unknown) + 1, dtype=bool)])
    free_end = request.duration[0] < request.duration[1]
    space, masks = np.zeros((len(fixed), 0)), []
    unknown = [abs(request.parameters[s]) or 1.0 for s in request.unknown]
    sizes = np.concatenate([*(end_sizes(request, at_end, state) for at_end, state in zip(rows, z, strict=True)), unknown])
    sizes = np.append(sizes, request.duration[1])  # in units of these, the size of a derivative means something
    for k, (at_end, state) in enumerate(zip(rows, z, strict=True)):
        by_z, by_p, by_t = _slopes_at_end(at_end, state)
        table = np.zeros((len(by_z), len(fixed)))
        table[:, k * nz : (k + 1) * nz] = by_z
        for i, s in enumerate(request.unknown):
            if s in at_end.system.parameters:
                table[:, 2 * nz + i] = by_p[:, at_end.system.parameters.index(s)]
        table[:, -1] = by_t if k and free_end else 0.0
        implied, space = _dependent(table * sizes, fixed & (np.arange(len(fixed)) // nz == k), space)
        masks.append(implied[k * nz : (k + 1) * nz])
    return EndState(z[0], masks[0]), EndState(z[1], masks[1])


def _slopes_at_end(rows: RowsAtEnd, z: Array) -> tuple[Array, Array, Array]:
    """Derivatives of all rows with respect to the state, the parameters and time: (m, nz), (m, np), (m,)."""
    form, nq = rows.form, rows.form.nq
    linear = [row.index for row in form.rows if row.linear]
    position_rows = [k for k, i in enumerate(i for i in linear if form.rows[i].level == 0) if i in rows.independent_rows]
    velocity_rows = [k for k, i in enumerate(i for i in linear if form.rows[i].level < 2) if i in rows.independent_rows]
    slopes = _row_slopes(form)(rows.t, z[:nq], z[nq:], rows.p)
    unit = np.array([_quaternion_row(z, group) for group in form.quaternions]).reshape(-1, len(z))
    zeros = np.zeros((len(unit), len(rows.p)))
    by_z = np.vstack([slopes["f0_z"][position_rows], unit, slopes["f1_z"][velocity_rows]])
    by_p = np.vstack([slopes["f0_p"][position_rows], zeros, slopes["f1_p"][velocity_rows]])
    return by_z, by_p, np.concatenate([slopes["f0_t"][position_rows], zeros[:, :0].sum(axis=1), slopes["f1_t"][velocity_rows]])


@remembered
def _row_slopes(form: NormalForm) -> Fn:
    """(t, q, v, p) → ∂f0 and ∂f1 with respect to z = (q, v), p and t. States of first order, controls among them, are in z."""
    z = column(form.inputs["q"], form.inputs["v"])
    inputs = {"t": (form.inputs["t"], ())} | {x: (form.inputs[x], (form.inputs[x].numel(),)) for x in ("q", "v", "p")}
    table = {}
    for name in ("f0", "f1"):
        m = form[name].numel()
        table[f"{name}_z"] = (jacobian(form[name], z), (m, z.numel()))
        table[f"{name}_p"] = (jacobian(form[name], form.inputs["p"]), (m, form.inputs["p"].numel()))
        table[f"{name}_t"] = (jacobian(form[name], form.inputs["t"]), (m,))
    return make_fn("row_slopes", inputs, table)


def _quaternion_row(z: Array, group: tuple[int, ...]) -> Array:
    row = np.zeros(len(z))
    row[list(group)] = z[list(group)]
    return row


def _dependent(rows: Array, fixed: Mask, space: Array) -> tuple[Mask, Array]:
    """Which of the marked unit vectors lie in the span of the rows and of the marked ones before them, and the basis of it."""
    for row in rows:
        space = _with_row(space, row, IMPLIED)[0]
    dependent = np.zeros(len(fixed), dtype=bool)
    for i in np.flatnonzero(fixed):
        space, outside = _with_row(space, np.eye(len(fixed))[i], IMPLIED)
        dependent[i] = not outside
    return dependent, space


def _with_row(space: Array, row: Array, threshold: float) -> tuple[Array, bool]:
    """The orthonormal basis of a space and a row, and whether the row was outside of it."""
    wider = with_direction(space, row, threshold)
    return (space, False) if wider is None else (wider, True)


def independent_rows(form: NormalForm, states: list[tuple[float, Array, Array]], p: Array) -> tuple[int, ...]:
    """Indices of rows that are independent at some state; all that are nonlinear in the accelerations are included."""
    linear = [row.index for row in form.rows if row.linear]
    best: list[int] = []
    for t, q, v in states:
        independent, space = [], np.zeros((form.nv, 0))
        for i, row in zip(linear, _rows_by_inertia(form, t, q, v, p), strict=True):
            space, outside = _with_row(space, row, DEPENDENT_AT_END)
            independent += [i] if outside else []
        best = max(best, independent, key=len)
        if len(best) == len(linear):
            break
    nonlinear = [row.index for row in form.rows if not row.linear]
    return tuple(sorted([*best, *nonlinear]))


def _rows_by_inertia(form: NormalForm, t: float, q: Array, v: Array, p: Array) -> Array:
    """A with velocities in units in which they carry alike, (m, nv): lengths and angles are not compared by their numbers."""
    roots = inertia_roots(form, [(t, np.concatenate([q, v]))], p)[form.nq :]
    roots = np.where(roots > 0, roots, roots.max(initial=0.0) or 1.0)
    return np.asarray(form.select("A")(t, q, v, p)["A"] / roots, dtype=float)


def undetermined_rows(form: NormalForm, kept: tuple[int, ...], states: list[tuple[float, Array, Array]], p: Array) -> set[int]:
    """Indices of rows whose multipliers are not determined: all rows of a linear dependency."""
    linear = [row.index for row in form.rows if row.linear]
    dependent = [i for i in linear if i not in kept]
    undetermined = set(dependent)
    for t, q, v in states if dependent else ():
        A = _rows_by_inertia(form, t, q, v, p)
        if np.isfinite(A).all():
            undetermined |= {linear[k] for k in rows_of_dependencies(A, len(linear) - len(dependent))}
    return undetermined


__all__ = ["EndState", "RowsAtEnd", "end_states", "independent_rows", "nearest_end", "undetermined_rows"]
