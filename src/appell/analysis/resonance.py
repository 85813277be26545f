"""Stationary regimes of an averaged vibro-impact system: V. F. Zhuravlev (1978), (21) and what follows it.

With rates A_i + B_i cos θ + C_i sin θ, ṙ = θ̇ = 0 gives cos θ and sin θ, and cos² θ + sin² θ = 1 one equation for r,
`Averaged.stationary`; for one wall (b² + χ²) r² + 2cχ r + c² − a² = 0, which is (21). A regime is stable where the eigenvalues
of ∂(ṙ, θ̇)/∂(r, θ) have negative real parts. Where the equation for r is not a polynomial, or θ has higher harmonics, Newton's
method starts from the cells of a grid in (log r, θ) in which both rates change sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from appell.analysis.regime_search import WITHIN, RegimeSearch
from appell.analysis.requests import axis, given_once, parameter_named, parameter_variable
from appell.analysis.slow_motion import Averaged
from appell.delegates import delegate
from appell.errors import ModelError
from appell.model import System
from appell.motion.result_frame import Result
from appell.numeric_functions import numeric_function
from appell.reading import table_of, text_of
from appell.spelling import checked_keywords

Array = NDArray[np.float64]

@dataclass(frozen=True, eq=False, repr=False)
class Resonance(Result):
    """The stationary regimes of an averaged system over a range of one parameter, from `ap.resonance`.

    Attributes
    ----------
    averaged, parameters: the averaged system, and the values of the other parameters.
    name, values: the varied parameter, and its values, (k,).
    amplitude: r of (21), (k, branches), the largest first, nan where a branch does not exist.
    phase: θ, (k, branches), rad; eigenvalues: (k, branches, 2), 1/s.
    stable: (k, branches), asymptotically stable; False where there is no regime or linearization is inconclusive.
    """

    averaged: Averaged
    parameters: Mapping[Any, float]
    name: str
    values: Array
    amplitude: Array
    phase: Array
    eigenvalues: NDArray[np.complex128]
    stable: NDArray[np.bool_]

    @property
    def ok(self) -> bool:  # type: ignore[override]
        """Whether there is a regime at any of the values."""
        return bool(np.isfinite(self.amplitude).any())

    @property
    def message(self) -> str:  # type: ignore[override]
        """The range in which regimes were found."""
        exists = np.isfinite(self.amplitude).any(axis=1) if self.amplitude.size else np.zeros(len(self.values), dtype=bool)
        if not exists.any():
            return f"no stationary regime at any of the {len(self.values)} values of {self.name}"
        return f"stationary regimes at {exists.sum()} of {len(self.values)} values of {self.name}"

    @property
    def system(self) -> System:  # type: ignore[override]
        """The system that was averaged."""
        return self.averaged.system

    def variables(self) -> Mapping[str, Any]:
        """amplitude, phase, stable over (the parameter, branch), and the backbone over the parameter."""
        dims = (self.name, "branch")
        return {
            "amplitude": (dims, self.amplitude, {"units": "SI", "long_name": self.averaged.free.meaning}),
            "phase": (dims, self.phase, {"units": "rad", "long_name": "slow phase theta"}),
            "stable": (dims, self.stable, {"long_name": "asymptotically stable"}),
            "backbone": (self.name, self.backbone, {"units": "SI", "long_name": "amplitude without damping and forcing"}),
        }

    def coords(self) -> Mapping[str, Any]:
        return {self.name: parameter_variable(self.name, self.name, self.values)}

    @cached_property
    def backbone(self) -> Array:
        """The backbone: r at which the free motion, with the terms independent of θ, is in resonance: (k,), nan if there is
        none."""
        A = self.averaged.theta_rate if self.averaged.harmonics is None else self.averaged.harmonics[1][0]
        numerator = sympy.numer(sympy.together(A.subs(self.averaged.theta, 0)))
        arguments = [self.averaged.r, *self.averaged.system.parameters]
        value = numeric_function(arguments, numerator, "numpy")
        amplitudes = np.full(len(self.values), np.nan)
        r = np.geomspace(*WITHIN, 4000) + float(self.averaged.free.least)
        for k, p in enumerate(self._rows()):
            y = np.broadcast_to(np.asarray(value(r, *p), float), r.shape)
            change = np.flatnonzero(y[:-1] * y[1:] < 0)
            if len(change):
                i = int(change[0])
                amplitudes[k] = r[i] - y[i] * (r[i + 1] - r[i]) / (y[i + 1] - y[i])
        return amplitudes

    def _rows(self) -> list[tuple[float, ...]]:
        return [self.averaged.values({**self.parameters, self.name: value}) for value in self.values]

    def coordinate(self, t: ArrayLike, index: int, branch: int = 0) -> Array:
        """The regime at values[index] on a branch, as the folded coordinate of the system at the times t, s; (k,).

        s = Δ − r₀ |cos((ωt − θ₀)/2k)| for the oscillator with a wall.
        """
        r, theta = float(self.amplitude[index, branch]), float(self.phase[index, branch])
        if not np.isfinite(r):
            raise ModelError(f"there is no regime on branch {branch} at {self.name} = {self.values[index]:g}")
        return self.averaged.coordinate(t, r, theta, {**self.parameters, self.name: self.values[index]})

    def plot(self, ax: Any = None) -> Any:
        """Plots the amplitude–frequency curve: stable branches solid, unstable ones dashed, the backbone dotted; returns the
        figure."""
        return delegate("Resonance.plot")(self, ax)

    def __str__(self) -> str:
        return self.message


@checked_keywords()
def resonance(
    averaged_system: Averaged, over: Mapping[Any, ArrayLike] | None = None, parameters: Mapping[Any, Any] | None = None,
    *, within: tuple[float, float] = WITHIN,
) -> Resonance:  # fmt: skip
    """The stationary regimes (21) of an averaged system, with their stability, over values of one parameter.

    Parameters
    ----------
    averaged_system: a result of `ap.averaged(…, resonance=(n, m))`.
    over: {parameter: values}, a single one, for example {omega: np.linspace(1.8, 2.2, 200)}.
    parameters: values of all parameters except the one in `over`.
    within: smallest and largest amplitude of the search, where the equation for r is not a polynomial.
    """
    if not isinstance(averaged_system, Averaged):
        raise ModelError(f"resonance takes what ap.averaged returns, not {type(averaged_system).__name__}")
    if averaged_system.resonance is None:
        raise ModelError("the system was averaged far from resonances; give ap.averaged(…, resonance=(n, m))")
    name, values = _range(averaged_system, over)
    fixed = {text_of(k): v for k, v in table_of(parameters, "parameters=").items()}
    given_once(fixed, (name,), "parameters=", "over=")
    find = RegimeSearch(averaged_system, within)
    regimes = [find(averaged_system.values({**fixed, name: value})) for value in values]
    return _gathered(averaged_system, fixed, name, values, regimes)


def _range(system: Averaged, over: Mapping[Any, ArrayLike] | None) -> tuple[str, Array]:
    if not isinstance(over, Mapping) or len(over) != 1:
        example = f"{{{system.omega}: np.linspace(…)}}"
        order = "ap.resonance(averaged, over, parameters)"
        raise ModelError(f"say over which parameter the regimes are sought, {order}: over={example}, one parameter")
    ((key, values),) = axis(over, "over=", 1)
    return parameter_named(system.system, key, "over="), values


def _gathered(system: Averaged, fixed: Mapping[str, float], name: str, values: Array, regimes: Sequence[Any]) -> Resonance:
    width = max((len(rows) for rows in regimes), default=0)
    amplitude, phase = (np.full((len(values), width), np.nan) for _ in range(2))
    eigenvalues = np.full((len(values), width, 2), np.nan, dtype=complex)
    for k, rows in enumerate(regimes):
        for j, (r, theta, roots) in enumerate(rows):
            amplitude[k, j], phase[k, j], eigenvalues[k, j] = r, theta, roots
    with np.errstate(invalid="ignore"):
        sizes = np.abs(eigenvalues).max(axis=-1, initial=0.0)
        stable = np.real(eigenvalues).max(axis=-1, initial=-np.inf) < -1e-12 * sizes  # beyond rounding
    return Resonance(system, fixed, name, values, amplitude, phase, eigenvalues, stable)


__all__ = ["Resonance", "resonance"]
