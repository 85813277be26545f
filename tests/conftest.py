"""Time loops of most tests are compiled quickly: a suite compiles hundreds of systems and runs each for a moment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

AS_USERS_COMPILE = ("parity", "published", "zoo")
"""Folders whose systems are compiled as those of a user are."""

os.environ.setdefault("APPELL_COMPILE", "quick")


@pytest.fixture(autouse=True, scope="module")
def compiled_as_for_users(request: pytest.FixtureRequest):
    """The full optimisation for the folders above."""
    folder = Path(request.path).relative_to(Path(__file__).parent).parts[0]
    with pytest.MonkeyPatch.context() as patch:
        if folder in AS_USERS_COMPILE:
            patch.setenv("APPELL_COMPILE", "full")
        yield
