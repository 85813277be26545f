"""How fast the error falls: with the step, between the steps, with the tolerance; and C against its Python twin."""

from __future__ import annotations

import numpy as np
import pytest
from tests.measures import order_of

from appell.errors import Status
from appell.loop.methods.tableaux import TABLEAUX

PENDULUM = {"t0": 0.0, "z0": [1.0, 0.3], "t_end": 4.0, "p": [2.0]}
DOUBLE = {"t0": 0.0, "z0": [1.0, 1.2, 0.3, -0.2], "t_end": 5.0, "p": [9.81]}


@pytest.mark.parametrize("method", TABLEAUX)
def test_coefficients_satisfy_the_conditions_of_a_runge_kutta_method(method):
    tableau = TABLEAUX[method]
    s = tableau.stages
    for i in range(s):
        assert np.sum(tableau.A[i, :i]) == pytest.approx(tableau.C[i], abs=1e-14)
    for power in range(1, tableau.order + 1):  # quadrature of t^(power − 1)
        assert tableau.B @ tableau.C ** (power - 1) == pytest.approx(1 / power, abs=1e-14)
    assert np.allclose(tableau.E.sum(axis=1), 0, atol=1e-14)
    assert tableau.D.shape[1] == tableau.A_extra.shape[1] == s + 1 + len(tableau.C_extra)


@pytest.mark.parametrize("method", TABLEAUX)
def test_order_of_the_step(method, in_c, last):
    loop, order = in_c("pendulum", method), TABLEAUX[method].order
    exact = last(loop, **PENDULUM, fixed_step=4 / 2000).z
    counts = np.array([10, 14, 20, 28]) * (3 if method == "dopri5" else 1)
    errors = []
    for count in counts:
        leg = last(loop, **PENDULUM, fixed_step=4 / count)
        assert leg.status is Status.OK and leg.statistics.accepted == count
        errors.append(np.max(abs(leg.z - exact)))
    assert min(errors) > 1e-12  # above rounding, or the slope means nothing
    assert order - 0.4 < order_of(4 / counts, errors) < order + 0.7


def test_order_of_the_dense_output(method, in_c, last):
    """Inside one step of size h the interpolation error is h^(dense order + 1)."""
    loop, order = in_c("pendulum", method), TABLEAUX[method].dense_order
    theta = np.array([0.15, 0.4, 0.62, 0.9])
    sizes = np.array([0.8, 0.6, 0.45, 0.33]) * (1 if method == "dop853" else 0.5)
    errors = []
    for h in sizes:
        leg = last(loop, **{**PENDULUM, "t_end": h}, fixed_step=h, times=theta * h)
        exact = last(loop, **{**PENDULUM, "t_end": h}, fixed_step=h / 300, times=theta * h)
        errors.append(np.max(abs(leg.z_times - exact.z_times)))
    assert min(errors) > 1e-13
    assert order + 1 - 0.4 < order_of(sizes, errors) < order + 1 + 0.8


def test_error_is_proportional_to_the_tolerance(method, make_loop, last):
    loop = make_loop("double pendulum", method)
    exact = last(loop, **DOUBLE, rtol=1e-13, atol=1e-13).z
    tolerances = np.array([1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
    errors = [np.max(abs(last(loop, **DOUBLE, rtol=tol, atol=tol).z - exact)) for tol in tolerances]
    assert 0.75 < order_of(tolerances, errors) < 1.4  # dop853 judges by h⁸ and errs by h⁹: 9/8
    assert np.all(np.array(errors) < 100 * tolerances)


def test_c_takes_the_steps_of_its_python_twin(method, in_c, in_python, last):
    task = {**DOUBLE, "fixed_step": 0.02, "times": np.linspace(0.013, 4.99, 57)}
    c, python = last(in_c("double pendulum", method), **task), last(in_python("double pendulum", method), **task)
    assert c.statistics.accepted == python.statistics.accepted == 250
    assert c.t_steps == pytest.approx(python.t_steps, abs=1e-14)
    assert np.max(abs(c.z_steps - python.z_steps)) < 1e-12  # rounding, grown over 250 steps
    assert np.max(abs(c.z_times - python.z_times)) < 1e-12
    assert np.max(abs(c.z_steps - python.z_steps)) > 0  # two programs, not one


def test_both_loops_agree_when_adaptive(method, in_c, in_python, last):
    task = {**DOUBLE, "rtol": 1e-10, "atol": 1e-10, "times": np.linspace(0, 5, 41)}
    c, python = last(in_c("double pendulum", method), **task), last(in_python("double pendulum", method), **task)
    assert np.max(abs(c.z_times - python.z_times)) < 1e-8
    assert c.statistics.accepted < 2 * python.statistics.accepted < 4 * c.statistics.accepted


def test_rejected_steps_stay_rare(in_c, last):
    """Safety 0.65 was chosen by measurement: with 0.9 a quarter of the steps is thrown away."""
    statistics = last(in_c("double pendulum", "dop853"), **{**DOUBLE, "t_end": 10.0}, rtol=1e-8, atol=1e-8).statistics
    assert statistics.rejected < 0.12 * statistics.accepted
    assert statistics.evaluations == 2 + 12 * statistics.accepted + 11 * statistics.rejected
