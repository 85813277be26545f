"""A mode proposed by Lemke's method, where there are too many to try them all.

    z = (Λ, β⁺, β⁻, γ) >= 0,   w = (n x + c,  D x + c + γ,  −(D x + c) + γ,  bound − β⁺ − β⁻) >= 0,   z·w = 0,     λ = β⁺ − β⁻

(Stewart and Trinkle 1996; Lemke 1965). The proposal is checked like any other mode: the method may end on a ray, and it does
not know static coefficients that exceed the sliding ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from appell.modes.mode import SLIP, STICK, FrictionState, Mode, chosen
from appell.nonsmooth.friction.problem import Problem
from appell.rows import response

Array = NDArray[np.float64]

LEMKE_PIVOTS = 2000
"""Exchanges after which the method is given up."""
SLIP_BEGINS = 1e-9
"""Fraction of the scale of its row above which a slip begins."""
SMALLEST_ENTRY = 1e-11
"""Smallest pivot; the tableau is scaled to have no units."""
LEMKE_PRESSES = 1e-10
"""Fraction of the largest push above which a face presses in the solution."""
EQUAL_RATIOS = 1e-13
"""Ratios of the tableau that differ by less count as equal."""


def proposed(
    problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]]
) -> Mode | None:
    """A mode of frictions with one component under faces or limits; None for others, or where the method ends on a ray."""
    layout = problem.layout
    bilateral = any(row is not None and row < layout.m for row in layout.normals)
    if bilateral or layout.loaded or any(layout.parts[i] > 1 for i in resting):
        return None
    sliding = tuple(FrictionState(SLIP, slipping[i]) if i in slipping else FrictionState(STICK) for i in range(layout.count))
    W, r = problem.columns(Mode(tuple(faces), sliding))
    rows = [*(layout.m + f for f in faces), *(layout.own_rows(i)[0] for i in resting)]
    A, A_W = problem.J[: layout.m], W[:, : layout.m]
    X = response(problem.M, A, A_W, W[:, rows])
    x0 = response(problem.M, A, A_W, r[:, None], -problem.c[: layout.m])[:, 0]
    G, c = problem.J[rows] @ X, problem.J[rows] @ x0 + problem.c[rows]
    nf, nr = len(faces), len(resting)
    n, t = slice(0, nf), slice(nf, nf + nr)
    bound, limit = np.zeros((nr, nf)), np.zeros(nr)
    for k, i in enumerate(resting):
        face = layout.face_of(i)
        if face is None:
            limit[k] = problem.mu[i]
        elif face in faces:
            bound[k, list(faces).index(face)] = problem.mu[i]
    eye, zeros = np.eye(nr), np.zeros((nf, nr))
    M = np.block([
        [G[n, n], G[n, t], -G[n, t], zeros],
        [G[t, n], G[t, t], -G[t, t], eye],
        [-G[t, n], -G[t, t], G[t, t], eye],
        [bound, -eye, -eye, 0 * eye],
    ])  # fmt: skip
    force, rate = (size[rows] for size in problem.scale[:2])
    of_z, of_w = (np.concatenate([x[n], x[t], x[t], y[t]]) for x, y in ((force, rate), (rate, force)))
    z = lemke(M * np.outer(1 / of_w, of_z), np.concatenate([c[n], c[t], -c[t], limit]) / of_w)  # scaled to have no units
    if z is None:
        return None
    z = z * of_z
    pushes = z[n] * np.sqrt(np.abs(np.diag(G)[n]))
    closed = tuple(f for f, push in zip(faces, pushes, strict=True) if push > LEMKE_PRESSES * pushes.max(initial=0.0))
    speeds = z[nf + 2 * nr :] / rate[t]
    signs = np.sign(z[nf + nr : nf + 2 * nr] - z[nf : nf + nr])  # against the force

    def decided(i: int) -> FrictionState:
        k = list(resting).index(i)
        return FrictionState(SLIP, (float(signs[k]),)) if speeds[k] > SLIP_BEGINS and signs[k] else FrictionState(STICK)

    return chosen(layout, closed, slipping, decided)


def lemke(M: Array, q: Array) -> Array | None:
    """z of z >= 0, M z + q >= 0, z·(M z + q) = 0; None where the method ends on a ray."""
    k = len(q)
    if k == 0 or q.min() >= 0:
        return np.zeros(k)
    T = np.hstack([np.eye(k), -M, -np.ones((k, 1)), q[:, None]])  # w − M z − z0 = q
    basis = list(range(k))
    row, entering = int(np.argmin(q)), 2 * k
    for _ in range(LEMKE_PIVOTS):
        leaving = basis[row]
        T[row] /= T[row, entering]
        other_rows = np.arange(k) != row
        T[other_rows] -= np.outer(T[other_rows, entering], T[row])
        basis[row] = entering
        if leaving == 2 * k:
            z = np.zeros(2 * k + 1)
            z[basis] = T[:, -1]
            return np.maximum(z[k : 2 * k], 0.0)
        entering = leaving + k if leaving < k else leaving - k
        column = T[:, entering]
        ratios = np.where(column > SMALLEST_ENTRY, T[:, -1] / np.where(column > SMALLEST_ENTRY, column, 1.0), np.inf)
        if not np.isfinite(ratios).any():
            return None
        ties = np.flatnonzero(ratios <= ratios.min() + EQUAL_RATIOS * (1 + abs(ratios.min())))
        row = next((int(i) for i in ties if basis[i] == 2 * k), int(ties[0]))
    return None


__all__ = ["lemke", "proposed"]
