"""Changes of frame as sequences of four elementary steps, and their action on accelerations, forces and inertias.

A frame is reached from its predecessor by elementary steps; each computes only what it changes:

    Turn(k, c, s)    a rotation about the coordinate axis k,     c = cos, s = sin
    Slide(k, d)      the origin moves by d along the axis k
    Swap(…)          a signed permutation of the axes: costs nothing
    Attitude(R)      any rotation, R maps the new axes to the old

`…_out` carries from predecessor to successor (motions), `…_in` from successor to predecessor (forces, inertias).
Scalars are floats, batches or graph values (`appell.graph.scalar`). Spatial vectors (`Six`) are [angular | linear].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Scalar = Any
Vector = list[Scalar]  # three entries
Six = list[Scalar]  # angular, linear
Matrix = list[list[Scalar]]  # 3 by 3, or 6 by 6 (symmetric, both triangles filled)


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def add(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]


def scaled(S: Six, x: Scalar) -> Six:
    """S x; the 0.0 and 1.0 of a column cost nothing."""
    return [s if _is(s, 0.0) else x if _is(s, 1.0) else s * x for s in S]


def column_dot(S: Six, f: Six) -> Scalar:
    """S·f; the 0.0 and 1.0 of a column cost nothing."""
    terms = [y if _is(s, 1.0) else s * y for s, y in zip(S, f, strict=True) if not _is(s, 0.0)]
    total = terms[0] if terms else 0.0
    for term in terms[1:]:
        total = total + term
    return total


def axis_of(S: Six) -> int | None:
    """The index of the unit vector that a column is, or None."""
    ones = [n for n, s in enumerate(S) if _is(s, 1.0)]
    return ones[0] if len(ones) == 1 and sum(_is(s, 0.0) for s in S) == 5 else None


def _is(s: Scalar, number: float) -> bool:
    return isinstance(s, float) and s == number


def motion_cross(V: Six, x: Six) -> Six:
    """V × x: the rate of a motion vector x fixed in a body of velocity V."""
    return [*cross(V[:3], x[:3]), *add(cross(V[:3], x[3:]), cross(V[3:], x[:3]))]


def force_cross(V: Six, f: Six) -> Six:
    """V ×* f: the rate of a force vector f fixed in a body of velocity V."""
    return [*add(cross(V[:3], f[:3]), cross(V[3:], f[3:])), *cross(V[:3], f[3:])]


def inertia_times(m: Scalar, h: Vector, P: Matrix, x: Six) -> Six:
    """[[tr P − P, h×], [−h×, m]] x of a body with these moments: momentum of a velocity, force of an acceleration."""
    return [*add(rotated(P, x[:3]), cross(h, x[3:])), *add([m * y for y in x[3:]], cross(x[:3], h))]


def rotated(P: Matrix, w: Vector) -> Vector:
    """(tr P − P) w; each diagonal entry is the sum of the other two of P."""
    return [
        (P[(n + 1) % 3][(n + 1) % 3] + P[(n + 2) % 3][(n + 2) % 3]) * w[n]
        - P[n][(n + 1) % 3] * w[(n + 1) % 3]
        - P[n][(n + 2) % 3] * w[(n + 2) % 3]
        for n in range(3)
    ]


def second_rate(w: Vector, al: Vector) -> Matrix:
    """U = [α×] + [ω×]², so that a point r of the body has the acceleration a + U r (Rivals' formula)."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - al[2], xz + al[1]],
        [xy + al[2], -(xx + zz), yz - al[0]],
        [xz - al[1], yz + al[0], -(xx + yy)],
    ]


@dataclass(frozen=True)
class SpatialMotion:
    """Angular velocity, angular acceleration and acceleration of the origin of a body, on its own axes."""

    w: Vector
    al: Vector
    a: Vector

    def second_rate(self) -> Matrix:
        return second_rate(self.w, self.al)


class Step:
    """One elementary step. `vector_*` act on free vectors; spatial vectors, motions and inertias follow from them."""

    def vector_out(self, x: Vector) -> Vector:
        raise NotImplementedError

    def vector_in(self, x: Vector) -> Vector:
        raise NotImplementedError

    def symmetric_in(self, A: Matrix) -> Matrix:
        """R A Rᵀ, A symmetric."""
        raise NotImplementedError

    def matrix_in(self, A: Matrix) -> Matrix:
        """R A Rᵀ."""
        raise NotImplementedError

    def six_out(self, x: Six) -> Six:
        return [*self.vector_out(x[:3]), *self.vector_out(x[3:])]

    def six_in(self, f: Six) -> Six:
        return [*self.vector_in(f[:3]), *self.vector_in(f[3:])]

    def motion_out(self, motion: SpatialMotion) -> SpatialMotion:
        return SpatialMotion(self.vector_out(motion.w), self.vector_out(motion.al), self.vector_out(motion.a))

    def inertia_in(self, I: Matrix) -> Matrix:
        J, H, M = blocks(I)
        return from_blocks(self.symmetric_in(J), self.matrix_in(H), self.symmetric_in(M))

    def moments_in(self, m: Scalar, h: Vector, P: Matrix) -> tuple[Scalar, Vector, Matrix]:
        """Mass, first and second moments of a body about the predecessor's origin, on its axes."""
        return m, self.vector_in(h), self.symmetric_in(P)


@dataclass(frozen=True)
class Turn(Step):
    """A rotation about the axis k with cosine c and sine s; i, j, k in cyclic order."""

    k: int
    c: Scalar
    s: Scalar

    @property
    def ij(self) -> tuple[int, int]:
        return (self.k + 1) % 3, (self.k + 2) % 3

    def vector_out(self, x: Vector) -> Vector:
        (i, j), c, s, y = self.ij, self.c, self.s, list(x)
        y[i], y[j] = c * x[i] + s * x[j], c * x[j] - s * x[i]
        return y

    def vector_in(self, x: Vector) -> Vector:
        (i, j), c, s, y = self.ij, self.c, self.s, list(x)
        y[i], y[j] = c * x[i] - s * x[j], s * x[i] + c * x[j]
        return y

    def symmetric_in(self, A: Matrix) -> Matrix:
        """With b = s (A_ii − A_jj) + 2c A_ij: A_ii − s b, A_jj + s b, c b − A_ij. Four products for the 2 by 2 block."""
        (i, j), k, c, s = self.ij, self.k, self.c, self.s
        b = s * (A[i][i] - A[j][j]) + (2.0 * c) * A[i][j]
        sb = s * b
        B: Matrix = [[0.0] * 3 for _ in range(3)]
        B[i][i], B[j][j], B[k][k] = A[i][i] - sb, A[j][j] + sb, A[k][k]
        B[i][j] = B[j][i] = c * b - A[i][j]
        B[i][k] = B[k][i] = c * A[i][k] - s * A[j][k]
        B[j][k] = B[k][j] = s * A[i][k] + c * A[j][k]
        return B

    def matrix_in(self, A: Matrix) -> Matrix:
        """As for symmetric A with b = s (A_ii − A_jj) + c (A_ij + A_ji): A_ij → c b − A_ji, A_ji → c b − A_ij."""
        (i, j), k, c, s = self.ij, self.k, self.c, self.s
        b = s * (A[i][i] - A[j][j]) + c * (A[i][j] + A[j][i])
        sb, cb = s * b, c * b
        B: Matrix = [[0.0] * 3 for _ in range(3)]
        B[i][i], B[j][j], B[k][k] = A[i][i] - sb, A[j][j] + sb, A[k][k]
        B[i][j], B[j][i] = cb - A[j][i], cb - A[i][j]
        B[i][k], B[j][k] = c * A[i][k] - s * A[j][k], s * A[i][k] + c * A[j][k]
        B[k][i], B[k][j] = c * A[k][i] - s * A[k][j], s * A[k][i] + c * A[k][j]
        return B


@dataclass(frozen=True)
class Slide(Step):
    """The origin moves by d along the axis k: r = d e_k."""

    k: int
    d: Scalar

    @property
    def ij(self) -> tuple[int, int]:
        return (self.k + 1) % 3, (self.k + 2) % 3

    def vector_out(self, x: Vector) -> Vector:
        return x

    def vector_in(self, x: Vector) -> Vector:
        return x

    def six_out(self, x: Six) -> Six:
        """Linear part + angular part × r."""
        (i, j), y = self.ij, list(x)
        y[3 + i], y[3 + j] = x[3 + i] + self.d * x[j], x[3 + j] - self.d * x[i]
        return y

    def six_in(self, f: Six) -> Six:
        """Moment + r × force."""
        (i, j), y = self.ij, list(f)
        y[i], y[j] = f[i] - self.d * f[3 + j], f[j] + self.d * f[3 + i]
        return y

    def motion_out(self, motion: SpatialMotion) -> SpatialMotion:
        """a + U r."""
        U = motion.second_rate()
        return SpatialMotion(motion.w, motion.al, [motion.a[n] + self.d * U[n][self.k] for n in range(3)])

    def inertia_in(self, I: Matrix) -> Matrix:
        """H' = H + [r×] M,  J' = J + [r×] Hᵀ + H' [r×]ᵀ."""
        (i, j), k, d = self.ij, self.k, self.d
        J, H, M = blocks(I)
        G = [list(row) for row in H]
        G[i] = [H[i][n] - d * M[j][n] for n in range(3)]
        G[j] = [H[j][n] + d * M[i][n] for n in range(3)]
        B: Matrix = [list(row) for row in J]
        B[i][i] = J[i][i] - d * (H[i][j] + G[i][j])
        B[j][j] = J[j][j] + d * (H[j][i] + G[j][i])
        B[i][j] = B[j][i] = J[i][j] + d * (G[i][i] - H[j][j])
        B[i][k] = B[k][i] = J[i][k] - d * H[k][j]
        B[j][k] = B[k][j] = J[j][k] + d * H[k][i]
        return from_blocks(B, G, M)

    def moments_in(self, m: Scalar, h: Vector, P: Matrix) -> tuple[Scalar, Vector, Matrix]:
        """h' = h + m r,  P' = P + r hᵀ + h' rᵀ."""
        (i, j), k, d = self.ij, self.k, self.d
        g, B = list(h), [list(row) for row in P]
        g[k] = h[k] + m * d
        B[k][k] = P[k][k] + d * (h[k] + g[k])
        B[i][k] = B[k][i] = P[i][k] + d * h[i]
        B[j][k] = B[k][j] = P[j][k] + d * h[j]
        return m, g, B


@dataclass(frozen=True)
class Swap(Step):
    """A signed permutation: entry n of the old vector is sign[n] times entry source[n] of the new one."""

    source: tuple[int, int, int]
    sign: tuple[float, float, float]

    def vector_out(self, x: Vector) -> Vector:
        y: Vector = [0.0] * 3
        for n in range(3):
            y[self.source[n]] = x[n] if self.sign[n] > 0 else -x[n]
        return y

    def vector_in(self, x: Vector) -> Vector:
        return [x[m] if e > 0 else -x[m] for m, e in zip(self.source, self.sign, strict=True)]

    def matrix_in(self, A: Matrix) -> Matrix:
        pairs = list(zip(self.source, self.sign, strict=True))
        return [[A[m][n] if e * f > 0 else -A[m][n] for n, f in pairs] for m, e in pairs]

    symmetric_in = matrix_in


@dataclass(frozen=True, eq=False)
class Attitude(Step):
    """Any rotation; R maps the new axes to the old."""

    R: Matrix

    def vector_out(self, x: Vector) -> Vector:
        return [dot([row[n] for row in self.R], x) for n in range(3)]

    def vector_in(self, x: Vector) -> Vector:
        return [dot(row, x) for row in self.R]

    def matrix_in(self, A: Matrix) -> Matrix:
        RA = [[dot(row, column) for column in zip(*A, strict=True)] for row in self.R]  # R A
        return [[dot(row, r) for r in self.R] for row in RA]

    def symmetric_in(self, A: Matrix) -> Matrix:
        B = self.matrix_in(A)
        return [[B[min(m, n)][max(m, n)] for n in range(3)] for m in range(3)]


Steps = tuple[Step, ...]


def six_out(steps: Steps, x: Six) -> Six:
    """An acceleration (angular, linear) from predecessor to successor, without velocity terms."""
    for step in steps:
        x = step.six_out(x)
    return x


def six_in(steps: Steps, f: Six) -> Six:
    """A moment and a force from successor to predecessor."""
    for step in reversed(steps):
        f = step.six_in(f)
    return f


def motion_out(steps: Steps, motion: SpatialMotion) -> SpatialMotion:
    """The motion of the predecessor at the origin of the successor, on its axes."""
    for step in steps:
        motion = step.motion_out(motion)
    return motion


def inertia_in(steps: Steps, I: Matrix) -> Matrix:
    """A symmetric 6 by 6 inertia from successor to predecessor."""
    for step in reversed(steps):
        I = step.inertia_in(I)
    return I


def moments_in(steps: Steps, m: Scalar, h: Vector, P: Matrix) -> tuple[Scalar, Vector, Matrix]:
    for step in reversed(steps):
        m, h, P = step.moments_in(m, h, P)
    return m, h, P


def blocks(I: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """I = [[J, H], [Hᵀ, M]]: moment = J α + H a, force = Hᵀ α + M a."""
    return [row[:3] for row in I[:3]], [row[3:] for row in I[:3]], [row[3:] for row in I[3:]]


def from_blocks(J: Matrix, H: Matrix, M: Matrix) -> Matrix:
    top = [[*J[n], *H[n]] for n in range(3)]
    return top + [[H[0][n], H[1][n], H[2][n], *M[n]] for n in range(3)]
