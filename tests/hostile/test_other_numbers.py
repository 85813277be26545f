"""Numbers of other types mean what floats mean, wherever a number is taken: `decimal`, `fractions`, SymPy and NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from tests.hostile.fuzz_api import damaged, paths
from tests.hostile.targets import targets

import appell as ap

TYPES: dict[str, Callable[[Any], Any]] = {
    "Decimal": lambda x: Decimal(str(x)),
    "Fraction": lambda x: Fraction(str(x)),
    "SymPy": lambda x: sympy.Float(x) if isinstance(x, float) else sympy.Integer(x),
    "NumPy": lambda x: np.float64(x) if isinstance(x, float) else np.int64(x),
    "array of no dimension": np.array,
}
ONE_OF = 40
"""One of so many places where a number is taken is tried by a test."""


def _numbers() -> Iterator[tuple[str, str, tuple[Any, ...], Any]]:
    """(target, argument, way to an entry, its value) of all finite numbers in the arguments of public callables."""
    for name, target in targets().items():
        for key, value in target.arguments.items():
            for way in paths(value):
                found = value
                for step in way:
                    found = None if isinstance(step, tuple) or found is None else found[step]
                if isinstance(found, int | float) and not isinstance(found, bool) and np.isfinite(found):
                    yield name, key, way, found


def _called(name: str, key: str, way: tuple[Any, ...], value: Any) -> None:
    target = targets()[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        target.call(**{**target.arguments, key: damaged(target.arguments[key], way, value)})


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("first", range(3))
def test_a_number_of_another_type_raises_no_foreign_error(kind, first):
    for name, key, way, value in list(_numbers())[first::ONE_OF]:
        try:
            _called(name, key, way, TYPES[kind](value))
        except ap.AppellError:
            continue
        except Exception as error:
            pytest.fail(f"{name}({key}{list(way)} = {kind} {value}): {type(error).__name__}: {error}")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("name", "key"),
    [("frequency_response", "tolerance"), ("frequency_response", "rtol"), ("basin", "tolerance"), ("continue_orbit", "to")],
)
def test_tolerances_may_be_of_any_type(kind, name, key):
    _called(name, key, (), TYPES[kind](targets()[name].arguments[key]))


@pytest.mark.parametrize("kind", ["NumPy", "SymPy", "Fraction"])
def test_counts_may_be_of_any_type(kind):
    three = TYPES[kind](3)
    x = ap.coordinates("x")
    assert ap.reduce.section(x, count=three, skip=three) == ap.reduce.section(x, count=3, skip=3)


@pytest.mark.parametrize("seed", range(3))
def test_a_turned_inertia_is_symmetric_up_to_rounding(seed):
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    J = R @ np.diag([1.0, 1.5, 2.0]) @ R.T
    J[0, 1] *= 1 + 4e-16
    assert (J != J.T).any()
    x, y, z = ap.coordinates("x y z")
    body = ap.RigidBody(1, J, [x, y, z], ap.quaternion("b"))
    assert body.inertia == body.inertia.T
    assert np.allclose(np.array(body.inertia.tolist(), dtype=float), J, rtol=1e-14, atol=1e-14)


def test_a_symmetric_inertia_may_be_written_in_two_ways():
    a, b = ap.parameters("a b", positive=True)
    x, y, z = ap.coordinates("x y z")
    for one, other in ((1, 1.0), (a * (a + b), a**2 + a * b)):
        J = ap.RigidBody(1, [[9, one, 0], [other, 9, 0.0], [0, 0, 9]], [x, y, z], ap.quaternion("b")).inertia
        assert J == J.T
    with pytest.raises(ap.ModelError, match="not symmetric"):
        ap.RigidBody(1, [[9, a, 0], [b, 9, 0], [0, 0, 9]], [x, y, z], ap.quaternion("b"))
    with pytest.raises(ap.ModelError, match="not symmetric"):
        ap.RigidBody(1, [[9, 1, 0], [1.001, 9, 0], [0, 0, 9]], [x, y, z], ap.quaternion("b"))
