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
        (piles, range(90, 91)),
    ],
    ids=["wedge", "corner", "boxes", "piles", "pile of three"],
)
def test_bodies_fall_and_come_to_rest(family, seeds):
    """They finish, cross no face, gain no energy; reactions push, and at no distance."""
    for seed in seeds:
        case = family(np.random.default_rng(seed))
        judge(case, ap.simulate(case.system, case.start, case.until, case.values))


@pytest.mark.parametrize(("seed", "until"), [(1, 0.7), (4, 0.7), (0, 1.0), (5, 1.0)])
def test_boxes_against_events(seed, until):
    """Blows of a box, by an independent event-driven simulation. Box 5 falls from an edge onto a face, where two corners
    are hit together; box 0 comes to rest there, on one corner more than its weight needs."""
    assert compare(boxes(np.random.default_rng(seed)), until=until) < 1e-9
