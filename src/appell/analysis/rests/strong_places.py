"""Places where forces are far larger than elsewhere: the neighbourhood of charges, masses and other singular potentials.

Equilibria beside them attract starts from a small part of the region only (between the Sun and the Earth one in thousands), so
that a search needs starts at all distances from them.
"""

from __future__ import annotations

import numpy as np

from appell.analysis.rests.balance import Array, Balance
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import metric_roots

CLIMBS = 48
"""Starts from which places of large forces are approached."""
DISTANCES_OF_TRIALS = (0.5, 0.1, 0.02)
"""First distances of trials, as fractions of the region: from afar only the strongest places are seen."""
CLIMB_ROUNDS, CLIMB_TRIALS = 60, 8
"""Rounds of an approach, and trials in each."""
CLIMB_GROWS, CLIMB_SHRINKS = 1.2, 0.5
"""Ratio of the distances of trials after a round with a larger force, and without one."""
FAR_ABOVE_OTHERS = 1e3
"""Ratio to the usual force from which on a place counts."""
DISTANCES_BESIDE_REST = (0.1, 0.1, 1e-2, 1e-2, 1e-2, 1e-3, 1e-3, 1e-3)
"""First distances of trials beside an equilibrium, as fractions of the region; several, since they may climb to either side."""
ONE_PLACE = 1e-3
"""Places nearer to each other than this fraction of the region are one."""
NEAREST_START = 2.0**-13
"""Least distance of a start from such a place, as a fraction of the region."""


class StrongPlaces:
    """Places within a region with forces far above the usual ones, each approached by trials at shrinking distances."""

    def __init__(self, balance: Balance, low: Array, high: Array):
        self.balance, self.low, self.high, self.reach = balance, low, high, (high - low) / 2
        self.rng, self.found = np.random.default_rng(1), list[Array]()
        starts = self.rng.uniform(low, high, (CLIMBS, len(low)))
        self.usual = float(np.median([_force(balance, q) for q in starts]))
        for k, q in enumerate(starts):
            self._climb(q, DISTANCES_OF_TRIALS[k % len(DISTANCES_OF_TRIALS)])

    def look_beside(self, rest: Array) -> None:
        """Approaches places near an equilibrium, at several distances: a light body is felt in its own neighbourhood only."""
        if self.found:  # without any singular potential there is nothing to look for
            for share in DISTANCES_BESIDE_REST:
                self._climb(rest, share)

    def _climb(self, q: Array, share: float) -> None:
        """Trials about the place of the largest force so far, at a distance that grows with success and shrinks without."""
        best, size = q, _force(self.balance, q)
        for _ in range(CLIMB_ROUNDS):
            steps = share * self.reach * self.rng.uniform(-1, 1, (CLIMB_TRIALS, len(q)))
            trials = np.clip(best + steps, self.low, self.high)
            forces = [_force(self.balance, trial) for trial in trials]
            higher = max(forces) > size
            if higher:
                best, size = trials[int(np.argmax(forces))], max(forces)
            share *= CLIMB_GROWS if higher else CLIMB_SHRINKS
        new = not any((np.abs(best - other) < ONE_PLACE * self.reach).all() for other in self.found)
        if size > FAR_ABOVE_OTHERS * self.usual > 0 and new:
            self.found.append(best)


def start_near(place: Array, reach: Array, rng: np.random.Generator) -> Array:
    """A start in a random direction from a place, at a distance whose logarithm is uniform."""
    way = rng.normal(size=len(place))
    return place + reach * NEAREST_START ** rng.uniform() * way / np.linalg.norm(way)


def _force(balance: Balance, q: Array) -> float:
    """Largest force by inertia at a configuration; 0 where it has no value."""
    with np.errstate(all="ignore"):
        out = balance(normalise(balance.form, q), balance.nothing)
        size = float(np.abs(out["applied"] / metric_roots(out["M"])).max(initial=0.0))
    return size if np.isfinite(size) else 0.0


__all__ = ["StrongPlaces", "start_near"]
