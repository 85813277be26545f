"""Solves K x = b for a symmetric K without pivoting, with few divisions.

    K = L D Lᵀ,        D of blocks with one or two rows,        −L = U J block by block,  J = −D⁻¹

Two unknowns are eliminated at once: the inverse of [[a, b], [b, c]] takes one division, 1/(ac − b²), where two successive
pivots take two. The rounding is the same as for two pivots: both subtract b² from ac, in units of a. Structural zeros are
skipped.

Stable without pivoting for positive definite K, and for K = [[M, Aᵀ], [A, 0]] with M positive definite, if each row of A comes
after its velocities.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import casadi as ca

from appell.graph.algebra import Value, minus_inverse


@dataclass(frozen=True)
class Pivot:
    """The quantity that has to be positive, and the size of the terms it is the difference of: D_k and K_kk, or ac − b² and
    aK_kk.

    For an unknown with a zero on its diagonal, eliminated after others: −D_k and what the positive pivots subtracted.
    """

    value: Value
    size: Value


def eliminated(K: Value, b: Value, positive: Collection[int]) -> tuple[Value, list[Pivot]]:
    """x, as many columns as b, and the pivots in order. positive: the indices of positive pivots; others are negative."""
    n = K.shape[0]
    remainder = _Remainder(ca.tril(ca.sparsify(K)), ca.densify(b), ca.SX.zeros(n))
    coupled = _filled(remainder.S)
    blocks, pivots, k = [], [], 0
    while k < n:
        two = k + 1 < n and k in positive and k + 1 in positive and k + 1 in coupled[k]
        places = [k, k + 1] if two else [k]
        block = _Block(remainder, places, sorted(set().union(*(coupled[j] for j in places)) - set(places)))
        pivots += block.pivots(K, positive, remainder.subtracted)
        block.eliminate(remainder, k in positive)
        blocks.append(block)
        k += 1 + two
    x = ca.SX(n, b.shape[1])
    for block in reversed(blocks):
        x[block.places, :] = block.solve(x)
    return x, pivots


def _filled(S: Value) -> list[set[int]]:
    """For each unknown, the later ones that it has a factor for, fill-in included."""
    n = S.shape[0]
    coupled: list[set[int]] = [set() for _ in range(n)]
    for i, j in zip(*S.sparsity().get_triplet(), strict=True):
        if i > j:
            coupled[j].add(i)
    for k in range(n):
        if coupled[k]:
            next_one = min(coupled[k])
            coupled[next_one] |= coupled[k] - {next_one}
    return coupled


@dataclass
class _Remainder:
    """The remaining K (its lower triangle) and right side, and what positive pivots subtracted from the diagonal."""

    S: Value
    right: Value
    subtracted: Value


class _Block:
    """One or two unknowns eliminated from the remaining K. below: the later ones coupled with them."""

    def __init__(self, remainder: _Remainder, places: list[int], below: list[int]):
        k, last = places[0], places[-1]
        self.places, self.below = places, below
        self.a = remainder.S[k, k]
        if len(places) == 2:
            self.b, self.c = remainder.S[last, k], remainder.S[last, last]
            self.det = self.a * self.c - self.b**2
        self.j = minus_inverse(self.det if len(places) == 2 else self.a)
        self.right = remainder.right[places, :]

    def pivots(self, K: Value, positive: Collection[int], taken: Value) -> list[Pivot]:
        k, last = self.places[0], self.places[-1]
        if k not in positive:
            return [Pivot(-self.a, taken[k])]
        first = Pivot(self.a, K[k, k])
        return [first] if k == last else [first, Pivot(self.det, self.a * K[last, last])]

    def eliminate(self, remainder: _Remainder, positive: bool) -> None:
        """Updates K and the right side by eliminating these unknowns."""
        if not self.below:
            return
        self.J = self._minus_inverse()
        rows = remainder.S[self.below, self.places]
        self.factors = rows @ self.J
        update = ca.tril(self.factors @ rows.T)
        remainder.S[self.below, self.below] += update
        remainder.right[self.below, :] += self.factors @ self.right
        if positive:
            remainder.subtracted[self.below] -= ca.diag(update)

    def _minus_inverse(self) -> Value:
        if len(self.places) == 1:
            return self.j
        b = -(self.b * self.j)
        return ca.blockcat([[self.c * self.j, b], [b, self.a * self.j]])

    def solve(self, x: Value) -> Value:
        """Back substitution for these unknowns, after all below."""
        if self.below:
            return self.factors.T @ x[self.below, :] - self.J @ self.right
        if len(self.places) == 1:
            return self.right / self.a if self.right.shape[1] == 1 else -(self.right * self.j)
        y, z = self.right[0, :], self.right[1, :]
        return ca.vertcat(self.b * z - self.c * y, self.b * y - self.a * z) * self.j


__all__ = ["Pivot", "eliminated"]
