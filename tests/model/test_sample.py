"""Models that have values in a part of space only are judged there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sympy import acos, log, sqrt

import appell as ap

x, y = ap.coordinates("x y")
T = (x.d**2 + y.d**2) / 2
ELSEWHERE = {
    "half circle": (y + sqrt(1 - (x - 3) ** 2), {x: 3, y: -1, x.d: 0.1}),
    "logarithm": (y - log(x - 5), {x: 6, y: 0}),
    "arc": (y - acos(x - 7), {x: 7, y: np.pi / 2}),
    "root": (y - sqrt(x - 4), {x: 5, y: 1}),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_domain_away_from_zero_is_found(name):
    row, start = ELSEWHERE[name]
    system = ap.System([x, y], T, y, constraints=[row])
    motion = ap.simulate(system, ap.consistent(system, start), 0.2)
    assert motion.status == 0 and motion.drift.position < 1e-9 and np.max(motion.energy_error) < 1e-7


@pytest.mark.parametrize("centre", [40, -60])
def test_a_narrow_domain_is_named_by_a_sample(centre):
    row, start = y + sqrt(1 - (x - centre) ** 2), {x: centre, y: -1, x.d: 0.1}
    unplaced = ap.System([x, y], T, y, constraints=[row])
    with pytest.raises(ap.ModelError, match=r"System\(…, sample=\{x: …"):
        ap.compile(unplaced)
    assert np.max(ap.simulate(unplaced, start, 0.2).energy_error) < 1e-7  # a start says it, too
    system = ap.System([x, y], T, y, constraints=[row], sample={x: centre} if centre > 0 else {"x": centre})
    again = pickle.loads(pickle.dumps(system))
    assert again.sample == system.sample == system.replace(name="other").sample
    assert np.max(ap.simulate(again, start, 0.2).energy_error) < 1e-7


def test_a_sample_is_checked():
    wrong = (({y: 1, "z": 2}, "names z"), ([1, 2], "maps coordinates"), ({x: "a"}, "must be a number"), ({x: np.nan}, "finite"))
    for sample, why in wrong:
        with pytest.raises(ap.ModelError, match=why):
            ap.System([x, y], T, sample=sample)
