"""Bodies whose mass depends on time: Meshchersky's equation in every form and in every run, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, exp, sin
from tests.families.family import family

import appell as ap

x, y, phi = ap.coordinates("x y phi")
t = ap.t

MASSES = [
    3 - t / 2, 2 * exp(-t / 2), 1 + t, 2 + sin(3 * t) / 2, 1 + t**2, sympy.sqrt(4 - t), 5 / (1 + t), 2 + t**3 / 3,
    3 - t**2 / 4, 1 + exp(t) / 4, 2 - sin(t), 3 + cos(2 * t),
]  # fmt: skip
CARRIED = [
    [x.d - 2, y.d], [0, 0], [x.d, y.d], [x.d - 2 * cos(phi), y.d - 2 * sin(phi)], [y.d, -x.d], [t, 1 - t], [x.d / 2, sin(y)],
    [-x, -y], [x.d * y.d, 0], [1, 0], [3 * x.d, y.d - 3], [cos(t), y.d * x],
]  # fmt: skip


def meshchersky(mass: Any, carried: Any, inertia: Any, spin: Any, end: float, start: list[float]) -> Any:
    """m r̈ = −m g − k r + ṁ (u − ṙ), J φ̈ = −φ + J̇ (w − φ̇) by SciPy, from Newton's law."""
    values = [mass, mass.diff(t), *carried, inertia, inertia.diff(t), spin]
    fn = sympy.lambdify([t, x, y, phi, x.d, y.d, phi.d], values, "numpy")

    def rates(time: float, z: Any) -> list[float]:
        m, m_d, ux, uy, J, J_d, w = fn(time, *z)
        X, Y, P, vx, vy, vp = z
        return [vx, vy, vp, -X / m + m_d / m * (ux - vx), -9.81 - Y / m + m_d / m * (uy - vy), -P / J + J_d / J * (w - vp)]

    return solve_ivp(rates, (0, end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@family(sample=(0, 3))
def mass_that_comes_and_goes(seed: int) -> None:
    """Member 0 is a rocket; the others carry any velocity. A run against Newton's law, and every form against the others."""
    mass, carried, backend = MASSES[seed], CARRIED[seed], ("vm", "auto")[seed % 2]
    inertia, spin = MASSES[(5 * seed + 3) % 12], [phi.d, sympy.Integer(0), phi.d / 2, cos(t)][seed % 4]
    body = ap.RigidBody(mass, inertia, [x, y], phi, carried=carried, carried_omega=spin)
    weight, spring = ap.Force([0, -9.81 * mass], body), (x**2 + y**2 + phi**2) / 2
    system = ap.System([x, y, phi], potential=spring, bodies=[body], loads=[weight])
    start = [0.3, -0.2, 0.5, 1.0, 0.4, -0.7]
    state = dict(zip((x, y, phi, x.d, y.d, phi.d), start, strict=True))
    motion = ap.simulate(system, state, 1.5, rtol=1e-11, atol=1e-12, backend=backend)
    exact = meshchersky(mass, carried, inertia, spin, 1.5, start)
    assert motion.ok and np.abs(np.concatenate([motion.q[-1], motion.v[-1]]) - exact).max() < 1e-8
    row = [x.d * sin(phi) - y.d * cos(phi)] if seed % 3 else [x**2 + y**2 - 1]
    table = ap.agree(system.replace(constraints=row), states=1)
    assert table.ok, str(table)
    assert sum(line.applies for line in table) >= 8


@family(count=12, sample=(0, 4, 9))
def mass_that_is_refused(seed: int) -> None:
    """m(q), m(q̇), m(t) and J(t) without what they carry, and what is carried where nothing comes or goes."""
    f = ap.prescribed("f")
    J = sympy.diag(1, 1 + t, 2)
    wrong: list[tuple[Any, str]] = [
        (lambda: ap.Particle(2 - t, [x]), "depends on time"),
        (lambda: ap.Particle(1 + x**2, [x]), "contains x"),
        (lambda: ap.Particle(1 + x**2, [x], carried=[0]), "contains x"),
        (lambda: ap.Particle(1 + x.d**2, [x, y]), "contains x.d"),
        (lambda: ap.Particle(f, [x]), "depends on time"),
        (lambda: ap.Particle(1, [x], carried=[0]), "does not depend on time"),
        (lambda: ap.RigidBody(1 + t, 1, [x, y], phi), "depends on time"),
        (lambda: ap.RigidBody(1, 1 + t, [x, y], phi), "carried_omega="),
        (lambda: ap.RigidBody(1, J, [x, y, 0], [phi, y, x]), "carried_omega="),
        (lambda: ap.RigidBody(1, 1 + cos(phi), [x, y], phi), "contains phi"),
        (lambda: ap.RigidBody(1 + y, 1, [x, y], phi, carried=[0, 0]), "contains y"),
        (lambda: ap.RigidBody(1 + t, 1, [x, y], phi, carried=[0, 0], carried_omega=0), "does not depend on time"),
    ]
    make, said = wrong[seed]
    try:
        make()
    except ap.ModelError as error:
        assert said in str(error), error
    else:
        raise AssertionError(f"accepted: {seed}")
