"""Rocket, conveyor and falling chain against their closed forms (Meshchersky 1897, Tsiolkovsky 1903, Cayley 1857)."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy.physics import mechanics

import appell as ap

x, y = ap.coordinates("x y")
t = ap.t


@pytest.mark.parametrize("backend", ["auto", "vm"])
def test_a_rocket_reaches_the_velocity_of_tsiolkovsky(backend):
    m0, k, c, g = ap.parameters("m0 k c g", positive=True)
    rocket = ap.Particle(m0 - k * t, [x], carried=[x.d - c], name="rocket")
    system = ap.System([x], bodies=[rocket], loads=[ap.Force([-g * (m0 - k * t)], rocket)])
    values = {m0: 10.0, k: 1.5, c: 300.0, g: 9.81}
    motion = ap.simulate(system, {}, 5.0, values, rtol=1e-11, atol=1e-12, backend=backend)
    left = 10 - 1.5 * motion.t
    assert motion.ok and motion[x.d] == pytest.approx(300 * np.log(10 / left) - 9.81 * motion.t, abs=1e-7)
    assert np.abs(motion.energy_error).max() < 1e-9  # the balance knows what the mass carries
    assert ap.agree(system, states=2).ok


def test_a_belt_under_falling_sand_needs_twice_the_power_that_the_sand_gets():
    """ṁ v of force keeps the speed v: its power ṁ v² is twice d/dt ½ m v²."""
    m0, k, F = ap.parameters("m0 k F", positive=True)
    belt = ap.Particle(m0 + k * t, [x], carried=[0], name="belt")
    held = ap.System([x], bodies=[belt], constraints=[ap.Constraint(x.d - 2, "drive")])
    motion = ap.simulate(held, {x.d: 2.0}, 3.0, {m0: 5.0, k: 0.7})
    assert motion.reaction("drive") == pytest.approx(0.7 * 2.0, abs=1e-10)
    free = ap.System([x], bodies=[belt], forces={x: F})
    pulled = ap.simulate(free, {x.d: 2.0}, 3.0, {m0: 5.0, k: 0.7, F: 4.0}, rtol=1e-11, atol=1e-12)
    assert pulled[x.d] == pytest.approx((5 * 2.0 + 4 * pulled.t) / (5 + 0.7 * pulled.t), abs=1e-9)  # momentum
    assert ap.agree(held, states=2).ok and ap.agree(free, states=2).ok


def test_a_chain_that_falls_on_a_scale_weighs_three_times_what_lies_there():
    """Links in free fall come to rest on the scale: m = ρ g t²/2 with the velocity −g t gives 3 m g."""
    rho, g = ap.parameters("rho g", positive=True)
    heap = ap.Particle(rho * g * t**2 / 2, [0, y], carried=[0, -g * t], name="heap")
    weight = ap.Force([0, -g * heap.mass], heap)
    scale = ap.Constraint(y, "scale")
    system = ap.System([y], bodies=[heap], loads=[weight], constraints=[scale])
    motion = ap.simulate(system, {}, 1.0, {rho: 2.0, g: 9.81}, since=0.1)
    assert motion.ok  # y = 1e-17 is no violation of y = 0, though it is all that there is in y
    assert motion.reaction("scale") == pytest.approx(3 * 2.0 * 9.81**2 * motion.t**2 / 2, rel=1e-9)


def test_a_chain_lifted_from_a_heap_at_a_given_speed():
    """Λ = ρ (g v t + v²): the weight of what hangs, and the momentum of what is picked up from rest."""
    rho, g, v = ap.parameters("rho g v", positive=True)
    chain = ap.Particle(rho * v * t, [0, y], carried=[0, 0], name="chain")
    pull = ap.Constraint(y - v * t, "hand")
    system = ap.System([y], bodies=[chain], loads=[ap.Force([0, -g * chain.mass], chain)], constraints=[pull])
    motion = ap.simulate(system, {y: 0.15, y.d: 1.5}, 1.0, {rho: 2.0, g: 9.81, v: 1.5}, since=0.1)
    assert motion.reaction("hand") == pytest.approx(2.0 * (9.81 * 1.5 * motion.t + 1.5**2), rel=1e-9)


def test_a_skater_who_draws_in_her_arms_keeps_her_momentum():
    """Inertia that changes without a torque: the arms carry no momentum away, w = 0. With w = ω they would take their share."""
    phi = ap.coordinates("phi")
    J = 3 / (1 + t)
    for spin, exact in ((0, lambda s: 2.0 * (1 + s)), (phi.d, lambda s: 2.0 + 0 * s)):
        body = ap.RigidBody(1, J, [0, 0], phi, carried_omega=spin)
        motion = ap.simulate(ap.System([phi], bodies=[body]), {phi.d: 2.0}, 2.0, rtol=1e-11, atol=1e-12)
        assert motion.ok and motion[phi.d] == pytest.approx(exact(motion.t), abs=1e-8)


def test_sympy_takes_mass_that_comes_at_rest():
    """KanesMethod differentiates the momentum, (m v)˙ = F: what it says is said here."""
    q, u = mechanics.dynamicsymbols("q u")
    m0, k = sympy.symbols("m0 k", positive=True)
    N, O = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    P = O.locatenew("P", q * N.x)
    O.set_vel(N, 0)
    P.set_vel(N, u * N.x)
    body = mechanics.Particle("P", P, m0 + k * mechanics.dynamicsymbols._t)
    kane = mechanics.KanesMethod(N, q_ind=[q], u_ind=[u], kd_eqs=[u - q.diff()])
    fr, frstar = kane.kanes_equations([body], [(P, 3 * N.x)])
    balance = (sympy.Matrix(fr) + sympy.Matrix(frstar))[0].subs({m0: 2, k: 1})
    theirs = sympy.solve(balance, u.diff())[0].subs({u: 0.7, mechanics.dynamicsymbols._t: 0.4})
    system = ap.from_sympy(kane)
    a, _ = ap.forms.lagrange(system).acceleration(0.4, [0.0] * system.nq, [0.7], {"m0": 2, "k": 1})
    assert a[0] == pytest.approx(float(theirs), rel=1e-12)
