"""Arguments of `simulate` that cannot be meant are refused by their names, never by what Python stumbles over."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import sin

import appell as ap
from appell.errors import ModelError

x, y = ap.coordinates("x y")
SYSTEM = ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=sin(y))

WRONG = [
    ("times", "abc"), ("times", "0.5"), ("times", ["a", "b"]), ("times", [0.1, None]), ("times", {}), ("times", 1j),
    ("times", [[0.1, 0.2], [0.3]]), ("times", [0.5, np.nan]), ("max_step", "0.1"), ("max_step", [1]), ("max_step", np.nan),
    ("max_steps", "x"), ("max_steps", 0.5), ("step", "a"), ("until", "b"), ("since", None), ("rtol", "1e-9"),
    ("atol", [1e-9, "b"]), ("atol", [1e-9] * 3), ("atol", 1e-300), ("atol", []),
    ("atol", [1e-9, 1e-200] * 2), ("pseudo", "u"), ("pseudo", {"u": "x.d"}), ("pseudo", [1]), ("pseudo", {}),
    ("corner", "zzz"), ("corner", 3), ("method", 3), ("progress", "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_arguments_are_named(name, value):
    said = "pseudo-velocity" if isinstance(value, dict) and value and name == "pseudo" else name
    with pytest.raises(ModelError, match=said):
        ap.simulate(SYSTEM, {x.d: 1.0}, backend="vm", **{name: value})


def test_steps_without_end_may_be_asked_for():
    assert ap.simulate(SYSTEM, {x.d: 1.0}, max_steps=np.inf, times=(0.5, 1), backend="vm").ok
