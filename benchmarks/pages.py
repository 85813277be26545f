"""SymPy on the equations of the zoo, as numbers for the table in `docs/forms/index.md`.

    python benchmarks/pages.py [--quick] [NAME …]        (make pages)

For every system of the zoo that is written in symbols, like with like, each in an interpreter of its own that has loaded
everything and done nothing, and that is given `LIMIT` seconds; ours and SymPy's in turn, the quickest of `TRIALS` of each:

    "equations"  Lagrange's equations from T, V and the constraints to simplified expressions. SymPy: d/dt ∂T/∂q̇ − ∂T/∂q and the
                 right sides by its own `diff` and functions of time, as its `LagrangesMethod` does, then `sympy.simplify` of
                 each side.
    "simplify"   Kane's equations with the pseudo-velocities of the example (or suitable ones), and Lagrange's in speeds that
                 are no q̇: SymPy derives neither without bodies and frames, so that this library derives them for both, and what
                 is timed is their simplification alone, expressions to expressions.

One printer writes the lines of both, after what is timed. Writes `docs/forms/pages.json`. "forms": form → system → [characters,
CPU seconds, what was timed] of SymPy, null where it did not come to an end. "own": form → system → [characters, CPU seconds of
the equations, of simplification alone] of this library. Characters are those of one line of Unicode text for each equation of
motion. `--quick` does not wait again for what did not come to an end the last time; without it the whole takes most of an hour.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import platform
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import sympy
import sympy.tensor.tensor  # which SymPy loads at the first sum of anything, here or there

import appell as ap
from appell.errors import FormNotApplicable
from appell.forms import FORMS
from appell.forms.engine.display import of_motion
from appell.forms.engine.system_terms import multiplier_symbols
from appell.letters import text

LIMIT = 600.0
"""Seconds that one system and one form may take."""
TRIALS, PATIENCE = 5, 2.0
"""How often each is measured, and the seconds from which once is enough."""
PATH = Path(__file__).parents[1] / "docs" / "forms" / "pages.json"


def written(example: Any, form: str) -> Any:
    """The equations of a form, or None where it does not apply."""
    system, route = example.system.symbolic(), FORMS[form]
    names = route.variants[-1] if form == "kane" else ()
    options = {name: example.pseudo if name == "pseudo" and example.pseudo else route.default(system, name) for name in names}
    try:
        return route(system, **options)
    except FormNotApplicable:
        return None


def characters(equations: Any) -> int:
    """Of equations lhs = rhs in one line of text each."""
    return sum(len(f"{text(e.lhs)} = {text(e.rhs)}") for e in equations)


def by_sympy(system: Any) -> list[sympy.Eq]:
    """Lagrange's equations by SymPy's own derivatives of functions of time, both sides simplified."""
    t, functions = ap.t, [sympy.Function(f"f_{i}")(ap.t) for i in range(system.nq)]
    pairs = list(zip(system.coordinates, functions, strict=True))
    jets = {q.dd: f.diff(t, 2) for q, f in pairs} | {q.d: f.diff(t) for q, f in pairs} | dict(pairs)
    back = {f: jet for jet, f in jets.items()}
    T, V, *rows = (e.xreplace(jets) for e in (system.kinetic, system.potential, *system.residuals))
    found = []
    for i, f in enumerate(functions):
        lhs = T.diff(f.diff(t)).diff(t) - T.diff(f)
        rhs = system.forces[i].xreplace(jets) - V.diff(f)
        for lam, row, c, given in zip(multiplier_symbols(system), rows, system.constraints, system.reactions, strict=True):
            rhs += lam * (given[i].xreplace(jets) if given else row.diff(f.diff(t, c.order)))
        both = [sympy.simplify(side).xreplace(back) for side in (lhs, rhs)]
        found.append(sympy.Eq(*both, evaluate=False))
    return found


def simplify(name: str, form: str, out: Any) -> None:
    """What SymPy makes of both sides, sent to the process that waits."""
    example = ap.zoo.ALL[name]()
    equations = written(example, form)
    if equations is None:
        return out.send("none")
    system = example.system.symbolic()
    derived = form == "lagrange" and system.holonomic_speeds
    sides = [] if derived else [(e.lhs, e.rhs) for e in equations.derived]
    gc.collect()
    begin = time.process_time()
    if derived:
        short = by_sympy(system)
    else:
        short = [sympy.Eq(sympy.simplify(lhs), sympy.simplify(rhs), evaluate=False) for lhs, rhs in sides]
    seconds = time.process_time() - begin
    out.send((characters(short), round(seconds, 3), "equations" if derived else "simplify"))


def own(name: str, form: str, out: Any) -> None:
    """What this library makes of them."""
    example = ap.zoo.ALL[name]()
    gc.collect()
    begin = time.process_time()
    equations = written(example, form)
    if equations is None:
        return out.send("none")
    derived = time.process_time()
    shown = of_motion(equations)
    short = time.process_time()
    out.send((characters(shown), round(short - begin, 5), round(short - derived, 5)))


def quickest(name: str, form: str, jobs: dict[str, Any]) -> dict[str, Any]:
    """For each job the least of each time over the trials, None past the limit, "none" where the form does not apply."""
    best: dict[str, Any] = {}
    for trial in range(TRIALS):
        for key, job in jobs.items():
            if trial and (best[key] in (None, "none") or best[key][1] > PATIENCE):
                continue
            found, known = measured(job, name, form), best.get(key)
            best[key] = (found[0], *map(min, found[1:], known[1:])) if known else found
    return best


def measured(job: Any, name: str, form: str) -> Any:
    """What a job sends, None past the limit, "none" where the form does not apply."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=job, args=(name, form, theirs))
    process.start()
    found = ours.recv() if ours.poll(LIMIT) else None
    process.kill()
    return found


def main(names: list[str], quick: bool) -> None:
    said = {"sympy": sympy.__version__, "python": platform.python_version(), "date": str(date.today()), "limit_s": LIMIT}
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    tables = {key: known.get(key, {"lagrange": {}, "kane": {}}) for key in ("own", "forms")}
    for name in names or [n for n in ap.zoo.ALL if n not in ap.zoo.ROBOTS]:
        for form in ("lagrange", "kane"):
            jobs = {"own": own, "forms": simplify}
            if quick and tables["forms"][form].get(name, ()) is None:
                del jobs["forms"]  # it did not end
            for key, found in quickest(name, form, jobs).items():
                if found != "none":
                    tables[key][form][name] = found
                print(name, form, key, found, flush=True)
        PATH.write_text(json.dumps({**said, **tables}, indent=1) + "\n")


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--quick"], "--quick" in sys.argv)
