"""The vector principle (M W − Y − R)·δx = 0: the decomposition as linear algebra says it must be, and the printed readings.

Tolerances: each quantity is one or two small dense solves away from the normal form, 1e-9 of its size.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, sin

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import FormNotApplicable, ModelError
from appell.jets import coordinates, parameters
from appell.model import Constraint, System
from appell.simulate.start import consistent
from appell.verify.principle import principle

x, y, z = coordinates("x y z")

BILATERAL = sorted(name for name, make in zoo.ALL.items() if make().system.constraints)


def at_start(example, nudge: float = 0.0):
    """The decomposition at the start of an example, its velocities and positions moved and projected."""
    system = example.system
    states = (*system.coordinates, *system.velocities)
    start = {s: example.start.get(s, s.start) + nudge * (1 + k % 3) for k, s in enumerate(states)}
    start = consistent(system, start, example.parameters) if nudge else {**dict.fromkeys(start, 0.0), **start}
    q, v = ([start[s] for s in symbols] for symbols in (system.coordinates, system.velocities))
    return principle(system).at(0.0, q, v, example.parameters)


@pytest.mark.parametrize("name", BILATERAL)
def test_soltakhanov_1_9_the_two_subspaces_are_orthogonal_and_carry_the_motion(name):
    parts = at_start(zoo.ALL[name](), nudge=0.05)
    P, Z, B, M, n = parts.projector, parts.complement, parts.reaction_basis, parts.M, len(parts.M)
    size = 1 + np.abs(parts.MW).max() + np.abs(parts.R).max()
    assert pytest.approx(P, abs=1e-9) == P @ P
    assert Z.shape[1] + B.shape[1] == n and np.linalg.matrix_rank(np.hstack([Z, B])) == n
    assert pytest.approx(0, abs=1e-9) == Z.T @ M @ B  # orthogonal in the metric
    assert pytest.approx(np.eye(Z.shape[1]), abs=1e-9) == Z.T @ M @ Z
    assert pytest.approx(parts.epsilon.T, abs=1e-9 * (1 + np.abs(parts.epsilon).max())) == P @ parts.epsilon.T  # ε^κ is inside
    assert parts.orthogonality < 1e-12
    assert parts.residual < 1e-9  # (3.3)
    (MW_K, MW_L), (Y_K, Y_L) = parts.split(parts.MW), parts.split(parts.Y)
    assert pytest.approx(Y_K + parts.R_K, abs=1e-9 * size) == MW_K
    assert pytest.approx(Y_L + parts.R_L, abs=1e-9 * size) == MW_L


@pytest.mark.parametrize("name", ["sleigh", "rolling_disc", "paraboloid", "grioli", "constant_acceleration"])
def test_soltakhanov_1_10_ideal_reactions_are_lambda_epsilon(name):
    parts = at_start(zoo.ALL[name](), nudge=0.05)
    assert parts.ideal
    assert pytest.approx(parts.epsilon.T @ parts.lam, abs=1e-9 * (1 + np.abs(parts.R).max())) == parts.R_K


def test_soltakhanov_1_8_the_constraints_fix_the_acceleration_along_epsilon():
    """χ = −a0 + A M⁻¹h, whatever the forces: the same with gravity turned off, while R and a differ."""
    disc = zoo.rolling_disc()
    light = replace(disc, system=disc.system.replace(potential=0, forces={disc.system.coordinates[0]: 3}))
    light = replace(light, parameters={p: disc.parameters[p] for p in light.system.parameters})
    one, other = at_start(disc), at_start(light)
    assert np.abs(one.a - other.a).max() > 0.1
    assert one.chi == pytest.approx(other.chi, abs=1e-9)


def test_a_wrong_acceleration_breaks_the_principle():
    parts = at_start(zoo.sleigh())
    wrong = replace(parts, MW=parts.MW + parts.M @ parts.complement[:, 0])
    assert wrong.residual > 1e-2


def test_soltakhanov_1_11_lambda_is_the_same_for_every_force_in_the_complement():
    """The constraints hold with the same Λ whatever R_L is: ideality is an assumption, not a theorem."""
    example = zoo.paraboloid()
    parts = at_start(example)
    extra = parts.M @ parts.complement @ np.array([0.7, -1.3])  # a covector of the complement
    pushed = example.system.replace(forces=dict(zip(example.system.velocities, map(float, extra), strict=True)))
    start = {**dict.fromkeys((*pushed.coordinates, *pushed.velocities), 0.0), **example.start}
    q, v = ([start[s] for s in symbols] for symbols in (pushed.coordinates, pushed.velocities))
    other = principle(pushed).at(0.0, q, v, example.parameters)
    assert other.lam == pytest.approx(parts.lam, rel=1e-9)
    assert np.abs(other.a - parts.a).max() > 0.1


@pytest.mark.parametrize("name", ["skate", "paraboloid", "appell_hamel", "turning_knife_edge", "grioli"])
def test_projector_and_complement_in_symbols_are_those_in_numbers(name):
    example = zoo.ALL[name]()
    system, p = example.system, principle(example.system)
    near = {s: example.start.get(s, 0.0) + 0.1 for s in (*system.coordinates, *system.velocities)}
    start = consistent(system, near, example.parameters)
    values = {**start, **example.parameters, sympy.Symbol("t", real=True): 0.0}
    q, v = ([start[s] for s in symbols] for symbols in (system.coordinates, system.velocities))
    parts = p.at(0.0, q, v, example.parameters)
    number = lambda matrix: np.array(matrix.subs(values).tolist(), dtype=float)
    assert number(p.projector) == pytest.approx(parts.projector, abs=1e-9)
    assert number(p.epsilon) == pytest.approx(parts.epsilon, abs=1e-9)
    assert parts.epsilon @ number(p.complement) == pytest.approx(0, abs=1e-9)


def test_readings_follow_the_orders_of_the_constraints():
    name = lambda *residuals: principle(System([x, y, z], (x.d**2 + y.d**2 + z.d**2) / 2, constraints=residuals)).reading.name
    assert name(x + y * z) == "displacement"
    assert name(x + y * z, z.d - y * x.d) == "velocity"
    assert name(x + y * z, z.dd - y * x.dd) == "acceleration"
    readings = principle(zoo.sleigh().system).readings
    assert [r.applies for r in readings] == [False, True, True]
    assert "'blade' is of order 1" in readings[0].reason


def test_the_text_has_every_number_and_the_objects_of_the_system():
    text = str(principle(zoo.skate().system))
    for number in "4.2 1.2 1.6 1.7 1.8 1.9 1.10 1.11 2.1 2.2 2.5 3.2 3.3 3.4".split():
        assert f"({number})" in text
    assert "ε^blade = ∂f/∂q̇ = (sin(φ), −cos(φ), 0)" in text
    assert "(2.1)   δx = (δ′ẋ, δ′ẏ, δ′φ̇)" in text
    assert "(sin(φ)) δ′ẋ + (−cos(φ)) δ′ẏ = 0" in text
    assert "Gauss" in text and "Suslov" in text and "not here: constraint 'blade' is of order 1" in text
    assert "<pre>" in principle(zoo.skate().system)._repr_html_()


@pytest.mark.parametrize("name", sorted(zoo.ALL))
def test_every_system_of_the_zoo_prints(name):
    text = str(principle(zoo.ALL[name]().system))
    assert text.count("read as") == 3 and "nan" not in text


def test_large_systems_are_sent_to_numbers():
    with pytest.raises(FormNotApplicable, match=r"use principle\.at"):
        _ = principle(zoo.rolling_disc().system).projector
    with pytest.raises(ModelError, match="takes a System"):
        principle("skate")  # type: ignore[arg-type]


def test_massless_coordinates_have_a_decomposition_too():
    """A massless ring y on a rod x = y: M is singular, but not on what the constraint allows."""
    system = System([x, y], x.d**2 / 2, potential=Rational(1, 2) * y**2, constraints=[Constraint(x - y, "rod")])
    parts = principle(system).at(0.0, [1.0, 1.0], [0.0, 0.0])
    assert parts.a == pytest.approx([-1, -1]) and parts.residual < 1e-12 and parts.orthogonality < 1e-12
    assert pytest.approx([-1, 1]) == parts.R


def test_redundant_rows_span_the_subspace_of_the_independent_ones():
    g = parameters("g", positive=True)
    plain = [Constraint(z - x * y, "surface")]
    system = System([x, y, z], (x.d**2 + y.d**2 + z.d**2) / 2, potential=g * z, constraints=plain)
    twice = system.replace(constraints=[*plain, Constraint(3 * z - 3 * x * y, "again")])
    state = (0.0, [1.0, 2.0, 2.0], [0.3, -0.1, 0.5], {g: 9.81})
    one, two = principle(system).at(*state), principle(twice).at(*state)
    assert one.projector == pytest.approx(two.projector, abs=1e-12)
    assert pytest.approx(two.R, rel=1e-9) == one.R and two.complement.shape == (3, 2)


def test_rotating_the_coordinates_leaves_the_lengths_of_the_parts():
    """|R^K| in the metric does not depend on the coordinates: a circle in Cartesian and in oblique ones."""
    u, w = coordinates("u w")
    T = lambda a, b: (a**2 + b**2) / 2
    circle = System([x, y], T(x.d, y.d), potential=y, constraints=[Constraint(x**2 + y**2 - 1, "circle")])
    X, Y = u + w / 2, w
    oblique = System([u, w], T(u.d + w.d / 2, w.d), potential=Y, constraints=[Constraint(X**2 + Y**2 - 1, "circle")])
    one = principle(circle).at(0.0, [0.6, 0.8], [0.8, -0.6])
    two = principle(oblique).at(0.0, [0.6 - 0.4, 0.8], [0.8 + 0.3, -0.6])
    length = lambda parts: parts.R_K @ np.linalg.solve(parts.M, parts.R_K)
    assert length(one) == pytest.approx(length(two), rel=1e-12) and length(one) > 0.01
    assert compile(circle, backend="vm").acceleration(0.0, [0.6, 0.8], [0.8, -0.6])[1] == pytest.approx(one.lam)


def test_rolling_needs_velocities_and_its_rows_are_those_of_the_differentiated_constraint():
    """ε of f0, ḟ0 and f̈0 is one vector (1.7), so all three readings give one complement."""
    phi = coordinates("phi")
    f = x - sin(phi) + y * cos(phi)
    kinetic = (x.d**2 + y.d**2 + phi.d**2) / 2

    def made(residual) -> sympy.Matrix:
        return principle(System([x, y, phi], kinetic, constraints=[Constraint(residual, "f")])).epsilon

    fd = f.diff(x) * x.d + f.diff(y) * y.d + f.diff(phi) * phi.d
    fdd = sum((f.diff(s) * s.dd for s in (x, y, phi)), sympy.Integer(0))
    assert sympy.simplify(made(f) - made(fd)) == sympy.zeros(1, 3) == sympy.simplify(made(f) - made(fdd))
