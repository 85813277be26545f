"""Names of the columns of a motion, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from appell.errors import ModelError
from appell.jets import t as time
from appell.loop.held_inputs import Readings
from appell.model.measured import letters_of
from appell.motion.reactions import undetermined
from appell.motion.record import Array, Record, unknown_name
from appell.reading import name_in

if TYPE_CHECKING:
    from appell.compiled.run import Run


class OfSystem(Record):
    """A motion whose system is available; names and symbols come from it."""

    run: Run
    q: Array
    v: Array
    pseudo: Mapping[str, Any] | None
    readings: Readings | None

    @property
    def system(self) -> Any:
        """The system that moved."""
        return self.run.system

    @property
    def parameters(self) -> Mapping[Any, float]:
        """Parameter → value, SI, without the inputs set by a control and without measured records."""
        inputs = () if self.readings is None else self.readings.inputs
        values = self.run.parameters.items()
        return {symbol: value for symbol, value in values if symbol not in inputs and not letters_of([symbol])}

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.system.name

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints that follow from the others; accelerations are unaffected, and Λ has least norm."""
        return tuple(self.run.policies.redundant)

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Names of constraints whose reactions are not unique at the start: the redundant ones and all from which they follow.
        `reaction` gives those of least norm; the others are what they would be without the redundant rows."""
        return undetermined(self.run, float(self.t[0]), self.q[0], self.v[0])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the columns of q, (nq,)."""
        return tuple(map(str, self.system.positions))

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the columns of v, (nv,)."""
        return tuple(map(str, self.system.velocities))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs set by a control, in the order of the velocities on which they act."""
        return tuple(map(str, self._drives))

    @cached_property
    def _drives(self) -> Mapping[Any, int | None]:
        """Input → the velocity on which it acts, None if there is none or several; in the order of the model."""
        inputs = () if self.readings is None else self.readings.inputs
        acts = {s: [i for i, Q in enumerate(self.system.forces) if s in Q.free_symbols] for s in inputs}
        order = sorted(inputs, key=lambda s: (acts[s] or [self.system.nv])[0])
        return {s: acts[s][0] if len(acts[s]) == 1 else None for s in order}

    @property
    def colour_numbers(self) -> Mapping[str, int]:
        """Name of a coordinate, velocity or input → number of its colour: a joint, its rate and its torque share one."""
        system = self.system
        numbers: dict[str, int] = {str(q): i for i, q in enumerate(system.positions)}
        number_of_rate: dict[Any, int] = {rate: i for i, rate in enumerate(system.rates.values())}
        numbers.update(
            {str(v): number_of_rate[v] if v in number_of_rate else system.nq + i for i, v in enumerate(system.velocities)}
        )
        driven = {str(s): numbers[str(system.velocities[i])] for s, i in self._drives.items() if i is not None}
        return {**numbers, **driven}

    @property
    def reaction_names(self) -> tuple[str, ...]:
        """Names of the columns of `multipliers`, (rows,)."""
        return tuple(c.name for c in self.system.constraints)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the unilateral constraints, as the user gave them."""
        return tuple(dict.fromkeys(face.source.name for face in self.system.unilateral))

    @cached_property
    def symbols(self) -> Mapping[Any, tuple[str, int]]:
        """Symbol → (array, column): coordinates, their rates, velocities and accelerations."""
        system = self.system
        table: dict[Any, tuple[str, int]] = {q: ("q", i) for i, q in enumerate(system.positions)}
        table.update({q.d: ("qd", i) for i, q in enumerate(system.positions)})
        table.update({v: ("v", i) for i, v in enumerate(system.velocities)})
        table.update({a: ("acceleration", i) for i, a in enumerate(system.accelerations)})
        return table

    def symbol(self, name: str) -> Any:
        """The symbol with this name: time, coordinate, velocity, acceleration, parameter; a pseudo-velocity's expression."""
        by_name = {"t": time, **{str(s): s for s in self.symbols}, **{str(p): p for p in self.run.parameters}}
        by_name.update({str(f): f for f in self.system.prescription})
        by_name.update(self.pseudo or {})
        if not isinstance(name, str) or name not in by_name:
            raise ModelError(unknown_name(name_in(name), self.name, by_name))
        return by_name[name]

    def is_friction(self, key: Any) -> bool:
        """Whether this is a friction, or the name of a friction and not of a symbol."""
        names = {fr.name for fr in self.system.frictions}
        if not isinstance(key, str):
            return hasattr(key, "slip") and getattr(key, "name", None) in names
        return key in names and key not in {"t", *map(str, self.symbols), *map(str, self.run.parameters), *(self.pseudo or ())}

    def is_face(self, key: Any) -> bool:
        """Whether this is a unilateral constraint, or the name of one."""
        system = self.system
        names = {name for face in system.unilateral for name in (face.name, face.source.name)}
        return key in names if isinstance(key, str) else hasattr(key, "restitution")
