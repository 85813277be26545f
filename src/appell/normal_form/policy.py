"""Solution policies of saddle points: chosen once, from ranks at the start or at random states on the constraint manifold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, ModelError, SingularConfiguration
from appell.graph import Fn
from appell.normal_form.manifold import find, normalise
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.sampling import finite_samples
from appell.remember import remembered
from appell.rows import (
    CHOLESKY,
    DISPARATE,
    ELIMINATE,
    LU,
    RANK,
    Policy,
    RowSpace,
    balanced,
    clearly_full,
    disparity,
    lengths,
)  # fmt: skip

Array = NDArray[np.float64]
State = tuple[float, Array, Array]


@dataclass(frozen=True)
class Policies:
    """The policies for accelerations and for the projections of positions and velocities; and the redundant rows."""

    acceleration: Policy
    position: Policy
    velocity: Policy
    redundant: tuple[str, ...]

    @staticmethod
    def of(form: NormalForm, base: Policy, ranks: Mapping[int, int], redundant: tuple[str, ...] = ()) -> Policies:
        """Policies from that of the accelerations and the ranks of the position and velocity rows, {1: …, 2: …}."""
        position, velocity = (base.for_rows(form.levels < level, ranks[level]) for level in (1, 2))
        return Policies(base, position, velocity, redundant)

    @staticmethod
    @cache
    def none() -> Policies:
        """The policies of a system without rows: always the same object, which is a key of what is remembered."""
        return Policies(Policy(), Policy(), Policy(), ())


def choose(form: NormalForm, p: Array, start: State | None = None, near: State | None = None) -> Policies:
    """The solve policies at parameter values p, from the ranks at a start on the constraints, or at random states of them.

    A start at which the rank is lower than around it raises: branches of the motion meet there. near: a state used where random
    ones have no values.
    """
    if form.free is not None and not form.rows:  # solved by articulated bodies, and M > 0 was checked with the tree
        return Policies.none()
    return _from_blocks(form, p, start, None if start is None else form.select("M", "A", "A_size")(*start, p), near)


def judged(form: NormalForm, p: Array, start: State) -> tuple[Policies, Array]:
    """The solve policies at a start, and the sizes of the rows there, (m,)."""
    out = form.select("M", "A", "A_size")(*start, p)
    with np.errstate(all="ignore"):  # non-finite values count as unclear
        sizes = None if form.gauss or not form.ideal or not form.m else clearly_full(out["M"], out["A"], out["A_size"])
        if sizes is not None:
            return _independent(form), sizes
        sizes = RowSpace.of(out["M"], out["A"], out["A_size"]).s
    return _from_blocks(form, p, start, out), sizes


@remembered
def _independent(form: NormalForm) -> Policies:
    """The policies for independent rows and positive definite M."""
    return Policies.of(form, Policy(CHOLESKY, form.m), {level: int((form.levels < level).sum()) for level in (1, 2)})


def _from_blocks(
    form: NormalForm, p: Array, start: State | None, blocks: dict[str, Array] | None, fallback: State | None = None
) -> Policies:
    """The policies from the blocks at the start, or at random states of the manifold."""
    fn = form.select("M", "A", "A_size")
    samples = [out for out in (_at_random(form, p) if blocks is None else [blocks]) if _finite(out)]
    if not samples:  # no state on the manifold was found: use any
        samples = [out for _, out in finite_samples(fn, count=5, parameters=p, around=form.around)]
    if not samples and fallback is not None:
        samples = [out for out in [fn(*fallback, p)] if _finite(out)]
    if not samples:
        raise ModelError("the mass matrix or the constraint rows have no finite value at any random state")
    metric = _balance(form, fn, samples, p)
    gamma = _gamma(samples) if metric is None else 0.0
    spaces: dict[int, list[RowSpace]] = {}
    for level in (3, 2, 1):
        rows = form.levels < level
        same_rows = level < 3 and (rows == (form.levels < level + 1)).all()
        spaces[level] = spaces[level + 1] if same_rows else [_space(out, rows, gamma, metric) for out in samples]
    ranks = {level: max(space.rank for space in spaces[level]) for level in spaces}
    linear = [row.constraint.name for row in form.rows if row.linear]
    full = max(spaces[3], key=lambda space: space.rank)
    redundant = tuple(linear[i] for i in full.dependent(ranks[3]))
    if start is not None:
        _refuse_singular(form, p, start, full, linear, metric)
    if not form.ideal and redundant:
        raise ConstraintError(
            f"redundant constraints ({', '.join(redundant)}) together with a given reaction direction, or a force that contains"
            " a multiplier, leave the reactions undetermined; drop the redundant rows"
        )
    if metric is not None:
        base = Policy(ELIMINATE, ranks[3], metric=tuple(map(float, metric)))
    else:
        kind = LU if not form.ideal else CHOLESKY if ranks[3] == len(linear) else RANK
        base = Policy(kind, ranks[3], gamma, _scales(full) if kind == RANK else ())
    return Policies.of(form, base, ranks, redundant)


def _scales(space: RowSpace) -> tuple[float, ...]:
    """Powers of 4 near the sizes of the rows, where those differ by more than 1000."""
    if space.s.max() <= 1e3 * space.s.min():
        return ()
    return tuple(4.0 ** np.round(np.log(space.s / space.s.max()) / np.log(4.0)))


def _at_random(form: NormalForm, p: Array) -> list[dict[str, Array]]:
    """The blocks at random states of the manifold."""
    return [form.select("M", "A", "A_size")(*state, p) for state in find(form, p, seed=1)]


def _finite(out: dict[str, Array]) -> bool:
    return all(np.isfinite(x).all() for x in out.values())


def _space(out: dict[str, Array], rows: NDArray[np.bool_], gamma: float, metric: Array | None) -> RowSpace:
    M = out["M"] if metric is None else np.diag(metric)
    return RowSpace.of(M + gamma * out["A"].T @ out["A"] if gamma else M, out["A"][rows], out["A_size"][rows])


HOPELESS = 1e12
"""Disparity of masses beyond which a system that cannot be eliminated raises."""


def _balance(form: NormalForm, fn: Fn, samples: list[dict[str, Array]], p: Array) -> Array | None:
    """A metric for ranks where the masses coupled by a row are too different for M to serve as one, else None."""
    if not form.m:
        return None
    entries = np.max([lengths(out["A"], out["A_size"]) for out in samples], axis=0)
    if disparity(samples[0]["M"], entries) <= DISPARATE:
        return None
    for _, out in finite_samples(fn, count=3, parameters=p, around=form.around):  # entries may be small by chance
        entries = np.maximum(entries, lengths(out["A"], out["A_size"]))
    if (spread := disparity(samples[0]["M"], entries)) <= DISPARATE:
        return None
    if form.gauss or not form.ideal:
        if spread < HOPELESS:
            return None
        raise ModelError(
            f"what a constraint ties together differs in mass by {spread:.1e}: forces with multipliers, given reactions and"
            " rows nonlinear in the accelerations are solved in a way that loses the light ones. Leave their mass out"
        )
    return balanced(entries)


def _gamma(samples: list[dict[str, Array]]) -> float:
    """0 where M is positive definite at every sample; else a weight, a power of 4, that balances M + γAᵀA."""
    for out in samples:
        M = out["M"]
        scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1))
        if np.linalg.eigvalsh(M / np.outer(scale, scale)).min(initial=1.0) < 1e-10:  # singular up to rounding
            rows = np.sum(out["A"] ** 2)
            return float(4.0 ** np.round(np.log((np.trace(M) or 1.0) / (rows or 1.0)) / np.log(4.0)))
    return 0.0


def _refuse_singular(
    form: NormalForm, p: Array, start: State, space: RowSpace, names: list[str], metric: Array | None
) -> None:
    """Raises unless the rank at a start is clear and that of its neighbourhood."""
    if not space.clear:
        rows = ", ".join(f"'{names[i]}'" for i in space.dependent(space.rank))
        worst = space.unclear.max()
        raise SingularConfiguration(
            f"constraints are nearly dependent at the start (σ = {worst:.1e}; {rows} against the others): neither redundant nor"
            " independent, so that accelerations have no digits. Drop a row, correct its numbers, or start elsewhere",
            time=start[0],
        )
    if space.rank == len(names):
        return
    rng = np.random.default_rng(5)
    for _ in range(2):
        neighbour = _rows_nearby(form, p, start, space, rng, metric)
        if neighbour is not None and neighbour.sigma[space.rank] > RANK_RISES:
            rows = ", ".join(f"'{names[i]}'" for i in space.dependent(space.rank))
            raise SingularConfiguration(
                f"branches of the motion meet at the start: {len(names)} constraints have rank {space.rank} there and a higher"
                f" one beside it ({rows} depend on the others at this state only), so that the motion is not determined. Start"
                " off this state, along one of the branches",
                time=start[0],
            )


RANK_RISES = 1e-5
"""The rank rises if a singular value that was zero at a start is larger than this at a nearby state."""


def _rows_nearby(
    form: NormalForm, p: Array, start: State, space: RowSpace, rng: np.random.Generator, metric: Array | None
) -> RowSpace | None:
    """The rows at a nearby state that satisfies the independent ones, where their directions have changed by some hundredths
    of a radian; None if there is none."""
    t, q, v = start
    fn, holonomic = form.select("M", "N", "A", "A_size", "A0", "f0"), form.levels == 0
    blocks = fn(t, q, v, p)
    weight = lambda out: out["M"] if metric is None else np.diag(metric)
    strong = RowSpace.of(weight(blocks), blocks["A0"], blocks["A_size"][holonomic])
    direction = blocks["N"] @ space.kernel(rng.standard_normal(len(space.K)), space.rank)
    rows_there, shortest = None, 1e-9 * (1e-3 + np.abs(q).max(initial=0.0)) / (np.abs(direction).max(initial=0.0) or 1.0)
    for length in shortest * 3.0 ** np.arange(22):
        q_near = normalise(form, q + length * direction)
        for _ in range(4):
            out = fn(t, q_near, v, p)
            if not _finite(out):
                break
            rows = RowSpace.scaled(weight(out), out["A0"], strong.s)
            q_near = normalise(form, q_near + out["N"] @ rows.step(out["f0"], strong.rank))
        if not _finite(out):
            break
        rows_there = RowSpace.scaled(weight(out), out["A"], space.s)
        if np.linalg.norm(rows_there.Y - space.Y) > 0.02:
            break
    return rows_there
