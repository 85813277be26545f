"""States, the judge and values of expressions, for the tests of the forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp

from appell.forms.engine.evaluation import FLOAT, Tape
from appell.jets import t
from appell.model import System
from appell.normal_form.manifold import find
from appell.normal_form.normal_form import normal_form
from appell.normal_form.policy import choose
from appell.rows import solve


@dataclass(frozen=True)
class Verdict:
    """A state on the constraints with the acceleration and the reactions of the normal form."""

    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    values: dict

    def __iter__(self):
        return iter((self.t, self.q, self.v))


def judged(system: System, parameters: Mapping[Any, float], count: int = 2, seed: int = 1) -> list[Verdict]:
    """States on the constraints, judged by the normal form; `values` holds t, q, v, a and the parameters by symbol."""
    form = normal_form(system)
    p = np.array([parameters[s] for s in system.parameters], dtype=float)
    policy, verdicts = choose(form, p).acceleration, []
    for time, q, v in find(form, p, seed=seed)[:count]:
        out = form.select("M", "h", "Q", "A", "a0", "W")(time, q, v, p)
        a, lam, status = solve(out["M"], out["A"], out["W"], out["Q"] - out["h"], -out["a0"], policy)
        assert not status
        symbols = (t, *system.coordinates, *system.velocities, *system.accelerations, *system.parameters)
        values = dict(zip(symbols, [time, *q, *v, *a, *p], strict=True))
        verdicts.append(Verdict(time, q, v, a, lam, values))
    assert verdicts
    return verdicts


def disagreement(equations: Any, parameters: Mapping[Any, float], count: int = 2) -> float:
    """The largest relative difference of a form's accelerations and reactions from the judge's."""
    worst = 0.0
    for state in judged(equations.system, parameters, count):
        a, lam = equations.acceleration(*state, parameters)
        assert a.shape == (equations.system.nv,) and lam.shape == (len(equations.system.constraints),)
        for mine, theirs in ((a, state.a), (lam, state.lam)):
            worst = max(worst, float((np.abs(mine - theirs) / (1 + np.abs(theirs).max(initial=0))).max(initial=0)))
    return worst


def value(expr: Any, values: Mapping[Any, float]) -> Any:
    """A number, or an array for lists and matrices."""
    if isinstance(expr, sympy.MatrixBase):
        return np.array([[value(e, values) for e in expr.row(i)] for i in range(expr.shape[0])], dtype=float)
    if isinstance(expr, tuple | list):
        return np.array([value(e, values) for e in expr], dtype=float)
    return float(_tape(sympy.sympify(expr))({s: float(x) for s, x in values.items()}, FLOAT)[0])


@cache
def _tape(expr: Any) -> Tape:
    return Tape([expr])


def with_pseudo(equations: Any, values: Mapping[Any, float]) -> dict:
    """The values completed by pseudo-velocities and pseudo-accelerations."""
    pseudo, out = equations.objects["pseudo"], dict(values)
    out.update({s: value(e, out) for s, e in zip(pseudo.speeds, pseudo.definitions, strict=False)})
    out.update({s: value(e, out) for s, e in zip(pseudo.accelerations, pseudo.second, strict=False)})
    return out


def close(a: Any, b: Any, tolerance: float = 1e-10) -> bool:
    """Equal to rounding, relative to the size of b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0) < tolerance * (1 + np.abs(b).max(initial=0)))


def zero(expr: Any) -> bool:
    """Whether an expression vanishes identically, by simplification."""
    if isinstance(expr, sympy.MatrixBase):
        return all(zero(entry) for entry in expr)
    return sympy.simplify(expr) == 0


def integrate(equations: Any, start: Mapping[Any, float], parameters: Mapping[Any, float], times: np.ndarray):
    """(q, v, lam) at the times, shapes (n, nq), (n, nv), (n, rows), by DOP853 on the form's own accelerations."""
    system = equations.system
    nq = system.nq
    z0 = [start.get(s, 0.0) for s in (*system.coordinates, *system.velocities)]

    def rhs(time, z):
        return np.concatenate([z[nq:], equations.acceleration(time, z[:nq], z[nq:], parameters)[0]])

    run = solve_ivp(rhs, (times[0], times[-1]), z0, "DOP853", times, rtol=1e-12, atol=1e-13)
    assert run.success
    q, v = run.y[:nq].T, run.y[nq:].T
    lam = [equations.acceleration(time, a, b, parameters)[1] for time, a, b in zip(times, q, v, strict=True)]
    return q, v, np.array(lam)
