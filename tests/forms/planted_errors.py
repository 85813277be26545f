"""Errors planted in every form of every problem of `benchmarks/page_problems.py`: `agree` has to refuse each.

    python -m tests.forms.planted_errors [NAME …]        (make planted-errors)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import sympy
from benchmarks.page_problems import PROBLEMS

import appell as ap
from appell.forms import FORMS
from appell.forms.base import Form

DRIVEN = {"l": sympy.sin(ap.t) / 3 + 2, "rho": sympy.sin(ap.t) / 3 + 2}
"""Laws of the prescribed functions of the problems."""


def _changed(found: Any, k: int, change: Callable[[Any], Any]) -> Any:
    lines = list(found.derived)
    lines[k] = sympy.Eq(change(lines[k].lhs), lines[k].rhs, evaluate=False)
    return replace(found, equations=tuple(lines))


def _turned(found: Any) -> Any:
    """The sign of one inertial term of the last equation."""
    a = next(s for s in reversed(found.unknowns) if found.derived[-1].lhs.has(s))
    return _changed(found, -1, lambda e: e.xreplace({a: -a}))


def _no_row(found: Any) -> Any:
    return replace(found, rows=found.rows[1:])


ERRORS: dict[str, Callable[[Any], Any]] = {
    "first equation missing": lambda found: replace(found, equations=found.derived[1:]),
    "last equation missing": lambda found: replace(found, equations=found.derived[:-1]),
    "a small term too much": lambda found: _changed(found, 0, lambda e: e + found.system.velocities[-1] / 1000),
    "a sign": _turned,
    "a constraint missing": _no_row,
    "reactions reversed": lambda found: replace(found, multipliers=tuple(-x for x in found.multipliers)),
    "kinematics missing": lambda found: replace(found, kinematics=found.kinematics[:-1]),
}


def applies(error: str, found: Any) -> bool:
    """Whether a form has something for an error to spoil."""
    if error == "a constraint missing":
        return bool(found.rows)
    if error == "reactions reversed":
        return bool(found.multipliers)
    if error == "kinematics missing":
        return bool(found.kinematics)
    if error == "a sign":
        return any(found.derived[-1].lhs.has(s) for s in found.unknowns) and _is_driven(found)
    return True


def _is_driven(found: Any) -> bool:
    """Whether the last equation has more than accelerations: J ω̇ = 0 means the same with a minus."""
    last = found.derived[-1]
    rest = (last.lhs - last.rhs).xreplace(dict.fromkeys(found.unknowns, sympy.Integer(0)))
    at = {s: 0.3 + 0.17 * k for k, s in enumerate(sorted(rest.free_symbols, key=str))}
    return abs(sympy.N(rest.xreplace(at))) > 1e-9


class Planted(Form):
    """A form with an error in it."""

    def __init__(self, form: Form, names: tuple[str, ...], error: str):
        self.form, self.error, self.name, self.variants = form, error, "planted", (names,)
        self.source = form.source

    def __getattr__(self, name: str) -> Any:
        return getattr(self.form, name)

    def reason_against(self, system: Any, **options: Any) -> str | None:
        return self.form.reason_against(system, **options)

    def default(self, system: Any, option: str) -> Any:
        return self.form.default(system, option)

    def derive(self, system: Any, **options: Any) -> Any:
        found = self.form.derive(system, **options)
        return ERRORS[self.error](found) if applies(self.error, found) else found


def variants(name: str) -> Iterator[tuple[Form, tuple[str, ...]]]:
    """The forms that apply to a problem, with their options."""
    problem = PROBLEMS[name]()
    system = problem.system.symbolic()
    for route in FORMS.values():
        for names in route.variants:
            given = {n: problem.options[n] if n in problem.options else route.default(system, n) for n in names}
            if route.reason_against(system) is None and route.reason_against(system, **given) is None:
                yield route, names


def driven(system: Any) -> dict[str, Any]:
    """Laws of what is prescribed."""
    return {k: v for k, v in DRIVEN.items() if k in {str(s) for s in system.symbolic().prescribed}}


def _options(problem: Any, form: Form, names: tuple[str, ...]) -> dict[str, Any]:
    return {n: problem.options[n] if n in problem.options else form.default(problem.system.symbolic(), n) for n in names}


def spoils(name: str, form: Form, names: tuple[str, ...], error: str) -> bool:
    """Whether a form of a problem has something that the error changes."""
    problem = PROBLEMS[name]()
    return applies(error, form.derive(problem.system.symbolic(), **_options(problem, form, names)))


def refused(name: str, form: Form, names: tuple[str, ...], error: str) -> bool:
    """Whether `agree` names the form with the error."""
    problem = PROBLEMS[name]()
    other = "lagrange" if form.name != "lagrange" else "nielsen"
    forms = [FORMS[other], Planted(form, names, error)]
    given = {n: x for n, x in problem.options.items() if n in names}
    found = ap.agree(problem.system, states=1, forms=forms, parameters=driven(problem.system), **given)
    return not found.ok and "planted" in found.message


def main(chosen: list[str]) -> None:
    tried = missed = 0
    for name in chosen or PROBLEMS:
        begin = time.process_time()
        for form, names in variants(name):
            for error in ERRORS:
                if not spoils(name, form, names, error):
                    continue
                tried += 1
                if not refused(name, form, names, error):
                    missed += 1
                    print(f"{name}: {form.name} {names}: {error} was not refused", flush=True)
        print(f"{name:28} {time.process_time() - begin:.1f} s", flush=True)
    print(f"{tried} planted errors, {missed} not refused")


if __name__ == "__main__":
    main(sys.argv[1:])
