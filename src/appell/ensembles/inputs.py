"""Initial states and parameters of many runs: values or arrays by symbol, broadcast to one length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.ensembles.free_memory import missing_memory
from appell.ensembles.input_tables import InputTables
from appell.errors import ModelError
from appell.model import System
from appell.model.measured import letters_of
from appell.model.values import as_table, bound, reals
from appell.normal_form import NormalForm
from appell.normal_form.manifold import GAP_PARTS, RESIDUAL_PARTS, faces_crossed, relative, residuals_from
from appell.reading import name_in, refuse_large, shown, text_of
from appell.simulate.loop.prepare import strange_restitution
from appell.simulate.start import START_RESIDUAL, read

Array = NDArray[np.float64]
Table = Mapping[Any, Any]


@dataclass(frozen=True)
class Inputs:
    """Initial states, of which q (runs, nq) and v (runs, nv) are views; p (runs, np), or (np,) if no parameter varies.

    varied: name → values (runs,). tables: sampled inputs.
    """

    states: Array  # (runs, nq + nv)
    q: Array
    v: Array
    p: Array
    varied_starts: Mapping[str, Array]
    varied_parameters: Mapping[str, Array]
    tables: InputTables | None = None

    @property
    def runs(self) -> int:
        return len(self.q)

    def p_of(self, run: int) -> Array:
        return self.p if self.p.ndim == 1 else self.p[run]


def outer(*tables: Table) -> Any:
    """Every combination of the arrays in one or several tables; the last one varies fastest.

        starts = ap.outer({x: xs, y: ys})
        starts, parameters = ap.outer({x: xs}, {k: ks})

    Each table is returned with arrays whose length is the product of all lengths; single values stay single values.
    """
    if not tables or not all(isinstance(table, Mapping) for table in tables):
        raise ModelError("ap.outer takes tables {symbol: values}, such as ap.outer({x: xs}, {k: ks})")
    axes = [_column(key, value) for table in tables for key, value in table.items()]
    lengths = [len(axis) for axis in axes if axis.ndim]
    _refuse_too_many(lengths)
    grids = iter(np.meshgrid(*(axis for axis in axes if axis.ndim), indexing="ij") if lengths else ())
    flat = iter([next(grids).ravel() if axis.ndim else axis[()] for axis in axes])
    combined = tuple({key: next(flat) for key in table} for table in tables)
    return combined[0] if len(combined) == 1 else combined


def _refuse_too_many(lengths: list[int]) -> None:
    """Raises `ModelError` if all combinations would not fit into memory."""
    runs = prod(lengths)
    if missing := missing_memory(24 * runs * len(lengths)):  # combinations, and initial states and parameters made of them
        combinations = f"{' × '.join(map(str, lengths))} = {runs} combinations"
        raise ModelError(
            f"{combinations} take {missing}: take fewer values, or ap.sweep, which makes them in chunks and stores each"
        )


def read_inputs(system: System, starts: Any, parameters: Table | None, *, product: bool, runs: int | None = None) -> Inputs:
    """Initial states (a table, or an array (runs, nq + nv)) and parameters of all runs, with names and values checked.

    runs: their number, if sampled inputs determine it.
    """
    start_table, array = _states(system, starts), None if product else _state_array(starts)
    values = {key: value for key, value in as_table(system.parameters, parameters).items() if not letters_of([key])}
    if product:
        start_table, values = outer(start_table, values)
    columns = (
        {key: _column(key, value) for key, value in start_table.items()} if array is None
        else zip(start_table, array.T, strict=True)
    )  # fmt: skip
    start_table = dict(columns)
    values = {key: _column(key, value) for key, value in values.items()}
    lengths = {text_of(key): len(value) for table in (start_table, values) for key, value in table.items() if value.ndim}
    lengths |= {} if runs is None else {"inputs=": runs}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise ModelError(
            f"the arrays of start=, parameters= and inputs= must have one length ({listed}); for every combination of the first"
            " two use product=True"
        )
    runs = next(iter(lengths.values()), 1)
    if runs == 0:
        raise ModelError("there are no runs: the arrays are empty")
    states = _fill_starts(system, start_table, runs) if array is None else array
    p = _fill_parameters(system, values, runs)
    varied_starts, varied_values = (
        {text_of(key): value for key, value in table.items() if value.ndim} for table in (start_table, values)
    )
    return Inputs(states, states[:, : system.nq], states[:, system.nq :], p, varied_starts, varied_values)


def _states(system: System, starts: Any) -> Table:
    """Initial states as a table: symbol → values."""
    if starts is None:
        return {}
    if isinstance(starts, np.ndarray):
        symbols = (*system.positions, *system.velocities)
        if starts.ndim != 2 or starts.shape[1] != len(symbols):
            shape = f"(runs, {len(symbols)})"
            raise ModelError(f"start= as an array has the shape {shape}, coordinates then velocities, not {starts.shape}")
        return dict(zip(symbols, starts.T, strict=True))
    if not isinstance(starts, Mapping):
        raise ModelError(f"start= is {{coordinate or velocity: values}}, or an array of states, not {type(starts).__name__}")
    return starts


def _state_array(starts: Any) -> Array | None:
    """A copy of states given as one finite float64 array, (runs, nq + nv); otherwise None."""
    if type(starts) is not np.ndarray or starts.dtype != float:
        return None
    refuse_large(starts, "start=")
    return np.array(starts, order="C") if np.isfinite(starts).all() else None  # the check by columns names the culprit


def _column(key: Any, value: Any) -> Array:
    """The values of one quantity, checked: one number, (), or (runs,)."""
    key = name_in(key)
    refuse_large(value, f"the values of {key}")
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise ModelError(f"the values of {text_of(key)} must be real numbers, not {shown(value)}") from None
    if array.ndim > 1:
        raise ModelError(f"the values of {text_of(key)} have the shape {array.shape}; flatten them, one a run (ap.outer)")
    return array


def _fill_starts(system: System, columns: Mapping[Any, Array], runs: int) -> Array:
    """All initial states, (runs, nq + nv)."""
    defaults = read(system, {key: 0.0 for key in columns} if isinstance(columns, Mapping) else columns)
    state = np.empty((runs, system.nq + system.nv))
    state[:] = np.concatenate(defaults)
    index_of = {str(s): i for i, s in enumerate((*system.positions, *system.velocities))}
    for key, value in columns.items():
        _refuse_infinite(f"the start value of {key}", value)
        state[:, index_of[text_of(key)]] = value
    return state


def _fill_parameters(system: System, values: Mapping[Any, Array], runs: int) -> Array:
    """All parameters, (np,), or (runs, np) if one varies; assumptions are checked at the extreme values."""
    for key, value in values.items():
        _refuse_infinite(f"the value of parameter '{key}'", value)
    for pick in (np.min, np.max, lambda x: x[np.argmin(np.abs(x))], lambda x: x[np.argmax(np.abs(x - np.round(x)))]):
        table = bound(system.parameters, {key: float(pick(np.atleast_1d(value))) for key, value in values.items()}, system.name)
    by_name = {text_of(key): value for key, value in values.items()}
    if not any(value.ndim for value in values.values()):
        return np.array([table[s] for s in system.parameters], dtype=float)
    p = np.empty((runs, len(system.parameters)))
    for i, symbol in enumerate(system.parameters):
        p[:, i] = by_name.get(str(symbol), table[symbol])  # records have no value yet
    return p


def _refuse_infinite(quantity: str, value: Array) -> None:
    """Raises `ModelError` if some values are not finite."""
    bad = np.flatnonzero(~np.isfinite(np.atleast_1d(value)))
    if len(bad):
        others = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ModelError(f"{quantity} is not finite" + (f" in run {bad[0]}{others}" if value.ndim else ""))


def refused_starts(run: Run, t0: float, inputs: Inputs, atol: float) -> dict[int, str]:
    """Run → why its start is refused: off the constraints, behind a wall, with a quaternion that is not unit, or with a
    restitution that is not in [0, 1]. The bounds are those of `simulate`."""
    system, form = run.system, run.form
    reasons: dict[int, str] = {}
    for ball, group in zip(system.quaternions, form.quaternions, strict=True):
        size = np.linalg.norm(inputs.q[:, list(group)], axis=1)
        for k in np.flatnonzero(~(np.abs(size - 1) <= START_RESIDUAL)):
            reasons.setdefault(int(k), f"the start of quaternion '{ball.name}' is not unit: its norm is {size[k]:.6g}")
    if form.rows and len(suspects := _with_residuals(run, form, t0, inputs)):
        all_residuals, names = _off_constraints(run, form, t0, suspects, inputs)
        for k, residuals in zip(suspects, all_residuals, strict=True):
            if not residuals.max(initial=0.0) <= START_RESIDUAL:
                row = int(np.nanargmax(np.where(np.isnan(residuals), np.inf, residuals)))
                measure = f"its relative residual is {residuals[row]:.2g}"
                reasons.setdefault(int(k), f"the start is not on constraint '{names[row]}': {measure}")
    if system.unilateral and len(suspects := _at_faces(run, form, t0, inputs)):
        blocks = _batch(run, form, GAP_PARTS, t0, suspects, inputs)
        crossed = faces_crossed(blocks, inputs.q[suspects], inputs.v[suspects], START_RESIDUAL, atol)
        for i in np.flatnonzero(crossed.any(axis=1)):
            face = system.unilateral[int(np.argmax(crossed[i]))]
            reasons.setdefault(int(suspects[i]), f"the start violates '{face.name}': {face.function} >= 0 does not hold")
    if any(not face.restitution.is_number for face in system.unilateral):
        for k, face, value in _strange_restitutions(form, t0, inputs):
            reasons.setdefault(k, strange_restitution(system.unilateral[face], value))
    return reasons


def none_usable(system: System, why: Mapping[int, str]) -> str:
    """A sentence for an ensemble in which every start is refused."""
    hint = "; ap.consistent(system, start, parameters=…) gives the nearest state that is" if not system.unilateral else ""
    return f"no start can be used; run 0: {why[0]}{hint}"


def _strange_restitutions(form: NormalForm, t0: float, inputs: Inputs) -> Iterator[tuple[int, int, float]]:
    """Runs, faces and values of restitutions outside [0, 1]; they depend on nothing but parameters."""
    p = np.atleast_2d(inputs.p)
    with np.errstate(all="ignore"):
        (e,) = vm_function(form.select("restitution")).batch(t0, inputs.q[: len(p)], inputs.v[: len(p)], p)
    for k, face in np.argwhere(~((e >= 0) & (e <= 1))):
        for run in (int(k),) if inputs.p.ndim == 2 else range(inputs.runs):
            yield run, int(face), float(e[k, face])


def _batch(run: Run, form: NormalForm, names: tuple[str, ...], t0: float, chosen: Any, inputs: Inputs) -> dict[str, Array]:
    """Outputs of the normal form at some of the initial states."""
    q, v, p = inputs.q[chosen], inputs.v[chosen], inputs.p if inputs.p.ndim == 1 else inputs.p[chosen]
    with np.errstate(all="ignore"):
        return run._evaluate(form.select(*names), [np.full(len(q), t0), q, v, p])


def _with_residuals(run: Run, form: NormalForm, t0: float, inputs: Inputs) -> NDArray[np.intp]:
    """Runs whose residuals are not below the tolerance already by the terms of the rows themselves."""
    blocks = _batch(run, form, RESIDUAL_PARTS[:4], t0, slice(None), inputs)
    fine = [(np.abs(blocks[f]) <= START_RESIDUAL * blocks[f"{f}_scale"]).all(axis=1) for f in ("f0", "f1")]
    return np.flatnonzero(~(fine[0] & fine[1]))


def _at_faces(run: Run, form: NormalForm, t0: float, inputs: Inputs) -> NDArray[np.intp]:
    """Runs that do not start clearly on the right side of every face, or where one has no normal."""
    blocks = _batch(run, form, ("g", "g_v"), t0, slice(None), inputs)
    return np.flatnonzero(~((blocks["g"] >= 0).all(axis=1) & np.isfinite(blocks["g_v"]).all(axis=(1, 2))))


def _off_constraints(
    run: Run, form: NormalForm, t0: float, chosen: NDArray[np.intp], inputs: Inputs
) -> tuple[Array, list[str]]:  # fmt: skip
    """Relative residuals of some runs, (chosen, rows), and the names of the rows."""
    with np.errstate(all="ignore"):
        parts = _batch(run, form, RESIDUAL_PARTS, t0, chosen, inputs)
        violations = residuals_from(form, parts, inputs.q[chosen], inputs.v[chosen])
        parts = [relative(violations.f0, violations.f0_scale), relative(violations.f1, violations.f1_scale)]
    linear = [r for r in form.rows if r.linear]
    names = [r.constraint.name for r in linear if r.level == 0] + [r.constraint.name for r in linear if r.level < 2]
    return np.hstack(parts), names


__all__ = ["Inputs", "none_usable", "outer", "read_inputs", "refused_starts"]
