"""Systems that have values in a small part of the states, profiles with roots, narrow mechanisms: judged with a start."""

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

PARTIAL = (sympy.log, sympy.asin, sympy.acos, sympy.acosh, sympy.atanh)
"""Functions that are real on a part of the line."""


def may_have_values(system: System) -> bool:
    """Whether a root or a logarithm of coordinates stands in the system that is not without a value everywhere."""
    parts = [*system._expressions(), *system.residuals, *system.rates.values(), *(face.function for face in system.unilateral)]
    arguments = [node.args[0] for part in parts for node in nodes_of(part, *PARTIAL)]
    powers = [node for part in parts for node in nodes_of(part, sympy.Pow)]
    roots = [node.base for node in powers if not (node.exp.is_Rational and node.exp.q % 2)]
    found = [e for e in (*arguments, *roots) if jets_of(e)]
    return bool(found) and not any(e.is_negative for e in roots)


def placed(system: S, start: Any, parameters: Any = None) -> S:
    """The system judged near a start with these parameters, where it could not be judged at random states; else itself."""
    if not getattr(system, "unplaced", ""):
        return system
    whole: Any = system
    sample = _numbers(whole, start, parameters)
    return system if sample is None else whole.replace(sample=sample)


def state_near(system: Any, start: Any) -> tuple[float, Array, Array] | None:
    """(t, q, v) as a start says, as far as it can be read; None where there is none, or none that can be read."""
    values = _numbers(system, start) if isinstance(start, Mapping) else None
    if values is None:
        return None
    q, v = (np.array([values.get(s, s.start) for s in symbols]) for symbols in (system.positions, system.velocities))
    return 0.0, q, v


def _numbers(system: Any, *tables: Any) -> dict[Any, float] | None:
    """Symbol → value of states and parameters in tables by symbol or name; None where a value is no number: those who read
    the start say so."""
    known = {str(s): s for s in (*system.positions, *system.velocities, *system.parameters)}
    found: dict[Any, float] = {}
    for given in tables:
        for key, value in given.items() if isinstance(given, Mapping) else ():
            if text_of(key) not in known:
                continue
            try:
                found[known[text_of(key)]] = float(np.asarray(value, dtype=float).ravel()[0])
            except Exception:  # a value from outside may do anything when it is made a number
                return None
    return found


def require_placed(system: Any) -> None:
    """Refuse a system that nobody has told where it has values."""
    if system.unplaced:
        raise ModelError(system.unplaced)
