"""Newton's method for equilibria, from starts near and far.

Halved steps, which reduce the residual, find the equilibrium nearest to a start. They creep along a curved valley of the
residual, where the forces across it are much larger than those along it (a small body that circles with a planet). There, steps
of limited length that may also increase the residual arrive. What either finds is judged by the forces near it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.analysis.rests.balance import Array, Balance, divisors

Search = Callable[[Balance, Array, Array, float], tuple[Array, Array]]

BALANCE_ITERATIONS = 100
LEAST_RESIDUAL = 1e-30
"""Residual below which no further step is taken: equilibria without stiffness are approached slowly."""
LIMITED_ITERATIONS = 40
LIMITED_STEP = 0.25
"""Longest step that may increase the residual, as a fraction of the reach."""
LIMITED_RESIDUAL = 1e-15
"""Residual at which steps that may increase it end: rounding."""
JUDGEMENTS = 3
"""How often a configuration is judged by its own forces, and the search continued from it."""


def newton(balance: Balance, q: Array, lam: Array, tolerance: float) -> tuple[Array, Array]:
    """Newton steps, halved while the residual grows; damped steps where halving does not help.

    A step is at most as long as `reach`, which doubles after each.
    """
    sizes = divisors(balance.sizes(q, lam))
    norm = lambda q, lam: float(np.linalg.norm(balance.residual(q, lam) / sizes))
    damping, last_norm, reach = 0.0, norm(q, lam), balance.reach
    for _ in range(BALANCE_ITERATIONS):
        if balance.size(q, lam) <= LEAST_RESIDUAL or not np.isfinite(last_norm):
            break
        dpi, dlam = balance.step(q, lam, damping)
        dpi = dpi / max(1.0, (np.abs(balance(q, lam)["N"] @ dpi) / reach).max(initial=0.0))
        trials = [(balance.moved(q, lam, s * dpi), lam + s * dlam) for s in (1.0, 0.5, 0.25, 0.125, 1 / 64)]
        values = [norm(*trial) for trial in trials]
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if not values[best] < last_norm:
            if balance.size(q, lam) <= tolerance or damping > 1e3:
                break
            damping = max(10 * damping, 1e-3)
            continue
        (q, lam), last_norm, damping = trials[best], values[best], damping / 10 if damping > 1e-6 else 0.0
        reach = 2 * reach
    return q, lam


def limited_newton(balance: Balance, q: Array, lam: Array, _tolerance: float) -> tuple[Array, Array]:
    """Newton steps of limited length, whether the residual decreases or not."""
    for _ in range(LIMITED_ITERATIONS):
        if not LIMITED_RESIDUAL < balance.size(q, lam) < np.inf:
            break
        dpi, dlam = balance.step(q, lam, 0.0)
        share = 1 / max(1.0, (np.abs(balance(q, lam)["N"] @ dpi) / balance.reach).max(initial=0.0) / LIMITED_STEP)
        q, lam = balance.moved(q, lam, share * dpi), lam + share * dlam
    return q, lam


def settled_rest(
    balance: Balance, q: Array, lam: Array, tolerance: float, *, nearest: bool
) -> tuple[Balance, Array, Array]:  # fmt: skip
    """(balance, q, Λ) of an equilibrium from a start, with the scales by which it was judged; where none was found,
    the last point reached. nearest: whether the equilibrium nearest to the start is sought, or any."""
    results = []
    for search in (newton, limited_newton) if nearest else (limited_newton, newton):
        results.append(_settled(search, balance, q, lam, tolerance))
        if results[-1][0].size(*results[-1][1:]) <= tolerance:
            return results[-1]
    return results[0 if nearest else 1]


def _settled(search: Search, balance: Balance, q: Array, lam: Array, tolerance: float) -> tuple[Balance, Array, Array]:
    with np.errstate(all="ignore"):
        q, lam = search(balance, q, lam, tolerance)
        for _ in range(JUDGEMENTS):
            if not balance.size(q, lam) <= tolerance:
                break
            balance = balance.rescaled_at(q, lam)
            converged = balance.size(q, lam) <= tolerance
            q, lam = search(balance, q, lam, tolerance)
            if converged:
                break
    return balance, q, lam


__all__ = ["newton", "settled_rest"]
