"""Values that no request should contain, of every kind that was seen and some that were not."""

from __future__ import annotations

import datetime
import math
import pathlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from tests.hostile.tripwire import CODE

import appell as ap


class OddFloat:
    """Claims to be a number, and is none."""

    def __init__(self, answer: Any):
        self.answer = answer

    def __float__(self) -> Any:
        if isinstance(self.answer, type):
            raise self.answer("odd")
        return self.answer


class OddArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("odd")


class OddSequence:
    """Has a length and no entries."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, k: int) -> Any:
        raise RuntimeError("odd")


class OddIterable:
    def __iter__(self) -> Any:
        raise RuntimeError("odd")


class OddText:
    def __repr__(self) -> str:
        raise RuntimeError("odd")

    __str__ = __repr__


class OddSympy:
    def _sympy_(self) -> Any:
        return CODE


class Fresh:
    """A value that a call uses up: each call gets one of its own."""

    def __init__(self, make: Callable[[], Any]):
        self.make = make

    def __call__(self) -> Any:
        return self.make()


def deep(n: int) -> Any:
    value: Any = 1.0
    for _ in range(n):
        value = [value]
    return value


t = ap.t
x, y = ap.coordinates("x y")
other = ap.coordinates("other")
m = ap.parameters("m", positive=True)

TEXTS: tuple[Any, ...] = (
    CODE,
    (CODE,),
    [CODE],
    {CODE},
    {CODE: 1},
    {x: CODE},
    np.str_(CODE),
    np.array([CODE]),
    np.array([CODE], dtype=object),
    (1, CODE, 2),
    CODE.encode(),
    [[CODE] * 3] * 3,
    frozenset([CODE]),
    bytearray(b"1"),
    (m, CODE, 0),
    [m, [CODE]],
    {"x": CODE},
    {m: CODE},
    "",
    "1.0",
    "nan",
    "x",
    "y",
    "m",
    "x.d",
    "lambda",
    "a b",
    "q1:99999999",
    "é",
    "\0",
    "../x",
    "x" * 100_000,
    "a:z0:9:9:9:9",
)

NUMBERS: tuple[Any, ...] = (
    None,
    True,
    False,
    np.True_,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    0,
    0.0,
    -1,
    0.5,
    10**400,
    -(10**400),
    10**12,
    2**63,
    Fraction(1, 3),
    Fraction(10**500, 3),
    Decimal("NaN"),
    Decimal("1e400"),
    Decimal("0.1"),
    1j,
    complex(math.nan, 1),
    np.complex128(2j),
    np.float32(1.5),
    np.float16(2),
    np.uint8(3),
    np.int64(-2),
    np.longdouble(1.25),
    np.float64(math.nan),
    10**5000,
    -0.0,
    3,
    1e-300,
)

TIMES: tuple[Any, ...] = (
    datetime.timedelta(seconds=1),
    datetime.datetime(2020, 1, 1),
    np.timedelta64(5, "s"),
    np.datetime64("NaT"),
    np.array([1, 2], dtype="timedelta64[s]"),
)

ARRAYS: tuple[Any, ...] = (
    np.zeros(0),
    np.zeros(1),
    np.zeros(3),
    np.zeros((2, 2)),
    np.zeros((2, 2, 2)),
    np.full(3, math.nan),
    [[1, 2], [3]],
    [],
    (),
    {},
    set(),
    range(3),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    np.zeros(2, dtype=[("a", "f8")]),
    np.array(None),
    np.array(2.0),
    np.broadcast_to(1.0, (10**12,)),
    np.array([1j, 2]),
    np.array([True, False]),
    np.arange(3, dtype=object),
    np.zeros(3, "f4"),
    [1.0, None],
    (1.0, 2.0),
    [1, 2, 3],
    [0, 0, 0],
    [1e308] * 3,
    deep(60),
    {"a": 1},
    {None: None},
    {1: 2},
    {x: None},
    {x: [1, 2]},
    np.ma.masked,
)

SYMBOLS: tuple[Any, ...] = (
    sympy.Symbol("w"),
    sympy.Symbol(CODE),
    sympy.nan,
    sympy.zoo,
    sympy.oo,
    sympy.I,
    sympy.Matrix([[1]]),
    sympy.Matrix([1, 2, 3]),
    sympy.eye(3),
    sympy.zeros(0, 3),
    sympy.Tuple(1, 2),
    sympy.true,
    sympy.Function("f")(t),
    sympy.Function(CODE.replace("() + 1", ""))(x),
    sympy.Eq(x, 1),
    sympy.Integer(10) ** 400,
    x,
    other,
    x.d,
    x.dd,
    other.d,
    m,
    t,
    m * x,
    sympy.Derivative(sympy.Function("f")(t), t),
    sympy.MatrixSymbol("A", 2, 2),
    sympy.Piecewise((1, x > 0), (0, True)),
    sympy.Float("1e400"),
    x > 0,
    sympy.sqrt(x),
    1 / x,
    sympy.sign(x.d),
    sympy.Sum(x, (sympy.Symbol("i"), 1, 3)),
    sympy.Integral(x, x),
    sympy.DiracDelta(x),
    sympy.log(-1),
    sympy.pi,
    sympy.Interval(0, 1),
    sympy.S.EmptySet,
    sympy.Lambda(x, x),
    sympy.exp(sympy.Integer(1000)),
    x**400,
    sympy.Rational(1, 3),
)

OBJECTS: tuple[Any, ...] = (
    object(),
    OddFloat(RuntimeError),
    OddFloat(ZeroDivisionError),
    OddFloat("1.0"),
    OddFloat(math.nan),
    OddArray(),
    OddSequence(),
    OddIterable(),
    OddText(),
    OddSympy(),
    lambda *_: None,
    lambda *_: 1 / 0,
    lambda *_: CODE,
    int,
    ap,
    pathlib.Path("nothing"),
    slice(1, 2),
    NotImplemented,
    ...,
    Fresh(lambda: iter([1, 2])),
    Fresh(lambda: (k for k in "ab")),
    print,
    property(),
    memoryview(b"abc"),
    Exception("x"),
    ap.zoo.pendulum,
    pathlib.Path("/proc/none/a.html"),
)

HOSTILE: dict[str, tuple[Any, ...]] = {
    "texts": TEXTS,
    "numbers": NUMBERS,
    "times": TIMES,
    "arrays": ARRAYS,
    "symbols": SYMBOLS,
    "objects": OBJECTS,
}
