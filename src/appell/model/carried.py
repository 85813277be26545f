"""Variable mass (Meshchersky 1897): the data that a model must give, and the models that are refused.

    (m ṙ)˙ = F + ṁ u        m r̈ = F + ṁ (u − ṙ)        (J ω)˙ = M + J̇ w        m(t), J(t); u, w carried by the mass

m(t) by itself does not determine the motion: with u = ṙ there is no thrust, with u = 0 the mass takes its momentum from the
body, and a rocket has u = ṙ − c. Nor does ½ m(t) ṙ·ṙ say which is meant, and forms that start from T and from r̈ would assume
different ones. With a mass that depends on position, T and S say even less.
"""

from __future__ import annotations

from typing import Any

import sympy

from appell.errors import ModelError
from appell.jets import Prescribed, jets_of, t


def check_carried(quantity: Any, carried: Any, what: str, argument: str) -> None:
    """Raises for m(q), for m(t) without the velocity of the mass gained or lost, and for such a velocity with constant mass."""
    entries = list(quantity.flat()) if isinstance(quantity, sympy.MatrixBase) else [quantity]
    jets = sorted({s for e in entries for s in jets_of(e) if not isinstance(s, Prescribed)}, key=str)
    if jets:
        raise ModelError(
            f"{what} contains {jets[0]}: a body's mass and inertia are numbers, parameters or functions of time. Write the"
            " energy of what is not a body in kinetic=, and the momentum that mass brings or takes in forces="
        )
    moves = any(t in e.free_symbols or any(isinstance(s, Prescribed) for s in e.free_symbols) for e in entries)
    if moves and carried is None:
        raise ModelError(f"{what} depends on time, which says no motion yet: give {argument}=, {_MEANING[argument]}")
    if carried is not None and not moves:
        raise ModelError(f"{argument}= is the velocity of mass that comes or goes, but {what} does not depend on time")


_MEANING = {
    "carried": "the velocity of the mass that comes or goes, on inertial axes (for a rocket its own velocity less that of the"
    " exhaust; 0 for sand that falls on a belt)",
    "carried_omega": "the angular velocity of the mass that comes or goes, on body axes (body.omega() where it goes with the"
    " body's own rotation)",
}
