"""Inverse kinematics: a configuration that brings frames to their targets.

    e(q) = 0,    lower <= q <= upper,    |difference(q, near)| least

`ReachSearch` iterates towards it. Searches that end in a local minimum are restarted from random configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.reading import MOST_ATTEMPTS, finite, name_in, reals, shown, truth, whole
from appell.tree.reach_search import ReachSearch, Target
from appell.tree.symbols.frame_symbols import FrameSymbols

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reached:
    """The result of `tree.reach`.

    q: the configuration, (nq,). error: the largest remaining distance (m) or angle (rad). errors: frame → (m, rad), NaN for
    parts without a target. ok: whether all targets are met within the tolerance. message: that, or by how much the best
    configuration misses.
    """

    q: Array
    error: float
    errors: Mapping[str, tuple[float, float]]
    ok: bool
    message: str


@dataclass(frozen=True, eq=False)
class ReachedMany:
    """The result of `tree.reach` for a batch of targets: q (k, nq), error (k,), ok (k,), errors frame → (k, 2), message
    (k,)."""

    q: Array
    error: Array
    errors: Mapping[str, Array]
    ok: NDArray[np.bool_]
    message: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.q)

    @staticmethod
    def of(found: list[Reached]) -> ReachedMany:
        """The single results, stacked."""
        errors = {name: np.array([result.errors[name] for result in found]) for name in found[0].errors}
        return ReachedMany(
            np.array([result.q for result in found]), np.array([result.error for result in found]), errors,
            np.array([result.ok for result in found]), tuple(result.message for result in found),
        )  # fmt: skip


def read_targets(tree: TreeDynamics, targets: Any) -> list[Target]:
    """{frame: position (3,), rotation (3, 3), (R, p) or a matrix (4, 4)} checked; each may be a batch of k, the batch first."""
    if not isinstance(targets, Mapping) or not targets:
        raise ModelError("reach takes {frame: target, …}: a position (3,), a rotation (3, 3), (R, p), or a matrix (4, 4)")
    return [_target(tree, frame, target) for frame, target in targets.items()]


def _target(tree: TreeDynamics, frame: Any, target: Any) -> Target:
    frame = frame if isinstance(frame, FrameSymbols) else name_in(frame)
    tree.placement(frame, tree.neutral)  # raises for a frame that does not exist
    where = f"the target of frame '{name_of(frame)}'"
    R, p = _target_pose(target, where)
    for part, shape in ((R, (3, 3)), (p, (3,))):
        if part is None:
            continue
        if part.ndim not in (len(shape), len(shape) + 1) or part.shape[-len(shape) :] != shape or not np.isfinite(part).all():
            raise ModelError(f"{where} must be finite numbers of the shape {shape}, or a batch of them, not {shown(part)}")
    if R is not None:
        deviation = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max()
        if deviation > 1e-9 or (np.linalg.det(R) < 0).any():
            raise ModelError(f"{where} has a matrix that is no rotation")
    return Target(frame, p, R)


def _target_pose(target: Any, where: str) -> tuple[Array | None, Array | None]:
    """(R, p) of a target; (3, 3) is a rotation, (k, 3) with another k positions, (None, p) positions whatever k is."""
    if isinstance(target, tuple) and len(target) == 2:
        R, p = (None if part is None else reals(part, where) for part in target)
        if R is None and p is None:
            raise ModelError(f"{where} gives neither a position nor a rotation for the frame")
        return R, p
    array = reals(target, where)
    if array.shape[-2:] == (4, 4) and array.ndim in (2, 3):
        return array[..., :3, :3], array[..., :3, 3]
    if array.shape[-2:] == (3, 3) and array.ndim in (2, 3):
        return array, None
    if array.ndim in (1, 2) and array.shape[-1] == 3:
        return None, array
    raise ModelError(f"{where} is a position (3,), a rotation (3, 3), (R, p) or a matrix (4, 4), or a batch, not {array.shape}")


def name_of(frame: str | FrameSymbols) -> str:
    """The name of a frame in results."""
    return frame.name if isinstance(frame, FrameSymbols) else frame


def reach(
    tree: TreeDynamics, targets: Any, near: ArrayLike | None, *, limits: bool, attempts: int, tolerance: float, seed: int
) -> Reached | ReachedMany:
    """See `TreeDynamics.reach`."""
    checked = read_targets(tree, targets)
    home = tree.neutral if near is None else reals(near, "near=")
    if home.ndim not in (1, 2) or home.shape[-1:] != (tree.nq,) or not np.isfinite(home).all():
        raise ModelError(f"near= is a configuration, ({tree.nq},), or a batch of them, not {shown(home)}")
    attempts, tolerance = whole(attempts, "attempts=", 1, MOST_ATTEMPTS), finite(tolerance, "tolerance=")
    limits, seed = truth(limits, "limits="), whole(seed, "seed=", 0)
    lengths = {len(x) for target in checked for x, n in ((target.p, 1), (target.R, 2)) if x is not None and x.ndim > n}
    lengths |= {len(home)} if home.ndim == 2 else set()
    if len(lengths) > 1:
        raise ModelError(f"the targets and near= are batches of different lengths: {sorted(lengths)}")
    if not lengths:
        return _reach_one(tree, checked, home, limits, attempts, tolerance, seed)
    results = []
    for k in range(lengths.pop()):
        chosen = [Target(target.frame, _of_batch(target.p, 1, k), _of_batch(target.R, 2, k)) for target in checked]
        results.append(_reach_one(tree, chosen, home[k] if home.ndim == 2 else home, limits, attempts, tolerance, seed))
    if not results:
        raise ModelError("the batch of targets is empty")
    return ReachedMany.of(results)


def _of_batch(x: Array | None, ndim: int, k: int) -> Array | None:
    return x if x is None or x.ndim == ndim else x[k]


def _reach_one(
    tree: TreeDynamics, targets: list[Target], home: Array, limits: bool, attempts: int, tolerance: float, seed: int
) -> Reached:
    search = ReachSearch(tree, targets, home, limits=limits)
    rng = np.random.default_rng(seed)
    candidates: list[Array] = []
    for k in range(attempts):
        begin = home if k == 0 else tree.random(rng)
        for far in (False, True) if search.is_far else (False,):
            candidates.append(search.run(begin, far=far))
            if search.targets_met(candidates[-1], tolerance):
                return _result(search, candidates[-1], tolerance)
    return _result(search, min(candidates, key=search.largest_error), tolerance)


def _result(search: ReachSearch, q: Array, tolerance: float) -> Reached:
    distances, error, open_ = search.distances(q), search.largest_error(q), search.closure_error(q)
    lengths = {name_of(target.frame): pair for target, pair in zip(search.targets, distances, strict=True)}
    if search.targets_met(q, tolerance):
        return Reached(q, error, lengths, True, "all targets are met")
    worst = max(lengths, key=lambda name: np.nanmax(lengths[name]))
    misses = " and ".join(f"{x:.3g} {unit}" for x, unit in zip(lengths[worst], ("m", "rad"), strict=True) if np.isfinite(x))
    message = f"out of reach: at the best configuration found frame '{worst}' misses its target by {misses}"
    if open_ > tolerance:
        message += f", and couplings, loops or limits of the robot are missed by {open_:.3g}"
    return Reached(q, error, lengths, False, message)


__all__ = ["Reached", "ReachedMany", "Target", "reach"]
