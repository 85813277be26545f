"""The same system with time running backwards: τ = −t, w = dq/dτ = −q̇.

    T'(τ, q, w) = T(−τ, q, −w),    Q'(τ, q, w) = Q(−τ, q, −w),    f' = f(−τ, q, −w, a),    g' = g(−τ, q)

Then p' = ∂T'/∂w = −p and dp'/dτ = dp/dt: Lagrange's equations of T', Q' are those of T, Q. Accelerations are the same. An
elastic impact, ġ⁺ = −ġ⁻, is one in both directions.
"""

from __future__ import annotations

from typing import Any

from appell.errors import ConstraintError
from appell.jets import t
from appell.model.constraint import Constraint
from appell.model.system import System
from appell.model.unilateral import Unilateral
from appell.reading import symbolic
from appell.remember import remembered


@remembered
def time_reversed(system: System) -> System:
    """The system in τ = −t with the negative velocities, its faces and parameters in the same order."""
    if type(system) is not System:
        raise ConstraintError("a tree with walls runs forward in time; tree.equations() or a plain System runs backwards too")
    table: dict[Any, Any] = {v: -v for v in system.velocities} | {t: -t}
    back: Any = lambda e: symbolic(e, "a term").xreplace(table)
    speeds = system._given.get("kinematics") or {}
    rows = [Constraint(back(f), c.name, reaction=None if W is None else tuple(map(back, W)))
            for c, f, W in zip(system.constraints, system.residuals, system.reactions, strict=True)]  # fmt: skip
    faces = [Unilateral(back(face.function), face.name, face.restitution) for face in system.unilateral]
    return system.replace(
        kinetic=back(system.kinetic),
        potential=back(system.potential),
        forces={v: back(Q) for v, Q in zip(system.velocities, system.forces, strict=True)},
        bodies=(),
        loads=(),
        kinematics={q: -back(e) for q, e in speeds.items()} or None,
        rates={s: -back(system.rates[s]) for s in system.states} or None,
        constraints=[*rows, *faces],
        name=f"{system.name}, backwards in time",
    )


__all__ = ["time_reversed"]
