"""Controls whose derivatives are needed by a row, a wall or a bound on rates, as states of first order.

A control δ in a velocity row f(t, q, v, δ) = 0 enters the accelerations by its rate, one in a position row by its second
derivative. Such a control becomes a state, δ̇ = w (or δ̇ = ω, ω̇ = w), and the plan chooses w: δ is continuous, its rate is
known, and the system can be simulated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appell.errors import ModelError
from appell.jets import Parameter, StateVariable
from appell.model import System
from appell.model.prescription import substitute
from appell.tree.tree_system import TreeSystem


@dataclass(frozen=True, eq=False)
class SteeredSystem:
    """A system with its controls: `inputs` are the parameters that a plan chooses, one for each control.

    values: control → the symbol that has its value: itself, or a state. rates: control → the symbol of its rate, where there is
    one. states: those that controls and their rates have become.
    """

    system: System
    controls: tuple[Any, ...]
    inputs: tuple[Any, ...]
    values: Mapping[Any, Any]
    rates: Mapping[Any, Any]
    states: frozenset[Any] = frozenset()


def steered(system: System, controls: Sequence[Any], rated: Sequence[Any] = ()) -> SteeredSystem:
    """The system with those controls as states whose derivatives are needed, or that are named in `rated`."""
    inertia = set() if isinstance(system, TreeSystem) else system.kinetic.free_symbols
    values, rates, inputs, states = {}, {}, [], {}
    used = names_in(system)
    for c in controls:
        if c in inertia:
            raise ModelError(
                f"the control {c} stands in the kinetic energy: controls stand in forces, potentials, constraints and walls; to"
                f" drive a coordinate x, write the constraint x - {c}"
            )
        order = max(_derivatives(system, c), int(c in rated))
        if not order:
            values[c] = c
            inputs.append(c)
            continue
        names = [unused(f"{c}{'_rate' * k}", used) for k in range(1, order + 1)]
        used |= set(names)
        letters = [StateVariable(name) for name in (str(c), *names[:-1])]
        inputs.append(Parameter(names[-1], real=True))
        states.update(zip(letters, [*letters[1:], inputs[-1]], strict=True))
        values[c], rates[c] = letters[0], [*letters[1:], inputs[-1]][0]
    if states:
        system = _with_states(system, {c: s for c, s in values.items() if c is not s}, states)
    return SteeredSystem(system, tuple(controls), tuple(inputs), values, rates, frozenset(states))


def names_in(system: System) -> set[str]:
    """The names of all states, parameters and rows of a system."""
    symbols = (*system.positions, *system.velocities, *system.accelerations, *system.parameters, *system.prescription)
    rows = (*system.constraints, *system.unilateral, *system.frictions)
    return {*map(str, symbols), *(row.name for row in rows)}


def unused(name: str, taken: Collection[str]) -> str:
    """The name, with as many underscores as it needs to differ from those that are taken."""
    while name in taken:
        name = f"{name}_"
    return name


def _derivatives(system: System, c: Any) -> int:
    """The number of derivatives of a control needed in the equations."""
    rows = [2 - row.order for row, f in zip(system.constraints, system.residuals, strict=True) if c in f.free_symbols]
    walls = [2 for face in system.unilateral if c in face.function.free_symbols]
    return max([*rows, *walls], default=0)


def _with_states(system: System, values: Mapping[Any, Any], states: Mapping[Any, Any]) -> System:
    definition = {key: substitute(value, values) for key, value in system._given.items() if key != "prescription"}
    definition["rates"] = {**(definition.get("rates") or {}), **states}
    return system.replace(**definition, prescription=dict(system.prescription))


__all__ = ["SteeredSystem", "names_in", "steered", "unused"]
