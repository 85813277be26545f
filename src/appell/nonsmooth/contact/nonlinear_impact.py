"""Impacts under constraints f(t, q, v) = 0 that are nonlinear in the velocities.

During the impact q is constant and the reactions turn with the velocities (Chetaev: W = f_vᵀ at every moment). The impact is
therefore integrated along its impulse P, as by Darboux and Keller:

    M dv = nᵀ dP + f_vᵀ dλ,  f_v dv = 0        dv/dP = K(v) nᵀ        from ġ⁻ to ġ⁺ = −e ġ⁻

f(t, q, v) is constant along the way, and the kinetic energy changes by the work of both impulses, ½ v⁺·Mv⁺ − ½ v⁻·Mv⁻. For
constraints linear in v the direction K nᵀ is constant, and this is Newton's law of impact. Faces at rest respond at every
moment: 0 <= dP_j ⟂ dġ_j >= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from appell.errors import SingularConfiguration
from appell.nonsmooth.contact.contact import ImpactOutcome, Instant, complementary
from appell.nonsmooth.criteria import unaffected_rate

Array = NDArray[np.float64]

MOST_EVALUATIONS = 1500
"""Most evaluations of the direction: an impact needs about a hundred; one that runs into a singular velocity never ends."""

NO_IMPACT = (
    "the constraints nonlinear in the velocities admit no impact with this restitution: their reactions oppose it, and the"
    " velocities after it would lie on another branch"
)


def nonlinear_impact(instant: Callable[[Array], Instant], at: Instant, face: int, resting: Sequence[int]) -> ImpactOutcome:
    """The impact on a face while resting on others; instant: v → the same state with these velocities."""
    rate, e = float(at.g_d[face]), float(at.restitution[face])
    faces, evaluations = [face, *resting], count()

    def direction(_: float, y: Array) -> Array:
        """(dv, dP)/dġ, where ġ is the rate of the face."""
        state = instant(y[: len(at.v)])
        if not (np.isfinite(state.v).all() and state.answered([face])):
            raise SingularConfiguration("constraints nonlinear in the velocities leave no solution: it moves into the face")
        if next(evaluations) > MOST_EVALUATIONS:
            raise SingularConfiguration(NO_IMPACT)
        G = state.compliance(faces)
        ratios = G[0, 1:] / G[0, 0]
        schur = np.asarray(G[1:, 1:] - np.outer(G[1:, 0], ratios), dtype=float)
        push = complementary(schur, G[1:, 0] / G[0, 0], unaffected_rate(1.0, np.sqrt(np.diag(G)[1:])))
        P = np.concatenate([[1 / G[0, 0] - ratios @ push], push])
        return np.concatenate([state.responses(faces).T @ P, P])

    start = np.concatenate([at.v, np.zeros(len(faces))])
    size = np.abs(at.v).max(initial=0.0)
    path = solve_ivp(direction, (0.0, -(1 + e) * rate), start, "DOP853", rtol=1e-12, atol=1e-14 * size)
    if not path.success or not np.isfinite(path.y[:, -1]).all():
        raise SingularConfiguration(NO_IMPACT)
    v = path.y[: len(at.v), -1]
    return ImpactOutcome(v - at.v, dict(zip(faces, map(float, path.y[len(at.v) :, -1]), strict=True)), (face,))
