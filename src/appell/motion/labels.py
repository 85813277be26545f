"""A scalar of a motion with its name, LaTeX, unit and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError
from appell.jets import Jet, Prescribed, expression
from appell.jets import t as time
from appell.letters.plain_latex import latex
from appell.model.dimension_check import units_of_multipliers
from appell.model.units import Dimensions, UnitUnknown, derived, dimensions_of, unit_text
from appell.motion.record import QUANTITIES, ReactionName, Series, reaction_latex
from appell.reading import shown, text_of
from appell.tree.letter_units import unit_of

if TYPE_CHECKING:
    from appell.motion.motion import Motion


def labelled(motion: Motion, key: Any) -> Series:
    """See `Record.series`. If a name is shared, a symbol takes precedence over a constraint, and both over a quantity."""
    if not isinstance(key, str) and not hasattr(key, "name") and not hasattr(key, "free_symbols"):
        raise ModelError(f"a motion is read by symbols, names and constraints, not by {shown(key)}")
    names = {*map(str, motion.symbols), *(motion.pseudo or ()), *motion.input_names}
    if isinstance(key, ReactionName):
        return _named_reaction(motion, key)
    if isinstance(key, str) and key in QUANTITIES and key not in names:
        return Series(key, *QUANTITIES[key], getattr(motion, key))
    if motion.is_friction(key):
        return _friction(motion, key)
    if motion.is_face(key) and text_of(key) not in names:
        name = str(getattr(key, "name", key))
        return _reaction(motion, key, name, len(motion.reaction_names) + min(motion.system.faces(key)))
    if key in motion.reaction_names and key not in names if isinstance(key, str) else hasattr(key, "residual"):
        row = motion.system.constraint(key)
        return _reaction(motion, key, motion.reaction_names[row], row)
    symbol = motion.symbol(key) if isinstance(key, str) else key
    label = latex(key) if isinstance(key, str) and key in (motion.pseudo or {}) else latex(symbol)
    unit = "s" if symbol == time else _unit(motion, symbol)
    return Series(text_of(key), label, unit, _meaning(motion, key, symbol), motion[key])


def _named_reaction(motion: Motion, key: ReactionName) -> Series:
    """The reaction of the constraint, wall or friction with this name, whatever else has the same name."""
    name = str(key)
    if name in [fr.name for fr in motion.system.frictions]:
        return _friction(motion, name)
    if motion.is_face(name):
        return _reaction(motion, name, name, len(motion.reaction_names) + min(motion.system.faces(name)))
    return _reaction(motion, name, name, motion.system.constraint(name))


def _reaction(motion: Motion, key: Any, name: str, row: int) -> Series:
    units = units_of_multipliers(motion.system, motion.units) if motion.units else {}
    unit = _text(units[name]) if name in units else "SI"
    return Series(name, reaction_latex(name, row), unit, f"reaction Λ of {name}", motion.reaction(key))


def _unit(motion: Motion, symbol: Any) -> str:
    """The unit of a symbol or expression: from the units of the motion, otherwise from the model."""
    units = motion.units
    usual = unit_of(motion.system, symbol)
    if not units:
        return usual
    try:
        dimensions = dimensions_of(expression(symbol, "a series"), lambda s: derived(s, units), "a series")
    except (UnitUnknown, ModelError):
        return usual
    return usual if "rad" in usual or usual.startswith("1") else _text(dimensions)


def _text(dimensions: Dimensions) -> str:
    """A unit as it is written beside a curve."""
    return unit_text(dimensions) if dimensions else "1"


def _friction(motion: Motion, key: Any) -> Series:
    """The force of a friction; its magnitude if the slip is two-dimensional."""
    name, force = str(getattr(key, "name", key)), motion.reaction(key)
    size = force if force.ndim == 1 else np.linalg.norm(force, axis=1)
    quantity = "force" if force.ndim == 1 else "size of the force"
    row = len(motion.reaction_names) + len(motion.contact_names) + motion.system.friction(key)
    return Series(name, reaction_latex(name, row), "N", f"{quantity} of friction {name}", size)


def _meaning(motion: Motion, key: Any, symbol: Any) -> str:
    if isinstance(symbol, Prescribed):
        return f"prescribed {symbol}"
    if isinstance(symbol, Jet):
        return f"{('coordinate', 'velocity', 'acceleration')[min(symbol.level, 2)]} {symbol}"
    if str(symbol) in motion.input_names:
        return f"input {symbol}"
    return f"pseudo-velocity {key}" if isinstance(key, str) else text_of(key)


__all__ = ["labelled"]
