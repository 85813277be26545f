"""Characters and seconds of problems of books that are not in the zoo (`page_problems.py`).

    python -m benchmarks.problems [NAME …]        (make problems; without names it writes docs/forms/problems.json)

A book's equations are judged first: at random states, with the accelerations of the form, their two sides are equal. Then they
and the lines that this library displays for the same equations are written by one printer, and their characters are counted.
Seconds are CPU seconds for the page, its solution, `ap.principle` and `ap.diagnose`, each the first time in this process.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import sympy

import appell as ap
from appell.forms.engine.constrained_states import Projection
from appell.forms.engine.display import lines, motion_lines
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.jets import Prescribed, t
from appell.letters import text
from appell.verify.exact import exact_parameters
from benchmarks.page_problems import PROBLEMS, Problem

PATH = Path(__file__).parents[1] / "docs" / "forms" / "problems.json"
JUDGED_STATES = 3
DIGITS = 40


def characters(pairs: Any) -> int:
    """Of equations lhs = rhs in one line of text each."""
    return sum(len(f"{text(sympy.sympify(lhs))} = {text(sympy.sympify(rhs))}") for lhs, rhs in pairs)


def book_characters(problem: Problem) -> int:
    """Of the book's equations and the definitions that it prints."""
    return characters([*problem.book, *((name, problem.names[name]) for name in problem.printed)])


def own_lines(problem: Problem) -> list[tuple[Any, Any]]:
    """What this library displays for the same equations: those of motion with what they name, or lines of the solution."""
    equations = problem.derive()
    if not problem.solved:
        return [(e.lhs, e.rhs) for e in motion_lines(equations)]
    found = {e.lhs: e.rhs for e in lines(equations, "solved")}
    return [(lhs, found[lhs]) for lhs, _ in problem.book]


def judged(problem: Problem) -> float:
    """Largest difference of the two sides of the book's equations at random states, as a share of their size."""
    system, numbers = problem.system, arithmetic(DIGITS)
    equations = ap.forms.lagrange(system)
    inside = lambda e: sympy.sympify(e).xreplace(dict(problem.names)).xreplace(dict(problem.names))
    tape = Tape([side for lhs, rhs in problem.book for side in (inside(lhs), inside(rhs))])
    worst, seen, project, rng = 0.0, 0, Projection(system), np.random.default_rng(3)
    expressions = (system.kinetic, system.potential, *system.residuals)
    given = {s for e in expressions for s in e.free_symbols if isinstance(s, Prescribed)}
    given = {type(s)(s.letter, order) for s in given for order in range(3)}
    for seed in range(20):
        values = {s: numbers.number(x) for s, x in exact_parameters(system, {}, seed).items()}
        moving = (t, *system.positions, *system.velocities, *given)
        values |= {s: numbers.number(sympy.Rational(int(rng.integers(30, 120)), 100)) for s in moving}
        state = project(values, numbers)
        if state is None:
            continue
        sides = tape(equations.solution(state, DIGITS), numbers)
        for lhs, rhs in zip(sides[::2], sides[1::2], strict=True):
            worst = max(worst, float(abs(lhs - rhs) / (1 + abs(lhs))))
        seen += 1
        if seen == JUDGED_STATES:
            return worst
    raise RuntimeError(f"{problem.name}: no states")


def seconds(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measured(name: str) -> dict[str, Any]:
    """A row of the table."""
    problem = PROBLEMS[name]()
    equations = problem.derive()
    row: dict[str, Any] = {"problem": name, "form": problem.form, "source": problem.source}
    row["page_s"] = seconds(equations.text)
    row["solution_s"] = seconds(lambda: equations.text("solved"))
    row["principle_s"] = seconds(lambda: str(ap.principle(problem.system)))
    row["diagnose_s"] = seconds(lambda: str(ap.diagnose(problem.system)))
    row["characters"] = characters(own_lines(problem))
    if problem.book:
        if (off := judged(problem)) > 1e-25:
            raise RuntimeError(f"the book's equations of {name} differ from the motion by {off:.1e}")
        row["book"] = book_characters(problem)
        row["ratio"] = round(row["characters"] / row["book"], 2)
    return row


def main(names: list[str]) -> None:
    known = ap.zoo.pendulum().system  # what is loaded at the first call
    ap.forms.lagrange(known).text("solved"), str(ap.principle(known)), str(ap.diagnose(known))
    rows = []
    for name in names or PROBLEMS:
        row = measured(name)
        rows.append(row)
        times = " ".join(f"{row[key]:5.2f}" for key in ("page_s", "solution_s", "principle_s", "diagnose_s"))
        print(
            f"{name:28} {row['form']:22} {row['characters']:6} {row.get('book', '—')!s:>5} {row.get('ratio', '')!s:>5}  {times}"
        )
    if not names:
        about = {"date": str(date.today()), "python": platform.python_version(), "sympy": sympy.__version__}
        PATH.write_text(json.dumps({**about, "rows": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
