"""A law of impact from outside, by one call."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import appell as ap
from appell.model.impact_laws import LAW_NAMES

E = 0.6
SQUARED = ap.nonsmooth.ImpactLaw("squared", restore=lambda process, e: process.restore_impulse(e**2 * process.P[0]))


@pytest.fixture
def squared():
    ap.nonsmooth.register(SQUARED)
    yield "squared"
    del ap.nonsmooth.IMPACT_LAWS["squared"]
    LAW_NAMES.remove("squared")


def thrown(law: str, e: float, slips: int = 1) -> ap.System:
    """A rod that falls on one end: normal and slip are coupled."""
    x, y, phi = ap.coordinates("x y phi")
    end = (x + sp.sin(phi) / 2, y - sp.cos(phi) / 2)
    floor = ap.Unilateral(end[1], name="floor", restitution=e)
    slip = ap.total_derivative(end[0])
    rubs = [ap.Friction(slip, normal=floor, coefficient=0.3, law=law, name=f"foot {k}") for k in range(slips)]
    kinetic = (x.d**2 + y.d**2) / 2 + phi.d**2 / 24
    return ap.System([x, y, phi], kinetic, 9.81 * y, constraints=[floor, *rubs])


def fallen(system: ap.System) -> ap.Motion:
    x, y, phi = system.coordinates
    return ap.simulate(system, {y: 1.0, phi: 0.4, x.d: 0.7}, 0.6, backend="vm")


def test_a_law_from_outside_is_the_one_that_it_says(squared):
    """Poisson's law with e² in place of e, blow by blow."""
    mine, known = fallen(thrown(squared, E)), fallen(thrown("poisson", E**2))
    assert len(mine.impacts) == len(known.impacts) > 0
    np.testing.assert_allclose([i.impulse for i in mine.impacts], [i.impulse for i in known.impacts], rtol=1e-12)
    np.testing.assert_allclose(mine.v[-1], known.v[-1], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::appell.AppellWarning")
def test_what_a_law_says_nothing_of_stops_the_run(squared):
    motion = fallen(thrown(squared, E, slips=2))
    assert not motion.ok and "law='squared' does not cover an impact" in motion.message


def test_a_model_file_takes_its_name(squared):
    assert squared in ap.files.model_schema()["properties"]["friction"]["items"]["properties"]["law"]["enum"]


def test_names_are_refused_that_are_taken_or_unknown(squared):
    with pytest.raises(ap.ConstraintError, match="there is an impact law 'squared' already"):
        ap.nonsmooth.register(SQUARED)
    with pytest.raises(ap.ConstraintError, match="newton, poisson, stronge, squared"):
        thrown("moreau", E)
    with pytest.raises(ap.ConstraintError, match="covers no impact"):
        ap.nonsmooth.ImpactLaw("empty")
