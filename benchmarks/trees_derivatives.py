"""First derivatives of inverse and forward dynamics: one call from Python, and batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import agree, interleaved
from benchmarks.report import Table, ratio, seconds

if TYPE_CHECKING:
    from benchmarks.trees import Case

QUESTIONS = (
    ("inverse_dynamics_derivatives", "computeRNEADerivatives"),
    ("forward_dynamics_derivatives", "computeABADerivatives"),
)
STATES = 1024  # of a batch that has vectors compiled
MOST = 2e6  # bytes of the answers of one batch
CALLS = 100
CLOSE = 1e-8  # of the largest entry of each matrix, at all states


def derivatives(case: Case, turn: float) -> dict[str, Any]:
    """Least time of one call and of a batch a state, both for the same three matrices, of both questions."""
    from benchmarks.trees import busy

    states, peer = case.states, case.pinocchio
    record: dict[str, Any] = {"robot": case.robot.name, "error": 0.0}
    each = max(16, int(MOST / (24 * case.tree.nv**2)) // 16 * 16)
    for ours, theirs in QUESTIONS:
        method, function = getattr(case.tree, ours), getattr(peer.pin, theirs)
        rows = list(zip(states.q_pinocchio[:STATES], states.v, states.third, strict=False))
        found = method(states.q[:STATES], states.v[:STATES], states.third[:STATES])
        one = (states.q[0], states.v[0], states.third[0])
        for k in (0, len(rows) - 1):
            right = function(peer.model, peer.data, *rows[k])
            for a, b in zip((part[k] for part in found), right, strict=True):
                both = np.triu if b is right[2] else np.asarray
                record["error"] = max(record["error"], agree(f"{case.robot.name}: {theirs}", both(a), both(b), CLOSE))
        method(*one)
        method = getattr(case.tree, ours)  # since its first answer an entry into machine code, if it is one function
        parts = [tuple(x[k : k + each] for x in (states.q, states.v, states.third)) for k in range(0, STATES, each)]
        count = sum(len(part[0]) for part in parts)
        record |= interleaved(
            {
                f"{ours} one": busy(_each(method, [one] * CALLS), CALLS),
                f"{ours} batch": busy(_each(method, parts), count),
                theirs: busy(_each(function, [(peer.model, peer.data, *row) for row in rows]), len(rows)),
            },
            seconds=turn,
        )
    return record


def _each(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Callable[[], None]:
    """One after the other, each answer dropped before the next one is made."""

    def run() -> None:
        for given in arguments:
            function(*given)

    return run


def derivatives_table(records: list[dict[str, Any]]) -> Table:
    rows = []
    for r in records:
        cells = [r["robot"]]
        for ours, theirs in QUESTIONS:
            one, batch, peer = r[f"{ours} one"], r[f"{ours} batch"], r[theirs]
            cells += [seconds(one), seconds(batch), seconds(peer), ratio(peer / one), ratio(peer / batch)]
        rows.append(tuple(cells))
    return Table(
        title="Derivatives of the dynamics by q, v and a or τ, time a state",
        columns=(
            "robot", "inverse, one", "batch", "computeRNEADerivatives", "× one", "× batch",
            "forward, one", "batch", "computeABADerivatives", "× one", "× batch",
        ),
        rows=tuple(rows),
        notes=(
            "three matrices (nv, nv); Pinocchio's functions are called from Python state by state, one thread",
            "forward dynamics of g1 and talos: loops over the branches of M instead of straight-line code",
            f"agreement: {max(r['error'] for r in records):.0e} of the largest entry",
        ),
        records=tuple(records),
    )  # fmt: skip
