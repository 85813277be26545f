"""Golubev (2014), sections 1 and 2: Appell's function of a free rigid body, equation by equation.

Identities are checked in exact arithmetic on clouds of particles; numbers against every other route to a free body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
import sympy
from scipy.spatial.transform import Rotation
from sympy import Matrix, Rational

import appell as ap
from appell.errors import ModelError, SingularConfiguration
from appell.tree import Inertia, Joint, Tree, free_motion

TOLERANCE = 1e-12
h = sympy.Symbol("h")  # time from the instant in question


@dataclass
class Cloud:
    """Particles that move as one rigid body: masses, places from the centre of mass and its motion, in fractions."""

    m: list
    rho: list[Matrix]
    omega: Matrix
    omega_dot: Matrix
    v: Matrix
    w: Matrix

    @property
    def mass(self):
        return sum(self.m)

    def J(self, at: Matrix | None = None) -> Matrix:
        """About the point at ρ = `at`."""
        arms = [rho - (at or sympy.zeros(3, 1)) for rho in self.rho]
        return sum((m * (r.dot(r) * sympy.eye(3) - r * r.T) for m, r in zip(self.m, arms, strict=True)), sympy.zeros(3))

    def acceleration(self, rho: Matrix) -> Matrix:
        """Rivals' formula."""
        return self.w + self.omega_dot.cross(rho) + self.omega.cross(self.omega.cross(rho))

    def velocity(self, rho: Matrix) -> Matrix:
        return self.v + self.omega.cross(rho)


def vector(rng: np.random.Generator) -> Matrix:
    return Matrix([Rational(int(x), 7) for x in rng.integers(-20, 20, 3)])


def cloud(seed: int = 0, n: int = 5) -> Cloud:
    rng = np.random.default_rng(seed)
    m = [Rational(int(x), 3) for x in rng.integers(1, 9, n)]
    places = [vector(rng) for _ in m]
    centre = sum((k * r for k, r in zip(m, places, strict=True)), sympy.zeros(3, 1)) / sum(m)
    return Cloud(m, [r - centre for r in places], *(vector(rng) for _ in range(4)))


def total(terms) -> Matrix:
    return sum(terms, sympy.zeros(3, 1))


def body_of(c: Cloud, **options):
    return free_motion(ap.RigidBody(c.mass, c.J(), [0, 0, 0], sympy.eye(3), name="cloud"), **options)


def at(c: Cloud, free, w: Matrix) -> dict:
    """Values of the symbols of a FreeBody."""
    pairs = ((free.w, w), (free.omega, c.omega), (free.omega_dot, c.omega_dot))
    return {s: x for symbols, values in pairs for s, x in zip(symbols, values, strict=True)}


def test_golubev_1_1():
    """W = ½ M w_c² + W*, Koenig."""
    c = cloud()
    W = sum(m * a.dot(a) for m, a in zip(c.m, map(c.acceleration, c.rho), strict=True)) / 2
    relative = [c.acceleration(rho) - c.w for rho in c.rho]
    assert c.mass * c.w.dot(c.w) / 2 + sum(m * a.dot(a) for m, a in zip(c.m, relative, strict=True)) / 2 == W


def test_golubev_rivals():
    """The acceleration of a particle is the second derivative of r_c + R(t) ρ."""
    c = cloud()
    W, Wd = (Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for x, y, z in (c.omega, c.omega_dot))
    R = sympy.eye(3) + h * W + h**2 / 2 * (Wd + W * W)  # R(t) up to second order
    path = c.v * h + c.w * h**2 / 2 + R * c.rho[0]
    assert path.diff(h, 2).subs(h, 0) == c.acceleration(c.rho[0])


def test_golubev_1_2_1_3_1_4():
    """The three ways to write S agree, and W − S is free of accelerations."""
    c = cloud()
    tangential = [c.omega_dot.cross(rho) for rho in c.rho]
    centripetal = [c.omega.cross(c.omega.cross(rho)) for rho in c.rho]
    last = sum(m * a.dot(b) for m, a, b in zip(c.m, tangential, centripetal, strict=True))
    first = c.mass * c.w.dot(c.w) / 2
    S2 = first + sum(m * a.dot(a) for m, a in zip(c.m, tangential, strict=True)) / 2 + last
    S3 = first + c.omega_dot.dot(c.J() * c.omega_dot) / 2 + last
    free = body_of(c)
    S4 = free.S.xreplace(at(c, free, c.w))
    assert S2 == S3 == S4
    assert free.numbers == ("1.4", "2.1")
    W = sum(m * a.dot(a) for m, a in zip(c.m, map(c.acceleration, c.rho), strict=True)) / 2
    assert sum(m * b.dot(b) for m, b in zip(c.m, centripetal, strict=True)) / 2 == W - S4


def test_golubev_1_3_the_chain_of_identities():
    """(ω̇ × ρ)·[ω × (ω × ρ)] in the six ways in which the source writes it."""
    c = cloud()
    for rho in c.rho:
        od, o = c.omega_dot, c.omega
        first = od.cross(rho).dot(o.cross(o.cross(rho)))
        assert first == od.cross(rho).dot(o * o.dot(rho) - rho * o.dot(o)) == od.cross(rho).dot(o) * o.dot(rho)
        assert first == -od.dot(o.cross(rho * o.dot(rho))) == od.dot(o.cross(o * rho.dot(rho) - rho * o.dot(rho)))
        assert first == od.dot(o.cross(rho.cross(o.cross(rho))))


def test_golubev_1_5():
    """S about another point is (1.4) with w_c = w_A + ω̇ × r_c + ω × (ω × r_c), but for terms free of accelerations."""
    c, r_c = cloud(), vector(np.random.default_rng(5))
    centre, pole = body_of(c), body_of(c, r_c=r_c)
    assert pole.numbers == ("1.5", "2.3")
    w, od, o = (Matrix(x) for x in (pole.w, pole.omega_dot, pole.omega))
    w_c = w + od.cross(r_c) + o.cross(o.cross(r_c))
    moved = centre.S.xreplace(dict(zip(centre.w, w_c, strict=True)))
    difference = sympy.expand(moved - pole.S)
    assert difference != 0 and not difference.free_symbols & set(pole.unknowns)


def test_golubev_1_5_groups():
    """J_A and K_A* are those of the particles about A (Koenig, Steiner)."""
    c, r_c = cloud(), vector(np.random.default_rng(5))
    free = body_of(c, r_c=r_c)
    assert Matrix(free._on_axes[1]) == c.J(-r_c)
    arms = [rho + r_c for rho in c.rho]
    K = total(m * r.cross(c.omega.cross(r)) for m, r in zip(c.m, arms, strict=True))
    assert Matrix(free.kinetic_moment).xreplace(at(c, free, c.w)) == K


@pytest.mark.parametrize("r_c", [(0, 0, 0), (1, 2, 3)])
def test_golubev_generalized_forces(r_c):
    """Q_w = Σ F and Q_ω = Σ r × F are the derivatives of Σ F·w_v by w and ω̇."""
    c, r_c, rng = cloud(), Matrix(r_c), np.random.default_rng(3)
    free = body_of(c, r_c=r_c)
    w, od, o = (Matrix(x) for x in (free.w, free.omega_dot, free.omega))
    arms, F = [rho + r_c for rho in c.rho], [vector(rng) for _ in c.rho]
    power = sum(f.dot(w + od.cross(r) + o.cross(o.cross(r))) for f, r in zip(F, arms, strict=True))
    assert Matrix([power.diff(x) for x in free.w]) == total(F)
    moments = total(r.cross(f) for r, f in zip(arms, F, strict=True))
    assert Matrix([sympy.expand(power).diff(x) for x in free.omega_dot]) == moments


def symbolic_body():
    m, *J = ap.parameters("m J_1 J_2 J_3 J_12 J_13 J_23")
    a, b, d = ap.parameters("a b d")
    inertia = [[J[0], J[3], J[4]], [J[3], J[1], J[5]], [J[4], J[5], J[2]]]
    psi, theta, phi = ap.coordinates("psi theta phi")
    return ap.RigidBody(m, inertia, [0, 0, 0], [psi, theta, phi], name="body"), (a, b, d)


@pytest.mark.parametrize("axes", ["body", "space"])
@pytest.mark.parametrize("off_centre", [False, True])
def test_golubev_2_1_2_3_are_the_derivatives_of_S(axes: str, off_centre: bool):
    """∂S/∂w = Σ F, ∂S/∂ω̇ = Σ r × F, with symbols for mass, inertia and pole, on body and on Koenig axes."""
    body, pole = symbolic_body()
    free = free_motion(body, pole if off_centre else (0, 0, 0), axes)
    assert free.numbers[1] == ("2.3" if off_centre else "2.1")
    for unknown, equation in zip(free.unknowns, free.equations, strict=True):
        assert sympy.expand(free.S.diff(unknown) - equation.lhs) == 0
    assert [e.rhs for e in free.equations] == [*free.force, *free.moment]


def test_golubev_2_1_euler():
    """On principal axes of the body the moments are Euler's equations."""
    A, B, C, m = ap.parameters("A B C m", positive=True)
    free = free_motion(ap.RigidBody(m, [A, B, C], [0, 0, 0], sympy.eye(3)))
    (p, q, r), (pd, qd, rd) = free.omega, free.omega_dot
    euler = [A * pd + (C - B) * q * r, B * qd + (A - C) * r * p, C * rd + (B - A) * p * q]
    assert [sympy.expand(e.lhs - x) for e, x in zip(free.equations[3:], euler, strict=True)] == [0, 0, 0]


@pytest.mark.parametrize("r_c", [(0, 0, 0), (0.3, -0.2, 0.5)])
def test_golubev_2_1_2_3_in_any_koenig_axes(r_c):
    """Turning all vectors turns both sides: three sets of axes, one motion."""
    rng = np.random.default_rng(2)
    body, _ = random_body(rng)
    omega, F, M = rng.normal(size=(3, 3))
    w, od = free_motion(body, r_c).acceleration(omega, F, M)
    for seed in range(2):
        R = Rotation.random(random_state=seed).as_matrix()
        turned = free_motion(body, r_c, Matrix(R.tolist()))
        w_, od_ = turned.acceleration(R @ omega, R @ F, R @ M)
        assert abs(w_ - R @ w).max() < TOLERANCE and abs(od_ - R @ od).max() < TOLERANCE
        S, S_ = (
            free.S.subs(free.definitions).subs(dict(zip((*free.unknowns, *free.omega), x, strict=True)))
            for free, x in ((free_motion(body, r_c), [*w, *od, *omega]), (turned, [*w_, *od_, *(R @ omega)]))
        )
        assert abs(S - S_) < TOLERANCE * (1 + abs(S))


def rates(c: Cloud, rho: Matrix) -> Matrix:
    """ρ(t) up to second order; ρ̇ = ω × ρ."""
    return rho + h * c.omega.cross(rho) + h**2 / 2 * (c.omega_dot.cross(rho) + c.omega.cross(c.omega.cross(rho)))


def derivative(vector_: Matrix) -> Matrix:
    return vector_.applyfunc(sympy.expand).diff(h).subs(h, 0)


def test_golubev_2_2():
    """dK_c*/dt = J_c ω̇ + ω × K_c*. Line 2 prints Σ m [ρ̇ × ρ], which is −K_c*; it is Σ m [ρ̇ × ρ̇] = 0."""
    c = cloud()
    omega = c.omega + h * c.omega_dot
    K = total(m * rates(c, rho).cross(omega.cross(rates(c, rho))) for m, rho in zip(c.m, c.rho, strict=True))
    left = c.J() * c.omega_dot + c.omega.cross(c.J() * c.omega)
    assert derivative(K) == left
    last = total(m * rho.cross(c.omega.cross(c.omega.cross(rho))) for m, rho in zip(c.m, c.rho, strict=True))
    speeds = [c.omega.cross(rho) for rho in c.rho]
    correct = total(m * u.cross(u) for m, u in zip(c.m, speeds, strict=True))
    printed = total(m * u.cross(rho) for m, u, rho in zip(c.m, speeds, c.rho, strict=True))
    assert c.J() * c.omega_dot + correct + last == left
    assert printed == -c.J() * c.omega and c.J() * c.omega_dot + printed + last != left


def test_golubev_after_2_3():
    """The left side of the moments is v_A × Q + dK_A/dt; K_A takes ω × r_v from A, not ω × ρ_v as printed."""
    c, r_c = cloud(), vector(np.random.default_rng(5))
    v_A, w_A = c.velocity(-r_c), c.acceleration(-r_c)
    free = body_of(c, r_c=r_c)
    left = Matrix([e.lhs for e in free.equations[3:]]).xreplace(at(c, free, w_A))
    J, K_rate = c.J(-r_c), c.J(-r_c) * c.omega_dot + c.omega.cross(c.J(-r_c) * c.omega)
    assert left == c.mass * r_c.cross(w_A) + J * c.omega_dot + c.omega.cross(J * c.omega)
    r, v, omega = rates(c, r_c), v_A + h * w_A, c.omega + h * c.omega_dot
    assert c.mass * r_c.cross(w_A) == derivative(c.mass * r.cross(v)) + v_A.cross(c.mass * c.v)
    arms = [rates(c, rho + r_c) for rho in c.rho]
    moment = lambda tails: total(m * a.cross(v + omega.cross(b)) for m, a, b in zip(c.m, arms, tails, strict=True))
    correct, printed = derivative(moment(arms)), derivative(moment([rates(c, rho) for rho in c.rho]))
    assert left == v_A.cross(c.mass * c.v) + correct
    assert left != v_A.cross(c.mass * c.v) + printed
    assert derivative(total(m * a.cross(omega.cross(a)) for m, a in zip(c.m, arms, strict=True))) == K_rate


# --- numbers ---------------------------------------------------------------------------------------------------------


def random_body(rng: np.random.Generator, position=(0, 0, 0), orientation=None) -> tuple[ap.RigidBody, np.ndarray]:
    A = rng.normal(size=(3, 3))
    P = 0.15 * A @ A.T + 0.1 * np.eye(3)
    J = np.trace(P) * np.eye(3) - (P + P.T) / 2
    orientation = sympy.eye(3) if orientation is None else orientation
    return ap.RigidBody(rng.uniform(0.5, 3.0), J.tolist(), position, orientation, name="body"), J


@dataclass
class Case:
    """A random body, its state and the force at A with a couple, all on body axes."""

    body: ap.RigidBody
    J: np.ndarray
    r_c: np.ndarray
    R: np.ndarray
    quaternion: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    F: np.ndarray
    M: np.ndarray


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    body, J = random_body(rng)
    turn = Rotation.random(random_state=seed)
    return Case(body, J, 0.4 * rng.normal(size=3), turn.as_matrix(), turn.as_quat(), *rng.normal(size=(4, 3)))


def close(mine, theirs) -> bool:
    return float(np.max(np.abs(np.array(mine, float) - np.array(theirs, float)))) < TOLERANCE * (1 + np.max(np.abs(theirs)))


@pytest.mark.parametrize("seed", range(4))
def test_free_body_is_the_system_with_a_quaternion(seed: int):
    """`System(bodies=[…])` by the normal form and by `forms.appell`: centre of mass and body rates."""
    k = case(seed)
    x, y, z = ap.coordinates("x y z")
    ball = ap.quaternion("ball")
    body = ap.RigidBody(k.body.mass, k.body.inertia, [x, y, z], ball)
    A = Matrix([x, y, z]) - ball.rotation * Matrix(k.r_c)
    loads = [ap.Force((k.R @ k.F).tolist(), at=A), ap.Torque(k.M.tolist(), on=body, frame="body")]
    system = ap.System([x, y, z, ball], bodies=[body], loads=loads)
    q, v = np.concatenate([np.zeros(3), k.quaternion]), np.concatenate([k.v, k.omega])
    w_A, od = free_motion(k.body, k.r_c.tolist()).acceleration(k.omega, k.F, k.M)
    w_c = k.R @ (w_A + np.cross(od, k.r_c) + np.cross(k.omega, np.cross(k.omega, k.r_c)))
    for a, _ in (
        ap.compile(system, backend="vm").acceleration(0.0, q, v),
        ap.forms.appell(system).acceleration(0.0, q, v),
    ):
        assert close(a[:3], w_c) and close(a[3:], od)


@pytest.mark.parametrize("seed", range(4))
def test_free_body_is_the_floating_tree_and_pinocchio(seed: int):
    """One floating body whose frame has its origin in A; [v̇, ω̇] are rates of components on body axes."""
    k = case(seed)
    m = float(k.body.mass)
    tree = Tree([Joint("base", "floating", body=Inertia.at_centre(m, k.r_c, k.J))], gravity=(0, 0, 0), backend="vm")
    q, v = np.concatenate([[0.1, 0.2, 0.3], k.quaternion]), np.concatenate([k.v, k.omega])
    tau = np.concatenate([k.F, k.M])
    model = pin.Model()
    model.gravity = pin.Motion.Zero()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(joint, pin.Inertia(m, k.r_c, k.J), pin.SE3.Identity())
    free = free_motion(k.body, k.r_c.tolist())
    w_A, od = free.acceleration(k.omega, k.F, k.M)
    for a in (tree.forward_dynamics(q, v, tau), pin.aba(model, model.createData(), q, v, tau)):
        assert close(a[:3] + np.cross(k.omega, k.v), w_A) and close(a[3:], od)
    F, M = free.forces(k.omega, w_A, od)
    assert close(F, k.F) and close(M, k.M)
    back = pin.rnea(model, model.createData(), q, v, np.concatenate([w_A - np.cross(k.omega, k.v), od]))
    assert close(np.concatenate([F, M]), back)


def test_free_body_in_symbols_and_in_numbers():
    """The equations with numbers put in vanish at the accelerations that `acceleration` finds."""
    body, pole = symbolic_body()
    free = free_motion(body, pole, axes="space")
    rng = np.random.default_rng(0)
    values = {p: float(x) for p, x in zip(free.parameters, 0.2 * rng.normal(size=len(free.parameters)), strict=True)}
    values |= dict(zip(ap.parameters("m J_1 J_2 J_3"), (2.0, 3.0, 2.5, 2.0), strict=True))
    omega, F, M = rng.normal(size=(3, 3))
    w, od = free.with_parameters(values).acceleration(omega, F, M)
    known = values | dict(zip((*free.w, *free.omega_dot, *free.omega, *free.force, *free.moment),
                              (*w, *od, *omega, *F, *M), strict=True))  # fmt: skip
    known |= {s: value.xreplace(known) for s, value in free.definitions.items()}
    for equation in free.equations:
        assert abs(float((equation.lhs - equation.rhs).xreplace(known))) < TOLERANCE


def test_free_body_as_shown():
    A, B, C, m, a = ap.parameters("A B C m a", positive=True)
    body = ap.RigidBody(m, [A, B, C], [0, 0, 0], sympy.eye(3), name="top")
    text = str(free_motion(body))
    assert "(1.4)  S = ½ m w_c² + ½ ω̇·J_c ω̇ + ω̇·(ω × K_c*)" in text
    assert "A ω̇_x + ω_y ω_z (C − B) = M_x" in text
    pole = free_motion(body, [0, 0, a])
    assert "(2.3)  m {w_A + ω̇ × r_c + ω × (ω × r_c)} = F,  m r_c × w_A + J_A ω̇ + ω × K_A* = M_A" in str(pole)
    assert pole.latex().count(r"\tag{1.5}") == 2 and pole.latex().count(r"\tag{2.3}") == 7
    assert pole._repr_latex_() == pole.latex() and "(2.3)" in repr(pole)


def test_free_body_refuses():
    m = ap.parameters("m", positive=True)
    body = ap.RigidBody(m, [1, 1, 1], [0, 0, 0], sympy.eye(3), name="top")
    with pytest.raises(ModelError, match="takes a RigidBody"):
        free_motion(ap.Particle(1, [0]))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="axes='ground'"):
        free_motion(body, axes="ground")
    with pytest.raises(ModelError, match=r"top has symbols for m; numbers come from top.with_parameters\(\{m: …\}\)"):
        free_motion(body).acceleration([0, 0, 0], [0, 0, 0], [0, 0, 0])
    with pytest.raises(ModelError, match="declared positive"):
        free_motion(body).with_parameters({m: -1})
    with pytest.raises(ModelError, match="no parameter 'k'"):
        free_motion(body).with_parameters({m: 1, "k": 2})
    with pytest.raises(ModelError, match="no value for the parameter m"):
        free_motion(body).with_parameters({})
    with pytest.raises(ModelError, match="'F_x' is a component"):
        free_motion(ap.RigidBody(ap.parameters("F_x"), [1, 1, 1], [0, 0, 0], sympy.eye(3)))
    with pytest.raises(ModelError, match="omega must be 3"):
        free_motion(body).with_parameters({m: 1}).acceleration([0, 0], [0, 0, 0], [0, 0, 0])
    with pytest.raises(SingularConfiguration, match="singular"):
        free_motion(ap.RigidBody(1, [1, 1, 0], [0, 0, 0], sympy.eye(3))).acceleration([0] * 3, [0] * 3, [0] * 3)
