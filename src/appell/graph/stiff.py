"""SUNDIALS through CasADi: CVODES for ż = f(t, z, p), IDAS for ż = f(t, z, y, p), 0 = g(t, z, y, p)."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.graph.fn import Fn
from appell.remember import remembered

Array = NDArray[np.float64]


COUNTED = ("nfevals", "nsteps", "netfails")

FIRST_TIMES = (1e-3, 1e-6, 1.0)
"""Parts of an interval over which IDAS judges its start. Over the whole of it, a pendulum that swings through one has no start;
over too little, rounding shows."""


@dataclass(frozen=True, eq=False)
class Stiff:
    """Integrates over [t0, t1] mapped to [0, 1]: one compiled problem serves every interval."""

    integrators: tuple[ca.Function, ...]  # the same one with other ways to begin, to be tried in turn
    used: list[ca.Function] = field(default_factory=list)

    def __call__(self, t0: float, t1: float, z: Array, y: Array, p: Array) -> tuple[Array, Status]:
        """z at t1 from z at t0 with the algebraic unknowns y at t0; or the status of a failure."""
        self.used.clear()
        for integrator in self.integrators:
            self.used.append(integrator)
            try:
                out = integrator(x0=z, z0=y, p=np.concatenate([p, [t0, t1]]))
            except RuntimeError:
                continue
            z1 = np.array(out["xf"]).ravel()
            return (z1, Status.OK) if np.isfinite(z1).all() else (z, Status.NOT_FINITE)
        return z, Status.STEP_TOO_SMALL

    @property
    def work(self) -> tuple[int, int, int]:
        """(evaluations, steps, rejected) of the last interval."""
        found = [integrator.stats() for integrator in self.used]
        evaluations, steps, rejected = (sum(stats.get(name, 0) for stats in found) for name in COUNTED)
        return evaluations, steps, rejected


@remembered
def make_stiff(fn: Fn, method: str, rtol: float, atol: float, max_steps: int) -> Stiff:
    """`fn` maps (t, z, p) → zd, … for "cvodes" and (t, z, p, y) → zd, residual for "idas"."""
    ports = {port.name: port for port in fn.inputs}
    z, p, s = ca.SX.sym("z", ports["z"].size), ca.SX.sym("p", ports["p"].size), ca.SX.sym("s")
    ends = ca.SX.sym("ends", 2)
    t, span = ends[0] + s * (ends[1] - ends[0]), ends[1] - ends[0]
    problem = {"x": z, "t": s, "p": ca.vertcat(p, ends)}
    if method == "idas":
        y = ca.SX.sym("y", ports["y"].size)
        zd, residual = fn.function(t, z, p, y)
        problem.update({"z": y, "ode": span * zd, "alg": residual})
    else:
        problem["ode"] = span * fn.function(t, z, p)[0]
    options = {"reltol": rtol, "abstol": atol, "max_num_steps": max_steps, "show_eval_warnings": False}
    options["disable_internal_warnings"] = True  # SUNDIALS would print
    if method == "idas":
        # IDAS looks for consistent ẋ, y to a fraction of the tolerances; an unknown near 0 must not ask for less than rounding
        options |= {"calc_ic": True, "suppress_algebraic": True, "abstol": max(atol, 0.1 * rtol)}
    ways = [{"first_time": time} for time in FIRST_TIMES] if method == "idas" else [{}]
    return Stiff(tuple(ca.integrator("stiff", method, problem, 0, 1, {**options, **way}) for way in ways))
