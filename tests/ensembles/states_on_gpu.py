"""Systems with states of first order on a GPU against lanes and single runs: `python -m tests.ensembles.states_on_gpu`.

The four machines of `tests.families.first_order` (a motor with backlash, a controller that winds up, a Maxwell chain, LuGre's
bristle), a floor that a state moves, reductions of them, and stops. Every run is compared with lanes, some with `ap.simulate`.
Exit code 1 if one differs. `--backend auto` tries the script on a machine without a GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from tests.families.first_order import machine

import appell as ap

NEAR = 1e-6  # of the largest value of a state: rtol 1e-10, over some blows


class Case(NamedTuple):
    """A system, the symbol that varies between the runs and its values, the end, what else is asked."""

    name: str
    system: ap.System
    symbol: Any
    values: np.ndarray
    start: dict[Any, float]
    until: float
    asked: dict[str, Any]


def cases(runs: int) -> Iterator[Case]:
    """Everything that is compared."""
    rng = np.random.default_rng(0)
    for kind, name in enumerate(("motor with backlash", "wound up", "Maxwell chain", "LuGre")):
        system, start, until = machine(kind)
        symbol, value = next(iter(start.items()))
        x = system.positions[0]
        values = value + rng.uniform(-0.5, 0.5, runs)
        yield Case(name, system, symbol, values, {}, until, {})
        keep = {"top": ap.reduce.max(x), "power": ap.reduce.integral(x.d**2), "turns": ap.reduce.crossings(x.d)}
        yield Case(f"{name}, reductions", system, symbol, values, {}, until, {"keep": keep})
        yield Case(f"{name}, stop", system, symbol, values[:64], {}, until, {"stop": ap.rising(x.d)})
    x, y, s = *ap.coordinates("x y"), ap.states("s")
    floor = ap.Unilateral(y - 0.3 * x - s, name="floor", restitution=0.7)
    lifted = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[floor], rates={s: (0.5 - s) / 0.8})
    yield Case("floor that a state lifts", lifted, y, rng.uniform(1, 2, runs), {x.d: 0.5}, 1.2, {})


def column(symbol: Any) -> str:
    """The name of a state in a dataset."""
    return str(symbol).replace(".", "_")


def differs(case: Case, backend: str) -> str:
    """What was compared, and what differs."""
    system, keep = case.system, case.asked.get("keep")
    names = list(keep) if keep else [column(z) for z in (*system.positions, *system.velocities)]
    made = {}
    for way in (backend, "auto"):
        begin = time.perf_counter()
        start = {case.symbol: case.values, **case.start}
        made[way] = ap.simulate_many(system, start, case.until, rtol=1e-10, method="dop853", backend=way, **case.asked)
        seconds = time.perf_counter() - begin
    ours, lanes = made[backend], made["auto"]
    size = {name: 1 + np.nanmax(np.abs(lanes[name])) for name in names}
    off = max(float(np.nanmax(np.abs(ours[name] - lanes[name])) / size[name]) for name in names)
    missing = sum(int((np.isnan(ours[name]) != np.isnan(lanes[name])).sum()) for name in names)
    status = int((np.asarray(ours["status"]) != np.asarray(lanes["status"])).sum())
    single = 0.0
    for k in range(0, len(case.values), max(1, len(case.values) // 6)):
        start = {case.symbol: float(case.values[k]), **case.start}
        one = ap.simulate(system, start, case.until, rtol=1e-10, method="dop853", **case.asked)
        for name, z in zip(names, (*system.positions, *system.velocities), strict=False):
            value = one.reduced[name] if keep else one[z][-1]
            single = max(single, abs(float(ours[name][k]) - value) / size[name])
    wrong = not (off < NEAR and single < NEAR and missing == 0 and status == 0)
    print(
        f"{case.name:32s} {len(case.values):6d} runs; from lanes {off:.1e}, from single runs {single:.1e}; "
        f"{status} statuses differ{'  WRONG' if wrong else ''}; path {getattr(ours, 'attrs', {}).get('path', '')}"
        f" ({seconds:.1f} s in lanes)", flush=True,
    )  # fmt: skip
    return case.name if wrong else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ensembles.states_on_gpu", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=4096)
    parser.add_argument("--backend", default="cuda")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ap.AppellWarning)
    wrong = [name for case in cases(asked.runs) if (name := differs(case, asked.backend))]
    print(f"{len(wrong)} of the cases differ{': ' if wrong else ''}{', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
