"""M x = r + W λ, A x = s: the NumPy twin, the C routine and a dense reference, for every kind of saddle point.

Condition numbers here are below 1e3 (M) and 1e2 (rows), so 1e-12 relative leaves four digits of room over rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

from appell.backends.compiler.build import build, reason_against_c
from appell.errors import Status
from appell.normal_form.saddle import SADDLE_C
from appell.rows import CHOLESKY, ELIMINATE, LU, RANK, Policy, solve

CDEF = """int test_saddle(int kind, int n, int m, int rank, double gamma, const double *M, const double *A, const double *W,
    const double *r, const double *s, double *x, double *lam);"""
ENTRY = """
int test_saddle(int kind, int n, int m, int rank, double gamma, const double *M, const double *A, const double *W,
    const double *r, const double *s, double *x, double *lam)
{ return saddle(kind, n, m, rank, gamma, M, A, W, r, s, x, lam); }
"""


@pytest.fixture(scope="module")
def in_c():
    """(M, A, W, r, s, policy) → (x, λ, status) by the C routine."""
    if reason := reason_against_c():
        pytest.skip(reason)
    library = build(SADDLE_C + ENTRY, CDEF)

    def call(M, A, W, r, s, policy):
        m, n = A.shape
        x, lam = np.full(n, np.nan), np.full(m, np.nan)
        double = lambda array: library.ffi.from_buffer("double[]", np.ascontiguousarray(array, float))
        arrays = [double(array) for array in (M, A, W, r, s)]
        out = [library.ffi.from_buffer("double[]", array) for array in (x, lam)]
        status = library.lib.test_saddle(policy.kind, n, m, policy.rank, policy.gamma, *arrays, *out)
        return x, lam, Status(status)

    return call


@pytest.fixture(params=["numpy", "c"])
def solver(request):
    return solve if request.param == "numpy" else request.getfixturevalue("in_c")


def definite(rng, n):
    B = rng.normal(size=(n, n))
    return B @ B.T + n * np.eye(n)


def dense(M, A, W, r, s):
    """The least-norm solution of the whole system by the pseudo-inverse, then λ of least norm by itself."""
    m, n = A.shape
    K = np.block([[M, -W], [A, np.zeros((m, m))]])
    x = (np.linalg.pinv(K, rcond=1e-11) @ np.concatenate([r, s]))[:n]
    return x, np.linalg.pinv(W, rcond=1e-11) @ (M @ x - r)


def problem(kind: str, n: int, m: int, seed: int):
    """Blocks and the policy of a kind."""
    rng = np.random.default_rng(seed)
    M, A, r = definite(rng, n), rng.normal(size=(m, n)), rng.normal(size=n)
    s, W, policy = rng.normal(size=m), None, Policy(CHOLESKY, m)
    if kind == "redundant" and m > 1:
        rank = max(1, m // 2)
        mix = rng.normal(size=(m, rank))
        A, s = mix @ A[:rank], mix @ s[:rank]
        policy = Policy(RANK, rank)
    if kind == "duplicate" and m > 1:
        A[-1], s[-1] = A[0], s[0]
        policy = Policy(RANK, m - 1)
    if kind == "massless":
        M[0, :] = M[:, 0] = 0
        A[0, 0] = 2.0  # the first row moves the massless coordinate
        policy = Policy(CHOLESKY, m, gamma=float(np.trace(M) / np.sum(A**2)))
    if kind == "servo":
        W, policy = A.T + 0.3 * rng.normal(size=(n, m)), Policy(LU, m)
    if kind == "massless servo":
        M[0, :] = M[:, 0] = 0
        A[0, 0], W, policy = 2.0, A.T.copy(), Policy(LU, m)
        W[0, 0] = 1.0
    if kind.startswith("eliminated") and m:
        rank = m if kind == "eliminated" else max(1, m - 1)
        A[rank:], s[rank:] = A[:1] - 2 * A[rank - 1 : rank], s[0] - 2 * s[rank - 1]
        policy = Policy(ELIMINATE, rank)
    return M, A, A.T if W is None else W, r, s, policy


KINDS = ["plain", "redundant", "duplicate", "massless", "servo", "massless servo", "eliminated", "eliminated redundant"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 1), (3, 2), (6, 3), (6, 6), (20, 7)])
def test_is_the_dense_solution(solver, kind, n, m):
    if kind == "duplicate" and m == n:
        pytest.skip("a duplicate among n rows is covered by fewer")
    if kind == "massless" and n == m == 1:
        pytest.skip("nothing has mass")
    for seed in range(4):
        M, A, W, r, s, policy = problem(kind, n, m, seed)
        x, lam, status = solver(M, A, W, r, s, policy)
        x_dense, lam_dense = dense(M, A, W, r, s)
        size = 1 + np.abs(x_dense).max() + np.abs(lam_dense).max()
        cond = np.linalg.cond(np.block([[M, -W], [A, np.zeros((m, m))]])) if policy.kind != RANK else 1e3
        assert status is Status.OK
        assert np.abs(x - x_dense).max() < 1e-12 * size * max(1, cond / 1e3)
        assert np.abs(lam - lam_dense).max() < 1e-12 * size * max(1, cond / 1e3)


@pytest.mark.parametrize("kind", KINDS)
def test_twin_is_the_routine(in_c, kind):
    for seed in range(10):
        blocks = problem(kind, 5, 3, seed)
        x, lam, status = solve(*blocks)
        x_c, lam_c, status_c = in_c(*blocks)
        assert status is status_c is Status.OK
        size = 1 + np.abs(x).max() + np.abs(lam).max()
        assert np.abs(x - x_c).max() < 1e-12 * size and np.abs(lam - lam_c).max() < 1e-12 * size


def test_no_rows(solver):
    rng = np.random.default_rng(0)
    M, r = definite(rng, 4), rng.normal(size=4)
    x, lam, status = solver(M, np.zeros((0, 4)), np.zeros((4, 0)), r, np.zeros(0), Policy())
    assert status is Status.OK and lam.shape == (0,)
    assert x == pytest.approx(np.linalg.solve(M, r), rel=1e-13)


@pytest.mark.parametrize(
    ("M", "A", "policy"),
    [
        (np.diag([1.0, 1.0]), np.array([[0.0, 0.0]]), Policy(CHOLESKY, 1)),
        (np.diag([1.0, 0.0]), np.array([[1.0, 0.0]]), Policy(CHOLESKY, 1, 1.0)),
        (np.diag([1.0, -1.0]), np.array([[1.0, 0.0]]), Policy(CHOLESKY, 1)),
        (np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]]), Policy(CHOLESKY, 2)),
        (np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]]), Policy(LU, 2)),
        (np.eye(3), np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]]), Policy(RANK, 2)),
        (np.eye(3), np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]]), Policy(ELIMINATE, 2)),
        (np.diag([1.0, 0.0]), np.array([[1.0, 0.0]]), Policy(ELIMINATE, 1)),
    ],
    ids=["empty row", "no mass", "negative mass", "parallel rows", "parallel rows, LU", "rank below the policy",
         "rank below the policy, eliminated", "no mass, eliminated"],
)
def test_singular_is_said(solver, M, A, policy):
    m, n = A.shape
    _, _, status = solver(M, A, A.T, np.ones(n), np.zeros(m), policy)
    assert status is Status.SINGULAR


@pytest.mark.parametrize("block", ["M", "A", "r", "s"])
@pytest.mark.parametrize("kind", ["plain", "redundant", "servo", "eliminated"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_is_said(solver, kind, block, bad):
    """Whatever is not a number in a block, the answer is not an unannounced NaN."""
    names = ("M", "A", "W", "r", "s")
    *blocks, policy = problem(kind, 4, 2, 0)
    blocks = dict(zip(names, (array.copy() for array in blocks), strict=True))
    blocks[block].flat[0] = bad
    x, lam, status = solver(*blocks.values(), policy)
    assert status is not Status.OK, (x, lam)


def test_minimum_norm_among_redundant_rows(solver):
    """The same row three times shares its multiplier equally; a row and its double share it 1 : 2."""
    M, row = np.diag([1.0, 2.0]), np.array([1.0, 1.0])
    alone = solver(M, row[None], row[None].T, np.array([3.0, -1.0]), np.array([0.5]), Policy(CHOLESKY, 1))
    thrice = np.vstack([row] * 3)
    x, lam, _ = solver(M, thrice, thrice.T, np.array([3.0, -1.0]), np.full(3, 0.5), Policy(RANK, 1))
    assert x == pytest.approx(alone[0], rel=1e-14) and lam == pytest.approx(np.full(3, alone[1][0] / 3), rel=1e-14)
    twice = np.vstack([row, 2 * row])
    _, lam, _ = solver(M, twice, twice.T, np.array([3.0, -1.0]), np.array([0.5, 1.0]), Policy(RANK, 1))
    assert lam == pytest.approx(alone[1][0] * np.array([1, 2]) / 5, rel=1e-14)
