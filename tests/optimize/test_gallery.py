"""Problems of opty's gallery: short models, and a sample of them solved. `make gallery-optimize` solves all."""

import pytest
from benchmarks.gallery import LEFT_OUT
from benchmarks.gallery.published import PROBLEMS

MODEL_LINES = 15


@pytest.mark.parametrize("one", PROBLEMS, ids=lambda one: one.solve.__name__)
def test_models_are_short(one):
    assert 2 < one.lines <= MODEL_LINES


def test_names_and_files():
    assert len({one.name for one in PROBLEMS}) == len(PROBLEMS)
    assert not {one.file for one in PROBLEMS} & {file for files in LEFT_OUT.values() for file in files}


@pytest.mark.parametrize("name, rel", [("there_and_back", 1e-8), ("betts_pendulum", 1e-6)])
def test_a_sample_is_solved(name, rel):
    one = next(one for one in PROBLEMS if one.solve.__name__ == name)
    plan = one.solve(one.tolerance)
    assert plan.ok and plan.objective == pytest.approx(one.theirs, rel=rel)
