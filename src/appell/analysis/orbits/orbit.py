"""A periodic orbit with its Floquet multipliers: eigenvalues of ∂z(T)/∂z(0) on the constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.natural_scales import extents
from appell.analysis.orbits.chatter import separate_impacts
from appell.analysis.orbits.state_symmetry import StateSymmetry
from appell.analysis.orbits.variations import Variations
from appell.errors import ModelError
from appell.model import System
from appell.motion.extremes import extremes
from appell.motion.motion import Motion
from appell.motion.result_frame import Result
from appell.reading import symbolic
from appell.rows import range_of_projection

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

GRAZING = 1e-6
"""An orbit grazes a face below this fraction of the largest distance or speed."""
ORBIT_VANISHED = 1e-6
"""An orbit below this fraction of the motions among which it was sought has shrunk to an equilibrium."""
ON_THE_CIRCLE = 1e-10
"""Distance from the unit circle within which a multiplier is on it: the error of derivatives over a period."""


@dataclass(frozen=True, eq=False, repr=False)
class Orbit(Result):
    """A periodic orbit, from `ap.periodic_orbit`.

    Attributes
    ----------
    start: symbol → value at `since`; period: T, s; parameters: symbol → value.
    residual: largest |z(T) − z(0)| in units of its scale; message, ok: whether Newton's method converged, to a motion without
    doubts.
    multipliers: Floquet multipliers, the largest first: eigenvalues of ∂z(T)/∂z(0) on the constraints.
    autonomous: whether one multiplier is 1 because any point of the orbit may be its start.
    grazing: names of faces that the orbit grazes: its multipliers are then not reliable.
    motion: one period.
    symmetry: the map S of the state with z(t + T/n) = S z(t), if requested; returning: multipliers of S and that part
    of the period, whose n-th powers are `multipliers`.
    sought: size of the motions among which it was found, (nq + nv,); an orbit that is a rest has no other.
    turns: (nq + nv,) the length by which an entry of the state may grow in a period: infinite where it has to return, 0 where
    it need not.
    """

    motion: Motion
    start: Mapping[Any, float]
    period: float
    residual: float
    multipliers: NDArray[np.complex128]
    autonomous: bool
    variations: Variations
    ok: bool
    message: str
    symmetry: StateSymmetry | None = None
    returning: NDArray[np.complex128] = field(default_factory=lambda: np.zeros(0, dtype=complex))
    sought: Array = field(default_factory=lambda: np.zeros(0))
    turns: Array = field(default_factory=lambda: np.zeros(0))

    def turning(self, modulo: Mapping[Any, float] | None) -> Mapping[Any, float] | None:
        """`modulo` of a branch that begins here: as given, or that of this orbit. Raises where a coordinate need not return."""
        turn_of = dict(zip(self.system.positions, map(float, self.turns), strict=False))
        if free := [str(q) for q, turn in turn_of.items() if turn == 0]:
            raise ModelError(
                f"the orbit closes without {free[0]} (free=): branches of such orbits are not followed; leave it out of"
                " the model where nothing else needs it"
            )
        turns = {q: turn for q, turn in turn_of.items() if np.isfinite(turn)}
        return (turns or None) if modulo is None else modulo

    @property
    def system(self) -> System:  # type: ignore[override]
        """The system that moves."""
        return self.motion.system

    @property
    def parameters(self) -> Mapping[Any, float]:
        return self.motion.parameters

    @cached_property
    def scale(self) -> Array:
        """The size of each coordinate and velocity along the orbit, (nq + nv,); for those that hardly change, a fraction of
        the largest one in the kinetic metric; `sought` where it is a rest but for rounding."""
        states = np.hstack([self.motion.q, self.motion.v])
        if len(self.sought) and (np.ptp(states, axis=0) <= ORBIT_VANISHED * self.sought).all():
            return self.sought
        return extents(self.motion.run, float(self.motion.t[0]), states, self.period)

    @cached_property
    def nontrivial(self) -> NDArray[np.complex128]:
        """The multipliers without the 1 of an autonomous orbit."""
        return self._without_trivial(self.multipliers)

    @cached_property
    def closing(self) -> NDArray[np.complex128]:
        """The multipliers of the map that closes it, without the trivial one: of S and a part of the period for a symmetric
        orbit."""
        return self.nontrivial if self.symmetry is None else self._without_trivial(self.returning)

    def _without_trivial(self, multipliers: NDArray[np.complex128]) -> NDArray[np.complex128]:
        if not self.autonomous or not len(multipliers):
            return multipliers
        return np.delete(multipliers, int(np.argmin(np.abs(multipliers - 1))))

    @property
    def stable(self) -> bool:
        """Whether every multiplier except the trivial one is inside the unit circle: the orbit attracts its neighbours.

        A conservative orbit has a second multiplier 1 beside the trivial one, and the two are 1 ± √ε, where ε is the error of
        ∂z(T)/∂z(0). Only their sum is known to ε: what the trivial one is off is added to its neighbour, and ε is its square.
        """
        others = self.nontrivial.copy()
        error = self.multipliers.sum() - others.sum() - 1 if len(others) < len(self.multipliers) else 0.0
        if len(others):
            others[int(np.argmin(np.abs(others - 1)))] += error
        return self.ok and bool((np.abs(others) < 1 - ON_THE_CIRCLE - 10 * abs(error) ** 2).all())

    def range(self, expression: Any) -> tuple[float, float]:
        """Smallest and largest value of a coordinate, velocity or any expression along the orbit, by dense output."""
        key = expression if isinstance(expression, str) else symbolic(expression, "what orbit.range is asked")
        limits = self._ranges.get(key)
        if limits is None:
            values = extremes(self.motion, key)
            limits = self._ranges[key] = (values.least, values.largest)
        return limits

    @cached_property
    def _ranges(self) -> dict[Any, tuple[float, float]]:
        return {}

    @cached_property
    def grazing(self) -> tuple[str, ...]:
        """Names of faces that are touched without an impact, or hit at a vanishing speed."""
        return _grazing(self.motion)

    @cached_property
    def dataset(self) -> xr.Dataset:
        """One period as `motion.dataset`, with the multipliers over the dimension `multiplier`."""
        import xarray as xr

        data = self.motion.dataset
        attributes = lambda part: {"units": "1", "long_name": f"Floquet multiplier, {part} part"}
        extra = {
            "multiplier_real": ("multiplier", self.multipliers.real, attributes("real")),
            "multiplier_imag": ("multiplier", self.multipliers.imag, attributes("imaginary")),
        }
        return data.assign({name: xr.Variable(*value) for name, value in extra.items()}).assign_attrs(period=self.period)

    def plot(self, *args: Any, **options: Any) -> Any:
        """The orbit: `motion.plot`."""
        return self.motion.plot(*args, **options)

    def __str__(self) -> str:
        largest = np.abs(self.nontrivial).max(initial=0.0)
        stability = "stable" if self.stable else "not asymptotically stable"
        touch = f", grazing {', '.join(self.grazing)}" if self.grazing else ""
        return (
            f"orbit of '{self.system.name}' of period {self.period:.9g} s, {stability} (largest multiplier"
            f" {largest:.6g}){touch}; {self.message}"
        )


def floquet(beside: Variations, image: Array | None = None) -> NDArray[np.complex128]:
    """Eigenvalues of ∂z(T)/∂z(0) on the directions admitted by the constraints, the largest first; image: L of L ∂z/∂z(0)."""
    B = range_of_projection(beside.state[0])
    closing = beside.monodromy if image is None else image @ beside.monodromy
    values = np.linalg.eigvals(B.T @ closing @ B).astype(complex)
    values = np.append(values, np.zeros(beside.stuck))  # directions that stick at the start are lost
    return values[np.argsort(-np.abs(values), kind="stable")]


def _grazing(motion: Motion) -> tuple[str, ...]:
    """Faces that are grazed: distances with a minimum near zero in flight, or impacts at a vanishing speed."""
    faces = motion.system.unilateral
    if not faces:
        return ()
    names = {event.constraint for event in motion.impacts if event.kind == "graze"}
    impacts = separate_impacts(motion)
    fine = motion.fine(4000)
    g = fine.run.evaluate(fine.t, fine.q, fine.v, ("g", "g_d"))
    for i, face in enumerate(faces):
        distance, largest_rate = g["g"][:, i], np.abs(g["g_d"][:, i]).max(initial=0.0)
        if any(abs(event.before) < GRAZING * largest_rate for event in impacts if event.constraint == face.name):
            names.add(face.name)
        low = np.flatnonzero((distance[1:-1] <= distance[:-2]) & (distance[1:-1] < distance[2:])) + 1
        hits = np.array([e.time for e in motion.impacts if e.constraint == face.name])
        clear = [k for k in low if not len(hits) or np.abs(hits - fine.t[k]).min() > 3 * abs(fine.t[k + 1] - fine.t[k - 1])]
        resting = any(i in contacts for _, contacts in motion.contacts)
        if not resting and any(distance[k] < GRAZING * distance.max(initial=0.0) for k in clear):
            names.add(face.name)
    return tuple(sorted(names))


__all__ = ["Orbit", "floquet"]
