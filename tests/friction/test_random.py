"""Random mechanisms: never a gain of energy, never a broken cone, no slip in what sticks, no chatter."""

import pytest
from tests.friction.random_systems import broken, run

import appell as ap


@pytest.mark.parametrize("seed", [2, 7, 40, 59])
def test_nothing_is_broken(seed):
    motion = run(seed, until=3.0)
    assert motion.status is ap.Status.OK and not motion.doubts
    assert broken(motion) == []
