"""Golubev (2014), equation by equation, against the recursive algorithm: 1e-12 on chains of up to eight bodies.

Each misprint that the equations contain is shown: the printed formula fails, the corrected one holds.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from tests.tree.chains import Posed, posed, random_chain, random_tree

from appell.errors import ModelError
from appell.tree import golubev
from appell.tree.golubev import apply, apply_transposed, behind, cross, dot, lever, plus, times

SIZES = (2, 3, 5, 8)
TOLERANCE = 1e-12
WRONG = 1e-3  # a false formula misses by far more than rounding


def gap(left, right, scale: float = 1.0) -> float:
    """|left − right| relative to the largest term."""
    left, right = np.atleast_1d(np.array(left, float)), np.atleast_1d(np.array(right, float))
    return float(np.max(abs(left - right)) / (scale + np.max(abs(left)) + np.max(abs(right))))


def scale_of(p: Posed) -> float:
    """The size of the terms that cancel in an equation of moments."""
    return float(
        sum(
            body.m * np.linalg.norm(kin.sigma) * (1 + np.linalg.norm(kin.P))
            for body, kin in zip(p.bodies, p.kins, strict=True)
        )
    )


def free(K: int, *, parallel: bool, seed: int = 0) -> Posed:
    return posed(random_chain(K, parallel=parallel, base="floating", seed=seed), seed + 1)


def hinged(p: Posed) -> list[int]:
    return [n for n, body in enumerate(p.bodies) if body.e is not None]


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


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_golubev_4_3(K: int, base: str):
    """And its vector recursion in O(K), e_ν·N_ν = M_ν + Q_ν."""
    p = posed(random_chain(K, parallel=False, base=base, seed=K), 8)
    N = golubev.recursive_moments(p.bodies, p.kins)
    for n in hinged(p):
        left, right = golubev.hinge_equation(p.bodies, p.kins, p.state, n)
        assert gap(left, right, scale_of(p)) < TOLERANCE
        assert gap(dot(p.kins[n].e, N[n]), right, scale_of(p)) < TOLERANCE


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


def test_golubev_5_3_and_5_4():
    """Angles add for parallel axes, and the Rodrigues–Hamilton formula turns the vectors."""
    p = posed(random_chain(5, parallel=True, base="fixed", seed=4), 11)
    psi = sum(p.values[f"phi_{n}"] for n in range(1, 6))
    e = np.array(p.bodies[0].e) / np.linalg.norm(p.bodies[0].e)
    c = golubev.turned(np.cos(psi / 2), times(np.sin(psi / 2), e), p.bodies[4].c)
    assert gap(c, p.kins[4].c) < TOLERANCE


def test_golubev_5_4_recurrence():
    """Spatial chains: turning through one body after the other is the placement of the recursive algorithm."""
    chain = random_chain(6, parallel=False, base="fixed", seed=4)
    p = posed(chain, 12)
    q = np.array([p.values[f"phi_{n}"] for n in range(1, 7)])
    for n in range(6):
        R, r = chain.placement(f"link_{n + 1}", q)
        assert gap(R, p.kins[n].A) < TOLERANCE and gap(r, p.kins[n].P) < TOLERANCE


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
