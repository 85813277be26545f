"""Pseudo-velocities that `diagnose` suggests: those with the smallest condition number of Φ = ∂(π̇, f)/∂q̇ at the states of the
case.

A given start is one of these states: a velocity that the constraints fix there cannot be independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from appell.errors import FormNotApplicable, ModelError
from appell.forms.engine.constraint_rows import independent_rows
from appell.forms.engine.display import simplified
from appell.forms.engine.pseudo import PseudoVelocities, suggest
from appell.model import System
from appell.verify import ranks
from appell.verify.case import Case
from appell.verify.findings import Finding
from appell.verify.frobenius import State, affine_rows


def pseudo_velocities(case: Case) -> Iterator[Finding]:
    """The suggestion, as a finding."""
    system, suggestion = case.system, best_pseudo(case)
    if suggestion is None or not system.constraints:
        return
    condition, best = suggestion
    if not condition < 1 / ranks.PERTURBATION:
        return
    text = ", ".join(f'"{name}": {value}' for name, value in best.items())
    at_start = "at the start and " * (case.start is not None)
    sentence = f"pseudo={{{text}}} has a condition number of at most {condition:.3g} {at_start}at states on the constraints"
    yield Finding("pseudo-velocities", system.name, sentence)


def best_pseudo(case: Case) -> tuple[float, dict[str, Any]] | None:
    """The best conditioned of the suggestion of `forms.pseudo`, one for the start, and variants of both along the
    constraints."""
    system = case.system
    try:
        suggested = [suggest(system), *([_suggested_at(case, case.start)] if case.start is not None else [])]
        choices = [(_condition(case, w), w) for plain in suggested for w in (plain, _along_constraints(system, plain)) if w]
    except (FormNotApplicable, ModelError):
        return None
    return min(choices, key=lambda choice: round(choice[0], 6), default=None)


def _suggested_at(case: Case, state: State) -> dict[str, Any]:
    """Independent velocities at a state: the constraints can be solved for the others, with the largest pivots."""
    rows = independent_rows(case.system)
    fn = case.form.lowered_table(rows.A)
    a = [np.full(case.system.nv, 0.5)] if any(port.name == "a" for port in fn.inputs) else []
    A = fn(*state, case.p, *a)["value"]
    order: Any = scipy.linalg.qr(A, mode="r", pivoting=True)[-1] if A.size and np.isfinite(A).all() else range(A.shape[1])
    dependent = set(map(int, order[: len(rows.indices)]))
    return {f"pi_{v.letter}": v for i, v in enumerate(case.system.velocities) if i not in dependent}


def _condition(case: Case, pseudo: Mapping[str, Any]) -> float:
    """The largest condition number of Φ = ∂(π̇, f)/∂q̇ at the states, rows of length 1; infinite where Φ is singular at the
    start."""
    Phi = case.form.lowered_table(PseudoVelocities.of(case.system, pseudo).Phi)
    takes_a = any(port.name == "a" for port in Phi.inputs)
    a = [np.full(case.system.nv, 0.5)] if takes_a else []

    def at(state: State) -> float:
        with np.errstate(all="ignore"):
            m = Phi(*state, case.p, *a)["value"]
            m = m / np.linalg.norm(m, axis=1, keepdims=True)
        return float(np.linalg.cond(m)) if np.isfinite(m).all() else np.inf

    usual = [value for state in case.states[:12] if np.isfinite(value := at(state))]
    begin = [] if case.start is None else [at(case.start)]
    return max(usual + begin) if usual or begin else np.inf


def _along_constraints(system: System, plain: Mapping[str, Any]) -> dict[str, Any]:
    """a v_i + b v_j in place of v_i or v_j where a row b v_i − a v_j is the only one that contains them."""
    rows = independent_rows(system)
    A, pseudo = rows.A, dict(plain)
    for i in (k for k in range(A.rows) if rows.indices[k] in affine_rows(system)):
        support = [j for j in range(A.cols) if A[i, j] != 0]
        if len(support) != 2 or any(A[k, j] != 0 for j in support for k in range(A.rows) if k != i):
            continue
        j, k = support
        combination = simplified(A[i, k] * system.velocities[j] - A[i, j] * system.velocities[k], 0.2)
        if combination.could_extract_minus_sign():
            combination = -combination
        old = [name for name, v in plain.items() if v in (system.velocities[j], system.velocities[k])]
        pseudo = {name: combination if name in old else v for name, v in pseudo.items()}
    return pseudo
