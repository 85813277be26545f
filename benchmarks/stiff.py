"""Stiff motions at several tolerances: appell's Radau IIA, SciPy's on the same right-hand side and Jacobian, and CVODES.

    bushing     m ẍ + c ẋ + k x = 0, c/m = 1e4 1/s
    chain       masses between contact springs of 1e9 N/m with dampers
    car axis    a bar on springs of 1/ε², ε = 1e-2, 1e-3, 1e-4 (Schneider; test set of Mazzia and Magherini): the fast
                oscillation of some 0.5/ε rad/s is not damped, and steps follow it
    squeezer    Andrews' seven-body mechanism (Hairer and Wanner II, VI.9) with its spring 1e3 times as stiff, damped

Errors are those of the coordinates at the end, against a run of Radau IIA at rtol = 1e-10, two digits finer than the others.
Times are CPU times of the loops, not of compilation, the shortest of several: other programs may run on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import Matrix, cos, sin, sqrt

import appell as ap
from appell.backends import vm_function
from appell.loop.methods.radau import jacobian_of
from appell.normal_form.slopes import flow_slopes
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
Problem = tuple[str, ap.System, dict[Any, float], float]


def tables(quick: bool) -> list[Table]:
    problems = [bushing(), chain(4)] if quick else [bushing(), chain(4), chain(20), car_axis(), squeezer()]
    asked = [(problem, rtol) for problem in problems for rtol in ((1e-5,) if quick else (1e-4, 1e-6, 1e-8))]
    asked += [] if quick else [(car_axis(eps), rtol) for eps in (1e-3, 1e-4) for rtol in (1e-4, 1e-6)]
    rows = [row for problem, rtol in asked for row in _case(problem, rtol)]
    heads = ("system", "rtol", "code", "steps", "error", "time", "over appell")
    return [Table("Stiff motions", heads, tuple(rows), ("error: of the coordinates at the end, largest",))]


def _case(problem: Problem, rtol: float) -> list[tuple[str, ...]]:
    name, system, start, until = problem
    run = ap.compile(system, {})
    begin = ap.consistent(system, start)
    q = list(system.coordinates)
    exact = ap.simulate(run, begin, until, method="radau", rtol=1e-10, atol=1e-12)
    exact = np.array([exact[x][-1] for x in q])
    found = [_ours("radau", run, begin, until, rtol, q)]
    if found[0][1] < LONGEST_PEER:
        found.append(_scipy(run, begin, until, rtol, len(q)))
    if not system.constraints:
        found.append(_ours("cvodes", run, begin, until, rtol, q))
    first = found[0][2]
    return [
        (name, f"{rtol:.0e}", code, str(steps), f"{np.abs(end - exact).max():.1e}", seconds(took), ratio(took / first))
        for code, steps, took, end in found
    ]


Found = tuple[str, int, float, Array]

LONGEST_PEER = 50_000
"""Steps of a run from which SciPy, which takes milliseconds for one, is left out."""
REPEATS = 7
"""Runs of which the shortest counts."""
LONGEST_AGAIN = 2.0
"""Seconds of a peer's run that is made again."""


class _CpuClock:
    """In place of `time` where a run measures itself."""

    perf_counter = staticmethod(time.process_time)


def _ours(method: str, run: Any, begin: dict, until: float, rtol: float, q: list) -> Found:
    with patch.object(import_module("appell.simulate.simulate"), "time", _CpuClock):
        motion = min(
            (ap.simulate(run, begin, until, method=method, rtol=rtol, atol=1e-3 * rtol, times=[until]) for _ in range(REPEATS)),
            key=lambda one: one.statistics["seconds"],
        )
    return (
        f"appell, {method}", motion.statistics["steps"], motion.statistics["seconds"], np.array([motion[x][-1] for x in q])
    )  # fmt: skip


def _scipy(run: Any, begin: dict, until: float, rtol: float, n: int) -> Found:
    """On the flow that appell compiles, and its Jacobian."""
    flow = run.flow()
    call = vm_function(flow.rhs).single
    slopes = flow_slopes(flow)
    assert slopes is not None

    def evaluator(fn: Any) -> Callable[..., dict[str, Array]]:
        single, names = vm_function(fn).single, [port.name for port in fn.outputs]
        return lambda *arrays: dict(zip(names, single(*arrays), strict=True))

    jacobian = jacobian_of(slopes, evaluator)
    z0 = np.concatenate([list(begin.values()), np.zeros(flow.nz - len(begin))])
    best = np.inf
    for _ in range(REPEATS):
        clock = time.process_time()
        found = solve_ivp(
            lambda t, z: call(t, z, run.p)[0], (0.0, until), z0, method="Radau", jac=lambda t, z: jacobian(t, z, run.p),
            rtol=rtol, atol=1e-3 * rtol,
        )  # fmt: skip
        best = min(best, time.process_time() - clock)
        if best > LONGEST_AGAIN:
            break
    return "SciPy, Radau", len(found.t) - 1, best, found.y[:n, -1]


# -- the systems ---------------------------------------------------------------------------------------------------------


def bushing() -> Problem:
    x = ap.coordinates("x")
    return "bushing", ap.System([x], x.d**2 / 2, 5 * x**2, {x: -1e4 * x.d}), {x: 1.0, x.d: 1.0}, 20.0


def chain(n: int) -> Problem:
    """Masses of 1 kg, springs of 1e9 N/m with dampers of 1e6 N s/m between them, the first held by a soft spring."""
    q = ap.coordinates([f"q{i}" for i in range(n)])
    gaps = [q[i + 1] - q[i] for i in range(n - 1)]
    forces = dict.fromkeys(q, 0)
    for i in range(n - 1):
        push = 1e6 * (q[i + 1].d - q[i].d)
        forces[q[i]] += push
        forces[q[i + 1]] -= push
    system = ap.System(q, sum(x.d**2 for x in q) / 2, 5 * q[0] ** 2 + sum(5e8 * g**2 for g in gaps), forces)
    return f"chain of {n}", system, {q[0]: 0.1, **{x: 0.1 for x in q[1:]}, q[-1].d: 1.0}, 5.0


def car_axis(eps: float = 0.01) -> Problem:
    """A bar of length L between rods of length l0 on a road, with springs of 1/ε²; gravity 1, mass m ε²/2 at both ends."""
    xl, yl, xr, yr = ap.coordinates("xl yl xr yr")
    L, L0, r, M = 1, 0.5, 0.1, 10
    yb = r * sin(10 * ap.t)
    xb = sqrt(L**2 - yb**2)
    m = M * eps**2 / 2
    left, right = sqrt(xl**2 + yl**2), sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
    system = ap.System(
        [xl, yl, xr, yr],
        m * (xl.d**2 + yl.d**2 + xr.d**2 + yr.d**2) / 2,
        ((left - L0) ** 2 + (right - L0) ** 2) / 2 + m * (yl + yr),
        constraints=[xl * xb + yl * yb, (xl - xr) ** 2 + (yl - yr) ** 2 - L**2],
    )
    name = "car axis" if eps == 0.01 else f"car axis {eps:.0e}"
    return name, system, {yl: 0.5, xr: 1.0, yr: 0.5, xl.d: -0.5, xr.d: -0.5}, 1.0


def squeezer() -> Problem:
    """Andrews' squeezing mechanism in its seven angles, three loops; the numbers of Hairer and Wanner II, VI.9."""
    beta, Theta, gamma, Phi, delta, Omega, epsilon = ap.coordinates("beta Theta gamma Phi delta Omega epsilon")
    mass = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
    inertia = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    d, da, e, ea, rr, ra = 28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5
    ss, sa, sb, sc, sd = 35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2
    ta, tb, u, ua, ub, zf, zt, fa = 2308e-5, 916e-5, 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5
    both, gone = beta + Theta, Omega + epsilon
    turn = Phi + delta
    centres = [
        (ra * cos(beta), ra * sin(beta)),
        (rr * cos(beta) - da * cos(both), rr * sin(beta) - da * sin(both)),
        (xb + sa * sin(gamma) + sb * cos(gamma), yb - sa * cos(gamma) + sb * sin(gamma)),
        (xa + zt * cos(delta) + (e - ea) * sin(turn), ya + zt * sin(delta) - (e - ea) * cos(turn)),
        (xa + ta * cos(delta) - tb * sin(delta), ya + ta * sin(delta) + tb * cos(delta)),
        (xa + u * sin(epsilon) + (zf - fa) * cos(gone), ya - u * cos(epsilon) + (zf - fa) * sin(gone)),
        (xa + ua * sin(epsilon) - ub * cos(epsilon), ya - ua * cos(epsilon) - ub * sin(epsilon)),
    ]
    angles = [beta, both, gamma, turn, delta, gone, epsilon]
    moving = lambda p: [ap.total_derivative(x) for x in p]
    T = sum(
        m * sum(w**2 for w in moving(p)) / 2 + J * ap.total_derivative(a) ** 2 / 2
        for m, J, p, a in zip(mass, inertia, centres, angles, strict=True)
    )
    spring = Matrix([sd * sin(gamma) + sc * cos(gamma) + xb - xc, sd * cos(gamma) * -1 + sc * sin(gamma) + yb - yc])
    length = sqrt(spring.dot(spring))
    c0, l0, stiffer = 4530, 7785e-5, 1e3
    end = Matrix([rr * cos(beta) - d * cos(both), rr * sin(beta) - d * sin(both)])
    loops = [
        end - Matrix([xb + ss * sin(gamma), yb - ss * cos(gamma)]),
        end - Matrix([xa + zt * cos(delta) + e * sin(turn), ya + zt * sin(delta) - e * cos(turn)]),
        end - Matrix([xa + zf * cos(gone) + u * sin(epsilon), ya + zf * sin(gone) - u * cos(epsilon)]),
    ]
    system = ap.System(
        [beta, Theta, gamma, Phi, delta, Omega, epsilon],
        T,
        stiffer * c0 * (length - l0) ** 2 / 2,
        {beta: 0.033, gamma: -1e-2 * gamma.d},
        [row for loop in loops for row in loop],
    )
    start = (
        -0.0617138900142764,
        0.0,
        0.455279819163070,
        0.222668390165886,
        0.487364979543842,
        -0.222668390165886,
        1.23054744454982,
    )
    return "squeezer", system, dict(zip(system.coordinates, start, strict=True)), 0.03


__all__ = ["tables"]
