"""The benchmark of the linearised bicycle against our nonlinear one: J. P. Meijaard, J. M. Papadopoulos, A. Ruina,
A. L. Schwab, Proc. R. Soc. A 463 (2007) 1955.

    M q̈ + v C1 q̇ + (g K0 + v² K2) q = f,        q = (lean φ, steer δ)

Damping and stiffness come from `ap.linearize`, with exact derivatives; the eigenvalues of Table 2 also from central differences
of order 8 of accelerations on the constraints, good to about 1e-13 of the largest entry. The bounds
are those that come with the numbers, 1e-12 for matrices and 2e-12 for eigenvalues.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from tests.published.bicycle import Bicycle, M_delta, M_phi, bicycle, chi_R, delta, phi

import appell as ap

FILE = Path(__file__).parent / "data" / "bicycle_whipple_linear.json"
"""Facts of the paper: its Tables 1 and 2 and the matrices of section 5."""
DATA = json.loads(FILE.read_text())
EXPECTED = DATA["expected"]


@pytest.fixture(scope="module")
def model() -> Bicycle:
    return Bicycle(bicycle(DATA["parameters"]), DATA["parameters"])


def damping_and_stiffness(model: Bicycle, v: float) -> tuple[np.ndarray, np.ndarray]:
    """C and K of M q̈ + C q̇ + K q = f at the speed v, (2, 2) each."""
    linear = linearized(model, v)
    return (linear.D + linear.G)[:2, :2], (linear.K + linear.N)[:2, :2]


def linearized(model: Bicycle, v: float):
    """Small motions about upright rolling in lean, steer and the turning of the rear wheel."""
    upright = model.state(0, 0, 0, 0, v)
    return ap.linearize(model.system, at=upright, parameters={M_phi: 0, M_delta: 0}, independent=[phi, delta, chi_R])


def state_matrix(model: Bicycle, v: float) -> np.ndarray:
    """A of ẋ = A x, x = (φ, δ, φ̇, δ̇), (4, 4)."""
    return np.vstack([np.eye(4)[2:], model.slope(v)])


def near(expected, tolerance: str = "matrices_abs"):
    return pytest.approx(np.array(expected), rel=0, abs=DATA["tolerance"][tolerance])


def test_mass_matrix(model):
    assert model.mass() == near(EXPECTED["M"])


def test_standing(model):
    """At rest K = g K0 and there is no damping; the wheels carry the weight."""
    C, K = damping_and_stiffness(model, v=0.0)
    assert K / DATA["parameters"]["g"] == near(EXPECTED["K0"])
    assert near(np.zeros((2, 2))) == C
    lam = dict(zip((c.name for c in model.system.constraints), model.solve(model.state(0, 0, 0, 0, v=0))[1], strict=True))
    assert -lam["rear wheel contact"] == pytest.approx(EXPECTED["static_normal_forces_N"]["rear"], rel=1e-13)
    assert -lam["front wheel contact"] == pytest.approx(EXPECTED["static_normal_forces_N"]["front"], rel=1e-13)


@pytest.mark.parametrize("v", [1.0, 4.0, 10.0])
def test_rolling(model, v):
    """C = v C1 and K = g K0 + v² K2."""
    C, K = damping_and_stiffness(model, v)
    assert C / v == near(EXPECTED["C1"])
    assert (K - DATA["parameters"]["g"] * np.array(EXPECTED["K0"])) / v**2 == near(EXPECTED["K2"])


def apart(ours, row):
    """How far eigenvalues are from those of the table in the best of all orders: real parts of a pair differ by rounding."""
    theirs = [complex(*pair) for pair in row["eigenvalues_real_imag"]]
    assert len(ours) == len(theirs)
    return min(np.abs(np.array(order) - theirs).max() for order in permutations(ours))


@pytest.mark.parametrize("row", EXPECTED["eigenvalue_table"], ids=lambda row: f"v={row['v']}")
def test_eigenvalues(model, row):
    """Table 2 of the paper."""
    assert apart(np.linalg.eigvals(state_matrix(model, row["v"])), row) < DATA["tolerance"]["eigenvalues_abs"]


@pytest.mark.parametrize("v", [0.0, 5.0])
def test_linearize(model, v):
    """M, C and K by `ap.linearize` in one call, exact derivatives in place of differences; the eigenvalues of Table 2."""
    linear = linearized(model, v)
    square = lambda x: x[:2, :2]
    g, size = DATA["parameters"]["g"], 1 + v**2
    assert square(linear.M) == near(EXPECTED["M"])
    assert square(linear.D + linear.G) == near(v * np.array(EXPECTED["C1"]))
    K = g * np.array(EXPECTED["K0"]) + v**2 * np.array(EXPECTED["K2"])
    assert square(linear.K + linear.N) == pytest.approx(K, rel=0, abs=size * DATA["tolerance"]["matrices_abs"])
    assert np.abs(linear.M[2, :2]).max() < 1e-12 and np.abs(linear.follow).max() < 1e-11
    row = next(row for row in EXPECTED["eigenvalue_table"] if row["v"] == v)
    assert apart(linear.eigenvalues[:4], row) < DATA["tolerance"]["eigenvalues_abs"]
    assert linear.eigenvalues[4:] == pytest.approx(0, abs=0)  # heading, place, wheel angles and the speed: nothing feels them
    assert linear.stable == (v == 5.0)


def test_self_stable_between_weave_and_capsize(model):
    """The weave speed, where a pair crosses the imaginary axis, and the capsize speed, where K is singular."""
    weave = lambda v: max(np.linalg.eigvals(state_matrix(model, v)), key=lambda number: number.imag).real
    capsize = lambda v: np.linalg.det(model.slope(v)[:, :2])
    speeds = EXPECTED["critical_speeds"]
    assert brentq(weave, 4.0, 5.0, xtol=1e-13) == pytest.approx(speeds["weave_v"], abs=1e-11)
    assert brentq(capsize, 5.5, 6.5, xtol=1e-13) == pytest.approx(speeds["capsize_v"], abs=1e-11)


def test_small_motions_are_linear(model):
    """A push of ε = 1e-4 rad/s on lean at 5 m/s: the nonlinear motion follows exp(A t) up to ε³, as even terms vanish by
    symmetry but for the speed, which changes by ε² and lean by ε³ through it."""
    push, v, times = 1e-4, 5.0, np.linspace(0, 3, 31)
    motion = ap.simulate(
        model.system, model.state(0, 0, push, 0, v), times[-1], {M_phi: 0, M_delta: 0}, times=times, rtol=1e-11, atol=1e-15,
    )  # fmt: skip
    A = state_matrix(model, v)
    linear = np.array([expm(A * t) @ [0, 0, push, 0] for t in times])
    assert motion.ok, motion.message
    assert motion[phi, delta, phi.d, delta.d] == pytest.approx(linear, abs=1e-11)
    assert np.abs(motion.balance).max() < 1e-10 * motion.energy_scale


def test_steering_and_leaning_torques(model):
    """Lean and steer answer torques by (−ω²M + iωvC1 + gK0 + v²K2)⁻¹."""
    v, omega = 5.0, np.array([0.5, 3.0, 20.0])
    upright = model.state(0, 0, 0, 0, v)
    ports = {"inputs": [M_phi, M_delta], "outputs": [phi, delta]}
    linear = ap.linearize(model.system, at=upright, independent=[phi, delta, chi_R], **ports)
    M, C1, K0, K2 = (np.array(EXPECTED[name]) for name in ("M", "C1", "K0", "K2"))
    K = DATA["parameters"]["g"] * K0 + v**2 * K2
    exact = np.array([np.linalg.inv(-(w**2) * M + 1j * w * v * C1 + K) for w in omega])
    assert linear.state_space.frequency_response(omega) == pytest.approx(exact, rel=1e-9, abs=1e-14)
