"""The door for models written with `sympy.physics.mechanics`, which is loaded only when somebody comes through it."""

from __future__ import annotations

from typing import Any

from appell.model.system import System


def from_sympy(model: Any, *, name: str = "system") -> System:
    """A `System` from a `LagrangesMethod`, a `KanesMethod` (after `kanes_equations`) or a `sympy.physics.mechanics.System`.

    Functions of time x(t) become coordinates x, generalized speeds u(t) become speeds u, other functions of time prescribed
    ones, `ap.prescribed`, and symbols real parameters of the same name.
    """
    from appell.model.sympy_mechanics import convert

    return convert(model, name)
