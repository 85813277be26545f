"""The inlined sine and cosine: at most 0.8 ulp (double), any argument."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path

import casadi as ca
import mpmath
import numpy as np
import pytest

from appell.backends import c_function, compile_c
from appell.backends.text.sincos import DOUBLE, PACKS, SINGLE
from appell.graph.fn import make_fn

COUNT = 1_000_000
Pair = tuple[np.ndarray, np.ndarray]


@cache
def both(count: int) -> Callable[..., tuple[np.ndarray, ...]]:
    """x (count,) ↦ sin x, cos x, in batches."""
    x = ca.SX.sym("x", count)
    fn = make_fn(f"both{count}", {"x": (x, (count,))}, {"s": (ca.sin(x), (count,)), "c": (ca.cos(x), (count,))})
    return c_function(compile_c([fn]), fn).batch


def in_columns(count: int, x: np.ndarray, dtype=np.float64) -> Pair:
    rows = np.resize(x, (-(-len(x) // count), count))
    s, c = both(count)(rows, dtype=dtype)
    return s.ravel()[: len(x)], c.ravel()[: len(x)]


def in_packs(count: int, x: np.ndarray) -> Pair:
    """By batches too small for vectors over states: the vectors are over the arguments of one evaluation."""
    parts = [in_columns(count, part) for part in np.array_split(x, max(1, len(x) // (1000 * count)))]
    s, c = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return s, c


def arguments() -> np.ndarray:
    rng = np.random.default_rng(0)
    wide = [rng.uniform(-top, top, COUNT // 5) for top in (10, 1e3, 1e5, DOUBLE.limit)]
    return np.concatenate([*wide, rng.choice([-1, 1], COUNT // 5) * 10.0 ** rng.uniform(-300, 1, COUNT // 5)])


def exact(x: np.ndarray) -> Pair:
    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("no long double to judge by")
    return np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))


def worst(found: Pair, right: Pair) -> float:
    """In ulps of the result."""
    return max(
        float(np.max(np.abs(a.astype(np.longdouble) - b) / np.spacing(np.abs(b.astype(a.dtype)))))
        for a, b in zip(found, right, strict=True)
    )


def test_a_million_arguments():
    x = arguments()
    right = exact(x)
    for count in (1, *PACKS):
        assert worst(in_packs(count, x), right) < 0.8
    assert worst(in_columns(1, x), right) < 0.8


@pytest.mark.parametrize("top", [10.0, SINGLE.limit])
def test_single_precision(top):
    x = np.random.default_rng(1).uniform(-top, top, COUNT // 4).astype(np.float32)
    assert worst(in_columns(1, x, np.float32), exact(x)) < 1.0


def test_next_to_multiples_of_a_quarter_turn():
    """x − nπ/2 cancels up to 70 bits there."""
    n = np.unique(np.random.default_rng(2).integers(1, int(DOUBLE.limit / np.pi * 2), 4000))
    with mpmath.workprec(250):
        nearest = np.array([float(int(k) * mpmath.pi / 2) for k in n])
        x = np.concatenate([nearest, -nearest, np.nextafter(nearest, 0), np.nextafter(nearest, np.inf)])
        for s, c in (in_columns(1, x), in_packs(4, x)):
            for y, f in ((s, mpmath.sin), (c, mpmath.cos)):
                exact = [f(mpmath.mpf(v)) for v in x]
                errors = [abs(float((a - e) / float(np.spacing(abs(float(e)))))) for a, e in zip(y, exact, strict=True)]
                assert max(errors) < 0.8


def test_huge_infinite_and_not_a_number_and_zeros():
    x = np.array([0.0, -0.0, 5e-324, -1e-310, np.inf, -np.inf, np.nan, 1e22, -1e300, DOUBLE.limit, 1.7e6, 0.5])
    many = np.tile(x, 200)
    with np.errstate(invalid="ignore"):
        for s, c in ((in_packs(1, x)), in_packs(8, x), in_packs(3, many), in_columns(1, many)):
            np.testing.assert_array_max_ulp(s, np.sin(many[: len(s)]), 1)
            np.testing.assert_array_max_ulp(c, np.cos(many[: len(s)]), 1)
            assert (np.signbit(s[:4]) == [False, True, False, True]).all()


def test_the_polynomials_are_as_good_as_they_say():
    spec = importlib.util.spec_from_file_location("minimax", Path(__file__).with_name("minimax.py"))
    assert spec and spec.loader
    minimax = importlib.util.module_from_spec(spec)
    before = mpmath.mp.prec
    try:
        spec.loader.exec_module(minimax)
        bits = {
            (precision.scalar, f): -float(mpmath.log(minimax.error(coefficients, getattr(minimax, f), weight), 2))
            for precision in (DOUBLE, SINGLE)
            for f, coefficients, weight in (
                ("S", precision.sine, minimax.weight_S),
                ("C", precision.cosine, minimax.weight_C),
            )
        }
    finally:
        mpmath.mp.prec = before
    assert bits["double", "S"] > 57.8 and bits["double", "C"] > 63.9
    assert bits["float", "S"] > 27.8 and bits["float", "C"] > 32.9
