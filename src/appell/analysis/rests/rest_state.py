"""An equilibrium with its reactions, and the possible sets of faces in contact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from appell.errors import ModelError
from appell.model import System
from appell.normal_form import normal_form
from appell.normal_form.move_sizes import in_metric, metric_roots, moves_of
from appell.reading import name_in, text_of
from appell.rows import rank, rows_of_dependencies

Array = NDArray[np.float64]

CONTACT_SETS = 64
"""Sets of faces in contact that are tried."""

GAP_CLOSED_AT_REST = 1e-9
"""A face is touched within this fraction of the size of its terms."""

CAN_CHANGE = 1e-5
"""Fraction of the largest reaction by which one must be able to change to count as not unique; the programme has 1e-7."""

NO_LOAD = 1e-9
"""A face presses if its reaction exceeds this fraction of the largest that the forces could give it."""

RIGID = "the constraints leave nothing to move"


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium with the reactions that maintain it.

    Attributes
    ----------
    q: coordinates, (nq,); multipliers: Λ, (rows,) in the order of `system.constraints`; SI.
    faces: Λ >= 0 of `system.unilateral`, (faces,), 0 where there is no contact; contacts: names of those in contact.
    residual: largest |Q − h + WΛ| and |f| relative to the size of their terms: rounding.
    eigenvalues: of the linearization, 1/s; empty if there are none, with the `reason`.
    family: number of directions in which neighbouring states are equilibria too; 0 for an isolated one.
    frictions: λ_T of `system.frictions`, (parts,), N; sticking: names of those that stick, within their cones.
    flat: number of other directions in which the stiffness vanishes, so that higher-order terms decide; their eigenvalues are
    set to 0.
    """

    system: System
    parameters: Mapping[Any, float]
    q: Array
    multipliers: Array
    residual: float
    eigenvalues: NDArray[np.complex128] = field(default_factory=lambda: np.zeros(0, dtype=complex))
    reason: str = ""
    faces: Array = field(default_factory=lambda: np.zeros(0))
    contacts: tuple[str, ...] = ()
    family: int = 0
    flat: int = 0
    frictions: Array = field(default_factory=lambda: np.zeros(0))
    sticking: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> float:
        """The value of a coordinate, by symbol or name; velocities are 0."""
        names = [str(q) for q in self.system.positions]
        if text_of(key) in map(str, self.system.velocities):
            return 0.0
        if text_of(key) not in names:
            raise ModelError(f"{text_of(key)} is not a coordinate of {self.system.name}; it has {', '.join(names)}")
        return float(self.q[names.index(text_of(key))])

    def reaction(self, constraint: Any) -> float | Array:
        """Λ of a constraint, by the object or its name: the force on the system is Λ ∂f/∂q (∂f/∂q̇, ∂f/∂q̈ by its order).

        For a `Between`, that of the lower stop minus that of the upper one; for a `Friction` λ_T, (parts,) if it has several.
        """
        frictions = [fr.name for fr in self.system.frictions]
        if (name := name_in(constraint)) in frictions:
            counts = [fr.parts for fr in self.system.frictions]
            i = frictions.index(name)
            force = self.frictions[sum(counts[:i]) : sum(counts[: i + 1])]
            return force.copy() if counts[i] > 1 else float(force[0])
        names = {label for face in self.system.unilateral for label in (face.name, face.source.name)}
        if name in names:
            numbers = list(self.system.faces(constraint))
            return float(self.faces[numbers] @ np.array([1.0, -1.0])[: len(numbers)])
        return float(self.multipliers[self.system.constraint(constraint)])

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Names of constraints, and of faces that are touched, whose reactions are not unique: one of many possibilities is
        given. Beside frictions that stick it is not asked: their forces are chosen within their cones."""
        if self.sticking:
            return ()
        form = normal_form(self.system)
        p = np.array([float(self.parameters[s]) for s in self.system.parameters])
        out = form.select("M", "W", "g_w")(0.0, self.q, np.zeros(form.nv), p)
        closed = np.abs(gaps_at(self.system, p, self.q).relative) <= GAP_CLOSED_AT_REST
        touched = [j for j, face in enumerate(self.system.unilateral) if closed[j] or face.name in self.contacts]
        names = [row.constraint.name for row in form.rows if row.linear]
        names += [self.system.unilateral[j].name for j in touched]
        pushes = np.hstack([out["W"], out["g_w"].reshape(form.nv, -1)[:, touched]]) / metric_roots(out["M"])[:, None]
        not_unique = rows_of_dependencies(pushes.T)
        if any(i >= out["W"].shape[1] for i in not_unique):
            not_unique = _movable(pushes, self.faces[touched], not_unique)
        return tuple(names[i] for i in not_unique)

    @property
    def start(self) -> dict[Any, float]:
        """symbol → value: a start for `ap.simulate`, at rest."""
        at_rest = dict.fromkeys(self.system.velocities, 0.0)
        return {**dict(zip(self.system.positions, map(float, self.q), strict=True)), **at_rest}

    @cached_property
    def free(self) -> int:
        """The number of zero eigenvalues: dimensions of a family, or directions that the linearization leaves undecided."""
        return int((np.abs(self.eigenvalues) <= self._zero).sum())

    @property
    def _zero(self) -> float:
        return 1e-6 * np.abs(self.eigenvalues).max(initial=0.0)

    @property
    def stability(self) -> str:
        """"unstable", "asymptotically stable" or "undecided" by the eigenvalues; "rigid" or "unknown" without them."""
        if not len(self.eigenvalues):
            return "rigid" if self.reason == RIGID else "unknown"
        growth = self.eigenvalues.real
        if (growth > self._zero).any():
            return "unstable"
        return "asymptotically stable" if (growth < -self._zero).all() else "undecided"

    @property
    def degeneracy(self) -> str:
        """What the linearization does not decide, as text; empty if it decides everything."""
        family = [f"one of a family of rests in {_directions(self.family)}"] if self.family else []
        return " and ".join([*family, f"the stiffness vanishes along {_directions(self.flat)}"] if self.flat else family)

    def __str__(self) -> str:
        configuration = ", ".join(f"{q} = {x:.9g}" for q, x in zip(self.system.positions, self.q, strict=True))
        reactions = [f"  Λ of '{c.name}' = {x:.9g}" for c, x in zip(self.system.constraints, self.multipliers, strict=True)]
        reactions += [f"  Λ of '{f.name}' = {x:.9g}" for f, x in zip(self.system.unilateral, self.faces, strict=True) if x]
        labels = [x.label for fr in self.system.frictions for x in fr.multipliers]
        reactions += [f"  λ of '{label}' = {x:.9g}" for label, x in zip(labels, self.frictions, strict=True)]
        if self.undetermined:
            reactions.append(f"  not unique, one of many possibilities: Λ of {', '.join(map(repr, self.undetermined))}")
        hint = f"  {self.stability}" + (f": {self.reason}" if self.reason else " by the linearised motion")
        if len(self.eigenvalues):
            hint += f"; eigenvalues {np.array2string(self.eigenvalues, precision=5, suppress_small=True)}"
        hint += f"; {self.degeneracy}" if self.degeneracy else ""
        return "\n".join([f"rest of {self.system.name}: {configuration} (residual {self.residual:.1e})", *reactions, hint])

    def __repr__(self) -> str:
        return f"<Equilibrium of {self.system.name}, {self.stability}>"


def _movable(pushes: Array, faces: Array, rows: list[int]) -> list[int]:
    """Those of the rows whose share of the load can change while no face pulls: W δ = 0, Λ + δ >= 0 of the faces, (faces,)."""
    size, n = np.linalg.norm(pushes, axis=0), pushes.shape[1]
    unit, carried = pushes / np.where(size > 0, size, 1.0), faces * size[n - len(faces) :]
    largest = carried.max(initial=0.0) or 1.0
    bounds = [(-1.0, 1.0)] * (n - len(faces)) + [(max(-x / largest, -1.0), 1.0) for x in carried]
    change = lambda i, sign: linprog(sign * np.eye(n)[i], A_eq=unit, b_eq=np.zeros(len(unit)), bounds=bounds).fun or 0.0
    return [i for i in rows if min(change(i, 1.0), change(i, -1.0)) < -CAN_CHANGE]


def _directions(count: int) -> str:
    return f"{count} direction{'s' * (count > 1)}"


class Gaps(NamedTuple):
    """The gaps of all faces, and as fractions of the sizes of their terms, (faces,)."""

    g: Array
    relative: Array


def gaps_at(system: System, p: Array, q: Array, reach: Array | None = None, *, t: float = 0.0) -> Gaps:
    """The gaps at a configuration; reach (nq,): sizes of its coordinates, by default from their values and the inertia."""
    form = normal_form(system)
    out = form.select("g", "g_scale", "g_v", "M", "N")(t, q, np.zeros(form.nv), p)
    steps = in_metric(metric_roots(out["M"]), moves_of(out["N"], q)) if reach is None else moves_of(out["N"], reach)
    size = out["g_scale"] + np.abs(out["g_v"]) @ steps + np.abs(out["g"])
    return Gaps(out["g"], np.divide(out["g"], size, out=np.zeros(len(size)), where=size > 0))


def may_part(A: Array, normals: Array, roots: Array) -> NDArray[np.bool_]:
    """Which faces, given their normals, (faces, nv), can open under the rows A, (m, nv); roots: √M_ii."""
    own_rank = rank(A / roots)
    return np.array([rank(np.vstack([A, n]) / roots) > own_rank for n in normals], dtype=bool)


def contact_sets(system: System, p: Array, q: Array) -> Iterator[tuple[int, ...]]:
    """Sets of faces that may be in contact: none, then by size, the nearest faces first."""
    faces = range(len(system.unilateral))
    if not faces:
        yield ()
        return
    distances = np.abs(gaps_at(system, p, q).relative)
    sets = (c for n in range(min(len(faces), system.nv) + 1) for c in itertools.combinations(faces, n))
    candidates = itertools.islice(sets, 10 * CONTACT_SETS)
    yield from sorted(candidates, key=lambda c: (len(c), float(distances[list(c)].sum())))[:CONTACT_SETS]


__all__ = ["GAP_CLOSED_AT_REST", "NO_LOAD", "RIGID", "Equilibrium", "contact_sets", "gaps_at", "may_part"]
