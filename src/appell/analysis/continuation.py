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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.analysis.orbits import Orbit, Shooting, explicit_time, periodic_orbit
from appell.errors import AppellError, ModelError
from appell.jets import expression
from appell.model import System
from appell.model.friction import refuse_friction
from appell.simulate.progress import reporter
from appell.simulate.run import compile

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

NEWTON = 8
"""Steps of Newton's method in which an orbit must be found from its prediction."""
EASY = 3
"""So many steps or fewer, and the next step along the branch may be longer."""
REFINED = 1e-9
"""Share of the range of the parameter to which special orbits are refined."""
LOST = 1e-7
"""Share of the range below which a step along the branch is not shortened any more."""


class Special(NamedTuple):
    """A special orbit of a branch: its kind, the value of the parameter there, and the orbit."""

    kind: str
    value: float
    orbit: Orbit


@dataclass(frozen=True, eq=False)
class Branch:
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

    @cached_property
    def dataset(self) -> xr.Dataset:
        """Period, stability, largest multiplier, largest and smallest value of each coordinate, over the dimension `point`."""
        import xarray as xr

        columns: dict[str, Any] = {
            self.parameter: ("point", self.values),
            "period": ("point", np.array([orbit.period for orbit in self.orbits]), {"units": "s"}),
            "stable": ("point", self.stable),
            "multiplier": ("point", np.array([np.abs(orbit.nontrivial).max(initial=0.0) for orbit in self.orbits])),
        }
        for i, q in enumerate(self.system.coordinates):
            columns[f"{q}_max"] = ("point", np.array([orbit.motion.q[:, i].max() for orbit in self.orbits]))
            columns[f"{q}_min"] = ("point", np.array([orbit.motion.q[:, i].min() for orbit in self.orbits]))
        return xr.Dataset(columns, attrs={"system": self.system.name, "message": self.message})

    def plot(self, of: Callable[[Orbit], float] | None = None, ax: Any = None) -> Any:
        """A number of each orbit over the parameter, by default the largest value of the first coordinate; the figure."""
        from appell.show.lab import branch_curve

        q = self.system.coordinates[0]
        name = f"largest {q}" if of is None else ""
        return branch_curve(self, of or (lambda orbit: float(orbit.motion.q[:, 0].max())), name, ax)

    def switch(self, k: int, *, size: float = 1e-2) -> Orbit:
        """The orbit of twice the period that begins at special[k], a period doubling, `size` times its extent away from it."""
        if not 0 <= k < len(self.special):
            raise ModelError(f"this branch has {len(self.special)} special orbits; special[{k}] is none of them")
        point = self.special[k]
        if point.kind != "period doubling":
            raise ModelError(f"special[{k}] is a {point.kind}: branches are switched at a period doubling")
        return _doubled(self, point, size)

    def __str__(self) -> str:
        found = ", ".join(f"{s.kind} at {self.parameter} = {s.value:.6g}" for s in self.special) or "no special orbits"
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"{len(self.orbits)} orbits of '{self.system.name}', {span}: {found}; {self.message}"


def continue_orbit(
    system: System,
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
    period: for forced systems, T as an expression of the parameters (2*pi/omega) where it changes with `parameter`.
    modulo and tolerances are those of `ap.periodic_orbit`.
    """
    refuse_friction(system, "ap.continue_orbit")
    if not isinstance(orbit, Orbit):
        raise ModelError(f"continue_orbit begins at what ap.periodic_orbit returns, not at {type(orbit).__name__}")
    if not orbit.ok:
        raise ModelError(f"the orbit is not closed: {orbit.message}")
    names = {str(p): p for p in system.parameters}
    if str(parameter) not in names:
        raise ModelError(f"{parameter} is no parameter of '{system.name}'; it has {', '.join(names) or 'none'}")
    walk = _Walk(system, str(parameter), orbit, float(to), period, modulo, tolerance, {"rtol": rtol, "atol": atol, **options})
    return walk.along(step, most, back, progress)


class _Point(NamedTuple):
    """One corrected point x = (z, T, p) in units of `scale`, the tangent there, and the orbit."""

    x: Array
    tangent: Array
    orbit: Orbit
    steps: int


class _Walk:
    """The equations of a branch and the walk along it."""

    def __init__(
        self, system: System, parameter: str, orbit: Orbit, to: float, period: Any, modulo: Any, tolerance: float, options: Any
    ):
        self.system, self.parameter, self.orbit, self.to = system, parameter, orbit, to
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.p0 = self.values[parameter]
        self.span = abs(to - self.p0)
        if not self.span > 0 or not np.isfinite(to):
            raise ModelError(f"to = {to:g} is where the branch begins")
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
            return lambda p: self.orbit.period
        law_of_period = expression(period, "period=")
        symbols = sorted(law_of_period.free_symbols, key=str)
        strange = [str(s) for s in symbols if str(s) not in self.values]
        if strange:
            raise ModelError(f"period= contains {strange[0]}, which is no parameter of '{self.system.name}'")
        value = sympy.lambdify(symbols, law_of_period)
        law = lambda p: float(value(*(p if str(s) == self.parameter else self.values[str(s)] for s in symbols)))
        factor, now = self.orbit.period / law(self.p0), law(self.p0)
        if abs(factor - round(factor)) > 1e-6 or round(factor) < 1:
            raise ModelError(f"period = {law_of_period} is {now:g} s here; {self.orbit.period:g} s is no multiple of it")
        return lambda p: round(factor) * law(p)

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

    def _kernel(self, J: Array, like: Array | None) -> Array:
        _, s, Vt = np.linalg.svd(J)
        s = np.append(s, np.zeros(Vt.shape[0] - len(s)))
        flat = Vt[s <= max(1e-7 * s[0], 30 * s[-1] if len(s) and s[-1] < 1e-6 else 0)]
        candidates = flat if len(flat) else Vt[-1:]
        if like is None:
            towards = np.zeros(J.shape[1])
            towards[-1] = np.sign(self.to - self.p0)
        else:
            towards = like
        tangent = candidates.T @ (candidates @ towards)
        if np.linalg.norm(tangent) < 1e-9:
            tangent = candidates[-1]
        tangent = tangent / np.linalg.norm(tangent)
        return tangent if tangent @ towards >= 0 else -tangent

    def correct(self, predicted: Array, tangent: Array) -> _Point:
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
                orbit = shooting.orbit(z, T, size, True, "", autonomous=not self.forced)
                return _Point(x, self._kernel(J, tangent), orbit, k)
            if size > 10 * before:
                break
            before = size
            full = np.vstack([J, tangent])
            right = np.concatenate([F, np.zeros(len(J) - len(F)), [plane]])
            x = x + np.linalg.lstsq(full, -right, rcond=1e-9)[0]
            x[: self.nz] = shooting.back(x[: self.nz] * self.scale[: self.nz]) / self.scale[: self.nz]
        raise AppellError("Newton's method does not come back to the branch")

    # -- the walk ------------------------------------------------------------------------------------------------------

    def along(self, step: float | None, most: int, back: float | None, progress: Any) -> Branch:
        z0 = np.array([self.orbit.start[s] for s in (*self.system.coordinates, *self.system.velocities)])
        x0 = np.concatenate([z0, [self.orbit.period, self.p0]]) / self.scale
        first = self._kernel(self._equations(x0)[1], None)
        points = [self.correct(x0, first)]
        special: list[Special] = []
        ds, message = 0.02 if step is None else float(step), ""
        low, high = sorted((self.p0 if back is None else float(back), self.to))
        report = reporter(progress, self.p0, self.to)
        while len(points) < most and not message:
            here = points[-1]
            try:
                there = self.correct(here.x + ds * here.tangent, here.tangent)
                if here.tangent @ there.tangent < 0.7 and ds > 1e-3:
                    raise AppellError("the branch turns too sharply")
            except AppellError as error:
                ds /= 2
                if ds < LOST:
                    message = f"the branch is lost at {self.parameter} = {self._p(here):.9g}: {error}"
                    if here.orbit.grazing or self._near_graze(here):
                        special.append(Special("grazing", self._p(here), here.orbit))
                continue
            there, ended = self._cut(here, there, ds, low, high)
            special += self._between(here, there, ds)
            points.append(there)
            if report is not None:
                report(self._p(there))
            if ended:
                break
            ds = min(1.5 * ds, 0.1) if there.steps <= EASY else ds
        if report is not None:
            report.close()
        reached = abs(self._p(points[-1]) - self.to) <= 1e-9 * self.span
        if not message and not reached:
            turned = len(points) < most
            came_back = f"the branch came back to {self.parameter} = {self._p(points[-1]):.6g}"
            message = came_back if turned else f"{most} orbits were found"
        values = np.array([self._p(point) for point in points])
        orbits = tuple(point.orbit for point in points)
        options = {**self.options, "modulo": self.modulo, "since": self.since}
        return Branch(self.system, self.parameter, values, orbits, tuple(special), reached, message or "complete", options)

    def _p(self, point: _Point) -> float:
        return float(point.x[-1] * self.scale[-1])

    def _cut(self, here: _Point, there: _Point, ds: float, low: float, high: float) -> tuple[_Point, bool]:
        """The last point lies on the end of the range."""
        p = self._p(there)
        if low <= p <= high:
            return there, abs(p - self.to) <= 1e-12 * self.span
        end = low if p < low else high
        a, b = 0.0, ds
        pa, pb = self._p(here) - end, p - end
        for _ in range(30):
            middle = np.clip(b - pb * (b - a) / (pb - pa), min(a, b), max(a, b)) if pb != pa else b
            there = self.correct(here.x + middle * here.tangent, here.tangent)
            f = self._p(there) - end
            if abs(f) <= 1e-10 * self.span:
                break
            if np.sign(f) == np.sign(pa):
                a, pa, pb = middle, f, pb / 2
            else:
                b, pb, pa = middle, f, pa / 2
        return there, True

    # -- special orbits ------------------------------------------------------------------------------------------------

    def _count(self, point: _Point) -> int:
        return sum(event.kind == "impact" for event in point.orbit.motion.impacts)

    def _near_graze(self, point: _Point) -> bool:
        speeds = [abs(event.before) for event in point.orbit.motion.impacts if event.kind == "impact"]
        return bool(speeds) and min(speeds) < 1e-2 * max(max(speeds), np.abs(point.orbit.motion.v).max())

    def _tests(self, point: _Point) -> dict[str, float]:
        mu = point.orbit.nontrivial
        pairs = [mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]
        return {
            "fold": float(point.tangent[-1]),
            "period doubling": float(np.prod(mu + 1).real) if len(mu) else 1.0,
            "Neimark–Sacker": float(np.prod(pairs).real) if pairs else 1.0,
            "branch point": float(np.prod(mu - 1).real) if len(mu) else 1.0,
        }

    def _between(self, here: _Point, there: _Point, ds: float) -> list[Special]:
        if self._count(here) != self._count(there):
            return [self._bisected("grazing", here, there, ds, lambda point: self._count(point) == self._count(here))]
        one, two, found = self._tests(here), self._tests(there), []
        for kind in one:
            if not one[kind] * two[kind] < 0 or (kind == "branch point" and one["fold"] * two["fold"] < 0):
                continue
            same = lambda point, kind=kind: self._tests(point)[kind] * one[kind] > 0
            special = self._bisected(kind, here, there, ds, same)
            pair = np.abs(np.abs(special.orbit.nontrivial) - 1) < 1e-3
            if kind == "Neimark–Sacker" and not (pair & (np.abs(special.orbit.nontrivial.imag) > 1e-3)).any():
                continue  # two real multipliers with the product 1
            found.append(special)
        return found

    def _bisected(self, kind: str, here: _Point, there: _Point, ds: float, same: Callable[[_Point], bool]) -> Special:
        """The orbit at which a test changes, by halving the step along the branch."""
        low, high, best = 0.0, ds, there
        for _ in range(34):
            if (high - low) < REFINED:
                break
            middle = (low + high) / 2
            try:
                point = self.correct(here.x + middle * here.tangent, here.tangent)
            except AppellError:
                break
            low, high = (middle, high) if same(point) else (low, middle)
            best = point
        return Special(kind, self._p(best), best.orbit)


def _doubled(branch: Branch, point: Special, size: float) -> Orbit:
    """Twice the period, from the direction of the multiplier −1; on the side of the parameter where it exists."""
    beside = point.orbit.variations
    U, s, _ = np.linalg.svd(beside.state[0])
    B = U[:, s > 0.5]
    values, vectors = np.linalg.eig(B.T @ beside.monodromy @ B)
    direction = np.real(B @ vectors[:, int(np.argmin(np.abs(values + 1)))])
    direction = direction / np.linalg.norm(direction)
    symbols = (*branch.system.coordinates, *branch.system.velocities)
    z = np.array([point.orbit.start[s] for s in symbols])
    extent = np.concatenate([np.ptp(point.orbit.motion.q, axis=0), np.ptp(point.orbit.motion.v, axis=0)])
    reach = float(np.abs(branch.values - point.value).max()) or 1.0
    options = {k: v for k, v in branch.options.items() if k != "since"}
    why = ""
    for share in (1e-3, -1e-3, 1e-2, -1e-2, 3e-2, -3e-2):
        values_there = {**{str(k): v for k, v in point.orbit.parameters.items()}, branch.parameter: point.value + share * reach}
        for kick in (size, 4 * size, 16 * size):
            guess = dict(zip(symbols, z + kick * np.linalg.norm(extent) * direction, strict=True))
            T = 2 * point.orbit.period
            asked = {"period_guess": T} if point.orbit.autonomous else {"period": T}
            try:
                found = periodic_orbit(
                    branch.system, guess=guess, parameters=values_there, since=branch.options["since"], **asked, **options
                )
            except AppellError as error:
                why = str(error)
                continue
            if found.ok and _is_new(found):
                return found
    raise ModelError(f"no orbit of twice the period was found near {branch.parameter} = {point.value:.6g} {why}".strip())


def _is_new(orbit: Orbit) -> bool:
    """Whether it is not the old orbit run twice: half a period later it is elsewhere."""
    t0 = float(orbit.motion.t[0])
    half = orbit.motion.at([t0, t0 + orbit.period / 2])
    gap = np.concatenate([half.q[1] - half.q[0], half.v[1] - half.v[0]])
    extent = np.concatenate([np.ptp(orbit.motion.q, axis=0), np.ptp(orbit.motion.v, axis=0)])
    return bool((np.abs(gap) > 1e-4 * np.maximum(extent, 1e-12 * extent.max(initial=0.0))).any())


__all__ = ["Branch", "Special", "continue_orbit"]
