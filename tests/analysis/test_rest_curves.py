"""`ap.continue_curve` of special rests, and of branch points: curves in two parameters where closed forms put them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_b
from sympy import cos, sin
from tests.families.loss_of_sticking import stopping

import appell as ap

x, a, b, theta = ap.coordinates("x alpha beta theta")
P, d, k, m, q, F, w = ap.parameters("P d k m q F w", positive=True)
u, r, c = ap.parameters("u r c")


def test_hopf_points_of_zieglers_column_over_its_damping():
    """P = 41/28 + d²/2 with equal damping in both joints."""
    T = (3 * a.d**2 + 2 * a.d * b.d * cos(a - b) + b.d**2) / 2
    forces = {a: P * sin(a - b) - d * (2 * a.d - b.d), b: -d * (b.d - a.d)}
    column = ap.System([a, b], T, a**2 / 2 + (b - a) ** 2 / 2, forces, name="Ziegler's column")
    (point,) = ap.continue_equilibrium(column, P, {}, 3.0, parameters={P: 0.5, d: 0.02}).special
    curve = ap.continue_curve(point, (P, d), 1.0)
    assert curve.ok and curve.kind == "Hopf" and len(curve.rests) == len(curve.values) and not curve.orbits
    assert curve.values[:, 0] == pytest.approx(41 / 28 + curve.values[:, 1] ** 2 / 2, abs=1e-9)
    assert curve.residuals.max() < 1e-9 and {"P", "d", "residual"} == set(curve.dataset)
    curve.plot()


def test_a_curve_of_hopf_points_ends_in_a_bogdanov_takens_point():
    """ẍ = r + x² + ẋ(u + x): at rest in x = −√−r, and Hopf where u = √−r (Bogdanov 1975)."""
    system = ap.System([x], x.d**2 / 2, 0, {x: r + x**2 + x.d * (u + x)})
    (point,) = ap.continue_equilibrium(system, u, {x: -1.0}, 2.0, parameters={r: -1.0, u: 0.0}).special
    curve = ap.continue_curve(point, (u, r), 0.5)
    assert curve.ok and "ends in a Bogdanov–Takens point" in curve.message
    assert curve.values[:, 0] ** 2 == pytest.approx(-curve.values[:, 1], abs=1e-9)
    assert curve.crossings[0].values == pytest.approx([0, 0], abs=1e-8)


def test_folds_of_rests_and_their_cusp():
    """V = x⁴/4 − r x²/2 − u x folds on 27 u² = 4 r³."""
    system = ap.System([x], x.d**2 / 2, x**4 / 4 - r * x**2 / 2 - u * x, {x: -d * x.d})
    branch = ap.continue_equilibrium(system, u, {x: 1.0}, -1.0, parameters={r: 1.0, u: 0.5, d: 0.3}, back=1.0)
    curve = ap.continue_curve(branch.special[0], (u, r), -1.0, most=60)
    assert 27 * curve.values[:, 0] ** 2 == pytest.approx(4 * curve.values[:, 1] ** 3, abs=1e-9)
    (cusp,) = [one for one in curve.crossings if one.kind == "cusp"]
    assert cusp.values == pytest.approx([0, 0], abs=1e-8)


def test_branch_points_of_rests_stay_where_a_symmetry_keeps_them():
    """A column buckles at m = k; pushed aside by u it does not, and only folds stay."""
    V = k * theta**2 / 2 + m * cos(theta) + u * theta
    column = ap.System([theta], theta.d**2 / 2, V, {theta: -d * theta.d}, name="column")
    branch = ap.continue_equilibrium(column, m, {theta: 0.0}, 2.0, parameters={m: 0.5, k: 1.0, d: 0.1, u: 0.0})
    (point,) = branch.special
    assert point.refined and point.residual < 1e-9
    curve = ap.continue_curve(point, (m, k), 3.0)
    assert curve.ok and curve.values[:, 0] == pytest.approx(curve.values[:, 1], abs=1e-9)
    gone = ap.continue_curve(point, (m, u), 0.2)
    assert not gone.ok and "dissolves" in gone.message and len(gone.values) == 1
    with pytest.raises(ap.ModelError, match="of rests"):
        ap.continue_curve(point, (m, k), 3.0, period=1.0)


@pytest.mark.parametrize("edge", [mathieu_b, mathieu_a])
def test_edges_of_mathieus_second_tongue(edge):
    """x″ + (a + q cos 2t) x = 0: branch points of the orbit x = 0 on the characteristic values a₂, b₂ (McLachlan 1947)."""
    system = ap.System([x], x.d**2 / 2, (m + q * cos(2 * ap.t)) * x**2 / 2, name="Mathieu")
    at = float(edge(2, 0.5))
    orbit = ap.periodic_orbit(system, guess={}, period=np.pi, parameters={m: at - 0.05, q: 1.0})
    (point,) = ap.continue_orbit(system, m, orbit, at + 0.05).special
    curve = ap.continue_curve(point, (m, q), 3.0, period=np.pi)
    assert curve.ok and curve.values[:, 0] == pytest.approx([float(edge(2, q / 2)) for q in curve.values[:, 1]], abs=1e-9)


def test_sticking_is_lost_where_den_hartog_puts_it_over_the_frequency():
    rub = ap.Friction(x.d, limit=F, name="rub")
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: cos(w * ap.t)}, constraints=[rub])
    critical, T = stopping(0.7), 2 * np.pi / 0.7
    values = {w: 0.7, F: 1.03 * critical}
    settled = ap.simulate(system, {x: critical}, 30 * T, values).final
    orbit = ap.periodic_orbit(system, guess=settled, period=T, parameters=values)
    (point,) = ap.continue_orbit(system, F, orbit, 0.97 * critical, step=0.3).special
    assert point.value == pytest.approx(critical, rel=1e-9)
    curve = ap.continue_curve(point, (F, w), 0.74, step=0.5, max_step=0.5)
    assert curve.ok and curve.kind == "loss of sticking"
    assert curve.values[:, 0] == pytest.approx([stopping(w) for w in curve.values[:, 1]], rel=1e-9)
