"""Systems that have values in a small part of the states, profiles with roots, narrow mechanisms: judged with a start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy

from appell.errors import ModelError
from appell.jets import jets_of, nodes_of
from appell.reading import text_of

if TYPE_CHECKING:
    from appell.model.system import System

S = TypeVar("S")

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
    known = {str(s): s for s in (*whole.positions, *whole.velocities, *whole.parameters)}
    sample: dict[Any, float] = {}
    for given in (start, parameters):
        for key, value in (given or {}).items() if isinstance(given, Mapping) or given is None else ():
            if text_of(key) not in known:
                continue
            try:
                sample[known[text_of(key)]] = float(np.asarray(value, dtype=float).ravel()[0])
            except (TypeError, ValueError, IndexError):
                return system  # said by those who read the start
    return whole.replace(sample=sample)


def require_placed(system: Any) -> None:
    """Refuse a system that nobody has told where it has values."""
    if system.unplaced:
        raise ModelError(system.unplaced)
