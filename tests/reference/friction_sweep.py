"""`make sweep`: random mechanisms with friction against the event-driven reference, and what must hold in every motion.

    python -m tests.reference.friction_sweep COUNT [--first SEED] [--alone] [--share k/N]      alone: without the reference

The small sample of it in the test suite is `tests/friction/test_reference.py`.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np
from tests.reference.friction import Ambiguous, EventDriven, Mechanism
from tests.reference.friction_families import FAMILIES, for_appell, mechanism
from tests.reference.sweeps import Outcome, left_out, long_run, right, sweep, wrong

import appell as ap

UNTIL = 0.6
RESTING = 1e-6
"""Where impacts accumulate, both sides stop counting them at heights of 1e-14 m, speeds of 1e-7 m/s."""


def compared(m: Mechanism, **options: Any) -> tuple[Any, float]:
    """(motion, largest difference of the state at the end from the reference)."""
    system, start, parameters = for_appell(m)
    motion = ap.simulate(system, start, UNTIL, parameters=parameters, rtol=1e-11, atol=1e-13, **options)
    mine = [motion.final[x] for x in (*system.coordinates, *system.velocities)]
    return motion, float(np.abs(np.array(mine) - EventDriven(m).run(UNTIL)[-1]).max())


def broken(m: Mechanism, motion: Any) -> list[str]:
    """What does not hold in a motion: cones, reactions that push, work that is only lost, the balance of energy."""
    found = []
    for i, c in enumerate(m.contacts):
        N, force = motion.reaction(f"normal{i}"), motion.reaction(f"friction{i}")
        size = 1e-9 * (1 + np.abs(N).max())
        if not c.two_sided and (-size > N).any():
            found.append("a face pulls")
        if (np.abs(force) > m.value(c.mu) * np.abs(N) + size).any():
            found.append("a cone is broken")
    if (np.diff(motion.dissipated) < -1e-12 * (1 + motion.dissipated[-1])).any():
        found.append("friction gives energy")
    if not motion.ok:
        found.append(f"not ok: {motion.message} {motion.doubts}")
    return found


def member(k: int, first: int, alone: bool) -> Outcome:
    """Mechanism number k, families in turn."""
    name, seed = list(FAMILIES)[k % len(FAMILIES)], first + k // len(FAMILIES)
    m = mechanism(name, seed)
    warnings.simplefilter("ignore")
    try:
        motion, gap = (_alone(m), 0.0) if alone else compared(m)
        faults = broken(m, motion) + ([f"off by {gap:.1e}"] if gap > RESTING else [])
    except Ambiguous as error:
        return left_out(f"{name} {seed}: the reference refuses: {error}")
    except Exception as error:
        faults = [repr(error)[:200]]
    return wrong(f"{name} {seed}: {'; '.join(faults)}") if faults else right()


def _alone(m: Mechanism) -> Any:
    system, start, parameters = for_appell(m)
    return ap.simulate(system, start, UNTIL, parameters=parameters)


def main() -> int:
    parser = long_run(__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    return sweep(partial(member, first=given.first, alone=given.alone), given.count, given)


if __name__ == "__main__":
    sys.exit(main())
