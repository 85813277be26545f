"""Cyclic coordinates, conserved momenta and the energy integral.

    ∂T/∂q = ∂V/∂q = 0, Q_q = 0:  d/dt ∂T/∂q̇ = (W Λ)_q                 a cyclic coordinate under constraints
    dI/dt = I_t + I_q q̇ + I_v a,  I = Σ c_i p_i + Σ c_ij (q_i p_j − q_j p_i)       momenta p = ∂T/∂v
    dH/dt = power,  H = T2 − T0 + V                                               the energy integral where it vanishes

A momentum is called conserved where Σ c dI/dt vanishes at random states of the constraints, with the accelerations of the
normal form, for two sets of parameter values: what the constraints do to it is then included.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import sympy
from numpy.typing import NDArray
from sympy import Expr

from appell.backends import vm_function
from appell.errors import AppellError
from appell.forms.base import directions
from appell.forms.derivation import along, gradient
from appell.forms.display import simplified
from appell.graph import Fn
from appell.jets import Coordinate, t
from appell.model import System
from appell.simulate.run import Run
from appell.verify.frobenius import rational, reduced

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

ZERO = 1e-9
"""Share of the size of a quantity below which its rate counts as zero."""

PAIRS = 6
"""Number of coordinates up to which rotations q_i p_j − q_j p_i are tried."""


@dataclass(frozen=True)
class Batch:
    """States of one system: times (k,), coordinates (k, nq), velocities (k, nv), accelerations (k, nv), Λ (k, rows)."""

    run: Run
    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array

    @staticmethod
    def of(run: Run, states: Sequence[State]) -> Batch:
        """Those of the states at which the accelerations are determined."""
        good = [(*state, *solved) for state in states if (solved := _solved(run, state)) is not None]
        widths = (run.system.nq, run.system.nv, run.system.nv, len(run.system.constraints))
        columns = [np.array([one[k + 1] for one in good]).reshape(len(good), n) for k, n in enumerate(widths)]
        return Batch(run, np.array([one[0] for one in good]), *columns)

    def values(self, expr: Expr) -> Array:
        """An expression in t, q, v, a at the states, (k,)."""
        return self._evaluated(self.run.form.lowered(self.run.system.in_velocities(expr)))["value"]

    def outputs(self, *names: str) -> dict[str, Array]:
        """Outputs of the normal form at the states."""
        return self._evaluated(self.run.form.select(*names))

    def _evaluated(self, fn: Fn) -> dict[str, Array]:
        known = {"t": self.t, "q": self.q, "v": self.v, "p": self.run.p, "a": self.a, "lam": self.lam}
        found = vm_function(fn).batch(*(known[port.name] for port in fn.inputs))
        return dict(zip((port.name for port in fn.outputs), found, strict=True))


def _solved(run: Run, state: State) -> tuple[Array, Array] | None:
    try:
        a, lam = run.acceleration(*state)
    except AppellError:
        return None
    return (a, lam) if np.isfinite(a).all() and np.isfinite(lam).all() else None


def cyclic(system: System) -> dict[Coordinate, tuple[str, ...]]:
    """Coordinates that T, V and the forces do not contain and that no force drives → constraints that act on them."""
    used = set().union(*(e.free_symbols for e in (system.kinetic, system.potential, *system.forces)))
    W = directions(system)
    found = {}
    for i, v in enumerate(system.velocities):
        q = next((q for q in system.coordinates if q.d == v), None)
        if q is not None and q not in used and system.forces[i] == 0:
            found[q] = tuple(c.name for c, row in zip(system.constraints, W, strict=True) if row[i] != 0)
    return found


def momenta(system: System, batches: Sequence[Batch]) -> list[Expr]:
    """Conserved combinations of momenta and moments of momentum, as expressions in t, q, v; trivial ones (zero) left out."""
    candidates = _candidates(system)
    d_dt = along(system.rates)
    table = lambda exprs: np.vstack([np.array([batch.values(e) for e in exprs]).T for batch in batches])
    values, rates = table(candidates), table([d_dt(e) for e in candidates])
    size = np.abs(values).max(axis=0) + np.abs(rates).max(axis=0)
    keep = [k for k in range(len(candidates)) if size[k] > ZERO]
    if len(rates) < len(keep) + 2:
        return []
    null = scipy.linalg.null_space(rates[:, keep] / size[keep], rcond=ZERO).T / size[keep]
    found, spanned = [], np.zeros((len(values), 0))
    for c in sorted(reduced(null), key=lambda c: np.count_nonzero(np.abs(c) > 1e-7)):
        value = values[:, keep] @ c
        grown = np.column_stack([spanned, value / max(np.abs(value).max(), 1e-300)])
        exact = rational(c)
        is_rational = all(abs(float(r) - x) < 1e-6 for r, x in zip(exact, c, strict=True))
        if is_rational and np.abs(value).max() > ZERO and np.linalg.matrix_rank(grown, tol=1e-7) > spanned.shape[1]:
            spanned = grown
            found.append(simplified(sympy.Add(*(r * candidates[k] for r, k in zip(exact, keep, strict=True) if r)), 0.3))
    return found


def _candidates(system: System) -> list[Expr]:
    """p_i of every velocity, and q_i p_j − q_j p_i of coordinates with velocities of their own."""
    p = dict(zip(system.velocities, gradient(system.kinetic, system.velocities), strict=True))
    own = [q for q in system.coordinates if q.d in p]
    pairs = itertools.combinations(own, 2) if len(own) <= PAIRS else ()
    return [*p.values(), *(a * p[b.d] - b * p[a.d] for a, b in pairs)]


def energy(system: System, batch: Batch) -> tuple[bool, str]:
    """Whether H = T2 − T0 + V is an integral, and a sentence that says so or says what changes it."""
    out = batch.outputs("power", "H", "T", "V")
    if np.abs(out["power"]).max() < ZERO * (1 + np.abs(out["H"]).max()):
        same = np.abs(out["H"] - out["T"] - out["V"]).max() < ZERO * (1 + np.abs(out["H"]).max())
        name = "the energy T + V" if same else "H = T2 − T0 + V"
        return True, f"{name} is conserved: no force and no constraint does work, and time does not enter"
    reasons = []
    if any(force != 0 for force in system.forces):
        reasons.append("the forces do work")
    timely = [n for n, e in (("T", system.kinetic), ("V", system.potential)) if t in e.free_symbols]
    if timely:
        reasons.append(f"{' and '.join(timely)} contain time")
    reasons += [f"the reaction of constraint '{name}' does work" for name in _working(system, batch)]
    return False, f"the energy is not conserved: {'; '.join(reasons) or 'the kinematics depend on time'}"


def _working(system: System, batch: Batch) -> list[str]:
    """The constraints with Λ Wᵀv ≠ 0 at some state: affine, rheonomic, non-ideal or nonlinear and not homogeneous."""
    power_per_lam = [sympy.Add(*(w * v for w, v in zip(W, system.velocities, strict=True))) for W in directions(system)]
    rates = np.array([batch.values(e) for e in power_per_lam]).T.reshape(batch.lam.shape)
    power = np.abs(batch.lam * rates).max(axis=0, initial=0.0)
    return [c.name for c, x in zip(system.constraints, power, strict=True) if x > ZERO * (1 + power.max())]
