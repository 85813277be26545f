"""Directions without stiffness at an equilibrium: families of equilibria, and vanishing stiffnesses.

The significance of a small stiffness cannot be judged from its value, since the position of the equilibrium is uncertain: for
V = k x⁴ Newton's method may stop at x = 1e-5, with a stiffness 12 k x². It is judged from the unbalanced forces nearby.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from appell.analysis.rests.balance import Array, Balance, divisors
from appell.analysis.rests.newton import newton
from appell.normal_form.manifold import normalise
from appell.rows import in_columns, null_space, singular

SOFT = 1e-2
"""Stiffness, relative to the forces over the reach, below which a direction is examined."""
ROOM_QUARTERS = 14
"""How often displacements are divided by four until the forces are defined on both sides: down to 4e-9 of the reach."""


@dataclass(frozen=True)
class UnheldDirections:
    """Displacements without stiffness at an equilibrium, (nv, family + flat): those along a family, and others."""

    directions: Array
    family: int = 0
    flat: int = 0


def soft_directions(balance: Balance, q: Array, lam: Array, tolerance: float) -> UnheldDirections:
    """Directions in which forces do not grow in proportion to the displacement.

    Along a family there is another equilibrium after a step. Otherwise the unbalanced force g(δ) of a stiffness is odd and
    doubles with δ, at the smallest δ at which it can be resolved; that of higher powers does not.
    """
    out = balance(q, lam)
    sizes, states, nv = divisors(balance.sizes(q, lam)), balance.form.states, balance.form.nv
    D = balance.steps(q, lam)
    Z0, L = D[:, None] * null_space(out["A0"] * D), null_space((out["W"] / sizes[:nv][:, None]).T)
    S = L.T @ (out["load_q"] @ out["N"] / sizes[:nv][:, None]) @ Z0
    S = np.vstack([S, out["rate_q"] @ out["N"] @ Z0 / sizes[len(sizes) - states :][:, None]])
    S = S / divisors(np.abs(out["N"] @ Z0).T @ (1 / balance.reach))
    if not S.size:
        return UnheldDirections(np.zeros((balance.moves, 0)))
    U, values, Vt = singular(S)
    left = np.asarray(block_diag(L.T, np.eye(states)), dtype=float)
    soft = U[:, : len(values)][:, values < SOFT].T @ left  # other forces balance what leaves a curved valley
    values = np.append(values, np.zeros(len(Vt) - len(values)))
    rows = soft if len(soft) else np.eye(nv + states)
    kinds = [(Z0 @ e, _kind(balance, q, lam, Z0 @ e, rows, tolerance)) for e, x in zip(Vt, values, strict=True) if x < SOFT]
    soft_moves = [e for e, kind in kinds if kind != "held"]
    family = sum(kind == "family" for _, kind in kinds)
    return UnheldDirections(np.array(soft_moves).reshape(-1, balance.moves).T, family, len(soft_moves) - family)


def _kind(balance: Balance, q: Array, lam: Array, e: Array, rows: Array, tolerance: float) -> str:
    """ "family", "flat" or "held": the kind of a direction at an equilibrium, by the forces along soft directions, `rows`."""
    unit = 1 / (np.abs(balance(q, lam)["N"] @ e) / balance.reach).max(initial=1e-300)
    for _ in range(ROOM_QUARTERS):  # forces may be defined only in a small part of the reach
        if all(balance.has_values(balance.moved(q, lam, share * unit * e)) for share in (-0.1, 0.1)):
            break
        unit /= 4
    if all(_equilibrium_after(balance, q, lam, share * unit * e, tolerance) for share in (1e-2, 3e-3)):
        return "family"
    step, most = 1e-9 * unit, 0.05 * unit  # the last step is at most twice that
    nv, states = balance.form.nv, balance.form.states

    def force(step: float) -> Array:
        """Unbalanced forces, and the rates of states."""
        residual = balance.relative(*balance.projected_start(balance.moved(q, lam, step * e)))
        return rows @ np.append(residual[:nv], residual[len(residual) - states :])

    while step < most and np.abs(force(step)).max() < 1e-9:
        step *= 2
    at_step, at_half, at_minus_step = force(step), force(step / 2), force(-step)
    size = np.abs(at_step).max()
    straight = bool(np.abs(at_step - 2 * at_half).max() < 0.3 * size and np.abs(at_step + at_minus_step).max() < 0.6 * size)
    return "held" if straight else "flat"


def _equilibrium_after(balance: Balance, q: Array, lam: Array, step: Array, tolerance: float) -> bool:
    """Whether there is an equilibrium near the point a step away, and not only at the start of the step."""
    moved_q = balance.moved(q, lam, step)
    q_rest, force = newton(balance, *balance.projected_start(moved_q), tolerance)
    D = balance.steps(q, lam)
    progress = (in_columns(balance(q, lam)["N"] * D, q_rest - q) @ (step / D)) / ((step / D) @ (step / D))
    return bool(balance.size(q_rest, force) <= tolerance and progress > 0.8)


def connected(balance: Balance, start: Array, end: Array) -> bool:
    """Whether two equilibria are connected by others: steps from one towards the other, each corrected to the nearest
    equilibrium.

    Two nearby points without a resolvable force between them are the same equilibrium, up to rounding.
    """
    q, lam = balance.projected_start(start)
    distance = lambda q: float((np.abs(end - q) / balance.reach).max(initial=0.0))
    for _ in range(60):
        remaining = distance(q)
        if remaining < 1e-6 or (
            remaining < 1e-2 and all(_without_force(balance, q + share * (end - q)) for share in (0.25, 0.5, 0.75))
        ):
            return True
        ahead = q + (end - q) * min(1.0, 0.1 / remaining)
        q, lam = newton(balance, *balance.projected_start(normalise(balance.form, ahead)), 1e-10)
        if not balance.size(q, lam) <= 1e-10 or distance(q) > remaining - 0.02 * min(remaining, 0.1):
            return False
    return False


def _without_force(balance: Balance, q: Array) -> bool:
    return balance.size(*balance.projected_start(normalise(balance.form, q))) < 1e-9
