"""Guards of a mode: functions whose fall through zero ends it.

    hit      g of an open face                            leave    Λ of a closed one
    break    μ_s|Λ_N| − |λ| of a sticking friction        stop     u·s of a sliding one
    kink     σΛ of a constraint that loads a sliding friction      zero     the same for several constraints that load it
    jam      det(J M⁻¹ W)/det(J M⁻¹ Jᵀ) of sliding frictions (Painlevé)
    sign     μ or F of a sliding friction, less BELOW_ZERO; a negative one would drive the system
    hold     margin of the linear programme, where reactions are not unique
    drift    violation of rows that are implied by others
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.modes.contact_thresholds import GAP_FLOOR
from appell.modes.endings import Ending
from appell.modes.mode import SLIP, STICK, Mode
from appell.nonsmooth.criteria import gap_noise
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.thresholds import (
    BELOW_ZERO,
    COEFFICIENT_NOISE,
    DETERMINANT_NOISE,
    GUARD_UNRISEN,
    PAIR_NOISE,
    REACTION_NOISE,
    SLIP_NOISE,
)

Array = NDArray[np.float64]
Out = dict[str, Array]

HIT, LEAVE, BREAK, STOP, KINK = Ending.HIT, Ending.LEAVE, Ending.BREAK, Ending.STOP, Ending.KINK
SIGN, ZERO, JAM, HOLD, DRIFT = Ending.SIGN, Ending.ZERO, Ending.JAM, Ending.HOLD, Ending.DRIFT
OF_REACTIONS = frozenset({LEAVE, BREAK, KINK, ZERO, HOLD})
"""Guards made of multipliers: they follow the forces and may change by any amount between two adjacent times."""

SIGN_CLEAR = 1e-11
"""Fraction of its scale above which a reaction has a clear sign."""
ROW_DRIFTED = 1e-7
"""Fraction of its terms by which a row implied by others may be violated."""


class ModeGuard(NamedTuple):
    """The kind of a guard, and the number of the face, friction or row that it watches."""

    kind: Ending
    number: int = 0

    def bound_index(self, layout: FrictionLayout) -> int | None:
        """Its position among the guards with interval bounds (`FrictionFlow.guards`): faces, then frictions; or None."""
        if self.kind in (HIT, LEAVE):
            return (HIT, LEAVE).index(self.kind) * layout.faces + self.number
        if self.kind in (KINK, SIGN, BREAK, STOP):
            return 2 * layout.faces + (KINK, SIGN, BREAK, STOP).index(self.kind) * layout.count + self.number
        return None


@dataclass(frozen=True, eq=False)
class GuardWatch:
    """The guards of a mode. force_size: scales of the multipliers, (R,). margin, jam: (t (k,), z (k, nz)) → values (k,)."""

    layout: FrictionLayout
    mode: Mode
    force_size: Array
    atol: float
    speed: Array  # (parts,) largest slip terms so far
    level: Array  # (frictions,) slip of a pair below which it may have stopped
    margin: Callable[[Array, Array], Array] | None
    jam: Callable[[Array, Array], Array] | None
    guards: tuple[ModeGuard, ...] = ()
    signs: Array = field(default_factory=lambda: np.zeros(0))  # (R,) of the reactions, once they are clear

    @staticmethod
    def of(
        layout: FrictionLayout, mode: Mode, force_size: Array, atol: float, speed: Array, level: Array, margin: Any, jam: Any
    ) -> GuardWatch:
        """The guards that a mode requires."""
        guards = [ModeGuard(HIT, f) for f in range(layout.faces) if f not in mode.closed]
        if margin is None:
            guards += [ModeGuard(LEAVE, f) for f in mode.closed if layout.m + f not in mode.idle]
        for i, friction in enumerate(mode.frictions):
            row = layout.normals[i]
            if friction.state == SLIP and row is not None and row < layout.m:
                guards.append(ModeGuard(KINK, i))
            if friction.state == SLIP:
                guards.append(ModeGuard(SIGN, i))
                guards += [ModeGuard(ZERO, row) for row in layout.loads[i] if ModeGuard(ZERO, row) not in guards]
            if friction.state == SLIP and not layout.smooth[i] and not friction.fixed:
                guards.append(ModeGuard(STOP, i))
            if friction.state == STICK and margin is None:
                guards.append(ModeGuard(BREAK, i))
        guards += [ModeGuard(DRIFT, row) for row in mode.idle if row >= layout.m]
        guards += [ModeGuard(HOLD)] if margin else []
        guards += [ModeGuard(JAM)] if jam else []
        return GuardWatch(layout, mode, force_size, atol, speed, level, margin, jam, tuple(guards))

    def shared(self) -> list[tuple[int, float]]:
        """Positions and noise of the guards of non-unique reactions.

        While some distribution of the load keeps all of them positive, the margin is positive too. Where one of them falls, the
        margin is computed.
        """
        layout, mode = self.layout, self.mode
        guards = [ModeGuard(LEAVE, f) for f in mode.closed]
        guards += [ModeGuard(BREAK, i) for i, friction in enumerate(mode.frictions) if friction.state == STICK]
        row = lambda guard: layout.m + guard.number if guard.kind == LEAVE else layout.own_rows(guard.number)[0]
        positions = [(guard.bound_index(layout), REACTION_NOISE * float(self.force_size[row(guard)])) for guard in guards]
        return [(position, eps) for position, eps in positions if position is not None]

    def zero(self, guard: ModeGuard) -> float:
        """The watched quantity where the guard is zero: the slip at which a pair stops; just below 0 for a coefficient."""
        layout, (kind, i) = self.layout, guard
        if kind == STOP and layout.parts[i] > 1:
            return float(self.level[i])
        if kind == SIGN:
            return -BELOW_ZERO * (float(self.force_size[layout.own_rows(i)[0]]) if layout.limited(i) else 1.0)
        return 0.0

    def signed(self, reactions: Array) -> GuardWatch:
        """The guards with the signs of the reactions (k, R) of a stretch; it is cut at zero, where |Λ| has a kink."""
        clear = np.abs(reactions) > SIGN_CLEAR * self.force_size
        first_clear = reactions[clear.argmax(axis=0), np.arange(reactions.shape[1])]
        return replace(self, signs=np.where(clear.any(axis=0), np.sign(first_clear), 1.0))

    def values(self, t: Array, z: Array, out: Out) -> tuple[Array, Array]:
        """All guards, (k, guards), and their rounding noise, of the same shape."""
        shape = (len(t), len(self.guards))
        values, noises = np.zeros(shape), np.zeros(shape)
        for k, guard in enumerate(self.guards):
            values[:, k], noises[:, k] = self._guard_values(guard, t, z, out)
        return values, noises

    def _guard_values(self, guard: ModeGuard, t: Array, z: Array, out: Out) -> tuple[Array, Any]:
        """The values of one guard, (k,), and their rounding noise."""
        layout, (kind, i) = self.layout, guard
        if kind == HIT:
            noise = gap_noise(out["g"][:, i], out["g_scale"][:, i], out["g_d"][:, i], t, GAP_FLOOR * self.atol)
            return out["g"][:, i], noise
        if kind == LEAVE:
            return out["reactions"][:, layout.m + i], REACTION_NOISE * self.force_size[layout.m + i]
        if kind == KINK:
            row = layout.normals[i]
            return self.mode.frictions[i].sign * out["reactions"][:, row], REACTION_NOISE * self.force_size[row]
        if kind == ZERO:
            return self.signs[i] * out["reactions"][:, i], REACTION_NOISE * self.force_size[i]
        if kind == SIGN:
            return out["mu"][:, i] - self.zero(guard), COEFFICIENT_NOISE * np.abs(out["mu"][:, i]).max()
        if kind == BREAK:
            size = self.force_size[layout.own_rows(i)[0]]
            return out["hold"][:, i] - np.linalg.norm(out["force"][:, layout.columns(i)], axis=1), REACTION_NOISE * size
        if kind == STOP:
            s, size = out["s"][:, layout.columns(i)], float(self.speed[layout.columns(i)].max())
            if layout.parts[i] == 1:
                return self.mode.frictions[i].u[0] * s[:, 0], SLIP_NOISE * size
            return np.linalg.norm(s, axis=1) - self.zero(guard), PAIR_NOISE * self.level[i]
        if kind == DRIFT:
            return self._drift(i, out), 0.0
        return (self.margin if kind == HOLD else self.jam)(t, z), DETERMINANT_NOISE  # type: ignore[misc]

    def _drift(self, row: int, out: Out) -> Array:
        """How much further a row that is implied by others may be violated, (k,)."""
        layout = self.layout
        if row < layout.m + layout.faces:
            f = row - layout.m
            return ROW_DRIFTED * (out["g_scale"][:, f] + self.atol) - np.abs(out["g"][:, f])
        k = row - layout.m - layout.faces
        return ROW_DRIFTED * (self.speed[k] + self.atol) - np.abs(out["s"][:, k])


class GuardCrossing(NamedTuple):
    """A guard falls through zero between the samples `low` and `high`; inside: in a dip between them."""

    guard: int
    low: int
    high: int
    inside: bool = False


def crossings(watch: GuardWatch, values: Array, noise: Array, grid: NDArray[np.intp]) -> list[GuardCrossing]:
    """For each guard, (k, guards), the first crossing of zero from above, and dips before it that may touch zero.

    A guard that starts at zero has to rise first, or to fall below its noise. grid: (steps, STEP_PARTS + 1), samples in equal
    parts of each step; empty where bounds exclude two crossings between adjacent samples.
    """
    candidates = []
    for j, guard in enumerate(watch.guards):
        y, eps = values[:, j], noise[:, j]
        pair = guard.kind == STOP and watch.layout.parts[guard.number] > 1
        risen = np.maximum.accumulate(y > eps)
        falls = np.flatnonzero((y[1:] < 0) & (risen[:-1] | (y[1:] < -GUARD_UNRISEN * eps[1:]))) + 1
        end = int(falls[0]) if len(falls) else len(y)
        if len(grid) and guard.kind not in (HOLD, JAM, DRIFT):
            dips = _dips(y**2 if pair else y, grid)  # |s| of a pair is not close to a polynomial where it is small, |s|² is
            candidates += [GuardCrossing(j, low, high, True) for low, high in dips if high < end and risen[low]]
        if len(falls):
            candidates.append(GuardCrossing(j, end - 1 if risen[end - 1] else 0, end))
    return candidates


def _interpolation_matrix() -> Array:
    """(4 n + 1, n + 1) with n = `STEP_PARTS`: interpolates values at equal parts of a step to a grid four times as fine."""
    nodes, fine = np.arange(STEP_PARTS + 1.0), np.arange(4 * STEP_PARTS + 1) / 4
    weights = [np.prod([(fine - x) / (node - x) for x in nodes if x != node], axis=0) for node in nodes]
    return np.array(weights).T


STEP_PARTS = 8
"""Equal parts of a step at whose ends guards are sampled."""
BETWEEN_SAMPLES = _interpolation_matrix()
DIP_DEPTH = 0.1
"""A minimum of a guard below this fraction of the values beside it is examined more closely."""


def _dips(y: Array, grid: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Samples between which a guard has a minimum near zero, from a parabola through interpolated values around it."""
    v = y[grid] @ BETWEEN_SAMPLES.T
    a, b, c = v[:, :-2], v[:, 1:-1], v[:, 2:]
    bend, slope = a - 2 * b + c, (c - a) / 2
    with np.errstate(all="ignore"):
        offset, minimum = -slope / bend, b - slope**2 / (2 * bend)
    at_end = np.zeros(b.shape[1], dtype=bool)
    at_end[[0, -1]] = True
    inside = (bend > 0) & (np.abs(offset) <= np.where(at_end, 1.0, 0.5000001)) & (minimum < DIP_DEPTH * np.maximum(a, c))
    dips = []
    for step, k in np.argwhere(inside):
        part = int(np.clip((k + 1 + offset[step, k]) // 4, 0, STEP_PARTS - 1))
        dips.append((int(grid[step, part]), int(grid[step, part + 1])))
    return dips


__all__ = ["GuardCrossing", "GuardWatch", "ModeGuard", "crossings"]
