"""Where a value stands in a TOML text: `tomllib` gives values without their lines."""

from __future__ import annotations

import re
from collections import Counter

HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
ENTRY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=\s*")
Path = tuple[str | int, ...]


class Places:
    """(section, number, key …) → line and column of the value, from 1; what is not found is at line 1."""

    def __init__(self, text: str):
        self._found: dict[Path, tuple[int, int]] = {}
        section: Path = ()
        counts: Counter[str] = Counter()
        quoted = ""
        for number, line in enumerate(text.splitlines(), start=1):
            if quoted:
                quoted = "" if quoted in line else quoted
                continue
            if header := HEADER.match(line):
                name = header[2].strip().strip("\"'")
                section = (name,)
                if header[1] == "[[":
                    section = (name, counts[name])
                    counts[name] += 1
                self._found.setdefault(section, (number, 1))
            elif entry := ENTRY.match(line):
                keys = [
                    part.strip().strip("\"'")
                    for part in re.split(r"\s*\.\s*(?=(?:[^\"']*[\"'][^\"']*[\"'])*[^\"']*$)", entry[1])
                ]
                rest = line[entry.end() :]
                for quotes in ('"""', "'''"):
                    if rest.startswith(quotes) and quotes not in rest[3:]:
                        quoted = quotes
                opening = 3 if rest[:3] in ('"""', "'''") else 1 if rest[:1] in "\"'" else 0
                self._found.setdefault((*section, *keys), (number, entry.end() + opening + 1))

    def knows(self, path: Path) -> bool:
        """Whether a value, or something in it, stands here."""
        return any(one[: len(path)] == path for one in self._found)

    def of(self, path: Path) -> tuple[int, int]:
        """Of a value, or of the nearest thing around it."""
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, (1, 1))


__all__ = ["Places"]
