"""Units of the symbols of a system, as far as the model determines them.

A coordinate that occurs only inside sines and cosines is an angle; one that is added to a component of the position of a body
is a length. Joints of a tree know their units: velocities are rotations (rad/s) or translations (m/s). All others are "SI".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Expr

from appell.jets import Jet, QuaternionComponent, nodes_of
from appell.model.system import System
from appell.remember import remembered

TURNING = (sympy.sin, sympy.cos, sympy.tan)
PER_TIME = ("", "/s", "/s²")


@remembered
def base_units(system: System) -> dict[str, str]:
    """Symbol of a coordinate or speed → "rad", "m", "1", "rad/s", "m/s"; only those that are known."""
    return dict(_of_expressions(system) if system.joint_units is None else system.joint_units)


def unit_of(system: System, symbol: Any) -> str:
    """Unit of a coordinate, a velocity, an acceleration or a speed; "SI" where the model does not determine it."""
    if not isinstance(symbol, Jet):
        return "SI"
    base = base_units(system).get(symbol.letter)
    if base is None or symbol.order > 2:
        return "SI"
    if base.endswith("/s"):  # of a speed
        return base if symbol.order == 0 else f"{base}²" if symbol.order == 1 else "SI"
    return ("1", "1/s", "1/s²")[symbol.order] if base == "1" else base + PER_TIME[symbol.order]


def _of_expressions(system: System) -> Iterator[tuple[str, str]]:
    exprs: list[Expr] = [system.kinetic, system.potential, *system.residuals, *(face.function for face in system.unilateral)]
    exprs += [x for body in system.bodies for x in body.position.flat()]
    turning = set().union(*(nodes_of(e, *TURNING) for e in exprs)) if exprs else set()
    hidden = {e: sympy.Dummy() for e in turning}
    outside = set().union(*(e.xreplace(hidden).free_symbols for e in exprs)) if exprs else set()
    inside = set().union(*(e.free_symbols for e in turning)) if turning else set()
    sums = [sympy.Add.make_args(x) for body in system.bodies for x in body.position.flat()]
    lengths = {term for terms in sums for term in terms}
    for q in system.coordinates:
        if isinstance(q, QuaternionComponent):
            yield q.letter, "1"
        elif q in inside and q not in outside:
            yield q.letter, "rad"
        elif q in lengths:
            yield q.letter, "m"


__all__ = ["unit_of"]
