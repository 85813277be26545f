"""d/dt of the momentum of a symmetry under nonholonomic constraints: published equations, and numbers along motions."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from benchmarks.page_problems import PROBLEMS
from sympy import cos, sin, tan

import appell as ap
from appell.forms.engine.evaluation import FLOAT, Tape
from appell.jets import total_derivative


def snakeboard_on_its_length():
    """The snakeboard of Bloch, Krishnaprasad, Marsden and Murray: J + J_r + 2 J_w = m l²."""
    example = ap.zoo.snakeboard()
    by_name = {str(p): p for p in example.system.parameters}
    m, l, J_r, J_w = (by_name[n] for n in ("m", "l", "J_r", "J_w"))
    board = m * l**2 - J_r - 2 * J_w
    system = example.system.replace(kinetic=example.system.kinetic.subs(by_name["J"], board), potential=0)
    return system, l, J_r


def test_the_snakeboard_has_the_published_equation():
    """ṗ = 2 J_r cos²φ φ̇ ψ̇ − p φ̇ tan φ (1996, section 8.4)."""
    system, l, J_r = snakeboard_on_its_length()
    x, y, theta, psi, phi = system.coordinates
    xi = {x: 2 * l * cos(phi) ** 2 * cos(theta), y: 2 * l * cos(phi) ** 2 * sin(theta), theta: sin(2 * phi)}
    found = ap.momentum_equation(system, xi, independent=[psi, phi], name="p")
    p = found.name
    assert sympy.simplify(found.rate - (2 * J_r * cos(phi) ** 2 * phi.d * psi.d - p * phi.d * tan(phi))) == 0
    assert not found.acting and not found.conserved and "no reaction acts" in str(found)


def test_the_sleigh_has_the_published_equation():
    """A Chaplygin sleigh, blade at (x, y), centre of mass a before it: d/dt (m v) = m a ω²; (J + m a²) ω̇ = −m a v ω."""
    m, J, a = ap.parameters("m J a", positive=True)
    x, y, phi = ap.coordinates("x y phi")
    centre = (x + a * cos(phi), y + a * sin(phi))
    T = m * sum(total_derivative(c) ** 2 for c in centre) / 2 + J * phi.d**2 / 2
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), "blade")
    system = ap.System([x, y, phi], T, constraints=[blade], name="sleigh")
    along = ap.momentum_equation(system, {x: cos(phi), y: sin(phi)}, independent=[phi], name="p")
    assert sympy.simplify(along.rate - m * a * phi.d**2) == 0
    speed = ap.speeds("v")
    turn = ap.momentum_equation(system, {phi: 1})
    v = {x.d: speed * cos(phi), y.d: speed * sin(phi)}
    assert sympy.simplify(turn.rate.xreplace(v) + m * a * speed * phi.d) == 0 and not turn.acting
    across = ap.momentum_equation(system, {x: 1})
    assert across.acting == ("blade",) and "'blade'" in across.sentence and not across.conserved


def test_a_noether_momentum_is_conserved():
    m, l, g = ap.parameters("m l g", positive=True)
    theta, phi = ap.coordinates("theta phi")
    system = ap.System([theta, phi], m * l**2 * (theta.d**2 + sin(theta) ** 2 * phi.d**2) / 2, -m * g * l * cos(theta))
    found = ap.momentum_equation(system, {phi: 1})
    assert found.conserved and found.rate == 0 and found.momentum == m * l**2 * sin(theta) ** 2 * phi.d
    assert not ap.momentum_equation(system, {theta: 1}).conserved


CASES = {
    "roller racer": lambda q: {q[0]: cos(q[2]), q[1]: sin(q[2]), q[2]: 1},  # not allowed: reactions act
    "trailers 1": lambda q: {q[0]: cos(q[2]), q[1]: sin(q[2]), q[3]: sin(q[2] - q[3])},
    "Routh's ball": lambda q: {q[2]: 1, q[4]: cos(q[3])},
    "driven radius": lambda q: {q[1]: q[0]},
}


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_the_motion(name):
    """dJ/dt with the accelerations and multipliers of the normal form, at random states."""
    system = PROBLEMS[name]().system
    if name == "driven radius":
        system = system.replace(constraints=[ap.Constraint(system.coordinates[0] - 2 - sympy.sin(ap.t) / 3, "drive")])
    found = ap.momentum_equation(system, CASES[name](system.coordinates))
    d_dt = total_derivative(found.momentum, system.rates)
    equations = ap.forms.lagrange(system)
    judged = Tape([d_dt, found.rate])
    run = ap.compile(system, {p: 0.6 + 0.2 * k for k, p in enumerate(system.parameters)}, backend="vm")
    rng = np.random.default_rng(4)
    for _ in range(4):
        start = dict(zip((*system.coordinates, *system.velocities), rng.uniform(0.3, 1.2, system.nq + system.nv), strict=True))
        start = ap.consistent(system, start, {p: 0.6 + 0.2 * k for k, p in enumerate(system.parameters)})
        q, v = ([start[s] for s in part] for part in (system.coordinates, system.velocities))
        a, lam = run.acceleration(0.0, np.array(q), np.array(v))
        values = {ap.t: 0.0, **start, **dict(zip(system.accelerations, a.tolist(), strict=True))}
        values |= dict(zip(equations.multipliers, lam.tolist(), strict=True))
        values |= {p: 0.6 + 0.2 * k for k, p in enumerate(system.parameters)}
        want, rate = judged(values, FLOAT)
        assert rate == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_fields_of_the_geometry_are_directions():
    system = PROBLEMS["two-wheeled cart"]().system
    for field in ap.geometry(system, PROBLEMS["two-wheeled cart"]().options["pseudo"]).fields:
        assert not ap.momentum_equation(system, field).acting


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: {}, "every component is 0"),
        (lambda x, y: {x: y.d}, "contains velocities"),
        (lambda x, y: {x: sympy.Symbol("k")}, "no symbol of the system"),
        (lambda x, y: {"z": 1}, "z"),
        (lambda x, y: 3, "symmetry="),
    ],
)
def test_directions_that_are_none_are_refused(change, message):
    x, y = ap.coordinates("x y")
    with pytest.raises(ap.ModelError, match=message):
        ap.momentum_equation(ap.System([x, y], x.d**2 + y.d**2), change(x, y))


def test_routh_s_integral_of_a_rolling_ball():
    """ω₃ √(A C + m (A R² sin²θ + C (R cos θ + a)²)), Routh 1884, in letters and along a motion."""
    system = PROBLEMS["Routh's ball"]().system
    psi, theta, phi = system.coordinates[2:]
    m, R, a, A, C = ({str(p): p for p in system.parameters}[n] for n in ("m", "R", "a", "A", "C"))
    said = [one for one in ap.diagnose(system) if "its own z axis, times a function of its tilt" in one.sentence]
    assert len(said) == 1
    found = said[0].expression
    published = A * C + m * (A * R**2 * sin(theta) ** 2 + C * (R * cos(theta) + a) ** 2)
    spin = phi.d + psi.d * cos(theta)
    inside = next(power.base for power in found.atoms(sympy.Pow) if power.exp == sympy.Rational(1, 2))
    assert sympy.expand((inside - published).subs(sin(theta) ** 2, 1 - cos(theta) ** 2)) == 0
    values = {"m": 0.1, "R": 0.05, "a": 0.01, "A": 1.1e-4, "C": 0.9e-4, "g": 9.81}
    start = ap.consistent(system, {theta: 1.2, psi.d: 3.0, phi.d: 4.0, theta.d: 8.0}, values)
    motion = ap.simulate(system, start, 2.0, values, backend="vm")
    along = motion[found]
    assert np.ptp(motion[spin]) > 1e-2 * np.abs(motion[spin]).max()
    assert np.ptp(along) < 1e-8 * np.abs(along).max()


def test_a_disc_has_no_such_integral():
    """The factor of a thin disc is a hypergeometric function, no root of a polynomial."""
    said = [one.sentence for one in ap.diagnose(ap.zoo.rolling_disc().system) if one.kind == "conserved"]
    assert not any("its own" in sentence for sentence in said)


def test_walls_act_on_a_momentum_and_resets_may():
    """A ball against an incline: only the momentum along it is conserved through impacts."""
    x, y = ap.coordinates("x y")
    incline = ap.Unilateral(y - x / 3, "incline", restitution=0.5)
    ball = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[incline])
    along, across = ap.momentum_equation(ball, {x: 3, y: 1}), ap.momentum_equation(ball, {y: 1})
    assert along.conserved and not along.acting
    assert across.acting == ("incline",) and not across.conserved and across.rate == incline.multiplier
    impact = ap.simulate(ball, {y: 1.0, x.d: 0.3, y.d: -1.0}, 2.0, backend="vm")
    assert impact.impacts[0].kind == "impact" and (impact[3 * x.d + y.d] == pytest.approx(-0.1)) and impact[y.d][-1] > -0.9
    swap = ap.momentum_equation(ball.replace(constraints=[ap.Reset(y, {x.d: 2 * x.d}, name="swap")]), {x: 1})
    assert swap.rate == 0 and not swap.conserved and swap.sentence == "it is conserved between resets ('swap')"
