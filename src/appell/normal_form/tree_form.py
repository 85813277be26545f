"""A tree in the normal form, by its recursive algorithms on the graph.

    M by composite bodies,  h = rnea(q, v, 0) without gravity,  weight = −rnea(q, 0, 0) = −NᵀV_q,  T = ½ Σ V·(I V)

M a = Q − h without rows is solved by articulated bodies in O(n), M never being formed: the inertia as an operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from appell.graph.algebra import Value, jacobian, zeros
from appell.graph.scalar import scalars, stacked
from appell.normal_form.inertia import Inertia
from appell.normal_form.kinematics import Kinematics
from appell.tree import algorithms, kinematics
from appell.tree.frames import Layout
from appell.tree.system import TreeSystem

NO_GRAVITY = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Weight:
    """Gravity: its potential energy V and the forces −NᵀV_q, (nv, 1)."""

    V: Value
    Q: Value


def tree_inertia(system: TreeSystem, kin: Kinematics) -> Inertia:
    """M, h and T of the tree, rotors included; time and the frame do no work."""
    layout, nv = _undamped(system), system.nv
    q, v = scalars(kin.q), scalars(kin.v)
    M = stacked([x for row in algorithms.crba(layout, q) for x in row]).reshape((nv, nv))
    bias = stacked(algorithms.rnea(layout, NO_GRAVITY, q, v, [0.0] * nv))
    T = stacked([kinematics.kinetic_energy(layout, q, v)])
    return Inertia(M, bias, T, T, zeros(1), "tree")


def _undamped(system: TreeSystem) -> Layout:
    """The bodies of the tree; the damping of its joints is among the forces of the system."""
    layout = system.tree.layout
    links = [replace(link, node=replace(link.node, damping=(0.0,) * link.node.kind.nv)) for link in layout.links]
    return Layout(tuple(links), layout.ground)


def tree_weight(system: TreeSystem, kin: Kinematics) -> Weight:
    """V = −g·Σ m c and the forces that hold the tree at rest, with the opposite sign."""
    layout, gravity, q = system.tree.layout, system.tree.gravity, scalars(kin.q)
    rest = [0.0] * system.nv
    V = stacked([kinematics.potential_energy(layout, gravity, q)])
    return Weight(V, -stacked(algorithms.rnea(layout, gravity, q, rest, rest)))


def tree_loads(system: TreeSystem, kin: Kinematics) -> Value:
    """Q = Σ (∂u/∂v)ᵀ F over the loads F with the velocities u on which they do work, (nv, 1)."""
    Q = zeros(system.nv)
    for F, u in system.frame_loads:
        Q += jacobian(kin.lower.column(u), kin.v).T @ kin.lower.column(F)
    return Q


def articulated(system: TreeSystem, kin: Kinematics, forces: Value) -> Value:
    """a of M a + h = Q, (nv, 1), by articulated bodies; gravity accelerates the ground upwards."""
    system.tree.refuse_massless()
    loads = forces - kin.N.T @ kin.slope(kin.lower(system.potential))
    q, v, tau = scalars(kin.q), scalars(kin.v), scalars(loads)
    return stacked(algorithms.aba(_undamped(system), system.tree.gravity, q, v, tau))
