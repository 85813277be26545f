"""Moreau's time-stepping for the mechanisms of `friction`: no events, impulses over steps of fixed length.

    q_m = q + h/2 v        M (v⁺ − v) = h b + Σ n P_N + D P_T        q⁺ = q_m + h/2 v⁺                  at t + h/2, q_m

on the contacts with g(q_m) <= 0:  0 <= P_N ⟂ ġ⁺ + e ġ⁻ >= 0,  |P_T| <= μP_N against s⁺ (Moreau 1988; Jean 1999). The impulses
are found by enumeration, the last choice first: no iteration whose residual could stay behind. First order in h.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from tests.reference.friction import OPEN, Array, EventDriven, Mechanism, State

SLACK = 1e-9


def moreau(mechanism: Mechanism, until: float, steps: int) -> Array:
    """(q, v) at `until`."""
    engine = EventDriven(mechanism)
    n, j, k = engine.n, engine.j, engine.k
    q, v = (np.array(x, dtype=float) for x in (mechanism.start[:n], mechanism.start[n:]))
    h, last = until / steps, None
    for step in range(steps):
        t, middle = (step + 0.5) * h, q + h / 2 * v
        x = mechanism.numbers(t, middle, v)
        free = v + h * np.linalg.solve(x.M, x.b)
        drift = x.speeds - x.rows @ v
        active = [i for i, c in enumerate(mechanism.contacts) if c.two_sided or x.gaps[j + i] <= 0]
        options = [_options(mechanism.contacts[i].two_sided) for i in active]
        tries = product(*options)
        for choice in [last, *tries] if last is not None and len(last) == len(active) else tries:
            mode = [OPEN] * k
            for i, one in zip(active, choice, strict=True):
                mode[i] = one
            rows, W = engine.columns(x, tuple(mode))
            bounce = [_bounce(engine, x.speeds, r) for r in rows]
            G = x.rows[rows] @ np.linalg.solve(x.M, W)
            right = -np.array(bounce) - x.rows[rows] @ free - drift[rows]
            P = np.linalg.lstsq(G, right, rcond=1e-10)[0] if rows else np.zeros(0)
            after = free + (np.linalg.solve(x.M, W @ P) if rows else 0)
            speeds = x.rows @ after + drift
            impulses, solved = dict(zip(rows, P, strict=True)), np.abs(G @ P - right).max(initial=0) < SLACK
            if solved and _fits(engine, mode, active, impulses, speeds, x.speeds):
                last = choice
                break
        else:
            raise ArithmeticError(f"no impulses at t = {t}")
        q, v = middle + h / 2 * after, after
    return np.concatenate([q, v])


def _options(two_sided: bool) -> list[State]:
    signs = (1, -1) if two_sided else (1,)
    return [State(True, u, sign) for u in (0, 1, -1) for sign in signs] + ([] if two_sided else [OPEN])


def _bounce(engine: EventDriven, speeds: Array, row: int) -> float:
    i = row - engine.j
    return engine.e[i] * min(speeds[row], 0.0) if 0 <= i < engine.k else 0.0


def _fits(engine: EventDriven, mode: list[State], active: list[int], P: dict[int, float], after: Array, before: Array) -> bool:
    for i in active:
        one, row = mode[i], engine.j + i
        N, slip = P.get(row, 0.0), after[engine.j + engine.k + i]
        if not one.closed:
            if after[row] + engine.e[i] * min(before[row], 0.0) < -SLACK:
                return False
            continue
        if one.sign * N < -SLACK:
            return False
        if one.u == 0 and abs(P[engine.j + engine.k + i]) > engine.mu[i] * one.sign * N + SLACK:
            return False
        if one.u and one.u * slip < -SLACK:
            return False
    return True
