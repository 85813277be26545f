"""Sines of inputs taken out of the code of a matrix: the same numbers, whatever the batch, computed one block ahead."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from appell.backends import c_function, compile_c, vm_function
from appell.backends.calls import vectors as lane_module
from appell.backends.lanes.emit import emit_lanes
from appell.backends.lanes.lane_layout import Packed
from appell.backends.lanes.turns import ShiftedAngle, Turned
from appell.graph.fn import Fn, make_fn

N = 20


def matrix() -> Fn:
    """A symmetric matrix of 210 values with sines of inputs, of inputs and constants, and of other things."""
    q, p = ca.SX.sym("q", 7), ca.SX.sym("p", 2)
    angles = [q[0], q[1] + 0.3, -0.25 + q[2], q[3] - 0.7, p[1], 0.5 - q[4], q[5] * q[6], q[0] + q[1]]
    terms = [f(angle) for angle in angles for f in (ca.sin, ca.cos)] + [q[5], ca.sin(ca.sin(q[6])), q[0], p[0]]
    row = ca.vertcat(*terms[:N])
    A = row @ row.T + ca.diag(ca.sin(row))
    return make_fn("matrix", {"q": (q, (7,)), "p": (p, (2,))}, {"A": (A, (N, N)), "s": (ca.sin(q), (7,))})


def states(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.uniform(-5, 5, (n, 7)), rng.uniform(-5, 5, (n, 2))


def test_which_sines_are_taken_out():
    turned = Turned(Packed(matrix()))
    named = {(0, 0, 0.0), (0, 1, 0.3), (0, 2, -0.25), (0, 3, -0.7), (1, 0, 0.0), (1, 1, 0.0)}
    alone = {(0, k, 0.0) for k in range(7)}  # s
    assert set(turned.turns) == {ShiftedAngle(*turn) for turn in named | alone}
    assert turned.inputs[-1].size == 2 * len(turned.turns) == 2 * len(set(turned.turns))
    left = [item for item in turned.instructions if item.op in ("sin", "cos")]
    assert len(left) == 2 * 3 + 1 + (N - 3)  # of 0.5 − q, of a product, of a sum; sin sin q; the diagonal but for its inputs


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_the_same_numbers_at_every_batch_size(lanes, dtype, monkeypatch):
    monkeypatch.setattr(lane_module, "BATCH_WORTH_COMPILING", 1)
    monkeypatch.setattr(lane_module, "lanes_here", lambda scalar: lanes * (2 if scalar == "float" else 1))
    fn = matrix()
    assert "turn_by[] = {-0.0" in emit_lanes(fn, lanes)
    call, right = c_function(compile_c([fn]), fn), vm_function(fn)
    tolerance = 1e-13 if dtype is np.float64 else 2e-5
    for n in (1, lanes, 2 * lanes, 2 * lanes + 1, 5 * lanes - 1, lanes**2, 2 * lanes**2 + lanes + 3, 200):
        for found, expected in zip(call.batch(*states(n), dtype=dtype), right.batch(*states(n)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert len(call.batch_function.args[1].built) == 1 and None not in call.batch_function.args[1].built.values()


def test_strange_angles_spoil_no_other_state(monkeypatch):
    monkeypatch.setattr(lane_module, "BATCH_WORTH_COMPILING", 1)
    fn = matrix()
    call, right = c_function(compile_c([fn]), fn), vm_function(fn)
    q, p = states(150)
    q[3, 0], q[64, 1], q[65, 2], q[149, 3], p[77, 1] = 1e9, np.nan, np.inf, -1e300, 3e7
    for found, expected in zip(call.batch(q, p), right.batch(q, p), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    q[:, 0] = -0.0
    assert np.signbit(call.batch(q, p)[1][:, 0]).all()


def test_one_state_for_all(monkeypatch):
    """An input that does not change from state to state is turned once and stays."""
    monkeypatch.setattr(lane_module, "BATCH_WORTH_COMPILING", 1)
    fn = matrix()
    call, right = c_function(compile_c([fn]), fn), vm_function(fn)
    q, p = states(150)
    for given in ((q, p[0]), (q[0], p), (q[0], np.broadcast_to(p[0], (150, 2)))):
        for found, expected in zip(call.batch(*given), right.batch(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
