"""Forces that switch with positions and velocities: surfaces c(t, q, q̇) = 0 with smooth equations on each side.

    Piecewise((F, x > 1), (0, True))        sign(x.d)        Heaviside(x − y)        |x.d| x.d        max(x, y)        floor(x)

A step across a surface loses its order, and one longer than a region may miss it entirely. The system that is run (`sided`) has
the side of each surface as a parameter σ = ±1, for floor(x) the integer itself, so that nothing in it jumps or has a kink;
where a surface is reached, its side changes (`appell.simulate.loop.switched`).

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
from appell.reading import shown
from appell.remember import remembered

_STEPS = (sympy.floor, sympy.ceiling, sympy.Mod, sympy.frac)
_BENDS = (sympy.Abs, sympy.Max, sympy.Min)
_ORDERED = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)
_JUMPS = (sympy.sign, sympy.Heaviside, *_STEPS, Relational)
_SWITCHES = (sympy.sign, sympy.Heaviside, *_BENDS, *_STEPS, *_ORDERED)


@dataclass(frozen=True)
class SwitchSurface:
    """guard >= 0 on the current side; where it falls through zero, the side changes sign, or by `step` if that is ±1.

    first: the side of a state, −1, 0 (on the surface) or 1, or an integer. text: the function that vanishes.
    edge: the side to which the surface itself belongs, ±1, by `x >= 0` or `x > 0`; 0 if not specified.
    jumps: whether something may jump there, and not only have a kink.
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
        """Whether something may jump at a surface, and not only have a kink."""
        return any(surface.jumps for surface in self.surfaces)


@remembered
def sided(system: System) -> Sided | None:
    """The system with its sides; None if there are no switching surfaces."""
    reader = _SideReader()
    arguments = {key: value for key, value in system._given.items() if key not in ("constraints", "prescription")}
    sided_arguments = {key: transformed(value, reader) for key, value in arguments.items()}
    in_symbols = _in_symbols(system)  # distances of the round bodies of a tree have no kinks
    sided_arguments["constraints"] = [_item(item, reader, in_symbols) for item in _items(system._given["constraints"])]
    if not reader.sides:
        return None
    named = sum([*reader.sides.values(), *system.parameters], sympy.Integer(0))  # some occur only in conditions
    result = system.replace(**sided_arguments, prescription={**system.prescription, Prescribed("sides"): named})
    kinked: set[Any] = set()  # sides that the gradient of an energy depends on
    for energy in ("potential", "kinetic") if in_symbols else ("potential",):
        kinked |= getattr(result, energy).free_symbols if _jumps(getattr(system, energy), "an energy", smooth=True) else set()
    kinked |= {s for wall in result.unilateral for s in wall.function.free_symbols}
    return Sided(result, tuple(replace(s, jumps=True) if s.side in kinked else s for s in reader.surfaces))


@remembered
def kink_functions(system: System) -> tuple[Expr, ...]:
    """c of each surface c(t, q, q̇) = 0, in the symbols of the system; without floor(x), which has no single surface, and
    jumps."""
    sided_system = sided(system)
    decided: dict[Any, Any] = {}  # side → sign(c)
    values: list[Any] = []
    for surface in sided_system.surfaces if sided_system is not None else ():
        if not surface.step:
            values.append(surface.first.args[0].xreplace(decided))
            decided[surface.side] = sympy.sign(values[-1])
    return tuple(values)


@remembered
def with_sides_as_faces(system: System) -> System | None:
    """The system with sides whose surfaces are also faces, located like walls; None if that is not possible."""
    sided_system = sided(system)
    if sided_system is None or system.unilateral or system.frictions:
        return None
    if any(surface.step or any(s.level for s in jets_of(surface.guard)) for surface in sided_system.surfaces):
        return None
    sides = {surface.side for surface in sided_system.surfaces}
    if any(surface.first.free_symbols & sides for surface in sided_system.surfaces):  # it jumps where another side changes
        return None
    rows = _items(sided_system.system._given["constraints"])
    try:
        faces = [Unilateral(surface.guard, name=f"side of {surface.text}") for surface in sided_system.surfaces]
        return sided_system.system.replace(constraints=[*rows, *faces])
    except AppellError:  # a surface without a gradient, or never reached
        return None


@remembered
def unlocated_jumps(system: System) -> str:
    """A sentence on forces that jump with positions or velocities and are not located; empty if there are none."""
    sides = sided(system)
    model = system if sides is None else sides.system
    values = (model.potential, *model.forces, *model.rates.values(), *(e for fr in model.frictions for e in fr.expressions))
    jumps = [node for value in values for node in nodes_of(value, *_JUMPS) if jets_of(node)]
    if not jumps:
        return ""
    return (
        f"a force jumps with {min(jumps, key=str)}, and the places where it does are not located: a step that is longer than a"
        " region in which a force acts may not see it. Give max_step=, or a smooth function"
    )


def _items(constraints: Any) -> list[Any]:
    """Constraints as a list; bare expressions keep their names."""
    is_single = isinstance(constraints, Expr | Constraint | Unilateral | Between | Friction | Reset)
    return [Constraint(item) if isinstance(item, Expr) else item for item in ([constraints] if is_single else constraints)]


def _item(item: Any, reader: _SideReader, bends: bool) -> Any:
    """A constraint with sides. A wall has them if its distance jumps, with `bends` also if its normal does (a ridge)."""
    if isinstance(item, Unilateral | Between):
        bounds = [getattr(item, name) for name in ("function", "lower", "upper") if hasattr(item, name)]
        return transformed(item, reader) if any(_jumps(bound, item.name, smooth=bends) for bound in bounds) else item
    if isinstance(item, Reset):  # its guard may jump, and its map is not part of the equations
        return item
    if isinstance(item, Friction):  # its own law handles zero velocity
        twin = copy.copy(item)
        for name in ("slip", "coefficient", "static", "limit"):
            object.__setattr__(twin, name, transformed(getattr(item, name), reader.positions))
        normal: Any = item.normal
        normals = tuple(_item(c, reader, bends) for c in normal) if isinstance(normal, tuple) else _item(normal, reader, bends)
        object.__setattr__(twin, "normal", normals)
        return twin
    return transformed(item, reader)


def _jumps(expr: Any, name: str, smooth: bool = False) -> bool:
    """Whether an expression, or with `smooth` its gradient, jumps with coordinates; continuous pieces do not."""
    if not nodes_of(expr, *(KINKED if smooth else JUMPING)):
        return False
    try:
        refuse_jumps(expr, name, smooth=smooth, time=False)
    except ModelError:
        return True
    return False


def _in_symbols(system: System) -> bool:
    """Whether its energies are expressions; those of a tree are not."""
    return "kinetic" in system._given


def _decides(expr: Any, highest: int) -> bool:
    """Whether it depends only on coordinates, velocities up to a level, time and parameters."""
    jets = jets_of(expr)
    is_known = all(s == t or isinstance(s, Parameter | Jet) for s in expr.free_symbols)
    return is_known and bool(jets) and all(s.level <= highest for s in jets)


def _root_of_nothing_negative(expr: Any) -> bool:
    """Whether it is a power like Max(-x, 0)**(3/2), which is real on both sides but not where one of them is continued."""
    return bool(not expr.exp.is_integer and expr.base.is_nonnegative)


def _continued(value: Any, when: Any) -> Any:
    """The value of a case with powers that are real beyond its condition, too: (-x)**(3/2) for x < 0. Steps look beyond it."""
    conditions: Any = when.args if isinstance(when, sympy.And) else (when,)
    ordered: list[Any] = [c for c in conditions if isinstance(c, sympy.Gt | sympy.Ge | sympy.Lt | sympy.Le)]
    positive = [c.gts - c.lts for c in ordered]
    powers = [power for power in value.atoms(sympy.Pow) if not power.exp.is_integer]
    bounded = {power for power in powers for c in positive if (power.base / c).cancel().is_positive}
    return value.xreplace({power: sympy.Abs(power.base) ** power.exp for power in bounded})


@remembered
def refuse_ridges(system: System) -> None:
    """Refuses gaps of a tree whose normals jump along an edge: no run locates it, and an ensemble would not notice.

    Under a root, as in the distance of a capsule, the nearest point passes from part to part without a jump of the normal.
    """
    if _in_symbols(system):
        return
    for wall in system.unilateral:
        without_roots = wall.function.replace(lambda e: e.is_Pow and not e.exp.is_integer, lambda e: sympy.Dummy(real=True))
        if nodes_of(without_roots, *KINKED) and _jumps(wall.function, wall.name, smooth=True):
            raise ModelError(
                f"unilateral constraint '{wall.name}' of a tree has a ridge, where its normal jumps, which an ensemble does not"
                f" notice: {shown(wall.function)}; give each side as a constraint of its own"
            )


class _SideReader:
    """expression → the same with its conditions replaced by sides, which are collected."""

    def __init__(self):
        self.sides: dict[Any, Parameter] = {}  # c, or floor(x) → its side
        self.edges: dict[Any, set[int]] = {}  # c → sides to which c = 0 belongs, 0: neither; empty for kinks
        self.converted: dict[Any, Any] = {}

    @property
    def surfaces(self) -> tuple[SwitchSurface, ...]:
        """The surfaces in an order in which each depends only on sides before it."""
        surfaces: list[SwitchSurface] = []
        sign_of: dict[Any, Any] = {}  # side → sign(c) or floor(x), for messages
        for c, side in self.sides.items():
            written = c.args[0].xreplace(sign_of) if isinstance(c, sympy.floor) else c.xreplace(sign_of)
            if isinstance(c, sympy.floor):
                x, text, sign_of[side] = c.args[0], f"sin(pi*({written}))", sympy.floor(written, evaluate=False)
                surfaces += [SwitchSurface(x - side, side, c, text, -1, 1), SwitchSurface(side + 1 - x, side, c, text, 1, 1)]
                continue
            edges, sign_of[side] = self.edges.get(c, set()), sympy.sign(written, evaluate=False)
            edge = next(iter(edges)) if len(edges) == 1 else 0
            surfaces.append(SwitchSurface(side * c, side, sympy.sign(c), str(written), 0, edge, bool(edges)))
        return tuple(surfaces)

    def __call__(self, expr: Any) -> Any:
        """The expression with conditions on positions and velocities replaced."""
        return self._with_sides(expr, 1)

    def positions(self, expr: Any) -> Any:
        """The expression with only conditions on positions replaced."""
        return self._with_sides(expr, 0)

    def _with_sides(self, expr: Any, highest: int) -> Any:
        if not any(_decides(node, highest) for node in nodes_of(expr, *_SWITCHES)):
            return expr
        if (expr, highest) not in self.converted:
            self.converted[expr, highest] = self._converted(expr, highest)
        return self.converted[expr, highest]

    def _converted(self, expr: Any, highest: int) -> Any:
        read: Callable[[Any], Any] = lambda arg: self._with_sides(arg, highest)
        if isinstance(expr, sympy.Piecewise):
            pairs: Any = expr.args
            return sympy.Piecewise(*((read(_continued(value, when)), read(when)) for value, when in pairs))
        if isinstance(expr, sympy.Pow) and _root_of_nothing_negative(expr):
            return sympy.Abs(read(expr.base)) ** read(expr.exp)
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
        if not any(jets_of(arg) for arg in args):  # built from integers, which already jump
            return expr.func(*args)
        if isinstance(expr, sympy.floor):
            return self.sides.setdefault(sympy.floor(args[0], evaluate=False), Parameter(f"floor of {args[0]}", real=True))
        if isinstance(expr, sympy.Max | sympy.Min):
            return reduce(self._larger if isinstance(expr, sympy.Max) else self._smaller, args)
        if isinstance(expr, sympy.Abs):
            return self._side(args[0]) * args[0]
        operands: Any = args if nodes_of(expr, *_JUMPS) != {expr} else expr.args  # interval bounds handle kinks
        if isinstance(expr, sympy.sign | sympy.Heaviside):
            side = self._side(operands[0], 0)
            return side if isinstance(expr, sympy.sign) else (1 + side) / 2
        side = self._side(operands[0] - operands[1], 1 if isinstance(expr, sympy.Ge | sympy.Lt) else -1)
        return side > 0 if isinstance(expr, sympy.Gt | sympy.Ge) else side < 0

    def _larger(self, one: Any, other: Any) -> Any:
        return sympy.Piecewise((one, self._side(one - other) > 0), (other, True))

    def _smaller(self, one: Any, other: Any) -> Any:
        return sympy.Piecewise((one, self._side(one - other) < 0), (other, True))

    def _side(self, c: Any, edge: int | None = None) -> Any:
        """σ of c = 0, a number if the sign of c is fixed; edge: the side to which c = 0 belongs, None where nothing jumps."""
        if c.is_positive or c.is_negative:
            return sympy.sign(c)
        sign = -1 if -c in self.sides else 1
        if sign * c not in self.sides:
            self.sides[c] = Parameter(f"side of {c}", real=True)
        if edge is not None:
            self.edges.setdefault(sign * c, set()).add(sign * edge)
        return sign * self.sides[sign * c]


__all__ = ["Sided", "SwitchSurface", "kink_functions", "refuse_ridges", "sided", "unlocated_jumps", "with_sides_as_faces"]
