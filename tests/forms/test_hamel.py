"""Boltzmann–Hamel: the zoo, and the structure coefficients of the rotations."""

from __future__ import annotations

import pytest
import sympy
from sympy import LeviCivita, cos, sin
from tests.forms.judging import disagreement, zero
from tests.forms.test_nielsen_tsenov import values_at_random

from appell import zoo
from appell.errors import FormNotApplicable
from appell.forms import hamel, lagrange
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, System

x, y, z = coordinates("x y z")
k = parameters("k", positive=True)
OTHERS = ("constant_acceleration", "appell_hamel", "constant_speed", "grioli", "homogeneous_ball", "orthogonal_acceleration")


@pytest.mark.parametrize("name", [name for name in zoo.ALL if name not in OTHERS])
def test_agrees_with_the_judge(name):
    example = zoo.ALL[name]()
    for pseudo in (example.pseudo, None):
        assert disagreement(hamel(example.system, pseudo), example.parameters) < 1e-9


def test_gamma_of_the_rotations():
    """γ^r_sk of the body rates p, q, r is ε_rsk, so that Σ p_r γ^r_sk ω_k = (ω × p)_s: Euler's equations."""
    example = zoo.euler_body()
    gamma = hamel(example.system, example.pseudo).objects["gamma"]
    for i in range(3):
        for j in range(3):
            for n in range(3):
                assert zero(gamma.get((i, j, n), sympy.Integer(0)) - LeviCivita(i, j, n))


def test_velocities_give_no_gamma_and_lagranges_equations():
    """Holonomic pseudo-velocities π̇ = q̇: γ = 0 and Lagrange's equations."""
    example = zoo.n_pendulum(3)
    form = hamel(example.system)
    assert not form.objects["gamma"]
    other = lagrange(example.system)
    back = dict(zip(form.objects["pseudo"].speeds, example.system.velocities, strict=True))
    back |= dict(zip(form.objects["pseudo"].accelerations, example.system.accelerations, strict=True))
    for mine, theirs in zip(form.equations, other.equations, strict=True):
        gap = (mine.lhs - mine.rhs).xreplace(back) - theirs.lhs + theirs.rhs
        assert abs(values_at_random([gap])[0]) < 1e-30


def test_affine_and_rheonomic():
    """Free terms and time in the constraint and in the pseudo-velocities: γ^r_s0 is needed."""
    system = System(
        [x, y, z],
        (2 + sin(y * t)) * x.d**2 / 2 + y.d**2 + (1 + x**2) * z.d**2 / 2 + x.d * y.d * cos(z) / 3 + t * y * z.d,
        potential=k * x * y,
        constraints=[Constraint((1 + y**2) * x.d + t * z.d - x * cos(t) * z, name="affine")],
    )
    form = hamel(system, {"u": y.d + x * z.d + t * y * x, "w": (2 + cos(x * t)) * z.d + 1})
    assert any(n == -1 for _, _, n in form.objects["gamma"])
    assert disagreement(form, {k: 0.7}) < 1e-9


def test_quaternions_and_speeds_of_their_own():
    """Body rates of a quaternion as pseudo-velocities: Euler's equations; turned and stretched ones agree all the same."""
    example = zoo.heavy_top_quaternion()
    a, b, c = example.system.velocities
    gamma = hamel(example.system, {"p": a, "q": b, "r": c}).objects["gamma"]
    for i in range(3):
        for j in range(3):
            for n in range(3):
                assert gamma.get((i, j, n), 0) == LeviCivita(i, j, n)
    angle = example.system.coordinates[0]
    turned = {"p": a * cos(angle) + b * sin(angle) + 1, "q": b * cos(angle) - a * sin(angle), "r": (2 + angle) * c + t}
    assert disagreement(hamel(example.system, turned), example.parameters) < 1e-9


def test_refusals():
    with pytest.raises(FormNotApplicable, match=r"'speed' is nonlinear in the velocities.*ap\.forms\.maggi"):
        hamel(zoo.constant_speed().system)
    with pytest.raises(FormNotApplicable, match="affine"):
        hamel(zoo.skate().system, {"u": zoo.skate().system.velocities[0] ** 3, "w": zoo.skate().system.velocities[2]})
