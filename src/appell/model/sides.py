"""Conditions on positions that decide a force: surfaces c(t, q) = 0 on both sides of which the equations are smooth.

    Piecewise((F, x > 1), (0, True))        sign(x)        Heaviside(x − y)        |x|        max(x, y)

A step that reads both sides has a poor order, and one that is longer than the region is may not see it at all. The system that
is run (`sided`) has the side of each surface as a parameter σ = ±1, and σ c(t, q) >= 0 as a face, so that it is located as
walls are; where it is reached, σ changes its sign, and nothing is struck. Walls and friction beside them, velocities in a
condition and more than two arguments of max leave it to the error control, as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy
from sympy.core.relational import Relational

from appell.errors import AppellError
from appell.jets import Coordinate, Parameter, StateVariable, jets_of, nodes_of, t
from appell.model.constraint import Constraint
from appell.model.prescription import transformed
from appell.model.system import System
from appell.model.unilateral import Unilateral
from appell.remember import remembered

_SWITCHES = (sympy.sign, sympy.Heaviside, sympy.Abs, sympy.Max, sympy.Min, Relational)
_DECIDED = ("potential", "forces", "loads", "rates")
"""What of a system is looked at: energies of motion and constraints are smooth."""


class Sided(NamedTuple):
    """A system with sides as parameters and as faces, in one order; whether something may jump at a surface, not only bend."""

    system: System
    sides: tuple[Parameter, ...]
    jumps: bool


@remembered
def sided(system: System) -> Sided | None:
    """The system with its sides; None where there are none to be had."""
    if system.unilateral or system.frictions:
        return None
    reader = _Reader()
    given = {key: transformed(value, reader) for key, value in system._given.items() if key in _DECIDED}
    if not reader.sides:
        return None
    constraints = system._given["constraints"]
    rows = [constraints] if isinstance(constraints, sympy.Expr | Constraint) else list(constraints)
    try:
        faces = [Unilateral(side * c, name=f"side of {c}") for c, side in reader.sides.items()]
        return Sided(system.replace(**given, constraints=[*rows, *faces]), tuple(reader.sides.values()), reader.jumps)
    except AppellError:  # a surface without a normal, or one that is never reached
        return None


def unlocated(system: System) -> str:
    """What in the forces jumps with positions and is not located, in a sentence; nothing where nothing does."""
    reader = _Reader()
    for value in (system.potential, *system.forces, *(system.rates[s] for s in system.states)):
        reader(value)
    if not reader.jumps or sided(system) is not None:
        return ""
    return (
        f"a force jumps where {next(iter(reader.sides))} = 0, and such places are not located beside walls and friction, or"
        " where the function has no gradient: a step that is longer than a region in which a force acts may not see it."
        " Give max_step=, or a smooth function"
    )


class _Reader:
    """expression → the same with conditions on positions decided by sides, which are kept: function → side."""

    def __init__(self):
        self.sides: dict[Any, Parameter] = {}
        self.jumps = False

    def __call__(self, expr: Any) -> Any:
        if not any(map(_of_positions, nodes_of(expr, *_SWITCHES))):
            return expr
        args = [self(arg) for arg in expr.args]
        if not isinstance(expr, _SWITCHES) or not _of_positions(expr) or (guard := _guard(expr, args)) is None:
            return expr.func(*args)
        side = self._side(guard)
        self.jumps |= not isinstance(expr, sympy.Abs | sympy.Max | sympy.Min)
        if isinstance(expr, sympy.sign):
            return side
        if isinstance(expr, sympy.Heaviside):
            return (1 + side) / 2
        if isinstance(expr, sympy.Abs):
            return side * args[0]
        if isinstance(expr, sympy.Max | sympy.Min):
            first, second = args if isinstance(expr, sympy.Max) else args[::-1]
            return sympy.Piecewise((first, side > 0), (second, True))
        return side > 0 if isinstance(expr, sympy.Gt | sympy.Ge) else side < 0

    def _side(self, guard: Any) -> Any:
        if -guard in self.sides:
            return -self.sides[-guard]
        return self.sides.setdefault(guard, Parameter(f"side of {guard}", real=True))


def _of_positions(expr: Any) -> bool:
    """Whether it is decided by coordinates, with time and parameters, and by nothing else."""
    jets = jets_of(expr)
    known = all(s == t or isinstance(s, Parameter | Coordinate | StateVariable) for s in expr.free_symbols)
    return known and bool(jets) and all(s.level == 0 for s in jets)


def _guard(expr: Any, args: list[Any]) -> Any:
    """The function that is zero where it changes its branch, in arguments on their own sides; None where there are several, or
    none that is smooth."""
    if isinstance(expr, sympy.Max | sympy.Min):
        guard = args[0] - args[1] if len(args) == 2 else None
    elif isinstance(expr, Relational):
        guard = args[0] - args[1] if isinstance(expr, sympy.Gt | sympy.Ge | sympy.Lt | sympy.Le) else None
    else:
        guard = args[0]
    return (
        None if guard is None or nodes_of(guard, *_SWITCHES, sympy.Piecewise, sympy.floor, sympy.ceiling, sympy.Mod) else guard
    )


__all__ = ["Sided", "sided", "unlocated"]
