"""Conserving methods: their orders, energy and rows over many steps, and what they refuse."""

import numpy as np
import pytest
import sympy
from sympy import cos

import appell as ap
from appell.errors import FormNotApplicable, ModelError
from appell.loop.methods.gauss_legendre import CONSERVING

x, y = ap.coordinates("x y")
SWING = ap.System([x], x.d**2 / 2, -cos(x))


@pytest.mark.parametrize("name", CONSERVING)
def test_the_order_is_that_of_gauss(name):
    exact = ap.simulate(SWING, {x: 1.0}, 2.0, rtol=1e-13, atol=1e-14)[x][-1]
    off = [abs(ap.simulate(SWING, {x: 1.0}, 2.0, method=name, step=2.0 / n)[x][-1] - exact) for n in (6, 12)]
    assert np.log2(off[0] / off[1]) == pytest.approx(CONSERVING[name].order, abs=0.7)


def test_a_hundred_thousand_swings_keep_their_energy_through_every_turning_point():
    motion = ap.simulate(SWING, {x: 2.0}, 10_000.0, method="conserving", step=0.1, times=np.linspace(0, 10_000, 801))
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-13 * motion.energy_scale


@pytest.mark.parametrize("name", ["n_pendulum", "four_bar", "rolling_disc"])
def test_energy_and_rows_stay_at_rounding(name):
    example = ap.zoo.ALL[name]()
    motion = ap.simulate(
        example.system, example.start, 10.0, example.parameters, method="conserving", step=0.01, times=np.linspace(0, 10, 51)
    )
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-12 * motion.energy_scale
    assert motion.drift.position < 1e-12 and motion.drift.velocity < 1e-11


def test_both_loops_take_the_same_steps():
    runs = [ap.simulate(SWING, {x: 1.0}, 3.0, method="conserving", step=0.1, backend=b) for b in ("auto", "vm")]
    assert runs[0][x] == pytest.approx(runs[1][x], abs=1e-13)


def test_with_a_force_the_energy_follows_its_work():
    pushed = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -x.d / 10 + cos(ap.t)})
    motion = ap.simulate(pushed, {x: 1.0}, 10.0, method="conserving", step=0.02, backend="vm")
    other = ap.simulate(pushed, {x: 1.0}, 10.0, backend="vm", rtol=1e-10)
    assert motion.work[0] == 0 and np.abs(motion.balance).max() < 1e-12
    assert motion[x][-1] == pytest.approx(other[x][-1], abs=1e-6) and motion.work[-1] == pytest.approx(other.work[-1], abs=1e-6)


def test_what_it_cannot_do_is_refused_by_name():
    with pytest.raises(ModelError, match="takes steps of a fixed size: give step="):
        ap.simulate(SWING, {}, 1.0, method="conserving")
    floor = ap.Unilateral(y, name="floor")
    rubs = ap.Friction(x.d, normal=floor, coefficient=1, name="mu")
    rough = ap.System([x, y], (x.d**2 + y.d**2) / 2, y, constraints=[floor, rubs])
    with pytest.raises(ModelError, match=r"does not locate stick and slip \('mu'\)"):
        ap.simulate(rough, {x: 1.0}, 1.0, method="conserving", step=0.1)
    driven = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x.d - y.d - 1, name="belt")])
    with pytest.raises(FormNotApplicable, match=r"homogeneous in the velocities .* 'belt' is none"):
        ap.simulate(driven, {x.d: 1.0}, 1.0, method="conserving", step=0.1)


def test_momenta_of_symmetries_in_the_allowed_motions_stay_at_rounding():
    """Three bodies in a plane have three; a sphere's pendulum in angles one that is no polynomial; a sleigh's angle one."""
    q = ap.coordinates("x1 y1 x2 y2")
    far = sympy.sqrt((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2)
    two = ap.System(q, sum(m * (a.d**2 + b.d**2) for m, a, b in ((1, *q[:2]), (3, *q[2:]))) / 2, -3 / far)
    theta, phi = ap.coordinates("theta phi")
    sphere = ap.System([theta, phi], (theta.d**2 + sympy.sin(theta) ** 2 * phi.d**2) / 2, 9.81 * cos(theta))
    sleigh = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2, constraints=[x.d * sympy.sin(phi) - y.d * cos(phi)])
    cases = [(two, {q[0]: 1.5, q[1].d: 1.2, q[2].d: 0.1}, 3), (sphere, {theta: 2.0, phi.d: 1.5, theta.d: 0.3}, 1),
             (sleigh, {x.d: 1.0, phi.d: 0.7}, 1)]  # fmt: skip
    for system, start, count in cases:
        motion = ap.simulate(system, start, 3.0, method="conserving", step=0.02, backend="vm")
        found = ap.integral_slopes(motion)
        enforced = [row for row in found.rows if row.enforced]
        assert len(enforced) == 1 + count
        assert all(row.wander < 1e-13 * (1 + abs(row.start)) for row in enforced), found
        assert len(found.rows) - len(enforced) == (system is two)  # that of the relative motion alone
        exact = ap.simulate(system, start, 3.0, backend="vm", rtol=1e-10)
        assert np.abs(motion.q[-1] - exact.q[-1]).max() < 2e-3


def test_a_momentum_that_is_kept_on_the_rows_alone_does_not_contradict_the_energy():
    phi, psi = ap.coordinates("phi psi")
    rolls = [x.d - psi.d * cos(phi), y.d - psi.d * sympy.sin(phi)]
    kinetic, gyroscopic = (x.d**2 + y.d**2 + phi.d**2 + psi.d**2) / 2, {x: (1 + x) * y.d, y: -(1 + x) * x.d}
    disc = ap.System([x, y, phi, psi], kinetic, 0, gyroscopic, rolls)
    motion = ap.simulate(disc, {x.d: 1.0, psi.d: 1.0, phi.d: 2.0}, 40.0, method="conserving", step=0.1, backend="vm")
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-13  # the force acts along what the rows forbid: a circle
    assert np.hypot(motion[x], motion[y] - 0.5) == pytest.approx(0.5, abs=1e-4)


def test_a_momentum_that_a_force_changes_follows_it():
    """A wind that begins at x = 5, where no random state is."""
    blown = ap.System([x, y], (x.d**2 + y.d**2) / 2, forces={y: sympy.Max(x - 5, 0)})
    motion = ap.simulate(blown, {x.d: 1.0}, 8.0, method="conserving", step=0.1, backend="vm")
    assert motion[y.d][-1] == pytest.approx(4.5, abs=1e-9) and motion[y][-1] == pytest.approx(4.5, abs=1e-6) and motion.ok


WALLED = SWING.replace(constraints=[ap.Unilateral(x + sympy.Rational(3, 10), name="stop", restitution=1)])


def test_elastic_impacts_keep_the_energy_and_the_order():
    exact = ap.simulate(WALLED, {x: 1.0}, 15.0, rtol=1e-13, atol=1e-15)
    runs = [ap.simulate(WALLED, {x: 1.0}, 15.0, method="conserving6", step=step) for step in (0.2, 0.1)]
    off = [abs(run[x][-1] - exact[x][-1]) for run in runs]
    assert off[0] < 1e-7 and np.log2(off[0] / off[1]) > 5.3 and len(runs[0].impacts) == len(exact.impacts) > 3
    assert all(run.ok and np.abs(run.energy_error).max() < 1e-14 * run.energy_scale for run in runs)


def test_a_blow_that_takes_energy_lowers_what_is_enforced():
    lossy = SWING.replace(constraints=[ap.Unilateral(x, name="stop", restitution=0.5)])
    motion = ap.simulate(lossy, {x: 1.0}, 4.0, method="conserving6", step=0.05, backend="vm")
    other = ap.simulate(lossy, {x: 1.0}, 4.0, backend="vm", rtol=1e-10)
    assert motion[x][-1] == pytest.approx(other[x][-1], abs=1e-8) and len(motion.impacts) == len(other.impacts) == 1
    assert np.abs(motion.balance).max() < 1e-13 and motion.energy[-1] < motion.energy[0] - 0.1


def test_a_force_that_jumps_with_a_position_is_met_where_it_jumps():
    pushed = SWING.replace(forces={x: sympy.Heaviside(x - sympy.Rational(3, 10))})
    ways = ({"method": "conserving6", "step": 0.02}, {"rtol": 1e-10})
    motion, other = (ap.simulate(pushed, {x: 1.0, x.d: 2.0}, 3.0, backend="vm", **how) for how in ways)
    assert motion[x][-1] == pytest.approx(other[x][-1], abs=1e-8)  # 1e-3 by steps that go across


def test_many_motions_are_the_single_ones():
    starts = np.array([0.5, 1.0, 1.5])
    how = {"method": "conserving6", "step": 0.1}
    many = ap.simulate_many(WALLED, {x: starts}, 5.0, **how)
    assert many.ok and (many["x"].values == [ap.simulate(WALLED, {x: a}, 5.0, **how)[x][-1] for a in starts]).all()
    with pytest.raises(ModelError, match="'conserving6' goes with step="):
        ap.simulate_many(WALLED, {x: starts}, 5.0, method="conserving6")


def test_a_step_that_is_too_long_for_the_energy_says_so():
    with pytest.warns(UserWarning, match="shorten step="):
        ap.simulate(SWING, {x: 1.0}, 100.0, method="conserving2", step=1.0)


def test_a_step_that_is_too_long_is_doubted_though_its_energy_is_met():
    spring = ap.System([x], x.d**2 / 2, x**2 / 2)
    with pytest.warns(UserWarning, match="this motion is doubtful: a step of 1 s"):
        coarse = ap.simulate(spring, {x: 1.0}, 20.0, method="conserving2", step=1.0, backend="vm")
    assert not coarse.ok and np.abs(coarse.energy_error).max() < 1e-14 and abs(coarse[x][-1] - np.cos(20)) > 0.1
    assert ap.simulate(spring, {x: 1.0}, 20.0, method="conserving2", step=0.1, backend="vm").ok


def test_a_step_that_is_too_long_for_its_iteration_says_so():
    stiff = ap.System([x], x.d**2 / 2, 500 * x**2)
    with pytest.warns(UserWarning, match="stages of a step of this size do not converge"):
        ap.simulate(stiff, {x: 1.0}, 1.0, method="conserving", step=0.5, backend="vm")
