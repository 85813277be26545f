"""Checks of an MJCF file before MuJoCo compiles it.

The compiler reads every named file, follows `<include>`s, repeats bodies and creates textures of any size. Here a file may only
name files in its own folder or below, and may not request more memory than is reasonable: other paths, plugins, document types
and excessive counts raise with their name. Those who trust a file can compile it themselves and pass the `MjModel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from appell.errors import ModelError
from appell.reading import shown
from appell.tree.readers.document import Document
from appell.tree.readers.xml import parse_xml

TRUST = "if you trust the file, compile it yourself: ap.Tree.from_mjcf(mujoco.MjModel.from_xml_path(…))"
FILES = frozenset("file fileright fileleft fileup filedown filefront fileback".split())
FOLDERS = frozenset("meshdir texturedir assetdir".split())
LARGEST_ATTRIBUTES: Mapping[str, float] = {
    "nrow": 1e4, "ncol": 1e4, "width": 8192, "height": 8192 * 6, "count": 1e4, "nuserdata": 1e6,
}  # fmt: skip
"""Attribute → the largest number allowed in it: rows of height fields, pixels of textures, copies of a body."""
INCLUDED = 200
"""Files that one file may include, directly and through others."""
PIXELS = 2**28
"""Pixels of all textures together: a gigabyte."""
RESERVED_BYTES = 2**31
"""Largest memory that a file may ask MuJoCo to reserve, bytes."""
COPIES = 100_000
"""Elements inside `<replicate>`s; nested ones multiply."""


def refuse_unsafe(document: Document) -> None:
    """Raises `ModelError` that names the first unsafe item in the file or in an included one."""
    where = document.where
    root = parse_xml(document.data, where, "utf-8" if document.decoded else None)
    home = None if document.path is None else document.path.parent.resolve()
    if home is not None:
        _with_included(root, where, home, [INCLUDED])
    folders = ["", *(text for element in root.iter() for key, text in element.attrib.items() if key in FOLDERS)]
    for element in root.iter():
        _refuse_element(where, element, home, folders)
    pixels = sum(_number(element, "width") * _number(element, "height") for element in root.iter("texture"))
    if pixels > PIXELS:
        raise ModelError(f"{where}: its textures have {pixels:.3g} pixels, over {PIXELS}; {TRUST}")
    if (copies := _copies(root)) > COPIES:
        raise ModelError(f"{where}: <replicate> makes {copies:.3g} elements, over {COPIES}; {TRUST}")


def _with_included(root: Element, where: str, home: Path, budget: list[int]) -> None:
    """Inserts the contents of included files and attached models where they are named."""
    for element in [element for element in root.iter() if element.tag in ("include", "model") and element.get("file")]:
        budget[0] -= 1
        if budget[0] < 0:
            raise ModelError(f"{where} includes over {INCLUDED} files, or itself; {TRUST}")
        name = element.get("file") or ""
        path = _inside(home / name, home, f"{where}: <{element.tag} file={shown(name)}>")
        if path.is_file():  # MuJoCo reports a missing one
            included = Document.of(path, "from_mjcf")
            tree = parse_xml(included.data, included.where)
            _with_included(tree, included.where, home, budget)
            element.extend(tree)


def _refuse_element(where: str, element: Element, home: Path | None, folders: list[str]) -> None:
    if element.tag in ("plugin", "extension"):
        raise ModelError(f"{where}: <{element.tag}> asks for code of its own; {TRUST}")
    for key, text in element.attrib.items():
        item = f"{where}: <{element.tag} {key}={shown(text)}>"
        if key in FILES or key in FOLDERS:
            if home is None:
                raise ModelError(f"{item} names a file, and a robot that is given as text has no folder; give its path")
            for folder in folders:
                _inside(home / folder / text, home, item)
        elif key in LARGEST_ATTRIBUTES and _product(text) > LARGEST_ATTRIBUTES[key]:
            raise ModelError(f"{item} is over {LARGEST_ATTRIBUTES[key]:g}; {TRUST}")
        elif key == "memory" and _bytes(text) > RESERVED_BYTES:
            raise ModelError(f"{item} reserves over {RESERVED_BYTES // 2**30} GiB, which a tree does not need; {TRUST}")


def _inside(path: Path, home: Path, item: str) -> Path:
    """The path; raises if it leaves the folder of the file by `..`, as an absolute path or through a link."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise ModelError(f"{item} is no name of a file") from None
    if not resolved.is_relative_to(home):
        raise ModelError(f"{item} leads out of the folder of the robot, {home}; put it there, or {TRUST}")
    return resolved


def _copies(element: Element) -> float:
    """The number of elements created by an element and its contents."""
    inside = 1.0 + sum(_copies(child) for child in element)
    return inside * max(1.0, _number(element, "count")) if element.tag == "replicate" else inside


def _bytes(text: str) -> float:
    """The bytes of a size such as "64M"."""
    number, letter = text.strip()[:-1], text.strip()[-1:].upper()
    power = " KMGTPE".find(letter) if letter else -1
    return _product(number) * 1024.0**power if power > 0 else _product(text)


def _number(element: Element, key: str) -> float:
    return _product(element.get(key) or "0")


def _product(text: str) -> float:
    """The product of the numbers in an attribute: counts along three axes. 0 where there is none."""
    product = 1.0
    for word in text.split():
        try:
            product *= max(1.0, abs(float(word)))
        except ValueError:  # MuJoCo reports it
            continue
    return product if text.split() else 0.0
