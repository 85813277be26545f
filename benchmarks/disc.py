"""The rolling disc with all its coordinates, multipliers and projection, against SciPy's DOP853 on a lambdified solve.

SciPy integrates [[M, −Aᵀ], [A, 0]] (a, λ) = (f, −Ȧ v) as SymPy's `LagrangesMethod` gives it, without projection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import sympy
import sympy.physics.mechanics as mechanics
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import appell as ap
from benchmarks.equal_error import Code, at_equal_error
from benchmarks.report import Table, ratio, seconds
from benchmarks.trajectory import simulate_code

Array = NDArray[np.float64]
TARGETS = (1e-8, 1e-11)
END = 10.0


def tables(quick: bool) -> list[Table]:
    end, targets = (1.0, TARGETS[:1]) if quick else (END, TARGETS)
    example = ap.zoo.rolling_disc()
    run = ap.compile(example.system, example.parameters, backend="c")
    reference = _reference(example, run, end)
    codes = [simulate_code(run, example.start, end), _scipy_code(example, end)]
    rows, records = [], []
    for target in targets:
        timed = at_equal_error(codes, reference, target, 0.05 if quick else 2.0)
        for k, item in enumerate(timed):
            ahead = "" if k == 0 else ratio(item.seconds / timed[0].seconds)
            head = f"error < {target:.0e}" if k == 0 else ""
            rows.append((head, item.name, f"{item.tolerance:.1e}", f"{item.error:.1e}", seconds(item.seconds), ahead))
            records.append({"target": target, **vars(item)})
    return [
        Table(
            title=f"One trajectory of the rolling disc, {end:g} s, six coordinates and three multipliers",
            columns=("case", "code", "tolerance", "error at the end", "time", "the loop is faster by"),
            rows=tuple(rows),
            notes=(
                "appell projects onto the constraints after each step, SciPy drifts off them",
                "error: against appell's minimal state (pseudo-velocities, no multipliers) at tolerance 1e-14",
            ),
            records=tuple(records),
        )
    ]


def _reference(example: ap.zoo.Example, run: ap.Run, end: float) -> Array:
    motion = ap.simulate(run, example.start, end, rtol=1e-14, atol=1e-14, pseudo=example.pseudo)
    return np.concatenate([motion.q[-1], motion.v[-1]])


@cache
def _matrices() -> Callable[..., tuple[Array, Array]]:
    """(q, v, m, g, r) → [M, −Aᵀ; A, 0] and its right-hand side, by `LagrangesMethod` with nonholonomic rows."""
    q = mechanics.dynamicsymbols("x y z psi theta phi")
    z, psi, theta = q[2:5]
    m, g, r = sympy.symbols("m g r", positive=True)
    xd, yd, zd, psid, thetad, phid = qd = [a.diff() for a in q]
    sin, cos = sympy.sin, sympy.cos
    spin, turn = phid + psid * sin(theta), psid * cos(theta)
    T = m / 2 * (xd**2 + yd**2 + zd**2) + m * r**2 / 8 * (thetad**2 + turn**2) + m * r**2 / 4 * spin**2
    method = mechanics.LagrangesMethod(
        T - m * g * z,
        q,
        hol_coneqs=[z - r * cos(theta)],
        nonhol_coneqs=[
            xd * cos(psi) + yd * sin(psi) - r * spin,
            yd * cos(psi) - xd * sin(psi) + r * thetad * cos(theta),
        ],
    )
    method.form_lagranges_equations()
    n = len(q)
    K, b = method.mass_matrix_full[n:, n:], method.forcing_full[n:, :]
    return sympy.lambdify([q, qd, m, g, r], [K, b], cse=True)


def _scipy_code(example: ap.zoo.Example, end: float) -> Code:
    matrices, n = _matrices(), 6
    values = {str(key): value for key, value in example.parameters.items()}
    p = [values[name] for name in "mgr"]
    system = example.system
    z0 = np.array([float(example.start.get(s, 0.0)) for s in (*system.coordinates, *system.velocities)])

    def rhs(t: float, z: Array) -> Array:
        K, b = matrices(z[:n], z[n:], *p)
        return np.concatenate([z[n:], np.linalg.solve(K, b)[:n, 0]])

    def prepare(tolerance: float) -> Callable[[], Array]:
        tolerance = max(tolerance, 3e-14)  # SciPy's least
        return lambda: solve_ivp(rhs, (0.0, end), z0, method="DOP853", rtol=tolerance, atol=tolerance).y[:, -1]

    return Code("SciPy DOP853", prepare)
