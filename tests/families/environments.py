"""Odd environments: whatever stands in APPELL_CACHE, HOME or CC, code is compiled or refused by name, and nobody's files go."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from tests.families.family import family

import appell as ap
from appell.backends import build
from appell.backends.compiler import cache
from appell.errors import AppellError

SOURCE, DECLARATION = "double thrice(double x) { return 3.0*x; }\n", "double thrice(double);"
SECONDS = 60
"""After which a trial counts as one that hangs."""


def looped(folder: Path) -> str:
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    return str(folder / "a")


def dangling(folder: Path) -> str:
    (folder / "link").symlink_to(folder / "nowhere" / "at" / "all")
    return str(folder / "link")


def piped(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def filed(folder: Path) -> str:
    (folder / "file").write_text("mine")
    return str(folder / "file")


def unwritable(folder: Path) -> str:
    (folder / "shut").mkdir(mode=0o500)
    return str(folder / "shut")


def linked(folder: Path) -> str:
    (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "real")
    return str(folder / "link")


def waiting(folder: Path) -> str:
    """A compiler that waits for what nobody types."""
    (folder / "cc").write_text("#!/bin/sh\nread line\nexit 1\n")
    (folder / "cc").chmod(0o755)
    return str(folder / "cc")


def spaced_compiler(folder: Path) -> str:
    (folder / "my tools").mkdir()
    (folder / "my tools" / "cc").write_text('#!/bin/sh\nexec cc "$@"\n')
    (folder / "my tools" / "cc").chmod(0o755)
    return str(folder / "my tools" / "cc")


def relative_compiler(folder: Path) -> str:
    return os.path.relpath(spaced_compiler(folder)).replace(" ", "\\ ")


BYTES = os.fsdecode(b"caf\xe9")
"""A name that is no UTF-8."""


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def bytes_compiler(folder: Path) -> str:
    return str(script(made(folder / BYTES) / "cc", 'exec cc "$@"'))


def killed(folder: Path) -> str:
    """A compiler that the system kills."""
    return str(script(folder / "cc", "kill -9 $$"))


def chatting(folder: Path) -> str:
    """A compiler that fails with a million characters that are no text."""
    return str(script(folder / "cc", "head -c 1000000 /dev/urandom >&2; exit 1"))


def script(file: Path, line: str) -> Path:
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)
    return file


Odd = Callable[[Path], str]
TRIALS: list[Mapping[str, Odd]] = [
    {"APPELL_CACHE": piped},
    {"CC": lambda _: "gcc 'unfinished", "APPELL_CC": lambda _: ""},
    {"APPELL_CACHE": filed},
    {"APPELL_CACHE": looped},
    {"APPELL_CACHE": dangling},
    {"APPELL_CACHE": unwritable},
    {"APPELL_CACHE": linked},
    {"APPELL_CACHE": lambda folder: os.path.relpath(folder / "a cache with spaces")},
    {"APPELL_CACHE": lambda _: "   ", "HOME": lambda _: ""},
    {"APPELL_CACHE": lambda _: "~nobody-has-this-name/x"},
    {"APPELL_CACHE": lambda _: "", "XDG_CACHE_HOME": lambda _: "relative/cache", "HOME": lambda folder: str(folder)},
    {"APPELL_CACHE": lambda _: "", "XDG_CACHE_HOME": lambda _: "", "HOME": lambda _: "not/absolute"},
    {"APPELL_CACHE": lambda _: "", "XDG_CACHE_HOME": lambda _: "", "HOME": filed},
    {"APPELL_CC": lambda _: "'"},
    {"APPELL_CC": piped},
    {"APPELL_CC": lambda folder: str(folder)},
    {"APPELL_CC": lambda _: "/nonexistent/cc --odd"},
    {"APPELL_CC": waiting},
    {"APPELL_CC": spaced_compiler},
    {"APPELL_CC": relative_compiler},
    {"APPELL_CACHE": lambda _: "x" * 5000},
    {"APPELL_CACHE": filed, "TMPDIR": filed},
    {"APPELL_CACHE": lambda folder: str(folder / BYTES)},
    {"APPELL_CACHE": filed, "TMPDIR": lambda folder: str(made(folder / BYTES))},
    {"APPELL_CACHE": piped, "TMPDIR": lambda folder: str(folder / "pipe")},
    {"APPELL_CC": bytes_compiler},
    {"APPELL_CC": lambda folder: str(folder / BYTES)},
    {"CC": lambda folder: f"{folder / BYTES} -odd", "APPELL_CC": lambda _: ""},
    {"APPELL_CACHE": lambda _: "", "XDG_CACHE_HOME": filed, "HOME": piped},
    {"APPELL_CACHE": lambda _: "", "XDG_CACHE_HOME": lambda _: "", "HOME": lambda folder: str(made(folder / BYTES))},
    {"APPELL_CACHE": lambda _: "/dev/null"},
    {"APPELL_CACHE": lambda _: "/dev/full/cache", "TMPDIR": lambda _: "/dev/full"},
    {"APPELL_CACHE": lambda _: "/proc/self/cache", "TMPDIR": lambda _: "/proc/self"},
    {"APPELL_COMPILE": lambda _: "odd"},
    {"APPELL_COMPILE": lambda _: BYTES},
    {"APPELL_CC": lambda _: "cc", "PATH": lambda _: ""},
    {"APPELL_CC": lambda _: "cc -o /dev/null"},
    {"APPELL_CC": lambda _: "cc\n"},
    {"APPELL_CC": killed},
    {"APPELL_CC": chatting},
]


@contextmanager
def in_time() -> Iterator[None]:
    """`TimeoutError` for what hangs."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still there after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@family(count=len(TRIALS), sample=(0, 1))
def odd_settings_are_served_or_refused(seed: int) -> None:
    """A function is compiled and called, or an `AppellError` says why not; nothing hangs."""
    if sys.platform == "win32":
        pytest.skip("made for POSIX")
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch, in_time():
        folder = Path(name)
        patch.setenv("APPELL_CACHE", str(folder / "cache"))
        for variable, odd in TRIALS[seed].items():
            patch.setenv(variable, odd(folder))
        patch.setattr(tempfile, "tempdir", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ap.AppellWarning)
            try:
                assert build(SOURCE + f"/* {seed} */", DECLARATION).lib.thrice(2.0) == 6.0
            except AppellError as error:
                assert 0 < len(str(error)) < 4000


def foreign(folder: Path, seed: int) -> Path:
    """Something of a user's in the cache's folder, with a name as like ours as it can be."""
    key = "0123456789abcdef" * 4
    names = ["thesis.so", "results.note", f"{key}.so", f"{key}-{key[:-1]}.so", f"{key.upper()}-{key}.note", f"x{key}-{key}.so"]
    if seed < len(names):
        (folder / names[seed]).write_text("mine")
        return folder / names[seed]
    away = folder.parent / "away"
    away.mkdir()
    (away / "data.csv").write_text("mine")
    target = folder / f"{key}-{key}.so" if seed % 2 else folder / ".building-abc"
    target.symlink_to(away / "data.csv" if seed % 2 else away)
    if seed in (8, 10):
        target.unlink()
        target.mkdir()
        (target / "source.c").write_text("")
        (target / "data.csv").write_text("mine")
        return target / "data.csv"
    return away / "data.csv"


@family(count=12, sample=(0, 7))
def nothing_of_others_is_removed(seed: int) -> None:
    """`clear_cache` and pruning leave what the library has not written, and never go through a link."""
    if sys.platform == "win32":
        pytest.skip("made for POSIX")
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name) / "cache"
        folder.mkdir(mode=0o755)
        patch.setenv("APPELL_CACHE", str(folder))
        mine = foreign(folder, seed)
        before = stat.S_IMODE(folder.stat().st_mode)
        own = build(SOURCE + f"/* {seed} */", DECLARATION).path
        for path in (mine, *folder.glob(".building-*")):
            os.utime(path, (1e9, 1e9), follow_symlinks=False)
        cache.prune(folder, limit=0)
        ap.clear_cache()
        assert mine.read_text() == "mine" and not own.exists()
        assert mine.parent != folder or stat.S_IMODE(folder.stat().st_mode) == before
