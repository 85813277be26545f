"""The chart of a unilateral constraint: coordinates (s, y) in which it reads s >= 0, or −π/2 <= s <= π/2.

    f >= 0                     s = f(t, q)                                              Zhuravlev (1) → (2)
    lower <= f <= upper        s = π (f − (lower + upper)/2)/(upper − lower)            Zhuravlev, the two-sided case

y are the coordinates without q_k, and q_k = φ(t, s, y). Any k with ∂f/∂q_k ≠ 0 is possible; the largest |∂f/∂q_k|/√M_kk is the
farthest from a singular chart and does not depend on units. Tried in this order: f is q_k itself up to sign, scale and shift; f
= s has a unique solution for q_k; the user's `chart=`. Otherwise there is no chart, and the reason is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from appell.errors import ConstraintError
from appell.jets import Coordinate, Parameter, expression, t, total_derivative
from appell.model import Between, System, Unilateral
from appell.model.unilateral import DISTANCE, REFLECTION
from appell.numeric_functions import numeric_function

INVERSE_POINTS = 12
"""Random points at which an inverse is checked."""


@dataclass(frozen=True)
class Chart:
    """s = `definition`(t, q) replaces `coordinate` = `inverse`(t, s, y); `inverse_origin`: where the inverse comes from."""

    s: Coordinate
    y: tuple[Coordinate, ...]
    coordinate: Coordinate
    definition: Expr
    inverse: Expr
    inverse_origin: str

    def into(self, expr: Expr) -> Expr:
        """An expression in t, q, q̇ written in t, s, y, ṡ, ẏ."""
        table = {self.coordinate: self.inverse, self.coordinate.d: total_derivative(self.inverse)}
        return expr.xreplace(table)  # type: ignore[return-value]

    def out_of(self, expr: Expr) -> Expr:
        """An expression in t, s, y, ṡ, ẏ written in t, q, q̇."""
        return expr.xreplace({self.s: self.definition, self.s.d: total_derivative(self.definition)})  # type: ignore[return-value]


def free_name(wanted: Iterable[str], taken: Iterable[str]) -> str:
    """The first of the names that is not taken."""
    used = set(taken)
    return next(name for name in wanted if name not in used)


def names_of(system: System) -> set[str]:
    """The names of all symbols of a system."""
    return {q.letter for q in system.coordinates} | {v.letter for v in system.velocities} | {str(p) for p in system.parameters}


def find_chart(system: System, source: Unilateral | Between) -> tuple[Chart | None, str]:
    """The chart of a unilateral constraint and how it was found; or None and the reason why there is none."""
    if system.constraints:
        name = system.constraints[0].name
        return None, f"the bilateral constraint '{name}' takes part in every impact, so p is not continuous"
    if not system.holonomic_speeds:
        return None, "the velocities are speeds, not the derivatives of the coordinates"
    if system.states:
        return None, f"the state {system.states[0]} of first order stands beside the coordinates"
    if source.chart == REFLECTION:
        return None, "chart='reflection' was asked for"
    s = Coordinate(free_name(("s", "s_fold", "s_fold_"), names_of(system)))
    inverse = _stated_inverse(system, source) if source.chart is not None else _searched_inverse(system, source)
    if isinstance(inverse, str):
        return None, inverse
    coordinate, in_f, how = inverse
    f, mean, width = source.function, sympy.Integer(0), sympy.Integer(1)
    if isinstance(source, Between):
        mean, width = (source.lower + source.upper) / 2, (source.upper - source.lower) / sympy.pi
        moving = sorted((mean.free_symbols | width.free_symbols) & set(system.coordinates), key=str)
        if moving:
            return None, f"the bounds of '{source.name}' contain the coordinate {moving[0]}, so Π(x) has no fixed ends"
    y = tuple(q for q in system.coordinates if q != coordinate)
    phi = expression(in_f.xreplace({DISTANCE: mean + width * s}), "a chart")
    return Chart(s, y, coordinate, (f - mean) / width, phi, how), how


Inverse = tuple[Coordinate, Expr, str]


def _searched_inverse(system: System, source: Unilateral | Between) -> Inverse | str:
    """The inverse for the best coordinate that f = s can be solved for uniquely; else the reason."""
    f = source.function
    candidates = _ranked(system, f)
    plain = [q for q in candidates if not (f.free_symbols & set(system.coordinates)) - {q} and _slope_is_constant(f, q)]
    even = [q for q in candidates if _slope_is_constant(f, q)]
    for q in [*plain, *even, *candidates]:
        if _monotone(f, q) and (inverse := _solved(f, q)) is not None:
            how = "f is this coordinate, sign, scale and shift apart" if q in plain else f"f = s solved for {q}"
            return q, inverse, how
    names = ", ".join(map(str, candidates))
    return (
        f"f = s has several branches or none for {names}; give chart={{{candidates[0]}: lambda s: …}} with the branch of your"
        " motion, or leave it: impacts then reflect the momenta in the kinetic metric, which is the same motion"
    )


def _stated_inverse(system: System, source: Unilateral | Between) -> Inverse | str:
    """The user's chart, its inverse checked or found."""
    choice, f = source.chart, source.function
    assert not isinstance(choice, str) and choice is not None
    q = choice.coordinate
    where = f"chart= of unilateral constraint '{source.name}'"
    if q not in system.coordinates:
        raise ConstraintError(f"{where} names {q}, which is not a coordinate of the system")
    if choice.inverse is None:
        branches = _branches(f, q)
        if len(branches) != 1:
            shown = "; ".join(str(b).replace(str(DISTANCE), "s") for b in branches) or "none found"
            raise ConstraintError(f"{where}: f = s does not give {q} uniquely ({shown}); give chart={{{q}: lambda s: …}}")
        return q, branches[0], f"f = s solved for the chosen {q}"
    worst = _residual(f.xreplace({q: choice.inverse}) - DISTANCE, f, q)
    if not worst < 1e-9:
        raise ConstraintError(f"{where}: f with {q} = {choice.inverse} is not s")
    return q, choice.inverse, "given"


# -- solving f = s for one coordinate ----------------------------------------------------------------------------------


def _ranked(system: System, f: Expr) -> list[Coordinate]:
    """Coordinates in f by the mean of |∂f/∂q_k|/√M_kk over random points, largest first."""
    candidates = [q for q in system.coordinates if q in f.free_symbols]
    slopes = [sympy.diff(f, q) for q in candidates]
    masses = [sympy.diff(system.kinetic, q.d, 2) for q in candidates]
    symbols = sorted(set().union(*(e.free_symbols for e in (*slopes, *masses))), key=str)
    values = numeric_function(symbols, [*slopes, *masses], "numpy", cse=True)
    points = np.array([values(*point) for point in _points(symbols)], dtype=float).reshape(INVERSE_POINTS, 2, len(candidates))
    with np.errstate(all="ignore"):
        score = np.nanmean(np.abs(points[:, 0]) / np.sqrt(np.abs(points[:, 1]) + 1e-300), axis=0)
    return [candidates[i] for i in np.argsort(-np.round(score, 9), kind="stable")]


def _points(symbols: Iterable[Any], seed: int = 1) -> list[list[Any]]:
    """`INVERSE_POINTS` random values of the symbols, positive where assumed so."""
    rng, symbols = np.random.default_rng(seed), list(symbols)
    return [
        [np.float64(rng.uniform(0.3, 2.5)) * (1.0 if s == t or s.is_nonnegative else rng.choice([-1.0, 1.0])) for s in symbols]
        for _ in range(INVERSE_POINTS)
    ]


def _slope_is_constant(f: Expr, q: Symbol) -> bool:
    return all(isinstance(s, Parameter) for s in sympy.diff(f, q).free_symbols)


def _monotone(f: Expr, q: Symbol) -> bool:
    """Whether ∂f/∂q has one sign at the random points, all other values fixed in each: otherwise f = s has two branches."""
    slope = sympy.diff(f, q)
    if not slope.free_symbols:
        return slope != 0
    symbols = sorted(slope.free_symbols, key=str)
    values = numeric_function(symbols, slope, "numpy")
    at = symbols.index(q) if q in symbols else None
    with np.errstate(all="ignore"):
        for point in _points(symbols):
            line = [values(*(x if i == at else z for i, z in enumerate(point))) for x in np.linspace(-4, 4, 33)]
            signs = {float(np.sign(value)) for value in line if np.isfinite(value)}
            if len(signs) != 1 or 0.0 in signs:
                return False
    return True


def _branches(f: Expr, q: Symbol) -> list[Expr]:
    """Solutions q of f = s that are f's inverse at some random point."""
    slope = sympy.diff(f, q)
    if q not in slope.free_symbols:
        return [(DISTANCE - f.xreplace({q: sympy.Integer(0)})) / slope]
    try:
        solutions = sympy.solve(f - DISTANCE, q)
    except NotImplementedError:
        return []
    real = [e for e in solutions if isinstance(e, Expr) and not e.has(sympy.I)]
    return [e for e in real if _residual(f.xreplace({q: e}) - DISTANCE, f, q) < 1e-9]


def _solved(f: Expr, q: Symbol) -> Expr | None:
    """The inverse if f = s has a unique solution that reproduces every q."""
    branches = _branches(f, q)
    if len(branches) != 1:
        return None
    back = branches[0].xreplace({DISTANCE: f}) - q
    return sympy.factor_terms(branches[0]) if _residual(back, f, q) < 1e-9 else None  # type: ignore[return-value]


def _residual(expr: Expr, f: Expr, q: Symbol) -> float:
    """The largest value at random points where it is real, s = f there; infinite where there is no such point."""
    symbols = sorted(f.free_symbols | (expr.free_symbols - {DISTANCE}), key=str)
    value_of_f = sympy.Dummy("f")  # a user's coordinate may be named s
    values = numeric_function([*symbols, value_of_f], [expr.xreplace({DISTANCE: value_of_f})], "numpy")
    at_f = numeric_function(symbols, f, "numpy")
    residuals = []
    with np.errstate(all="ignore"):
        for point in _points(symbols, seed=2):
            value = complex(values(*point, at_f(*point))[0])
            if np.isfinite(value) and abs(value.imag) < 1e-12:
                residuals.append(abs(value))
    return max(residuals, default=np.inf)
