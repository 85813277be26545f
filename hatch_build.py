"""The README as a package index shows it.

An index shows pictures only from a web address: it drops relative paths and `data:` addresses. The address of the files of a
release is known only when it is made, so a build takes it from the environment:

    APPELL_FILES=https://example.org/appell/v0.2.0 python -m build

Pictures and links of the README then lead there. Otherwise each picture becomes a line that says what it shows and where it is
in the source archive, and each link to a file becomes the file's name: the page has no broken picture and no dead link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def for_index(text: str, files: str = "") -> str:
    """The README for an index; `files` is the web address of the folder in which the README lies, or empty."""
    if files:
        address = files.rstrip("/")
        text = PICTURE.sub(lambda m: f"![{m[1]}]({address}/{m[2]})", text)
        return LINK.sub(lambda m: f"[{m[1]}]({address}/{m[2]})", text)
    text = PICTURE.sub(lambda m: f"*Picture `{m[2]}` in the source archive: {m[1]}.*", text)
    return LINK.sub(lambda m: f"`{m[2]}`" if m[1] in m[2] else f"{m[1]} (`{m[2]}`)", text)


class IndexReadme(MetadataHookInterface):
    """Puts the README into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, os.environ.get("APPELL_FILES", ""))}
