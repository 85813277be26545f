"""Names of the symbols that a form adds, Λ_blade, p_θ, π_x: none looks like a symbol of the system.

`x1` and `x_1` are different symbols, and both are written x₁. A page on which two quantities look the same is wrong
even if its equations are right, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from appell.errors import ModelError
from appell.jets import t
from appell.letters import letter
from appell.model import System
from appell.remember import remembered
from appell.typeset import text

if TYPE_CHECKING:
    from appell.forms.base import Equations


@remembered
def _letters(system: System) -> Mapping[str, Any]:
    """The written form of each symbol of a system → the symbol; the first of those that are written alike."""
    symbols: dict[str, Any] = {}
    for s in _symbols(system):
        symbols.setdefault(letter(s), s)
    return symbols


def _symbols(system: System) -> tuple[Any, ...]:
    stated = (*system.positions, *system.velocities, *system.accelerations, *system.parameters, *system.states)
    return (*stated, *system.prescribed, t)


def with_stem(system: System, stem: str, names: Iterable[str]) -> list[str]:
    """stem_name for each name; with another stem, p1, p2, …, where the system has one of these symbols."""
    names = list(names)
    candidates = ([f"{stem}{k or ''}_{name}" for name in names] for k in count())
    return next(candidate for candidate in candidates if _letters(system).keys().isdisjoint(map(text, candidate)))


def row_labels(system: System, labels: Sequence[str]) -> Sequence[str]:
    """Labels of multipliers; the numbers of the rows where Λ with one of the labels is a symbol of the system."""
    numbered = ([f"{'row' * k}{i + 1}" for i in range(len(labels))] for k in count())
    return next(choice for choice in chain([labels], numbered) if _letters(system).keys().isdisjoint(map(_multiplier, choice)))


def _multiplier(label: str) -> str:
    """The written form of Λ with a label, as that of a parameter Λ_1: the two would look the same."""
    return text(f"Lambda_{label}")


@remembered
def require_distinct(equations: Equations) -> None:
    """Refuses to display two symbols that are written alike."""
    symbols = dict(_letters(equations.system))
    for s in (*_symbols(equations.system), *equations.unknowns, *equations.definitions):
        if (namesake := symbols.setdefault(letter(s), s)) != s:
            raise ModelError(f"'{namesake}' and '{s}' are different symbols, and both are written {letter(s)}; rename one")
