"""Optimal univariate microaggregation (native/partition/univariate.cpp)."""

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats


def univariate(x: Floats, k: int, *, progress: Progress = None) -> Ints:
    """Group numbers so that the within-group sum of squares is the least there is.

    Parameters
    ----------
    x
        Shape (n,), finite.
    k
        Smallest group size, at least 1. Fewer than 2k numbers make one group.

    Returns
    -------
    Shape (n,); group number of each value, ascending with the values. Equal values are in row order.

    Notes
    -----
    Hansen & Mukherjee (2003): shortest path over runs of k to 2k - 1 sorted values.
    """
    labels = np.zeros(len(x), dtype=np.int32)
    if len(x) < 2 * k:
        return labels
    order = np.argsort(x, kind="stable")
    cut = _native.univariate(_near_one(floats(x)[order]), k, progress)
    starts, end = [], len(x)
    while end > 0:
        end = int(cut[end])
        starts.append(end)
    labels[order] = np.searchsorted(starts[::-1], np.arange(len(x)), side="right") - 1
    return labels


def _near_one(x: Floats) -> Floats:
    """Scaled by a power of two, so that no square overflows or vanishes."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.ldexp(x, -int(np.frexp(largest)[1]))
