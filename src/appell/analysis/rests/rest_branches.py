"""Branches of equilibria over a parameter, by pseudo-arclength continuation.

    Q − h + W Λ = 0,        f(q) = 0            x = (q, Λ, p),  δq = N δπ

The tangent is the kernel of the Jacobian by (π, Λ, p). Special equilibria are found where a function changes sign, and refined:

    fold             dp/ds
    branch point     Π λ_i, where dp/ds keeps its sign         λ: eigenvalues of the linearization, without those always 0
    Hopf             the real part of the complex pair that passes the imaginary axis: `orbits.axis_crossings`
    flutter          two pairs meet on the axis and leave it (without damping)

Where several eigenvalues pass the axis in one step, the step is halved until they are apart, or at one place.

A branch ends where another wall is reached, where a contact would have to pull, or where the equations are undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.arclength import follow, length, tangent_of
from appell.analysis.orbits.axis_crossings import AS_PAIR, AT_ZERO, MEET, Spectra, Structure
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.refined_point import ParameterBranch, RefinedPoint
from appell.analysis.orbits.refining import Change, CurvePoint, SpecialPoint, Test, turns_back
from appell.analysis.requests import model_of, parameter_named, parameter_variable
from appell.analysis.rests.equilibrium import Equilibrium, equilibrium
from appell.analysis.rests.hopf_orbit import SWITCHED, orbit_at_hopf
from appell.analysis.rests.rest_equations import RestEquations
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.model.friction import refuse_friction
from appell.model.values import finite
from appell.rows import NEWTON_LOST, in_columns, least_squares, singular
from appell.tree import Tree

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

BRANCH_CORRECTIONS = 10
"""Newton steps in which an equilibrium must converge from its prediction."""


class _NamedRest(NamedTuple):
    kind: str
    value: float
    rest: Equilibrium


class SpecialRest(RefinedPoint, _NamedRest):
    """A special equilibrium of a branch: (kind, value of the parameter, equilibrium).

    residual: of its defining equation, dimensionless: |dp/ds| of a fold, the eigenvalue of a branch point (without damping its
    square) and the real part of a Hopf point as fractions of the largest. refined: whether the residual is small (1e-6); if
    not, the point was detected but not located, and is not drawn. multiplicity: how many there are at once, as where a
    symmetric column buckles in two directions. frequency: of a Hopf point, rad/s.
    """


@dataclass(frozen=True, eq=False, repr=False)
class RestBranch(ParameterBranch):
    """A branch of equilibria, from `ap.continue_equilibrium`.

    Attributes
    ----------
    parameter: the varied one; values: (n,) its values; rests: the equilibria there, in the order of the branch.
    special: folds, branch points, Hopf points and flutter (of undamped systems), as (kind, value, rest), each with the
        `residual` of its defining equation; see `SpecialRest`.
    ok, message: whether an end of the range was reached, or the start again on a closed branch, and if not, why; the branch up
        to there is kept.
    largest_turn: the largest angle between the tangents of two neighbouring points, rad.
    """

    members = "rests"
    system: System
    parameter: str
    values: Array
    rests: tuple[Equilibrium, ...]
    special: tuple[SpecialRest, ...]
    ok: bool
    message: str
    to: float
    """The value at which it should end."""
    found: tuple[SpecialPoint, ...] = field(default=(), repr=False)
    largest_turn: float = 0.0

    def __getitem__(self, key: Any) -> Array:
        """A coordinate along the branch, (n,), by symbol or name."""
        return np.array([rest[key] for rest in self.rests])

    @cached_property
    def q(self) -> Array:
        """Coordinates along the branch, (n, nq)."""
        return np.array([rest.q for rest in self.rests])

    @cached_property
    def stability(self) -> tuple[str, ...]:
        """ "asymptotically stable", "unstable", "undecided", … for each equilibrium."""
        return tuple(rest.stability for rest in self.rests)

    @cached_property
    def stable(self) -> NDArray[np.bool_]:
        """Which equilibria have no growing small motion, (n,)."""
        return np.array([stability not in ("unstable", "unknown") for stability in self.stability], dtype=bool)

    def variables(self) -> Mapping[str, Any]:
        columns: dict[str, Any] = {self.parameter: parameter_variable("point", self.parameter, self.values)}
        for i, q in enumerate(self.system.positions):
            columns[str(q)] = ("point", self.q[:, i], {"units": "SI", "symbol": str(q), "long_name": str(q)})
        for i, constraint in enumerate(self.system.constraints):
            attributes = {"units": "SI", "long_name": f"reaction of {constraint.name}"}
            columns[f"reaction_{constraint.name}"] = (
                "point",
                np.array([rest.multipliers[i] for rest in self.rests]),
                attributes,
            )
        largest = [rest.eigenvalues.real.max(initial=-np.inf) for rest in self.rests]
        growth = ("point", np.array(largest), {"units": "1/s", "long_name": "largest real part of the eigenvalues"})
        return columns | {"stable": ("point", self.stable, {"long_name": "no small motion grows"}), "growth": growth}

    def plot(self, of: Any = None, ax: Any = None) -> Any:
        """Plots a coordinate over the parameter, by default the first one: stable solid, unstable dashed; returns the
        figure."""
        of = of if of is not None else self.system.positions[0]
        special = [(s.kind, s.value, s.rest[of]) for s in self.special if s.refined]
        return delegate("RestBranch.plot")(self.values, self[of], self.stable, special, self.parameter, str(of), ax)

    def switch(self, k: int, *, size: float | None = None) -> Equilibrium | Orbit:
        """For a branch point special[k], an equilibrium on the other branch, `size` along it: a fraction of the natural sizes
        of coordinates (1 rad of an angle) and of the range of the parameter; for a Hopf point, the orbit whose largest
        displacement is `size`, SI. By default 0.01 of the natural sizes. Continue from there."""
        point, share = self.point(k), None if size is None else finite(size, "size=")
        if point.kind == "Hopf":
            return orbit_at_hopf(
                point.rest, self.parameter, self.far_from(point.value), share, self._walk.steps, point.frequency
            )
        if point.kind != "branch point":
            raise ModelError(f"special[{k}] is a {point.kind}: branches are switched at a branch point or a Hopf point")
        return self._walk.other_branch(self.found[int(k)].point, SWITCHED if share is None else share)

    @property
    def _walk(self) -> _Rests:
        """The equations in which the branch was followed."""
        return _Rests(self.system, self.parameter, self.rests[0], self.to)


def continue_equilibrium(
    system: System | Tree | Run,
    parameter: Any,
    rest: Equilibrium | Mapping[Any, Any],
    to: float,
    *,
    parameters: Mapping[Any, Any] | None = None,
    step: float | None = None,
    max_step: float | None = None,
    most: int = 400,
    back: float | None = None,
    progress: Any = False,
) -> RestBranch:
    """The branch of equilibria through a given one, over a parameter, around folds.

    Parameters
    ----------
    parameter: the varied parameter, symbol or name; to: the final value.
    rest: a result of `ap.equilibrium`, or a start near an equilibrium, then with `parameters`.
    step, max_step: first and longest step along the branch, as fractions of |to − start| (0.02 and 0.1 by default).
    most: largest number of points.
    back: second end value, for a branch that turns back at a fold; by default the start value.

    Contacts of the first equilibrium are kept; the branch ends where one would have to pull or another wall is reached.
    """
    system = model_of(system, "continue_equilibrium")
    refuse_friction(system, "ap.continue_equilibrium")
    if not isinstance(rest, Equilibrium):
        rest = equilibrium(system, rest, parameters)
    elif parameters is not None:
        raise ModelError("an Equilibrium has its parameters; parameters= goes with a start")
    name = parameter_named(system, parameter, "parameter=")
    to = finite(to, "to=")
    followed = follow(_Rests(system, name, rest, to), name, to, step, most, back, progress, "rests", max_step)
    named = tuple(point for point in followed.special if point.kind != "flutter" or _meets_on_axis(point.record.eigenvalues))
    special = tuple(
        SpecialRest(point.kind, point.value, point.record, point.residual, point.ok, point.multiplicity, _frequency(point))
        for point in named
    )
    return RestBranch(
        system, name, followed.values, followed.records, special, followed.ended, followed.message, to, named, followed.turned
    )


FACTORS: Mapping[str, Callable[[Complex, Complex, float], list[complex]]] = {
    "branch point": lambda free, pairs, way: [*free, *pairs, 1 / way],
    "Hopf": lambda free, pairs, way: [free[i] + free[j] for i in range(len(free)) for j in range(i)],
    "flutter": lambda free, pairs, way: [(pairs[i] - pairs[j]) ** 2 for i in range(len(pairs)) for j in range(i)],
}
"""Factors of tests that may dip to zero between two equilibria and return, smooth where eigenvalues meet. They are made of the
eigenvalues without a mirror image, the squares of those with one, and dp/ds: Π λ_i / (dp/ds) is not zero at a fold."""


def _fold(point: CurvePoint) -> float:
    """dp/ds, which vanishes at a fold."""
    return float(point.tangent[-1])


class _Rests(RestEquations):
    """The equations of a branch of equilibria in x = (q, Λ, p), in units of `scale`."""

    def __init__(self, system: System, parameter: str, rest: Equilibrium, to: float):
        self.parameter, self.to = parameter, to
        self.p0 = next(float(value) for s, value in rest.parameters.items() if str(s) == parameter)
        self.span = length(self.p0, to)
        super().__init__(system, rest, (parameter,), [self.span])
        self.idle = 0  # eigenvalues that are zero at both ends of the current bracket
        self.structure: Structure | None = None  # of the eigenvalues in the current step
        self.levels: dict[str, float] = {}  # mean factors of the products in the current step
        self.unit = 0.0  # that of the eigenvalues in the current step, 1/s; 0 if none is fixed
        self.smooth: Mapping[str, Test] = {"fold": _fold} | {kind: self._level_product(kind) for kind in FACTORS}
        self.passes: Test = lambda point: np.nan  # the real part of the pair that passes the axis in the current bracket

    def first(self) -> CurvePoint:
        towards = np.zeros(len(self.start))
        towards[-1] = np.sign(self.to - self.p0)
        _, J, lift = self.rows(self.start)
        return self.correct(self.start, self.lifted(tangent_of(J, lift.T @ towards), lift))

    def correct(self, predicted: Array, tangent: Array) -> CurvePoint:
        """The equilibrium in the plane through the prediction."""
        x, last_size = predicted.copy(), np.inf
        for k in range(1, BRANCH_CORRECTIONS + 1):
            F, J, lift = self.rows(x)
            plane = float(tangent @ (x - predicted))
            size = float(np.abs(F).max(initial=0.0))
            # converged: at rounding, or small and no longer falling
            if (size <= 1e-13 or (size <= 1e-9 and size > 0.3 * last_size)) and abs(plane) < 1e-9:
                return CurvePoint(x, self.lifted(tangent_of(J, lift.T @ tangent), lift), self.rest_at(x, size), k)
            if size > 100 * last_size:
                break
            last_size = size
            full, right = np.vstack([J, tangent @ lift]), np.append(F, plane)
            x = self.projected(x + lift @ least_squares(full, -right, NEWTON_LOST))
        raise AppellError("Newton's method does not come back to the branch")

    def _level_product(self, kind: str) -> Test:
        """The product of the factors of a test, in units of their mean at the first point of the step: many would underflow."""

        def test(point: CurvePoint) -> float:
            values = point.record.eigenvalues
            if self.structure is None or not len(values) or not _fold(point):
                return np.nan
            spectrum = Spectra(values, values, periodic=False, within=self.structure).parts(values)
            factors = np.array(FACTORS[kind](spectrum.free, spectrum.pairs, _fold(point)), dtype=complex)
            if kind not in self.levels:
                self.levels[kind] = float(np.exp(np.log(np.maximum(np.abs(factors), 1e-300)).mean())) if len(factors) else 1.0
            return float(np.prod(factors / self.levels[kind]).real)

        return test

    def lost(self, points: list[CurvePoint], here: CurvePoint, error: Exception) -> tuple[str, SpecialPoint | None]:
        """There is no special point at the end of a lost branch."""
        return str(error), None

    def trend(self, points: list[CurvePoint]) -> str:
        """There is no trend for a branch of equilibria."""
        return ""

    def special(self, kind: str, here: CurvePoint, there: CurvePoint) -> SpecialPoint | None:
        """None: special equilibria of all kinds are refined alike."""
        return None

    def moved(self, point: CurvePoint) -> CurvePoint:
        """The unknowns of an equilibrium do not change."""
        return point

    def test_change(self, here: CurvePoint, there: CurvePoint) -> float:
        """Steps are short where the branch turns; eigenvalues do not shorten them."""
        return 0.0

    def residual(self, kind: str, point: CurvePoint) -> float:
        """The residual of the defining equation of a kind; nan: its test only tells the side."""
        values = point.record.eigenvalues
        size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        sizes = np.sort(np.abs(values))[self.idle :] / size
        if kind == "fold":
            return abs(float(point.tangent[-1]))
        if kind == "branch point":  # without damping λ and −λ reach zero together
            pair = len(sizes) > 1 and sizes[1] - sizes[0] < 0.5 * sizes[1]
            return float(sizes[0] * sizes[1]) if pair else float(sizes[0]) if len(sizes) else np.nan
        return abs(self.passes(point)) if kind == "Hopf" else np.nan

    # -- special rests -------------------------------------------------------------------------------------------------

    def _spectra(self, here: CurvePoint, there: CurvePoint) -> tuple[Spectra, float] | None:
        """The eigenvalues at two equilibria, and their unit, the same for all points between; None if these are not known."""
        values_here, values_there = here.record.eigenvalues, there.record.eigenvalues
        if len(values_here) != len(values_there) or not len(values_here):
            return None
        size = self.unit or max(float(np.abs([values_here, values_there]).max()), 1e-300)
        return Spectra(values_here / size, values_there / size, periodic=False, within=self.structure), size

    def enter_step(self, here: CurvePoint, there: CurvePoint) -> None:
        """Finds the exponents that are always zero, or have a mirror image, in a step along the branch."""
        self.structure, self.unit, self.levels = None, 0.0, {}
        scaled = self._spectra(here, there)
        self.structure, self.unit = (None, 0.0) if scaled is None else (scaled[0].structure, scaled[1])

    def clear(self, here: CurvePoint, there: CurvePoint) -> bool:
        """Whether at most one special equilibrium lies between two."""
        scaled = self._spectra(here, there)
        return (scaled is None or scaled[0].clear) and not turns_back(here, there)

    def between(self, here: CurvePoint, there: CurvePoint) -> list[Change]:
        """Tests that change sign between two equilibria."""
        turns = _fold(here) * _fold(there) < 0
        changes = [Change("fold", _fold)] if turns else []
        self.idle = min(here.record.free, there.record.free) if self.structure is None else self.structure.idle
        scaled = self._spectra(here, there)
        if scaled is None:
            return changes
        spectra, size = scaled
        product = lambda point, idle=self.idle: _product(point.record.eigenvalues / size, idle)
        zeros, zero = 0, product  # eigenvalues that pass zero, and a test of theirs
        for place, count, test, frequency in spectra.crossings:
            test_here: Test = lambda point, test=test: test(point.record.eigenvalues / size)
            if place == AT_ZERO:
                zeros, zero = zeros + count, test_here
            elif place == AS_PAIR:
                self.passes = test_here
                changes.append(Change("Hopf", test_here, count, frequency=frequency * size))
            elif place == MEET:
                changes.append(Change("flutter", test_here, count))
        odd = product(here) * product(there) < 0
        zeros = max(zeros, int(odd)) - turns
        if zeros > 0:
            changes.append(Change("branch point", product if odd else zero, zeros))
        return changes

    def other_branch(self, point: CurvePoint, size: float) -> Equilibrium:
        """An equilibrium near a branch point, on the other branch."""
        _, J, lift = self.rows(point.x)
        _, s, Vt = singular(J)
        s = np.append(s, np.zeros(Vt.shape[0] - len(s)))
        flat = Vt[np.argsort(s)[:2]]
        along = in_columns(lift, point.tangent)
        sideways = flat - np.outer(flat @ along, along) / (along @ along)
        direction = self.lifted(sideways[int(np.argmax(np.linalg.norm(sideways, axis=1)))], lift)
        for share in (1, -1, 3, -3, 10, -10):
            try:
                corrected = self.correct(point.x + share * size * direction, direction)
            except AppellError:
                continue
            offset = corrected.x - point.x
            if np.linalg.norm(offset - point.tangent * (point.tangent @ offset)) > 0.3 * abs(share) * size:
                return corrected.record
        raise ModelError(f"no other branch was found near {self.parameter} = {point.x[-1] * self.span:.6g}")


def _product(values: NDArray[np.complex128], idle: int) -> float:
    """Π λ_i without the smallest that are always zero."""
    return float(np.prod(values[np.argsort(np.abs(values))][idle:]).real)


def _frequency(point: SpecialPoint) -> float:
    """The frequency of the pair that passes the axis at a Hopf point, rad/s; others may stay on the axis all along."""
    values = point.record.eigenvalues
    pairs = values[values.imag > 0]
    on = pairs[np.abs(pairs.real) <= max(np.abs(pairs.real).min(initial=np.inf), 1e-6 * np.abs(values).max(initial=0.0))]
    is_known = len(on) > 0 and np.isfinite(point.frequency)
    return float(on[int(np.argmin(np.abs(on.imag - point.frequency)))].imag) if is_known else np.nan


def _meets_on_axis(values: NDArray[np.complex128]) -> bool:
    """Whether the two pairs that meet are on the imaginary axis: elsewhere they grow before and after."""
    return Spectra(values / (size := max(float(np.abs(values).max()), 1e-300)), values / size, periodic=False).met_on_axis


__all__ = ["RestBranch", "SpecialRest", "continue_equilibrium"]
