"""Functions of several graphs with a routine between them.

    inputs ──part──► … ──routine──► … ──part──► outputs

A graph is straight-line code: what pivots or iterates is a routine in C or NumPy. A back end puts the parts wherever it
likes; the routine joins them in C, where the back end compiles C, and in Python elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.graph.fn import Fn, Port

Array = NDArray[np.float64]
Part = Callable[..., tuple[Array, ...]]
"""One of the parts where a back end has put it: arrays in, its outputs in order."""


class Composite(ABC):
    """A `Signature` whose computation is no single graph."""

    name: str

    @property
    @abstractmethod
    def inputs(self) -> tuple[Port, ...]: ...

    @property
    @abstractmethod
    def outputs(self) -> tuple[Port, ...]: ...

    @property
    @abstractmethod
    def parts(self) -> tuple[Fn, ...]:
        """The graphs in it."""

    @abstractmethod
    def over(self, *parts: Part) -> Callable[..., tuple[Any, ...]]:
        """The function of one state over its parts, wherever these run: arrays in the inputs' shapes to the outputs."""

    @property
    def routine(self) -> str:
        """C that `between` calls, the same text for all functions of a kind; "" where the routine is in Python alone."""
        return ""

    def between(self) -> str:
        """`static void NAME(inputs…, outputs…)` in C, which calls the parts by their names."""
        raise NotImplementedError(f"'{self.name}' is joined in Python")

    def __call__(self, *arrays: Any) -> dict[str, Array]:
        """The outputs by name at one state, by CasADi's evaluator and NumPy."""
        values = self.over(*map(in_order, self.parts))(*arrays)
        return {port.name: np.asarray(value, float) for port, value in zip(self.outputs, values, strict=True)}


def in_order(fn: Fn) -> Part:
    """`fn` by CasADi's evaluator, its outputs in order."""
    return lambda *arrays: tuple(fn(*arrays).values())
