"""Damaged files: `python -m tests.hostile.fuzz_files --count 20000 --start 0`.

File number n is a function of n alone: a robot, a mesh, a model, a motion in NetCDF or Zarr that is whole, with bytes flipped,
cut out, doubled, moved or exchanged for numbers and names that no file should contain. Reading it succeeds, or an `AppellError`
leaves.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.fuzz_api import MEMORY, TooLong, limited
from tests.hostile.whole_files import CORNERS, DAE, FACES, MJCF, MODEL, OBJ, ROBOT, SDF, STL, TABLE

import appell as ap
from appell.scene.meshes import read_mesh

LIMIT = 20.0  # s of one file

NUMBERS = "nan inf -inf 1e999 -1 0 1e308 99999999999999999999 0x10 1_0 ۱ 1,5 2**9 __import__('os') ../../x javascript:x".split()


def _binary_stl() -> bytes:
    points = np.array([[CORNERS[k - 1] for k in face] for face in FACES], dtype="<f4")
    records = b"".join(np.zeros(3, "<f4").tobytes() + one.tobytes() + b"\0\0" for one in points)
    return b"\0" * 80 + len(points).to_bytes(4, "little") + records


@cache
def whole() -> Path:
    """A folder with one whole file of each kind."""
    folder = Path(tempfile.mkdtemp(prefix="appell-files-"))
    for name, content in {"r.urdf": ROBOT, "r.xml": MJCF, "r.sdf": SDF, "part.obj": OBJ, "t.stl": STL, "d.dae": DAE}.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "b.stl").write_bytes(_binary_stl())
    (folder / "m.toml").write_text(MODEL, encoding="utf-8")
    (folder / "record.csv").write_text(TABLE, encoding="utf-8")
    example = ap.zoo.bouncing_ball()
    motion = ap.simulate(example.system, example.start, 1.0, example.parameters, backend="vm")
    motion.save(folder / "m.nc")
    motion.save(folder / "m.zarr")
    return folder


def read_robot(path: Path) -> None:
    tree = ap.Tree.from_urdf(path, backend="vm")
    ap.Scene(tree)
    tree._repr_html_()


def read_mjcf(path: Path) -> None:
    tree = ap.Tree.from_mjcf(path, backend="vm")
    ap.Scene(tree)


def read_sdf(path: Path) -> None:
    tree = ap.Tree.from_sdf(path, backend="vm")
    ap.Scene(tree)
    str(tree), tree._repr_html_()


def read_motion(path: Path) -> None:
    motion = ap.load(path)
    str(motion.verify()), motion._repr_html_(), repr(motion)
    for name in (*motion.coordinate_names, *motion.velocity_names):
        motion.series(name)


def _beside(path: Path, name: str) -> None:
    """The whole file of this name lies in the same folder."""
    if path.parent != whole():
        shutil.copy(whole() / name, path.parent / name)


def read_model_file(path: Path) -> None:
    _beside(path, "record.csv")
    model = ap.read_model(path)
    model.check_units()
    str(model.system)


def read_table(path: Path) -> None:
    """A damaged table beside a whole model file."""
    _beside(path, "m.toml")
    ap.read_model(path.parent / "m.toml")


KINDS: dict[str, Callable[[Path], Any]] = {
    "r.urdf": read_robot, "r.xml": read_mjcf, "r.sdf": read_sdf, "part.obj": read_mesh, "t.stl": read_mesh,
    "b.stl": read_mesh, "d.dae": read_mesh, "m.nc": read_motion, "m.zarr": read_motion, "m.toml": read_model_file,
    "record.csv": read_table,
}  # fmt: skip


@cache
def kinds() -> list[str]:
    """Those whose reader is installed."""
    return [name for name in KINDS if name != "r.xml" or find_spec("mujoco")]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Bytes with some damage."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, length = rng.randrange(len(changed) + 1), rng.choice((1, 1, 2, 8, 100))
        kind = rng.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[at : at + length]
        elif kind == 2:
            changed[at:at] = changed[at : at + length] * rng.choice((1, 2, 50))
        elif kind == 3:
            changed[at : at + length] = rng.randbytes(length)
        else:
            del changed[at:]
    return bytes(changed)


def reworded(data: bytes, rng: random.Random) -> bytes:
    """A text with one or more of its numbers, names or elements exchanged."""
    text = data.decode("latin-1")
    for _ in range(rng.choice((1, 1, 2, 4))):
        words = list(re.finditer(r"-?\d+\.?\d*|\"[^\"]*\"|<[^<>]*>|\w+", text))
        if not words:
            break
        one, other = rng.choice(words), rng.choice(words)
        new = rng.choice((rng.choice(NUMBERS), rng.choice(NUMBERS), other[0], "", one[0] * 3))
        quoted = f'"{new}"' if one[0].startswith('"') and not new.startswith('"') else new
        text = text[: one.start()] + quoted + text[one.end() :]
    return text.encode("latin-1", "replace")


def damaged(number: int, folder: Path) -> tuple[str, Path]:
    """(kind, path) of file `number`, written into the folder."""
    rng = random.Random(number)
    name = rng.choice(kinds())
    target = folder / name
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    if name == "m.zarr":
        shutil.copytree(whole() / name, target)
        victim = rng.choice(sorted(path for path in target.rglob("*") if path.is_file()))
        if rng.random() < 0.1:
            victim.unlink()
            return name, target
    else:
        shutil.copy(whole() / name, target)
        shutil.copy(whole() / "part.obj", folder / "part.obj")
        victim = target
    data = victim.read_bytes()
    text = name not in ("b.stl", "m.nc", "m.zarr") or victim.name == "zarr.json"
    victim.write_bytes(reworded(data, rng) if text and rng.random() < 0.7 else flipped(data, rng))
    return name, target


def outcome(number: int, folder: Path) -> str:
    """What went wrong with file `number`, or nothing."""
    name, path = damaged(number, folder)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with limited(LIMIT):
                KINDS[name](path)
        except ap.AppellError as error:
            return f"{name}: a message of {len(str(error))} characters" if len(str(error)) > 4000 else ""
        except TooLong:
            return f"{name}: over {LIMIT:g} s"
        except Exception as error:
            own = [f for f in traceback.extract_tb(error.__traceback__) if "/appell/" in f.filename]
            where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
            return f"{name}: {type(error).__name__} at {where}: {str(error)[:100]}"
    return ""


def fuzz(start: int, count: int, seconds: float = float("inf")) -> tuple[int, dict[str, list[int]]]:
    """(files read, what went wrong → their numbers)."""
    wrong: dict[str, list[int]] = collections.defaultdict(list)
    end, made = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory(prefix="appell-damaged-") as folder:
        for number in range(start, start + count):
            if time.monotonic() > end:
                break
            if problem := outcome(number, Path(folder)):
                wrong[problem].append(number)
            made += 1
    return made, dict(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description="damaged robots, meshes and motions")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--start", type=int, default=0, help="the number of the first file: go on where a run ended")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    made, wrong = fuzz(given.start, given.count, given.seconds)
    for problem, numbers in sorted(wrong.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers):6d}  {problem}  (files {numbers[:5]})")
    print(f"{made} files from {given.start} on, {sum(map(len, wrong.values()))} went wrong; next: {given.start + made}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
