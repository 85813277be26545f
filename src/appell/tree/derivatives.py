"""First derivatives of inverse dynamics by one more pass inwards, without differentiating a graph.

With the velocity V = [ω | u] and the acceleration A of each body as spatial vectors (A₀ = −g of the ground), joint axes S,
and primes for the predecessor, a small turn δq of a joint changes what is behind it by

    δV = S δq̇ + ψ δq,     ψ = V' × S,            δA = S δq̈ + (ψ + V × S) δq̇ + χ δq,     χ = A' × S + V' × ψ

apart from rotating it. The force that the bodies behind a joint need, f = Σ (I A + V ×* I V), changes by δf = I δA + B δV,

    I = [[tr P − P, h×], [−h×, m]],      B = [[tr D − D − K×, 0], [−2 p×, 0]],      ḣ = p,   Ṗ = D,

where the sums of m, h, P, of momentum p, angular momentum K and of D are carried inwards as in `crba`. (Singh, Russell and
Wensing 2022 write B with 36 entries; twelve of them are distinct.) For joints i behind j,

    ∂τ_j/∂q_i = S_j·(I χ_i + B ψ_i + S_i ×* f),     ∂τ_j/∂q̇_i = S_j·(I (ψ_i + V × S_i) + B S_i),     ∂τ_j/∂q̈_i = S_j·I S_i,
    ∂τ_i/∂q_j = F·χ_j + G·ψ_j,                      ∂τ_i/∂q̇_j = F·(ψ_j + V × S_j) + G·S_j,           F = I S_i,  G = Bᵀ S_i,

where all sums are those of the bodies behind i. Within one joint the first line holds without S_i ×* f, which turns with the
axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.tree.algorithms import moments
from appell.tree.frames import FramedLink, FrameLayout
from appell.tree.spatial import (
    Matrix,
    Scalar,
    Six,
    Steps,
    Vector,
    add,
    column_dot,
    cross,
    dot,
    force_cross,
    inertia_times,
    moments_in,
    motion_cross,
    rotated,
    six_in,
    six_out,
)

Scalars = Sequence[Scalar]
Rows = list[list[Scalar]]


@dataclass(frozen=True)
class Axis:
    """One free axis k of a joint: S, ψ, χ and ψ + V × S."""

    k: int
    S: Six
    psi: Six
    chi: Six
    twice: Six


@dataclass(frozen=True)
class Sums:
    """Sums for one body, or for all behind a joint: moments, momentum [K | p], rate D of the second moments, force [n | f]."""

    m: Scalar
    h: Vector
    P: Matrix
    momentum: Six
    D: Matrix
    force: Six

    @staticmethod
    def of(link: FramedLink, V: Six, A: Six) -> Sums:
        m, h, P = moments(link.inertia)
        w, u = V[:3], V[3:]
        turned = [cross(w, [row[n] for row in P]) for n in range(3)]  # columns of [ω×] P
        triangle = [[turned[j][i] + turned[i][j] + u[i] * h[j] + h[i] * u[j] for j in range(i + 1)] for i in range(3)]
        D = [[triangle[max(i, j)][min(i, j)] for j in range(3)] for i in range(3)]
        momentum = inertia_times(m, h, P, V)
        return Sums(m, h, P, momentum, D, add(inertia_times(m, h, P, A), force_cross(V, momentum)))

    def carried(self, steps: Steps) -> Sums:
        """The sums at the predecessor's origin; (0, p, D) are the rates of (m, h, P) and transform like them."""
        _, _, D = moments_in(steps, 0.0, self.momentum[3:], self.D)
        return Sums(*moments_in(steps, self.m, self.h, self.P), six_in(steps, self.momentum), D, six_in(steps, self.force))

    def plus(self, other: Sums) -> Sums:
        summed = lambda X, Y: [add(x, y) for x, y in zip(X, Y, strict=True)]
        return Sums(
            self.m + other.m, add(self.h, other.h), summed(self.P, other.P), add(self.momentum, other.momentum),
            summed(self.D, other.D), add(self.force, other.force),
        )  # fmt: skip

    def inertia(self, x: Six) -> Six:
        """I x."""
        return inertia_times(self.m, self.h, self.P, x)

    def gyration(self, x: Six) -> Six:
        """B x."""
        K, p, w = self.momentum[:3], self.momentum[3:], x[:3]
        return [*add(rotated(self.D, w), cross(w, K)), *(2.0 * y for y in cross(w, p))]

    def gyration_by(self, x: Six) -> Vector:
        """The angular part of Bᵀ x; the other one is 0."""
        K, p, w, s = self.momentum[:3], self.momentum[3:], x[:3], x[3:]
        return [a + b + 2.0 * c for a, b, c in zip(rotated(self.D, w), cross(K, w), cross(p, s), strict=True)]


def rnea_derivatives(
    layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars
) -> tuple[list[list[Scalar]], list[list[Scalar]], list[list[Scalar]]]:
    """∂τ/∂q along the velocities, ∂τ/∂v and M = ∂τ/∂a, each (nv, nv), of M a + h(q, v) = τ; S must be constant on body axes."""
    links, nv = layout.links, sum(link.node.kind.nv for link in layout.links)
    transforms, sums, axes = _outwards(layout, gravity, q, v, a)
    tau_q, tau_v, M = ([[0.0] * nv for _ in range(nv)] for _ in range(3))
    for n in reversed(range(len(links))):
        node = links[n].node
        for x in axes[n]:
            F, G = sums[n].inertia(x.S), sums[n].gyration_by(x.S)
            by_q = add(sums[n].inertia(x.chi), sums[n].gyration(x.psi))
            by_v = add(sums[n].inertia(x.twice), sums[n].gyration(x.S))
            for y in axes[n]:
                tau_q[y.k][x.k], tau_v[y.k][x.k], M[y.k][x.k] = column_dot(y.S, by_q), column_dot(y.S, by_v), column_dot(y.S, F)
            by_q = add(by_q, force_cross(x.S, sums[n].force))
            ancestor = n
            while links[ancestor].node.parent >= 0:
                steps, ancestor = transforms[ancestor], links[ancestor].node.parent
                F, by_q, by_v, G = six_in(steps, F), six_in(steps, by_q), six_in(steps, by_v), _turned_in(steps, G)
                for y in axes[ancestor]:
                    tau_q[y.k][x.k], tau_v[y.k][x.k] = column_dot(y.S, by_q), column_dot(y.S, by_v)
                    tau_q[x.k][y.k] = dot(F, y.chi) + dot(G, y.psi[:3])
                    tau_v[x.k][y.k] = dot(F, y.twice) + dot(G, y.S[:3])
                    M[x.k][y.k] = M[y.k][x.k] = column_dot(y.S, F)
        for i, x in enumerate(axes[n]):
            M[x.k][x.k] = M[x.k][x.k] + node.armature[i]
            tau_v[x.k][x.k] = tau_v[x.k][x.k] + node.damping[i]
        if node.parent >= 0:
            sums[node.parent] = sums[node.parent].plus(sums[n].carried(transforms[n]))
    return tau_q, tau_v, M


def solved(tau_q: Rows, tau_v: Rows, M: Rows) -> tuple[Rows, Rows, Rows]:
    """∂a/∂q along the velocities, ∂a/∂v and ∂a/∂τ = M⁻¹: −M⁻¹ of the derivatives of τ at the acceleration a of these forces."""
    L, minus = _factors(M)
    n = len(M)
    columns = [[_solution(L, minus, [row[c] for row in X], n) for c in range(n)] for X in (tau_q, tau_v)]
    a_q, a_v = ([list(row) for row in zip(*X, strict=True)] for X in columns)
    inverse = [_solution(L, minus, [-1.0 if k == c else 0.0 for k in range(n)], c + 1) for c in range(n)]
    return a_q, a_v, [[inverse[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def _factors(M: list[list[Scalar]]) -> tuple[list[dict[int, Scalar]], list[Scalar]]:
    """M = (1 + L)ᵀ D (1 + L), L strictly lower: its rows without zeros, and −1/D.

    Elimination from the tips inwards causes no fill-in between branches (Featherstone 2005).
    """
    rows = [{j: x for j, x in enumerate(row[: i + 1]) if not _is_zero(x)} for i, row in enumerate(M)]
    minus: list[Scalar] = [0.0] * len(M)
    for k in reversed(range(len(M))):
        minus[k] = -1.0 / rows[k].pop(k)
        scaled = {i: x * minus[k] for i, x in rows[k].items()}
        for i, factor in scaled.items():
            for j in (j for j in rows[k] if j <= i):
                rows[i][j] = rows[i].get(j, 0.0) + factor * rows[k][j]
        rows[k] = scaled  # −L
    return rows, minus


def _solution(L: Sequence[dict[int, Scalar]], minus: Scalars, x: list[Scalar], n: int) -> list[Scalar]:
    """The first n entries of −M⁻¹ x, with −L and −1/D."""
    for k in reversed(range(len(x))):
        if not _is_zero(x[k]):
            for i, factor in L[k].items():
                x[i] = x[i] + factor * x[k]
    x = [y * z for y, z in zip(x, minus, strict=True)]
    for k in range(n):
        for i, factor in L[k].items():
            x[k] = x[k] + factor * x[i]
    return x


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0


def _outwards(
    layout: FrameLayout, gravity: Scalars, q: Scalars, v: Scalars, a: Scalars
) -> tuple[list[Steps], list[Sums], list[list[Axis]]]:
    """The steps, the sums of each single body, and the axes of each joint."""
    ground: tuple[Six, Six] = [0.0] * 6, [0.0, 0.0, 0.0, *(0.0 - g for g in gravity)]
    motions: list[tuple[Six, Six]] = []
    transforms, sums, axes = [], [], []
    for link in layout.links:
        steps = link.steps(q)
        before = ground if link.node.parent < 0 else motions[link.node.parent]
        V0, A0 = six_out(steps, before[0]), six_out(steps, before[1])
        columns = link.columns(q)
        joint = link.spread(columns, v)
        V = add(V0, joint)
        A = add(add(A0, link.spread(columns, a)), motion_cross(V, joint))
        motions.append((V, A))
        transforms.append(steps)
        sums.append(Sums.of(link, V, A))
        axes.append([_axis(S, k, V0, A0, V) for S, k in zip(columns, link.velocities, strict=True)])
    return transforms, sums, axes


def _axis(S: Six, k: int, V0: Six, A0: Six, V: Six) -> Axis:
    psi = motion_cross(V0, S)
    return Axis(k, S, psi, add(motion_cross(A0, S), motion_cross(V0, psi)), add(psi, motion_cross(V, S)))


def _turned_in(steps: Steps, x: Vector) -> Vector:
    for step in reversed(steps):
        x = step.vector_in(x)
    return x
