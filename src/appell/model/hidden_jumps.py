"""Jumps of energies and constraints caused by functions that do not look discontinuous, on surfaces c(t, q, q̇) = 0.

    atan(y/x): x = 0        atan2(y, x): y = 0 < −x        acot(x), tanh(1/x): x = 0        atan(tan(x)): cos(x) = 0

A motion may well stay away from such a surface, as an angle atan(y/x) does in the half plane x > 0. They are therefore
accepted, and doubt is raised only about a motion that crosses one of them (`simulate.jumps_crossed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import sympy
from sympy import Expr, Symbol

from appell.errors import AppellError
from appell.jets import jets_of, nodes_of
from appell.model.jumps import (
    Point,
    between,
    change_of_piece,
    changes_of_piece,
    number_at,
    persists_across,
    rounding_along,
)
from appell.model.system import System
from appell.remember import remembered

_POLES = (sympy.tan, sympy.sec, sympy.cot, sympy.csc, sympy.coth, sympy.csch)
_BRANCH_CUTS = (sympy.acot, sympy.atan2, sympy.acoth, sympy.acsch)

SURFACES_TRIED = 40
"""Most surfaces of an expression at which jumps are looked for."""


class HiddenJump(NamedTuple):
    """A surface c(t, q, q̇) = 0 at which an expression jumps, at least on a part of it; subject: its name in sentences."""

    surface: Expr
    expression: Expr
    subject: str = ""


@remembered
def jumps_in(system: System) -> tuple[HiddenJump, ...]:
    """The jumps of energies, holonomic and velocity constraints, and distances from walls."""
    named: list[tuple[str, Any]] = [("the potential", system.potential)]
    named += [("the kinetic energy", system.kinetic)] if "kinetic" in system._given else []  # a tree has none in symbols
    rows = zip(system.constraints, system.residuals, strict=True)
    named += [(f"constraint '{c.name}'", f) for c, f in rows if c.order < 2]
    named += [(f"the distance of '{face.name}'", face.function) for face in system.unilateral]
    jumps: list[HiddenJump] = []
    for subject, expr in named:
        try:
            jumps += [jump._replace(subject=subject) for jump in hidden_jumps(expr)]
        except AppellError:  # what the frames of a tree contain has no value by itself
            continue
    return tuple(jumps)


@lru_cache(maxsize=256)
def hidden_jumps(expr: Expr) -> tuple[HiddenJump, ...]:
    """Surfaces at which an expression jumps that has no jumping functions: poles of what bounded functions contain, and the
    cuts of inverse functions."""
    symbols: list[Any] = sorted(expr.free_symbols, key=str)
    surfaces = sorted(_surfaces(expr), key=str)[:SURFACES_TRIED]
    value = cache(lambda: number_at(symbols, expr))  # code is generated once, and only if a surface is crossed at all
    return tuple(HiddenJump(c, expr) for c in surfaces if _jumps_across(value, c, symbols))


def _jumps_across(value: Callable[[], Callable[[Point], float]], surface: Expr, symbols: Sequence[Any]) -> bool:
    """Whether a value jumps somewhere on the surface."""
    changes = changes_of_piece(symbols, _side(symbols, surface), time=False)
    return any(_jumps_at(value(), one, other, at) for one, other, at in changes)


def _jumps_at(value: Callable[[Point], float], one: Point, other: Point, at: float) -> bool:
    """Whether a value jumps at a fraction of a segment."""
    return persists_across(lambda s: value(between(one, other, s)), at, rounding_along(one, other))


class SurfaceCrossing(NamedTuple):
    """A crossing of a surface, as a fraction of a segment, and whether the expression jumps there."""

    fraction: float
    jumps: bool


def crossing_finder(jump: HiddenJump, symbols: Sequence[Symbol]) -> Callable[[Point, Point], SurfaceCrossing | None]:
    """(one, other) → one of the places at which the segment between two points crosses the surface; None if it need not."""
    value, side = number_at(symbols, jump.expression), _side(symbols, jump.surface)

    def crossing(one: Point, other: Point) -> SurfaceCrossing | None:
        at = change_of_piece(lambda s: side(between(one, other, s)))
        return None if at is None else SurfaceCrossing(at, _jumps_at(value, one, other, at))

    return crossing


def _surfaces(expr: Expr) -> set[Expr]:
    """c of the surfaces c = 0 at which a part of an expression has a pole or a cut."""
    surfaces: list[Any] = []
    for node in nodes_of(expr, sympy.Pow, *_POLES, *_BRANCH_CUTS):
        if isinstance(node, sympy.Pow):
            surfaces += _factors(node.base) if node.exp.is_negative else []
        elif isinstance(node, sympy.tan | sympy.sec):
            surfaces.append(sympy.cos(node.args[0]))
        elif isinstance(node, sympy.cot | sympy.csc):
            surfaces.append(sympy.sin(node.args[0]))
        else:
            surfaces += _factors(node.args[0])
    return {c for c in surfaces if jets_of(c) and not (c.is_nonnegative or c.is_nonpositive)}


def _factors(c: Any) -> list[Any]:
    """The factors of c, without powers, roots and absolute values: what changes its sign where c vanishes."""
    if isinstance(c, sympy.Abs):
        return _factors(c.args[0])
    if isinstance(c, sympy.Mul):
        return [f for factor in c.args for f in _factors(factor)]
    return _factors(c.base) if isinstance(c, sympy.Pow) and c.exp.is_positive else [c]


def _side(symbols: Sequence[Symbol], surface: Expr) -> Callable[[Point], float]:
    """1 where c > 0, else 0."""
    value = number_at(symbols, surface)
    return lambda point: float(x > 0) if math.isfinite(x := value(point)) else math.nan


__all__ = ["HiddenJump", "SurfaceCrossing", "crossing_finder", "hidden_jumps", "jumps_in"]
