"""Conditions on positions and velocities that decide a force: surfaces c(t, q, q̇) = 0 on whose sides the equations are smooth.

    Piecewise((F, x > 1), (0, True))        sign(x.d)        Heaviside(x − y)        |x.d| x.d        max(x, y)        floor(x)

A step that reads both sides has a poor order, and one that is longer than the region is may not see it at all. The system that
is run (`sided`) has the side of each surface as a parameter σ = ±1, for floor(x) the whole number itself, so that nothing in it
jumps or bends; where a surface is reached, its side changes (`appell.simulate.loop.switched`).

    sign(c) → σ      Heaviside(c) → (1 + σ)/2      |c| → σ c      max(a, b) → a where σ > 0, else b      a > b → σ > 0
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import sympy
from sympy import Expr
from sympy.core.relational import Relational

from appell.errors import AppellError, ModelError
from appell.jets import Jet, Parameter, Prescribed, jets_of, nodes_of, t
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.jumps import JUMPING, KINKED, refuse_jumps
from appell.model.prescription import transformed
from appell.model.reset import Reset
from appell.model.system import System
from appell.model.unilateral import Between, Unilateral
from appell.remember import remembered

_STEPS = (sympy.floor, sympy.ceiling, sympy.Mod, sympy.frac)
_BENDS = (sympy.Abs, sympy.Max, sympy.Min)
_ORDERED = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)
_JUMPS = (sympy.sign, sympy.Heaviside, *_STEPS, Relational)
_SWITCHES = (sympy.sign, sympy.Heaviside, *_BENDS, *_STEPS, *_ORDERED)


@dataclass(frozen=True)
class SwitchSurface:
    """guard >= 0 on the side that holds; where it falls through zero, the side changes its sign, or by `step` where that is ±1.

    first: the side of a state off the surface, −1, 0 (on it) or 1, or a whole number. text: the function that is zero.
    edge: the side to which the surface itself belongs, as `x >= 0` and `x > 0` say it, ±1; 0 where nothing says it.
    jumps: whether something may jump there, not only bend.
    """

    guard: Expr
    side: Parameter
    first: Expr
    text: str
    step: int = 0
    edge: int = 0
    jumps: bool = True

    def after(self, value: float) -> float:
        """The side beyond the surface."""
        return value + self.step if self.step else -value


class Sided(NamedTuple):
    """A system with sides as parameters, and its surfaces."""

    system: System
    surfaces: tuple[SwitchSurface, ...]

    @property
    def jumps(self) -> bool:
        """Whether something may jump at a surface, not only bend."""
        return any(surface.jumps for surface in self.surfaces)


@remembered
def sided(system: System) -> Sided | None:
    """The system with its sides; None where no condition decides anything."""
    reader = _SideReader()
    written = {key: value for key, value in system._given.items() if key not in ("constraints", "prescription")}
    given = {key: transformed(value, reader) for key, value in written.items()}
    in_symbols = "kinetic" in system._given  # a tree's is not; distances of its round bodies do not bend
    given["constraints"] = [_item(item, reader, in_symbols) for item in _items(system._given["constraints"])]
    if not reader.sides:
        return None
    named = sum([*reader.sides.values(), *system.parameters], sympy.Integer(0))  # some stand in conditions alone
    made = system.replace(**given, prescription={**system.prescription, Prescribed("sides"): named})
    kinked: set[Any] = set()  # sides on which the slope of an energy depends
    for energy in ("potential", "kinetic") if in_symbols else ("potential",):
        kinked |= getattr(made, energy).free_symbols if _jumps(getattr(system, energy), "an energy", smooth=True) else set()
    kinked |= {s for wall in made.unilateral for s in wall.function.free_symbols}
    return Sided(made, tuple(replace(s, jumps=True) if s.side in kinked else s for s in reader.surfaces))


@remembered
def bends(system: System) -> tuple[Expr, ...]:
    """c of each surface c(t, q, q̇) = 0, in the symbols of the system; floor(x) has no single one, and jumps."""
    found = sided(system)
    decided: dict[Any, Any] = {}  # side → sign(c)
    values: list[Any] = []
    for surface in found.surfaces if found is not None else ():
        if not surface.step:
            values.append(surface.first.args[0].xreplace(decided))
            decided[surface.side] = sympy.sign(values[-1])
    return tuple(values)


@remembered
def faced(system: System) -> System | None:
    """The system with sides whose surfaces are faces, too, located as walls are; None where that is not to be had."""
    found = sided(system)
    if found is None or system.unilateral or system.frictions:
        return None
    if any(surface.step or any(s.level for s in jets_of(surface.guard)) for surface in found.surfaces):
        return None
    rows = _items(found.system._given["constraints"])
    try:
        faces = [Unilateral(surface.guard, name=f"side of {surface.text}") for surface in found.surfaces]
        return found.system.replace(constraints=[*rows, *faces])
    except AppellError:  # a surface without a normal, or one that is never reached
        return None


def unlocated(system: System) -> str:
    """What in the forces jumps with positions or velocities and is not located, in a sentence; nothing where nothing does."""
    found = sided(system)
    known = system if found is None else found.system
    values = (known.potential, *known.forces, *known.rates.values(), *(e for fr in known.frictions for e in fr.expressions))
    left = [node for value in values for node in nodes_of(value, *_JUMPS) if jets_of(node)]
    if not left:
        return ""
    return (
        f"a force jumps with {min(left, key=str)}, and the places where it does are not located: a step that is longer than a"
        " region in which a force acts may not see it. Give max_step=, or a smooth function"
    )


def _items(constraints: Any) -> list[Any]:
    """Constraints as a list; bare expressions have the names that they were given."""
    one = isinstance(constraints, Expr | Constraint | Unilateral | Between | Friction | Reset)
    return [Constraint(item) if isinstance(item, Expr) else item for item in ([constraints] if one else constraints)]


def _item(item: Any, reader: _SideReader, bends: bool) -> Any:
    """A constraint with sides. A wall has them where its distance jumps, with `bends` also where its normal does (a ridge)."""
    if isinstance(item, Unilateral | Between):
        parts = [getattr(item, name) for name in ("function", "lower", "upper") if hasattr(item, name)]
        return transformed(item, reader) if any(_jumps(part, item.name, smooth=bends) for part in parts) else item
    if isinstance(item, Reset):  # its guard may jump, and its map is no part of the equations
        return item
    if isinstance(item, Friction):  # its own law decides what a velocity of zero means
        twin = copy.copy(item)
        for name in ("slip", "coefficient", "static", "limit"):
            object.__setattr__(twin, name, transformed(getattr(item, name), reader.positions))
        normal: Any = item.normal
        read = tuple(_item(one, reader, bends) for one in normal) if isinstance(normal, tuple) else _item(normal, reader, bends)
        object.__setattr__(twin, "normal", read)
        return twin
    return transformed(item, reader)


def _jumps(expr: Any, name: str, smooth: bool = False) -> bool:
    """Whether an expression, with `smooth` or its slope, jumps with coordinates; pieces that meet do not."""
    if not nodes_of(expr, *(KINKED if smooth else JUMPING)):
        return False
    try:
        refuse_jumps(expr, name, smooth=smooth, time=False)
    except ModelError:
        return True
    return False


def _decides(expr: Any, highest: int) -> bool:
    """Whether it is decided by coordinates, velocities up to a level, time and parameters, and by nothing else."""
    jets = jets_of(expr)
    known = all(s == t or isinstance(s, Parameter | Jet) for s in expr.free_symbols)
    return known and bool(jets) and all(s.level <= highest for s in jets)


class _SideReader:
    """expression → the same with its conditions decided by sides, which are kept."""

    def __init__(self):
        self.sides: dict[Any, Parameter] = {}  # c, or floor(x) → its side
        self.edges: dict[Any, set[int]] = {}  # c → sides to which c = 0 belongs, 0: neither; none where c only bends something
        self.known: dict[Any, Any] = {}

    @property
    def surfaces(self) -> tuple[SwitchSurface, ...]:
        """In an order in which each contains sides of those before it only."""
        found = []
        for c, side in self.sides.items():
            if isinstance(c, sympy.floor):
                x, text = c.args[0], f"sin(pi*({c.args[0]}))"
                found += [SwitchSurface(x - side, side, c, text, -1, 1), SwitchSurface(side + 1 - x, side, c, text, 1, 1)]
                continue
            edges = self.edges.get(c, set())
            edge = next(iter(edges)) if len(edges) == 1 else 0
            found.append(SwitchSurface(side * c, side, sympy.sign(c), str(c), 0, edge, bool(edges)))
        return tuple(found)

    def __call__(self, expr: Any) -> Any:
        """With conditions on positions and velocities."""
        return self._read(expr, 1)

    def positions(self, expr: Any) -> Any:
        """With conditions on positions alone."""
        return self._read(expr, 0)

    def _read(self, expr: Any, highest: int) -> Any:
        if not any(_decides(node, highest) for node in nodes_of(expr, *_SWITCHES)):
            return expr
        if (expr, highest) not in self.known:
            self.known[expr, highest] = self._written(expr, highest)
        return self.known[expr, highest]

    def _written(self, expr: Any, highest: int) -> Any:
        read: Callable[[Any], Any] = lambda arg: self._read(arg, highest)
        if not isinstance(expr, _SWITCHES) or not _decides(expr, highest):
            return expr.func(*map(read, expr.args))
        args: Any = expr.args
        if isinstance(expr, sympy.ceiling):
            return -read(sympy.floor(-args[0], evaluate=False))
        if isinstance(expr, sympy.Mod):
            return read(args[0]) - read(args[1]) * read(sympy.floor(args[0] / args[1], evaluate=False))
        if isinstance(expr, sympy.frac):
            return read(args[0]) - read(sympy.floor(args[0], evaluate=False))
        args = [read(arg) for arg in args]
        if not any(jets_of(arg) for arg in args):  # made of whole numbers, which jump by themselves
            return expr.func(*args)
        if isinstance(expr, sympy.floor):
            return self.sides.setdefault(sympy.floor(args[0], evaluate=False), Parameter(f"floor of {args[0]}", real=True))
        if isinstance(expr, sympy.Max | sympy.Min):
            return reduce(self._larger if isinstance(expr, sympy.Max) else self._smaller, args)
        if isinstance(expr, sympy.Abs):
            return self._side(args[0]) * args[0]
        given: Any = args if nodes_of(expr, *_JUMPS) != {expr} else expr.args  # bounds see what only bends
        if isinstance(expr, sympy.sign | sympy.Heaviside):
            side = self._side(given[0], 0)
            return side if isinstance(expr, sympy.sign) else (1 + side) / 2
        side = self._side(given[0] - given[1], 1 if isinstance(expr, sympy.Ge | sympy.Lt) else -1)
        return side > 0 if isinstance(expr, sympy.Gt | sympy.Ge) else side < 0

    def _larger(self, one: Any, other: Any) -> Any:
        return sympy.Piecewise((one, self._side(one - other) > 0), (other, True))

    def _smaller(self, one: Any, other: Any) -> Any:
        return sympy.Piecewise((one, self._side(one - other) < 0), (other, True))

    def _side(self, c: Any, edge: int | None = None) -> Any:
        """σ of c = 0, a number where c has a sign of its own; edge: to which side c = 0 belongs, None where nothing jumps."""
        if c.is_positive or c.is_negative:
            return sympy.sign(c)
        way = -1 if -c in self.sides else 1
        if way * c not in self.sides:
            self.sides[c] = Parameter(f"side of {c}", real=True)
        if edge is not None:
            self.edges.setdefault(way * c, set()).add(way * edge)
        return way * self.sides[way * c]


__all__ = ["Sided", "SwitchSurface", "bends", "faced", "sided", "unlocated"]
