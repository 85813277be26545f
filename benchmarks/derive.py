"""Derive an n-link pendulum and make it ready to evaluate: appell against SymPy's `KanesMethod` and `lambdify(cse=True)`.

appell: from T and V, with the checks of `System`, to a compiled acceleration, with nothing cached.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import agree
from benchmarks.report import Table, ratio, seconds

LINKS = (2, 5, 10, 20, 40)
BUDGET = 600.0  # s for one derivation by SymPy
REPEATS = 3
WORTH_REPEATING = 20.0  # s


def tables(quick: bool) -> list[Table]:
    links = LINKS[:1] if quick else LINKS
    records = []
    for n in links:
        records.append(_one(n, records, repeats=1 if quick else REPEATS))
    return [_against(records), _growth(records)]


def _one(n: int, before: list[dict[str, Any]], repeats: int) -> dict[str, Any]:
    """Both sides in turn; the least time of each."""
    ours, theirs = _worker("appell", n), _worker("sympy", n)
    for _ in range(repeats - 1):
        ours = _least(ours, _worker("appell", n))
        if theirs is not None and theirs["derive"] < WORTH_REPEATING:
            theirs = _least(theirs, _worker("sympy", n))
    assert ours is not None
    exceeded = theirs is None
    if theirs is None:
        theirs = {"derive": _extrapolated(n, before), "memory": float("nan")}
    else:
        agree(f"acceleration of {n} links", ours.pop("acceleration"), theirs.pop("acceleration"), 1e-9)
    return {"n": n, "appell": ours, "sympy": theirs, "extrapolated": exceeded}


def _worker(side: str, n: int) -> dict[str, Any] | None:
    """The answer of a worker process; None if it took longer than the budget."""
    here = Path(__file__).resolve().parents[1]
    paths = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.derive_worker", side, str(n)],
            capture_output=True, text=True, timeout=BUDGET, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if answer.returncode:
        raise RuntimeError(f"the derivation of {n} links by {side} failed:\n{answer.stderr}")
    return json.loads(answer.stdout)


def _least(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """The smaller of each time, the larger of each memory."""
    if one is None or other is None:
        return one or other
    times = {key: min(one[key], other[key]) for key in ("derive", "compiler") if key in one}
    return {**one, **times, "memory": max(one["memory"], other["memory"])}


def _extrapolated(n: int, before: list[dict[str, Any]]) -> float:
    """By the power law through the last two measured sizes."""
    from math import log

    (a, x), (b, y) = [(r["n"], r["sympy"]["derive"]) for r in before[-2:]]
    return y * (n / b) ** (log(y / x) / log(b / a))


def _against(records: list[dict[str, Any]]) -> Table:
    rows = []
    for r in records:
        ours, theirs = r["appell"], r["sympy"]["derive"]
        total = ours["derive"] + ours["compiler"]
        rows.append((
            str(r["n"]), seconds(ours["derive"]), seconds(ours["compiler"]), seconds(total),
            ("≈ " if r["extrapolated"] else "") + seconds(theirs), ratio(theirs / ours["derive"]), ratio(theirs / total),
        ))  # fmt: skip
    return Table(
        title="Derive an n-link pendulum and make it ready to evaluate",
        columns=("n", "appell, without compiler", "C compiler", "appell, all", "SymPy", "ratio without", "ratio with"),
        rows=tuple(rows),
        notes=(
            "SymPy: KanesMethod on velocities in inertial components (its fastest way) and lambdify(cse=True)",
            "CPU seconds, each derivation in a fresh process after one of a single link; least of three",
            *([f"≈: not finished in {BUDGET:g} s, extrapolated"] if any(r["extrapolated"] for r in records) else []),
        ),
        records=tuple(records),
    )


def _growth(records: list[dict[str, Any]]) -> Table:
    rows = []
    for r in records:
        ours = r["appell"]
        count = ours["instructions"]
        rows.append((
            str(r["n"]), f"{count:,}", f"{count / r['n'] ** 2:.1f}", "unrolled" if ours["unrolled"] else "routine",
            seconds(ours["compiler"]), seconds(ours["compiler"] / count), f"{ours['memory']:.0f} MB",
            f"{r['sympy']['memory']:.0f} MB",
        ))  # fmt: skip
    return Table(
        title="Growth with the number of links",
        columns=("n", "instructions", "/ n²", "solve", "C compiler", "/ instruction", "memory", "SymPy memory"),
        rows=tuple(rows),
        notes=("memory: growth of the peak of the Python process over the derivation of one link",),
    )
