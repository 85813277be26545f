"""`python -m tests.ensembles.fuzz_store`: a sweep with its files flipped, its calls failing, its process killed, its power cut;
and then a run that is kept in a folder.

Each trial begins or goes on with a store, breaks it in one way, and makes the same call again without a fault: the numbers must
be those of a sweep, or a run, that nothing happened to, and nothing but an `AppellError` may have left the library. Faults are
injected by `file_faults.c` below everything that Python and Zarr call.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.families import kept_runs
from tests.families.stores import DAMAGES, QUICK, SPRING, files_of, flip, study

import appell as ap
from appell.errors import AppellError
from appell.model.fingerprint import fingerprint

KILLED, REFUSED, FAILED = 86, 3, 4
"""Exit codes: ended by the shim, an `AppellError`, any other exception."""
SHIM = Path(__file__).with_name("file_faults.c")
ERRORS = {"kill": 0, "no space": errno.ENOSPC, "input/output error": errno.EIO}


def built_shim(folder: Path) -> Path:
    """The shim as a shared object."""
    target = folder / "file_faults.so"
    compiler = os.environ.get("CC") or "cc"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(target), str(SHIM), "-ldl"], check=True)
    return target


def in_child(work: Callable[[], object]) -> int:
    """The exit code of a fork that does some work: 0, or one of those above."""
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            work()
            code = 0
        except AppellError:
            code = REFUSED
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def swept(store: Path) -> str:
    """A digest of every number and message of the study, and what was repaired."""
    found = study(store)
    names = sorted(str(name) for name in found.dataset.variables)
    return fingerprint([(name, found.dataset[name].values) for name in names]) + " " + str(found.attrs.get("repaired", ""))


def kept(store: Path) -> str:
    """A digest of every number of a kept run, and whether something was made again."""
    with kept_runs.often(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        motion = ap.simulate(kept_runs.SWING, {kept_runs.x: 1.0}, 40.0, keep=(store, 3), **kept_runs.HOW[0])
    mended = any("damaged" in str(one.message) for one in heard)
    return fingerprint([motion.t, motion.q, motion.v, motion.ok]) + " repaired" * mended


class Bench:
    """A folder to work in, the shim, and what the work (`numbers`, which digests its results) gives where nothing happens."""

    def __init__(self, folder: Path, shim: Path, numbers: Callable[[Path], str], damages: tuple[Callable[..., None], ...]):
        self.folder, self.faults, self.numbers, self.damages = folder, ctypes.CDLL(str(shim)), numbers, damages
        self.folder.mkdir(exist_ok=True)
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        ap.simulate_many(SPRING, {"x": 1.0}, 0.5, {"k": 1.0, "m": 1.0}, threads=1, **QUICK)  # forks have it derived
        self.original = folder / "original"
        self.clean = self.after(self.original).split()[0]

    def after(self, store: Path) -> str:
        """The digest that a child finds for a store, and what it repaired."""
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        code = in_child(lambda: answer.write_text(self.numbers(store), encoding="utf-8"))
        return answer.read_text(encoding="utf-8") if code == 0 else f"exit {code}"

    def judge(self, kind: str, what: str, store: Path, *, repairs: bool = True) -> None:
        """Counts a trial: right if the store gives the numbers of the undamaged one, and again without repairs."""
        found = self.after(store)
        right = found.split()[0] == self.clean and (repairs or len(found.split()) == 1)
        self.outcomes[f"{kind}: {'right' if right else 'WRONG'}"] += 1
        if not right:
            self.wrong.append(f"{kind}: {what}: {found[:100]}")

    def tell(self) -> None:
        """Prints what has come out so far."""
        print(", ".join(f"{outcome} {count}" for outcome, count in sorted(self.outcomes.items())), flush=True)

    def calls(self) -> int:
        """Calls of the file system that the whole work makes."""
        count = self.folder / "count"

        def work() -> None:
            self.faults.faults_begin(str(self.folder / "counted").encode(), 0, 0, -1)
            self.numbers(self.folder / "counted")
            count.write_text(str(self.faults.faults_count()), encoding="utf-8")

        in_child(work)
        shutil.rmtree(self.folder / "counted")
        return int(count.read_text(encoding="utf-8"))

    def fault(self, kind: str, number: int) -> None:
        """One call fails, or is the last; then also as if the power had gone."""
        store, log = self.folder / "faulty", self.folder / "log"
        shutil.rmtree(store, ignore_errors=True)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def work() -> None:
            self.faults.faults_begin(str(store).encode(), number, ERRORS[kind], handle)
            self.numbers(store)

        code = in_child(work)
        os.close(handle)
        if code not in (0, KILLED, REFUSED):
            self.wrong.append(f"{kind} at call {number}: exit {code}")
        if kind == "kill":
            powerless = self.folder / "powerless"
            shutil.rmtree(powerless, ignore_errors=True)
            if store.exists():
                shutil.copytree(store, powerless)
            cut_power(log.read_text(encoding="utf-8"), store, powerless)
            self.judge("power cut", f"at call {number}", powerless, repairs=False)
        self.judge(kind, f"at call {number}", store, repairs=False)

    def damage(self, rng: np.random.Generator, kinds: tuple[Callable[..., None], ...]) -> None:
        """A file of a finished store is damaged."""
        store = self.folder / "damaged"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(self.original, store)
        files = files_of(store)
        file, kind = files[int(rng.integers(len(files)))], kinds[int(rng.integers(len(kinds)))]
        kind(file, rng)
        self.judge(kind.__name__.replace("_", " "), str(file.relative_to(store)), store)

    def kill(self, rng: np.random.Generator) -> None:
        """SIGKILL at any instruction."""
        store = self.folder / "killed"
        shutil.rmtree(store, ignore_errors=True)
        child = os.fork()
        if child == 0:
            try:
                self.numbers(store)
            finally:
                os._exit(0)
        time.sleep(float(rng.uniform(0, 0.5)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.judge("SIGKILL", "at some instruction", store, repairs=False)


def cut_power(log: str, store: Path, copy: Path) -> None:
    """Takes from the copy of a store what was not synced: bytes of files, and files in folders."""
    dirty: set[str] = set()
    entries: dict[str, set[str]] = {}
    for line in log.splitlines():
        what, first, second = line.split("\t")
        if what in ("write", "open"):
            dirty.add(first)
            entries.setdefault(os.path.dirname(first), set()).add(first)
        elif what == "sync":
            dirty.discard(first)
            entries.pop(first, None)
        elif what == "rename":
            if first in dirty:
                dirty.add(second)
            dirty.discard(first)
            entries.setdefault(os.path.dirname(second), set()).add(second)
    lost = {name for names in entries.values() for name in names}
    for name in dirty | lost:
        file = copy / Path(name).relative_to(store)
        if file.is_file() and not file.is_symlink() and file.name != "lock":
            if name in lost:
                file.unlink()
            else:
                file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def served(shim: Path, every: int, flips: int, kills: int) -> int:
    """All trials, in a process that has the shim below it."""
    rng, wrong = np.random.default_rng(24), 0
    memory = Path("/dev/shm")  # where a sync costs nothing; what it promises is played by `cut_power`
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for numbers, damages in ((swept, DAMAGES[1:]), (kept, kept_runs.DAMAGES[1:])):
            bench = Bench(Path(folder).resolve() / numbers.__name__, shim, numbers, damages)
            for _ in range(flips):
                bench.damage(rng, (flip,))
            for _ in range(flips // 4):
                bench.damage(rng, bench.damages)
            for _ in range(kills):
                bench.kill(rng)
            bench.tell()
            total = bench.calls()
            print(f"{numbers.__name__}: {total} calls of the file system")
            for kind in ERRORS:
                for number in range(1 + int(rng.integers(every)), total + 1, every):
                    bench.fault(kind, number)
                bench.tell()
            print("\n".join(bench.wrong[:20]))
            print(f"{numbers.__name__}: {sum(bench.outcomes.values())} trials, {len(bench.wrong)} wrong", flush=True)
            wrong += len(bench.wrong)
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="every n-th call of the file system has its faults")
    parser.add_argument("--flips", type=int, default=220)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--shim", type=Path)
    asked = parser.parse_args()
    if asked.shim is not None:
        return served(asked.shim, asked.every, asked.flips, asked.kills)
    with tempfile.TemporaryDirectory() as folder:
        shim = built_shim(Path(folder))
        again = [sys.executable, "-m", "tests.ensembles.fuzz_store", "--shim", str(shim), "--every", str(asked.every)]
        again += ["--flips", str(asked.flips), "--kills", str(asked.kills)]
        return subprocess.run(again, env={**os.environ, "LD_PRELOAD": str(shim)}).returncode


if __name__ == "__main__":
    sys.exit(main())
