"""Every method with threads, its generated code under a sanitizer of gcc: `python -m tests.ensembles.sanitized thread`.

The time loops that the library writes are compiled with `-fsanitize=thread` (races), `address` (reads and writes beside arrays)
or `undefined`, Python itself is not. Motions of every method, in lanes, in threads and in a pool of threads, with walls, with
friction, with a constraint; the reports that name generated code are counted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

THREADS = 4
OUTSIDE = ("cvodes", "idas")
"""Methods of CasADi's own libraries, which it loads in a way that sanitizers do not allow; Helgrind watches them."""
LIBRARIES = {"thread": "libtsan.so", "address": "libasan.so", "undefined": "libubsan.so"}
MARKS = {"thread": b"__tsan_", "address": b"__asan_", "undefined": b"__ubsan_"}
QUIET = {"thread": "halt_on_error=0", "address": "detect_leaks=0:halt_on_error=0", "undefined": "halt_on_error=0"}


def work() -> None:
    """What is watched."""
    import numpy as np
    from tests.ensembles.test_threads import STIFFNESSES, k, m, pendulum, spring, start_of

    import appell as ap
    from appell.loop.methods.gauss_legendre import CONSERVING
    from appell.loop.methods.method_table import methods

    x = ap.coordinates("x")
    ball = ap.System([x], m * x.d**2 / 2, k * x, constraints=[ap.Unilateral(x, "floor", restitution=0.5)], name="ball")
    rub = ap.Friction(x.d, limit=0.1, name="rub")
    block = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, constraints=[rub], name="block")
    cases = [(spring(), {"method": name}) for name in methods() if name not in (*OUTSIDE, *CONSERVING)]
    cases += [(spring(), {"step": 0.01}), (spring(), {"step": 0.01, "dtype": np.float32}), (pendulum(), {"rtol": 1e-8})]
    cases += [(ball, {"method": "dop853"}), (ball, {"step": 0.01}), (block, {"rtol": 1e-6})]
    for system, options in cases:
        start = start_of(system)
        many = ap.simulate_many(system, start, 0.5, {k: STIFFNESSES, m: 1.0}, threads=THREADS, **options)
        alone = {name: value for name, value in options.items() if name != "dtype"}
        with ThreadPoolExecutor(THREADS) as pool:
            run = lambda value, system=system, start=start, alone=alone: ap.simulate(
                system, start, 0.5, {k: value, m: 1.0}, **alone
            )
            motions = list(pool.map(run, STIFFNESSES))
        print(f"{system.name} {options}: {many.ok}, {len(motions)} motions", flush=True)


def library(name: str) -> str:
    return subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    kind = sys.argv[1] if len(sys.argv) > 1 else "thread"
    if kind == "work":
        work()
        return 0
    with tempfile.TemporaryDirectory(prefix="appell-sanitized-") as folder:
        log = Path(folder) / "report"
        options = f"{QUIET[kind]}:log_path={log}"
        env = {
            **os.environ, "LD_PRELOAD": library(LIBRARIES[kind]), "APPELL_CACHE": f"{folder}/cache", "OMP_NUM_THREADS": "1",
            "APPELL_CC": f"gcc -fsanitize={kind} -g -fno-omit-frame-pointer", "OPENBLAS_NUM_THREADS": "1",
            "TSAN_OPTIONS": options, "ASAN_OPTIONS": options, "UBSAN_OPTIONS": f"print_stacktrace=1:{options}",
        }  # fmt: skip
        child = subprocess.run([sys.executable, "-m", "tests.ensembles.sanitized", "work"], env=env, check=False)
        built = [path.read_bytes() for path in Path(folder, "cache").rglob("*.so")]
        text = "".join(path.read_text(errors="replace") for path in Path(folder).glob("report*"))
    reports = re.split(r"(?m)^={18,}$", text)
    found = [one for one in reports if "ERROR:" in one or "WARNING:" in one or "runtime error" in one]
    ours = [one for one in found if "appell-sanitized-" in one]
    watched = sum(MARKS[kind] in code for code in built)
    print(
        f"{kind}: {watched} of {len(built)} libraries are watched; the process ended with {child.returncode};"
        f" {len(found)} reports, {len(ours)} of them name generated code"
    )
    for one in ours[:5]:
        print(one[:3000])
    return 1 if ours or child.returncode or not watched else 0


if __name__ == "__main__":
    sys.exit(main())
