"""Design: parameters and start values that minimise a goal over simulated motions, with any impacts, contacts and stick–slip.

    min_θ φ(z(t_1; θ), …, ∫ F dt, θ)        z(t; θ) by `ap.simulate`,  ∂z/∂θ by `ap.variations`

No phases are prescribed: the motion is simulated with each θ through all its events, with exact derivatives. Where the sequence
of events changes with θ, the goal has a kink or a jump; a minimum is found within one sequence, and further attempts start in
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from appell.optimize.design_request import end_rows, refuse_reactions, refuse_unsupported, unknowns_of
from appell.optimize.experiments import Channel, Experiment
from appell.optimize.goals import InstantValue, TimeIntegral
from appell.optimize.inputs_as_states import names_in, unused
from appell.optimize.lost_inertia import lost_by_design
from appell.optimize.plan import Attempt, ControlTable, MotionPlan
from appell.optimize.prediction import Predicted, Prediction, Unknown, in_natural_units
from appell.optimize.state_sizes import StateSizes, inertia_roots
from appell.optimize.steering_request import BoundedExpression, SteeringRequest
from appell.rows import VARIED_LOST, least_squares, null_space

Array = NDArray[np.float64]
Places = NDArray[np.intp]

DESIGN_TOLERANCE = 1e-10
"""Tolerance of the simulated motions: their errors must stay far below the differences in the goal that a search relies on."""
FACTOR_OF_DESIGNS = 3.0
"""Further attempts multiply or divide first guesses by up to this factor where there are no finite bounds."""
MORE_DESIGNS = 4
"""Further guesses tried in any case if the first one fails: another sequence of impacts may work."""
FLAT = 1e-4
"""Gradient accepted as zero at a minimum: change of the goal over the size of an unknown, relative to the goal at the first
guess."""
BENT, BENT_DIFFERENCE = 0.05, 1e-3
"""A curvature below minus this fraction of the goal or of the largest one is negative; and the step of its differences, as a
fraction of the size of an unknown."""
MOST_BENT, BENT_STEP = 3, 0.3
"""Maxima and saddles that an attempt leaves, and the step from them as a fraction of the sizes of unknowns."""
HELD_DESIGN = 1e-6
"""An unknown within this fraction of its size from a bound is at the bound."""
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
        gradient = np.zeros(n)
        for s in self.plain.free_symbols:
            derivative = _real(sympy.diff(self.plain, s).xreplace(dict(table)), self.expression)
            gradient += derivative * slopes[s] if s in slopes else 0.0
            if s in unknown:
                gradient[unknown[s]] += derivative
        return gradient


def _real(value: Any, source: Any) -> float:
    """The value of a goal, which has to be a real number."""
    try:
        return float(value)
    except TypeError:
        raise ModelError(f"{source} is no real number along the motion") from None


@dataclass(frozen=True, eq=False)
class AttemptedDesign:
    """The result of one first guess `begin`: θ, and the largest violation of a condition as a fraction of its size."""

    ok: bool
    objective: float
    message: str
    theta: Array
    begin: Array
    violation: float = np.inf

    @property
    def idle(self) -> bool:
        """Whether the search ended where it began: at a minimum, or where nothing draws it away (x = 0 of −x⁴)."""
        return bool((self.theta == self.begin).all())


@dataclass(frozen=True, eq=False)
class DesignLagrangian:
    """slope: θ → ∂(J − λᵀc)/∂θ; C: ∂c/∂θ of conditions that hold as equations, by free unknowns in units of their sizes;
    signs: whether λ of inequalities pushes back into what they allow."""

    slope: Callable[[Array], Array]
    C: Array
    signs: bool


class DesignSearch:
    """One request without controls, as a function of its unknowns θ."""

    def __init__(
        self, request: SteeringRequest, guess: Any, tolerance: float, progress: bool | Callable[[int, float], None],
        options: Mapping[str, Any],
    ):  # fmt: skip
        refuse_unsupported(request)
        self.request, self.tolerance = request, tolerance
        self.rows = [*request.instant_relations, *end_rows(request)]
        expressions = [request.objective, *(row.expression for row in self.rows)]
        self.nodes = sorted({n for e in expressions for n in e.atoms(InstantValue, TimeIntegral)}, key=str)
        self.names = {node: sympy.Dummy(f"n{k}", real=True) for k, node in enumerate(self.nodes)}
        totals = [n for n in self.nodes if isinstance(n, TimeIntegral)]
        refuse_reactions(request, totals)
        used_names = names_in(request.system)
        self.integral_states = {node: StateVariable(unused(f"integral_{k}", used_names)) for k, node in enumerate(totals)}
        rates = {**(request.system._given.get("rates") or {}), **{s: n.args[0] for n, s in self.integral_states.items()}}
        self.system = request.system.replace(rates=rates) if totals else request.system
        end = request.since + request.duration[1]
        instants = {"start": request.since, "end": end}
        self.times = np.unique([request.since, end, *(self._time(n, instants) for n in self.nodes)])
        self.instant_index = {n: int(np.argmin(np.abs(self.times - self._time(n, instants)))) for n in self.nodes}
        unknowns = unknowns_of(request, guess)
        if not self.nodes and not request.objective.free_symbols & set(request.unknown):
            raise ModelError(f"minimize={request.objective} depends neither on the motion nor on an unknown")
        self.prediction = in_natural_units(self._prediction(unknowns, options))
        self.unknowns = self.prediction.unknowns
        self.goal = Goal(request.objective, self.names)
        self.conditions = [Goal(row.expression, self.names) for row in self.rows]
        self._last_motion: tuple[bytes, Predicted | None, list[Array]] = (b"", None, [])
        self.watch, self.prints_progress = SolverWatch(progress if callable(progress) else None), progress is True

    @staticmethod
    def _time(node: Any, instants: Mapping[Any, float]) -> float:
        instant = "end" if isinstance(node, TimeIntegral) else node.instant
        return float(instants.get(instant, instant))

    def _prediction(self, unknowns: Sequence[Unknown], options: Mapping[str, Any]) -> Prediction:
        channels, request = [], self.request
        for node in self.nodes:
            expr = self.integral_states[node] if isinstance(node, TimeIntegral) else node.args[0]
            channels.append(Channel(str(node), node, expr, np.zeros(len(self.times))))
        start = {s: x for s, x, f in zip(request.states, request.start.lower, request.start.fixed, strict=True) if f}
        known = {s: x for s, x in request.parameters.items() if s not in request.unknown}
        record = Experiment("the design", self.times, tuple(channels), start, known, len(self.times))
        return Prediction(self.system, 0, record, unknowns, request.since, {"rtol": DESIGN_TOLERANCE} | dict(options))

    # -- values at θ ---------------------------------------------------------------------------------------------------

    def _read(self, theta: Array, *, slopes: bool) -> tuple[dict[Any, float], dict[Any, Array]] | None:
        """Values of the nodes and of the unknowns at θ, and the gradients of the nodes; None where the motion ends early."""
        if theta.tobytes() != self._last_motion[0]:
            self._last_motion = (theta.tobytes(), self.prediction(theta), [])
        _, predicted, gradients = self._last_motion
        if predicted is None:
            return None
        if slopes and not gradients and self.nodes:
            gradients.extend(self.prediction.slopes(theta, predicted))
        table = {self.names[n]: float(y[self.instant_index[n]]) for n, y in zip(self.nodes, predicted.values, strict=True)}
        table |= {u.symbol: float(x) for u, x in zip(self.unknowns, theta, strict=True) if u.experiment is None}
        table |= {s: float(x) for s, x in self.request.parameters.items() if s not in self.request.unknown}
        gradient_table = {self.names[n]: d[self.instant_index[n]] for n, d in zip(self.nodes, gradients, strict=False)}
        return table, gradient_table

    def value(self, goal: Goal, theta: Array) -> float:
        values = self._read(theta, slopes=False)
        return np.inf if values is None else goal.value(values[0])

    def slope(self, goal: Goal, theta: Array) -> Array:
        values = self._read(theta, slopes=True)
        if values is None:
            return np.zeros(len(theta))
        unknown = {u.symbol: j for j, u in enumerate(self.unknowns) if u.experiment is None}
        return goal.slope(*values, unknown, len(theta))

    # -- the search ----------------------------------------------------------------------------------------------------

    def plan(self, attempts: int, seed: int) -> MotionPlan:
        rng, guess = np.random.default_rng(seed), np.array([u.guess for u in self.unknowns])
        if self._read(guess, slopes=False) is None:
            raise ModelError(f"the motion with the first guesses does not reach the end: {self.prediction.failure}")
        tried: list[AttemptedDesign] = []
        with self.watch, silence():
            for k in range(max(attempts, 1 + MORE_DESIGNS)):
                if k >= attempts and any(attempt.ok for attempt in tried):
                    break
                begin = guess if not k else self._random(rng)
                if self.watch.interrupted or not np.isfinite(self.value(self.goal, begin)):
                    continue
                tried.append(self._downhill(self._attempt(begin), rng))
                self._report(tried[-1])
        tried = tried or [AttemptedDesign(False, np.inf, "interrupted", guess, guess)]
        tried.sort(key=lambda attempt: (not attempt.ok, 0.0 if attempt.ok else attempt.violation, attempt.objective))
        return self._motion_plan(tried)

    def _report(self, attempt: AttemptedDesign) -> None:
        if self.prints_progress:
            from rich import print as show

            values = ", ".join(f"{u.name} = {x:.6g}" for u, x in zip(self.unknowns, attempt.theta, strict=True))
            show(f"objective {attempt.objective:.9g}, {values}: {attempt.message}")

    def _random(self, rng: np.random.Generator) -> Array:
        bounded = [np.isfinite([u.low, u.high]).all() for u in self.unknowns]
        return np.array([
            rng.uniform(u.low, u.high) if inside
            else np.clip(u.guess * FACTOR_OF_DESIGNS ** rng.uniform(-1, 1) if u.guess else rng.normal(), u.low, u.high)
            for u, inside in zip(self.unknowns, bounded, strict=True)
        ])  # fmt: skip

    def _attempt(self, begin: Array) -> AttemptedDesign:
        """An attempt from a first guess, by sequential quadratic programming."""
        sizes = np.array([u.size for u in self.unknowns])
        scale = (
            max(abs(self.value(self.goal, begin)), float(np.abs(self.slope(self.goal, begin) * sizes).max(initial=0.0))) or 1.0
        )
        theta = lambda x: np.clip(x * sizes, *np.array([(u.low, u.high) for u in self.unknowns]).T)
        conditions = []
        for row, goal in zip(self.rows, self.conditions, strict=True):
            unit = self._size(row, goal, begin) or 1.0
            for bound, sign in ((row.lower, 1.0), (row.upper, -1.0)):
                if not np.isfinite(bound) or (row.lower == row.upper and sign < 0):
                    continue
                conditions.append({
                    "type": "eq" if row.lower == row.upper else "ineq",
                    "fun": lambda x, goal=goal, bound=bound, weight=sign / unit: weight * (self.value(goal, theta(x)) - bound),
                    "jac": lambda x, goal=goal, weight=sign / unit: weight * self.slope(goal, theta(x)) * sizes,
                })  # fmt: skip
        # ftol at the level of rounding: `_stationary` judges the result, whatever SciPy's criterion says
        solved = least_of(
            lambda x: min(self.value(self.goal, theta(x)) / scale, 1e30), begin / sizes,
            jac=lambda x: self.slope(self.goal, theta(x)) * sizes / scale, method="SLSQP", constraints=conditions,
            bounds=[(u.low / s, u.high / s) for u, s in zip(self.unknowns, sizes, strict=True)],
            callback=self._stop_if_interrupted, options={"ftol": 1e-15, "maxiter": 100},
        )  # fmt: skip
        optimum = theta(solved.x)
        violation, missed = self._worst_violation(optimum)
        settled = bool(conditions and solved.success) or self._stationary(optimum, scale)
        outcome = "a local minimum was found" if settled else f"the search did not settle ({solved.message})"
        if self.watch.interrupted:
            outcome, settled = "interrupted", False
        elif missed:
            outcome = f"no design satisfies all conditions near this guess: {missed}"
        return AttemptedDesign(settled and not missed, self.value(self.goal, optimum), outcome, optimum, begin, violation)

    def _downhill(self, attempt: AttemptedDesign, rng: np.random.Generator) -> AttemptedDesign:
        """An attempt from near this one with a lower objective, if this one ended at a maximum or a saddle; else this one."""
        for _ in range(MOST_BENT):
            if not attempt.ok or self.watch.interrupted:
                break
            candidates = (self._attempt(x) for x in self._guesses_near(attempt, rng) if np.isfinite(self.value(self.goal, x)))
            better = next(
                (candidate for candidate in candidates if candidate.ok and candidate.objective < attempt.objective), None
            )
            if better is None:
                break
            attempt = better
        return attempt

    def _guesses_near(self, attempt: AttemptedDesign, rng: np.random.Generator) -> Iterator[Array]:
        """Guesses near a stationary point, where the goal may be lower: in a direction of negative curvature or, if the
        search ended where it began, at random where the goal is lower."""
        low, high = np.array([(u.low, u.high) for u in self.unknowns]).T
        direction = self._downward_direction(attempt.theta)
        if direction is not None:
            yield from (np.clip(attempt.theta + sign * direction, low, high) for sign in (BENT_STEP, -BENT_STEP))
        elif attempt.idle:
            guesses = (self._random(rng) for _ in range(MOST_BENT))
            yield from (theta for theta in guesses if self.value(self.goal, theta) < attempt.objective)

    def _downward_direction(self, theta: Array) -> Array | None:
        """A direction in which the goal bends downwards, on the conditions that hold as equations; None at a minimum.

        ∂²(J − λᵀc)/∂θ² by differences of slopes, on the null space of ∂c/∂θ.
        """
        sizes, inward = np.array([u.size for u in self.unknowns]), np.ones(len(theta))
        for j, u in enumerate(self.unknowns):
            edge = HELD_DESIGN * sizes[j]
            inward[j] = 0.0 if min(theta[j] - u.low, u.high - theta[j]) <= edge else inward[j]
            inward[j] = -inward[j] if theta[j] + BENT_DIFFERENCE * sizes[j] > u.high else inward[j]
        free = np.flatnonzero(inward)
        lagrangian = self._lagrangian(theta, free)
        Z = null_space(lagrangian.C) if len(lagrangian.C) else np.eye(len(free))
        if not Z.shape[1]:
            return None
        H, slope = np.zeros((len(free), len(free))), lagrangian.slope(theta)
        for k, j in enumerate(free):
            moved = theta.copy()
            moved[j] += inward[j] * BENT_DIFFERENCE * sizes[j]
            H[:, k] = ((lagrangian.slope(moved) - slope) * sizes)[free] * inward[j] / BENT_DIFFERENCE
        if not np.isfinite(H).all():
            return None
        values, vectors = np.linalg.eigh(Z.T @ (H + H.T) @ Z / 2)
        scale = max(abs(self.value(self.goal, theta)), float(np.abs(H).max(initial=0.0)))
        if not values[0] < -BENT * scale:
            return None
        direction = np.zeros(len(theta))
        direction[free] = Z @ vectors[:, 0]
        return direction / np.abs(direction).max() * sizes

    def _stop_if_interrupted(self, x: Array) -> None:
        sizes = np.array([u.size for u in self.unknowns])
        if self.watch.stops_after(
            self.value(self.goal, np.clip(x * sizes, *np.array([(u.low, u.high) for u in self.unknowns]).T))
        ):
            raise StopIteration

    def _stationary(self, theta: Array, scale: float) -> bool:
        """Whether a search is at a minimum by its gradient, whatever its exit status."""
        free = np.flatnonzero([u.low < x < u.high for u, x in zip(self.unknowns, theta, strict=True)])
        sizes = np.array([u.size for u in self.unknowns])
        lagrangian = self._lagrangian(theta, free)
        return bool((np.abs(lagrangian.slope(theta) * sizes)[free] < FLAT * scale).all()) and lagrangian.signs

    def _lagrangian(self, theta: Array, free: Places) -> DesignLagrangian:
        """J − λᵀc of the conditions that hold as equations at θ; λ by least squares over the free unknowns."""
        sizes = np.array([u.size for u in self.unknowns])
        pairs = zip(self.rows, self.conditions, strict=True)
        edges = [(side, goal) for row, goal in pairs if (side := self._active_side(row, goal, theta)) is not None]
        C = np.array([self.slope(goal, theta) * sizes for _, goal in edges]).reshape(-1, len(theta))[:, free]
        lam = least_squares(C.T, (self.slope(self.goal, theta) * sizes)[free], VARIED_LOST)
        signs = all(side * x >= -FLAT * abs(lam).max() for (side, _), x in zip(edges, lam, strict=True))
        conditions = [(float(x), goal) for x, (_, goal) in zip(lam, edges, strict=True)]
        slope = lambda at: self.slope(self.goal, at) - sum(x * self.slope(goal, at) for x, goal in conditions)
        return DesignLagrangian(slope, C, signs)

    def _active_side(self, row: BoundedExpression, goal: Goal, theta: Array) -> int | None:
        """0 for an equation, 1 at the lower and −1 at the upper bound of a condition; None inside."""
        if row.lower == row.upper:
            return 0
        value, reach = self.value(goal, theta), ROW_MET * self._size(row, goal, theta)
        return 1 if value <= row.lower + reach else -1 if value >= row.upper - reach else None

    def _size(self, row: BoundedExpression, goal: Goal, theta: Array) -> float:
        """The size of a condition: of its value, of its bounds, and of its changes by unknowns as large as they are."""
        sizes = np.array([u.size for u in self.unknowns])
        bounds = [abs(x) for x in (row.lower, row.upper) if np.isfinite(x)]
        return max(abs(self.value(goal, theta)), *bounds, float(np.abs(self.slope(goal, theta) * sizes).max(initial=0.0)))

    def _worst_violation(self, theta: Array) -> tuple[float, str]:
        """The largest violation of a condition, as a fraction of its size, and a message on it; (0, "") where all hold."""
        worst = (0.0, "") if np.isfinite(self.value(self.goal, theta)) else (np.inf, "the motion does not reach the end")
        for row, goal in zip(self.rows, self.conditions, strict=True):
            value, size = self.value(goal, theta), self._size(row, goal, theta)
            if not row.lower - ROW_MET * size <= value <= row.upper + ROW_MET * size:
                share = max(row.lower - value, value - row.upper) / size
                worst = max(worst, (share, f"{row.text} comes to {value:.6g}"))
        return worst

    def _motion_plan(self, tried: list[AttemptedDesign]) -> MotionPlan:
        ok, objective, message, theta = tried[0].ok, tried[0].objective, tried[0].message, tried[0].theta
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
        attempts = tuple(Attempt(attempt.ok, attempt.objective, attempt.message) for attempt in tried)
        return MotionPlan(
            self.request.original, ok, message, objective, self.request.duration[1], motion, simulated, ControlTable({}),
            values, error, (), attempts, np.asarray(motion.t), None,
        )  # fmt: skip

    def _distance(self, motion: Motion, judge: Prediction, theta: Array) -> tuple[float, Motion]:
        """The difference of the motion from one with a stricter tolerance, at the instants of the goal."""
        stricter = judge.motion(theta)
        ends = [np.concatenate([m.q[-1], m.v[-1]]) for m in (motion, stricter)]
        z = np.hstack([stricter.q, stricter.v])
        states = [(float(stricter.t[k]), z[k]) for k in (0, len(z) // 2, -1)]
        roots = inertia_roots(stricter.run.form, states, stricter.run.p_at(float(stricter.t[0])))
        sizes = StateSizes(self.system.nq, np.zeros(z.shape[1]), roots).over([z])
        return float((np.abs(ends[0] - ends[1]) / sizes).max(initial=0.0)), stricter


__all__ = ["DesignSearch"]
