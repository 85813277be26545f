"""Two tiers, and quick compilation: a suite compiles hundreds of systems and runs each for a moment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

AS_USERS_COMPILE = ("parity", "published", "zoo")
"""Folders whose systems are compiled as those of a user are."""

os.environ.setdefault("APPELL_COMPILE", "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--extended` runs the tests of `extended.txt`, too."""
    parser.addoption("--extended", action="store_true", help="the tests that tests/extended.txt lists, too")


def pytest_configure(config: pytest.Config) -> None:
    """Tells `tests.reference.random_systems.few`, in every worker, how many random systems to draw."""
    if config.getoption("--extended"):
        os.environ["APPELL_TESTS_EXTENDED"] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the extended tier out, unless it is asked for or a test is named by its whole name."""
    if config.getoption("--extended"):
        return
    lines = (Path(__file__).parent / "extended.txt").read_text(encoding="utf-8").splitlines()
    extended = {line for line in lines if line and not line.startswith("#")} - set(config.args)
    left = [item for item in items if item.nodeid in extended]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.nodeid not in extended]


@pytest.fixture(autouse=True, scope="module")
def compiled_as_for_users(request: pytest.FixtureRequest):
    """The full optimisation for the folders above."""
    folder = Path(request.path).relative_to(Path(__file__).parent).parts[0]
    with pytest.MonkeyPatch.context() as patch:
        if folder in AS_USERS_COMPILE:
            patch.setenv("APPELL_COMPILE", "full")
        yield
