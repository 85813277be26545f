"""Order of convergence at a fixed step: kept where the crossing is located, one where the sign of x is taken in the stages.

Measured slopes of log(error) over log(step) between the coarsest and the finest step; errors at the finest step stay above
rounding (1e-13).
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, cos, sign, sin
from tests.measures import order_of

import appell as ap
from appell.backends import reason_against_c

x, y = ap.coordinates("x y")
needs_c = pytest.mark.skipif(reason_against_c() is not None, reason="many small steps: needs a C compiler")
DAMPING, GAP, DRIVE, OMEGA = 0.05, 0.2, 0.3, 2.1
UNTIL = 30.0


def oscillator_with_wall():
    """s̈ + h ṡ + s = ε sin ωt, s <= Δ."""
    force = -DAMPING * x.d + DRIVE * sin(OMEGA * ap.t)
    return ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [ap.Unilateral(GAP - x, "wall")], name="located")


def folded_with_sign():
    """(16): the same in x with s = Δ − |x|, the sign evaluated wherever a stage happens to be."""
    force = -DAMPING * x.d + sign(x) * (GAP - DRIVE * sin(OMEGA * ap.t))
    return ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, name="sign in the stages")


def coupled():
    """A cart with a pendulum and a stop for the cart: inertial coupling b ≠ 0."""
    T = x.d**2 + x.d * y.d * cos(y) + y.d**2 / 2
    return ap.System(
        [x, y], T, x**2 / 2 - 4 * cos(y), constraints=[ap.Unilateral(x + Rational(1, 5), "stop", Rational(9, 10))]
    )


def errors(system, start, until, method, steps, position=lambda m: np.concatenate([m.q[-1], m.v[-1]])):
    run = ap.compile(system, {})
    exact = position(ap.simulate(run, start, until, rtol=1e-13, atol=1e-15, max_step=0.05))
    found = [ap.simulate(run, start, until, method=method, step=h) for h in steps]
    return np.array([np.abs(position(m) - exact).max() for m in found])


@needs_c
@pytest.mark.compiler
@pytest.mark.parametrize("method, order, coarse", [("dop853", 8, 0.6), ("dopri5", 5, 0.15)])
@pytest.mark.parametrize("case", ["oscillator", "coupled"])
def test_order_is_kept_through_impacts(method, order, coarse, case):
    system, start = (oscillator_with_wall(), {x: -0.5}) if case == "oscillator" else (coupled(), {x: 0.8, y: 0.5})
    coarse = coarse if case == "oscillator" else coarse / 3
    steps = coarse / 2 ** np.arange(0, 2.6, 0.25)
    found = errors(system, start, UNTIL if case == "oscillator" else 10.0, method, steps)
    keep = (found > 2e-12) & (found < 1e-3)
    assert keep.sum() >= 5
    assert order_of(steps[keep], found[keep]) > order - 0.5


@needs_c
@pytest.mark.compiler
@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_sign_in_the_equations_is_located(method):
    """The folded equations with sign(x) written in them: the jump of the right-hand side is found as a wall is: no error
    of the first order in the step is left (where it was not located, error/h was 0.6 to 6.7)."""
    steps = 0.02 / 2 ** (np.arange(13) / 4)
    exact = GAP - abs(GAP - ap.simulate(oscillator_with_wall(), {x: -0.5}, UNTIL, rtol=1e-13, atol=1e-15)[x][-1])
    run = ap.compile(folded_with_sign(), {})
    ends = np.array([ap.simulate(run, {x: 0.7}, UNTIL, method=method, step=h)[x][-1] for h in steps])
    found = np.abs(GAP - np.abs(ends) - exact)
    assert (found / steps).max() < 1e-6
