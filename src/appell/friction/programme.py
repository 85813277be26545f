"""Reactions that are not unique: whether some of them bear a mode is a linear programme over the cones.

    max τ    with   Λ >= τ,   |λ| + τ <= μ_s Λ_N    over    λ + free·k

Forces of least norm would decide wrongly: the wall of a ladder would bear nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from appell.friction.mode import SLIP, STICK

if TYPE_CHECKING:
    from appell.friction.problem import Answer, Problem

Array = NDArray[np.float64]

SIDES = 64
"""Of the polygon inside the circle of a pair."""


def matters(problem: Problem, answer: Answer) -> bool:
    """Whether what is free in the multipliers touches faces or frictions."""
    own, force_size = problem.own, problem.scale[0]
    watched = sorted({n for n in own.normals if n is not None} | set(range(own.m, own.rows)))
    part = answer.free[watched] / force_size[watched, None]
    whole = np.abs(answer.free / force_size[:, None]).max(initial=0.0)
    return bool(np.abs(part).max(initial=0.0) > 1e-9 * whole)


def borne(problem: Problem, answer: Answer, resting: Sequence[int], faces: Sequence[int], tolerance: float) -> Answer:
    """The answer with reactions as deep inside all cones as there are, and its slack."""
    own, mode, (_, row_size, _) = problem.own, answer.mode, problem.scale
    bilateral = sorted({n for i, n in enumerate(own.normals) if n is not None and n < own.m and mode.rubs[i].state == STICK})
    found = [_deepest(problem, answer, dict(zip(bilateral, signs, strict=True)))
             for signs in product((1, -1), repeat=len(bilateral))]  # fmt: skip
    best = max((one for one in found if one is not None), key=lambda one: one[0], default=None)
    if best is None:
        return replace(answer, solvable=False)
    lam = answer.lam + answer.free @ best[1]
    rates = problem.J @ answer.x + problem.c
    open_ = [rates[own.m + f] / row_size[own.m + f] for f in faces if f not in mode.closed]
    begun = [np.array(rub.u) @ rates[own.own_rows(i)] / row_size[own.own_rows(i)[0]]
             for i, rub in enumerate(mode.rubs) if rub.state == SLIP and i in resting and not own.smooth[i]]  # fmt: skip
    level = abs(best[0]) <= tolerance
    ties = tuple(own.own_rows(i)[0] for i, rub in enumerate(mode.rubs) if rub.state == STICK and level)
    slack = float(min([best[0], *open_, *begun]))
    return replace(answer, lam=lam, force=problem.forces(mode, lam), slack=slack, ties=ties)


def _deepest(problem: Problem, answer: Answer, signs: dict[int, int]) -> tuple[float, Array] | None:
    """(τ, k) of the linear programme, with given signs of the constraints that press on what sticks."""
    own, mode, free, lam, size = problem.own, answer.mode, answer.free, answer.lam, problem.scale[0]
    d = free.shape[1]
    least = [(sign * free[row], sign * lam[row], size[row]) for row, sign in signs.items()]  # slope·k + value >= τ size
    least += [(free[own.m + f], lam[own.m + f], size[own.m + f]) for f in mode.closed]
    for i, rub in enumerate(mode.rubs):
        if rub.state == SLIP and (n := own.normals[i]) is not None and n < own.m:
            least.append((rub.sign * free[n], rub.sign * lam[n], size[n]))
    for i, rub in enumerate(mode.rubs):
        if rub.state != STICK:
            continue
        rows, n, mu = own.own_rows(i), own.normals[i], float(problem.mu_static[i])
        value = mu if n is None else mu * signs.get(n, 1) * lam[n]
        slope = np.zeros(d) if n is None else mu * signs.get(n, 1) * free[n]
        least += [(slope - u @ free[rows], value - u @ lam[rows], size[rows[0]]) for u in _sides(len(rows))]
    left = np.array([np.append(-slope / unit, 1.0) for slope, _, unit in least])
    right = np.array([value / unit for _, value, unit in least])
    found = linprog(np.append(np.zeros(d), -1.0), A_ub=left, b_ub=right,
                    bounds=[(None, None)] * d + [(None, 1e3)], method="highs")  # fmt: skip
    return (float(found.x[-1]), found.x[:-1]) if found.status == 0 else None


def _sides(parts: int) -> Array:
    """Unit vectors whose half planes bound the force: both signs, or a polygon inside the circle."""
    if parts == 1:
        return np.array([[1.0], [-1.0]])
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.column_stack([np.cos(angles), np.sin(angles)]) / np.cos(np.pi / SIDES)


__all__ = ["borne", "matters"]
