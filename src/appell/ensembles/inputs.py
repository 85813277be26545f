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
    found = tuple({key: next(flat) for key in table} for table in tables)
    return found[0] if len(found) == 1 else found


def _refuse_too_many(lengths: list[int]) -> None:
    """Raises `ModelError` if all combinations would not fit into memory."""
    runs = prod(lengths)
    if missing := missing_memory(24 * runs * len(lengths)):  # combinations, and initial states and parameters made of them
        said = f"{' × '.join(map(str, lengths))} = {runs} combinations"
        raise ModelError(
            f"{said} take {missing}: take fewer values, or ap.sweep, which makes them in chunks and stores each"
        )


def read_inputs(system: System, starts: Any, parameters: Table | None, *, product: bool, runs: int | None = None) -> Inputs:
    """Initial states (a table, or an array (runs, nq + nv)) and parameters of all runs, with names and values checked.

    runs: their number, if sampled inputs determine it.
    """
    given, whole = _states(system, starts), None if product else _whole(starts)
    values = {key: value for key, value in as_table(system.parameters, parameters).items() if not letters_of([key])}
    if product:
        given, values = outer(given, values)
    columns = {key: _column(key, value) for key, value in given.items()} if whole is None else zip(given, whole.T, strict=True)
    given = dict(columns)
    values = {key: _column(key, value) for key, value in values.items()}
    lengths = {text_of(key): len(value) for table in (given, values) for key, value in table.items() if value.ndim}
    lengths |= {} if runs is None else {"inputs=": runs}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise ModelError(
            f"the arrays of start=, parameters= and inputs= must have one length ({said}); for every combination of the first"
            " two use product=True"
        )
    runs = next(iter(lengths.values()), 1)
    if runs == 0:
        raise ModelError("there are no runs: the arrays are empty")
    states = _fill_starts(system, given, runs) if whole is None else whole
    p = _fill_parameters(system, values, runs)
    first, second = ({text_of(key): value for key, value in table.items() if value.ndim} for table in (given, values))
    return Inputs(states, states[:, : system.nq], states[:, system.nq :], p, first, second)


def _states(system: System, starts: Any) -> Table:
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


def _whole(starts: Any) -> Array | None:
    """A copy of states given as one finite float64 array, (runs, nq + nv); otherwise None."""
    if type(starts) is not np.ndarray or starts.dtype != float:
        return None
    refuse_large(starts, "start=")
    return np.array(starts, order="C") if np.isfinite(starts).all() else None  # the check by columns names the culprit


def _column(key: Any, value: Any) -> Array:
    key = name_in(key)
    refuse_large(value, f"the values of {key}")
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise ModelError(f"the values of {text_of(key)} must be real numbers, not {shown(value)}") from None
    if array.ndim > 1:
        raise ModelError(f"the values of {text_of(key)} have the shape {array.shape}; flatten them, one a run (ap.outer)")
    return array


def _fill_starts(system: System, given: Mapping[Any, Array], runs: int) -> Array:
    first = read(system, {key: 0.0 for key in given} if isinstance(given, Mapping) else given)
    state = np.empty((runs, system.nq + system.nv))
    state[:] = np.concatenate(first)
    place = {str(s): i for i, s in enumerate((*system.positions, *system.velocities))}
    for key, value in given.items():
        _refuse_infinite(f"the start value of {key}", value)
        state[:, place[text_of(key)]] = value
    return state


def _fill_parameters(system: System, values: Mapping[Any, Array], runs: int) -> Array:
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


def _refuse_infinite(what: str, value: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(np.atleast_1d(value)))
    if len(bad):
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ModelError(f"{what} is not finite" + (f" in run {bad[0]}{more}" if value.ndim else ""))


def refused_starts(run: Run, t0: float, inputs: Inputs, atol: float) -> dict[int, str]:
    """Run → why its start is refused: off the constraints, behind a wall, with a quaternion that is not unit, or with a
    restitution that is not in [0, 1]. The bounds are those of `simulate`."""
    system, form = run.system, run.form
    why: dict[int, str] = {}
    for ball, group in zip(system.quaternions, form.quaternions, strict=True):
        size = np.linalg.norm(inputs.q[:, list(group)], axis=1)
        for k in np.flatnonzero(~(np.abs(size - 1) <= START_RESIDUAL)):
            why.setdefault(int(k), f"the start of quaternion '{ball.name}' is not unit: its norm is {size[k]:.6g}")
    if form.rows and len(near := _with_residuals(run, form, t0, inputs)):
        away, names = _off_constraints(run, form, t0, near, inputs)
        for k, off in zip(near, away, strict=True):
            if not off.max(initial=0.0) <= START_RESIDUAL:
                row = int(np.nanargmax(np.where(np.isnan(off), np.inf, off)))
                far = f"its relative residual is {off[row]:.2g}"
                why.setdefault(int(k), f"the start is not on constraint '{names[row]}': {far}")
    if system.unilateral and len(near := _at_faces(run, form, t0, inputs)):
        parts = _batch(run, form, GAP_PARTS, t0, near, inputs)
        behind = faces_crossed(parts, inputs.q[near], inputs.v[near], START_RESIDUAL, atol)
        for i in np.flatnonzero(behind.any(axis=1)):
            face = system.unilateral[int(np.argmax(behind[i]))]
            why.setdefault(int(near[i]), f"the start violates '{face.name}': {face.function} >= 0 does not hold")
    if any(not face.restitution.is_number for face in system.unilateral):
        for k, face, value in _strange_restitutions(form, t0, inputs):
            why.setdefault(k, strange_restitution(system.unilateral[face], value))
    return why


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
        for one in (int(k),) if inputs.p.ndim == 2 else range(inputs.runs):
            yield one, int(face), float(e[k, face])


def _batch(run: Run, form: NormalForm, names: tuple[str, ...], t0: float, chosen: Any, inputs: Inputs) -> dict[str, Array]:
    """Outputs of the normal form at some of the initial states."""
    q, v, p = inputs.q[chosen], inputs.v[chosen], inputs.p if inputs.p.ndim == 1 else inputs.p[chosen]
    with np.errstate(all="ignore"):
        return run._evaluate(form.select(*names), [np.full(len(q), t0), q, v, p])


def _with_residuals(run: Run, form: NormalForm, t0: float, inputs: Inputs) -> NDArray[np.intp]:
    """Runs whose residuals are not below the tolerance already by the terms of the rows themselves."""
    out = _batch(run, form, RESIDUAL_PARTS[:4], t0, slice(None), inputs)
    fine = [(np.abs(out[f]) <= START_RESIDUAL * out[f"{f}_scale"]).all(axis=1) for f in ("f0", "f1")]
    return np.flatnonzero(~(fine[0] & fine[1]))


def _at_faces(run: Run, form: NormalForm, t0: float, inputs: Inputs) -> NDArray[np.intp]:
    """Runs that do not start clearly on the right side of every face, or where one has no normal."""
    out = _batch(run, form, ("g", "g_v"), t0, slice(None), inputs)
    return np.flatnonzero(~((out["g"] >= 0).all(axis=1) & np.isfinite(out["g_v"]).all(axis=(1, 2))))


def _off_constraints(
    run: Run, form: NormalForm, t0: float, chosen: NDArray[np.intp], inputs: Inputs
) -> tuple[Array, list[str]]:  # fmt: skip
    """Relative residuals of some runs, (chosen, rows), and the names of the rows."""
    with np.errstate(all="ignore"):
        parts = _batch(run, form, RESIDUAL_PARTS, t0, chosen, inputs)
        left = residuals_from(form, parts, inputs.q[chosen], inputs.v[chosen])
        parts = [relative(left.f0, left.f0_scale), relative(left.f1, left.f1_scale)]
    linear = [r for r in form.rows if r.linear]
    names = [r.constraint.name for r in linear if r.level == 0] + [r.constraint.name for r in linear if r.level < 2]
    return np.hstack(parts), names


__all__ = ["Inputs", "none_usable", "outer", "read_inputs", "refused_starts"]
