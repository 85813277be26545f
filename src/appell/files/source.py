"""A model file as data: its values, each with its position."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from appell.errors import AppellError, FileError, ModelError, NotationError
from appell.files.included import Including
from appell.files.keys import ASSUMPTIONS
from appell.files.toml_positions import DOTS_IN_KEY, TomlPositions, long_key
from appell.files.written import read_expression
from appell.jets import Jet
from appell.model.multiplier import Multiplier
from appell.model.units import SECOND, Dimensions, derived, quantity, times, unit_text
from appell.reading import finite, missing, out_of_range, shown
from appell.spelling import did_you_mean

MODEL_FILE_BYTES = 5_000_000
"""Largest size of a model file, bytes."""
MOST_LETTERS = 1_000
"""Coordinates, quaternions, speeds or states: a system of a thousand takes a few seconds to build."""
KEY_CHARACTERS = 60
"""Characters of a key shown in a message."""
MOST_ENTRIES = 10_000
"""Names in one list, entries in one table, tables of one kind: at 0.1 ms each, they take a second."""
MODEL_FORMAT = 1
"""Version of the model file format."""
Keys = tuple[str | int, ...]


def text_in(path: Path) -> str:
    """The text of a model file."""
    try:
        if not path.exists():
            raise missing(path)
        if not path.is_file():
            raise FileError(f"{shown(path.name)} is not a file")
        if path.stat().st_size > MODEL_FILE_BYTES:
            raise FileError(f"{shown(path.name)} has {path.stat().st_size} bytes; a model file has {MODEL_FILE_BYTES} at most")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{shown(path.name)} is not UTF-8 text") from None
    except ValueError as error:  # pragma: no cover - a null character in a name, which other versions of Python refuse
        raise FileError(f"{shown(str(path))} is not a path: {error}") from None
    except OSError as error:
        if isinstance(error, AppellError):
            raise
        raise FileError(f"{shown(path.name)} cannot be read: {error.strerror or error}") from None


def _float(text: str) -> float:
    """A TOML number; infinities and NaN raise where they are used, with their position."""
    value = float(text)
    if value == 0 and (reason := out_of_range(text, value)):
        raise ModelError(f"{text[:60]} {reason}")
    return value


class PlacedError(NotationError):
    """An error whose line and column are those of the file."""


class Source:
    """The tables of a file, the symbols declared so far, and errors with line and column."""

    def __init__(self, text: str, folder: Path | None, name: str):
        self.folder, self.name = folder, name
        self.files_read: list[tuple[str, TomlPositions, dict[str, int]]] = []  # included files in order, the file itself last
        parsed = self._parsed(text, name)
        self.data = self._joined(parsed)
        self._add_file(name, text, parsed)
        self.names: dict[str, Any] = {}
        self.units: dict[str, Dimensions] = {}
        self.labels: set[str] = set()
        self.quaternions: list[Any] = []

    def _parsed(self, text: str, name: str) -> dict[str, Any]:
        try:
            if len(text) > MODEL_FILE_BYTES:
                raise ModelError(f"{name}: {len(text)} characters; a model file has {MODEL_FILE_BYTES} at most")
            if long_key(text):
                raise ModelError(f"{name} is not a model file: a key with more than {DOTS_IN_KEY} dots")
            return tomllib.loads(text, parse_float=_float)
        except AppellError:
            raise
        except tomllib.TOMLDecodeError as error:
            raise ModelError(f"{name} is not valid TOML: {error}") from None
        except (RecursionError, ValueError) as error:
            raise ModelError(f"{name} is not readable TOML: {str(error)[:100] or 'nested too deeply'}") from None

    def _joined(self, parsed_file: dict[str, Any]) -> dict[str, Any]:
        """The file merged with those it includes."""

        def parse(path: Path) -> dict[str, Any]:
            text = text_in(path)
            parsed = self._parsed(text, path.name)
            self._add_file(path.name, text, parsed)
            return parsed

        try:
            return Including(self.folder, parse).joined(parsed_file)
        except PlacedError:
            raise
        except ModelError as error:
            raise PlacedError(f"include: {error}", 1, 1) from None

    def _add_file(self, name: str, text: str, data: dict[str, Any]) -> None:
        self.files_read.append((name, TomlPositions(text), {key: len(x) for key, x in data.items() if isinstance(x, list)}))

    # -- errors ----------------------------------------------------------------------------------------------------------

    def wrong(self, keys: Keys, what: object, line: int = 1, column: int = 1) -> ModelError:
        """An error at a value, or inside it, in the file or in one that it includes."""
        name, (first, offset) = self._position(keys)
        position = (first + line - 1, offset + column - 1 if line == 1 else column)
        file_prefix = "" if name == self.name else f"{name}: "
        short = lambda key: key if len(key) <= KEY_CHARACTERS else f"{key[:KEY_CHARACTERS]}…"
        path = ".".join(short(key) for key in keys if isinstance(key, str))
        return PlacedError(f"{file_prefix}{path + ': ' if path else ''}{what}", *position)

    def _position(self, keys: Keys) -> tuple[str, tuple[int, int]]:
        """The file and position of a value."""
        if len(keys) > 1 and isinstance(keys[1], int):
            index = keys[1]
            for name, places, counts in self.files_read:
                if index < (count := counts.get(str(keys[0]), 0)):
                    return name, places.of((keys[0], index, *keys[2:]))
                index -= count
        for name, places, _ in reversed(self.files_read):
            if places.contains(keys[:2]):
                return name, places.of(keys)
        return self.files_read[-1][0], self.files_read[-1][1].of(keys)

    def checked(self, keys: Keys, act: Callable[[], Any]) -> Any:
        """The result of `act`; model errors get the position of the value."""
        try:
            return act()
        except PlacedError:
            raise
        except NotationError as error:
            raise self.wrong(keys, error.what, error.line, error.column) from None
        except FileError:
            raise
        except AppellError as error:
            raise self.wrong(keys, error) from None

    # -- values ----------------------------------------------------------------------------------------------------------

    def keys(self, table: Any, known: set[str] | None, where: Keys) -> dict[str, Any]:
        """A table; `known`: allowed keys, None for any."""
        if not isinstance(table, dict):
            raise self.wrong(where, f"a table is wanted, not {shown(table)}")
        for key in table:
            if known is not None and key not in known:
                hint = did_you_mean(key, known) or f"; it has {', '.join(sorted(known))}"
                raise self.wrong((*where, key), f"unknown key {shown(key)}{hint}")
        return table

    def tables(self, section: str, known: Iterable[str] | None) -> list[tuple[Keys, dict[str, Any]]]:
        """The tables of a section in double brackets, each with its position; `known`: allowed keys, None for any."""
        entries = self.data.get(section, [])
        if not isinstance(entries, list):
            raise self.wrong((section,), f"[[{section}]] in double brackets, one for each")
        self._refuse_many((section,), entries)
        allowed = None if known is None else set(known)
        return [((section, i), self.keys(table, allowed, (section, i))) for i, table in enumerate(entries)]

    def expression(self, value: Any, keys: Keys, multipliers: bool = False) -> Any:
        """An expression, or a number."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.wrong(keys, f"an expression is wanted, not {shown(value)}")
        if not isinstance(value, str):
            return value
        reads = self._multiplier(keys) if multipliers else None
        return self.checked(keys, lambda: read_expression(value, self.names, reads))

    def _multiplier(self, keys: Keys) -> Callable[[str], Any]:
        def multiplier(name: str) -> Any:
            if name not in self.labels:
                raise ModelError(f"no constraint is called '{name}'{did_you_mean(name, self.labels)}")
            return Multiplier(name)

        return multiplier

    def expressions(self, value: Any, keys: Keys) -> Any:
        """Nested lists of expressions, as vectors and matrices are written."""
        if isinstance(value, list):
            return [self.expressions(entry, keys) for entry in value]
        return self.expression(value, keys)

    def number(self, value: Any, keys: Keys, wanted: Dimensions | None = None) -> float:
        """A number in SI: plain, or text with a unit, which must match `wanted` if that is known."""
        number, unit = self.dimensional(value, keys)
        if unit is not None and wanted is not None and unit != wanted:
            raise self.wrong(keys, f"{shown(value)} has {unit_text(unit)} and should have {unit_text(wanted)}")
        return number

    def of_state(self, value: Any, key: str, keys: Keys) -> float:
        """A number for a symbol, x or x'; its unit must match that of the symbol, or defines it if there is none."""
        symbol = self.state(key, keys)
        stated = derived(symbol, self.units)
        number, unit = self.dimensional(value, keys)
        if unit is not None and stated is None:
            letter, dots = (symbol.letter, symbol.order) if isinstance(symbol, Jet) else (symbol.name, 0)
            self.units[letter] = times(unit, SECOND, Fraction(dots))
        elif unit is not None and unit != stated:
            raise self.wrong(keys, f"{shown(value)} has {unit_text(unit)} and {key} has {unit_text(stated or ())}")
        return number

    def dimensional(self, value: Any, keys: Keys) -> tuple[float, Dimensions | None]:
        """(number in SI, dimensions, None where no unit is written)."""
        if isinstance(value, str):
            return self.checked(keys, lambda: quantity(value))
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(keys, f"a number is wanted, or a text such as '9.81 m/s^2', not {shown(value)}")
        return self.checked(keys, lambda: finite(value, "the value")), None

    def listed(self, key: str) -> list[str]:
        """A list of names, written as a list or as one text."""
        names = self.data.get(key, [])
        names = names.split() if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.wrong((key,), f"a list of names is wanted, not {shown(names)}")
        self._refuse_many((key,), names, MOST_ENTRIES if key == "order" else MOST_LETTERS)
        return names

    def _refuse_many(self, keys: Keys, entries: Any, most: int = MOST_ENTRIES) -> None:
        if len(entries) > most:
            raise self.wrong(keys, f"{len(entries)} entries; {most} are read at most")

    def section(self, name: str) -> dict[str, Any]:
        """A section, empty if the file has none."""
        table = self.data.get(name, {})
        if not isinstance(table, dict):
            raise self.wrong((name,), f"[{name}] is a table")
        self._refuse_many((name,), table)
        return table

    def state(self, key: str, where: Keys) -> Any:
        """A coordinate, velocity, state or quasi-velocity by its text, x or x'."""
        bare = key.rstrip("'")
        if bare not in self.names:
            raise self.wrong(where, f"unknown name {shown(key)}{did_you_mean(bare, self.names)}")
        symbol, dots = self.names[bare], len(key) - len(bare)
        if dots > 2 or (dots and not isinstance(symbol, Jet)):
            raise self.wrong(where, f"{shown(key)} is no velocity: dots belong to coordinates, two at most")
        return (symbol, getattr(symbol, "d", None), getattr(symbol, "dd", None))[dots]

    def text(self, key: str, otherwise: str) -> str:
        """A text of the file."""
        value = self.data.get(key, otherwise)
        if not isinstance(value, str):
            raise self.wrong((key,), f"a text is wanted, not {shown(value)}")
        return value


__all__ = ["ASSUMPTIONS", "MODEL_FILE_BYTES", "MODEL_FORMAT", "Keys", "Source", "text_in"]
