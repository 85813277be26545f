"""A sample of each family; `make families` runs all members."""

from __future__ import annotations

import pytest
from tests.families.family import FAMILIES, load_families

load_families()


@pytest.mark.parametrize(("name", "seed"), [(one.name, seed) for one in FAMILIES.values() for seed in one.sample])
def test_family(name: str, seed: int) -> None:
    FAMILIES[name].check(seed)


def test_a_family_has_ten_members_that_were_not_seen() -> None:
    assert all(one.count >= 11 and set(one.sample) < set(range(one.count)) for one in FAMILIES.values())
