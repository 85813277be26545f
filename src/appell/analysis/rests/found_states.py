"""The result of a search for equilibria or steady motions: the states found, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from appell.analysis.requests import state_names, state_variables
from appell.delegates import delegate
from appell.model import System
from appell.motion.result_frame import Result

S = TypeVar("S")


class FoundStates(tuple[S, ...], Result, Generic[S]):
    """The states as a tuple, with `.ok`, `.message`, `.dataset` and `.plot()`. Each has `start` and `stability` or `stable`.

    A search proves nothing about states that it did not find; the message gives the number of starts.
    """

    system: System
    message: str
    ok: bool

    def __new__(cls, states: Iterable[S], system: System, kind: str, attempts: int) -> FoundStates[S]:
        self = super().__new__(cls, states)  # type: ignore[type-var]
        self.system, self.ok = system, len(self) > 0
        count = f"{len(self) or 'no'} {kind}{'' if len(self) == 1 else 's'}"
        self.message = f"{count} of '{system.name}' found in {attempts} attempts"
        return self

    def __reduce__(self) -> Any:
        return _restored, (tuple(self), self.system, self.message)

    @property
    def stability(self) -> tuple[str, ...]:
        """For each state: "stable", "unstable", or what is known instead."""
        return tuple(_stability(state) for state in self)

    def variables(self) -> Mapping[str, Any]:
        """Coordinates, velocities and stability over the dimension `state`."""
        names = state_names(self.system)
        starts: list[dict[str, float]] = [{str(s): float(x) for s, x in state.start.items()} for state in self]  # type: ignore[attr-defined]
        z = np.array([[start.get(name, 0.0) for name in names] for start in starts]).reshape(len(self), len(names))
        return {**state_variables(self.system, ("state",), z), "stability": ("state", np.array(self.stability, dtype=object))}

    def coords(self) -> Mapping[str, Any]:
        return {"state": np.arange(len(self))}

    def plot(self, *names: Any, ax: Any = None) -> Any:
        """Plots the states in the plane of two coordinates or velocities (by default the first two), stable ones filled;
        returns a matplotlib figure."""
        chosen = [str(name) for name in names] or [*state_names(self.system)[:2]]
        columns = [self.dataset[name.replace(".", "_")].values for name in chosen[:2]]
        return delegate("FoundStates.plot")(columns, chosen[:2], self.stability, ax)


def _stability(state: Any) -> str:
    """The state's own attribute; for a steady motion by its linearization."""
    stability = getattr(state, "stability", None)
    return stability if stability is not None else "stable" if state.stable else "unstable"


def _restored(states: tuple[Any, ...], system: System, message: str) -> FoundStates[Any]:
    result = FoundStates(states, system, "", 0)
    result.message = message
    return result


__all__ = ["FoundStates"]
