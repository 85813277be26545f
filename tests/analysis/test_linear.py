"""Small motions about rest, steady motions and along motions, against closed forms and differences of accelerations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import appell as ap

x, y, psi, theta, phi, q1, q2, q3 = ap.coordinates("x y psi theta phi q1 q2 q3")
m, g, l, A, C, k, c = ap.parameters("m g l A C k c", positive=True)
TOP = ap.System(
    [psi, theta, phi],
    (A * (theta.d**2 + psi.d**2 * sin(theta) ** 2) + C * (phi.d + psi.d * cos(theta)) ** 2) / 2,
    m * g * l * cos(theta),
    name="Lagrange's top",
)
TOP_VALUES = {A: 0.2, C: 0.1, m: 1.0, g: 9.81, l: 0.3}


def test_every_part_of_a_damped_driven_pair():
    """M, D, G, K, N as they were put in."""
    M, D, G = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[0.5, 0.1], [0.1, 0.2]]), 0.7
    K, N = np.array([[5.0, 1.0], [1.0, 4.0]]), 0.4
    T = (M[0, 0] * x.d**2 + 2 * M[0, 1] * x.d * y.d + M[1, 1] * y.d**2) / 2
    V = (K[0, 0] * x**2 + 2 * K[0, 1] * x * y + K[1, 1] * y**2) / 2
    forces = {x: -(D[0, 0] * x.d + (D[0, 1] + G) * y.d) - N * y, y: -((D[1, 0] - G) * x.d + D[1, 1] * y.d) + N * x}
    linear = ap.linearize(ap.System([x, y], T, V, forces), at={})
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for mine, theirs in ((linear.M, M), (linear.D, D), (linear.G, G * J), (linear.K, K), (linear.N, N * J)):
        np.testing.assert_allclose(mine, theirs, atol=1e-13)
    quadratic = np.polynomial.Polynomial  # det(M s² + (D + G) s + K + N) = 0
    entry = lambda i, j: quadratic([(K + N * J)[i, j], (D + G * J)[i, j], M[i, j]])
    roots = (entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0)).roots()
    in_order = lambda values: sorted(values, key=lambda s: (round(s.real, 9), s.imag))
    np.testing.assert_allclose(in_order(linear.eigenvalues), in_order(roots), rtol=1e-10)


@pytest.mark.parametrize("up", [False, True])
def test_the_pendulum_on_a_rod_in_cartesian_coordinates(up):
    """ω² = ± g/l by constraints, with the tension in the stiffness."""
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x**2 + y**2 - l**2])
    linear = ap.linearize(system, at={y: 2.0 if up else -2.0}, parameters={m: 3, g: 9.81, l: 2})
    expected = math.sqrt(9.81 / 2) * (1 if up else 1j)
    np.testing.assert_allclose(linear.eigenvalues, [expected, -expected], atol=1e-12)
    assert linear.velocities == (x.d,) and linear.stable is not up


def test_modes_of_two_coupled_pendulums():
    T, V = (q1.d**2 + q2.d**2) / 2, (q1**2 + q2**2) / 2 + k * (q1 - q2) ** 2 / 2
    linear = ap.linearize(ap.System([q1, q2], T, V), at={}, parameters={k: 0.3})
    frequency = np.abs(linear.eigenvalues.imag)
    for value, mode in ((1.0, [1, 1]), (math.sqrt(1.6), [1, -1])):
        at = int(np.argmin(np.abs(frequency - value)))
        assert frequency[at] == pytest.approx(value, rel=1e-12)
        shape = linear.modes[:, at]
        np.testing.assert_allclose(shape / shape[0], mode, atol=1e-12)


@pytest.mark.parametrize(("share", "stable"), [(0.9, False), *((x, True) for x in np.linspace(1.01, 1.12, 12))])
def test_the_critical_speed_of_the_rolling_disc(share, stable):
    """A thin uniform disc stays up for v² > g r/3, and wobbles with λ² = (4/5) g/r − (12/5) Ω²."""
    example = ap.zoo.rolling_disc()
    X, _, z, _, _, spin = example.system.coordinates
    radius, gravity = 0.5, 9.81
    Omega = math.sqrt(share * gravity / (3 * radius))
    linear = ap.linearize(example.system, at={z: radius, spin.d: Omega, X.d: radius * Omega}, parameters=example.parameters)
    assert linear.stable is stable
    square = 0.8 * gravity / radius - 2.4 * Omega**2
    assert max((linear.eigenvalues**2).real, key=abs) == pytest.approx(square, rel=1e-9)
    assert np.sum(linear.eigenvalues == 0) == 6  # the double one of heading and course is not split by rounding


def test_steady_precession_of_the_heavy_top():
    """A cos θ ψ̇² − C ω₃ ψ̇ + m g l = 0: the slow and the fast precession; small nutations have (ω_n)² in closed form."""
    lean, spin = 0.6, 60.0
    found = ap.steady_motions(TOP, TOP_VALUES, fixed={theta: lean, phi.d + psi.d * cos(theta): spin})
    roots = np.sort(np.roots([0.2 * math.cos(lean), -0.1 * spin, 9.81 * 0.3]))
    np.testing.assert_allclose(sorted(s[psi.d] for s in found), roots, rtol=1e-10)
    for motion in found:
        a, _ = ap.compile(TOP, TOP_VALUES, backend="vm").acceleration(0.0, motion.q, motion.v)
        assert np.abs(a).max() < 1e-9
        b, p_psi = 0.1 * spin, 0.2 * motion[psi.d] * math.sin(lean) ** 2 + 0.1 * spin * math.cos(lean)
        effective = lambda th, p=p_psi, b=b: (p - b * math.cos(th)) ** 2 / (0.4 * math.sin(th) ** 2) + 2.943 * math.cos(th)
        h = 1e-4
        curvature = (effective(lean + h) - 2 * effective(lean) + effective(lean - h)) / h**2
        assert abs(motion.linear.eigenvalues.imag).max() == pytest.approx(math.sqrt(curvature / 0.2), rel=1e-5)
        assert motion.stable


def test_slow_tops_have_no_steady_precession():
    slow = 0.9 * math.sqrt(4 * 0.2 * 9.81 * 0.3 * math.cos(0.6)) / 0.1
    assert ap.steady_motions(TOP, TOP_VALUES, fixed={theta: 0.6, phi.d + psi.d * cos(theta): slow}) == ()


def test_steady_motions_against_walls_are_not_sought():
    """A bead circles in a bowl h = c r² with ω² = 2 g c: found on the bowl as a constraint; on a wall the message says so."""
    r, angle, height = ap.coordinates("r angle height")
    bowl, kinetic = height - 0.8 * r**2, (r.d**2 + r**2 * angle.d**2 + height.d**2) / 2
    for surface, count in ((ap.Constraint(bowl), 2), (ap.Unilateral(bowl, "bowl"), 0)):
        bead = ap.System([r, angle, height], kinetic, 9.81 * height, constraints=[surface])
        found = ap.steady_motions(bead, fixed={r: 0.7}, within={height: (0, 2)})
        assert len(found) == count and ("not sought" in found.message) == (count == 0)
        assert all(abs(steady[angle.d]) == pytest.approx(np.sqrt(2 * 9.81 * 0.8)) for steady in found)


def test_the_disc_rolls_on_circles():
    example = ap.zoo.rolling_disc()
    s = example.system
    z, heading, lean = s.coordinates[2:5]
    (motion,) = ap.steady_motions(s, example.parameters, fixed={lean: 0.2, heading.d: 2.0}, within={z: (0.1, 0.5)})
    run = ap.simulate(s, motion.start, 1.0, example.parameters)
    assert np.ptp(run[lean]) < 1e-9 and np.ptp(run[heading.d]) < 1e-8
    assert set(motion.linear.velocities) == {heading.d, lean.d, s.coordinates[5].d}


def test_along_a_motion_it_is_the_slope_of_the_accelerations():
    T = (q1.d**2 + 2 * q2.d**2 + q1.d * q2.d * cos(q1 - q2)) / 2
    system = ap.System([q1, q2], T, -3 * cos(q1) - cos(q2), {q1: -c * q1.d})
    motion = ap.simulate(system, {q1: 1.0, q2.d: 0.5}, 1.0, {c: 0.3}, times=np.linspace(0, 1, 5))
    linear = ap.linearize(motion=motion)
    assert linear.A.shape == (len(motion.t), 4, 4) and linear.M.shape == (len(motion.t), 2, 2)
    run, h = ap.compile(system, {c: 0.3}, backend="vm"), 1e-6
    for A_k, q, v in zip(linear.A, motion.q, motion.v, strict=True):
        state = np.concatenate([q, v])
        slope = lambda e, s=state: np.subtract(*(run.acceleration(0.0, *np.split(s + d * e, 2))[0] for d in (h, -h))) / (2 * h)
        np.testing.assert_allclose(A_k[2:], np.stack([slope(e) for e in np.eye(4)], axis=1), atol=1e-8)
    with pytest.raises(ap.ModelError, match="changes with time"):
        linear.eigenvalues  # noqa: B018


def test_quaternions_are_linearised_as_angles_are():
    """The sleeping body: a free rigid body about its middle axis, λ² = Ω² (B − A)(C − B)/(A C) > 0."""
    ball = ap.quaternion("ball")
    moments, Omega = (1.0, 2.0, 2.5), 3.0
    system = ap.System([ball], bodies=[ap.RigidBody(0, moments, [0, 0, 0], ball)])
    linear = ap.linearize(system, at={ball.rates[1]: Omega})
    a, b, d = moments
    assert linear.eigenvalues.real.max() == pytest.approx(Omega * math.sqrt((b - a) * (d - b) / (a * d)), rel=1e-10)


def test_what_is_no_steady_motion_is_refused():
    system = ap.System([q1], q1.d**2 / 2, -cos(q1))
    with pytest.raises(ap.ModelError, match=r"q1\.dd = "):
        ap.linearize(system, at={q1: 0.5})
    with pytest.raises(ap.ModelError, match="not both"):
        ap.linearize(system)
    wrong = {"twice": {"independent": [q1, q1.d]}, "list of": {"independent": q1}, "finite": {"time": math.nan}}
    for message, options in wrong.items():
        with pytest.raises(ap.ModelError, match=message):
            ap.linearize(system, at={}, **options)
    with pytest.raises(ap.ModelError, match=r"ap\.simulate"):
        ap.linearize(system, motion=3)
    wrong = {"whole number": {"attempts": 0}, "lowest": {"within": {q1: (1, -1)}}, "nan": {"fixed": {q1: math.nan}}}
    for message, options in wrong.items():
        with pytest.raises(ap.ModelError, match=message):
            ap.steady_motions(system, **options)


SECOND = [
    [q1.dd + 2 * q2.dd * cos(q3) + q1.d / 3 - 3 * q3],
    [q1.dd + 2 * q2.dd * cos(q3) + q1.d / 3 - 3 * q3 + q1.dd**2 + q3 * q2.dd**2],
    [q1.dd + 2 * q2.dd * cos(q3) + q1.d / 3 - 3 * q3, q2.dd - 2 * q3.dd + q2],
]


@pytest.mark.parametrize("rows", SECOND, ids=["linear", "nonlinear", "two"])
def test_rows_of_second_order_are_linearised(rows):
    """A = ∂(v, a)/∂(q, v) of the motion itself, by central differences; all velocities are free."""
    T = (q1.d**2 + 2 * q2.d**2 + q3.d**2 + q1.d * q2.d) / 2
    V = 3 * (q1**2 + q2**2 + 2 * q1 * q3 + q3**2) / 2
    system = ap.System([q1, q2, q3], T, V, {q1: -q1.d / 5}, constraints=rows)
    run = ap.compile(system, backend="vm")
    flow = lambda z: np.concatenate([z[3:], run.acceleration(0.0, z[:3].copy(), z[3:].copy())[0]])
    slopes = np.array([(flow(1e-6 * e) - flow(-1e-6 * e)) / 2e-6 for e in np.eye(6)]).T
    found = ap.linearize(system, at={})
    order = [system.coordinates.index(q) for q in found.coordinates]
    order += [3 + system.velocities.index(v) for v in found.velocities]
    np.testing.assert_allclose(found.A, slopes[np.ix_(order, order)], atol=1e-8)


def test_a_row_of_second_order_leaves_a_steady_motion():
    """x.dd = k (v − x.d): a servo keeps the speed v; x is ignorable, and the linear motion decays with −k."""
    system = ap.System([q1, q2], q1.d**2 / 2 + q2.d**2 / 2, q2**2, constraints=[q1.dd - 2 * (5 - q1.d)])
    (steady,) = [s for s in ap.steady_motions(system) if abs(s.start[q1.d] - 5) < 1e-9]
    values = ap.linearize(system, at=steady).eigenvalues
    assert np.abs(values + 2).min() < 1e-9


def test_a_reaction_that_does_not_push_the_velocity_it_decides():
    """φ = x y + x is kept by a servo that pushes φ and y alone: x swings on its spring, whatever is counted as dependent."""
    servo = ap.Constraint(phi - x * y - x, reaction={phi: 1, y: 0.25}, name="servo")
    system = ap.System([x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2, x**2 + 3 * y**2 / 2, {y: -y.d}, [servo])
    order = lambda values: sorted(values, key=lambda s: (round(s.real, 9), s.imag))
    own = 1j * math.sqrt(2)  # ẍ = −2 x; ÿ + ẏ + 3 y = Λ/4 with Λ = φ̈ = ẍ: y decides itself
    expected = order([*np.roots([1, 1, 3]), own, -own])
    np.testing.assert_allclose(order(ap.linearize(system, at={}).eigenvalues), expected, atol=1e-12)


def test_an_angle_that_cancels_may_turn():
    """A disc written as any body: φ stands in T and cancels; (5/4) r ψ̇² sin θ cos θ + (3/2) r ψ̇ φ̇ sin θ + g cos θ = 0."""
    z, r, lean, turn = ap.coordinates("z"), ap.parameters("r", positive=True), 1.3, 4.0
    body = ap.RigidBody(m, [m * r**2 / 4, m * r**2 / 4, m * r**2 / 2], [x, y, z], [psi, theta, phi])
    disc = ap.System([x, y, z, psi, theta, phi], potential=m * g * z, bodies=[body], constraints=ap.rolling(body, r))
    values, fixed = {m: 1.0, g: 9.81, r: 0.1}, {theta: lean, psi.d: turn}
    (motion,) = ap.steady_motions(disc, values, fixed=fixed, within={z: (0.05, 0.1)}, attempts=6)
    s, c = math.sin(lean), math.cos(lean)
    assert motion[phi.d] == pytest.approx(-(9.81 * c + 0.125 * turn**2 * s * c) / (0.15 * turn * s), rel=1e-10)


NO_LINEAR_EQUATIONS = {  # (system, state) → why
    "sign": (dict(forces={q1: -sympy.sign(q1.d)}), {}, r"sign\(q1\.d\) jumps or has a kink"),
    "Abs": (dict(potential=sympy.Abs(q1)), {}, r"Abs\(q1\) jumps"),
    "one-sided spring": (dict(potential=sympy.Max(q1, 0) ** 2), {}, "jumps or has a kink"),
    "passing by": (dict(potential=-cos(q1)), {q1.d: 1.0}, "for a moment only"),
    "driven": (dict(forces={q1: sin(ap.t)}), {}, "no rest or steady motion"),
    "driven in T": (dict(kinetic=q1.d**2 / 2 + q1.d * sin(ap.t), potential=q1**2 / 2), {q1: -1.0}, "no rest"),
}


@pytest.mark.parametrize("what", NO_LINEAR_EQUATIONS)
def test_where_there_are_no_linear_equations(what):
    given, state, message = NO_LINEAR_EQUATIONS[what]
    with pytest.raises(ap.ModelError, match=message):
        ap.linearize(ap.System([q1], **{"kinetic": q1.d**2 / 2, **given}), at=state)


def test_edges_and_times_that_do_not_matter():
    """q|q| has a derivative at 0; a spring that changes with time has matrices, and no eigenvalues."""
    smooth = ap.System([q1], q1.d**2 / 2, q1**2, {q1: -q1.d * sympy.Abs(q1.d) - sympy.Max(q1 - 1, 0)})
    np.testing.assert_allclose(ap.linearize(smooth, at={}).eigenvalues.imag, [math.sqrt(2), -math.sqrt(2)])
    spring = ap.linearize(ap.System([q1], q1.d**2 / 2, (2 + sin(ap.t)) * q1**2 / 2), at={}, time=1.0)
    assert spring.K[0, 0] == pytest.approx(2 + math.sin(1)) and spring.changing and "one time" in str(spring)
    with pytest.raises(ap.ModelError, match="changes with time"):
        spring.stable  # noqa: B018
    for system in (
        ap.System([q1], q1.d**2 / 2 + q1.d * sin(ap.t), q1**2 / 2),
        ap.System([q1, q2], (q1.d**2 + q2.d**2) / 2, constraints=[q1.dd - sin(ap.t)]),
    ):
        with pytest.raises(ap.ModelError, match="depends on time"):
            ap.steady_motions(system)
    behind = ap.System([q1], q1.d**2 / 2, q1**2, constraints=[ap.Unilateral(q1 - 1, name="wall")])
    assert ap.steady_motions(behind, attempts=4) == ()


def test_the_stability_of_a_rest_on_an_edge_is_not_the_mean_of_two():
    """V = max(x, 0)² − x²/4: a valley to the right, a slope to the left; the mean of both stiffnesses is positive."""
    (rest,) = ap.equilibria(ap.System([x], x.d**2 / 2, sympy.Max(x, 0) ** 2 - x**2 / 4), within={x: (-1, 1)}, attempts=5)
    assert rest.stability == "unknown" and "kink" in rest.at.reason


def test_body_rates_that_are_constant_for_a_moment_are_no_steady_motion():
    """A top in a quaternion with a given spin: it sleeps or hangs; leaning, its body rates turn in it."""
    e = ap.quaternion("e")
    body = ap.RigidBody(m, [A, A, C], [0, 0, 0], e)
    top = ap.System([e], potential=m * g * l * e.rotation[2, 2], bodies=[body])
    found = ap.steady_motions(top, TOP_VALUES, fixed={e.rates[2]: 40.0}, attempts=30)
    assert found
    for motion in found:
        assert abs(motion[e.rotation[2, 2]]) == pytest.approx(1, abs=1e-9) and motion.stable
        assert max(abs(motion[rate]) for rate in e.rates[:2]) < 1e-9


def test_an_angle_of_minus_pi_is_one_of_pi():
    """A pendulum rests at 0 and at π, and a conical one has each of its circles once."""
    theta, m, g, l = ap.coordinates("theta"), *ap.parameters("m g l", positive=True)
    pendulum = ap.System([theta], m * l**2 * theta.d**2 / 2, -m * g * l * sympy.cos(theta))
    found = ap.steady_motions(pendulum, {m: 1, g: 1, l: 1})
    assert [round(one[theta], 9) for one in found] == [0.0, round(np.pi, 9)]


def test_modes_as_motions_and_pictures(tmp_path):
    """A double pendulum: θ₂/θ₁ = ±√2, ω² = (2 ∓ √2) g/l; the ends of the swing, and a file."""
    example = ap.zoo.n_pendulum()
    linear = ap.linearize(example.system, at={}, parameters=example.parameters)
    for mode in range(len(linear.eigenvalues)):
        motion = linear.mode_motion(mode, amplitude=0.1, periods=2)
        frequency = abs(linear.eigenvalues[mode].imag)
        sign = 1 if frequency**2 < 2 * 9.81 else -1
        assert motion.t[-1] == pytest.approx(4 * np.pi / frequency)
        assert frequency**2 == pytest.approx((2 - sign * math.sqrt(2)) * 9.81)
        np.testing.assert_allclose(motion["theta2"], sign * math.sqrt(2) * motion["theta1"], atol=1e-12)
        assert np.abs(motion["theta2"]).max() == pytest.approx(0.1)
        slope = np.gradient(motion["theta1"], motion.t, edge_order=2)
        np.testing.assert_allclose(motion["theta1.d"], slope, atol=0.005 * frequency)
    figure = linear.plot_modes()
    assert [ax.get_title() for ax in figure.axes] == ["mode 1: 0.3815 Hz", "mode 0: 0.9211 Hz"]
    assert linear.animate(1, tmp_path / "mode.html").stat().st_size > 10_000


def test_modes_of_a_linkage_keep_its_bars():
    example = ap.zoo.four_bar()
    rest = ap.equilibrium(example.system, example.start, parameters=example.parameters)
    linear = ap.linearize(example.system, at=rest, parameters=example.parameters)
    motion = linear.mode_motion(0)
    assert motion.drift.position < 1e-9 and np.ptp(motion.q, axis=0).max() > 0.2


def test_modes_that_cannot_be_shown():
    example = ap.zoo.n_pendulum()
    linear = ap.linearize(example.system, at={}, parameters=example.parameters)
    for wrong in ({"mode": 7}, {"mode": 0, "amplitude": -1}, {"mode": 0, "periods": 0}):
        with pytest.raises(ap.ModelError):
            linear.mode_motion(**wrong)
    motion = ap.simulate(example.system, example.start, 0.1, example.parameters)
    with pytest.raises(ap.ModelError, match="about a rest"):
        ap.linearize(motion=motion).mode_motion(0)
