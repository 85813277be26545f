"""Frobenius's theorem as a test: which constraints of order 0 and 1, affine in the velocities, are holonomic in disguise.

A row A(t, q) v + b(t, q) = 0 is a Pfaffian form on the space of (q, t). Together the rows define the distribution

    D = span{(N z, 0) : A z = 0} + span{(N z0 + n0, 1)},        A z0 + b = 0,

whose last field is the drift, so that affine and rheonomic rows need no special treatment. Its derived flag

    D_0 = D,    D_{s+1} = D_s + [D, D_s],    dim D_0 <= dim D_1 <= … <= dim D_∞

ends with the dimension of the reachable set. The rows have (dim of the whole space) − dim D_∞ independent integrals, and are
holonomic, all of them together, if and only if D_∞ = D (Frobenius). Brackets are taken on the graph, ranks at states on the
constraints. The integrals themselves are found by `pfaffian_integrals`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.forms.engine.matrices import pivots
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, derivative_along, general_solve, scatter, substitute, take, zeros
from appell.model import System
from appell.normal_form import NormalForm, normal_form
from appell.verify.ranks import Sample, perturbed_state, rank

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

OUTSIDE_DISTRIBUTION = 1e-8
"""The part of a field outside a distribution counts as rounding below this fraction of the field."""

NEARBY_STATE = 1e-7
"""Relative change of a state that does not affect a field, but changes its rounding."""

NEARBY_STATES = 8
"""Nearby states at which a small field is compared. Rounding is a few units in the last place: it is the same at one other
state in a third of cases, and at all of these in less than one of 5,000."""


# -- the derived flag, on the graph ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag:
    """dim D_0, dim D_1, …, dim D_∞, time counted; `unconstrained_dimension`: dim D_∞ of the system without these
    rows; `rows`: their rank."""

    ranks: tuple[int, ...]
    unconstrained_dimension: int
    rows: int

    @property
    def integrals(self) -> int:
        """The number of independent functions of (t, q) that the rows keep constant."""
        return self.unconstrained_dimension - self.ranks[-1]

    @property
    def holonomic(self) -> bool:
        """Whether the rows are integrable together: D_∞ = D."""
        return self.integrals == self.rows


def affine_rows(system: System) -> tuple[int, ...]:
    """The constraints to which the theorem applies: holonomic ones, and those of first order affine in the velocities.

    Rows that contain states of first order are excluded: the evolution of these depends on the motion.
    """
    plain = [not f.free_symbols & set(system.states) for f in system.residuals]
    affine = [c.order == 0 or (c.order == 1 and c.linear) for c in system.constraints]
    return tuple(i for i, conditions in enumerate(zip(plain, affine, strict=True)) if all(conditions))


def flag(system: System, rows: Iterable[int], states: Sequence[State], p: Array) -> Flag:
    """The derived flag of some of the `affine_rows`, at states (t, q, v) on the constraints and parameters p."""
    form, rows = normal_form(system), tuple(rows)
    fields, rank = _distribution(form, _pfaffian(system, form, rows), states[0], p)
    dimension = len(system.coordinates) + 1
    if not system.holonomic_speeds:
        dimension = _flag(form, _distribution(form, _pfaffian(system, form, ()), states[0], p)[0], states, p)[-1]
    return Flag(_flag(form, fields, states, p), dimension, rank)


def _pfaffian(system: System, form: NormalForm, rows: tuple[int, ...]) -> tuple[Value, Value]:
    """A, (k, nv), and b, (k, 1), of the rows A v + b = 0."""
    order = [i for i, c in enumerate(system.constraints) if c.order < 2]
    chosen, at_rest = [order.index(i) for i in rows], [zeros(form.nv)]
    A = scatter([([k], form["A1"][j, :]) for k, j in enumerate(chosen)], len(chosen), form.nv)
    b = take(form["f1"], chosen)
    return substitute(A, [form.inputs["v"]], at_rest), substitute(b, [form.inputs["v"]], at_rest)


def _distribution(form: NormalForm, pfaffian: tuple[Value, Value], state: State, p: Array) -> tuple[list[Value], int]:
    """Fields that span D, each (nq + 1, 1), and the rank of the rows. A is solved for the velocities with the largest
    pivots."""
    A, b = pfaffian
    rows, dependent = _pivots(Sample(_at(form, A, state, p), _at(form, A, perturbed_state(form, state), p)))
    free = [j for j in range(form.nv) if j not in dependent]
    Z, z0 = zeros(form.nv, len(free)), zeros(form.nv)
    for k, j in enumerate(free):
        Z[j, k] = 1
    if rows:
        right = block_matrix([[A[rows, free], b[rows]]]) if free else b[rows]
        solution = -general_solve(A[rows, dependent], right)
        for i, j in enumerate(dependent):
            Z[j, :] = solution[i, : len(free)]
            z0[j] = solution[i, len(free)]
    N, n0 = form["N"], column(take(form["n0"], range(form.nq - form.states)), zeros(form.states))  # states are constant
    drift = column(N @ z0 + n0, Value(1))
    return [drift, *(column(N @ Z[:, k], Value(0)) for k in range(len(free)))], len(rows)


def _pivots(A: Sample) -> tuple[list[int], list[int]]:
    """Independent rows and as many pivot columns of a matrix, the columns chosen by size."""
    if not A.rows.size:
        return [], []
    rows = sorted(pivots([A.rows], rank(A)))
    columns: Any = scipy.linalg.qr(A.rows[rows], mode="r", pivoting=True)[-1][: len(rows)]
    return rows, sorted(map(int, columns))


def _at(form: NormalForm, value: Value, state: State, p: Array) -> Array:
    """A graph value at a state."""
    inputs = {name: (form.inputs[name], () if name == "t" else (form.inputs[name].numel(),)) for name in ("t", "q", "p")}
    return make_fn("value", inputs, {"value": (value, value.shape)})(state[0], state[1], p)["value"]


def _flag(form: NormalForm, generators: list[Value], states: Sequence[State], p: Array) -> tuple[int, ...]:
    """dim D_0, …, dim D_∞: brackets with the generators are added until none leaves the span."""
    points = [GrowingSpan() for _ in states]
    basis, newest, ranks = [], generators, []
    while True:
        added = _independent(form, newest, states, p, points)
        basis += added
        ranks.append(max(len(point.vectors) for point in points))
        newest = [_bracket(form, X, Y) for X, Y in itertools.product(generators, added)]
        if not added or ranks[-1] == form.nq - form.states + 1:
            return tuple(ranks) if added or len(ranks) == 1 else tuple(ranks[:-1])


BRACKETS_AT_A_POINT = 2_000
"""Largest number of brackets for the growth at one configuration."""


def growth_at(system: System, rows: Iterable[int], state: State, p: Array, whole: int) -> tuple[int, ...]:
    """dim D_1, dim D_2, … at one configuration, of rows without time and free terms, until `whole` dimensions are spanned.

    A level may add nothing and a later one something, so every bracket is computed, also of fields inside the span.
    """
    form = normal_form(system)
    fields, _ = _distribution(form, _pfaffian(system, form, tuple(rows)), state, p)
    generators, point = fields[1:], GrowingSpan()  # the first field is d/dt
    newest, growth, brackets = generators, list[int](), 0
    while newest:
        _independent(form, newest, [state], p, [point])
        growth.append(len(point.vectors))
        brackets += len(newest) * len(generators)
        if growth[-1] >= whole or brackets > BRACKETS_AT_A_POINT:
            break
        pairs = itertools.product(range(len(generators)), range(len(newest)))
        first_level = len(growth) == 1
        newest = [_bracket(form, generators[i], newest[k]) for i, k in pairs if not first_level or i < k]
    return tuple(growth)


def _bracket(form: NormalForm, X: Value, Y: Value) -> Value:
    """[X, Y] = Y_x X − X_x Y next to its two terms, whose size sets the level of rounding: (nq + 1, 2)."""
    x = column(form.inputs["q"], form.inputs["t"])
    X, Y = X[:, 0], Y[:, 0]
    forth, back = derivative_along(Y, [x], [X]), derivative_along(X, [x], [Y])
    return block_matrix([[forth - back, forth, back]])


class GrowingSpan:
    """An orthonormal basis at one point, extended by fields outside its span."""

    def __init__(self):
        self.vectors: list[Array] = []

    def add(self, field: Array, nearby: Callable[[], Iterable[Array]]) -> bool:
        """Whether the first column leaves the span by more than the rounding of the others; rounding changes at nearby
        states."""
        size, outside = np.abs(field).max(), self._outside(field[:, 0])
        length = np.linalg.norm(outside)
        if not length > OUTSIDE_DISTRIBUTION * size:
            return False
        if length < 1e-5 and any(np.linalg.norm(self._outside(moved[:, 0]) - outside) > length / 100 for moved in nearby()):
            return False
        self.vectors.append(outside / length)
        return True

    def _outside(self, vector: Array) -> Array:
        outside = vector.copy()
        for _ in range(2):
            for e in self.vectors:
                outside -= (e @ outside) * e
        return outside


def _independent(
    form: NormalForm, fields: list[Value], states: Sequence[State], p: Array, points: list[GrowingSpan]
) -> list[Value]:
    """The fields that leave the span of those before them at some point."""
    if not fields:
        return []
    inputs = {name: (form.inputs[name], () if name == "t" else (form.inputs[name].numel(),)) for name in ("t", "q", "p")}
    fn = make_fn("fields", inputs, {f"f{k}": (field, field.shape) for k, field in enumerate(fields)})
    names = [f"f{k}" for k in range(len(fields))]
    values = [(fn(time_, q, p), cache(partial(_nearby, fn, time_, q, p))) for time_, q, _ in states]
    named = lambda nearby, name: lambda: (fields_there[name] for fields_there in nearby())
    leaves = lambda name: [
        np.isfinite(fields_here[name]).all() and point.add(fields_here[name], named(nearby, name))
        for (fields_here, nearby), point in zip(values, points, strict=True)
    ]
    return [field for field, name in zip(fields, names, strict=True) if any(leaves(name))]


def _nearby(fn: Fn, time_: float, q: Array, p: Array) -> list[dict[str, Array]]:
    """The fields at nearby states."""
    return [fn(time_, q_near, p) for (q_near,) in nearby_states(q)]


def nearby_states(*parts: Array) -> Iterator[tuple[Array, ...]]:
    """`NEARBY_STATES` states near one that is given by coordinates, or by coordinates and velocities."""
    rng = np.random.default_rng(0)
    for _ in range(NEARBY_STATES):
        yield tuple(z + NEARBY_STATE * (1 + np.abs(z)) * rng.uniform(-1, 1, len(z)) for z in parts)
