"""Kelly's cart pole by peers from package registries: pockit, Crocoddyl and Drake, each on finer and finer meshes.

pockit solves with SciPy's trust-constr, since its other solver, cyipopt, needs an IPOPT that pip does not bring. Crocoddyl has
no conditions at the end: a penalty stands for them, and its bias remains. Drake's `DirectCollocation` is solved by its own
IPOPT. Times are CPU times of all meshes up to the one that serves; what is missing is said with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

PEER_SECONDS = 60.0
"""CPU seconds after which no finer mesh is begun."""
END = (1.0, float(np.pi), 0.0, 0.0)

Solved = tuple[float, int]  # objective, iterations


def rates(z: Any, u: Any, lib: Any) -> list[Any]:
    """ẋ, q̇, ẍ, q̈ of the cart pole with a force u, by functions of a library."""
    s, c = lib.sin(z[1]), lib.cos(z[1])
    a, b = u + 0.15 * s * z[3] ** 2, -0.3 * 9.81 * 0.5 * s
    below = 1.3 * 0.075 - (0.15 * c) ** 2
    return [z[2], z[3], (0.075 * a - 0.15 * c * b) / below, (1.3 * b - 0.15 * c * a) / below]


def pockit(count: int) -> Solved:
    from pockit.optimizer import scipy as solver
    from pockit.radau import System, linear_guess

    system = System(0)
    phase = system.new_phase(["x", "q", "v", "w"], ["F"])
    x, (F,) = phase.x, phase.u
    phase.set_dynamics(rates(x, F, sympy)).set_integral([F**2])
    phase.set_boundary_condition([0, 0, 0, 0], list(END), 0, 2.0)
    phase.set_phase_constraint([x[0], F], [-2, -20], [2, 20])
    phase.set_discretization(count, 4)
    system.set_phase([phase]).set_objective(phase.I[0])
    _, info = solver.solve(system, linear_guess(phase, 0.0), {"maxiter": 2000, "gtol": 1e-8, "xtol": 1e-12})
    return float(info.fun), int(info.nit)


def crocoddyl(count: int) -> Solved:
    import crocoddyl as cr

    z, u = sympy.symbols("z0:4"), sympy.Symbol("u")
    a = sympy.Matrix(rates(z, u, sympy)[2:])
    value, by = (sympy.lambdify([*z, u], e, cse=True) for e in (a, a.jacobian([*z, u])))

    class CartPole(cr.DifferentialActionModelAbstract):
        def __init__(self, weight: float):
            super().__init__(cr.StateVector(4), 1, 5)
            self.weight = weight

        def calc(self, data: Any, x: Any, u: Any = None) -> None:
            given = np.zeros(1) if u is None else u
            data.xout = np.asarray(value(*x, given[0]), dtype=float).ravel()
            data.cost = 0.5 * self.weight * float(((x - END) ** 2).sum()) if self.weight else float(given[0] ** 2)

        def calcDiff(self, data: Any, x: Any, u: Any = None) -> None:
            given = np.zeros(1) if u is None else u
            slope = np.asarray(by(*x, given[0]), dtype=float)
            data.Fx, data.Fu = slope[:, :4], slope[:, 4:]
            data.Lx, data.Lxx = self.weight * (x - np.array(END)), self.weight * np.eye(4)
            data.Lu, data.Luu = (np.zeros(1), np.zeros((1, 1))) if self.weight else (2 * given, 2 * np.eye(1))

    running = cr.IntegratedActionModelRK(CartPole(0.0), cr.RKType.four, 2.0 / count)
    last = cr.IntegratedActionModelRK(CartPole(1e8), cr.RKType.four, 0.0)
    problem = cr.ShootingProblem(np.zeros(4), [running] * count, last)
    solver = cr.SolverFDDP(problem)
    line = [np.array(END) * k / count for k in range(count + 1)]
    solver.solve(line, [np.zeros(1)] * count, 400, False, 1e-9)
    return float(sum(float(one[0]) ** 2 for one in solver.us) * 2.0 / count), int(solver.iter)


def drake(count: int) -> Solved:
    from pydrake.planning import DirectCollocation
    from pydrake.solvers import IpoptSolver
    from pydrake.symbolic import Variable, cos, sin
    from pydrake.systems.primitives import SymbolicVectorSystem
    from pydrake.trajectories import PiecewisePolynomial

    state, force = [Variable(name) for name in "xqvw"], Variable("F")
    lib = type("lib", (), {"sin": staticmethod(sin), "cos": staticmethod(cos)})
    system = SymbolicVectorSystem(state=state, input=[force], dynamics=rates(state, force, lib), output=state)
    h = 2.0 / count
    program = DirectCollocation(system, system.CreateDefaultContext(), count + 1, h, h)
    program.AddEqualTimeIntervalsConstraints()
    z, u, prog = program.state(), program.input(), program.prog()
    program.AddConstraintToAllKnotPoints(z[0] >= -2)
    program.AddConstraintToAllKnotPoints(z[0] <= 2)
    program.AddConstraintToAllKnotPoints(u[0] >= -20)
    program.AddConstraintToAllKnotPoints(u[0] <= 20)
    prog.AddBoundingBoxConstraint(np.zeros(4), np.zeros(4), program.initial_state())
    prog.AddBoundingBoxConstraint(np.array(END), np.array(END), program.final_state())
    program.AddRunningCost(u[0] ** 2)
    line = PiecewisePolynomial.FirstOrderHold([0.0, 2.0], np.column_stack([np.zeros(4), END]))
    program.SetInitialTrajectory(PiecewisePolynomial(), line)
    found = IpoptSolver().Solve(prog)
    return float(found.get_optimal_cost()), -1


PEERS: dict[str, tuple[Callable[[int], Solved], tuple[int, ...]]] = {
    "pockit (trust-constr)": (pockit, (5, 10, 20)),
    "Crocoddyl (FDDP, penalty)": (crocoddyl, (200, 400, 800)),
    "Drake (DirectCollocation)": (drake, (100, 200, 400, 800)),
}


def compared(name: str, limit: float, reached: float) -> tuple[str, int, int, float, float]:
    """What a peer comes to: why it stopped, the mesh, iterations, objective − limit, CPU seconds of all meshes."""
    solve, counts = PEERS[name]
    spent, steps, left, count = 0.0, 0, np.inf, 0
    for count in counts:
        begin = time.process_time()
        try:
            objective, iterations = solve(count)
        except ImportError as error:
            return f"not here: {error}", 0, 0, np.nan, np.nan
        spent, steps, left = spent + time.process_time() - begin, steps + iterations, objective - limit
        if abs(left) <= reached:
            return "", count, steps, left, spent
        if spent > PEER_SECONDS:
            break
    return "not reached", count, steps, left, spent
