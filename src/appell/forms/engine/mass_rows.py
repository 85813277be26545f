"""Equations with one acceleration each, written with their mass: M(q) u̇ + ½ Ṁ u = F.

With T = ½ M(q) u² + … in pseudo-velocities, d/dt ∂T/∂u and the terms of the reduction often reduce to this, as for a chain of
any number of trailers. It is shown if the expanded equation is long, and only after both have been compared at random states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Eq

from appell import tidy
from appell.errors import SingularConfiguration
from appell.forms.engine.derivation import partial, restricted, time_derivation
from appell.forms.engine.evaluation import Tape, arithmetic, magnitude
from appell.forms.engine.special_states import probe
from appell.forms.engine.system_terms import generalized_forces
from appell.jets import Speed

if TYPE_CHECKING:
    from appell.forms.base import Equations

LONG_ROW = 160
"""Length of a displayed equation, in characters, from which its mass is looked for."""
MASS_NAMES = ("M", "mu", "M_u", "M_row")
"""Names for masses; the first unused one is taken."""
MASS_STATES = 3
EQUAL_MASS_DIGITS = 25


def with_masses(equations: Equations, long: Sequence[int]) -> dict[int, tuple[Eq, Eq]]:
    """Index of an equation of motion → (M u̇ + ½ Ṁ u = F, M = …), for the long ones that have this form."""
    pseudo, system = equations.objects.get("pseudo"), equations.system
    if pseudo is None or not pseudo.affine or not pseudo.speeds or any(h != 0 for h in pseudo.h0):
        return {}
    T = tidy.with_wave_products(restricted(system.kinetic, pseudo.velocities))
    forces = [restricted(Q, pseudo.velocities) for Q in generalized_forces(system)]
    names = {str(s) for e in (*equations.derived, *equations.kinematics) for s in e.free_symbols}
    masses: dict[int, tuple[Eq, Eq]] = {}
    for k in long:
        E: Any = equations.derived[k].lhs - equations.derived[k].rhs
        accelerated = [i for i, a in enumerate(pseudo.accelerations) if partial(a)(E) != 0]
        name = next((n for n in MASS_NAMES if n not in names), None)
        if len(accelerated) != 1 or name is None:
            continue
        u, a = pseudo.speeds[accelerated[0]], pseudo.accelerations[accelerated[0]]
        M = partial(u)(partial(u)(T))
        if M.free_symbols & set(pseudo.speeds):
            continue
        F = sympy.Add(*(x * y for x, y in zip(pseudo.h[:, accelerated[0]], forces, strict=True)))
        mass_row = M * a + time_derivation(pseudo.rates)(M) * u / 2 - F
        if any(_vanishes(restricted(E, pseudo.velocities) - sign * mass_row) for sign in (1, -1)):
            mass = Speed(name)
            names.add(name)
            row = Eq(mass * a + mass.d * u / 2, F, evaluate=False)
            masses[k] = (row, Eq(mass, M, evaluate=False))  # type: ignore[assignment]
    return masses


def _vanishes(expr: Any) -> bool:
    """Whether an expression is zero at random states, to 25 digits of its terms."""
    symbols = sorted((e for e in tidy.parts(expr) if e.is_Symbol), key=str)
    tape, numbers, compared = Tape([expr, magnitude(expr)]), arithmetic(40), 0
    for k in range(4 * MASS_STATES):
        try:
            value, scale = tape({s: numbers.number(probe(s, i, k)) for i, s in enumerate(symbols)}, numbers)
        except SingularConfiguration:
            continue
        if abs(value) > 10.0**-EQUAL_MASS_DIGITS * scale:
            return False
        compared += 1
        if compared == MASS_STATES:
            return True
    return False
