"""Positions of values in a TOML text, which `tomllib` does not report."""

from __future__ import annotations

import re
from collections import Counter

HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
KEY = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
KEY_LINE = re.compile(rf"\s*((?:{KEY.pattern})(?:\s*\.\s*(?:{KEY.pattern}))*)\s*=\s*")
TOKEN = re.compile(
    r"""("{3}(?:[^"\\]|\\.|"(?!""))*"{3,5}|'{3}(?:[^']|'(?!''))*'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
    r"""|\#[^\n]*|[^"'\#]+""",
    re.DOTALL,
)
"""A quoted string (the group), a comment, or the text between them."""
DOTS_IN_KEY = 8
"""Largest number of dots in a key, a.b.c: model files have at most two, and the memory of `tomllib` grows with its square."""
Path = tuple[str | int, ...]


def long_key(text: str) -> bool:
    """Whether some key has more dots than `DOTS_IN_KEY`; one pass from the left, up to an unclosed quotation mark."""
    plain, at = [], 0
    while token := TOKEN.match(text, at):
        plain.append("k" if token[1] else "" if token[0].startswith("#") else token[0])
        at = token.end()
    return any(key.count(".") > DOTS_IN_KEY for key in re.split(r"[=,{}\[\]\n]", "".join(plain)))


class TomlPositions:
    """(section, number, key …) → line and column of the value, from 1; line 1 if not found."""

    def __init__(self, text: str):
        self._positions: dict[Path, tuple[int, int]] = {}
        section: Path = ()
        counts: Counter[str] = Counter()
        quoted = ""
        for number, line in enumerate(text.split("\n"), start=1):
            if quoted:
                quoted = "" if quoted in line else quoted
                continue
            if header := HEADER.match(line):
                name = _unquoted(header[2])
                section = (name,)
                if header[1] == "[[":
                    section = (name, counts[name])
                    counts[name] += 1
                self._positions.setdefault(section, (number, 1))
            elif entry := KEY_LINE.match(line):
                keys = [_unquoted(part) for part in KEY.findall(entry[1])]
                value = line[entry.end() :]
                for quotes in ('"""', "'''"):
                    if value.startswith(quotes) and quotes not in value[3:]:
                        quoted = quotes
                opening = 3 if value[:3] in ('"""', "'''") else 1 if value[:1] in "\"'" else 0
                self._positions.setdefault((*section, *keys), (number, entry.end() + opening + 1))

    def contains(self, path: Path) -> bool:
        """Whether the position of a value, or of something in it, is known."""
        return any(known[: len(path)] == path for known in self._positions)

    def of(self, path: Path) -> tuple[int, int]:
        """The position of a value, or of its nearest known container."""
        while path and path not in self._positions:
            path = path[:-1]
        return self._positions.get(path, (1, 1))


def _unquoted(key: str) -> str:
    """A key without the quotation marks around it."""
    key = key.strip()
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'" else key


__all__ = ["TomlPositions", "long_key"]
