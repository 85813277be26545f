"""A small sample of `make fuzz-contact`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.fuzz import boxes, compare, in_corner, in_wedge, judge, piles

import appell as ap


@pytest.mark.parametrize(
    ("family", "seeds"),
    [
        (lambda rng: in_wedge(rng, corners=3), range(4)),
        (lambda rng: in_corner(rng, corners=3), range(3)),
        (boxes, range(20, 23)),
        (lambda rng: piles(rng, n=2), range(4)),
    ],
    ids=["wedge", "corner", "boxes", "piles"],
)
def test_bodies_fall_and_come_to_rest(family, seeds):
    """They finish, cross no face, gain no energy; reactions push, and at no distance."""
    for seed in seeds:
        case = family(np.random.default_rng(seed))
        judge(case, ap.simulate(case.system, case.start, case.until, case.values))


@pytest.mark.parametrize("seed", [1, 4])
def test_boxes_against_events(seed):
    """The first blows of a box, by an independent event-driven simulation."""
    assert compare(boxes(np.random.default_rng(seed)), until=0.7) < 1e-6
