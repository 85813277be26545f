"""SUNDIALS through CasADi: CVODES for ż = f(t, z, p), IDAS for ż = f(t, z, y, p), 0 = g(t, z, y, p)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.graph.fn import Fn
from appell.remember import remembered

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stiff:
    """Integrates over [t0, t1] mapped to [0, 1]: one compiled problem serves every interval."""

    integrator: ca.Function

    def __call__(self, t0: float, t1: float, z: Array, y: Array, p: Array) -> tuple[Array, Status]:
        """z at t1 from z at t0 with the algebraic unknowns y at t0; or the status of a failure."""
        try:
            out = self.integrator(x0=z, z0=y, p=np.concatenate([p, [t0, t1]]))
        except RuntimeError:
            return z, Status.STEP_TOO_SMALL
        z1 = np.array(out["xf"]).ravel()
        return (z1, Status.OK) if np.isfinite(z1).all() else (z, Status.NOT_FINITE)

    @property
    def work(self) -> tuple[int, int, int]:
        """(evaluations, steps, rejected) of the last interval."""
        stats = self.integrator.stats()
        return stats["nfevals"], stats["nsteps"], stats["netfails"]


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
    if method == "idas":
        # IDAS looks for consistent ẋ, y to a fraction of the tolerances; an unknown near 0 must not ask for less than rounding
        options |= {"calc_ic": True, "suppress_algebraic": True, "abstol": max(atol, 0.1 * rtol)}
    return Stiff(ca.integrator("stiff", method, problem, 0, 1, options))
