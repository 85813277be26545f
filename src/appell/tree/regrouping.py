"""Base parameters of an open tree by exact algebra, symbolic where lengths are symbols; no random states are used.

A body has the pseudo-inertia P = Σ (x, 1)(x, 1)ᵀ dm, (4, 4); a twist ξ = (ω× v) of its frame gives it the energy ½ tr(ξ P ξᵀ).
Joint forces follow from the energies T and V, which are linear in P: a change of P that alters neither T nor V (up to a
constant) cannot be observed. With the twists Φ of joint i, its placement G on the predecessor p, and the possible velocities of
the predecessor in the frame of i at every position (the span 𝒱, closed under [Φ, ·]),

    observed at the joint itself      tr(ξ P φᵀ),  ξ in 𝒱 and Φ, φ in Φ
    observed further inwards          k(G P Gᵀ),  k any observed function of a body on p; the first is that of gravity, g·h

a change of P whose functions of the second kind do not change as the joint moves, and whose functions of the first kind vanish,
can be moved to the predecessor: δP_i = P, δP_p = −G P Gᵀ changes nothing. All unobservable changes are sums of these (Wensing,
Niemeyer and Slotine, 2017, arrive at the same spaces by observability).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Matrix, Rational
from sympy.polys.matrices import DomainMatrix

from appell.tree.frames import Node, basis
from appell.tree.joint_loads import TEN

Table = Any
"""A SymPy matrix, whose type does not describe its entries."""

CLEAN = 1e-12
"""An entry of a rotation this close to 0, ±½ or ±1 differs from it by rounding."""
PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3))
"""Positions of the ten numbers in a pseudo-inertia: second moments xx, xy, yy, xz, yz, zz, first moments, mass."""


@dataclass(frozen=True, eq=False)
class Regrouping:
    """β = matrix π in exact numbers and symbols: `independent` (r,), `unidentifiable` (k,), `matrix` (r, 10 n) of SymPy."""

    independent: tuple[int, ...]
    unidentifiable: tuple[int, ...]
    matrix: Table


@dataclass(frozen=True, eq=False)
class _Observable:
    """The observable part of a body: its possible twists (rows of six), and functions of its ten numbers (rows of ten)."""

    twists: Table
    functions: Table


def regrouped(nodes: Sequence[Node], gravity: Sequence[Any]) -> Regrouping:
    """The exact base parameters of the bodies behind these joints; `reason_against` must be None for each."""
    ground = _Observable(Matrix.zeros(0, 6), Matrix([_gravity_row(gravity)]) if any(gravity) else Matrix.zeros(0, 10))
    observed: list[_Observable] = []
    vectors = []
    for k, node in enumerate(nodes):
        parent = observed[node.parent] if node.parent >= 0 else ground
        body, hidden = _observable_behind(node, parent)
        observed.append(body)
        G = _transformed(_placement(node))
        for row in range(hidden.rows):
            vector = Matrix.zeros(1, 10 * len(nodes))
            vector[0, 10 * k : 10 * k + 10] = hidden[row, :]
            if node.parent >= 0:
                vector[0, 10 * node.parent : 10 * node.parent + 10] = -(G * hidden[row, :].T).T
            vectors.append(vector)
    return _grouped(Matrix.vstack(Matrix.zeros(0, 10 * len(nodes)), *vectors), len(nodes))


def _observable_behind(node: Node, parent: _Observable) -> tuple[_Observable, Table]:
    """The observable part of the body behind a joint, and a basis (rows) of the changes that can move to its predecessor."""
    phis = [_generator(phi) for phi in _twists(node)]
    steps = [_rate(phi) for phi in phis]
    inward = _placement(node).inv()
    carried = [_coordinates(inward * _generator(row) * inward.inv()) for row in _rows(parent.twists)]
    brackets = [_bracket(phi) for phi in phis]
    before = _invariant_space(Matrix.vstack(Matrix.zeros(0, 6), *carried), brackets)
    joint_twists = Matrix.vstack(Matrix.zeros(0, 6), *(_coordinates(phi) for phi in phis))
    inherited = _space(parent.functions * _transformed(_placement(node)))
    local = [_energy(_generator(xi), phi) for xi in (*_rows(before), *_rows(joint_twists)) for phi in phis]
    changing = _invariant_space(Matrix.vstack(Matrix.zeros(0, 10), *local, *(inherited * A for A in steps)), steps)
    hidden = _kernel(changing, 10)
    return _Observable(_space(Matrix.vstack(before, joint_twists)), _space(Matrix.vstack(inherited, changing))), hidden


def reason_against(node: Node) -> str | None:
    """Why a joint has no exact regrouping: its motions do not form a group with constant axes. None if it has one."""
    if _columns(node) is None:
        return f"joint '{node.name}' has axes that turn in its own body"
    twists = _twists(node)
    space = _space(Matrix.vstack(*twists))
    products = [(_generator(a) * _generator(b) - _generator(b) * _generator(a)) for a in twists for b in twists]
    larger = _space(Matrix.vstack(space, *map(_coordinates, products))).rows > space.rows
    return f"the motions of joint '{node.name}' are no group" if larger else None


def _twists(node: Node) -> list[Table]:
    """Φ on the axes of the joint's frame, rows (ω, v)."""
    R = _exact(basis(node.axis)) if node.kind.axial else sympy.eye(3)
    columns = [_exact([column]).T for column in _columns(node) or ()]
    return [Matrix.hstack((R * column[:3, :]).T, (R * column[3:, :]).T) for column in columns]


def _columns(node: Node) -> list[list[float]] | None:
    """The columns (ω, v) of S on the joint's own axes; None where they depend on q."""
    S = node.kind.subspace
    if not S.constant:
        return None
    S0, S1 = (np.array(S.columns(list(np.linspace(*ends, node.kind.nq))), dtype=float) for ends in ((0.3, 0.7), (1.1, 0.2)))
    return S0.tolist() if np.array_equal(S0, S1) else None  # Ṡ v = 0 alone does not make S constant


def has_rounded_axes(node: Node) -> bool:
    """Whether the axes of a joint, or those of its placement, are numbers that rounding may have changed: not 0, ±½ or ±1."""
    tables = [node.placement.R, basis(node.axis)] if node.kind.axial else [node.placement.R]
    return any(2 * x % 1 != 0 for table in tables for x in _exact(table) if not x.free_symbols)


def _exact(values: Any) -> Table:
    """Entries as exact numbers: 0, ±½, ±1 and roots where they equal these up to rounding; symbols unchanged."""
    table = np.array(values, dtype=object)
    return Matrix(*table.shape, [_number(x) for x in table.ravel()])


def _number(x: Any) -> Any:
    if isinstance(x, sympy.Expr) and x.free_symbols:
        return x.xreplace({f: _number(float(f)) for f in x.atoms(sympy.Float)})
    nearest = round(2 * float(x))
    return Rational(nearest, 2) if abs(2 * float(x) - nearest) < CLEAN else Rational(repr(float(x)))


def _placement(node: Node) -> Table:
    """G of the joint's frame on its predecessor, (4, 4)."""
    R, p = _exact(node.placement.R), _exact(node.placement.p.reshape(3, 1))
    return Matrix.vstack(Matrix.hstack(R, p), Matrix([[0, 0, 0, 1]]))


# -- twists and pseudo-inertias ----------------------------------------------------------------------------------------


def _generator(row: Table) -> Table:
    """(ω, v) → (4, 4)."""
    a, b, c, x, y, z = row
    return Matrix([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])


def _coordinates(xi: Table) -> Table:
    return Matrix([[xi[2, 1], xi[0, 2], xi[1, 0], xi[0, 3], xi[1, 3], xi[2, 3]]])


def _bracket(phi: Table) -> Table:
    """ξ → [φ, ξ] on rows of six, from the right."""
    units = [_generator(row) for row in _rows(sympy.eye(6))]
    return Matrix.vstack(*(_coordinates(phi * xi - xi * phi) for xi in units))


def _unit_pseudo_inertia(k: int) -> Table:
    """The pseudo-inertia with entry k equal to 1."""
    P = Matrix.zeros(4, 4)
    i, j = PAIRS[k]
    P[i, j] = P[j, i] = 1
    return P


def _ten_numbers(P: Table) -> Table:
    return Matrix([P[i, j] for i, j in PAIRS])


def _transformed(G: Table) -> Table:
    """P → G P Gᵀ on the ten numbers, (10, 10)."""
    return Matrix.hstack(*(_ten_numbers(G * _unit_pseudo_inertia(k) * G.T) for k in range(10)))


def _rate(phi: Table) -> Table:
    """P → φ P + P φᵀ on the ten numbers, (10, 10)."""
    return Matrix.hstack(*(_ten_numbers(phi * _unit_pseudo_inertia(k) + _unit_pseudo_inertia(k) * phi.T) for k in range(10)))


def _energy(xi: Table, phi: Table) -> Table:
    """P → tr(ξ P φᵀ), a row of ten."""
    return Matrix([[(xi * _unit_pseudo_inertia(k) * phi.T).trace() for k in range(10)]])


def _gravity_row(gravity: Sequence[Any]) -> list[Any]:
    """P → g·h, a row of ten."""
    g = [_number(x) for x in gravity]
    return [0] * 6 + g + [0]


def _of_ten() -> Table:
    """The ten numbers of a pseudo-inertia from those of `TEN`: P = ½ tr(J) 1 − J, (10, 10)."""
    table = Matrix.zeros(10, 10)
    at = {name: TEN.index(name) for name in TEN}
    half = Rational(1, 2)
    for row, (i, j) in enumerate(PAIRS[:6]):
        letters = "xyz"
        if i == j:
            for k in range(3):
                table[row, at[f"J_{letters[k] * 2}"]] = half if k != i else -half
        else:
            table[row, at[f"J_{letters[i]}{letters[j]}"]] = -1
    for k in range(3):
        table[6 + k, at[f"h_{'xyz'[k]}"]] = 1
    table[9, at["m"]] = 1
    return table


# -- spaces of rows, exactly -------------------------------------------------------------------------------------------


def _rows(matrix: Table) -> list[Table]:
    return [matrix[k, :] for k in range(matrix.rows)]


def _reduced(matrix: Table) -> tuple[Table, tuple[int, ...]]:
    """The reduced row echelon form without its rows of zeros, and its pivots, over the field of the symbols."""
    if not matrix.rows:
        return matrix, ()
    echelon, pivots = DomainMatrix.from_Matrix(matrix).to_field().rref()
    return echelon.to_Matrix()[: len(pivots), :], tuple(map(int, pivots))


def _space(matrix: Table) -> Table:
    """A basis of the space of the rows."""
    return _reduced(matrix)[0]


def _invariant_space(matrix: Table, steps: Iterable[Table]) -> Table:
    """The smallest space that contains these rows and is invariant under every step, applied from the right."""
    space, steps = _space(matrix), list(steps)
    while True:
        larger = _space(Matrix.vstack(space, *(space * step for step in steps))) if space.rows else space
        if larger.rows == space.rows:
            return space
        space = larger


def _kernel(rows: Table, n: int) -> Table:
    """A basis (rows) of the vectors on which all rows vanish."""
    if not rows.rows:
        return sympy.eye(n)
    reduced, pivots = _reduced(rows)
    free_columns = [j for j in range(n) if j not in pivots]
    kernel = Matrix.zeros(len(free_columns), n)
    for k, j in enumerate(free_columns):
        kernel[k, j] = 1
        for i, pivot in enumerate(pivots):
            kernel[k, pivot] = -reduced[i, j]
    return kernel


def _grouped(hidden: Table, bodies: int) -> Regrouping:
    """Columns in order: a column in the span of those before it is expressed by them, as for the regressor at random states."""
    n = 10 * bodies
    to_pi = _of_ten().inv()
    in_pi = Matrix.hstack(*(hidden[:, 10 * k : 10 * k + 10] * to_pi.T for k in range(bodies)))
    order = list(range(n))[::-1]
    reduced, pivots = _reduced(in_pi[:, order])
    dependent = [order[p] for p in pivots]
    independent = [k for k in range(n) if k not in dependent]
    matrix, unidentifiable = Matrix.zeros(len(independent), n), []
    for i, k in enumerate(independent):
        matrix[i, k] = 1
    for row, k in enumerate(dependent):
        coefficients = {b: -reduced[row, order.index(b)] for b in independent if reduced[row, order.index(b)] != 0}
        if not coefficients:
            unidentifiable.append(k)
        for b, x in coefficients.items():
            matrix[independent.index(b), k] = sympy.factor(x)
    return Regrouping(tuple(independent), tuple(sorted(unidentifiable)), matrix)


__all__ = ["Regrouping", "has_rounded_axes", "reason_against", "regrouped"]
