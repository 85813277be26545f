"""Model files that include others: `include = ["leg.toml"]` reads those first, only from the folder of the file or below.

Tables are merged, lists are concatenated, and the file's own values override included ones: a variant of a model is its name,
an include, and the numbers that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from appell.errors import ModelError
from appell.reading import shown

MOST_FILES, DEEPEST_INCLUDE = 100, 8
"""Largest number of files in one model, and deepest nesting of includes."""
JOINED_LISTS = ("coordinates", "quaternions", "speeds", "states")


def file_below(folder: Path | None, name: Any, what: str) -> Path:
    """A file named by a model, which must be below the folder of the model."""
    if folder is None:
        raise ModelError(f"a model that is a text has no folder, and so no {what} beside it")
    if not isinstance(name, str):
        raise ModelError(f"a {what} is named by a text, not by {shown(name)}")
    home = folder.resolve()
    try:
        path = (home / name).resolve()
    except (OSError, ValueError, RuntimeError):
        raise ModelError(f"{shown(name)} is not a path") from None
    if not path.is_relative_to(home):
        raise ModelError(f"{shown(name)} is not below the folder of the model file")
    if not path.is_file():
        raise ModelError(f"there is no file {shown(name)} beside the model file")
    return path


class Including:
    """Reads and merges the files that a file includes."""

    def __init__(self, folder: Path | None, parse: Callable[[Path], dict[str, Any]]):
        self.folder, self.parse, self.count = folder, parse, 0

    def joined(self, data: dict[str, Any], trail: tuple[Path, ...] = ()) -> dict[str, Any]:
        """The tables of a file merged with those it includes."""
        names = data.get("include", [])
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list):
            raise ModelError(f"a list of model files is wanted, not {shown(names)}")
        merged: dict[str, Any] = {}
        for name in names:
            path = file_below(self.folder, name, "model file")
            self.count += 1
            if path in trail or len(trail) >= DEEPEST_INCLUDE or self.count > MOST_FILES:
                reason = "includes itself" if path in trail else "goes too deep, or has too many files"
                raise ModelError(f"{shown(name)}: the include {reason}")
            merged = join(merged, self.joined(self.parse(path), (*trail, path)))
        own_tables = {key: value for key, value in data.items() if key != "include"}
        return join(merged, own_tables)


def join(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Two files merged; the second overrides the first."""
    merged = dict(first)
    for key, value in second.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = {**merged[key], **value}
        elif isinstance(value, list) and isinstance(merged.get(key), list) and _grows(key, value):
            merged[key] = [*merged[key], *value]
        else:
            merged[key] = value
    return merged


def _grows(key: str, value: list[Any]) -> bool:
    """Whether entries are appended to those of an included file: names of coordinates, and tables in double brackets."""
    return key in JOINED_LISTS or (bool(value) and all(isinstance(entry, dict) for entry in value))


__all__ = ["Including", "file_below"]
