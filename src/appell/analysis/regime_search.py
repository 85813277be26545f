"""The stationary regimes of an averaged system at given parameters: by roots of a polynomial, or by a grid and Newton's
method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import sympy

from appell.errors import ModelError
from appell.numeric_functions import numeric_function
from appell.reading import reals, shown

if TYPE_CHECKING:
    from appell.analysis.slow_motion import Averaged

RESONANCE_CELLS = (240, 96)
"""Cells in log r and in θ of the grid."""

WITHIN = (1e-4, 1e4)
"""Default range of amplitudes on the grid."""


class RegimeSearch:
    """All (r, θ, eigenvalues) with ṙ = θ̇ = 0 at given parameters, the largest r first."""

    def __init__(self, system: Averaged, within: tuple[float, float]):
        self.system, p = system, system.system.parameters
        self.least = float(system.free.least)
        limits = reals(within, "within=", infinite=False)
        if limits.shape != (2,) or not 0 < limits[0] < limits[1]:
            raise ModelError(f"within={shown(within)}: give the smallest and the largest amplitude, 0 < smallest < largest")
        low, high = map(float, limits)
        self.low, self.high = max(low, self.least * (1 + 1e-9)), high
        arguments = [system.r, system.theta, *p]
        self.rates = numeric_function(arguments, [system.r_rate, system.theta_rate], "numpy", cse=True)
        self.jacobian = numeric_function(arguments, system.jacobian, "numpy", cse=True)
        self.parts = self.polynomial = None
        if system.harmonics is None:
            return
        (_, B1, C1), (_, B2, C2) = system.harmonics
        if sympy.simplify(B1 * C2 - B2 * C1) != 0 and system.stationary.is_polynomial(system.r):
            self.parts = numeric_function([system.r, *p], sympy.Matrix(system.harmonics), "numpy", cse=True)
            self.polynomial = numeric_function(p, sympy.Poly(system.stationary, system.r).all_coeffs(), "mpmath")

    def __call__(self, p: tuple[float, ...]) -> list[tuple[float, float, Any]]:
        try:
            pairs = self._by_polynomial(p) if self.polynomial is not None else self._on_grid(p)
            regimes = [(r, theta, np.linalg.eigvals(np.array(self.jacobian(r, theta, *p), float))) for r, theta in pairs]
        except (ArithmeticError, np.linalg.LinAlgError):  # from Python's numbers, or NumPy's
            values = ", ".join(f"{s} = {x:g}" for s, x in zip(self.system.system.parameters, p, strict=True))
            raise ModelError(f"the equations of the regimes have no finite numbers at {values}; choose other units") from None
        return sorted(regimes, key=lambda row: (-row[0], row[1]))

    def _by_polynomial(self, p: tuple[float, ...]) -> list[tuple[float, float]]:
        with mpmath.workdps(50):  # they contain (Ω² − 2Ωω + ω²)/ε², which cancels
            values = self.polynomial(*map(mpmath.mpf, p))  # type: ignore[misc]
            coefficients = np.array([float(mpmath.re(c)) if mpmath.im(c) == 0 else np.nan for c in values])
        regimes = []
        for root in np.roots(coefficients):
            r = float(root.real)
            if r <= self.least or abs(root.imag) > 1e-7 * abs(root):  # rounding splits a double root by √ε
                continue
            ABC = np.array(self.parts(r, *p), float)  # type: ignore[misc]
            c, s = np.linalg.solve(ABC[:, 1:], -ABC[:, 0])
            if abs(np.hypot(c, s) - 1) < 1e-5:  # loose, because of double roots; Newton's method decides
                regimes.append(self._polished(r, float(np.arctan2(s, c)), p))
        return [pair for pair in regimes if pair is not None and pair[0] > self.least]

    def _on_grid(self, p: tuple[float, ...]) -> list[tuple[float, float]]:
        r = np.geomspace(self.low, self.high, RESONANCE_CELLS[0] + 1)
        theta = np.linspace(-np.pi, np.pi, RESONANCE_CELLS[1] + 1) + 0.01  # no symmetric root on a grid line
        R, Theta = np.meshgrid(r, theta, indexing="ij")
        with np.errstate(all="ignore"):
            rates = [np.broadcast_to(np.asarray(x, float), R.shape) for x in self.rates(R, Theta, *p)]
        changes = np.ones((RESONANCE_CELLS[0], RESONANCE_CELLS[1]), dtype=bool)
        for rate in rates:
            corners = np.stack([rate[:-1, :-1], rate[1:, :-1], rate[:-1, 1:], rate[1:, 1:]])
            changes &= (corners.min(axis=0) <= 0) & (corners.max(axis=0) >= 0)
        regimes: list[tuple[float, float]] = []
        for i, j in zip(*np.nonzero(changes), strict=True):
            pair = self._polished(float(np.sqrt(r[i] * r[i + 1])), float((theta[j] + theta[j + 1]) / 2), p)
            if pair is not None and not any(abs(pair[0] - a) < 1e-7 * a and abs(_turn(pair[1] - b)) < 1e-6 for a, b in regimes):
                regimes.append(pair)
        return regimes

    def _polished(self, r: float, theta: float, p: tuple[float, ...]) -> tuple[float, float] | None:
        """Newton's method from (r, θ), until its steps are rounding; None where it does not converge to a regime.

        Rates are differences of frequencies: near a resonance they are rounded by ε ω, and the last steps by ε ω over the
        detuning. Steps below 1e-6 that no longer shrink are such.
        """
        before = np.inf
        for _ in range(60):
            rate = np.array(self.rates(r, theta, *p), float)
            J = np.array(self.jacobian(r, theta, *p), float)
            try:
                step = np.linalg.solve(J, -rate)
            except np.linalg.LinAlgError:
                return None
            shrink = min(1.0, 0.5 * r / max(abs(step[0]), 1e-300), 1.0 / max(abs(step[1]), 1e-300))
            r, theta = r + shrink * float(step[0]), theta + shrink * float(step[1])
            if not np.isfinite(r) or not self.least < r < 1e3 * self.high:
                return None
            size = max(abs(float(step[0])) / r, abs(float(step[1])) / 10)
            if size <= 1e-13 or before <= size < 1e-6:
                return r, float(_turn(theta))
            before = size
        return None


def _turn(angle: float) -> float:
    """The angle between −π and π."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)


__all__ = ["WITHIN", "RegimeSearch"]
