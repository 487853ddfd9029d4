"""Products and factorisations of tall matrices that do not depend on the number of threads.

A linear algebra library that uses several threads splits a sum over many rows among them, so its last digits change
with their number. Here long sums run over blocks of fixed height, too small to be split, and the blocks' results
are added in order. Every function takes stacks: arrays of shape (B, s, ...).
"""

import numpy as np

from shoal.kernels.arrays import Bools, Floats

HEIGHT = 128
"""Rows of a block; libraries split products from about 10^4 numbers on."""

ROOM = 1 << 21
"""Numbers of the blocks' products that are held at once."""

CONSTANT = 1e-13
"""A column whose standard deviation is below this share of its largest value varies by rounding only."""


def cross(a: Floats, b: Floats) -> Floats:
    """A'B: (B, s, m) and (B, s, l) give (B, m, l)."""
    if a.shape[1] <= HEIGHT:
        return np.asarray(a.swapaxes(1, 2) @ b)
    left, right = _blocks(a), _blocks(b)
    out = np.zeros((len(a), a.shape[2], b.shape[2]))
    step = max(1, ROOM // max(1, out.size))
    for first in range(0, left.shape[1], step):
        part = slice(first, first + step)
        out += (left[:, part].swapaxes(2, 3) @ right[:, part]).sum(axis=1)
    return out


def times(a: Floats, small: Floats) -> Floats:
    """A S: (B, s, m) and (B, m, l) give (B, s, l)."""
    if a.shape[1] <= HEIGHT:
        return np.asarray(a @ small)
    return (_blocks(a) @ small[:, None]).reshape(len(a), -1, small.shape[2])[:, : a.shape[1]]


def triangular(a: Floats) -> Floats:
    """R of A = Q R, shape (B, min(s, m), m), by QR of blocks, of their stacked factors, and so on."""
    while a.shape[1] > max(HEIGHT, 2 * a.shape[2]):
        blocks = _blocks(a, max(HEIGHT, 2 * a.shape[2]))
        stack, count = blocks.shape[:2]
        factors = np.asarray(np.linalg.qr(blocks.reshape(stack * count, *blocks.shape[2:]), mode="r"))
        a = factors.reshape(stack, -1, a.shape[2])
    return np.asarray(np.linalg.qr(a, mode="r"))


def principal(a: Floats, negligible: float, largest: Floats | None = None) -> tuple[Floats, Floats, Floats, Bools]:
    """A = U diag(s) V', U masked: U (B, s, m'), s, V' and which directions are above `negligible` times the largest.

    U's other columns are zero. A U = A V / s is orthonormal to rounding over s only, so it is made so once more.
    """
    _, values, right = np.linalg.svd(triangular(a), full_matrices=False)
    top = values[:, :1] if largest is None else largest
    real = (values > negligible * top) & (np.arange(values.shape[1]) < a.shape[1])
    turn = right.swapaxes(1, 2) * np.where(real, 1 / np.where(real, values, 1.0), 0.0)[:, None, :]
    return orthonormal(times(a, turn), real), values, right, np.asarray(real)


def orthonormal(q: Floats, real: Bools) -> Floats:
    """Columns that are all but orthonormal, made so (Cholesky QR); those that are not `real` are and stay zero."""
    size = q.shape[2]
    gram = cross(q, q) + np.eye(size) * ~real[:, None, :]
    root = np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(1, 2)
    return times(q, root)


def independent(a: Floats, negligible: float) -> Bools:
    """Shape (m,); which columns of (s, m) vary and are no linear combination of those before them.

    Parameters
    ----------
    negligible
        A column is left out if its variance given the columns before is at most this share of its variance.
    """
    if not len(a):
        return np.zeros(a.shape[1], dtype=bool)
    about = a - a.mean(axis=0)
    norms = np.sqrt((about**2).sum(axis=0))
    kept: Bools = np.asarray(norms > CONSTANT * np.sqrt(len(a)) * np.abs(a).max(axis=0))
    basis = np.empty((len(a), 0))
    for j in np.flatnonzero(kept):
        column = about[:, j] / norms[j]
        for _ in range(2):  # once more, against rounding
            column = column - times(basis[None], cross(basis[None], column[None, :, None]))[0, :, 0]
        left = float((column**2).sum())
        kept[j] = left > negligible
        if kept[j]:
            basis = np.column_stack([basis, column / np.sqrt(left)])
    return kept


def _blocks(a: Floats, height: int = HEIGHT) -> Floats:
    """Shape (B, blocks, height, m), rows of zeros at the end."""
    stack, size, width = a.shape
    count = -(-size // height)
    if count * height > size:
        a = np.concatenate([a, np.zeros((stack, count * height - size, width))], axis=1)
    return np.asarray(a.reshape(stack, count, height, width))
