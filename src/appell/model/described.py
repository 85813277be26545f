"""Objects accepted in place of a `System`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from appell.errors import ModelError
from appell.model.system import System


class Described(ABC):
    """Something that can be converted to a `System`, such as a tree of bodies."""

    @abstractmethod
    def system(self, *args: Any, **options: Any) -> Any:
        """The system it describes."""


def system_of(given: Any, caller: str, *, also: str = "") -> System:
    """The given `System`, or that of a tree; anything else raises in the caller's name.

    also: what else the caller accepts, for its message.
    """
    system = given.system() if isinstance(given, Described) else given
    if not isinstance(system, System):
        hint = "; give its .system" if isinstance(getattr(given, "system", None), System) else ""
        raise ModelError(f"{caller} takes a System or a Tree{also}, not {type(given).__name__}{hint}")
    return system


__all__ = ["Described", "system_of"]
