"""Steady motions: independent velocities are constant, ignorable coordinates change uniformly.

    M a + h = Q + WΛ,    A a + a0 = 0,    f0 = 0,    f1 = 0,    a_i = 0 for the independent velocities,
    v_i = 0 for coordinates that T, V or Q contain,      and values fixed by the user: of coordinates, velocities, momenta

Newton's method of least norm starts from many random states; solutions that agree to 1e-7 are the same. There is no proof
that all are found: narrow `within=` and raise `attempts=` to look closer. Displacements are compared with 1 rad of an angle,
with half the interval of a length; velocities with those that the forces give over such displacements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.linear import linearize
from appell.analysis.linearization import Linearization
from appell.analysis.rests.found_states import FoundStates
from appell.analysis.rests.search_intervals import ATTEMPTS, middle_of, whole_attempts
from appell.analysis.rests.steady_equations import SteadyProblem, SteadySolution
from appell.compiled.compiling import compile_near
from appell.jets import Jet, expression
from appell.model import System
from appell.model.described import system_of
from appell.model.first_order import refuse_first_order
from appell.model.friction import refuse_friction
from appell.normal_form.manifold import normalise
from appell.reading import text_of
from appell.spelling import checked_keywords

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SteadyMotion:
    """A motion with constant independent velocities.

    q (nq,), v (nv,), multipliers (rows,): at t = 0, SI. residual: largest residual of the equations, relative to their terms.
    """

    system: System
    parameters: Mapping[Any, float]
    q: Array
    v: Array
    multipliers: Array
    residual: float
    independent: tuple[Any, ...]
    """Velocities that are constant."""

    @property
    def start(self) -> dict[Any, float]:
        """symbol → value: a start for `ap.simulate`."""
        symbols = (*self.system.positions, *self.system.velocities)
        return dict(zip(symbols, map(float, (*self.q, *self.v)), strict=True))

    def __getitem__(self, key: Any) -> float:
        """The value of a coordinate, a velocity, or an expression in them."""
        by_name = {str(s): x for s, x in self.start.items()}
        if text_of(key) in by_name:
            return by_name[text_of(key)]
        values = {**self.start, **self.parameters}
        return float(expression(key, "what is read from a steady motion").xreplace(values))  # type: ignore[arg-type]

    @cached_property
    def linear(self) -> Linearization:
        """The linearization about this motion."""
        return linearize(self.system, at=self.start, parameters=self.parameters, independent=self.independent)

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        return self.linear.stable

    def __repr__(self) -> str:
        least = 1e-14 * max(map(abs, self.start.values()), default=0.0)  # smaller values are rounding
        values = ", ".join(f"{s} = {x:.6g}" for s, x in self.start.items() if abs(x) > least)
        return f"<SteadyMotion of {self.system.name}: {values or 'rest'}>"


@checked_keywords(starts="attempts")
def steady_motions(
    system: System,
    parameters: Mapping[Any, Any] | None = None,
    *,
    fixed: Mapping[Any, float] | None = None,
    within: Mapping[Any, tuple[float, float]] | None = None,
    attempts: int = ATTEMPTS,
) -> FoundStates[SteadyMotion]:
    """The steady motions found by a search, those with the smallest velocities first.

    Motions that press against walls are not sought: write such a wall as a `Constraint`.

    Parameters
    ----------
    fixed: coordinate, velocity or expression in them → value. As many as there are ignorable velocities make the motions
        isolated: {theta: 0.5, phi.d + psi.d*cos(theta): 40} for a top.
    within: coordinate or velocity → (lowest, highest) of random starts; (−π, π) and (−10, 10) by default, velocities in units
        of the power of a million nearest to what the forces give.
    attempts: number of starts.
    """
    system = system_of(system, "ap.steady_motions")
    refuse_friction(system, "ap.steady_motions")
    refuse_first_order(system, "ap.steady_motions")
    guess = {**middle_of(within), **{key: value for key, value in (fixed or {}).items() if isinstance(key, str | Jet)}}
    run = compile_near(system, guess, parameters, backend="vm")
    system = run.system
    problem = SteadyProblem(run, fixed or {}, within)
    solutions: list[SteadySolution] = []
    for q, v in _random_starts(problem, whole_attempts(attempts)):
        solution = problem.solve(q, v)
        if solution is None:
            continue
        solution = solution._replace(q=problem.upper_end(solution.q))
        if any(_same(solution, earlier, problem) for earlier in solutions):
            continue
        if problem.allowed(solution.q) and problem.lasts(solution.q, solution.v):
            solutions.append(solution)
    fastest = max((float(np.abs(s.v).max(initial=0.0)) for s in solutions), default=0.0) or 1.0
    solutions.sort(key=lambda s: (round(float(np.abs(s.v).max(initial=0.0)) / fastest, 9), *np.round(s.q / problem.reach, 9)))
    constant = tuple(system.velocities[i] for i in problem.free)
    motions = (SteadyMotion(system, run.parameters, s.q, s.v, s.lam, s.residual, constant) for s in solutions)
    found = FoundStates(motions, system, "steady motion", attempts)
    if system.unilateral:
        found.message += "; motions that press against walls are not sought: write such a wall as a Constraint"
    return found


def _same(a: SteadySolution, b: SteadySolution, problem: SteadyProblem) -> bool:
    """Whether two solutions are the same; angles are compared modulo 2π."""
    difference, turns = a.q - b.q, np.flatnonzero(problem.angles)
    difference[turns] -= 2 * np.pi * np.round(difference[turns] / (2 * np.pi))
    faster = np.abs(a.v - b.v) < 1e-7 * (a.speeds + np.abs(a.v).max(initial=0.0))
    return bool((np.abs(difference) < 1e-7 * (problem.reach + np.abs(a.q))).all() and faster.all())


def _random_starts(problem: SteadyProblem, count: int) -> Iterable[tuple]:
    rng, system, bounds = np.random.default_rng(0), problem.run.system, problem.bounds
    for k in range(count):
        x = rng.uniform(bounds[:, 0], bounds[:, 1]) * (1.0 if k % 3 else 0.1)
        q = np.where(problem.turning, [s.start for s in system.positions], x[: system.nq])
        yield normalise(problem.form, q), x[system.nq :]
