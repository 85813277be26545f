"""A kind of reduction from outside: one call, and it runs in lanes and one by one."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.reductions.kinds import KINDS

x = ap.coordinates("x")
k = ap.parameters("k", positive=True)
SPRING = ap.System([x], x.d**2 / 2, k * x**2 / 2, name="spring")


@pytest.fixture
def rms():
    yield ap.reduce.register("rms", lambda e: [ap.reduce.mean(e**2)], np.sqrt)
    del KINDS["rms"]


@pytest.fixture
def swing():
    parts = lambda e: [ap.reduce.max(e), ap.reduce.min(e)]
    yield ap.reduce.register("swing", parts, lambda top, low: top - low, units="m")
    del KINDS["swing"]


@pytest.mark.compiler
def test_it_runs_on_every_path(rms, swing):
    stiff = np.array([1.0, 4.0, 9.0])
    keep = {"force": rms(k * x), "width": swing(x), "end": ap.reduce.final(x)}
    for backend in ("auto", "vm"):
        found = ap.simulate_many(SPRING, {x: 2.0}, 2 * np.pi, {k: stiff}, keep=keep, backend=backend)
        np.testing.assert_allclose(found["force"], 2 * stiff / np.sqrt(2), rtol=1e-7)  # whole periods
        np.testing.assert_allclose(found["width"], 4.0, rtol=1e-8)
        assert found["width"].attrs["units"] == "m" and found["force"].attrs["long_name"] == "rms of k*x"


def test_what_is_refused(rms):
    with pytest.raises(ModelError, match="'rms' already"):
        ap.reduce.register("rms", lambda e: [ap.reduce.mean(e)], np.sqrt)
    with pytest.raises(ModelError, match="takes an expression"):
        rms("x")
    odd = ap.reduce.register("odd", lambda e: [e], np.sqrt)
    try:
        with pytest.raises(ModelError, match="parts of the reduction 'odd' must be reductions"):
            ap.simulate_many(SPRING, {x: 1.0}, 1.0, {k: 1.0}, keep={"a": odd(x)})
    finally:
        del KINDS["odd"]
