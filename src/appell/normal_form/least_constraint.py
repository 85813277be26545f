"""Accelerations when some rows are nonlinear in them: Gauss's principle, solved.

    ½ a·Ma − b·a → min            A a + a0 = 0,  r(a) = 0                     b = Q − h                                  (1)

Linear rows first. a = a_c + B y with A B = 0, BᵀMB = I and a_c the minimum with only the linear rows turns (1) into

    ½ |y|² → min                  ρ(y) = r(a_c + B y) = 0                                                                 (2)

One row quadratic in a: ρ(y) = ½ y·Sy + g·y + c. If some μ makes y stationary, (I − μS) y = μg, with I − μS positive
semidefinite, then for every other feasible z the Lagrangian ½|z|² − μρ(z), convex in z, is no less than at y: y is a global
minimum. In the eigenbasis of S (eigenvalues s_i, γ = Uᵀg)

    y_i = μγ_i/(1 − μs_i)         φ(μ) = ρ(y(μ)),   dφ/dμ = Σ γ_i²/(1 − μs_i)³ >= 0   on the interval 1 − μs_i > 0,    (3)

so the secular equation φ(μ) = 0 has at most one root there, found by Newton's method safeguarded by bisection: a proven
minimum. There I − μS is positive definite and the minimum unique. If φ does not reach 0 before the end μ = 1/s_e of the
interval, then γ_e = 0 and

    y = y(1/s_e) ± τ e,           ½ s_e τ² = −φ(1/s_e)                                                       (hard case)

are two (or a sphere of) minima: a tie. If the end is infinite (S semidefinite), no acceleration satisfies the row. A root so
close to the end that exchanging the sign of y_e changes |y|² by rounding only (2μ|γ_e y_e|, to first order) is a tie as well.

Other rows: stationary points of (2) by Newton's method from many starts; the smallest is taken, and reported as not proven.

Multipliers: M a − b = Aᵀλ + r_aᵀμ, the λ of least norm where linear rows are redundant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.rows import NEWTON_LOST, RANK_LOST, least_squares, singular

Array = NDArray[np.float64]
Row = Callable[[Array], Array]

MINIMUM_TIE = 1e-10
"""Two minima whose |y|² differ by less than this fraction are a tie."""
MINIMUM_STARTS = 32
LEAST_CONSTRAINT_ITERATIONS = 60


@dataclass(frozen=True)
class GaussResult:
    """a (nv,); Λ of the linear rows (m,) and of the nonlinear ones (m2,); whether the minimum is proven to be the global
    one; a status (`OK`, `SINGULAR`, `CONTRADICTORY`, `NOT_FINITE`, `MINIMUM_TIE`, `NO_SOLUTION`); `other`: the acceleration
    that ties, or the next stationary point found. Arrays are NaN unless the status is `OK` or `MINIMUM_TIE`."""

    a: Array
    lam_linear: Array
    lam_nonlinear: Array
    proven: bool
    status: Status
    other: Array | None = None


@dataclass(frozen=True)
class _FreeAccelerations:
    """a = a_c + B y, and the rows in y."""

    a_c: Array
    B: Array
    r: Row
    r_a: Row
    r_aa: Row

    def a(self, y: Array) -> Array:
        return self.a_c + self.B @ y

    def rho(self, y: Array) -> Array:
        return self.r(self.a(y))

    def slope(self, y: Array) -> Array:
        """∂ρ/∂y, (m2, k)."""
        return self.r_a(self.a(y)) @ self.B

    def curvature(self, y: Array, mu: Array) -> Array:
        """Σ μ_k ∂²ρ_k/∂y², (k, k)."""
        n = len(self.a_c)
        return self.B.T @ np.tensordot(mu, self.r_aa(self.a(y)).reshape(len(mu), n, n), 1) @ self.B


def solve(M: Array, b: Array, A: Array, a0: Array, r: Row, r_a: Row, r_aa: Row, *, start: Array | None = None) -> GaussResult:
    """The motion of M a = b + Aᵀλ + r_aᵀμ, A a + a0 = 0, r(a) = 0.

    M (nv, nv); b = Q − h (nv,); A (m, nv); a0 (m,). r, r_a, r_aa map a (nv,) to (m2,), (m2, nv) and (m2, nv·nv) or
    (m2, nv, nv). `start`: the first of the starts, where several are needed.
    """
    n, m2 = len(M), len(np.atleast_1d(r(np.zeros(len(M)))))
    failed = lambda status: GaussResult(np.full(n, np.nan), np.full(len(A), np.nan), np.full(m2, np.nan), False, status)
    if not all(np.isfinite(x).all() for x in (M, b, A, a0)):
        return failed(Status.NOT_FINITE)
    reduced, status = _reduce(M, b, A, a0, (r, r_a, r_aa))
    if reduced is None:
        return failed(status)
    with np.errstate(all="ignore"):
        quadratic = m2 == 1 and reduced.B.shape[1] > 0 and _is_quadratic(reduced)
        y, mu, other, status = _secular(reduced) if quadratic else _multistart(reduced, m2, start)
    if y is None or mu is None:
        return failed(status)
    a = reduced.a(y)
    lam = _fitted(A.T, M @ a - b - np.atleast_2d(r_a(a)).T @ mu)
    return GaussResult(a, lam, mu, quadratic, status, None if other is None else reduced.a(other))


def _reduce(M: Array, b: Array, A: Array, a0: Array, rows: tuple[Row, Row, Row]) -> tuple[_FreeAccelerations | None, Status]:
    """a_c and B of (2); redundant linear rows are found by singular values, of rows scaled to length 1."""
    n = len(M)
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1
    A, a0 = A / length[:, None], a0 / length
    U, sizes, Vt = singular(A)
    rank = int((sizes > RANK_LOST * sizes.max(initial=0)).sum())
    a_p = -Vt[:rank].T @ ((U[:, :rank].T @ a0) / sizes[:rank])
    if np.abs(A @ a_p + a0).max(initial=0) > 1e-7 * (1 + np.abs(a0).max(initial=0)):
        return None, Status.CONTRADICTORY
    Z = Vt[rank:].T
    values, vectors = np.linalg.eigh(Z.T @ M @ Z) if Z.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    if values.min(initial=np.inf) <= 1e-12 * np.abs(M).max():
        return None, Status.SINGULAR
    B = Z @ vectors / np.sqrt(values) if Z.shape[1] else np.zeros((n, 0))
    r, r_a, r_aa = rows
    shaped_r = lambda a: np.atleast_1d(np.asarray(r(a), dtype=np.float64))
    shaped_r_a = lambda a: np.asarray(r_a(a), dtype=np.float64).reshape(-1, n)
    shaped_r_aa = lambda a: np.asarray(r_aa(a), dtype=np.float64)
    return _FreeAccelerations(a_p + B @ (B.T @ (b - M @ a_p)), B, shaped_r, shaped_r_a, shaped_r_aa), Status.OK


def _fitted(A: Array, b: Array) -> Array:
    """x of least norm with A x nearest to b."""
    return least_squares(A, b, RANK_LOST)


def _is_quadratic(p: _FreeAccelerations) -> bool:
    """Whether ∂²ρ/∂y² is the same at three points far apart."""
    k, unit = p.B.shape[1], np.ones(1)
    rng = np.random.default_rng(0)
    at = [p.curvature(size * rng.standard_normal(k), unit) for size in (0.0, 1.0, 30.0)]
    scale = np.abs(at[0]).max(initial=0)
    return all(np.abs(S - at[0]).max(initial=0) <= 1e-9 * (scale + np.finfo(float).tiny) for S in at)


Found = tuple[Array | None, Array | None, Array | None, Status]


def _secular(p: _FreeAccelerations) -> Found:
    """(y, μ, the other of a tie, status) of one quadratic row, by (3). The sign of the row is chosen so that c <= 0, μ >= 0."""
    k = p.B.shape[1]
    zero = np.zeros(k)
    c, g, S = float(p.rho(zero)[0]), p.slope(zero)[0], p.curvature(zero, np.ones(1))
    if not (np.isfinite(c) and np.isfinite(g).all() and np.isfinite(S).all()):
        return None, None, None, Status.NOT_FINITE
    sign = 1.0 if c <= 0 else -1.0
    s, U = np.linalg.eigh(sign * S)
    gamma, c = U.T @ (sign * g), -abs(c)
    size = np.abs(s).max(initial=0)
    s = np.where(np.abs(s) < 1e-14 * size, 0.0, s)  # rounding of eigenvalues: a row that is linear in this direction
    if c == 0:
        return zero, np.zeros(1), None, Status.OK
    end = s[-1]
    solved = _before_the_end(s, gamma, c) if end > 0 else _unbounded(s, gamma, c)
    if solved is None:
        return (None, None, None, Status.NO_SOLUTION) if end <= 0 else _hard_case(s, gamma, c, U, sign)
    mu, shares = solved
    y = mu * gamma / shares
    y, mu = _correct(y, mu, s, gamma, c)
    mirrored = np.where(s >= end * (1 - 1e-12), -y, y)  # eigenvalues equal to the largest but for rounding
    change = 4 * mu * np.abs(gamma * y)[s >= end * (1 - 1e-12)].sum() if end > 0 else np.inf
    tie = end > 0 and change <= MINIMUM_TIE * (y @ y) and np.abs(mirrored - y).max() > 1e-6 * np.abs(y).max()
    return U @ y, np.array([sign * mu]), U @ mirrored if tie else None, Status.TIE if tie else Status.OK


def _phi(mu: float, shares: Array, s: Array, gamma: Array, c: float) -> tuple[float, float]:
    """φ and dφ/dμ of (3), `shares` = 1 − μs."""
    with np.errstate(all="ignore"):
        y = mu * np.where(gamma == 0, 0.0, gamma / shares)
        slope = np.where(gamma == 0, 0.0, gamma**2 / shares**3)
    return float(0.5 * s @ y**2 + gamma @ y + c), float(slope.sum())


def _before_the_end(s: Array, gamma: Array, c: float) -> tuple[float, Array] | None:
    """The root μ in (0, 1/s_e) and the shares 1 − μs, computed in δ = 1 − μs_e to avoid cancellation; None: hard case."""
    end = s[-1]
    shares = lambda delta: (end - s) / end + delta * s / end
    low, high = np.log(1e-300), 0.0  # of log δ; φ < 0 at δ = 1
    if _phi(1 / end, shares(np.exp(low)), s, gamma, c)[0] < 0:
        return None
    x = high - 0.5
    for _ in range(200):
        delta = np.exp(x)
        value, slope = _phi((1 - delta) / end, shares(delta), s, gamma, c)
        low, high = (x, high) if value > 0 else (low, x)
        newton = x + value * end / (slope * delta) if slope > 0 and np.isfinite(value) else np.nan  # dμ = −δ dx/s_e
        x_new = newton if low < newton < high and high - low < 2 else 0.5 * (low + high)
        if abs(x_new - x) < 1e-15 * (1 + abs(x)):
            break
        x = x_new
    delta = np.exp(x)
    return float((1 - delta) / end), shares(delta)


def _unbounded(s: Array, gamma: Array, c: float) -> tuple[float, Array] | None:
    """The root μ in (0, ∞) for s <= 0; None where φ stays below 0: the row has no solution."""
    high = -c / max(float(gamma @ gamma), 1e-300)  # φ <= c + μ|γ|² for s <= 0, so the root is not below this
    low = 0.0
    while _phi(high, 1 - high * s, s, gamma, c)[0] < 0:
        low, high = high, 4 * high
        if not high < 1e200:
            return None
    mu = 0.5 * (low + high)
    for _ in range(200):
        value, slope = _phi(mu, 1 - mu * s, s, gamma, c)
        low, high = (low, mu) if value > 0 else (mu, high)
        newton = mu - value / slope if slope > 0 else np.nan
        new = newton if low < newton < high and high < 8 * low else 0.5 * (low + high)
        if abs(new - mu) <= 1e-16 * abs(mu):
            break
        mu = new
    return mu, 1 - mu * s


def _correct(y: Array, mu: float, s: Array, gamma: Array, c: float) -> tuple[Array, float]:
    """One Newton step on (I − μS) y = μg, ρ(y) = 0, kept where it makes the residuals smaller."""
    residual = lambda y, mu: np.append(y - mu * (s * y + gamma), 0.5 * s @ y**2 + gamma @ y + c)
    slope = gamma + s * y
    K = np.block([[np.diag(1 - mu * s), -slope[:, None]], [slope[None, :], np.zeros((1, 1))]])
    F = residual(y, mu)
    step = least_squares(K, -F, NEWTON_LOST)
    better = np.abs(residual(y + step[:-1], mu + step[-1])).max() < np.abs(F).max()
    return (y + step[:-1], mu + float(step[-1])) if better else (y, mu)


def _hard_case(s: Array, gamma: Array, c: float, U: Array, sign: float) -> Found:
    """y(1/s_e) ± τ e: a tie."""
    end = s[-1]
    at_end = s >= end * (1 - 1e-12)
    y = np.where(at_end, 0.0, gamma / end / np.where(at_end, 1.0, 1 - s / end))
    phi_end = float(0.5 * s @ y**2 + gamma @ y + c)
    tau = np.zeros(len(s))
    tau[-1] = np.sqrt(max(-2 * phi_end / end, 0.0))
    return U @ (y + tau), np.array([sign / end]), U @ (y - tau), Status.TIE


def _multistart(p: _FreeAccelerations, m2: int, start: Array | None) -> Found:
    """The smallest of the stationary points of (2) found by Newton's method from many starts."""
    k = p.B.shape[1]
    if k == 0:
        satisfied = np.abs(p.rho(np.zeros(0))).max(initial=0) < 1e-9 * (1 + np.abs(p.a_c).max())
        y, mu = np.zeros(0), np.zeros(m2)
        return (y, mu, None, Status.OK) if satisfied else (None, None, None, Status.NO_SOLUTION)
    rng = np.random.default_rng(0)
    starts: list[Array] = [] if start is None else [_fitted(p.B, start - p.a_c)]
    starts += [rng.standard_normal(k) * 10.0 ** (i % 4 - 1) for i in range(MINIMUM_STARTS)]
    points: list[tuple[float, Array, Array]] = []
    for y in starts:
        root = _stationary(p, y)
        if root is None or any(np.abs(root[0] - z).max() < 1e-6 * (1 + np.abs(z).max()) for _, z, _ in points):
            continue
        points.append((float(root[0] @ root[0]), *root))
    if not points:
        return None, None, None, Status.NO_SOLUTION
    points.sort(key=lambda point: point[0])
    other = points[1][1] if len(points) > 1 else None
    tie = other is not None and points[1][0] - points[0][0] <= MINIMUM_TIE * points[0][0]
    return points[0][1], points[0][2], other, Status.TIE if tie else Status.OK


def _stationary(p: _FreeAccelerations, y: Array) -> tuple[Array, Array] | None:
    """A root of y = ρ_yᵀμ, ρ = 0 near y: first onto the rows, then Newton with halved steps; None where it stalls."""
    for _ in range(8):
        y = y - _fitted(p.slope(y), p.rho(y))
    mu = _fitted(p.slope(y).T, y)
    residual = lambda y, mu: np.concatenate([y - p.slope(y).T @ mu, p.rho(y)])
    F = residual(y, mu)
    for _ in range(LEAST_CONSTRAINT_ITERATIONS):
        if not np.isfinite(F).all():
            return None
        J = p.slope(y)
        K = np.block([[np.eye(len(y)) - p.curvature(y, mu), -J.T], [J, np.zeros((len(mu), len(mu)))]])
        step = least_squares(K, -F, NEWTON_LOST)
        if np.abs(step).max() < 1e-13 * (1 + np.abs(y).max() + np.abs(mu).max()):
            return (y, mu) if np.abs(F).max() < 1e-8 * (1 + np.abs(y).max()) else None
        scale = 1.0
        while True:
            y_new, mu_new = y + scale * step[: len(y)], mu + scale * step[len(y) :]
            F_new = residual(y_new, mu_new)
            if np.linalg.norm(F_new) < np.linalg.norm(F) or scale < 1e-3:
                break
            scale /= 2
        y, mu, F = y_new, mu_new, F_new
    return (y, mu) if np.abs(F).max() < 1e-9 * (1 + np.abs(y).max()) else None
