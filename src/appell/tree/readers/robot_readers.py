"""The table of robot readers: `Tree.from_urdf` and the like are its rows, `Tree.from_file` chooses one.

A `RobotReader` turns a `Document` into a `Robot`. A new reader is a new row of `READERS`, or one call from outside:

    register_reader(RobotReader("arms", read_arms, endings=(".arm",)))
    tree = Tree.from_file("robot.arm")                                     # by its extension, or kind="arms"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from appell.errors import ModelError
from appell.reading import one_of, shown
from appell.tree.readers.document import Document
from appell.tree.readers.mjcf import is_model, read_mjcf
from appell.tree.readers.robot import Robot
from appell.tree.readers.sdf import read_sdf
from appell.tree.readers.urdf import read_urdf

FIRST_ELEMENT_BYTES = 4096
"""Bytes searched for the first element of a file; comments before it are shorter."""


@dataclass(frozen=True, eq=False)
class RobotReader:
    """A reader of one kind of description.

    Parameters
    ----------
    name: what `Tree.from_file(…, kind=…)` takes.
    read: (document, **options) → `Robot`; raises `ModelError` with the name of an element that it cannot read.
    endings: its file extensions, ".urdf".
    element: the first element of its files if they are XML.
    takes: whether a source is an object that it reads directly (`document.native`), such as another library's model.
    """

    name: str
    read: Callable[..., Robot]
    endings: tuple[str, ...] = ()
    element: str = ""
    takes: Callable[[Any], bool] = lambda source: False


READERS: dict[str, RobotReader] = {
    "urdf": RobotReader("urdf", read_urdf, (".urdf",), "robot"),
    "mjcf": RobotReader("mjcf", read_mjcf, (".mjcf",), "mujoco", takes=is_model),
    "sdf": RobotReader("sdf", read_sdf, (".sdf", ".world"), "sdf"),
}


def register_reader(reader: RobotReader) -> RobotReader:
    """Registers a reader for `Tree.from_file` by its name, file extensions and first element."""
    if not isinstance(reader, RobotReader):
        raise ModelError(f"register_reader takes an ap.tree.RobotReader, not {shown(reader)}")
    if not (isinstance(reader.name, str) and reader.name) or not callable(reader.read):
        raise ModelError(f"a reader of robots has a name and a function read(document, …), not {shown(reader)}")
    if READERS.get(reader.name) is reader:
        return reader
    for registered in READERS.values():
        conflicts = [ending for ending in reader.endings if ending in registered.endings]
        conflicts += [f"<{reader.element}>"] if reader.element and reader.element == registered.element else []
        conflicts += [f"kind '{reader.name}'"] if reader.name == registered.name else []
        if conflicts:
            raise ModelError(f"the reader '{registered.name}' reads {conflicts[0]} already; choose another one")
    READERS[reader.name] = reader
    return reader


def reader_of(document: Document, kind: str | None) -> RobotReader:
    """The named reader, or the one for the file extension or the first element."""
    if kind is not None:
        return READERS[one_of(kind, READERS, "there is no reader of robots ")]
    ending = document.path.suffix.lower() if document.path is not None else ""
    element = first_element(document.data)
    for reader in READERS.values():
        if (element and reader.element == element) or (not element and ending in reader.endings):
            return reader
    for reader in READERS.values():
        if ending in reader.endings:
            return reader
    known = ", ".join(f"{reader.name} ({' '.join([*reader.endings, *([f'<{reader.element}>'] if reader.element else [])])})"
                      for reader in READERS.values())  # fmt: skip
    content = f"<{element}>" if element else f"'{ending}'" if ending else "text"
    raise ModelError(f"{document.where}: no reader of robots knows {content}; there are {known}; say kind=")


def first_element(data: bytes) -> str:
    """The name of the first element of an XML text, "" if there is none near the beginning."""
    match = re.search(rb"<([A-Za-z_][\w.:-]*)", re.sub(rb"<!--.*?-->", b"", data[:FIRST_ELEMENT_BYTES], flags=re.DOTALL))
    return match[1].decode("ascii", "replace") if match else ""


def read_robot(source: Any, kind: str | None, caller: str, **options: Any) -> tuple[Robot, Document]:
    """The robot in a path, a text or an open file, and the document it was read from."""
    taking = [reader for reader in READERS.values() if kind in (None, reader.name) and reader.takes(source)]
    document = Document(b"", "the model", native=source) if taking else Document.of(source, caller)
    reader = taking[0] if taking else reader_of(document, kind)
    robot = reader.read(document, **options)
    if not isinstance(robot, Robot):
        raise ModelError(f"{caller}: the reader gives {shown(robot)}, not an ap.tree.Robot")
    return robot, document


__all__ = ["READERS", "RobotReader", "read_robot", "reader_of", "register_reader"]
