"""Linear algebra that is the same to the bit on every processor and with any number of threads (native/linear).

Every value that can end in a released cell is computed with these functions and not with numpy's, whose sums depend on
the library behind them. They take one matrix or a stack of matrices, of shape (..., rows, columns).
"""

import numpy as np

from shoal.kernels._native import (
    cholesky,
    cross_product,
    eigen,
    orthogonal,
    pivoted,
    product,
    singular,
    solve,
    triangular,
)
from shoal.kernels.arrays import Floats


def inverse(a: Floats) -> Floats:
    """A^-1 of (..., d, d); raises ValueError if a matrix is singular."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape))


def pseudo_inverse(a: Floats, negligible: float) -> Floats:
    """A^+ of one matrix (n, m), shape (m, n); singular values up to `negligible` times the largest count as 0."""
    values, right = singular(a)
    real = values > negligible * values.max(initial=0.0)
    axes = right[real]
    return product(axes.T, product(axes, a.T) / values[real, None] ** 2)
