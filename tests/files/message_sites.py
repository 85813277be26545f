"""Where the readers of files and the command raise: each place in the source, and those that an error came from."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2] / "src" / "appell"
FILES = [
    *sorted((ROOT / "files").glob("*.py")),
    *(ROOT / "report" / name for name in ("command.py", "model_commands.py")),
    *(ROOT / "model" / name for name in ("units.py", "dimension_check.py")),
]
NOT_RUN = "pragma: no cover"
"""In the line of what cannot happen, as far as is known."""


class Site(NamedTuple):
    """A statement `raise …`, by its file and its lines."""

    file: str
    first: int
    last: int


def message_sites() -> list[Site]:
    """Every place where something is refused; errors that are passed on are none."""
    return [site for path in FILES for site in _in(path)]


def _in(path: Path) -> list[Site]:
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or "SystemExit" in ast.dump(node.exc):
            continue
        if not any(NOT_RUN in line for line in lines[node.lineno - 2 : node.lineno]):
            found.append(Site(str(path), node.lineno, node.end_lineno or node.lineno))
    return found


def raised_at(error: BaseException | None) -> set[tuple[str, int]]:
    """(file, line) of an error and of those that it was made of."""
    found = set()
    while error is not None:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if place is not None:
            found.add((place.tb_frame.f_code.co_filename, place.tb_lineno))
        error = error.__context__
    return found
