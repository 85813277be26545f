"""vm = C: the same instruction stream gives the same numbers, whoever evaluates it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import scipy.special

from appell.backends import c_function, compile_c, declarations, vm_function
from appell.backends.compiler.build import build
from appell.backends.text.c_source import module
from appell.backends.text.dialect import C_OPERATIONS
from appell.graph.fn import make_fn
from appell.graph.instructions import ARITY

GRID = np.array([0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -2.5, 7.25, 1e-310, 1e300, np.inf, -np.inf, np.nan])


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance in units in the last place; 0 for equal values, NaN against NaN, or equal infinities."""
    with np.errstate(all="ignore"):
        distance = np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isnan(distance), np.inf, distance))


def test_every_operation_is_written():
    assert set(C_OPERATIONS) == set(ARITY)


def test_every_scalar_operation_of_casadi_is_known():
    """Whatever SX accepts as unary or binary, except printing, must be in our table."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    seen = set()
    for code in {getattr(ca, name) for name in dir(ca) if name.startswith("OP_")} - {ca.OP_PRINTME}:
        for build_op in (lambda code=code: ca.SX.unary(code, x), lambda code=code: ca.SX.binary(code, x, y)):
            try:
                function = ca.Function("f", [x, y], [build_op()])
            except (RuntimeError, NotImplementedError):
                continue
            seen |= {function.instruction_id(k) for k in range(function.n_instructions())}
    known = {getattr(ca, f"OP_{op.upper()}") for op in ARITY} | {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_ASSIGN}
    assert ca.OP_HYPOT in seen and ca.OP_ERFINV in seen
    assert seen - known - {ca.OP_LIFT} == set()


def test_single_operations(one_operation):
    """On a grid with zeros, subnormals, infinities and NaN; 2 ulp leave room for another version of libm."""
    fns = [one_operation(op) for op in ARITY]
    x, y = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
    library = compile_c(fns, optimise="exact")
    for op, fn in zip(ARITY, fns, strict=True):
        assert op in {item.op for item in fn.instructions}
        expected, found = vm_function(fn).batch(x, y)[0], c_function(library, fn).batch(x, y)[0]
        if op == "erfinv":  # CasADi's own is good to 1e-5 only for x < 0, hence an independent judge
            expected = scipy.special.erfinv(x)
        assert np.max(ulps(expected, found)) <= (8 if op == "erfinv" else 2), op


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_of_rounded_operations_agree_to_the_bit(random_fn, states, seed):
    fn = random_fn(seed, 400)
    expected = vm_function(fn).batch(states)
    found = c_function(compile_c([fn], optimise="exact"), fn).batch(states)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.unique(expected[0][np.isfinite(expected[0])]).size > 1000


def test_contraction_stays_within_the_rounding_of_positive_sums():
    """√(ab + c) of positive numbers passes on at most the larger relative error it is given, plus 1.5 roundings."""
    rng = np.random.default_rng(0)
    x = ca.SX.sym("x", 8)
    pool = ca.vertsplit(x)
    for _ in range(60):
        a, b, c = (pool[k] for k in rng.integers(len(pool), size=3))
        pool.append(ca.sqrt(a * b + c))
    fn = make_fn("positive", {"x": x}, {"y": ca.vertcat(*pool[8:])})
    states = rng.uniform(0.5, 1.5, (50, 8))
    expected, found = vm_function(fn).batch(states)[0], c_function(compile_c([fn]), fn).batch(states)[0]
    np.testing.assert_allclose(found, expected, rtol=fn.operations * np.finfo(float).eps)


def test_nan_stays_nan_under_the_default_flags():
    """-ffast-math would fold x·0 to 0 and x ≠ x to false."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    fn = make_fn("nan_test", {"x": x, "y": y}, {"product": x * y, "difference": x - y, "unequal": x != y})
    call = c_function(compile_c([fn]), fn)
    product, difference, unequal = call(np.inf, 0.0)
    assert np.isnan(product) and difference == np.inf and unequal == 1.0
    assert np.isnan(call(np.inf, np.inf)[1]) and call(np.nan, np.nan)[2] == 1.0


@pytest.mark.parametrize("piece", [1, 7, 64])
def test_pieces_give_the_same_bits_as_the_whole(random_fn, states, piece):
    fn = random_fn(3, 500)
    whole = build(module([fn], piece=10**9), declarations([fn]), optimise="exact")
    parts = build(module([fn], piece=piece), declarations([fn]), optimise="exact")
    assert whole.path != parts.path
    for a, b in zip(c_function(whole, fn).batch(states), c_function(parts, fn).batch(states), strict=True):
        np.testing.assert_array_equal(a, b)
