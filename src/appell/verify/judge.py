"""The reference of `agree`: exact states, and the values of the normal form there in float64."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, SingularConfiguration, Status
from appell.forms.base import Equations
from appell.forms.engine.constrained_states import Projection, State
from appell.forms.engine.constraint_rows import independent_rows
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic, magnitude
from appell.forms.engine.system_terms import directions
from appell.jets import t
from appell.model import System
from appell.model.prescription import moments
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.flow import acceleration
from appell.normal_form.least_constraint import solve as solve_gauss
from appell.normal_form.manifold import find
from appell.normal_form.policy import choose
from appell.rows import Policy, singular_values, unit_rows
from appell.rows import solve as solve_saddle
from appell.verify.complete import has_own_solution, kinematics_in, known_symbols, not_determined
from appell.verify.exact import exact, exact_state

Array = NDArray[np.float64]
Value = tuple[list[Any], list[Any]]
"""Accelerations and constraint forces."""

JUDGE_DIGITS = 50
ROUNDING_OF_SUM = 10.0 ** (-JUDGE_DIGITS // 2)
"""A sum whose terms are all below this is rounding and counts as zero."""


class Judge:
    """Exact states, the constraint forces there, and the values of the normal form in float64."""

    def __init__(self, system: System, judged_by: System, parameters: Mapping[Any, Any], count: int, seed: int):
        self.system, self.numbers = system, arithmetic(JUDGE_DIGITS)
        self.form = normal_form(judged_by)
        p = np.array([float(parameters[s]) for s in judged_by.parameters])
        project, driving = Projection(system), _Driving(judged_by.prescription)
        rng, usual = random.Random(seed), len(independent_rows(system).indices)
        candidates, faces = [], Tape([face.function for face in system.unilateral])
        for time_, q, v in find(self.form, p, seed, tries=(6 if system.unilateral else 3) * count):
            state = driving(exact_state(system, time_, q, v, parameters, self.numbers), self.numbers)
            state = project(state, self.numbers)
            if state is not None and system.sample is None:
                state = self._off_crossings(project, state, rng)
            verdict = None if state is None else _verdict(self.form, system, state, p)
            if state is not None and verdict is not None:
                behind = any(value < 0 for value in faces(state, self.numbers))
                rank, condition, *answer = verdict
                candidates.append((behind, rank != usual, condition, len(candidates), state, tuple(answer), rank))
        # clear of walls, on one branch where several meet, and best conditioned first, so that float64 is accurate
        candidates.sort(key=lambda c: c[:4])
        candidates = [c for c in candidates if c[-1] == candidates[0][-1]]
        self.states: list[State] = [c[4] for c in candidates[:count]]
        self.references: list[tuple[Array, Array, Array]] = [c[5] for c in candidates[:count]]
        if not self.states:
            raise AppellError(
                f"no state of '{system.name}' was found on its constraints; give parameters= that allow one, or"
                " System(…, sample={…}), a state near which to look where its sizes are far from 1"
            )
        self._W = Tape([w for row in directions(system) for w in row])
        self._rates = Tape(list(system.rates.values()))

    def _off_crossings(self, project: Projection, state: State, rng: random.Random) -> State | None:
        """The state, or one further from where branches cross, on the constraints."""
        further = project.off_crossings({s: float(x) for s, x in state.items()}, rng)
        if further is None:
            return state
        moved = (*self.system.positions, *self.system.velocities)
        return project({**state, **{s: self.numbers.number(further[s]) for s in moved}}, self.numbers) or state

    def solution(self, equations: Equations, state: State) -> State | None:
        """The state with q̇ and all unknowns from a form; None where it is singular (a chart, a choice of velocities)."""
        try:
            rates = zip(self.system.rates, self._rates(state, self.numbers), strict=True)
            return equations.solution(state, JUDGE_DIGITS) | {q.d: rate for q, rate in rates}
        except SingularConfiguration:
            return None

    def value(self, equations: Equations, solution: State | None) -> Value | None:
        """Accelerations and constraint forces of a solution."""
        if solution is None:
            return None
        try:
            a, lam = equations.read(solution, JUDGE_DIGITS)
            W = self._W(solution, self.numbers)
        except SingularConfiguration:
            return None
        n = self.system.nv
        return a, [sum((x * W[k * n + i] for k, x in enumerate(lam)), self.numbers.number(0)) for i in range(n)]

    def shown_residual(self, equations: Equations, solutions: Sequence[State | None]) -> float:
        """max |lhs − rhs| of the displayed equations that were not solved, relative to their terms, at the solutions.

        These are the kinematics, and all equations of a form that finds its values otherwise.
        """
        kinematics = kinematics_in(equations, known_symbols(equations, self.states[0]))
        shown = [*(e.lhs - e.rhs for e in kinematics), *(equations.residuals if has_own_solution(equations) else ())]
        tape = Tape([e for residual in shown for e in (residual, magnitude(residual))])
        faces = Tape([face.function for face in self.system.unilateral])
        worst = [float("nan")]
        for solution in solutions:
            if solution is None or any(value < 0 for value in faces(solution, self.numbers)):
                continue  # |x| and sgn x of Routh's form are meaningless behind a wall
            try:
                values = tape(solution, self.numbers)
            except SingularConfiguration:
                continue
            worst += [float(abs(r) / (size + ROUNDING_OF_SUM)) for r, size in zip(values[::2], values[1::2], strict=True)]
        return float(np.nanmax(worst)) if len(worst) > 1 else float("nan")

    def not_determined(self, equations: Equations, solutions: Sequence[State | None]) -> str:
        """What the displayed equations do not determine, as text; "" where they determine the motion."""
        return not_determined(equations, [solution for solution in solutions if solution is not None], self.numbers)


class _Driving:
    """The values of prescribed functions and their derivatives at the time of a state."""

    def __init__(self, values: Mapping[Any, Any]):
        self.symbols, formulas = moments(exact(values))
        self._tape = Tape(formulas)

    def __call__(self, state: State, numbers: Arithmetic) -> State:
        return state | dict(zip(self.symbols, self._tape(state, numbers), strict=True))


def _verdict(form: NormalForm, system: System, state: State, p: Array) -> tuple[int, float, Array, Array, Array] | None:
    """(rank of the rows, condition number, a, W Λ, scale of W Λ) of the normal form in float64; None where it has no
    unique solution."""
    vector = lambda symbols: np.array([float(state[s]) for s in symbols])
    inputs = float(state[t]), vector(system.positions), vector(system.velocities), p
    out = form.select("M", "h", "Q", "A", "a0", "W")(*inputs)
    M, A, W, b = out["M"], out["A"], out["W"], out["Q"] - out["h"]
    size = np.abs(out["Q"]) + np.abs(out["h"])

    def scale(a: Array, force: Array) -> Array:
        forces = size + np.abs(M).sum(axis=1) * (1 + np.abs(a).max()) + np.abs(force)
        return forces + _transmitted(forces, np.abs(W))

    if not all(np.isfinite(x).all() for x in out.values()):
        return None
    if form.law is not None:
        return _verdict_of_law(form, system, state, inputs, scale)
    if form.gauss:
        rows = lambda name: lambda a: form.select(name)(*_with_a(form, name, inputs, a))[name]
        solution = solve_gauss(M, b, A, out["a0"], rows("r"), rows("r_a"), rows("r_aa"))
        if solution.status != Status.OK:
            return None
        force = W @ solution.lam_linear + rows("r_a")(solution.a).T @ solution.lam_nonlinear
        return len(A), 1.0, solution.a, force, scale(solution.a, force)
    try:  # at this state: branches of several ranks may meet
        policy: Policy = choose(form, p, inputs[:3]).acceleration
    except SingularConfiguration:
        return None
    a, lam, status = solve_saddle(M, A, W, b, -out["a0"], policy)
    if status != Status.OK:
        return None
    return policy.rank, _condition(M, A, policy.rank), a, W @ lam, scale(a, W @ lam)


def _transmitted(sizes: Array, W: Array) -> Array:
    """The effect on every force, (nv,), of rounding in each Λ from the forces it balances: the only scale of massless
    entries."""
    real = W * (sizes > 0)[:, None]
    square = (real**2).sum(axis=0)
    return W @ ((real * sizes[:, None]).sum(axis=0) / np.where(square > 0, square, np.inf))


def _verdict_of_law(form: NormalForm, system: System, state: State, inputs: tuple, scale: Any) -> Any:
    """The same for forces that contain multipliers: W Λ is only the reaction, and the law counts as a force."""
    a, lam, margin = acceleration(form, choose(form, inputs[-1]))(*inputs).values()
    if not margin > 0:
        return None
    values = {s: float(x) for s, x in state.items()}
    values |= dict(zip(system.accelerations, a.tolist(), strict=True))
    W = np.array(Tape([w for row in directions(system) for w in row])(values, FLOAT)).reshape(len(lam), len(a)).T
    A = form.select("A", "M")(*inputs)
    return len(lam), _condition(A["M"], A["A"], len(lam)), a, W @ lam, scale(a, W @ lam)


def _with_a(form: NormalForm, name: str, inputs: tuple, a: Array) -> list[Any]:
    """The inputs of an output of the normal form, with the accelerations if it depends on them."""
    takes = [port.name for port in form.select(name).inputs]
    return [*inputs, *([a] if "a" in takes else [])]


def _condition(M: Array, A: Array, rank: int) -> float:
    """Condition of the scaled saddle matrix on its independent rows."""
    scale = 1 / np.sqrt(np.where(np.abs(np.diag(M)) > 0, np.abs(np.diag(M)), 1))
    A = unit_rows(A * scale)
    K = np.block([[M * np.outer(scale, scale), A.T], [A, np.zeros((len(A), len(A)))]])
    sizes = singular_values(K)
    return float(sizes[0] / max(sizes[len(M) + rank - 1], 1e-300))
