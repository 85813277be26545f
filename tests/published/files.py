"""Where the published numbers are."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "APPELL_PUBLISHED"
"""Environment variable with the folder of published numbers, where it is not `shared/published` beside the checkout."""


def published(name: str) -> Path | None:
    """A file or folder of the published numbers; None where it is absent."""
    given = os.environ.get(VARIABLE)
    folders = [Path(given)] if given else [up / "shared" / "published" for up in Path(__file__).resolve().parents]
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def absent(name: str) -> str:
    """The reason to skip a test that needs a file which is not there."""
    return f"{name} is neither in shared/published beside the checkout nor in the folder that {VARIABLE} names"
