"""From a Hopf point of a branch of equilibria to the small orbits that bifurcate there.

    z(t) ≈ z_H + size Re(v e^{iωt}),   T ≈ 2π/ω            A v = iω v

From this prediction, the orbit and its parameter are found together by Newton's method in the plane through it orthogonal to
Re v: the amplitude is given, the parameter is an unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.linear import linearize
from appell.analysis.natural_scales import extents
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.orbit_equations import OrbitEquations
from appell.analysis.rests.equilibrium import Equilibrium
from appell.compiled.compiling import compile
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.motion.motion import Motion
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent

Array = NDArray[np.float64]

HOPF_RTOL = 1e-11
"""Tolerance of `ap.simulate` for closing orbits; atol is this fraction of the smaller of displacements and velocities."""
SWITCHED = 1e-2
"""Default size of the first step on another branch, as a fraction of the natural sizes of the coordinates."""


class SmallMotion(NamedTuple):
    """A substitute for a first orbit: a motion near the equilibrium, its period, the parameters and the sizes of the states."""

    system: System
    motion: Motion
    period: float
    parameters: Mapping[Any, float]
    scale: Array
    symmetry: None = None


def orbit_at_hopf(
    rest: Equilibrium, parameter: str, to: float, size: float | None, steps: Array, frequency: float = np.nan
) -> Orbit:  # fmt: skip
    """The orbit whose largest displacement is about `size`, SI; by default a fraction of the natural `steps`, (moves,).

    frequency: of the pair on the axis, rad/s; if it is not known, the pair nearest to the axis.
    """
    system, small = rest.system, linearize(rest.system, at=rest)
    values = small.eigenvalues
    pairs = np.flatnonzero(values.imag > 0)
    if not len(pairs):
        raise ModelError(f"the rest of '{system.name}' has no pair of imaginary eigenvalues: no orbit begins there")
    away = np.abs(values[pairs].real) if np.isnan(frequency) else np.abs(values[pairs] - 1j * frequency)
    k = int(pairs[np.argmin(away)])
    omega, mode = float(values[k].imag), small.modes[:, k]
    size = SWITCHED * float(steps[int(np.argmax(np.abs(mode)))]) if size is None else size
    options: dict[str, Any] = {"rtol": HOPF_RTOL, "atol": HOPF_RTOL * abs(size) * min(1.0, omega)}
    run = compile(system, rest.parameters)
    q, v = np.asarray(rest.q, float), np.zeros(len(mode))
    N = run.form.select("N")(0.0, q, v, run.p)["N"]
    away = np.concatenate([N @ mode.real, (1j * omega * mode).real])
    symbols = (*system.positions, *system.velocities)
    guess = dict(zip(symbols, map(float, np.concatenate([q, v]) + size * away), strict=True))
    start = {str(s): float(x) for s, x in consistent(system, guess, rest.parameters).items()}
    z0, T = np.array([start[str(s)] for s in symbols]), 2 * np.pi / omega
    motion = simulate(run, dict(zip(symbols, map(float, z0), strict=True)), T, **options)
    scale = extents(motion.run, float(motion.t[0]), np.hstack([motion.q, motion.v]), T)
    substitute = SmallMotion(system, motion, T, rest.parameters, scale)
    equations = OrbitEquations(system, parameter, substitute, to, None, None, 1e-9, options)  # type: ignore[arg-type]
    x = np.concatenate([z0, [T, equations.p0]]) / equations.scale
    direction = np.concatenate([away, [0, 0]]) / equations.scale
    try:
        return equations.correct(x, direction / np.linalg.norm(direction)).record
    except AppellError as error:
        raise ModelError(f"no orbit was found beside the Hopf point of '{system.name}': {error}; take another size=") from None


__all__ = ["orbit_at_hopf"]
