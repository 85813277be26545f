"""Order of convergence at a fixed step: kept where the crossing is located, lost where the sign of x is taken in the stages.

Measured slopes of log(error) over log(step) between the coarsest and the finest step; errors at the finest step stay above
rounding (1e-13).
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, cos, sign, sin

import appell as ap
from appell.backends import c_available

x, y = ap.coordinates("x y")
needs_c = pytest.mark.skipif(c_available() is not None, reason="many small steps: needs a C compiler")
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
    found = [ap.simulate(run, start, until, method=method, fixed_step=h) for h in steps]
    return np.array([np.abs(position(m) - exact).max() for m in found])


def slope(steps, found):
    return float(np.polyfit(np.log(steps), np.log(found), 1)[0])


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
    assert slope(steps[keep], found[keep]) > order - 0.5


@needs_c
@pytest.mark.compiler
@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_without_locating_the_switch_the_order_is_lost(method):
    """Below or about first order, and errors that do not fall steadily: a jump J of the right-hand side costs O(hJ)."""
    steps = 0.02 / 2 ** np.arange(0, 5.1, 0.25)
    position = lambda m: np.array([GAP - abs(m[x][-1])])
    exact = GAP - abs(
        GAP - ap.simulate(oscillator_with_wall(), {x: -0.5}, UNTIL, rtol=1e-13, atol=1e-15)[x][-1]
    )
    run = ap.compile(folded_with_sign(), {})
    found = np.array(
        [abs(position(ap.simulate(run, {x: 0.7}, UNTIL, method=method, fixed_step=h))[0] - exact) for h in steps]
    )
    assert slope(steps, found) < 1.3
    assert found[-1] > 1e-7  # where the located step has reached rounding long ago
    located = errors(oscillator_with_wall(), {x: -0.5}, UNTIL, method, steps[-1:])
    assert located[0] < 1e-4 * found[-1]
