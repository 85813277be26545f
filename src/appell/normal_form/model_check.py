"""Checks of a system at random states when it is created.

Each check uses several random states with random parameter values, and raises only if all of them show the fault: a mass matrix
that is indefinite for unlucky parameter values is not an error in the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError
from appell.graph import make_fn
from appell.graph.algebra import depends, gradient
from appell.jets import jets_of, nodes_of
from appell.model import System
from appell.model.jumps import KINKED
from appell.normal_form.manifold import normalise, project, relative, residuals
from appell.normal_form.mechanics_table import mechanics
from appell.normal_form.nearest import nearest
from appell.normal_form.normal_form import NormalForm, normal_form
from appell.normal_form.sampling import WIDE_BOX, finite_samples, no_values, random_inputs
from appell.rows import (
    EMPTY,
    MASSLESS,
    NEWTON_LOST,
    in_columns,
    least_squares,
    null_space,
    rank,
    unit_rows,
)  # fmt: skip

Array = NDArray[np.float64]
Sample = tuple[list[Array], dict[str, Array]]

ENTRY_ROUNDING = 1e-13
"""An entry of a row below this fraction of its terms is rounding."""


def judge(system: System) -> None:
    """Raises `ModelError` or `ConstraintError` for a system that cannot be intended."""
    moves = mechanics(system).massive(MASSLESS)
    if moves and not system.constraints:  # nothing else to check
        return
    form = normal_form(system)
    _check_degree(system, form)
    names = ["A", "A_size", "a0", "W", "A0", "f0", "A1", "f1", *(["r", "r_a"] if form.gauss else []), *([] if moves else ["M"])]
    samples = list(finite_samples(form.select(*names), count=6, quaternions=form.quaternions, around=form.around))
    if not samples:
        raise no_values(system, "energies or constraints")
    _empty_rows(form, samples)
    _contradictions(form, samples)
    if not moves:
        _check_mass(system, samples)
        _check_reactions(form, samples)


def _check_degree(system: System, form: NormalForm) -> None:
    """T must be of degree two in the velocities: p(v) − p(w) = M(v) (v − w), p = T_v, also where they change sign."""
    pieces = nodes_of(system.kinetic, *KINKED) if form.route != "tree" else ()
    if not depends(form["M"], form.inputs["v"]) and not any(s.level for atom in pieces for s in jets_of(atom)):
        return
    inputs = {x: (value, (value.numel(),)) for x, value in form.inputs.items() if x in ("q", "v", "p")}
    momenta = gradient(form["T"], form.inputs["v"])
    outputs = {"M": (form["M"], (form.nv, form.nv)), "momenta": (momenta, (form.nv,))}
    fn, rng = make_fn("degree", {"t": (form.inputs["t"], ())} | inputs, outputs), np.random.default_rng(3)
    for (t, q, v, p), out in finite_samples(fn, count=4, quaternions=form.quaternions, around=form.around):
        for w in (-v, random_inputs(fn, rng)[2], WIDE_BOX * random_inputs(fn, rng)[2]):
            other, change = fn(t, q, w, p), out["M"] @ (v - w)
            left = out["momenta"] - other["momenta"] - change
            size = max(np.abs(x).max() for x in (out["momenta"], other["momenta"], np.abs(out["M"]) @ np.abs(v - w)))
            if np.isfinite(left).all() and np.abs(left).max() > 1e-9 * size:
                raise ModelError(
                    "the kinetic energy is not of degree at most 2 in the velocities; Lagrange's equations of mechanics need"
                    " T = T2 + T1 + T0 (other forces go into forces=)"
                )


def _empty_rows(form: NormalForm, samples: list[Sample]) -> None:
    linear = [row for row in form.rows if row.linear]
    free = [row for row in form.rows if not row.linear]
    lowest = [("f0", "f1", "a0")[row.level] for row in linear]
    index = [sum(r.level == 0 or (row.level == 1 and r.level == 1) for r in linear[:k]) for k, row in enumerate(linear)]
    for k, row in enumerate(linear):
        if all(np.abs(out["A"][k]).max() <= ENTRY_ROUNDING * out["A_size"][k].max() for _, out in samples):
            values = [out[lowest[k]][k if row.level == 2 else index[k]] for _, out in samples]
            satisfied = all(abs(f) < 1e-12 for f in values)
            if not (satisfied and form.route == "tree"):  # a spatial hinge in a plane mechanism has redundant rows
                _refuse_row(row.constraint.name, satisfied)
    for k, row in enumerate(free):
        if all(np.abs(out["r_a"][k]).max() < 1e-12 for _, out in samples):
            _refuse_row(row.constraint.name, all(abs(out["r"][k]) < 1e-12 for _, out in samples))


def _refuse_row(name: str, satisfied: bool) -> None:
    if satisfied:
        raise ConstraintError(f"constraint '{name}' is satisfied identically, or restricts nothing; drop it")
    raise ConstraintError(f"constraint '{name}' is contradictory: it asks for something that no acceleration can change")


def _contradictions(form: NormalForm, samples: list[Sample]) -> None:
    """Dependent rows whose residuals cannot vanish together: f_J ≠ 0 where f_I = 0.

    Positions are checked first, velocities and accelerations at states whose positions (and velocities) are on the rows: only
    there do ḟ and f̈ of dependent rows have to agree. Rows that can be satisfied together at one level, at any time, can also
    be at the next, so each level is checked only if it has its own rows: Newton's method may find a state of an overconstrained
    linkage in which it cannot move.
    """
    linear = [row for row in form.rows if row.linear]
    levels = (
        ("A0", "f0", [row for row in linear if row.level == 0]),
        ("A1", "f1", [row for row in linear if row.level < 2]),
        ("A", "a0", linear),
    )
    for rows_name, residual_name, rows in levels:
        if len(rows) < 2 or not any(row.level == _highest_level(rows_name) for row in rows):
            continue
        states = samples if residual_name == "f0" else _on_manifold(form, samples, residual_name)
        at_level = form.levels <= _highest_level(rows_name)
        verdicts = [_conflict(out[rows_name], out["A_size"][at_level], out[residual_name]) for _, out in states]
        if verdicts and all(v is not None for v in verdicts):
            dependent, support = verdicts[0] or (0, [])
            stays = (_contradiction_stays(form, sample, rows_name, residual_name, dependent, support) for sample in states)
            if residual_name != "a0" and (not all(stays) or _satisfiable(form, states, residual_name)):
                continue  # no conflict here: another branch of f_I = 0 was found
            others = ", ".join(f"'{rows[i].constraint.name}'" for i in support)
            raise ConstraintError(f"constraint '{rows[dependent].constraint.name}' contradicts {others}")


def _highest_level(rows_name: str) -> int:
    """The highest level among the rows of a matrix, by its name."""
    return {"A0": 0, "A1": 1, "A": 2}[rows_name]


def _on_manifold(form: NormalForm, samples: list[Sample], residual: str) -> list[Sample]:
    """The samples moved onto f = 0, and onto ḟ = 0 where accelerations are checked, where Newton's method converges."""
    fn, on_rows = form.select("A", "A_size", "A1", "f1", "a0"), []
    for (t, q, v, p, *_), _ in samples:
        with np.errstate(all="ignore"):
            q, u = project(form, float(t), q, v, p)
            v = v if residual == "f1" else u
            distance = residuals(form, float(t), q, v, p)
            arrived = (relative(distance.f0, distance.f0_scale) < 1e-11).all() and (
                residual == "f1" or distance.relative < 1e-11
            )
            out = fn(t, q, v, p)
        if arrived and all(np.isfinite(x).all() for x in out.values()):
            on_rows.append(([t, q, v, p], out))
    return on_rows


def _conflict(A: Array, size: Array, f: Array) -> tuple[int, list[int]] | None:
    """A row J with A_J = K A_I and f_J ≠ K f_I: its index and the rows that K uses; None if there is none."""
    m = len(A)
    length, terms = np.linalg.norm(A, axis=1), np.linalg.norm(size, axis=1)
    length = np.where(length > EMPTY * terms, length, terms)
    length[length == 0] = 1.0
    A, f = A / length[:, None], f / length
    if m < 2 or rank(A, as_given=True) == m:
        return None
    independent: list[int] = []
    for i in range(m):
        rows = A[[*independent, i]]
        if rank(rows, as_given=True) == len(rows):
            independent.append(i)
            continue
        K = in_columns(A[independent].T, A[i])
        if abs(f[i] - K @ f[independent]) > 1e-8 * (1e-4 + np.abs(f).max() + np.abs(K) @ np.abs(f[independent])):
            return i, [j for j, k in zip(independent, K, strict=True) if abs(k) > 1e-9]
    return None


def _contradiction_stays(
    form: NormalForm, sample: Sample, rows: str, residual: str, dependent: int, support: list[int]
) -> bool:
    """Whether f_J stays nonzero after Newton's method has made f_I zero: f1 + f1² = 0 does not contradict f1 = 0."""
    fn = form.select(rows, residual, f"{residual}_scale", "N")
    t, q, v, p = sample[0][:4]
    for _ in range(50):
        out = fn(t, q, v, p)
        A, f = out[rows][support], out[residual][support]
        if not np.isfinite(f).all():
            return False
        step = -least_squares(A, f, NEWTON_LOST)
        q, v = (normalise(form, q + out["N"] @ step), v) if residual == "f0" else (q, v + step)
    out = fn(t, q, v, p)
    relative_residuals = relative(out[residual], out[f"{residual}_scale"])
    return bool(relative_residuals[support].max(initial=0.0) < 1e-9 < 1e-6 < relative_residuals[dependent])


def _satisfiable(form: NormalForm, samples: list[Sample], residual: str) -> bool:
    """Whether damped steps towards all rows at once converge from a sample; f_I = 0 by itself may lead to a wrong branch."""
    for (t, q, v, p, *_), _ in samples:
        with np.errstate(all="ignore"):
            try:
                distance = residuals(form, float(t), *nearest(form, float(t), q, v, p), p)
            except np.linalg.LinAlgError:
                continue
        f, size = (distance.f0, distance.f0_scale) if residual == "f0" else (distance.f1, distance.f1_scale)
        if (relative(f, size) < 1e-10).all():
            return True
    return False


def _check_reactions(form: NormalForm, samples: list[Sample]) -> None:
    """Given directions W must be able to enforce the rows: (M, −W; A, 0) must not lose more rank than A."""
    names = [f"'{row.constraint.name}'" for row in form.rows if row.linear and row.constraint.reaction is not None]
    if not names:
        return
    for _, out in samples:
        M, scale = out["M"], 1 / np.sqrt(np.where(np.diag(out["M"]) > 0, np.diag(out["M"]), 1))
        A, W = unit_rows(out["A"] * scale), unit_rows(out["W"].T * scale)
        K = np.block([[M * np.outer(scale, scale), W.T], [A, np.zeros((len(A), len(A)))]])
        if rank(K, as_given=True) >= len(M) + rank(A, as_given=True):
            return
    raise ConstraintError(
        f"the given reaction of constraint {' or '.join(names)} cannot keep it: a force along reaction= changes accelerations"
        " only within the constraint (A M⁻¹ W has no inverse at any random state)"
    )


def _check_mass(system: System, samples: list[Sample]) -> None:
    """The kinetic energy must be positive for every velocity that satisfies the constraints."""
    lowest = []
    for _, out in samples:
        M = out["M"]
        A = np.vstack([out["A"], out.get("r_a", np.zeros((0, len(M))))])
        scale = 1 / np.sqrt(np.where(np.abs(np.diag(M)) > 0, np.abs(np.diag(M)), 1))
        Z = null_space(A * scale)
        values, vectors = np.linalg.eigh(Z.T @ (M * np.outer(scale, scale)) @ Z)
        lowest.append((values.min(initial=1.0), scale * (Z @ vectors[:, 0]) if len(values) else scale))
    worst = max(value for value, _ in lowest)
    if worst > MASSLESS:
        return
    direction = lowest[0][1]
    names = [str(v) for v, x in zip(system.velocities, direction, strict=True) if abs(x) > 1e-6 * np.abs(direction).max()]
    motion = f"for a motion in {', '.join(names)} that the constraints allow"
    if worst < -MASSLESS:
        raise ModelError(f"the kinetic energy is negative {motion}: look for a wrong sign in kinetic= or a negative mass")
    raise ModelError(
        f"the kinetic energy is zero {motion}, so its"
        " acceleration is not determined: add its mass or inertia to kinetic= or bodies=, or a constraint"
    )
