"""Inverse and forward dynamics in O(n), and the mass matrix.

Newton and Euler for a body with moments m, h, P about its origin, whose acceleration is a:

    force  f = m a + U h            moment  n = h × a + vee(U P − P Uᵀ),            U = [α×] + [ω×]²

No linear velocity enters (Galilei). Gravity is an acceleration −g of the ground. Vectors are on the chosen axes of
each body (`frames`); q, v, tau are sequences of scalars: floats, batches or graph values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from appell.rows import RANK_LOST, singular_values
from appell.tree.frames import FramedLink, FrameLayout, Node, size_of
from appell.tree.inertia import Array, Inertia
from appell.tree.spatial import (
    Matrix,
    Scalar,
    Six,
    SpatialMotion,
    Steps,
    Vector,
    add,
    axis_of,
    column_dot,
    cross,
    dot,
    inertia_in,
    inertia_times,
    moments_in,
    motion_out,
    scaled,
    six_in,
    six_out,
)

Scalars = Sequence[Scalar]
Columns = Sequence[Sequence[Six]]


def ground_motion(gravity: Scalars) -> SpatialMotion:
    return SpatialMotion([0.0] * 3, [0.0] * 3, [0.0 - g for g in gravity])


def transported(steps: Steps, before: SpatialMotion, joint: Six, drift: Six | None) -> SpatialMotion:
    """The motion of a successor without its term S v̇:  ω' + w_J,  α' + ω' × w_J,  a' + (2 ω' + w_J) × v_J,  and Ṡ v."""
    moved = motion_out(steps, before)
    w_J, v_J = joint[:3], joint[3:]
    twice = [2.0 * x + y for x, y in zip(moved.w, w_J, strict=True)]
    al, a = add(moved.al, cross(moved.w, w_J)), add(moved.a, cross(twice, v_J))
    if drift is not None:
        al, a = add(al, drift[:3]), add(a, drift[3:])
    return SpatialMotion(add(moved.w, w_J), al, a)


def net_force(body: Inertia, motion: SpatialMotion) -> Six:
    """[moment | force] that gives one body this motion."""
    return force_parts(*moments(body), motion)


def force_parts(m: Scalar, h: Vector, P: Matrix, motion: SpatialMotion) -> Six:
    """`net_force` from mass, first and second moments of a body."""
    U, a = motion.second_rate(), motion.a
    return [*add(cross(h, a), _moment(U, P)), *(m * a[n] + dot(U[n], h) for n in range(3))]


def _moment(U: Matrix, P: Matrix) -> Vector:
    """vee(U P − (U P)ᵀ) = ∫ r × U r dm; differences of U's diagonal are formed first, because their ω² terms cancel."""
    return [
        U[2][0] * P[0][1] - U[1][0] * P[0][2] + (U[2][2] - U[1][1]) * P[1][2] + U[2][1] * P[1][1] - U[1][2] * P[2][2],
        U[0][1] * P[1][2] - U[2][1] * P[0][1] + (U[0][0] - U[2][2]) * P[0][2] + U[0][2] * P[2][2] - U[2][0] * P[0][0],
        U[1][2] * P[0][2] - U[0][2] * P[1][2] + (U[1][1] - U[0][0]) * P[0][1] + U[1][0] * P[0][0] - U[0][1] * P[1][1],
    ]


def moments(body: Inertia) -> tuple[Scalar, Vector, Matrix]:
    """Mass, first and second moments as plain floats; graph values are kept."""
    return _plain(body.m), [_plain(x) for x in body.h], [[_plain(x) for x in row] for row in body.P]


def _plain(x: Scalar) -> Scalar:
    return float(x) if isinstance(x, float | int | np.number) else x


def outward_motions(
    layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars
) -> tuple[list[Steps], list[SpatialMotion]]:
    """The steps to each link and its motion; gravity enters as an acceleration of the ground."""
    ground, motions, transforms = ground_motion(gravity), [], []
    for link in layout.links:
        before = ground if link.node.parent < 0 else motions[link.node.parent]
        steps, S = link.steps(q), link.columns(q)
        moved, rate = transported(steps, before, link.spread(S, v), link.drift(q, v)), link.spread(S, a)
        motions.append(SpatialMotion(moved.w, add(moved.al, rate[:3]), add(moved.a, rate[3:])))
        transforms.append(steps)
    return transforms, motions


def rnea(layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """τ of M a + h(q, v) = τ: motions outwards, forces inwards."""
    transforms, motions = outward_motions(layout, gravity, q, v, a)
    columns = [link.columns(q) for link in layout.links]
    forces = [net_force(link.inertia, motion) for link, motion in zip(layout.links, motions, strict=True)]
    tau: list[Scalar] = [0.0] * sum(link.node.kind.nv for link in layout.links)
    for n in reversed(range(len(layout.links))):
        link = layout.links[n]
        for i, k in enumerate(link.velocities):
            losses = link.node.armature[i] * a[k] + link.node.damping[i] * v[k]
            tau[k] = column_dot(columns[n][i], forces[n]) + losses
        if link.node.parent >= 0:
            forces[link.node.parent] = add(forces[link.node.parent], six_in(transforms[n], forces[n]))
    return tau


def crba(layout: FrameLayout, q: Scalars) -> list[list[Scalar]]:
    """M(q), (nv, nv): the force that a unit acceleration of one joint requires from the composite body behind it."""
    links = layout.links
    transforms, columns = [link.steps(q) for link in links], [link.columns(q) for link in links]
    composite = [moments(link.inertia) for link in links]
    nv = sum(link.node.kind.nv for link in links)
    M: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
    for n in reversed(range(len(links))):
        link, (m, h, P) = links[n], composite[n]
        for i, k in enumerate(link.velocities):
            _fill(M, links, transforms, columns, n, k, force_of(columns[n][i], m, h, P))
            M[k][k] = M[k][k] + link.node.armature[i]
        if link.node.parent >= 0:
            child, parent = moments_in(transforms[n], m, h, P), composite[link.node.parent]
            composite[link.node.parent] = (
                parent[0] + child[0],
                add(parent[1], child[1]),
                [add(x, y) for x, y in zip(parent[2], child[2], strict=True)],
            )
    return M


def force_of(S: Six, m: Scalar, h: Vector, P: Matrix) -> Six:
    """[[J, h×], [−h×, m]] S of a column."""
    axis = axis_of(S)
    return inertia_times(m, h, P, S) if axis is None else _unit_force(axis, m, h, P)


def _unit_force(axis: int, m: Scalar, h: Vector, P: Matrix) -> Six:
    """Column `axis` of [[J, h×], [−h×, m]]."""
    e: Vector = [0.0] * 3
    e[axis % 3] = 1.0
    if axis >= 3:
        return [*cross(h, e), *(m * x for x in e)]
    j, k = (axis + 1) % 3, (axis + 2) % 3
    n: Vector = [-P[axis][i] for i in range(3)]
    n[axis] = P[j][j] + P[k][k]
    return [*n, *cross(e, h)]


def _fill(
    M: list[list[Scalar]],
    links: Sequence[FramedLink],
    transforms: Sequence[Steps],
    columns: Columns,
    n: int,
    k: int,
    force: Six,
) -> None:
    """Row and column k of M: the force is carried inwards and projected on every joint axis on the way."""
    while True:
        node = links[n].node
        for S, l in zip(columns[n], links[n].velocities, strict=True):
            M[k][l] = M[l][k] = column_dot(S, force)
        if node.parent < 0:
            return
        force = six_in(transforms[n], force)
        n = node.parent


@dataclass(frozen=True)
class EliminatedAxis:
    """One eliminated joint axis S: U = I S of the articulated inertia, −1/D, and u = τ − S·p.

    −1/D instead of 1/D, because the graph would turn every x·(1/D) back into a division.
    """

    S: Six
    k: int
    U: Six
    minus_inverse: Scalar
    u: Scalar


def aba(layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, tau: Scalars) -> list[Scalar]:
    """v̇ of M v̇ + h(q, v) = τ in O(n): Golubev's equations eliminated link by link from the tips.

    Accelerations are split into a reference a⁰ that carries all velocity terms and gravity, with a⁰ = 0 along every
    free axis, and a remainder δ, which is linear. With articulated inertia I and force p of everything behind a joint axis k,

        δ_k = (τ_k − p_k − Σ_{j≠k} I_kj δ_j)/I_kk,      I ← I − U Uᵀ/I_kk,   p ← p + U (τ_k − p_k)/I_kk,   U = I e_k,

    and v̇_k = δ_k − (acceleration of the predecessor along k). A column S that is not a unit vector is not a free axis of a⁰;
    there U = I S, D = S·U, and v̇_k = (τ_k − S·p − U·δ)/D.
    """
    links, ground = layout.links, ground_motion(gravity)
    transforms, columns, motions, carried, inertia, force = [], [], [], [], [], []
    for link in links:
        before = ground if link.node.parent < 0 else motions[link.node.parent]
        transforms.append(link.steps(q))
        columns.append(link.columns(q))
        moved = transported(transforms[-1], before, link.spread(columns[-1], v), link.drift(q, v))
        reference, axes = [*moved.al, *moved.a], [axis_of(S) for S in columns[-1]]
        carried.append([0.0 if axis is None else reference[axis] for axis in axes])
        for axis in axes:
            if axis is not None:
                reference[axis] = 0.0
        motions.append(SpatialMotion(moved.w, reference[:3], reference[3:]))
        inertia.append(six_by_six(*moments(link.inertia)))
        force.append(net_force(link.inertia, motions[-1]))
    pivots: list[list[EliminatedAxis]] = [[] for _ in links]
    for n in reversed(range(len(links))):
        link = links[n]
        for i, k in enumerate(link.velocities):
            rotor = link.node.armature[i]
            load = tau[k] - link.node.damping[i] * v[k] + rotor * carried[n][i]
            pivot, inertia[n], force[n] = _eliminate(columns[n][i], k, inertia[n], force[n], load, rotor)
            pivots[n].append(pivot)
        if link.node.parent >= 0:
            p = link.node.parent
            inertia[p] = [add(x, y) for x, y in zip(inertia[p], inertia_in(transforms[n], inertia[n]), strict=True)]
            force[p] = add(force[p], six_in(transforms[n], force[n]))
    return _outwards(links, transforms, pivots, carried)


def six_by_six(m: Scalar, h: Vector, P: Matrix) -> Matrix:
    """[[J, h×], [−h×, m]] of a body with second moments P, J = tr P − P."""
    return [_unit_force(axis, m, h, P) for axis in range(6)]


def _eliminate(S: Six, index: int, I: Matrix, p: Six, load: Scalar, rotor: float) -> tuple[EliminatedAxis, Matrix, Six]:
    """Eliminates one axis. If S is the unit vector e_k and there is no rotor, row k of the result is exactly 0 and p_k the
    load."""
    U = [column_dot(S, row) for row in I]
    k = None if rotor else axis_of(S)
    u = load - column_dot(S, p)
    minus_inverse = -1.0 / (column_dot(S, U) + rotor)
    W = [x * minus_inverse for x in U]
    remaining: Matrix = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            if k is None or k not in (i, j):
                remaining[i][j] = remaining[j][i] = I[i][j] + U[i] * W[j]
    s = minus_inverse * u
    p = [load if i == k else p[i] - U[i] * s for i in range(6)]
    return EliminatedAxis(S, index, U, minus_inverse, u), remaining, p


def pivots_at(layout: FrameLayout) -> list[tuple[list[float], Array]]:
    """The pivots D of `aba`, joint by joint, at a generic configuration: the inertia that each joint axis moves.

    Each with the articulated inertia on the axes of its joint, rotors included.
    """
    q = _generic_configuration(layout)
    inertia, values = [six_by_six(*moments(link.inertia)) for link in layout.links], []
    for n in reversed(range(len(layout.links))):
        node, pivots = layout.links[n].node, []
        columns = layout.links[n].columns(q)
        S = np.array(columns, dtype=float).reshape(-1, 6)
        articulated = S @ np.array(inertia[n], dtype=float) @ S.T + np.diag(node.armature)
        for i, column in enumerate(columns):
            D = column_dot(column, [column_dot(column, row) for row in inertia[n]]) + node.armature[i]
            pivots.append(D)
            if D > 0:
                _, inertia[n], _ = _eliminate(column, 0, inertia[n], [0.0] * 6, 0.0, node.armature[i])
        values.append((pivots, articulated))
        if node.parent >= 0:
            moved = inertia_in(layout.links[n].steps(q), inertia[n])
            inertia[node.parent] = [add(x, y) for x, y in zip(inertia[node.parent], moved, strict=True)]
    return values[::-1]


def immovable(layout: FrameLayout) -> tuple[Node, str] | None:
    """The first joint whose acceleration is not determined by a positive inertia, and why."""
    for link, (mass, size), (values, articulated) in zip(layout.links, _sizes(layout), pivots_at(layout), strict=True):
        if not all(map(isfinite, values)):
            return link.node, "moves bodies whose masses and lengths overflow; mend their units"
        columns = link.columns(_generic_configuration(layout))
        sizes = [
            dot(S[:3], S[:3]) * size + dot(S[3:], S[3:]) * mass + rotor
            for S, rotor in zip(columns, link.node.armature, strict=True)
        ]
        if all(1e-14 * scale < D for D, scale in zip(values, sizes, strict=True)):
            continue
        if min(values) < -1e-12 * max(sizes):
            return link.node, f"moves a negative inertia ({min(values):.3g}): a body behind it has a negative principal moment"
        return link.node, (
            f"moves {_missing(link, articulated)}, so its acceleration is not determined. "
            "Give them <inertial>, or an armature to the joint"
        )
    return None


def _sizes(layout: FrameLayout) -> list[tuple[float, float]]:
    """Mass (kg) and second moments (kg m²) of the bodies behind each joint: an inertia at the rounding level of these is
    zero."""
    sizes = [np.array([abs(link.node.inertia.m), abs(link.node.inertia.P).max()]) for link in layout.links]
    for n, link in reversed(list(enumerate(layout.links))):
        if link.node.parent >= 0:
            sizes[link.node.parent] += sizes[n]
    return [(float(m), float(P)) for m, P in sizes]


def _generic_configuration(layout: FrameLayout) -> list[float]:
    """A generic configuration, (nq,), without symmetry; lengths are of the size of the tree."""
    q: list[float] = []
    size = size_of([link.node for link in layout.links])
    for link in layout.links:
        entries = link.node.kind.generic_coordinates(len(q))
        q += [x * size if k in link.node.kind.lengths else x for k, x in enumerate(entries)]
    return q


def _missing(link: FramedLink, articulated: Array) -> str:
    """The inertia that the bodies behind a joint lack, as text: from the rotations in the null space of their inertia."""
    values, vectors = np.linalg.eigh(articulated)
    kernel = vectors[:, values <= 1e-12 * max(values)]
    turns = [i for i, axis in enumerate(link.node.kind.subspace.axes or ()) if axis < 3]
    nullity = kernel.shape[1]
    if len(turns) < 3 or nullity in (0, len(values)) or (singular_values(kernel[turns]) > RANK_LOST).sum() < nullity:
        return "nothing: the bodies behind it have no inertia along it"
    if nullity > 1:
        return f"point masses: the bodies behind it have no moments of inertia about {nullity} axes"
    axis = kernel[turns, 0] / np.linalg.norm(kernel[turns, 0])
    axis *= np.sign(axis[np.argmax(abs(axis))])
    return f"a thin rod: the bodies behind it have no moment of inertia about {(axis.round(4) + 0.0).tolist()} of its frame"


def _outwards(
    links: Sequence[FramedLink],
    transforms: Sequence[Steps],
    pivots: Sequence[Sequence[EliminatedAxis]],
    carried: Sequence[Scalars],
) -> list[Scalar]:
    """Back substitution: δ from the base to the tips, in the reverse order of elimination."""
    vd: list[Scalar] = [0.0] * sum(link.node.kind.nv for link in links)
    delta: list[Six] = []
    for n, link in enumerate(links):
        start = six_out(transforms[n], delta[link.node.parent]) if link.node.parent >= 0 else [0.0] * 6
        x = list(start)
        for i, pivot in reversed(list(enumerate(pivots[n]))):
            axis = axis_of(pivot.S)
            if axis is None:
                vd[pivot.k] = (dot(pivot.U, x) - pivot.u) * pivot.minus_inverse
                x = add(x, scaled(pivot.S, vd[pivot.k]))
                continue
            off_axis = dot([c for j, c in enumerate(pivot.U) if j != axis], [c for j, c in enumerate(x) if j != axis])
            incoming, rotor = x[axis], link.node.armature[i] * x[axis]
            x[axis] = (off_axis - rotor - pivot.u) * pivot.minus_inverse
            vd[pivot.k] = x[axis] - (incoming + carried[n][i])
        delta.append(x)
    return vd
