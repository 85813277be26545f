"""The symbols and names of a system: what its expressions may contain, and what a name refers to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import sympy
from sympy import Expr, Symbol
from sympy.core.function import AppliedUndef

from appell.errors import ModelError
from appell.jets import Coordinate, Jet, Parameter, Prescribed, Speed, StateVariable, expression, nodes_of, t, total_derivative
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.multiplier import Multiplier
from appell.model.reset import Reset
from appell.model.unilateral import Between, Face, Unilateral
from appell.reading import name_in, refuse_large_numbers, shown, text_of


class Vocabulary:
    """Coordinates, velocities and constraints of a system by symbol and by name; expressions in them are read here.

    Expressions are written in the velocities of the system, with the values of prescribed functions substituted. An unknown
    symbol, or a derivative of too high an order, raises with the location and the remedy.
    """

    coordinates: tuple[Any, ...]
    velocities: tuple[Any, ...]
    accelerations: tuple[Jet, ...]
    states: tuple[StateVariable, ...] = ()
    rates: Mapping[Any, Expr]
    prescription: Mapping[Any, Expr] = MappingProxyType({})
    constraints: tuple[Constraint, ...]
    unilateral: tuple[Face, ...]
    frictions: tuple[Friction, ...]
    resets: tuple[Reset, ...] = ()
    name: str

    # -- sizes -------------------------------------------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of entries of q: coordinates, followed by states of first order."""
        return len(self.positions)

    @cached_property
    def positions(self) -> tuple[Any, ...]:
        """The entries of q: the coordinates, then the states of first order."""
        return (*self.coordinates, *self.states)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocities)

    @cached_property
    def holonomic_speeds(self) -> bool:
        """Whether the velocities are the q̇ themselves, in order."""
        return all(v == q.d for q, v in zip(self.coordinates, self.velocities, strict=False)) and (
            len(self.coordinates) == self.nv
        )

    # -- names -------------------------------------------------------------------------------------------------------------

    def constraint(self, key: Constraint | str) -> int:
        """The row of a constraint, by the object or its name."""
        for i, c in enumerate(self.constraints):
            if c is key or (isinstance(key, str) and c.name == key):
                return i
        for i, c in enumerate(self.constraints):
            if isinstance(key, Constraint) and c.residual == key.residual:
                return i
        names = ", ".join(f"'{c.name}'" for c in (*self.constraints, *self.unilateral)) or "none"
        raise ModelError(f"'{name_in(key)}' is not a constraint of {self.name}; it has: {names}")

    def face(self, key: Face | Unilateral | Between | str) -> int:
        """The index of a face in `unilateral`, by itself, its name, or its source object."""
        index, *others = self.faces(key)
        if others:
            names = " or ".join(f"'{self.unilateral[i].name}'" for i in (index, *others))
            raise ModelError(f"'{name_in(key)}' has two faces; name {names}")
        return index

    def faces(self, key: Face | Unilateral | Between | str) -> tuple[int, ...]:
        """The indices of the faces of a key: both for a `Between`."""
        key = key if isinstance(key, str | Face | Unilateral | Between) else name_in(key)
        indices = [i for i, face in enumerate(self.unilateral) if key in (face, face.name)]
        indices = indices or [i for i, face in enumerate(self.unilateral) if key in (face.source, face.source.name)]
        if not indices:
            names = ", ".join(f"'{face.name}'" for face in self.unilateral) or "none"
            raise ModelError(f"'{name_in(key)}' is not a unilateral constraint of {self.name}; it has: {names}")
        return tuple(indices)

    def friction(self, key: Friction | str) -> int:
        """The index of a friction, by the object or its name."""
        for i, fr in enumerate(self.frictions):
            if fr is key or fr.name == (key if isinstance(key, str) else getattr(key, "name", None)):
                return i
        names = ", ".join(f"'{fr.name}'" for fr in self.frictions) or "none"
        raise ModelError(f"'{name_in(key)}' is not a friction of {self.name}; it has: {names}")

    def velocity_of(self, key: Any, where: str) -> int:
        """The index of the velocity for a coordinate, velocity or quasi-velocity, or its name."""
        where = where if isinstance(where, str) else shown(where)
        key = self._named(key, where) if isinstance(key, str) else key
        for i, v in enumerate(self.velocities):
            if isinstance(key, Symbol) and (key == v or (isinstance(key, Coordinate) and key.d == v)):
                return i
        if isinstance(key, StateVariable):
            raise ModelError(f"{where} names {key}, a first-order state, on which no force acts; give its rate in rates=")
        if isinstance(key, Symbol) and key in self.coordinates:
            speeds = ", ".join(map(str, self.velocities))
            raise ModelError(f"{where} names {text_of(key)}, whose rate is made of speeds; name one of the speeds: {speeds}")
        names = ", ".join(map(str, self.velocities[:12]))
        raise ModelError(f"{where} names {name_in(key)}, which is not a coordinate of the system; its velocities are {names}")

    def _named(self, name: str, where: str) -> Any:
        """The coordinate or velocity of this name, or the name itself if there is none."""
        return next((s for s in (*self.positions, *self.velocities) if str(s) == name), name)

    # -- expressions -------------------------------------------------------------------------------------------------------

    def total_derivative(self, expr: Any) -> Any:
        """d/dt along the motion, with q̇ = N v + n0."""
        return total_derivative(expr, self.rates)

    def in_velocities(self, expr: Any) -> Any:
        """The expression with q.d, q.dd of coordinates with given kinematics, and prescribed functions and inputs with records,
        substituted."""
        return expr.xreplace(self._substitution) if self._substitution else expr

    @cached_property
    def _substitution(self) -> dict[Symbol, Expr]:
        moved = {q: rate for q, rate in self.rates.items() if rate != q.d}
        table = {q.d: rate for q, rate in moved.items()}
        table.update({q.dd: total_derivative(rate, self.rates) for q, rate in moved.items()})
        for f, value in self.prescription.items():
            orders = range(5) if isinstance(f, Prescribed) else ()  # an input has a record as its value, and no derivatives
            table.update({Prescribed(f.letter, k): value.diff(t, k) for k in orders} or {f: value})
        return table

    def _expression(self, value: Any, where: str, *, level: int, reactions: bool = False) -> Expr:
        """The expression in the velocities of the system, every symbol known and none above `level`; with `reactions`
        also multipliers of its constraints."""
        expr = self.in_velocities(expression(value, where))
        if expr.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I):
            raise ModelError(f"{where} contains a value that is not a finite real number: {expr}")
        nodes = nodes_of(expr, AppliedUndef, sympy.Derivative, sympy.Rational)
        refuse_large_numbers(nodes, where)
        undefined = {node for node in nodes if not isinstance(node, sympy.Rational)}
        if undefined:
            raise ModelError(
                f"{where} contains {sorted(map(str, undefined))[0]}: functions of time are not used here;"
                " make x with ap.coordinates and write x.d for its velocity, or convert the model with ap.from_sympy"
            )
        for s in sorted(expr.free_symbols, key=str):
            if isinstance(s, Multiplier):
                self._check_multiplier(s, where, reactions)
            else:
                self._check_symbol(s, where, level)
        return expr

    def _check_multiplier(self, s: Multiplier, where: str, allowed: bool) -> None:
        if not allowed:
            raise ModelError(f"{where} contains {s}, the multiplier of a constraint; forces= and loads= may, nothing else")
        rows = {c.multiplier for c in (*self.constraints, *self.unilateral)}
        if s not in rows.union(*(fr.multipliers for fr in self.frictions)):
            names = [c.name for c in (*self.constraints, *self.unilateral, *self.frictions)]
            raise ModelError(
                f"{where} contains {s}, but no constraint of the system is called '{s.label}'; it has:"
                f" {', '.join(names) or 'none'}"
            )

    def _check_symbol(self, s: Any, where: str, level: int) -> None:
        if s == t or isinstance(s, Parameter | Prescribed):
            return
        if not isinstance(s, Jet):
            hint = "time is ap.t" if str(s) == "t" else f"make it with ap.parameters('{s}') or ap.coordinates('{s}')"
            raise ModelError(f"{where} contains the unknown symbol '{s}'; {hint}")
        if s in self._jets and s.level <= level:
            return
        if s not in self._jets and type(s)(s.letter) not in (*self.positions, *self._speed_letters):
            kind = "speeds=" if isinstance(s, Speed) else "rates=" if isinstance(s, StateVariable) else "coordinates="
            raise ModelError(f"{where} contains {s}, but {s.letter} is missing from {kind}")
        if where == "potential":
            raise ModelError(
                f"potential contains the velocity {s}; a potential depends on t and coordinates only"
                " (a part linear in velocities goes into kinetic with the opposite sign, other forces into forces=)"
            )
        raise ModelError(f"{where} contains {s}; the highest derivative allowed there is of order {level}")

    @cached_property
    def _jets(self) -> frozenset[Jet]:
        return frozenset((*self.positions, *self.velocities, *self.accelerations))

    @cached_property
    def _speed_letters(self) -> frozenset[Jet]:
        return frozenset(type(v)(v.letter) for v in self.velocities)
