"""Matrices of expressions: values at random states, independent rows, and an inverse that stays short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix

from appell.errors import SingularConfiguration
from appell.forms.engine.diagonal_blocks import row_blocks
from appell.forms.engine.evaluation import FLOAT, Tape
from appell.jets import Jet
from appell.tidy import collected, with_wave_products

Table = Any
"""A SymPy matrix of expressions (whose annotations do not allow entries to be used as such)."""


def row_times(matrix: Table, i: int, column: Table) -> Expr:
    """(M x)_i, zero terms skipped."""
    n = matrix.shape[1]
    return sympy.Add(*(matrix[i, j] * column[j] for j in range(n) if matrix[i, j] != 0 and column[j] != 0))


def product(matrix: Table, column: Table) -> Table:
    """M x, zero terms skipped: for 0 · symbol SymPy checks whether the symbol is finite."""
    return Matrix([row_times(matrix, i, column) for i in range(matrix.shape[0])])


def cross(a: Table, b: Table) -> Table:
    """a × b, zero terms skipped."""
    ab = lambda i, j: a[i] * b[j] if a[i] != 0 and b[j] != 0 else sympy.S.Zero
    return Matrix([ab(1, 2) - ab(2, 1), ab(2, 0) - ab(0, 2), ab(0, 1) - ab(1, 0)])


def samples(matrix: Table, count: int = 3, seed: int = 0) -> list[np.ndarray]:
    """The matrix at random states and parameter values where it is finite; fewer if it rarely is."""
    symbols = sorted(matrix.free_symbols, key=str)
    shape = matrix.shape
    if not symbols:
        return [np.array(matrix.tolist(), dtype=float).reshape(shape)]
    tape, rng, matrices = Tape(matrix), np.random.default_rng(seed), []
    for _ in range(8 * count):
        sizes = rng.uniform(0.3, 1.5, len(symbols))
        signs = [1.0 if s.is_positive else rng.choice([-1.0, 1.0]) for s in symbols]
        try:
            value = np.array(tape(dict(zip(symbols, (sizes * signs).tolist(), strict=True)), FLOAT)).reshape(shape)
        except SingularConfiguration:
            continue
        if np.isfinite(value).all():
            matrices.append(value)
        if len(matrices) == count:
            break
    return matrices


FAR_LONGER = 1e6
"""Ratio of row lengths beyond which one is much shorter, more than units and states explain."""


def pivots(matrices: Sequence[np.ndarray], limit: int) -> list[int]:
    """Up to `limit` independent rows, best conditioned first over all samples (Gram–Schmidt with pivoting).

    The length of a row depends on units, so all are normalized. Among equally well conditioned rows, those much shorter than
    the longest (`FAR_LONGER`) come last, because dividing by them would lose digits.
    """
    if not matrices:
        return list(range(limit))
    lengths = [np.linalg.norm(m, axis=1, keepdims=True) + 1e-300 for m in matrices]
    remainders = [m / size for m, size in zip(matrices, lengths, strict=True)]
    length = np.exp(np.mean(np.log(lengths), axis=0))[:, 0]
    chosen: list[int] = []
    while len(chosen) < limit:
        size = np.max([np.linalg.norm(m, axis=1) for m in remainders], axis=0)
        mean = np.exp(np.mean([np.log(np.linalg.norm(m, axis=1) + 1e-30) for m in remainders], axis=0))
        mean[chosen] = 0
        equal = np.flatnonzero(np.round(mean, 9) == np.round(mean, 9).max())
        best = int(equal[np.argmax(length[equal] * FAR_LONGER >= length[equal].max())])  # the first that is not much shorter
        if size[best] < 1e-7 or best in chosen:  # what remains of unit rows is rounding: they depend on the chosen ones
            break
        chosen.append(best)
        for k, m in enumerate(remainders):
            u = m[best] / (np.linalg.norm(m[best]) + 1e-300)
            remainders[k] = m - np.outer(m @ u, u)
    return chosen


# -- the inverse of a matrix of expressions ----------------------------------------------------------------------------


def inverse(Phi: Table) -> Table:
    """Φ⁻¹ by blocks: a permutation makes Φ block triangular, and each block is inverted by its adjugate.

    No divisor vanishes unless det Φ does, as long as the blocks have at most three rows or a constant pivot. Only the
    determinants of the blocks are expanded, with sin² + cos² = 1.
    """
    n = Phi.shape[0]
    match = _matching(Phi)  # column of each row
    blocks = _blocks(Phi, match)
    X: dict[int, list[Expr]] = {}  # column of Φ → row of the inverse
    for block in blocks:  # each block depends only on those before it
        block = sorted(block)
        columns = [match[i] for i in block]
        solved = [(j, X[j]) for j in X]
        right = [[_add([_delta(i, k)] + [-Phi[i, j] * x[k] for j, x in solved if Phi[i, j] != 0 and x[k] != 0])
                  for k in range(n)] for i in block]  # fmt: skip
        D = _block_inverse(Phi.extract(block, columns))
        for a, j in enumerate(columns):
            X[j] = [with_wave_products(_add([D[a, b] * right[b][k] for b in range(len(block))])) for k in range(n)]
    return Matrix(n, n, [e for j in range(n) for e in X[j]])


def largest_block(Phi: Table) -> int:
    """Rows of the largest block that `inverse` inverts as one."""
    return max(map(len, _blocks(Phi, _matching(Phi))), default=0)


def _blocks(Phi: Table, match: list[int]) -> list[list[int]]:
    """Blocks of coupled rows, each after those it depends on."""
    n = Phi.shape[0]
    return row_blocks(np.array([[Phi[i, j] != 0 for j in range(n)] for i in range(n)]), match)


def _delta(i: int, k: int) -> Expr:
    return sympy.Integer(int(i == k))


def _add(terms: list[Expr]) -> Expr:
    return sympy.Add(*terms)


def _matching(Phi: Table) -> list[int]:
    """A column for each row with a nonzero entry there (augmenting paths, constant entries first)."""
    n = Phi.shape[0]
    order = [sorted((j for j in range(n) if Phi[i, j] != 0), key=lambda j: len(Phi[i, j].free_symbols)) for i in range(n)]
    owner: dict[int, int] = {}

    def assign(i: int, visited: set[int]) -> bool:
        for j in order[i]:
            if j not in visited:
                visited.add(j)
                if j not in owner or assign(owner[j], visited):
                    owner[j] = i
                    return True
        return False

    if not all(assign(i, set()) for i in range(n)):
        raise ZeroDivisionError("structurally singular")
    row_of = {i: j for j, i in owner.items()}
    return [row_of[i] for i in range(n)]


def _block_inverse(D: Table) -> Table:
    n = D.shape[0]
    if n == 1:
        return Matrix([[1 / D[0, 0]]])
    if n <= 3:
        adjugate = _adjugate(D)
        det = collected(_add([D[0, k] * adjugate[k, 0] for k in range(n)]))
        return Matrix(n, n, [collected(entry / det) for entry in adjugate])
    p, q = _pivot(D)
    rows, columns = [i for i in range(n) if i != p], [j for j in range(n) if j != q]
    d, u, v, E = D[p, q], D.extract([p], columns), D.extract(rows, [q]), D.extract(rows, columns)
    S = inverse(E - v * u / d)  # Schur's complement
    X = sympy.zeros(n, n)
    top_row, left_column = -u * S / d, -S * v / d
    for a, j in enumerate(columns):
        for b, i in enumerate(rows):
            X[j, i] = S[a, b]
        X[j, p] = left_column[a, 0]
    for b, i in enumerate(rows):
        X[q, i] = top_row[0, b]
    X[q, p] = 1 / d + (u * S * v)[0, 0] / d**2
    return X


def _adjugate(D: Table) -> Table:
    """adj D of two or three rows, D adj D = det D."""
    if D.shape[0] == 2:
        return Matrix([[D[1, 1], -D[0, 1]], [-D[1, 0], D[0, 0]]])
    minor = lambda i, k: D[(i + 1) % 3, (k + 1) % 3] * D[(i + 2) % 3, (k + 2) % 3]
    transposed = lambda i, k: D[(i + 1) % 3, (k + 2) % 3] * D[(i + 2) % 3, (k + 1) % 3]
    return Matrix(3, 3, [collected(minor(k, i) - transposed(k, i)) for i in range(3) for k in range(3)])


def _pivot(D: Table) -> tuple[int, int]:
    """An entry that never vanishes if there is one, else the largest at random states."""
    n = D.shape[0]
    sizes = np.min([np.abs(m) for m in samples(D)] or [np.ones((n, n))], axis=0)
    constant = np.array([[all(not isinstance(s, Jet) for s in D[i, j].free_symbols) for j in range(n)] for i in range(n)])
    sizes = np.where(constant & (sizes > 0), sizes + 1e3, sizes)
    return divmod(int(np.argmax(sizes)), n)
