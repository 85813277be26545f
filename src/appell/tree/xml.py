"""XML that is only data: no document type, hence no entities, nothing external, nothing that grows."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from appell.errors import ModelError

LARGEST = 64 * 2**20  # bytes; robots are far smaller
DEEPEST = 200  # nested elements


def read_xml(path: Path) -> Element:
    """The root element of the file. A DOCTYPE, where all entity tricks live, is refused."""
    try:
        if path.stat().st_size > LARGEST:
            raise ModelError(f"{path} has over {LARGEST // 2**20} MB, too large for a robot description")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_xml(data, str(path))


def parse_xml(data: bytes, where: str) -> Element:
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def refuse(*_: object) -> NoReturn:
        raise ModelError(
            f"{where}, line {parser.CurrentLineNumber}: a document type or an entity; robot descriptions need neither, "
            "and they can exhaust memory or read other files. Remove the <!DOCTYPE …>"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ModelError(f"{where}, line {parser.CurrentLineNumber}: over {DEEPEST} nested elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:  # LookupError: an encoding that nobody knows
        raise ModelError(f"{where} is not well-formed XML: {error}") from error
    return builder.close()
