"""Reactions that are not ideal: R_L proportional to Λ, said by `Constraint(reaction=…)`; and reactions that change sign.

Closed-form motions at rtol 1e-10 to 1e-8.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, sign, sin

from appell.compiled.compiling import compile
from appell.forms import lagrange
from appell.jets import coordinates, parameters
from appell.jets import t as time
from appell.model import Constraint, System
from appell.simulate.simulate import simulate
from appell.verify import agree
from appell.verify.diagnose import diagnose
from appell.verify.principle import principle

x, y, r, phi = coordinates("x y r phi")
m, g, mu, alpha, omega, R = parameters("m g mu alpha omega R", positive=True)


def block() -> System:
    """A block on an inclined plane, x down the slope, y away from it; friction μ Λ against the motion."""
    return System(
        [x, y],
        m * (x.d**2 + y.d**2) / 2,
        potential=m * g * (y * cos(alpha) - x * sin(alpha)),
        constraints=[Constraint(y, "plane", reaction={y.d: 1, x.d: -mu * sign(x.d)})],
        name="block",
    )


VALUES = {m: 2.0, g: 9.81, mu: 0.3, alpha: 0.5}


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["down", "up"])
def test_block_slides_with_the_friction_of_its_normal_force(way):
    """ẍ = g (sin α − μ cos α sign ẋ), Λ = m g cos α."""
    motion = simulate(block(), start={x.d: 5 * way}, until=0.5, parameters=VALUES, rtol=1e-10)
    a = 9.81 * (math.sin(0.5) - way * 0.3 * math.cos(0.5))
    assert motion[x] == pytest.approx(5 * way * motion.t + a * motion.t**2 / 2, abs=1e-8)
    assert motion.reaction("plane") == pytest.approx(np.full(len(motion), 2 * 9.81 * math.cos(0.5)), rel=1e-10)
    assert motion.balance == pytest.approx(0, abs=1e-8)  # the friction's work is in the balance


def test_the_part_of_the_reaction_outside_its_subspace_is_the_friction():
    p = principle(block())
    assert not p.ideal
    lam = sympy.Symbol("Lambda_plane", real=True)
    outside = [e.subs({s: lam for s in e.free_symbols if str(s) == "Lambda_plane"}) for e in p.outside]
    assert sympy.simplify(outside[0] + mu * lam * sign(x.d)) == 0 and outside[1] == 0
    assert "R_L = " in str(p) and "'plane' given a reaction direction" in str(p)
    parts = p.at(0.0, [0, 0], [1, 0], VALUES)
    N = 2 * 9.81 * math.cos(0.5)
    assert pytest.approx([0, N]) == parts.R_K and pytest.approx([-0.3 * N, 0]) == parts.R_L
    assert not parts.ideal and parts.residual < 1e-12


def test_the_classical_form_with_multipliers_agrees_and_the_doctor_says_so():
    a, lam = lagrange(block()).acceleration(0.0, [0, 0], [1, 0], VALUES)
    mine = compile(block(), VALUES, backend="vm").acceleration(0.0, [0, 0], [1, 0])
    assert (a, lam) == (pytest.approx(mine[0]), pytest.approx(mine[1]))
    assert agree(block(), parameters=VALUES, forms=["lagrange", "nielsen", "tsenov"]).ok
    findings = diagnose(block(), parameters=VALUES)
    assert "direction of its own" in findings.about("plane")[0].sentence
    assert "the reaction of constraint 'plane' does work" in findings.of("conserved")[0].sentence


def test_bead_on_a_turning_rough_rod():
    """φ = ω t pushes the bead with N = Λ/r = 2 m ω ṙ; r̈ = ω² r − 2 μ ω ṙ grows with ω (√(1 + μ²) − μ), not with ω."""
    rod = Constraint(phi - omega * time, "rod", reaction={phi.d: 1, r.d: -mu / r})
    system = System([r, phi], m * (r.d**2 + r**2 * phi.d**2) / 2, constraints=[rod])
    values = {m: 0.7, mu: 0.4, omega: 2.0}
    fast, slow = (2.0 * (s * math.sqrt(1 + 0.4**2) - 0.4) for s in (1, -1))
    motion = simulate(system, start={r: 1.0, r.d: fast, phi.d: 2.0}, until=1.5, parameters=values, rtol=1e-10)
    assert motion[r] == pytest.approx(np.exp(fast * motion.t), rel=1e-8)
    assert motion.reaction(rod) / motion[r] == pytest.approx(2 * 0.7 * 2.0 * motion[r.d], rel=1e-8)
    assert slow < 0 < fast < 2.0


def test_coulomb_on_both_sides_of_a_guide_by_the_sign_of_the_normal_force():
    """−μ|Λ| = −μ s Λ with s = sign Λ: a bead in a circular guide on a table, m v̇ = −μ m v²/R, so v = v0/(1 + μ v0 t/R).

    The guide f = R² − x² − y² pushes inwards, Λ > 0; with −f it is Λ < 0 and s = −1 says the same motion.
    """
    s = parameters("s")
    speed = sympy.sqrt(x.d**2 + y.d**2)
    f = (R**2 - x**2 - y**2) / 2
    guide = lambda f: Constraint(
        f, "guide",
        reaction={x.d: f.diff(x) - mu * s * R * x.d / speed, y.d: f.diff(y) - mu * s * R * y.d / speed},
    )  # fmt: skip
    for side, lam_sign in ((f, 1.0), (-f, -1.0)):
        system = System([x, y], m * (x.d**2 + y.d**2) / 2, constraints=[guide(side)])
        values = {m: 2.0, mu: 0.25, R: 1.5, s: lam_sign}
        motion = simulate(system, start={x: 1.5, y.d: 3.0}, until=2.0, parameters=values, rtol=1e-10)
        assert motion[speed] == pytest.approx(3.0 / (1 + 0.25 * 3.0 * motion.t / 1.5), rel=1e-8)
        assert (np.sign(motion.reaction("guide")) == lam_sign).all()


# -- letting go --------------------------------------------------------------------------------------------------------


def sphere() -> System:
    return System(
        [x, y], m * (x.d**2 + y.d**2) / 2, potential=m * g * y,
        constraints=[Constraint(x**2 + y**2 - R**2, "sphere")],
    )  # fmt: skip


@pytest.mark.parametrize("theta0", [0.05, 0.4])
def test_a_particle_from_rest_leaves_a_smooth_sphere_at_two_thirds_of_its_height(theta0):
    """Λ = 0 where 3 cos θ = 2 cos θ0 (energy and the normal force m g cos θ − m v²/R), and nowhere else on the way down."""
    values = {m: 0.3, g: 9.81, R: 2.0}
    start = {x: 2 * math.sin(theta0), y: 2 * math.cos(theta0)}
    motion = simulate(sphere(), start=start, until=1.0, parameters=values, rtol=1e-11)
    long_enough = simulate(sphere(), start=start, until=2.2, parameters=values, rtol=1e-11)
    motion = motion if len(motion.release("sphere")) else long_enough
    (moment, *_) = motion.release("sphere")
    assert motion.at(moment)[y][0] / 2.0 == pytest.approx(2 / 3 * math.cos(theta0), abs=1e-8)
    assert (motion.at(np.linspace(0, 0.99 * moment, 20)).reaction("sphere") > 0).all()


def test_from_the_top_with_a_push_it_leaves_earlier():
    """cos θ = (2 + v0²/(g R))/3, at once for v0² >= g R."""
    values = {m: 1.0, g: 10.0, R: 1.0}
    motion = simulate(sphere(), start={y: 1, x.d: 2.0}, until=0.6, parameters=values, rtol=1e-11)
    assert motion.at(motion.release("sphere")[0])[y][0] == pytest.approx((2 + Rational(4, 10)) / 3, abs=1e-8)
    fast = simulate(sphere(), start={y: 1, x.d: 3.3}, until=0.2, parameters=values, rtol=1e-11)
    assert fast.reaction("sphere")[0] < 0
