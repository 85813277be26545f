"""Branches of periodic orbits over a parameter, by pseudo-arclength continuation.

    F(z, T, p) = z(T; z, p) − z = 0            t·(x − x_predicted) = 0,        x = (z, T, p)

The tangent t of a branch is the kernel of (Φ − 1, ż, Ψ_p), Φ = ∂z(T)/∂z, Ψ_p = ∂z(T)/∂p from `variations`; at a fold only the
parameter turns back. Special orbits are found where a test function changes sign between two orbits, and refined:

    fold, period doubling, Neimark–Sacker, branch point        tests of multipliers: `orbit_tests`
    grazing                                                    contact with a wall, or with the guard of a reset, begins or ends
    grazing–sliding and others                                 a phase of stick or slip appears or disappears: `sliding`

The instant of the section is moved along the orbit automatically to the widest interval between impacts, because an impact
that crosses the section would be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.arclength import follow
from appell.analysis.orbits.doubling import beside_branch_point, doubled
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.orbit_equations import OrbitEquations
from appell.analysis.orbits.orbit_tests import is_true
from appell.analysis.orbits.refined_point import ParameterBranch, RefinedPoint
from appell.analysis.requests import model_of, parameter_named, parameter_variable
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.errors import ModelError
from appell.model import System
from appell.model.values import finite
from appell.tree import Tree

Array = NDArray[np.float64]


class _Named(NamedTuple):
    kind: str
    value: float
    orbit: Orbit


class Special(RefinedPoint, _Named):
    """A special orbit of a branch: (kind, value of the parameter, orbit).

    residual: of its defining equation, dimensionless: |dp/ds| of a fold, |μ + 1|, ||μ| − 1|, |μ − 1|, the smallest distance of
    a grazing orbit as a fraction of the largest; for a grazing orbit extrapolated from slower and slower impacts, the error of
    the value as a fraction of the range. refined: whether the residual is small (1e-6); if not, the point was detected but not
    located, and is not drawn. multiplicity: how many there are at once, as in a symmetric system.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Branch(ParameterBranch):
    """A branch of periodic orbits, from `ap.continue_orbit`.

    Attributes
    ----------
    parameter: the varied one; values: (n,) its values; orbits: the orbits there, in the order of the branch.
    special: folds, period doublings, Neimark–Sacker points, branch points and grazing orbits, as (kind, value, orbit), each
        with the `residual` of its defining equation; see `Special`.
    ok, message: whether an end of the range was reached, by orbits without doubts, and if not, why; the branch up to there is
        kept.
    largest_turn: the largest angle between the tangents of two neighbouring orbits, rad.
    period_of: T as a function of the parameter for a forced system, s; None where the period is an unknown of the orbit.
    """

    members = "orbits"
    system: System
    parameter: str
    values: Array
    orbits: tuple[Orbit, ...]
    special: tuple[Special, ...]
    ok: bool
    message: str
    options: Mapping[str, Any] = field(default_factory=dict)
    largest_turn: float = 0.0
    period_of: Callable[[float], float] | None = None

    @cached_property
    def stable(self) -> NDArray[np.bool_]:
        """Which orbits are asymptotically stable, (n,)."""
        return np.array([orbit.stable for orbit in self.orbits], dtype=bool)

    def variables(self) -> Mapping[str, Any]:
        """Period, stability, largest multiplier, largest and smallest value of each coordinate, over the dimension `point`."""
        largest = np.array([np.abs(orbit.nontrivial).max(initial=0.0) for orbit in self.orbits])
        columns: dict[str, Any] = {
            self.parameter: parameter_variable("point", self.parameter, self.values),
            "period": ("point", np.array([orbit.period for orbit in self.orbits]), {"units": "s", "long_name": "period"}),
            "stable": ("point", self.stable, {"long_name": "asymptotically stable"}),
            "multiplier": ("point", largest, {"units": "1", "long_name": "largest Floquet multiplier, absolute value"}),
        }
        for q in self.system.positions:
            ranges = np.array([orbit.range(q) for orbit in self.orbits])
            for end, values in (("max", ranges[:, 1]), ("min", ranges[:, 0])):
                attributes = {"units": "SI", "symbol": str(q), "long_name": f"{'largest' if end == 'max' else 'smallest'} {q}"}
                columns[f"{q}_{end}"] = ("point", values, attributes)
        return columns

    def plot(self, of: Callable[[Orbit], float] | None = None, ax: Any = None) -> Any:
        """Plots a number of each orbit over the parameter, by default the largest value of the first coordinate; returns the
        figure."""
        number = of or (lambda orbit: orbit.range(self.system.positions[0])[1])
        name = f"largest {self.system.positions[0]}" if of is None else ""
        y = np.array([number(orbit) for orbit in self.orbits])
        special = [(point.kind, point.value, number(point.orbit)) for point in self.special if point.refined]
        return delegate("Branch.plot")(self.values, y, self.stable, special, self.parameter, name, ax)

    def switch(self, k: int, *, size: float = 1e-2) -> Orbit:
        """An orbit on the other branch through special[k], at a distance of `size` times its extent: with twice the period at a
        period doubling, with the same period at a branch point."""
        point, size = self.point(k), finite(size, "size=")
        if point.kind == "period doubling":
            return doubled(self, point.orbit, point.value, size)
        if point.kind == "branch point":
            equations = OrbitEquations(
                self.system, self.parameter, point.orbit, self.far_from(point.value), None, self.options.get("modulo"), 1e-9,
                {name: value for name, value in self.options.items() if name != "modulo"}, self.period_of,
            )  # fmt: skip
            equations.symmetry = None  # the other branch may lack the symmetry
            return beside_branch_point(self, equations, size)
        raise ModelError(f"special[{k}] is a {point.kind}: branches are switched at a period doubling or a branch point")


def continue_orbit(
    system: System | Tree | Run,
    parameter: Any,
    orbit: Orbit,
    to: float,
    *,
    step: float | None = None,
    max_step: float | None = None,
    most: int = 400,
    back: float | None = None,
    period: Any = None,
    modulo: Mapping[Any, float] | None = None,
    rtol: float = 1e-11,
    atol: float | None = None,
    tolerance: float = 1e-9,
    progress: Any = False,
    **options: Any,
) -> Branch:
    """The branch of periodic orbits through a given one, over a parameter.

    Parameters
    ----------
    parameter: the varied parameter, symbol or name; orbit: the first orbit; to: the final value.
    step, max_step: first and longest step along the branch, as fractions of |to − start| (0.02 and 0.1 by default). Steps are
        shortened where the branch turns and where multipliers near the unit circle move by more than a tenth of a turn.
    most: largest number of orbits.
    back: second end value, for a branch that turns back at a fold; by default the value of `orbit`.
    period: for forced systems, T as an expression of the parameters; by default that of the forcing (2*pi/omega), if it is
    evident. modulo: by default that of `orbit`; tolerances are those of `ap.periodic_orbit`.

    After the first orbit no error is raised: the result is the branch found so far, and `message` says why it ends.
    """
    system = model_of(system, "continue_orbit")
    if not isinstance(orbit, Orbit):
        raise ModelError(f"continue_orbit begins at what ap.periodic_orbit returns, not at {type(orbit).__name__}")
    if not orbit.ok:
        raise ModelError(f"the orbit is {'doubtful' if orbit.motion.doubts else 'not closed'}: {orbit.message}")
    name, simulation = parameter_named(system, parameter, "parameter="), {"rtol": rtol, "atol": atol, **options}
    to, tolerance = finite(to, "to="), finite(tolerance, "tolerance=")
    modulo = orbit.turning(modulo)
    orbits = OrbitEquations(system, name, orbit, to, period, modulo, tolerance, simulation)
    followed = follow(orbits, name, to, step, most, back, progress, "orbits", max_step)
    true = (point for point in followed.special if is_true(point.kind, point.point))
    special = tuple(
        Special(point.kind, point.value, point.record, point.residual, point.ok, point.multiplicity) for point in true
    )
    doubtful = next((k for k, point in enumerate(followed.records) if point.motion.doubts), None)
    doubt = "" if doubtful is None else f"; at {name} = {followed.values[doubtful]:.9g} {followed.records[doubtful].message}"
    outcome = (
        followed.ended and doubtful is None,
        followed.message + doubt,
        {**simulation, "modulo": modulo},
        followed.turned,
        orbits.period_law,
    )
    return Branch(system, name, followed.values, followed.records, special, *outcome)


__all__ = ["Branch", "Special", "continue_orbit"]
