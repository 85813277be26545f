"""The tables of docs/design.md, decision → file and event → function: files are there, with the functions that are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
FILE = re.compile(r"[\w/]+\.(?:py|c|c\.in)")
PLACES = ("", "src/appell", "src/appell/nonsmooth", "src/appell/loop", "src/appell/loop/methods", "docs")


def rows(section: str = "Where decisions are made") -> list[tuple[str, str]]:
    """(decision or event, where) of the tables of a section."""
    table = PAGE.split(f"## {section}")[1].split("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [(row[0], row[1]) for row in found if row[0] not in ("decision", "what happens")]


def files(text: str) -> dict[str, Path | None]:
    """The files that a text names in code, as paths from the root or from one of the packages."""
    named = [word for word in re.findall(r"`([^`]+)`", text) if FILE.fullmatch(word)]
    return {word: next((ROOT / place / word for place in PLACES if (ROOT / place / word).is_file()), None) for word in named}


def test_the_table_was_found():
    assert len(rows()) > 25


@pytest.mark.parametrize(("decision", "where"), rows(), ids=lambda text: text[:40])
def test_a_decision_is_where_the_table_says(decision: str, where: str):
    named = files(where)
    assert named and all(named.values()), [word for word, path in named.items() if path is None]
    text = "\n".join(path.read_text(encoding="utf-8") for path in named.values() if path is not None)
    words = [word for word in re.findall(r"`([^`]+)`", where) if not FILE.fullmatch(word)]
    assert all(re.search(rf"\b{word.rpartition('.')[2]}\b", text) or _in_module(word) for word in words), words


@pytest.mark.parametrize(("event", "where"), rows("One impact, one stick–slip: where to read"), ids=lambda text: text[:40])
def test_an_event_is_where_the_page_says(event: str, where: str):
    test_a_decision_is_where_the_table_says(event, where)


def _in_module(word: str) -> bool:
    """Whether module.name is a function, class or table of a module of that name."""
    module, _, name = word.rpartition(".")
    found = list((ROOT / "src" / "appell").rglob(f"{module}.py")) if module else []
    return any(re.search(rf"^(?:def |class )?{name}\b", path.read_text(encoding="utf-8"), re.MULTILINE) for path in found)


def test_every_file_that_the_page_names_is_there():
    assert not [word for word, path in files(PAGE).items() if path is None and "/" in word]
