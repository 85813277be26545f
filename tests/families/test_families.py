"""One member of each family; `make families` runs all of them."""

from __future__ import annotations

import pytest
from tests.families.broken.breakage import Breakage, breakages
from tests.families.family import FAMILIES, load_families

load_families()


@pytest.mark.parametrize(("name", "seed"), [(one.name, one.sample[0]) for one in FAMILIES.values()])
def test_family(name: str, seed: int) -> None:
    FAMILIES[name].check(seed)


def test_a_family_has_ten_members_that_were_not_seen() -> None:
    assert all(one.count >= 11 and set(one.sample) < set(range(one.count)) for one in FAMILIES.values())


@pytest.mark.parametrize("one", breakages(), ids=lambda one: one.what)
def test_a_breakage_fits_the_source(one: Breakage) -> None:
    """`make families-can-fail` breaks the code and sees the families notice; here only the places are looked at."""
    assert one.fits, f"{one.file} changed: say anew what is broken"
    assert one.old != one.new
    assert set(one.guards) <= set(FAMILIES)
    assert all(seed < FAMILIES[name].count for name, seeds in one.guards.items() for seed in seeds)


def test_every_family_has_a_breakage() -> None:
    """A family that cannot fail would prove nothing."""
    guarded = {name for one in breakages() for name in one.guards}
    assert set(FAMILIES) == guarded, sorted(set(FAMILIES) ^ guarded)
