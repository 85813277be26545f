"""Code that is broken on purpose: a family that notices none of these would prove nothing.

A `Breakage` replaces one decision of the library in a copy of its source; members of the families that guard this decision
are then tried in a process of their own, and at least one of them must fail. `python -m tests.families.broken` does it for
all; the suite checks that every family has a breakage and that each still fits the source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parents[3]
SOURCE = PROJECT / "src"
LIMIT = 300.0  # seconds for the members of one family; to be late does not count as noticing
MEMORY = 8 * 2**30  # bytes of address space: what a broken guard lets through must not take the machine

TRIAL = """
import resource
import warnings
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
warnings.simplefilter("ignore")
import appell
from importlib import import_module
from tests.families.family import FAMILIES
import_module("tests.families." + {name!r}.partition(".")[0])
if not appell.__file__.startswith({source!r}):
    raise SystemExit("the broken copy was not imported")
check = FAMILIES[{name!r}].check
for seed in {seeds!r}:
    try:
        check(seed)
    except BaseException as error:
        print("noticed", seed, type(error).__name__, " ".join(str(error).split())[:120], flush=True)
    else:
        print("passed", seed, flush=True)
"""


@dataclass(frozen=True)
class Breakage:
    """In `file` of the package the text `old`, which stands there once, becomes `new`; `guards` has seeds for each family."""

    what: str
    file: str
    old: str
    new: str
    guards: Mapping[str, tuple[int, ...]]

    @property
    def fits(self) -> bool:
        """Whether the text that is replaced still stands in the source, once."""
        path = SOURCE / "appell" / self.file
        return path.is_file() and path.read_text().count(self.old) == 1

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A copy of the source, broken."""
        with TemporaryDirectory() as folder:
            source = Path(folder) / "src"
            shutil.copytree(SOURCE, source)
            path = source / "appell" / self.file
            path.write_text(path.read_text().replace(self.old, self.new))
            yield source

    def tried(self, source: Path, name: str) -> Trial:
        """The members of one family on a broken copy."""
        code = TRIAL.format(source=str(source), name=name, seeds=self.guards[name], memory=MEMORY)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(source), str(PROJECT))),
            "APPELL_CACHE": str(source.parent / "cache"),
        }
        command = [sys.executable, "-c", code]
        try:
            run = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired as late:
            said = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
            return Trial(name, self.guards[name], said + "late")
        return Trial(name, self.guards[name], run.stdout + (f"died: {run.stderr[-300:]}" if run.returncode else ""))


@dataclass(frozen=True)
class Trial:
    """What the members of one family said."""

    family: str
    seeds: tuple[int, ...]
    said: str

    @cached_property
    def noticed(self) -> int:
        return sum(line.startswith("noticed") for line in self.said.splitlines())

    def __str__(self) -> str:
        return f"{self.family}: {self.noticed} of {len(self.seeds)}"


def breakages() -> list[Breakage]:
    """Those of every module of this folder, in the order of their files."""
    others = ("__init__", "__main__", "breakage")
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in others)
    return [one for name in modules for one in import_module(f"tests.families.broken.{name}").BREAKAGES]
