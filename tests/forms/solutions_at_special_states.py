"""Every displayed solution at random and at special states: 0, π/2, π, equal angles, coordinates and velocities that vanish.

    python -m tests.forms.solutions_at_special_states [NAME …]        (make special-states)

A solution is what `equations.text("solved")` shows, names included. Its reference is the numeric answer of Lagrange's form at
the state, in 30 digits; for pseudo-accelerations that of the form's own equations. Sines and cosines of π and π/2 are exact
here, so that 0/0 has no value, as when somebody puts π into the formula. States at which the problem or the velocities of the
form are singular say nothing and are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from benchmarks.page_problems import PROBLEMS
from sympy import Rational, pi

import appell as ap
from appell.forms import FORMS
from appell.forms.engine.constrained_states import Projection
from appell.forms.engine.display import lines
from appell.forms.engine.evaluation import Arithmetic, Tape, arithmetic
from appell.forms.engine.linear_solve import Undetermined
from appell.jets import Prescribed
from appell.verify.exact import exact_parameters, exact_system

DIGITS = 30
EXACT = 1e-25
"""Sines and cosines below this are zero."""
CLOSE = 1e-15
"""Difference from the answer as a part of it: half of the digits."""

SINGULAR = 1e15
"""Coefficients and accelerations above this are poles of the problem, of its coordinates or of the velocities of a form."""


@cache
def snapped() -> Arithmetic:
    """Numbers of `DIGITS` digits in which sin π and cos π/2 are 0 and tan π/2 is infinite, as in SymPy."""
    plain = arithmetic(DIGITS)

    def exact(f: Any) -> Any:
        def value(x: Any) -> Any:
            found = f(x)
            if abs(found) > 1 / EXACT:
                return plain.context.inf
            return plain.number(0) if abs(found) < EXACT else found

        return value

    waves = {name: exact(plain.functions[name]) for name in ("sin", "cos", "tan", "cot", "sec", "csc")}
    return replace(plain, functions={**plain.functions, **waves})


@dataclass
class Outcome:
    """States that were compared, and what was wrong there."""

    name: str
    form: str
    compared: int = 0
    special: int = 0
    wrong: list[str] = field(default_factory=list)
    characters: int = 0


def systems() -> dict[str, Any]:
    """Name → function that gives a system and the pseudo-velocities of its page."""
    found = {name: lambda make=make: _of_zoo(make()) for name, make in {**ap.zoo.ALL, **ap.zoo.LARGE}.items()}
    return {**found, **{name: lambda make=make: _of_book(make()) for name, make in PROBLEMS.items()}}


def _of_zoo(example: Any) -> tuple[Any, dict[str, Any]]:
    return example.system, {"pseudo": example.pseudo} if example.pseudo else {}


def _of_book(problem: Any) -> tuple[Any, dict[str, Any]]:
    return problem.system, dict(problem.options)


def pages(system: Any, options: dict[str, Any], forms: Any = None) -> Iterator[tuple[str, Any]]:
    """Every form that applies, in every variant that `agree` tries."""
    for name in forms or FORMS:
        route = FORMS[name]
        for names in route.variants:
            given = {n: options[n] if n in options else route.default(system, n) for n in names}
            try:
                if route.reason_against(system, **given) is None:
                    yield f"{name} ({', '.join(names)})" if names else name, route(system, **given)
            except ap.FormNotApplicable:
                continue


def states(system: Any, seed: int) -> Iterator[tuple[dict[Any, Any], dict[Any, Any]]]:
    """What is special in it, and t, q, v in exact numbers, before they are moved onto the constraints."""
    rng = np.random.default_rng(seed)
    number = lambda: Rational(int(rng.integers(20, 130)), 100) * int(rng.choice([-1, 1]))
    turned = [s for s in system.coordinates if _is_angle(system, s)]
    for _ in range(2):
        yield {}, {s: number() for s in (*system.positions, *system.velocities)}
    changes: list[dict[Any, Any]] = [{s: value} for s in turned for value in (sympy.Integer(0), pi / 2, pi)]
    changes += [{s: sympy.Integer(0)} for s in (*system.coordinates, *system.velocities) if s not in turned]
    changes += [dict.fromkeys(pair, Rational(7, 10)) for pair in combinations(turned, 2)]
    changes += [{s: value for s in turned} for value in (sympy.Integer(0), pi / 2, Rational(7, 10))]
    changes += [dict.fromkeys(system.velocities, sympy.Integer(0))]
    for ball in system.quaternions:
        ones = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]]
        root = lambda one: sympy.sqrt(Rational(1, sum(one)))
        changes += [dict(zip(ball.coordinates, [root(one) * k for k in one], strict=True)) for one in ones]
    for change in changes:
        usual = {s: number() for s in (*system.positions, *system.velocities)}
        yield change, usual | change
    for _ in range(6):
        usual = {s: number() for s in (*system.positions, *system.velocities)}
        change = {s: (sympy.Integer(0), pi / 2, pi, Rational(7, 10))[rng.integers(4)] for s in turned}
        yield change, usual | change


def _is_angle(system: Any, s: Any) -> bool:
    waves = {w for e in (system.kinetic, system.potential, *system.residuals) for w in e.atoms(sympy.sin, sympy.cos)}
    return any(s in w.free_symbols for w in waves)


def sampled(system: Any, seed: int, most: int | None) -> Iterator[tuple[bool, dict[Any, Any]]]:
    """Those of the states, `most` at most, that lie on the constraints, with parameters of their own."""
    numbers, rng = snapped(), np.random.default_rng(seed)
    all_states = list(states(system, seed))
    if most is not None and most < len(all_states):
        all_states = [all_states[k] for k in sorted(rng.permutation(len(all_states))[:most])]
    given = {s for e in (system.kinetic, system.potential, *system.forces, *system.residuals) for s in e.free_symbols}
    driven = {type(s)(s.letter, order) for s in given if isinstance(s, Prescribed) for order in range(3)}
    for k, (special, state) in enumerate(all_states):
        state = {ap.t: Rational(3, 10), **exact_parameters(system, {}, seed + k), **state}
        state |= {s: Rational(int(rng.integers(50, 130)), 100) for s in driven}
        state |= {s: Rational(int(rng.integers(50, 130)), 100) for s in system.states}
        start = {s: numbers.number(sympy.N(x, DIGITS + 15)) for s, x in state.items()}
        for held in [special, ()] if special else [()]:  # other coordinates give way if they can
            moved = Projection(system, held)(start, numbers)
            if moved is not None:
                yield bool(held), moved
                break


def look(name: str, form: str, equations: Any, places: list[tuple[bool, dict[Any, Any]]]) -> Outcome:
    """The solution that a page shows against the numeric answer."""
    outcome, numbers = Outcome(name, form), snapped()
    shown = lines(equations, "solved", True)
    outcome.characters = sum(len(str(e.rhs)) for e in shown)
    tapes = [(e.lhs, Tape([e.rhs])) for e in shown]
    judge, coefficients = ap.forms.lagrange(equations.system), Tape([*equations.coefficients[0], *equations.coefficients[1]])
    faces = Tape([face.function for face in equations.system.unilateral] if equations.form == "routh" else [])
    for special, state in places:
        if any(gap <= 0 for gap in faces(state, numbers)):
            continue  # |x| of a folded wall means nothing behind it
        try:
            known = judge.solution(state, DIGITS)
            own = equations.solution(state, DIGITS)
            if max(abs(x) for x in (*coefficients(own, numbers), *own.values())) > SINGULAR:
                continue
            if equations.solved_block is not None:
                equations.solved_block.require_regular({s: float(x) for s, x in own.items()})
        except (ap.SingularConfiguration, Undetermined):
            continue
        wanted = {**{s: own[s] for s in equations.unknowns}, **{a: known[a] for a in equations.system.accelerations}}
        outcome.compared, outcome.special = outcome.compared + 1, outcome.special + special
        values = {s: x for s, x in own.items() if s not in equations.unknowns}
        for lhs, tape in tapes:
            try:
                (found,) = tape(values, numbers)
            except ap.SingularConfiguration as error:
                found, said = None, str(error)
            except ap.ModelError as error:  # a name that has no value
                found, said = None, str(error)
            if found is not None:
                values[lhs] = found
                said = f"{float(found):g}"
            if lhs in wanted and (found is None or not abs(found - wanted[lhs]) <= CLOSE * (1 + abs(wanted[lhs]))):
                at = ", ".join(f"{s} = {float(x):.3g}" for s, x in state.items() if s in equations.system.coordinates)
                outcome.wrong.append(f"{lhs}: {said} for {float(wanted[lhs]):g} at {at}")
    return outcome


def compared(name: str, forms: Any = None, most: int | None = None, seed: int = 1) -> Iterator[Outcome]:
    """Every form of a system."""
    system, options = systems()[name]()
    system = exact_system(system.symbolic())
    places = list(sampled(system, seed, most))
    for form, equations in pages(system, options, forms):
        try:
            yield look(name, form, equations, places)
        except ap.FormNotApplicable:  # no explicit solution, and the message says why
            continue


def main(names: list[str]) -> None:
    total = bad = count = 0
    for name in names or systems():
        begin = time.process_time()
        for one in compared(name):
            total, bad, count = total + 1, bad + bool(one.wrong), count + one.compared
            print(f"{name:26} {one.form:28} {one.compared:3} ({one.special:3} special) {len(one.wrong):3} wrong", flush=True)
            for line in one.wrong[:2]:
                print("      ", line)
        print(f"    {time.process_time() - begin:.1f} s", flush=True)
    print(f"{total} solutions, {count} comparisons, {bad} with a false pole")


if __name__ == "__main__":
    main(sys.argv[1:])
