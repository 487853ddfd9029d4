"""Blocks of records, cut at medians of first principal components (native/partition/principal_blocks.cpp)."""

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, floats


def principal_blocks(x: Floats, smallest: int) -> Ints:
    """Halve the records until a half would fall below a size.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised.
    smallest
        Smallest block; a block of twice that or more is cut at the median of its first principal component.

    Returns
    -------
    Shape (n,); block number of each record, counted from 0. Every block has between `smallest` and twice
    `smallest` members (one block if there are fewer than twice `smallest` records).
    """
    labels: Ints = _native.principal_blocks(floats(x), smallest)
    return labels
