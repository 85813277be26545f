"""How long `import appell` takes, and what a first model and a first run add."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.report import Table, ratio, seconds

SYMPY = "import sympy"
APPELL = "import appell as ap"
MODEL = f"{APPELL}; x = ap.coordinates('x'); s = ap.System([x], x.d**2/2, x**2/2)"
MOTION = f"{MODEL}; ap.simulate(s, {{x: 1}}, 1.0)"
TIMED = "import time; begin = time.perf_counter()\n{}\nprint(time.perf_counter() - begin)"


def tables(quick: bool) -> list[Table]:
    repeats = 1 if quick else 9
    steps = {"import sympy": SYMPY, "import appell": APPELL, "… and a first model": MODEL, "… and its first motion": MOTION}
    rounds = [{name: _once(code) for name, code in steps.items()} for _ in range(repeats)]
    times = {name: median(each[name] for each in rounds) for name in steps}
    return [
        Table(
            title="From a fresh interpreter",
            columns=("", "time", "of import sympy"),
            rows=tuple((name, seconds(value), ratio(value / times["import sympy"])) for name, value in times.items()),
            notes=(f"median of {repeats}, in turns; the motion's machine code is found on disk",),
            records=tuple({"what": name, "seconds": value} for name, value in times.items()),
        )
    ]


def _once(code: str) -> float:
    answer = subprocess.run([sys.executable, "-c", TIMED.format(code)], capture_output=True, text=True, check=True)
    return float(answer.stdout)
