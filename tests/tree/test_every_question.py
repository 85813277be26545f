"""Every question to a tree on three robots, one state and a batch, against Pinocchio; `make all-robots` asks all robots."""

from __future__ import annotations

import pytest

pytest.importorskip("pinocchio")
robots = pytest.importorskip("tests.tree.all_robots")

FILES = (
    ("ur_description/urdf/ur3_robot.urdf", False),
    ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", False),
    ("double_pendulum_description/urdf/double_pendulum_simple.urdf", True),
)


@pytest.mark.parametrize(("name", "floating"), FILES)
def test_every_answer_is_pinocchios(name: str, floating: bool):
    found = robots.compared(name, floating, "vm")
    assert len(found) > 140
    assert [(question, size) for question, size, allowed in found if not size <= allowed] == []
