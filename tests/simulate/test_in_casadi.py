"""Accelerations and functions of trees handed to CasADi: values, derivatives, and a use of them."""

import casadi as ca
import numpy as np
import pytest
from sympy import cos, sin
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import random_state

import appell as ap
from appell.errors import FormNotApplicable

x, y, phi = ap.coordinates("x y phi")
k, u = ap.parameters("k u")
blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
sleigh = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2, k * x**2 / 2, {phi: u}, [blade])
numbers = lambda found: found.full()
STATE = (0.3, [0.1, 0.2, 0.4], [0.5 * np.cos(0.4), 0.5 * np.sin(0.4), 0.7])


def test_a_run_in_casadi():
    """Accelerations, multipliers and derivatives are those of the run; names of ports stand."""
    run = ap.compile(sleigh, {k: 2.0, u: 0.3}, backend="vm")
    f = run.casadi()
    assert (f.name_in(), f.name_out()) == (["t", "q", "v", "p"], ["a", "lam"])
    a, lam = run.acceleration(*STATE)
    found = f(*STATE, run.p)
    assert numbers(found[0])[:, 0] == pytest.approx(a, abs=1e-14) and numbers(found[1])[:, 0] == pytest.approx(lam, abs=1e-14)
    slopes = f.jacobian()(*STATE, run.p, 0, 0)
    exact = run.jacobian(*STATE)
    assert numbers(slopes[1]) == pytest.approx(exact.a_q, abs=1e-12)
    assert numbers(slopes[3]) == pytest.approx(exact.a_p, abs=1e-12)


def test_a_large_system_keeps_its_solve():
    """Twelve beads on rods, nv + rows = 36: the saddle point is solved inside, and differentiated."""
    n = 12
    xs, ys = ap.coordinates([f"x{i}" for i in range(n)]), ap.coordinates([f"y{i}" for i in range(n)])
    before = [(0, 0), *zip(xs, ys, strict=True)]
    rods = [(xs[i] - before[i][0]) ** 2 + (ys[i] - before[i][1]) ** 2 - 1 for i in range(n)]
    chain = ap.System([*xs, *ys], sum(q.d**2 for q in (*xs, *ys)) / 2, 9.81 * sum(ys), {xs[-1]: u}, rods)
    run = ap.compile(chain, {u: 0.5}, backend="vm")
    angles = 0.1 * np.arange(n)
    q = np.concatenate([np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))])
    f = run.casadi()
    a, lam = run.acceleration(0.0, q, np.zeros(2 * n))
    found = f(0.0, q, np.zeros(2 * n), run.p)
    assert numbers(found[0])[:, 0] == pytest.approx(a, abs=1e-9) and numbers(found[1])[:, 0] == pytest.approx(lam, abs=1e-9)
    slopes = f.jacobian()(0.0, q, np.zeros(2 * n), run.p, 0, 0)
    assert numbers(slopes[1]) == pytest.approx(run.jacobian(0.0, q, np.zeros(2 * n)).a_q, abs=1e-7)


def test_a_tree_in_casadi():
    tree = random_tree(4, 1, root="floating")
    q, v, tau = random_state(tree, np.random.default_rng(2))
    f = tree.casadi()
    assert f.name_in() == ["q", "v", "tau"]
    assert numbers(f(q, v, tau))[:, 0] == pytest.approx(tree.forward_dynamics(q, v, tau), rel=1e-12)
    assert numbers(tree.casadi("mass_matrix")(q)) == pytest.approx(tree.mass_matrix(q), abs=1e-12)
    name = tree.nodes[-1].name
    J = tree.casadi("jacobian", frame=name, reference="local")(q)
    assert numbers(J) == pytest.approx(tree.jacobian(name, q, reference="local"), abs=1e-12)
    given = tree.parametrized({name: "mass"})
    g = given.casadi("inverse_dynamics")
    slope = g.factory("slope", ["q", "v", "a", "values"], ["jac:tau:values"])(q, v, tau, given.values)
    step = 1e-6
    up, down = (given.inverse_dynamics(q, v, tau, given.values + d) for d in (step, -step))
    assert numbers(slope)[:, 0] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_casadi_integrates_it():
    """CasADi's own integrator over f is the motion of `simulate`."""
    system = ap.System([x], x.d**2 / 2, k * x**2 / 2 + x**4 / 4)
    f = ap.compile(system, {k: 2.0}, backend="vm").casadi()
    z, p = ca.SX.sym("z", 2), ca.SX.sym("p", 1)
    ode = ca.vertcat(z[1], f(0, z[0], z[1], p)[0])
    step = ca.integrator("step", "cvodes", {"x": z, "p": p, "ode": ode}, 0, 1, {"reltol": 1e-10})
    motion = ap.simulate(system, {x: 1.0}, 1.0, {k: 2.0})
    assert numbers(step(x0=[1.0, 0.0], p=2.0)["xf"])[:, 0] == pytest.approx([motion[x][-1], motion[x.d][-1]], abs=1e-7)


def test_what_has_no_smooth_formula_is_refused():
    twice = ap.compile(ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[x - y, 2 * x - 2 * y]), backend="vm")
    with pytest.raises(FormNotApplicable, match="redundant"):
        twice.casadi()
    held = ap.System([x], x.d**2 / 2, forces={x: ap.sampled([0, 1], [0, 1])})
    with pytest.raises(FormNotApplicable, match="record"):
        ap.compile(held, backend="vm").casadi()
