"""Systems that are defined only in a small part of the state space (profiles with roots, narrow mechanisms): checked near a
start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.jets import jets_of, nodes_of
from appell.reading import text_of

if TYPE_CHECKING:
    from appell.model.system import System

S = TypeVar("S")
Array = NDArray[np.float64]

PARTLY_REAL = (sympy.log, sympy.asin, sympy.acos, sympy.acosh, sympy.atanh)
"""Functions that are real only on a part of the real line."""


def may_have_values(system: System) -> bool:
    """Whether the system contains a root or logarithm of coordinates that is defined somewhere."""
    terms = [*system._expressions(), *system.residuals, *system.rates.values(), *(face.function for face in system.unilateral)]
    arguments = [node.args[0] for e in terms for node in nodes_of(e, *PARTLY_REAL)]
    powers = [node for e in terms for node in nodes_of(e, sympy.Pow)]
    roots = [node.base for node in powers if not (node.exp.is_Rational and node.exp.q % 2)]
    partial_domains = [e for e in (*arguments, *roots) if jets_of(e)]
    return bool(partial_domains) and not any(e.is_negative for e in roots)


def placed(system: S, start: Any, parameters: Any = None) -> S:
    """The system checked near a start with these parameters, if it could not be checked at random states; else unchanged."""
    if not getattr(system, "unplaced", ""):
        return system
    unplaced: Any = system
    sample = _values_by_symbol(unplaced, start, parameters)
    return system if sample is None else unplaced.replace(sample=sample)


def state_near(system: Any, start: Any) -> tuple[float, Array, Array] | None:
    """(t, q, v) from a start; None if there is none, or it cannot be read."""
    values = _values_by_symbol(system, start) if isinstance(start, Mapping) else None
    if values is None:
        return None
    q, v = (np.array([values.get(s, s.start) for s in symbols]) for symbols in (system.positions, system.velocities))
    return 0.0, q, v


def _values_by_symbol(system: Any, *tables: Any) -> dict[Any, float] | None:
    """Symbol → value of states and parameters in tables by symbol or name; None if a value is not a number, which is reported
    where the start is read."""
    symbols = {str(s): s for s in (*system.positions, *system.velocities, *system.parameters)}
    numbers: dict[Any, float] = {}
    for table in tables:
        for key, value in table.items() if isinstance(table, Mapping) else ():
            if text_of(key) not in symbols:
                continue
            try:
                numbers[symbols[text_of(key)]] = float(np.asarray(value, dtype=float).ravel()[0])
            except Exception:  # conversion of a foreign value may raise anything
                return None
    return numbers


def require_placed(system: Any) -> None:
    """Raises for a system that is not defined at random states and has no start to be checked at."""
    if system.unplaced:
        raise ModelError(system.unplaced)
