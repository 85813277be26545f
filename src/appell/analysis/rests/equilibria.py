"""All equilibria found from many starts, with stability by the second variation of V − Λ·f.

On ideal holonomic constraints, a minimum of V − T0 is stable (Lagrange, Dirichlet), where T0 is the part of T without
velocities. A direction of decrease makes an equilibrium unstable if no forces are linear in the velocities; gyroscopic forces
(T1) may stabilise it, and the linearization decides. Where the second variation vanishes along a direction, terms of higher
order decide, and stability is left open. Equilibria connected by others count as one, with the dimension of the family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.analysis.linear import linearize
from appell.analysis.rests.balance import Array
from appell.analysis.rests.equilibrium import Equilibrium, RestSearch
from appell.analysis.rests.found_states import FoundStates
from appell.analysis.rests.search_intervals import middle_of, regular_starts, search_intervals, whole_attempts
from appell.analysis.rests.strong_places import start_near
from appell.errors import AppellError, ConstraintError, ModelError
from appell.model import System
from appell.normal_form import normal_form
from appell.spelling import checked_keywords

STARTS_FOR_RESTS, MOST_STARTS_FOR_RESTS = 150, 1200
"""Usual number of random starts, of which a rest that attracts three in a hundred is missed once in a hundred searches; and
the number after which a search ends in any case."""
STARTS_NEAR = 30
"""Further starts for each place of large forces."""


@dataclass(frozen=True, eq=False)
class Rest:
    """An equilibrium with the second variation of V − Λ·f on the holonomic constraints.

    second: (nz, nz), J per squared coordinate; NaN where forces or reactions have no potential.
    gyroscopic: whether forces linear in the velocities act on small motions, so that a maximum may be stable.
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
        """Whether there are no neighbouring equilibria."""
        return not self.at.family

    @property
    def stability(self) -> str:
        """ "stable" (a minimum: Lagrange and Dirichlet), "unstable" (a direction of decrease), or by linearization."""
        if self.at.family or self.at.flat or not np.isfinite(self.second).all() or not self.second.size:
            return self.at.stability
        scale = 1 / np.sqrt(np.abs(self.second).max(axis=1))  # the signs are the same in any units
        values = np.linalg.eigvalsh(self.second * np.outer(scale, scale))
        if values.min() > 1e-12:
            return "stable"
        return "unstable" if values.min() < -1e-12 and not self.gyroscopic else self.at.stability

    def __repr__(self) -> str:
        configuration = ", ".join(f"{q} = {x:.6g}" for q, x in zip(self.at.system.positions, self.at.q, strict=True))
        verdict = f"{self.stability}: {self.at.degeneracy}" if self.at.degeneracy else self.stability
        return f"<Rest of {self.at.system.name}: {configuration}; {verdict}>"


@checked_keywords(starts="attempts")
def equilibria(
    system: System,
    parameters: Mapping[Any, Any] | None = None,
    *,
    within: Mapping[Any, tuple[float, float]] | None = None,
    attempts: int | None = None,
) -> FoundStates[Rest]:
    """The equilibria found by a search, with stability by the second variation of V − Λ·f; one for each family.

    within: coordinate → (lowest, highest), lowest not included; (−π, π] where not given. Of the two unit quaternions of an
    attitude, the one with w ≥ 0 is given.
    attempts: number of starts. By default 150, and then more until each equilibrium has been found at least twice: the fraction
    of starts that lead to a new equilibrium is about the fraction that led to one found once (I. J. Good, Biometrika 40
    (1953) 237). There are further starts at the middles and upper ends of the intervals, and at all distances from charges,
    masses and other places of large forces.
    """
    search = RestSearch.of(system, parameters, "ap.equilibria", middle_of(within))
    system = search.system
    low, high = search_intervals(system.positions, within, [(-np.pi, np.pi)] * system.nq, system.name).T
    reach = (high - low) / 2
    slack, found, tried = 1e-7 * reach, list[_FoundRest](), 0
    for start, by_chance in _starts(search, low, high, None if attempts is None else whole_attempts(attempts), found):
        tried += 1
        # a rest without contacts, to which every start may lead, must not hide those on walls
        turn = tried // 2 if tried % 2 and system.unilateral else 0
        try:
            rest = _with_upper_quaternions(search(start, reach, turn=turn))
        except ModelError as error:
            if not isinstance(error, ConstraintError) and not turn:  # behind a wall, or pulled by one
                raise
            continue
        except AppellError:
            continue
        if ((rest.q > low + slack) & (rest.q <= high + slack)).all():
            same = [entry for entry in found if _same_or_connected(search, rest, entry.rest, reach)]
            if not same:
                found.append(_FoundRest(rest, int(by_chance)))
                continue
            same[0].times += sum(entry.times for entry in same[1:]) + by_chance
            for merged in same[1:]:  # it may connect two apparent families
                found.remove(merged)
    rests = sorted((entry.rest for entry in found), key=lambda rest: tuple(np.round(rest.q / reach, 9)))
    return FoundStates((_with_second_variation(system, rest) for rest in rests), system, "rest", tried)


def _starts(
    search: RestSearch, low: Array, high: Array, attempts: int | None, found: Sequence[_FoundRest]
) -> Iterator[tuple[Array, bool]]:  # fmt: skip
    """Starts of a search, and whether each is random; `found`: the equilibria so far, as the search goes on.

    Every other start lies near a place of large forces, if there are any, or near an equilibrium that was found.
    """
    rng, reach = np.random.default_rng(0), (high - low) / 2
    strong, count = search.strong_places(low, high), 0
    regular = regular_starts(low, high, rng) if attempts is None else []
    yield from ((start, False) for start in regular)
    least = lambda: STARTS_FOR_RESTS + STARTS_NEAR * len(strong.places) if attempts is None else attempts
    most, tried = MOST_STARTS_FOR_RESTS if attempts is None else attempts, 0
    while tried < least() or (tried < most and any(entry.times == 1 for entry in found)):
        tried += 1
        for latest in found[count:]:
            strong.search_beside(latest.rest.q)
        count = len(found)
        places = [*strong.places, *(entry.rest.q for entry in found)] if strong.places and tried % 2 else []
        place = places[tried // 2 % len(places)] if places else None
        yield (rng.uniform(low, high) if place is None else start_near(place, reach, rng)), True


@dataclass(eq=False)
class _FoundRest:
    """An equilibrium, and how often random starts led to it."""

    rest: Equilibrium
    times: int


def _with_upper_quaternions(rest: Equilibrium) -> Equilibrium:
    """The same attitudes by unit quaternions with w ≥ 0, or with a positive first nonzero component where w is zero."""
    q = rest.q.copy()
    for group in normal_form(rest.system).quaternions:
        components = q[list(group)][[3, 0, 1, 2]]
        leading = components[np.abs(components) > 1e-7][0]
        q[list(group)] *= np.sign(leading)
    return rest if (q == rest.q).all() else replace(rest, q=q)


def _same_or_connected(search: RestSearch, one: Equilibrium, other: Equilibrium, reach: Array) -> bool:
    """Whether two equilibria are the same, or belong to one family."""
    if (np.abs(one.q - other.q) < 1e-7 * reach).all():
        return True
    degenerate = all(rest.family or rest.flat for rest in (one, other))
    return degenerate and (search.connected(one, other, reach) or search.connected(other, one, reach))


def _with_second_variation(system: System, rest: Equilibrium) -> Rest:
    """An equilibrium with ∂²(V − Λ·f)/∂q² on the kernel of the holonomic rows; NaN for forces without a potential and for
    other constraints."""
    unknown = Rest(rest, np.full((1, 1), np.nan))
    ideal = all(c.order == 0 and c.reaction is None for c in system.constraints)
    if any(Q != 0 for Q in system.forces) or not ideal or not system.holonomic_speeds or rest.contacts or rest.reason:
        return unknown
    try:
        linear = linearize(system, at=rest.start, parameters=rest.parameters)
    except ModelError:
        return unknown
    return Rest(rest, linear.K, bool(linear.G.any() or linear.D.any()))
