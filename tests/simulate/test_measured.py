"""Measured records as functions of time: against the exact propagation of a linear oscillator from sample to sample."""

import pickle

import numpy as np
import pytest
from scipy.linalg import expm
from sympy import Piecewise, cos

import appell as ap
from appell.errors import ModelError
from appell.tree import Inertia, Joint

x = ap.coordinates("x")
k, c, m = ap.parameters("k c m", positive=True)
u = ap.parameters("u")
f = ap.prescribed("f")
VALUES = {k: 4.0, c: 0.3, m: 1.2}
oscillator = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: f - c * x.d})


def record(samples=101, until=8.0, seed=0):
    """Noise at uneven times."""
    draw = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.sort(draw.uniform(0, until, samples - 2)), [until]])
    return times, draw.standard_normal(samples)


def exact(times, values, hold, z):
    """z(T) of m ẍ + c ẋ + k x = f: the exponential of the oscillator and of the polynomial of each piece."""
    from scipy.interpolate import CubicSpline

    rows = {"zero": values[None, :-1], "linear": np.array([values[:-1], np.diff(values) / np.diff(times)])}
    rows = CubicSpline(times, values).c[::-1] if hold == "cubic" else rows[hold]
    d = len(rows)
    A = np.zeros((2 + d, 2 + d))
    A[:2, :3] = [[0, 1, 0], [-VALUES[k] / VALUES[m], -VALUES[c] / VALUES[m], 1 / VALUES[m]]]
    A[2:, 2:] = np.eye(d, k=1)
    factorials = np.array([1.0, 1.0, 2.0, 6.0])[:d]
    for h, row in zip(np.diff(times), rows.T, strict=True):
        z = (expm(A * h) @ np.concatenate([z, row * factorials]))[:2]
    return z


@pytest.mark.parametrize("hold", ["zero", "linear", "cubic"])
def test_every_path_gives_the_exact_motion(hold):
    times, values = record()
    given = {**VALUES, f: ap.sampled(times, values, hold=hold)}
    end, size = exact(times, values, hold, [0.3, 0.0]), np.abs(values).max() * (50 if hold == "cubic" else 1)
    for how in ({}, {"method": "dopri5"}, {"method": "taylor"}, {"backend": "vm"}) if hold == "linear" else ({},):
        motion = ap.simulate(oscillator, {x: 0.3}, 8.0, given, **how)
        assert motion.ok and np.abs(motion.balance).max() <= 1e-8 * motion.energy_scale  # 400 steps at rtol = 1e-9
        assert [motion[x][-1], motion[x.d][-1]] == pytest.approx(end, abs=1e-9 * size)
    back = ap.simulate(oscillator, {x: end[0], x.d: end[1]}, 0.0, given, since=8.0)
    assert back[x][-1] == pytest.approx(0.3, abs=1e-9 * size)
    many = ap.simulate_many(oscillator, {x: [0.3, -1.0]}, 8.0, given)
    assert many.attrs["path"] == "lanes"
    assert many["x"].values[0] == pytest.approx(end[0], abs=1e-9 * size)


def test_values_are_read_back_and_travel():
    times, values = record(50)
    motion = ap.simulate(oscillator, {x: 0.3}, 8.0, {**VALUES, f: ap.sampled(times, values)})
    assert motion[f] == pytest.approx(np.interp(motion.t, times, values), abs=1e-12)
    twin = pickle.loads(pickle.dumps(motion))
    assert twin.at(3.21)[x] == pytest.approx(motion.at(3.21)[x], abs=1e-14)
    run = motion.run
    t = np.array([0.5, 3.0, 7.9])
    a, _ = run.acceleration(t, np.full((3, 1), 0.2), np.zeros((3, 1)))
    assert a[:, 0] == pytest.approx((np.interp(t, times, values) - 4.0 * 0.2) / 1.2, rel=1e-12)
    form, _ = ap.forms.lagrange(oscillator).acceleration(3.0, [0.2], [0.0], {**VALUES, f: ap.sampled(times, values)})
    assert form[0] == pytest.approx(a[1, 0], rel=1e-12)


def test_ten_thousand_samples_compile_as_two_do():
    """Compiled code does not contain the samples."""
    from appell.compiled.compiling import unjudged

    few, many = (unjudged(oscillator, {**VALUES, f: ap.sampled(*record(n))}, "vm") for n in (3, 10_000))
    assert few.flow().rhs.digest == many.flow().rhs.digest


def test_a_record_moves_a_pivot():
    """A pendulum whose pivot follows a cubic record: θ̈ = −(g sin θ + f̈ cos θ)/l, and the reaction is that of the motion."""
    phi = ap.coordinates("phi")
    kinetic = x.d**2 / 2 + x.d * phi.d * cos(phi) + phi.d**2 / 2
    cart = ap.System([x, phi], kinetic, -9.81 * cos(phi), constraints=[ap.Constraint(x - f, name="drive")])
    times = np.linspace(0, 2, 81)
    values = 0.1 * np.sin(6 * times) + 1e-3 * np.random.default_rng(1).standard_normal(81)
    given = {f: ap.sampled(times, values, hold="cubic")}
    motion = ap.simulate(cart, ap.consistent(cart, {phi: 0.2}, given), 2.0, given)
    assert motion.ok and np.abs(motion.balance).max() <= 1e-8 * motion.energy_scale
    assert motion[x] == pytest.approx(motion[f], abs=1e-12)
    a = motion[phi.dd] * np.cos(motion[phi]) - motion[phi.d] ** 2 * np.sin(motion[phi]) + motion[f.dd]
    assert motion.reaction("drive") == pytest.approx(a, abs=1e-7)
    for hold, why in (("linear", "its slope jumps"), ("zero", "its values jump")):
        with pytest.raises(ModelError, match=why):
            ap.simulate(cart, {phi: 0.2}, 2.0, {f: ap.sampled(times, values, hold=hold)})


def test_walls_potentials_pulses_and_controls():
    """A potential that jumps with a record does work; walls, pulses of other times and a control stand beside it."""
    times, values = record(60, 3.0)
    wall = ap.Unilateral(x + 0.3, name="wall", restitution=0.8)
    force = u + Piecewise((1, ap.t < 0.5005), (0, True))
    walled = ap.System([x], x.d**2 / 2, 15 * (x - f) ** 2, {x: force}, constraints=[wall])
    given = {f: ap.sampled(times, values, hold="zero")}
    held = ap.sampled(np.linspace(0, 3, 11), np.arange(11.0) - 5, hold="zero")
    motion = ap.simulate(walled, {x: 0.1}, 3.0, {**given, u: held})
    assert motion.ok and len(motion.impacts) and np.abs(motion.balance).max() <= 1e-10 * motion.energy_scale
    many = ap.simulate_many(walled, {x: [0.1, 0.2]}, 3.0, {**given, u: held})
    assert many["x"].values[0] == pytest.approx(motion[x][-1], abs=1e-9)
    read = ap.simulate(walled, {x: 0.1}, 3.0, given, control=lambda t, q, v: {u: -q[0]}, rate=50.0)
    assert read.ok and np.abs(read.balance).max() <= 1e-10 * read.energy_scale


def test_a_tree_is_driven_by_a_record():
    tree = ap.Tree([Joint("s", "prismatic", axis=(1, 0, 0), body=Inertia.at_centre(2.0, (0, 0, 0), np.eye(3)))])
    s = tree.joint("s")
    times, values = np.array([0.0, 0.4, 0.7, 2.0]), np.array([1.0, -3.0, 2.0, 0.0])
    motion = ap.simulate(tree.system(forces=tree.inputs()), {}, 2.0, {"tau_s": ap.sampled(times, values, hold="zero")})
    assert motion[s.d][-1] == pytest.approx((0.4 - 0.9 + 2.6) / 2, abs=1e-12)


BAD = {
    "gap in time": (([0, 1, np.nan], [1, 2, 3]), "sample 2 .* is a gap among its times"),
    "gap": (([0, 1, 2], [1, np.nan, 3]), "sample 1 .* is a gap among its values"),
    "twice": (([0, 1, 1], [1, 2, 3]), r"sample 2 \(t = 1\) repeats the time of sample 1"),
    "back": (([0, 2, 1], [1, 2, 3]), r"sample 2 \(t = 1\) comes before sample 1 \(t = 2\)"),
    "steep": (([0, 1], [-1.7e308, 1.7e308]), "too steep for numbers between samples 0 and 1"),
    "one": (([0], [1]), "it needs two"),
    "lengths": (([0, 1], [1, 2, 3]), "2 times and 3 values"),
    "words": (([0, 1], ["a", "b"]), "real numbers"),
    "channels": (([0, 1], [[1, 2], [3, 4]]), "several channels are several records"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_record_is_refused(case):
    given, why = BAD[case]
    with pytest.raises(ModelError, match=why):
        ap.sampled(*given)


@pytest.mark.parametrize("hold", ["zero", "linear", "cubic"])
def test_a_record_is_read_at_a_number_and_at_no_other_time(hold):
    """Its samples are not in the expression, so that a delay written as a substitution would do nothing, or worse."""
    record = 2 * ap.sampled([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 4.0, 16.0], hold)
    for now, wanted in ((1.0, 2.0), (3.0, {"zero": 8.0, "linear": 20.0, "cubic": 18.0}[hold])):
        assert float(record.subs(ap.t, now)) == pytest.approx(wanted)
    assert record.subs(ap.t, ap.t) == record
    for given in (record, x + ap.prescribed("f")):
        with pytest.raises(ModelError, match=r"a function of ap\.t itself"):
            given.subs(ap.t, ap.t - 0.5)
    with pytest.raises(ModelError, match="no value at t = 7"):
        record.subs(ap.t, 7)


def test_a_run_does_not_leave_its_record():
    given = {**VALUES, f: ap.sampled([0, 1], [0, 1], name="road")}
    with pytest.raises(ModelError, match=r"road is a record of 1 intervals over 0 … 1 s.*the run needs t = 1\.5"):
        ap.simulate(oscillator, {x: 0.3}, 1.5, given)
    with pytest.raises(ModelError, match="hold= is one of"):
        ap.sampled([0, 1], [0, 1], hold="spline")
    slope = ap.System([x], x.d**2 / 2, constraints=[x - ap.sampled([0, 1], [0, 1])])
    with pytest.raises(ModelError, match="occurs in a constraint"):
        ap.simulate(slope, {x: 0.0}, 1.0)


def test_reductions_see_the_record_in_every_step():
    """∫ f² dt of a record of three straight pieces is Σ h (a² + a b + b²)/3, in lanes and one by one."""
    times, values = np.array([0.0, 0.3, 1.1, 2.0]), np.array([1.0, -2.0, 0.5, 3.0])
    a, b = values[:-1], values[1:]
    exact = (np.diff(times) * (a**2 + a * b + b**2) / 3).sum()
    given = {**VALUES, f: ap.sampled(times, values)}
    keep = {"square": ap.reduce.integral(f**2), "last": ap.reduce.final(f), "power": ap.reduce.integral(f * x.d)}
    lanes, single = (ap.simulate_many(oscillator, {x: [0.3]}, 2.0, given, keep=keep, backend=one) for one in ("auto", "vm"))
    for runs in (lanes, single):
        assert runs["square"].values[0] == pytest.approx(exact, rel=1e-8) and runs["last"].values[0] == pytest.approx(3.0)
    assert lanes["power"].values[0] == pytest.approx(single["power"].values[0], rel=1e-8)


def test_what_follows_from_a_motion_knows_its_record(tmp_path):
    """A force f x: derivatives and linear equations have the number of the record at each time; letters are no parameters."""
    times, values = np.array([0.0, 1.0, 2.0]), np.array([1.0, -2.0, 4.0])
    given = {f: ap.sampled(times, values)}
    motion = ap.simulate(ap.System([x], x.d**2 / 2, 0, {x: f * x}), {x: 1.0}, 2.0, given, times=[0.5, 1.5])
    assert motion.run.jacobian(0.5, [1.0], [0.0]).a_q[0, 0] == pytest.approx(-0.5)
    assert ap.linearize(motion=motion).A[:, 1, 0] == pytest.approx([-0.5, 1.0])
    assert not motion.parameters and motion.report(tmp_path / "record.html").exists()


def test_variations_refuse_records_by_name():
    """They gave values that are not finite, and blamed a division by zero."""
    y = ap.coordinates("y")
    push = ap.sampled([0.0, 1.0, 2.0], [0.0, 1.0, -1.0], name="push")
    system = ap.System([y], y.d**2 / 2, y**2, {y: push})
    for call in (ap.variations, ap.lyapunov):
        with pytest.raises(ap.ModelError, match="do not follow the measured record 'push'"):
            call(system, {"y": 0.1}, until=1.0)


@pytest.mark.parametrize("hold", ["zero", "linear", "cubic"])
def test_an_input_given_as_a_record_is_read_back(hold):
    """By symbol and by name, in crossings, in stops and in reductions; the reference evaluates the record itself."""
    times, values = record(41, 3.0)
    pushed = ap.System([x], x.d**2 / 2, x**2 / 2, {x: k * u})
    given = {u: 2 * ap.sampled(times, values, hold=hold) + k * ap.t, k: 0.5}
    motion = ap.simulate(pushed, {x: 1.0}, 2.5, given)
    instants = np.linspace(0.01, 2.49, 301)
    dense = motion.at(instants)
    expected = np.array([float(given[u].subs(k, 0.5).subs(ap.t, float(instant))) for instant in instants])
    assert np.abs(dense[u] - expected).max() < 1e-12 and (dense["u"] == dense[u]).all()
    assert np.abs(dense[x.dd] + dense[x] - 0.5 * expected).max() < 1e-9

    def area():
        """By ten Gauss nodes from sample to sample, where the record is a polynomial."""
        nodes, weights = np.polynomial.legendre.leggauss(10)
        edges = np.unique([0.0, *times[times < 2.5], *motion.t, 2.5])
        half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
        there = motion.at((middle + half * nodes).ravel())
        return ((there[x] * there[u]).reshape(half.shape[0], -1) * half * weights).sum()

    kept = ap.simulate(pushed, {x: 1.0}, 2.5, given, keep={"area": ap.reduce.integral(x * u)})
    assert abs(kept.reduced["area"] - area()) < 1e-8
    if hold != "zero":  # a jump over zero is no crossing
        first = motion.crossings(x - u)[0]
        stopped = ap.simulate(pushed, {x: 1.0}, 2.5, given, stop=x - u)
        assert abs(motion.at(first)[x - u][0]) < 1e-9 and abs(stopped.t[-1] - first) < 1e-9
    assert (pickle.loads(pickle.dumps(motion))[u] == motion[u]).all()


def test_an_input_given_as_a_record_in_the_value_of_a_function():
    """f = u²: the value of f contains a record through u, whose smoothness counts as if it were written there."""
    times, values = record(41, 3.0)
    pulled = ap.System([x], x.d**2 / 2, x**2 / 2 - f * x, {x: u})
    motion = ap.simulate(pulled, {x: 1.0}, 2.5, {u: ap.sampled(times, values), f: u**2})
    assert np.abs(motion[f] - motion[u] ** 2).max() < 1e-12 and motion.ok
    assert np.abs(motion[x.dd] + motion[x] - motion[u] ** 2 - motion[u]).max() < 1e-12
    led = ap.System([x], x.d**2 / 2, x**2 / 2, {x: u}, constraints=[x - f])
    with pytest.raises(ModelError, match="hold='linear'"):
        ap.simulate(led, {}, 2.5, {u: ap.sampled(times, values), f: u})
