"""The normal form of a tree, by recursive algorithms on the graph.

    M by composite bodies (crba),  h = rnea(q, v, 0) without gravity,  weight = −rnea(q, 0, 0) = −NᵀV_q,  T = ½ Σ V·(I V)

Without rows, M a = Q − h is solved by the articulated-body algorithm in O(n), and M is never formed. Its pivots also show
whether M is positive definite: M = L D Lᵀ from the tips inwards, M > 0 where every D_k > 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from appell.graph import Lowering, make_fn
from appell.graph.algebra import Value, block_matrix, jacobian, take, zeros
from appell.graph.scalar import scalars, stacked
from appell.normal_form.inertia_terms import InertiaTerms
from appell.normal_form.kinematic_map import Kinematics
from appell.normal_form.mechanics_table import Mechanics, mechanics
from appell.normal_form.sampling import finite_samples
from appell.tree import algorithms, kinematics
from appell.tree.frames import FrameLayout, size_of
from appell.tree.spatial import (
    Matrix,
    Scalar,
    Six,
    Steps,
    Vector,
    add,
    column_dot,
    inertia_in,
    moments_in,
    six_in,
    six_out,
)
from appell.tree.symbols.lowering import TreeLowering
from appell.tree.tree_system import TreeSystem

Array = NDArray[np.float64]
NO_GRAVITY = (0.0, 0.0, 0.0)


class TreeMechanics(Mechanics):
    """The mechanics of a `TreeSystem`."""

    def lowering(self, seeds: Mapping[Symbol, Value], q: Value, v: Value, a: Value) -> Lowering:
        return TreeLowering(seeds, self.system, q, v, a)

    def inertia(self, kin: Kinematics) -> InertiaTerms:
        """M, h and T of the tree, rotors included; there are no terms from time or a moving frame."""
        q, v, at_rest = scalars(kin.q), scalars(kin.v), [0.0] * self.system.nv
        T = stacked([kinematics.kinetic_energy(self.undamped, q, v)])
        bias = lambda: stacked(algorithms.rnea(self.undamped, NO_GRAVITY, q, v, at_rest))
        return InertiaTerms(lambda: (mass_matrix(self.undamped, q), bias()), T, T, zeros(1), "tree")

    def forces(self, kin: Kinematics) -> Value:
        """The joint forces, and Σ (∂u/∂v)ᵀ F over the loads F and the velocities u of their points."""
        Q = super().forces(kin)
        for F, u in self.system.frame_loads:
            Q += jacobian(kin.lower.column(u), kin.v).T @ kin.lower.column(F)
        return Q

    def potential(self, kin: Kinematics) -> Value:
        """The given potential plus −g·Σ m c."""
        weight = kinematics.potential_energy(self.system.tree.layout, self.system.tree.gravity, scalars(kin.q))
        return super().potential(kin) + stacked([weight])

    def pull(self, kin: Kinematics) -> Value:
        """The generalized force of the given potential and of gravity."""
        tree, at_rest = self.system.tree, [0.0] * self.system.nv
        return self._spring(kin) - stacked(algorithms.rnea(tree.layout, tree.gravity, scalars(kin.q), at_rest, at_rest))

    def _spring(self, kin: Kinematics) -> Value:
        """−NᵀV_q of the given potential, (nv, 1)."""
        return -(kin.N.T @ kin.slope(kin.lower(self.system.potential)))

    def free(self, kin: Kinematics, forces: Value) -> Value:
        """The accelerations without rows, by the articulated-body algorithm; gravity is an upward acceleration of the
        ground."""
        tree = self.system.tree
        tree.refuse_massless()
        loads = scalars(forces + self._spring(kin))
        return stacked(algorithms.aba(self.undamped, tree.gravity, scalars(kin.q), scalars(kin.v), loads))

    def massive(self, least: float) -> bool:
        """Whether M is positive definite, in O(n) for any rows: λ_min >= 1/Σ M_kk (M⁻¹)_kk. Without rows all expressions are
        lowered here as well, since no later check does it."""
        system, kin = self.system, self.kinematics()
        if not system.constraints:
            faces = [e for face in system.unilateral for e in (face.function, face.restitution)]
            kin.lower.column([*system._expressions(), *faces])
            system.tree.refuse_massless()
        balls = [[system.coordinates.index(q) for q in ball.coordinates] for ball in system.quaternions]
        moved = take(kin.qd, range(kin.coordinate_count))
        rate = make_fn(
            "rate", {"q": (kin.q, (system.nq,)), "v": (kin.v, (system.nv,))}, {"qd": (moved, (kin.coordinate_count,))}
        )
        q = np.array([inputs[0] for inputs, _ in finite_samples(rate, count=6, quaternions=balls)])
        nodes = system.tree.nodes
        q[:, [node.iq + k for node in nodes for k in node.kind.lengths]] *= size_of(nodes)
        return bool(inverse_trace(system.tree.layout, q).min() < 1 / least)

    @cached_property
    def undamped(self) -> FrameLayout:
        """The bodies of the tree without joint damping, which is among the forces of the system."""
        layout = self.system.tree.layout
        links = [replace(link, node=replace(link.node, damping=(0.0,) * link.node.kind.nv)) for link in layout.links]
        return FrameLayout(tuple(links), layout.ground)


mechanics.register(TreeSystem, TreeMechanics)


@dataclass(frozen=True)
class Forces:
    """Columns of M on their way inwards: the forces [moment | force], six rows, that a unit v̇_k requires from the bodies
    behind k."""

    k: list[int]
    six: Six

    @staticmethod
    def joined(parts: Sequence[Forces]) -> Forces:
        six: Six = [block_matrix([[Value(part.six[i]) for part in parts]]) for i in range(6)]
        return Forces([k for part in parts for k in part.k], six)


def mass_matrix(layout: FrameLayout, q: Sequence[Value]) -> Value:
    """`algorithms.crba`, (nv, nv), all columns behind a link carried inwards together: the number of calls grows with n, not
    n²."""
    links = layout.links
    composite = [algorithms.moments(link.inertia) for link in links]
    inward: list[list[Forces]] = [[] for _ in links]
    nv = sum(link.node.kind.nv for link in links)
    M = Value.zeros(nv, nv)
    for n in reversed(range(len(links))):
        node, steps, moments = links[n].node, links[n].steps(q), composite[n]
        I = algorithms.six_by_six(*moments)
        columns = links[n].columns(q)
        unit_forces = [
            Forces([k], [column_dot(S, row) for row in I]) for S, k in zip(columns, links[n].velocities, strict=True)
        ]
        forces = Forces.joined([*inward[n], *unit_forces])
        for i, l in enumerate(links[n].velocities):
            row = column_dot(columns[i], forces.six)
            M[l, forces.k], M[forces.k, l] = row, row.T
            M[l, l] += node.armature[i]
        if node.parent >= 0:
            composite[node.parent] = _sum_of_moments(composite[node.parent], moments_in(steps, *moments))
            inward[node.parent].append(Forces(forces.k, six_in(steps, forces.six)))
    return M


Moments = tuple[Scalar, Vector, Matrix]


def _sum_of_moments(a: Moments, b: Moments) -> Moments:
    """Mass, first and second moments of two bodies about one origin."""
    return a[0] + b[0], add(a[1], b[1]), [add(x, y) for x, y in zip(a[2], b[2], strict=True)]


@dataclass(frozen=True)
class EliminatedAxes:
    """A joint axis S eliminated at a batch of configurations: S, K = U/D, (6, batch); M_kk and D, (batch,)."""

    S: Array
    diagonal: Array
    D: Array
    K: Array


def inverse_trace(layout: FrameLayout, q: Array) -> Array:
    """Σ_k M_kk (M⁻¹)_kk at configurations q (batch, nq), (batch,), in O(n); inf where M is not positive definite.

    This is the trace of M⁻¹ for M scaled to a unit diagonal, between 1/λ_min and nv/λ_min of the scaled M. After the pivots
    comes an outward pass: a force f on a body accelerates it by Ω f, (6, 6), its predecessor alone by Ω' f = X Ω Xᵀ f, and

        (M⁻¹)_kk = 1/D + K·Ω'K            Ω = (1 − S Kᵀ) Ω' (1 − S Kᵀ)ᵀ + S Sᵀ/D
    """
    transforms = [link.steps(list(q.T)) for link in layout.links]
    total, positive, responses = np.zeros(len(q)), np.ones(len(q), dtype=bool), []
    with np.errstate(all="ignore"):  # after D = 0 the results are not numbers
        for link, steps, pivots in zip(layout.links, transforms, _pivots(layout, transforms, q), strict=True):
            parent = link.node.parent
            Omega = np.zeros((6, 6, len(q))) if parent < 0 else _carried(steps, responses[parent])
            for pivot in reversed(pivots):
                Omega_K = np.einsum("ijb,jb->ib", Omega, pivot.K)
                inverse = 1 / pivot.D + (pivot.K * Omega_K).sum(axis=0)
                Omega -= pivot.S[:, None] * Omega_K + Omega_K[:, None] * pivot.S
                Omega += pivot.S[:, None] * pivot.S * inverse
                total += pivot.diagonal * inverse
                positive &= pivot.D > 0
            responses.append(Omega)
    return np.where(positive, total, np.inf)


def _pivots(layout: FrameLayout, transforms: Sequence[Steps], q: Array) -> list[list[EliminatedAxes]]:
    """The pivots of each link, by articulated bodies from the tips inwards: I ← I − U Uᵀ/D, U = I S, D = S·U + rotor."""
    batched = lambda rows: np.array([np.broadcast_to(x, len(q)) for x in rows])
    composite = [algorithms.moments(link.inertia) for link in layout.links]
    inertia = [algorithms.six_by_six(*moments) for moments in composite]
    eliminated: list[list[EliminatedAxes]] = [[] for _ in layout.links]
    for n, link in reversed(list(enumerate(layout.links))):
        composite_inertia, parent = algorithms.six_by_six(*composite[n]), link.node.parent
        for S, rotor in zip(link.columns(list(q.T)), link.node.armature, strict=True):
            U = batched([column_dot(S, row) for row in inertia[n]])
            D = column_dot(S, list(U)) + rotor
            total = column_dot(S, [column_dot(S, row) for row in composite_inertia]) + rotor
            eliminated[n].append(EliminatedAxes(batched(S), np.broadcast_to(total, len(q)), D, U / D))
            inertia[n] = [[x - u * k for x, k in zip(row, U / D, strict=True)] for row, u in zip(inertia[n], U, strict=True)]
        if parent >= 0:
            inertia[parent] = [add(x, y) for x, y in zip(inertia[parent], inertia_in(transforms[n], inertia[n]), strict=True)]
            composite[parent] = _sum_of_moments(composite[parent], moments_in(transforms[n], *composite[n]))
    return eliminated


def _carried(steps: Steps, Omega: Array) -> Array:
    """X Ω Xᵀ, (6, 6, batch), from predecessor to successor."""
    X_Omega = np.array(six_out(steps, list(Omega)))
    return np.array(six_out(steps, list(X_Omega.swapaxes(0, 1)))).swapaxes(0, 1)
