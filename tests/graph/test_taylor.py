"""Taylor coefficients on the graph: every operation against mpmath, motions against repeated total derivatives."""

from __future__ import annotations

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy as sp

from appell.errors import FormNotApplicable
from appell.graph.fn import make_fn
from appell.graph.taylor_series import expansion

ORDER = 12

ONE = {
    "neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: x + x, "inv": lambda x: 1 / x, "sqrt": mpmath.sqrt,
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log1p": mpmath.log1p, "sin": mpmath.sin, "cos": mpmath.cos,
    "tan": mpmath.tan, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "asin": mpmath.asin, "acos": mpmath.acos,
    "atan": mpmath.atan, "asinh": mpmath.asinh, "atanh": mpmath.atanh, "erf": mpmath.erf,
    "acosh": lambda x: mpmath.acosh(x + 1),
}  # fmt: skip
TWO = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y, "atan2": mpmath.atan2, "hypot": mpmath.hypot,
}  # fmt: skip


def function(zd, z, t=None, p=None, **more):
    t, p = t if t is not None else ca.SX.sym("t"), p if p is not None else ca.SX.sym("p", 0)
    inputs = {"t": (t, ()), "z": (z, (z.numel(),)), "p": (p, (p.numel(),))}
    return make_fn("flow", inputs, {"zd": (zd, (z.numel(),)), "margin": (ca.SX(1), ()), **more})


def slopes(fn, t=0.0, z=(0.0,), p=()):
    """The Taylor coefficients of ż from those of z."""
    c = expansion(fn, ORDER + 1)(t, np.array(z, float), np.array(p, float))["c"]
    return c * np.arange(1, ORDER + 2)[:, None]


def unary(op, x):
    return ca.SX.unary(getattr(ca, f"OP_{op.upper()}"), x)


@pytest.mark.parametrize("op", ONE)
def test_operation_of_one_argument(op):
    """[f]_k of f = op(0.4 + 0.3 t + 0.1 t²) at t = 0.1."""
    t, z = ca.SX.sym("t"), ca.SX.sym("z", 1)
    a = 0.4 + 0.3 * t + 0.1 * t**2
    found = slopes(function(unary(op, a + (1 if op == "acosh" else 0)), z, t), t=0.1)[:, 0]
    exact = mpmath.taylor(lambda s: ONE[op](mpmath.mpf("0.4") + mpmath.mpf("0.3") * s + mpmath.mpf("0.1") * s**2), 0.1, ORDER)
    assert found == pytest.approx([float(x) for x in exact], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("op", TWO)
@pytest.mark.parametrize("which", ["both move", "first", "second"])
def test_operation_of_two_arguments(op, which):
    t, z = ca.SX.sym("t"), ca.SX.sym("z", 1)
    x = lambda s: 0.7 + (0.3 * s - 0.2 * s**2 if which != "second" else 0)
    y = lambda s: 1.2 - (0.4 * s if which != "first" else 0)
    found = slopes(function(ca.SX.binary(getattr(ca, f"OP_{op.upper()}"), ca.SX(x(t)), ca.SX(y(t))), z, t), t=0.1)[:, 0]
    exact = mpmath.taylor(lambda s: TWO[op](x(s), y(s)), 0.1, ORDER)
    assert found == pytest.approx([float(v) for v in exact], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, -1, -3])
def test_integer_powers_may_pass_through_zero(n):
    t, z = ca.SX.sym("t"), ca.SX.sym("z", 1)
    at = 0.0 if n > 0 else 1.0
    found = slopes(function(ca.constpow(t, ca.SX(n)), z, t), t=at)[:, 0]
    assert found == pytest.approx([float(x) for x in mpmath.taylor(lambda s: s**n, at, ORDER)], rel=1e-10, abs=1e-14)


def test_motion_against_repeated_total_derivatives():
    """A driven pendulum with damping: c_k = z⁽ᵏ⁾/k! with d/dt along the motion taken in SymPy."""
    t, x, v, g = sp.symbols("t x v g")
    acceleration = -g * sp.sin(x) - v / 5 + sp.cos(3 * t) / (1 + x**2)
    total = lambda e: sp.diff(e, t) + v * sp.diff(e, x) + acceleration * sp.diff(e, v)
    values, exact, derivative = {t: 0.3, x: 0.5, v: -0.4, g: 2.0}, [], x
    for k in range(1, 7):
        derivative = total(derivative)
        exact.append(float(derivative.subs(values)) / float(sp.factorial(k)))
    T, z, p = ca.SX.sym("t"), ca.SX.sym("z", 2), ca.SX.sym("p", 1)
    zd = ca.vertcat(z[1], -p[0] * ca.sin(z[0]) - z[1] / 5 + ca.cos(3 * T) / (1 + z[0] ** 2))
    c = expansion(function(zd, z, T, p), 6)(0.3, np.array([0.5, -0.4]), np.array([2.0]))["c"]
    assert c[:, 0] == pytest.approx(exact, rel=1e-12)
    assert c[:-1, 1] == pytest.approx(c[1:, 0] * np.arange(2, 7), rel=1e-12)  # ẋ = v


def test_series_sums_to_the_solution():
    """ż = 1 + z² from 0 is tan t."""
    z = ca.SX.sym("z", 1)
    c = expansion(function(1 + z**2, z), 30)(0.0, np.zeros(1), np.zeros(0))["c"][:, 0]
    assert sum(c[k - 1] * 0.4**k for k in range(1, 31)) == pytest.approx(np.tan(0.4), abs=1e-14)


def test_structural_zeros_cost_nothing():
    """A spring driven by cos ωt: a few operations an order, not a convolution."""
    t, z, p = ca.SX.sym("t"), ca.SX.sym("z", 2), ca.SX.sym("p", 2)
    fn = function(ca.vertcat(z[1], -p[0] * z[0] + ca.cos(p[1] * t)), z, t, p)
    few, many = (expansion(fn, order).operations for order in (10, 20))
    assert many < 2.2 * few


@pytest.mark.parametrize("op", ["fabs", "sign", "floor"])
def test_what_bends_or_jumps_is_refused_where_it_moves(op):
    z, p = ca.SX.sym("z", 1), ca.SX.sym("p", 1)
    moving, still = function(unary(op, z), z, p=p), function(unary(op, p) * z, z, p=p)
    with pytest.raises(FormNotApplicable, match=op):
        expansion(moving, 4)
    assert expansion(still, 3)(0.0, [2.0], [-1.5])["c"].shape == (3, 1)
