"""The normal form against derivations that share nothing with it: a textbook implementation, and SymPy's mechanics.

Tolerance 1e-10 of the size of (a, Λ): both sides solve a linear system of condition number below 1e4 in double precision.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols
from tests.reference.lagrange_sympy import Lagrange
from tests.reference.random_systems import few, systems

from appell import zoo
from appell.compiled.compiling import compile
from appell.normal_form import normal_form


def close(a, lam, a_other, lam_other, rel=1e-10) -> bool:
    size = 1 + np.abs(a_other).max() + np.abs(lam_other).max(initial=0)
    return max(np.abs(a - a_other).max(), np.abs(lam - lam_other).max(initial=0)) < rel * size


@few(12)
@given(systems())
def test_random_systems_move_as_the_textbook_says(drawn):
    run, textbook = compile(drawn.system, drawn.values, backend="vm"), Lagrange(drawn.system)
    for t, q, v in drawn.states():
        out = normal_form(drawn.system).select("M", "A")(t, q, v, drawn.p)
        A = out["A"] / np.linalg.norm(out["A"], axis=1, keepdims=True)
        assume(not len(A) or np.linalg.cond(A) < 1e2)
        assert close(*run.acceleration(t, q, v), *textbook(t, q, v, drawn.p))


WITHOUT_SPEEDS = [
    name for name, make in sorted(zoo.ALL.items()) if name not in ("heavy_top_quaternion", "rolling_ball_on_turntable",
                                                                   "constant_acceleration")
]  # fmt: skip


def state_of(example, seed: int, scale: float = 0.3):
    """A state near the start, off the constraints too: the accelerations are defined there all the same."""
    rng = np.random.default_rng(seed)
    s = example.system
    q = np.array([example.start.get(x, 0.0) for x in s.coordinates]) + rng.uniform(-scale, scale, s.nq)
    v = np.array([example.start.get(x, 0.0) for x in s.velocities]) + rng.uniform(-scale, scale, s.nv)
    return float(rng.uniform(0, 1)), q, v


@pytest.mark.parametrize("name", WITHOUT_SPEEDS)
def test_the_zoo_moves_as_the_textbook_says(name):
    example = zoo.ALL[name]()
    run, textbook = compile(example.system, example.parameters, backend="vm"), Lagrange(example.system)
    for seed in range(3):
        t, q, v = state_of(example, seed)
        assert close(*run.acceleration(t, q, v), *textbook(t, q, v, run.p))


def sympy_lagrange(system, parameters):
    """(t, q, v) → (a, Λ) by SymPy's `LagrangesMethod`, holonomic rows first there."""
    q = dynamicsymbols([str(x) for x in system.coordinates])
    time = dynamicsymbols._t
    qd = [x.diff(time) for x in q]
    names = dict(zip((*system.coordinates, *system.velocities), (*q, *qd), strict=True))
    read = lambda e: e.xreplace(names).subs(parameters)
    pairs = list(zip(system.constraints, system.residuals, strict=True))
    holonomic, other = ([read(f) for c, f in pairs if c.order == order] for order in (0, 1))
    method = LagrangesMethod(
        read(system.kinetic - system.potential), q, hol_coneqs=holonomic or None, nonhol_coneqs=other or None,
        forcelist=[], frame=ReferenceFrame("N"),
    )  # fmt: skip
    method.form_lagranges_equations()
    values, rates = sympy.symbols(f"q:{len(q)}"), sympy.symbols(f"v:{len(q)}")
    plain = lambda e: e.xreplace(dict(zip(qd, rates, strict=True))).xreplace(dict(zip(q, values, strict=True)))
    K, b = plain(method.mass_matrix_full), plain(method.forcing_full)
    fn = sympy.lambdify([values, rates], [K, b], "numpy")
    n = len(q)
    order = [i for level in (0, 1) for i, (c, _) in enumerate(pairs) if c.order == level]

    def acceleration(q, v):
        K, b = fn(q, v)
        x = np.linalg.solve(np.asarray(K, float), np.asarray(b, float).ravel())[n:]
        lam = np.zeros(len(pairs))
        lam[order] = x[n:]
        return x[:n], lam

    return acceleration


@pytest.mark.parametrize("name", ["four_bar", "n_pendulum", "paraboloid", "rolling_coin", "rolling_disc", "skate", "suslov"])
def test_against_lagrangesmethod(name):
    example = zoo.ALL[name]()
    run = compile(example.system, example.parameters, backend="vm")
    peer = sympy_lagrange(example.system, example.parameters)
    for seed in range(3):
        _, q, v = state_of(example, seed)
        assert close(*run.acceleration(0.0, q, v), *peer(q, v))


def test_against_kanesmethod():
    """The skate as two particles on a rod, u1, u2, u3 = ẋ, ẏ, φ̇ with the blade as a velocity constraint."""
    x, y, phi, *u = dynamicsymbols("x y phi u1 u2 u3")
    time = dynamicsymbols._t
    N, O = ReferenceFrame("N"), Point("O")
    O.set_vel(N, 0)
    rod = N.orientnew("rod", "Axis", [phi, N.z])
    rod.set_ang_vel(N, u[2] * N.z)
    centre = O.locatenew("C", x * N.x + y * N.y)
    centre.set_vel(N, u[0] * N.x + u[1] * N.y)
    g = 9.81
    bodies, loads = [], []
    for sign in (-1, 1):
        end = centre.locatenew(f"P{sign}", sign * rod.x / 2)
        end.v2pt_theory(centre, N, rod)
        bodies.append(Particle(f"p{sign}", end, 1))
        loads.append((end, -g * N.y))
    kane = KanesMethod(
        N, [x, y, phi], [u[0], u[2]], [rate - q.diff(time) for q, rate in zip([x, y, phi], u, strict=True)],
        u_dependent=[u[1]], velocity_constraints=[u[0] * sympy.sin(phi) - u[1] * sympy.cos(phi)],
    )  # fmt: skip
    kane.kanes_equations(bodies, loads)
    accelerations = [r.diff(time) for r in (u[0], u[2], u[1])]
    example = zoo.skate()
    run = compile(example.system, example.parameters, backend="vm")
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, forward, turn = rng.uniform(-1, 1, 3), rng.uniform(0.5, 1), rng.uniform(-1, 1)
        v = np.array([forward * np.cos(q[2]), forward * np.sin(q[2]), turn])  # Kane's equations hold on the constraint
        point = dict(zip((x, y, phi, *u), (*q, *v), strict=True))
        M = np.array(kane.mass_matrix.subs(point), float)
        right = np.array(kane.forcing.subs(point), float).ravel()
        assert len(accelerations) == len(right)
        a = np.linalg.solve(M, right)[[0, 2, 1]]
        assert run.acceleration(0.0, q, v)[0] == pytest.approx(a, rel=1e-11, abs=1e-11)
