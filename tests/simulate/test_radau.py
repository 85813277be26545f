"""Radau IIA: order, errors as asked, steps as of another implementation, constraints, walls, and `auto` that turns to it."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from sympy import sin

import appell as ap
from appell.loop.methods.radau import COLLOCATION

x, y = ap.coordinates("x y")
c, k = ap.parameters("c k", positive=True)
BUSHING = ap.System([x], x.d**2 / 2, k * x**2 / 2, {x: -c * x.d}, name="overdamped bushing")
STIFF = {c: 1e4, k: 10.0}


def test_the_numbers_are_those_of_a_collocation_at_radau_s_nodes():
    """z = t^m is followed without error up to m = 3: Σ_j a_ij c_j^(m−1) = c_i^m/m; T block-diagonalises A⁻¹."""
    n = COLLOCATION
    block = np.array([[n.mu, 0, 0], [0, n.alpha, -n.beta], [0, n.beta, n.alpha]])
    A = np.linalg.inv(n.T @ block @ n.TI)
    for m in (1, 2, 3):
        assert A @ n.c ** (m - 1) == pytest.approx(n.c**m / m, abs=1e-14)
    assert [sum(A[2] * n.c**m) for m in range(5)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])  # order 5


def test_order_five_on_a_pendulum():
    swing = ap.System([x], x.d**2 / 2, forces={x: -sin(x)})
    exact = ap.simulate(swing, {x: 1.0}, 2.0, rtol=1e-13, atol=1e-14)[x][-1]
    off = [abs(ap.simulate(swing, {x: 1.0}, 2.0, method="radau", step=2.0 / n)[x][-1] - exact) for n in (8, 16)]
    assert 4.5 < np.log2(off[0] / off[1]) < 5.7


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
def test_an_overdamped_bushing_has_the_error_that_is_asked_for(rtol):
    """CVODES takes 48,128 steps here at rtol = 1e-6."""
    A = np.array([[0, 1], [-10.0, -1e4]])
    times = np.linspace(0, 20, 9)
    exact = np.array([(expm(A * t) @ [1, 1])[0] for t in times])
    motion = ap.simulate(BUSHING, {x: 1.0, x.d: 1.0}, 20.0, STIFF, method="radau", rtol=rtol, atol=1e-3 * rtol, times=times)
    assert motion.ok and np.abs(motion[x] - exact).max() < 5 * rtol
    other = solve_ivp(lambda t, z: A @ z, (0, 20), [1, 1], method="Radau", jac=A, rtol=rtol, atol=1e-3 * rtol)
    assert motion.statistics["steps"] < 1.5 * len(other.t)


def test_both_loops_take_the_same_steps():
    mu = 100.0
    relaxation = ap.System([x], x.d**2 / 2, x**2 / 2, {x: mu * (1 - x**2) * x.d})
    in_c, in_python = (
        ap.simulate(relaxation, {x: 2.0}, 90.0, method="radau", rtol=1e-4, atol=1e-6, backend=b) for b in ("auto", "vm")
    )
    assert in_c.statistics["steps"] == pytest.approx(in_python.statistics["steps"], abs=3)
    assert in_c[x][-1] == pytest.approx(in_python[x][-1], abs=1e-5)
    f = lambda t, z: [z[1], mu * (1 - z[0] ** 2) * z[1] - z[0]]
    other = solve_ivp(f, (0, 90), [2.0, 0.0], method="Radau", rtol=1e-4, atol=1e-6)
    assert in_c.statistics["steps"] < 1.5 * len(other.t)


def test_rows_hold_to_rounding_and_redundant_ones_are_no_obstacle():
    rows = [x**2 + y**2 - 1, ap.Constraint(2 * x**2 + 2 * y**2 - 2)]
    tied = ap.System([x, y], (x.d**2 + y.d**2) / 2, k * x**2 / 2, {x: -c * x.d, y: -10}, rows)
    motion = ap.simulate(tied, {y: 1.0, x.d: 0.1}, 0.5, {c: 1e3, k: 1.0}, method="radau", rtol=1e-7)
    other = ap.simulate(tied, {y: 1.0, x.d: 0.1}, 0.5, {c: 1e3, k: 1.0}, rtol=1e-8, backend="vm")
    assert motion.ok and motion.drift.position < 1e-14 and motion[x][-1] == pytest.approx(other[x][-1], abs=1e-6)


def test_walls_are_met():
    struck = BUSHING.replace(forces={x: -c * x.d - 20}, constraints=[ap.Unilateral(x + 0.5, name="floor", restitution=0.5)])
    run = lambda **how: ap.simulate(struck, {x: 1.0}, 1.5, {c: 5.0, k: 10.0}, rtol=1e-8, **how)
    ours, other = ([one.time for one in motion.impacts[:4]] for motion in (run(method="radau"), run(backend="vm")))
    assert ours == pytest.approx(other, abs=1e-7) and len(ours) == 4


FALLING = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y + 5 * x**2, {x: -1e5 * x.d},
                    constraints=[ap.Unilateral(y, name="floor", restitution=0)])  # fmt: skip


@pytest.mark.parametrize("backend", ["auto", "vm"])
def test_while_a_contact_holds_it_takes_the_steps_itself(backend):
    motion = ap.simulate(FALLING, {x: 1.0, y: 1.0}, 1.5, method="radau", rtol=1e-7, backend=backend)
    assert motion.ok and motion.statistics["steps"] < 150  # explicit steps in contact would be 16,000
    assert motion.contacts[-1][0] == pytest.approx(np.sqrt(2 / 9.81)) and motion.contacts[-1][1] == (0,)
    assert motion[x][-1] == pytest.approx((expm(1.5 * np.array([[0, 1], [-10.0, -1e5]])) @ [1, 0])[0], rel=1e-7)


def test_stiff_friction_in_an_ensemble_is_that_of_single_runs():
    from tests.families.stiff_runs import rough_and_stiff

    system, start, _ = rough_and_stiff(1)
    speeds = np.array([0.5, 1.0, 1.5])
    how = {"method": "radau", "rtol": 1e-7}
    many = ap.simulate_many(system, {**start, x.d: speeds}, 1.0, threads=2, **how)
    assert many.ok and (many["x"].values == [ap.simulate(system, {**start, x.d: v}, 1.0, **how)[x][-1] for v in speeds]).all()


def test_auto_turns_to_it_where_a_dead_mode_holds_the_steps_back():
    motion = ap.simulate(BUSHING, {x: 1.0, x.d: 1.0}, 200.0, STIFF, rtol=1e-6)
    (note,) = (n for n in motion.notes if n.kind == "stiff")
    assert "method='radau' takes the steps" in note and motion.ok and motion.statistics["steps"] < 3000
    assert motion[x][-1] == pytest.approx((expm(200 * np.array([[0, 1], [-10.0, -1e4]])) @ [1, 1])[0], rel=1e-6)


def test_springs_whose_forces_round_do_not_stop_newton_s_method():
    """Masses at 0.1 m with k = 1e9 N/m, c = 1e6 N s/m between them: forces round at 1e-8 N, which is more than asked for."""
    damper = 1e6 * (y.d - x.d)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 5 * x**2 + 5e8 * (y - x) ** 2, {x: damper, y: -damper})
    start = {x: 0.1, y: 0.1, y.d: 1.0}
    motion = ap.simulate(system, start, 5.0, method="radau", rtol=1e-11, atol=1e-14, max_steps=20_000)
    with mpmath.workdps(30):
        A = mpmath.matrix([[0, 0, 1, 0], [0, 0, 0, 1], [-1e9 - 10, 1e9, -1e6, 1e6], [1e9, -1e9, 1e6, -1e6]])
        values, vectors = mpmath.eig(A)
        share = mpmath.lu_solve(vectors, mpmath.matrix([mpmath.mpf("0.1"), mpmath.mpf("0.1"), 0, 1]))
        exact = [float(sum(vectors[i, k] * mpmath.exp(5 * values[k]) * share[k] for k in range(4)).real) for i in range(2)]
    assert motion.ok and [motion.final[x], motion.final[y]] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("n", "reach"), [(40, 1), (12, 3)])
def test_sparse_factors_are_those_of_the_whole_matrix(n, reach):
    """Masses between random springs and dampers to `reach` neighbours, shuffled, against the matrix exponential."""
    rng = np.random.default_rng(n)
    q, order = ap.coordinates([f"q{i}" for i in range(n)]), rng.permutation(n)
    K, C = np.diag(rng.uniform(1, 5, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, min(i + 1 + reach, n)):
            pair = np.ix_([order[i], order[j]], [order[i], order[j]])
            for matrix, size in ((K, 1e6), (C, 1e4)):
                matrix[pair] += size * rng.uniform(0.5, 1) * np.array([[1, -1], [-1, 1]])
    V = sum(K[i, j] * q[i] * q[j] for i in range(n) for j in range(n) if K[i, j]) / 2
    forces = {q[i]: -sum(C[i, j] * q[j].d for j in range(n) if C[i, j]) for i in range(n)}
    start = rng.normal(size=2 * n)
    system = ap.System(q, sum(x.d**2 for x in q) / 2, V, forces)
    begin = dict(zip([*q, *(x.d for x in q)], start, strict=True))
    motion, whole = (
        ap.simulate(system, begin, 3.0, method="radau", rtol=1e-7, atol=1e-10, backend=b, times=[3.0]) for b in ("c", "vm")
    )
    assert motion.statistics["evaluations"] == pytest.approx(whole.statistics["evaluations"], rel=0.03)  # wrong ones cost some
    flow = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
    assert [motion[x][-1] for x in q] == pytest.approx((expm(3 * flow) @ start)[:n], abs=1e-7)
