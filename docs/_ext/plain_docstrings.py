"""Docstrings of this library as reStructuredText: they are written to be read in an editor.

    an indented block          an equation, kept as it stands
    Parameters, Returns, …     a heading underlined by dashes, then `names: text` with indented continuation lines
    everything else            prose, in which only `code` is markup
"""

from __future__ import annotations

import re
from typing import Any

SECTIONS = ("Parameters", "Returns", "Attributes", "Raises")


def prose(line: str) -> str:
    """The line with everything that reStructuredText would take for markup made harmless, outside `code`."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(part if k % 2 else re.sub(r"([\\*|_`<>])", r"\\\1", part) for k, part in enumerate(parts))


def converted(lines: list[str]) -> list[str]:
    """The docstring as reStructuredText."""
    out: list[str] = []
    section, literal = None, False
    for k, line in enumerate(lines):
        after = lines[k + 1] if k + 1 < len(lines) else ""
        if set(line.strip()) == {"-"} and section:
            continue
        if line.strip() in SECTIONS and set(after.strip()) == {"-"}:
            section, literal = line.strip(), False
            out += ["", f"**{section}**", ""]
        elif not line.strip():
            out.append("")
        elif section:
            out.append(item(line, listed=bool(out and out[-1].startswith(("- ", "  ")))))
        elif line.startswith("    "):
            if not literal:
                out += ["", "::", ""]
            literal = True
            out.append(line)
        else:
            if literal:
                out.append("")
            literal = False
            out.append(prose(line))
    return [*out, ""]


def item(line: str, *, listed: bool) -> str:
    """`names: text` as an entry of a list; other lines go on with the entry above them, where there is one."""
    found = re.match(r"([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*|Λ): (.*)", line)
    if found:
        return f"- **{prose(found[1])}** – {prose(found[2])}"
    return ("  " if listed else "") + prose(line.strip())


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = converted(lines)


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
