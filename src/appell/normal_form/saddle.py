"""The saddle point M x = r + Aᵀλ, A x = s of `rows.saddle_points` on the graph and in generated code.

`unrolled` writes out the elimination of small systems on the graph; `SADDLE_C` is the routine for the others in generated code.
`solve` of `rows.saddle_points` is the NumPy version, with the same derivation and thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from appell.errors import Status
from appell.graph.algebra import Value, block_matrix, column, smallest, where_finite, zeros
from appell.graph.elimination import eliminated
from appell.rows import PIVOT, PIVOT_VANISHED, ROW_VANISHING, Policy

_THRESHOLDS = {"PIVOT": PIVOT, "SHORT": ROW_VANISHING, "VANISHED": PIVOT_VANISHED}
SADDLE_C = "".join(f"#define SADDLE_{name} {value!r}\n" for name, value in _THRESHOLDS.items()) + (
    resources.files("appell.normal_form").joinpath("saddle.c").read_text(encoding="utf-8")
)


def unrolled(
    M: Value, A: Value, r: Value, s: Value, policy: Policy, checked: bool, pivot: float = PIVOT,
    order: Sequence[int] | None = None,
) -> tuple[Value, Value, Value]:
    """(x, λ, margin) for W = Aᵀ and independent rows; margin > 0 unless a pivot of the rows is below `pivot`, one of M below
    `PIVOT` or, if `checked`, a result is not finite. r and s may have several columns.

    order: of the elimination (`parts.elimination`); M first by default.
    """
    n, m = M.shape[0], A.shape[0]
    order = range(n + m) if order is None else order
    if policy.gamma and m:
        M, r = M + policy.gamma * (A.T @ A), r + policy.gamma * (A.T @ s)
    K = block_matrix([[M, A.T], [A, zeros(m, m)]])
    velocities = [k for k, unknown in enumerate(order) if unknown < n]
    x, pivots = eliminated(K[list(order), list(order)], column(r, s)[list(order), :], velocities)
    shares = (PIVOT if unknown < n else pivot for unknown in order)
    margins = [p.value - share * p.size for p, share in zip(pivots, shares, strict=True)]
    x = x[[position for _, position in sorted((unknown, k) for k, unknown in enumerate(order))], :]
    margin = where_finite(x, smallest(margins), -float(Status.NOT_FINITE)) if checked else smallest(margins)
    return x[:n, :], -x[n:, :], margin
