"""Everything that a System refuses, with a message that names the symbol and the remedy."""

from __future__ import annotations

import pytest
import sympy
from sympy import Function, Matrix, Symbol, besselj, cos, exp, gamma, sin, sqrt, symbols, zeta

from appell.errors import AppellError, ConstraintError, ModelError
from appell.jets import coordinates, parameters, speeds, t
from appell.model import Constraint, Force, Particle, RigidBody, System, Torque, Unilateral, euler, quaternion
from appell.model.values import checked

x, y, phi = coordinates("x y phi")
u, w = speeds("u w")
m, l, g = parameters("m l g", positive=True)
T = m * (x.d**2 + y.d**2) / 2


def refused(message: str, *args, error=ModelError, **kwargs):
    with pytest.raises(error, match=message):
        System(*args, **kwargs)


# --- symbols ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["kinetic", "potential", "forces", "constraints"])
def test_unknown_symbol(where):
    k = Symbol("k", positive=True)
    value = {"kinetic": k * x.d**2, "potential": k * x, "forces": {x: k}, "constraints": [x.d - k * y.d]}[where]
    refused(
        r"unknown symbol 'k'; make it with ap\.parameters\('k'\)",
        [x, y],
        **{"kinetic": T, **{where: value}},
    )


def test_another_t_is_not_time():
    refused(r"unknown symbol 't'; time is ap\.t", [x, y], T, Symbol("t") * x)


def test_coordinate_missing_from_the_list():
    refused(r"kinetic contains y\.d, but y is missing from coordinates=", [x], T)
    refused(r"potential contains phi, but phi is missing", [x, y], T, phi)
    refused(r"constraint 'c' contains phi\.d, but phi is missing", [x, y], T, constraints=[Constraint(phi.d - x.d, "c")])
    refused(r"contains u, but u is missing from speeds=", [x, y], T + u**2)


def test_functions_of_time_are_refused_with_the_way_out():
    z = Function("z")(t)
    refused(r"functions of time are not used here.*ap\.from_sympy", [x, y], T + z.diff(t) ** 2)


def test_two_symbols_of_one_name():
    other = parameters("m")  # without the assumption
    refused("two different symbols are called 'm'", [x, y], T, other * x)
    refused("two different symbols are called 'x'", [x, y], T, parameters("x") * y)


def test_derivatives_above_what_is_allowed():
    refused(r"kinetic contains x\.dd; the highest derivative allowed", [x, y], T + x.dd**2)
    refused(r"potential contains the velocity x\.d.*forces=", [x, y], T, x.d)
    refused(r"the force for x contains x\.dd", [x, y], T, forces={x: x.dd})
    with pytest.raises(ConstraintError, match=r"contains x\.ddd"):
        Constraint(x.dd.d - 1, name="jerk")


@pytest.mark.parametrize("bad", [sympy.nan, sympy.oo, sympy.zoo, sympy.I * x, x / 0])
def test_values_that_are_not_finite_or_real(bad):
    refused("not a finite real number", [x, y], T, bad)


@pytest.mark.parametrize("bad", ["m*x", None, Matrix([x]), [x]])
def test_what_is_no_expression(bad):
    refused("potential must be", [x, y], T, bad)
    refused("kinetic must be", [x, y], bad)


def test_unknown_function():
    refused(r"'gamma'.*known functions", [x, y], T, sympy.gamma(x))


# --- coordinates and speeds -------------------------------------------------------------------------------------------


def test_coordinates_themselves():
    refused("at least one coordinate", [])
    refused(r"x\.d is a velocity; list the coordinate", [x.d], m * x.d**2)
    refused("the coordinate x is listed twice", [x, x], m * x.d**2)
    refused("symbols made by ap.coordinates; z is not one", [Symbol("z")], 0)
    refused("m is not one", [m], 0)
    ball = quaternion("ball")
    refused("quaternion 'ball' is incomplete: ball_w is missing", list(ball.coordinates[:3]), 0)


def test_speeds_and_kinematics():
    one = {x: u, y: w}
    refused(r"speeds= takes symbols made by ap\.speeds", [x, y], T, speeds=[x, w], kinematics=one)
    refused("a speed is listed twice", [x, y], T, speeds=[u, u], kinematics=one)
    refused(r"kinematics= names phi, which is not a coordinate", [x, y], T, speeds=[u, w], kinematics={**one, phi: u})
    refused(r"the speed w moves no coordinate", [x, y], T, speeds=[u, w], kinematics={x: u, y: u})
    refused(r"affine in the speeds", [x, y], T, speeds=[u, w], kinematics={x: u**2, y: w})
    refused(r"the rate of x contains k", [x, y], T, speeds=[u, w], kinematics={x: Symbol("k") * u, y: w})


def test_kinematics_that_hide_a_nonholonomic_constraint():
    refused(
        r"kinematics= hide a nonholonomic constraint.*x\.d together with the constraint.*bodies=",
        [x, y, phi],
        m * u**2 / 2 + m * w**2,
        speeds=[u, w],
        kinematics={x: u * cos(phi), y: u * sin(phi), phi: w},
    )


# --- energies and forces ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [x.d**3, x.d**4, sqrt(1 + x.d**2), cos(y.d)])
def test_kinetic_energy_of_degree_above_two(extra):
    refused(r"degree at most 2 in the velocities.*forces=", [x, y], T + extra)


def test_kinetic_energy_that_only_looks_so():
    hidden = ((x.d + 1) ** 3 - x.d**3 - 3 * x.d**2) / 2  # = (3 x.d + 1)/2
    assert System([x, y], T + hidden).nv == 2


def test_missing_mass_is_named():
    refused(r"kinetic energy is zero for a motion in y\.d that the constraints allow.*kinetic= or bodies=", [x, y], m * x.d**2)
    refused(r"negative for a motion in y\.d", [x, y], m * (x.d**2 - y.d**2) / 2)
    refused(r"zero for a motion in x\.d, y\.d", [x, y], m * (x.d + y.d) ** 2)
    refused("kinetic energy is zero", [x, y], 0)


def test_massless_coordinate_is_fine_when_a_constraint_moves_it():
    assert System([x, y], m * x.d**2, constraints=[y - x**2]).nv == 2
    refused("zero for a motion in y", [x, y, phi], m * (x.d**2 + phi.d**2), constraints=[phi - x])


def test_force_for_something_else():
    refused(r"forces= names phi, which is not a coordinate", [x, y], T, forces={phi: 1})
    refused(r"forces= names m, which is not", [x, y], T, forces={m: 1})
    refused(r"forces= names z, which is not a coordinate of the system; its velocities are x\.d, y\.d", [x, y], T,
            forces={"z": 1})  # fmt: skip
    refused(r"forces= maps coordinates", [x, y], T, forces=[1, 2])
    ball = quaternion("ball")
    refused(r"whose rate is made of speeds; name one of the speeds", [ball], sum(r**2 for r in ball.rates),
            forces={ball.coordinates[0]: 1})  # fmt: skip


def test_force_by_coordinate_and_by_velocity_add_up():
    assert System([x, y], T, forces={x: 1, x.d: y}).forces == (1 + y, 0)
    assert System([x, y], T, forces={"x": 1, "y.d": x}).forces == (1, x)


def test_energies_without_a_value():
    refused("no finite value at any", [x, y], T, constraints=[Constraint(x.d * sqrt(-1 - x**2 * m) - y.d)])


# --- constraints ------------------------------------------------------------------------------------------------------


def test_constraint_without_a_coordinate():
    for f in (m - l, t - 1, m * t):
        with pytest.raises(ConstraintError, match="contains no coordinate"):
            Constraint(f, name="c")


@pytest.mark.parametrize("f", [0, x - x, sin(x) ** 2 + cos(x) ** 2 - 1, (x.d + y.d) ** 2 - x.d**2 - 2 * x.d * y.d - y.d**2])
def test_identically_satisfied(f):
    with pytest.raises(ConstraintError, match="satisfied identically"):
        System([x, y], T, constraints=[Constraint(f, name="empty")])


def test_contradictory_alone():
    with pytest.raises(ConstraintError, match="'never' is contradictory"):
        Constraint(x**2 + 1, name="never")
    with pytest.raises(ConstraintError, match="contradictory"):
        Constraint(exp(x.d), name="never")
    for f in (t - sin(x) ** 2 - cos(x) ** 2, (x.d + 1) ** 2 - x.d**2 - 2 * x.d):  # t − 1 and 1 in disguise
        refused("'later' is contradictory", [x, y], T, constraints=[Constraint(f, name="later")], error=ConstraintError)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (x**2 + y**2 - 1, x**2 + y**2 - 4),
        (x.d - 1, x.d - 2),
        (x - y, x.d - y.d - 1),
        (x.dd - 1, x.d - 2 * t),
        (x.dd + y.dd, 2 * x.dd + 2 * y.dd - 1),
    ],
)
def test_contradictory_together(one, other):
    rows = [Constraint(one, name="first"), Constraint(other, name="second")]
    refused("constraint 'second' contradicts 'first'", [x, y], T, constraints=rows, error=ConstraintError)


@pytest.mark.parametrize(
    "rows",
    [
        [x**2 + y**2 - 1, sqrt(x**2 + y**2) - 1],
        [x.d * sin(y) - y.d * cos(y), (2 + x**2) * (x.d * sin(y) - y.d * cos(y))],
        [x.d**2 + y.d**2 - 1, (x.d**2 + y.d**2) ** 2 - 1],
        [x - y**2, x.d - 2 * y * y.d],
        [x.d - y.d * x, x.dd - y.dd * x - y.d * x.d],
    ],
    ids=["root", "factor", "power", "differentiated", "differentiated twice"],
)
def test_redundant_is_not_contradictory(rows):
    assert len(System([x, y], T, constraints=rows).constraints) == 2


def test_names_of_constraints():
    rows = [Constraint(x.d - y.d, name="c"), Constraint(x - 1, name="c")]
    refused("two constraints are called 'c'", [x, y], T, constraints=rows)
    twice = System([x, y], T, constraints=[x.d - y.d, x.d - y.d])
    assert len({c.name for c in twice.constraints}) == 2
    with pytest.raises(ModelError, match=r"'blade' is not a constraint of .*it has"):
        twice.constraint("blade")


def test_reaction_directions():
    with pytest.raises(ConstraintError, match="must map velocities"):
        Constraint(x.d, name="c", reaction=3)
    refused(r"reaction of constraint 'c' is zero", [x, y], T, constraints=[Constraint(x.d, name="c", reaction={x: 0})])
    refused(r"reaction of constraint 'c' names phi", [x, y], T, constraints=[Constraint(x.d, name="c", reaction={phi: 1})])


def test_order_and_linearity_are_read_off():
    cases = {
        x - y: (0, True), x**2 + y**2 - 1: (0, False), x.d - y * phi.d: (1, True), x.d**2 - y.d: (1, False),
        x * y.dd + x.d**2: (2, True), x.dd**2 - 1: (2, False), (x.d + 1) ** 2 - x.d**2 - y: (1, True),
    }  # fmt: skip
    for f, (order, linear) in cases.items():
        c = Constraint(f)
        assert (c.order, c.linear) == (order, linear) or (order == 0 and c.order == 0), f


def test_equations_are_constraints():
    assert Constraint(sympy.Eq(x.d, y)).residual == x.d - y
    with pytest.raises(ConstraintError, match="satisfied identically"):
        Constraint(sympy.Eq(x, x))


def test_constraint_that_can_never_hold_as_an_equation():
    with pytest.raises(AppellError, match=r"contradictory|contains no coordinate|scalar expression"):
        Constraint(sympy.Eq(symbols("one", positive=True), -1))


# --- bodies and loads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inertia", "orientation", "reason"),
    [
        ([1, 1, 5], phi, "1, 1, 5 kg m², break the triangle inequality"),
        ([[2, 2, 0], [2, 1, 0], [0, 0, 1]], phi, "one of them negative"),
        ([1, 1, 1], Matrix([[cos(phi), sin(phi), 0], [sin(phi), cos(phi), 0], [0, 0, 1]]), "not a rotation"),
        ([1, 1, 1], sympy.diag(1, 1, -1), "not a rotation"),
    ],
)
def test_bodies_that_there_cannot_be(inertia, orientation, reason):
    refused(reason, [x, y, phi], T, bodies=[RigidBody(1, inertia, [x, y], orientation)])


@pytest.mark.parametrize(("mass", "inertia"), [(1, 2), (1, [0, 0, 2]), (1, [1, 1, 2]), (1, [1, 1, 0]), (-0.1, [-1, -1, -1])])
def test_plates_rods_plane_bodies_and_holes_are_bodies(mass, inertia):
    body = RigidBody(mass, inertia, [x, y], phi)
    assert System([x, y, phi], T + 2 * phi.d**2, bodies=[body]).bodies == (body,)


def test_bodies_and_loads():
    body = RigidBody(m, m * l**2, [x, y], phi)
    refused("bodies= takes Particle and RigidBody", [x, y], T, bodies=[T])
    refused("loads= takes Force, Torque, Spring and Damper", [x, y], T, loads=[T])
    with pytest.raises(ModelError, match="1, 2 or 3 entries"):
        Particle(m, [x, y, 0, 0])
    with pytest.raises(ModelError, match="not symmetric"):
        RigidBody(m, Matrix([[1, 2, 0], [0, 1, 0], [0, 0, 1]]), [x], phi)
    with pytest.raises(ModelError, match="three principal moments"):
        RigidBody(m, [1, 2], [x], phi)
    with pytest.raises(ModelError, match="3 by 3"):
        RigidBody(m, 1, [x], Matrix([[1, 0], [0, 1]]))
    with pytest.raises(ModelError, match="acts on a RigidBody"):
        Torque(1, on=Particle(m, [x]))
    with pytest.raises(ModelError, match="'space' or 'body'"):
        Torque(1, on=body, frame="moon")
    with pytest.raises(ModelError, match="two turns in a row"):
        euler([x, y, phi], "zzx")
    with pytest.raises(ModelError, match="cannot be the name of a quaternion"):
        quaternion("2 balls")
    with pytest.raises(ModelError, match="position"):
        Particle(m, ["x", "y"])
    refused(r"phi is missing from coordinates=", [x, y], bodies=[body])


def test_loads_are_read_like_everything_else():
    """A symbol that drops out of Q is still a mistake: the load would be ignored silently."""
    refused(r"phi is missing from coordinates=", [x, y], T, loads=[Force([1, 0], at=[phi, 0])])
    refused(r"unknown symbol 'k'", [x, y], T, loads=[Force([Symbol("k"), 0], at=[0, y])])
    refused(r"x\.dd", [x, y], T, loads=[Force([x.dd, 0], at=[0, y])])


def test_a_reaction_may_be_listed_by_velocity():
    """One entry for each velocity says the same as a mapping."""
    x, y = coordinates("x y")
    by_name = System([x, y], x.d**2 + y.d**2, constraints=[Constraint(x - y, reaction={x.d: 2, y.d: x})])
    listed = System([x, y], x.d**2 + y.d**2, constraints=[Constraint(x - y, reaction=[2, x])])
    assert by_name.reactions == listed.reactions
    with pytest.raises(ModelError, match="1 entries for 2 velocities"):
        System([x, y], x.d**2 + y.d**2, constraints=[Constraint(x - y, reaction=[2])])


@pytest.mark.parametrize("f, what", [(gamma(x + 2), "polygamma"), (besselj(0, x), "besselj"), (zeta(x) - 2, "zeta")])
def test_functions_of_a_wall_that_have_no_numbers(f, what):
    refused(rf"unilateral constraint 'wall' or its gradient contains {what}.*elementary", [x, y], T,
            constraints=[Unilateral(f, "wall")], error=ConstraintError)  # fmt: skip


def test_strange_input_is_refused_with_a_sentence():
    for call, why in (
        (lambda: System(None, T), "coordinates= is missing"),
        (lambda: coordinates(None), "given as text"),
        (lambda: coordinates(5), "given as text"),
        (lambda: parameters("k", positiv=True), "no assumption 'positiv'"),
    ):
        with pytest.raises(ModelError, match=why):
            call()
    assert System([x, y], T, constraints=None, bodies=None, loads=None).constraints == ()


@pytest.mark.parametrize(
    ("assumption", "allowed", "denied"),
    [("even", 4, 3), ("odd", -3, 2), ("noninteger", 0.5, 2), ("prime", 7, 9), ("composite", 9, 7)],
)
def test_values_satisfy_the_assumptions_by_which_sympy_simplifies(assumption: str, allowed: float, denied: float) -> None:
    n = parameters("n", **{assumption: True})
    if assumption == "even":  # a value of 3 had the force of an even power
        assert l * (-1) ** n == l
    assert checked(n, allowed) == allowed
    with pytest.raises(ModelError, match=f"'n' was declared {assumption}, but its value is"):
        checked(n, denied)


@pytest.mark.parametrize("given", [{"imaginary": True}, {"real": False, "positive": True}, {"even": True, "odd": True}])
def test_assumptions_that_exclude_each_other(given: dict[str, bool]) -> None:
    with pytest.raises(ModelError, match="no number satisfies"):
        parameters("n", **given)
