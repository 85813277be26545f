"""The classical equations of small robots: a tree in symbols against its own recursions and against systems by hand."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
import sympy
from sympy import Rational, cos, sin
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import load, random_state

import appell as ap
from appell import zoo
from appell.errors import FormNotApplicable, ModelError
from appell.normal_form import normal_form
from appell.normal_form.manifold import find
from appell.tree import ChainLink, Inertia, Joint, TreeSystem, contact_point, loop, place

BODY = Inertia.at_centre(1.5, (0.2, -0.1, 0.3), [[0.4, 0.05, 0.02], [0.05, 0.5, 0.03], [0.02, 0.03, 0.6]])
BALL = Inertia.at_centre(0.8, (0, 0.1, -0.2), np.diag([0.1, 0.2, 0.25]))


@cache
def double_pendulum() -> TreeSystem:
    """Two bars of 1.2 and 0.8 kg, 0.7 and 0.5 m, in the plane x–y."""
    bar = lambda m, l: ChainLink(m, (l / 2, 0, 0), (0.0, m * l**2 / 3, m * l**2 / 3), (l, 0, 0), (0, 0, 1), damping=0.1 * m)
    return ap.Chain([bar(1.2, 0.7), bar(0.8, 0.5)], gravity=(0, -9.81, 0), name="double pendulum", backend="vm").system()


@cache
def cart_pole() -> TreeSystem:
    """A cart with a rotor and a spring to a point beside the tip of its pole; pushed by a parameter."""
    push = ap.parameters("push")
    tree = ap.Tree(
        [
            Joint("cart", "prismatic", axis=(1, 0, 0), body=Inertia.at_centre(2.0, (0, 0, 0), np.eye(3)), armature=0.3),
            Joint("pole", "revolute", "cart", place((0, 0, 0.1)), (0, -1, 0), BALL, armature=0.02, damping=0.05, link="bob"),
        ],
        name="cart-pole",
        backend="vm",
    )
    tip = tree.frame("bob").at((0, 0, -0.5)).position - sympy.Matrix([0.3, 0, 0])
    return tree.system(forces={tree.joint("cart"): push}, potential=2.5 * tip.dot(tip))


@cache
def arm() -> TreeSystem:
    """Three hinges, none parallel, one turned by π/6; a force on the last body."""
    tree = ap.Tree(
        [
            Joint("pan", "revolute", axis=(0, 0, 1), body=BODY),
            Joint("lift", "revolute", "pan", place((0.1, 0, 0.4)), (0, 1, 0), BALL, damping=0.1),
            Joint("twist", "revolute", "lift", place((0.3, 0.4, 0), (0, 0, np.pi / 6)), (1, 0, 0), BODY, 0.2, link="hand"),
        ],
        name="arm",
        backend="vm",
    )
    return tree.system(loads=[((1.0, -2.0, 0.5), tree.frame("hand").at((0.1, 0, 0)).velocity)])


@cache
def floating_hinge() -> TreeSystem:
    joints = [Joint("root", "floating", body=BODY), Joint("tail", "revolute", "root", place((0, 0.2, 0)), (0, 1, 0), BALL)]
    return ap.Tree(joints, name="floating base with a hinge", backend="vm").system()


@cache
def ball_joint() -> TreeSystem:
    """A ball joint behind a turntable, held at a height by a row of its frame."""
    tree = ap.Tree(
        [
            Joint("table", "revolute", axis=(0, 0, 1), body=BALL, armature=0.1),
            Joint("ball", "spherical", "table", place((0.3, 0, 0)), body=BODY, damping=0.2, armature=0.1, link="cup"),
        ],
        name="ball joint",
        backend="vm",
    )
    z = tree.frame("cup").at((0.3, 0, 0)).position[2]
    return tree.system([ap.Constraint(z - 0.1, "height")])


@cache
def differential_drive() -> TreeSystem:
    return zoo.ROBOTS["differential_drive"]().system


@cache
def four_bar(kind: str = "pin") -> TreeSystem:
    tree = zoo.ROBOTS["four_bar_urdf"]().system.tree
    return tree.system(loop(tree.frame("coupler_tip"), tree.frame("rocker_tip"), kind, name="loop"))


TREES: dict[str, Callable[[], TreeSystem]] = {
    make.__name__: make for make in (double_pendulum, cart_pole, arm, floating_hinge, ball_joint, differential_drive, four_bar)
}


@pytest.mark.parametrize("name", TREES)
def test_every_form_agrees_with_the_recursions_of_the_tree(name):
    """Accelerations and forces of the constraints; the judge is the normal form of the tree, not of its symbols."""
    table = ap.agree(TREES[name](), states=2)
    assert table.within(1e-10), str(table)
    assert {"lagrange", "gauss", "appell"} <= {line.form for line in table if line.applies}


@pytest.mark.parametrize("name", ["cart_pole", "ball_joint", "differential_drive", "four_bar"])
def test_accelerations_and_multipliers_at_random_states(name):
    system = TREES[name]()
    values = {p: 0.3 + 0.2 * k for k, p in enumerate(system.parameters)}
    run, equations = ap.compile(system, values, backend="vm"), ap.forms.lagrange(system)
    states = find(normal_form(system), np.array(list(values.values())), seed=3, tries=3)
    assert states
    for state in states:
        a, lam = run.acceleration(*state)
        own, own_lam = equations.acceleration(*state, values)
        assert own == pytest.approx(a, rel=1e-10, abs=1e-10)
        assert own_lam == pytest.approx(lam, rel=1e-10, abs=1e-10)


def test_the_symbols_are_those_of_the_tree():
    for make in TREES.values():
        tree = make()
        system = tree.symbolic()
        assert type(system) is ap.System and system is tree.symbolic() and system.symbolic() is system
        assert (system.name, system.coordinates, system.velocities) == (tree.name, tree.coordinates, tree.velocities)
        assert [c.name for c in system.constraints] == [c.name for c in tree.constraints]
        assert system.parameters == tree.parameters and len(system.quaternions) == len(tree.quaternions)


def test_a_double_pendulum_has_the_equations_written_by_hand():
    """As equations of the same symbols, to every digit, and T no longer than a person writes it."""
    q1, q2 = ap.coordinates("joint_1:3")
    m, l, g = (Rational(6, 5), Rational(4, 5)), (Rational(7, 10), Rational(1, 2)), Rational(981, 100)
    at = lambda n, angle: [n * cos(angle), n * sin(angle)]
    elbow, second = at(l[0], q1), at(l[1] / 2, q1 + q2)
    centres = [at(l[0] / 2, q1), [a + b for a, b in zip(elbow, second, strict=True)]]
    bodies = [ap.RigidBody(m[k], m[k] * l[k] ** 2 / 12, centres[k], (q1, q1 + q2)[k]) for k in range(2)]
    by_hand = ap.System(
        coordinates=[q1, q2],
        bodies=bodies,
        potential=sum(m[k] * g * centres[k][1] for k in range(2)),
        forces={q1: -m[0] / 10 * q1.d, q2: -m[1] / 10 * q2.d},
    )
    mine, theirs = ap.forms.lagrange(double_pendulum()), ap.forms.lagrange(by_hand)
    assert [sympy.simplify(a - b) for a, b in zip(mine.residuals, theirs.residuals, strict=True)] == [0, 0]
    T, V = double_pendulum().symbolic().kinetic, double_pendulum().symbolic().potential
    assert len(T.args) == 5 and V.atoms(sin) == {sin(q1), sin(q1 + q2)}


def test_letters_for_masses_and_lengths():
    """A tree with parameters is a System in them; with numbers put in, it moves as the tree of these numbers."""
    M, m, l, J, g, c = ap.parameters("M m l J g c", positive=True)
    cart = Inertia.at_centre(M, (0, 0, 0), np.zeros((3, 3)))
    pole = Inertia.at_centre(m, (0, 0, -l), np.diag([J, J, 0]))
    joints = [
        Joint("cart", "prismatic", axis=(1, 0, 0), body=cart, damping=c),
        Joint("pole", "revolute", "cart", axis=(0, -1, 0), body=pole, armature=J, link="bob"),
    ]
    tree = ap.Tree(joints, gravity=(0, 0, -g), name="cart-pole", backend="vm")
    x, phi = tree.joint("cart"), tree.joint("pole")
    line = ap.Constraint(tree.frame("bob").at((0, 0, -2 * l)).velocity[0], "held")
    system = tree.system([line])
    by_hand = (M + m) * x.d**2 / 2 + m * l * cos(phi) * x.d * phi.d + (m * l**2 + 2 * J) * phi.d**2 / 2
    assert sympy.expand(system.kinetic - by_hand) == 0
    assert (system.potential, system.forces[0]) == (-m * g * l * cos(phi), -c * x.d)
    assert sympy.expand(system.residuals[0] - (x.d + 2 * l * cos(phi) * phi.d)) == 0
    assert ap.agree(system, states=1, forms=["lagrange", "appell", "maggi"]).within(1e-10)
    values = {M: 2.0, m: 0.7, l: 0.4, J: 0.05, g: 9.81, c: 0.2}
    numbers = tree.with_parameters(values)
    line = ap.Constraint(numbers.frame("bob").at((0, 0, -0.8)).velocity[0], "held")
    state = 0.0, np.array([0.1, 0.7]), np.array([-0.8 * np.cos(0.7), 1.0])
    mine = ap.forms.lagrange(system).acceleration(*state, values)
    theirs = ap.compile(numbers.system([line]), backend="vm").acceleration(*state)
    for a, b in zip(mine, theirs, strict=True):
        assert a == pytest.approx(b, abs=1e-10)
    tilted = ap.Tree([Joint("tilted", axis=(sin(c), 0, cos(c)), body=pole)])
    with pytest.raises(FormNotApplicable, match="axis of joint 'tilted' has symbols"):
        tilted.system()


def test_wheels_roll_as_the_books_write_it():
    """r ω = v ∓ b ψ̇ and no slipping across, for r = 0.1 m and 2b = 0.5 m: no root, no angle is left."""
    tree = differential_drive().tree
    forward, across, turning = tree.speeds("heading")
    left, right = tree.joint("left").d, tree.joint("right").d
    rows = {c.name: c.residual for c in differential_drive().symbolic().constraints}
    assert rows["left: along"] == forward - turning / 4 - left / 10
    assert rows["right: along"] == forward + turning / 4 - right / 10
    assert rows["left: across"] == across


@pytest.mark.parametrize(
    "urdf", ["double_pendulum_description/urdf/double_pendulum.urdf", "finger_edu_description/robots/finger_edu.urdf"]
)
def test_mass_matrix_and_bias_are_those_of_pinocchio(urdf):
    peer = load(urdf, floating=False, backend="vm")
    system = peer.tree.system()
    equations = ap.forms.lagrange(system)
    K, b = equations.coefficients
    symbols = [*system.coordinates, *system.velocities]
    both = sympy.lambdify(symbols, [K, b], "numpy", cse=True)
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v, _ = random_state(peer.tree, rng)
        M, minus_bias = both(*q, *v)
        position = peer.configuration(q)
        mass = pin.crba(peer.model, peer.data, position)
        assert np.triu(M - mass) == pytest.approx(np.zeros_like(mass), abs=1e-11)
        assert -minus_bias.ravel() == pytest.approx(pin.nonLinearEffects(peer.model, peer.data, position, v), abs=1e-11)


def test_axes_in_any_direction():
    """Many odd constant angles: their cosines become rational points of the circle, and T keeps those of the joints."""
    odd = lambda k: place((0.1, -0.2, 0.3 * k), (0.3 + k, 0.2, -0.5))
    joints = [Joint(f"j{k}", parent=f"j{k - 1}" if k else None, placement=odd(k), axis=(1, 2, 3), body=BODY) for k in range(3)]
    system = ap.Tree(joints, gravity=(1, 2, -9), backend="vm").system()
    assert all(c.free_symbols for c in system.symbolic().kinetic.atoms(cos, sin))
    assert ap.agree(system, states=1, forms=["lagrange", "gauss"]).within(1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed):
    """Any placements, axes, rotors; Lagrange's route or that of Gauss against articulated bodies."""
    tree = random_tree(2, seed, kinds=("revolute", "prismatic", "spherical", "continuous"))
    equations = (ap.forms.gauss if seed % 2 else ap.forms.lagrange)(tree.system())
    q, v, _ = random_state(tree, np.random.default_rng(seed))
    a = tree.forward_dynamics(q, v, np.zeros(tree.nv))
    assert equations.acceleration(0.0, q, v)[0] == pytest.approx(a, rel=1e-11, abs=1e-11 * (1 + np.abs(a).max()))


def test_the_judge_is_the_tree():
    """Symbols that forget the damping agree among themselves, not with the recursions."""

    class Forgetful(TreeSystem):
        def symbolic(self) -> ap.System:
            return super().symbolic().replace(forces={})

    table = ap.agree(Forgetful(double_pendulum().tree), states=1, forms=["lagrange", "nielsen"])
    assert not table.ok and table["lagrange"].a < 1e-40 and table["lagrange"].judge_a > 1e-3


def test_rows_that_the_joints_keep_are_named():
    system = four_bar("revolute")
    found = ap.diagnose(system)
    assert [f.subject for f in found.of("redundancy")] == ["loop: z", "loop: z·x", "loop: z·y"]
    assert "the joints keep it" in found.about("loop: z")[0].sentence
    assert [c.name for c in system.symbolic().constraints] == ["loop: x", "loop: y"]
    assert found.of("freedom")[0].sentence.startswith("1 degree of freedom")


def test_the_doctor_reads_a_wheeled_robot():
    example = zoo.ROBOTS["differential_drive"]()
    found = ap.diagnose(example.system, example.start, example.parameters)
    assert "have 1 integral between them" in found.of("integrability")[-1].sentence
    assert "2 degrees of freedom" in found.of("freedom")[0].sentence and "4 dimensions" in found.of("freedom")[0].sentence
    assert found.of("start")[0].sentence == "the start satisfies every constraint"


def test_principles_are_printed_for_trees():
    assert "Gauss" in str(ap.principle(differential_drive()))


def test_stops_survive():
    """Routh's equations of a pendulum between two stops, and a foot that is written out of its frame."""
    pendulum = ap.Tree([Joint("phi", axis=(0, 1, 0), body=Inertia.at_centre(1, (0, 0, -1), np.zeros((3, 3))))], backend="vm")
    phi = pendulum.joint("phi")
    stop = lambda angle: ap.Between(-angle, phi, angle, "stop", restitution=0.5)
    by_hand = ap.System([phi], phi.d**2 / 2, -Rational(981, 100) * cos(phi), constraints=[stop(Rational(1, 2))])
    mine, theirs = (ap.forms.routh(system) for system in (pendulum.system([stop(0.5)]), by_hand))
    assert mine.equations == theirs.equations and mine.N == theirs.N
    foot = contact_point(pendulum.frame("phi"), (0, 0, -1.5), height=-1.2, one_sided=True, restitution=0.2, name="foot")
    (face,) = pendulum.system(foot).symbolic().unilateral
    assert face.function == Rational(6, 5) - 3 * cos(phi) / 2 and (face.name, face.restitution) == ("foot", 0.2)


def test_reactions_of_their_own_and_second_order_rows():
    """A servo row whose reaction acts elsewhere, and an acceleration of a frame."""
    tree = arm().tree
    pan, lift = tree.joint("pan"), tree.joint("lift")
    z = tree.frame("hand").position[2]
    rows = [ap.Constraint(z.dd - 0.3, "lifted"), ap.Constraint(pan.d - 0.5, "servo", reaction={pan: 1, lift: z})]
    system = tree.system(rows)
    q, v = np.array([0.3, -0.4, 0.7]), np.array([0.5, 0.2, -0.6])
    a, lam = ap.compile(system, backend="vm").acceleration(0.0, q, v)
    own, own_lam = ap.forms.lagrange(system).acceleration(0.0, q, v)
    assert own == pytest.approx(a, abs=1e-10) and own_lam == pytest.approx(lam, abs=1e-10)


def test_what_cannot_be_written_says_why(monkeypatch):
    links = [ChainLink(1.0, (0.1, 0, 0), (0.1, 0.1, 0.1), (0.2, 0, 0))] * 13
    with pytest.raises(FormNotApplicable, match=r"13 velocities.*fill books.*tree\.equations\(\)"):
        ap.forms.lagrange(ap.Chain(links, backend="vm").system())
    monkeypatch.setattr("appell.tree.symbols.exact_scalars.POLYNOMIAL_TERMS", 10)
    with pytest.raises(FormNotApplicable, match=r"terms.*forward_dynamics"):
        ap.agree(arm().replace(name="long arm"))
    monkeypatch.undo()
    table = ap.Tree([Joint("table", "planar", body=BODY, armature=0.1)], backend="vm").system()
    with pytest.raises(FormNotApplicable, match="'table' is planar and has an armature"):
        ap.forms.lagrange(table)
    with pytest.raises(ModelError, match="moves nothing"):
        ap.Tree([Joint("idle", "revolute")], backend="vm").system()


def test_a_force_on_a_tree_may_jump():
    """The place is located as in the system that is written in symbols."""
    tree = double_pendulum().tree
    system = tree.system() if hasattr(tree, "system") else tree
    first, written = system.coordinates[0], system.symbolic()
    push = sympy.Piecewise((3, first < -0.5), (0, True))
    damping = dict(written._given["forces"])
    in_symbols = written.replace(forces={**damping, first.d: damping[first.d] + push})
    start = {first: 0.1, first.d: 3.0}
    one, two = (ap.simulate(s, start, 1.0, rtol=1e-10) for s in (system.replace(forces={first: push}), in_symbols))
    still = ap.simulate(system, start, 1.0, rtol=1e-10)
    assert one.ok and two.ok and one.q[-1] == pytest.approx(two.q[-1], abs=1e-8)
    assert np.abs(one.q[-1] - still.q[-1]).max() > 0.1


def test_an_ensemble_of_trees_refuses_a_ridge_inside_one_gap():
    system = double_pendulum()
    first, second = system.coordinates
    ridge = system.replace(constraints=[ap.Unilateral(2 - first - sympy.Abs(second), "roof")])
    with pytest.raises(ModelError, match=r"'roof' of a tree has a ridge"):
        ap.simulate_many(ridge, {first: [0.1, 0.2]}, 0.1, {}, backend="vm")
    round_one = system.replace(constraints=[ap.Unilateral(2 - sympy.sqrt(first**2 + sympy.Max(second - 1, 0) ** 2), "capsule")])
    assert ap.simulate_many(round_one, {first: [0.1, 0.2]}, 0.1, {}, backend="vm").ok
