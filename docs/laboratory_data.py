"""The large pictures of the laboratory page as numbers, with the time that they took: `python docs/laboratory_data.py`.

Writes docs/data/laboratory.npz: the page draws it, and is built in seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell import zoo

HERE = Path(__file__).parent / "data" / "laboratory.npz"
WALL = zoo.oscillator_with_wall()
S = WALL.system.coordinates[0]
STRONG = {"Omega": 1.0, "epsilon": 2.0, "Delta": 0.0}


def clocked(call: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns and its CPU time, s, the second time: compiled before."""
    call()
    begin = time.process_time()
    found = call()
    return found, time.process_time() - begin


def diagram(values: int = 1000, skip: int = 400, keep: int = 100) -> Any:
    """The oscillator with a wall over the frequency of its forcing."""
    over = {"omega": np.linspace(2.3, 5.0, values)}
    return ap.bifurcation_diagram(WALL.system, over, skip=skip, keep=keep, start={S: -0.5}, parameters={**STRONG, "h": 0.1})


def basins(n: int = 1000) -> Any:
    """Its attractors at ω = 3.5 with the wall on the far side of the equilibrium."""
    grid = {S: np.linspace(-4.3, -0.3, n), S.d: np.linspace(-4, 4, n)}
    return ap.basin(WALL.system, grid, parameters={**STRONG, "h": 0.1, "omega": 3.5, "Delta": -0.3})


def section(count: int = 2000) -> Any:
    """The rattleback where its roll passes zero upwards."""
    stone = zoo.rattleback()
    alpha = stone.system.coordinates[-1]
    return ap.poincare(stone.system, alpha, stone.start, count=count, parameters=stone.parameters)


def main() -> None:
    """All three, and the times that they took."""
    one, t_one = clocked(diagram)
    three, t_three = clocked(section)
    basins(30)  # compiled before
    begin = time.process_time()
    two = basins()
    t_two = time.process_time() - begin
    print(one, t_one, two, t_two, three, t_three, sep="\n")
    psi, beta, alpha = three.system.coordinates[3:]
    facts = {
        "seconds": {"diagram": t_one, "basin": t_two, "section": t_three},
        "attractors": [str(a) for a in two.attractors],
        "date": time.strftime("%Y-%m-%d"),
    }
    HERE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        HERE, omega=one.values.astype("f4"), s=one[S].astype("f4"), periods=one.periods.astype("i2"),
        labels=two.labels.astype("i1"), points=np.vstack([a.points for a in two.attractors]),
        owner=np.repeat(np.arange(len(two.attractors)), [len(a.points) for a in two.attractors]),
        spin=three[psi.d].astype("f4"), pitch=three[beta].astype("f4"), roll_rate=three[alpha.d].astype("f4"),
        t=three.t.astype("f4"), facts=json.dumps(facts),
    )  # fmt: skip


if __name__ == "__main__":
    main()
