"""Batches on vectors: the numbers of the scalar code, whatever the batch."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from appell.backends import build, c_function, compile_c, vm_function
from appell.backends.calls import vectors as lane_module
from appell.backends.calls.batch import Batch
from appell.backends.calls.vectors import Lanes, lanes_here
from appell.backends.lanes.emit import emit_lanes, lanes_declarations
from appell.errors import ModelError
from appell.graph.fn import make_fn
from appell.graph.instructions import ARITY

GRID = np.array([0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -2.5, 7.25, 1e-310, 1e300, np.inf, -np.inf, np.nan])


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        distance = np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isnan(distance), np.inf, distance))


@pytest.fixture
def at_once(monkeypatch):
    """Lanes from the first state on."""
    monkeypatch.setattr(lane_module, "BATCH_WORTH_COMPILING", 1)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_every_operation(one_operation, at_once, lanes, monkeypatch):
    monkeypatch.setattr(lane_module, "lanes_here", lambda scalar: lanes)
    x, y = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
    everything = {op: one_operation(op) for op in ARITY}
    exact = compile_c(list(everything.values()), optimise="exact")
    z = {op: c_function(exact, fn).batch(x, y)[0] for op, fn in everything.items()}
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    results = {
        f"z_{op}": ca.SX.unary(code, a) if ARITY[op] == 1 else ca.SX.binary(code, a, ca.SX(2.5) if op == "constpow" else b)
        for op, code in ((op, getattr(ca, f"OP_{op.upper()}")) for op in ARITY)
    }
    fn = make_fn("everything", {"a": a, "b": b}, results)
    call = c_function(compile_c([fn]), fn)
    for (name, found), op in zip(zip(results, call.batch(x, y), strict=True), ARITY, strict=True):
        assert np.max(ulps(found, z[op])) <= 2, name
    assert call.batch_function.args[1].built["double"] is not None


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs_agree_with_the_evaluator(random_fn, states, at_once, seed):
    """Operations of which none is worse than its rounding, strange states included; the same ones go astray."""
    fn = random_fn(seed, 200, ("add", "sub", "mul", "fabs", "sign", "fmin", "fmax", "lt", "ne", "and", "not", "if_else_zero"))
    call = c_function(compile_c([fn], optimise="fast"), fn)
    right, found = vm_function(fn).batch(states)[0], call.batch(states)[0]
    assert (np.isnan(right) == np.isnan(found)).mean() > 0.99  # inf − inf one rounding earlier or later
    ordinary = np.isfinite(states).all(axis=1)
    scale = np.maximum(1.0, np.nanmax(np.abs(np.where(np.isfinite(right), right, 0)), axis=(1, 2), keepdims=True))
    with np.errstate(invalid="ignore"):
        close = np.abs(found - right) <= 1e-12 * scale
    assert close[ordinary & np.isfinite(right).all(axis=(1, 2))].mean() > 0.999


def model():
    q, p, A = ca.SX.sym("q", 5), ca.SX.sym("p", 2), ca.SX.sym("A", 3, 9)
    y = ca.sin(q) * p[0] + ca.cos(q[::-1]) / p[1]
    t = ca.SX.sym("t")
    outputs = {"y": y, "B": A.T @ (A @ ca.repmat(t, 9, 3)), "c": t * ca.sqrt(q[0] ** 2 + 1), "none": (ca.SX(0, 2), (0, 2))}
    return make_fn("model", {"q": q, "p": p, "A": A, "t": t}, outputs)


@pytest.fixture(scope="module")
def compiled():
    fn = model()
    return c_function(compile_c([fn]), fn), vm_function(fn)


def data(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.uniform(1, 2, 2), rng.normal(size=(n, 3, 9)), rng.normal(size=n)


def agree(found, right, tolerance=1e-13):
    for a, b in zip(found, right, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100])
def test_odd_batches(compiled, at_once, n):
    call, right = compiled
    agree(call.batch(*data(n)), right.batch(*data(n)))


def test_views_broadcasts_and_reversed_batches(compiled, at_once):
    call, right = compiled
    q, p, A, t = data(40)
    wide = np.random.default_rng(3).normal(size=(80, 11))
    for arrays in (
        (wide[::2, 3:8], p, A, t),
        (q[::-1], np.tile(p, (40, 1)), A[::-1], t[::-1]),
        (np.broadcast_to(q[0], q.shape), p, A[0], t),
        (q, np.broadcast_to(p, (40, 2)), np.asfortranarray(A), np.broadcast_to(0.3, 40)),
    ):
        agree(call.batch(*arrays), right.batch(*arrays))


def test_nothing_is_written_or_read_beyond_the_batch(compiled, at_once):
    """States of fewer numbers than a vector has lanes are read and written in whole vectors, except the last."""
    call, _ = compiled
    q, p, A, t = data(64)
    lanes = call.batch_function.args[1]
    assert lanes.take(64, np.dtype(float))
    room = [np.full((64 + 4, *port.shape), 7.0) for port in call.fn.outputs]
    for n in range(1, 65):
        for array in room:
            array.fill(7.0)
        library = lanes.built["double"]
        batch = Batch(n, (q, p, A, t), (5, 0, 27, 1))
        source, stride, target = lane_module.pointers(library, batch, tuple(room), "double")
        far = np.full(68, 7, np.uint8)
        memory = np.zeros(library.lib.model_room() + 64, np.uint8)
        memory = memory[-memory.ctypes.data % 64 :]
        library.lib.model_lanes(n, source, stride, target, library.ffi.from_buffer(far), library.ffi.from_buffer(memory))
        assert all((array[n:] == 7.0).all() for array in room) and (far[n:] == 7).all() and not far[:n].any()


def test_huge_angles_are_right_in_their_own_lanes_only(compiled, at_once):
    call, right = compiled
    q, p, A, t = data(50)
    q[3, 2], q[17, 0], q[18] = 1e22, -3e7, np.nan
    agree(call.batch(q, p, A, t), right.batch(q, p, A, t))


def test_single_precision(compiled, at_once):
    call, right = compiled
    arrays = data(37)
    found = call.batch(*(x.astype(np.float32) for x in arrays), dtype=np.float32)
    assert all(x.dtype == np.float32 for x in found)
    agree(found, right.batch(*arrays), 3e-5)
    agree(call.batch(*arrays, dtype="float32"), found, 0.0)
    assert right.batch(*arrays, dtype=np.float32)[0].dtype == np.float32
    with pytest.raises(ModelError, match="float64 or float32, not in int"):
        call.batch(*arrays, dtype=int)


def test_small_batches_do_not_wait_for_a_compiler(compiled):
    fn = model()
    call = c_function(compile_c([fn]), fn)
    lanes = call.batch_function.args[1]
    call.batch(*data(100))
    assert isinstance(lanes, Lanes) and not lanes.built
    call.batch(*data(lane_module.BATCH_WORTH_COMPILING))
    assert lanes.built and not lanes.take(2 * lanes_here("double") - 1, np.dtype(float))
    assert lanes.take(2 * lanes_here("double"), np.dtype(float))
    exact = c_function(compile_c([fn], optimise="exact"), fn)
    assert exact.batch_function.args[1] is None


@pytest.mark.parametrize("piece", [1, 13, 10**6])
def test_pieces_give_the_same_numbers(random_fn, states, piece):
    fn = random_fn(4, 300, ("add", "sub", "mul", "sin", "cos", "fabs"))
    calls = [Lanes(fn, {"double": build(emit_lanes(fn, 4, piece=k), lanes_declarations(fn))}) for k in (piece, 100)]
    batch = Batch(len(states), (states,), (8,))
    (A, b), (A2, b2) = (tuple(np.empty((len(states), *port.shape)) for port in fn.outputs) for _ in calls)
    far, far2 = calls[0](batch, np.dtype(float), (A, b)), calls[1](batch, np.dtype(float), (A2, b2))
    np.testing.assert_array_equal(far, far2)
    good = np.setdiff1d(np.arange(len(states)), far)
    np.testing.assert_allclose(A[good], A2[good], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b[good], b2[good], rtol=1e-9, atol=1e-9)
