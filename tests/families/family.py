"""Families: kinds of systems on which something once went wrong, each with the member that was seen and others that were not.

A module of this folder has the families of one topic: functions of a seed under `@family`, which raise when a promise
does not hold. The suite runs a sample of each, `make families` all members.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.reference.sweeps import Outcome, right, wrong

Check = Callable[[int], None]
MEMBERS = 12  # a family has at least ten members beside the one that was seen


@dataclass(frozen=True)
class Family:
    """`check(seed)` for each seed below `count`; member 0 is the one that was reported."""

    name: str
    check: Check
    count: int
    sample: tuple[int, ...]


FAMILIES: dict[str, Family] = {}


def family(*, count: int = MEMBERS, sample: tuple[int, ...] = (0, 1)) -> Callable[[Check], Check]:
    """Register a check as a family of `count` members, of which the suite runs `sample`."""

    def register(check: Check) -> Check:
        name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        if name in FAMILIES and FAMILIES[name].check.__code__.co_filename != check.__code__.co_filename:
            raise ValueError(f"two families are called {name}")
        FAMILIES[name] = Family(name, check, count, sample)
        return check

    return register


def load_families() -> dict[str, Family]:
    """All families, after every module of this folder was imported."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in ("family", "__main__") and not path.stem.startswith("test_"):
            import_module(f"tests.families.{path.stem}")
    return FAMILIES


def member(k: int, members: list[tuple[str, int]]) -> Outcome:
    """Member number k of a list."""
    name, seed = members[k]
    try:
        load_families()[name].check(seed)
    except Exception:
        return wrong(f"{name}, member {seed}:\n{traceback.format_exc()}")
    return right()
