"""A check that the displayed equations of a form are complete: a missing equation leaves something undetermined.

    equations and rows F(x) = 0    every null vector of ∂F/∂x at the solution changes multipliers only, and no force W Λ
    kinematics K(ẏ) = 0            no null vector of ∂K/∂ẏ: with the velocities that the form is written in, they give every q̇

A form that solves its own equations satisfies the first automatically. One that finds its values otherwise (a pseudo-inverse, a
secular equation, a branch of Routh's form) has the right values whatever it displays, and its kinematics are not used
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.errors import SingularConfiguration
from appell.forms.base import Equations, Form
from appell.forms.engine.constrained_states import State
from appell.forms.engine.derivation import partial
from appell.forms.engine.evaluation import Arithmetic, Tape
from appell.forms.engine.linear_solve import Undetermined, solve_with_nullity
from appell.forms.engine.system_terms import directions, nonlinear_rows
from appell.jets import Prescribed, t
from appell.model.multiplier import Multiplier


def not_determined(equations: Equations, solutions: Sequence[State], numbers: Arithmetic) -> str:
    """What the equations and kinematics of a form do not determine at its own solutions, as text; "" for nothing."""
    return _in_kinematics(equations, solutions, numbers) or _in_equations(equations, solutions, numbers)


def has_own_solution(equations: Equations) -> bool:
    """Whether the values of a form are not found by solving its displayed equations."""
    return type(equations.route).solve_at is not Form.solve_at


def kinematics_in(equations: Equations, known: set[Any]) -> list[Any]:
    """The kinematics in known symbols; the others, as in Routh's form, are definitions."""
    return [e for e in equations.kinematics if e.free_symbols <= known]


def known_symbols(equations: Equations, solution: State) -> set[Any]:
    """The symbols with a value at a solution."""
    return {*solution, *(q.d for q in equations.system.positions), *equations.unknowns, *equations.definitions}


# -- kinematics ----------------------------------------------------------------------------------------------------------


def _in_kinematics(equations: Equations, solutions: Sequence[State], numbers: Arithmetic) -> str:
    system, written_in = equations.system, equations.written_in
    written = {*system.velocities, *equations.definitions} if written_in is None else set(written_in)
    rates = [q.d for q in system.positions if q.d not in written]
    if not rates or not solutions:
        return ""
    shown = kinematics_in(equations, known_symbols(equations, solutions[0]))
    shown += [e for e in equations.derived if not e.free_symbols & set(equations.unknowns)]  # ẏ = −∂R/∂p of Routh's form
    fixed = {t, *system.positions, *system.parameters, *written, *rates}
    symbols = set().union(*(e.free_symbols for e in shown))
    named = sorted((s for s in symbols if s not in fixed and not isinstance(s, Prescribed)), key=str)
    unknowns = [*rates, *named]
    K = [partial(s)(e.lhs - e.rhs) for e in shown for s in unknowns]
    undetermined = _undetermined(Tape(K), unknowns, [True] * len(unknowns), solutions, numbers)
    return f"its kinematics leave {undetermined}" if undetermined else ""


def _undetermined(tape: Tape, unknowns: list[Any], unique: list[bool], solutions: Sequence[State], numbers: Arithmetic) -> str:
    """The unknowns that K x = 0 with K = ∂F/∂x leaves undetermined at every solution, as text; "" for none."""
    reason = ""
    for solution in solutions:
        try:
            reason = _nullity(tape(solution, numbers), unknowns, unique, numbers)[0]
        except SingularConfiguration:
            continue
        if not reason:
            return ""
    return reason


def _nullity(flat: Sequence[Any], unknowns: list[Any], unique: list[bool], numbers: Arithmetic) -> tuple[str, int]:
    """(what is not determined, number of null vectors) of a matrix, row by row."""
    n = len(unknowns)
    K = [list(flat[i : i + n]) for i in range(0, len(flat), n)]
    if not K:
        return f"{', '.join(map(str, unknowns))} not determined", n
    try:
        return "", solve_with_nullity(K, [0] * len(K), unique, numbers.tolerance, [str(s) for s in unknowns])[1]
    except Undetermined as error:
        return str(error).split(" here:")[0], n


# -- equations of motion ---------------------------------------------------------------------------------------------------


def _in_equations(equations: Equations, solutions: Sequence[State], numbers: Arithmetic) -> str:
    if not has_own_solution(equations):
        return ""
    system, unknowns = equations.system, list(equations.unknowns)
    if nonlinear_rows(system) or equations.nonlinear_law:
        slopes = [partial(x) for x in unknowns]
        K = Tape([d(f) for f in equations.residuals for d in slopes])
    else:
        K = Tape([*equations.coefficients[0]])
    unique, W = [not isinstance(x, Multiplier) for x in unknowns], Tape([w for row in directions(system) for w in row])
    reason = ""
    for solution in solutions:
        try:
            reason, free = _nullity(K(solution, numbers), unknowns, unique, numbers)
            columns, k = W(solution, numbers), len(system.constraints)
        except SingularConfiguration:
            continue
        flat = [columns[j * system.nv + i] for i in range(system.nv) for j in range(k)]  # W, (nv, k): Λ without force
        if not reason and k and all(not u for u in unique[-k:]) and free > _nullity(flat, [*range(k)], [False] * k, numbers)[1]:
            reason = "the forces of the constraints not determined"
        if not reason:
            return ""
    return f"its equations leave {reason}" if reason else ""
