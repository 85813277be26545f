"""SymPy on the equations of the zoo, as numbers for the table in `docs/forms/index.md`.

    python benchmarks/pages.py [--quick] [NAME …]        (make pages)

For every system of the zoo that is written in symbols: Lagrange's equations derived by SymPy (d/dt ∂T/∂q̇ − ∂T/∂q with its own
`diff` and functions of time, as its `LagrangesMethod` does) and each side simplified by `sympy.simplify`; Kane's with the
pseudo-velocities of the example (or suitable ones) as this library derives them, since SymPy's Kane needs bodies and frames,
each side simplified by `sympy.simplify`. Each in a process of its own that is given `LIMIT` seconds, the quickest of `TRIALS`.
Writes `docs/forms/pages.json`: form → system → [characters, CPU seconds], null where it did not come to an end. Characters are
those of one line of Unicode text for each equation of motion. "own" holds the same of this library: derivation and simplified
text, each in a process of its own as well. `--quick` does not wait again for what did not come to an end the last time; without
it the whole takes most of an hour.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import sympy

import appell as ap
from appell.forms import FORMS
from appell.forms.display import lines
from appell.letters import text

LIMIT = 600.0
"""Seconds that one system and one form may take."""
TRIALS, PATIENCE = 3, 5.0
"""How often each is measured, and the seconds from which once is enough."""
PATH = Path(__file__).parents[1] / "docs" / "forms" / "pages.json"


def written(example: Any, form: str) -> Any:
    """The equations of a form, or None where it does not apply."""
    system, route = example.system.symbolic(), FORMS[form]
    names = route.variants[-1] if form == "kane" else ()
    options = {name: example.pseudo if name == "pseudo" and example.pseudo else route.default(system, name) for name in names}
    return None if route.accepts(system, **options) else route(system, **options)


def characters(equations: Any) -> int:
    """Of equations lhs = rhs in one line of text each."""
    return sum(len(f"{text(e.lhs)} = {text(e.rhs)}") for e in equations)


def by_sympy(system: Any) -> list[sympy.Eq]:
    """Lagrange's equations by SymPy's own derivatives of functions of time, both sides simplified."""
    t = ap.t
    functions = {q: sympy.Function(f"f_{i}")(t) for i, q in enumerate(system.coordinates)}
    jets = {q.d: f.diff(t) for q, f in functions.items()} | {q.dd: f.diff(t, 2) for q, f in functions.items()} | functions
    back = {f: jet for jet, f in jets.items()}
    T = system.kinetic.xreplace(jets)
    right = [e.rhs for e in FORMS["lagrange"](system).equations]
    found = []
    for f, Q in zip(functions.values(), right, strict=True):
        lhs = sympy.simplify(T.diff(f.diff(t)).diff(t) - T.diff(f))
        rhs = sympy.simplify(Q.xreplace(jets))
        restored = [side.xreplace(dict(sorted(back.items(), key=lambda p: -p[0].count_ops()))) for side in (lhs, rhs)]
        found.append(sympy.Eq(*restored, evaluate=False))
    return found


def simplify(name: str, form: str, out: Any) -> None:
    """What SymPy makes of both sides, sent to the process that waits."""
    example = ap.zoo.ALL[name]()
    equations = written(example, form)
    if equations is None:
        return out.send("none")
    system = example.system.symbolic()
    begin = time.process_time()
    if form == "lagrange" and system.holonomic_speeds:
        short = by_sympy(system)
    else:
        short = [sympy.Eq(sympy.simplify(e.lhs), sympy.simplify(e.rhs), evaluate=False) for e in equations.equations]
    seconds = time.process_time() - begin
    out.send((characters(short), round(seconds, 2)))


def own(name: str, form: str, out: Any) -> None:
    """What this library makes of them."""
    example = ap.zoo.ALL[name]()
    begin = time.process_time()
    equations = written(example, form)
    if equations is None:
        return out.send("none")
    shown = lines(equations, "simplified")[: len(equations.equations)]
    count = characters(shown)
    out.send((count, round(time.process_time() - begin, 4)))


def quickest(job: Any, name: str, form: str) -> Any:
    """[characters, seconds] of the quickest trial, None past the limit, "none" where the form does not apply."""
    best = measured(job, name, form)
    for _ in range(TRIALS - 1):
        if best in (None, "none") or best[1] > PATIENCE:
            break
        best = min(best, measured(job, name, form), key=lambda found: found[1])
    return best


def measured(job: Any, name: str, form: str) -> Any:
    """[characters, seconds], None past the limit, "none" where the form does not apply."""
    import sympy.tensor.tensor  # noqa: F401 (SymPy loads it at the first sum of anything, here or there)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=job, args=(name, form, theirs))
    process.start()
    found = ours.recv() if ours.poll(LIMIT) else None
    process.kill()
    return found


def main(names: list[str], quick: bool) -> None:
    said = {"sympy": sympy.__version__, "python": platform.python_version(), "date": str(date.today()), "limit_s": LIMIT}
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    tables = {key: known.get(key, {"lagrange": {}, "kane": {}}) for key in ("own", "forms")}
    for name in names or [n for n in ap.zoo.ALL if n not in ap.zoo.ROBOTS]:
        for key, job in (("own", own), ("forms", simplify)):
            for form, table in tables[key].items():
                if quick and table.get(name, ()) is None:
                    continue  # it did not end
                found = quickest(job, name, form)
                if found != "none":
                    table[name] = found
                print(name, form, key, found, flush=True)
        PATH.write_text(json.dumps({**said, **tables}, indent=1) + "\n")


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--quick"], "--quick" in sys.argv)
