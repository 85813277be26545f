"""Frobenius's theorem as a test: which constraints of order 0 and 1, affine in the velocities, are holonomic in disguise.

A row A(t, q) v + b(t, q) = 0 is a Pfaffian form on the space of (q, t). Together the rows define the distribution

    D = span{(N z, 0) : A z = 0} + span{(N z0 + n0, 1)},        A z0 + b = 0,

whose last field is the drift, so that affine and rheonomic rows need no special treatment. Its derived flag

    D_0 = D,    D_{s+1} = D_s + [D, D_s],    dim D_0 <= dim D_1 <= … <= dim D_∞

ends with the dimension of the reachable set. The rows have (dim of the whole space) − dim D_∞ independent integrals, and are
holonomic, all of them together, if and only if D_∞ = D (Frobenius). Brackets are taken on the graph, ranks at states on the
constraints. The integral itself is computed in SymPy: from a closed combination with constant coefficients, or by an
integrating factor.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol
from sympy.integrals.manualintegrate import manualintegrate

from appell.forms.engine.derivation import gradient
from appell.forms.engine.matrices import pivots, samples
from appell.graph import make_fn
from appell.graph.algebra import Value, block_matrix, column, derivative_along, general_solve, scatter, substitute, take, zeros
from appell.jets import jets_of, t
from appell.model import System
from appell.normal_form import NormalForm, normal_form
from appell.reading import symbolic, text_of
from appell.rows import null_space
from appell.verify.exact import exact
from appell.verify.ranks import Sample, rank, shaken

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

OUTSIDE_DISTRIBUTION = 1e-8
"""The part of a field outside a distribution counts as rounding below this fraction of the field."""

NEARBY_STATE = 1e-7
"""Relative change of a state that does not affect a field, but changes its rounding."""

ECHELON_ZERO = 1e-7
"""Smaller entries of orthonormal rows are zero."""

INTEGRATED_OPERATIONS = 120
"""Expressions with more operations are not integrated by SymPy."""


# -- the derived flag, on the graph ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag:
    """dim D_0, dim D_1, …, dim D_∞, time counted; `whole`: dim D_∞ of the system without these rows; `rows`: their rank."""

    ranks: tuple[int, ...]
    whole: int
    rows: int

    @property
    def integrals(self) -> int:
        """The number of independent functions of (t, q) that the rows keep constant."""
        return self.whole - self.ranks[-1]

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
    return tuple(i for i, both in enumerate(zip(plain, affine, strict=True)) if all(both))


def flag(system: System, rows: Iterable[int], states: Sequence[State], p: Array) -> Flag:
    """The derived flag of some of the `affine_rows`, at states (t, q, v) on the constraints and parameters p."""
    form, rows = normal_form(system), tuple(rows)
    fields, rank = _distribution(form, _pfaffian(system, form, rows), states[0], p)
    whole = len(system.coordinates) + 1
    if not system.holonomic_speeds:
        whole = _flag(form, _distribution(form, _pfaffian(system, form, ()), states[0], p)[0], states, p)[-1]
    return Flag(_flag(form, fields, states, p), whole, rank)


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
    rows, dependent = _pivots(Sample(_at(form, A, state, p), _at(form, A, shaken(form, state), p)))
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
    newest, growth, taken = generators, list[int](), 0
    while newest:
        _independent(form, newest, [state], p, [point])
        growth.append(len(point.vectors))
        taken += len(newest) * len(generators)
        if growth[-1] >= whole or taken > BRACKETS_AT_A_POINT:
            break
        pairs = itertools.product(range(len(generators)), range(len(newest)))
        first = len(growth) == 1
        newest = [_bracket(form, generators[i], newest[k]) for i, k in pairs if not first or i < k]
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

    def add(self, field: Array, nearby: Array) -> bool:
        """Whether the first column leaves the span by more than the rounding of the others; rounding changes at a nearby
        state."""
        size, left = np.abs(field).max(), self._outside(field[:, 0])
        length = np.linalg.norm(left)
        if not length > OUTSIDE_DISTRIBUTION * size:
            return False
        if length < 1e-5 and np.linalg.norm(self._outside(nearby[:, 0]) - left) > length / 100:
            return False
        self.vectors.append(left / length)
        return True

    def _outside(self, vector: Array) -> Array:
        left = vector.copy()
        for _ in range(2):
            for e in self.vectors:
                left -= (e @ left) * e
        return left


def _independent(
    form: NormalForm, fields: list[Value], states: Sequence[State], p: Array, points: list[GrowingSpan]
) -> list[Value]:
    """The fields that leave the span of those before them at some point."""
    if not fields:
        return []
    inputs = {name: (form.inputs[name], () if name == "t" else (form.inputs[name].numel(),)) for name in ("t", "q", "p")}
    fn = make_fn("fields", inputs, {f"f{k}": (field, field.shape) for k, field in enumerate(fields)})
    values = [(fn(time_, q, p), fn(time_, q + NEARBY_STATE * (1 + np.abs(q)), p)) for time_, q, _ in states]
    leaves = lambda name: [
        np.isfinite(here[name]).all() and point.add(here[name], there[name])
        for (here, there), point in zip(values, points, strict=True)
    ]
    return [field for k, field in enumerate(fields) if any(leaves(f"f{k}"))]


# -- the integral, in SymPy --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Integral:
    """A function of (t, q) that some constraints keep constant, with the names of these constraints."""

    function: Expr
    rows: tuple[int, ...]


def integrals(
    system: System, rows: Sequence[int], *, factors: bool = True, budget: float = 10.0, given: Mapping[Any, Any] | None = None
) -> list[Integral]:
    """Functions F(t, q) with dF = μ Σ c_k ω_k for some of the rows: c constant and μ = 1, or one row and an integrating factor.

    Only rows in velocities that are derivatives of coordinates are tried. factors: whether integrating factors are tried;
    budget: CPU seconds; given: values of parameters, by symbol or name, that the integrals may use.
    """
    numbers = {text_of(key): exact(symbolic(value, f"the value of parameter '{key}'")) for key, value in (given or {}).items()}
    known = {s: numbers[str(s)] for s in system.parameters if str(s) in numbers}
    stop = time.process_time() + budget
    now: Any = sympy.Dummy("t", real=True)  # an ordinary symbol: here ∂/∂t is meant, not d/dt along the motion
    x = (*system.coordinates, now)
    forms = {i: [exact(w).xreplace({t: now, **known}) for w in omega] for i in rows if (omega := _form(system, i)) is not None}
    found: list[Integral] = []
    for combination in _closed_combinations(forms, x):
        omega = [sympy.Add(*(c * forms[i][s] for i, c in combination.items())) for s in range(len(x))]
        F: Any = potential(omega, x, stop)
        if F is not None:
            found.append(Integral(F.xreplace({now: t}), tuple(combination)))
    for i, omega in forms.items() if factors else ():
        if not any(one.rows == (i,) for one in found) and (F := _with_factor(omega, x, stop)) is not None:
            found.append(Integral(F.xreplace({now: t}), (i,)))
    return found


def _form(system: System, row: int) -> list[Any] | None:
    """ω over (q, t) of a row of first order: the coefficients of q̇, and the term at rest; None in other velocities."""
    f = system.residuals[row]
    own = {v: i for i, q in enumerate(system.coordinates) for v in system.velocities if v == q.d}
    if any(v in f.free_symbols and v not in own for v in system.velocities):
        return None
    omega = gradient(f, [q.d for q in system.coordinates])
    return [*omega, f.xreplace(dict.fromkeys(system.velocities, sympy.Integer(0)))]


def _curl(omega: Sequence[Expr], x: Sequence[Symbol]) -> list[Expr]:
    """dω: ∂_r ω_s − ∂_s ω_r for r < s."""
    pairs = itertools.combinations(range(len(x)), 2)
    return [sympy.diff(omega[s], x[r]) - sympy.diff(omega[r], x[s]) for r, s in pairs]


def _zero(values: Sequence[Expr]) -> bool:
    """Whether all vanish at random points."""
    if all(e == 0 for e in values):
        return True
    points = samples(sympy.Matrix(list(values)), count=4)
    return bool(points) and all(np.abs(point).max() < 1e-9 for point in points)


def _closed_combinations(forms: dict[int, list[Expr]], x: Sequence[Symbol]) -> Iterator[dict[int, Any]]:
    """Constants c with d(Σ c_k ω_k) = 0, as row → c_k: single rows first, then combinations with rational c."""
    alone = [i for i, omega in forms.items() if _zero(_curl(omega, x))]
    yield from ({i: sympy.Integer(1)} for i in alone)
    rest = [i for i in forms if i not in alone]
    if len(rest) < 2:
        return
    curls = sympy.Matrix([_curl(forms[i], x) for i in rest]).T
    points = samples(curls, count=6)
    if not points:
        return
    null = null_space(np.vstack(points), as_given=True)
    for c in reduced(null.T):
        if all(abs(float(r) - value) < 1e-7 for r, value in zip(rational(c), c, strict=True)):
            yield {i: r for i, r in zip(rest, rational(c), strict=True) if r != 0}


def reduced(rows: Array) -> Array:
    """The row space in reduced echelon form: vectors with as many zeros and ones as possible."""
    rows = rows.copy()
    done = 0
    for j in range(rows.shape[1]):
        if done == len(rows):
            break
        i = done + int(np.argmax(np.abs(rows[done:, j])))
        if abs(rows[i, j]) < ECHELON_ZERO:
            continue
        rows[[done, i]] = rows[[i, done]]
        rows[done] /= rows[done, j]
        for k in range(len(rows)):
            if k != done:
                rows[k] -= rows[k, j] * rows[done]
        done += 1
    return rows[:done]


def rational(values: Array, limit: int = 12) -> list[Any]:
    """The nearest fractions with denominators up to a limit."""
    nearest = [Fraction(float(x)).limit_denominator(limit) for x in values]
    return [sympy.Rational(x.numerator, x.denominator) for x in nearest]


def potential(omega: Sequence[Expr], x: Sequence[Symbol], stop: float) -> Expr | None:
    """F with ∂F/∂x_i = ω_i by successive integrations; None where ω is not closed or SymPy gives up."""
    F: Expr = sympy.Integer(0)
    for w, s in zip(omega, x, strict=True):
        rest = _short(w - sympy.diff(F, s))
        if _zero([rest]):
            continue
        if sympy.count_ops(rest) > INTEGRATED_OPERATIONS or time.process_time() > stop:
            return None
        part = _antiderivative(sympy.expand(rest), s)
        if part.has(sympy.Integral):
            return None
        F += part
    gaps = [w - sympy.diff(F, s) for w, s in zip(omega, x, strict=True)]
    return _both_sides(_short(F)) if F != 0 and _zero(gaps) else None


def _antiderivative(e: Any, s: Symbol) -> Any:
    """∫e ds where no coefficient vanishes. SymPy adds the cases in which one does, Piecewise((0, Eq(y, 0)), (log(x*y + z),
    True)), antiderivatives of other functions, and |y| where y will do."""
    found = manualintegrate(e, s).replace(sympy.Piecewise, _generic_case)
    plain = found.replace(sympy.Abs, lambda u: u)
    return plain if plain != found and _zero([sympy.diff(plain, s) - e]) else found


def _generic_case(*cases: Any) -> Any:
    left = [(value, when) for value, when in cases if not _equalities(when)]
    if left and _almost_everywhere(left[0][1]):
        return left[0][0]
    return sympy.Piecewise(*left) if left else sympy.Piecewise(*cases, evaluate=False)


def _almost_everywhere(when: Any) -> bool:
    """Whether a condition fails only where some quantity has a certain value: y ≠ 0, y² > 0."""
    above: Any = when.gts - when.lts if isinstance(when, sympy.Gt | sympy.Lt) else sympy.nan  # type: ignore[operator]
    return isinstance(when, sympy.Ne) or above.is_nonnegative is True


def _equalities(when: Any) -> bool:
    """Whether a condition holds only where some quantity has a certain value."""
    if isinstance(when, sympy.And):
        return any(map(_equalities, when.args))
    return all(map(_equalities, when.args)) if isinstance(when, sympy.Or) else isinstance(when, sympy.Eq)


def _both_sides(F: Expr) -> Expr:
    """log|u| for log u: the same derivative, on both sides of u = 0."""
    return F.replace(sympy.log, lambda u: sympy.log(u if u.is_positive or not jets_of(u) else sympy.Abs(u)))  # type: ignore[return-value]


def _short(expr: Any) -> Any:
    """A short expression simplified, a long one unchanged; decided by length, not time, so that results do not depend on the
    machine."""
    if expr == 0 or sympy.count_ops(expr) > INTEGRATED_OPERATIONS:
        return expr
    shorter = sympy.simplify(expr)
    return shorter if sympy.count_ops(shorter) <= sympy.count_ops(expr) else expr


def _with_factor(omega: Sequence[Expr], x: Sequence[Symbol], stop: float) -> Expr | None:
    """F with dF = μ ω for an integrating factor μ from a list of common ones."""
    for mu in _factors(omega, x):
        if time.process_time() > stop:
            return None
        scaled = [sympy.cancel(mu * w) if w != 0 and sympy.count_ops(w) <= INTEGRATED_OPERATIONS else mu * w for w in omega]
        if _zero(_curl(scaled, x)):
            F = potential(scaled, x, stop)
            if F is not None:
                return F
    return None


def _factors(omega: Sequence[Expr], x: Sequence[Symbol]) -> Iterator[Expr]:
    """1/ω_i; 1/(Σ x_i ω_i), Euler's for homogeneous forms; exp ∫g dx_i with g = (∂_j ω_i − ∂_i ω_j)/ω_j; 1/(x_i x_j)."""
    present = [i for i, w in enumerate(omega) if w != 0]
    yield from (1 / omega[i] for i in present)
    euler = sympy.expand(sympy.Add(*(x[i] * omega[i] for i in present)))
    if euler != 0:
        yield 1 / euler
    for i, j in itertools.permutations(range(len(x)), 2):
        if omega[j] == 0:
            continue
        g = _short((sympy.diff(omega[i], x[j]) - sympy.diff(omega[j], x[i])) / omega[j])
        if g != 0 and not g.free_symbols & (set(x) - {x[i]}) and sympy.count_ops(g) <= INTEGRATED_OPERATIONS:
            exponent = _antiderivative(g, x[i])
            if not exponent.has(sympy.Integral):
                yield sympy.exp(sympy.expand_log(exponent, force=True))
    yield from (1 / (x[i] * x[j]) for i, j in itertools.combinations(present, 2))
