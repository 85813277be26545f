"""Every classical form of every system of the zoo, for the tables of `forms/index.md`: `python docs/every_form.py`.

Prints JSON, system → form → [characters, CPU seconds], null where a form does not apply. Characters are those of the equations
of motion, one line of text each; the time is that from a system to these lines, in a process (a fork of one that has made the
system and nothing else, its memory gone through once, so that it is its own) that has derived nothing before. Forms that can do
without multipliers do, with the pseudo-velocities of the example, or with those of `agree`.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import time
from typing import Any

from sympy.core.cache import clear_cache

import appell as ap
from appell.forms import FORMS
from appell.forms.engine.display import of_motion
from appell.letters import text

ZOO = {**ap.zoo.ALL, **ap.zoo.LARGE}


def derived(example: Any, form: str) -> Any:
    """The equations of a form in the first of its variants that applies: in the pseudo-velocities of the example,
    in independent velocities, with multipliers, in pseudo-velocities that `agree` chooses."""
    system, route = example.system.symbolic(), FORMS[form]
    for names in sorted(reversed(route.variants), key=lambda names: ("pseudo" in names) != bool(example.pseudo)):
        given = {n: example.pseudo if n == "pseudo" and example.pseudo else route.default(system, n) for n in names}
        if not route.reason_against(system, **given):
            return route(system, **given)
    return None


def characters(equations: Any) -> int:
    """Of the equations of motion, one line each."""
    return sum(len(f"{text(e.lhs)} = {text(e.rhs)}") for e in of_motion(equations))


def measure(example: Any, form: str, out: Any) -> None:
    gc.collect()
    begin = time.process_time()
    equations = derived(example, form)
    out.send(None if equations is None else (characters(equations), time.process_time() - begin))


def measured(example: Any, form: str) -> Any:
    """[characters, seconds] from a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=measure, args=(example, form, theirs))
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    return found


def main() -> None:
    import sympy.tensor.tensor  # noqa: F401 (SymPy loads it at the first sum of anything)

    characters(ap.forms.lagrange(ap.zoo.pendulum().system))  # whatever else is loaded when it is needed
    table = {}
    for name, make in ZOO.items():
        clear_cache()
        example = make()
        table[name] = {form: measured(example, form) for form in FORMS}
    print(json.dumps(table))


if __name__ == "__main__":
    main()
