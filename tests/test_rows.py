"""One algebra of rows: ranks, kernels and saddle points say the same in every unit."""

from __future__ import annotations

import numpy as np
import pytest

from appell.rows import (
    RANK_LOST,
    inverse_on_range,
    least_change,
    null_space,
    rank,
    regular,
    response,
    row_basis,
    saddle_point,
    unit_rows,
)  # fmt: skip

SEEDS = range(8)


def random_rows(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """M (n, n), A (m, n) of rank k < m."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    root = rng.normal(size=(n, n))
    A = rng.normal(size=(k + 2, k)) @ rng.normal(size=(k, n))
    return root @ root.T + np.eye(n), A, k


def units(rng: np.random.Generator, size: int) -> np.ndarray:
    return 10.0 ** rng.uniform(-4, 4, size)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rank_does_not_depend_on_the_units_of_rows(seed):
    _, A, k = random_rows(seed)
    D = units(np.random.default_rng(seed + 100), len(A))
    assert rank(A) == rank(D[:, None] * A) == k
    assert rank(1e-9 * A) == rank(1e9 * A) == k  # no threshold is a length


@pytest.mark.parametrize("seed", SEEDS)
def test_null_space_and_row_basis_split_the_whole_space(seed):
    _, A, k = random_rows(seed)
    Z, R = null_space(A), row_basis(A)
    assert R.shape == (k, A.shape[1])
    assert np.allclose(np.vstack([R, Z.T]) @ np.vstack([R, Z.T]).T, np.eye(A.shape[1]), atol=1e-13)
    assert np.abs(unit_rows(A) @ Z).max() < 1e-12


def test_no_rows_leave_every_direction_free():
    none = np.zeros((0, 4))
    assert (rank(none), row_basis(none).shape) == (0, (0, 4)) and np.array_equal(null_space(none), np.eye(4))


def test_what_rounding_leaves_of_a_row_is_no_row():
    A = np.array([[1.0, 0, 0], [0, np.cos(np.pi / 2), 0]])
    assert rank(A) == 1
    assert null_space(A).shape == (3, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_saddle_point_of_dependent_rows_keeps_its_promises(seed):
    """M x = r + Aᵀλ and A x = s hold, W free = 0, and `least` has no part along what is free."""
    M, A, k = random_rows(seed)
    rng = np.random.default_rng(seed)
    r, s = rng.normal(size=len(M)), A @ rng.normal(size=len(M))
    found = saddle_point(M, A, A.T, r, s)
    assert found.determined and found.free.shape == (len(A), len(A) - k)
    for lam in (found.lam, found.least):
        assert np.allclose(M @ found.x, r + A.T @ lam, atol=1e-10)
    assert np.allclose(A @ found.x, s, atol=1e-10)
    assert np.abs(A.T @ found.free).max() < 1e-10 and np.abs(found.free.T @ found.least).max() < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_saddle_point_is_the_same_in_all_units(seed):
    """With x = U x′ and rows times D, M′ = UMU: x and the forces Aᵀλ stay, and so do λ_i times the sizes of the rows."""
    M, A, _ = random_rows(seed)
    rng = np.random.default_rng(seed + 50)
    r, s = rng.normal(size=len(M)), A @ rng.normal(size=len(M))
    U, D = units(rng, len(M)), units(rng, len(A))
    here = saddle_point(M, A, A.T, r, s)
    A2 = D[:, None] * A * U
    there = saddle_point(U[:, None] * M * U, A2, A2.T, U * r, D * s)
    assert there.determined
    assert np.allclose(U * there.x, here.x, rtol=1e-7, atol=1e-9)
    assert np.allclose(D * there.lam, here.lam, rtol=1e-6, atol=1e-8)


def test_rows_that_contradict_each_other_are_not_determined():
    A = np.array([[1.0, 0], [1.0, 0]])
    assert not saddle_point(np.eye(2), A, A.T, np.zeros(2), np.array([1.0, 2.0])).determined
    assert saddle_point(np.eye(2), A, A.T, np.zeros(2), np.array([1.0, 1.0])).determined


def test_multipliers_keep_their_values_where_a_velocity_is_not_determined():
    """M = diag(1, 0) with a row on the first velocity alone: the second is free, the multiplier is not."""
    M, A = np.diag([1.0, 0.0]), np.array([[1.0, 0.0]])
    found = saddle_point(M, A, A.T, np.array([3.0, 0.0]), np.zeros(1))
    assert not found.determined and found.free.shape == (1, 0)
    assert np.allclose(found.least, [-3.0])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_least_change_is_a_projection_in_the_metric(seed):
    M, A, _ = random_rows(seed)
    x = np.random.default_rng(seed).normal(size=len(M))
    step = least_change(M, A, A @ x)
    assert np.allclose(A @ step, A @ x, atol=1e-10)
    assert np.abs(null_space(A).T @ M @ step).max() < 1e-10  # square to what the rows leave free


@pytest.mark.parametrize("seed", SEEDS)
def test_response_and_the_inverse_of_gram_matrices_agree(seed):
    """K − K Aᵀ G⁻ A K with K = M⁻¹ and any generalized inverse of G = A K Aᵀ."""
    M, A, _ = random_rows(seed)
    K = np.linalg.inv(M)
    G = A @ K @ A.T
    assert np.allclose(G @ inverse_on_range(G) @ G, G, atol=1e-10)
    assert np.allclose(response(M, A, A.T, np.eye(len(M))), K - K @ A.T @ inverse_on_range(G) @ A @ K, atol=1e-9)


@pytest.mark.parametrize("light", [1.0, 1e-9, 1e-18])
def test_a_light_body_does_not_make_a_metric_singular(light):
    D = np.array([1.0, np.sqrt(light)])
    assert regular(np.array([[2.0, 1.0], [1.0, 1.0]]) * np.outer(D, D))
    assert not regular(np.ones((2, 2)) * np.outer(D, D))


def test_a_share_of_rows_means_the_sine_between_them():
    for sine in (1e-2 * RANK_LOST, 1e2 * RANK_LOST):
        assert rank(np.array([[1.0, 0.0], [np.cos(sine), np.sin(sine)]])) == (2 if sine > RANK_LOST else 1)
