"""The n-link pendulum as other codes write it: SymPy's Kane, heyoka's Taylor series.

Masses m_k and lengths l_k are run-time parameters everywhere, p = (g, l_1 … l_n, m_1 … m_n), which is also the order
of appell's parameters; every value is 1 but g. Angles are absolute, as in `zoo.n_pendulum`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
import sympy.physics.mechanics as mechanics
from numpy.typing import NDArray

Array = NDArray[np.float64]
G = 9.81
Matrices = Callable[[Any, Any, Any], tuple[Array, Array]]


def parameter_values(n: int) -> Array:
    return np.array([G] + [1.0] * (2 * n))


def a_state(n: int) -> tuple[Array, Array]:
    """One state for comparisons, the same in every process."""
    rng = np.random.default_rng(n)
    return rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)


def kane(n: int) -> tuple[sympy.Matrix, sympy.Matrix, list]:
    """M and f of M u̇ = f by `KanesMethod`, and the arguments (q, u, p).

    The velocities of the masses are given by their components in the inertial frame, which SymPy likes better than
    points and rotated frames (half the time at n = 20); `LagrangesMethod` takes ten times as long.
    """
    q, u = mechanics.dynamicsymbols(f"q:{n}"), mechanics.dynamicsymbols(f"u:{n}")
    m, l = sympy.symbols(f"m:{n}", positive=True), sympy.symbols(f"l:{n}", positive=True)
    g = sympy.Symbol("g", positive=True)
    frame = mechanics.ReferenceFrame("N")
    vx = vy = sympy.Integer(0)
    bodies, loads = [], []
    for k in range(n):
        vx += l[k] * u[k] * sympy.cos(q[k])
        vy += l[k] * u[k] * sympy.sin(q[k])
        point = mechanics.Point(f"P{k}")
        point.set_vel(frame, vx * frame.x + vy * frame.y)
        bodies.append(mechanics.Particle(f"b{k}", point, m[k]))
        loads.append((point, -m[k] * g * frame.y))
    method = mechanics.KanesMethod(frame, q_ind=q, u_ind=u, kd_eqs=[a.diff() - b for a, b in zip(q, u, strict=True)])
    method.kanes_equations(bodies, loads)
    return method.mass_matrix, method.forcing, [q, u, [g, *l, *m]]


def lambdified(n: int) -> Matrices:
    """(q, u, p) → M, f by `lambdify(cse=True)`."""
    M, f, arguments = kane(n)
    return sympy.lambdify(arguments, [M, f], cse=True)


def solved(matrices: Matrices, n: int) -> Callable[[Array, Array], Array]:
    """(q, u) → u̇ with NumPy's solve."""
    p = parameter_values(n)

    def acceleration(q: Array, u: Array) -> Array:
        M, f = matrices(q, u, p)
        return np.linalg.solve(M, f)[:, 0]

    return acceleration


def taylor_system(n: int) -> list:
    """heyoka's (variable, derivative) pairs: M_ij = μ_ij l_i l_j cos(q_i − q_j) in closed form, M a = f by LDLᵀ.

    cos(q_i − q_j) is expanded into the sines and cosines of the angles: heyoka is 10 % faster that way.
    """
    import heyoka as hy

    q, v = ([hy.expression(f"{letter}{k}") for k in range(n)] for letter in "qv")
    g, l, m = hy.par[0], [hy.par[1 + k] for k in range(n)], [hy.par[1 + n + k] for k in range(n)]
    s, c = [hy.sin(x) for x in q], [hy.cos(x) for x in q]
    outer = [hy.sum(m[k:]) for k in range(n)]
    w = lambda i, j: outer[max(i, j)] * l[i] * l[j]
    M = [[w(i, j) * (c[i] * c[j] + s[i] * s[j]) if i != j else w(i, i) for j in range(n)] for i in range(n)]
    f = [
        -outer[i] * g * l[i] * s[i]
        - hy.sum([w(i, j) * (s[i] * c[j] - c[i] * s[j]) * v[j] * v[j] for j in range(n) if j != i])
        for i in range(n)
    ]
    return [*zip(q, v, strict=True), *zip(v, _ldl_solve(M, f), strict=True)]


def taylor_system_from_energies(n: int) -> list:
    """heyoka's pairs by its own `lagrangian`, from the T and V that appell is given."""
    import heyoka as hy

    q, v = ([hy.expression(f"{letter}{k}") for k in range(n)] for letter in "qv")
    vx = vy = y = T = V = hy.expression(0.0)
    for k in range(n):
        l, m = hy.par[1 + k], hy.par[1 + n + k]
        vx, vy = vx + l * v[k] * hy.cos(q[k]), vy + l * v[k] * hy.sin(q[k])
        y = y - l * hy.cos(q[k])
        T, V = T + 0.5 * m * (vx * vx + vy * vy), V + m * hy.par[0] * y
    return hy.lagrangian(T - V, q, v)


def _ldl_solve(M: list[list], f: list) -> list:
    """x with M x = f, on any scalars."""
    n = len(f)
    M, y = [row[:] for row in M], f[:]
    L, inverse = [[None] * n for _ in f], [None] * n
    for k in range(n):
        inverse[k] = 1.0 / M[k][k]
        for i in range(k + 1, n):
            L[i][k] = M[i][k] * inverse[k]
            y[i] = y[i] - L[i][k] * y[k]
            for j in range(k + 1, i + 1):
                M[i][j] = M[i][j] - L[i][k] * M[j][k]
    x: list = [None] * n
    for i in reversed(range(n)):
        x[i] = y[i] * inverse[i]
        for j in range(i + 1, n):
            x[i] = x[i] - L[j][i] * x[j]
    return x
