"""Batches through the extension module: the same numbers, errors and memory as through cffi, and nothing kept."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import casadi as ca
import numpy as np
import pytest
from tests.backends.calls.memory import keeps_nothing

from appell.backends import c_function, compile_c
from appell.backends.calls import batch, crossing
from appell.backends.calls import vectors as lane_module
from appell.errors import ModelError
from appell.graph.fn import Fn, make_fn

pytestmark = pytest.mark.skipif(not crossing._headers(), reason="Python's or NumPy's headers are not installed")
SIZES = (0, 1, 7, 8, 9, 15, 16, 17, 100, 1000)
LEAST = 2 * lane_module.lanes_here("double")


def model() -> Fn:
    """Outputs of several sizes, one of them empty, of a matrix, a vector and a scalar."""
    q, A, t = ca.SX.sym("q", 9), ca.SX.sym("A", 2, 3), ca.SX.sym("t")
    outputs = {"B": ca.sin(q) @ ca.cos(q).T, "y": A @ q[:3] * t, "none": (ca.SX(0, 2), (0, 2)), "c": t * ca.sin(q[0])}
    return make_fn("vectored", {"q": q, "A": A, "t": t}, outputs)


def only() -> Fn:
    """One output."""
    q = ca.SX.sym("q", 9)
    return make_fn("alone", {"q": q}, {"B": ca.sin(q) @ ca.cos(q).T})


def data(n: int, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return tuple(rng.normal(size=(n, *shape)).astype(dtype) for shape in ((9,), (2, 3), ()))


def formula(q, A, t):
    B, y = np.sin(q)[..., :, None] * np.cos(q)[..., None, :], (A @ q[..., :3, None])[..., 0] * t[..., None]
    return B, y, np.empty((len(q), 0, 2)), t * np.sin(q[..., 0])


@pytest.fixture(scope="module")
def opened():
    """A call whose lanes are compiled, for doubles and floats."""
    fn = model()
    call = c_function(compile_c([fn]), fn)
    for dtype in (np.float64, np.float32):
        call.batch(*data(lane_module.BATCH_WORTH_COMPILING, dtype), dtype=dtype)
    return call


def nowhere(*arrays, dtype=None, out=None):
    raise AssertionError("handed on")


def handed(*arrays, dtype=None, out=None):
    return "handed on"


def straight(call, otherwise=nowhere) -> Any:
    """`call.batch` with another way round."""
    return call.crossing(otherwise, batches=True, singles=False)


def close(found, right, tolerance=1e-14):
    assert isinstance(found, tuple)
    for a, b in zip(found, right, strict=True):
        assert type(a) is np.ndarray and a.shape == b.shape and a.flags.c_contiguous and a.flags.writeable
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", SIZES)
def test_every_size(opened, n):
    arrays = data(n)
    close(opened.batch(*arrays), formula(*arrays))
    if n >= LEAST:
        close(straight(opened)(*arrays), formula(*arrays))
        close(straight(opened)(*arrays, dtype=np.float64, out=None), formula(*arrays))
    else:
        assert straight(opened, handed)(*arrays) == "handed on"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits_as_through_cffi(opened, dtype):
    arrays = data(101, dtype)
    found, python = straight(opened)(*arrays, dtype=dtype), opened.batched(*arrays, dtype=dtype)
    room = tuple(np.full_like(x, 7.0) for x in found)
    given = straight(opened)(*arrays, dtype=dtype, out=room)
    assert all(a is b for a, b in zip(given, room, strict=True))
    for a, b, c in zip(found, python, room, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_huge_angles_and_nan_among_others(opened):
    q, A, t = data(60)
    q[3, 2], q[17, 0], q[18], q[59, 1] = 1e22, -3e7, np.nan, np.inf
    with np.errstate(invalid="ignore"):
        right = formula(q, A, t)
    close(straight(opened)(q, A, t), right, 1e-13)
    single = tuple(x.astype(np.float32) for x in (q, A, t))
    assert straight(opened, handed)(*single, dtype=np.float32) == "handed on"  # doubles are needed for them
    close(opened.batch(*single, dtype=np.float32)[1:3], [x.astype(np.float32) for x in right[1:3]], 1e-4)


def strange(q, A, t) -> dict[str, tuple[Any, ...]]:
    wide = np.zeros((len(q), 20))
    wide[:, :9] = q
    return {
        "list": (q.tolist(), A, t),
        "broadcast": (q, A[0], t),
        "gaps": (wide[:, :9], A, t),
        "backwards": (q[::-1], A[::-1], t[::-1]),
        "columns first": (np.asfortranarray(q), A, t),
        "floats": (q.astype(np.float32), A, t),
        "other byte order": (q.astype(">f8"), A, t),
        "subclass": (q.view(np.ma.MaskedArray), A, t),
        "repeated": (np.broadcast_to(q[0], q.shape), A, t),
    }


@pytest.mark.parametrize("kind", strange(*data(1)))
def test_anything_else_goes_the_way_round_to_the_same_numbers(opened, kind):
    arrays = strange(*data(40))[kind]
    assert straight(opened, handed)(*arrays) == "handed on"
    q, A, t = (np.asarray(x, float) for x in arrays)
    close(opened.batch(*arrays), formula(q, np.broadcast_to(A, (40, 2, 3)), t))


def test_errors_are_those_of_the_way_round(opened):
    q, A, t = data(40)
    good = opened.batch(q, A, t)
    before = [x.copy() for x in good]
    fixed = good[0].copy()
    fixed.flags.writeable = False
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((q, A, t[:39]), {}),
        ((q[:, :8].copy(), A, t), {}),
        ((q, A), {}),
        ((q[0], A[0], t[0]), {}),
        ((q, A, t), {"dtype": int}),
        ((q, A, t), {"out": good[0]}),
        ((q, A, t), {"out": good[:2]}),
        ((q, A, t), {"out": (fixed, *good[1:])}),
        ((q, A, t), {"out": (good[0][1:], *good[1:])}),
        ((q, A, t), {"out": (good[0].astype(np.float32), *good[1:])}),
        ((q, A, t), {"out": (good[0].transpose(0, 2, 1), *good[1:])}),
        ((q, A, t), {"out": (*good[:3], t)}),
        ((q, A, t), {"out": good, "dtype": np.float32}),
    ]
    for arrays, named in wrong:
        with pytest.raises(ModelError) as fast:
            opened.batch(*arrays, **named)
        with pytest.raises(ModelError) as slow:
            opened.batched(*arrays, **named)
        assert str(fast.value) == str(slow.value)
    with pytest.raises(TypeError, match="unexpected keyword"):
        opened.batch(q, A, t, into=good)
    for a, b in zip(good, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_results_are_fresh_and_large_ones_begin_with_a_line_of_the_cache(opened):
    fast = straight(opened)
    small, large = fast(*data(20)), fast(*data(1000))
    assert all(x.flags.owndata or not x.size for x in small)
    assert all(x.ctypes.data % batch.CACHE_LINE_BYTES == 0 for x in large)
    assert not any(np.shares_memory(x, y) for k, x in enumerate(large) for y in large[:k])
    copies = [x.copy() for x in large]
    again = fast(*(x + 1 for x in data(1000)))
    assert not any(np.shares_memory(x, y) for x, y in zip(large, again, strict=True) if x.size)
    last = large[-1]
    del large, again
    gc.collect()
    np.testing.assert_array_equal(last, copies[-1])  # the block lives as long as one of its parts


def test_small_batches_do_not_wait_for_a_compiler():
    fn = only()
    call = c_function(compile_c([fn]), fn)
    q = data(LEAST)[0]
    one = call.crossing(lambda q, out=None: "handed on", kept=1, bare=True, batches=True)
    assert one is not None and one(q) == "handed on" and not call.batch_function.args[1].built
    right = np.array([one(x) for x in q])
    call.batch(np.tile(q, (lane_module.BATCH_WORTH_COMPILING, 1)))
    room = np.empty_like(right)
    assert one(q, out=room) is room
    np.testing.assert_allclose(room, right, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(one(q), room)
    assert one(q, out=room[:1]) == one(q, out=(room,)) == one(q[0], out=room[0]) == one(q.tolist()) == "handed on"
    without = call.crossing(lambda q: "handed on", kept=1, bare=True, batches=True)
    assert without is not None
    with pytest.raises(TypeError):
        without(q, out=room)


def test_threads(opened, monkeypatch):
    """Eight at once, with and without the interpreter's lock: each has a room of its own."""
    bound = straight(opened)
    monkeypatch.setattr(crossing, "OPERATIONS_WITHOUT_LOCK", 1)
    free = straight(opened)
    batches = [data(n) for n in (16, 100, 333)]
    right = [opened.batched(*arrays) for arrays in batches]

    def work(seed: int) -> None:
        for k in np.random.default_rng(seed).integers(3, size=100):
            for call in (free, bound):
                for a, b in zip(call(*batches[k]), right[k], strict=True):
                    np.testing.assert_array_equal(a, b)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_many_calls_keep_nothing(opened):
    arrays, fast = data(300), straight(opened)
    far = (np.full_like(arrays[0], 1e9), *arrays[1:])
    single = tuple(x.astype(np.float32) for x in far)
    out = fast(*arrays)
    bad = (out[0][1:], *out[1:])
    patient = straight(opened, handed)

    def everything(count: int) -> None:
        for _ in range(count):
            fast(*arrays)
            fast(*arrays, out=out)
            fast(*far)
            assert patient(*single, dtype=np.float32) == patient(*arrays, out=bad) == "handed on"

    watched = (*arrays, *far, *single, *out, out, bad, np.dtype(np.float64), np.dtype(np.float32))
    keeps_nothing(everything, watched, 500)


def test_memory_of_rooms_is_given_back():
    """Resident memory after many calls, and after many calls of many functions."""
    with open("/proc/self/statm") if sys.platform == "linux" else pytest.skip("resident memory is read from /proc") as statm:
        pages = lambda: (statm.seek(0), int(statm.read().split()[1]))[1]
        fn = only()
        library = compile_c([fn])
        q = data(lane_module.BATCH_WORTH_COMPILING)[0]
        out = np.empty((len(q), 9, 9))

        def everything(count: int) -> None:
            for _ in range(count):
                call = c_function(library, fn)
                for _ in range(20):
                    call.batch(q, out=(out,))

        everything(30)
        gc.collect()
        before = pages()
        everything(60)
        gc.collect()
        assert (pages() - before) * 4096 < 3e6  # a call's room is some 10 kB, an answer 660 kB


@pytest.mark.parametrize("n", SIZES)
def test_without_the_module(monkeypatch, opened, n):
    monkeypatch.setattr(crossing, "_headers", lambda: ())
    fn = model()
    call = c_function(compile_c([fn]), fn)
    assert call.batch == call.batched and call.crossing(handed, kept=1, bare=True, batches=True) is None
    call.batch(*data(lane_module.BATCH_WORTH_COMPILING))
    for a, b in zip(call.batch(*data(n)), opened.batch(*data(n)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "change",
    [{"kept": 0}, {"guarded": True, "kept": 0}, {"inputs": (np.zeros(()),)}, {"vectors": 3}, {"vectors": None}],
)
def test_what_would_not_be_safe_cannot_be_made(opened, change):
    module = crossing._module(crossing._headers(), crossing.environment())
    library = compile_c([only()])
    given = {"address": library.address("alone_batch"), "inputs": ((),), "outputs": ((),), "kept": 1, "bare": False}
    given |= {"guarded": False, "patient": False, "otherwise": nowhere, "owner": library, "vectors": module.Vectors()}
    module.Crossing(**given)
    with pytest.raises((ValueError, TypeError)):
        module.Crossing(**{**given, **change})
    vectors = module.Vectors()
    for wrong in ((0, 64, 8), (1, 0, 8), (1, 64, 0), ("one", 64, 8)):
        with pytest.raises((ValueError, TypeError)):
            vectors.open(False, *wrong, library)
    vectors.open(True, library.address("alone_batch"), 64, 8, library)
    with pytest.raises(ValueError, match="open already"):
        vectors.open(True, library.address("alone_batch"), 64, 8, library)
