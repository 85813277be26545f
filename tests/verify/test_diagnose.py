"""The constraint doctor on systems whose diagnosis is known from the books."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, exp, sin

from appell import zoo
from appell.errors import ModelError
from appell.jets import coordinates, parameters, partial, t, total_derivative
from appell.model import Between, Constraint, System, Unilateral
from appell.normal_form import normal_form
from appell.normal_form.manifold import find
from appell.simulate.simulate import simulate
from appell.verify.conserved import StateBatch, conserved_momenta
from appell.verify.diagnose import diagnose
from appell.verify.frobenius import affine_rows, flag
from appell.verify.pfaffian_integrals import integrals

x, y, z, theta, left, right = coordinates("x y z theta left right")
r, b = parameters("r b", positive=True)


def point(constraints, coords=(x, y, z), **more) -> System:
    return System(list(coords), sum(s.d**2 for s in coords) / 2, constraints=constraints, **more)


def derived_flag(system: System, rows=None):
    p = np.linspace(0.8, 1.4, len(system.parameters))
    return flag(system, affine_rows(system) if rows is None else rows, find(normal_form(system), p, seed=2), p)


def only(diagnosis, kind: str) -> str:
    (finding,) = diagnosis.of(kind)
    return finding.sentence


# -- Frobenius ---------------------------------------------------------------------------------------------------------

HOLONOMIC = [
    (x.d * y + x * y.d, x * y),  # exact
    (y * x.d - x * y.d, y / x),  # with an integrating factor
    (y * exp(x) * x.d + 2 * exp(x) * y.d, x + 2 * sympy.log(y)),
    (x.d - r * theta.d, x - r * theta),  # a cylinder that rolls in a plane
    (x.d - t * y.d - y, x - t * y),  # rheonomic: d/dt (x − t y)
    (y * z * x.d + x * z * y.d + x * y * z.d - x * y * z, x * y * z * exp(-t)),  # affine, the factor contains time
]


@pytest.mark.parametrize(("residual", "integral"), HOLONOMIC, ids=[str(e) for _, e in HOLONOMIC])
def test_holonomic_in_disguise_and_its_integral(residual, integral):
    system = point([Constraint(residual, "c")], (x, y, z, theta))
    assert derived_flag(system).holonomic
    (found,) = integrals(system, [0])
    # dF and dG are parallel: F is a function of G
    letters = (x, y, z, theta, t)
    grads = [[partial(e, s) for s in letters] for e in (found.function, integral)]
    minors = [grads[0][i] * grads[1][j] - grads[0][j] * grads[1][i] for i in range(5) for j in range(i)]
    places = [dict(zip((*letters, r), point, strict=True)) for point in np.random.default_rng(1).uniform(0.3, 1.7, (4, 6))]
    assert all(abs(m.subs(place)) < 1e-12 for m in minors for place in places) and any(g != 0 for g in grads[0])
    sentence = only(diagnose(system), "integrability")
    assert "constraint 'c' is holonomic in disguise" in sentence and str(found.function) in sentence


@pytest.mark.parametrize(
    ("residual", "ranks"),
    [
        (z.d - y * x.d, (4, 5)),  # the contact form
        (x.d - t * y.d, (4, 5)),  # holonomic at each frozen time, not along the motion
        (x.d * sin(theta) - y.d * cos(theta), (4, 5)),
        (x.d - y, (4, 5)),  # affine: the drift is part of the distribution
    ],
)
def test_nonholonomic_forms_grow_to_everything(residual, ranks):
    system = point([Constraint(residual, "c")], (x, y, z, theta))
    assert derived_flag(system).ranks == ranks
    assert integrals(system, [0]) == []
    assert "constraint 'c' is nonholonomic" in only(diagnose(system), "integrability")


def test_one_degree_of_freedom_is_always_holonomic():
    """Two rows on three coordinates leave one field, and one field is involutive: together holonomic, singly not both."""
    system = point([Constraint(z.d - y * x.d, "contact"), Constraint(y.d - x * x.d, "parabola")])
    assert not derived_flag(system, [0]).holonomic and derived_flag(system).holonomic
    sentences = [f.sentence for f in diagnose(system).of("integrability")]
    assert "'contact' is nonholonomic" in sentences[0] and "together are holonomic in disguise" in sentences[2]


def test_growth_vectors_of_classical_systems():
    """Dimensions without time: sleigh (2, 3); coin (2, 3, 4); disc (3, 4, 5) of 6; snakeboard (3, 4, 5)."""
    growth = lambda name: tuple(n - 1 for n in derived_flag(zoo.ALL[name]().system).ranks)
    assert growth("sleigh") == (2, 3)
    assert growth("rolling_coin") == (2, 3, 4)
    assert growth("rolling_disc") == (3, 4, 5)
    assert growth("snakeboard") == (3, 4, 5)
    assert growth("rolling_ball_on_turntable") == (3, 5)  # with a quaternion


def test_two_wheels_on_an_axle_have_one_integral_between_them():
    """2 b θ = r (right − left) + const, though each rolling constraint alone is nonholonomic."""
    rolling = lambda sign, angle: x.d * cos(theta) + y.d * sin(theta) + sign * b * theta.d - r * angle.d
    cart = point(
        [
            Constraint(x.d * sin(theta) - y.d * cos(theta), "axle"),
            Constraint(rolling(-1, left), "left wheel"),
            Constraint(rolling(1, right), "right wheel"),
        ],
        (x, y, theta, left, right),
        name="cart",
    )
    assert derived_flag(cart).integrals == 1
    (found,) = integrals(cart, [0, 1, 2])
    assert sympy.simplify(found.function / (2 * b * theta + r * left - r * right)).is_number
    together = diagnose(cart).of("integrability")[-1]
    assert together.subject == "cart" and "have 1 integral between them" in together.sentence
    assert "'left wheel', 'right wheel'" in together.sentence
    assert "from a start 4 dimensions" in only(diagnose(cart), "freedom")


def test_holonomic_on_the_surface_of_a_holonomic_constraint_only():
    """ẏ + z x θ̇ is exact where z = 0: judged at states on the constraints, not beside them."""
    system = point([Constraint(z, "floor"), Constraint(y.d + z * x * theta.d, "c")], (x, y, z, theta))
    assert not derived_flag(system, [1]).holonomic
    assert "'c' is holonomic in disguise on the holonomic constraints" in diagnose(system).about("c")[1].sentence


# -- rows --------------------------------------------------------------------------------------------------------------


def test_redundant_row_is_named_with_those_that_it_follows_from():
    system = point([Constraint(x + y, "one"), Constraint(y + z, "two"), Constraint(x + 2 * y + z, "sum")])
    (finding,) = diagnose(system).of("redundancy")
    assert finding.subject == "sum" and "follows from 'one', 'two'" in finding.sentence
    assert "1 degree of freedom" in only(diagnose(system), "freedom")


def test_rank_drop_is_found_where_it_is():
    hamel = diagnose(zoo.appell_hamel().system)
    assert "x.d = 0, y.d = 0, z.d = 0" in only(hamel, "rank")
    cone = diagnose(point([Constraint(x**2 + y**2 - z**2, "cone")]))
    assert "'cone' lose rank" in only(cone, "rank") and "x = 0, y = 0, z = 0" in only(cone, "rank")
    assert not diagnose(zoo.sleigh().system).of("rank")
    assert not diagnose(point([Constraint(x**2 + y**2 + z**2 - 1, "sphere")])).of("rank")


def test_contradiction_by_parameter_values():
    c = parameters("c")
    circle = point([Constraint(x**2 + y**2 - c, "circle")])
    assert "no state that satisfies 'circle'" in only(diagnose(circle, parameters={c: -1}), "contradiction")
    assert not diagnose(circle, parameters={c: 1}).of("contradiction")


def test_natures_are_said():
    sentence = lambda residual, **more: diagnose(point([Constraint(residual, "c", **more)])).about("c")[0].sentence
    assert "holonomic (order 0)" in sentence(x - y)
    assert "linear in the velocities" in sentence(x.d - y * z.d)
    assert "affine in the velocities (free term -y)" in sentence(x.d - y)
    assert "Chetaev" in sentence(x.d**2 - y.d**2 - 1)
    assert "second order, linear" in sentence(x.dd - y)
    assert "Gauss's minimum" in sentence(x.dd**2 + y.dd**2 - 1)
    assert "it contains time" in sentence(x - sin(t))
    assert "direction of its own" in sentence(y, reaction={y: 1, x: sympy.Rational(1, 3)})


def test_second_order_constraint_leaves_fewer_accelerations_than_velocities():
    sentence = only(diagnose(zoo.orthogonal_acceleration().system), "freedom")
    assert "3 degrees of freedom in the velocities" in sentence and "leave 2 free accelerations" in sentence


def test_unilateral_faces_are_listed_with_their_chart():
    walls = [Unilateral(x - 1, "wall", restitution=sympy.Rational(1, 2), chart=x), Between(-1, y, 1, "gap", chart="reflection")]
    findings = diagnose(point(walls)).of("unilateral")
    assert [f.subject for f in findings] == ["wall", "gap:lower", "gap:upper"]
    assert "its chart replaces x" in findings[0].sentence and "without a chart" in findings[1].sentence


# -- what is conserved -------------------------------------------------------------------------------------------------


def momenta(name: str) -> list[str]:
    return [f.sentence for f in diagnose(zoo.ALL[name]().system).of("conserved") if "momentum" in f.sentence]


def test_known_momenta():
    assert momenta("sleigh") == []  # x and y are cyclic, and the blade spoils both
    assert len(momenta("rolling_coin")) == 2  # both rates are constant, though reactions act on φ
    assert "m*x*y.d - m*x.d*y" in momenta("paraboloid")[0]  # about the axis, though x and y are cyclic in T and V only
    assert len(momenta("skate")) == 1 and "phi.d" in momenta("skate")[0]


def test_momenta_are_said_once_where_constraints_make_them_depend_on_each_other():
    """On x + y/3 = 0 the momentum ẏ is −3 ẋ, and 3 ẋ + ẏ is zero: neither is news beside ẋ."""
    said = [f.sentence for f in diagnose(point([Constraint(x + y / 3, "plane")])).of("conserved")]
    moved = {"x.d": "a shift of x", "z.d": "a shift of z", "x*z.d - x.d*z": "a turn of (x, z)"}
    assert said[1:] == [f"the momentum {p} is conserved ({symmetry})" for p, symmetry in moved.items()]


@pytest.mark.parametrize("name", ["rolling_coin", "paraboloid", "heavy_top", "skate", "homogeneous_ball"])
def test_momenta_are_constant_along_motions(name):
    example = zoo.ALL[name]()
    motion = simulate(example.system, start=example.start, parameters=example.parameters, until=3.0)
    batch = StateBatch.of(motion.run, [(motion.t[k], motion.q[k], motion.v[k]) for k in range(len(motion.t))])
    states = find(normal_form(example.system), motion.run.p, seed=5, tries=40)
    found = conserved_momenta(StateBatch.of(motion.run, states), motion.parameters)
    assert found
    for momentum in found:
        assert np.ptp(batch.values(momentum.expression)) < 1e-7 * (1 + np.abs(batch.values(momentum.expression)).max())


def test_central_force_keeps_its_moment_and_a_torque_does_not():
    central = System([x, y], (x.d**2 + y.d**2) / 2, potential=-1 / sympy.sqrt(x**2 + y**2))
    assert any("x*y.d - x.d*y" in f.sentence for f in diagnose(central).of("conserved"))
    driven = central.replace(forces={x: -y / 3, y: x / 3})
    assert all("momentum" not in f.sentence for f in diagnose(driven).of("conserved"))


def test_energy_and_what_changes_it():
    energy = lambda system: diagnose(system).of("conserved")[0].sentence
    assert "the energy T + V is conserved" in energy(zoo.sleigh().system)
    assert "reaction of constraint 'speed' does work" in energy(zoo.constant_speed().system)
    assert "the forces do work" in energy(System([x], x.d**2 / 2, forces={x: -x.d}))
    assert "V contain time" in energy(System([x], x.d**2 / 2, potential=x * sin(t)))
    gyroscopic = System([x, y], (x.d**2 + y.d**2) / 2 + x * y.d + x**2 / 2)
    assert energy(gyroscopic).startswith("H = T2 − T0 + V is conserved")


def test_cyclic_coordinates_name_the_constraints_that_act_on_them():
    said = {f.subject: f.sentence for f in diagnose(zoo.sleigh().system).of("cyclic")}
    assert set(said) == {"x", "y"} and all("'blade'" in s for s in said.values())
    assert "phi" not in said  # T contains it


# -- pseudo-velocities and starts ----------------------------------------------------------------------------------------


def test_suggested_pseudo_velocities_are_gantmachers_for_the_skate():
    assert "x.d*cos(phi) + y.d*sin(phi)" in only(diagnose(zoo.skate().system), "pseudo-velocities")
    assert "at most 1 " in only(diagnose(zoo.skate().system), "pseudo-velocities")


def test_start_is_judged():
    skate = zoo.skate()
    good = diagnose(skate.system, skate.start, skate.parameters)
    assert only(good, "start") == "the start satisfies every constraint"
    phi = skate.system.coordinates[2]
    bad = diagnose(skate.system, {**skate.start, phi: 1.0}, skate.parameters).of("start")
    assert bad[0].subject == "blade" and "ap.consistent" in bad[0].sentence
    with pytest.raises(ModelError, match="no value for the parameter"):
        diagnose(skate.system, skate.start)


def test_a_start_at_a_singular_state_is_said():
    hamel = zoo.appell_hamel()
    still = dict.fromkeys(hamel.start, 0.0)
    assert "it is singular" in diagnose(hamel.system, still, hamel.parameters).of("start")[-1].sentence
    wall = point([Unilateral(x - 1, "wall")])
    assert "wrong side" in only(diagnose(wall, {x: 0}, {}), "start")


@pytest.mark.parametrize("name", sorted(zoo.ALL))
def test_every_system_of_the_zoo_is_diagnosed(name):
    example = zoo.ALL[name]()
    diagnosis = diagnose(example.system, example.start, example.parameters)
    assert not diagnosis.of("contradiction")
    named = {c.name for c in example.system.constraints}
    assert named <= {f.subject for f in diagnosis.of("constraint")}
    assert diagnosis.of("start")[0].sentence == "the start satisfies every constraint"
    assert str(diagnosis).count("\n") == len(diagnosis.findings) and "<table>" in diagnosis._repr_html_()


def test_total_derivative_of_a_holonomic_constraint_is_found_again():
    """d/dt of any F(t, q) = 0 is integrable: the theorem, on a transcendental F."""
    F = x * sin(y) + z**2 * t
    system = point([Constraint(total_derivative(F), "dF")])
    assert derived_flag(system).holonomic
    assert sympy.simplify(integrals(system, [0])[0].function - F) == 0


@pytest.mark.parametrize("steep", [1, 1000])
def test_rank_that_is_lost_at_the_end_of_a_steep_valley(steep):
    """Where x = 1 and y = x², at one point: the search goes along y = x², in whatever units the slopes are."""
    turned = left.d - right.d + (1 - x) * z.d + steep * (y - x**2) * theta.d
    rows = [Constraint(left.d - right.d, "one"), Constraint(turned, "two")]
    sentence = only(diagnose(point(rows, (x, y, z, theta, left, right))), "rank")
    assert "lose rank at some states, for example x = 1, y = 1" in sentence
