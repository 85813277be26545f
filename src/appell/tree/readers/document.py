"""The input of a robot reader: the bytes of a file, and its name in messages."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from appell.errors import FileError, ModelError
from appell.reading import missing, shown
from appell.tree.readers.xml import ROBOT_FILE_BYTES


@dataclass(frozen=True, eq=False)
class Document:
    """A robot description before it is read.

    data: its bytes. where: the path, or another name for messages. path: the file; meshes are looked for in its folder; None
    for text. decoded: given as text, so that its bytes are UTF-8 whatever it declares. native: a model already read by another
    library, instead of all these.
    """

    data: bytes
    where: str
    path: Path | None = None
    decoded: bool = False
    native: Any = None

    @staticmethod
    def of(source: Any, caller: str) -> Document:
        """A document from a path, a text (recognized by a <, which no path contains), bytes, or an open file."""
        if isinstance(source, bytes | bytearray):
            return _sized(bytes(source), "the description", None)
        if isinstance(source, str) and "<" in source:
            return _sized(source.encode("utf-8", "replace"), "the description", None, decoded=True)
        if hasattr(source, "read"):
            return _from_open(source, caller)
        if not isinstance(source, str | PathLike):
            raise ModelError(f"{caller} takes the path of a file, an open file or the text of one, not {shown(source)}")
        return _from_path(Path(source))


def _from_path(path: Path) -> Document:
    name = str(path)
    try:
        if not path.is_file():
            raise missing(path)
        with path.open("rb") as file:
            return _sized(file.read(ROBOT_FILE_BYTES + 1), name, path.resolve())
    except FileError as error:
        raise ModelError(str(error)) from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{name[:200]} cannot be read: {reason}") from error


def _from_open(file: Any, caller: str) -> Document:
    """A document from an open file, text or bytes; meshes are looked for in the folder of its name, if it has one."""
    name = getattr(file, "name", None)
    try:
        content = file.read(ROBOT_FILE_BYTES + 1)
    except Exception as error:  # a foreign read() may raise anything
        raise ModelError(f"{caller}: {shown(name or file)} cannot be read: {error}") from error
    if not isinstance(content, str | bytes):
        raise ModelError(f"{caller}: read() of {shown(file)} gives {shown(content)}, neither text nor bytes")
    path = Path(name) if isinstance(name, str) else None
    path = path.resolve() if path is not None and path.is_file() else None
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return _sized(data, str(path or name or "the open file"), path, decoded=isinstance(content, str))


def _sized(data: bytes, where: str, path: Path | None, *, decoded: bool = False) -> Document:
    if len(data) > ROBOT_FILE_BYTES:
        raise ModelError(f"{where} has over {ROBOT_FILE_BYTES // 2**20} MB, too large for a robot description")
    return Document(data, where, path, decoded)


__all__ = ["Document"]
