"""Output files: written as a whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from appell.errors import FileError, MissingFile, ModelError
from appell.reading import path_of


def write(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Writes under another name beside `path` and renames; a failure leaves nothing behind."""
    target = path_of(path, "a page")
    if target.is_dir():
        raise ModelError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise MissingFile(f"the folder {target.parent} does not exist; make it first")
    draft = target.with_name(f".{target.stem}-{uuid4().hex[:12]}{target.suffix}")
    try:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(draft, target)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return target


__all__ = ["write"]
