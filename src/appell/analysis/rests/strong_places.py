"""Places where forces, or their slopes, are far larger than elsewhere: charges, masses and other singular potentials; points
where forces change their direction at once, as at the anchor of a spring.

Equilibria beside them attract starts from a small part of the region only (between the Sun and the Earth one in thousands,
beside an anchor one in sixty), so that a search needs starts at all distances from them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.analysis.rests.balance import Array, Balance
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import metric_roots

CLIMBS, CLIMBS_OF_SLOPES = 48, 16
"""Starts from which places of large forces, and of large slopes, are approached."""
SLOPE_BETWEEN, SLOPE_WAYS = 1e-7, 2
"""Distance over which a slope is measured, as a fraction of the region, and directions in which it is."""
DISTANCES_OF_TRIALS = (0.5, 0.1, 0.02)
"""First distances of trials, as fractions of the region: from afar only the strongest places are seen."""
CLIMB_ROUNDS, CLIMB_TRIALS = 60, 8
"""Rounds of an approach, and trials in each."""
CLIMB_GROWS, CLIMB_SHRINKS = 1.2, 0.5
"""Ratio of the distances of trials after a round with a larger force, and without one."""
FAR_ABOVE_OTHERS = 1e3
"""Ratio to the usual force, or slope, from which on a place counts."""
DISTANCES_BESIDE_REST = (0.1, 0.1, 1e-2, 1e-2, 1e-2, 1e-3, 1e-3, 1e-3)
"""First distances of trials beside an equilibrium, as fractions of the region; several, since they may climb to either side."""
ONE_PLACE = 1e-3
"""Places nearer to each other than this fraction of the region are one."""
NEAREST_START = 2.0**-13
"""Least distance of a start from such a place, as a fraction of the region."""


class StrongPlaces:
    """Places within a region with forces, or slopes, far above the usual ones, each approached by trials at shrinking
    distances."""

    def __init__(self, balance: Balance, low: Array, high: Array):
        self.balance, self.low, self.high, self.reach = balance, low, high, (high - low) / 2
        self.rng, self.places = np.random.default_rng(1), list[Array]()
        starts = self.rng.uniform(low, high, (CLIMBS, len(low)))
        self.usual_force = float(np.median([self._force(q) for q in starts]))
        for k, q in enumerate(starts):
            self._climb(q, DISTANCES_OF_TRIALS[k % len(DISTANCES_OF_TRIALS)], self._force, self.usual_force)
        self.singular = bool(self.places)  # forces without a bound
        self.slope_steps = SLOPE_BETWEEN * self.reach * self.rng.uniform(-1, 1, (SLOPE_WAYS, len(low)))
        usual = float(np.median([self._slope(q) for q in starts]))
        for k, q in enumerate(starts[:CLIMBS_OF_SLOPES]):
            self._climb(q, DISTANCES_OF_TRIALS[k % len(DISTANCES_OF_TRIALS)], self._slope, usual)

    def search_beside(self, rest: Array) -> None:
        """Approaches places near an equilibrium, at several distances: a light body is felt in its own neighbourhood only."""
        if self.singular:  # otherwise there is nothing to look for
            for share in DISTANCES_BESIDE_REST:
                self._climb(rest, share, self._force, self.usual_force)

    def _climb(self, q: Array, share: float, measure: Callable[[Array], float], usual: float) -> None:
        """Trials about the place of the largest measure so far, at a distance that grows with success and shrinks without."""
        best, size = q, measure(q)
        for _ in range(CLIMB_ROUNDS):
            steps = share * self.reach * self.rng.uniform(-1, 1, (CLIMB_TRIALS, len(q)))
            trials = np.clip(best + steps, self.low, self.high)
            sizes = [measure(trial) for trial in trials]
            higher = max(sizes) > size
            if higher:
                best, size = trials[int(np.argmax(sizes))], max(sizes)
            share *= CLIMB_GROWS if higher else CLIMB_SHRINKS
        new = not any((np.abs(best - place) < ONE_PLACE * self.reach).all() for place in self.places)
        if size > FAR_ABOVE_OTHERS * usual > 0 and new:
            self.places.append(best)

    def _force(self, q: Array) -> float:
        """Largest force by inertia at a configuration; 0 where it has no value."""
        size = float(np.abs(_forces(self.balance, q)).max(initial=0.0))
        return size if np.isfinite(size) else 0.0

    def _slope(self, q: Array) -> float:
        """Largest change of a force by inertia over a small distance; 0 where it has no value."""
        forces = _forces(self.balance, q)
        size = max(float(np.abs(_forces(self.balance, q + step) - forces).max(initial=0.0)) for step in self.slope_steps)
        return size if np.isfinite(size) else 0.0


def start_near(place: Array, reach: Array, rng: np.random.Generator) -> Array:
    """A start in a random direction from a place, at a distance whose logarithm is uniform."""
    direction = rng.normal(size=len(place))
    return place + reach * NEAREST_START ** rng.uniform() * direction / np.linalg.norm(direction)


def _forces(balance: Balance, q: Array) -> Array:
    """Forces by inertia at a configuration, (nv,)."""
    with np.errstate(all="ignore"):
        out = balance(normalise(balance.form, q), balance.no_multipliers)
        return np.asarray(out["applied"] / metric_roots(out["M"]), dtype=np.float64)


__all__ = ["StrongPlaces", "start_near"]
