"""Chains as they are given."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.tree import ChainLink

FIELDS = {"mass": 1.0, "c": [0, 0, -0.25], "J": [0.1, 0.1, 0.01], "r": [0, 0, -0.5], "e": [0, 1, 0]}


def test_a_link_may_be_the_mapping_of_its_fields():
    q = np.array([0.3, -0.2])
    given, made = ap.Chain([FIELDS, FIELDS]), ap.Chain([ChainLink(**FIELDS)] * 2)
    assert np.array_equal(given.mass_matrix(q), made.mass_matrix(q))


@pytest.mark.parametrize(
    ("link", "message"),
    [({"mass": 1.0}, "link 2 .* no c, J"), ({**FIELDS, "q": 1}, "link 2 .* unknown q"), (3, "link 2 .* not 3")],
)
def test_what_is_no_link_is_refused_by_its_number(link, message):
    with pytest.raises(ap.ModelError, match=message):
        ap.Chain([FIELDS, link])
