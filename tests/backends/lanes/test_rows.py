"""How rows are written from vectors: covers of constants, squares and mirrored values, batches of every size, `out`."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

from appell.backends import c_function, compile_c, vm_function
from appell.backends.calls import vectors as lane_module
from appell.backends.lanes.lane_layout import Packed, cover, squares_read
from appell.backends.text.instruction_order import depth_first, nearest_first
from appell.errors import ModelError
from appell.graph.fn import Fn, make_fn

SIZES = (1, 7, 8, 9, 17, 100)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Lanes from the first state on, however few states there are."""
    monkeypatch.setattr(lane_module, "BATCH_WORTH_COMPILING", 1)
    monkeypatch.setattr(lane_module.Lanes, "take", _take_all(lane_module.Lanes.take))


def _take_all(take):
    def taken(self, count, dtype):
        take(self, max(count, lane_module.BATCH_WORTH_COMPILING), dtype)
        return self.built[lane_module.SCALARS[dtype]] is not None

    return taken


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_covers_write_every_number_and_constants_only_where_all_are(lanes):
    rng = np.random.default_rng(lanes)
    for size in (*range(1, 4 * lanes), 100, 102, 103):
        for share in (0.0, 0.5, 0.9, 1.0):
            constant = list(np.repeat(rng.random(size) < share, rng.integers(1, 3 * lanes, size))[:size])
            segments = cover(constant, lanes, int(rng.integers(lanes)))
            written = {at + k for at, _ in segments for k in range(lanes)}
            assert written >= set(range(size)) and (size < lanes or max(written) < size)
            assert all(at < after for (at, _), (after, _) in pairwise(segments))
            assert all(all(constant[at : at + lanes]) for at, square in segments if not square)
    assert cover([], lanes) == []


def test_long_runs_of_constants_are_not_transposed():
    zeros = [False] * 12 + [True] * 23
    row = zeros * 6
    for phase in range(8):
        squares = [at for at, square in cover(row, 8, phase) if square]
        assert len(squares) <= 6 * 3 and all(at % 35 < 12 or at % 35 > 27 for at in squares)  # two, where lines begin well
        assert not any(square for _, square in cover([True] * 40, 8, phase))


def test_segments_lie_in_one_line_of_the_cache():
    """Of a row that begins `phase` numbers after a line only the first and the last segment are across two."""
    assert cover([False] * 40, 8) == [(at, True) for at in range(0, 40, 8)]
    for phase in range(1, 8):
        inner = [(at, True) for at in range(8 - phase, 33, 8)]
        ends = [] if (40 + phase) % 8 == 0 else [(32, True)]
        assert cover([False] * 40, 8, phase) == [(0, True), *inner[: -1 if inner[-1] == (32, True) else None], *ends]


def test_only_squares_with_something_used_are_read():
    assert squares_read(range(20), 20, 8) == [0, 8, 12]
    assert squares_read([7, 35], 36, 8) == [7, 28]
    assert squares_read([2], 5, 8) == [0] and squares_read([], 5, 8) == []


def branched() -> Fn:
    """A symmetric matrix (13, 13) of two branches: blocks of zeros between them, a row of constants, −0.0 among them."""
    q, r = ca.SX.sym("q", 13), ca.SX.sym("r", 3)
    A = ca.SX.zeros(13, 13)
    for i in range(13):
        for j in range(i + 1):
            if (i < 6) == (j < 6):
                A[i, j] = A[j, i] = ca.sin(q[i]) * q[j] + r[0] * ca.cos(q[j])
    for j in range(13):
        A[12, j] = A[j, 12] = -0.0 if j % 2 else 2.5
    constants = ca.SX(np.arange(20.0).reshape(4, 5))
    return make_fn("branched", {"q": q, "r": r}, {"A": A, "C": constants, "w": r * q[12], "same": q[:4], "t": r[1] + r[2]})


@pytest.fixture(scope="module")
def calls():
    fn = branched()
    return c_function(compile_c([fn]), fn), vm_function(fn)


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 13)), rng.normal(size=(n, 3))


def agree(found, right, tolerance=1e-14):
    for a, b in zip(found, right, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(np.signbit(a[b == 0]), np.signbit(b[b == 0]))


@pytest.mark.parametrize("n", SIZES)
def test_symmetric_and_constant_blocks_at_every_batch_size(calls, n):
    call, right = calls
    agree(call.batch(*data(n)), right.batch(*data(n)))
    found = call.batch(*data(n), dtype=np.float32)
    assert all(x.dtype == np.float32 for x in found)
    agree(found, right.batch(*data(n)), 1e-5)
    q, r = data(n)
    agree(call.batch(q[::-1], r[0]), right.batch(q[::-1], r[0]))
    agree(call.batch(np.tile(q, 2)[:, 13:], np.broadcast_to(r[0], (n, 3))), right.batch(q, r[0]))


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_vectors_of_every_length(lanes, monkeypatch):
    monkeypatch.setattr(lane_module, "lanes_here", lambda scalar: lanes)
    fn = branched()
    call, right = c_function(compile_c([fn]), fn), vm_function(fn)
    for n in SIZES:
        agree(call.batch(*data(n)), right.batch(*data(n)))
    assert call.batch_function.args[1].built["double"] is not None


def test_values_are_kept_once_and_constants_not_at_all():
    fn = branched()
    packed = Packed(fn)
    assert packed.outputs[0].size == 6 * 7 // 2 + 6 * 7 // 2 + 3 + 4 + 1
    layout = packed.layout(8)
    assert layout.apart == 1 and [len(covers) for covers in layout.outputs] == [1] * 5  # some outputs are short
    assert not any(segment.places for segment in layout.outputs[1][0])
    places = {place for (segments,) in layout.outputs for segment in segments for place in segment.places}
    assert places == set(range(layout.vectors)) and set(layout.constant.values()) <= {0.0, 2.5}


def matrices() -> Fn:
    """As `branched`, outputs of 169 and 20 numbers alone: rows begin anywhere in a line of the cache."""
    fn = branched()
    q, r = ca.SX.sym("q", 13), ca.SX.sym("r", 3)
    A, C, *_ = fn.function(q, r)
    return make_fn("matrices", {"q": q, "r": r}, {"A": (A, (13, 13)), "C": (C, (4, 5))})


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_states_of_one_phase_together(lanes, monkeypatch):
    """Blocks of every `lanes`-th state, results at every place in a line, a tail, states that go another way in between."""
    monkeypatch.setattr(lane_module, "lanes_here", lambda scalar: lanes)
    fn = matrices()
    assert Packed(fn).layout(lanes).apart == lanes
    call, right = c_function(compile_c([fn]), fn), vm_function(fn)
    for n in (lanes**2 - 1, lanes**2, 2 * lanes**2 + 3):
        q, r = data(n)
        q[n // 2, 3], q[n - 1, 0] = 1e9, np.nan
        expected = right.batch(q, r)
        for shift in range(8):
            rooms = [np.full(shift + x.size + 8, 7.0) for x in expected]
            out = tuple(room[shift : shift + x.size].reshape(x.shape) for room, x in zip(rooms, expected, strict=True))
            call.batch(q, r, out=out)
            agree(out, expected)
            assert all((room[:shift] == 7).all() and (room[-8:] == 7).all() for room in rooms)
    assert call.batch_function.args[1].built["double"] is not None


def test_nearest_results_come_first_and_fewer_values_wait():
    """Σ over instructions of the number of values alive, of a chain whose results are asked for from the far end."""
    x = ca.SX.sym("x", 30)
    steps = [x[0]]
    for k in range(1, 30):
        steps.append(steps[-1] * x[k] + ca.sin(steps[-1]))
    fn = make_fn("backwards", {"x": x}, {"y": ca.vertcat(*(a * a + b for a, b in zip(steps[::-1], steps[::-1], strict=True)))})
    stream = fn.instructions
    orders = {"near": nearest_first(stream), "deep": depth_first(stream)}
    assert sorted(orders["near"]) == sorted(orders["deep"])
    assert _waiting(orders["near"]) < 0.5 * _waiting(orders["deep"])
    known: set[int] = set()
    for item in orders["near"]:
        assert known.issuperset(item.args)
        known.add(item.out)


def _waiting(stream) -> int:
    last = {arg: k for k, item in enumerate(stream) for arg in item.args}
    return sum(last[item.out] - k for k, item in enumerate(stream) if item.op not in ("output", "input", "const"))


# --- out --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 40])
def test_results_go_to_given_arrays(calls, n, dtype):
    for call in calls:
        fresh = call.batch(*data(n), dtype=dtype)
        room = tuple(np.full_like(x, 7.0) for x in fresh)
        found = call.batch(*data(n), dtype=dtype, out=room)
        assert all(a is b for a, b in zip(found, room, strict=True))
        for a, b in zip(fresh, room, strict=True):
            np.testing.assert_array_equal(a, b)


def test_states_with_huge_angles_are_right_in_given_arrays_too(calls):
    call, right = calls
    q, r = data(30)
    q[4, 3], q[20, 0] = 1e9, np.nan
    room = tuple(np.full_like(x, 7.0) for x in call.batch(q, r))
    call.batch(q, r, out=room)
    agree(room, right.batch(q, r), 1e-13)


def test_arrays_that_do_not_fit_are_refused(calls):
    q, r = data(12)
    for call in calls:
        good = call.batch(q, r)
        before = [x.copy() for x in good]
        wrong = {
            "for each output .* got 1": good[:1],
            r"'A' has shape \(3, 13, 13\).*expected \(12, 13, 13\)": (good[0][:3], *good[1:]),
            "type float32; expected .* float64": (good[0].astype(np.float32), *good[1:]),
            "'C' is a list": (good[0], good[1].tolist(), *good[2:]),
            "'A' must be writeable and contiguous": (np.empty((12, 13, 26))[:, :, ::2], *good[1:]),
            "'w' lies in the memory of an input": (*good[:2], r, *good[3:]),
        }
        for message, out in wrong.items():
            with pytest.raises(ModelError, match=message):
                call.batch(q, r, out=out)
        fixed = good[0].copy()
        fixed.flags.writeable = False
        with pytest.raises(ModelError, match="writeable"):
            call.batch(q, r, out=(fixed, *good[1:]))
        for a, b in zip(good, before, strict=True):
            np.testing.assert_array_equal(a, b)
