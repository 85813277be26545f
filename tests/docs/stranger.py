"""A stranger with the wheel: README and tutorial are followed literally in an empty environment, and what they print compared.

    python tests/docs/stranger.py --python python3.11 python3.13      # make stranger

Builds the wheel, and for each interpreter that is here makes an environment with nothing but the wheel and what it requires,
in which the pages are followed in a folder of their own: every block of Python one after another, and the commands that need
no browser. Equations must be printed letter by letter, numbers to the figures of single precision. Only the standard library is
used here: this file runs inside the new environment, too.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tutorial.md")
PYTHON = re.compile(r"^```(?:python|\{code-cell\} ipython3)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
SMALL = 1e-7
"""What is below is rounding: energy balances and residuals differ from machine to machine."""
FIGURES = 1e-5
"""Relative difference of numbers that are printed."""


def follow(page: Path) -> list[str]:
    """Runs the blocks of a page in the current folder; what it prints otherwise than the page says."""
    text = page.read_text("utf-8")
    names: dict[str, object] = {"display": lambda *_: None}
    memory = io.StringIO()
    with redirect_stdout(memory):
        for k, block in enumerate(PYTHON.findall(text)):
            code = re.sub(r"^:\w+:.*\n", "", block, flags=re.MULTILINE)
            exec(compile(code, f"{page.name}, block {k + 1}", "exec"), names)
    said: list[str] = "".join(PRINTED.findall(text)).splitlines()
    return [] if not said else differences(said, memory.getvalue().splitlines())


def differences(said: list[str], printed: list[str]) -> list[str]:
    """Lines that differ, but for counts of steps and the last figures of numbers."""
    if len(said) != len(printed):
        return [f"the page shows {len(said)} lines, and {len(printed)} are printed"]
    return [f"said: {a}\nprinted: {b}" for a, b in zip(said, printed, strict=True) if not alike(a, b)]


def alike(said: str, printed: str) -> bool:
    """Whether two lines have the same words and about the same numbers."""
    words = lambda line: " ".join(NUMBER.sub("#", line).split())
    if words(said) != words(printed):
        return False
    if said.startswith(("method", "samples")):  # steps and samples depend on the last bits
        return True
    figures = lambda line: [float(x.replace("−", "-")) for x in NUMBER.findall(line)]
    return all(abs(a - b) <= max(SMALL, FIGURES * abs(a)) for a, b in zip(figures(said), figures(printed), strict=True))


COMMANDS = (
    "--version", "", "doctor", "zoo", "new model.toml", "check model.toml", "derive model.toml", "run model.toml -o model.html",
)  # fmt: skip


def inside() -> int:
    """In the new environment: pages and commands, each in an empty folder."""
    import os

    os.environ["MPLBACKEND"] = "Agg"
    failed = []
    for name in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            wrong = follow(ROOT / name)
            print(f"  {name}: {'as it says' if not wrong else 'differs'}", *wrong, sep="\n    ", flush=True)
            failed += wrong
            os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            done = subprocess.run([sys.executable, "-m", "appell", *words.split()], cwd=folder, capture_output=True, text=True)
            if done.returncode or "Traceback" in done.stderr:
                failed.append(f"appell {words}: {done.stdout[-400:]}{done.stderr[-800:]}")
                print(f"    {failed[-1]}", flush=True)
    print(f"  commands: {len(COMMANDS)} tried", flush=True)
    return 1 if failed else 0


def environment(python: str, wheel: Path, folder: Path) -> Path:
    """An environment with the wheel alone, and the interpreter in it."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inner = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([str(inner), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    return inner


def size(folder: Path) -> str:
    """Megabytes in the environment, and what the largest packages take."""
    mega = lambda path: sum(f.stat().st_size for f in path.rglob("*") if f.is_file() and not f.is_symlink()) / 1e6
    packages = [p for place in folder.rglob("site-packages") for p in place.iterdir() if p.is_dir()]
    largest = sorted(((mega(p), p.name) for p in packages), reverse=True)[:6]
    return f"{mega(folder):.0f} MB: " + ", ".join(f"{name} {x:.0f}" for x, name in largest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters; those not here are left out")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return inside()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        build = ["wheel", "--quiet", "--no-deps", "--disable-pip-version-check", "-w", folder, str(ROOT)]
        subprocess.run([sys.executable, "-m", "pip", *build], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        for python in given.python:
            if shutil.which(python) is None:
                print(f"{python}: not here", flush=True)
                continue
            home = Path(folder) / f"env-{Path(python).name}"
            inner = environment(python, wheel, home)
            print(f"{python}: {size(home)}", flush=True)
            call = [str(inner), str(Path(__file__).resolve()), "--inside"]
            failed |= subprocess.run(call, cwd=folder, check=False).returncode
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
