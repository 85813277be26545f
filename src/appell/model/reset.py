"""Resets: events at which the state is mapped, such as legs that swap roles, a clutch that engages, a ball that is thrown back.

    guard(t, q, v) falls through zero:        (q, v)⁺ = map(t, q⁻, v⁻)

Between two resets the equations of motion are those of the system without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Expr

from appell.errors import ModelError
from appell.jets import Jet, expression, t
from appell.reading import name_in, shown
from appell.spelling import checked_keywords, did_you_mean

if TYPE_CHECKING:
    from appell.model.vocabulary import Vocabulary


@checked_keywords()
@dataclass(frozen=True, init=False)
class Reset:
    """A map of the state where `guard` falls through zero; used in `constraints=`.

        guard(t*, q⁻, v⁻) = 0, from above        q⁺ = Q(t*, q⁻, v⁻),  v⁺ = V(t*, q⁻, v⁻)

    The reset happens where the guard changes from positive to negative, along the motion or by the map of another reset. A
    guard that is zero at the start, or after its own map, and then falls does not trigger, because it was not positive.
    Guards that fall at one instant all trigger, each on the state that the one before it leaves; rounding may decide which is
    the first.
    Constraints must hold after the map. The work of a reset is H⁺ − H⁻, and is part of the energy balance.

    Parameters
    ----------
    guard: expression of t, coordinates, velocities, states and parameters; SI. For a guard that rises through zero give −guard.
    map: coordinate, velocity or state, or its name → its value after the event, an expression of t and of the values before
        it. Variables not named keep their values.
    name: used by `motion.resets`, errors and plots.
    """

    guard: Expr
    map: Mapping[Any, Expr] = field(hash=False)
    name: str

    def __init__(self, guard: Any, map: Mapping[Any, Any], name: str | None = None):
        name = "reset" if name is None else str(name)
        where = f"the guard of reset '{name}'"
        if getattr(guard, "is_Relational", False) or getattr(guard, "is_Boolean", False) or isinstance(guard, bool):
            raise ModelError(f"{where} is an expression that falls through zero, as y - 1, not {shown(guard)}")
        if not isinstance(map, Mapping) or not map:
            expected = "maps states to their values after the event, {x.d: -x.d}"
            raise ModelError(f"map= of reset '{name}' {expected}, not {shown(map)}")
        values = {key: expression(value, f"reset '{name}': the value of {name_in(key)}") for key, value in map.items()}
        set_ = object.__setattr__
        set_(self, "guard", expression(guard, where))
        set_(self, "map", MappingProxyType(values))
        set_(self, "name", name)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The guard and the values after the event."""
        return (self.guard, *self.map.values())

    def __reduce__(self):
        return Reset, (self.guard, dict(self.map), self.name)

    def __str__(self) -> str:
        values = ", ".join(f"{name_in(key)} → {value}" for key, value in self.map.items())
        return f"{self.name}: {self.guard} falls through 0: {values}"


def read_resets(system: Vocabulary, given: Iterable[Reset], taken: Iterable[str]) -> tuple[Reset, ...]:
    """Resets in the velocities of a system, values by symbol; taken: names of its constraints."""
    names = set(taken)
    resets = []
    for reset in given:
        if reset.name in names:
            raise ModelError(f"two constraints are called '{reset.name}'; give them different names")
        names.add(reset.name)
        resets.append(_read(system, reset))
    return tuple(resets)


def _read(system: Vocabulary, reset: Reset) -> Reset:
    names = {str(s): s for s in (*system.positions, *system.velocities)}
    where = f"reset '{reset.name}'"
    guard = system._expression(reset.guard, f"the guard of {where}", level=1)
    if not guard.free_symbols & {t, *names.values()} and not any(isinstance(s, Jet) for s in guard.free_symbols):
        raise ModelError(f"the guard of {where} is {shown(guard)}, which does not change along a motion: it never falls")
    values: dict[Any, Expr] = {}
    for key, value in reset.map.items():
        name = name_in(key)
        if name not in names:
            rates = [str(q) for q in system.coordinates if name == str(q.d)]
            hint = f": the rate of {rates[0]} follows from the speeds, name those" if rates else did_you_mean(name, list(names))
            states = ", ".join(names)
            raise ModelError(f"{where} maps {name}, which is not a state of {system.name}; its states are {states}{hint}")
        if names[name] in values:
            raise ModelError(f"{where} maps {name} twice")
        values[names[name]] = system._expression(value, f"{where}, the value of {name}", level=1)
    return Reset(guard, values, reset.name)


def refuse_resets(system: Any, caller: str, remedy: str = "") -> None:
    """Raises `ModelError` for a system with resets, on behalf of a caller that does not support them."""
    resets = getattr(getattr(system, "system", system), "resets", ())
    if not isinstance(resets, tuple) or not resets:
        return
    raise ModelError(f"{caller} does not follow resets, and the system has '{resets[0].name}'{remedy and '; ' + remedy}")


__all__ = ["Reset", "read_resets", "refuse_resets"]
