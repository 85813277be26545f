"""Unknown parameters that a search drives to where the mass matrix loses rank.

A mass that only costs is best at 0, where accelerations are not determined: the meshes towards it become finer without end, and
what is simulated in the end is the rounding of the solver. Such a mass needs a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.model import System
from appell.motion.motion import Motion
from appell.normal_form import NormalForm, normal_form
from appell.optimize.plan_setting import PlanSetting
from appell.optimize.steering_request import SteeringRequest
from appell.optimize.transcription import PlannedMotion
from appell.rows import PIVOT, null_space

Array = NDArray[np.float64]

INERTIA_LOST = 1e-5
"""Inertia in a direction, relative to that with the first guess, below which it vanishes as far as a solver can tell: a goal
that is quadratic in a mass leaves it about the root of the solver's accuracy."""
INERTIA_FALLS, FALLS_BY = 1e-3, 3.0
"""It tends to zero if it is below this and has fallen by this factor from the mesh before, and the objective with it: finer
meshes resolve ever steeper motions."""


def lost_inertia(setting: PlanSetting, meshes: Sequence[tuple[PlannedMotion, float]]) -> str:
    """A message on unknowns that tend to where the mass matrix, on what the rows allow, loses rank; empty where none does.

    meshes: the plan and its objective on each mesh so far. An unknown with a finite bound on that side is trusted, unless the
    rank is lost at the bound itself.
    """
    if not setting.request.unknown:
        return ""
    inertias = _inertias_of(setting, meshes[-1][0])
    if not -INERTIA_LOST <= inertias.least <= INERTIA_FALLS:
        return ""
    if inertias.least <= INERTIA_LOST:
        return inertias.message(INERTIA_LOST, "where the mass matrix loses rank")
    return inertias.message(INERTIA_FALLS, "and on to where the mass matrix loses rank") if _falling(setting, meshes) else ""


def negative_inertia(setting: PlanSetting, planned: PlannedMotion) -> str:
    """A message on unknowns with which the mass matrix is not positive."""
    inertias = _inertias_of(setting, planned) if setting.request.unknown else None
    return "" if inertias is None or inertias.least >= 0 else inertias.message(0.0, "where the mass matrix is not positive")


def lost_by_design(request: SteeringRequest, values: Mapping[Any, float], motion: Motion) -> str:
    """A message on unknowns of a design with which the mass matrix along a motion, without contacts, has lost its rank."""
    if not request.unknown:
        return ""
    system, form = request.system, normal_form(request.system)
    numbers = np.array([request.parameters[s] for s in system.parameters], dtype=float)
    q, v = (np.stack([motion[s] for s in symbols], axis=1) for symbols in (system.positions, system.velocities))
    states = [(float(motion.t[k]), q[k], v[k]) for k in _sampled_indices(len(motion.t))]
    inertias = Inertias(request, values, [InertiaAtState(system, form, numbers, *state) for state in states])
    return "" if inertias.least > INERTIA_LOST else inertias.message(INERTIA_LOST, "where the mass matrix loses rank")


def _falling(setting: PlanSetting, meshes: Sequence[tuple[PlannedMotion, float]]) -> bool:
    if len(meshes) < 2:
        return False
    shares = [_inertias_of(setting, planned).least for planned, _ in meshes[-2:]]
    return all(b < a / FALLS_BY for a, b in (shares, [objective for _, objective in meshes[-2:]]))


def _inertias_of(setting: PlanSetting, planned: PlannedMotion) -> Inertias:
    request, at_states = setting.request, []
    nq, nz, t0 = setting.nq, len(request.states), request.since
    for contact, phase in zip(setting.phases, planned.phases, strict=True):
        nodes, numbers = phase.nodes.reshape(-1, phase.nodes.shape[-1]), setting.numbers_of(contact.system)
        for k in _sampled_indices(len(nodes)):
            t = t0 + float(phase.tau.ravel()[k]) * phase.duration
            at_states.append(InertiaAtState(contact.system, contact.form, numbers, t, nodes[k, :nq], nodes[k, nq:nz]))
        t0 += phase.duration
    return Inertias(request, dict(zip(request.unknown, map(float, planned.unknown), strict=True)), at_states)


def _sampled_indices(count: int) -> list[int]:
    """The first index, one in the middle, and the last."""
    return sorted({0, count // 2, count - 1})


@dataclass(frozen=True, eq=False)
class InertiaAtState:
    """The mass matrix at one state, as a function of the unknowns."""

    system: System
    form: NormalForm
    numbers: Array
    t: float
    q: Array
    v: Array

    def matrices(self, unknown: Mapping[Any, float]) -> tuple[Array, Array]:
        """M, (nv, nv), and A, (m, nv)."""
        p, names = self.numbers.copy(), list(self.system.parameters)
        for s, x in unknown.items():
            if s in names:
                p[names.index(s)] = x
        blocks = self.form.select("M", "A")(self.t, self.q, self.v, p)
        return blocks["M"], blocks["A"]

    def relative(self, unknown: Mapping[Any, float], first: Mapping[Any, float]) -> tuple[Array, Array]:
        """Eigenvalues of M relative to M with the first guess, where that has inertia, and their directions, (·, nv), of size 1
        in the latter."""
        (M, A), (M0, _) = self.matrices(unknown), self.matrices(first)
        if not (np.isfinite(M).all() and np.isfinite(A).all() and np.isfinite(M0).all()):
            return np.zeros(0), np.zeros((0, len(M)))
        Z = null_space(A) if A.size else np.eye(len(M))
        G = Z.T @ M0 @ Z
        size = np.sqrt(np.abs(np.diag(G)))
        size = np.where(size > 0, size, 1.0)
        values, vectors = np.linalg.eigh(G / np.outer(size, size))
        inertial = np.abs(values) > PIVOT
        E = Z @ (vectors[:, inertial] / np.sqrt(np.abs(values[inertial])) / size[:, None])
        shares, rotation = np.linalg.eigh(E.T @ M @ E)
        return shares, (E @ rotation).T


class Inertias:
    """The mass matrix at some states with the unknowns that were found, relative to that with their first guess.

    least: the smallest inertia of a direction.
    """

    def __init__(self, request: SteeringRequest, unknown: Mapping[Any, float], places: Sequence[InertiaAtState]):
        self.bounds, self.unknown = request.bounds, unknown
        self.first = {s: abs(float(request.parameters[s])) or 1.0 for s in unknown}
        self.relative_inertias = [(state, *state.relative(unknown, self.first)) for state in places]
        self.least = min((float(shares.min(initial=np.inf)) for _, shares, _ in self.relative_inertias), default=np.inf)

    def message(self, limit: float, where: str) -> str:
        blamed = self.blamed(limit)
        values = " and ".join(f"{s} to {self.unknown[s]:.2g}" for s in blamed)
        return f"the search takes {values}, {where}; give {', '.join(map(str, blamed))} bounds=" if blamed else ""

    def blamed(self, limit: float) -> list[Any]:
        """The unknowns that take inertia away below a limit, and that no bound stops before that."""
        blamed: dict[Any, None] = {}
        for state, shares, directions in self.relative_inertias:
            for e in directions[shares <= limit]:
                for s, x in self.unknown.items():
                    inertia = lambda y, s=s, e=e, state=state: float(e @ state.matrices({**self.unknown, s: y})[0] @ e)
                    bound = self.bounds.get(s, (-np.inf, np.inf))[int(x > self.first[s])]
                    if inertia(self.first[s]) > limit and not (np.isfinite(bound) and inertia(float(bound)) > PIVOT):
                        blamed[s] = None
        return list(blamed)


__all__ = ["lost_by_design", "lost_inertia", "negative_inertia"]
