"""Long runs over many members, in shares for many processes or machines, with one line of counts at the end.

A module that runs `sweep(work, count, given)` with the options of `long_run` takes

    --share k/N      members k, k + N, k + 2N, … only, with k = 0 … N − 1: N processes with one k each do all of them
    --workers n      processes of this run; one by default
    --limit s        seconds that one member may take before it is ended and counted as over time
    --budget s       seconds after which no further member is begun
    --out file       a JSON file with the counts, and with what was said of each member that is not simply right

and ends with status 1 where a member is wrong or over time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tests.reference.workers import Failed, Late, results


@dataclass(frozen=True)
class Outcome:
    """Of a member, or of several that were drawn together: counts, and a sentence where there is something to say."""

    members: int = 1
    wrong: int = 0
    refused: int = 0
    left_out: int = 0
    over_time: int = 0
    said: str = ""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(getattr(self, name) + getattr(other, name) for name in COUNTS))

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, name):,} {name.replace('_', ' ')}" for name in COUNTS)


COUNTS = tuple(field.name for field in fields(Outcome) if field.name != "said")


def right(said: str = "") -> Outcome:
    return Outcome(said=said)


def wrong(said: str) -> Outcome:
    return Outcome(wrong=1, said=said)


def refused(said: str) -> Outcome:
    """The library says that it has no answer."""
    return Outcome(refused=1, said=said)


def left_out(said: str) -> Outcome:
    """Nothing to compare with, or no unique answer."""
    return Outcome(left_out=1, said=said)


@dataclass(frozen=True)
class Share:
    """Every `of`-th member, from number `first` on."""

    first: int = 0
    of: int = 1

    def members(self, count: int, budget: float) -> Iterator[int]:
        """Numbers below `count`, as long as there is time."""
        begin = time.monotonic()
        return itertools.takewhile(lambda _: time.monotonic() - begin < budget, range(self.first, count, self.of))

    @staticmethod
    def read(text: str) -> Share:
        """`k/N`."""
        first, _, of = text.partition("/")
        if not (first.isdigit() and of.isdigit() and int(first) < int(of)):
            raise argparse.ArgumentTypeError(f"a share is k/N with k = 0 … N − 1, not {text!r}")
        return Share(int(first), int(of))


def long_run(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of this module; a caller adds its own. Time loops are compiled quickly, for short runs."""
    os.environ.setdefault("APPELL_COMPILE", "quick")
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=Share.read, default=Share(), metavar="k/N", help="every N-th member from the k-th on")
    parser.add_argument("--workers", type=int, default=1, help="processes of this run")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that one member may take")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no further one is begun")
    parser.add_argument("--out", type=Path, help="a JSON file with counts, and what was said of which member")
    return parser


def sweep(work: Callable[[int], Outcome], count: int, given: argparse.Namespace) -> int:
    """`work(number)` for each number of this share; prints what is said, then the counts; the exit status."""
    begin, total, notes = time.monotonic(), Outcome(members=0), {}
    for done, (number, found) in enumerate(
        results(work, given.share.members(count, given.budget), given.workers, given.limit), 1
    ):
        one = _outcome(found)
        total += one
        if one.said:
            notes[number] = one.said
            print(f"{number}: {one.said}", flush=True)
        if done % 500 == 0:
            print(f"… {done:,} of {len(range(given.share.first, count, given.share.of)):,}: {total}", flush=True)
            _write(given.out, total, notes, begin)
    _write(given.out, total, notes, begin)
    print(f"share {given.share.first}/{given.share.of}: {total}; {time.monotonic() - begin:.0f} s", flush=True)
    return int(total.wrong > 0 or total.over_time > 0)


def _outcome(found: Outcome | Failed) -> Outcome:
    if isinstance(found, Late):
        return Outcome(over_time=1, said=found)
    return wrong(found) if isinstance(found, Failed) else found


def _write(path: Path | None, total: Outcome, notes: dict[int, str], begin: float) -> None:
    if path is not None:
        counts = {key: value for key, value in asdict(total).items() if key != "said"}
        text = {**counts, "seconds": round(time.monotonic() - begin, 1), "said": notes}
        path.write_text(json.dumps(text, indent=1, ensure_ascii=False))


__all__ = ["Outcome", "left_out", "long_run", "refused", "right", "sweep", "wrong"]
