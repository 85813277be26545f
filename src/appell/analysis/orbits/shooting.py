"""Periodic orbits by shooting on the compiled flow, with their Floquet multipliers.

    z(T; z₀) − z₀ = 0,        z = (q, v)            T given (forced systems), or unknown (autonomous ones)

Newton's method takes ∂z(T)/∂z₀ from `variations`, also through impacts. With `segments` points z_k along the orbit (multiple
shooting) the equations are z(t_k → t_{k+1}; z_k) − z_{k+1} = 0, well conditioned also where a single shot is not. Starts move
only along the constraints, and of all steps that satisfy the equations the smallest is taken, in units of the size of the
orbit: orbits of conservative systems form families, and the one nearest to the guess is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import (
    LEAST_SIZE,
    alike_speeds,
    kinetic_weights,
    known_ranges,
    natural_tolerance,
    scales,
    scales_from,
)
from appell.analysis.orbits.joined_motion import joined, multiplied, multipliers_of
from appell.analysis.orbits.orbit import ORBIT_VANISHED, Orbit
from appell.analysis.orbits.state_symmetry import StateSymmetry
from appell.analysis.orbits.stick_slip import FROM_REST
from appell.analysis.orbits.variations import variations
from appell.compiled.run import Run
from appell.errors import AppellError, ModelError, SimulationError, Status
from appell.model import System
from appell.model.values import finite
from appell.modes.mode import SLIP
from appell.motion.motion import Motion
from appell.reading import items_of, shown, table_of, text_of
from appell.rows import FAMILY_LOST, least_squares
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent

Array = NDArray[np.float64]

SHOOTING_ITERATIONS = 40
CLOSED_BUT_FOR_ROUNDING = 1e-15
"""Gap, as a fraction of a coordinate or velocity, that no orbit can be asked to be below."""
SOUGHT_PERIODS = 1.3
"""Periods searched for resets of a guess."""
CLOSING_ATOL = 1e-13
"""Default atol of shots, as a fraction of the smallest scale of the orbit."""


def turn_lengths(system: System, modulo: Mapping[Any, float] | None, free: Iterable[Any]) -> Array:
    """The length of a full turn of each entry of z: infinite where the entry itself must return, 0 where it need not."""
    turns = np.full(system.nq + system.nv, np.inf)
    names = [str(q) for q in system.positions]
    for key, length in table_of(modulo, "modulo=").items():
        if text_of(key) not in names:
            raise ModelError(f"modulo= names {text_of(key)}, which is not a coordinate of '{system.name}'")
        if not finite(length, f"modulo= of {text_of(key)}") > 0:
            raise ModelError(f"modulo= of {text_of(key)} must be positive, not {shown(length)}")
        turns[names.index(text_of(key))] = float(length)
    for key in items_of(free, "free="):
        if text_of(key) not in names:
            raise ModelError(f"free= names {text_of(key)}, which is not a coordinate of '{system.name}'")
        turns[names.index(text_of(key))] = 0.0
    return turns


class Shooting:
    """The equations of an orbit at given parameters."""

    def __init__(
        self, run: Run, since: float, segments: int, turns: Array, rtol: float, atol: float | None, options: Mapping[str, Any],
        by: tuple[str, ...] = (),
    ):  # fmt: skip
        self.run, self.since, self.segments, self.turns, self.by = run, since, segments, turns, by
        self.natural, self.options = atol is None, {"rtol": rtol, "atol": CLOSING_ATOL if atol is None else atol, **options}
        self.symbols = (*run.system.positions, *run.system.velocities)
        self.nq, self.nz = run.system.nq, run.system.nq + run.system.nv
        self.symmetry: StateSymmetry | None = None
        self.least = np.zeros(self.nz)  # lower bound of the scale: an orbit may shrink to an equilibrium
        self.sought = np.zeros(0)  # size of the motions among which the orbit is sought

    @staticmethod
    def of(
        run: Run, *, since: float, modulo: Any, rtol: float, atol: float | None, by: tuple[str, ...],
        symmetry: StateSymmetry | None = None, segments: int = 1, **options: Any,
    ) -> Shooting:  # fmt: skip
        """Single shots, with derivatives by the parameters `by` as well."""
        shooting = Shooting(run, since, segments, turn_lengths(run.system, modulo, ()), rtol, atol, options, by)
        shooting.symmetry = symmetry
        return shooting

    def read(self, guess: Mapping[Any, Any], time: float | None = None) -> Array:
        """A guess as a state on the constraints at an instant, by default that of the section."""
        since = self.since if time is None else time
        start = consistent(self.run.system, dict(table_of(guess, "guess=")), self.run.parameters, since=since)
        by_name = {str(k): float(v) for k, v in start.items()}
        return np.array([by_name.get(str(s), 0.0) for s in self.symbols])

    def projected(self, z: Array, time: float | None = None) -> Array:
        """The nearest state on the constraints at an instant, by default that of the section."""
        if not has_rows(self.run.system):
            return z
        return self.read(dict(zip(self.symbols, z, strict=True)), time)

    def on_rows(self, points: list[Array], T: float) -> list[Array]:
        """The nearest start states of all shots on the constraints, each at its own time."""
        return [self.projected(z, float(time)) for z, time in zip(points, self._times(T), strict=False)]

    def shot(self, z: Array, t0: float, t1: float) -> Motion:
        start = dict(zip(self.symbols, map(float, z), strict=True))
        motion = simulate(self.run, start, t1, since=t0, **self.options)
        if motion.status is not Status.OK:
            raise SimulationError(f"a shot from t = {t0:g} ended early: {motion.message}", motion=motion)
        return motion

    def measure(self, z0: Array, duration: float) -> None:
        """Takes the absolute tolerance, if none was given, from the size of the motion from a state."""
        if not self.natural:
            return
        start = dict(zip(self.symbols, map(float, z0), strict=True))
        scales_with = lambda atol: scales_from(self.run, start, self.since, duration, {**self.options, "atol": atol})
        self.options["atol"] = natural_tolerance(CLOSING_ATOL, float(np.abs(z0).max(initial=0.0)), scales_with)

    def with_room(self, z0: Array, T: float) -> Array:
        """The state of the guess at an instant away from events, which becomes `since`. The state after a reset is not suitable
        for a section, since the orbit may end with or without that reset; nor is the instant at which a friction begins to
        slide from rest, where there are no derivatives."""
        motion = self.shot(z0, self.since, self.since + SOUGHT_PERIODS * T)  # T is a guess, and a reset may come just behind it
        if not motion.resets and not _slides_from_rest(motion):
            return z0
        times = [event.time for event in motion.resets] + [time for time, _ in getattr(motion, "modes", ())]
        hits = np.unique(np.append(0.0, [(time - self.since) / T % 1.0 for time in times]))
        length = np.diff(np.append(hits, 1.0))
        k = int(np.argmax(length))
        self.since += T * float(hits[k] + length[k] / 2)
        state = motion.at(self.since)
        return np.concatenate([state.q[0], state.v[0]])

    def rate(self, t: float, z: Array, contacts: tuple[int, ...] = ()) -> Array:
        """ż at a state, on the faces in contact; frictions are in their mode there."""
        q, v = z[: self.nq], z[self.nq :]
        run = self.run.in_contact(contacts) if contacts and not self.run.system.frictions else self.run
        qd = run.form.select("qd")(t, q, v, run.p)["qd"]
        return np.concatenate([qd, run.acceleration(t, q, v)[0]])

    def difference(self, z: Array) -> Array:
        """z reduced by whole turns."""
        turning = np.isfinite(self.turns) & (self.turns > 0)
        length = np.where(turning, self.turns, 1.0)
        return np.where(self.turns > 0, z - np.where(turning, length * np.round(z / length), 0.0), 0.0)

    # -- Newton's method -----------------------------------------------------------------------------------------------

    def solve(self, z0: Array, T: float, *, fixed: bool, autonomous: bool, tolerance: float) -> Orbit:
        points, T, message = self._points(z0, T), T, ""
        best: tuple[float, list[Array], float] = (np.inf, points, T)
        last_worst = np.inf
        try:
            rows = self.rows(points, T)
            self.sought = rows.scale
            self.least = np.maximum(ORBIT_VANISHED * rows.scale, self._rounding(points[0], T) / tolerance)
            for _ in range(SHOOTING_ITERATIONS):
                worst = rows.worst
                if worst < best[0]:
                    best = (worst, points, T)
                # closed: well below the tolerance, or below it and no longer falling
                if worst <= tolerance * 1e-2 or (worst <= tolerance and worst > 0.3 * last_worst):
                    break
                last_worst = worst
                step, dT = self._step(rows, fixed)
                next_iterate = self._damped(points, T, step, dT, rows, autonomous)
                if next_iterate is None:
                    message = "" if best[0] <= tolerance else "Newton's method does not get nearer"
                    break
                points, T, rows = next_iterate
        except AppellError as error:
            message = str(error)
        worst, points, T = best
        if worst > tolerance and not message:
            message = f"Newton's method has not converged in {SHOOTING_ITERATIONS} steps"
        if not np.isfinite(worst):
            raise ModelError(f"no shot from the guess reaches the end of a period: {message}")
        return self.orbit(points, T, worst, worst <= tolerance, message, autonomous=autonomous)

    def _points(self, z0: Array, T: float) -> list[Array]:
        if self.segments == 1:
            return [z0]
        times = self._times(T)[:-1]
        motion = self.shot(z0, self.since, float(times[-1])).at(times)
        return [np.concatenate(pair) for pair in zip(motion.q, motion.v, strict=True)]

    def _times(self, T: float) -> Array:
        return self.since + T / self.parts * np.arange(self.segments + 1) / self.segments

    @property
    def parts(self) -> int:
        """The number of parts of the period after each of which a symmetric orbit is at its image; 1 without a symmetry."""
        return 1 if self.symmetry is None else self.symmetry.order

    def rows(self, points: list[Array], T: float) -> ShootingRows:
        times = self._times(T)
        ends, matrices, rates, slopes, begins = [], [], [], [], []
        size, weights = np.zeros(self.nz), kinetic_weights(self.run, self.since, points[0])
        for k, z in enumerate(points):
            motion = self.shot(z, float(times[k]), float(times[k + 1]))
            derivatives = variations(motion, by=self.by, times=[float(times[k]), float(times[k + 1])])
            if not derivatives.complete:
                raise ModelError(derivatives.message)
            end_state = np.concatenate([motion.q[-1], motion.v[-1]])
            ends.append(end_state)
            matrices.append((derivatives.state[0], derivatives.state[-1]))
            slopes.append(derivatives.parameters[-1])
            begins.append(derivatives.parameters[0])
            rate = self.rate(float(times[k + 1]), end_state, motion.contacts[-1][1] if motion.contacts else ())
            if k:  # its start depends on T as well
                contacts = motion.contacts[0][1] if motion.contacts else ()
                rate = (k + 1) * rate - k * derivatives.state[-1] @ self.rate(float(times[k]), z, contacts)
            rates.append(rate / self.parts)
            size = np.maximum(size, known_ranges(np.hstack([motion.q, motion.v]), weights, self.nq))
        if self.symmetry is not None:
            L, (P0, Phi) = self.symmetry.L, matrices[-1]
            ends[-1], matrices[-1] = self.symmetry(ends[-1]), (P0, L @ Phi)
            rates[-1], slopes[-1] = L @ rates[-1], L @ slopes[-1]
            size = np.maximum(size, np.abs(L) @ size)
        sheet, (P0, Phi) = self._sheet(ends[-1], points[0]), matrices[-1]
        ends[-1], matrices[-1] = sheet * ends[-1], (P0, sheet[:, None] * Phi)
        rates[-1], slopes[-1] = sheet * rates[-1], sheet[:, None] * slopes[-1]
        scale = np.maximum(scales(size, weights, self.nq, T, LEAST_SIZE), self.least)
        following = [*points[1:], points[0]]
        gaps = [end - z for end, z in zip(ends, following, strict=True)]
        gaps[-1] = self.difference(gaps[-1])
        slopes = [end - begin for end, begin in zip(slopes, [*begins[1:], begins[0]], strict=True)]
        return ShootingRows(gaps, matrices, rates, slopes, begins, scale)

    def _sheet(self, end: Array, start: Array) -> Array:
        """−1 for quaternions that come back with the other sign, which is the same attitude; 1 for all else, (nz,)."""
        signs = np.ones(self.nz)
        for group in map(list, self.run.form.quaternions):
            signs[group] = -1.0 if float(end[group] @ start[group]) < 0 else 1.0
        return signs

    def closing_rows(self, rows: ShootingRows, S: Array) -> Array:
        """∂(ends − following points)/∂(points, T), (nz N, nz N + 1), in units S; points stay on their constraints."""
        n, N = self.nz, len(rows.gaps)
        J = np.zeros((n * N, n * N + 1))
        for k, (_, Phi) in enumerate(rows.matrices):
            block, following = slice(n * k, n * (k + 1)), (k + 1) % N
            J[block, block] += Phi * S / S[:, None]
            J[block, n * following : n * (following + 1)] -= rows.matrices[following][0] * S / S[:, None]
            J[block, -1] = rows.rates[k] / N / S
        return J

    def _step(self, rows: ShootingRows, fixed: bool) -> tuple[list[Array], float]:
        """The smallest step, in units of scale, that closes all gaps to first order."""
        n, N, S = self.nz, self.segments, rows.scale
        J, gap = self.closing_rows(rows, S), np.concatenate([g / S for g in rows.gaps])
        J[n * (N - 1) :][self.turns == 0] = 0
        if fixed:
            J[:, -1] = 0
        else:
            J[:, -1] *= (weight := 1 / max(np.linalg.norm(J[:, -1]), 1e-300))
        solution = least_squares(J, -gap, FAMILY_LOST)
        moves = [rows.matrices[k][0] @ (solution[n * k : n * (k + 1)] * S) for k in range(N)]
        return moves, 0.0 if fixed else float(solution[-1] * weight)

    def _rounding(self, z: Array, T: float) -> Array:
        """Rounding of a state beside which an orbit may be small, (nz,)."""
        weights, sizes = kinetic_weights(self.run, self.since, z), np.where(self.turns > 0, np.abs(z), 0.0)
        speeds = np.maximum(sizes[self.nq :], alike_speeds(sizes[: self.nq], weights, self.nq, T))
        return CLOSED_BUT_FOR_ROUNDING * np.concatenate([sizes[: self.nq], speeds])

    def _damped(
        self, points: list[Array], T: float, step: list[Array], dT: float, here: ShootingRows, autonomous: bool
    ) -> Any:  # fmt: skip
        """The first of the full step, its half, quarter, … that reduces the gaps.

        A forced system may be at rest, and its orbits shrink with their gaps on the way there: the gaps of a smaller orbit are
        compared in the units of the one before. An autonomous orbit has no period then: it is compared in its own."""
        share = min(1.0, 0.3 * T / abs(dT)) if dT else 1.0  # T changes by at most 30 % in a step
        for _ in range(8):
            points_there = self.on_rows([z + share * dz for z, dz in zip(points, step, strict=True)], T + share * dT)
            try:
                rows = self.rows(points_there, T + share * dT)
            except AppellError:
                rows = None
            if rows is not None and (rows if autonomous else rows.at_least(here.scale)).size < here.size:
                return points_there, T + share * dT, rows
            share /= 2
        return None

    def orbit(self, points: list[Array], T: float, worst: float, ok: bool, message: str, *, autonomous: bool) -> Orbit:
        """The record of an orbit through points at equal times: by one shot, or by one from each to the next."""
        z0, all_points = points[0], points
        if self.symmetry is not None and len(points) > 1:
            for _ in range(self.parts - 1):
                all_points = [*all_points, *(self.symmetry(z) for z in all_points[-self.segments :])]
        times = self.since + T * np.arange(len(all_points) + 1) / len(all_points)
        shots = [self.shot(z, float(times[k]), float(times[k + 1])) for k, z in enumerate(all_points)]
        motion = joined(shots)
        shot_variations = [variations(shot, by=[]) for shot in shots]
        derivatives = multiplied(motion, shot_variations)
        sheet = np.diag(self._sheet(np.concatenate([motion.q[-1], motion.v[-1]]), z0))
        multipliers = multipliers_of(shot_variations, sheet) if derivatives.complete else np.full(0, np.nan, dtype=complex)
        message = message or ("closed" if derivatives.complete else derivatives.message)
        closed = ok and derivatives.complete
        message += f", but {motion.doubts[0]}" if closed and motion.doubts else ""
        start = dict(zip(self.symbols, map(float, z0), strict=True))
        orbit = Orbit(
            motion, start, T, worst, multipliers, autonomous, derivatives, closed and not motion.doubts, message,
            sought=self.sought, turns=self.turns,
        )  # fmt: skip
        if self.symmetry is None or not closed:
            return orbit
        first_shots = shots[: len(points)]
        ends = [[float(shot.t[0]), float(shot.t[-1])] for shot in first_shots]
        ends[-1][1] = self.since + T / self.parts
        shot_variations = [
            variations(shot, by=[], times=ends_of_shot) for shot, ends_of_shot in zip(first_shots, ends, strict=True)
        ]
        at_image = first_shots[-1].at(ends[-1][1])
        sheet = np.diag(self._sheet(self.symmetry(np.concatenate([at_image.q[0], at_image.v[0]])), z0))
        return replace(orbit, symmetry=self.symmetry, returning=multipliers_of(shot_variations, sheet @ self.symmetry.L))


def _slides_from_rest(motion: Motion) -> bool:
    """Whether a friction begins to slide from rest at the start."""
    if not motion.system.frictions:
        return False
    for law, friction in zip(motion.system.frictions, motion.modes[0][1].frictions, strict=True):
        slips = np.array([motion[component] for component in law.slip])
        if friction.state == SLIP and np.abs(slips[:, 0]).max() <= FROM_REST * np.abs(slips).max(initial=0.0):
            return True
    return False


@dataclass(frozen=True)
class ShootingRows:
    """Gaps between shots, (Φ(0), Φ(end)) and N ∂z/∂T of each, Ψ at its end less that at the next beginning, Ψ at its own
    beginning, where the constraints may depend on parameters, and the size of the orbit."""

    gaps: list[Array]
    matrices: list[tuple[Array, Array]]
    rates: list[Array]
    slopes: list[Array]
    begins: list[Array]
    scale: Array

    def at_least(self, scale: Array) -> ShootingRows:
        """The same gaps in units that are nowhere smaller than `scale`."""
        return replace(self, scale=np.maximum(self.scale, scale))

    @property
    def size(self) -> float:
        return float(np.linalg.norm([np.linalg.norm(gap / self.scale) for gap in self.gaps]))

    @property
    def worst(self) -> float:
        return float(max(np.abs(gap / self.scale).max(initial=0.0) for gap in self.gaps))


def has_rows(system: System) -> bool:
    """Whether a state has to be on constraints, or of unit length."""
    return bool(system.constraints or system.quaternions)


def closing_options(orbit: Orbit, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of shots near an orbit, with an absolute tolerance by its size if none was given."""
    atol = options.get("atol")
    return {**options, "atol": CLOSING_ATOL * float(orbit.scale.min(initial=1.0)) if atol is None else atol}


__all__ = ["Shooting", "closing_options", "has_rows", "turn_lengths"]
