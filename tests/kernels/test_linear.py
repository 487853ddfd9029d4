"""Deterministic linear algebra against NumPy's, which computes the same in another order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import linear

SHAPES = {"n": st.integers(1, 9), "m": st.integers(1, 6), "seed": st.integers(0, 999)}


def drawn(seed: int, *shape: int) -> np.ndarray:
    """Numbers of many magnitudes, some columns zero or equal, so that ranks fall short."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7)
    if seed % 3 == 0:
        x[..., -1] = x[..., 0]
    if seed % 7 == 0:
        x[..., 0] = 0.0
    return x


@given(**SHAPES)
def test_products(n: int, m: int, seed: int) -> None:
    a, b = drawn(seed, 3, n, m), drawn(seed + 1, 3, n, 2)
    scale = np.abs(a).max() * np.abs(b).max() * n * 1e-14
    assert np.abs(linear.cross_product(a, b) - a.swapaxes(1, 2) @ b).max() <= scale
    assert np.abs(linear.product(a.swapaxes(1, 2), b) - a.swapaxes(1, 2) @ b).max() <= scale
    assert np.array_equal(linear.product(a.swapaxes(1, 2), b[0]), linear.product(a.swapaxes(1, 2), b[[0, 0, 0]]))


def test_long_sums_are_as_good_as_pairwise_ones() -> None:
    x = np.random.default_rng(0).random((300_000, 1))
    exact = float(sum(np.multiply(*np.broadcast_arrays(x[:, 0], x[:, 0])).astype(np.longdouble)))
    assert linear.cross_product(x, x)[0, 0] == pytest.approx(exact, rel=1e-13)


@given(**SHAPES)
def test_qr(n: int, m: int, seed: int) -> None:
    a = drawn(seed, n, m)
    r = linear.triangular(a)
    assert r.shape == (min(n, m), m) and (np.tril(r, -1) == 0).all()
    assert np.abs(r.T @ r - a.T @ a).max() <= 1e-13 * np.abs(a).max() ** 2 * n
    q, diagonal = linear.orthogonal(a)
    assert np.abs(q.T @ q - np.eye(n)).max() < 1e-14
    assert np.abs(np.abs(diagonal) - np.abs(np.diagonal(r))).max() <= 1e-13 * np.abs(a).max()
    assert np.abs((q.T @ a)[min(n, m) :]).max(initial=0.0) <= 1e-13 * np.abs(a).max()


@given(**SHAPES)
def test_singular_values_and_pseudo_inverse(n: int, m: int, seed: int) -> None:
    a = drawn(seed, n, m)
    values, right = linear.singular(a)
    theirs = np.linalg.svd(a, compute_uv=False)
    assert np.abs(values[: min(n, m)] - theirs).max() <= 1e-13 * theirs.max(initial=0.0)
    assert (values[min(n, m) :] <= 1e-13 * theirs.max(initial=0.0)).all()
    assert np.abs(right @ right.T - np.eye(m)).max() < 1e-13
    inverse = linear.pseudo_inverse(a, 1e-9)
    assert np.abs(a @ inverse @ a - a).max() <= 1e-11 * np.abs(a).max()
    assert np.abs(inverse - np.linalg.pinv(a, rcond=1e-9)).max() <= 1e-7 * np.abs(inverse).max(initial=0.0)


@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_neither_small_nor_large_numbers_are_lost(scale: float) -> None:
    a = np.array([[3.0, 0.0], [4.0, 5.0]]) * scale
    assert linear.singular(a)[0] / scale == pytest.approx([np.sqrt(45), np.sqrt(5)], rel=1e-14)  # a'a: 45 and 5
    assert np.abs(linear.triangular(a)[0]) / scale == pytest.approx([5, 4], rel=1e-14)


@given(d=st.integers(1, 7), seed=st.integers(0, 999))
def test_symmetric_matrices(d: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(2, d, d))
    either = x + x.swapaxes(1, 2)
    values, vectors = linear.eigen(either)
    assert np.abs(vectors * values[:, None, :] @ vectors.swapaxes(1, 2) - either).max() < 1e-12
    assert np.abs(vectors.swapaxes(1, 2) @ vectors - np.eye(d)).max() < 1e-13
    assert (np.diff(values, axis=1) <= 0).all()
    positive = x @ x.swapaxes(1, 2) + np.eye(d)
    assert np.abs(linear.cholesky(positive) - np.linalg.cholesky(positive)).max() < 1e-12
    assert np.abs(linear.solve(positive, x) - np.linalg.solve(positive, x)).max() < 1e-11
    assert np.abs(linear.inverse(positive) @ positive - np.eye(d)).max() < 1e-12


def test_pivots_are_sought() -> None:
    assert linear.inverse(np.array([[0.0, 2.0], [1.0, 0.0]])).tolist() == [[0.0, 1.0], [0.5, 0.0]]


def test_what_has_no_solution_is_said() -> None:
    with pytest.raises(ValueError, match="singular"):
        linear.solve(np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="not positive definite"):
        linear.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_empty_matrices() -> None:
    assert linear.product(np.zeros((0, 3)), np.zeros((3, 2))).shape == (0, 2)
    assert linear.product(np.zeros((2, 0)), np.zeros((0, 2))).tolist() == [[0, 0], [0, 0]]
    assert linear.pseudo_inverse(np.zeros((0, 3)), 1e-9).shape == (3, 0)
