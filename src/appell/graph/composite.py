"""Functions made of several graphs, with a routine between them.

    inputs ──part──► … ──routine──► … ──part──► outputs

A graph is straight-line code; pivoting or iteration needs a routine in C or NumPy. A back end compiles the parts in its own
way; the routine connects them in C if the back end compiles C, and in Python otherwise.
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
"""A part as compiled by a back end: arrays in, outputs in order."""


class Composite(ABC):
    """A `Signature` whose computation is not a single graph."""

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
        """The function of one state, given its compiled parts: arrays in the inputs' shapes to the outputs."""

    @property
    def routine(self) -> str:
        """C code that `between` calls, the same for all functions of a kind; "" where the routine exists only in Python."""
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
