"""How long until a robot can be asked: from URDF to the first acceleration, and chains of growing length."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Disagreement
from benchmarks.report import Table, ratio, seconds
from benchmarks.robots import Robot

LINKS = (10, 30, 100, 300, 1000)
BUDGET = 900.0  # s for one worker
ROUNDING = 1e-9  # of the C code against CasADi's evaluator: the same operations, contracted


def worker(*arguments: str, cache: str) -> dict[str, Any]:
    """The answer of `tree_worker` in a fresh process with its compiled code in `cache`."""
    here = Path(__file__).resolve().parents[1]
    paths = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.tree_worker", *arguments],
        capture_output=True, text=True, timeout=BUDGET,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "APPELL_CACHE": cache},
    )  # fmt: skip
    if answer.returncode:
        raise RuntimeError(f"making {' '.join(arguments)} ready failed:\n{answer.stderr}")
    return json.loads(answer.stdout)


def ready_table(robots: Sequence[Robot], repeats: int) -> Table:
    records = [{"robot": robot.name, **_cold_and_warm(robot, repeats)} for robot in robots]
    rows = tuple(
        (
            r["robot"], f"{r['operations']:,}", seconds(r["python"]), seconds(r["compiler"]),
            seconds(r["python"] + r["compiler"]), seconds(r["lanes"]), seconds(r["warm"]), seconds(r["warm_lanes"]),
        )
        for r in records
    )  # fmt: skip
    return Table(
        title="From URDF to forward dynamics",
        columns=("robot", "operations", "reader, graph", "compiler", "ready", "+ lanes", "ready again", "+ lanes again"),
        rows=rows,
        notes=(
            "CPU seconds in a fresh process, imports not counted; + lanes: until the first large batch is answered",
            "not counted: the extension module that calls from Python go through, compiled once for all systems (0.15 s)",
            "again: another process that finds the compiled code by the robot's numbers; what is left is reading the file",
        ),
        records=tuple(records),
    )


def _cold_and_warm(robot: Robot, repeats: int) -> dict[str, Any]:
    """The least of each time."""
    best: dict[str, Any] = {}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            arguments = ("ready", str(robot.path), str(robot.floating))
            cold, warm = worker(*arguments, cache=cache), worker(*arguments, cache=cache)
        times = {**cold, "warm": warm["python"] + warm["compiler"], "warm_lanes": warm["lanes"]}
        best = {key: min(value, best.get(key, value)) for key, value in times.items()}
    return best


def chain_table(quick: bool) -> Table:
    links = LINKS[:1] if quick else LINKS
    records = []
    for n in links:
        with tempfile.TemporaryDirectory() as cache:
            records.append({"n": n, **worker("chain", str(n), cache=cache)})
        if not records[-1]["vm_error"] <= ROUNDING:
            raise Disagreement(f"{n} links: C and CasADi's evaluator differ by {records[-1]['vm_error']:.1e}")
    rows = tuple(
        (
            str(r["n"]), f"{r['operations']:,}", f"{r['operations'] / r['n']:.0f}", seconds(r["graph"]),
            seconds(r["text"]), seconds(r["compiler"]), seconds((r["graph"] + r["text"] + r["compiler"]) / r["n"]),
            seconds(r["call"]), ratio(r["vm"] / r["call"]), f"{r['vm_error']:.0e}", f"{r['residual']:.0e}",
        )
        for r in records
    )  # fmt: skip
    return Table(
        title="A chain of n links on skew hinges: forward dynamics in C",
        columns=tuple("n|operations|/ n|graph|text|compiler|all / n|one call|CasADi's|against it|residual".split("|")),
        rows=rows,
        notes=(
            "CPU seconds; linear growth is a constant third and seventh column",
            "against it: C against CasADi's evaluator; residual: |inverse(forward(τ)) − τ|/|h|, h what M a has to balance",
        ),
        records=tuple(records),
    )
