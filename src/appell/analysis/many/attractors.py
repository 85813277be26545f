"""The search for the attractors of many motions, used by `basin`.

All starts run a block of periods at a time. A start that returns to itself after m periods indicates an attractor: the orbit is
closed by Newton's method (`ap.periodic_orbit`) and accepted only if its Floquet multipliers are stable. Starts near the points
of a known attractor in two successive periods belong to it and are not run further. Motions that reach no periodic attractor
are grouped by the region they visit, if volumes shrink there (`det Φ < 1`) and no motion through its points ends at a periodic
attractor after all, or still decays or grows (`transients`): a chaotic or quasiperiodic attractor. Otherwise they stay
undecided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from appell.analysis.forcing import explicit_time
from appell.analysis.many.attracting_orbits import SAME_ATTRACTOR, closed_orbit, least_count, limit_cycle, volume_shrinks
from appell.analysis.many.attractor import Attractor
from appell.analysis.many.periodic_runs import PeriodicRuns, distinct
from appell.analysis.many.resting_regions import RestingRegions
from appell.analysis.many.transients import drifts
from appell.analysis.natural_scales import alike, alike_speeds, kinetic_weights, scales
from appell.errors import Status

Array = NDArray[np.float64]

UNDECIDED, NO_ATTRACTOR = -1, -2
PERIODS_BETWEEN_LOOKS = 24
"""Periods in a block, between two checks; the longest attractor that is recognized has half as many points."""
RETURNED = 1e-5
"""A start has returned to itself within this fraction of the extent, and Newton's method is tried."""
MOTION_AT_REST = 1e-9
"""Fraction of the extent within which it has come to rest, where Newton's method is not applicable (in contact)."""
TRIES = 12
"""Candidates for a new attractor tried in each block."""
SOME = 2000
"""Starts searched for attractors in each block."""
UNATTRACTED_STARTS = 60
"""Number of starts with orbits that do not attract after which the search stops: a family of orbits."""
LEAST_EXTENT = 1e-3
"""Smallest extent of a coordinate or velocity, as a fraction of the largest of its kind, also of that in the first block."""
PROBES = 48
"""Motions used to distinguish a long transient from an attractor without a period."""
DRIFTING = 4
"""Those of them whose spreads are followed."""
CLOUD = 96
"""Periods over which motions without a period are compared."""
ALIKE = 0.12
"""Means and spreads of motions on one attractor may differ by this fraction of the extent."""
LEAST_GROUP = 0.02
"""Fewest motions, as a fraction of those without a period, that are taken for an attractor of their own."""
STILL_SHARE = 1e-6
"""Velocities below this fraction of those of all motions count as rest."""
REST_SAMPLES = 400
"""Largest number of rest positions kept as points of a region."""


class AttractorSearch:
    """The running starts, and the attractors known so far."""

    def __init__(self, ensemble: PeriodicRuns, tolerance: float):
        self.ensemble, self.tolerance = ensemble, tolerance
        self.labels = np.full(ensemble.n, UNDECIDED)
        self.attractors: list[Attractor] = []
        self.since = float(ensemble.t[0])
        self.extent = np.ones(ensemble.z.shape[1])
        self.starts, self.first_extent = ensemble.z.copy(), np.zeros(ensemble.z.shape[1])  # the extent of the first block
        self.approaching = 0  # starts on the way to an attractor
        self.largest_speeds = np.ones(ensemble.system.nv)  # the largest speed, in the units of each
        self.atol = float(ensemble.options["atol"])
        self.hopeless: set[int] = set()  # starts whose orbit does not attract
        has_friction = bool(ensemble.system.frictions)
        self.resting = RestingRegions(ensemble.run, float(ensemble.period[0]), self.atol) if has_friction else None
        self.regions: dict[int, int] = {}  # region of rests → its attractor

    def run(self, most: int, report: Any) -> str:
        """Runs blocks of periods until every start is decided; returns why not, if one is not."""
        message, periods = "", 0
        try:
            while periods < most and len(rows := self._undecided()):
                count = min(PERIODS_BETWEEN_LOOKS, most - periods)
                states = self._states(rows, count)
                if not periods:
                    self._measure_first_block(rows, states)
                periods += count
                self._update_extent(states)
                self._match_resting(rows, states)
                self._match(rows, states)
                self._discover(rows, states)
                if report is not None:
                    report(self.ensemble.n - len(self._undecided()))
            self._group_aperiodic(periods)
        except KeyboardInterrupt:
            undecided = len(self._undecided())
            message = f"interrupted with {undecided} starts undecided" if undecided else ""
        finally:
            if report is not None:
                report.close()
        undecided = len(self._undecided())
        if undecided and not message:
            message = f"{undecided} starts are undecided after {periods} periods"
            message += (
                f": {min(self.approaching, undecided)} are still on the way to an attractor; give more, most="
                if self.approaching
                else ""
            )
        return message

    def _states(self, rows: NDArray[np.intp], count: int) -> Array:
        """The next states of some starts, once a period."""
        states = np.empty((len(rows), count, self.ensemble.z.shape[1]))
        self.ensemble.advance(rows, count, states)
        return states

    def _undecided(self) -> NDArray[np.intp]:
        """Starts that still move and are undecided."""
        self.labels[self.ensemble.failed] = NO_ATTRACTOR
        return np.flatnonzero(self.labels == UNDECIDED)

    def _measure_first_block(self, rows: NDArray[np.intp], states: Array) -> None:
        """The extent of the motions from their starts, the median of those that move. Late states may all be at one point, and
        say no size at all."""
        travel = np.ptp(np.concatenate([self.starts[rows, None], states], axis=1), axis=1)
        moves = np.isfinite(travel).all(axis=1) & (travel > 0).any(axis=1)
        self.first_extent = np.median(travel[moves], axis=0) if moves.any() else self.first_extent

    def _update_extent(self, states: Array) -> None:
        """Updates the extent of the motions: that of the late states, at least that of the attractors."""
        late = states[np.isfinite(states[:, -1, 0]), -min(8, states.shape[1]) :].reshape(-1, states.shape[2])
        if len(late):
            low, high = np.percentile(late, [1, 99], axis=0)
            known_points = [attractor.points for attractor in self.attractors]
            if known_points:
                all_points = np.vstack(known_points)
                low, high = np.minimum(low, all_points.min(axis=0)), np.maximum(high, all_points.max(axis=0))
            self._set_scales(high - low, late)

    def _set_scales(self, extent: Array, late: Array) -> None:
        """Scales from the extent of late states: what hardly changes has a fraction of the largest size, as that of positions
        and of the speeds with which these would change in a period, late or in the first block."""
        run, nq = self.ensemble.run, self.ensemble.system.nq
        T, size = float(self.ensemble.period[0]), np.maximum.reduce([extent, np.abs(late).max(axis=0), self.first_extent])
        weights = kinetic_weights(run, self.since, late[0])
        large = scales(size, weights, nq, T, 1.0)
        speeds = np.maximum(large[nq:], alike_speeds(large[:nq], weights, nq, T))
        self.extent = np.maximum(extent, LEAST_EXTENT * np.concatenate([large[:nq], speeds]))
        self.largest_speeds = alike(self.extent[nq:], weights[nq:])

    def _match(self, rows: Any, states: Array) -> None:
        """Starts whose last two states are at one attractor belong to it."""
        recurrent = [(k, attractor) for k, attractor in enumerate(self.attractors) if attractor.period is not None]
        if not recurrent or not len(rows) or states.shape[1] < 2:
            return
        tree = KDTree(np.vstack([attractor.points for _, attractor in recurrent]) / self.extent)
        owner = np.concatenate([np.full(len(attractor.points), k) for k, attractor in recurrent])
        finite = np.flatnonzero((self.labels[rows] == UNDECIDED) & np.isfinite(states[:, -2:]).all(axis=(1, 2)))
        at: Any = [tree.query(states[finite, -j] / self.extent, distance_upper_bound=self.tolerance) for j in (1, 2)]
        (d1, i1), (d2, i2) = at
        both_near = np.isfinite(d1) & np.isfinite(d2)
        same_owner = np.zeros(len(finite), dtype=bool)
        same_owner[both_near] = owner[i1[both_near]] == owner[i2[both_near]]
        self.labels[rows[finite[same_owner]]] = owner[i1[same_owner]]

    def _match_resting(self, rows: Any, states: Array) -> None:
        """Starts held at rest by friction: all rest positions of one region are one attractor."""
        if self.resting is None or states.shape[1] < 2:
            return
        nq = self.ensemble.system.nq
        self.resting.negligible_speeds = STILL_SHARE * self.largest_speeds
        stays = (np.abs(states[:, -1] - states[:, -2]) <= MOTION_AT_REST * self.extent).all(axis=1)
        for k in np.flatnonzero(stays & (self.labels[rows] == UNDECIDED)):
            row, z = int(rows[k]), states[k, -1]
            if not self._still(z[None, nq:]) or not self.resting.rests(float(self.ensemble.t[row]), z):
                continue
            region = self.resting.index_of(float(self.ensemble.t[row]), z)
            if region not in self.regions:
                self.regions[region] = len(self.attractors)
                self.attractors.append(Attractor(z[None].copy(), None, None, still=True))
            self.labels[row] = label = self.regions[region]
            attractor = self.attractors[label]
            if len(attractor.points) < REST_SAMPLES:
                self.attractors[label] = replace(attractor, points=np.vstack([attractor.points, z]))

    def _discover(self, rows: Any, states: Array) -> None:
        """Searches for attractors among the starts that have returned to themselves."""
        for _ in range(TRIES if len(self.hopeless) < UNATTRACTED_STARTS else 0):
            open_ = np.flatnonzero(self.labels[rows] == UNDECIDED)
            open_ = open_[:: max(1, len(open_) // SOME)]
            open_ = open_[[int(rows[k]) not in self.hopeless for k in open_]] if len(open_) else open_
            m = distinct(states[open_], self.extent, RETURNED) if len(open_) else np.zeros(0, dtype=int)
            candidates = np.flatnonzero(m)
            if not len(candidates):
                return
            shortest = candidates[int(np.argmin(m[candidates]))]
            k, length = int(open_[shortest]), int(m[shortest])
            attractor = self._attractor(int(rows[k]), states[k], length)
            if attractor is None:
                self.hopeless.add(int(rows[k]))
                continue
            label = self._index_of(attractor)
            if label is None:
                label = len(self.attractors)
                self.attractors.append(attractor)
            self.labels[rows[k]] = label
            self._match(rows, states)

    def _attractor(self, row: int, states: Array, m: int) -> Attractor | None:
        """The attractor that a start has reached, if it is one."""
        T, since = float(self.ensemble.period[row]), float(self.ensemble.t[row])
        orbit = closed_orbit(self.ensemble.run, states[-1], m * T, since, self.extent, self.atol)
        if orbit is not None:
            if not (np.abs(orbit.multipliers) < 1 - 1e-9).all():
                return None
            at = orbit.motion.at(since + T * np.arange(m))
            points = np.hstack([at.q, at.v])
            shorter = least_count(points / self.extent)
            if shorter < m:  # neighbours return after more periods than the orbit itself
                return self._attractor(row, np.vstack([states[:-1], points[:1]]), shorter)
            return Attractor(points, m * T, orbit, still=self._still(orbit.motion.v))
        settled = distinct(states[None], self.extent, MOTION_AT_REST)[0]
        if not settled:
            return None
        points = states[-settled:].copy()
        still = settled == 1 and not explicit_time(self.ensemble.run) and self._still(points[:, self.ensemble.system.nq :])
        return Attractor(points, settled * T, None, still=still)

    def _still(self, v: Array) -> bool:
        """Whether velocities, (k, nv), are negligible compared with those of the motions."""
        return bool((np.abs(v) <= STILL_SHARE * self.largest_speeds).all())

    def _index_of(self, new: Attractor) -> int | None:
        """The index of a known attractor equal to this one."""
        for k, attractor in enumerate(self.attractors):
            if attractor.period is not None and len(attractor.points) == len(new.points):
                distances = np.abs(attractor.points[:, None] - new.points[None]) / self.extent
                if distances.max(axis=2).min(axis=0).max() < SAME_ATTRACTOR:
                    return k
        return None

    # -- what has no period --------------------------------------------------------------------------------------------

    def _group_aperiodic(self, passed: int) -> None:
        """Groups motions without a period by means and spreads of their states."""
        rows = self._undecided()
        rows = rows[[int(k) not in self.hopeless for k in rows]] if len(rows) else rows
        if not len(rows):
            return
        states = self._states(rows, CLOUD)
        self._match(rows, states)
        self._discover(rows, states)  # long periods
        self._discover_settling(rows, states)
        open_ = np.isfinite(states).all(axis=(1, 2)) & (self.labels[rows] == UNDECIDED)
        rows, states = rows[open_], states[open_]
        if not len(rows):
            return
        features = np.hstack([states.mean(axis=1) / self.extent, states.std(axis=1) / self.extent])
        transient = np.zeros(0, dtype=np.intp)
        for _ in range(TRIES):
            undecided = np.setdiff1d(np.flatnonzero(self.labels[rows] == UNDECIDED), transient)
            if not len(undecided):
                return
            middle = features[undecided[len(undecided) // 2]]
            for _ in range(5):
                group = undecided[(np.abs(features[undecided] - middle) < ALIKE).all(axis=1)]
                middle = np.median(features[group], axis=0) if len(group) else middle
            if len(group) < LEAST_GROUP * len(rows) or not self._shrinks(int(rows[group[0]])):
                return
            orbit = limit_cycle(self.ensemble.run, states[group[0], -1], self.since, self.atol)
            leaves, drifting = self._probe_further(states[group[0]], passed)
            if leaves or (drifting and orbit is None):
                transient = np.union1d(transient, group)
                self.approaching += len(group)
                continue
            points = states[group[:: max(1, len(group) // 40)]].reshape(-1, states.shape[2])
            self.labels[rows[group]] = len(self.attractors)
            self.attractors.append(Attractor(points, None if orbit is None else orbit.period, orbit))

    def _shrinks(self, row: int) -> bool:
        """Whether volumes shrink along the motion of a start."""
        e = self.ensemble
        return volume_shrinks(e.run, e.z[row], float(e.t[row]), float(e.period[row]), self.atol)

    def _discover_settling(self, rows: Any, states: Array) -> None:
        """Searches for attractors near motions that approach a point slowly, and have not returned to themselves closely."""
        for _ in range(TRIES):
            late = states[:, -PERIODS_BETWEEN_LOOKS:]
            settling = (np.ptp(late, axis=1) <= self.tolerance * self.extent).all(axis=1) & (self.labels[rows] == UNDECIDED)
            settling &= ~np.isin(rows, list(self.hopeless))
            if not settling.any():
                return
            k = int(np.flatnonzero(settling)[0])
            attractor = self._attractor(int(rows[k]), states[k], 1)
            if attractor is not None and self._index_of(attractor) is None:
                self.attractors.append(attractor)
                self._match(rows, states)
            if self.labels[rows[k]] == UNDECIDED:
                self.hopeless.add(int(rows[k]))

    def _probe_further(self, points: Array, periods: int) -> tuple[bool, bool]:
        """Whether a motion without a period ends at a periodic attractor after all, and whether it still decays or grows:
        checked for motions through `PROBES` of its points, over as many periods as every start had."""
        e, followed = self.ensemble, []
        saved = e.t.copy(), e.z.copy(), e.status.copy(), dict(e.reason), self.labels.copy()
        rows = np.arange(min(PROBES, e.n, len(points)))
        e.t[rows], e.z[rows], e.h[rows], e.status[rows] = e.t.max(), points[-len(rows) :], 0.0, Status.OK
        self.labels[rows] = UNDECIDED
        try:
            for _ in range(0, max(periods, CLOUD), PERIODS_BETWEEN_LOOKS):
                states = self._states(rows, PERIODS_BETWEEN_LOOKS)
                self._match(rows, states)
                if (self.labels[rows] != UNDECIDED).any():
                    return True, False
                followed.append(states[:: max(1, len(rows) // DRIFTING)])
        finally:
            e.t, e.z, e.status, e.reason, self.labels = saved
        return False, drifts(e.run, self.since, np.concatenate(followed, axis=1), self.tolerance * self.extent)

    def ordered(self) -> tuple[NDArray[np.int_], tuple[Attractor, ...]]:
        """Labels and attractors, those with most starts first, with their fractions of the moving starts."""
        counts = np.array([(self.labels == k).sum() for k in range(len(self.attractors))], dtype=int)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order) + 2, dtype=int)
        rank[order], rank[-1], rank[-2] = np.arange(len(order)), UNDECIDED, NO_ATTRACTOR
        moving = max(1, int((self.labels != NO_ATTRACTOR).sum()))
        return rank[self.labels], tuple(replace(self.attractors[k], share=float(counts[k]) / moving) for k in order)

    def immobile(self) -> str:
        """The number of starts without a motion, and the reason for the first; empty if all have one."""
        motionless = np.flatnonzero(self.labels == NO_ATTRACTOR)
        return (
            f"{len(motionless)} starts have no motion, the first one because {self.ensemble.why_ended(int(motionless[0]))}"
            if len(motionless)
            else ""
        )


__all__ = ["AttractorSearch"]
