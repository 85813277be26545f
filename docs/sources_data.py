"""The numbered equations of the five sources, each with its test and the verdict of a run: `make sources`.

Writes docs/data/sources.json, from which the page «The sources, checked by machine» is made. A test belongs to a source by its
name (`test_deneva_17_to_23`) or by its file, and to equations by the numbers in its name; tests/docs/test_sources.py asks that
the file lists every such test.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).parent / "data" / "sources.json"

SOURCES = {
    "gantmacher": "Gantmacher, Lectures on analytical mechanics, §10",
    "deneva": "Deneva 1989, nonholonomic systems with nonlinear constraints",
    "soltakhanov": "Soltakhanov, Shugaylo and Yushkov 2018, vector form of the differential variational principles",
    "golubev": "Golubev 2014, Appell's function in the dynamics of rigid-body systems",
    "zhuravlev": "Zhuravlev 1978, equations of motion with ideal unilateral constraints",
}
IN_CHAPTERS = ("golubev", "soltakhanov")
"""Sources whose equations are numbered (1.2)."""
OWN_FILES = {"test_zhuravlev.py": "zhuravlev", "test_zhuravlev_averaging.py": "zhuravlev"}
"""Files all of whose tests belong to a source."""


def numbers(words: list[str], source: str) -> str:
    """The equations in a name: 17_to_23 → «(17) to (23)», 1_2_1_3 → «(1.2), (1.3)» where a source numbers so."""
    if source in IN_CHAPTERS:
        figures = [w for w in words if w.isdigit()]
        between = " to " if "to" in words else ", "
        return between.join(f"({a}.{b})" for a, b in zip(figures[::2], figures[1::2], strict=False))
    parts: list[str] = []
    for word in words:
        if word.isdigit():
            parts.append(f"({word})")
        elif word == "to" and parts:
            parts.append("to")
        else:
            break
    return ", ".join(parts).replace(", to, ", " to ")


def said(name: str, words: list[str], docstring: str | None) -> str:
    """What a test asserts: the first sentence of its docstring, or the words of its name."""
    if docstring:
        first = " ".join(docstring.split("\n\n")[0].split()).rstrip(".")
        return re.sub(r"^(\([\d.']+\)(, |–)?)+: ", "", first)
    rest = list(words)
    while rest and (rest[0].isdigit() or rest[0] in ("to", "and")):
        rest.pop(0)
    return " ".join(rest)


def entries() -> list[dict[str, Any]]:
    """Every test of a source, in the order of the sources and of their numbers."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if path.name not in OWN_FILES and not re.search(rf"def test_({'|'.join(SOURCES)})_", text):
            continue
        for node in ast.parse(text).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            first, *rest = node.name.removeprefix("test_").split("_")
            source, words = (OWN_FILES[path.name], [first, *rest]) if path.name in OWN_FILES else (first, rest)
            if source in SOURCES:
                equations = numbers([w for w in words if w not in ("before", "after", "under", "and", "two", "sided")], source)
                found.append({
                    "source": source, "equations": equations, "says": said(node.name, words, ast.get_docstring(node)),
                    "test": f"{path.relative_to(ROOT).as_posix()}::{node.name}",
                })  # fmt: skip
    order = list(SOURCES)
    first = lambda row: [int(n) for n in re.findall(r"\d+", row["equations"])] or [10**6]  # those without a number come last
    return sorted(found, key=lambda row: (order.index(row["source"]), first(row), row["test"]))


def verdicts(ids: list[str]) -> dict[str, str]:
    """Test → «holds» where all its cases pass, «fails» where one does not, «not run» where all are skipped."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--extended", f"--junitxml={report}", *ids]
        subprocess.run(call, cwd=ROOT, check=False)
        cases = ElementTree.parse(report).getroot().iter("testcase")
        seen: dict[str, list[str]] = {}
        for case in cases:
            kind = "fails" if case.find("failure") is not None or case.find("error") is not None else "holds"
            kind = "not run" if case.find("skipped") is not None else kind
            file, name = case.get("classname", "").replace(".", "/"), case.get("name", "").split("[")[0]
            seen.setdefault(f"{file}.py::{name}", []).append(kind)
    return {test: "fails" if "fails" in kinds else "holds" if "holds" in kinds else "not run" for test, kinds in seen.items()}


def main() -> None:
    """Runs the tests and writes the file."""
    from appell import __version__

    rows = entries()
    found = verdicts([row["test"] for row in rows])
    for row in rows:
        row["verdict"] = found.get(row["test"], "not run")
    kept = {"date": date.today().isoformat(), "appell": __version__, "rows": rows}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{KEPT}: {len(rows)} tests, {sum(row['verdict'] == 'holds' for row in rows)} hold")


if __name__ == "__main__":
    main()
