"""Hostile calls of the public API: `python -m tests.hostile.fuzz_api --count 100000 --start 0`.

Call number n is a function of n alone: a public callable, one of its arguments or entries, and a value that no request should
contain. Only `AppellError`s may leave, or the TypeError with which Python itself refuses a call, ours or that of a function
that was given; nothing may be executed, and no call may take longer than `LIMIT` or more memory than `MEMORY`.
"""

from __future__ import annotations

import argparse
import collections
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.targets import Target, targets
from tests.hostile.tripwire import tripwire
from tests.hostile.values import HOSTILE

import appell as ap

LIMIT = 30.0  # s of one call: the slowest takes one on a quiet machine
MEMORY = 12 * 2**30  # bytes of address space


class TooLong(BaseException):
    """A call ran into `LIMIT`."""


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


def chosen(number: int) -> tuple[str, Target, dict[str, Any], str]:
    """(name, target, arguments, what was put where) of call `number`."""
    rng = random.Random(number)
    table = targets()
    name = rng.choices(list(table), [one.weight for one in table.values()])[0]
    target = table[name]
    arguments, said = dict(target.arguments), []
    for _ in range(rng.choices((1, 2), (9, 1))[0]):
        key = rng.choice(list(arguments))
        ways = list(paths(target.arguments[key]))
        way = rng.choice(ways)
        kind = rng.choice(list(HOSTILE))
        index = rng.randrange(len(HOSTILE[kind]))
        try:
            arguments[key] = damaged(target.arguments[key], way, HOSTILE[kind][index])
        except TypeError:  # a key that cannot be one
            continue
        said.append(f"{key}{list(way)} = {kind}[{index}]")
    return name, target, arguments, ", ".join(said)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(number: int) -> tuple[str, str]:
    """("", …) of a call that went well or was refused; else (what went wrong and where, what was asked)."""
    name, target, arguments, said = chosen(number)
    asked = f"{number}: {name}({said})"
    with tripwire() as executed, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with limited(LIMIT):
                target.call(**arguments)
        except ap.AppellError as error:
            if len(str(error)) > 4000:
                return f"{name}: a message of {len(str(error))} characters", asked
        except TooLong:
            return f"{name}: over {LIMIT:g} s", asked
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            bound = isinstance(error, TypeError) and (len(frames) == 1 or "positional argument" in str(error))
            if not bound and not _of_the_value(frames):
                return f"{name}: {type(error).__name__} at {_where(frames)}: {str(error)[:100]}", asked
    return (f"{name}: text was executed: {executed[0][:60]}", asked) if executed else ("", asked)


def _where(frames: Any) -> str:
    own = [f for f in frames if "/appell/" in f.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "the call"


def _of_the_value(frames: Any) -> bool:
    """Whether a function that was given raised it: its error is the user's own."""
    return bool(frames) and frames[-1].filename.endswith("tests/hostile/values.py") and frames[-1].name == "<lambda>"


def fuzz(start: int, count: int, seconds: float = float("inf")) -> tuple[int, dict[str, list[str]]]:
    """(calls made, what went wrong → the calls), from call `start` on."""
    wrong: dict[str, list[str]] = collections.defaultdict(list)
    end, made = time.monotonic() + seconds, 0
    for number in range(start, start + count):
        if time.monotonic() > end:
            break
        problem, asked = outcome(number)
        made += 1
        if problem:
            wrong[problem].append(asked)
    return made, dict(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description="hostile calls of the public API")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--start", type=int, default=0, help="the number of the first call: go on where a run ended")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    began = time.monotonic()
    made, wrong = fuzz(given.start, given.count, given.seconds)
    for problem, calls in sorted(wrong.items(), key=lambda item: -len(item[1])):
        print(f"{len(calls):6d}  {problem}\n        {calls[0][:300]}")
    bad = sum(map(len, wrong.values()))
    took = time.monotonic() - began
    print(
        f"{made} calls from {given.start} on in {took:.0f} s, {bad} wrong in {len(wrong)} ways; next: {given.start + made}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
