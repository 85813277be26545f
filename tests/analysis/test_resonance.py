"""`ap.resonance`: (21), existence, stability; averaged regimes against direct simulation as the small parameters vanish."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sympy import sin
from tests.measures import order_of

import appell as ap
from appell import zoo

SMALL = ["h", "epsilon", "Delta"]


@cache
def in_step(k):
    model = zoo.oscillator_with_wall()
    return model, ap.averaged(model.system, SMALL, (k, 1))


@pytest.fixture(scope="module")
def wall():
    return {k: in_step(k)[1] for k in (1, 2)}


def coefficients(k, p):
    a = -4 * k * p["epsilon"] * (-1) ** k / (np.pi * p["Omega"] * (4 * k**2 - 1))
    return a, p["h"] / 2, 4 * k * p["Omega"] * p["Delta"] / np.pi, p["omega"] - 2 * k * p["Omega"]


@pytest.mark.parametrize("seed", range(12))
def test_21_and_existence_at_random_parameters(wall, seed):
    """r₀ = (−cχ ± √(a²(b² + χ²) − b²c²))/(b² + χ²); the upper sign is stable; `existence` says when one is positive."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 3))
    p = {"Omega": rng.uniform(0.5, 2), "h": rng.uniform(0.02, 0.5), "epsilon": rng.uniform(0.01, 0.5)}
    p |= {"Delta": rng.uniform(-0.3, 0.3), "omega": 2 * k * p["Omega"] + rng.uniform(-0.5, 0.5)}
    a, b, c, chi = coefficients(k, p)
    disc = a**2 * (b**2 + chi**2) - b**2 * c**2
    signs = [+1, -1] if disc >= 0 else []
    expected = [(r, s) for s in signs if (r := (-c * chi + s * np.sqrt(disc)) / (b**2 + chi**2)) > 0]
    found = ap.resonance(wall[k], {"omega": [p["omega"]]}, {n: v for n, v in p.items() if n != "omega"})
    there = np.isfinite(found.amplitude[0])
    assert list(found.amplitude[0][there]) == pytest.approx([r for r, _ in expected], rel=1e-10)
    assert list(found.stable[0][there]) == [s > 0 for _, s in expected]
    for r, theta in zip(found.amplitude[0][there], found.phase[0][there], strict=True):
        assert np.cos(theta) == pytest.approx(b / a * r, abs=1e-9)
        assert np.sin(theta) == pytest.approx((chi * r + c) / a, abs=1e-9)
    exists = wall[k].existence.subs({s: p[str(s)] for s in wall[k].system.parameters})
    assert bool(exists) == bool(expected) == found.ok


def test_the_condition_of_the_paper_is_without_pi_squared(wall):
    """On the side c χ < 0 regimes end where ε²/(4k² − 1)² = Ω⁴Δ²h²/(h² + 4χ²)."""
    p = {"Omega": 1.1, "h": 0.3, "Delta": 0.2}
    chi = -0.25
    critical = 3 * p["Omega"] ** 2 * p["Delta"] * p["h"] / np.sqrt(p["h"] ** 2 + 4 * chi**2)
    over = {"epsilon": critical * np.array([0.999, 1.001])}
    found = ap.resonance(wall[1], over, {**p, "omega": 2 * p["Omega"] + chi})
    assert np.isfinite(found.amplitude).any(axis=1).tolist() == [False, True]


def test_characteristic_equation(wall):
    """λ² + 2bλ + b² + χ(χr₀ + c)/r₀ = 0."""
    p = {"Omega": 1.0, "h": 0.1, "epsilon": 0.3, "Delta": 0.05, "omega": 1.9}
    found = ap.resonance(wall[1], {"omega": [1.9]}, {n: v for n, v in p.items() if n != "omega"})
    _, b, c, chi = coefficients(1, p)
    for r, roots in zip(found.amplitude[0], found.eigenvalues[0], strict=True):
        if np.isfinite(r):
            assert np.poly(roots) == pytest.approx([1, 2 * b, b**2 + chi * (chi * r + c) / r])


def test_dataset_and_picture(wall, tmp_path):
    p = {"Omega": 1.0, "h": 0.05, "epsilon": 0.1, "Delta": 0.05}
    found = ap.resonance(wall[1], {"omega": np.linspace(1.6, 2.4, 81)}, p)
    assert found.dataset.amplitude.dims == ("omega", "branch") and "regimes at" in found.message
    below = found.values < 2
    expected = -4 * 0.05 / np.pi / (found.values[below] - 2)  # χ + c/r = 0
    assert found.backbone[below] == pytest.approx(expected, rel=1e-3)
    figure = found.plot()
    figure.savefig(tmp_path / "curve.png")
    styles = {line.get_linestyle() for line in figure.axes[0].lines}
    assert {"-", "--", ":"} <= styles


def settled(scale, k=1):
    """The largest |Δ − s| over the last periods of a simulation, and r₀, with all small parameters in proportion."""
    p = {"Omega": 1.0, "h": 0.6 * scale, "epsilon": 0.9 * scale, "Delta": 0.25 * scale, "omega": 2.0 * k - 0.2 * scale}
    model, slow = in_step(k)
    found = ap.resonance(slow, {"omega": [p["omega"]]}, {n: v for n, v in p.items() if n != "omega"})
    assert found.stable[0, 0]
    r0 = found.amplitude[0, 0]
    start = found.coordinate([0.0, 1e-6], 0)
    s = model.system.coordinates[0]
    until = 2 * np.pi / p["omega"] * round(30 / p["h"])
    t = until - np.linspace(4 * np.pi / p["omega"] * k, 0, 2001)
    motion = ap.simulate(
        model.system, {s: start[0], s.d: (start[1] - start[0]) / 1e-6}, until, parameters=p, times=t, rtol=1e-10, atol=1e-12
    )
    return np.max(p["Delta"] - motion[s]), r0, np.abs(motion[s] - found.coordinate(t, 0)).max()


def test_the_error_is_of_the_first_order():
    """Against direct simulation, amplitude and motion: the error falls with the small parameters."""
    scales = np.array([0.4, 0.2, 0.1, 0.05])
    rows = [settled(scale) for scale in scales]
    errors = np.array([abs(r - r0) / r0 for r, r0, _ in rows])
    motions = np.array([difference / r0 for _, r0, difference in rows])
    for error in (errors, motions):
        slope = order_of(scales, error)
        assert 0.8 < slope < 2.5 and error[-1] < 0.1, error


def test_ball_on_a_table_keeps_in_step():
    """One bounce a period of the table: 2 v/g = 2π/ω; gain and loss balance, c ω cos θ-like; both regimes satisfy the rates."""
    z = ap.coordinates("z")
    m, g, c, w, mu = ap.parameters("m g c omega mu", positive=True)
    table = ap.Unilateral(z - c * sin(w * ap.t), "table", restitution=1 - mu)
    slow = ap.averaged(ap.System([z], m * z.d**2 / 2, m * g * z, {}, [table]), [c, mu], (1, 1))
    values = {m: 1.0, g: 9.81, c: 0.002, mu: 0.01}
    found = ap.resonance(slow, {w: np.linspace(20, 30, 5)}, values)
    assert np.isfinite(found.amplitude[:, :2]).all() and found.stable[:, :2].sum(axis=1).tolist() == [1] * 5
    for k, omega in enumerate(found.values):
        for r, theta in zip(found.amplitude[k], found.phase[k], strict=True):
            if np.isfinite(r):
                assert slow.rates(r, theta, {**values, w: omega}) == pytest.approx((0, 0), abs=1e-10)
        assert found.amplitude[k, 0] == pytest.approx(9.81 * (np.pi / omega) ** 2 / 2, rel=0.2)


@pytest.mark.parametrize(
    ("over", "parameters", "says"),
    [
        (None, {}, "over which parameter"),
        ({"omega": [1.0], "h": [1.0]}, {}, "one parameter"),
        ({"speed": [1.0]}, {}, "no parameter"),
        ({"omega": [np.nan]}, {}, "finite"),
        ({"omega": [2.0]}, {"omega": 2.0}, "give it once"),
        ({"omega": [2.0]}, {"h": 1.0}, "no value for"),
        ({"omega": [2.0]}, {"h": -1.0, "Omega": 1, "epsilon": 1, "Delta": 1}, "declared positive"),
    ],
)
def test_wrong_requests(wall, over, parameters, says):
    with pytest.raises(ap.ModelError, match=says):
        ap.resonance(wall[1], over, parameters)


def test_wrong_objects(wall):
    with pytest.raises(ap.ModelError, match="takes what"):
        ap.resonance(zoo.oscillator_with_wall().system, {"omega": [1.0]}, {})
    with pytest.raises(ap.ModelError, match="far from resonances"):
        ap.resonance(ap.averaged(zoo.oscillator_with_wall().system, SMALL), {"omega": [1.0]}, {})
