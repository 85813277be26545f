"""The joints, a table: what moves, along which axes of the successor, and which inertia belongs to either side.

Every joint has constant free axes in the frame of its successor, unit vectors of [wx wy wz vx vy vz] in the order of
its velocities. Another joint is another row of `JOINTS`.

`passed` says which moments of the successor may be booked on the predecessor without changing any motion or joint
force: a mass distribution that the joint leaves alone. For a hinge about z: mass on the axis and a rod along it,
(m, h_z, P_zz). They have the same velocities in both bodies, so T and V do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from appell.graph.scalar import Scalar, cos, sin
from appell.tree.inertia import Inertia
from appell.tree.spatial import Attitude, Matrix, Slide, Step, Turn


def rotation_of(quaternion: Sequence[Scalar]) -> Matrix:
    """R (body → space) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]


def quaternion_rate(quaternion: Sequence[Scalar], w_body: Sequence[Scalar]) -> list[Scalar]:
    """½ (w ω + (x, y, z) × ω), −½ (x, y, z)·ω with ω on the body axes: Golubev's (5.5) with the signs he prints."""
    x, y, z, w = quaternion
    a, b, c = w_body
    return [
        0.5 * (w * a + y * c - z * b),
        0.5 * (w * b + z * a - x * c),
        0.5 * (w * c + x * b - y * a),
        -0.5 * (x * a + y * b + z * c),
    ]


def turn_z(angle: Scalar, offset: float) -> Turn:
    """A turn about z by angle + offset; whole quarter turns of the offset cost nothing."""
    quarters = offset / (np.pi / 2)
    whole = round(quarters) % 4
    if abs(quarters - round(quarters)) > 1e-12:
        return Turn(2, cos(angle + offset), sin(angle + offset))
    c, s = cos(angle), sin(angle)
    return Turn(2, *[(c, s), (-s, c), (-c, -s), (s, -c)][whole])


StepsOf = Callable[[Sequence[Scalar], float], tuple[Step, ...]]
Passed = Callable[[Inertia], Inertia]


@dataclass(frozen=True)
class JointKind:
    """`steps(q, offset)` lead from the joint's frame on the predecessor to the successor's frame; z is the axis.

    `rate(q, v)` is q̇; `neutral` the configuration in which both frames agree; `axial` whether an axis is
    given; `offset` (rad) is a constant turn about z before that of a hinge.
    """

    name: str
    axes: tuple[int, ...]
    neutral: tuple[float, ...]
    steps: StepsOf
    rate: Callable[[Sequence[Scalar], Sequence[Scalar]], list[Scalar]]
    passed: Passed
    axial: bool
    hinge: bool = False  # takes the offset

    @property
    def nq(self) -> int:
        return len(self.neutral)

    @property
    def nv(self) -> int:
        return len(self.axes)

    def somewhere(self, k: int) -> list[float]:
        """A valid configuration without symmetry, another for each k; quaternions have unit length."""
        q = [float(np.sin(1.0 + 2.4 * (k + i))) for i in range(self.nq)]
        if self.nq > self.nv:
            length = float(np.linalg.norm(q[-4:]))
            q[-4:] = [x / length for x in q[-4:]]
        return q


def _hinge_passed(body: Inertia) -> Inertia:
    e = np.array([0.0, 0.0, 1.0])
    return Inertia(body.m, body.h[2] * e, body.P[2, 2] * np.outer(e, e))


def _planar_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    c, s = cos(q[2]), sin(q[2])
    return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]


def _floating_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    return [*Attitude(rotation_of(q[3:])).vector_in(list(v[:3])), *quaternion_rate(q[3:], v[3:])]


_same_rate = lambda q, v: list(v)
_nothing: Passed = lambda body: Inertia.zero()
_hinge_steps: StepsOf = lambda q, offset: (turn_z(q[0], offset),)
_slide_steps: StepsOf = lambda q, offset: (Slide(2, q[0]),)
_planar_steps: StepsOf = lambda q, offset: (Slide(0, q[0]), Slide(1, q[1]), turn_z(q[2], 0.0))
_ball_steps: StepsOf = lambda q, offset: (Attitude(rotation_of(q)),)
_free_steps: StepsOf = lambda q, offset: (*(Slide(k, q[k]) for k in range(3)), Attitude(rotation_of(q[3:])))

_UNIT = (0.0, 0.0, 0.0, 1.0)
_TABLE = (
    #         name          axes                neutral              steps          rate            passed        axial
    JointKind("revolute", (2,), (0.0,), _hinge_steps, _same_rate, _hinge_passed, True, True),
    JointKind("continuous", (2,), (0.0,), _hinge_steps, _same_rate, _hinge_passed, True, True),
    # the whole second moment: successor and predecessor turn alike
    JointKind("prismatic", (5,), (0.0,), _slide_steps, _same_rate, lambda b: Inertia(0.0, 0 * b.h, b.P), True),
    JointKind("planar", (3, 4, 2), (0.0, 0.0, 0.0), _planar_steps, _planar_rate, _nothing, True),
    JointKind(
        "spherical", (0, 1, 2), _UNIT, _ball_steps, quaternion_rate, lambda b: Inertia(b.m, 0 * b.h, 0 * b.P), False
    ),
    JointKind("floating", (3, 4, 5, 0, 1, 2), (0.0, 0.0, 0.0, *_UNIT), _free_steps, _floating_rate, _nothing, False),
    JointKind("fixed", (), (), lambda q, offset: (), lambda q, v: [], lambda body: body, False),
)
JOINTS = {kind.name: kind for kind in _TABLE}
