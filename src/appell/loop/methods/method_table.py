"""The table of one-step methods by name, one record each.

A record tells the time loops how the method is fitted to a flow, which functions and source the C loop needs, which steps the
Python loop takes, and which method steps while a contact holds. `register` adds another one.
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
    """Names of all methods, including registered ones."""
    return ("auto", *TABLEAUX, *SERIES, *IMPLICIT, *CONSERVING, *STIFF)


def stepping_method(name: str) -> Tableau | Taylor | Radau | GaussLegendre:
    """The method of this name: a pair, a Taylor method, an implicit or a conserving method."""
    return next(table[name] for table in (SERIES, IMPLICIT, CONSERVING, TABLEAUX) if name in table)


def register(method: Stepping) -> Stepping:
    """Makes a pair or a Taylor method available to `simulate` under its name, on every back end; returns it."""
    if not isinstance(method, Tableau | Taylor):
        raise ModelError(f"register takes an embedded_pair(…) or a Taylor(…), not {shown(method)}")
    table = TABLEAUX if isinstance(method, Tableau) else SERIES
    if method.name in methods() and table.get(method.name) is not method:
        raise ModelError(f"there is a method '{method.name}' already; give yours another name")
    table[method.name] = method  # pyright: ignore[reportArgumentType]
    return method
