"""Joint loads: the wrench in each joint, the regressor of the inertial parameters, and the Coriolis matrix.

Wrenches go inwards as in `rnea`, but over bodies as they are given (`lay_out(nodes, booked=False)`): assigning a body's mass to
its predecessor changes no joint force, but every wrench.

    f_k = net_k + Σ X* f_child        τ = Sᵀ f + rotors and damping        net_k = Σ_j (net force of unit j) π_kj
    C_ij = S_iᵀ Σ_k (B_k S_j + I_k Ṡ_j)        B x = ½ (V ×* I x + x ×* I V − I (V × x))        (Echeandia, Wensing 2021)

The sum of C goes over the bodies behind both joints; C is built from the Christoffel symbols, and Ṁ = C + Cᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import ModelError
from appell.tree.algorithms import force_parts, moments, outward_motions
from appell.tree.frames import FrameLayout
from appell.tree.inertia import Inertia, has_symbols
from appell.tree.kinematics import velocities
from appell.tree.spatial import (
    Scalar,
    Six,
    Vector,
    add,
    column_dot,
    cross,
    dot,
    force_cross,
    inertia_times,
    motion_cross,
    six_in,
    six_out,
)

Scalars = Sequence[Scalar]

TEN = ("m", "h_x", "h_y", "h_z", "J_xx", "J_xy", "J_yy", "J_xz", "J_yz", "J_zz")
"""The parameters of a body about the origin and on the axes of its joint's frame, in Pinocchio's order; h = m c."""


def wrenches(layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars) -> list[list[Scalar]]:
    """(joints, 6): [force | moment] transmitted to each successor through its joint, at its origin and on its axes."""
    transforms, motions = outward_motions(layout, gravity, q, v, a)
    forces = [force_parts(*moments(link.inertia), motion) for link, motion in zip(layout.links, motions, strict=True)]
    for n, link in reversed(list(enumerate(layout.links))):
        if link.node.parent >= 0:
            forces[link.node.parent] = add(forces[link.node.parent], six_in(transforms[n], forces[n]))
    return [_in_joint_frame(link.frame.R, link.frame.p, f) for link, f in zip(layout.links, forces, strict=True)]


def _in_joint_frame(R: np.ndarray, p: np.ndarray, f: Six) -> list[Scalar]:
    """[moment | force] in a frame placed at (R, p) → [force | moment] in the outer one."""
    turned = lambda x: [dot([float(y) for y in row], x) for row in R]
    force: Vector = turned(f[3:])
    return [*force, *add(turned(f[:3]), cross([float(y) for y in p], force))]


def regressor(layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars) -> list[list[Scalar]]:
    """Y (nv, 10 n) of τ = Y π, bodies in the order of the joints, each with its `TEN`; without rotors and damping."""
    transforms, motions = outward_motions(layout, gravity, q, v, a)
    columns = [link.columns(q) for link in layout.links]
    nv = sum(link.node.kind.nv for link in layout.links)
    Y: list[list[Scalar]] = [[0.0] * (10 * len(layout.links)) for _ in range(nv)]
    for k, (link, motion) in enumerate(zip(layout.links, motions, strict=True)):
        for j, unit in enumerate(units()):
            force, n = force_parts(*moments(unit.seen_from(link.frame.inverse)), motion), k
            while n >= 0:
                for S, row in zip(columns[n], layout.links[n].velocities, strict=True):
                    Y[row][10 * k + j] = column_dot(S, force)
                force, n = six_in(transforms[n], force), layout.links[n].node.parent
    return Y


def units() -> list[Inertia]:
    """Ten unphysical unit bodies, each with one parameter equal to 1, in the order of `TEN`; P = ½ tr(J) − J."""
    bodies = [Inertia(1.0, np.zeros(3), np.zeros((3, 3)))]
    bodies += [Inertia(0.0, np.eye(3)[i], np.zeros((3, 3))) for i in range(3)]
    for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
        J = np.zeros((3, 3))
        J[i, j] = J[j, i] = 1.0
        bodies.append(Inertia(0.0, np.zeros(3), np.trace(J) / 2 * np.eye(3) - J))
    return bodies


def ten_of(body: Inertia) -> np.ndarray:
    """π of a body, (10,), in the order of `TEN`."""
    J = body.J
    ten = [body.m, *body.h, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]]
    return np.array(ten, dtype=object if has_symbols(np.array(ten, dtype=object)) else float)


def coriolis(layout: FrameLayout, q: Scalars, v: Scalars) -> list[list[Scalar]]:
    """C(q, v), (nv, nv), from the Christoffel symbols: M a + C v + gravity = τ, Ṁ = C + Cᵀ."""
    links = layout.links
    turning = [link.node for link in links if not link.node.kind.subspace.constant]
    if turning:
        raise ModelError(f"joint '{turning[0].name}' has axes that turn in its own body; its Coriolis matrix is not available")
    transforms, columns = [link.steps(q) for link in links], [link.columns(q) for link in links]
    V = velocities(layout, transforms, q, v)
    momenta = [inertia_times(*moments(link.inertia), V[n]) for n, link in enumerate(links)]
    nv = sum(link.node.kind.nv for link in links)
    C: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
    for n, link in enumerate(links):
        behind = _behind(layout, n)
        for S, k in zip(columns[n], link.velocities, strict=True):
            moved = {n: (S, motion_cross(V[n], S))}
            for m in behind[1:]:
                moved[m] = tuple(six_out(transforms[m], x) for x in moved[links[m].node.parent])  # type: ignore[assignment]
            forces = {m: _share(links[m].inertia, V[m], momenta[m], *moved[m]) for m in behind}
            for m in reversed(behind[1:]):
                parent = links[m].node.parent
                forces[parent] = add(forces[parent], six_in(transforms[m], forces[m]))
            for m in behind:
                for row, T in zip(links[m].velocities, columns[m], strict=True):
                    C[row][k] = column_dot(T, forces[m])
            force, m = six_in(transforms[n], forces[n]), link.node.parent
            while m >= 0:
                for row, T in zip(links[m].velocities, columns[m], strict=True):
                    C[row][k] = column_dot(T, force)
                force, m = six_in(transforms[m], force), links[m].node.parent
    return C


def _behind(layout: FrameLayout, n: int) -> list[int]:
    """n and the links that it carries, predecessors first."""
    behind = [n]
    for m in range(n + 1, len(layout.links)):
        if layout.links[m].node.parent in behind:
            behind.append(m)
    return behind


def _share(body: Inertia, V: Six, momentum: Six, x: Six, rate: Six) -> Six:
    """B x + I ẋ of one body."""
    m, h, P = moments(body)
    turned, carried = force_cross(V, inertia_times(m, h, P, x)), force_cross(x, momentum)
    moved = inertia_times(m, h, P, motion_cross(V, x))
    twice = [s + t - u for s, t, u in zip(turned, carried, moved, strict=True)]
    return add([0.5 * y for y in twice], inertia_times(m, h, P, rate))


__all__ = ["TEN", "coriolis", "regressor", "ten_of", "units", "wrenches"]
