"""The sweep over all robots runs on request: `pytest -m slow tests/tree`."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in config.option.markexpr:
        return
    sweep = [item for item in items if HERE in item.path.parents and item.get_closest_marker("slow")]
    if sweep:
        items[:] = [item for item in items if item not in set(sweep)]
        config.hook.pytest_deselected(items=sweep)
