"""The response of velocities to impulses, x = K r of M x = r + W λ, A x = 0, by decoupled parts.

Coordinates that neither M nor a constraint couples respond independently: fifty discs are a hundred parts of one velocity each,
and an impact between two of them involves only four.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, symbols, zeros
from appell.normal_form import NormalForm
from appell.normal_form.coupled_blocks import coupled
from appell.normal_form.flow import FlowState, inputs_of
from appell.rows import CHOLESKY, LU, Policy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A set of coupled velocities and rows, by number, and the offsets of their blocks."""

    velocities: tuple[int, ...]
    rows: tuple[int, ...]
    M: int
    A: int


@dataclass(frozen=True, eq=False)
class Metric:
    """blocks: (t, z, p) → M, A, W of the parts in sequence, row-major. displace: (t, z, p, x) → N x."""

    blocks: Fn
    displace: Fn
    parts: tuple[Part, ...]
    policy: Policy
    nv: int
    m: int

    def matrices(self, t: float, z: Array, p: Array) -> tuple[Array, Array, Array]:
        """M (nv, nv), A (m, nv), W (nv, m) at a state."""
        blocks = self.blocks(t, z, p)
        M, A, W = np.zeros((self.nv, self.nv)), np.zeros((self.m, self.nv)), np.zeros((self.nv, self.m))
        for part in self.parts:
            n, m = len(part.velocities), len(part.rows)
            v, r = list(part.velocities), list(part.rows)
            M[np.ix_(v, v)] = blocks["M"][part.M : part.M + n * n].reshape(n, n)
            A[np.ix_(r, v)] = blocks["A"][part.A : part.A + m * n].reshape(m, n)
            W[np.ix_(v, r)] = blocks["W"][part.A : part.A + m * n].reshape(n, m) if "W" in blocks else A[np.ix_(r, v)].T
        return M, A, W


def metric_of(form: NormalForm, policy: Policy, state: FlowState) -> Metric:
    """The metric of a system; a single part if its rows are redundant or have reactions of their own directions."""
    undivided = [(tuple(range(form.nv)), tuple(range(form.m)))]
    groups = coupled(form["M"], form["A"], form["W"]) if policy.kind == CHOLESKY else undivided
    parts, M, A, W, at_M, at_A = [], [], [], [], 0, 0
    for v, r in groups:
        parts.append(Part(v, r, at_M, at_A))
        M += [form["M"][i, j] for i in v for j in v]
        A += [form["A"][i, j] for i in r for j in v]
        W += [form["W"][i, j] for i in v for j in r]
        at_M, at_A = at_M + len(v) ** 2, at_A + len(v) * len(r)
    inputs = inputs_of(form, state)
    flat = lambda values: (column(*values) if values else zeros(0), (len(values),))
    outputs = {"M": flat(M), "A": flat(A), **({"W": flat(W)} if policy.kind == LU else {})}
    x = symbols("x", form.nv)
    dq: Value = form["N"] @ x
    return Metric(
        make_fn("metric", inputs, outputs),
        make_fn("displace", {**inputs, "x": (x, (form.nv,))}, {"dq": (dq, (form.nq,))}),
        tuple(parts),
        policy,
        form.nv,
        form.m,
    )
