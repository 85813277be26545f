"""Non-unique reactions: whether some of them are consistent with a mode is a cone programme, linear without pairs.

    max τ    with   Λ >= τ,   |λ| + τ <= μ_s Λ_N    over    λ + free·k

Forces of least norm would decide wrongly: the wall would not support a ladder at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appell.modes.mode import OFF, SLIP, STICK, FrictionState, Mode, chosen
from appell.nonsmooth.friction.cone_program import WEIGHT_INACTIVE, ConeBound, ConeOptimum, LinearBound, largest_margin

if TYPE_CHECKING:
    from appell.nonsmooth.friction.friction_layout import FrictionLayout
    from appell.nonsmooth.friction.problem import Answer, Problem

Array = NDArray[np.float64]

FREE_SHARE = 1e-9
"""Fraction of the largest undetermined multiplier below which another one is determined, up to rounding."""


def affects_contacts(problem: Problem, answer: Answer) -> bool:
    """Whether the undetermined part of the multipliers involves faces or frictions."""
    layout, force_size = problem.layout, problem.scale[0]
    pressing = {n for n in layout.normals if n is not None}.union(*layout.loads)
    return involved(answer.free / force_size[:, None], sorted(pressing | set(range(layout.m, layout.rows))))


def changes_loads(problem: Problem, answer: Answer) -> bool:
    """Whether the undetermined part of the multipliers changes a load of several reactions; the problem is then not convex."""
    mode, layout = answer.mode, problem.layout
    rows = sorted({row for i, friction in enumerate(mode.frictions) if friction.state != OFF for row in layout.loads[i]})
    return involved(answer.free / problem.scale[0][:, None], rows)


def involved(free: Array, rows: Sequence[int]) -> bool:
    """Whether the free directions of the multipliers, (R, d), change some of the rows beyond rounding."""
    return bool(np.abs(free[rows]).max(initial=0.0) > FREE_SHARE * np.abs(free).max(initial=0.0))


def best_borne(problem: Problem, answer: Answer, resting: Sequence[int], faces: Sequence[int], tolerance: float) -> Answer:
    """The solution with the reactions that lie deepest inside all cones, and its slack."""
    layout, mode, (force_size, row_size, _) = problem.layout, answer.mode, problem.scale
    largest = np.abs(answer.free / force_size[:, None]).max(axis=0, initial=0.0)
    answer = replace(answer, free=answer.free / np.where(largest > 0, largest, 1.0))  # scales k like the forces
    bilateral = sorted({n for i in mode.sticking if (n := layout.normals[i]) is not None and n < layout.m})
    optima: list[tuple[ConeOptimum, list[int]]] = []
    for signs in product((1, -1), repeat=len(bilateral)):
        rows, bounds = _bounds(problem, answer, dict(zip(bilateral, signs, strict=True)))
        if (optimum := largest_margin(bounds, answer.free.shape[1])) is not None:
            optima.append((optimum, rows))
    if not optima:
        return replace(answer, solvable=False)
    best, rows = max(optima, key=lambda optimum: optimum[0].tau)
    lam = answer.lam + answer.free @ best.k
    rates = problem.J @ answer.x + problem.c
    opening = [rates[layout.m + f] / row_size[layout.m + f] for f in faces if f not in mode.closed]
    sliding = [np.array(mode.frictions[i].u) @ rates[layout.own_rows(i)] / row_size[layout.own_rows(i)[0]]
               for i in mode.sliding if i in resting and not layout.smooth[i]]  # fmt: skip
    slack = float(min([best.tau, *opening, *sliding]))
    answer = replace(answer, lam=lam, force=problem.forces(mode, lam), slack=slack)
    if abs(best.tau) > tolerance:
        return answer
    ties = tuple(layout.own_rows(i)[0] for i, friction in enumerate(mode.frictions) if friction.state == STICK)
    bearing = {row for row, weight in zip(rows, best.weights, strict=True) if weight > WEIGHT_INACTIVE}
    return replace(answer, ties=ties, yielding=_yielding(layout, answer, bearing))


def _yielding(layout: FrictionLayout, answer: Answer, bearing: set[int]) -> Mode | None:
    """The mode in which the system yields where reactions are at their bounds.

    By the duality of limit analysis (Drucker, Prager and Greenberg 1952), the active bounds of the programme are the mechanism
    that begins to move.
    """
    mode, lam = answer.mode, answer.lam
    closed = [f for f in mode.closed if layout.m + f not in bearing]

    def friction(i: int) -> FrictionState:
        force = lam[layout.own_rows(i)]
        size = float(np.linalg.norm(force))
        if mode.frictions[i].state != STICK or layout.own_rows(i)[0] not in bearing or size == 0:
            return mode.frictions[i]
        sign = -1 if (n := layout.normals[i]) is not None and n < layout.m and lam[n] < 0 else 1
        return FrictionState(SLIP, tuple((-force / size).tolist()), sign, len(force) > 1)

    yielding = chosen(layout, closed, {}, friction)
    return None if yielding == mode else yielding


def _bounds(problem: Problem, answer: Answer, signs: dict[int, int]) -> tuple[list[int], list[LinearBound | ConeBound]]:
    """The bounds on the reactions λ + free·k, each with its row and scaled by its size.

    signs: of the constraints that load sticking frictions.
    """
    layout, mode, free, lam, size = problem.layout, answer.mode, answer.free, answer.lam, problem.scale[0]
    pressing = [*signs.items(), *((layout.m + f, 1) for f in mode.closed)]
    pressing += [(n, friction.sign) for i, friction in enumerate(mode.frictions)
                 if friction.state == SLIP and (n := layout.normals[i]) is not None and n < layout.m]  # fmt: skip
    bounds: list[tuple[int, LinearBound | ConeBound]] = [
        (row, LinearBound(sign * free[row] / size[row], float(sign * lam[row] / size[row]))) for row, sign in pressing
    ]
    for i, friction in enumerate(mode.frictions):
        if friction.state != STICK:
            continue
        rows, n = layout.own_rows(i), layout.normals[i]
        unit, mu = size[rows[0]], float(problem.mu_static[i])
        slope = np.zeros(free.shape[1]) if n is None else mu * signs.get(n, 1) * free[n] / unit
        value = (problem.bound(i, lam, 1.0, static=True) if n is None else mu * signs.get(n, 1) * float(lam[n])) / unit
        F, f = free[rows] / unit, lam[rows] / unit
        if len(rows) > 1:
            bounds.append((rows[0], ConeBound(slope, value, F, f)))
        else:
            bounds += [(rows[0], LinearBound(slope - sign * F[0], value - sign * float(f[0]))) for sign in (1.0, -1.0)]
    return [row for row, _ in bounds], [bound for _, bound in bounds]


__all__ = ["affects_contacts", "best_borne", "changes_loads", "involved"]
