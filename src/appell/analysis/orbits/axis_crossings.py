"""Exponents of small motions that cross the imaginary axis between two points of a branch, identified by their rank.

    ρ_1 ≥ ρ_2 ≥ …        real parts of the exponents e: of the eigenvalues λ of an equilibrium, of log μ of an orbit

If k of them are positive at one point and m > k at the other, each of ρ_{k+1}, …, ρ_m is continuous and passes zero between
the two: however many pass in one step, and whichever exponent happens to be nearest to the axis.

Without damping exponents come in pairs e, −e, which only leave the axis where they meet. Such a pair is followed by x = λ², or
x = μ + 1/μ, which is real as long as the pair is on an axis:

    at zero      λ² = 0,  μ + 1/μ = 2
    at the flip  μ + 1/μ = −2
    they meet    two real x become complex: flutter, if both were on the axis
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

ON_THE_AXIS = 1e-10
"""A real part below this fraction of the largest exponent is that of an exponent on the axis: rounding."""
MIRROR_IMAGES = 1e-6
"""Sum of two exponents, as a fraction of the largest, up to which they are e and −e."""
ALWAYS_ONE = 1e-4
"""Distance from 1 of a multiplier that is 1 all along: that of a double one is the root of its error."""
IS_REAL = 1e-6
"""Imaginary part, as a fraction of the largest exponent, below which one is real."""

AT_ZERO, AT_FLIP, AS_PAIR, MEET = "at zero", "at the flip", "as a pair", "they meet"


class Structure(NamedTuple):
    """The structure of the spectrum in a step along a branch: how many exponents are zero, and how many pairs e, −e there are,
    at both of its ends. Near a crossing there may be more of both."""

    idle: int
    mirrored: int


class AxisCrossing(NamedTuple):
    """A crossing between two points: where on the axis, how many exponents at once, and a test that changes sign there; the
    imaginary part of the last of them where it grows."""

    place: str
    count: int
    test: Callable[[Complex], float]
    frequency: float = 0.0


class SpectrumParts(NamedTuple):
    """Exponents without a mirror image, and x of those with one; both by falling real part."""

    free: Complex
    pairs: Complex


@dataclass(frozen=True)
class Spectra:
    """The spectra at two points: eigenvalues of equilibria in units of the largest, or multipliers of orbits (`periodic`).

    within: the structure of the step of which they are a part.
    """

    first: Complex
    second: Complex
    periodic: bool
    within: Structure | None = None

    @property
    def structure(self) -> Structure:
        """The structure in this interval."""
        return Structure(self.idle, self.mirrored)

    @cached_property
    def idle(self) -> int:
        """Exponents that are zero at both points: those of a family."""
        if self.within is not None:
            return self.within.idle
        if self.periodic:
            return min(int((np.abs(mu - 1) <= ALWAYS_ONE).sum()) for mu in (self.first, self.second))
        return min(int((np.abs(e) <= IS_REAL * np.abs(e).max(initial=0.0)).sum()) for e in (self.first, self.second))

    @cached_property
    def mirrored(self) -> int:
        """Pairs e, −e at both points."""
        if self.within is not None:
            return self.within.mirrored
        return min(len(self._mirrors(self._moving(values))) for values in (self.first, self.second))

    def _moving(self, values: Complex) -> Complex:
        """The exponents that are not always zero."""
        return values[np.argsort(np.abs(values - 1 if self.periodic else values), kind="stable")][self.idle :]

    def _mirrors(self, values: Complex, count: int | None = None) -> list[tuple[int, int]]:
        """Pairs of an exponent and its mirror image, the most exact first: so many, or all that are exact enough."""
        n, size = len(values), 1.0 if self.periodic else max(float(np.abs(values).max(initial=0.0)), 1e-300)
        mismatch = lambda i, j: abs(values[i] * values[j] - 1) if self.periodic else abs(values[i] + values[j]) / size
        pairs: list[tuple[int, int]] = []
        nearest = sorted((mismatch(k, m), k, m) for k in range(n) for m in range(k)) if count != 0 else []
        for mismatch_of_pair, i, j in nearest:
            if len(pairs) == count or (count is None and mismatch_of_pair > MIRROR_IMAGES):
                break
            if not any({i, j} & set(pair) for pair in pairs):
                pairs.append((i, j))
        return pairs

    def parts(self, values: Complex) -> SpectrumParts:
        """A spectrum split as at the two points."""
        moving = self._moving(values)
        pairs = self._mirrors(moving, self.mirrored)
        x = [moving[i] + moving[j] if self.periodic else -moving[i] * moving[j] for i, j in pairs]
        free = np.delete(moving, [k for pair in pairs for k in pair])
        if self.periodic:
            free = np.log(np.where(np.abs(free) > 1e-300, free, 1e-300))
        return SpectrumParts(_falling(free), _falling(np.array(x, dtype=complex)))

    # -- what passes ---------------------------------------------------------------------------------------------------

    @cached_property
    def crossings(self) -> list[AxisCrossing]:
        """The crossings between the two points; there are at least these."""
        return [*self._of_free(), *self._of_pairs()]

    @property
    def clear(self) -> bool:
        """Whether at most one crossing lies between the two points, and both points agree on which one."""
        return sum(crossing.count for crossing in self.crossings) <= 1 and self._agree and not self.both_ways

    @cached_property
    def both_ways(self) -> bool:
        """Whether exponents seem to pass in both directions, if each goes to the nearest one."""
        rho_1, rho_2 = (self.parts(values).free for values in (self.first, self.second))
        if len(rho_1) != len(rho_2) or not ((rho_1.real > 0).any() and (rho_2.real > 0).any()):
            return False
        differences = rho_2[None, :] - rho_1[:, None]
        turn = (differences.imag + np.pi) % (2 * np.pi) - np.pi if self.periodic else differences.imag
        rows, columns = linear_sum_assignment(np.hypot(differences.real, turn))
        grows_before, grows_after = rho_1.real[rows] > ON_THE_AXIS, rho_2.real[columns] > ON_THE_AXIS
        return bool(
            (grows_before & (rho_2.real[columns] < -ON_THE_AXIS)).any()
            and (grows_after & (rho_1.real[rows] < -ON_THE_AXIS)).any()
        )

    @cached_property
    def _ends(self) -> tuple[SpectrumParts, SpectrumParts]:
        """The parts at the point at which fewer exponents grow, and at the other one."""
        by_growth = [self.parts(values) for values in (self.first, self.second)]
        by_growth.sort(key=lambda parts: self._growing(parts))
        return by_growth[0], by_growth[1]

    def _growing(self, spectrum: SpectrumParts) -> int:
        size = 1.0 if self.periodic else max(float(np.abs(spectrum.free).max(initial=0.0)), 1e-300)
        return int((spectrum.free.real > ON_THE_AXIS * size).sum())

    @cached_property
    def _ranks(self) -> range:
        """The ranks of the free exponents that pass the axis."""
        fewer, more = self._ends
        return range(self._growing(fewer), min(self._growing(more), len(fewer.free), len(more.free)))

    def _axis_place(self, e: complex) -> str:
        if self.periodic and abs(abs(e.imag) - np.pi) <= IS_REAL:
            return AT_FLIP
        return AT_ZERO if abs(e.imag) <= IS_REAL else AS_PAIR

    @cached_property
    def _agree(self) -> bool:
        """Whether the exponents of the ranks that pass are of one kind at both points."""
        kinds = [sorted(self._axis_place(spectrum.free[k]) for k in self._ranks) for spectrum in self._ends]
        return kinds[0] == kinds[1]

    def _of_free(self) -> list[AxisCrossing]:
        """Free exponents that pass, by their place at the point where they grow: the slowest of those that grow there."""
        places = [self._axis_place(self._ends[1].free[k]) for k in self._ranks]
        crossings = []
        for place in dict.fromkeys(places):
            ranks = [k for k, at in zip(self._ranks, places, strict=True) if at == place]
            count = (len(ranks) + 1) // 2 if place == AS_PAIR else len(ranks)
            crossings.append(AxisCrossing(place, count, self._mean_of_ranks(ranks), abs(self._ends[1].free[ranks[-1]].imag)))
        return crossings

    def _mean_of_ranks(self, ranks: list[int]) -> Callable[[Complex], float]:
        return lambda values: float(np.mean(self.parts(values).free[ranks].real))

    def _of_pairs(self) -> list[AxisCrossing]:
        """Mirrored pairs that meet at zero, at −1, or each other."""
        if not self.mirrored:
            return []
        x_1, x_2 = (self.parts(values).pairs for values in (self.first, self.second))
        edges: list[tuple[str, Callable[[Complex], Complex]]] = [(AT_ZERO, lambda x: x - 2 if self.periodic else x)]
        edges += [(AT_FLIP, lambda x: -x[::-1] - 2)] if self.periodic else []
        crossings = []
        for place, edge in edges:
            counts = sorted(int((edge(x).real > 0).sum()) for x in (x_1, x_2))
            ranks = [k for k in range(*counts) if self._on_line(edge(x_1)[k]) or self._on_line(edge(x_2)[k])]
            if ranks:
                test = lambda values, edge=edge, ranks=ranks: float(np.mean(edge(self.parts(values).pairs)[ranks].real))
                crossings.append(AxisCrossing(place, len(ranks), test))
        if meeting := abs(self._off_line(x_1) - self._off_line(x_2)) // 2:
            off_at_first = self._off_line(x_1)
            same_side = lambda values: 1.0 if self._off_line(self.parts(values).pairs) == off_at_first else -1.0
            crossings.append(AxisCrossing(MEET, meeting, same_side))
        return crossings

    @staticmethod
    def _on_line(x: complex) -> bool:
        return abs(x.imag) <= IS_REAL * max(abs(x), 1e-3)

    def _off_line(self, pairs: Complex) -> int:
        """Pairs that are on neither axis."""
        return sum(not self._on_line(x) for x in pairs)

    @property
    def met_on_axis(self) -> bool:
        """Whether the two mirrored pairs nearest to each other at the first point are near the axis."""
        x = self.parts(self.first).pairs
        distances = [(abs(x[i] - x[j]), i, j) for i in range(len(x)) for j in range(i)]
        if not distances:
            return False
        _, i, j = min(distances)
        middle = float((x[i] + x[j]).real) / 2
        return abs(middle) < 2 if self.periodic else middle < 0


def _falling(values: Complex) -> Complex:
    """Exponents sorted by falling real part; conjugates beside each other."""
    return values[np.lexsort((values.imag, np.abs(values.imag), -values.real))]


__all__ = ["AS_PAIR", "AT_FLIP", "AT_ZERO", "MEET", "AxisCrossing", "Spectra", "Structure"]
