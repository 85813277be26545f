"""Special orbits over two parameters: the curve on which a fold, a period doubling, a Neimark–Sacker point or a grazing orbit
stays one.

    z(T; z₀, a, b) − z₀ = 0,        ψ(z₀, T, a, b) = 0

    fold               p(1), p(λ) = det(P − λ); of an autonomous orbit, which has one multiplier 1 already, p'(1)
    period doubling    det(P + 1)
    Neimark–Sacker     Π_{i<j} (μ_i μ_j − 1), without the trivial μ = 1
    grazing            the least distance from the face, or of the guard of the reset, that it touches, in the system without it

P = ∂z(T)/∂z₀ on what the constraints allow. Both are continued together by pseudo-arclength in (z₀, T, a, b); the slopes of the
first come from `variations`, those of ψ from differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import driving_period, explicit_time, period_law
from appell.analysis.orbits.arclength import tangent_of
from appell.analysis.orbits.codimension_two import ENDS, CodimensionTwo, CurveStep, second_between
from appell.analysis.orbits.continuation import Special
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.phase_of_section import roomy_instant
from appell.analysis.orbits.refining import FAILURES
from appell.analysis.orbits.shooting import Shooting
from appell.analysis.orbits.untouched import untouched
from appell.analysis.result import Result, parameter_named, parameter_variable
from appell.compiled.run import compile
from appell.delegates import delegate
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.reading import finite, items_of, whole
from appell.rows import VARIED_LOST, least_squares, range_of_projection

Array = NDArray[np.float64]

STEP_OF_TESTS = 1e-5
"""Of the slopes of ψ, in units of the orbit and of the ranges: ψ has about ten digits."""
CURVE_NEWTON = 10
CURVE_CLOSED = 1e-9
"""Residuals of the orbit, in units of its size, and of ψ that count as zero."""
SHORTEST_CURVE_STEP = 1e-4


def _fold(P: Array, autonomous: bool) -> float:
    if not autonomous:
        return float(np.linalg.det(P - np.eye(len(P))))
    shifted = np.poly(P - np.eye(len(P)))  # characteristic polynomial about 1: its last coefficient is p(1)
    return float(shifted[-2].real)


def _period_doubling(P: Array, autonomous: bool) -> float:
    return float(np.linalg.det(P + np.eye(len(P))))


def _neimark_sacker(P: Array, autonomous: bool) -> float:
    mu = np.linalg.eigvals(P)
    mu = np.delete(mu, int(np.argmin(np.abs(mu - 1)))) if autonomous else mu
    return float(np.prod([mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]).real)


DEFINING: dict[str, Callable[[Array, bool], float]] = {
    "fold": _fold,
    "period doubling": _period_doubling,
    "Neimark–Sacker": _neimark_sacker,
}
"""ψ of P, and whether the orbit is autonomous."""


SEVERAL = {
    "fold": "folds",
    "period doubling": "period doublings",
    "Neimark–Sacker": "Neimark–Sacker points",
    "grazing": "grazing orbits",
}


@dataclass(frozen=True, eq=False, repr=False)
class SpecialCurve(Result):
    """A curve of special orbits in two parameters; `ap.continue_curve` makes it.

    Attributes
    ----------
    kind: of the special orbits; parameters: names of the two; values: (n, 2); orbits: one at each point.
    residuals: (n,) |ψ| of the defining equation. A grazing orbit is one of the system without what it touches.
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

    def variables(self) -> Mapping[str, Any]:
        """Both parameters, the period and the residual over the dimension `point`."""
        names = self.parameters
        columns: dict[str, Any] = {name: parameter_variable("point", name, self.values[:, k]) for k, name in enumerate(names)}
        columns["period"] = ("point", np.array([orbit.period for orbit in self.orbits]), {"units": "s", "long_name": "period"})
        columns["residual"] = ("point", self.residuals, {"units": "1", "long_name": "residual of the defining equation"})
        return columns

    def plot(self, ax: Any = None) -> Any:
        """The curve in the plane of its parameters, the first one to the right; the figure. Give `ax` for several curves."""
        return delegate("SpecialCurve.plot")(self.values, self.kind, self.crossings, self.parameters, ax)

    def __str__(self) -> str:
        a, b = self.parameters
        curve = f"the curve of {SEVERAL[self.kind]} of '{self.system.name}' over {a} and {b}"
        second = ", ".join(f"{one.kind} at ({one.values[0]:.6g}, {one.values[1]:.6g})" for one in self.crossings)
        return f"{len(self.orbits)} points of {curve}: {f'{second}; ' if second else ''}{self.message}"


def continue_curve(
    special: Special,
    parameters: tuple[Any, Any],
    to: float,
    *,
    period: Any = None,
    modulo: Mapping[Any, float] | None = None,
    step: float = 0.05,
    max_step: float = 0.2,
    most: int = 200,
    rtol: float = 1e-11,
    atol: float = 1e-13,
    **options: Any,
) -> SpecialCurve:
    """The curve of special orbits over two parameters through one that a branch has found.

    Parameters
    ----------
    special: a fold, period doubling, Neimark–Sacker point or grazing orbit of `ap.continue_orbit`, refined.
    parameters: the two that run, symbols or names, (a, b): that of the branch and another one.
    to: the value of b towards which the curve is followed, and at which it ends.
    step, max_step: first and longest step, shares of the orbit's size and of the ranges.
    period: for forced systems, T as an expression of the parameters; that of the forcing where it is plain.
    Other options are those of `ap.simulate`.
    """
    if not isinstance(special, Special):
        raise ModelError(f"continue_curve begins at a special orbit, branch.special[k], not at {type(special).__name__}")
    if special.kind not in (*DEFINING, "grazing"):
        known = ", ".join((*DEFINING, "grazing"))
        raise ModelError(f"curves of kind '{special.kind}' are not followed yet; these are: {known}")
    if not special.refined:
        raise ModelError(f"the {special.kind} was seen but not found (residual {special.residual:.1e}); follow its branch")
    system = special.orbit.system
    names = tuple(parameter_named(system, one, "parameters=") for one in items_of(parameters, "parameters="))
    if len(names) != 2 or names[0] == names[1]:
        raise ModelError("parameters= are two different ones, (a, b)")
    curve = _Curve(system, special, (names[0], names[1]), finite(to, "to="), period, modulo, (rtol, atol), options)
    return curve.follow(finite(step, "step="), finite(max_step, "max_step="), whole(most, "most=", 1))


class _Curve:
    """The equations in x = (z, T, a, b), in units of `scale`."""

    def __init__(
        self, system: System, special: Special, names: tuple[str, str], to: float, period: Any, modulo: Any,
        tolerances: tuple[float, float], options: Mapping[str, Any],
    ):  # fmt: skip
        orbit = special.orbit
        self.touched = untouched(orbit) if special.kind == "grazing" else None
        system = system if self.touched is None else self.touched.system
        self.system, self.kind, self.names, self.to = system, special.kind, names, to
        self.modulo, self.tolerances, self.options = modulo, tolerances, dict(options)
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.forced = explicit_time(orbit.motion.run)
        since = roomy_instant(orbit.motion, orbit.period)
        self.since = float(orbit.motion.t[0]) if since is None else since
        state = orbit.motion.at(self.since)
        z0 = np.concatenate([state.q[0], state.v[0]])
        size = np.concatenate([np.ptp(orbit.motion.q, axis=0), np.ptp(orbit.motion.v, axis=0)])
        a, b = (self.values[name] for name in names)
        ranges = [max(abs(a), 0.1 * abs(to - b)), abs(to - b)]
        if not ranges[1] > 0:
            raise ModelError(f"to = {to:g} is where the curve begins; give another value of {names[1]}")
        self.nz = len(z0)
        self.scale = np.concatenate([np.maximum(size, 1e-2 * size.max()), [orbit.period], ranges])
        self.x0 = np.concatenate([z0, [orbit.period, a, b]]) / self.scale
        self.given = self._period(period, orbit)

    def _period(self, period: Any, orbit: Orbit) -> Callable[[Array], float] | None:
        """T of the parameters where it is prescribed."""
        if not self.forced:
            return None
        period = driving_period(self.system) if period is None else period
        law = period_law(self.system, period)
        of = lambda ab: law({**self.values, **dict(zip(self.names, map(float, ab), strict=True))})
        factor = round(orbit.period / of([self.values[name] for name in self.names]))
        return lambda ab: factor * of(ab)

    def _shooting(self, ab: Array) -> Shooting:
        values = {**self.values, **dict(zip(self.names, map(float, ab), strict=True))}
        run = compile(self.system, values, ready=False)
        rtol, atol = self.tolerances
        return Shooting.of(run, since=self.since, modulo=self.modulo, rtol=rtol, atol=atol, by=self.names, **self.options)

    def _at(self, x: Array) -> tuple[Array, Array, float, Shooting, float]:
        """F, its Jacobian in units of scale with the rows that fix phase and constraints below, ψ, and where it was asked."""
        y = x * self.scale
        z, ab = y[: self.nz], y[-2:]
        T = self.given(ab) if self.given else float(y[-3])
        shooting = self._shooting(ab)
        rows = shooting.rows([z], T)
        (P0, Phi), rate, Psi = rows.matrices[0], rows.rates[0], rows.slopes[0]
        S = self.scale[: self.nz]
        if self.given:
            e = 1e-6 * self.scale[-2:]
            turn = [(self.given(ab + d) - self.given(ab - d)) / (2 * d.max()) for d in np.diag(e)]
            Psi = Psi + np.outer(rate, turn)
        T_column = np.zeros(self.nz) if self.given else rate * self.scale[-3]
        upper = np.column_stack([(Phi - P0) * S, T_column, Psi * self.scale[-2:]]) / S[:, None]
        walls = np.column_stack([(np.eye(self.nz) - P0) * S / S[:, None], np.zeros((self.nz, 3))])
        extra = np.zeros(self.nz + 3)
        if self.given:
            extra[-3] = 1.0
        else:
            begin = shooting.rate(self.since, z)
            extra[: self.nz] = begin * S / max(np.linalg.norm(begin * S), 1e-300)
        if self.touched is None:
            B = range_of_projection(P0)
            psi = DEFINING[self.kind](B.T @ Phi @ B, not self.forced)
        else:
            psi = self.touched.least(shooting.shot(z, self.since, self.since + T))
        return rows.gaps[0] / S, np.vstack([upper, walls, extra]), psi, shooting, T

    def _psi_slope(self, x: Array, psi: float) -> Array:
        """∂ψ/∂x by differences; T of a forced orbit moves with the parameters."""
        slope = np.zeros(len(x))
        for k in range(len(x)):
            if self.given and k == self.nz:
                continue
            moved = x.copy()
            moved[k] += STEP_OF_TESTS
            slope[k] = (self._at(moved)[2] - psi) / STEP_OF_TESTS
        return slope

    def _correct(self, predicted: Array, tangent: Array) -> CurveStep:
        """The point on the plane through a prediction."""
        x, slope = predicted.copy(), None
        for k in range(CURVE_NEWTON):
            F, J, psi, shooting, T = self._at(x)
            plane = float(tangent @ (x - predicted))
            size = float(np.abs(F).max(initial=0.0))
            slope = self._psi_slope(x, psi) if slope is None or k < 3 else slope
            steep = max(float(np.linalg.norm(slope)), 1e-12)
            if size <= CURVE_CLOSED and abs(psi) <= CURVE_CLOSED * max(1.0, steep) and abs(plane) < 1e-8:
                worst = float(np.abs(F).max(initial=0.0))
                orbit = shooting.orbit(x[: self.nz] * self.scale[: self.nz], T, worst, True, "", autonomous=not self.forced)
                return CurveStep(x, tangent_of(np.vstack([J, slope / steep]), tangent), orbit, abs(psi))
            full = np.vstack([J, slope / steep, tangent])
            right = np.concatenate([F, np.zeros(len(J) - len(F)), [psi / steep, plane]])
            x = x + least_squares(full, -right, VARIED_LOST)
            x[: self.nz] = shooting.back(x[: self.nz] * self.scale[: self.nz]) / self.scale[: self.nz]
        raise AppellError("Newton's method does not come back to the curve")

    def follow(self, step: float, max_step: float, most: int) -> SpecialCurve:
        towards = np.zeros(len(self.x0))
        towards[-1] = np.sign(self.to - self.x0[-1] * self.scale[-1])
        _, J, psi, *_ = self._at(self.x0)
        slope = self._psi_slope(self.x0, psi)
        first = tangent_of(np.vstack([J, slope / max(float(np.linalg.norm(slope)), 1e-12)]), towards)
        here = self._correct(self.x0, first)
        found, second = [here], []
        message, ok = f"{most} points were found", False
        while len(found) < most and not ok:
            try:
                there = self._correct(here.x + step * here.tangent, here.tangent)
                if float(there.tangent @ here.tangent) < 0.8:  # it turns too fast
                    raise AppellError("the curve turns")
                if ok := bool((there.x[-1] * self.scale[-1] - self.to) * towards[-1] >= 0):
                    there = self._end(here.x, there.x, towards)
                    message = "complete"
                crossed = second_between(self.kind, self._correct, here, there, self.scale[-2:])
            except FAILURES as error:
                step, ok = step / 2, False
                if step < SHORTEST_CURVE_STEP:
                    message = f"the curve goes no further: {error}"
                    break
                continue
            for point, at in crossed:
                second.append(point)
                if self.kind == "Neimark–Sacker" and point.kind in ENDS:
                    ok, there, message = True, at, f"it ends in a {point.kind}: behind it no pair is on the unit circle"
                    break
            here = there
            found.append(here)
            step = min(1.4 * step, max_step)
        return self._made(found, second, ok, message)

    def _end(self, before: Array, behind: Array, towards: Array) -> CurveStep:
        """The point at which the second parameter has its last value, between two points of the curve."""
        share = (self.to / self.scale[-1] - before[-1]) / (behind[-1] - before[-1])
        found = self._correct(before + share * (behind - before), np.abs(towards))
        ahead = found.tangent if float(found.tangent @ (behind - before)) >= 0 else -found.tangent
        return found._replace(tangent=ahead)

    def _made(self, found: list[CurveStep], second: list[CodimensionTwo], ok: bool, message: str) -> SpecialCurve:
        values = np.array([one.x[-2:] * self.scale[-2:] for one in found])
        orbits, residuals = tuple(one.orbit for one in found), np.array([one.psi for one in found])
        return SpecialCurve(self.system, self.kind, self.names, values, orbits, residuals, tuple(second), ok, message)


__all__ = ["SpecialCurve", "continue_curve"]
