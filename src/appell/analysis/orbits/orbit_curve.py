"""The equations of a curve of special orbits in x = (z, T, a, b), of branch points in x = (z, T, η, a, b).

    z(T; z₀, a, b) − z₀ = 0,        ψ(z₀, T, a, b) = 0

    fold               p(1), p(λ) = det(P − λ); for an autonomous orbit, which already has one multiplier 1, p'(1)
    period doubling    det(P + 1)
    Neimark–Sacker     Π_{i<j} (μ_i μ_j − 1), without the trivial μ = 1
    branch point       `bordered`
    grazing            the smallest distance from the face, or of the guard, that it touches, in the system without it

P = ∂z(T)/∂z₀ on the constraints. The derivatives of the first line come from `variations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import driving_period, explicit_time, period_law
from appell.analysis.orbits.bordered import Borders, borders_of, branch_point_tests, refuse_dissolved
from appell.analysis.orbits.codimension_two import ENDS, CurveStep, SecondTest, is_genuine, tests_along
from appell.analysis.orbits.curve_walk import CurveState, ranges_of
from appell.analysis.orbits.grazing import why_grazing
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.phase_of_section import roomy_instant
from appell.analysis.orbits.shooting import Shooting, closing_options, has_rows
from appell.analysis.orbits.turn_symmetry import refuse_unless_turns
from appell.analysis.orbits.untouched import untouched
from appell.analysis.orbits.variations import variations
from appell.compiled.compiling import compile
from appell.errors import AppellError
from appell.rows import range_of_projection

Array = NDArray[np.float64]


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
ORBIT_CURVES = (*DEFINING, "branch point", "grazing")
"""Kinds of special orbits continued by these equations."""


def _breaks(orbit: Orbit) -> bool:
    """Whether the multiplier of a symmetric orbit at a branch point is −1: a symmetry breaking."""
    return bool(np.abs(orbit.closing + 1).min(initial=np.inf) < np.abs(orbit.closing - 1).min(initial=np.inf))


def response_of(orbit: Orbit, names: tuple[str, str]) -> Array | None:
    """|∂z(T)/∂p| of two parameters in units of the size of the orbit, (2,); None where there is no derivative."""
    begin = float(orbit.motion.t[0])
    try:
        derivatives = variations(orbit.motion, by=names, times=[begin, begin + orbit.period])
    except AppellError:
        return None
    if not derivatives.complete or not len(derivatives.parameters):
        return None
    return np.linalg.norm(derivatives.parameters[-1] / orbit.scale[:, None], axis=0)


class Shot(NamedTuple):
    """One period from a state: its equations, T and their results."""

    shooting: Shooting
    T: float
    size: float


class OrbitCurve:
    """The equations of one kind of special orbits, in units of `scale`."""

    def __init__(
        self, kind: str, orbit: Orbit, names: tuple[str, str], to: float, period: Any, modulo: Any,
        options: Mapping[str, Any],
    ):  # fmt: skip
        self.touched = untouched(orbit) if kind == "grazing" else None
        self.system = orbit.system if self.touched is None else self.touched.system
        self.kind, self.names, self.to, self.symmetry = kind, names, to, orbit.symmetry
        self.breaking = kind == "branch point" and self.symmetry is not None and _breaks(orbit)
        self.modulo, self.options = modulo, closing_options(orbit, options)
        self.values = {str(k): float(v) for k, v in orbit.parameters.items()}
        self.forced = explicit_time(orbit.motion.run)
        since = roomy_instant(orbit.motion, orbit.period)
        self.since = float(orbit.motion.t[0]) if since is None else since
        state = orbit.motion.at(self.since)
        z0 = np.concatenate([state.q[0], state.v[0]])
        a, b = (self.values[name] for name in names)
        self.nz, extra = len(z0), [0.0] if kind == "branch point" and not self.breaking else []
        ranges = ranges_of(a, b, to, names[1], response_of(orbit, names))
        self.scale = np.concatenate([orbit.scale, [orbit.period], np.ones(len(extra)), ranges])
        self.x0 = np.concatenate([z0, [orbit.period], extra, [a, b]]) / self.scale
        self.period_law = self._period(period, orbit)
        self.passive = ((self.nz,) if self.period_law else ()) + ((self.nz + 1,) if extra else ())
        self.borders: Borders | None = None

    def _period(self, period: Any, orbit: Orbit) -> Callable[[Array], float] | None:
        """T as a function of the parameters, if prescribed."""
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
        shooting = Shooting.of(
            run, since=self.since, modulo=self.modulo, by=self.names, symmetry=self.symmetry, **self.options
        )
        shooting.sought = self.scale[: self.nz]
        return shooting

    def evaluate(self, x: Array) -> CurveState:
        """F, followed by the rows that fix phase and constraints, and ψ."""
        y, nz = x * self.scale, self.nz
        z, ab = y[:nz], y[-2:]
        T = self.period_law(ab) if self.period_law else float(y[nz])
        shooting = self._shooting(ab)
        rows = shooting.rows([z], T)
        (P0, Phi), rate, Psi = rows.matrices[0], rows.rates[0], rows.slopes[0]
        S = self.scale[:nz]
        if self.period_law:
            e = 1e-6 * self.scale[-2:]
            turn = [(self.period_law(ab + d) - self.period_law(ab - d)) / (2 * d.max()) for d in np.diag(e)]
            Psi = Psi + np.outer(rate, turn)
        T_column = np.zeros(nz) if self.period_law else rate * self.scale[nz] / S
        phase = np.zeros(nz + 1)
        if self.period_law:
            phase[-1] = 1.0
        else:
            begin = shooting.rate(self.since, z)
            phase[:nz] = begin * S / max(np.linalg.norm(begin * S), 1e-300)
        scaled = lambda A: A * S / S[:, None]
        by_ab, F = Psi * self.scale[-2:] / S[:, None], rows.gaps[0] / S
        begin_ab = rows.begins[0] * self.scale[-2:] / S[:, None]  # constraints may move with the parameters
        upper = np.column_stack([scaled(Phi - P0), T_column])
        admitted = np.column_stack([scaled(np.eye(nz) - P0), np.zeros(nz)])
        psi, eta_column = self._psi(z, P0, Phi, T, shooting, np.vstack([upper - admitted, phase]), by_ab + begin_ab)
        J = np.vstack([upper, admitted, phase])
        extra_rows = len(J) - nz
        columns = [J, np.vstack([by_ab, -begin_ab, np.zeros((1, 2))])]
        if len(eta_column):
            columns.insert(1, np.append(eta_column, np.zeros(extra_rows))[:, None])
            F = F + eta_column * x[nz + 1]
        J = np.hstack(columns)
        return CurveState(F, J, psi, Shot(shooting, T, float(np.abs(rows.gaps[0] / S).max(initial=0.0))))

    def _psi(
        self, z: Array, P0: Array, Phi: Array, T: float, shooting: Shooting, M: Array, by_ab: Array
    ) -> tuple[Array, Array]:  # fmt: skip
        """ψ, and the direction by which F is perturbed, (nz,), or (0,); M: derivative of F and phase by (z, T)."""
        if self.kind == "branch point" and not self.breaking:
            self.borders = borders_of(M) if self.borders is None else self.borders
            return branch_point_tests(M, np.append(by_ab[:, 0], 0.0), self.borders), self.borders.phi[: self.nz]
        if self.touched is not None:
            return np.array([self.touched.least(shooting.shot(z, self.since, self.since + T))]), np.zeros(0)
        B = range_of_projection(P0)
        defining = DEFINING["period doubling" if self.breaking else self.kind]
        return np.array([defining(B.T @ Phi @ B, not self.forced)]), np.zeros(0)

    def record(self, x: Array, state: CurveState) -> Orbit:
        shot: Shot = state.source
        if self.kind == "branch point" and not self.breaking:
            refuse_dissolved(x[self.nz + 1], self.names[1])
        z = x[: self.nz] * self.scale[: self.nz]
        refuse_unless_turns(shot.shooting.run, shot.shooting.turns, z, self.since, shot.T)
        return shot.shooting.orbit([z], shot.T, shot.size, True, "", autonomous=not self.forced)

    def lost(self, step: CurveStep) -> str:
        touches = self.kind != "grazing" and (self.system.unilateral or self.system.resets)
        return (why_grazing(step.record.motion) or "") if touches else ""

    def projected(self, x: Array) -> Array:
        if not has_rows(self.system):
            return x
        S = self.scale[: self.nz]
        shooting = self._shooting(x[-2:] * self.scale[-2:])
        return np.concatenate([shooting.projected(x[: self.nz] * S) / S, x[self.nz :]])

    def tests(self, tangent: Array) -> Mapping[str, SecondTest]:
        return tests_along(self.kind, tangent)

    def is_genuine(self, name: str, step: CurveStep) -> bool:
        return is_genuine(name, step)

    def ended(self, step: CurveStep, second: str) -> str:
        """Why the curve ends at a point."""
        if self.kind == "Neimark–Sacker" and second in ENDS:
            return f"it ends in a {second}: behind it no pair is on the unit circle"
        return ""


__all__ = ["ORBIT_CURVES", "OrbitCurve", "response_of"]
