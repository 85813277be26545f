"""Hostile calls of the public API: `python -m tests.hostile.fuzz_api --count 100000 --start 0`.

Call number n is a function of n alone: a public callable, one of its arguments or entries, and a value that no request should
contain. Only `AppellError`s may leave, or the TypeError with which Python itself refuses a call, ours or that of a function
that was given; nothing may be executed, and no call may take more memory than `MEMORY`. A call that takes long (a run until
10³⁰⁸ s, which its budget of steps will end) is interrupted as by Ctrl-C, and must then end at once. None may end the process:
calls are made in slices, each in a process of its own, and one that kills or blocks it is known by its number.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.models import Target
from tests.hostile.targets import targets
from tests.hostile.tripwire import tripwire
from tests.hostile.values import HOSTILE, Fresh

import appell as ap

PATIENCE = 2.0  # s of one call, then Ctrl-C
GRACE = 15.0  # s in which it has to end then: a third of a second on a quiet machine
STUCK = 120.0  # s after which a call that does not answer to its alarm is ended from outside
SET_UP = 1200.0  # s in which a process has to make its first call: imports and models, on a busy machine
MEMORY = 8 * 2**30  # bytes of address space, of which two are the libraries'
SLICE = 50_000  # calls of one process: what its caches gather goes with it


class TooLong(BaseException):
    """A call took longer than it may."""


def paths(value: Any, depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Ways to the entries of nested lists and mappings; ("key", k) is the key itself."""
    yield ()
    if depth > 2:
        return
    if isinstance(value, dict):
        for k in value:
            yield (("key", k),)
            yield from ((k, *rest) for rest in paths(value[k], depth + 1))
    elif isinstance(value, list | tuple) and type(value) in (list, tuple):
        for i, one in enumerate(value):
            yield from ((i, *rest) for rest in paths(one, depth + 1))


def damaged(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """`value` with the entry at the end of the path exchanged."""
    if not path:
        return by
    first, *rest = path
    if isinstance(value, dict):
        if isinstance(first, tuple) and len(first) == 2 and first[0] == "key":
            return {(by if k == first[1] else k): v for k, v in value.items()}
        return {k: damaged(v, tuple(rest), by) if k is first or str(k) == str(first) else v for k, v in value.items()}
    changed = [damaged(one, tuple(rest), by) if i == first else one for i, one in enumerate(value)]
    return type(value)(changed)


@cache
def _weights() -> tuple[list[str], list[float]]:
    return list(targets()), np.cumsum([one.weight for one in targets().values()]).tolist()


def chosen(number: int) -> tuple[str, Target, dict[str, Any], str]:
    """(name, target, arguments, what was put where) of call `number`."""
    rng = random.Random(number)
    names, weights = _weights()
    name = rng.choices(names, cum_weights=weights)[0]
    target = targets()[name]
    arguments, said = dict(target.arguments), []
    for _ in range(rng.choices((1, 2), (9, 1))[0]):
        key = rng.choice(list(arguments))
        ways = list(paths(target.arguments[key]))
        way = rng.choice(ways)
        kind = rng.choice(list(HOSTILE))
        index = rng.randrange(len(HOSTILE[kind]))
        value = HOSTILE[kind][index]
        try:
            arguments[key] = damaged(target.arguments[key], way, value() if isinstance(value, Fresh) else value)
        except TypeError:  # a key that cannot be one
            continue
        said.append(f"{key}{list(way)} = {kind}[{index}]")
    return name, target, arguments, ", ".join(said)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """`TooLong` after so many seconds."""

    def stop(*_: Any) -> None:
        raise TooLong

    with _alarm(stop, seconds):
        yield


@contextmanager
def interrupted(patience: float, grace: float) -> Iterator[list[float]]:
    """Ctrl-C after some time, which the list then holds; `TooLong` where the block has not ended some time later.

    Python itself swallows one that comes inside a destructor or a callback of a weak reference, and says so: pressed again.
    """
    pressed: list[float] = []

    def swallowed(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01, grace)
            pressed.clear()

    def stop(*_: Any) -> None:
        if pressed:
            raise TooLong
        pressed.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    usual, hook = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    sys.unraisablehook = swallowed
    try:
        with _alarm(stop, patience, grace):
            yield pressed
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, usual)


@contextmanager
def _alarm(stop: Any, *seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, *seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Outcome:
    """What came of a call: what went wrong and where, or nothing; whether it was refused, or ended by Ctrl-C."""

    asked: str
    problem: str = ""
    refused: bool = False
    interrupted: bool = False


def outcome(number: int) -> Outcome:
    """Call `number`."""
    name, target, arguments, said = chosen(number)
    asked, problem, refused, pressed = f"{number}: {name}({said})", "", False, []
    with tripwire() as executed, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with interrupted(PATIENCE, GRACE) as pressed:
                target.call(**arguments)
        except (ap.AppellError, KeyboardInterrupt) as error:
            refused = not isinstance(error, KeyboardInterrupt)
            problem = f"a message of {len(_text(error))} characters" if len(_text(error)) > 4000 else ""
        except TooLong:
            problem = "Ctrl-C does not end it"
        except Exception as error:
            refused, problem = True, _unexpected(error)
    if executed:
        problem = f"text was executed: {executed[0][:60]}"
    return Outcome(asked, f"{name}: {problem}" if problem else "", refused, bool(pressed))


def _unexpected(error: Exception) -> str:
    """Of an error that is none of ours: nothing where Python refused the call, or a function that was given raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    bound = isinstance(error, TypeError) and (len(frames) == 1 or "positional argument" in str(error))
    return "" if bound or _of_the_value(frames) else f"{type(error).__name__} at {_where(frames)}: {_text(error)[:100]}"


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())
    except Exception:  # an error that carries a value whose text raises
        return "(without words)"


def _where(frames: Any) -> str:
    own = [f for f in frames if "/appell/" in f.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "the call"


def _of_the_value(frames: Any) -> bool:
    """Whether a function that was given raised it: its error is the user's own."""
    if not frames:
        return False
    of_ours = frames[-1].filename.endswith("tests/hostile/values.py") and frames[-1].name == "<lambda>"
    return of_ours or "self.control(" in (frames[-1].line or "")  # a control written in C has no frame of its own


@dataclass
class Tally:
    """What came of calls: how many were made, refused, ended by Ctrl-C; what went wrong → the calls."""

    made: int = 0
    refused: int = 0
    interrupted: int = 0
    wrong: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))

    def add(self, other: Tally) -> None:
        self.made, self.refused = self.made + other.made, self.refused + other.refused
        self.interrupted += other.interrupted
        for problem, calls in other.wrong.items():
            self.wrong[problem] += calls

    def line(self) -> str:
        """The counts in a line of fixed length."""
        return f"{self.made:12d}{self.refused:12d}{self.interrupted:12d}\n"


def fuzz(start: int, count: int, log: Path | None = None) -> Tally:
    """Calls `start`, start + 1, … in this process; with a log, each problem and the counts so far stand there at once.

    Files that calls write under relative names come into a folder that goes with them.
    """
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as here, chdir(here):
        for number in range(start, start + count):
            one = outcome(number)
            tally.made, tally.refused = tally.made + 1, tally.refused + one.refused
            tally.interrupted += one.interrupted
            if one.problem:
                tally.wrong[one.problem].append(one.asked)
            if log is not None:
                _note(log, tally, one)
    return tally


def _note(log: Path, tally: Tally, one: Outcome) -> None:
    with log.open("r+", encoding="utf-8") as file:
        file.write(tally.line())
        if one.problem:
            file.seek(0, os.SEEK_END)
            file.write(f"{one.problem}\t{one.asked}\n".replace("\0", ""))


def in_a_child(start: int, count: int) -> Tally:
    """The same in a process of its own; a call that ends or blocks it is one that went wrong, and the next process goes on."""
    with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as folder:
        log = Path(folder) / "log"
        log.write_text(Tally().line(), encoding="utf-8")
        command = [sys.executable, "-m", "tests.hostile.fuzz_api", "--start", str(start), "--count", str(count)]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen([*command, "--log", str(log)], **silent, env={**os.environ, "TMPDIR": folder})
        while child.poll() is None:
            time.sleep(0.5)
            begun = log.read_text(encoding="utf-8") != Tally().line()
            if time.time() - log.stat().st_mtime > (STUCK if begun else SET_UP):
                child.kill()
        status, *problems = log.read_text(encoding="utf-8").splitlines()
        tally = Tally(*map(int, status.split()))
        for line in problems:
            problem, asked = line.split("\t", 1)
            tally.wrong[problem].append(asked)
    if tally.made < count:
        name, _, _, said = chosen(reached := start + tally.made)
        tally.made += 1
        tally.wrong[f"{name}: the process ended with {child.returncode}"].append(f"{reached}: {name}({said})")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="hostile calls of the public API")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--start", type=int, default=0, help="the number of the first call: go on where a run ended")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new slice after that")
    parser.add_argument("--log", type=Path, help="make all calls in this process, and keep account of them in that file")
    given = parser.parse_args()
    if given.log is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        fuzz(given.start, given.count, given.log)
        return 0
    began, total = time.monotonic(), Tally()
    while total.made < given.count and time.monotonic() - began < given.seconds:
        one = in_a_child(given.start + total.made, min(SLICE, given.count - total.made))
        total.add(one)
        for problem, calls in sorted(one.wrong.items(), key=lambda item: -len(item[1])):
            print(f"{len(calls):6d}  {problem}\n        {calls[0][:300]}", flush=True)
        bad = sum(map(len, total.wrong.values()))
        print(
            f"{total.made} calls from {given.start} on in {time.monotonic() - began:.0f} s: {total.refused} refused,"
            f" {total.interrupted} ended by Ctrl-C, {bad} wrong in {len(total.wrong)} ways; next: {given.start + total.made}",
            flush=True,
        )
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
