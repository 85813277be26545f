"""Placements, Jacobians, centre of mass, momentum, energy: everything that needs no accelerations.

Velocities go outwards, V = X V' + S v, [angular | linear] at each origin on body axes; momenta come back inwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.errors import ModelError
from appell.tree.algorithms import moments
from appell.tree.frames import FrameLayout
from appell.tree.inertia import Placement
from appell.tree.spatial import (
    Matrix,
    Scalar,
    Six,
    Slide,
    Steps,
    Vector,
    add,
    column_dot,
    cross,
    dot,
    inertia_times,
    six_in,
    six_out,
)

Scalars = Sequence[Scalar]


@dataclass(frozen=True)
class Pose:
    """A frame in the world: x_world = R x + p."""

    R: Matrix
    p: Vector

    def then(self, steps: Steps) -> Pose:
        """The frame that `steps` reach from this one."""
        R, p = self.R, self.p
        for step in steps:
            if isinstance(step, Slide):
                p = [p[n] + step.d * R[n][step.k] for n in range(3)]
            else:
                R = [step.vector_out(row) for row in R]
        return Pose(R, p)

    def at(self, X: Placement) -> Pose:
        """The frame at a constant placement X in this one."""
        R_, r = [[float(x) for x in row] for row in X.R], [float(x) for x in X.p]
        columns = list(zip(*R_, strict=True))
        return Pose([[dot(row, column) for column in columns] for row in self.R], self.point(r))

    def point(self, r: Vector) -> Vector:
        return [self.p[n] + dot(self.R[n], r) for n in range(3)]

    def turned(self, x: Vector) -> Vector:
        return [dot(row, x) for row in self.R]


WORLD = Pose([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0])


def poses(layout: FrameLayout, q: Scalars) -> list[Pose]:
    """The chosen frames of all links in the world."""
    result: list[Pose] = []
    for link in layout.links:
        before = WORLD if link.node.parent < 0 else result[link.node.parent]
        result.append(before.then(link.steps(q)))
    return result


def frame_pose(layout: FrameLayout, node: int, placement: Placement, q: Scalars) -> Pose:
    """A frame fixed to the given frame of a joint's successor (node −1: to the ground)."""
    if node < 0:
        return WORLD.at(placement)
    return poses(layout, q)[node].at(layout.links[node].frame.inverse @ placement)


def frame_jacobian(layout: FrameLayout, node: int, placement: Placement, q: Scalars, reference: str) -> list[list[Scalar]]:
    """(6, nv): the Jacobian of the [linear | angular] velocity of a frame with respect to the joint velocities.

    `reference`: "local" on the frame's axes, "aligned" at its origin on the world's axes, "world" the velocity of the
    body's point at the world's origin (Pinocchio's LOCAL, LOCAL_WORLD_ALIGNED, WORLD).
    """
    nv = sum(link.node.kind.nv for link in layout.links)
    columns: list[Vector] = [[0.0] * 6 for _ in range(nv)]
    if node < 0:
        return [list(row) for row in zip(*columns, strict=True)] if nv else [[] for _ in range(6)]
    all_poses = poses(layout, q)
    frame = all_poses[node].at(layout.links[node].frame.inverse @ placement)
    origin = [0.0] * 3 if reference == "world" else frame.p
    n = node
    while n >= 0:
        link, pose = layout.links[n], all_poses[n]
        lever = [origin[i] - pose.p[i] for i in range(3)]
        for S, k in zip(link.columns(q), link.velocities, strict=True):
            angular, linear = _turned(pose, S[:3]), _turned(pose, S[3:])
            linear = add(linear, cross(angular, lever))
            if reference == "local":
                linear, angular = _untwisted(frame, linear), _untwisted(frame, angular)
            columns[k] = [*linear, *angular]
        n = link.node.parent
    return [list(row) for row in zip(*columns, strict=True)]


def _turned(pose: Pose, x: Vector) -> Vector:
    return [column_dot([*x, 0.0, 0.0, 0.0], [*row, 0.0, 0.0, 0.0]) for row in pose.R]


def _untwisted(frame: Pose, x: Vector) -> Vector:
    return [dot([row[n] for row in frame.R], x) for n in range(3)]


def centre_of_mass(layout: FrameLayout, mass: Scalar, q: Scalars) -> Vector:
    """Σ m c / Σ m over the moving bodies, on the world's axes."""
    if isinstance(mass, float) and not mass:
        raise ModelError("there is no centre of mass, for nothing that moves has mass; give a body to a joint")
    total = [float(x) for x in layout.ground.h]
    for link, pose in zip(layout.links, poses(layout, q), strict=True):
        m, h, _ = moments(link.inertia)
        total = [total[n] + m * pose.p[n] + dot(pose.R[n], h) for n in range(3)]
    return [x / mass for x in total]


def momentum_about_origin(layout: FrameLayout, q: Scalars, v: Scalars) -> Six:
    """[K about the world's origin | m v_c], on the world's axes."""
    transforms, momenta = _momenta(layout, q, v)
    total: Six = [0.0] * 6
    for n in reversed(range(len(layout.links))):
        inward, parent = six_in(transforms[n], momenta[n][1]), layout.links[n].node.parent
        if parent < 0:
            total = add(total, inward)
        else:
            momenta[parent] = (momenta[parent][0], add(momenta[parent][1], inward))
    return total


def kinetic_energy(layout: FrameLayout, q: Scalars, v: Scalars) -> Scalar:
    """½ Σ V·(I V), with the rotors."""
    _, momenta = _momenta(layout, q, v)
    total: Scalar = 0.0
    for velocity, momentum in momenta:
        total = total + dot(velocity, momentum)
    for link in layout.links:
        for rotor, k in zip(link.node.armature, link.velocities, strict=True):
            total = total + rotor * v[k] * v[k]
    return 0.5 * total


def potential_energy(layout: FrameLayout, gravity: Scalars, q: Scalars) -> Scalar:
    """−g · Σ m c."""
    return 0.0 - dot(gravity, centre_of_mass(layout, 1.0, q))


def velocities(layout: FrameLayout, words: Sequence[Steps], q: Scalars, v: Scalars) -> list[Six]:
    """V = X V' + S v of each link on its own axes; `words`: the steps of the links at q."""
    V: list[Six] = []
    for link, steps in zip(layout.links, words, strict=True):
        columns = link.columns(q)
        before = [0.0] * 6 if link.node.parent < 0 else V[link.node.parent]
        V.append(add(six_out(steps, before), link.spread(columns, v)))
    return V


def _momenta(layout: FrameLayout, q: Scalars, v: Scalars) -> tuple[list[Steps], list[tuple[Six, Six]]]:
    """The steps of each link, and (V, I V) on its own axes."""
    transforms = [link.steps(q) for link in layout.links]
    momenta = []
    for link, V in zip(layout.links, velocities(layout, transforms, q, v), strict=True):
        momenta.append((V, inertia_times(*moments(link.inertia), V)))
    return transforms, momenta
