"""Base parameters: the combinations of masses, first moments and inertias that determine the joint forces. τ = Y π = Y_b β,
β = π_b + K π_d,        Y_d = Y_b K

Columns of the regressor Y are taken in order; a column in the span of those before it (Y_d) is expressed by them. For an open
tree K is exact, and symbolic where lengths are symbols (`regrouping`). With loops, wheels, joints whose axes turn in their own
body, and axes that are parallel only up to rounding, K comes from Y at random states (from Nᵀ Y, with the null space N of the
constraints) by least squares, and its entries are good to about 1e-10. A numerical rank decides which columns are dependent;
rounding, 1e-15, is many orders below the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.errors import ModelError
from appell.normal_form import normal_form
from appell.normal_form.manifold import project, residuals
from appell.reading import whole
from appell.rows import RANK_LOST, least_squares, null_space, singular_values, with_direction
from appell.tree.frames import size_of, velocity_units
from appell.tree.joint_loads import TEN, ten_of
from appell.tree.regrouping import has_rounded_axes, reason_against, regrouped

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics

Array = NDArray[np.float64]

SPANNED = 1e-9
"""A column is independent if more than this fraction of its length is orthogonal to the columns before it. At random states a
few hundredths remain of an independent column, and rounding of 1e-14 of a dependent one."""
ENTRY_ROUNDED = 1e-9
"""Entries of K below this fraction of the largest in their row are rounding."""
SPARE = 3
"""Equations per parameter: enough that no parameter is missed by chance at random states."""


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """β = matrix π, for π as in `Tree.regressor`: every joint force is Y[:, independent] β.

    Attributes
    ----------
    independent: (r,) indices of the parameters that represent the combinations; unidentifiable: (k,) indices of those that
    affect no joint force, neither alone nor in a combination.
    matrix: (r, 10 n). values: β of this tree, (r,), SI; both are expressions where the tree has symbols.
    names: each combination as text, "wrist.m + 0.5 hand.h_x"; expressions: the same for SymPy, exact where `exact`.
    exact: whether the coefficients are exact; otherwise they come from least squares, good to about 1e-10.
    """

    independent: tuple[int, ...]
    unidentifiable: tuple[int, ...]
    matrix: Array
    values: Array
    names: tuple[str, ...]
    expressions: tuple[Any, ...]
    exact: bool

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.independent)

    def __len__(self) -> int:
        return self.rank

    def __repr__(self) -> str:
        return f"<{self.rank} base parameters of {self.matrix.shape[1]}>"


def base_parameters(tree: TreeDynamics, constraints: Any, seed: int) -> BaseParameters:
    """See `TreeDynamics.base_parameters`."""
    if not tree.nodes:
        raise ModelError(f"nothing moves in {tree.name}: it has no base parameters")
    if not constraints and not any(map(reason_against, tree.nodes)):
        regrouping = regrouped(tree.nodes, tree.gravity)
        exact = np.array(regrouping.matrix.tolist(), dtype=object).reshape(len(regrouping.independent), -1)
        by_algebra = _of_matrix(tree, regrouping.independent, regrouping.unidentifiable, exact, exact=True)
        return _smaller_by_rank(tree, by_algebra.rank, seed) or by_algebra
    tree._refuse_symbols("a rank at random states needs")
    return _by_rank(tree, _on_rows(tree, constraints, seed) if constraints else _stacked(tree, seed))


def _smaller_by_rank(tree: TreeDynamics, rank: int, seed: int) -> BaseParameters | None:
    """Base parameters by numerical rank where they are fewer: axes that are parallel up to rounding are not parallel to exact
    algebra. None where axes are exact, or the numerical rank is not clear."""
    if tree.parameters or not any(map(has_rounded_axes, tree.nodes)):  # type: ignore[attr-defined]
        return None
    try:
        base = _by_rank(tree, _stacked(tree, seed))
    except ModelError:
        return None
    return base if base.rank < rank else None


def _of_matrix(
    tree: TreeDynamics, independent: tuple[int, ...], unidentifiable: tuple[int, ...], matrix: NDArray[Any], *, exact: bool
) -> BaseParameters:
    labels = [f"{node.name}.{part}" for node in tree.nodes for part in TEN]
    letters = [sympy.Symbol(label, real=True) for label in labels]
    names = tuple(
        _combination_text(row, representative, labels) for row, representative in zip(matrix, independent, strict=True)
    )
    sums = tuple(sympy.Add(*(row[k] * letters[k] for k in np.flatnonzero(row != 0))) for row in matrix)
    numeric = not any(getattr(x, "free_symbols", None) for x in matrix.flat)
    pi = np.concatenate([ten_of(node.inertia) for node in tree.nodes])
    matrix = matrix.astype(float) if numeric else matrix
    return BaseParameters(independent, unidentifiable, matrix, matrix @ pi, names, sums, exact)


def _by_rank(tree: TreeDynamics, Y: Array) -> BaseParameters:
    """Base parameters from stacked regressors, by numerical rank."""
    size = np.linalg.norm(Y, axis=0)
    kinds = size.reshape(-1, 10)
    largest = np.concatenate(
        [np.repeat(kinds[:, columns].max(initial=0.0), len(columns)) for columns in ([0], [1, 2, 3], range(4, 10))]
    )
    vanishing = size <= SPANNED * np.tile(largest, len(kinds))
    unit = Y / np.where(vanishing, 1.0, size)
    independent: list[int] = []
    basis = np.zeros((len(Y), 0))
    for k in np.flatnonzero(~vanishing):
        if (wider := with_direction(basis, unit[:, k], SPANNED)) is not None:
            independent.append(int(k))
            basis = wider
    _refuse_unclear(unit[:, ~vanishing], len(independent), tree.name)
    dependent = [int(k) for k in np.flatnonzero(~vanishing) if k not in independent]
    matrix = np.zeros((len(independent), Y.shape[1]))
    matrix[range(len(independent)), independent] = 1.0
    if dependent:
        K = least_squares(unit[:, independent], unit[:, dependent], SPANNED)
        K = np.where(np.abs(K) > ENTRY_ROUNDED * np.abs(K).max(initial=0.0), K, 0.0)
        matrix[:, dependent] = K * size[dependent] / size[independent][:, None]
    return _of_matrix(tree, tuple(independent), tuple(map(int, np.flatnonzero(vanishing))), matrix, exact=False)


def _stacked(tree: TreeDynamics, seed: int) -> Array:
    """Regressors at random states, stacked; velocities are such that a fall through the size of the tree takes about a unit
    of time, and forces are in units of the largest of each joint: lengths of 1e-9 m would vanish among angles."""
    size, fall = size_of(tree.nodes), float(np.linalg.norm(tree.gravity))
    rate = np.sqrt(fall / size) if fall else 1.0
    units = velocity_units(tree.nodes, size)
    rng = np.random.default_rng(whole(seed, "seed=", 0))
    count = -(-SPARE * 10 * len(tree.nodes) // tree.nv) + 10
    q, v, a = tree._drawn(rng, count), rng.standard_normal((count, tree.nv)), rng.standard_normal((count, tree.nv))
    (Y,) = vm_function(tree.function("regressor")).batch(q, v * units * rate, a * units * rate**2)
    return (Y * (units / (size**2 * rate**2))[:, None]).reshape(-1, Y.shape[-1])


def _on_rows(tree: TreeDynamics, constraints: Any, seed: int) -> Array:
    """Nᵀ Y at random states that satisfy the constraints, with velocities and accelerations they admit: A N = 0, A a + a0 =
    0."""
    form = normal_form(tree.system(constraints))  # type: ignore[attr-defined]
    rng, blocks = np.random.default_rng(whole(seed, "seed=", 0)), []
    if form.inputs["p"].numel() or form.nq != tree.nq or form.nv != tree.nv:
        raise ModelError(f"the constraints of {tree.name} have parameters or states of their own; give them numbers")
    regressor, rows, no_parameters = vm_function(tree.function("regressor")), form.select("A", "a0"), np.zeros(0)
    count = -(-SPARE * 10 * len(tree.nodes) // max(tree.nv - len(form.rows), 1)) + 10
    for _ in range(20 * count):
        q, v = project(form, 0.0, tree._drawn(rng, None), rng.standard_normal(tree.nv), no_parameters)
        if not residuals(form, 0.0, q, v, no_parameters).relative < 1e-12:
            continue  # no admissible state was found from this one
        values = rows(0.0, q, v, no_parameters)
        N, a = null_space(values["A"]), rng.standard_normal(tree.nv)
        a = a - least_squares(values["A"], values["A"] @ a + values["a0"], RANK_LOST)
        blocks.append(N.T @ regressor.batch(q[None], v[None], a[None])[0][0])
        if len(blocks) == count:
            return np.vstack(blocks)
    raise ModelError(f"no states of {tree.name} on its constraints were found from random ones")


def _refuse_unclear(unit: Array, count: int, name: str) -> None:
    """Raises unless the rank by singular values agrees."""
    sizes = singular_values(unit)
    rank = int((sizes > SPANNED * sizes.max(initial=0.0)).sum())
    if rank != count:
        raise ModelError(f"the rank of the regressor of {name} is not clear: {count} by columns, {rank} by singular values")


def _combination_text(row: NDArray[Any], representative: int, labels: list[str]) -> str:
    """The combination as text, its representative parameter first."""
    text = labels[representative]
    for k in np.flatnonzero(row != 0):
        if k != representative:
            negative, size = _size(row[k])
            text += f" {'-' if negative else '+'} {size}{labels[k]}"
    return text


def _size(x: Any) -> tuple[bool, str]:
    """Whether a coefficient is negative, and its absolute value as text with a trailing space; empty for 1."""
    if getattr(x, "free_symbols", None):
        negative = bool(x.could_extract_minus_sign())
        size = -x if negative else x
        return negative, f"({size}) " if size.is_Add else f"{size} "
    size = abs(float(x))
    return float(x) < 0, "" if np.isclose(size, 1.0, rtol=1e-9) else f"{size:.6g} "


__all__ = ["BaseParameters", "base_parameters"]
