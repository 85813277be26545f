"""Problems of opty's gallery: short models, and a sample of them solved. `make gallery-optimize` solves all."""

import numpy as np
import pytest
from benchmarks.gallery import LEFT_OUT, trains
from benchmarks.gallery.published import PROBLEMS

import appell as ap

MODEL_LINES = 15


@pytest.mark.parametrize("one", PROBLEMS, ids=lambda one: one.solve.__name__)
def test_models_are_short(one):
    assert 2 < one.lines <= MODEL_LINES


def test_names_and_files():
    assert len({one.name for one in PROBLEMS}) == len(PROBLEMS)
    left = {file for files in LEFT_OUT.values() for file in files}
    assert left.isdisjoint(one.file for one in PROBLEMS)


@pytest.mark.parametrize("name, rel", [("there_and_back", 1e-8), ("betts_pendulum", 1e-6)])
def test_a_sample_is_solved(name, rel):
    one = next(one for one in PROBLEMS if one.solve.__name__ == name)
    plan = one.solve(one.tolerance)
    assert plan.ok and plan.objective == pytest.approx(one.theirs, rel=rel)


def test_bounds_between_nodes_get_meshes_of_their_own():
    """A cart that turns at the end of its rail: nine meshes settle all but the bound between two nodes."""
    plan = next(one for one in PROBLEMS if one.solve.__name__ == "double_pendulum").solve(1e-5)
    assert plan.ok and plan.objective == pytest.approx(2.88984, rel=1e-5)


def test_the_train_without_rows_moves_as_the_one_with_rows():
    lengths, pushed, bent = (
        (1.0, 2.0, 3.0, 4.0),
        {"F": 90.0, "T": 0.4},
        {"a0": 0.3, "d0": 0.5, "d1": 0.2, "a1": -0.3, "a2": 0.4},
    )
    first, second = (
        ap.simulate(model(lengths)[0], bent, 1.0, pushed, times=[0.0, 0.5, 1.0], rtol=1e-10, atol=1e-12)
        for model in (trains.train, trains.drawn_train)
    )
    for name in ("x", "y", *(f"{c}{i}" for c in "ad" for i in range(4))):
        assert np.abs(first[name]).max() > 0.05
        assert first[name] == pytest.approx(second[name], abs=1e-7)
