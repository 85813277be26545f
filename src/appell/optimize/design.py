"""Design: parameters and start values that minimise a goal over simulated motions, with any impacts, contacts and stick–slip.

    min_θ φ(z(t_1; θ), …, ∫ F dt, θ)        z(t; θ) by `ap.simulate`,  ∂z/∂θ by `ap.variations`

No phases are prescribed: the motion is simulated with each θ through all its events, with exact derivatives. Where the sequence
of events changes with θ, the goal has a kink or a jump; a minimum is found within one sequence, and further attempts start in
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.optimize import minimize as least_of

from appell.backends import silence
from appell.errors import ModelError
from appell.graph.stopped_by_hand import SolverWatch
from appell.jets import StateVariable
from appell.motion.motion import Motion
from appell.optimize.experiments import Channel, Experiment
from appell.optimize.goals import InstantValue, TimeIntegral, at
from appell.optimize.lost_inertia import lost_by_design
from appell.optimize.plan import Attempt, ControlTable, MotionPlan
from appell.optimize.prediction import Predicted, Prediction, Unknown, in_own_units
from appell.optimize.state_sizes import StateSizes, inertia_roots
from appell.optimize.steering_request import BoundedExpression, SteeringRequest

Array = NDArray[np.float64]

DESIGN_TOLERANCE = 1e-10
"""Tolerance of the simulated motions: their errors must stay far below the differences in the goal that a search relies on."""
FACTOR_OF_DESIGNS = 3.0
"""Further attempts multiply or divide first guesses by up to this factor where there are no finite bounds."""
MORE_DESIGNS = 4
"""Further guesses tried in any case if the first one fails: another sequence of impacts may work."""
FLAT = 1e-4
"""Gradient accepted as zero at a minimum: change of the goal over the size of an unknown, relative to the goal at the first
guess."""
ROW_MET = 1e-6
"""A condition may be violated by this fraction of the size of its terms."""


@dataclass(frozen=True, eq=False)
class Goal:
    """An expression of values at instants, integrals and unknowns: its value and gradient."""

    expression: Any
    names: Mapping[Any, Any]  # node → its placeholder symbol

    @cached_property
    def plain(self) -> Any:
        return self.expression.xreplace(dict(self.names))

    def value(self, table: Mapping[Any, float]) -> float:
        return _real(self.plain.xreplace(dict(table)), self.expression)

    def slope(self, table: Mapping[Any, float], slopes: Mapping[Any, Array], unknown: Mapping[Any, int], n: int) -> Array:
        out = np.zeros(n)
        for s in self.plain.free_symbols:
            by = _real(sympy.diff(self.plain, s).xreplace(dict(table)), self.expression)
            out += by * slopes[s] if s in slopes else 0.0
            if s in unknown:
                out[unknown[s]] += by
        return out


def _real(value: Any, source: Any) -> float:
    """The value of a goal, which has to be a real number."""
    try:
        return float(value)
    except TypeError:
        raise ModelError(f"{source} is no real number along the motion") from None


class DesignSearch:
    """One request without controls, as a function of its unknowns θ."""

    def __init__(self, request: SteeringRequest, tolerance: float, options: Mapping[str, Any]):
        _refuse_others(request)
        self.request, self.tolerance = request, tolerance
        self.rows = [*request.between, *_end_rows(request)]
        wanted = [request.objective, *(row.expression for row in self.rows)]
        self.nodes = sorted({n for e in wanted for n in e.atoms(InstantValue, TimeIntegral)}, key=str)
        self.names = {node: sympy.Dummy(f"n{k}", real=True) for k, node in enumerate(self.nodes)}
        totals = [n for n in self.nodes if isinstance(n, TimeIntegral)]
        _refuse_reactions(request, totals)
        self.letters = {node: StateVariable(f"integral_{k}") for k, node in enumerate(totals)}
        rates = {**(request.system._given.get("rates") or {}), **{s: n.args[0] for n, s in self.letters.items()}}
        self.system = request.system.replace(rates=rates) if totals else request.system
        end = request.since + request.duration[1]
        place = {"start": request.since, "end": end}
        self.times = np.unique([request.since, end, *(self._time(n, place) for n in self.nodes)])
        self.place = {n: int(np.argmin(np.abs(self.times - self._time(n, place)))) for n in self.nodes}
        first = _unknowns(request)
        if not self.nodes and not request.objective.free_symbols & set(request.unknown):
            raise ModelError(f"minimize={request.objective} depends neither on the motion nor on an unknown")
        self.prediction = in_own_units(self._prediction(first, options))
        self.unknowns = self.prediction.unknowns
        self.goal = Goal(request.objective, self.names)
        self.conditions = [Goal(row.expression, self.names) for row in self.rows]
        self._at: tuple[bytes, Predicted | None, list[Array]] = (b"", None, [])
        self.watch = SolverWatch()

    @staticmethod
    def _time(node: Any, place: Mapping[Any, float]) -> float:
        instant = "end" if isinstance(node, TimeIntegral) else node.instant
        return float(place.get(instant, instant))

    def _prediction(self, unknowns: Sequence[Unknown], options: Mapping[str, Any]) -> Prediction:
        channels, request = [], self.request
        for node in self.nodes:
            expr = self.letters[node] if isinstance(node, TimeIntegral) else node.args[0]
            channels.append(Channel(str(node), node, expr, np.zeros(len(self.times))))
        start = {s: x for s, x, f in zip(request.states, request.start.lower, request.start.fixed, strict=True) if f}
        known = {s: x for s, x in request.parameters.items() if s not in request.unknown}
        record = Experiment("the design", self.times, tuple(channels), start, known, len(self.times))
        return Prediction(self.system, 0, record, unknowns, request.since, {"rtol": DESIGN_TOLERANCE} | dict(options))

    # -- values at θ ---------------------------------------------------------------------------------------------------

    def _read(self, theta: Array, *, slopes: bool) -> tuple[dict[Any, float], dict[Any, Array]] | None:
        """Values of the nodes and of the unknowns at θ, and the gradients of the nodes; None where the motion ends early."""
        if theta.tobytes() != self._at[0]:
            self._at = (theta.tobytes(), self.prediction(theta), [])
        _, found, known = self._at
        if found is None:
            return None
        if slopes and not known and self.nodes:
            known.extend(self.prediction.slopes(theta, found))
        table = {self.names[n]: float(y[self.place[n]]) for n, y in zip(self.nodes, found.values, strict=True)}
        table |= {u.symbol: float(x) for u, x in zip(self.unknowns, theta, strict=True) if u.experiment is None}
        table |= {s: float(x) for s, x in self.request.parameters.items() if s not in self.request.unknown}
        by = {self.names[n]: d[self.place[n]] for n, d in zip(self.nodes, known, strict=False)}
        return table, by

    def value(self, goal: Goal, theta: Array) -> float:
        found = self._read(theta, slopes=False)
        return np.inf if found is None else goal.value(found[0])

    def slope(self, goal: Goal, theta: Array) -> Array:
        found = self._read(theta, slopes=True)
        if found is None:
            return np.zeros(len(theta))
        unknown = {u.symbol: j for j, u in enumerate(self.unknowns) if u.experiment is None}
        return goal.slope(*found, unknown, len(theta))

    # -- the search ----------------------------------------------------------------------------------------------------

    def plan(self, attempts: int, seed: int) -> MotionPlan:
        rng, first = np.random.default_rng(seed), np.array([u.guess for u in self.unknowns])
        if self._read(first, slopes=False) is None:
            raise ModelError(f"the motion with the first guesses does not reach the end: {self.prediction.failure}")
        tried = []
        with self.watch, silence():
            for k in range(max(attempts, 1 + MORE_DESIGNS)):
                if k >= attempts and any(one[0] for one in tried):
                    break
                begin = first if not k else self._random(rng)
                if self.watch.interrupted or not np.isfinite(self.value(self.goal, begin)):
                    continue
                tried.append(self._attempt(begin))
        tried = tried or [(False, np.inf, "interrupted", first)]
        tried.sort(key=lambda one: (not one[0], one[1]))
        return self._finished(tried)

    def _random(self, rng: np.random.Generator) -> Array:
        both = [np.isfinite([u.low, u.high]).all() for u in self.unknowns]
        return np.array([
            rng.uniform(u.low, u.high) if inside
            else np.clip(u.guess * FACTOR_OF_DESIGNS ** rng.uniform(-1, 1) if u.guess else rng.normal(), u.low, u.high)
            for u, inside in zip(self.unknowns, both, strict=True)
        ])  # fmt: skip

    def _attempt(self, begin: Array) -> tuple[bool, float, str, Array]:
        """(success, objective, message, θ) from a first guess, by sequential quadratic programming."""
        sizes = np.array([u.size for u in self.unknowns])
        scale = (
            max(abs(self.value(self.goal, begin)), float(np.abs(self.slope(self.goal, begin) * sizes).max(initial=0.0))) or 1.0
        )
        theta = lambda x: np.clip(x * sizes, *np.array([(u.low, u.high) for u in self.unknowns]).T)
        conditions = []
        for row, goal in zip(self.rows, self.conditions, strict=True):
            unit = self._size(row, goal, begin) or 1.0
            for side, sign in ((row.lower, 1.0), (row.upper, -1.0)):
                if not np.isfinite(side) or (row.lower == row.upper and sign < 0):
                    continue
                conditions.append({
                    "type": "eq" if row.lower == row.upper else "ineq",
                    "fun": lambda x, goal=goal, side=side, by=sign / unit: by * (self.value(goal, theta(x)) - side),
                    "jac": lambda x, goal=goal, by=sign / unit: by * self.slope(goal, theta(x)) * sizes,
                })  # fmt: skip
        solved = least_of(
            lambda x: min(self.value(self.goal, theta(x)) / scale, 1e30), begin / sizes,
            jac=lambda x: self.slope(self.goal, theta(x)) * sizes / scale, method="SLSQP", constraints=conditions,
            bounds=[(u.low / s, u.high / s) for u, s in zip(self.unknowns, sizes, strict=True)],
            callback=self._stopped, options={"ftol": 1e-15, "maxiter": 100},
        )  # fmt: skip
        found = theta(solved.x)
        missed = self._missed(found)
        settled = bool(solved.success) if conditions else self._stationary(found, sizes / scale)
        word = "a local minimum was found" if settled else f"the search did not settle ({solved.message})"
        if self.watch.interrupted:
            word, settled = "interrupted", False
        elif missed:
            word = f"no design satisfies all conditions near this guess: {missed}"
        return settled and not missed, self.value(self.goal, found), word, found

    def _stopped(self, x: Array) -> None:
        if self.watch.interrupted:
            raise StopIteration

    def _stationary(self, found: Array, units: Array) -> bool:
        """Whether an unconstrained search is at a minimum by its gradient, whatever its exit status."""
        free = [u.low < x < u.high for u, x in zip(self.unknowns, found, strict=True)]
        return bool((np.abs(self.slope(self.goal, found) * units)[free] < FLAT).all())

    def _size(self, row: BoundedExpression, goal: Goal, theta: Array) -> float:
        """The size of a condition: of its value, of its bounds, and of its changes by unknowns as large as they are."""
        sizes = np.array([u.size for u in self.unknowns])
        bounds = [abs(x) for x in (row.lower, row.upper) if np.isfinite(x)]
        return max(abs(self.value(goal, theta)), *bounds, float(np.abs(self.slope(goal, theta) * sizes).max(initial=0.0)))

    def _missed(self, theta: Array) -> str:
        """The condition with the largest violation, if any."""
        for row, goal in zip(self.rows, self.conditions, strict=True):
            value, size = self.value(goal, theta), self._size(row, goal, theta)
            if not row.lower - ROW_MET * size <= value <= row.upper + ROW_MET * size:
                return f"{row.text} comes to {value:.6g}"
        return ""

    def _finished(self, tried: list[tuple[bool, float, str, Array]]) -> MotionPlan:
        ok, objective, message, theta = tried[0]
        motion = self.prediction.motion(theta)
        options = self.prediction.options
        stricter = dict(options) | {"rtol": DESIGN_TOLERANCE * 1e-2, "atol": options["atol"] * 1e-2}
        judge = Prediction(self.system, 0, self.prediction.experiment, self.unknowns, self.request.since, stricter)
        error, simulated = self._distance(motion, judge, theta)
        if ok and not error <= self.tolerance:
            ok, message = False, f"{message}, but motions of two tolerances are {error:.2g} apart, more than {self.tolerance:g}"
        if not self.prediction.exact:
            message = f"{message}; derivatives are differences of motions"
        values = {u.symbol: float(x) for u, x in zip(self.unknowns, theta, strict=True) if u.experiment is None}
        if massless := lost_by_design(self.request, values, motion):
            ok, message = False, f"{message}, but {massless}"
        said = tuple(Attempt(one[0], one[1], one[2]) for one in tried)
        return MotionPlan(
            self.request.given, ok, message, objective, self.request.duration[1], motion, simulated, ControlTable({}), values,
            error, (), said, np.asarray(motion.t), None,
        )  # fmt: skip

    def _distance(self, motion: Motion, judge: Prediction, theta: Array) -> tuple[float, Motion]:
        """The difference of the motion from one with a stricter tolerance, at the instants of the goal."""
        other = judge.motion(theta)
        ends = [np.concatenate([one.q[-1], one.v[-1]]) for one in (motion, other)]
        z = np.hstack([other.q, other.v])
        states = [(float(other.t[k]), z[k]) for k in (0, len(z) // 2, -1)]
        roots = inertia_roots(other.run.form, states, other.run.p_at(float(other.t[0])))
        sizes = StateSizes(self.system.nq, np.zeros(z.shape[1]), roots).along([z])
        return float((np.abs(ends[0] - ends[1]) / sizes).max(initial=0.0)), other


def _refuse_others(request: SteeringRequest) -> None:
    """Raises for requests that a design does not support, and says what does."""
    if request.steered.controls:
        raise ModelError(
            f"phases='any' finds parameters and start values; with the control {request.steered.controls[0]} name the phases"
        )
    if request.duration[0] != request.duration[1]:
        raise ModelError("phases='any' needs a fixed end: until= is a time, not an interval")
    held = [*(str(row.text) for row in request.along), *(str(s) for s in request.bounds if s not in request.unknown)]
    if held:
        raise ModelError(f"phases='any' takes bounds of unknowns and relations between instants (ap.at), not '{held[0]}'")


def _refuse_reactions(request: SteeringRequest, totals: list[Any]) -> None:
    known = {*request.states, *request.system.parameters, *request.parameters, sympy.Symbol("t")}
    for node in totals:
        strange = [s for s in node.args[0].free_symbols if s not in known and str(s) != "t"]
        if strange:
            raise ModelError(f"{node} contains {strange[0]}; with phases='any' integrals take t, coordinates and velocities")


def _end_rows(request: SteeringRequest) -> list[BoundedExpression]:
    """Values and intervals given for the end."""
    pairs = zip(request.states, request.end.lower, request.end.upper, strict=True)
    return [
        BoundedExpression(at(s, "end"), float(low), float(high), f"{s} at the end")
        for s, low, high in pairs
        if np.isfinite(low) or np.isfinite(high)
    ]


def _unknowns(request: SteeringRequest) -> tuple[Unknown, ...]:
    found = []
    for s in request.unknown:
        low, high = request.bounds.get(s, (-np.inf, np.inf))
        found.append(Unknown(str(s), s, None, float(request.parameters[s]), low, high))
    for s, low, high in zip(request.states, request.start.lower, request.start.upper, strict=True):
        if low < high:
            guess = (low + high) / 2 if np.isfinite([low, high]).all() else float(np.clip(0.0, low, high))
            found.append(Unknown(f"{s}(0)", s, 0, guess, low, high))
    if not found:
        raise ModelError("nothing can be chosen: give unknown=, or a start with an interval or ap.free")
    return tuple(found)


__all__ = ["DesignSearch"]
