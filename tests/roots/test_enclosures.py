"""Intervals of random functions contain every sample, in NumPy and in C; those of simple gaps are tight."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from appell.backends.compiler.build import build, reason_against_c
from appell.backends.text.dialect import SCALAR_C
from appell.graph import make_fn
from appell.graph.instructions import ARITY
from appell.roots.enclosure import OPERATIONS, Interval, enclosure
from appell.roots.interval_text import emit_ranges, interval_text

UNARY = [ca.sin, ca.cos, ca.tan, ca.exp, ca.fabs, ca.sqrt, ca.log, ca.floor, ca.sign, ca.atan, ca.tanh, ca.asinh, ca.cosh,
         ca.acos, ca.asin, ca.erf, lambda x: x**2, lambda x: 1 / x, lambda x: x**3, lambda x: x**1.5,
         ca.log1p, ca.expm1]  # fmt: skip
BINARY = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, ca.fmax, ca.fmin, ca.atan2,
          lambda x, y: x**y, lambda x, y: ca.if_else(x < y, x, 2 * y), ca.fmod, ca.hypot, ca.copysign,
          lambda x, y: ca.if_else(ca.logic_and(x < 1, y >= 0), y, x * y)]  # fmt: skip


def random_function(seed: int):
    """y(x) and its rate along x + xd t, of random operations."""
    rng = np.random.default_rng(seed)
    x, xd = ca.SX.sym("x", 3), ca.SX.sym("xd", 3)
    pool = [x[0], x[1], x[2], ca.SX(float(rng.normal()))]
    for _ in range(rng.integers(2, 9)):
        if rng.random() < 0.4:
            pool.append(UNARY[rng.integers(len(UNARY))](pool[rng.integers(len(pool))]))
        else:
            pool.append(BINARY[rng.integers(len(BINARY))](*(pool[k] for k in rng.integers(len(pool), size=2))))
    y = pool[-1] + 0.5 * pool[-2]
    outputs = {"y": (ca.vertcat(y, ca.jtimes(y, x, xd)), (2,))}
    return rng, make_fn("f", {"x": (x, (3,)), "xd": (xd, (3,))}, outputs)


def boxes(rng: np.random.Generator, n: int = 40):
    middle, width = rng.normal(size=(3, n)), 10.0 ** rng.uniform(-6, 0.5, size=(3, n))
    return Interval(middle - width, middle + width)


def contained(fn, rng, x: Interval, xd: Interval, y: Interval) -> None:
    for _ in range(20):
        a, b = (box.lo + rng.random(box.lo.shape) * (box.hi - box.lo) for box in (x, xd))
        for k in range(x.lo.shape[1]):
            value = fn(a[:, k], b[:, k])["y"]
            finite = np.isfinite(value)
            assert (~finite | ~(value < y.lo[:, k]) & ~(value > y.hi[:, k])).all()


@pytest.mark.parametrize("seed", range(25))
def test_random_functions_stay_inside(seed):
    rng, fn = random_function(seed)
    x, xd = boxes(rng), boxes(rng)
    contained(fn, rng, x, xd, enclosure(fn)(x, xd)[0])


def test_every_operation_has_an_interval():
    assert set(ARITY) <= set(OPERATIONS)


@pytest.mark.skipif(reason_against_c() is not None, reason="no C compiler")
def test_c_and_numpy_are_twins():
    fns = [random_function(seed)[1] for seed in range(25)]
    texts = [emit_ranges(fn, f"f{k}") for k, fn in enumerate(fns)]
    call = "case {0}: f{0}((const Interval *) x, (const Interval *) xd, (Interval *) y, (Interval *) j); return;"
    calls = "\n".join(call.format(k) for k in range(len(fns)))
    entry = "void range_of(int k, const double *x, const double *xd, double *y, double *j)"
    text = [SCALAR_C, interval_text(), *texts, entry, "{ switch (k) {", calls, "} }"]
    library = build("\n".join(text), entry + ";")
    for k, fn in enumerate(fns):
        rng = np.random.default_rng(k)
        x, xd = boxes(rng, 10), boxes(rng, 10)
        y, jumps = enclosure(fn)(x, xd)
        for n in range(10):
            given = [np.ascontiguousarray(np.stack([box.lo[:, n], box.hi[:, n]], axis=1)) for box in (x, xd)]
            got, jump = np.zeros((2, 2)), np.zeros((1, 2))
            pointers = [library.ffi.from_buffer("double[]", array) for array in (*given, got, jump)]
            library.lib.range_of(k, *pointers)
            for mine, theirs in ((got, y), (jump, jumps)):
                lo, hi = theirs.lo[:, n], theirs.hi[:, n]
                known = ~np.isnan(mine).any(axis=1) & ~np.isnan(lo + hi)  # inf - inf: no comparison excludes anything
                np.testing.assert_allclose(mine[known, 0], lo[known], rtol=1e-12, atol=1e-13)
                np.testing.assert_allclose(mine[known, 1], hi[known], rtol=1e-12, atol=1e-13)


def test_a_peg_is_tight():
    x, xd = ca.SX.sym("x", 2), ca.SX.sym("xd", 2)
    g = ca.sqrt((x[0] - 3) ** 2 + x[1] ** 2) - 1
    fn = make_fn("peg", {"x": (x, (2,)), "xd": (xd, (2,))}, {"y": (ca.vertcat(g, ca.jtimes(g, x, xd)), (2,))})
    at = lambda lo, hi: Interval(np.array(lo)[:, None], np.array(hi)[:, None])
    y, jumps = enclosure(fn)(at([0.0, 0.0], [1.0, 0.1]), at([1.0, 0.0], [1.0, 0.0]))
    assert 0.99 < y.lo[0, 0] <= 1 and 2 <= y.hi[0, 0] < 2.01 and -1.6 < y.lo[1, 0] < -0.6 and y.hi[1, 0] < 0
    assert jumps.hi[0, 0] == 0


def test_an_undecided_choice_is_the_hull_of_its_sides():
    x = ca.SX.sym("x", 1)
    fn = make_fn("wall", {"x": (x, (1,))}, {"y": (ca.if_else(x < 0, 5 + x, 5 - x), (1,))})
    y, jumps = enclosure(fn)(Interval(np.array([[-0.1]]), np.array([[0.1]])))
    assert y.lo[0, 0] > 4.8 and y.hi[0, 0] < 5.2 and jumps.hi[0, 0] == 1
