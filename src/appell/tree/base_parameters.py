"""Base parameters: the combinations of masses, first moments and inertias that joint forces depend on at all.

    τ = Y π = Y_b β,        β = π_b + K π_d,        Y_d = Y_b K

Columns of the regressor Y at random states are taken in their order; one that the columns before it span (Y_d) goes into those.
K is found by least squares, its entries to about 1e-10; a rank decides which columns are spanned, with a gap of many orders
between 1e-15 and what is independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.errors import ModelError
from appell.reading import whole
from appell.rows import least_squares, singular_values
from appell.tree.joint_loads import TEN

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics

Array = NDArray[np.float64]

SPANNED = 1e-9
"""Share of its length that a column must have beside the columns before it to be independent of them: random states leave a
few hundredths of one that is, rounding 1e-14 of one that is not."""
ENTRY_ROUNDED = 1e-9
"""Share of the largest entry of a row of K below which an entry is rounding."""
SPARE = 3
"""Equations for each parameter, so that random states leave nothing out by chance."""


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """β = matrix π, for π as in `Tree.regressor`: every joint force is Y[:, independent] β.

    Attributes
    ----------
    independent: (r,) places of the parameters that stand for the combinations; unidentifiable: (k,) those that no joint force
        contains, alone or with others.
    matrix: (r, 10 n). values: β of this tree, (r,), SI.
    names: what each combination is, in words: "wrist.m + 0.5 hand.h_x".
    """

    independent: tuple[int, ...]
    unidentifiable: tuple[int, ...]
    matrix: Array
    values: Array
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.independent)

    def __len__(self) -> int:
        return self.rank

    def __repr__(self) -> str:
        return f"<{self.rank} base parameters of {self.matrix.shape[1]}>"


def base_parameters(tree: TreeDynamics, seed: int) -> BaseParameters:
    """See `TreeDynamics.base_parameters`."""
    Y = _stacked(tree, seed)
    size = np.linalg.norm(Y, axis=0)
    kinds = size.reshape(-1, 10)
    largest = np.concatenate([np.repeat(kinds[:, part].max(initial=0.0), len(part)) for part in ([0], [1, 2, 3], range(4, 10))])
    none = size <= SPANNED * np.tile(largest, len(kinds))
    unit = Y / np.where(none, 1.0, size)
    independent: list[int] = []
    basis = np.zeros((len(Y), 0))
    for k in np.flatnonzero(~none):
        left = unit[:, k]
        for _ in range(2):  # twice is enough
            left = left - basis @ (basis.T @ left)
        if np.linalg.norm(left) > SPANNED:
            independent.append(int(k))
            basis = np.column_stack([basis, left / np.linalg.norm(left)])
    _refuse_unclear(unit[:, ~none], len(independent), tree.name)
    dependent = [int(k) for k in np.flatnonzero(~none) if k not in independent]
    matrix = np.zeros((len(independent), Y.shape[1]))
    matrix[range(len(independent)), independent] = 1.0
    if dependent:
        K = least_squares(unit[:, independent], unit[:, dependent], SPANNED)
        K = np.where(np.abs(K) > ENTRY_ROUNDED * np.abs(K).max(initial=0.0), K, 0.0)
        matrix[:, dependent] = K * size[dependent] / size[independent][:, None]
    labels = [f"{node.name}.{part}" for node in tree.nodes for part in TEN]
    names = tuple(_said(row, own, labels) for row, own in zip(matrix, independent, strict=True))
    values, lost = matrix @ tree.dynamic_parameters, tuple(map(int, np.flatnonzero(none)))
    return BaseParameters(tuple(independent), lost, matrix, values, names)


def _stacked(tree: TreeDynamics, seed: int) -> Array:
    """Regressors at random states, one above the other."""
    if not tree.nodes:
        raise ModelError(f"nothing moves in {tree.name}: it has no base parameters")
    rng = np.random.default_rng(whole(seed, "seed=", 0))
    count = -(-SPARE * 10 * len(tree.nodes) // tree.nv) + 10
    q, v, a = tree._drawn(rng, count), rng.standard_normal((count, tree.nv)), rng.standard_normal((count, tree.nv))
    (Y,) = vm_function(tree.function("regressor")).batch(q, v, a)
    return Y.reshape(-1, Y.shape[-1])


def _refuse_unclear(unit: Array, found: int, name: str) -> None:
    """The rank by singular values says the same, or nothing is said."""
    sizes = singular_values(unit)
    rank = int((sizes > SPANNED * sizes.max(initial=0.0)).sum())
    if rank != found:
        raise ModelError(f"the rank of the regressor of {name} is not clear: {found} by columns, {rank} by singular values")


def _said(row: Array, own: int, labels: list[str]) -> str:
    """The combination in words, the parameter that stands for it first."""
    said = labels[own]
    for k in np.flatnonzero(row):
        if k != own:
            size = "" if np.isclose(abs(row[k]), 1.0, rtol=1e-9) else f"{abs(row[k]):.6g} "
            said += f" {'-' if row[k] < 0 else '+'} {size}{labels[k]}"
    return said


__all__ = ["BaseParameters", "base_parameters"]
