"""Inputs held between the samples of a control: its outputs, and the equations of motion under them.

    p_u(t) = u_k        t_k <= t < t_k+1                                                        (zero-order hold)

Of several samples of a run at one time t_k, all but the last precede the reading; times that are asked for follow it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call
from appell.compiled.run import Run
from appell.errors import ModelError
from appell.reading import text_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Readings:
    """The readings of a control: the states it saw and the inputs it returned.

    Parameters
    ----------
    inputs: the parameters that the control sets, as symbols.
    t: (n,) times of the readings, s.
    z: (n, nz) integrated states at these times.
    values: (n, inputs) returned values, SI, each held until the next reading.
    p: (parameters,) values of all parameters of the system at the first reading.
    columns: indices of the inputs among the parameters.
    work: (n,) Σ H(t_k, q, v; u_k) − H(t_k, q, v; u_k−1), J: work done so far by jumps of inputs inside a potential.
    """

    inputs: tuple[Any, ...]
    t: Array
    z: Array
    values: Array
    p: Array
    columns: tuple[int, ...]
    work: Array

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key: Any) -> Array:
        """Values of an input, by symbol or name, (n,), SI."""
        names = [str(s) for s in self.inputs]
        if text_of(key) not in names:
            raise ModelError(f"the control gives no '{text_of(key)}'; it gives {', '.join(names) or 'nothing'}")
        return self.values[:, names.index(text_of(key))].copy()

    def __repr__(self) -> str:
        return f"<{len(self)} readings of {', '.join(map(str, self.inputs))}>"

    def parameters_at(self, t: Array, precedes: NDArray[np.bool_] | None = None) -> Array:
        """All parameters at the samples of a motion, (k, parameters)."""
        return self.parameters_of(last_change(self.t, t, precedes))

    def parameters_of(self, which: Any) -> Array:
        """All parameters at the readings numbered `which`, (k, parameters)."""
        values = self.values[which]
        p = np.tile(self.p, (len(values), 1))
        p[:, list(self.columns)] = values
        return p


@dataclass(frozen=True, eq=False)
class HeldRun(Run):
    """A run with its own parameters at each state of a batch, p (batch, parameters); it uses the compiled code of `source`."""

    source: Run

    @staticmethod
    def of(run: Run, p: Array) -> HeldRun:
        """The same equations under other parameters."""
        return HeldRun(run.system, run.form, run.parameters, p, run.backend, run.policies, run)

    @cached_property
    def _call(self) -> Call:
        return self.source._call

    @cached_property
    def acceleration(self) -> Callable[[ArrayLike, ArrayLike, ArrayLike], tuple[Array, Array]]:
        """(a, Λ) of a batch; NaN at singular states."""

        def solve(t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
            a, lam, margin = self._call.batch(t, q, v, self.p)
            a[~(margin > 0)], lam[~(margin > 0)] = np.nan, np.nan
            return a, lam

        return solve


def last_change(changes: Array, t: Array, precedes: NDArray[np.bool_] | None = None) -> NDArray[np.int_]:
    """Index of the last change at or before each sample, (k,); precedes: samples that come before a change at their time."""
    before = np.searchsorted(changes, t, side="left") - 1
    after = np.searchsorted(changes, t, side="right") - 1
    return np.maximum(np.where(repeated(t) if precedes is None else precedes, before, after), 0)


def repeated(t: Array) -> NDArray[np.bool_]:
    """All but the last of several samples of a run at one time, (k,): those that come before an event at that time."""
    return np.append(t[1:] == t[:-1], False) if len(t) else np.zeros(0, dtype=bool)


__all__ = ["HeldRun", "Readings", "last_change", "repeated"]
