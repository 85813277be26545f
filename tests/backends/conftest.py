"""Random functions over a chosen set of operations, and a cache folder of the tests' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from appell.graph.fn import Fn, make_fn
from appell.graph.instructions import ARITY

# Correctly rounded by IEEE 754 (or by their definition), so that every evaluator must give the same bits. Not copysign,
# fmin, fmax: nobody promises the sign of a NaN, or which of 0.0 and -0.0 is the smaller.
ROUNDED = (
    *("neg", "sq", "sqrt", "twice", "inv", "fabs", "sign", "floor", "ceil", "not"),
    *("add", "sub", "mul", "div", "fmod", "remainder"),
    *("lt", "le", "eq", "ne", "and", "or", "if_else_zero"),
)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache") / "appell"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE", str(folder))
        yield folder


def apply(op: str, *args: ca.SX) -> ca.SX:
    code = getattr(ca, f"OP_{op.upper()}")
    return ca.SX.unary(code, args[0]) if ARITY[op] == 1 else ca.SX.binary(code, args[0], args[1])


@pytest.fixture(scope="session")
def one_operation() -> Callable[[str], Fn]:
    """op -> f(x, y) with the single operation `op`."""

    def build(op: str) -> Fn:
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        second = ca.SX(2.5) if op == "constpow" else y
        return make_fn(f"f_{op.replace('_', '')}", {"x": x, "y": y}, {"z": apply(op, x, second)})

    return build


@pytest.fixture(scope="session")
def random_fn() -> Callable[..., Fn]:
    """(seed, count, ops) -> x (8,) ↦ A (count/4, 4), b (): `count` random operations, each of them visible in A."""

    def build(seed: int, count: int, ops: Sequence[str] = ROUNDED) -> Fn:
        rng = np.random.default_rng(seed)
        x = ca.SX.sym("x", 8)
        pool = [*ca.vertsplit(x), ca.SX(0.1), ca.SX(-3.0)]
        for _ in range(count):
            picks = [pool[int(rng.integers(len(pool)))] for _ in range(2)]
            pool.append(apply(str(rng.choice(ops)), *picks))
        A = ca.vertcat(*pool[-count:])
        return make_fn(f"random{seed}", {"x": x}, {"A": (A, (count // 4, 4)), "b": pool[-1]})

    return build


@pytest.fixture(scope="session")
def states() -> np.ndarray:
    """(40, 8): ordinary numbers, and rows salted with zeros, subnormals, infinities and NaN."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((40, 8)) * 10.0 ** rng.integers(-3, 4, (40, 8))
    strange = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 1.0])
    return np.where((rng.random(x.shape) < 0.25) & (np.arange(40) % 2 == 1)[:, None], rng.choice(strange, x.shape), x)
