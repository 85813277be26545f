"""States of first order, in addition to the mechanics.

    ṡ = g(t, q, v, s)        motor currents, integrators of controllers, Maxwell elements, temperatures, bristles

A state has a value and no velocity: it follows the coordinates in q, its rate those in q̇, and N has a row of zeros for it,
since no force and no constraint reaction acts on a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sympy import Expr

from appell.errors import FormNotApplicable, ModelError
from appell.jets import StateVariable, expression, jets_of
from appell.reading import name_in, table_of

if TYPE_CHECKING:
    from appell.model.vocabulary import Vocabulary


def read_states(given: Mapping[Any, Any] | None, moved: Mapping[Any, Expr]) -> dict[StateVariable, Expr]:
    """State → its rate, in the order given, in the velocities; moved: coordinate → its rate."""
    rates: dict[StateVariable, Expr] = {}
    velocities = {q.d: rate for q, rate in moved.items() if rate != q.d}
    for key, value in table_of(given, "rates=").items():
        state = StateVariable(key.letter) if isinstance(key, StateVariable) and key.order == 1 else key
        if not isinstance(state, StateVariable) or state.order:
            hint = "a coordinate moves by its velocity, or by kinematics=" if hasattr(key, "level") else "it is none"
            raise ModelError(f"rates= maps states made by ap.states to their rates; it names {name_in(key)}: {hint}")
        if state in rates:
            raise ModelError(f"rates= names the state {state} twice")
        rate: Any = expression(value, f"the rate of {state}")
        nested = [s for s in jets_of(rate) if isinstance(s, StateVariable) and s.order]
        if nested:
            raise ModelError(f"the rate of {state} contains {nested[0]}: write out what that is")
        rates[state] = rate.xreplace(velocities)
    return rates


def refuse_states(expr: Any, where: str) -> None:
    """Raises for states in the inertia."""
    states = [s for s in jets_of(expr) if isinstance(s, StateVariable)]
    if states:
        raise ModelError(
            f"{where} contains the state {states[0]}: first-order states can be in forces, potentials, constraints and walls,"
            " not in inertia; a mass that changes is a function of time (ap.prescribed)"
        )


def check_row(system: Vocabulary, f: Expr, where: str, *, order: int, given: Any = None) -> None:
    """Checks a row or face with states: one written as a condition on positions must be one.

    ḟ contains the rate of a state in f(t, q, s). If the rate contains velocities, f = 0 becomes a condition on velocities with
    another gradient, and a wall could be hit by a current.
    """
    dotted = [s for s in jets_of(f if given is None else given) if isinstance(s, StateVariable) and s.order]
    if dotted:
        raise ModelError(
            f"{where} contains {dotted[0]}, the rate of a state; write out what it is: {system.rates[dotted[0].value]}"
        )
    if order:
        return
    velocities = set(system.velocities)
    for s in jets_of(f):
        if isinstance(s, StateVariable) and (moved := velocities & system.rates[s].free_symbols):
            raise ModelError(
                f"{where} contains the state {s}, whose rate contains {min(moved, key=str)}: that is a condition on velocities."
                " Write it as one, of first order, or use a state whose rate has no velocities"
            )


def refuse_first_order(system: Any, what: str) -> None:
    """Raises `FormNotApplicable` for a system with states of first order, on behalf of code that does not support them."""
    states = system.states
    if states:
        raise FormNotApplicable(
            f"{what} does not take states of first order ({', '.join(map(str, states))}); simulate, equilibrium, linearize and"
            " periodic_orbit do"
        )


__all__ = ["check_row", "read_states", "refuse_first_order", "refuse_states"]
