"""Requests that cannot be meant: refused at once, by the name of the argument, in a short message; tables of motions."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from tests.families.family import family
from tests.hostile.values import OddFloat

import appell as ap
from appell.errors import AppellError, ModelError

x, y = ap.coordinates("x y")
k, m = ap.parameters("k m", positive=True)
SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")
VALUES = {k: 4.0, m: 1.0}

NO_NUMBERS: tuple[Any, ...] = (
    "1.0", b"1", True, 1j, np.complex128(2), np.timedelta64(1, "s"), datetime.timedelta(1), np.datetime64("2020"), None,
    [1.0, 2.0], 10**400, Decimal("1e400"), Fraction(10**500, 3), OddFloat(RuntimeError), OddFloat("1"),
    OddFloat(ZeroDivisionError), float("nan"), object(), sympy.nan, sympy.I, np.array([True]),
)  # fmt: skip


@family(count=len(NO_NUMBERS), sample=(0,))
def what_is_no_number_is_refused_everywhere(seed: int) -> None:
    """As a start, a parameter, an end and a tolerance: refused by the name of the argument."""
    value, quick = NO_NUMBERS[seed], {"backend": "vm"}
    asked: dict[str, Callable[[], Any]] = {
        "start value of x": lambda: ap.simulate(SPRING, {x: value}, 1.0, VALUES, **quick),
        "parameter 'k'": lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, {**VALUES, k: value}, **quick),
        "until=": lambda: ap.simulate(SPRING, {x: 1.0}, value, VALUES, **quick),
        "rtol=": lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, VALUES, rtol=value, **quick),
    }
    for name, ask in asked.items():
        with pytest.raises(ModelError, match=name) as caught:
            ask()
        assert len(str(caught.value)) < 1000


ENDLESS, MILLION = np.broadcast_to(1.0, (10**12,)), np.ones(10**6)
SIZES: tuple[Callable[[], Any], ...] = (
    lambda: ap.coordinates("q1:99999999"),  # the one that was seen
    lambda: ap.parameters("a:z0:9:9:9"), lambda: ap.speeds("u0:10000000000"),
    lambda: ap.simulate_many(SPRING, {x: ENDLESS}, 1.0, VALUES, step=0.1),
    lambda: ap.simulate_many(SPRING, {x: 1.0}, 1.0, {**VALUES, k: ENDLESS}, step=0.1),
    lambda: ap.simulate_many(SPRING, {x: MILLION, x.d: MILLION}, 1.0, VALUES, product=True, step=0.1),
    lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, VALUES, times=ENDLESS), lambda: ap.outer({"x": MILLION}, {"y": MILLION}),
    lambda: ap.basin(SPRING, {"x": MILLION, "x.d": MILLION}, {}, VALUES, period=1.0),
    lambda: ap.bifurcation_diagram(SPRING, {"k": ENDLESS}, {x: 1.0}, {m: 1.0}, period=1.0),
    lambda: ap.RigidBody(1, ENDLESS, [x], 0), lambda: ap.tree.place(ENDLESS),
    lambda: ap.simulate_many(SPRING, {x: 1.0}, ENDLESS, VALUES, step=0.1),
)  # fmt: skip


@family(count=len(SIZES), sample=(0,))
def sizes_beyond_memory_are_refused_with_the_size(seed: int) -> None:
    """Names by the million, 10¹² runs, arrays that `np.broadcast_to` made of nothing."""
    with pytest.raises(ModelError, match=r"\d{7,}|\d+ × \d+|stands for|GiB"):
        SIZES[seed]()


LONG: tuple[Callable[[], Any], ...] = (
    lambda: ap.simulate(SPRING, {x: np.zeros(10**5)}, 1.0, VALUES),  # the one that was seen: an array in a message
    lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, {k: np.zeros(10**5), m: 1.0}),
    lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, VALUES, rtol=np.zeros(10**5)),
    lambda: ap.simulate(SPRING, {"x" * 10**6: 1.0}, 1.0, VALUES), lambda: ap.System([x], "x" * 10**6),
    lambda: ap.System([x], x.d**2 / 2, {i: i for i in range(10**5)}), lambda: ap.coordinates(["x" * 10**6, 7]),
    lambda: ap.Constraint([x] * 10**5), lambda: ap.Particle(list(range(10**5)), [x]), lambda: SPRING.replace(kinetic=[m] * 999),
    lambda: ap.simulate(SPRING, {x: 1.0}, 1.0, VALUES, method="m" * 10**6), lambda: ap.load("n" * 10**6 + ".nc"),
    lambda: ap.tree.Inertia.at_centre(np.zeros(10**5), (0, 0, 0), np.eye(3)),
)  # fmt: skip


@family(count=len(LONG), sample=(0,))
def values_in_messages_are_short(seed: int) -> None:
    """An array, a text or a table of a million entries is named in the error, not printed: a line or three, where any message
    is cut at 3,000 characters."""
    with pytest.raises(AppellError) as caught:
        LONG[seed]()
    assert len(str(caught.value)) < 500, len(str(caught.value))


def bouncing(seed: int) -> Any:
    """A motion with impacts: one or two coordinates, one or two walls, lanes of none."""
    e, until = 0.9 - 0.05 * (seed % 4), 1.0 + 0.3 * (seed % 3)
    walls = [ap.Unilateral(y, "floor", restitution=e), *([ap.Unilateral(2 - x, "wall", restitution=e)] if seed % 2 else [])]
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, 9.81 * m * y, {x: -0.1 * x.d * (seed % 5)}, walls, name="ball")
    return ap.simulate(system, {y: 0.1 + 0.02 * seed, x.d: 3.0}, until, {m: 1.0 + seed}, backend="vm", rtol=1e-6)


@family(sample=(0,))
def a_table_has_one_row_a_sample(seed: int) -> None:
    """Whatever happens in between: samples are not multiplied by impacts."""
    motion = bouncing(seed)
    assert len(motion.impacts) > 1
    with tempfile.TemporaryDirectory() as folder:
        path = motion.to_csv(Path(folder) / "m.csv")
        names = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        assert table.shape == (len(motion.t), len(names))
        for name in ("x", "y"):
            assert np.array_equal(table[:, names.index(name)], motion[name]) and np.array_equal(table[:, 0], motion.t)
        loaded = ap.load(motion.save(Path(folder) / "m.nc"))
        assert loaded.to_csv(Path(folder) / "n.csv").read_bytes() == path.read_bytes()
