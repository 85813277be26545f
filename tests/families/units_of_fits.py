"""Fits of one record in other units of length, time and mass, and of start values on constraints, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from tests.families.family import family
from tests.families.units_of_plans import UNITS

import appell as ap


def _reference(model: object, data: np.ndarray, first: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors by SciPy."""
    found = least_squares(lambda p: model(p) - data, first, xtol=1e-14, ftol=1e-14, gtol=1e-14)  # type: ignore[operator]
    covariance = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / (len(data) - len(first))
    return found.x, np.sqrt(np.diag(covariance))


@family(sample=(3,))
def oscillators_in_any_units(seed: int) -> None:
    """Stiffness, damping and the start of an oscillator, with their errors."""
    (L, T, M), rng = UNITS[seed % 6], np.random.default_rng(seed)
    x = ap.coordinates("x")
    m, k, c = ap.parameters("m k c", positive=True)
    system = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: -c * x.d}, name="oscillator")

    def closed(p: np.ndarray) -> np.ndarray:
        w = np.sqrt(p[0] - p[1] ** 2 / 4)
        return p[2] * np.exp(-p[1] * t / 2) * (np.cos(w * t) + p[1] / 2 / w * np.sin(w * t))

    t, true = np.linspace(0, 6, 60), np.array([2.0, 0.2, 1.0]) * rng.uniform(0.8, 1.2, 3)
    data = closed(true) + 0.01 * rng.normal(size=60)
    values, errors = _reference(closed, data, [1.8, 0.3, 0.9])
    units = {k: M / T**2, c: M / T, x: L}
    found = ap.fit(
        system, {"t": t * T, x: data * L}, [k, c, x], start={x: 0.9 * L}, parameters={m: M, k: 1.8 * M / T**2, c: 0.3 * M / T},
        backend="vm",
    )  # fmt: skip
    for i, (s, unit) in enumerate(units.items()):
        assert found.values[s] / unit == pytest.approx(values[i], rel=1e-5)
        assert found.errors[s] / unit == pytest.approx(errors[i], rel=1e-3)


@family(count=12, sample=(0,))
def starts_on_constraints(seed: int) -> None:
    """A pendulum in x and y: the start value that is found is that of the motion, beside an unknown length or without one."""
    rng = np.random.default_rng(seed)
    x, y = ap.coordinates("x y")
    l, g = ap.parameters("l g", positive=True)
    row = ap.Constraint(x**2 + y**2 - l**2, name="rod")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, {}, [row], name="pendulum")
    t, free = np.linspace(0, 3, 60), seed % 2 == 0

    def angles(p: np.ndarray) -> np.ndarray:
        length = p[2] if free else 1.0
        rates = lambda _, z: [z[1], -p[0] / length * np.sin(z[0])]
        first = [np.arcsin(p[1] / length), 0.0]
        return length * np.sin(solve_ivp(rates, (0, 3), first, t_eval=t, rtol=1e-11, atol=1e-12).y[0])

    true = [9.81, float(rng.uniform(0.5, 0.8)), *([1.0] if free else [])]
    data = angles(np.array(true)) + 0.01 * rng.normal(size=60)
    values, errors = _reference(angles, data, true)
    unknown, start = [g, x, *([l] if free else [])], {x: 0.5, y: -np.sqrt(0.75)}
    found = ap.fit(system, {"t": t, x: data}, unknown, start, {l: 1.1 if free else 1.0, g: 9.0}, backend="vm")
    assert found.motion[x][0] == pytest.approx(found.values[x], abs=1e-9)
    for i, s in enumerate(unknown):
        assert found.values[s] == pytest.approx(values[i], rel=1e-4)
        assert found.errors[s] == pytest.approx(errors[i], rel=2e-2)  # SciPy's derivatives are differences


@family(sample=(0, 1))
def noise_as_given(seed: int) -> None:
    """The fall of a body with a stated noise: residuals far above it are a doubt, residuals as large as it are none."""
    (L, T, M), rng = UNITS[seed % 6], np.random.default_rng(seed)
    x, g = ap.coordinates("x"), ap.parameters("g")
    body = ap.System([x], M * x.d**2 / 2, -M * g * x, name="body")
    t, sigma = np.linspace(0.1, 2, 40), 10 ** rng.uniform(-3, -1)
    data = t**2 / 2 + sigma * rng.normal(size=40)
    expected = (data @ t**2 / 2) / (t**2 @ t**2 / 4)
    for share in (1.0, 1e-9 if seed == 0 else 10 ** rng.uniform(-9, -1)):
        noise = share * sigma * L
        found = ap.fit(body, {"t": t * T, x: data * L}, [g], parameters={g: L / T**2}, noise={x: noise}, backend="vm")
        assert found.values[g] / (L / T**2) == pytest.approx(expected, rel=1e-6)
        said = any("times its noise as given" in one for one in found.doubts)
        assert said == (share < 1) and found.ok == (share == 1), found.message
