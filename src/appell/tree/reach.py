"""Inverse kinematics: a configuration at which frames are where they shall be.

    e(q) = 0,    lower <= q <= upper,    |difference(q, near)| least

e stacks p − p* (in units of the size of the tree) and the turn log(R*ᵀ R) of each target. A step d of q solves

    min |d − n|²   with   J d = −e,   lower − q <= d <= upper − q        n = difference(q, near)

as a bounded least-squares problem in which the rows of J weigh `WEIGHT` times as much, and is cut to the trust radius; away
from a solution, or where there is none, it is the Gauss–Newton step with the same bounds. Searches that end in a local minimum
begin again from random configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from appell.errors import ModelError
from appell.reading import MOST_ATTEMPTS, finite, name_in, reals, shown, truth, whole
from appell.rows import least_squares
from appell.tree.frames import size_of
from appell.tree.symbols.frame_symbols import FrameSymbols

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics

Array = NDArray[np.float64]

WEIGHT = 1e6  # of the targets against the nearness: both are then met to 1e-12 of their size, and the problem keeps ten digits
STEPS = 200  # of one search; a regular target is met in about ten
LONGEST = 0.7  # rad, or sizes of the tree: the first trust radius, within which a linearised pose is worth something
ALL_COUNT = 1e-15  # of the largest singular value: rows of 1 stand below those of WEIGHT, so that none is smaller
SETTLED = 1e-10  # rad, or m: a step of a configuration that meets its targets below which it is as near home as matters
STUCK = 1e-12  # a step or a trust radius below it moves nothing


@dataclass(frozen=True)
class Target:
    """Where a frame shall be: p (3,) or R (3, 3) or both."""

    frame: str | FrameSymbols
    p: Array | None
    R: Array | None


@dataclass(frozen=True, eq=False)
class Reached:
    """What `tree.reach` found.

    q: the configuration, (nq,). error: the largest distance (m) or angle (rad) that is left. errors: frame → (m, rad), NaN for
    what was not asked. ok: whether all targets are met to the tolerance. message: that, or by how much the best one misses.
    """

    q: Array
    error: float
    errors: Mapping[str, tuple[float, float]]
    ok: bool
    message: str


@dataclass(frozen=True, eq=False)
class ReachedMany:
    """What `tree.reach` found for a batch of targets: q (k, nq), error (k,), ok (k,), errors frame → (k, 2), message (k,)."""

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
        errors = {name: np.array([one.errors[name] for one in found]) for name in found[0].errors}
        return ReachedMany(
            np.array([one.q for one in found]), np.array([one.error for one in found]), errors,
            np.array([one.ok for one in found]), tuple(one.message for one in found),
        )  # fmt: skip


def read_targets(tree: TreeDynamics, targets: Any) -> list[Target]:
    """{frame: position (3,), rotation (3, 3), (R, p) or a matrix (4, 4)} checked; each may be a batch of k, the batch first."""
    if not isinstance(targets, Mapping) or not targets:
        raise ModelError("reach takes {frame: target, …}: a position (3,), a rotation (3, 3), (R, p), or a matrix (4, 4)")
    return [_target(tree, frame, target) for frame, target in targets.items()]


def _target(tree: TreeDynamics, frame: Any, target: Any) -> Target:
    frame = frame if isinstance(frame, FrameSymbols) else name_in(frame)
    tree.placement(frame, tree.neutral)  # a frame that there is not is named
    where = f"the target of frame '{name_of(frame)}'"
    R, p = _parts(target, where)
    for part, shape in ((R, (3, 3)), (p, (3,))):
        if part is None:
            continue
        if part.ndim not in (len(shape), len(shape) + 1) or part.shape[-len(shape) :] != shape or not np.isfinite(part).all():
            raise ModelError(f"{where} must be finite numbers of the shape {shape}, or a batch of them, not {shown(part)}")
    if R is not None:
        off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max()
        if off > 1e-9 or (np.linalg.det(R) < 0).any():
            raise ModelError(f"{where} has a matrix that is no rotation")
    return Target(frame, p, R)


def _parts(target: Any, where: str) -> tuple[Array | None, Array | None]:
    """(R, p) of a target; (3, 3) is a rotation, (k, 3) with another k positions, (None, p) positions whatever k is."""
    if isinstance(target, tuple) and len(target) == 2:
        R, p = (None if part is None else reals(part, where) for part in target)
        if R is None and p is None:
            raise ModelError(f"{where} says neither where nor how the frame shall be")
        return R, p
    given = reals(target, where)
    if given.shape[-2:] == (4, 4) and given.ndim in (2, 3):
        return given[..., :3, :3], given[..., :3, 3]
    if given.shape[-2:] == (3, 3) and given.ndim in (2, 3):
        return given, None
    if given.ndim in (1, 2) and given.shape[-1] == 3:
        return None, given
    raise ModelError(f"{where} is a position (3,), a rotation (3, 3), (R, p) or a matrix (4, 4), or a batch, not {given.shape}")


def name_of(frame: str | FrameSymbols) -> str:
    """What a frame is called in results."""
    return frame.name if isinstance(frame, FrameSymbols) else frame


def reach(
    tree: TreeDynamics, targets: Any, near: ArrayLike | None, *, limits: bool, attempts: int, tolerance: float, seed: int
) -> Reached | ReachedMany:
    """See `TreeDynamics.reach`."""
    wanted = read_targets(tree, targets)
    home = tree.neutral if near is None else reals(near, "near=")
    if home.ndim not in (1, 2) or home.shape[-1:] != (tree.nq,) or not np.isfinite(home).all():
        raise ModelError(f"near= is a configuration, ({tree.nq},), or a batch of them, not {shown(home)}")
    attempts, tolerance = whole(attempts, "attempts=", 1, MOST_ATTEMPTS), finite(tolerance, "tolerance=")
    limits, seed = truth(limits, "limits="), whole(seed, "seed=", 0)
    lengths = {len(x) for one in wanted for x, n in ((one.p, 1), (one.R, 2)) if x is not None and x.ndim > n}
    lengths |= {len(home)} if home.ndim == 2 else set()
    if len(lengths) > 1:
        raise ModelError(f"the targets and near= are batches of different lengths: {sorted(lengths)}")
    if not lengths:
        return _reach_one(tree, wanted, home, limits, attempts, tolerance, seed)
    found = []
    for k in range(lengths.pop()):
        chosen = [Target(one.frame, _pick(one.p, 1, k), _pick(one.R, 2, k)) for one in wanted]
        found.append(_reach_one(tree, chosen, home[k] if home.ndim == 2 else home, limits, attempts, tolerance, seed))
    if not found:
        raise ModelError("the batch of targets is empty")
    return ReachedMany.of(found)


def _pick(x: Array | None, ndim: int, k: int) -> Array | None:
    return x if x is None or x.ndim == ndim else x[k]


def _reach_one(
    tree: TreeDynamics, wanted: list[Target], home: Array, limits: bool, attempts: int, tolerance: float, seed: int
) -> Reached:
    search = _Search(tree, wanted, home, limits)
    rng = np.random.default_rng(seed)
    found: list[Array] = []
    for k in range(attempts):
        found.append(search.run(home if k == 0 else tree.random(rng)))
        if search.miss(found[-1]) <= tolerance:
            return search.result(found[-1], tolerance)
    return search.result(min(found, key=search.miss), tolerance)


class _Search:
    """One inverse problem: errors, Jacobians and bounds at a configuration."""

    def __init__(self, tree: TreeDynamics, targets: list[Target], home: Array, limits: bool):
        self.tree, self.targets, self.home = tree, targets, home
        self.size = size_of(tree.nodes)
        self.low, self.high = np.full(tree.nv, -np.inf), np.full(tree.nv, np.inf)
        self.place = np.full(tree.nv, -1)
        for node in tree.nodes:
            if limits and node.name in tree.limits and node.kind.nq == node.kind.nv == 1:
                limit = tree.limits[node.name]
                self.low[node.iv], self.high[node.iv], self.place[node.iv] = limit.lower, limit.upper, node.iq

    def errors(self, q: Array) -> list[tuple[Array, Array]]:
        """(p − p* in m, log(R R*ᵀ) in rad on the world's axes) of each target; empty parts for what is not asked."""
        found = []
        for target in self.targets:
            R, p = self.tree.placement(target.frame, q)
            way = p - target.p if target.p is not None else np.zeros(0)
            turn = Rotation.from_matrix(R @ target.R.T).as_rotvec() if target.R is not None else np.zeros(0)
            found.append((way, turn))
        return found

    def stacked(self, q: Array) -> Array:
        return np.concatenate([x for way, turn in self.errors(q) for x in (way / self.size, turn)])

    def jacobian(self, q: Array) -> Array:
        """∂e/∂v; a turn's own logarithm is taken for its angular velocity, which is exact where the error vanishes."""
        rows = []
        for target in self.targets:
            J = self.tree.jacobian(target.frame, q)
            rows += [J[:3] / self.size] if target.p is not None else []
            rows += [J[3:]] if target.R is not None else []
        return np.vstack(rows)

    def miss(self, q: Array) -> float:
        """The largest distance (m) or angle (rad) that is left."""
        return max(float(np.linalg.norm(x)) for pair in self.errors(q) for x in pair if len(x))

    def clipped(self, q: Array) -> Array:
        q, limited = q.copy(), self.place >= 0
        q[self.place[limited]] = np.clip(q[self.place[limited]], self.low[limited], self.high[limited])
        return q

    def run(self, q: Array) -> Array:
        """Steps from q until the error is met and the way home is no shorter anywhere near, or nothing helps."""
        q, radius = self.clipped(q), LONGEST
        merit = np.linalg.norm(e := self.stacked(q))
        for _ in range(STEPS):
            d = self.step(q, e, radius)
            new = self.clipped(self.tree.integrate(q, d))
            e_new = self.stacked(new)
            merit_new = np.linalg.norm(e_new)
            exact = max(merit, merit_new) < 1e-9  # both met: the step only goes nearer home
            nearer = self.tree.distance(self.home, new) < self.tree.distance(self.home, q) - STUCK
            if (merit_new < merit * (1 - 1e-4) and not exact) or (exact and (nearer or merit_new < 0.1 * merit)):
                q, e, merit, radius = new, e_new, merit_new, min(2 * radius, LONGEST)
            else:
                radius /= 4
            if radius < STUCK or np.linalg.norm(d) < (SETTLED if exact else STUCK):
                break
        return q

    def step(self, q: Array, e: Array, radius: float) -> Array:
        """The step of the head of this module within the bounds and the radius."""
        J = self.jacobian(q)
        n = self.tree.difference(q, self.home)
        low, high = np.full(self.tree.nv, -radius), np.full(self.tree.nv, radius)
        limited = self.place >= 0
        at = q[self.place[limited]]
        low[limited] = np.maximum(low[limited], np.minimum(self.low[limited] - at, 0.0))
        high[limited] = np.minimum(high[limited], np.maximum(self.high[limited] - at, 0.0))
        closed = high - low < STUCK
        low, high = np.where(closed, low - STUCK, low), np.where(closed, high + STUCK, high)
        A, b = np.vstack([WEIGHT * J, np.eye(self.tree.nv)]), np.concatenate([-WEIGHT * e, n])
        free = least_squares(A, b, ALL_COUNT)
        if (free >= low).all() and (free <= high).all():  # no bound is met: the bounded problem has the same solution
            return free
        return lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x

    def result(self, q: Array, tolerance: float) -> Reached:
        lengths = {
            name_of(target.frame): tuple(float(np.linalg.norm(x)) if len(x) else np.nan for x in pair)
            for target, pair in zip(self.targets, self.errors(q), strict=True)
        }
        error = self.miss(q)
        if error <= tolerance:
            return Reached(q, error, lengths, True, "all targets are met")  # type: ignore[arg-type]
        far = max(lengths, key=lambda name: np.nanmax(lengths[name]))
        way, turn = lengths[far]
        said = " and ".join(f"{x:.3g} {unit}" for x, unit in ((way, "m"), (turn, "rad")) if np.isfinite(x))
        message = f"out of reach: at the best configuration found frame '{far}' misses its target by {said}"
        return Reached(q, error, lengths, False, message)  # type: ignore[arg-type]


__all__ = ["Reached", "ReachedMany", "Target", "reach"]
