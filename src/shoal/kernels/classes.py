"""Distinct values of a column of integers (native/classes.cpp)."""

import shoal.kernels._native as _native
from shoal.kernels.arrays import Longs, longs


def distinct(values: Longs) -> tuple[Longs, Longs]:
    """Distinct values in ascending order, and where each record's value stands among them.

    Parameters
    ----------
    values
        Shape (n,).

    Returns
    -------
    Shape (C,) and shape (n,): what `np.unique(values, return_inverse=True)` gives, in O(n + C log C).
    """
    numbers, places = _native.distinct(longs(values))
    return numbers, places
