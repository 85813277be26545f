"""Models of `sympy.physics.mechanics` whose velocities are written in q̇, in u, or in both, against SymPy's own equations."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import sympy
from sympy import Rational, sin
from sympy.physics import mechanics
from sympy.physics.mechanics import dynamicsymbols
from tests.families.family import family

import appell as ap

m, g, c = sympy.symbols("m g c", positive=True)
VALUES = {m: 0.7, g: 9.81, c: 0.4}
q, u = dynamicsymbols("q1 q2"), dynamicsymbols("u1 u2")
qd = [x.diff() for x in q]


def _kinematics(seed: int) -> list[Any]:
    """u = q̇, u = q̇ + sin(q) q̇ / 4, or u affine in q̇ with time."""
    mixed = [0, sin(q[1]) * qd[1] / 4][seed % 4 > 0]
    drift = [0, q[1] / 5 + dynamicsymbols._t / 7][seed % 4 > 1]
    return [u[0] - qd[0] - mixed - drift, u[1] - qd[1]]


def _model(seed: int) -> Any:
    """Two links with a body and a particle under weights, drag and torques, as a `KanesMethod` or a `System`."""
    rng = random.Random(seed)
    number = lambda: Rational(rng.choice([-1, 1]) * rng.randint(2, 9), rng.randint(4, 9))
    N, O = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    O.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [q[0], rng.choice([N.x, N.y, N.z])])
    B = A.orientnew("B", "Axis", [rng.choice([1, 2]) * q[1], rng.choice([A.x, A.y, A.z])])
    kinematics = _kinematics(seed)
    if seed % 3 == 2:  # one of the two angular velocities in u
        A.set_ang_vel(N, A.ang_vel_in(N).xreplace(sympy.solve(kinematics, qd, dict=True)[0]))
    P = O.locatenew("P", number() * A.x + number() * A.y + number() * A.z)
    C = P.locatenew("C", number() * B.x + number() * B.y + number() * B.z)
    P.v2pt_theory(O, N, A)
    C.v2pt_theory(P, N, B)
    moments: Any = [Rational(rng.randint(4, 6), 5) for _ in "xyz"]
    inertia = mechanics.inertia(B, *moments)
    bodies = [mechanics.RigidBody("body", C, B, m, (inertia, C)), mechanics.Particle("bob", P, m)]
    loads = [(P, -m * g * N.z), (C, -m * g * N.y - c * C.vel(N)), (B, number() * B.x + number() * qd[0] * A.z)]
    if seed == 0:
        loads = loads[:1]
    if seed % 2:
        whole = mechanics.System(N, O)
        whole.q_ind, whole.u_ind, whole.kdes = q, u, kinematics
        whole.add_bodies(*bodies)
        whole.add_loads(*(mechanics.Force(*x) if x[0] in (P, C) else mechanics.Torque(*x) for x in loads))
        whole.form_eoms(mechanics.KanesMethod)
        return whole
    method = mechanics.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=kinematics)
    method.kanes_equations(bodies, loads)
    return method


@family(sample=(0, 3, 6))
def loads_on_velocities_of_coordinates(seed: int) -> None:
    """Member 0 is a weight on a link whose velocity is in q̇: the load was lost."""
    model = _model(seed)
    method = getattr(model, "eom_method", model)
    system = ap.from_sympy(model)
    state = np.random.default_rng(seed).uniform(0.2, 0.9, 4)
    t = 0.4
    at = {**dict(zip((*q, *u), state, strict=True)), **VALUES, dynamicsymbols._t: t}
    number = lambda matrix: np.array(matrix.xreplace(method.kindiffdict()).subs(at).evalf().tolist(), dtype=float)
    exact = np.linalg.solve(number(method.mass_matrix), number(method.forcing))[:, 0]
    values = {p: VALUES[s] for p in system.parameters for s in VALUES if str(s) == str(p)}
    found, _ = ap.compile(system, values, backend="vm").acceleration(t, state[:2], state[2:])
    assert any(Q != 0 for Q in system.forces) and np.abs(exact).max() > 1e-3
    assert np.abs(found - exact).max() < 1e-11 * (1 + np.abs(exact).max()), (found, exact)
