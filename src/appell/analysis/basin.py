"""Basins of attraction: to which attractor each start of a plane of starts goes.

    z_{k+1} = P(z_k),  P the motion over one period;    attractor with m points: P^m(z) = z, all multipliers inside the circle

All starts run a block of periods at a time in one compiled loop. A start that has come back to itself after m periods shows
an attractor: it is closed by Newton's method (`ap.periodic_orbit`) and taken only if its Floquet multipliers say that it
attracts. Starts near the points of a known attractor, in two periods running, belong to it and rest. What has not come to a
periodic attractor after `most` periods is gathered by where it moves, if volumes shrink there (`det Φ < 1`): a chaotic or
quasiperiodic attractor; else it is left undecided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from appell.analysis.ensemble import Ensemble, axis, distinct
from appell.analysis.orbit import Orbit
from appell.analysis.result import Result, state_column, state_names
from appell.analysis.shooting import Shooting
from appell.analysis.variations import variations
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.simulate.progress import reporter
from appell.simulate.run import Run
from appell.simulate.simulate import simulate
from appell.tree import Tree

Array = NDArray[np.float64]

UNDECIDED, NONE = -1, -2
BLOCK = 24
"""Periods that all starts make between two looks; the longest attractor that is recognised has half as many points."""
RETURNED = 1e-5
"""Share of the extent within which a start has come back to itself, so that Newton's method is asked."""
SETTLED = 1e-9
"""Share of the extent within which it has plainly come to rest, where Newton's method cannot be asked (in contact)."""
TRIES = 12
"""Candidates for a new attractor that are looked at in each block."""
SOME = 2000
"""Starts among which attractors are sought in each block."""
GIVEN_UP = 60
"""Starts that have come back to orbits which do not attract, after which no more are looked at: a family of orbits."""
NEWTON, CLOSED = 8, 1e-10
"""Steps of Newton's method, and the share of the extent to which it closes an orbit."""
SAME = 1e-6
"""Share of the extent within which two points of attractors are one."""
CLOUD = 96
"""Periods by which motions without a period are compared."""
ALIKE = 0.12
"""Share of the extent by which means and spreads of motions on one attractor may differ."""
SHRINKS = 1e-3
"""A logarithm of the volume below minus this, over the periods of a cloud: an attractor and no conservative sea."""


@dataclass(frozen=True, eq=False)
class Attractor:
    """What motions come to.

    Attributes
    ----------
    points: (m, nq + nv), where it is once a period, SI; period: m T, s, or None where it has none (points are samples).
    orbit: the closed orbit with its multipliers, None where there is none (chaos, or rest in contact).
    share: part of all starts that go there.
    """

    points: Array
    period: float | None
    orbit: Orbit | None
    share: float = 0.0

    @property
    def kind(self) -> str:
        """ "period 3" and the like, or "not periodic"."""
        return "not periodic" if self.period is None else f"period {len(self.points)}"

    def __str__(self) -> str:
        return f"{self.kind}, {100 * self.share:.3g} % of the starts"


@dataclass(frozen=True, eq=False)
class Basin(Result):
    """Basins of attraction on a plane of starts; `ap.basin` makes it.

    Attributes
    ----------
    names, axes: the two coordinates or velocities and their values, (n,) and (m,).
    labels: (n, m), the number of the attractor; −1 undecided, −2 no motion (behind a wall, or it ended early).
    attractors: what the labels stand for, those with most starts first.
    ok, message: whether every start that moves was decided, and if not, why.
    """

    system: System
    names: tuple[str, str]
    axes: tuple[Array, Array]
    labels: NDArray[np.int_]
    attractors: tuple[Attractor, ...]
    ok: bool
    message: str

    def variables(self) -> Mapping[str, Any]:
        return {"label": (self._dims, self.labels, {"long_name": "number of the attractor; -1 undecided, -2 no motion"})}

    def coords(self) -> Mapping[str, Any]:
        pairs = zip(self._dims, self.axes, self.names, strict=True)
        return {name: (name, values, {"units": "SI", "symbol": symbol}) for name, values, symbol in pairs}

    @property
    def _dims(self) -> tuple[str, str]:
        return self.names[0].replace(".", "_"), self.names[1].replace(".", "_")

    def plot(self, ax: Any = None) -> Any:
        """The plane of starts in the colours of their attractors, whose points are drawn on it; the figure."""
        from appell.show.lab import basin_map

        return basin_map(self, [state_column(self.system, name) for name in self.names], ax)

    def __str__(self) -> str:
        known = "; ".join(f"{k}: {one}" for k, one in enumerate(self.attractors)) or "no attractor"
        return (
            f"basins of '{self.system.name}' on {self.labels.shape[0]} × {self.labels.shape[1]} starts: {known}; {self.message}"
        )


def basin(
    system: System | Tree | Run,
    grid: Mapping[Any, ArrayLike],
    *,
    start: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    period: Any = None,
    most: int = 1000,
    tolerance: float = 1e-3,
    since: float = 0.0,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    method: str = "auto",
    backend: str = "auto",
    progress: Any = False,
    **options: Any,
) -> Basin:
    """The attractor of each start on a plane of starts.

    Parameters
    ----------
    grid: {coordinate or velocity: values, another: values}.
    start, parameters, since: the rest of the start, the parameters, the time of the start, s.
    period: s, or an expression in the parameters; that of the forcing by default, 1 s for autonomous systems.
    most: periods after which a start is undecided, or its motion not periodic.
    tolerance: share of the extent of the motions within which a start is at an attractor.
    progress: True for a bar, or a function of the number of starts decided. Ctrl-C returns what is done.
    rtol, atol, method and other options are those of `ap.simulate`; "auto" takes series for small smooth systems.
    """
    (x, xs), (y, ys) = axis(grid, "the grid", 2)
    if most < 1 or not 0 < tolerance < 1:
        raise ModelError(f"most = {most} and tolerance = {tolerance:g}: at least one period, and a share below 1")
    X, Y = np.meshgrid(xs, ys, indexing="ij")
    model = system.system() if isinstance(system, Tree) else system.system if isinstance(system, Run) else system
    if isinstance(model, System):
        for name in (x, y):
            state_column(model, name)
        twice = {x, y} & {str(k) for k in start or {}}
        if twice:
            raise ModelError(f"{min(twice)} is given in start= and in the grid; give it once")
    ensemble = Ensemble(
        system, {**(start or {}), x: X.ravel(), y: Y.ravel()}, dict(parameters or {}), X.size, since=since, period=period,
        fallback=1.0, periods=4 * BLOCK, rtol=rtol, atol=atol, method=method, backend=backend, **options,
    )  # fmt: skip
    search = _Search(ensemble, tolerance)
    message = search.run(int(most), reporter(progress, 0, X.size))
    return search.result((x, y), (xs, ys), message)


class _Search:
    """Starts that are under way, and the attractors known so far."""

    def __init__(self, ensemble: Ensemble, tolerance: float):
        self.ensemble, self.tolerance = ensemble, tolerance
        self.labels = np.full(ensemble.n, UNDECIDED)
        self.attractors: list[Attractor] = []
        self.since = float(ensemble.t[0])
        self.extent = np.ones(ensemble.z.shape[1])
        self.hopeless: set[int] = set()  # starts whose orbit does not attract
        names = state_names(ensemble.system)
        self.symbols = dict(zip(names, (*ensemble.system.coordinates, *ensemble.system.velocities), strict=True))

    def run(self, most: int, report: Any) -> str:
        """Blocks of periods until every start is decided; why not, if one is not."""
        message, passed = "", 0
        try:
            while passed < most and len(rows := self._open()):
                count = min(BLOCK, most - passed)
                states = self.ensemble.go(rows, count, count)
                passed += count
                self._size(states)
                self._match(rows, states)
                self._discover(rows, states)
                if report is not None:
                    report(self.ensemble.n - len(self._open()))
            self._gather()
        except KeyboardInterrupt:
            message = f"interrupted with {len(self._open())} starts undecided"
        finally:
            if report is not None:
                report.close()
        left = len(self._open())
        if left and not message:
            message = f"{left} starts are undecided after {passed} periods"
        return message

    def _open(self) -> NDArray[np.intp]:
        """Starts that move and are not decided."""
        self.labels[self.ensemble.failed] = NONE
        return np.flatnonzero(self.labels == UNDECIDED)

    def _size(self, states: Array) -> None:
        """The extent of the motions: that of the late states, not below that of the attractors."""
        seen = states[np.isfinite(states[:, -1, 0]), -min(8, states.shape[1]) :].reshape(-1, states.shape[2])
        if len(seen):
            low, high = np.percentile(seen, [1, 99], axis=0)
            found = [one.points for one in self.attractors]
            if found:
                every = np.vstack(found)
                low, high = np.minimum(low, every.min(axis=0)), np.maximum(high, every.max(axis=0))
            extent = high - low
            self.extent = np.maximum(extent, 1e-3 * max(extent.max(), np.abs(seen).max(), 1e-300))

    def _match(self, rows: Any, states: Array) -> None:
        """Starts whose last two states are at one attractor belong to it."""
        known = [(k, one) for k, one in enumerate(self.attractors) if one.period is not None]
        if not known or not len(rows) or states.shape[1] < 2:
            return
        tree = KDTree(np.vstack([one.points for _, one in known]) / self.extent)
        owner = np.concatenate([np.full(len(one.points), k) for k, one in known])
        there = np.flatnonzero((self.labels[rows] == UNDECIDED) & np.isfinite(states[:, -2:]).all(axis=(1, 2)))
        at: Any = [tree.query(states[there, -j] / self.extent, distance_upper_bound=self.tolerance) for j in (1, 2)]
        (d1, i1), (d2, i2) = at
        near = np.isfinite(d1) & np.isfinite(d2)
        same = np.zeros(len(there), dtype=bool)
        same[near] = owner[i1[near]] == owner[i2[near]]
        self.labels[rows[there[same]]] = owner[i1[same]]

    def _discover(self, rows: Any, states: Array) -> None:
        """Attractors among the starts that have come back to themselves."""
        for _ in range(TRIES if len(self.hopeless) < GIVEN_UP else 0):
            open_ = np.flatnonzero(self.labels[rows] == UNDECIDED)
            open_ = open_[:: max(1, len(open_) // SOME)]
            open_ = open_[[int(rows[k]) not in self.hopeless for k in open_]] if len(open_) else open_
            m = distinct(states[open_], self.extent, RETURNED) if len(open_) else np.zeros(0, dtype=int)
            candidates = np.flatnonzero(m)
            if not len(candidates):
                return
            pick = candidates[int(np.argmin(m[candidates]))]
            k, length = int(open_[pick]), int(m[pick])
            found = self._attractor(int(rows[k]), states[k], length)
            if found is None:
                self.hopeless.add(int(rows[k]))
                continue
            known = self._known(found)
            if known is None:
                known = len(self.attractors)
                self.attractors.append(found)
            self.labels[rows[k]] = known
            self._match(rows, states)

    def _attractor(self, row: int, states: Array, m: int) -> Attractor | None:
        """The attractor that a start has come to, if it is one."""
        T, since = float(self.ensemble.period[row]), float(self.ensemble.t[row])
        orbit = self._closed(states[-1], m * T, since)
        if orbit is not None:
            if not (np.abs(orbit.multipliers) < 1 - 1e-9).all():
                return None
            at = orbit.motion.at(since + T * np.arange(m))
            points = np.hstack([at.q, at.v])
            shorter = self._least_period(points)
            if shorter < m:  # neighbours come back after more periods than the orbit itself
                return self._attractor(row, np.vstack([states[:-1], points[:1]]), shorter)
            return Attractor(points, m * T, orbit)
        settled = distinct(states[None], self.extent, SETTLED)[0]
        return Attractor(states[-settled:].copy(), settled * T, None) if settled else None

    def _least_period(self, points: Array) -> int:
        """The smallest part of the points of an orbit after which they repeat themselves."""
        m = len(points)
        off = lambda d: (np.abs(np.roll(points, -d, axis=0) - points) / self.extent).max()
        return next(d for d in range(1, m + 1) if m % d == 0 and (d == m or off(d) < SAME))

    def _closed(self, z: Array, period: float, since: float) -> Orbit | None:
        """The orbit next to a state, an equilibrium among them; None where Newton's method does not end there."""
        shooting = Shooting.of(self.ensemble.run, since=since, modulo=None, rtol=1e-11, atol=1e-13, by=())
        begin = z
        try:
            for _ in range(NEWTON):
                rows = shooting.rows([z], period)
                P, Phi = rows.matrices[0]
                size = float(np.abs(rows.gaps[0] / self.extent).max())
                if size <= CLOSED:
                    return shooting.orbit(z, period, size, True, "", autonomous=False)
                z = shooting.back(z + np.linalg.lstsq(Phi - P, -rows.gaps[0], rcond=1e-9)[0])
                if not (np.abs(z - begin) <= 0.1 * self.extent).all():
                    return None
        except AppellError:
            return None
        return None

    def _known(self, found: Attractor) -> int | None:
        """The number of the attractor that this one is."""
        for k, one in enumerate(self.attractors):
            if one.period is not None and len(one.points) == len(found.points):
                off = np.abs(one.points[:, None] - found.points[None]) / self.extent
                if off.max(axis=2).min(axis=0).max() < SAME:
                    return k
        return None

    # -- what has no period --------------------------------------------------------------------------------------------

    def _gather(self) -> None:
        """Motions without a period, by the means and spreads of where they are."""
        rows = self._open()
        rows = rows[[int(k) not in self.hopeless for k in rows]] if len(rows) else rows
        if not len(rows):
            return
        states = self.ensemble.go(rows, CLOUD, CLOUD)
        self._match(rows, states)
        self._discover(rows, states)  # long periods
        good = np.isfinite(states).all(axis=(1, 2)) & (self.labels[rows] == UNDECIDED)
        rows, states = rows[good], states[good]
        if not len(rows):
            return
        features = np.hstack([states.mean(axis=1) / self.extent, states.std(axis=1) / self.extent])
        for _ in range(TRIES):
            left = np.flatnonzero(self.labels[rows] == UNDECIDED)
            if not len(left):
                return
            middle = features[left[len(left) // 2]]
            for _ in range(5):
                alike = left[(np.abs(features[left] - middle) < ALIKE).all(axis=1)]
                middle = np.median(features[alike], axis=0) if len(alike) else middle
            if len(alike) < 0.02 * len(rows) or not self._shrinks(int(rows[alike[0]])):
                return
            points = states[alike[:: max(1, len(alike) // 40)]].reshape(-1, states.shape[2])
            self.labels[rows[alike]] = len(self.attractors)
            self.attractors.append(Attractor(points, None, None))

    def _shrinks(self, row: int) -> bool:
        """Whether volumes shrink along a motion."""
        z, t, T = self.ensemble.z[row], float(self.ensemble.t[row]), float(self.ensemble.period[row])
        start = dict(zip(self.symbols.values(), map(float, z), strict=True))
        growth = 0.0
        try:
            for k in range(16):
                motion = simulate(self.ensemble.run, start, t + (k + 1) * T, since=t + k * T)
                beside = variations(motion, by=[], times=[t + k * T, t + (k + 1) * T])
                if not beside.ok:
                    return "infinitely many" in beside.message
                U, s, _ = np.linalg.svd(beside.state[0])
                R = np.linalg.qr(beside.monodromy @ U[:, s > 0.5])[1]
                growth += float(np.log(np.maximum(np.abs(np.diag(R)), 1e-300)).sum())
                start = motion.final
        except AppellError:
            return False
        return growth < -SHRINKS

    def result(self, names: tuple[str, str], axes: tuple[Array, Array], message: str) -> Basin:
        """The attractors in the order of their starts."""
        counts = np.array([(self.labels == k).sum() for k in range(len(self.attractors))], dtype=int)
        order = np.argsort(-counts, kind="stable")
        place = np.empty(len(order) + 2, dtype=int)
        place[order], place[-1], place[-2] = np.arange(len(order)), UNDECIDED, NONE
        labels = place[self.labels].reshape(len(axes[0]), len(axes[1]))
        moving = max(1, int((self.labels != NONE).sum()))
        found = tuple(
            Attractor(self.attractors[k].points, self.attractors[k].period, self.attractors[k].orbit, float(counts[k]) / moving)
            for k in order
        )
        none = int((self.labels == NONE).sum())
        said = [message] if message else []
        if none:
            first = int(np.flatnonzero(self.labels == NONE)[0])
            said.append(f"{none} starts have no motion, the first one because {self.ensemble.said(first)}")
        return Basin(self.ensemble.system, names, axes, labels, found, not message, "; ".join(said) or "complete")


__all__ = ["Attractor", "Basin", "basin"]
