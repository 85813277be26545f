"""Errors and intervals of fits from few values, and searches that lead far away."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.optimize import prediction

x, y = ap.coordinates("x y")
F = ap.parameters("F")
push = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: F}, name="push")


def covered(data, trials, **options):
    """How often the true force 1 lies in its 95 % interval."""
    hits = 0
    for seed in range(trials):
        found = ap.fit(push, data(np.random.default_rng(seed)), [F, x, x.d], {x: 0.2, x.d: 0.1}, {F: 1.0}, **options)
        low, high = found.interval(0.95)[F]
        hits += low <= 1.0 <= high
    return hits


def test_four_values_beside_a_long_record_of_something_else():
    """With the freedom of all values 20 of 40 were covered."""
    t, picked = np.linspace(0, 2, 150), [5, 51, 98, 145]

    def data(rng):
        values = np.full(150, np.nan)
        values[picked] = t[picked] ** 2 / 2 + 0.2 + 0.1 * t[picked] + 0.01 * rng.normal(size=4)
        return {"t": t, x: values, y: 0.05 * rng.normal(size=150)}

    assert covered(data, 30) >= 24  # 28.5 expected; fewer than 24 in one of 2,000 trials


def test_a_robust_loss_with_twelve_values():
    """Without Huber's correction 39 of 60 were covered."""
    t = np.linspace(0, 2, 12)
    data = lambda rng: {"t": t, x: t**2 / 2 + 0.2 + 0.1 * t + 0.01 * rng.normal(size=12)}
    assert covered(data, 30, loss="cauchy") >= 23


def test_variations_of_very_long_motions_are_not_computed(monkeypatch):
    """Two values of a damped spring lead to a stiffness of 1e8: variations there took a minute, differences take a second."""
    m, k, c = ap.parameters("m k c", positive=True)
    spring = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: -c * x.d}, name="spring")
    t = np.linspace(0, 6, 100)
    noise = 0.01 * np.random.default_rng(3).normal(size=100)
    data = np.where(np.arange(100) < 3, np.exp(-0.1 * t) * np.cos(2 * t) + noise, np.nan)
    works, computed = [], prediction.variations

    def counted(motion, **options):
        works.append(motion.statistics["evaluations"])
        return computed(motion, **options)

    monkeypatch.setattr(prediction, "variations", counted)
    found = ap.fit(spring, {"t": t, x: data}, [k, c], start={x: 1.0}, parameters={m: 1.0, k: 3.5, c: 0.1})
    assert sum(work > 30 * works[0] for work in works) <= 1  # the one of the assessment
    assert not found.ok and found.residuals[x].shape == (100,)


def test_the_noise_that_is_stated_is_not_estimated():
    """With stated noise and squares the quantile is the normal one; a loss takes the freedom of its residuals."""
    t = np.linspace(0, 2, 12)
    data = {"t": t, x: t**2 / 2 + 0.2 + 0.1 * t + 0.01 * np.random.default_rng(0).normal(size=12)}
    asked = {"unknown": [F, x, x.d], "start": {x: 0.2, x.d: 0.1}, "parameters": {F: 1.0}, "noise": {x: 0.01}}
    found = ap.fit(push, data, **asked)
    low, high = found.interval(0.95)[F]
    assert (high - low) / 2 == pytest.approx(1.959964 * found.errors[F], rel=1e-6)
    robust = ap.fit(push, data, **asked, loss="cauchy")
    low, high = robust.interval(0.95)[F]
    assert (high - low) / 2 > 2.2 * robust.errors[F] and robust.errors[F] >= found.errors[F]


def test_bounds_are_given_once():
    data = {"t": [0.0, 1.0, 2.0, 3.0], x: [0.0, 0.5, 2.0, 4.5]}
    with pytest.raises(ap.ModelError, match="bounds= names F twice"):
        ap.fit(push, data, [F], {}, {F: 1.0}, bounds={F: (0, 2), "F": (0, 3)})


def test_a_coordinate_called_x_d_is_not_the_velocity_of_x():
    other = ap.coordinates("x_d")
    system = ap.System([x, other], (x.d**2 + other.d**2) / 2, 0, {other: F}, name="two")
    t = np.linspace(0, 1, 10)
    found = ap.fit(system, {"t": t, "x_d": t**2}, [F], {}, {F: 1.0})
    assert found.values[F] == pytest.approx(2.0) and found.residuals["x_d"].shape == (10,)
