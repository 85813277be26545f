"""The recursions of a tree over exact scalars: poses, velocities and frames of its bodies as SymPy expressions.

Bodies keep their given frames, rotated only so that z is the joint's axis; the frames chosen for speed in `frames` would give
arctangents where the user wrote 0.3 and 0.4. Rotations are exactly orthogonal: constant rotations stay cosines and sines of
exact angles, or, where a tree has many of them, become rational points of the circle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Dummy, Expr, Matrix, Symbol, cos, eye, sin

from appell.errors import FormNotApplicable
from appell.jets import QuaternionComponent
from appell.tree import kinematics
from appell.tree.algorithms import moments
from appell.tree.frames import FramedLink, FrameLayout, Node, basis, cleaned
from appell.tree.inertia import HERE, Inertia, Placement, has_symbols
from appell.tree.kinematics import Pose
from appell.tree.placement_steps import elementary_steps, quarter, turn
from appell.tree.spatial import Six, Slide, Step, Steps, Turn, add, cross
from appell.tree.symbols.exact_scalars import (
    Algebra,
    Exact,
    Linear,
    Writing,
    exact_angle,
    exact_scalar,
    generators_of,
    rational_turn,
    without_floats,
)
from appell.tree.symbols.joint_symbols import JointSymbols, symbols_of

if TYPE_CHECKING:
    from appell.tree.tree import Tree

KEPT_ANGLES = 3
"""Cosines and sines of constant angles stay in the expressions if there are at most this many."""


@dataclass(frozen=True, eq=False)
class Moments:
    """m, h (3, 1), J (3, 3) of a body about the origin and on the axes of its frame: numbers or expressions in parameters."""

    m: Expr
    h: Matrix
    J: Matrix

    @staticmethod
    def of(body: Inertia) -> Moments:
        symbolic = any(map(has_symbols, (body.m, body.h, body.P)))
        m, h, S = (body.m, body.h, body.P) if symbolic else moments(cleaned(body, body))
        size = 0.0 if symbolic else float(abs(body.J).max())
        P = Matrix(3, 3, lambda i, j: exact_scalar(S[min(i, j)][max(i, j)], size))
        return Moments(exact_scalar(m), Matrix([exact_scalar(x) for x in h]), P.trace() * eye(3) - P)

    @property
    def empty(self) -> bool:
        return self.m == 0 and self.J.is_zero_matrix is True


@dataclass(frozen=True, eq=False)
class ExactTree:
    """A tree with exact scalars for its coordinates q and velocities v. `constants`: symbols of the algebra → angles."""

    algebra: Algebra
    layout: FrameLayout
    moments: tuple[Moments, ...]
    q: tuple[Any, ...]
    v: tuple[Exact, ...]
    constants: Mapping[Symbol, Expr]
    marks: Mapping[str, tuple[int, Steps]]

    @staticmethod
    def of(tree: Tree, frames: Iterable[str] = ()) -> ExactTree:
        """The exact tree of a tree, with these frames available."""
        joints = symbols_of(tree.nodes)
        places = [_body_frame(node) for node in tree.nodes]
        parent_frames = [HERE if node.parent < 0 else places[node.parent] for node in tree.nodes]
        links = [_link(*arguments) for arguments in zip(tree.nodes, parent_frames, places, strict=True)]
        bodies = tuple(Moments.of(link.inertia) for link in links)
        frames_at = {name: (tree.frames[name].node, tree.frames[name].placement) for name in frames}
        marks = {name: (n, _all_steps(places[n].inverse @ X)) for name, (n, X) in frames_at.items()}
        steps = [step for word in (*(link.fixed for link in links), *(word for _, word in marks.values())) for step in word]
        turns = {abs(_angle(step)) for step in steps if isinstance(step, Turn)}
        letters = {angle: Dummy("angle") for angle in sorted(turns, key=float)} if len(turns) <= KEPT_ANGLES else {}
        angles = [_angles_of(joint, link) for joint, link in zip(joints, links, strict=True)]
        motion = [x for joint in joints for x in (*joint.coordinates, *joint.velocities)]
        circles = [x for group in (*angles, letters.values()) for x in group]
        numbers = [step.d for step in steps if isinstance(step, Slide)] + [exact_scalar(g) for g in tree.gravity]
        numbers += [x for body in bodies for x in (body.m, *body.h, *body.J)]
        numbers += [exact_scalar(a) for node in tree.nodes for a in node.armature]
        algebra = Algebra((*(f(x) for x in circles for f in (cos, sin)), *motion, *generators_of(numbers)))
        lift = lambda word: tuple(_lifted(step, algebra, letters) for step in word)
        return ExactTree(
            algebra,
            FrameLayout(tuple(replace(link, fixed=lift(link.fixed)) for link in links), Inertia.zero()),
            bodies,
            tuple(_coordinate(q, algebra) for joint in joints for q in joint.coordinates),
            tuple(algebra.generator(x) for joint in joints for x in joint.velocities),
            {letter: angle for angle, letter in letters.items()},
            {name: (n, lift(word)) for name, (n, word) in marks.items()},
        )

    @cached_property
    def poses(self) -> list[Pose]:
        """The poses of the bodies in the world."""
        return kinematics.poses(self.layout, self.q)

    @cached_property
    def velocities(self) -> list[Six]:
        """[angular | linear] of the bodies' frames on their own axes."""
        steps = [link.steps(self.q) for link in self.layout.links]
        return [[self.lifted(x) for x in V] for V in kinematics.velocities(self.layout, steps, self.q, self.v)]

    def lifted(self, x: Any) -> Exact:
        """A scalar or a number as an exact scalar."""
        return x if isinstance(x, Exact) else self.algebra.number(x)

    def written(self, x: Any, writing: Writing | None = None) -> Expr:
        """A scalar in SymPy."""
        return self.lifted(x).expression(self.constants, writing)

    def column(self, entries: Iterable[Any]) -> Matrix:
        """Scalars in SymPy, (n, 1)."""
        return Matrix([self.written(x) for x in entries])

    def matrix(self, rows: Iterable[Iterable[Any]]) -> Matrix:
        """Scalars in SymPy, row by row."""
        return Matrix([[self.written(x) for x in row] for row in rows])

    def pose(self, frame: str) -> tuple[Matrix, Matrix]:
        """(R, p) of one of the frames named at construction."""
        n, word = self.marks[frame]
        pose = self.poses[n].then(word)
        return self.matrix(pose.R), self.column(pose.p)

    def twist(self, frame: str) -> Matrix:
        """[ṗ | ω] of a frame on the world's axes, (6, 1): R (u + ω × r), R ω of its body."""
        n, word = self.marks[frame]
        pose, w, u = self.poses[n], self.velocities[n][:3], self.velocities[n][3:]
        r = kinematics.WORLD.then(word).p
        return self.column([*pose.turned(add(u, cross(w, r))), *pose.turned(w)])


def _body_frame(node: Node) -> Placement:
    """The frame of a body in the given one: z along the axis."""
    if has_symbols(node.axis):
        raise FormNotApplicable(
            f"the axis of joint '{node.name}' has symbols; give a direction in numbers, or see tree.equations()"
        )
    return Placement(basis(node.axis), np.zeros(3)) if node.kind.axial else HERE


def _link(node: Node, parent_frame: Placement, frame: Placement) -> FramedLink:
    """A body in its given frame, z turned to the axis; the last rotation about z before a hinge becomes its offset."""
    word, gamma = _exact_steps(parent_frame.inverse @ node.placement @ frame)
    if not node.kind.hinge:
        word, gamma = (*word, *turn(2, gamma)), 0.0
    return FramedLink(node, frame, word, gamma, node.inertia.seen_from(frame.inverse))


def _exact_steps(X: Placement) -> tuple[Steps, float]:
    """Translations along the given axes by exact lengths, rotations, and the last rotation about z (rad)."""
    size = 0.0 if has_symbols(X.p) else float(abs(X.p).max())
    lengths = [exact_scalar(x, size) for x in X.p]
    turns = elementary_steps(Placement(X.R, np.zeros(3)), 0.0)
    return (*(Slide(k, d) for k, d in enumerate(lengths) if d != 0), *turns.steps), turns.gamma


def _all_steps(X: Placement) -> Steps:
    word, gamma = _exact_steps(X)
    return (*word, *turn(2, gamma))


def _angle(step: Turn) -> Expr:
    return exact_angle(math.atan2(step.s, step.c))


def _lifted(step: Step, algebra: Algebra, letters: Mapping[Expr, Symbol]) -> Step:
    """The step with exact numbers."""
    if isinstance(step, Slide):
        return Slide(step.k, algebra.number(step.d))
    if not isinstance(step, Turn):
        return step
    if not letters:
        return Turn(step.k, *map(algebra.number, rational_turn(math.atan2(step.s, step.c))))
    angle = _angle(step)
    letter = letters[abs(angle)]
    c, s = algebra.generator(cos(letter)), algebra.generator(sin(letter))
    return Turn(step.k, c, s if angle.is_positive else -s)


def _angles_of(joint: JointSymbols, link: FramedLink) -> list[Expr]:
    """The angles whose cosines and sines a joint needs: q + γ of a hinge; without a leading sign, since cos(−x) = cos x."""
    subspace, shift = link.node.kind.subspace, 0 if quarter(link.offset) is not None else exact_angle(link.offset)
    if joint.quaternions:
        return []
    symbols = dict(zip(subspace.letters, joint.coordinates, strict=True))
    angles: list[Any] = [without_floats(angle).xreplace(symbols) + shift for angle in subspace.angles]
    return list(dict.fromkeys(-x if x.could_extract_minus_sign() else x for x in angles))


def _coordinate(q: Any, algebra: Algebra) -> Exact:
    return algebra.generator(q) if isinstance(q, QuaternionComponent) else Linear.of(algebra, q)
