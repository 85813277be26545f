"""A state that is not finite gives NaN or an error, whatever the equations do with it."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos

import appell as ap

x, y = ap.coordinates("x y")
T = (x.d**2 + y.d**2) / 2
SYSTEMS = {
    "free": ap.System([x, y], T),
    "potential": ap.System([x, y], T, cos(x)),
    "row": ap.System([x, y], T, y, constraints=[y - 1]),
    "redundant": ap.System([x, y], T, y, constraints=[x + y, 2 * x + 2 * y]),
    "servo": ap.System([x, y], T, y, constraints=[ap.Constraint(x - y, reaction={x: 1})]),
    "least": ap.System([x, y], T, y, constraints=[x.dd**2 + y.dd**2 - 1]),
    "wall": ap.System([x, y], T, y, constraints=[ap.Unilateral(y, "floor")]),
}
PLACES = [*((part, i) for part in ("q", "v") for i in (0, 1)), ("t", None)]


def states(place: tuple[str, int | None], value: float):
    t, q, v = np.zeros(3), np.ones((3, 2)), np.zeros((3, 2))
    part, i = place
    if part == "t":
        t[1] = value
    else:
        {"q": q, "v": v}[part][1, i] = value
    return t, q, v


def finite(answer) -> bool:
    return all(np.isfinite(part).all() for part in answer)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations(name, value):
    system = SYSTEMS[name]
    run = ap.compile(system, backend="vm")
    equations = ap.forms.lagrange(system)
    for place in PLACES:
        t, q, v = states(place, value)
        one = (t[1], q[1], v[1])
        asked = [(run.acceleration, one), (run.acceleration, (t[1], list(q[1]), list(v[1]))), (run.acceleration, (t, q, v))]
        for call, state in (*asked, (equations.acceleration, one)):
            try:
                assert not finite(call(*state))
            except ap.AppellError:
                continue


@pytest.mark.parametrize("value", [np.nan, np.inf, "1 m", None, 1j])
def test_starts_and_times(value):
    system = SYSTEMS["row"]
    good = {x: 0.3, y: 1}
    for start in ({**good, x: value}, {**good, x.d: value}):
        for call in (ap.consistent, ap.equilibrium, ap.diagnose, lambda s, at: ap.simulate(s, at, 1.0)):
            with pytest.raises(ap.ModelError):
                call(system, start)
    for call in (
        lambda: ap.simulate(system, good, value), lambda: ap.simulate(system, good, 1.0, since=value),
        lambda: ap.consistent(system, good, since=value), lambda: ap.diagnose(system, good, since=value),
    ):  # fmt: skip
        with pytest.raises(ap.ModelError):
            call()
