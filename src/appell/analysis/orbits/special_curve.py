"""Continuation of special orbits and equilibria in two parameters: curves of folds, period doublings, …

    F(x) = 0,  ψ(x) = 0            x = (unknowns, a, b): `orbit_curve`, `rests.rest_curve`; the walk: `curve_walk`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.codimension_two import CodimensionTwo
from appell.analysis.orbits.continuation import Special
from appell.analysis.orbits.curve_walk import CurveWalk, Walked
from appell.analysis.orbits.one_sided_curve import OneSidedCurve
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.orbit_curve import ORBIT_CURVES, OrbitCurve
from appell.analysis.orbits.sliding import SLIDING
from appell.analysis.orbits.untouched import touches_and_hits
from appell.analysis.requests import parameter_named, parameter_variable
from appell.analysis.rests.equilibrium import Equilibrium
from appell.analysis.rests.rest_branches import SpecialRest
from appell.analysis.rests.rest_curve import REST_CURVES, RestCurve
from appell.delegates import delegate
from appell.errors import ModelError
from appell.model import System
from appell.motion.result_frame import Result
from appell.reading import finite, items_of, whole

Array = NDArray[np.float64]

SEVERAL = {
    "fold": "folds",
    "period doubling": "period doublings",
    "Neimark–Sacker": "Neimark–Sacker points",
    "grazing": "grazing orbits",
    "branch point": "branch points",
    "Hopf": "Hopf points",
    "loss of sticking": "losses of sticking",
}


@dataclass(frozen=True, eq=False, repr=False)
class SpecialCurve(Result):
    """A curve of special orbits or equilibria in two parameters, from `ap.continue_curve`.

    Attributes
    ----------
    kind: of the special points; parameters: names of the two; values: (n, 2).
    orbits, rests: one of them for each point; the other is empty.
    residuals: (n,) |ψ| of the defining equation. A grazing orbit is one of the system without the face or guard it touches.
    crossings: points of codimension two, (kind, values (2,), residual): cusps, resonances, fold–flip and others.
    """

    system: System
    kind: str
    parameters: tuple[str, str]
    values: Array
    orbits: tuple[Orbit, ...]
    residuals: Array
    crossings: tuple[CodimensionTwo, ...]
    ok: bool
    message: str
    rests: tuple[Equilibrium, ...] = ()

    def variables(self) -> Mapping[str, Any]:
        """Both parameters, the period of orbits and the residual over the dimension `point`."""
        names = self.parameters
        columns: dict[str, Any] = {name: parameter_variable("point", name, self.values[:, k]) for k, name in enumerate(names)}
        if self.orbits:
            periods = np.array([orbit.period for orbit in self.orbits])
            columns["period"] = ("point", periods, {"units": "s", "long_name": "period"})
        columns["residual"] = ("point", self.residuals, {"units": "1", "long_name": "residual of the defining equation"})
        return columns

    def plot(self, ax: Any = None) -> Any:
        """Plots the curve in the plane of its parameters, the first one horizontal; returns the figure. Use `ax` for several
        curves."""
        return delegate("SpecialCurve.plot")(self.values, self.kind, self.crossings, self.parameters, ax)

    def __str__(self) -> str:
        a, b = self.parameters
        curve = f"the curve of {SEVERAL.get(self.kind, self.kind + ' points')} of '{self.system.name}' over {a} and {b}"
        second = ", ".join(
            f"{crossing.kind} at ({crossing.values[0]:.6g}, {crossing.values[1]:.6g})" for crossing in self.crossings
        )
        return f"{len(self.values)} points of {curve}: {f'{second}; ' if second else ''}{self.message}"


def continue_curve(
    special: Special | SpecialRest,
    parameters: tuple[Any, Any],
    to: float,
    *,
    period: Any = None,
    modulo: Mapping[Any, float] | None = None,
    step: float = 0.05,
    max_step: float = 0.2,
    most: int = 200,
    rtol: float = 1e-11,
    atol: float | None = None,
    **options: Any,
) -> SpecialCurve:
    """The curve of special orbits or equilibria in two parameters through one found on a branch.

    Parameters
    ----------
    special: a fold, period doubling, Neimark–Sacker point, branch point or grazing orbit, a loss of sticking or another
        sliding bifurcation of `ap.continue_orbit`, or a fold, branch point or Hopf point of `ap.continue_equilibrium`.
    parameters: the two varied ones, symbols or names, (a, b): that of the branch and another one.
    to: the value of b towards which the curve is followed, and at which it ends.
    step, max_step: first and longest step, as fractions of the orbit's size and of the ranges.
    period: for forced systems, T as an expression of the parameters; by default that of the forcing, if it is evident.
    rtol, atol: those of `ap.periodic_orbit`. Other options are those of `ap.simulate`.

    A branch point persists only where a symmetry preserves it; otherwise the curve ends at once and says so.
    """
    if not isinstance(special, Special | SpecialRest):
        raise ModelError(
            f"continue_curve begins at a special orbit or rest, branch.special[k], not at {type(special).__name__}"
        )
    kinds = (*ORBIT_CURVES, *SLIDING) if isinstance(special, Special) else REST_CURVES
    if special.kind not in kinds:
        raise ModelError(f"curves of kind '{special.kind}' are not followed; these are: {', '.join(kinds)}")
    if not special.refined:
        raise ModelError(f"the {special.kind} was seen but not found (residual {special.residual:.1e}); follow its branch")
    system = special[2].system
    names = tuple(parameter_named(system, key, "parameters=") for key in items_of(parameters, "parameters="))
    if len(names) != 2 or names[0] == names[1]:
        raise ModelError("parameters= are two different ones, (a, b)")
    pair, to, simulation = (names[0], names[1]), finite(to, "to="), {"rtol": rtol, "atol": atol, **options}
    modulo = special.orbit.turning(modulo) if isinstance(special, Special) else modulo
    if isinstance(special, SpecialRest):
        if options or period is not None or modulo is not None:
            raise ModelError(f"{next(iter([*options, 'period, modulo']))} is for curves of orbits; this one is of rests")
        equations: Any = RestCurve(special.kind, special.rest, pair, to, special.frequency)
    elif special.kind in SLIDING or (special.kind == "grazing" and touches_and_hits(special.orbit)):
        equations = OneSidedCurve(special, pair, to, period, modulo, simulation)
    else:
        equations = OrbitCurve(special.kind, special.orbit, pair, to, period, modulo, simulation)
    walk = equations if isinstance(equations, OneSidedCurve) else CurveWalk(equations)
    walked = walk.follow(finite(step, "step="), finite(max_step, "max_step="), whole(most, "most=", 1))
    return _curve_of(equations, walked)


def _curve_of(equations: Any, walked: Walked) -> SpecialCurve:
    units = 1.0 if isinstance(equations, OneSidedCurve) else equations.scale[-2:]
    values = np.array([step.x[-2:] * units for step in walked.steps])
    records, residuals = tuple(step.record for step in walked.steps), np.array([step.psi for step in walked.steps])
    orbits, rests = (records, ()) if isinstance(records[0], Orbit) else ((), records)
    doubt = next((orbit.message for orbit in orbits if orbit.motion.doubts), "")
    return SpecialCurve(
        equations.system, equations.kind, equations.names, values, orbits, residuals, tuple(walked.second),
        walked.ok and not doubt, f"{walked.message}; an orbit is {doubt}" if doubt else walked.message, rests,
    )  # fmt: skip


__all__ = ["SpecialCurve", "continue_curve"]
