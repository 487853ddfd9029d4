"""Factorisations of tall matrices, the same to the bit on every processor and with any number of threads.

Long sums run over blocks of rows (`shoal.kernels.linear`, and QR by blocks here), so that rounding grows slowly with
the number of records. Every function takes stacks: arrays of shape (B, s, ...).
"""

import numpy as np

from shoal.kernels import linear
from shoal.kernels.arrays import Bools, Floats

HEIGHT = 128
"""Rows of a block whose QR is taken at once."""

CONSTANT = 1e-13
"""A column whose standard deviation is below this share of its largest value varies only by rounding."""


def cross(a: Floats, b: Floats) -> Floats:
    """A'B: (B, s, m) and (B, s, l) give (B, m, l)."""
    return linear.cross_product(a, b)


def times(a: Floats, small: Floats) -> Floats:
    """A S: (B, s, m) and (B, m, l) give (B, s, l)."""
    return linear.product(a, small)


def triangular(a: Floats) -> Floats:
    """R of A = Q R, shape (B, min(s, m), m), by QR of blocks, of their stacked factors, and so on."""
    while a.shape[1] > max(HEIGHT, 2 * a.shape[2]):
        height = max(HEIGHT, 2 * a.shape[2])
        whole = a.shape[1] // height * height  # these rows need no copy, as those of a last, shorter block do
        parts = [_blocks(part, height) for part in (a[:, :whole], a[:, whole:]) if part.shape[1]]
        factors = [linear.triangular(blocks.reshape(-1, *blocks.shape[2:])) for blocks in parts]
        a = np.concatenate([factor.reshape(len(a), -1, a.shape[2]) for factor in factors], axis=1)
    return linear.triangular(a)


def principal(a: Floats, negligible: float, largest: Floats | None = None) -> tuple[Floats, Floats, Floats, Bools]:
    """A = U diag(s) V': U (B, s, m'), s, V', and the directions above `negligible` times the largest.

    U's other columns are zero. U = A V / s is orthonormal only to rounding over s, so it is orthonormalised once more.
    """
    values, right = singular(a)
    top = values[:, :1] if largest is None else largest
    real = (values > negligible * top) & (np.arange(values.shape[1]) < a.shape[1])
    turn = right.swapaxes(1, 2) * np.where(real, 1 / np.where(real, values, 1.0), 0.0)[:, None, :]
    return orthonormal(times(a, turn), real), values, right, np.asarray(real)


def singular(a: Floats) -> tuple[Floats, Floats]:
    """The min(s, m) singular values of (B, s, m) and their right singular vectors, in rows."""
    values, right = linear.singular(triangular(a))
    rank = min(a.shape[1:])
    return values[:, :rank], right[:, :rank]


def orthonormal(q: Floats, real: Bools) -> Floats:
    """Nearly orthonormal columns made orthonormal (Cholesky QR); columns that are not `real` are zero and stay so."""
    size = q.shape[2]
    gram = cross(q, q) + np.eye(size) * ~real[:, None, :]
    root = linear.inverse(linear.cholesky(gram)).swapaxes(1, 2)
    return times(q, root)


def independent(a: Floats, negligible: float) -> Bools:
    """Shape (m,); True for columns of (s, m) that vary and are no linear combination of those before them.

    Parameters
    ----------
    negligible
        A column is left out if its variance given the columns before is at most this share of its variance.
    """
    if not len(a):
        return np.zeros(a.shape[1], dtype=bool)
    largest = np.maximum(a.max(axis=0), -a.min(axis=0))
    about = triangular((a - a.mean(axis=0))[None])[0]  # whose columns have the lengths and the angles of these
    norms = np.sqrt((about**2).sum(axis=0))
    kept: Bools = np.asarray(norms > CONSTANT * np.sqrt(len(a)) * largest)
    basis = np.empty((len(about), 0))
    for j in np.flatnonzero(kept):
        column = about[:, j] / norms[j]
        for _ in range(2):  # once more, against rounding
            column = column - times(basis[None], cross(basis[None], column[None, :, None]))[0, :, 0]
        left = float((column**2).sum())
        kept[j] = left > negligible
        if kept[j]:
            basis = np.column_stack([basis, column / np.sqrt(left)])
    return kept


def _blocks(a: Floats, height: int) -> Floats:
    """Shape (B, blocks, height, m), padded with rows of zeros."""
    stack, size, width = a.shape
    count = -(-size // height)
    if count * height > size:
        a = np.concatenate([a, np.zeros((stack, count * height - size, width))], axis=1)
    return np.asarray(a.reshape(stack, count, height, width))
