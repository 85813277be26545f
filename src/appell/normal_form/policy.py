"""Which way to solve the saddle point: decided once, from ranks at random states of the constraint manifold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError
from appell.normal_form.manifold import find
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.saddle import CHOLESKY, LU, RANK, Indices, Policy, pivoted_cholesky
from appell.normal_form.sampling import finite_samples

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-9
"""Share of sin² below which a row counts as dependent on the others."""


@dataclass(frozen=True)
class Policies:
    """The policies for accelerations and for the projections of positions and velocities; the rows found redundant."""

    acceleration: Policy
    position: Policy
    velocity: Policy
    redundant: tuple[str, ...]


def choose(form: NormalForm, p: Array, states: list[tuple[float, Array, Array]] | None = None) -> Policies:
    """The solve policies at parameter values p. `states` on the manifold (a start) come first, random ones after."""
    if form.free is not None and not form.rows:  # articulated bodies solve it, and M > 0 was judged with the tree
        return Policies(Policy(), Policy(), Policy(), ())
    states = [*(states or []), *find(form, p, seed=1)]
    fn = form.select("M", "A", "A0", "A1")
    samples = [fn(t, q, v, p) for t, q, v in states]
    samples = [out for out in samples if all(np.isfinite(x).all() for x in out.values())]
    if not samples:  # no state of the manifold was found: any state will do
        samples = [out for _, out in finite_samples(fn, count=5, parameters=p)]
    if not samples:
        raise ModelError("the mass matrix or the constraint rows have no finite value at any random state")
    gamma = _gamma(samples)
    ranks = {name: max(_rank(out, name, gamma)[0] for out in samples) for name in ("A", "A0", "A1")}
    order = _rank(samples[0], "A", gamma)[1]
    linear = [row.constraint.name for row in form.rows if row.linear]
    m = len(linear)
    redundant = tuple(linear[i] for i in order[ranks["A"] :])
    if not form.ideal and redundant:
        raise ConstraintError(
            f"redundant constraints ({', '.join(redundant)}) together with a given reaction direction leave the reactions"
            " undetermined; drop the redundant rows"
        )
    kind = LU if not form.ideal else CHOLESKY if ranks["A"] == m else RANK
    base = Policy(kind, ranks["A"], gamma)
    m0, m1 = samples[0]["A0"].shape[0], samples[0]["A1"].shape[0]
    return Policies(base, base.for_rows(m0, ranks["A0"]), base.for_rows(m1, ranks["A1"]), redundant)


def _gamma(samples: list[dict[str, Array]]) -> float:
    """0 where M is positive definite at every sample; else a weight that makes M + γAᵀA of one size."""
    for out in samples:
        M = out["M"]
        scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1))
        if np.linalg.eigvalsh(M / np.outer(scale, scale)).min(initial=1.0) < 1e-10:
            rows = np.sum(out["A"] ** 2)
            return float((np.trace(M) or 1.0) / (rows or 1.0))
    return 0.0


def _rank(out: dict[str, Array], name: str, gamma: float) -> tuple[int, Indices]:
    """Rank of the rows in the metric of M + γAᵀA, and their order by pivoting."""
    A, M = out[name], out["M"] + gamma * out["A"].T @ out["A"]
    m = len(A)
    if m == 0:
        return 0, np.arange(0)
    try:
        G = A @ np.linalg.solve(M, A.T)
    except np.linalg.LinAlgError:
        G = A @ A.T
    size = np.sqrt(np.maximum(np.diag(G), 0))
    size[size == 0] = 1
    rank = int(np.linalg.matrix_rank(G / np.outer(size, size), tol=RANK_TOLERANCE, hermitian=True))
    return rank, pivoted_cholesky(G, rank)[1]
