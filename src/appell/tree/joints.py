"""The table of joints: how the successor moves, along which of its axes, the names of coordinates, and the inertia it does not
move.

A `JointKind` is all that the library knows about a joint. A new kind is a new row of `TABLE`, or `register(kind)` from outside:

    screw = JointKind("screw", lambda q: (turn_z(q[0]), Slide(2, 0.01 * q[0])))        # 1 cm per radian
    register(screw)                                                                    # Joint("lift", "screw", …)

The steps across the joint and q̇ = N v determine the motion subspace S and its rate (`subspace`), the symbols of the joint and
its type in URDF; every algorithm takes them from here. Steps and rates are written with +, −, · and the `cos`, `sin` of this
module, so that the same code serves floats, batches, the graph and exact polynomials.

`passed` gives the moments of the successor that may be assigned to the predecessor without changing any motion or joint force:
a mass distribution that the joint does not move. For a hinge about z: mass on the axis and a rod along it, (m, h_z, P_zz). They
have the same velocities in both bodies, so T and V do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.graph.scalar import Scalar, cos, sin
from appell.reading import shown
from appell.rows import rank
from appell.tree import groups
from appell.tree.inertia import Inertia
from appell.tree.spatial import Attitude, Matrix, Six, Slide, Step, Turn
from appell.tree.subspace import Subspace, constant_subspace, derived_subspace, word_of

Rate = Callable[[Sequence[Scalar], Sequence[Scalar]], list[Scalar]]
StepsOf = Callable[[Sequence[Scalar]], tuple[Step, ...]]
Passed = Callable[[Inertia], Inertia]
Moved = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


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


def turn_z(angle: Scalar, offset: float = 0.0) -> Turn:
    """A rotation about z by angle + offset; multiples of a quarter turn in the offset cost nothing."""
    quarters = offset / (np.pi / 2)
    quarter = round(quarters) % 4
    if abs(quarters - round(quarters)) > 1e-12:
        return Turn(2, cos(angle + offset), sin(angle + offset))
    c, s = cos(angle), sin(angle)
    return Turn(2, *[(c, s), (-s, c), (-c, -s), (s, -c)][quarter])


def same_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """q̇ = v."""
    return list(v)


def nothing(body: Inertia) -> Inertia:
    """No part of an inertia."""
    return Inertia.zero()


@dataclass(frozen=True)
class Names:
    """Names of coordinates and velocities, with {} for the name of the joint; the velocity "" is that of its coordinate, x.d.

    quaternion: four components follow the coordinates, and three body rates the velocities. alone: the names of the coordinates
    where the joint is the only one of its kind in a tree; it is then the `base`.
    """

    coordinates: tuple[str, ...] = ("{}",)
    velocities: tuple[str, ...] = ("",)
    quaternion: bool = False
    alone: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class JointKind:
    """A kind of joint.

    Parameters
    ----------
    name: what `Joint(kind=…)` takes.
    steps: q → the steps from the joint's frame on the predecessor to the successor's frame: `Turn`, `Slide`, `Attitude`.
    neutral: the configuration at which both frames coincide, (nq,).
    rate: (q, v) → q̇ = N(q) v, v by default.
    axes: where S has constant unit columns, which of [wx wy wz vx vy vz] on the successor's axes they are, in the order of v;
        by default S follows from steps and rate.
    names: of coordinates and velocities; `name` or `name_1`, `name_2` … by default.
    passed: the part of the successor's inertia that may be assigned to the predecessor.
    moved, between: (q, w) → the configuration after unit time at the constant velocity w, and (q0, q1) → the w that leads from
    q0 to q1, arrays with leading axes (`groups`); q + w and q1 − q0 where q̇ = v.
    axial: whether `Joint(axis=…)` directs its z.
    urdf: its type in URDF files, "" if there is none.
    """

    name: str
    steps: StepsOf
    neutral: tuple[float, ...] = (0.0,)
    rate: Rate = same_rate
    axes: tuple[int, ...] | None = None
    names: Names | None = None
    passed: Passed = nothing
    moved: Moved | None = None
    between: Moved | None = None
    axial: bool = True
    urdf: str = ""

    @property
    def nq(self) -> int:
        return len(self.neutral)

    @property
    def nv(self) -> int:
        return self.nq - self.names_or_default.quaternion

    @cached_property
    def names_or_default(self) -> Names:
        """`names`, or the default names for nq coordinates without quaternions."""
        several = tuple(f"{{}}_{k + 1}" for k in range(self.nq))
        return self.names or Names(several if self.nq > 1 else ("{}",) * self.nq, ("",) * self.nq)

    @cached_property
    def subspace(self) -> Subspace:
        """S(q) on the successor's axes, and Ṡ v."""
        if self.axes is not None:
            return constant_subspace(self.axes)
        return derived_subspace(self.steps, self.rate, self.nq, self.nv)

    @property
    def hinge(self) -> bool:
        """Whether it is a rotation about z by q: its frame may be shifted along z and turned about it."""
        return self.nq == 1 and self.rate is same_rate and self.subspace.axes == (2,)

    @property
    def slide(self) -> bool:
        """Whether it is a translation along z by q: its origin may be anywhere."""
        return self.nq == 1 and self.rate is same_rate and self.subspace.axes == (5,)

    @property
    def group(self) -> tuple[Moved, Moved]:
        """`moved` and `between`, or those of a line."""
        if self.moved is not None and self.between is not None:
            return self.moved, self.between
        if self.rate is not same_rate:
            raise ModelError(f"joints of the kind '{self.name}' have no moved= and between=, the paths between configurations")
        return groups.add, groups.subtract

    @property
    def free(self) -> bool:
        """Whether it leaves all six degrees of freedom."""
        return self.nv == 6

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The coordinates that are lengths (m): neither angles nor components of a quaternion."""
        turning = {q for angle in self.subspace.angles for q in angle.free_symbols}
        scalars = range(self.nq - 4 * self.names_or_default.quaternion)
        return tuple(k for k in scalars if self.subspace.letters[k] not in turning)

    @cached_property
    def turning(self) -> tuple[bool, ...]:
        """Whether each velocity is angular: all but those along which the neutral successor moves without a turn."""
        return tuple(any(float(x) for x in column[:3]) for column in self.columns(list(self.neutral)))

    def generic_coordinates(self, k: int) -> list[float]:
        """A valid generic configuration, different for each k; quaternions have unit length."""
        q = [float(np.sin(1.0 + 2.4 * (k + i))) for i in range(self.nq)]
        if self.names_or_default.quaternion:
            length = float(np.linalg.norm(q[-4:]))
            q[-4:] = [x / length for x in q[-4:]]
        return q

    def columns(self, q: Sequence[Scalar]) -> tuple[Six, ...]:
        """S, column by column in the order of v."""
        return self.subspace.columns(q)


def _hinge_passed(body: Inertia) -> Inertia:
    e = np.array([0.0, 0.0, 1.0])
    return Inertia(body.m, body.h[2] * e, body.P[2, 2] * np.outer(e, e))


def _planar_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    c, s = cos(q[2]), sin(q[2])
    return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]


def _floating_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    return [*Attitude(rotation_of(q[3:])).vector_in(list(v[:3])), *quaternion_rate(q[3:], v[3:])]


def _planar_steps(q: Sequence[Scalar]) -> tuple[Step, ...]:
    return Slide(0, q[0]), Slide(1, q[1]), turn_z(q[2])


def _floating_steps(q: Sequence[Scalar]) -> tuple[Step, ...]:
    return *(Slide(k, q[k]) for k in range(3)), Attitude(rotation_of(q[3:]))


_UNIT = (0.0, 0.0, 0.0, 1.0)
_HINGE = {"steps": lambda q: (turn_z(q[0]),), "axes": (2,), "passed": _hinge_passed}
TABLE = (
    JointKind("revolute", **_HINGE, urdf="revolute"),
    JointKind("continuous", **_HINGE, moved=groups.add, between=groups.around, urdf="continuous"),
    JointKind(
        "prismatic", lambda q: (Slide(2, q[0]),), axes=(5,), urdf="prismatic",
        passed=lambda body: Inertia(0.0, 0 * body.h, body.P),  # the whole second moment: both bodies have the same rotation
    ),
    JointKind(
        "planar", _planar_steps, (0.0, 0.0, 0.0), _planar_rate, axes=(3, 4, 2), urdf="planar",
        moved=groups.move_in_plane, between=groups.plane_between,
        names=Names(("x_{}", "y_{}", "{}"), ("v_{}_x", "v_{}_y", "")),
    ),
    JointKind(
        "spherical", lambda q: (Attitude(rotation_of(q)),), _UNIT, quaternion_rate, axes=(0, 1, 2), axial=False,
        moved=groups.turn, between=groups.turn_between, names=Names((), (), quaternion=True),
        passed=lambda body: Inertia(body.m, 0 * body.h, 0 * body.P),
    ),
    JointKind(
        "floating", _floating_steps, (0.0, 0.0, 0.0, *_UNIT), _floating_rate, axes=(3, 4, 5, 0, 1, 2), axial=False,
        urdf="floating", moved=groups.move, between=groups.move_between,
        names=Names(("x_{}", "y_{}", "z_{}"), ("v_{}_x", "v_{}_y", "v_{}_z"), quaternion=True, alone=("x", "y", "z")),
    ),
    JointKind("fixed", lambda q: (), (), axes=(), passed=lambda body: body, axial=False, urdf="fixed"),
)  # fmt: skip
JOINTS = {kind.name: kind for kind in TABLE}


def register(kind: JointKind) -> JointKind:
    """Registers a kind of joint by its name for all trees. Checked first: frames coincide at `neutral`, S has full rank."""
    if not isinstance(kind, JointKind):
        raise ModelError(f"register takes an ap.tree.JointKind, not {shown(kind)}")
    if not (isinstance(kind.name, str) and kind.name):
        raise ModelError(f"the name of a kind of joint must be a text, not {shown(kind.name)}")
    known = JOINTS.get(kind.name)
    if known is kind:
        return kind
    same_urdf = [registered.name for registered in JOINTS.values() if kind.urdf and registered.urdf == kind.urdf]
    if known is not None or same_urdf:
        conflict = (
            f"the URDF type '{kind.urdf}' of joint '{same_urdf[0]}'" if known is None else f"a joint of the kind '{kind.name}'"
        )
        raise ModelError(f"there is {conflict} already; choose another name")
    _check(kind)
    JOINTS[kind.name] = kind
    return kind


def _check(kind: JointKind) -> None:
    """Checks a user's row of the table."""
    where, called = f"joint kind '{kind.name}'", kind.names_or_default
    if (len(called.coordinates) + 4 * called.quaternion, len(called.velocities) + 3 * called.quaternion) != (kind.nq, kind.nv):
        raise ModelError(f"{where} names {called}, but has {kind.nq} coordinates and {kind.nv} velocities")
    R, p = word_of(kind.steps(list(kind.neutral)))
    if abs(R - np.eye(3)).max() > 1e-12 or abs(p).max() > 1e-12:
        raise ModelError(f"{where}: its two frames must agree at neutral = {kind.neutral}; the steps lead to {p} and\n{R}")
    q, v = kind.generic_coordinates(0), [float(np.cos(k)) for k in range(kind.nv)]
    if len(kind.rate(q, v)) != kind.nq:
        raise ModelError(f"{where}: rate(q, v) gives {len(kind.rate(q, v))} numbers for {kind.nq} coordinates")
    S = np.array([[float(x) for x in column] for column in kind.columns(q)]).reshape(-1, 6)
    if len(S) != kind.nv or rank(S) < kind.nv:
        raise ModelError(f"{where}: its {kind.nv} velocities do not move it in {kind.nv} different ways; S = {S.tolist()}")
    h, qd = 1e-6, np.array(kind.rate(q, v), float)  # central differences: truncation 1e-12, rounding 1e-10
    (R1, p1), (R0, p0) = (word_of(kind.steps(list(np.array(q) + sign * h * qd))) for sign in (1, -1))
    R, _ = word_of(kind.steps(q))
    W = R.T @ (R1 - R0) / (2 * h)
    moved = np.array([W[2, 1], W[0, 2], W[1, 0], *(R.T @ (p1 - p0) / (2 * h))])
    if abs(moved - np.array(v) @ S).max() > 1e-7 * (1 + abs(moved).max()):
        mismatch = f"not by S v = {np.array(v) @ S}; mend axes or rate"
        raise ModelError(f"{where}: with q̇ = rate(q, v) its steps move by {moved}, {mismatch}")


__all__ = ["JOINTS", "TABLE", "JointKind", "Names", "Slide", "Turn", "cos", "register", "sin", "turn_z"]
