"""The table of methods that step by themselves: embedded pairs and series, one record each, by name.

A record answers what a time loop asks: how it is fitted to a flow, which functions and which text the loop in C needs, which
steps the loop in Python takes, who steps while a contact holds. One call, `register`, adds another.
"""

from __future__ import annotations

from typing import TypeVar

from appell.errors import ModelError
from appell.loop.methods.gauss_legendre import CONSERVING, GaussLegendre
from appell.loop.methods.radau import IMPLICIT, Radau
from appell.loop.methods.stiff import STIFF
from appell.loop.methods.tableaux import TABLEAUX, Tableau
from appell.loop.methods.taylor import SERIES, Taylor
from appell.reading import shown

Stepping = TypeVar("Stepping", Tableau, Taylor)


def methods() -> tuple[str, ...]:
    """Names of all methods, those that were registered too."""
    return ("auto", *TABLEAUX, *SERIES, *IMPLICIT, *CONSERVING, *STIFF)


def stepping_method(name: str) -> Tableau | Taylor | Radau | GaussLegendre:
    """The record of a name: a pair, a series, an implicit or a conserving method."""
    return next(table[name] for table in (SERIES, IMPLICIT, CONSERVING, TABLEAUX) if name in table)


def register(method: Stepping) -> Stepping:
    """A pair or a series becomes a method of `simulate`, on every back end, under its name; returns it."""
    if not isinstance(method, Tableau | Taylor):
        raise ModelError(f"register takes an embedded_pair(…) or a Taylor(…), not {shown(method)}")
    table = TABLEAUX if isinstance(method, Tableau) else SERIES
    if method.name in methods() and table.get(method.name) is not method:
        raise ModelError(f"there is a method '{method.name}' already; give yours another name")
    table[method.name] = method  # pyright: ignore[reportArgumentType]
    return method
