"""All rests that a search from many starts finds, judged by the second variation of V − Λ·f.

On what ideal holonomic constraints allow, a minimum of V − T0 is stable (Lagrange, Dirichlet), T0 being the part of T without
velocities. A direction of decrease makes a rest unstable where no forces are linear in the velocities; gyroscopic ones (T1) may
hold it all the same, and the small motions decide. Where the second variation vanishes along a direction, terms of higher order
decide, and nothing is guessed. Rests that are connected by others count as one, with the number of directions of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.analysis.linear import linearize
from appell.analysis.rests.balance import Array
from appell.analysis.rests.equilibrium import Equilibrium, RestSearch
from appell.analysis.rests.found_states import FoundStates
from appell.analysis.rests.search_intervals import ATTEMPTS, middle_of, search_intervals, whole_attempts
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.spelling import checked_keywords


@dataclass(frozen=True, eq=False)
class Rest:
    """An equilibrium with the second variation of V − Λ·f on what the holonomic constraints allow.

    second: (nz, nz), J per squared coordinate; NaN where forces or reactions have no potential.
    gyroscopic: whether forces linear in the velocities act on small motions, so that a maximum may be held.
    """

    at: Equilibrium
    second: Array
    gyroscopic: bool = False

    def __getitem__(self, key: Any) -> float:
        return self.at[key]

    @property
    def start(self) -> dict[Any, float]:
        """symbol → value, at rest."""
        return self.at.start

    @property
    def isolated(self) -> bool:
        """Whether no rests lie beside it."""
        return not self.at.family

    @property
    def stability(self) -> str:
        """ "stable" (a minimum: Lagrange and Dirichlet), "unstable" (a direction of decrease), or by the linear motion."""
        if self.at.family or self.at.flat or not np.isfinite(self.second).all() or not self.second.size:
            return self.at.stability
        scale = 1 / np.sqrt(np.abs(self.second).max(axis=1))  # the signs are the same in any units
        values = np.linalg.eigvalsh(self.second * np.outer(scale, scale))
        if values.min() > 1e-12:
            return "stable"
        return "unstable" if values.min() < -1e-12 and not self.gyroscopic else self.at.stability

    def __repr__(self) -> str:
        where = ", ".join(f"{q} = {x:.6g}" for q, x in zip(self.at.system.positions, self.at.q, strict=True))
        said = f"{self.stability}: {self.at.degeneracy}" if self.at.degeneracy else self.stability
        return f"<Rest of {self.at.system.name}: {where}; {said}>"


@checked_keywords(starts="attempts")
def equilibria(
    system: System,
    parameters: Mapping[Any, Any] | None = None,
    *,
    within: Mapping[Any, tuple[float, float]] | None = None,
    attempts: int = ATTEMPTS,
) -> FoundStates[Rest]:
    """The rests that a search finds, with their stability by the second variation of V − Λ·f; one of each family of rests.

    within: coordinate → (lowest, highest), lowest not included; (−π, π] where not given. attempts: how many places
    are tried.
    """
    search = RestSearch.of(system, parameters, "ap.equilibria", middle_of(within))
    system = search.system
    low, high = search_intervals(system.positions, within, [(-np.pi, np.pi)] * system.nq, system.name).T
    rng, found, reach = np.random.default_rng(0), list[Equilibrium](), (high - low) / 2
    slack = 1e-7 * reach
    for _ in range(whole_attempts(attempts)):
        try:
            rest = search(rng.uniform(low, high), reach)
        except ModelError:
            raise
        except AppellError:
            continue
        if ((rest.q > low + slack) & (rest.q <= high + slack)).all():
            same = [other for other in found if _one(search, rest, other, reach)]
            found = [other for other in found if other not in same[1:]]  # it may join what seemed to be two families
            found += [] if same else [rest]
    found.sort(key=lambda rest: tuple(np.round(rest.q / reach, 9)))
    return FoundStates((_judged(system, rest) for rest in found), system, "rest", attempts)


def _one(search: RestSearch, one: Equilibrium, other: Equilibrium, reach: Array) -> bool:
    """Whether two are the same place, or lie on one family."""
    if (np.abs(one.q - other.q) < 1e-7 * reach).all():
        return True
    degenerate = all(rest.family or rest.flat for rest in (one, other))
    return degenerate and (search.connected(one, other, reach) or search.connected(other, one, reach))


def _judged(system: System, rest: Equilibrium) -> Rest:
    """With ∂²(V − Λ·f)/∂q² on the kernel of the holonomic rows; NaN for forces without a potential and other constraints."""
    unknown = Rest(rest, np.full((1, 1), np.nan))
    ideal = all(c.order == 0 and c.reaction is None for c in system.constraints)
    if any(Q != 0 for Q in system.forces) or not ideal or not system.holonomic_speeds or rest.contacts or rest.reason:
        return unknown
    try:
        linear = linearize(system, at=rest.start, parameters=rest.parameters)
    except ModelError:
        return unknown
    return Rest(rest, linear.K, bool(linear.G.any() or linear.D.any()))
