"""Placement and motion of the frames of a tree, and of any point fixed to one: `tree.frame(name).at(xyz, rpy)`.

    p' = p + r,    v' = v + ω × r,    a' = a + α × r + ω × (ω × r),        r = R xyz

A point fixed to a frame is computed from the frame: each frame is compiled once, its points need no compilation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.graph.fn import Fn
from appell.reading import one_of
from appell.spelling import checked_keywords
from appell.tree import tree_functions
from appell.tree.compiled_methods import answer, ready
from appell.tree.configuration import ConfigurationSpace
from appell.tree.description import WORLD, Frame, Skeleton
from appell.tree.inertia import Placement
from appell.tree.recipes import recipe_key
from appell.tree.symbols.frame_symbols import FrameSymbols

Array = NDArray[np.float64]
REFERENCES = ("local", "aligned", "world")
FRAME_QUESTIONS = ("placement", "jacobian", "pose", "bias_acceleration")


class FrameMotion(ConfigurationSpace):
    """Placements, velocities and accelerations of frames; one state, or a batch with the batch first."""

    gravity: tuple[float, float, float]
    name: str
    _skeleton: Skeleton
    _backend: str
    _entries: dict[object, Callable[..., Any]]
    _fns: dict[object, Fn]

    @property
    @abstractmethod
    def _tree_data(self) -> tree_functions.TreeData: ...

    def placement(self, frame: str | FrameSymbols, q: ArrayLike) -> tuple[Array, Array]:
        """(R, p) of a frame in the world: R (3, 3), p (3,) in m. A frame is a name, or `tree.frame(name).at(xyz, rpy)`."""
        base, offset = self._base_and_offset(frame)
        R, p = self._frame_answer(base, "placement", "", q)
        return (R, p) if offset is None else (R @ offset.R, p + R @ offset.p)

    def pose(self, frame: str | FrameSymbols, q: ArrayLike) -> tuple[Array, Array, Array]:
        """(R, p, J) of a frame by one function: `placement`, and `jacobian` on the world's axes."""
        base, offset = self._base_and_offset(frame)
        R, p, J = self._frame_answer(base, "pose", "aligned", q)
        if offset is None:
            return R, p, J
        r = R @ offset.p
        return R @ offset.R, p + r, _carried(J, r)

    def jacobian(self, frame: str | FrameSymbols, q: ArrayLike, *, reference: str = "aligned") -> Array:
        """(6, nv): the Jacobian of the [linear | angular] velocity of a frame with respect to v.

        reference="local" on the frame's axes, "aligned" at its origin on the world's axes, "world" at the world's
        origin (Pinocchio's LOCAL, LOCAL_WORLD_ALIGNED, WORLD).
        """
        base, offset = self._base_and_offset(frame)
        reference = _checked(reference)
        if offset is None or reference == "world":  # the point at the world's origin is the same for all of a body's frames
            return self._frame_answer(base, "jacobian", reference, q)[0]
        J, R = self._frame_answer(base, "jacobian", "aligned", q)[0], self.placement(base, q)[0]
        return _on_axes(_carried(J, R @ offset.p), R @ offset.R, reference)

    def bias_acceleration(self, frame: str | FrameSymbols, q: ArrayLike, v: ArrayLike, *, reference: str = "aligned") -> Array:
        """J̇ v, (6,): the acceleration of a frame is J a + J̇ v; reference as in `jacobian`."""
        base, offset = self._base_and_offset(frame)
        reference = _checked(reference)
        if offset is None or reference == "world":
            return self._frame_answer(base, "bias_acceleration", reference, q, v)[0]
        b, R = self._frame_answer(base, "bias_acceleration", "aligned", q, v)[0], self.placement(base, q)[0]
        V, r = self.velocity(base, q, v), R @ offset.p
        omega, alpha = V[..., 3:], b[..., 3:]
        linear = b[..., :3] + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
        if reference == "local":  # the axes turn with ω
            linear = linear - np.cross(omega, V[..., :3] + np.cross(omega, r))
        return _on_axes(np.concatenate([linear, alpha], axis=-1)[..., None], R @ offset.R, reference)[..., 0]

    def velocity(self, frame: str | FrameSymbols, q: ArrayLike, v: ArrayLike, *, reference: str = "aligned") -> Array:
        """J v, (6,): [linear | angular] velocity of a frame, m/s and rad/s; reference as in `jacobian`."""
        return _times(self.jacobian(frame, q, reference=reference), self._states(v, "v", self.nv))

    def acceleration(
        self, frame: str | FrameSymbols, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, reference: str = "aligned"
    ) -> Array:
        """J a + J̇ v, (6,): the rate of `velocity`, m/s² and rad/s²; gravity is not in it.

        With reference="aligned" the linear part is the acceleration of the point itself; "local" and "world" are the rates of
        components in axes that turn, and of other points: spatial accelerations, as in Pinocchio.
        """
        J = self.jacobian(frame, q, reference=reference)
        return _times(J, self._states(a, "a", self.nv)) + self.bias_acceleration(frame, q, v, reference=reference)

    @checked_keywords()
    def frame_function(self, frame: str, question: str, reference: str = "aligned") -> Fn:
        """The graph of "placement", "jacobian", both ("pose") or "bias_acceleration" of one frame."""
        fixed_frame = self._frame_named(frame)
        key = (frame, question, reference)
        if key not in self._fns:
            if question == "bias_acceleration":
                self._fns[key] = tree_functions.frame_bias(self._tree_data, fixed_frame, reference)
            else:
                self._fns[key] = tree_functions.frame_function(self._tree_data, fixed_frame, question, reference)
        return self._fns[key]

    def _base_and_offset(self, frame: Any) -> tuple[str, Placement | None]:
        """The named frame that a frame is fixed to, and its placement there; None where it is that frame itself."""
        if not isinstance(frame, FrameSymbols):
            return frame, None
        if frame.in_symbols:
            raise ModelError(f"the point of frame '{frame.name}' contains {frame.in_symbols}; numbers need a point in numbers")
        return frame.base, None if frame.offset is None else Placement(*frame.offset)

    def _frame_named(self, frame: str) -> Frame:
        if isinstance(frame, str) and frame == WORLD and frame not in self._skeleton.frames:
            return Frame(WORLD, -1, Placement(np.eye(3), np.zeros(3)))
        return self._skeleton.frame(frame)

    def joint_frame(self, joint: str) -> str:
        """The name of a joint's frame: the joint's own name, or "joint NAME" where a link elsewhere has that name."""
        return joint if joint in self._skeleton.frames else f"joint {joint}"

    def _node_of(self, frame: str | FrameSymbols) -> int:
        """The moving joint that carries a frame, −1 for the ground."""
        return self._frame_named(self._base_and_offset(frame)[0]).node

    def _frame_answer(self, frame: str, question: str, reference: str, *state: ArrayLike) -> tuple[Array, ...]:
        return self._frame_entry(frame, question, reference)(*state)

    def _frame_entry(self, frame: str, question: str, reference: str) -> Callable[..., Any]:
        """The entry point of a frame's function for one of `FRAME_QUESTIONS`."""
        key = (frame, question, reference)
        entry = self._entries.get(key) if isinstance(frame, str) else None
        if entry is None:
            fixed_frame = self._frame_named(frame)
            make = lambda: self.frame_function(frame, question, reference)
            digest = lambda: recipe_key(self.nodes, self.gravity, question, reference, frame=fixed_frame)
            compiled = ready(self._backend, digest, make, question, self.name)
            entry = self._entries[key] = compiled.entry(partial(answer, compiled), batches=True)
        return entry


def _checked(reference: str) -> str:
    return one_of(reference, REFERENCES, "reference=")


def _times(J: Array, x: Array) -> Array:
    """J x, (…, 6)."""
    return (J @ x[..., None])[..., 0]


def _carried(J: Array, r: Array) -> Array:
    """[v + ω × r | ω] of columns [v | ω]; r: (3,) or (batch, 3)."""
    linear = J[..., :3, :] - np.cross(r[..., :, None], J[..., 3:, :], axis=-2)
    return np.concatenate([linear, J[..., 3:, :]], axis=-2)


def _on_axes(columns: Array, R: Array, reference: str) -> Array:
    """Columns [linear | angular] on the world's axes, or on those of a frame R."""
    if reference == "aligned":
        return columns
    R_in = np.swapaxes(R, -1, -2)
    return np.concatenate([R_in @ columns[..., :3, :], R_in @ columns[..., 3:, :]], axis=-2)


__all__ = ["FRAME_QUESTIONS", "REFERENCES", "FrameMotion"]
