"""`python -m benchmarks.pairs OLD NEW`: the same work by two versions of the source, in interleaved pairs.

OLD and NEW are folders with the package (`…/src`). Each version has a process of its own that prepares all jobs once; then
they take turns, job by job. What counts is the CPU time of a call, the least of a few: a busy machine then disturbs a pair
little, and both sides alike. A ratio new : old over 1 is a loss; it is one to mend where its whole spread lies above 1.1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CALLS, SECONDS = 3, 0.15
"""Calls of a job in one turn, and CPU seconds after which there is no further one, s."""
Job = Callable[[], Any]


def jobs(only: str = "") -> dict[str, Callable[[], Job]]:
    """What is measured, after the tables of `benchmarks/`: name → a function that prepares it, for both versions.

    only: words of which a name has one, separated by commas.
    """
    all_jobs: dict[str, Callable[[], Job]] = {
        "derive a 5-link pendulum": _derive,
        "one acceleration of 10 links": _acceleration,
        "a pendulum of 10 links, 5 s": lambda: _motion("n_pendulum", 5.0, n=10),
        "a pendulum of 2 links, 100 s": lambda: _motion("n_pendulum", 100.0),
        "a rolling disc, 20 s": lambda: _motion("rolling_disc", 20.0),
        "a skate, 100 s": lambda: _motion("skate", 100.0),
        "an oscillator with a wall, 200 s": lambda: _motion("oscillator_with_wall", 200.0),
        "a double pendulum with a wall, 20 s": lambda: _motion("double_pendulum_with_wall", 20.0),
        "a ball that comes to rest": lambda: _motion("bouncing_ball", 8.0),
        "a block on a vibrating table, 20 s": lambda: _motion("block_on_vibrating_table", 20.0),
        "an oscillator with friction, 3 s": _rubbing,
        "a bowling ball, 3 s": lambda: _motion("bowling_ball", 3.0),
        "4,000 pendulums, fixed steps": lambda: _many({"step": 1e-2}),
        "4,000 pendulums, adaptive": lambda: _many({"rtol": 1e-8}),
        "1,000 rolling discs, adaptive": _many_discs,
        "2,000 oscillators with a wall": _many_walls,
        "25,000 short runs: the call itself": _many_short,
    }
    return {name: job for name, job in all_jobs.items() if any(word in name for word in only.split(","))}


def _derive() -> Job:
    from appell import zoo
    from appell.backends import backend_named

    def derive() -> None:
        run = _compiled(zoo.n_pendulum(5), "vm")
        assert backend_named("vm") and run

    return derive


def _compiled(example: Any, backend: str = "c") -> Any:
    import appell as ap

    return ap.compile(example.system, example.parameters, backend=backend)


def _acceleration() -> Job:
    from appell import zoo

    example = zoo.n_pendulum(10)
    run = _compiled(example)
    q, v = np.linspace(0, 1, 10), np.linspace(1, 2, 10)
    return lambda: [run.acceleration(0.0, q, v) for _ in range(2000)]


def _motion(name: str, until: float, **how: Any) -> Job:
    import appell as ap
    from appell import zoo

    example = getattr(zoo, name)(**how)
    run = _compiled(example)
    return lambda: ap.simulate(run, example.start, until, rtol=1e-9)


def _rubbing() -> Job:
    import appell as ap

    x = ap.coordinates("x")
    run = ap.compile(ap.System([x], x.d**2 / 2, 50 * x**2, constraints=[ap.Friction(x.d, limit=2.0, name="friction")]), {})
    return lambda: ap.simulate(run, {x: 1.0}, 3.0, rtol=1e-8)


def _ensemble(system: Any, start: dict[Any, Any], until: float, parameters: Any, **how: Any) -> Job:
    import appell as ap

    run = ap.compile(system, parameters)
    return lambda: ap.simulate_many(run, start, until=until, threads=1, **how)


def _many(how: dict[str, Any]) -> Job:
    from appell import zoo

    example = zoo.n_pendulum(2)
    speed = example.system.velocities[0]
    return _ensemble(example.system, {**example.start, speed: np.linspace(0, 2, 4000)}, 1.0, example.parameters, **how)


def _many_discs() -> Job:
    import appell as ap
    from appell import zoo

    example = zoo.rolling_disc()
    start = ap.consistent(example.system, example.start, parameters=example.parameters)
    return _ensemble(
        example.system, {key: np.full(1000, float(x)) for key, x in start.items()}, 1.0, example.parameters, rtol=1e-8
    )


def _many_walls() -> Job:
    from appell import zoo

    example = zoo.oscillator_with_wall()
    speed = example.system.velocities[0]
    return _ensemble(example.system, {**example.start, speed: np.linspace(0, 1, 2000)}, 10.0, example.parameters, rtol=1e-8)


def _many_short() -> Job:
    import appell as ap

    x = ap.coordinates("x")
    return _ensemble(ap.System([x], x.d**2 / 2, x**2 / 2), {x: np.linspace(0.5, 1, 25_000)}, 0.1, {}, step=0.1)


def serve(only: str) -> None:
    """A worker: prepares the jobs, then answers each number read from its input by the CPU seconds of that job."""
    told, sys.stdout = sys.stdout, sys.stderr
    ready: list[Job | None] = []
    for name, prepare in jobs(only).items():
        try:
            job = prepare()
            job()
            ready.append(job)
        except Exception as error:  # a version may not know a job: it is left out and said
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            ready.append(None)
    print("ready", file=told, flush=True)
    for line in sys.stdin:
        print(_clocked(ready[int(line)]), file=told, flush=True)


def _clocked(job: Job | None) -> float:
    if job is None:
        return float("nan")
    best, spent, calls = float("inf"), 0.0, 0
    while calls < CALLS or spent < SECONDS:
        began = time.process_time()
        job()
        taken = time.process_time() - began
        best, spent, calls = min(best, taken), spent + taken, calls + 1
    return best


class Worker:
    """The process of one version."""

    def __init__(self, source: Path, only: str):
        paths = [str(source), str(Path(__file__).parents[1])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", f"from benchmarks.pairs import serve; serve({only!r})"]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def asked(self, number: int | None = None) -> str:
        """The next line, after a question if there is one."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if number is not None:
            print(number, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a worker ended early; its last lines say why")
        return line.strip()


def compared(old: Path, new: Path, pairs: int, only: str = "") -> dict[str, np.ndarray]:
    """Job → (pairs, 2) CPU seconds of both versions. Which one begins changes from pair to pair."""
    workers = [Worker(old, only), Worker(new, only)]
    for worker in workers:
        worker.asked()
    found = {name: np.full((pairs, 2), np.nan) for name in jobs(only)}
    for pair in range(pairs):
        for number, name in enumerate(found):
            for side in (0, 1) if pair % 2 == 0 else (1, 0):
                found[name][pair, side] = float(workers[side].asked(number))
        print(f"pair {pair + 1} of {pairs}", file=sys.stderr, flush=True)
    for worker in workers:
        worker.process.terminate()
    return found


def table(found: dict[str, np.ndarray]) -> str:
    """A table in Markdown: median of the ratios new : old, the least and the largest, the middle half of them."""
    lines = ["| work | old | new | new : old | middle half | all |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, times in found.items():
        ratios = times[:, 1] / times[:, 0]
        if not np.isfinite(ratios).all():
            lines.append(f"| {name} | | | not known to both | | |")
            continue
        low, quarter, half, three, high = np.quantile(ratios, [0, 0.25, 0.5, 0.75, 1])
        old, new = (f"{1e3 * x:.3g} ms" for x in times.min(axis=0))
        lines.append(f"| {name} | {old} | {new} | **{half:.2f}** | {quarter:.2f} … {three:.2f} | {low:.2f} … {high:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default="", help="words in the names of jobs, separated by commas")
    parser.add_argument("--markdown", type=Path, help="also written to this file")
    options = parser.parse_args()
    text = table(compared(options.old.resolve(), options.new.resolve(), options.pairs, options.only))
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
