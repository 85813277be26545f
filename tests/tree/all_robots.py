"""Every question of `every_question` on every URDF of example-robot-data, fixed and floating, against Pinocchio:

    python -m tests.tree.all_robots [--only TEXT] [--backend vm] [--share K/N]        make all-robots

--share 1/2: the first, third … of the files, for two processes side by side. --from TEXT: from the first file on that has it
in its name, small robots first.

One state and a batch of three; 1e-10 of the largest entry. Exit status 1 where an answer differs. Files that neither library
reads, and bodies without mass at the end of a joint, whose accelerations nobody knows, are counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np
from tests.tree.every_question import NEEDS_MASSES, answers, frames_of, worst
from tests.tree.pinocchio_peer import ROBOTS, UNREADABLE, URDFS, load
from tests.tree.test_pinocchio import MASSLESS, TOLERANCE

ROUNDED = 100 * np.finfo(float).eps
"""Times the condition number of M: what solving with it loses in either library, where that is more than `TOLERANCE`. (The
floating double pendulum, cond M = 5e4: against 40 digits ∂a/∂q is off by 4e-14 here and by 1.4e-10 in Pinocchio.)"""


def compared(name: str, floating: bool, backend: str) -> list[tuple[str, float, float]]:
    """(question, largest relative error, allowed) of one robot, of a state and of a batch."""
    found, twin = [], load(name, floating, backend)
    states = [twin.state(np.random.default_rng(seed)) for seed in range(3)]
    frames = list(frames_of(twin, np.random.default_rng(5)))
    for batch in (False, True):
        q, v, x = (np.array(part) for part in zip(*states, strict=True)) if batch else states[0]
        lost = ROUNDED * float(np.max(np.linalg.cond(twin.tree.mass_matrix(q)))) if twin.tree.nv else 0.0
        for question, answer in answers(twin, frames, q, v, x, massless=name in MASSLESS):
            allowed = max(TOLERANCE, lost) if question in NEEDS_MASSES else TOLERANCE
            found.append(("batch: " * batch + question, worst(answer), allowed))
    return found


def _joints(name: str) -> int:
    """Small robots come first."""
    return (ROBOTS / name).read_text(encoding="utf-8").count("<joint")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--backend", default="vm")
    parser.add_argument("--share", default="1/1")
    parser.add_argument("--from", dest="first", default="")
    options = parser.parse_args(arguments)
    own, shares = map(int, options.share.split("/"))
    files = sorted((name for name in URDFS if options.only in name and name not in UNREADABLE), key=_joints)
    files = files[next(k for k, name in enumerate(files) if options.first in name) :][own - 1 :: shares]
    robots, asked, wrong, rounded = 0, Counter[str](), 0, 0
    largest = (0.0, "")
    for name in files:
        for floating in (False, True):
            began = time.process_time()
            robot = f"{name} {'floating' if floating else 'fixed'}"
            found = compared(name, floating, options.backend)
            asked.update(question.removeprefix("batch: ").split(" of ")[0] for question, _, _ in found)
            bad = [(question, size) for question, size, allowed in found if not size <= allowed]
            robots, wrong = robots + 1, wrong + len(bad)
            rounded += sum(TOLERANCE < size <= allowed for _, size, allowed in found)
            here = max(((size, question) for question, size, allowed in found if allowed == TOLERANCE), default=(0.0, "-"))
            largest = max(largest, (here[0], f"{robot}: {here[1]}"))
            spent = time.process_time() - began
            print(f"{robot}: {len(found)} answers, largest {here[0]:.1e} ({here[1]}), {spent:.0f} s", flush=True)
            for question, size in bad:
                print(f"    WRONG {question}: {size:.1e}", flush=True)
    print(f"\n{robots} robots, fixed or floating: {len(asked)} questions, {asked.total():,} answers, {wrong} wrong")
    print(f"largest: {largest[0]:.1e} ({largest[1]}); {rounded} between {TOLERANCE:g} and what an ill-conditioned M loses")
    lost, massless = (len(set(URDFS) & set(files)) for files in (UNREADABLE, MASSLESS))
    print(f"not read by either library: {lost} files; without accelerations, since an end has no mass: {massless} files")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
