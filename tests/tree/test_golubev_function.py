"""Golubev (2014), section 3: the equations of chains are the derivatives of Appell's function (3.4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tree.chains import TOLERANCE, WRONG, Posed, free, gap, hinged, posed, random_chain, scale_of

from appell.tree.golubev import golubev_equations as golubev
from appell.tree.golubev.golubev_equations import apply, apply_transposed, cross, dot, plus, times


def acceleration_energy(p: Posed, kins) -> float:
    """(3.4): S = Σ S_ν with S_ν by (1.5)."""
    total = 0.0
    for body, kin in zip(p.bodies, kins, strict=True):
        A = np.array(kin.A, float)
        J = (A @ np.array(body.J, float) @ A.T).tolist()
        total += golubev.appell_function(body.m, kin.c, J, kin.w, kin.Om, kin.Omd)
    return total


def moved(p: Posed, change: dict[str, float]):
    """The kinematics with other accelerations: "wA_x", "omegadot_y" or "omegadot_3" changed by a number."""
    add = lambda name, x: x + change.get(name, 0.0)
    base = p.state.base
    if base is not None:
        pairs = ((base.wd, "omegadot_"), (base.wA, "wA_"))
        wd, wA = ([add(name + axis, x) for axis, x in zip("xyz", v, strict=True)] for v, name in pairs)
        base = replace(base, wd=wd, wA=wA)
    hinges = [h and replace(h, acceleration=add(f"omegadot_{n}", h.acceleration)) for n, h in enumerate(p.state.hinges, 1)]
    return golubev.kinematics(p.bodies, replace(p.state, base=base, hinges=hinges))


def slope(p: Posed, name: str, function) -> float:
    """∂/∂(an acceleration): exact by central differences, since S is quadratic and g·σ linear in accelerations."""
    return (function(moved(p, {name: 1.0})) - function(moved(p, {name: -1.0}))) / 2


def slopes(p: Posed, name: str, function) -> list[float]:
    return [slope(p, name + axis, function) for axis in "xyz"]


SHAPES = [(True, "floating"), (False, "floating"), (True, "fixed"), (False, "fixed")]


@pytest.mark.parametrize(("parallel", "base"), SHAPES)
def test_golubev_3_4_gives_the_equations(parallel: bool, base: str):
    """(3.9), (3.12), (3.13): ∂S/∂w_A, ∂S/∂ω̇, ∂S/∂ω̇_ν are the left sides of (3.10), (3.12), (3.14) or (4.3)."""
    p = posed(random_chain(4, parallel=parallel, base=base, seed=5), 6)
    S = lambda kins: acceleration_energy(p, kins)
    scale = scale_of(p) + abs(S(p.kins))
    if base == "floating":
        assert gap(slopes(p, "wA_", S), golubev.momentum_equation(p.bodies, p.kins, p.state.g)[0], scale) < TOLERANCE
        assert gap(slopes(p, "omegadot_", S), golubev.base_equation(p.bodies, p.kins, p.state.g)[0], scale) < TOLERANCE
    for n in hinged(p):
        left = golubev.hinge_equation(p.bodies, p.kins, p.state, n)[0]
        assert gap(slope(p, f"omegadot_{n + 1}", S), left, scale) < TOLERANCE


@pytest.mark.parametrize("parallel", [True, False])
def test_golubev_3_6_3_7_3_8(parallel: bool):
    """Generalized forces of gravity are the derivatives of Σ m g·σ; (3.8) for parallel axes, the corrected (4.2) for any."""
    p = free(4, parallel=parallel)
    power = lambda kins: sum(body.m * dot(p.state.g, kin.sigma) for body, kin in zip(p.bodies, kins, strict=True))
    scale = scale_of(p) + abs(power(p.kins))
    weight = golubev.momentum_equation(p.bodies, p.kins, p.state.g)[1]
    assert gap(slopes(p, "wA_", power), weight, scale) < TOLERANCE
    assert gap(slopes(p, "omegadot_", power), golubev.gravity_moment(p.bodies, p.kins, 0, p.state.g), scale) < TOLERANCE
    for n in hinged(p):
        Q = golubev.gravity_torque(p.bodies, p.kins, p.state, n)
        assert gap(slope(p, f"omegadot_{n + 1}", power), Q, scale) < TOLERANCE


def test_golubev_before_3_11():
    """∂S_1/∂ω̇ has ω × K_1*, where ω̇ × K_1* is printed."""
    p = free(1, parallel=True)
    body, kin = p.bodies[0], p.kins[0]
    K = apply(kin.A, apply(body.J, apply_transposed(kin.A, kin.Om)))
    common = plus(times(body.m, cross(kin.c, kin.w)), apply(kin.A, apply(body.J, apply_transposed(kin.A, kin.Omd))))
    left = slopes(p, "omegadot_", lambda kins: acceleration_energy(p, kins))
    scale = scale_of(p)
    assert gap(left, plus(common, cross(kin.Om, K)), scale) < TOLERANCE
    assert gap(left, plus(common, cross(kin.Omd, K)), scale) > WRONG
