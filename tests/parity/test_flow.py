"""The right-hand side of a time loop four ways: CasADi's evaluator, scalar C, lanes, and the CUDA text as C++."""

import numpy as np
import pytest
from tests.backends.cuda.cuda_text import call_kernel, on_host

import appell as ap
from appell.backends import backend_named
from appell.backends.calls import vectors
from appell.backends.cuda.cuda_text import kernel_source
from appell.graph import Fn
from appell.normal_form.flow import flow

pytestmark = pytest.mark.compiler
NAMES = ("n_pendulum", "rolling_disc", "heavy_top")


@pytest.mark.parametrize("name", NAMES)
def test_flow(name, tmp_path, monkeypatch):
    """1e-13 of the largest slope, at states near the start of the example (off the constraints, which does not matter here)."""
    monkeypatch.setattr(vectors, "BATCH_WORTH_COMPILING", 1)
    example = getattr(ap.zoo, name)()
    run = ap.compile(example.system, example.parameters, backend="c")
    fn = flow(run.form, run.policies, work=False).rhs
    assert isinstance(fn, Fn)
    rng, count = np.random.default_rng(1), 16
    system = example.system
    near = [float(example.start.get(s, s.start)) for s in (*system.coordinates, *system.velocities)]
    z = np.array(near) + rng.uniform(-0.3, 0.3, (count, len(near)))
    arrays = [rng.uniform(0, 1, count), z, run.p]
    right = [fn(arrays[0][k], z[k], run.p) for k in range(count)]
    call = backend_named("c").load(fn)
    ways = {
        "scalar": [np.array(x) for x in zip(*(call.single(arrays[0][k], z[k], run.p) for k in range(count)), strict=True)],
        "lanes": list(call.batch(*arrays)),
        "cuda": call_kernel(on_host(kernel_source(fn), tmp_path), fn, arrays),
    }
    slopes = np.array([r["zd"] for r in right])
    for way, found in ways.items():
        assert np.abs(found[0] - slopes).max() <= 1e-13 * np.abs(slopes).max(), way
        assert ((found[1] > 0) == np.array([r["margin"] > 0 for r in right])).all(), way
