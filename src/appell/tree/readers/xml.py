"""XML as pure data: no document type, hence no entities, no external references and no expansion."""

from __future__ import annotations

from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from appell.errors import ModelError

ROBOT_FILE_BYTES = 64 * 2**20  # bytes; robots are far smaller
DEEPEST_ELEMENT = 200  # nested elements


def parse_xml(data: bytes, where: str, encoding: str | None = None) -> Element:
    """The root element. A DOCTYPE raises, because entity attacks need one. encoding: replaces the declared one."""
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(encoding), 0

    def refuse(*_: object) -> NoReturn:
        raise ModelError(
            f"{where}, line {parser.CurrentLineNumber}: a document type or an entity; robot descriptions need neither, "
            "and they can exhaust memory or read other files. Remove the <!DOCTYPE …>"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_ELEMENT:
            raise ModelError(f"{where}, line {parser.CurrentLineNumber}: over {DEEPEST_ELEMENT} nested elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:  # LookupError: an unknown encoding
        raise ModelError(f"{where} is not well-formed XML: {error}") from error
    return builder.close()
