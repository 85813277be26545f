"""Functions of (t, q) that constraints keep constant, in symbols: integrals of Pfaffian forms.

    dF = μ Σ c_k ω_k        ω = A dq + b dt of the rows A(t, q) v + b(t, q) = 0

either with constants c that make the combination closed and μ = 1, or for a single row with an integrating factor μ. How many
such integrals there are is the question of `frobenius`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol
from sympy.integrals.manualintegrate import manualintegrate

from appell.forms.engine.derivation import gradient
from appell.forms.engine.matrices import samples
from appell.jets import jets_of, t
from appell.model import System
from appell.reading import symbolic, text_of
from appell.rows import null_space
from appell.verify.exact import exact

Array = NDArray[np.float64]

ECHELON_ZERO = 1e-7
"""Smaller entries of orthonormal rows are zero."""

INTEGRATED_OPERATIONS = 120
"""Expressions with more operations are not integrated by SymPy."""


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
    values = {s: numbers[str(s)] for s in system.parameters if str(s) in numbers}
    stop = time.process_time() + budget
    tau: Any = sympy.Dummy("t", real=True)  # an ordinary symbol: here ∂/∂t is meant, not d/dt along the motion
    x = (*system.coordinates, tau)
    forms = {i: [exact(w).xreplace({t: tau, **values}) for w in omega] for i in rows if (omega := _form(system, i)) is not None}
    results: list[Integral] = []
    for combination in _closed_combinations(forms, x):
        omega = [sympy.Add(*(c * forms[i][s] for i, c in combination.items())) for s in range(len(x))]
        F: Any = potential(omega, x, stop)
        if F is not None:
            results.append(Integral(F.xreplace({tau: t}), tuple(combination)))
    for i, omega in forms.items() if factors else ():
        if not any(integral.rows == (i,) for integral in results) and (F := _with_factor(omega, x, stop)) is not None:
            results.append(Integral(F.xreplace({tau: t}), (i,)))
    return results


def _form(system: System, row: int) -> list[Any] | None:
    """ω over (q, t) of a row of first order: the coefficients of q̇, and the term at rest; None in other velocities."""
    f = system.residuals[row]
    index_of = {v: i for i, q in enumerate(system.coordinates) for v in system.velocities if v == q.d}
    if any(v in f.free_symbols and v not in index_of for v in system.velocities):
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
    closed = [i for i, omega in forms.items() if _zero(_curl(omega, x))]
    yield from ({i: sympy.Integer(1)} for i in closed)
    others = [i for i in forms if i not in closed]
    if len(others) < 2:
        return
    curls = sympy.Matrix([_curl(forms[i], x) for i in others]).T
    points = samples(curls, count=6)
    if not points:
        return
    null = null_space(np.vstack(points), as_given=True)
    for c in reduced(null.T):
        if all(abs(float(r) - value) < 1e-7 for r, value in zip(rational(c), c, strict=True)):
            yield {i: r for i, r in zip(others, rational(c), strict=True) if r != 0}


def reduced(rows: Array) -> Array:
    """The row space in reduced echelon form: vectors with as many zeros and ones as possible."""
    rows = rows.copy()
    rank = 0
    for j in range(rows.shape[1]):
        if rank == len(rows):
            break
        i = rank + int(np.argmax(np.abs(rows[rank:, j])))
        if abs(rows[i, j]) < ECHELON_ZERO:
            continue
        rows[[rank, i]] = rows[[i, rank]]
        rows[rank] /= rows[rank, j]
        for k in range(len(rows)):
            if k != rank:
                rows[k] -= rows[k, j] * rows[rank]
        rank += 1
    return rows[:rank]


def rational(values: Array, limit: int = 12) -> list[Any]:
    """The nearest fractions with denominators up to a limit."""
    nearest = [Fraction(float(x)).limit_denominator(limit) for x in values]
    return [sympy.Rational(x.numerator, x.denominator) for x in nearest]


def potential(omega: Sequence[Expr], x: Sequence[Symbol], stop: float) -> Expr | None:
    """F with ∂F/∂x_i = ω_i by successive integrations; None where ω is not closed or SymPy gives up."""
    F: Expr = sympy.Integer(0)
    for w, s in zip(omega, x, strict=True):
        remainder = _short(w - sympy.diff(F, s))
        if _zero([remainder]):
            continue
        if sympy.count_ops(remainder) > INTEGRATED_OPERATIONS or time.process_time() > stop:
            return None
        antiderivative = _antiderivative(sympy.expand(remainder), s)
        if antiderivative.has(sympy.Integral):
            return None
        F += antiderivative
    gaps = [w - sympy.diff(F, s) for w, s in zip(omega, x, strict=True)]
    return _both_sides(_short(F)) if F != 0 and _zero(gaps) else None


def _antiderivative(e: Any, s: Symbol) -> Any:
    """∫e ds where no coefficient vanishes. SymPy adds the cases in which one does, Piecewise((0, Eq(y, 0)), (log(x*y + z),
    True)), antiderivatives of other functions, and |y| where y will do."""
    F = manualintegrate(e, s).replace(sympy.Piecewise, _generic_case)
    plain = F.replace(sympy.Abs, lambda u: u)
    return plain if plain != F and _zero([sympy.diff(plain, s) - e]) else F


def _generic_case(*cases: Any) -> Any:
    generic = [(value, when) for value, when in cases if not _equalities(when)]
    if generic and _almost_everywhere(generic[0][1]):
        return generic[0][0]
    return sympy.Piecewise(*generic) if generic else sympy.Piecewise(*cases, evaluate=False)


def _almost_everywhere(when: Any) -> bool:
    """Whether a condition fails only where some quantity has a certain value: y ≠ 0, y² > 0."""
    difference: Any = when.gts - when.lts if isinstance(when, sympy.Gt | sympy.Lt) else sympy.nan  # type: ignore[operator]
    return isinstance(when, sympy.Ne) or difference.is_nonnegative is True


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
