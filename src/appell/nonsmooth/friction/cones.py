"""A mode proposed by projection onto the friction cones, where there are too many modes to try them all.

    Λ ← max(0, Λ − (n x + c)/G_nn),      λ ← λ − (D x + c)/|G_tt|, cut to |λ| <= μ|Λ_N|        (Gauss–Seidel over the contacts)

(Jourdan, Alart and Jean 1998). The proposal is checked like any other mode, since the iteration need not converge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.modes.mode import SLIP, STICK, FrictionState, Mode, chosen
from appell.nonsmooth.friction.directions import refined
from appell.nonsmooth.friction.problem import Problem
from appell.rows import saddle_point

Array = NDArray[np.float64]

CONE_SWEEPS = 400
"""Most Gauss–Seidel sweeps."""
CONE_SWEEPS_SETTLED = 1e-10
"""Change of the forces in a sweep, as a fraction of the largest, after which no further one is made."""
CONE_PRESSES = 1e-8
"""Fraction of the largest force above which a face presses in a proposal."""
ON_THE_CONE = (1e-6, 1e-3)
"""Fractions of the bound within which a friction force is taken to be that of slip."""


@dataclass(frozen=True, eq=False)
class _Contacts:
    """Rates y = b + B z of faces and resting frictions under forces z, and reactions N = a + A z of the constraints."""

    b: Array
    B: Array
    a: Array
    A: Array

    @staticmethod
    def of(problem: Problem, rows: Sequence[int], sliding: Mode) -> _Contacts:
        m = problem.layout.m
        W, r = problem.columns(sliding)
        right, targets = np.column_stack([r, W[:, rows]]), np.zeros((m, 1 + len(rows)))
        targets[:, 0] = -problem.c[:m]
        x, lam, *_ = saddle_point(problem.M, problem.J[:m], W[:, :m], right, targets)
        y = problem.J[rows] @ x
        y[:, 0] += problem.c[rows]
        return _Contacts(y[:, 0], y[:, 1:], lam[:, 0], lam[:, 1:])


def proposals(
    problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]]
) -> Iterator[Mode]:
    """Modes that may hold: first with the static coefficients, then with the sliding ones."""
    for mu in (problem.mu_static, problem.mu):
        forces = _forces(problem, faces, resting, slipping, mu)
        for margin in ON_THE_CONE:
            mode = _proposed_mode(problem, faces, resting, slipping, forces, margin)
            if (exact := refined(problem, mode)) is not None:
                yield exact
        if np.array_equal(problem.mu_static, problem.mu):
            return


def _forces(
    problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]], mu: Array
) -> list[tuple[float, Array]]:
    """The reaction of each face as (Λ, ()), and (bound, λ) of each resting friction, after many sweeps."""
    layout = problem.layout
    rows = [*(layout.m + f for f in faces), *(row for i in resting for row in layout.own_rows(i))]
    states = (FrictionState(SLIP, slipping[i]) if i in slipping else FrictionState(STICK) for i in range(layout.count))
    sliding = Mode(tuple(faces), tuple(states))
    contacts = _Contacts.of(problem, rows, sliding)
    positions = {i: [rows.index(row) for row in layout.own_rows(i)] for i in resting}
    stiff = {i: np.linalg.norm(contacts.B[np.ix_(p, p)], 2) or 1.0 for i, p in positions.items()}
    diagonal = np.where(np.diag(contacts.B) > 0, np.diag(contacts.B), 1.0)
    z = np.zeros(len(rows))

    def bound(i: int) -> float:
        row = layout.normals[i]
        if layout.loads[i]:
            assert problem.load is not None
            return float(
                mu[i] * problem.load(np.append(contacts.a + contacts.A @ z, np.zeros(layout.rows - layout.m)), False)[0][i]
            )
        if row is None:
            return float(mu[i])
        if row < layout.m:
            return float(mu[i] * abs(contacts.a[row] + contacts.A[row] @ z))
        return float(mu[i] * z[list(faces).index(row - layout.m)]) if row - layout.m in faces else 0.0

    for _ in range(CONE_SWEEPS):
        previous = z.copy()
        for k in range(len(faces)):
            z[k] = max(0.0, z[k] - (contacts.b[k] + contacts.B[k] @ z) / diagonal[k])
        for i, p in positions.items():
            force = z[p] - (contacts.b[p] + contacts.B[p] @ z) / stiff[i]
            limit, size = bound(i), float(np.linalg.norm(force))
            z[p] = force if size <= limit else force * (limit / size)
        if np.abs(z - previous).max(initial=0.0) <= CONE_SWEEPS_SETTLED * np.abs(z).max(initial=0.0):
            break
    return [*((float(z[k]), np.zeros(0)) for k in range(len(faces))), *((bound(i), z[p]) for i, p in positions.items())]


def _proposed_mode(
    problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]],
    forces: list[tuple[float, Array]], margin: float,
) -> Mode:  # fmt: skip
    pressing = [force for force, _ in forces[: len(faces)]]
    closed = [f for f, force in zip(faces, pressing, strict=True) if force > CONE_PRESSES * max(pressing)]

    def decided(i: int) -> FrictionState:
        limit, force = forces[len(faces) + list(resting).index(i)]
        size = float(np.linalg.norm(force))
        stuck = size < (1 - margin) * limit or size == 0
        return FrictionState(STICK) if stuck else FrictionState(SLIP, tuple((-force / size).tolist()), 1, len(force) > 1)

    return chosen(problem.layout, closed, slipping, decided)


__all__ = ["proposals"]
