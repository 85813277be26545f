"""Accessibility: brackets of the input fields with the drift, and the growth of their span.

    ẋ = f(t, x) + Σ u_i g_i(t, x),    x = (q, v),    f = (q̇, a at the given inputs),    g_i = (0, ∂a/∂u_i)

    L_0 = span{g_i},    L_{s+1} = L_s + [f, L_s] + [g_i, L_s],    dim L_0 <= dim L_1 <= … <= dim L_∞

Where dim L_∞ is the dimension of the admissible states, the set reachable at a given time from a start has interior points:
strong accessibility (Sussmann, Jurdjevic 1972). It does not imply that a state can be held or returned to. Brackets are taken
on the graph, ranks at states on the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.compiled.compiling import compile
from appell.errors import AppellError, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, apply, block_matrix, column, derivative_along, is_zero, jacobian, zeros
from appell.normal_form.flow import acceleration
from appell.reading import items_of, name_in
from appell.simulate.control.control_values import refuse_inputs
from appell.verify import ranks
from appell.verify.case import Case
from appell.verify.findings import Finding
from appell.verify.frobenius import GrowingSpan, nearby_states

Array = NDArray[np.float64]

BRACKET_OPERATIONS = 100_000
"""No further brackets are computed once one has more operations than this."""


class Field(NamedTuple):
    """A field on (q, v, t) next to the two terms whose difference it is, (n, 3), and its name."""

    name: str
    value: Value


def reach_of(case: Case, inputs: Any) -> Iterator[Finding]:
    """Findings on accessibility by inputs; `inputs`: parameters, by symbol or name."""
    system, form = case.system, case.form
    indices = _input_indices(system, inputs)
    names = [str(system.parameters[i]) for i in indices]
    try:
        fn = acceleration(form, compile(system, case.values, backend="vm", ready=False).policies)
    except AppellError as error:
        yield Finding("inputs", system.name, str(error))
        return
    if not isinstance(fn, Fn):
        sentence = "the accelerations are not written out (large, redundant rows, or forces with multipliers): brackets of"
        yield Finding("inputs", system.name, f"{sentence} {', '.join(names)} are not taken")
        return
    t, q, v, p = (form.inputs[x] for x in ("t", "q", "v", "p"))
    a = apply(fn, t, q, v, p)["a"]
    slopes = jacobian(a, p)
    if not is_zero(jacobian(slopes[:, indices].reshape((-1, 1)), p)[:, indices]):
        yield Finding("inputs", system.name, "accelerations are not affine in the inputs: brackets are those at these values")
    drift = Field("f", column(form["qd"], a, Value(1)))
    pushes = [Field(name, column(zeros(form.nq), slopes[:, i], Value(0))) for name, i in zip(names, indices, strict=True)]
    growth, spanning = _growth(case, drift, pushes)
    yield Finding("inputs", system.name, _sentence(names, growth, spanning, _dimension(case)))


def _input_indices(system: Any, inputs: Any) -> list[int]:
    index_of = {str(s): i for i, s in enumerate(system.parameters)}
    names = [name_in(item) for item in items_of(inputs, "inputs=")]
    unknown = [name for name in names if name not in index_of]
    if unknown or not names:
        listed = ", ".join(index_of) or "none"
        raise ModelError(f"inputs= names {unknown[0] if unknown else 'nothing'}: parameters of {system.name} are {listed}")
    refuse_inputs(system, {system.parameters[index_of[name]] for name in names}, "inputs= names")
    return [index_of[name] for name in names]


def _growth(case: Case, drift: Field, pushes: Sequence[Field]) -> tuple[list[int], list[str]]:
    """dim L_0, dim L_1, … at the states, and the names of the fields that span them."""
    states = case.states[:3]
    points = [GrowingSpan() for _ in states]
    dimension = _dimension(case)
    fields, growth, names = [Field(push.name, _tripled(push.value)) for push in pushes], list[int](), list[str]()
    while fields:
        added = _added(case, fields, states, points)
        names += [field.name for field in added]
        growth.append(max(len(point.vectors) for point in points))
        if not added or growth[-1] >= dimension:
            break
        fields = [_bracket(case, X, Y) for X in (drift, *pushes) for Y in added if X.name != Y.name]
    return growth[:-1] if len(growth) > 1 and growth[-1] == growth[-2] else growth, names


def _tripled(value: Value) -> Value:
    return block_matrix([[value, value, value]])


def _bracket(case: Case, X: Field, Y: Field) -> Field:
    """[X, Y] = Y_x X − X_x Y next to its two terms, whose size sets the level of rounding."""
    x = column(*(case.form.inputs[name] for name in ("q", "v", "t")))
    X_value, Y_value = X.value[:, 0], Y.value[:, 0]
    forth, back = derivative_along(Y_value, [x], [X_value]), derivative_along(X_value, [x], [Y_value])
    return Field(f"[{X.name}, {Y.name}]", block_matrix([[forth - back, forth, back]]))


def _added(case: Case, fields: Sequence[Field], states: Sequence[Any], points: Sequence[GrowingSpan]) -> list[Field]:
    """The fields that leave the span of those before them at some state."""
    form, added = case.form, []
    inputs = {name: (form.inputs[name], () if name == "t" else (form.inputs[name].numel(),)) for name in ("t", "q", "v", "p")}
    for field in fields:
        fn = make_fn("field", inputs, {"x": (field.value, field.value.shape)})
        if fn.operations > BRACKET_OPERATIONS:
            continue
        values = [(fn(*state, case.p)["x"], partial(_nearby, fn, *state, case.p)) for state in states]
        pairs = zip(values, points, strict=True)
        leaves = [np.isfinite(value).all() and point.add(value, nearby) for (value, nearby), point in pairs]
        if any(leaves):
            added.append(field)
    return added


def _nearby(fn: Fn, t: float, q: Array, v: Array, p: Array) -> Iterator[Array]:
    """A field at nearby states."""
    return (fn(t, *nearby, p)["x"] for nearby in nearby_states(q, v))


def _dimension(case: Case) -> int:
    """The dimension of the admissible states."""
    form = case.form
    largest_rank = lambda name: max(map(ranks.rank, ranks.values(form, case.p, case.states[:3], name)), default=0)
    return 2 * form.nv - largest_rank("A0") - largest_rank("A1") + form.states


def _sentence(names: Sequence[str], growth: Sequence[int], fields: Sequence[str], whole: int) -> str:
    spans = ", ".join(map(str, growth))
    sentence = f"the inputs {', '.join(names)} and their brackets with the drift f span {spans} of {whole} dimensions of the"
    sentence += f" state ({', '.join(fields)})"
    if growth[-1] >= whole:
        return f"{sentence}: states all around can be reached (strong accessibility)"
    left = whole - growth[-1]
    return f"{sentence}: {left} dimension{'s' * (left > 1)} {'are' if left > 1 else 'is'} out of their reach, whatever they do"


__all__ = ["reach_of"]
