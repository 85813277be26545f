"""Calling: shapes, conversions, batches, threads; the same for both back ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

from appell.backends import Call, c_function, compile_c, vm_function
from appell.errors import ModelError
from appell.graph.fn import Fn, make_fn


def model() -> Fn:
    """y = t A q + s, B = q sᵀ, with an empty input e and an empty output."""
    t, q, s = ca.SX.sym("t"), ca.SX.sym("q", 3), ca.SX.sym("s", 2)
    A, e = ca.SX.sym("A", 2, 3), ca.SX.sym("e", 0)
    outputs = {"y": t * (A @ q) + s, "B": q @ s.T, "none": (ca.SX(0, 2), (0, 2)), "c": t * t, "one": (t, (1,))}
    return make_fn("model", {"t": t, "q": q, "A": A, "s": s, "e": (e, (0,))}, outputs)


def formula(t, q, A, s):
    return t * (A @ q) + s, np.outer(q, s), np.empty((0, 2)), t * t, np.array([t])


FN = model()
RNG = np.random.default_rng(1)
T, Q, A, S = 0.7, RNG.standard_normal(3), RNG.standard_normal((2, 3)), RNG.standard_normal(2)
E = np.empty(0)


@pytest.fixture(scope="module", params=["vm", "c"])
def call(request) -> Call:
    return vm_function(FN) if request.param == "vm" else c_function(compile_c([FN]), FN)


def close(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b) and a.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


def test_one_state(call):
    close(call(T, Q, A, S, E), formula(T, Q, A, S))
    close(call(T, list(Q), A.tolist(), tuple(S), []), formula(T, Q, A, S))
    close(call(np.float64(T), Q.astype(">f8"), np.asfortranarray(A), np.repeat(S, 2)[::2], E), formula(T, Q, A, S))
    integers = formula(2.0, np.array([1, 2, 3]), np.ones((2, 3)), np.array([0, 1]))
    close(call(2, [1, 2, 3], np.ones((2, 3), np.float32), [0, 1], E), integers)


def test_results_are_fresh(call):
    first = call(T, Q, A, S, E)
    kept = [array.copy() for array in first]
    call(T + 1, Q + 1, A + 1, S + 1, E)
    close(first, kept)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((T, Q[:2], A, S, E), "'q'"),
        ((T, 1.0, A, S, E), "'q'"),
        ((T, Q[:1], A, S, E), "'q'"),
        ((T, Q, A.T, S, E), "'A'"),
        ((T, Q, A[0], S, E), "'A'"),
        ((T, Q, A, S + 1j, E), "'s'"),
        ((T, Q, A, S, [1.0]), "'e'"),
        (("one", Q, A, S, E), "'t'"),
        ((Q, Q, A, S, E), "'t'"),
        ((T, Q, A, S), "takes 5 arrays"),
    ],
)
def test_wrong_arguments_are_named_and_do_no_harm(call, arguments, name):
    """No broadcasting of a scalar to a vector, no dropped imaginary part; and the next call is right."""
    with pytest.raises(ModelError, match=name):
        call(*arguments)
    close(call(T, Q, A, S, E), formula(T, Q, A, S))


def test_batches_match_single_calls_for_every_memory_layout(call):
    t, q = RNG.standard_normal(5), RNG.standard_normal((5, 3))
    layouts = [
        (t, q),
        (t[::-1], np.asfortranarray(q)),
        (t, RNG.standard_normal((10, 6))[::2, 1:4]),
        (np.broadcast_to(0.3, 5), RNG.standard_normal((5, 6))[:, ::2]),
    ]
    for ts, qs in layouts:
        found = call.batch(ts, qs, A, S, E)
        for k in range(5):
            close([array[k] for array in found], formula(ts[k], qs[k], A, S))


def test_inputs_without_a_batch_axis_are_repeated_and_sizes_must_agree(call):
    close([x[1] for x in call.batch(T, Q, np.stack([A, 2 * A]), S, E)], formula(T, Q, 2 * A, S))
    close([x[1] for x in call.batch(T, Q, A, S, np.empty((2, 0)))], formula(T, Q, A, S))
    assert [x.shape for x in call.batch(np.empty(0), Q, A, S, E)] == [(0, 2), (0, 3, 2), (0, 0, 2), (0,), (0, 1)]
    with pytest.raises(ModelError, match="t: 2, q: 3"):
        call.batch([1.0, 2.0], np.zeros((3, 3)), A, S, E)
    with pytest.raises(ModelError, match="batch axis"):
        call.batch(T, Q, A, S, E)
    with pytest.raises(ModelError, match="'q' has shape"):
        call.batch([1.0, 2.0], np.zeros((2, 4)), A, S, E)


def test_what_does_not_fit_is_told_by_the_shapes_that_do(call):
    with pytest.raises(ModelError, match=r"'q' has shape \(4, 2\), expected \(3,\) or \(batch, 3\)$"):
        call.batch(T, np.ones((4, 2)), A, S, E)
    with pytest.raises(ModelError, match=r"'A' has shape \(3,\), expected \(2, 3\) or \(batch, 2, 3\)$"):
        call.batch(T, np.ones((4, 3)), Q, S, E)
    with pytest.raises(ModelError, match=r"'t' has shape \(4, 1\), expected \(\) or \(batch,\)$"):
        call.batch(np.ones((4, 1)), np.ones((4, 3)), A, S, E)


@pytest.mark.parametrize("place, shape", [(0, r"\(\)"), (1, r"\(3,\)"), (2, r"\(2, 3\)")])
def test_none_is_called_none(call, place, shape):
    for ask, q in ((call, Q), (call.batch, np.ones((4, 3)))):
        arrays = [T, q, A, S, E]
        arrays[place] = None
        with pytest.raises(ModelError, match=f"'{'tqA'[place]}' is None; give an array of shape {shape}"):
            ask(*arrays)


def test_threads_do_not_share_memory(call):
    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            q, s = rng.standard_normal(3), rng.standard_normal(2)
            close(call(T, q, A, s, E), formula(T, q, A, s))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
