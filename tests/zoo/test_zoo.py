"""Every system of the zoo is well made: all parameters, a start on its constraints, independent pseudo-velocities."""

import math

import pytest
import sympy
from sympy import Expr, Matrix, preorder_traversal

from appell import zoo
from appell.errors import ModelError
from appell.jets import t, total_derivative
from appell.model import Particle

EXAMPLES = sorted(zoo.ALL)


@pytest.fixture(scope="module")
def examples():
    """Each example made once: construction judges the system, which takes a moment."""
    made = {}
    return lambda name: made.setdefault(name, zoo.ALL[name]())


def at_start(example, expr: Expr) -> float:
    """The expression at t = 0, at the start, with the parameters of the example."""
    system = example.system
    state = {s: sympy.Float(example.start.get(s, s.start)) for s in (*system.coordinates, *system.velocities)}
    value = sympy.sympify(expr).subs({t: 0, **state, **example.parameters})
    assert not value.free_symbols, f"{value} is not a number"
    return float(value)


def velocity_rows(system) -> list[Expr]:
    """Constraints as they bear on velocities: holonomic ones differentiated once, second-order ones not at all."""
    pairs = zip(system.constraints, system.residuals, strict=True)
    return [system.total_derivative(f) if c.order == 0 else f for c, f in pairs if c.order < 2]


@pytest.mark.parametrize("name", EXAMPLES)
def test_has_a_value_for_every_parameter_and_a_start_for_symbols_of_its_own(examples, name):
    example = examples(name)
    assert set(example.parameters) == set(example.system.parameters)
    assert set(example.start) <= {*example.system.coordinates, *example.system.velocities}
    assert example.reference and zoo.ALL[name].__doc__ and example.until > 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_start_satisfies_the_constraints(examples, name):
    example = examples(name)
    system = example.system
    holonomic = [f for c, f in zip(system.constraints, system.residuals, strict=True) if c.order == 0]
    for f in [*holonomic, *velocity_rows(system)]:
        # rounding of the start's own digits: values of size 10 through one addition each
        assert at_start(example, f) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("name", EXAMPLES)
def test_start_of_a_quaternion_is_unit(examples, name):
    example = examples(name)
    for ball in example.system.quaternions:
        assert at_start(example, sum(c**2 for c in ball.coordinates)) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("name", EXAMPLES)
def test_pseudo_velocities_complete_the_constraints_to_a_basis(examples, name):
    example = examples(name)
    if example.pseudo is None:
        pytest.skip("given without pseudo-velocities")
    system = example.system
    rows = [*velocity_rows(system), *example.pseudo.values()]
    assert len(rows) == system.nv
    jacobian = Matrix(rows).jacobian(system.velocities).applyfunc(lambda entry: at_start(example, entry))
    assert abs(jacobian.det()) > 1e-3


def test_table_is_complete():
    tables = {**zoo.ALL, **zoo.FRICTION, **zoo.LARGE, **zoo.ROBOTS, **zoo.WALKERS}
    assert set(zoo.__all__) == {"ALL", "FRICTION", "LARGE", "ROBOTS", "WALKERS", "Example", *tables}
    assert all(getattr(zoo, name) is function for name, function in zoo.ALL.items())


@pytest.mark.parametrize("symbolic", [True, False])
def test_pendulum_recursion_is_the_cartesian_energy(symbolic):
    example = zoo.n_pendulum(3, symbolic=symbolic)
    system = example.system
    of_name = {str(s): s for s in system.parameters}
    x = y = T = V = sympy.Integer(0)
    for k, angle in enumerate(system.coordinates, start=1):
        l, m = of_name.get(f"l{k}", sympy.Integer(1)), of_name.get(f"m{k}", sympy.Integer(1))
        x, y = x + l * sympy.sin(angle), y - l * sympy.cos(angle)
        T += Particle(m, [x, y]).kinetic({})
        V += m * of_name["g"] * y
    assert sympy.expand(system.kinetic - T) == 0
    assert sympy.expand(system.potential - V) == 0


def test_pendulum_grows_linearly():
    """T keeps its shared sums: twice the links, twice the nodes (a flat sum would give four times)."""
    nodes = [len(set(preorder_traversal(zoo.n_pendulum(n).system.kinetic))) for n in (10, 20)]
    assert nodes[1] < 2.1 * nodes[0]


def test_pendulum_without_links_is_refused():
    with pytest.raises(ModelError, match="the number of links n="):
        zoo.n_pendulum(0)


def test_single_link_is_the_pendulum():
    one, simple = zoo.n_pendulum(1), zoo.pendulum()
    assert at_start(one, one.system.kinetic + one.system.potential) == pytest.approx(
        at_start(simple, simple.system.kinetic + simple.system.potential)
    )


def test_both_heavy_tops_start_alike():
    tops = [zoo.heavy_top(), zoo.heavy_top_quaternion()]
    kinetic = [at_start(top, top.system.kinetic) for top in tops]
    potential = [at_start(top, top.system.potential) for top in tops]
    assert kinetic[0] == pytest.approx(kinetic[1], rel=1e-14)
    assert potential[0] == pytest.approx(potential[1], rel=1e-14)


def test_grioli_in_angles_is_grioli_in_rates():
    """(60), with the θ̇ that the source lost, is (59): p q̇ − q ṗ + r(p² + q²) = μ (p² + q²)^{3/2}."""
    example = zoo.grioli()
    psi, theta, phi = example.system.coordinates
    p, q, r = zoo.euler.body_rates(psi, theta, phi)
    mu = next(s for s in example.parameters if str(s) == "mu")
    swing = p**2 + q**2
    f = p * total_derivative(q) - q * total_derivative(p) + r * swing - mu * swing ** sympy.Rational(3, 2)
    point = {psi: 0.3, theta: 1.1, phi: -0.7, psi.d: 0.9, theta.d: -0.4, phi.d: 1.3, mu: 0.8}
    point |= {psi.dd: 0.5, theta.dd: -1.2, phi.dd: 2.0}
    difference = (f - example.system.residuals[0]).subs(point)
    assert float(difference) == pytest.approx(0, abs=1e-14)


def test_four_bar_has_no_dead_point():
    """Grashof with a strict inequality: shortest + longest < the other two, so the loop's rows keep their rank."""
    example = zoo.four_bar()
    lengths = sorted(value for s, value in example.parameters.items() if str(s) in {"l1", "l2", "l3", "d"})
    assert lengths[0] + lengths[3] < lengths[1] + lengths[2]
    assert math.isclose(lengths[0], 1.0)


# --- the reactions that the docstrings state, at the start ------------------------------------------------------------


def reactions_at_start(example) -> list[float]:
    """Λ from d/dt ∂T/∂q̇ − ∂T/∂q = Q + Λ ∂f/∂q^(order) and the constraints differentiated to level 2, by SymPy alone."""
    system = example.system
    T, V, a = system.kinetic, system.potential, system.accelerations
    Lam = sympy.symbols(f"Lam:{len(system.constraints)}", seq=True)
    rows = []
    for c, f in zip(system.constraints, system.residuals, strict=True):
        for _ in range(2 - c.order):
            f = total_derivative(f)
        rows.append(f)
    balance = [
        total_derivative(T.diff(v)) - T.diff(q) + V.diff(q) - Q - Matrix(rows).diff(w).dot(Matrix(Lam))
        for q, v, w, Q in zip(system.coordinates, system.velocities, a, system.forces, strict=True)
    ]
    state = {s: sympy.Float(example.start.get(s, s.start)) for s in (*system.coordinates, *system.velocities)}
    numbers = [e.subs({t: 0, **state, **example.parameters}) for e in (*balance, *rows)]
    solution = sympy.solve(numbers, [*a, *Lam], dict=True)[0]
    return [float(solution[k]) for k in Lam]


g, alpha, theta0 = 9.81, 0.5, 0.3
STATED = {
    "skate": [-2 * (2 * g + (1 - g))],  # φ = 0, α = 1, γ = 1 − g/α
    "sleigh": [-(0.5 * 0.5 / 0.75 - 1)],  # −m (a ω̇ + u ω) with k² ω̇ = −a u ω, u = −1, ω = 1
    "inclined_plane": [2 * g * math.cos(alpha)],
    "sliding_rod": [
        0.75 * g * math.sin(theta0) * math.cos(theta0),
        g - 0.75 * g * math.sin(theta0) ** 2,  # m g + m ÿ, with ÿ = −(l/2) θ̈ sin θ at rest
    ],
    "appell_hamel": [0.5 * g / 1.25 / (2 * 0.25)],
    "constant_speed": [g * 2 / 9],
    "orthogonal_acceleration": [g / 2],
    "rolling_coin": [0.0, 1.0],
    "homogeneous_ball": [0.4 * (0.5 * math.hypot(math.sin(1.2), 0.3) - (math.cos(1.2) + 0.5))],
}


@pytest.mark.parametrize("name", sorted(STATED))
def test_reaction_is_the_one_of_the_docstring(examples, name):
    # both sides are a few operations on numbers of size 10 from a start exact to rounding
    assert reactions_at_start(examples(name)) == pytest.approx(STATED[name], rel=1e-12, abs=1e-12)
