"""Golubev (2014), equation by equation, against the recursive algorithm: 1e-12 on chains of up to eight bodies.

Each misprint that the equations contain is shown: the printed formula fails, the corrected one holds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from tests.tree.chains import TOLERANCE, WRONG, Posed, free, gap, hinged, posed, random_chain, random_tree, scale_of

from appell.errors import ModelError
from appell.tree import Chain, ChainLink
from appell.tree.golubev import golubev_equations as golubev
from appell.tree.golubev.golubev_equations import (
    ChainState,
    Hinge,
    apply,
    apply_transposed,
    behind,
    cross,
    dot,
    lever,
    plus,
    times,
)
from appell.tree.inertia import hat

SIZES = (2, 3, 5, 8)


@pytest.mark.parametrize("K", SIZES)
def test_golubev_3_1_and_3_2(K: int):
    """Ω = ω + e Σ ω_μ and its rate, for parallel axes, are (4.1)."""
    p = free(K, parallel=True)
    e, base = p.kins[1].e, p.state.base
    total = sum(h.rate for h in p.state.hinges[1:])
    rates = sum(h.acceleration for h in p.state.hinges[1:])
    assert gap(p.kins[-1].Om, plus(base.w, times(total, e))) < TOLERANCE
    assert gap(p.kins[-1].Omd, plus(base.wd, times(rates, e), times(total, cross(base.w, e)))) < TOLERANCE


@pytest.mark.parametrize("parallel", [True, False])
def test_golubev_3_3_and_3_5(parallel: bool):
    """Hinge and mass-centre accelerations are second derivatives of the positions along the motion."""
    chain = random_chain(4, parallel=parallel, base="fixed", seed=3)
    p = posed(chain, 4)
    q, v, a = (np.array([p.values.get(f"{name}_{n}") for n in range(1, 5)]) for name in ("phi", "omega", "omegadot"))
    h = 1e-4
    along = [q + s * v + s * s / 2 * a for s in (-h, 0.0, h)]
    points = [chain.placement("link_4", x)[1] for x in along]
    assert np.allclose((points[0] - 2 * points[1] + points[2]) / h**2, p.kins[3].w, rtol=1e-5, atol=1e-5)
    points = [chain.centre_of_mass(x) for x in along]
    sigma = sum(body.m * np.array(kin.sigma) for body, kin in zip(p.bodies, p.kins, strict=True)) / chain.mass
    assert np.allclose((points[0] - 2 * points[1] + points[2]) / h**2, sigma, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("parallel", [True, False])
def test_golubev_3_10(K: int, parallel: bool):
    p = free(K, parallel=parallel)
    assert gap(*golubev.momentum_equation(p.bodies, p.kins, p.state.g), scale_of(p)) < TOLERANCE


def test_golubev_3_11():
    """∂S_ν/∂ω̇: the print has m_μ σ_μ under the sum over r_μ; it is m_ν σ_ν."""
    p = free(4, parallel=True)
    own = [kin.L for kin in p.kins]
    r = [lever(p.kins, n, n + 1) for n in range(3)]
    printed, correct = [0.0] * 3, [0.0] * 3
    for nu in range(4):
        for mu in range(nu):
            printed = plus(printed, times(p.bodies[mu].m, cross(r[mu], p.kins[mu].sigma)))
            correct = plus(correct, times(p.bodies[nu].m, cross(r[mu], p.kins[nu].sigma)))
    right = golubev.gravity_moment(p.bodies, p.kins, 0, p.state.g)
    assert gap(plus(correct, *own), right, scale_of(p)) < TOLERANCE
    assert gap(plus(printed, *own), right, scale_of(p)) > WRONG


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("parallel", [True, False])
def test_golubev_3_12(K: int, parallel: bool):
    p = free(K, parallel=parallel)
    assert gap(*golubev.base_equation(p.bodies, p.kins, p.state.g), scale_of(p)) < TOLERANCE


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_golubev_3_14(K: int, base: str):
    p = posed(random_chain(K, parallel=True, base=base, seed=K), 7)
    for n in hinged(p):
        assert gap(*golubev.hinge_equation(p.bodies, p.kins, p.state, n), scale_of(p)) < TOLERANCE


def test_golubev_under_3_13():
    """The left side of (3.14) is e·(dK_P/dt + v_P × Q) of the bodies behind the hinge P, not the projection of K_P."""
    p = posed(random_chain(3, parallel=True, base="fixed", seed=2), 7)
    q, v, a = (np.array([p.values[f"{name}_{n}"] for n in range(1, 4)]) for name in ("phi", "omega", "omegadot"))

    def at(h: float, nu: int):
        """K_P of the bodies behind hinge ν, its velocity and their momentum, at time h along the motion."""
        hinges = [
            Hinge(np.cos(x), np.sin(x), rate, 0.0, 0.0) for x, rate in zip(q + h * v + h * h / 2 * a, v + h * a, strict=True)
        ]
        kins = golubev.kinematics(p.bodies, ChainState(None, hinges, p.state.g))
        speed, K, Q = [np.zeros(3)], np.zeros(3), np.zeros(3)
        for n in range(2):
            speed.append(speed[n] + np.cross(kins[n].Om, lever(kins, n, n + 1)))
        for body, kin, u in list(zip(p.bodies, kins, speed, strict=True))[nu:]:
            A, P = np.array(kin.A, float), np.array(plus(kin.P, times(-1, kins[nu].P)), float)
            v_c = u + np.cross(kin.Om, kin.c)
            K += np.cross(P, body.m * v_c) + body.m * np.cross(kin.c, u) + A @ np.array(body.J) @ A.T @ np.array(kin.Om)
            Q += body.m * v_c
        return K, speed[nu], Q

    step = 1e-5  # truncation and rounding of the central difference are both near 1e-10
    for n in hinged(p):
        (plus_, *_), (minus, *_), (K, v_P, Q) = at(step, n), at(-step, n), at(0.0, n)
        rate = (plus_ - minus) / (2 * step) + np.cross(v_P, Q)
        left, e = golubev.hinge_equation(p.bodies, p.kins, p.state, n)[0], np.array(p.kins[n].e)
        assert gap(left, e @ rate, scale_of(p)) < 1e-8
        assert gap(left, e @ K, scale_of(p)) > WRONG


def _printed_gravity(p: Posed, n: int) -> float:
    """(4.2) as printed: the inner sum begins at ν + 1 and loses r_ν."""
    total = [0.0] * 3
    for k in behind(p.bodies, n):
        arm = p.kins[k].c if k == n else plus(lever(p.kins, n + 1, k), p.kins[k].c)
        total = plus(total, times(p.bodies[k].m, cross(arm, p.state.g)))
    return dot(p.kins[n].e, total)


def test_golubev_4_2():
    """The print is right for the last joint only, so two bodies hide the error."""
    p = free(4, parallel=False, seed=2)
    for n in hinged(p):
        left, right = golubev.hinge_equation(p.bodies, p.kins, p.state, n)
        printed = p.state.hinges[n].torque + _printed_gravity(p, n)
        assert gap(left, right, scale_of(p)) < TOLERANCE
        assert gap(left, printed, scale_of(p)) > WRONG if n < 3 else gap(left, printed, scale_of(p)) < TOLERANCE


def recursive_moments(bodies, kins):
    """N_ν = J Ω̇ + Ω × K* + c × m w + Σ_{next} (r × F_next + N_next), F = Σ m σ: (4.3) in O(K), e_ν·N_ν = M_ν + Q_ν."""
    N = [kin.L for kin in kins]
    F = [times(body.m, kin.sigma) for body, kin in zip(bodies, kins, strict=True)]
    for n in reversed(range(len(bodies))):
        k = bodies[n].parent
        if k >= 0:
            N[k] = plus(N[k], cross(lever(kins, k, n), F[n]), N[n])
            F[k] = plus(F[k], F[n])
    return N


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_golubev_4_3(K: int, base: str):
    """And its vector recursion in O(K), e_ν·N_ν = M_ν + Q_ν."""
    p = posed(random_chain(K, parallel=False, base=base, seed=K), 8)
    N = recursive_moments(p.bodies, p.kins)
    for n in hinged(p):
        left, right = golubev.hinge_equation(p.bodies, p.kins, p.state, n)
        assert gap(left, right, scale_of(p)) < TOLERANCE
        assert gap(dot(p.kins[n].e, N[n]), right, scale_of(p)) < TOLERANCE


def eliminated(p: Posed) -> list[float]:
    """ω̇_ν of a chain on the ground, by eliminating (4.3) from the tip: I, p of the bodies behind each hinge."""
    six = lambda a, b: np.concatenate([a, b]).astype(float)
    I, P, X, zeta, s = [], [], [], [], []
    for n, (body, kin) in enumerate(zip(p.bodies, p.kins, strict=True)):
        A, c, Om, m, g = np.array(kin.A, float), np.array(kin.c), np.array(kin.Om), body.m, np.array(p.state.g)
        J = A @ np.array(body.J) @ A.T
        before = np.array(p.kins[n - 1].Om) if n else np.zeros(3)
        r = np.array(lever(p.kins, n - 1, n)) if n else np.zeros(3)
        I.append(np.block([[J, m * hat(c)], [-m * hat(c), m * np.eye(3)]]))
        P.append(six(np.cross(Om, J @ Om) - m * np.cross(c, g), m * np.cross(Om, np.cross(Om, c)) - m * g))
        X.append(np.block([[np.eye(3), np.zeros((3, 3))], [-hat(r), np.eye(3)]]))
        zeta.append(six(p.state.hinges[n].rate * np.cross(before, kin.e), np.cross(before, np.cross(before, r))))
        s.append(six(kin.e, np.zeros(3)))
    M = [hinge.torque for hinge in p.state.hinges]
    for n in reversed(range(1, len(p.bodies))):
        U = I[n] @ s[n]
        D = s[n] @ U
        rest = I[n] - np.outer(U, U) / D
        I[n - 1] += X[n].T @ rest @ X[n]
        P[n - 1] += X[n].T @ (P[n] + rest @ zeta[n] + U * (M[n] - s[n] @ P[n]) / D)
    a, result = np.zeros(6), []
    for n in range(len(p.bodies)):
        free_ = X[n] @ a + zeta[n]
        result.append((M[n] - s[n] @ (I[n] @ free_ + P[n])) / (s[n] @ I[n] @ s[n]))
        a = free_ + s[n] * result[-1]
    return result


@pytest.mark.parametrize("K", SIZES)
def test_golubev_4_3_eliminated(K: int):
    """Eliminating the equations link by link is the recursive algorithm (articulated bodies)."""
    p = posed(random_chain(K, parallel=False, base="fixed", seed=K), 14)
    truth = [hinge.acceleration for hinge in p.state.hinges]
    assert gap(eliminated(p), truth) < 1e-10  # divided by pivots of about 0.1, body after body


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_golubev_5_1(K: int, base: str):
    p = posed(random_chain(K, parallel=True, base=base, seed=K), 9)
    for n in hinged(p):
        assert gap(*golubev.difference_equation(p.bodies, p.kins, p.state, n), scale_of(p)) < TOLERANCE


def test_golubev_5_1_needs_parallel_axes():
    """As a scalar recursion it does not carry over to section 4."""
    p = posed(random_chain(4, parallel=False, base="fixed", seed=1), 2)
    assert gap(*golubev.difference_equation(p.bodies, p.kins, p.state, 1), scale_of(p)) > WRONG


def test_golubev_before_5_2():
    """A free chain started in the plane ⟂ e stays there if its bodies are symmetric to the plane, and leaves it if not."""
    e, r = np.array([0.0, 0.0, 1.0]), (0.5, 0.1, 0.0)
    flat = [[0.7, 0.05, 0.0], [0.05, 0.8, 0.0], [0.0, 0.0, 0.9]]
    skew = [[0.7, 0.05, 0.1], [0.05, 0.8, 0.2], [0.1, 0.2, 0.9]]
    for J, leaves in ((flat, False), (skew, True)):
        links = [ChainLink(1.0, (0.2, 0.1, 0.0), J, r, e) for _ in range(3)]
        chain = Chain(links, base="floating", gravity=(0.0, -9.81, 0.0), backend="vm")
        q, v, tau = chain.neutral.copy(), np.array([0.3, 0.2, 0.0, 0.0, 0.0, 1.5, 0.7, -0.4]), np.zeros(8)
        a = chain.forward_dynamics(q, v, tau)
        assert (max(abs(a[2]), abs(a[3]), abs(a[4])) > WRONG) == leaves


@pytest.mark.parametrize("K", SIZES)
def test_golubev_5_2(K: int):
    """Plane motion, ν = 1 … K; the print has Ω where Ω̇ belongs."""
    p = posed(random_chain(K, parallel=True, base="fixed", seed=K), 10)
    for n in hinged(p):
        left, right = golubev.plane_equation(p.bodies, p.kins, p.state, n)
        kin, e = p.kins[n], p.kins[n].e
        J_e = dot(e, apply(kin.A, apply(p.bodies[n].J, apply_transposed(kin.A, e))))
        printed = left + J_e * (dot(kin.Om, e) - dot(kin.Omd, e))
        assert gap(left, right, scale_of(p)) < TOLERANCE
        assert gap(printed, right, scale_of(p)) > 1e-6


def test_golubev_4_1():
    """Ω_ν and Ω̇_ν as sums: Σ e_μ ω_μ, Σ e_μ ω̇_μ + Σ Ω_{μ−1} × e_μ ω_μ."""
    p = free(5, parallel=False)
    Om, Omd = p.state.base.w, p.state.base.wd
    for n in hinged(p):
        hinge, e = p.state.hinges[n], p.kins[n].e
        Omd = plus(Omd, times(hinge.acceleration, e), cross(Om, times(hinge.rate, e)))
        Om = plus(Om, times(hinge.rate, e))
        assert gap(Om, p.kins[n].Om) < TOLERANCE and gap(Omd, p.kins[n].Omd) < TOLERANCE


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_golubev_5_3(base: str):
    """Parallel axes: turning by ψ_ν = Σ φ_μ from the base is turning by φ_ν from each predecessor."""
    p = posed(random_chain(5, parallel=True, base=base, seed=4), 11)
    psi = np.cumsum([p.values.get(f"phi_{n}", 0.0) for n in range(1, 6)])
    hinges = [h and replace(h, cosine=np.cos(x), sine=np.sin(x)) for h, x in zip(p.state.hinges, psi, strict=True)]
    for one, other in zip(golubev.kinematics(p.bodies, replace(p.state, hinges=hinges, together=True)), p.kins, strict=True):
        assert gap(one.A, other.A) < TOLERANCE and gap(one.sigma, other.sigma) < TOLERANCE


def test_golubev_5_3_and_5_4():
    """Angles add for parallel axes, and the Rodrigues–Hamilton formula turns the vectors."""
    p = posed(random_chain(5, parallel=True, base="fixed", seed=4), 11)
    psi = sum(p.values[f"phi_{n}"] for n in range(1, 6))
    e = np.array(p.bodies[0].e) / np.linalg.norm(p.bodies[0].e)
    c = golubev.turned(np.cos(psi / 2), times(np.sin(psi / 2), e), p.bodies[4].c)
    assert gap(c, p.kins[4].c) < TOLERANCE


def test_golubev_5_4_recurrence():
    """Spatial chains: turning by (p, θ) through one body after the other is the placement of the recursive algorithm."""
    chain = random_chain(6, parallel=False, base="fixed", seed=4)
    p = posed(chain, 12)
    q = np.array([p.values[f"phi_{n}"] for n in range(1, 7)])
    for n in range(6):
        R, r = chain.placement(f"link_{n + 1}", q)
        assert gap(R, p.kins[n].A) < TOLERANCE and gap(r, p.kins[n].P) < TOLERANCE
        c = p.bodies[n].c
        for k in reversed(range(n + 1)):
            c = golubev.turned(np.cos(q[k] / 2), times(np.sin(q[k] / 2), p.bodies[k].e), c)
        assert gap(c, p.kins[n].c) < TOLERANCE


def test_golubev_5_5():
    """For ω on translating axes q̇ = (q0 ω + ω × q)/2; the printed signs hold for ω on body axes."""
    chain = random_chain(1, parallel=True, base="floating", seed=0)
    rng = np.random.default_rng(1)
    q, v = np.concatenate([rng.normal(size=3), [0.1, -0.7, 0.5, 0.5]]), rng.normal(size=6)
    q[3:] /= np.linalg.norm(q[3:])
    rate = chain.rate(q, v)
    R, _ = chain.placement("link_1", q)
    quaternion, w_body, w_space = [q[6], *q[3:6]], v[3:], R @ v[3:]

    def printed(w):
        q0, q1, q2, q3 = quaternion
        return [
            -(w[0] * q1 + w[1] * q2 + w[2] * q3) / 2,
            (w[0] * q0 - w[1] * q3 + w[2] * q2) / 2,
            (w[1] * q0 - w[2] * q1 + w[0] * q3) / 2,
            (w[2] * q0 - w[0] * q2 + w[1] * q1) / 2,
        ]

    truth = [rate[6], *rate[3:6]]
    assert gap(golubev.quaternion_rate(quaternion, w_space), truth) < TOLERANCE
    assert gap(printed(w_body), truth) < TOLERANCE
    assert gap(printed(w_space), truth) > WRONG


def test_golubev_conclusion():
    """Several chains on one base: the base sums over all chains, the equations of the chains are unchanged."""
    tree = random_tree(9, 5, root="floating", kinds=("revolute", "continuous"))
    if any(any(node.armature) for node in tree.nodes):
        tree = type(tree)([_without_rotor(joint) for joint in tree.joints], gravity=tree.gravity, backend="vm")
    p = posed(tree, 3, forces_on_base=True)
    left, right = golubev.momentum_equation(p.bodies, p.kins, p.state.g)
    assert gap(left, plus(right, p.base_force[:3]), scale_of(p)) < TOLERANCE
    left, right = golubev.base_equation(p.bodies, p.kins, p.state.g)
    assert gap(left, plus(right, p.base_force[3:]), scale_of(p)) < TOLERANCE
    for n in hinged(p):
        assert gap(*golubev.hinge_equation(p.bodies, p.kins, p.state, n), scale_of(p)) < TOLERANCE


def _without_rotor(joint):
    return type(joint)(joint.name, joint.kind, joint.parent, joint.placement, joint.axis, joint.body, link=joint.link)


@pytest.mark.parametrize(
    ("parallel", "base", "numbers"),
    [
        (True, "fixed", {"3.14", "5.1", "5.2", "5.3"}),
        (False, "fixed", {"4.3", "5.3"}),
        (True, "floating", {"3.10", "3.12", "3.14", "5.1", "5.3", "5.5"}),
        (False, "floating", {"3.10", "3.12", "4.3", "5.3", "5.5"}),
    ],
)
def test_equations_as_shown(parallel: bool, base: str, numbers: set[str]):
    """`chain.equations()` evaluated at a state with the accelerations of the recursive algorithm."""
    p = posed(random_chain(4, parallel=parallel, base=base, seed=6), 13)
    shown = p.tree.equations()
    assert set(shown.numbers) == numbers
    values = {sympy.Symbol(name, real=True): value for name, value in p.values.items()}
    residuals = shown.residuals(values)
    assert set(residuals) == numbers - {"5.3", "5.5"}
    assert max(residuals.values()) < TOLERANCE * (1 + scale_of(p))
    assert all(rf"\tag{{{number}}}" in shown.latex() for number in numbers)


def test_equations_are_linear_in_the_accelerations():
    shown = random_chain(2, parallel=True, base="fixed", seed=1).equations()
    for equation in shown.explicit():
        for unknown in shown.unknowns:
            assert sympy.diff(equation.lhs - equation.rhs, unknown, 2) == 0


def test_equations_refuse_other_joints():
    tree = random_tree(3, 1, root="prismatic")
    with pytest.raises(ModelError, match="'j0' is prismatic"):
        tree.equations()
