"""SymPy's `simplify` on the equations of the zoo, as numbers for the table in `docs/forms/index.md`.

    python benchmarks/pages.py [NAME …]

For every system of the zoo that is written in symbols, Lagrange's equations and Kane's (with the pseudo-velocities of the
example, or suitable ones) as they are derived, each side simplified by SymPy in a process of its own that is given twice
`LIMIT` seconds of time. Writes `docs/forms/pages.json`: form → system → [characters, CPU seconds], null where simplify did
not come to an end. Characters are those of one line of Unicode text for each equation of motion.
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
from appell.letters import text

LIMIT = 60.0
"""Half of the seconds that one system and one form may take."""
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


def simplify(name: str, form: str, out: Any) -> None:
    """What SymPy makes of both sides, sent to the process that waits."""
    equations = written(ap.zoo.ALL[name](), form)
    if equations is None:
        return out.send("none")
    begin = time.process_time()
    short = [sympy.Eq(sympy.simplify(e.lhs), sympy.simplify(e.rhs), evaluate=False) for e in equations.equations]
    out.send((characters(short), round(time.process_time() - begin, 2)))


def measured(name: str, form: str) -> Any:
    """[characters, seconds], None past the limit, "none" where the form does not apply."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=simplify, args=(name, form, theirs))
    process.start()
    found = ours.recv() if ours.poll(2 * LIMIT) else None
    process.kill()
    return found


def main(names: list[str]) -> None:
    known = json.loads(PATH.read_text())["forms"] if PATH.exists() else {"lagrange": {}, "kane": {}}
    for name in names or [n for n in ap.zoo.ALL if n not in ap.zoo.ROBOTS]:
        for form, table in known.items():
            found = measured(name, form)
            if found != "none":
                table[name] = found
            print(name, form, found, flush=True)
    said = {"sympy": sympy.__version__, "python": platform.python_version(), "date": str(date.today()), "limit_s": LIMIT}
    PATH.write_text(json.dumps({**said, "forms": known}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
