"""Branches of periodic orbits over a parameter, by pseudo-arclength continuation.

    F(z, T, p) = z(T; z, p) − z = 0            t·(x − x_predicted) = 0,        x = (z, T, p)

The tangent t of a branch is the kernel of (Φ − 1, ż, Ψ_p), Φ = ∂z(T)/∂z, Ψ_p = ∂z(T)/∂p from `variations`; at a fold only the
parameter turns back. Special orbits are found where a function changes sign between two orbits, and refined:

    fold                  dp/ds
    period doubling       Π (μ_i + 1)                          μ: Floquet multipliers, without the 1 of an autonomous orbit
    Neimark–Sacker        Π_{i<j} (μ_i μ_j − 1)                where a complex pair is on the unit circle
    branch point          Π (μ_i − 1), where dp/ds keeps its sign
    grazing               the number of impacts in a period
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.arclength import Found, Point, follow, length, tangent_of
from appell.analysis.doubling import doubled
from appell.analysis.forcing import driving_period, period_law
from appell.analysis.orbit import Orbit
from appell.analysis.result import Result, model_of, parameter_named, parameter_variable
from appell.analysis.shooting import Shooting, explicit_time, refuse_other_period
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.model.friction import refuse_friction
from appell.model.values import finite
from appell.rows import VARIED_LOST, least_squares
from appell.simulate.run import Run, compile
from appell.tree import Tree

Array = NDArray[np.float64]

NEWTON = 8
"""Steps of Newton's method in which an orbit must be found from its prediction."""


class Special(NamedTuple):
    """A special orbit of a branch: its kind, the value of the parameter there, and the orbit."""

    kind: str
    value: float
    orbit: Orbit


@dataclass(frozen=True, eq=False)
class Branch(Result):
    """A branch of periodic orbits; `ap.continue_orbit` makes it.

    Attributes
    ----------
    parameter: the one that runs; values: (n,) its values; orbits: the orbits there, in the order of the branch.
    special: folds, period doublings, Neimark–Sacker points, branch points and grazing orbits, as (kind, value, orbit).
    ok, message: whether the end that was asked for was reached, and if not, why; the branch until then is kept.
    """

    system: System
    parameter: str
    values: Array
    orbits: tuple[Orbit, ...]
    special: tuple[Special, ...]
    ok: bool
    message: str
    options: Mapping[str, Any] = field(default_factory=dict)

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
        for i, q in enumerate(self.system.positions):
            for end, of in (("max", np.max), ("min", np.min)):
                values = np.array([of(orbit.motion.q[:, i]) for orbit in self.orbits])
                said = {"units": "SI", "symbol": str(q), "long_name": f"{'largest' if end == 'max' else 'smallest'} {q}"}
                columns[f"{q}_{end}"] = ("point", values, said)
        return columns

    def plot(self, of: Callable[[Orbit], float] | None = None, ax: Any = None) -> Any:
        """A number of each orbit over the parameter, by default the largest value of the first coordinate; the figure."""
        from appell.show.lab import branch_curve

        number = of or (lambda orbit: float(orbit.motion.q[:, 0].max()))
        name = f"largest {self.system.positions[0]}" if of is None else ""
        y = np.array([number(orbit) for orbit in self.orbits])
        special = [(one.kind, one.value, number(one.orbit)) for one in self.special]
        return branch_curve(self.values, y, self.stable, special, self.parameter, name, ax)

    def switch(self, k: int, *, size: float = 1e-2) -> Orbit:
        """The orbit of twice the period that begins at special[k], a period doubling, `size` times its extent away from it."""
        if not 0 <= k < len(self.special):
            raise ModelError(f"this branch has {len(self.special)} special orbits; special[{k}] is none of them")
        point = self.special[k]
        if point.kind != "period doubling":
            raise ModelError(f"special[{k}] is a {point.kind}: branches are switched at a period doubling")
        return doubled(self, point.orbit, point.value, size)

    def __str__(self) -> str:
        found = ", ".join(f"{s.kind} at {self.parameter} = {s.value:.6g}" for s in self.special) or "no special orbits"
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"{len(self.orbits)} orbits of '{self.system.name}', {span}: {found}; {self.message}"


def continue_orbit(
    system: System | Tree | Run,
    parameter: Any,
    orbit: Orbit,
    to: float,
    *,
    step: float | None = None,
    most: int = 400,
    back: float | None = None,
    period: Any = None,
    modulo: Mapping[Any, float] | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-13,
    tolerance: float = 1e-9,
    progress: Any = False,
    **options: Any,
) -> Branch:
    """The branch of periodic orbits through one of them, over a parameter.

    Parameters
    ----------
    parameter: the parameter that runs, symbol or name; orbit: where it begins; to: the value at which it ends.
    step: first step along the branch, a share of |to − beginning| (0.02 by default); most: number of orbits at most.
    back: where a branch that turned back at a fold ends as well, the value of `orbit` by default.
    period: for forced systems, T as an expression of the parameters; that of the forcing (2*pi/omega) where it is plain.
    modulo and tolerances are those of `ap.periodic_orbit`.
    """
    system = model_of(system, "continue_orbit")
    refuse_friction(system, "ap.continue_orbit")
    if not isinstance(orbit, Orbit):
        raise ModelError(f"continue_orbit begins at what ap.periodic_orbit returns, not at {type(orbit).__name__}")
    if not orbit.ok:
        raise ModelError(f"the orbit is not closed: {orbit.message}")
    name, asked = parameter_named(system, parameter, "parameter="), {"rtol": rtol, "atol": atol, **options}
    to = finite(to, "to=")
    orbits = _Orbits(system, name, orbit, to, period, modulo, tolerance, asked)
    found = follow(orbits, name, to, step, most, back, progress, "orbits")
    special = tuple(Special(*one[:3]) for one in found.special if _true(one))
    kept = {**asked, "modulo": modulo, "since": orbits.since}
    return Branch(system, name, found.values, found.whats, special, found.reached, found.message, kept)


def _true(found: Found) -> bool:
    """Neimark–Sacker with a complex pair on the circle, not two real multipliers with the product 1."""
    mu = found.what.nontrivial
    on = np.abs(np.abs(mu) - 1) < 1e-3
    return found.kind != "Neimark–Sacker" or bool((on & (np.abs(mu.imag) > 1e-3)).any())


class _Orbits:
    """The equations of a branch of orbits in x = (z, T, p), in units of `scale`."""

    def __init__(
        self, system: System, parameter: str, orbit: Orbit, to: float, period: Any, modulo: Any, tolerance: float, options: Any
    ):
        self.system, self.parameter, self.orbit, self.to = system, parameter, orbit, to
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.p0 = self.values[parameter]
        self.span = length(self.p0, to)
        self.options, self.modulo, self.tolerance = dict(options), modulo, tolerance
        self.since = float(orbit.motion.t[0])
        self.forced = explicit_time(orbit.motion.run.form)
        self.given = self._period(period)
        size = np.concatenate([np.ptp(orbit.motion.q, axis=0), np.ptp(orbit.motion.v, axis=0)])
        self.nz = len(size)
        floor = max(size.max(initial=0.0), 1e-300)
        self.scale = np.concatenate([np.maximum(size, 1e-2 * floor), [orbit.period, self.span]])

    def _period(self, period: Any) -> Callable[[float], float] | None:
        """T of the parameter where it is prescribed."""
        if not self.forced:
            return None
        if period is None:
            try:
                period = driving_period(self.system)
            except ModelError:
                period = None
        if period is None:
            return lambda p: self.orbit.period
        law = period_law(self.system, period)
        of = lambda p: law({**self.values, self.parameter: p})
        factor = self.orbit.period / of(self.p0)
        if abs(factor - round(factor)) > 1e-6 or round(factor) < 1:
            raise ModelError(f"period = {period} is {of(self.p0):g} s here; {self.orbit.period:g} s is no multiple of it")
        return lambda p: round(factor) * of(p)

    # -- one point -----------------------------------------------------------------------------------------------------

    def _shooting(self, p: float) -> Shooting:
        run = compile(self.system, {**self.values, self.parameter: p}, ready=False, backend=self.options.get("backend", "auto"))
        options = {k: v for k, v in self.options.items() if k != "backend"}
        rtol, atol = options.pop("rtol"), options.pop("atol")
        return Shooting.of(run, since=self.since, modulo=self.modulo, rtol=rtol, atol=atol, by=(self.parameter,), **options)

    def _equations(self, x: Array) -> tuple[Array, Array, Shooting]:
        """F, its Jacobian by x in units of scale, with the rows that fix phase and constraints below."""
        z, T, p = x[: self.nz] * self.scale[: self.nz], x[-2] * self.scale[-2], x[-1] * self.scale[-1]
        shooting = self._shooting(p)
        T = self.given(p) if self.given else T
        rows = shooting.rows([z], T)
        (P, Phi), rate, Psi = rows.matrices[0], rows.rates[0], rows.slopes[0][:, 0]
        S = self.scale[: self.nz]
        if self.given:
            e = 1e-6 * self.span
            Psi = Psi + rate * (self.given(p + e) - self.given(p - e)) / (2 * e)
            T_column = np.zeros(self.nz)
        else:
            T_column = rate * self.scale[-2]
        upper = np.column_stack([(Phi - P) * S, T_column, Psi * self.scale[-1]]) / S[:, None]
        walls = np.column_stack([(np.eye(self.nz) - P) * S / S[:, None], np.zeros((self.nz, 2))])
        begin = shooting.rate(self.since, z)
        phase = np.concatenate([begin * S, [0, 0]]) / max(np.linalg.norm(begin * S), 1e-300)
        fixed = np.zeros(self.nz + 2)
        fixed[-2] = 1.0
        extra = phase if not self.given else fixed
        return rows.gaps[0] / S, np.vstack([upper, walls, extra]), shooting

    def first(self) -> Point:
        """The orbit where the branch begins."""
        z0 = np.array([self.orbit.start[s] for s in (*self.system.positions, *self.system.velocities)])
        x0 = np.concatenate([z0, [self.orbit.period, self.p0]]) / self.scale
        towards = np.zeros(len(x0))
        towards[-1] = np.sign(self.to - self.p0)
        return self.correct(x0, tangent_of(self._equations(x0)[1], towards))

    def correct(self, predicted: Array, tangent: Array) -> Point:
        """The point of the branch on the plane through the prediction."""
        x = predicted.copy()
        before = np.inf
        for k in range(1, NEWTON + 1):
            F, J, shooting = self._equations(x)
            plane = tangent @ (x - predicted)
            size = float(np.abs(F).max(initial=0.0))
            if size <= self.tolerance and abs(plane) < 1e-9 and (size <= 1e-2 * self.tolerance or size > 0.3 * before):
                p = float(x[-1] * self.scale[-1])
                T = self.given(p) if self.given else float(x[-2] * self.scale[-2])
                z = x[: self.nz] * self.scale[: self.nz]
                if self.forced:
                    refuse_other_period(shooting.run, z, self.since, T)
                orbit = shooting.orbit(z, T, size, True, "", autonomous=not self.forced)
                return Point(x, tangent_of(J, tangent), orbit, k)
            if size > 10 * before:
                break
            before = size
            full = np.vstack([J, tangent])
            right = np.concatenate([F, np.zeros(len(J) - len(F)), [plane]])
            x = x + least_squares(full, -right, VARIED_LOST)
            x[: self.nz] = shooting.back(x[: self.nz] * self.scale[: self.nz]) / self.scale[: self.nz]
        raise AppellError("Newton's method does not come back to the branch")

    # -- special orbits ------------------------------------------------------------------------------------------------

    def lost(self, point: Point) -> str | None:
        """What is special where the branch is lost: a blow at a vanishing speed."""
        speeds = [abs(event.before) for event in point.what.motion.impacts if event.kind == "impact"]
        slow = bool(speeds) and min(speeds) < 1e-2 * max(max(speeds), np.abs(point.what.motion.v).max())
        return "grazing" if slow or point.what.grazing else None

    def between(self, here: Point, there: Point) -> list[tuple[str, Callable[[Point], float]]]:
        """What changes between two orbits."""
        if _blows(here) != _blows(there):
            return [("grazing", lambda point: 1.0 if _blows(point) == _blows(here) else -1.0)]
        changes = [kind for kind, test in TESTS.items() if test(here) * test(there) < 0]
        return [(kind, TESTS[kind]) for kind in changes if kind != "branch point" or "fold" not in changes]


def _blows(point: Point) -> int:
    return sum(event.kind == "impact" for event in point.what.motion.impacts)


def _pairs(point: Point) -> float:
    mu = point.what.nontrivial
    pairs = [mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]
    return float(np.prod(pairs).real) if pairs else 1.0


TESTS: dict[str, Callable[[Point], float]] = {
    "fold": lambda point: float(point.tangent[-1]),
    "period doubling": lambda point: float(np.prod(point.what.nontrivial + 1).real) if len(point.what.nontrivial) else 1.0,
    "Neimark–Sacker": _pairs,
    "branch point": lambda point: float(np.prod(point.what.nontrivial - 1).real) if len(point.what.nontrivial) else 1.0,
}
"""Functions of an orbit that change their sign where it is special."""


__all__ = ["Branch", "Special", "continue_orbit"]
