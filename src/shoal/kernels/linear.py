"""Linear algebra that is the same to the bit on every processor and with any number of threads (native/linear).

Whatever ends in a released cell is computed with these functions and not with numpy's, whose sums depend on the
library behind them. They take one matrix or a stack of matrices, of shape (..., rows, columns).
"""

import math
from typing import NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Longs, floats


class Singular(NamedTuple):
    """Singular values, largest first, and right singular vectors in rows.

    Parameters
    ----------
    values
        Shape (..., m); beyond the number of rows they are 0.
    right
        Shape (..., m, m); orthogonal, also beyond the rank.
    """

    values: Floats
    right: Floats


class Eigen(NamedTuple):
    """Eigenvalues (..., d), largest first, and eigenvectors in columns (..., d, d)."""

    values: Floats
    vectors: Floats


def product(a: Floats, b: Floats) -> Floats:
    """A B: (..., n, k) and (..., k, m) give (..., n, m); one matrix B serves a stack of A."""
    return _unstacked(_native.product(_stack(a), _stack(b)), a)


def cross_product(a: Floats, b: Floats) -> Floats:
    """A'B: (..., n, k) and (..., n, m) give (..., k, m)."""
    return _unstacked(_native.cross_product(_stack(a), _stack(b)), a)


def triangular(a: Floats) -> Floats:
    """R of A = Q R: (..., n, m) gives (..., min(n, m), m)."""
    return _unstacked(_native.triangular(_stack(a)), a)


def pivoted(a: Floats) -> tuple[Floats, Longs]:
    """R (min(n, m), m) of one matrix (n, m), columns in an order in which its diagonal falls; the order (m,)."""
    r, order = _native.pivoted(floats(a))
    return r, order


def orthogonal(a: Floats) -> tuple[Floats, Floats]:
    """Q of A = Q R for one matrix (n, m), shape (n, n), and the diagonal of R, shape (min(n, m),)."""
    q, diagonal = _native.orthogonal(floats(a))
    return q, diagonal


def singular(a: Floats) -> Singular:
    """Singular values and right singular vectors of (..., n, m)."""
    values, right = _native.singular(_stack(a))
    return Singular(values.reshape(*a.shape[:-2], a.shape[-1]), _unstacked(right, a))


def eigen(a: Floats) -> Eigen:
    """Eigenvalues and eigenvectors of symmetric matrices (..., d, d)."""
    values, vectors = _native.eigen(_stack(a))
    return Eigen(values.reshape(a.shape[:-1]), _unstacked(vectors, a))


def cholesky(a: Floats) -> Floats:
    """Lower triangle L with L L' = A, for positive definite (..., d, d).

    Raises
    ------
    ValueError
        If a matrix is not positive definite.
    """
    return _unstacked(_native.cholesky(_stack(a)), a)


def solve(a: Floats, b: Floats) -> Floats:
    """X with A X = B: (..., d, d) and (..., d, m) give (..., d, m).

    Raises
    ------
    ValueError
        If a matrix is singular.
    """
    return _unstacked(_native.solve(_stack(a), _stack(b)), a)


def inverse(a: Floats) -> Floats:
    """A^-1 of (..., d, d); raises ValueError if a matrix is singular."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape))


def pseudo_inverse(a: Floats, negligible: float) -> Floats:
    """A^+ of one matrix (n, m), shape (m, n); singular values up to `negligible` times the largest count as 0."""
    values, right = singular(a)
    real = values > negligible * values.max(initial=0.0)
    axes = right[real]
    return product(axes.T, product(axes, a.T) / values[real, None] ** 2)


def _stack(a: Floats) -> Floats:
    return floats(a).reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def _unstacked(out: Floats, like: Floats) -> Floats:
    return np.asarray(out).reshape(*like.shape[:-2], *out.shape[-2:])
