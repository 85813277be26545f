"""Where the readers of files and the command say that something is wrong: each message as a pattern, from the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2] / "src" / "appell"
FILES = [*sorted((ROOT / "files").glob("*.py")), ROOT / "report" / "command.py", ROOT / "report" / "model_commands.py"]
SAYS = {"ModelError", "FileError", "MissingFile", "NotationError", "PlacedError", "Error", "wrong", "_at", "_error", "append"}
"""Calls whose first text is a message; `append` where findings are gathered."""


class Site(NamedTuple):
    """One place in the source, and what its message looks like."""

    place: str
    pattern: re.Pattern[str]


def message_sites() -> list[Site]:
    """All messages of the readers and the command."""
    return [site for path in FILES for site in _in(path)]


def _in(path: Path) -> list[Site]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in SAYS or (name == "append" and "dimension" not in path.name):
            continue
        text = next((_pattern(arg) for arg in node.args if _pattern(arg)), None)
        if text and not re.fullmatch(r"(\.\*|: )*", text):
            found.append(Site(f"{path.relative_to(ROOT)}:{node.lineno}", re.compile(text, re.DOTALL)))
    return found


def _pattern(node: ast.AST) -> str | None:
    """A text or an f-string as a regular expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".*" for part in node.values)
    return None
