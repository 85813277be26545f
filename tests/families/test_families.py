"""One member of each family; `make families` runs all of them."""

from __future__ import annotations

import pytest
from tests.families.family import FAMILIES, load_families

load_families()


@pytest.mark.parametrize(("name", "seed"), [(one.name, one.sample[0]) for one in FAMILIES.values()])
def test_family(name: str, seed: int) -> None:
    FAMILIES[name].check(seed)


def test_a_family_has_ten_members_that_were_not_seen() -> None:
    assert all(one.count >= 11 and set(one.sample) < set(range(one.count)) for one in FAMILIES.values())
