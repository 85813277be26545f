"""The 24 single-body joint tests of MSC ADAMS: motion, and force and torque on the ground, at every sample of the files.

The bounds are the `tolerance.abs` of each file: three times the distance of an independent solution of high accuracy from the
digits that ADAMS printed. The runs here are accurate to far less than that, so the bounds measure ADAMS, not us.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.published.adams import FAMILIES, QUANTITIES, Case, load, measured, move
from tests.published.files import absent, published

FOLDER = published("adams")
FILES = sorted(FOLDER.glob("*.json")) if FOLDER else []
COUNT = 24

pytestmark = pytest.mark.skipif(not FILES, reason=absent("adams/*.json"))


def deviation(case: Case, quantity: str, ours: np.ndarray) -> np.ndarray:
    """Largest difference at each sample, (k,); a quaternion and its negative are one attitude."""
    theirs = case.expected[quantity]
    if quantity == "Quat":
        ours = ours * np.sign(np.sum(ours * theirs, axis=1, keepdims=True))
    return np.abs(ours - theirs).max(axis=1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_motion_and_reactions(path: Path):
    case = load(path)
    motion = move(case)
    assert motion.ok, motion.message
    ours = measured(motion)
    worst = {name: deviation(case, name, ours[name]) for name in QUANTITIES}
    beyond = {
        name: f"{error.max():.3g} > {case.bound[name]:.3g} at t = {case.t[error.argmax()]:g}"
        for name, error in worst.items()
        if not error.max() <= case.bound[name]
    }
    assert not beyond
    assert motion.drift.position < 1e-10  # lengths of metres, projected to rounding
    assert np.abs(motion.balance).max() < 1e-8 * max(motion.energy_scale, 1.0)  # J; a body at rest has no scale of its own


def test_every_file_and_family_is_there():
    assert len(FILES) == COUNT
    assert {load(path).family for path in FILES} == set(FAMILIES)
    assert all(len(load(path).t) == 51 for path in FILES)


def test_bounds_are_tight_where_there_is_a_reaction():
    """The comparison bites: turned by sign, every reaction that a file lists would be out of its bound."""
    for case in map(load, FILES):
        for name in ("Rforce", "Rtorque"):
            largest = np.abs(case.expected[name]).max()
            assert largest < 1e-3 or 2 * largest > 100 * case.bound[name], (case.name, name)
