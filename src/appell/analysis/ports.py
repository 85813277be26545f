"""Inputs and outputs of linear equations: derivatives of forces, rates and rows by inputs, and of outputs by all variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from appell.errors import ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, jacobian, take
from appell.model import System
from appell.model.values import as_table
from appell.normal_form import NormalForm
from appell.reading import items_of, name_in, shown, symbolic
from appell.simulate.control.control_values import refuse_inputs

Array = NDArray[np.float64]


class StateMatrices(NamedTuple):
    """A, B, C, D of ẋ = A x + B u, y = C x + D u, and the sizes of the states by their inertia, (n,)."""

    A: Array
    B: Array
    C: Array
    D: Array
    sizes: Array
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...] | None  # None: the states


@dataclass(frozen=True, eq=False)
class Ports:
    """fn (t, q, v, p, a, lam) → F_u, s_u, g_u of forces, second-order rows and rates; y_q, y_v, y_a, y_u of the outputs."""

    inputs: tuple[Any, ...]
    outputs: tuple[Expr, ...] | None
    fn: Fn


def with_inputs(system: System, given: Any, inputs: Any) -> Any:
    """The parameters, with 0 for inputs without a value."""
    if inputs is None:
        return given
    table = dict(as_table(system.parameters, given))
    names = {name_in(key) for key in table}
    known = {str(s) for s in system.parameters}
    unknown = [name_in(u) for u in _listed(inputs, "inputs=") if name_in(u) not in known]
    if unknown:
        raise ModelError(f"inputs= names '{unknown[0]}', which is not a parameter of {system.name}; it has {', '.join(known)}")
    return table | {str(u): 0.0 for u in _listed(inputs, "inputs=") if name_in(u) not in names}


def _listed(items: Any, where: str) -> list[Any]:
    if isinstance(items, str | Expr) or not isinstance(items, Iterable) or isinstance(items, Mapping):
        raise ModelError(f"{where} is a list, [u], not {shown(items)}")
    return items_of(items, where)


def ports_of(form: NormalForm, system: System, inputs: Any, outputs: Any) -> Ports | None:
    """The derivatives by inputs and of outputs; None if neither are given."""
    if inputs is None and outputs is None:
        return None
    places = {str(s): i for i, s in enumerate(system.parameters)}
    names = [name_in(u) for u in _listed([] if inputs is None else inputs, "inputs=")]
    unknown = [name for name in names if name not in places]
    if unknown:
        raise ModelError(f"inputs= names '{unknown[0]}', which is not a parameter of {system.name}; it has {', '.join(places)}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ModelError(f"inputs= names '{twice[0]}' twice")
    chosen = tuple(system.parameters[places[name]] for name in names)
    refuse_inputs(system, set(chosen), "inputs= names")
    shown_outputs = None if outputs is None else tuple(symbolic(y, "outputs=") for y in _listed(outputs, "outputs="))
    return Ports(chosen, shown_outputs, _derivatives(form, system, [places[name] for name in names], shown_outputs))


def _derivatives(form: NormalForm, system: System, places: list[int], outputs: tuple[Expr, ...] | None) -> Fn:
    t, q, v, p, a, lam = (form.inputs[x] for x in ("t", "q", "v", "p", "a", "lam"))
    linear = [row.index for row in form.rows if row.linear]
    curved = [row.index for row in form.rows if not row.linear]
    load = form["M"] @ a + form["h"] - form["Q"] - form["W"] @ take(lam, linear) - form["r_a"].T @ take(lam, curved)
    all_rows = form["A"] @ a + form["a0"]
    second = column(take(all_rows, [k for k, level in enumerate(form.levels) if level == 2]), form["r"])
    values: dict[str, Value] = {"F_u": load, "s_u": second, "g_u": form.state_rates}
    values = {name: take_columns(jacobian(value, p), places) for name, value in values.items()}
    if outputs is not None:
        lowered = form.lowered_values({f"y{i}": y for i, y in enumerate(outputs)}, system)
        y = column(*lowered.values())
        values |= {"y_q": jacobian(y, q) @ form.moves, "y_v": jacobian(y, v), "y_a": jacobian(y, a), "y_lam": jacobian(y, lam)}
        values["y_u"] = take_columns(jacobian(y, p), places)
    inputs = {name: (x, (x.numel(),)) for name, x in (("q", q), ("v", v), ("p", p), ("a", a), ("lam", lam))}
    return make_fn("ports", {"t": (t, ()), **inputs}, {k: (x, x.shape) for k, x in values.items()})


def take_columns(matrix: Value, places: list[int]) -> Value:
    """Some columns of a matrix, (m, k)."""
    return matrix[:, places] if places else matrix[:, :0]


__all__ = ["Ports", "StateMatrices", "ports_of", "with_inputs"]
